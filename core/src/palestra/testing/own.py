"""What an agent is given is its own: writing into it changes nothing for anybody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import msgspec
import numpy as np

from palestra.agents.agent import Turn
from palestra.kernel.episode import Episode
from palestra.kernel.rng import Rng
from palestra.testing.subject import Subject, random_actions, require

STEPS = 4  # of an episode in which everything is written into
GIVEN = ("observation", "mask", "legal", "legal_actions", "legal_texts", "scene", "transcript")
Undo = Callable[[], Any]


def turns_give_what_is_their_own(subject: Subject) -> None:
    """Whoever writes into what a turn hands out changes nothing that others see or may do.

    Neither in this episode nor in the next one of the process.
    """
    for seed in (0, 1):
        episode, rng = subject.episode(seed), Rng(seed)
        for number in range(STEPS):
            if episode.over:
                break
            for seat in episode.to_act[:2]:
                _write_into_all(subject, episode, seat, f"seed {seed}, step {number}")
            episode.act(random_actions(episode, rng))


def _write_into_all(subject: Subject, episode: Episode, seat: int, where: str) -> None:
    turn = Turn(episode, seat)
    for name in GIVEN:
        if name == "observation" and not subject.has_array_view:
            continue
        undo: list[Undo] = []
        before = _known(episode), _known(subject.episode(episode.seed))
        try:
            undo.extend(
                _changes(getattr(turn, name))
            )  # also keeps what was changed before an error
            after = _known(episode), _known(subject.episode(episode.seed))
        finally:
            for back in reversed(undo):
                back()
        for whose, one, other in zip(("this", "a new"), before, after, strict=True):
            told = sorted({key for key in one if one[key] != other[key]})
            require(
                not told,
                f"{where}: writing into turn.{name} of seat {seat} changes {told} in {whose} "
                "episode; hand out a copy or something that cannot be written into",
            )


def _known(episode: Episode) -> dict[str, Any]:
    """What an episode shows and allows, by seat."""
    known: dict[str, Any] = {"state_key": episode.state_key()}
    for seat in range(episode.game.num_players):
        told = [(event.text, repr(event.data)) for event in episode.transcript(seat)]
        known |= {f"transcript of seat {seat}": told}
        known |= {f"position of seat {seat}": episode.describe(seat)}
        if seat in episode.to_act:
            known |= {f"moves of seat {seat}": episode.legal_text(seat)}
    known["scene"] = repr(episode.scene(episode.to_act[0] if episode.to_act else None))
    return known


def _changes(value: Any, depth: int = 8) -> Iterator[Undo]:
    """Change whatever can be changed in a value and in what it holds; yields how to undo each."""
    if depth == 0 or isinstance(value, type | str | bytes | int | float | None):
        return
    if isinstance(value, np.ndarray):
        yield from _change_array(value)
        return
    yield from _change_container(value)
    if is_dataclass(value):
        inner: Any = [getattr(value, field.name, None) for field in fields(value)]
    elif isinstance(value, msgspec.Struct):
        inner = [getattr(value, name, None) for name in value.__struct_fields__]
    elif hasattr(value, "values") and hasattr(value, "keys"):
        inner = list(value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        inner = list(value)
    else:
        return
    for one in inner:
        yield from _changes(one, depth - 1)


def _change_array(array: np.ndarray) -> Iterator[Undo]:
    kept = array.copy()
    try:
        array[...] = 1 - kept
    except (TypeError, ValueError):  # read-only, or of something else than numbers
        return
    yield lambda: array.__setitem__(..., kept)


def _change_container(value: Any) -> Iterator[Undo]:
    """Add something to a mapping, a list or a set, where that is possible."""
    try:
        if isinstance(value, list):
            value.append(None)
            yield value.pop
        elif isinstance(value, set):
            value.add(None)
            yield lambda: value.discard(None)
        elif hasattr(value, "keys"):
            value["written"] = None
            yield lambda: value.pop("written")
    except TypeError:
        return
