"""A task of Inspect AI: an environment whose seats are model roles, with one scorer a seat.

Tested with inspect_ai 0.3.285, which finds it by the entry point `palestra_arena` of the group
`inspect_ai` (`_util/entrypoints.py`, line 19):

    inspect eval palestra_arena/palestra -T env=games/TicTacToe-v0 --model-role player_1=NAME
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from palestra import EpisodeRecord, InvalidOption, MissingExtra
from palestra.agents.budget import Usage
from palestra.agents.models import Reply, Request
from palestra.kernel.registry import open_game
from palestra.runner.awaited import AwaitedSeat, play_awaited

try:
    from inspect_ai import Task, task
    from inspect_ai.dataset import Sample
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageUser,
        get_model,
    )
    from inspect_ai.scorer import Score, mean, scorer, stderr
    from inspect_ai.solver import solver
except ImportError as error:
    raise MissingExtra("inspect_ai", "palestra-arena[inspect]") from error

RECORD = "palestra.record"  # the key in a sample's store: a line of `episode.jsonl`
WORDS = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


@task  # type: ignore[untyped-decorator,unused-ignore]
def palestra(
    env: str = "games/TicTacToe-v0",
    episodes: int = 10,
    seed: int = 0,
    agents: dict[str, str] | None = None,
    options: dict[str, Any] | None = None,
    invalid: str = "retry:2",
    max_episode_steps: int | None = None,
    history: str = "conversation",
) -> Any:
    """Episodes of an environment; the model roles `player_0`, `player_1`, … take its seats.

    A role without a model of its own is played by the model that is evaluated.

    Args:
        env: The id of the environment.
        episodes: How many; episode i starts from seed + i.
        seed: The seed of the first.
        agents: Seats that an agent of Palestra plays, by role: {player_1: mcts}.
        options: The environment's own options, "split" included.
        invalid: The policy for moves that cannot be played, as in `palestra.play`.
        max_episode_steps: Longer episodes are truncated.
        history: What a prompt holds, as the agent `llm` has it.
    """
    _, game = open_game(env, dict(options or {}))
    roles = [f"player_{seat}" for seat in range(game.num_players)]
    unknown = sorted(set(agents or {}) - set(roles))
    if unknown:
        raise InvalidOption(f"{env} has no seat {unknown[0]!r}; it has {', '.join(roles)}")
    samples = [
        Sample(input=game.rules_text or env, id=f"seed {number}", metadata={"seed": number})
        for number in range(seed, seed + episodes)
    ]
    settings = {"invalid": invalid, "max_episode_steps": max_episode_steps, **(options or {})}
    return Task(
        name=env.split("/")[-1],
        dataset=samples,
        solver=play_seats(env, roles, dict(agents or {}), settings, history),
        scorer=[seat_scorer(role, seat) for seat, role in enumerate(roles)],
        metadata={"env": env, "palestra": settings},
    )


@solver  # type: ignore[untyped-decorator,unused-ignore]
def play_seats(
    env: str,
    roles: list[str],
    agents: dict[str, str],
    settings: dict[str, Any],
    history: str,
) -> Any:
    """Play one episode, each seat by the model of its role."""

    async def solve(state: Any, generate: Any) -> Any:
        del generate
        heard: dict[str, list[Any]] = {}
        seated = [
            agents.get(role) or AwaitedSeat(_role(role, heard), role, {"history": history})
            for role in roles
        ]
        record = await play_awaited(env, seated, seed=state.metadata["seed"], **settings)
        state.store.set(RECORD, msgspec.json.encode(record).decode())
        if heard:
            state.messages = next(iter(heard.values()))
        return state

    return solve


def _role(role: str, heard: dict[str, list[Any]]) -> Callable[[Request], Any]:
    """Asks the model of a role; `heard` keeps its last conversation."""
    model = get_model(role=role)

    async def answer(request: Request) -> Reply:
        talk = [WORDS[message.role](content=message.content) for message in request.messages]
        output = await model.generate(talk)
        heard[role] = [*talk, output.message]
        used = output.usage
        usage = Usage(calls=1)
        if used is not None:
            usage = Usage(tokens_in=used.input_tokens, tokens_out=used.output_tokens, calls=1)
        return Reply(output.completion, usage, model=output.model)

    return answer


def seat_scorer(role: str, seat: int) -> Any:
    """The scorer of one seat: its return, with result and mistakes."""

    @scorer(metrics=[mean(), stderr()], name=role)  # type: ignore[untyped-decorator,unused-ignore]
    def seat_return() -> Any:
        async def score(state: Any, target: Any) -> Any:
            del target
            record = msgspec.json.decode(state.store.get(RECORD), type=EpisodeRecord)
            return Score(
                value=float(record.returns[seat]),
                answer=record.outcome.results[seat] if record.outcome else "none",
                explanation=record.outcome.reason if record.outcome else None,
                metadata={
                    "agent": record.agents[seat],
                    "mistakes": record.mistakes[seat],
                    "rewards": _paid(record, seat),
                },
            )

        return score

    return seat_return()


def _paid(record: EpisodeRecord, seat: int) -> Mapping[str, float]:
    """What a seat was paid, by term."""
    paid: dict[str, float] = {}
    for step in record.steps:
        for term, value in step.rewards.get(seat, {}).items():
            paid[term] = paid.get(term, 0.0) + value
    return paid
