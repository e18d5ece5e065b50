"""Every shaper and estimator of this package, read from the catalogue without importing them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from palestra import UnknownName, read_catalogue
from palestra.kernel.specs import RewardShape, RewardSpec


@dataclass(frozen=True, slots=True)
class Entry:
    """A shaper or estimator: its spec, and further facts that this package declares.

    `needs` are keys of `needs.NEEDS`. `onto` names the estimator whose advantages this one
    re-weights by default; empty for one that starts from rewards. `check` names the test of its
    published identity. `cost` says how the work grows ("linear" in turns, "sort", "tree",
    "judge", …).
    """

    spec: RewardSpec
    onto: str = ""
    check: str = ""
    cost: str = "linear"

    @property
    def name(self) -> str:
        """The name under which it is asked for."""
        return self.spec.name

    @property
    def entry_point(self) -> str:
        """Where its code lies, as "package.module:name"."""
        return self.spec.entry_point

    @property
    def shape(self) -> RewardShape:
        """What it is paid for: "step", "episode" or "group"."""
        return self.spec.shape

    @property
    def summary(self) -> str:
        """What it computes, in one sentence."""
        return self.spec.summary

    @property
    def paper(self) -> str:
        """The paper it is from; empty if it is from none."""
        return self.spec.paper

    @property
    def needs(self) -> tuple[str, ...]:
        """What it asks of records or of its caller."""
        return self.spec.needs


@cache
def entries(shape: RewardShape | None = None) -> tuple[Entry, ...]:
    """All entries, or those of one shape, by shape and name."""
    catalogue = read_catalogue("palestra_rewards")
    more = catalogue.extra.get("palestra_rewards", {})
    order = ("step", "episode", "group")
    specs = sorted(catalogue.rewards, key=lambda spec: (order.index(spec.shape), spec.name))
    return tuple(
        Entry(spec, **more.get(spec.name, {})) for spec in specs if shape in (None, spec.shape)
    )


def entry(name: str, shape: RewardShape | None = None) -> Entry:
    """The entry with this name; raises `UnknownName`."""
    known = {entry.name: entry for entry in entries(shape)}
    if name not in known:
        kind = f"{shape} reward" if shape else "reward"
        raise UnknownName(kind, name, known, "`palestra rewards` lists them all.")
    return known[name]
