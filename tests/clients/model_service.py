"""A language model behind HTTP, as vLLM serves one: chat completions, and tokens in, tokens out.

The replies are those of a real model of transformers, on the CPU. `served` keeps every exchange.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


@dataclass
class Exchange:
    """What the model was asked, and what it drew."""

    body: dict[str, Any]
    prompt: list[int]
    ids: list[int]
    logprobs: list[float]
    text: str
    finish: str


@dataclass
class Served:
    url: str
    exchanges: list[Exchange] = field(default_factory=list)


class Engine:
    """Draws from a model at temperature 1, one request at a time."""

    def __init__(self, folder: Path, most: int) -> None:
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.net: Any = AutoModelForCausalLM.from_pretrained(folder).eval()
        self.most = most
        self.lock = threading.Lock()
        self.rng = torch.Generator().manual_seed(1)

    def answer(self, body: dict[str, Any]) -> Exchange:
        prompt = body.get("token_ids")
        if prompt is None:
            text = self.tokenizer.apply_chat_template(
                body["messages"], add_generation_prompt=True, tokenize=False
            )
            prompt = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        with self.lock:
            ids, logprobs, finish = self.draw(prompt)
        text = self.tokenizer.decode(ids, skip_special_tokens=True)
        return Exchange(body, prompt, ids, logprobs, text, finish)

    @torch.inference_mode()
    def draw(self, prompt: list[int]) -> tuple[list[int], list[float], str]:
        ids: list[int] = []
        logprobs: list[float] = []
        for _ in range(self.most):
            scores = self.net(torch.tensor([[*prompt, *ids]])).logits[0, -1].float()
            chances = torch.log_softmax(scores, -1)
            token = int(torch.multinomial(chances.exp(), 1, generator=self.rng))
            ids.append(token)
            logprobs.append(float(chances[token]))
            if token == self.tokenizer.eos_token_id:
                return ids, logprobs, "stop"
        return ids, logprobs, "length"


def chat_completion(asked: Exchange) -> dict[str, Any]:
    used = {"prompt_tokens": len(asked.prompt), "completion_tokens": len(asked.ids)}
    choice: dict[str, Any] = {
        "index": 0,
        "finish_reason": asked.finish,
        "message": {"role": "assistant", "content": asked.text},
        "token_ids": asked.ids,
        "logprobs": {
            "content": [
                {"token": f"token_id:{token}", "logprob": value, "bytes": [], "top_logprobs": []}
                for token, value in zip(asked.ids, asked.logprobs, strict=True)
            ]
        },
    }
    return {
        "id": f"chat-{uuid4().hex}",
        "object": "chat.completion",
        "created": 0,
        "model": asked.body["model"],
        "choices": [choice],
        "prompt_token_ids": asked.prompt,
        "usage": {**used, "total_tokens": sum(used.values())},
    }


def generation(asked: Exchange) -> dict[str, Any]:
    """The answer of vLLM's `/inference/v1/generate`."""
    content = [
        {"token": f"token_id:{token}", "logprob": value, "top_logprobs": []}
        for token, value in zip(asked.ids, asked.logprobs, strict=True)
    ]
    choice = {
        "index": 0,
        "token_ids": asked.ids,
        "finish_reason": asked.finish,
        "logprobs": {"content": content},
    }
    return {"request_id": "generate", "choices": [choice]}


@contextmanager
def serving(folder: Path, *, most: int = 16) -> Iterator[Served]:
    """Serve the model in a folder while a block lasts; `most` tokens a reply."""
    engine, served = Engine(folder, most), Served("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            self.send({"object": "list", "data": [{"id": "tiny", "object": "model"}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked = engine.answer(body)
            served.exchanges.append(asked)
            self.send(generation(asked) if "token_ids" in body else chat_completion(asked))

        def send(self, answer: dict[str, Any]) -> None:
            data = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
