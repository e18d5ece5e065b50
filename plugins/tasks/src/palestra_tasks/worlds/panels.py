"""Worlds drawn from a grammar: dials that buttons change by laws, and what pays.

A world has 3 or 4 dials and 4 to 6 buttons. A button has a condition on a dial, a main effect and
at most one side effect. The player sees all dials, all but one, or readings that are sometimes
wrong. Pay follows a target, some dials at some values: the change of the share met (at once,
or two presses late), one payment when all is met, the same beside a bait that pays a little for a
wrong value, or whether all is met in the end. Words on buttons tell the main effect, its opposite,
or nothing. A `rare` world has at least one effect of a kind that `common` worlds never have.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from typing import Any

import numpy as np
from palestra import Rng

PAYS = ("dense", "delayed", "sparse", "misleading", "binary")
ENDING = ("sparse", "misleading")  # pays of which an attempt ends when the target is met
SIGHTS = ("all", "part", "noisy")
WORDS = ("plain", "inverted", "made-up")
COMMON = ("raise", "lower", "turn", "turn back", "empty", "fill")
RARE = ("copy", "contrast", "pull", "push")
_PAIRS = (("raise", "lower"), ("turn", "turn back"), ("empty", "fill"),
          ("copy", "contrast"), ("pull", "push"))  # fmt: skip
OPPOSITE = dict(_PAIRS) | {two: one for one, two in _PAIRS}
NAMES = ("lamp", "valve", "drum", "fan", "pump", "gate", "tank", "belt")
MADE_UP = ("brask", "dwell", "fimo", "gurn", "hask", "jolt", "keld", "lurp", "mib", "norv")
BAIT = 0.05  # paid at each press at which the bait is met
LATE = 2  # presses by which delayed pay comes late
WRONG = 0.05  # how often a noisy reading of a dial is wrong


@dataclass(frozen=True, slots=True)
class Size:
    """How large a world is; `length` is of an attempt, `near` the fewest presses to a target."""

    dials: int
    values: int
    buttons: int
    length: int
    near: int


SIZES = {"small": Size(3, 3, 4, 6, 3), "medium": Size(4, 3, 5, 8, 4), "large": Size(4, 4, 6, 10, 5)}
Effect = tuple[str, int, int]  # kind, the dial that changes, the dial that is read
Labels = tuple[Effect | None, ...]  # what the words on buttons tell; None for made-up words


@dataclass(frozen=True, slots=True)
class Grammar:
    """All laws of worlds of a size. States are numbered; the first dial has the largest weight."""

    size: Size
    digits: Any  # [state, dial], the values of dials
    conditions: tuple[tuple[str, int, int], ...]  # relation, dial, value
    effects: tuple[Effect, ...]  # main effects
    sides: tuple[Effect | None, ...]
    outcomes: Any  # [law, state], the state after a press
    weights: Any  # [law], chances in a draw
    targets: tuple[tuple[tuple[int, int], ...], ...]  # dials and values
    shares: Any  # [target, state], the share of the target that is met
    baits: Any  # [target, state], whether the bait is met

    def law(self, number: int) -> tuple[tuple[str, int, int], Effect, Effect | None]:
        """The condition, main effect and side effect of a law."""
        rest, side = divmod(number, len(self.sides))
        condition, main = divmod(rest, len(self.effects))
        return self.conditions[condition], self.effects[main], self.sides[side]

    def laws_of(self, main: Effect | None) -> Any:
        """The numbers of laws with a main effect; of None all."""
        numbers = np.arange(len(self.weights))
        if main is None:
            return numbers
        found = numbers // len(self.sides) % len(self.effects)
        return numbers[found == self.effects.index(main)]

    def pick(self, laws: Any, rng: Rng) -> int:
        """One of some laws, by their chances."""
        sums = np.cumsum(self.weights[laws])
        return int(laws[min(len(laws) - 1, np.searchsorted(sums, rng.random() * sums[-1]))])


@lru_cache(maxsize=8)
def grammar(level: str, rare: bool) -> Grammar:
    """The grammar of a level, with rare kinds of main effect or without."""
    size = SIZES[level]
    digits = np.array(list(product(range(size.values), repeat=size.dials)))
    dials, values = range(size.dials), range(size.values)
    common = tuple((kind, one, one) for kind in COMMON for one in dials)
    effects = common
    if rare:
        effects += tuple((kind, *pair) for kind in RARE for pair in product(dials, dials)
                         if pair[0] != pair[1])  # fmt: skip
    sides: tuple[Effect | None, ...] = (None, *common)
    relations = [(how, one, v) for how in ("is", "is not") for one in dials for v in values]
    conditions = (("always", 0, 0), *relations)
    after = {one: _after(digits, one, size) for one in effects}
    same = np.arange(len(digits))
    both = np.array([[after[side][after[main]] if side else after[main] for side in sides]
                     for main in effects])  # fmt: skip
    holds = np.array([_holds(digits, one) for one in conditions])
    outcomes = np.where(holds[:, None, None], both, same).astype(np.int16)
    chances = [[1.0 / max(1, len(some) - 1)] * len(some) for some in (conditions, sides)]
    chances[0][0] = chances[1][0] = 1.0  # half of the laws have no condition, half no side effect
    weights = np.einsum("c,m,s->cms", chances[0], np.ones(len(effects)), chances[1]).ravel()
    targets = tuple(
        tuple(zip(which, at, strict=True))
        for count in (2, 3)
        for which in combinations(dials, count)
        for at in product(values, repeat=count)
    )
    met = [np.array([digits[:, dial] == v for dial, v in one]).mean(axis=0) for one in targets]
    baits = [digits[:, one[0][0]] == (one[0][1] + 1) % size.values for one in targets]
    flat = outcomes.reshape(-1, len(digits))
    return Grammar(size, digits, conditions, effects, sides, flat, weights, targets,
                   np.array(met), np.array(baits))  # fmt: skip


def _holds(digits: Any, condition: tuple[str, int, int]) -> Any:
    how, dial, value = condition
    equal = digits[:, dial] == value
    return {"always": np.ones(len(digits), bool), "is": equal, "is not": ~equal}[how]


def _after(digits: Any, effect: Effect, size: Size) -> Any:
    """By state, the state after an effect."""
    kind, dial, other = effect
    top, x, y = size.values - 1, digits[:, dial], digits[:, other]
    new = digits.copy()
    new[:, dial] = {
        "raise": np.minimum(x + 1, top),
        "lower": np.maximum(x - 1, 0),
        "turn": (x + 1) % size.values,
        "turn back": (x - 1) % size.values,
        "empty": 0 * x,
        "fill": 0 * x + top,
        "copy": y,
        "contrast": top - y,
        "pull": x + np.sign(y - x),
        "push": np.clip(x - np.sign(y - x), 0, top),
    }[kind]
    return new @ (size.values ** np.arange(size.dials)[::-1])


@dataclass(frozen=True, slots=True)
class World:
    """A drawn world; what is not said to the player are laws, target, pays, words and `hidden`."""

    level: str
    rare: bool
    start: int  # the state in which every attempt begins
    laws: tuple[int, ...]  # by button
    target: int
    pays: str
    words: str

    @property
    def grammar(self) -> Grammar:
        return grammar(self.level, self.rare)

    def press(self, state: int, button: int) -> int:
        """The state after a press."""
        return int(self.grammar.outcomes[self.laws[button], state])


def labels_of(rules: Grammar, laws: tuple[int, ...], words: str) -> Labels:
    """What words of a kind tell of the main effects of laws."""
    mains = (rules.law(one)[1] for one in laws)
    if words == "made-up":
        return (None,) * len(laws)
    return tuple(main if words == "plain" else opposite(main) for main in mains)


def opposite(effect: Effect) -> Effect:
    return OPPOSITE[effect[0]], effect[1], effect[2]


def distances(rules: Grammar, laws: tuple[int, ...], start: int) -> Any:
    """The fewest presses to each state; 99 where none lead to it."""
    found = np.full(len(rules.digits), 99)
    edge, table, steps = np.array([start]), rules.outcomes[list(laws)], 0
    while len(edge):
        found[edge], steps = steps, steps + 1
        after = np.unique(table[:, edge])
        edge = after[found[after] == 99]
    return found


def good_targets(rules: Grammar, laws: tuple[int, ...], start: int) -> Any:
    """The numbers of targets that an attempt can reach, and not within a few presses."""
    found = distances(rules, laws, start)
    fewest = np.where(rules.shares > 0.999, found, 99).min(axis=1)
    return np.flatnonzero((fewest >= rules.size.near) & (fewest <= rules.size.length))


def draw_world(level: str, rare: bool, start: int, rng: Rng) -> World:
    """A world that pays something and in which the target is not near."""
    rules = grammar(level, rare)
    words, every = rng.choice(WORDS), rules.laws_of(None)
    while True:
        laws = tuple(rules.pick(every, rng) for _ in range(rules.size.buttons))
        targets = good_targets(rules, laws, start) if fits(rules, laws, rare) else ()
        if len(targets):
            target, pays = int(rng.choice(targets)), rng.choice(PAYS)
            world = World(level, rare, start, laws, target, pays, words)
            if optimum(world) > 0:
                return world


def fits(rules: Grammar, laws: tuple[int, ...], rare: bool) -> bool:
    """Whether a world that must have a rare effect has one."""
    return not rare or any(rules.law(one)[1][0] in RARE for one in laws)


# Pay


def paid(rules: Grammar, target: Any, pays: str, path: list[int]) -> Any:
    """What each press of an attempt shows as paid; `path` has the states from the start on.

    `target` is a number, or an array of numbers; the last axis of the result has the presses.
    """
    at = np.array(path)
    shares, count = rules.shares[target][..., at], len(path) - 1
    whole = (shares[..., 1:] > 0.999).astype(float)
    ends = count == rules.size.length
    if pays == "binary":
        return whole * (np.arange(1, count + 1) == rules.size.length)
    if pays in ENDING:
        bait = BAIT * (rules.baits[target][..., at[1:]] & (whole == 0))
        return whole + (bait if pays == "misleading" else 0)
    change = np.diff(shares, axis=-1)
    if pays == "dense" or not count:
        return change
    late = np.zeros_like(change)
    late[..., LATE:] = change[..., : max(0, count - LATE)]
    if ends:
        late[..., -1] += change[..., -LATE:].sum(axis=-1)
    return late


@lru_cache(maxsize=256)
def values(world: World) -> Any:
    """[presses left, state], the largest return from a state on."""
    rules = world.grammar
    shares, table = rules.shares[world.target], rules.outcomes[list(world.laws)]
    whole = shares > 0.999
    found = np.zeros((rules.size.length + 1, len(shares)))
    for left in range(1, len(found)):
        found[left] = _worth(world, whole, table, found[left - 1], left).max(axis=0)
    return found


def _worth(world: World, whole: Any, table: Any, rest: Any, left: int) -> Any:
    """[button, state], what a press pays and what can be gained after it."""
    rules = world.grammar
    shares = rules.shares[world.target]
    if world.pays == "binary":
        return (whole * (left == 1) + rest)[table]
    if world.pays in ENDING:
        bait = BAIT * rules.baits[world.target] * (world.pays == "misleading")
        return np.where(whole, 1.0, bait + rest)[table]
    return (shares + rest)[table] - shares


def worth(world: World, state: int, left: int) -> Any:
    """[button], the largest return after each press."""
    whole = world.grammar.shares[world.target] > 0.999
    table = world.grammar.outcomes[list(world.laws)]
    return _worth(world, whole, table, values(world)[left - 1], left)[:, state]


def optimum(world: World) -> float:
    """The largest return of an attempt."""
    return float(values(world)[-1, world.start])
