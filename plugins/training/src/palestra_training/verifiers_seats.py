"""A package for verifiers and prime-rl: an environment in which every seat is an agent.

Tested with verifiers 0.4.0 (`verifiers.v1`). It imports a package by its name and takes from
`__all__` one `Taskset`, one `Env` and one `Harness` (`verifiers/v1/utils/loaders.py`, line 75);
every field of the environment's configuration that is an `AgentConfig` is an agent
(`v1/configs/env.py`, line 68), and `Env.run` plays one episode (`v1/env.py`, line 157).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from types import new_class
from typing import Any, ClassVar

import httpx
import msgspec
from palestra import EpisodeRecord, InvalidOption, MissingExtra
from palestra.agents.budget import Usage
from palestra.agents.models import Reply, Request, Tokens
from palestra.kernel.registry import open_game
from palestra.runner.awaited import AwaitedSeat, play_awaited
from pydantic import Field, create_model

try:
    import verifiers.v1 as vf
    from verifiers.v1.dialects.chat import message_to_wire
    from verifiers.v1.runtimes import ProgramResult
except ImportError as error:
    raise MissingExtra("verifiers", "palestra-training[verifiers]") from error

LIMITS = ("max_turns", "max_input_tokens", "max_output_tokens", "max_total_tokens")


class StartData(vf.TaskData):
    """A start: the seed of the episode."""

    seed: int = 0


class StartTask(vf.Task[StartData]):
    """One start of the environment; what its seats are paid is recorded by the environment."""


class StartsConfig(vf.TasksetConfig):
    """Which starts are played: seeds from `seed` on, without end."""

    seed: int = Field(0, ge=0)


class Starts(vf.Taskset[StartTask, StartsConfig]):
    """The starts of an environment, one a seed."""

    INFINITE = True

    def load(self) -> Iterable[StartTask]:
        number = 0
        while True:
            yield StartTask(StartData(seed=self.config.seed + number), self.config.task)
            number += 1


class SeatHarness(vf.Harness[vf.HarnessConfig]):
    """Sends a conversation to the model as it stands, from this process."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(self, *_: Any, **__: Any) -> ProgramResult:
        raise InvalidOption("this harness plays seats of an environment, not tasks with a prompt")

    async def resume(
        self,
        ctx: Any,
        trace: Any,
        runtime: Any,
        endpoint: str,
        secret: str,
        mcp_urls: Any,
        data: Any,
        messages: Any,
        tool_interception_url: str | None = None,
    ) -> ProgramResult:
        """Ask for a reply to `messages`, which are the whole conversation."""
        del trace, runtime, mcp_urls, data, tool_interception_url
        body = {"model": ctx.model, "messages": [message_to_wire(one) for one in messages]}
        async with httpx.AsyncClient(timeout=None) as client:
            answer = await client.post(
                f"{endpoint}/chat/completions",
                json=body,
                headers={"Authorization": f"Bearer {secret}"},
            )
        failed = answer.status_code >= 400
        return ProgramResult(int(failed), "", answer.text if failed else "")


class SeatsConfig(vf.EnvConfig):
    """How an environment is played; each seat's field is the agent that plays it."""

    opponents: dict[str, str] = Field(default_factory=dict)
    """Seats that an agent of Palestra plays, by name: {"player_1": "mcts"}."""
    invalid: str = "retry:2"
    """The policy for moves that cannot be played, as in `palestra.play`."""
    max_episode_steps: int | None = None
    history: str = "conversation"
    """What a prompt holds, as the agent `llm` has it."""


class SeatsEnv(vf.Env[SeatsConfig]):
    """An environment whose seats are the agents of verifiers; `seat_package` binds it to one."""

    env: ClassVar[str] = ""
    options: ClassVar[Mapping[str, Any]] = {}

    async def run(self, task: Any, agents: Any) -> None:
        players = _seats(self.env, self.options)
        unknown = sorted(set(self.config.opponents) - set(players))
        if unknown:
            raise InvalidOption(f"{self.env} has no seat {unknown[0]!r}: {', '.join(players)}")
        async with AsyncExitStack() as opened:
            talks: dict[int, Any] = {}
            seated: list[Any] = [self.config.opponents.get(player) for player in players]
            for seat, player in enumerate(players):
                if seated[seat] is None:
                    agent = getattr(agents, player)
                    talks[seat] = await opened.enter_async_context(agent.interaction(task))
                    seated[seat] = AwaitedSeat(
                        _Seat(talks[seat]),
                        player,
                        {"history": self.config.history, "keep_tokens": True},
                    )
            record = await play_awaited(
                self.env,
                seated,
                seed=task.data.seed,
                invalid=self.config.invalid,
                max_episode_steps=self.config.max_episode_steps,
                **self.options,
            )
            for seat, talk in talks.items():
                _record_seat(talk.trace, record, seat)


class _Seat:
    """Puts a seat's requests to its agent, as turns of one interaction."""

    def __init__(self, talk: Any) -> None:
        self._talk = talk

    async def __call__(self, request: Request) -> Reply:
        messages = [{"role": one.role, "content": one.content} for one in request.messages]
        trace = self._talk.trace
        if trace.stop_condition in LIMITS:
            return Reply("")
        segment = await self._talk.turn(messages)
        if segment.terminated:
            if trace.stop_condition in LIMITS:  # no more replies: the seat has no move
                return Reply("")
            raise InvalidOption(f"the agent stopped: {trace.last_error or trace.stop_condition}")
        return _reply(trace, segment)


def _reply(trace: Any, segment: Any) -> Reply:
    """What was said last, with its exact tokens where the client gives them."""
    place = max(number for number, node in enumerate(trace.nodes) if node.sampled)
    node, call = trace.nodes[place], trace.calls[-1]
    message = segment.messages[-1]
    used = call.usage
    usage = Usage(calls=1)
    if used is not None:
        usage = Usage(tokens_in=used.prompt_tokens, tokens_out=used.completion_tokens, calls=1)
    return Reply(
        message.content or "",
        usage,
        model=call.model or "",
        thought=message.reasoning_content or "",
        tokens=_tokens(trace.nodes, place, call.finish_reason) if node.token_ids else None,
    )


def _tokens(nodes: Any, place: int, finish: str | None) -> Tokens:
    """The tokens up to a reply and of it; a node holds those that its message added."""
    node = nodes[place]
    start = node.mask.index(True) if True in node.mask else len(node.token_ids)
    prompt = list(node.token_ids[:start])
    while node.parent is not None:
        node = nodes[node.parent]
        prompt = [*node.token_ids, *prompt]
    said = nodes[place]
    ends = {"stop": "end", "length": "length"}
    return Tokens(
        tuple(prompt),
        tuple(said.token_ids[start:]),
        tuple(said.logprobs),
        "sampling",
        ends.get(finish or "", ""),
    )


def _record_seat(trace: Any, record: EpisodeRecord, seat: int) -> None:
    """What a seat was paid, by term; how it ended, and the whole episode."""
    paid: dict[str, float] = {}
    for step in record.steps:
        for term, value in step.rewards.get(seat, {}).items():
            paid[term] = paid.get(term, 0.0) + value
    for term, value in paid.items():
        trace.record_reward(term, value)
    trace.record_metric("mistakes", record.mistakes[seat])
    trace.info["palestra"] = {
        "env": record.env,
        "seed": record.seed,
        "seat": seat,
        "result": record.outcome.results[seat] if record.outcome else "none",
        "record": msgspec.json.encode(record).decode(),
    }


def _seats(env: str, options: Mapping[str, Any]) -> list[str]:
    """The name of the agent at each seat."""
    _, game = open_game(env, dict(options))
    return [f"player_{seat}" for seat in range(game.num_players)]


def seat_package(env: str, **options: Any) -> tuple[type[Any], type[Any], type[Any]]:
    """The classes that a package of verifiers exports: taskset, environment and harness.

    One agent a seat: `player_0`, `player_1`, …; each has its own model, client and sampling. An
    episode is a start (a seed) played to its end; a seat's trace has its rewards by term, and
    `info["palestra"]` the record. options: the game's own.
    """
    _, game = open_game(env, options)
    name = type(game).__name__
    local = vf.AgentConfig(runtime={"type": "subprocess"})
    seats: dict[str, Any] = dict.fromkeys(_seats(env, options), (vf.AgentConfig, local))
    config = create_model(f"{name}Config", __base__=SeatsConfig, **seats)
    bases = (SeatsEnv, vf.Env[config])
    made = new_class(
        f"{name}Env", bases, exec_body=lambda body: body.update(env=env, options=options)
    )
    return Starts, made, SeatHarness
