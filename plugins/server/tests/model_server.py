"""A model server for tests: OpenAI's chat completions, with what vLLM adds to them."""

import json

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


class ModelServer:
    """Chat completions as vLLM answers them; `answer_to` makes the reply of a prompt.

    A prompt has a token for each word, a reply one for each letter. `requests` and `headers` are
    what came.
    """

    def __init__(self, answer_to):
        self.answer_to = answer_to
        self.requests, self.headers = [], []
        self.app = Starlette(routes=[Route("/v1/chat/completions", self.answer, methods=["POST"])])

    async def answer(self, request):
        asked = await request.json()
        self.requests.append(asked)
        self.headers.append(dict(request.headers))
        if asked["model"] == "none":
            return JSONResponse({"error": {"message": "no such model"}}, 404)
        if asked["model"] == "broken":
            return JSONResponse({"choices": []})
        prompt = asked["messages"][-1]["content"]
        reply = self.answer_to(prompt)
        message = {"role": "assistant", "content": reply}
        if asked.get("tools"):
            function = {"name": asked["tools"][0]["function"]["name"], "arguments": "{}"}
            call = {"id": "call_1", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        words = len(prompt.split())
        choice = {"index": 0, "message": message, "finish_reason": "stop", "stop_reason": None}
        if asked.get("logprobs"):
            chances = [-0.5 - place / 10 for place in range(len(reply))]
            choice["logprobs"] = {
                "content": [
                    {"token": letter, "logprob": chance, "bytes": None, "top_logprobs": []}
                    for letter, chance in zip(reply, chances, strict=True)
                ]
            }
        completion = {
            "id": "cmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": f"{asked['model']}-2026",
            "choices": [choice],
            "usage": {
                "prompt_tokens": words,
                "completion_tokens": len(reply),
                "total_tokens": words + len(reply),
                "prompt_tokens_details": {"cached_tokens": 2},
            },
        }
        if asked.get("return_token_ids"):
            choice["token_ids"] = [ord(letter) for letter in reply]
            completion["prompt_token_ids"] = list(range(words))
        if asked.get("stream"):
            return Response(events(completion), media_type="text/event-stream")
        return JSONResponse(completion)


def events(completion):
    """A completion in one chunk, as a stream ends it."""
    (choice,) = completion["choices"]
    head = {name: completion[name] for name in ("id", "created", "model")}
    head["object"] = "chat.completion.chunk"
    said = {"index": 0, "delta": choice["message"], "finish_reason": None}
    end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    chunks = [
        {**head, "choices": [said]},
        {**head, "choices": [end]},
        {**head, "choices": [], "usage": completion["usage"]},
    ]
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
