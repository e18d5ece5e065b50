"""Learning across the worlds of AutoEnv: candidates, components that are revised, selection.

A candidate is what an agent believes of a world: how one moves, and whether words mean what they
say. It plans with that. A method revises components of candidates ("rules", "words") from what
happened when they played training levels, selects candidates on validation levels (the best one, or
all that no other beats on every level), and is judged on levels that it has not seen.

After Zhang, Peng, Kong et al., "AutoEnv: Automated Environments for Measuring Cross-Environment
Agent Learning", 2025, whose candidates are prompts and programs of a language model. As there, a
report has the mean of each fixed method, and of the method that is best for each world: the upper
bound of choosing a method by world.

python -m palestra_tasks.worlds.learning prints the report over all 36 worlds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import palestra
from palestra import Rng

from palestra_tasks.worlds.autoenv import (
    ONE_OF_36,
    RULES,
    SKINS,
    THINGS,
    WORDS,
    WORLDS,
    AutoEnv,
    Go,
    Level,
    best_from,
    move,
)

_HERE = re.compile(r"You are in row (\d), column (\d)")
_THING = re.compile(r"^row (\d), column (\d): (\w+)$", re.MULTILINE)
_WORDS = re.compile(r"The words for ways: (.*)\.")
_NOWHERE = -1  # the cell of what a level has not


@dataclass(frozen=True, slots=True)
class Candidate:
    """What an agent believes of a world."""

    rules: str = "plain"
    turned: bool = False  # whether every word means its opposite

    def meaning(self, ways: frozenset[str]) -> tuple[dict[str, int], dict[str, str]]:
        """The direction of every word for ways, and the kind of every word for things."""
        skin = next(s for s in ("plain", "sea") if frozenset(WORDS[s]) == ways)
        words, things = list(WORDS[skin]), dict(THINGS[skin])
        if self.turned:
            words = [words[1], words[0], words[3], words[2]]
            things = {kind: THINGS[skin][word] for kind, word in THINGS["inverted"].items()}
        return {word: n for n, word in enumerate(words)}, {w: kind for kind, w in things.items()}


@dataclass(frozen=True, slots=True)
class Seen:
    """A position as a player reads it: the words for ways, the own cell, words for things."""

    ways: frozenset[str]
    cell: int
    things: tuple[tuple[int, str], ...]
    holds: bool


@dataclass(frozen=True, slots=True)
class Moved:
    """A move that was made: where, with which word, and the cell that it led to."""

    before: Seen
    word: str
    cell: int


@dataclass(frozen=True, slots=True)
class Method:
    """Which components a method revises, in turn, and how it selects candidates."""

    name: str
    components: tuple[str, ...]
    selection: str = "best"  # or "pareto"


METHODS = (
    Method("none", ()),
    Method("rules", ("rules",)),
    Method("words", ("words",)),
    Method("both", ("words", "rules")),
    Method("both-pareto", ("words", "rules"), "pareto"),
)


def read(position: str) -> Seen:
    """What a position says."""
    here, ways = _HERE.search(position), _WORDS.search(position)
    if not here or not ways:
        raise palestra.PalestraError("this is not a position of tasks/AutoEnv-v0")
    things = tuple((4 * int(r) + int(c), word) for r, c, word in _THING.findall(position))
    holds = "You hold the " in position
    return Seen(frozenset(ways[1].split(", ")), 4 * int(here[1]) + int(here[2]), things, holds)


def believed(candidate: Candidate, seen: Seen) -> tuple[Level, str, dict[str, int]]:
    """The level that a candidate takes a position for, what pays in it, and the ways of words."""
    ways, kinds = candidate.meaning(seen.ways)
    cells: dict[str, list[int]] = {}
    for cell, word in seen.things:
        cells.setdefault(kinds[word], []).append(cell)
    goal, key = cells.get("goal", [_NOWHERE])[0], cells.get("key", [_NOWHERE])[0]
    gems, traps = tuple(cells.get("gem", ())), tuple(cells.get("trap", ()))
    rewards = "key" if key != _NOWHERE else "reach" if goal != _NOWHERE else "collect"
    level = Level(seen.cell, goal, key, gems, traps, frozenset(cells.get("wall", ())))
    return level, rewards, ways


def choose(candidate: Candidate, position: str, left: int, rng: Rng) -> str:
    """The word for the best move by what a candidate believes; any word if nothing can be gained.

    `left` counts the moves that are left.
    """
    seen = read(position)
    level, rewards, ways = believed(candidate, seen)
    values = {}
    for word, way in sorted(ways.items()):
        one = replace(level, start=move(level, candidate.rules, seen.cell, way))
        values[word] = _worth(one, candidate.rules, rewards, left - 1)
    best = max(values.values())
    return rng.choice([word for word in sorted(values) if values[word] == best])


def _worth(level: Level, rules: str, rewards: str, left: int) -> float:
    """What can be gained on entering the start of a level and after it."""
    cell, paid, taken = level.start, 0.0, frozenset[int]()
    if rewards == "collect" and cell in (*level.gems, *level.traps):
        paid, taken = (1.0 if cell in level.gems else -0.5), frozenset({cell})
    if cell == level.goal and rewards == "reach":
        return 1.0
    return paid + 0.999 * best_from(level, rules, rewards, (cell, taken, cell == level.key), left)


def play(
    candidate: Candidate, world: tuple[str, str, str], seed: int, explores: float = 0.0
) -> tuple[float, list[Moved]]:
    """The score of an episode, and its moves; with the chance `explores` a move is random."""
    rules, pays, skin = world
    game = palestra.game("tasks/AutoEnv-v0", **ONE_OF_36, rules=rules, pays=pays, skin=skin)
    episode, rng, made = palestra.Episode(game, seed), Rng.seeded(seed, 71), list[Moved]()
    turns = game.turns if isinstance(game, AutoEnv) else 0
    while not episode.over:
        position = episode.describe(0)
        seen = read(position)
        word = choose(candidate, position, turns - len(made), rng)
        if rng.random() < explores:
            word = rng.choice(sorted(seen.ways))
        episode.act({0: Go(word)})
        made.append(Moved(seen, word, read(episode.describe(0)).cell))
    scores = episode.outcome.scores if episode.outcome else None
    return (scores[0] if scores else 0.0), made


def errors(candidate: Candidate, moves: Sequence[Moved]) -> int:
    """How many moves led elsewhere than a candidate would have expected."""
    wrong = 0
    for made in moves:
        level, _, ways = believed(candidate, made.before)
        wrong += move(level, candidate.rules, made.before.cell, ways[made.word]) != made.cell
    return wrong


def revise(candidate: Candidate, component: str, moves: Sequence[Moved]) -> Candidate:
    """The candidate with one component changed to what explains the moves best."""
    if component == "rules":
        options = [replace(candidate, rules=rules) for rules in RULES]
    elif component == "words":
        options = [replace(candidate, turned=turned) for turned in (False, True)]
    else:
        raise palestra.InvalidOption(
            f"component={component!r} cannot be revised; use 'rules' or 'words'"
        )
    return min(options, key=lambda one: (errors(one, moves), one != candidate))


def select(
    scores: Mapping[Candidate, tuple[float, ...]], selection: str = "best"
) -> list[Candidate]:
    """The candidate with the best mean score, or all that no other beats on every level."""
    ranked = sorted(scores, key=lambda one: (-sum(scores[one]), repr(one)))
    if selection == "best":
        return ranked[:1]
    return [
        one
        for one in ranked
        if not any(
            scores[other] != scores[one]
            and all(a >= b for a, b in zip(scores[other], scores[one], strict=True))
            for other in ranked
        )
    ]


def learn(
    method: Method,
    world: tuple[str, str, str],
    *,
    training: Sequence[int] = range(3),
    validation: Sequence[int] = range(100, 105),
    rounds: int = 2,
) -> Candidate:
    """The candidate that a method ends with in a world; levels are named by their seeds."""
    known: dict[Candidate, tuple[float, ...]] = {}

    def judge(candidate: Candidate) -> None:
        if candidate not in known:
            known[candidate] = tuple(play(candidate, world, seed)[0] for seed in validation)

    judge(Candidate())
    for component in chain.from_iterable(method.components for _ in range(rounds)):
        for candidate in select(known, method.selection):
            moves = [made for seed in training for made in play(candidate, world, seed, 0.5)[1]]
            judge(revise(candidate, component, moves))
    return select(known)[0]


def compare(
    worlds: Sequence[tuple[str, str, str]] = WORLDS,
    methods: Sequence[Method] = METHODS,
    tests: Sequence[int] = range(200, 210),
) -> dict[str, list[float]]:
    """The mean score of every method on test levels of every world, and of the best method."""
    scores: dict[str, list[float]] = {method.name: [] for method in methods}
    for world in worlds:
        for method in methods:
            candidate = learn(method, world)
            found = [play(candidate, world, seed)[0] for seed in tests]
            scores[method.name].append(sum(found) / len(found))
    bound = [max(row) for row in zip(*scores.values(), strict=True)]
    return {**scores, "best for each world": bound}


def main() -> None:
    """Print the mean score of every method over the worlds of each skin, and over all of them."""
    scores = compare()
    print(f"| method | {' | '.join(SKINS)} | all |")
    print(f"|---|{'---|' * (len(SKINS) + 1)}")
    for name, row in scores.items():
        parts = [[s for s, w in zip(row, WORLDS, strict=True) if w[2] == skin] for skin in SKINS]
        means = [sum(part) / len(part) for part in (*parts, row)]
        print(f"| {name} | {' | '.join(f'{mean:.2f}' for mean in means)} |")


if __name__ == "__main__":
    main()
