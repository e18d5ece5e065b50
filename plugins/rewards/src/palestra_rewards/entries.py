"""The declared table: every shaper and estimator of this package, without importing any."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from palestra import RewardSpec, UnknownName
from palestra.kernel.specs import RewardShape


@dataclass(frozen=True, slots=True)
class Entry:
    """One way to say which turn earned it.

    `needs` are keys of `needs.NEEDS`. `onto` names the estimator whose advantages this one
    re-weights where the caller names none; empty for one that starts from rewards. `check` is the
    test of its published identity. `cost` is how the work grows ("linear" in turns, "sort",
    "tree", "judge", …).
    """

    name: str
    entry_point: str
    shape: RewardShape
    summary: str
    paper: str
    needs: tuple[str, ...] = ()
    onto: str = ""
    check: str = ""
    cost: str = "linear"

    @property
    def spec(self) -> RewardSpec:
        return RewardSpec(
            self.name, self.entry_point, self.shape, self.summary, self.needs, self.paper
        )


@cache
def entries(shape: RewardShape | None = None) -> tuple[Entry, ...]:
    """All entries, or those of one shape, in the order they are documented."""
    from palestra_rewards.tables import episodes, groups, steps

    every = (*steps.ENTRIES, *episodes.ENTRIES, *groups.ENTRIES)
    return tuple(entry for entry in every if shape in (None, entry.shape))


def entry(name: str, shape: RewardShape | None = None) -> Entry:
    """The entry of a name; raises `UnknownName`."""
    known = {entry.name: entry for entry in entries(shape)}
    if name not in known:
        kind = f"{shape} reward" if shape else "reward"
        raise UnknownName(kind, name, known, "`palestra rewards` lists them all.")
    return known[name]
