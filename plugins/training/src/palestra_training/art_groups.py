"""Groups of ART's trajectories: one for each seat and person that learn, over matches of a start.

Tested with openpipe-art 0.5.18. ART compares the rewards of one `TrajectoryGroup`, and learns from
every `Choice` with log-probabilities in a trajectory's messages and in its `additional_histories`
(`art/preprocessing/tokenize.py`, lines 239 and 310).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from palestra import EpisodeRecord, InvalidOption, MissingExtra
from palestra.agents.models import Request
from palestra.kernel.registry import open_game

from palestra_training.completion_seats import Ask, AskedSeat, ask_by, paid_people, play_asked
from palestra_training.token_games import env_options

try:
    import art
    from art.trajectories import History
except ImportError as error:
    raise MissingExtra("art", "palestra-training[art]") from error

Person = tuple[int, int]  # a seat, and the number of who sits there: 0 for the first


async def seat_groups(
    model: Any,
    env: str,
    *,
    seed: int = 0,
    matches: int = 8,
    opponents: Mapping[str, str] | None = None,
    history: str = "conversation",
    max_tokens: int = 64,
    temperature: float = 1.0,
    **settings: Any,
) -> list[Any]:
    """Play `matches` side by side from one seed; a `TrajectoryGroup` for every learning seat.

    model: an `art.Model` whose endpoint answers. opponents: agents of Palestra by seat, as in
    {"player_1": "mcts"}; every other seat learns. history, max_tokens, temperature: as the agent
    `llm` has them. settings: those of `palestra.play`, such as `invalid`, and the environment's
    options.

    Where a game seats newcomers, each person has a group of their own. A trajectory has the
    person's messages and choices, refused answers included, and as its reward what the person was
    paid; a conversation that was cut or begun anew goes on in `additional_histories`. A seat that
    was never asked has a trajectory without messages. A match that failed is an exception in the
    groups of all first persons. Raises `InvalidOption` if no seat learns, or a seat is unknown.
    """
    rivals = dict(opponents or {})
    players = _players(env, rivals, settings)
    asking = {"history": history, "max_tokens": max_tokens, "temperature": temperature}
    play = partial(_play, model, env, [rivals.get(player) for player in players], asking)
    played = await asyncio.gather(
        *(play(seed=seed, **settings) for _ in range(matches)), return_exceptions=True
    )
    first = [(seat, 0) for seat, player in enumerate(players) if player not in rivals]
    members: dict[Person, list[Any]] = {person: [] for person in first}
    for match in played:
        found = match if isinstance(match, dict) else dict.fromkeys(first, match)
        for person, one in found.items():
            members.setdefault(person, []).append(one)
    return [
        art.TrajectoryGroup(
            found, metadata={"env": env, "seed": seed, "seat": seat, "person": life}
        )
        for (seat, life), found in sorted(members.items())
    ]


def _players(env: str, rivals: Mapping[str, str], settings: Mapping[str, Any]) -> list[str]:
    """The names of all seats; raises `InvalidOption` where opponents do not fit them."""
    _, game = open_game(env, env_options(settings))
    names = [f"player_{seat}" for seat in range(game.num_players)]
    if unknown := sorted(set(rivals) - set(names)):
        raise InvalidOption(f"{env} has no seat {unknown[0]!r}; it has {', '.join(names)}")
    if len(rivals) == len(names):
        raise InvalidOption("every seat has an opponent; leave one out for the model to learn")
    return names


async def _play(
    model: Any, env: str, rivals: Sequence[str | None], asking: Mapping[str, Any], **settings: Any
) -> dict[Person, Any]:
    """Play one match; a trajectory for every person at a seat without a rival."""
    client, name = model.openai_client(), model.get_inference_name()
    talks: dict[Person, list[History]] = {}

    def ask_of(seat: int, life: int) -> Ask:
        talk = talks.setdefault((seat, life), [])
        return ask_by(client, name, lambda request, heard: _add(talk, request, heard.choices[0]))

    seated = [rival or AskedSeat(partial(ask_of, seat)) for seat, rival in enumerate(rivals)]
    record = await play_asked(env, seated, asking, **settings)
    return {
        person: _trajectory(record, person, paid, talks.get(person) or [_history([])])
        for person, paid in paid_people(record).items()
        if rivals[person[0]] is None
    }


def _add(talk: list[History], request: Request, choice: Any) -> None:
    """Append new messages and the choice to a talk, or begin anew where it was not gone on with."""
    messages = [{"role": one.role, "content": one.content} for one in request.messages]
    known = talk[-1].messages() if talk else []
    if not talk or messages[: len(known)] != known:
        talk.append(_history([]))
        known = []
    talk[-1].messages_and_choices += [*messages[len(known) :], choice]


def _history(messages: list[Any]) -> History:
    return History(messages_and_choices=messages)


def _trajectory(record: EpisodeRecord, person: Person, paid: float, talk: Sequence[History]) -> Any:
    seat, life = person
    turns = [turn for turn in record.turns if (turn.seat, turn.life) == person]
    return art.Trajectory(
        messages_and_choices=talk[0].messages_and_choices,
        additional_histories=list(talk[1:]),
        reward=paid,
        metrics={"turns": len(turns), "refused": sum(len(turn.refused) for turn in turns)},
        metadata={
            "env": record.env,
            "seed": record.seed,
            "seat": seat,
            "person": life,
            "result": record.outcome.results[seat] if record.outcome else "none",
        },
    )
