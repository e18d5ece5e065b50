"""A model server for tests: OpenAI's endpoints, with what vLLM adds to them."""

import json

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


class ModelServer:
    """Chat completions and responses as vLLM answers them; `answer_to` makes the reply of a prompt.

    A prompt has a token for each word, a reply one for each letter. `requests` and `headers` are
    what came.
    """

    def __init__(self, answer_to):
        self.answer_to = answer_to
        self.requests, self.headers = [], []
        self.app = Starlette(
            routes=[
                Route("/v1/chat/completions", self.answer, methods=["POST"]),
                Route("/v1/responses", self.respond, methods=["POST"]),
                Route("/v1/models", self.models),
                Route("/v1/models/{model:path}", self.models),
            ]
        )

    async def models(self, request):
        self.headers.append(dict(request.headers))
        name = request.path_params.get("model", "")
        found = [
            {"id": model, "object": "model", "created": 1, "owned_by": "us"}
            for model in ("m", "org/m")
            if name in ("", model)
        ]
        if not found:
            return JSONResponse({"detail": "Not Found"}, 404)
        return JSONResponse(found[0] if name else {"object": "list", "data": found})

    async def respond(self, request):
        asked = await request.json()
        self.requests.append(asked)
        self.headers.append(dict(request.headers))
        if asked["model"] == "none":
            return JSONResponse({"detail": "Not Found"}, 404)
        if asked["model"] == "broken":
            return JSONResponse({"output": [{"type": "message", "content": "plain"}]})
        given = asked["input"]
        prompt = given if isinstance(given, str) else given[-1]["content"]
        return JSONResponse(response(asked, prompt, self.answer_to(prompt)))

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


def response(asked, prompt, reply):
    """A response with reasoning and then the reply, or a call of the request's first tool."""
    text = {"type": "output_text", "text": reply, "annotations": []}
    if "message.output_text.logprobs" in asked.get("include", ()):
        text["logprobs"] = [
            {"token": letter, "logprob": -0.25 - place / 8, "bytes": [], "top_logprobs": []}
            for place, letter in enumerate(reply)
        ]
    item = {"id": "msg_1", "type": "message", "role": "assistant", "content": [text]}
    if asked.get("tools"):
        name = asked["tools"][0]["name"]
        item = {"id": "fc_1", "type": "function_call", "call_id": "call_1"}
        item |= {"name": name, "arguments": '{"square": 4}'}
    thought = {"id": "rs_1", "type": "reasoning", "summary": []}
    words = len(prompt.split())
    cut = asked.get("max_output_tokens") == len(reply)
    made = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "error": None,
        "model": f"{asked['model']}-2026",
        "output": [thought, {**item, "status": "completed"}],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": asked.get("tools", []),
        "usage": {
            "input_tokens": words,
            "input_tokens_details": {"cached_tokens": 2},
            "output_tokens": len(reply),
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": words + len(reply),
        },
    }
    if asked.get("enable_response_messages"):
        raw = {"type": "raw_message_tokens", "message": prompt, "tokens": list(range(words))}
        made["input_messages"] = [raw]
        made["output_messages"] = [{**raw, "message": reply, "tokens": list(map(ord, reply))}]
    return made


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
