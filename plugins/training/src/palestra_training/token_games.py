"""Whole games of one learning seat, played with an engine that takes tokens and gives tokens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from palestra import EpisodeRecord, InvalidOption
from palestra.agents.budget import Usage
from palestra.agents.models import Reply, Request, Tokens
from palestra.kernel.registry import open_game
from palestra.llm.tokens import read_prompt
from palestra.records.trace import SeatTrace, trace_seats
from palestra.runner.awaited import AwaitedSeat, play_awaited

from palestra_training.play import LEARNER


class SampledReply(NamedTuple):
    """What an engine sampled: token ids, their natural log-probabilities, and why it ended."""

    ids: Sequence[int]
    logprobs: Sequence[float]
    finish: str = ""


Draw = Callable[[list[int]], Awaitable[SampledReply]]  # from the ids of a prompt


def token_answer(tokenizer: Any, draw: Draw) -> Callable[[Request], Awaitable[Reply]]:
    """Answers requests by an engine of tokens; nothing that was sampled is tokenised again."""

    async def answer(request: Request) -> Reply:
        prompt = read_prompt(tokenizer, request, "the model")
        drawn = await draw(prompt)
        tokens = Tokens(
            tuple(prompt), tuple(drawn.ids), tuple(drawn.logprobs), "sampling", drawn.finish
        )
        usage = Usage(tokens_in=len(prompt), tokens_out=len(drawn.ids), calls=1)
        text = tokenizer.decode(drawn.ids, skip_special_tokens=True)
        return Reply(text, usage, sum(drawn.logprobs), tokens=tokens)

    return answer


async def play_learner(
    env: str,
    tokenizer: Any,
    draw: Draw,
    *,
    seed: int,
    seat: int = 0,
    opponents: str | Sequence[str] = "random",
    **settings: Any,
) -> tuple[EpisodeRecord, SeatTrace | None]:
    """Play one game with the learner in a seat; the record, and that seat's tokens.

    opponents: an agent for all other seats, or one for each in order of seat; "learner" is the
    model itself. settings: those of `palestra.play` and the environment's options. The trace is
    None if the seat was never asked, and the last one if its conversation was cut.
    """
    named = line_up(env, seat, opponents, settings)
    answer = token_answer(tokenizer, draw)
    seated = [
        AwaitedSeat(answer, LEARNER, {"keep_tokens": True}) if name == LEARNER else name
        for name in named
    ]
    record = await play_awaited(env, seated, seed=seed, **settings)
    traces = trace_seats(record, [seat])
    return record, traces[-1] if traces else None


def line_up(
    env: str, seat: int, opponents: str | Sequence[str], settings: Mapping[str, Any]
) -> list[str]:
    """The names of the agents at all seats, with the learner at `seat`.

    opponents: an agent for all other seats, or one for each in order of seat. settings: of the run
    and the environment. Raises `InvalidOption` if they do not fit the seats.
    """
    _, game = open_game(env, env_options(settings))
    others = game.num_players - 1
    named = [opponents] * others if isinstance(opponents, str) else list(opponents)
    if len(named) != others:
        raise InvalidOption(f"{env} has {others} other seats; got {len(named)} opponents")
    if not 0 <= seat <= others:
        raise InvalidOption(f"{env} has seats 0 to {others}, not {seat}")
    named.insert(seat, LEARNER)
    return named


def env_options(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The environment's options among the settings of a run."""
    return {name: value for name, value in settings.items() if name not in RUN}


RUN = ("seed", "invalid", "max_episode_steps", "rewards", "gamma")  # settings of `palestra.play`
