"""Groups of environments for tinker-cookbook: each seat that learns is an `Env`.

Tested with tinker-cookbook 0.5.8 and tinker 0.38.0. It calls `EnvGroupBuilder.make_envs`, then
`initial_observation` and `step` of every environment, all of a group at once, and
`compute_group_rewards` (`tinker_cookbook/rl/types.py`, lines 228, 245 and 332).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from palestra import EpisodeRecord, InvalidOption, MissingExtra
from palestra.agents.budget import Usage
from palestra.agents.models import Message, Reply, Request
from palestra.kernel.registry import open_game
from palestra.llm.tokens import read_prompt
from palestra.runner.awaited import AwaitedSeat, play_awaited

try:
    import tinker
    from tinker_cookbook.renderers import get_text_content
    from tinker_cookbook.rl.types import (
        ActionExtra,
        Env,
        EnvGroupBuilder,
        InitialObservationOverflow,
        StepResult,
    )
except ImportError as error:
    raise MissingExtra("tinker_cookbook", "palestra-training[tinker]") from error


class Match:
    """One game, whose learning seats are environments of tinker."""

    def __init__(self, group: SeatGroup, seats: Sequence[int]) -> None:
        self.record: EpisodeRecord | None = None
        self.envs = {seat: SeatEnv(self, seat, group) for seat in seats}
        self._group = group
        self._playing: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the game when the first of its seats is asked for its observation."""
        if self._playing is None:
            self._playing = asyncio.create_task(self._play())

    async def _play(self) -> None:
        group = self._group
        seated = [
            AwaitedSeat(self.envs[seat].answer, f"player_{seat}")
            if seat in self.envs
            else group.opponents[f"player_{seat}"]
            for seat in range(group.players)
        ]
        try:
            self.record = await play_awaited(
                group.env,
                seated,
                seed=group.seed,
                invalid=group.invalid,
                max_episode_steps=group.max_episode_steps,
                **group.options,
            )
        finally:
            for env in self.envs.values():
                env.asked.put_nowait(None)

    def check(self) -> EpisodeRecord:
        """The record; raises what ended the game if there is none."""
        if self.record is None and self._playing is not None and self._playing.done():
            self._playing.result()
        if self.record is None:
            raise InvalidOption("the game is not over yet")
        return self.record


class SeatEnv(Env):
    """One seat of one match; its observations continue each other token by token."""

    def __init__(self, match: Match, seat: int, group: SeatGroup) -> None:
        self.match, self.seat = match, seat
        self.asked: asyncio.Queue[Request | None] = asyncio.Queue()
        self._renderer, self._seconds = group.renderer, group.move_seconds
        self._reply: asyncio.Future[Reply] | None = None
        self._heard: tuple[Message, ...] = ()  # what the last prompt was made of
        self._prompt: list[int] = []
        self._said: list[int] = []
        self._gone = False

    async def answer(self, request: Request) -> Reply:
        """The reply of the policy; an empty one if tinker stopped this rollout."""
        if self._gone:
            return Reply("")
        self._reply = asyncio.get_running_loop().create_future()
        self.asked.put_nowait(request)
        try:
            return await asyncio.wait_for(self._reply, self._seconds)
        except TimeoutError:
            self._gone = True
            return Reply("")

    async def initial_observation(self) -> Any:
        """The first prompt of the seat, when its turn comes."""
        self.match.start()
        if await self._next():
            return tinker.ModelInput.from_ints(self._prompt), self._stops()
        return InitialObservationOverflow(reward=0.0)  # the game ended before its first turn

    async def step(self, action: list[int], *, extra: ActionExtra | None = None) -> StepResult:
        """Play a reply; returns when the seat is to act again, or the game is over."""
        del extra
        if self._reply is None or self._reply.done():
            raise InvalidOption("this seat is not to act: its time is over, or its game")
        message, _ = self._renderer.parse_response(action)
        self._said = list(action)
        usage = Usage(tokens_in=len(self._prompt), tokens_out=len(action), calls=1)
        self._reply.set_result(Reply(get_text_content(message), usage))
        asked = await self._next()
        return StepResult(
            reward=0.0,
            episode_done=not asked,
            next_observation=tinker.ModelInput.from_ints(self._prompt if asked else []),
            next_stop_condition=self._stops(),
        )

    async def _next(self) -> bool:
        """Wait for the next request; False if the game is over."""
        request = await self.asked.get()
        if request is None:
            self.match.check()
            return False
        self._prompt = self._read(request)
        self._heard = request.messages
        return True

    def _read(self, request: Request) -> list[int]:
        """The tokens of a request: those so far and the new messages, if it continues the last."""
        heard = len(self._heard)
        if heard and request.messages[:heard] == self._heard:
            so_far = (*self._prompt, *self._said)
            new = len(request.messages) - heard - 1  # but for the reply itself
            request = msgspec.structs.replace(request, read=so_far, new=new)
        return read_prompt(self._renderer.tokenizer, request, "the renderer's tokenizer")

    def _stops(self) -> Any:
        return self._renderer.get_stop_sequences()


@dataclass(frozen=True)
class SeatGroup(EnvGroupBuilder):
    """`matches` games from one seed; every seat without an opponent is an environment that learns.

    renderer: of tinker-cookbook, for the model that is trained; prompts are made with its
    tokenizer's chat template, and replies are read by it. opponents: agents of Palestra by seat, as
    in {"player_1": "mcts"}. tinker compares the rewards of one group: with one learning seat they
    are those of one seat from one start. A rollout's reward is its seat's return. invalid: the
    policy for moves that cannot be played. move_seconds: how long a game waits for a rollout that
    tinker has stopped; its moves are then refused. options: the environment's own.
    """

    env: str
    renderer: Any
    seed: int = 0
    matches: int = 1
    opponents: Mapping[str, str] = field(default_factory=dict)
    invalid: str = "retry:2"
    max_episode_steps: int | None = None
    move_seconds: float = 600.0
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def players(self) -> int:
        """How many seats the environment has."""
        return int(open_game(self.env, dict(self.options))[1].num_players)

    async def make_envs(self) -> Sequence[SeatEnv]:
        """The learning seats of every match, match by match."""
        names = [f"player_{seat}" for seat in range(self.players)]
        unknown = sorted(set(self.opponents) - set(names))
        if unknown:
            raise InvalidOption(f"{self.env} has no seat {unknown[0]!r}; it has {', '.join(names)}")
        seats = [seat for seat, name in enumerate(names) if name not in self.opponents]
        if not seats:
            raise InvalidOption("every seat has an opponent; leave one out for the policy to learn")
        return [env for _ in range(self.matches) for env in Match(self, seats).envs.values()]

    async def compute_group_rewards(
        self, trajectory_group: Sequence[Any], env_group: Sequence[Any]
    ) -> list[tuple[float, dict[str, float]]]:
        """What each seat was paid, with its mistakes and whether it won."""
        rewards = []
        for env in env_group:
            record, seat = env.match.check(), env.seat
            won = record.outcome is not None and record.outcome.results[seat] == "win"
            told = {"mistakes": float(record.mistakes[seat]), "won": float(won)}
            rewards.append((float(record.returns[seat]), told))
        return rewards

    def logging_tags(self) -> list[str]:
        return [self.env]
