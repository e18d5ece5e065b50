"""Rollouts as columns: what every group estimator reads.

A *turn* is one decision of one seat; a *line* is all turns of one seat in one episode (for a
single player a line is an episode). Columns over turns keep the order they came in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from palestra import EpisodeRecord, InvalidOption

from palestra_rewards.arrays import Bools, Floats, Ints, firsts, floats, number, together


@dataclass(frozen=True)
class Group:
    """Turns of several rollouts; build it with `of` or `from_arrays`.

    Over turns, shape (n,): `episode` (from 0), `seat`, `line` (numbered by episode, then seat),
    `turn` (number of the step; decisions made together share it), `rewards` (what the seat was
    paid from this turn to its next), `role` (functional group; by default the seat), and, where
    known, `state` and `action` (equal numbers for equal ones), `tokens` (sampled), `logprob`
    (natural), `seconds`, `cost`.

    Over lines, shape (lines,), ordered by episode and seat: `returns`, and where known `success`
    from 0 to 1. Over episodes: `task` (rollouts of one start share it), `truncated`, and `parent`
    (episode that called or bore this one, -1 for none). `facts` are further columns by name, over
    turns, lines or episodes. `tasks` and `roles` are the names of those numbers.
    """

    episode: Ints
    seat: Ints
    line: Ints
    turn: Ints
    rewards: Floats
    role: Ints
    returns: Floats
    task: Ints
    truncated: Bools
    state: Ints | None = None
    action: Ints | None = None
    tokens: Ints | None = None
    logprob: Floats | None = None
    seconds: Floats | None = None
    cost: Floats | None = None
    success: Floats | None = None
    parent: Ints | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    tasks: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()

    @classmethod
    def of(cls, records: Sequence[EpisodeRecord]) -> Group:
        """The columns of records; see `docs/rewards.md` for the tags it reads."""
        from palestra_rewards.reading import read_group

        return read_group(records)

    @classmethod
    def from_arrays(
        cls,
        *,
        episode: Any,
        rewards: Any,
        seat: Any = None,
        turn: Any = None,
        task: Any = None,
        returns: Any = None,
        truncated: Any = None,
        success: Any = None,
        parent: Any = None,
        facts: Mapping[str, Any] | None = None,
        **columns: Any,
    ) -> Group:
        """A group from a trainer's own arrays, turns in playing order within each episode.

        `episode` and `rewards` are enough: one seat, one task, and returns that are the sums of
        rewards. `state`, `action` and `role` may hold anything hashable.
        """
        of_turn = _integers("episode", episode)
        size = of_turn.size
        episodes = int(of_turn.max(initial=-1)) + 1
        seats = _integers("seat", seat, size, np.zeros(size))
        paid = _floats("rewards", rewards, size)
        line = together((of_turn, seats)) if size else of_turn
        lines = int(line.max(initial=-1)) + 1
        summed = np.bincount(line, paid, minlength=lines)
        roles = columns.pop("role", None)
        role = number(seats if roles is None else _many("role", roles, size))
        tasks = np.zeros(episodes, np.int64) if task is None else task
        group = cls(
            episode=of_turn,
            seat=seats,
            line=line,
            turn=_integers("turn", turn, size, _places(of_turn)),
            rewards=paid,
            role=role,
            returns=_floats("returns", returns, lines, summed),
            task=number(tasks),
            truncated=_floats("truncated", truncated, episodes, np.zeros(episodes)).astype(bool),
            success=None if success is None else _floats("success", success, lines),
            parent=None if parent is None else _integers("parent", parent, episodes),
            facts=dict(facts or {}),
            tasks=_names(tasks),
            roles=_names(seats if roles is None else roles),
            **_optional(columns, size),
        )
        check(group)
        return group

    def replace(self, **columns: Any) -> Group:
        """The same rollouts with other columns, as in `group.replace(rewards=shaped)`.

        Other `rewards` without other `returns` bring their own sums.
        """
        if "rewards" in columns and "returns" not in columns:
            paid = _floats("rewards", columns["rewards"], self.size)
            columns |= {"rewards": paid, "returns": np.bincount(self.line, paid, self.lines)}
        return replace(self, **columns)

    def with_facts(self, **facts: Any) -> Group:
        return replace(self, facts={**self.facts, **facts})

    @property
    def size(self) -> int:
        """How many turns."""
        return self.episode.size

    @property
    def episodes(self) -> int:
        return self.truncated.size

    @property
    def lines(self) -> int:
        return self.returns.size

    @cached_property
    def line_first(self) -> Ints:
        """The first turn of every line."""
        return firsts(self.line)

    @cached_property
    def line_task(self) -> Ints:
        return self.task[self.episode[self.line_first]]

    @cached_property
    def line_role(self) -> Ints:
        return self.role[self.line_first]

    @cached_property
    def turn_task(self) -> Ints:
        return self.task[self.episode]

    @cached_property
    def ordinal(self) -> Ints:
        """Which turn of its line each turn is, from 0."""
        return _places(self.line)

    @cached_property
    def length(self) -> Ints:
        """Turns of every line."""
        return np.bincount(self.line, minlength=self.lines)

    def spread(self, of_lines: Floats) -> Floats:
        """One number a line, given to each of its turns."""
        return of_lines[self.line]

    def padded(self, values: Floats, fill: float = 0.0) -> Floats:
        """Turns as a table of lines by own turns, filled up with `fill` behind the last."""
        table = np.full((self.lines, int(self.length.max(initial=0))), fill)
        table[self.line, self.ordinal] = values
        return table

    def flat(self, table: Floats) -> Floats:
        """The turns of a table that `padded` made."""
        return table[self.line, self.ordinal]

    def to_go(self, values: Floats | None = None, gamma: float = 1.0) -> Floats:
        """Discounted sum from each turn to the end of its line; of rewards unless told."""
        table = self.padded(self.rewards if values is None else values)
        for place in range(table.shape[1] - 2, -1, -1):
            table[:, place] += gamma * table[:, place + 1]
        return self.flat(table)

    def line_sum(self, values: Floats) -> Floats:
        return floats(np.bincount(self.line, values, minlength=self.lines))

    def fact(self, name: str) -> Any:
        """A further column as it was given."""
        return self.facts[name]

    def line_fact(self, name: str) -> Any:
        """A further column given by line, or by episode and then spread over its lines."""
        values = np.asarray(self.facts[name])
        if len(values) == self.lines:
            return values
        if len(values) == self.episodes:
            return values[self.episode[self.line_first]]
        raise InvalidOption(
            f"{name} has {len(values)} entries; give one a line ({self.lines}) or one an episode "
            f"({self.episodes})"
        )

    def turn_fact(self, name: str) -> Floats:
        """A further column over turns."""
        return _floats(name, self.facts[name], self.size)


def check(group: Group) -> None:
    """Raise `InvalidOption` for tasks that do not fit and for numbers that are none."""
    if group.task.size != group.episodes:
        raise InvalidOption(
            f"task has {group.task.size} entries; there are {group.episodes} episodes"
        )
    if not np.isfinite(group.rewards).all() or not np.isfinite(group.returns).all():
        raise InvalidOption("rewards and returns must be finite numbers")


def _places(ids: Ints) -> Ints:
    """How many equal entries stand before each."""
    starts = np.concatenate(([0], np.cumsum(np.bincount(ids))))
    if (ids[1:] >= ids[:-1]).all():
        return np.asarray(np.arange(ids.size) - starts[ids])
    order = np.argsort(ids, kind="stable")
    places = np.empty(ids.size, dtype=np.int64)
    places[order] = np.arange(ids.size) - starts[ids[order]]
    return places


def _integers(name: str, values: Any, size: int | None = None, default: Any = None) -> Ints:
    array = np.asarray(default if values is None else values)
    if array.size and array.dtype.kind not in "iub" and not np.all(array == np.floor(array)):
        raise InvalidOption(f"{name} must hold whole numbers")
    whole: Ints = _sized(name, array, size).astype(np.int64, copy=False)
    return whole


def _floats(name: str, values: Any, size: int, default: Any = None) -> Floats:
    return floats(_sized(name, np.asarray(default if values is None else values), size))


def _sized(name: str, array: Any, size: int | None) -> Any:
    if array.ndim != 1 or (size is not None and array.size != size):
        wanted = "one dimension" if size is None else f"shape ({size},)"
        raise InvalidOption(f"{name} must have {wanted}; it has shape {array.shape}")
    return array


def _many(name: str, values: Any, size: int) -> Any:
    if len(values) != size:
        raise InvalidOption(f"{name} has {len(values)} entries; there are {size} turns")
    return values


def _names(values: Any) -> tuple[str, ...]:
    """What the numbers that `number` gives stand for."""
    return tuple(str(values[place]) for place in firsts(number(values)))


def _optional(columns: Mapping[str, Any], size: int) -> dict[str, Any]:
    """The optional columns over turns, checked; states and actions become numbers."""
    accepted = ("state", "action", "tokens", "logprob", "seconds", "cost")
    known: dict[str, Any] = {}
    for name, values in columns.items():
        if name not in accepted:
            names = ", ".join(f.name for f in fields(Group))
            raise InvalidOption(f"a Group has no column {name!r}; its columns are {names}")
        if values is None:
            continue
        if name in ("state", "action"):
            known[name] = number(_many(name, values, size))
        elif name == "tokens":
            known[name] = _integers(name, values, size)
        else:
            known[name] = _floats(name, values, size)
    return known
