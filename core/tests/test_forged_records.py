"""Every value of real records, forged one at a time: found out, or named as taken on trust."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import palestra
import pytest
from palestra import Decision, EpisodeRecord, PalestraError, Turn, verify

NOTHING: tuple[Any, ...] = ("", 0, None, [], {}, False)


def stubborn(turn: Turn) -> Decision:
    """Answers nonsense now and then, and speaks."""
    text = "I refuse" if not turn.tries and turn.steps_played % 3 == 0 else turn.legal_texts[-1]
    return Decision(text=text, thought="hm", model="m")


def wrong(turn: Turn) -> str:
    return "nonsense"


PLAYED: dict[str, dict[str, Any]] = {
    "games/TicTacToe-v0": {"agents": [stubborn, "random"]},
    "games/LiarsDice-v0": {"agents": [stubborn, "random", "first"], "num_players": 3},
    "games/PrisonersDilemma-v0": {"agents": [stubborn, "first"], "rounds": 3},
    "text/Negotiation-v0": {"agents": [stubborn, "random"], "max_turns": 6},
    "games/DonorGame-v0": {"agents": "random", "num_players": 4, "generations": 2, "rounds": 1},
    "games/Codenames-v0": {"agents": "random", "max_episode_steps": 4},  # teams
    "grid/Foraging-v0": {
        "agents": [wrong, "random", wrong, "first"],
        "num_players": 4,
        "invalid": "forfeit",
    },
    "games/Hex-v0": {
        "agents": [stubborn, "random"],
        "board_size": 2,
        "rewards": ["env", "novelty", "potential:of=palestra_rewards.other_runs:free_cells"],
        "gamma": 0.9,
    },
}


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every value in nested plain data."""
    if path:
        yield path
    parts = value.items() if isinstance(value, dict) else ()
    for key, one in enumerate(value) if isinstance(value, list) else parts:
        yield from paths(one, (*path, key))


def forgeries(value: Any) -> Iterator[Any]:
    """Other values in a value's place: emptied, altered, of another type."""
    yield from (empty for empty in NOTHING if empty != value or type(empty) is not type(value))
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, -value - 1, value + 0.5, 10**30)
    elif isinstance(value, str):
        yield from (value + "x", value[::-1] + "y", "\\ud800")
    elif isinstance(value, list):
        yield from ([*value, *value[-1:]] if value else [0], value[1:], value[::-1])
    elif isinstance(value, dict):
        yield {**value, "more": 1}
        yield dict(list(value.items())[1:])


@contextmanager
def forged(data: Any, path: tuple[Any, ...], value: Any) -> Iterator[bytes]:
    """Nested plain data as JSON, with another value at a place."""
    place = data
    for key in path[:-1]:
        place = place[key]
    kept, place[path[-1]] = place[path[-1]], value
    try:
        yield json.dumps(data).encode()
    finally:
        place[path[-1]] = kept


def changed(one: EpisodeRecord, other: EpisodeRecord) -> set[str]:
    """Names of the fields in which two records differ, those of turns by their own names."""
    names = {
        name
        for name in EpisodeRecord.__struct_fields__
        if name != "steps" and getattr(one, name) != getattr(other, name)
    }
    if len(one.steps) != len(other.steps):
        return names | {"number of steps"}
    for step, kept in zip(one.steps, other.steps, strict=True):
        for name in type(step).__struct_fields__:
            if name != "turns" and getattr(step, name) != getattr(kept, name):
                names.add("unplayed" if name == "unplayed" else f"{name} of a step")
        if len(step.turns) != len(kept.turns):
            return names | {"number of turns"}
        for turn, true in zip(step.turns, kept.turns, strict=True):
            names |= {
                name
                for name in type(turn).__struct_fields__
                if getattr(turn, name) != getattr(true, name)
            }
    return names


@pytest.mark.parametrize("env", PLAYED)
def test_a_forged_value_is_found_or_named(env: str) -> None:
    (record,) = palestra.play(env, seed=5, **PLAYED[env])
    data = json.loads(msgspec.json.encode(record))
    game = palestra.game(record.env, **record.options)
    assert changed(record, msgspec.convert(data, EpisodeRecord, strict=False)) == set()
    tried, found, missed = 0, 0, []
    for path in paths(data):
        value = data
        for key in path:
            value = value[key]
        for other in forgeries(value):
            tried += 1
            try:
                with forged(data, path, other) as line:
                    made = msgspec.json.decode(line, type=EpisodeRecord)
                trusted = verify(made, game if made.options == record.options else None)
            except (PalestraError, msgspec.DecodeError):
                found += 1
            else:
                if not changed(made, record) <= set(trusted):
                    missed.append((path, value, other, changed(made, record) - set(trusted)))
    assert not missed, missed[:5]
    assert tried > 500
    assert found > tried / 4
