"""Rollouts as columns, the input of every group estimator.

A *turn* is one decision of one seat. A *line* is all turns of one person in one episode: those of
a seat, unless the game put a new person there. For a single player a line is an episode. Columns
over turns keep the order they came in.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from palestra import EpisodeRecord, InvalidOption, UnknownName

from palestra_rewards.anchors import Anchor
from palestra_rewards.arrays import Bools, Floats, Ints, firsts, floats, number, together
from palestra_rewards.columns import (
    OPTIONAL,
    entries_for_turns,
    float_column,
    names_of,
    optional_columns,
    places,
    whole_column,
)
from palestra_rewards.learnt.features import Features, feature_facts
from palestra_rewards.reading import check_one_task, check_records, read_columns

COMPARISONS = ("seat", "agent", "role")


@dataclass(frozen=True)
class Group:
    """Turns of several rollouts; build it with `of` or `from_arrays`.

    Over turns, shape (n,): `episode` (from 0), `seat`, `life` (who sat there: 0 for the first
    person), `line` (numbered by episode, seat and life), `turn` (number of the step; decisions made
    together share it), `rewards` (what the person was paid from this turn to their next), `role`
    (functional group; by default the seat, and its workers apart), `agent` (the policy that
    decided), and, if known, `state` and `action` (equal numbers for equal ones), `tokens`
    (sampled, refused answers included), `answer_tokens` (those of the answer that was
    played, if they differ), `mistakes` (answers refused as illegal), `logprob` (natural
    logarithm), `seconds`, `cost`.

    Over lines, shape (lines,), ordered as they are numbered: `returns`, and if known `success`
    from 0 to 1. Over episodes: `task` (rollouts of one start share it), `truncated`, and `parent`
    (the episode that called this one or that it branched from, -1 for none). `facts` are further
    columns by name, over turns, lines or episodes. `tasks`, `roles` and `agents` are the names for
    the numbers in those columns.

    A baseline compares lines of one task that are equal in the columns of `compare_by`, which may
    be "seat", "agent" and "role"; the n-th person at a seat is compared with the n-th persons at it
    in other lines. With `compare_by=()` all lines of a task share one baseline, opponents too.
    """

    episode: Ints
    seat: Ints
    line: Ints
    turn: Ints
    rewards: Floats
    role: Ints
    agent: Ints
    returns: Floats
    task: Ints
    truncated: Bools
    life: Ints
    state: Ints | None = None
    action: Ints | None = None
    tokens: Ints | None = None
    answer_tokens: Ints | None = None
    mistakes: Ints | None = None
    logprob: Floats | None = None
    seconds: Floats | None = None
    cost: Floats | None = None
    success: Floats | None = None
    parent: Ints | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    tasks: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    compare_by: tuple[str, ...] = ("seat", "agent")

    @classmethod
    def of(
        cls,
        records: Sequence[EpisodeRecord],
        *,
        seats: Collection[int] | None = None,
        agents: Collection[str] | None = None,
        compare_by: Sequence[str] = ("seat", "agent"),
        anchor: str | Anchor | None = None,
        features: str | Features = "",
        one_task: bool = False,
    ) -> Group:
        """The columns of records; see `docs/rewards.md` for the tags it reads.

        `seats` and `agents` (names as in `record.agents`) keep only the turns of those; for
        example, `Group.of(records, agents=["llm"])` leaves out a learner's opponents.

        `anchor` is a function of (game, state, seat), or names one as "module:function": states
        are then equal if it returns equal, hashable values. It replaces the game's own anchor
        (`Game.anchor`), which records hold. `repeats` says how often states recur.

        `features` ("words", "observation" or a function of (game, state, seat)) adds what networks
        see of each turn, as the facts "state features" and "action features".

        `one_task` refuses records that are not all rollouts of one task.
        """
        check_records(records)
        if one_task and records:
            check_one_task(records)
        columns = read_columns(records, anchor)
        chances = [turn.logprob for record in records for turn in record.own_turns]
        if any(chance is not None for chance in chances):  # only some agents may report it
            columns["logprob"] = [np.nan if chance is None else chance for chance in chances]
        group = cls.from_arrays(**columns, compare_by=compare_by)
        if features:
            group = group.with_facts(**feature_facts(records, features))
        group = group.only(seats=seats, agents=agents)
        if group.logprob is not None and np.isnan(group.logprob).any():
            return replace(group, logprob=None)
        return group

    @classmethod
    def from_arrays(
        cls,
        *,
        episode: Any,
        rewards: Any,
        seat: Any = None,
        life: Any = None,
        turn: Any = None,
        task: Any = None,
        role: Any = None,
        agent: Any = None,
        returns: Any = None,
        truncated: Any = None,
        success: Any = None,
        parent: Any = None,
        facts: Mapping[str, Any] | None = None,
        compare_by: Sequence[str] = ("seat", "agent"),
        **columns: Any,
    ) -> Group:
        """A group from a trainer's own arrays, turns in playing order within each episode.

        Only `episode` and `rewards` are required; the defaults are one seat, one task, one agent,
        and returns that are sums of rewards. `state`, `action`, `role` and `agent` may hold
        anything hashable.
        """
        of_turn = whole_column("episode", episode)
        if of_turn.min(initial=0) < 0:
            raise InvalidOption(f"episode must number episodes from 0, not {of_turn.min()}")
        size = of_turn.size
        episodes = int(of_turn.max(initial=-1)) + 1
        if truncated is not None:
            episodes = max(episodes, len(truncated))  # an episode may end before any turn
        tasks = np.zeros(episodes, np.int64) if task is None else task
        seats = whole_column("seat", seat, size, np.zeros(size))
        paid = float_column("rewards", rewards, size)
        lives = whole_column("life", life, size, np.zeros(size))
        line = together((of_turn, seats, lives)) if size else of_turn
        lines = int(line.max(initial=-1)) + 1
        summed = np.bincount(line, paid, minlength=lines)
        roles = seats if role is None else entries_for_turns("role", role, size)
        policies = np.zeros(size, np.int64)
        if agent is not None:
            policies = entries_for_turns("agent", agent, size)
        cut = float_column("truncated", truncated, episodes, np.zeros(episodes))
        group = cls(
            episode=of_turn,
            seat=seats,
            life=lives,
            line=line,
            turn=whole_column("turn", turn, size, places(of_turn)),
            rewards=paid,
            role=number(roles),
            agent=number(policies),
            returns=float_column("returns", returns, lines, summed),
            task=number(tasks),
            truncated=cut.astype(bool),
            success=None if success is None else float_column("success", success, lines),
            parent=None if parent is None else whole_column("parent", parent, episodes),
            facts=dict(facts or {}),
            tasks=names_of(tasks),
            roles=names_of(roles),
            agents=("",) if agent is None else names_of(policies),
            compare_by=(compare_by,) if isinstance(compare_by, str) else tuple(compare_by),
            **optional_columns(columns, size),
        )
        check(group)
        return group

    def replace(self, **columns: Any) -> Group:
        """The same rollouts with other columns, as in `group.replace(rewards=shaped)`.

        If `rewards` are replaced and `returns` are not, the returns become the new sums.
        """
        if "rewards" in columns and "returns" not in columns:
            paid = float_column("rewards", columns["rewards"], self.size)
            columns |= {"rewards": paid, "returns": np.bincount(self.line, paid, self.lines)}
        return replace(self, **columns)

    def with_facts(self, **facts: Any) -> Group:
        """A copy with these facts besides those it has."""
        return replace(self, facts={**self.facts, **facts})

    def only(
        self, *, seats: Collection[int] | None = None, agents: Collection[str] | None = None
    ) -> Group:
        """The turns of these seats, or of agents of these names; episodes keep their numbers."""
        if seats is None and agents is None:
            return self
        for what, chosen in (("seats", seats), ("agents", agents)):
            if isinstance(chosen, str) or not isinstance(chosen, Collection | None):
                raise InvalidOption(f"{what} is a list, as in {what}=[{chosen!r}]")
        keep = np.ones(self.size, dtype=bool)
        if seats is not None:
            known = np.unique(self.seat).tolist()
            for seat in seats:
                if seat not in known:
                    raise InvalidOption(
                        f"seat {seat} has no turn in these rollouts; seats with turns are "
                        f"{', '.join(map(str, known))}"
                    )
            keep &= np.isin(self.seat, list(seats))
        if agents is not None:
            for name in agents:
                if name not in self.agents:
                    raise UnknownName("agent of these rollouts", name, self.agents)
            keep &= np.array([name in agents for name in self.agents])[self.agent]
        if not keep.any():
            raise InvalidOption(f"no turn is left after keeping seats {seats} and agents {agents}")
        return self._with_turns(keep)

    def _with_turns(self, keep: Bools) -> Group:
        """The group with only the kept turns, which must be all or none of each line."""
        of_line = keep[self.line_first]
        turns = ("episode", "seat", "life", "turn", "rewards", "role", "agent", *OPTIONAL)
        columns = {name: getattr(self, name) for name in turns}
        kept: dict[str, Any] = {name: None if c is None else c[keep] for name, c in columns.items()}
        return replace(
            self,
            line=number(self.line[keep]),
            returns=self.returns[of_line],
            success=None if self.success is None else self.success[of_line],
            facts={name: self._kept_fact(f, keep, of_line) for name, f in self.facts.items()},
            **kept,
        )

    def _kept_fact(self, values: Any, keep: Bools, of_line: Bools) -> Any:
        """A fact over turns or lines, without the entries that are left out."""
        if len(values) == self.size:
            return [value for value, kept in zip(values, keep, strict=True) if kept]
        if len(values) == self.lines:
            return [value for value, kept in zip(values, of_line, strict=True) if kept]
        return values

    @property
    def size(self) -> int:
        """Number of turns."""
        return self.episode.size

    @property
    def episodes(self) -> int:
        """The number of episodes."""
        return self.truncated.size

    @property
    def lines(self) -> int:
        """The number of lines, one for each seat of each episode."""
        return self.returns.size

    @cached_property
    def line_first(self) -> Ints:
        """The first turn of every line."""
        return firsts(self.line)

    @cached_property
    def line_episode(self) -> Ints:
        """The episode of each line."""
        return self.episode[self.line_first]

    @cached_property
    def line_task(self) -> Ints:
        """The task of each line."""
        return self.task[self.line_episode]

    @cached_property
    def line_role(self) -> Ints:
        """The role of each line."""
        return self.role[self.line_first]

    @cached_property
    def turn_task(self) -> Ints:
        """The task of each turn."""
        return self.task[self.episode]

    @cached_property
    def seating(self) -> Ints:
        """A number for each line, equal where the same agent has the same place at the same seat.

        The places of a seat are its people in order.
        """
        return together((*self._place, self.agent[self.line_first]))

    @property
    def _place(self) -> tuple[Ints, Ints]:
        return self.seat[self.line_first], self.life[self.line_first]

    @cached_property
    def team_returns(self) -> Floats:
        """What a seat earned on average, over the seats that had turns, shape (episodes,).

        The pay of all people at a seat counts.
        """
        seats = together((self.line_episode, self.seat[self.line_first]))
        count = np.bincount(self.line_episode[firsts(seats)], minlength=self.episodes)
        total = np.bincount(self.line_episode, self.returns, minlength=self.episodes)
        return floats(total / np.maximum(count, 1))

    @cached_property
    def turn_seating(self) -> Ints:
        """The seating of each turn's line."""
        return self.seating[self.line]

    @cached_property
    def side(self) -> Ints:
        """A number for each line, equal if the columns of `compare_by` are equal, in any task."""
        columns = [getattr(self, name)[self.line_first] for name in self.compare_by]
        columns += [self.life[self.line_first]] if "seat" in self.compare_by else []
        return together((np.zeros(self.lines, dtype=np.int64), *columns))

    @cached_property
    def peers(self) -> Ints:
        """A number for each line, equal for lines whose returns are compared with one another."""
        return together((self.line_task, self.side))

    @cached_property
    def turn_peers(self) -> Ints:
        """The number in `peers` of each turn's line."""
        return self.peers[self.line]

    @property
    def peer_names(self) -> tuple[str, ...]:
        """A name for each number in `peers`."""
        return tuple(self._name(int(line)) for line in firsts(self.peers))

    def _name(self, line: int) -> str:
        turn = self.line_first[line]
        person = f" person {self.life[turn]}" if self.life[turn] else ""
        parts = {
            "seat": f"seat {self.seat[turn]}{person}",
            "agent": self.agents[self.agent[turn]],
            "role": self.roles[self.role[turn]],
        }
        named = (parts[column] for column in self.compare_by)
        return " ".join([self.tasks[self.line_task[line]], *named]).strip()

    @cached_property
    def ordinal(self) -> Ints:
        """The position of each turn within its line, from 0."""
        return places(self.line)

    @cached_property
    def length(self) -> Ints:
        """Number of turns of every line."""
        return np.bincount(self.line, minlength=self.lines)

    @property
    def repeats(self) -> float:
        """The share of turns that faced a state which another turn of their peers faced too.

        If it is 0, estimators that compare turns at equal states (`gigpo`'s step part, `salt`)
        add nothing.
        """
        if self.state is None or not self.size:
            return 0.0
        faced = together((self.turn_peers, self.seat, self.state))
        return float((np.bincount(faced)[faced] > 1).mean())

    def spread(self, of_lines: Floats) -> Floats:
        """Values of lines, shape (lines,), repeated for each turn, shape (turns,)."""
        return of_lines[self.line]

    def padded(self, values: Floats, fill: float = 0.0) -> Floats:
        """Values of turns as a table, shape (lines, longest line), filled after the last turn."""
        table = np.full((self.lines, int(self.length.max(initial=0))), fill)
        table[self.line, self.ordinal] = values
        return table

    def flat(self, table: Floats) -> Floats:
        """Values of turns, shape (turns,), from a table made by `padded`."""
        return table[self.line, self.ordinal]

    def to_go(self, values: Floats | None = None, gamma: float = 1.0) -> Floats:
        """Discounted sum from each turn to the end of its line, of `rewards` by default.

        Rewards are discounted by `gamma` once per own turn of the line, however many turns of
        others come in between.
        """
        table = self.padded(self.rewards if values is None else values)
        for place in range(table.shape[1] - 2, -1, -1):
            table[:, place] += gamma * table[:, place + 1]
        return self.flat(table)

    def line_sum(self, values: Floats) -> Floats:
        """The sum of values, one a turn, over each line."""
        return floats(np.bincount(self.line, values, minlength=self.lines))

    def fact(self, name: str) -> Any:
        """A fact as it was given."""
        return self.facts[name]

    def line_fact(self, name: str) -> Any:
        """A fact over lines; one over episodes is repeated for each line of the episode."""
        self._require_whole(name)
        values = np.asarray(self.facts[name])
        if len(values) == self.lines:
            return values
        if len(values) == self.episodes:
            return values[self.line_episode]
        raise InvalidOption(
            f"{name} has {len(values)} entries; give one per line ({self.lines}) or per episode "
            f"({self.episodes})"
        )

    def line_numbers(self, name: str) -> Floats:
        """A fact over lines or episodes, as floats of shape (lines,)."""
        return float_column(name, self.line_fact(name), self.lines)

    def turn_fact(self, name: str) -> Floats:
        """A fact over turns, as floats of shape (turns,)."""
        self._require_whole(name)
        return float_column(name, self.facts[name], self.size)

    def _require_whole(self, name: str) -> None:
        """Raise `InvalidOption` if some agents have not reported a fact."""
        values = self.facts[name]
        missing = {place for place, value in enumerate(values) if value is None}
        if not missing:
            return
        over = {self.size: self.agent, self.lines: self.agent[self.line_first]}.get(len(values))
        silent = sorted({self.agents[over[p]] for p in missing}) if over is not None else []
        who = f"by {', '.join(silent)}" if any(silent) else f"in {len(missing)} places"
        raise InvalidOption(
            f"{name} is not reported {who}; keep the turns of agents that report it, as in "
            "Group.of(records, agents=[…])"
        )


def check(group: Group) -> None:
    """Raise `InvalidOption` for a wrong number of tasks and for numbers that are not finite."""
    if group.task.size != group.episodes:
        raise InvalidOption(
            f"task has {group.task.size} entries; there are {group.episodes} episodes"
        )
    if group.success is not None and not ((group.success >= 0) & (group.success <= 1)).all():
        worst = group.success[np.argmax(np.abs(group.success - 0.5))]
        raise InvalidOption(f"success must be from 0 to 1, not {worst:g}")
    for column in group.compare_by:
        if column not in COMPARISONS:
            raise InvalidOption(
                f"compare_by must hold only {', '.join(COMPARISONS)}, not {column!r}"
            )
    if not np.isfinite(group.rewards).all() or not np.isfinite(group.returns).all():
        raise InvalidOption("rewards and returns must be finite numbers")
