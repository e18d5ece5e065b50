"""Episodes that feed an entry: what is played, and how the records reach the entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import palestra
from palestra import EpisodeRecord
from palestra.agents.naming import parse_agent

from palestra_rewards.arrays import Floats
from palestra_rewards.chain import estimate, shape
from palestra_rewards.entries import entry
from palestra_rewards.group import Group
from palestra_rewards.reading import turn_rewards

Records = list[EpisodeRecord]
Cast = tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """Episodes that feed an entry.

    Each cast in `casts` plays `n` rollouts of the start with `seed` and `options`. `learners` are
    the agents whose turns a group keeps. `given` returns the options for the entry, and `prepare`
    converts the records first. A step shaper is fed by playing the same episodes again with its
    rewards alone.
    """

    entry: str
    fact: str
    by: str  # who reports it
    env: str
    casts: tuple[Cast, ...]
    n: int = 4
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    learners: Cast = ()
    compare_by: tuple[str, ...] = ("seat", "agent")
    given: Callable[[Records], Mapping[str, Any]] = lambda records: {}
    prepare: Callable[[Records], Records] = list

    @property
    def command(self) -> str:
        """The command that plays it in a terminal."""
        cast = max(self.casts, key=lambda one: len(set(one)))
        seats = cast[0] if len(set(cast)) == 1 else ",".join(cast)
        more = [f"--seed {self.seed}"] if self.seed else []
        more += [f"-o {name}={value}" for name, value in self.options.items()]
        if self.shape == "step":
            more.append(f"--rewards {self.entry}")
        return " ".join([f"palestra play {self.env} --agents {quote_name(seats)}", *more])

    def play(self) -> Records:
        """Play the episodes and prepare the records for the entry."""
        return self.prepare(self._play())

    def _play(self, **settings: Any) -> Records:
        played = [
            palestra.rollouts(
                self.env,
                agents=list(cast) if len(cast) > 1 else cast[0],
                n=self.n,
                seed=self.seed,
                **self.options,
                **self.settings,
                **settings,
            )
            for cast in self.casts
        ]
        return [record for records in played for record in records]

    def feed(self, records: Records) -> Floats:
        """The entry's values for the records, one number per turn."""
        given = dict(self.given(records))
        if self.shape == "step":
            return self._pay(given)
        if self.shape == "episode":
            return shape(self.entry, records, **given)
        group = Group.of(records, agents=self.learners or None, compare_by=self.compare_by)
        return estimate(self.entry, group, **given).values

    @property
    def shape(self) -> str:
        return entry(parse_agent(self.entry)[0]).shape

    def _pay(self, given: Mapping[str, Any]) -> Floats:
        """What a step shaper paid for every turn."""
        options = ",".join(f"{name}={value}" for name, value in given.items())
        mark = "," if ":" in self.entry else ":"
        named = f"{self.entry}{mark}{options}" if options else self.entry
        return np.concatenate([turn_rewards(record) for record in self._play(rewards=[named])])


def quote_name(text: str) -> str:
    """A name quoted for a shell."""
    if "\n" in text:
        return "$'" + text.replace("'", "\\'").replace("\n", "\\n") + "'"
    return f"'{text}'" if " " in text else text
