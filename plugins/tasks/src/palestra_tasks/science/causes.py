"""Graphs of causes, and which designs of a study identify the effect of x on y.

A design says what is held fixed (controls, what is constant in a unit or a period, a score near its
cutoff) and which column is the instrument, if any. It identifies the effect where influences are
linear and the back-door or the instrument criterion holds; both are decided by d-separation. Any
set that holds counts.

After Pearl, "Causality" (2009), Brito and Pearl, "Generalized Instrumental Variables" (2002), and
Perković, Textor, Kalisch and Maathuis, "Complete Graphical Characterization and Construction of
Adjustment Sets in Markov Equivalence Classes of Ancestral Graphs" (2018).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property

WITHIN: Mapping[str, tuple[str, ...]] = {  # levels whose constants a choice takes out
    "none": (),
    "unit": ("unit",),
    "period": ("period",),
    "both": ("unit", "period"),
}
WINDOWS = ("none", "0.3", "0.6", "2")  # on each side of the cutoff
NARROW = WINDOWS[1:3]  # in which a curve is nearly two straight lines


@dataclass(frozen=True, slots=True)
class Design:
    """How an effect is estimated: what is held fixed, and the instrument; empty for none."""

    controls: frozenset[str] = frozenset()
    instrument: str = ""
    within: str = "none"
    window: str = "none"


@dataclass(frozen=True)
class Causes:
    """Who follows from whom, and what is known of each variable.

    parents: by variable, its direct causes, causes first. levels: "row", or "unit" or "period" for
    a variable that is constant in each.
    """

    parents: Mapping[str, tuple[str, ...]]
    levels: Mapping[str, str]
    hidden: frozenset[str]  # not recorded
    x: str
    y: str
    score: str = ""  # decides x by a cutoff at 0 and acts on y in a curve
    selected: str = ""  # rows are there only if it is near its mean

    def __hash__(self) -> int:
        return hash((self.x, self.y, *self.parents.items()))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The variables that the data have, in the order of the alphabet."""
        return tuple(sorted(set(self.parents) - self.hidden - {self.selected}))

    @property
    def panel(self) -> bool:
        return any(level != "row" for level in self.levels.values())

    @cached_property
    def caused(self) -> frozenset[str]:
        """What lies on a way from x to y or follows from that; no design may hold it fixed."""
        above = self.ancestors((self.y,))
        first = [one for one, parents in self.parents.items() if self.x in parents and one in above]
        return self._descendants(first)

    @cached_property
    def cut(self) -> Causes:
        """The graph without the steps by which x acts on y."""
        above = self.ancestors((self.y,))
        kept = {
            one: tuple(p for p in parents if p != self.x or one not in above)
            for one, parents in self.parents.items()
        }
        return replace(self, parents=kept)

    def ancestors(self, of: Iterable[str]) -> set[str]:
        """Variables, with their direct and indirect causes."""
        found = self._above(of)
        return {one for one, bit in self._bits.items() if found & bit}

    @cached_property
    def _bits(self) -> dict[str, int]:
        """A bit for each variable: sets of variables are then numbers, which is 5 times as fast."""
        return {one: 1 << place for place, one in enumerate(self.parents)}

    @cached_property
    def _families(self) -> list[list[int]]:
        """By variable, its bit and those of its direct causes."""
        bits = self._bits
        return [[bits[one], *(bits[p] for p in parents)] for one, parents in self.parents.items()]

    @cached_property
    def _lines(self) -> dict[str, int]:
        """By variable, the bits of itself and all its causes."""
        lines: dict[str, int] = {}
        for one, parents in self.parents.items():  # causes come first
            lines[one] = self._bits[one]
            for parent in parents:
                lines[one] |= lines[parent]
        return lines

    def _above(self, of: Iterable[str]) -> int:
        found, lines = 0, self._lines
        for one in of:
            found |= lines[one]
        return found

    def _descendants(self, of: Collection[str]) -> frozenset[str]:
        roots = sum(self._bits[one] for one in of)
        return frozenset(one for one, line in self._lines.items() if line & roots)

    def separates(self, given: Set[str], one: str, other: str) -> bool:
        """Whether `given` d-separates two variables: by the moral graph of their ancestors."""
        bits = self._bits
        kept = self._above((one, other, *given))
        families = [family for family in self._families if family[0] & kept]
        ties = [sum(family) for family in families]
        fixed, reached, before = sum(bits[g] for g in given), bits[one], 0
        while reached != before and not reached & bits[other]:
            before = reached
            for family in ties:
                if family & reached:
                    reached |= family & ~fixed
        return not reached & bits[other]

    def fixed(self, design: Design) -> set[str]:
        """What a design holds fixed, by choice or because of how rows came into the data.

        A control for the score alone does not count: y follows it in a curve.
        """
        levels = WITHIN[design.within]
        held = {one for one, level in self.levels.items() if level in levels}
        held |= design.controls - {self.score}
        if self.score and design.window in NARROW:
            held.add(self.score)
        return held | ({self.selected} - {""})

    def identifies(self, design: Design) -> bool:
        """Whether a design identifies the effect of x on y, by all the ways in which x acts."""
        fixed, source = self.fixed(design), design.instrument or self.x
        if fixed & {self.x, self.y, source} or source == self.y or fixed & self.caused:
            return False
        if design.instrument in self.caused:
            return False
        weak = design.instrument and self.cut.separates(fixed, source, self.x)
        return not weak and self.cut.separates(fixed, source, self.y)

    # Finding a design

    @cached_property
    def design(self) -> Design | None:
        """A design that identifies the effect, with few controls, without instrument if possible.

        It takes out all constants: with few units or periods chance alone relates them. If any
        controls do, those that are ancestors do.
        """
        allowed = set(self.columns) - self.caused - {self.x, self.y, self.score}
        within, window = "both" if self.panel else "none", NARROW[-1] if self.score else "none"
        frame = Design(within=within, window=window)
        fixed = self.fixed(frame)
        for instrument in ("", *sorted(allowed - fixed)):
            above = self.ancestors((instrument or self.x, self.y, *fixed))
            controls = frozenset(above & allowed - fixed - {instrument})
            found = replace(frame, instrument=instrument, controls=controls)
            if self.identifies(found):
                return self._pruned(found)
        return None

    def _pruned(self, design: Design) -> Design:
        """A design without controls that say nothing of y or are constant anyway."""
        for one in sorted(design.controls):
            less = replace(design, controls=design.controls - {one})
            fixed = self.fixed(less)
            told = one not in fixed and not self.cut.separates(fixed | {self.x}, one, self.y)
            if not told and self.identifies(less):
                design = less
        return design
