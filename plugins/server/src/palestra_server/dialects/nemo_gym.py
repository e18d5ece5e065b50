"""NeMo Gym's resources server: its agent servers play a seat of a match of their own.

For `gymnasium_agent` there are `/reset` and `/step`; for `simple_agent` `/seed_session`, the tools
`/move`, `/look` and `/legal`, and `/verify`. They lie at the root, since NeMo Gym knows a host and
a port and no path. A data row says under `palestra` which match to play (`EpisodeOptions`). The
cookie is the session. Spoken by its messages, without its package. Tested with nemo-gym 0.4: both
agent servers and its `ServerClient`.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import numpy as np
from palestra import InvalidOption, Usage
from palestra.kernel.errors import PalestraError
from palestra.llm.completion_fields import Count
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from palestra_server.app import Reply, answer_errors, read
from palestra_server.episodes import NOTHING, EpisodeOptions, SeatEpisode, Sessions, TurnView
from palestra_server.messages import Move, SeatView
from palestra_server.peers import Elsewhere
from palestra_server.refusals import refusal
from palestra_server.refused import RequestRefused, read_message
from palestra_server.security import Guard
from palestra_server.server import MatchServer
from palestra_server.words import in_words

MOST_BYTES = 16_000_000  # of one request: it holds the whole conversation, with its tokens
MOST_CALLS = 100  # of tools in one response: each is answered with a view
MOST_COLUMNS = 20_000  # of numbers in `/aggregate_metrics`: all together take about a second
PREFIXES = ("", "/ng-rollout/{rollout}")  # the second marks which rollout a request belongs to
TASK, ROLLOUT = "_ng_task_index", "_ng_rollout_index"


# What is read of a row and of a response of OpenAI's Responses API; agents get rows back as they
# came


class TaskRow(msgspec.Struct):
    palestra: EpisodeOptions = EpisodeOptions()


class Part(msgspec.Struct):
    type: str = ""
    text: str = ""


class Item(msgspec.Struct):
    """A message, a call of a tool, or reasoning."""

    type: str = "message"
    content: str | list[Part] | None = None
    summary: list[Part] = []
    name: str = ""
    arguments: str = "{}"
    call_id: str = ""


class TokenUsage(msgspec.Struct):
    input_tokens: Count = 0
    output_tokens: Count = 0


class ModelResponse(msgspec.Struct):
    output: list[Item]
    model: str | None = None
    usage: TokenUsage | None = None


class StepRequest(msgspec.Struct):
    response: msgspec.Raw


class MoveTool(msgspec.Struct, forbid_unknown_fields=True):
    """Answer your turn; the move is written as the legal moves are."""

    text: str
    number: int | None = None


class NoArguments(msgspec.Struct, forbid_unknown_fields=True):
    """A tool without arguments."""


class MetricsRequest(msgspec.Struct):
    verify_responses: list[dict[str, Any]]


class StepResponse(msgspec.Struct):
    """`reward` is what the seat was paid since its last answer."""

    observation: str | None = None
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    info: dict[str, Any] = {}


class NeMoGymDialect:
    """The resources server over a match server; see the module.

    token: what making a match takes; NeMo Gym sends it as a password where the server's `host` in
    its configuration is `:TOKEN@HOST`. opponents: who plays the other seats where a row names
    nobody; the server's `allowed` must accept it. defaults: what is played where a row names no
    environment.
    """

    def __init__(
        self,
        server: MatchServer,
        token: str = "",
        opponents: str = "random",
        defaults: EpisodeOptions = NOTHING,
    ) -> None:
        self._server, self._token, self._opponents = server, token, opponents
        self._defaults = defaults
        self._sessions = Sessions("palestra_nemo_gym", "/", self._seat)
        posts = {
            "/reset": self._reset,
            "/step": self._step,
            "/seed_session": self._reset,
            "/verify": self._verify,
            "/aggregate_metrics": self._aggregate,
        }
        self._tools: dict[str, Tool] = {
            "move": (MoveTool, _move),
            "look": (NoArguments, _look),
            "legal": (NoArguments, _legal),
        }
        self.routes: list[BaseRoute] = [Route("/reverify_mode", _reverify_mode)]
        for prefix in PREFIXES:
            for path, handler in posts.items():
                self.routes.append(
                    Route(prefix + path, answer_errors(server, handler), methods=["POST"])
                )
            for name in self._tools:
                self.routes.append(Route(f"{prefix}/{name}", self._call(name), methods=["POST"]))

    def running(self) -> AbstractAsyncContextManager[None]:
        return self._sessions.running()

    def _seat(self, env: str) -> SeatEpisode:
        return SeatEpisode(
            self._server,
            env=env,
            opponents=self._opponents,
            name="nemo-gym",
            defaults=self._defaults,
        )

    # An episode by turns

    async def _reset(self, _: MatchServer, request: Request) -> Response:
        if self._token:
            Guard.same(_password(request), self._token)
        row = await read(request, TaskRow, MOST_BYTES)
        session, seen = await self._sessions.start(request, row.palestra)
        told = {"observation": in_words(seen.view), "info": _info(seen.view)}
        return self._sessions.keep(request, session, Reply(told))

    async def _step(self, _: MatchServer, request: Request) -> Response:
        raw = bytes((await read(request, StepRequest, MOST_BYTES)).response)
        response = msgspec.json.decode(raw, type=ModelResponse)
        session = self._sessions.find(request)
        answer = await session.once(
            hashlib.sha256(raw).digest(), lambda: self._answer(session.episode, response)
        )
        return self._sessions.keep(request, session, Reply(answer))

    async def _answer(self, episode: SeatEpisode, response: ModelResponse) -> StepResponse:
        """Play what a model answered: its tool calls in their order, or else its text."""
        calls = [item for item in response.output if item.type == "function_call"]
        if calls:
            return await self._play_calls(episode, calls)
        if episode.over:  # it ended before the seat had a turn: its pay is told here
            return _step_response(await episode.rest())
        return _step_response(await episode.step(_as_move(response)))

    async def _play_calls(self, episode: SeatEpisode, calls: Sequence[Item]) -> StepResponse:
        if len(calls) > MOST_CALLS:
            raise RequestRefused(f"a response calls at most {MOST_CALLS} tools", 413)
        outputs, reward = [], 0.0
        for call in calls:
            try:
                text, paid = await self._run_tool(episode, call.name, call.arguments.encode())
                reward += paid
            except (
                PalestraError,
                msgspec.DecodeError,
                UnicodeDecodeError,
                RecursionError,
            ) as error:
                text = refusal(error)[0].error
            outputs.append({"call_id": call.call_id, "output": text})
        rest = await episode.rest()
        told = _step_response(TurnView(rest.view, reward + rest.reward))
        told.observation = None  # it stands in the outputs
        told.info["tool_outputs"] = outputs
        return told

    # An episode by tools, verified at its end

    def _call(self, name: str) -> Callable[[Request], Awaitable[Response]]:
        """The route of a tool; its answer is text, which the agent shows the model as it is."""

        async def act(server: MatchServer, request: Request) -> Response:
            try:
                raw = bytes(await read(request, msgspec.Raw))
                session = self._sessions.find(request)
                async with session.lock:
                    text, _ = await self._run_tool(session.episode, name, raw)
            except Elsewhere:
                raise
            except (
                PalestraError,
                msgspec.DecodeError,
                UnicodeDecodeError,
                RecursionError,
            ) as error:
                server.refuse(error)
                failure, status = refusal(error)
                return PlainTextResponse(failure.error, status)
            return self._sessions.keep(request, session, PlainTextResponse(text))

        return answer_errors(self._server, act)

    async def _run_tool(
        self, episode: SeatEpisode, name: str, arguments: bytes
    ) -> tuple[str, float]:
        """What a tool tells, and what its move was paid."""
        if name not in self._tools:
            known = ", ".join(self._tools)
            raise RequestRefused(f"there is no tool {name[:40]!r}; the tools are {known}", 404)
        kind, act = self._tools[name]
        return await act(episode, read_message(arguments, kind))

    async def _verify(self, _: MatchServer, request: Request) -> Response:
        """The row with the seat's pay; a match that is played still is resigned first."""
        body = await read(request, dict[str, Any], MOST_BYTES)
        session = self._sessions.find(request)
        async with session.lock:
            finished = session.episode.over
            await session.episode.resign()
        view = await session.episode.look()
        verified = {**body, "reward": view.returns, "finished": finished, "info": _info(view)}
        return self._sessions.keep(request, session, Reply(verified))

    async def _aggregate(self, _: MatchServer, request: Request) -> Response:
        rows = (await read(request, MetricsRequest, MOST_BYTES)).verify_responses
        return Reply(await asyncio.to_thread(aggregate_metrics, rows))


Tool = tuple[Any, Callable[[SeatEpisode, Any], Awaitable[tuple[str, float]]]]


async def _move(episode: SeatEpisode, asked: MoveTool) -> tuple[str, float]:
    seen = await episode.step(Move(text=asked.text, number=asked.number))
    return in_words(seen.view), seen.reward


async def _look(episode: SeatEpisode, _: NoArguments) -> tuple[str, float]:
    return in_words(await episode.look()), 0.0


async def _legal(episode: SeatEpisode, _: NoArguments) -> tuple[str, float]:
    view = await episode.look()
    return "\n".join(view.legal_texts or [view.legal]) or "It is not your turn.", 0.0


async def _reverify_mode(_: Request) -> Response:
    return Reply("unsupported")  # a match is not played again from a transcript


def _password(request: Request) -> str:
    """The token of a request, as a bearer or as the password of basic authentication."""
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "basic":
        return given.strip()
    try:
        return base64.b64decode(given, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _as_move(response: ModelResponse) -> Move:
    """A model's text as a move, with what it thought and took."""
    used = response.usage or TokenUsage()
    return Move(
        text=_join_contents(item.content for item in response.output if item.type == "message"),
        thought=_join_contents(
            item.summary for item in response.output if item.type == "reasoning"
        ),
        model=response.model or "",
        usage=Usage(tokens_in=used.input_tokens, tokens_out=used.output_tokens, calls=1),
    )


def _join_contents(contents: Iterable[str | list[Part] | None]) -> str:
    texts = []
    for content in contents:
        if isinstance(content, str):
            texts.append(content)
        else:
            texts += [part.text for part in content or ()]
    return "".join(texts)


def _step_response(seen: TurnView) -> StepResponse:
    view = seen.view
    return StepResponse(
        observation=in_words(view),
        reward=seen.reward,
        terminated=seen.over and not view.truncated,
        truncated=seen.over and view.truncated,
        info=_info(view),
    )


def _info(view: SeatView) -> dict[str, Any]:
    told: dict[str, Any] = {"match": view.match, "seat": view.seat, "turn": view.turn}
    if view.error:
        told["error"] = view.error
    if view.your_turn:
        told["number"] = view.number
        if view.legal_texts is not None:
            told["legal_texts"] = view.legal_texts
    if view.status == "over":
        told |= {"result": view.result, "score": view.score}
    return told


# Numbers over many rollouts, under the names that NeMo Gym gives them


def aggregate_metrics(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Mean, greatest, least, median and standard deviation of every number of the rollouts.

    rows: verified rollouts, `_ng_task_index` the task of each. All together are `agent_metrics`,
    those of one task an entry of `group_level_metrics`. A deviation of one value is left out, or 0
    where there is no other.
    """
    if not rows:
        return {"group_level_metrics": [], "agent_metrics": {}, "key_metrics": {}}
    tasks: dict[int, list[dict[str, float]]] = {}
    for row in rows:
        task = row.get(TASK, 0)
        if not isinstance(task, int):
            raise InvalidOption(f"{TASK} is the number of a task, not {str(task)[:40]!r}")
        try:
            tasks.setdefault(task, []).append(_numbers(row))
        except OverflowError:
            raise InvalidOption(f"a number of task {task} is over 1e308") from None
    if sum(len(set().union(*numbers)) for numbers in tasks.values()) > MOST_COLUMNS:
        raise RequestRefused(f"at most {MOST_COLUMNS} numbers of tasks are summarised at once", 413)
    groups = [
        {TASK: task, **_statistics(tasks[task]), "num_rollouts": len(tasks[task])}
        for task in sorted(tasks)
    ]
    everything = _statistics([numbers for task in sorted(tasks) for numbers in tasks[task]])
    means = {name: value for name, value in everything.items() if name.startswith("mean/")}
    return {"group_level_metrics": groups, "agent_metrics": everything, "key_metrics": means}


def _numbers(row: Mapping[str, Any]) -> dict[str, float]:
    response = row.get("response")
    used = response.get("usage") if isinstance(response, dict) else None
    values = {**row, **(used if isinstance(used, dict) else {})}
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, int | float) and name not in (TASK, ROLLOUT)
    }


def _statistics(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    columns: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    measures: dict[str, Callable[[list[float]], Any]] = {
        "mean": np.mean,
        "max": max,
        "min": min,
        "median": np.median,
    }
    found = {
        f"{kind}/{name}": float(measure(values))
        for kind, measure in measures.items()
        for name, values in columns.items()
    }
    spread = {name: float(np.std(v, ddof=1)) for name, v in columns.items() if len(v) > 1}
    spread = spread or dict.fromkeys(columns, 0.0)
    return found | {f"std/{name}": value for name, value in spread.items()}
