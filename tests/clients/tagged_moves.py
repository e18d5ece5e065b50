"""A server of chat completions that plays at random and tags every reply, and what it shows.

A tag in a later request says which replies that request knows of. So the requests alone show whose
conversation each is: what an agent was told, what it was not, and what it answered.
"""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

import pytest
from page import PAGE, block
from palestra import EpisodeRecord
from palestra.agents.budget import Usage

TAG = re.compile(r"#(\d+)#")
LEGAL = re.compile(r"(?:you may play|legal): ([^;\n]+)")
MOST = re.compile(r"(\w+)\(amount=0\.\.(\d+)\)")  # of Commons
RULES = {"games/TicTacToe-v0": "You play tic-tac-toe", "text/Commons-v0": "live on something"}


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and the reply's number, which is its tag. `known` are the tags in the request."""

    number: int
    body: dict[str, Any]
    texts: tuple[str, ...]

    @property
    def known(self) -> list[int]:
        return [int(tag) for tag in dict.fromkeys(TAG.findall("\n".join(self.texts)))]

    @property
    def usage(self) -> Usage:
        """Numbers that no other exchange has."""
        return Usage(1000 + self.number, 10 + self.number % 7, 100 + self.number % 5, 1)


@dataclass(slots=True)
class Tagged:
    """A running server; `exchanges` are in the order in which they were answered."""

    url: str = ""
    exchanges: list[Exchange] = field(default_factory=list)


def texts_of(body: dict[str, Any]) -> tuple[str, ...]:
    """The text of each message of a request, with the arguments of its calls."""
    return tuple(_text(message) for message in body["messages"])


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    calls = [call["function"]["arguments"] for call in message.get("tool_calls") or ()]
    return "\n".join([*parts, *calls])


def legal_moves(texts: Sequence[str]) -> str:
    """The legal moves as the last question lists them."""
    return str(LEGAL.findall("\n".join(texts))[-1])


def random_move(texts: Sequence[str], rng: random.Random) -> str:
    """A legal move by the last question: an item of its list, or an amount within its bounds."""
    legal = legal_moves(texts)
    if found := MOST.search(legal):
        return f"{found[1]}(amount={rng.randrange(1 + int(found[2]) // 20)})"
    return rng.choice(legal.split(", "))


FRAMEWORKS = PAGE.parent / "frameworks.md"
Form = Callable[[str, str, dict[str, Any]], dict[str, Any]]


def plain(tag: str, move: str, body: dict[str, Any]) -> dict[str, Any]:
    """The reply's message: its tag, and the move on the last line."""
    return {"content": f"{tag}\n{move}"}


def tool_call(tag: str, move: str, body: dict[str, Any]) -> dict[str, Any]:
    """A reply that calls the tool which makes a move, with the tag beside it."""
    (tool,) = body["tools"]
    name = tool["function"]["name"]
    amount = re.search(r"amount=(\d+)", move)
    arguments = {"move": move} if name == "play" else {"amount": int(amount[1]) if amount else -1}
    function = {"name": name, "arguments": json.dumps(arguments)}
    calls = [{"id": f"call_{tag.strip('#')}", "type": "function", "function": function}]
    return {"content": tag, "tool_calls": calls}


def asking(argument: str, **more: str) -> Form:
    """Replies of an agent that calls its first tool, another agent, before each answer.

    argument: the tool's argument that holds what the other is asked. more: further arguments.
    """

    def reply(tag: str, move: str, body: dict[str, Any]) -> dict[str, Any]:
        if not body.get("tools") or body["messages"][-1]["role"] == "tool":
            return plain(tag, move, body)
        question = f"{tag} you may play: {legal_moves(texts_of(body))};"
        name = body["tools"][0]["function"]["name"]
        arguments = json.dumps({argument: question, **more})
        function = {"name": name, "arguments": arguments}
        call = {"id": f"call_{tag.strip('#')}", "type": "function", "function": function}
        return {"content": None, "tool_calls": [call]}

    return reply


@contextmanager
def tagging(*, form: Form = plain, refused: Container[int] = (), seed: int = 1) -> Iterator[Tagged]:
    """Serve while a block lasts. refused: the numbers of replies that state no legal move."""
    served, lock, rng = Tagged(), threading.Lock(), random.Random(seed)

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        with lock:
            asked = Exchange(len(served.exchanges), body, texts_of(body))
            served.exchanges.append(asked)
            move = "xyzzy" if asked.number in refused else random_move(asked.texts, rng)
        return completion(asked, form(f"#{asked.number}#", move, body))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            data = json.dumps(answer(body)).encode()
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


def completion(asked: Exchange, message: dict[str, Any]) -> dict[str, Any]:
    used = asked.usage
    finish = "tool_calls" if "tool_calls" in message else "stop"
    return {
        "id": f"chat-{asked.number}",
        "object": "chat.completion",
        "created": 1,
        "model": asked.body["model"],
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}
        ],
        "usage": {
            "prompt_tokens": used.tokens_in,
            "completion_tokens": used.tokens_out,
            "total_tokens": used.tokens,
            "prompt_tokens_details": {"cached_tokens": used.tokens_cached},
        },
    }


def check(
    served: Tagged,
    records: Sequence[EpisodeRecord],
    seats: Sequence[int],
    *,
    refused: int | Container[int] = 0,
    cached: bool = True,
    mates: int = 0,
) -> None:
    """What every bridge must do, by the requests of whole games in which each reply was a move.

    seats: those of the agent. refused: how many replies were no legal move, or which, of whom only
    those count that were the answer of a team. cached: whether the framework reports tokens that
    were cached. mates: how many others of a team replied before each answer, which saw them.
    """
    rules = RULES[records[0].env]
    exchanges, seen = {asked.number: asked for asked in served.exchanges}, []
    refusals = 0
    for record in records:
        assert not record.error
        assert record.outcome
        for seat in seats:
            turns = [turn for turn in record.turns if turn.seat == seat]
            answers = [answer for turn in turns for answer in (*turn.refused, turn)]
            tags = [_tag(answer) for answer in answers]
            earlier: list[int] = []  # what this seat's agents replied to former questions
            for place, (tag, answer) in enumerate(zip(tags, answers, strict=True)):
                asked = exchanges[tag]
                team = [one for one in asked.known if one not in earlier]
                assert len(team) == mates, asked.texts  # nobody's else
                told = [one for one in asked.known if one in tags]
                assert told == tags[:place], asked.texts  # its own answers
                assert "\n".join(asked.texts).count(rules) == 1
                spent = sum((exchanges[one].usage for one in (*team, tag)), start=Usage())
                assert _amounts(answer.usage, cached) == _amounts(spent, cached)
                earlier += [*team, tag]
                refusals += not isinstance(refused, int) and tag in refused
            seen += earlier
            _check_refusals(turns, exchanges)
    assert sorted(seen) == sorted(exchanges)  # no question that is on no record
    expected = refused if isinstance(refused, int) else refusals
    assert sum(map(sum, (record.mistakes for record in records))) == expected


def run_page(
    framework: str, monkeypatch: pytest.MonkeyPatch, *, form: Form = plain, mates: int = 0
) -> Tagged:
    """Run an example of docs/frameworks.md as printed, and `check` its `records`.

    framework: the section of the example. mates: others of its team, if it is one.
    The page's models are those of OpenAI, whose address the environment gives.
    """
    names: dict[str, Any] = {}
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with tagging(form=form) as served:
        monkeypatch.setenv("OPENAI_BASE_URL", served.url)
        exec(compile(block(framework, FRAMEWORKS), FRAMEWORKS.name, "exec"), names)
    check(served, names["records"], [0], cached=False, mates=mates)
    assert len(names["records"]) == 4
    return served


def _check_refusals(turns: Sequence[Any], exchanges: dict[int, Exchange]) -> None:
    for turn in turns:
        for one, again in pairwise([*turn.refused, turn]):
            last = "\n".join(exchanges[_tag(again)].texts).partition(f"#{_tag(one)}#")[2]
            assert "That was refused" in last


def _tag(answer: Any) -> int:
    tags = TAG.findall(f"{answer.thought}\n{answer.raw}")
    return int(tags[0])


def _amounts(usage: Usage, cached: bool) -> tuple[int, ...]:
    return usage.tokens_in, usage.tokens_out, usage.tokens_cached * cached, usage.calls
