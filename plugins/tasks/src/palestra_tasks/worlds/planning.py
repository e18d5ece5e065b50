"""Planning worlds as data: types, facts, operators; a validator, a solver and a generator.

A world is JSON: `objects` by type, `operators` with typed parameters, preconditions, and facts that
they add and delete, the `start` and the `goal`. Facts are texts such as "at(key, hall)"; in an
operator a parameter is written "?name". Nothing of a world is executed: it is matched as text.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import msgspec
from palestra import InvalidOption, Rng

MOST_ACTIONS = 400  # ground actions of a world
MOST_STATES = 20_000  # that the solver looks at
LONGEST_WORLD = 20_000  # characters
_FACT = re.compile(r"[a-z][\w-]*\((?:\??[\w-]+(?:, ?\??[\w-]+)*)?\)")
_NAME = re.compile(r"[a-z][\w-]{0,30}")
_PARAMETER = re.compile(r"\?[\w-]+")


class Operator(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An operator: parameters by name with their types, and facts."""

    name: str
    parameters: dict[str, str]
    needs: list[str]
    adds: list[str]
    deletes: list[str] = []


class World(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A world as its author writes it."""

    name: str
    objects: dict[str, list[str]]
    operators: list[Operator]
    start: list[str]
    goal: list[str]


@dataclass(frozen=True, slots=True)
class Action:
    """A ground action."""

    text: str
    needs: frozenset[str]
    adds: frozenset[str]
    deletes: frozenset[str]


@dataclass(frozen=True, slots=True)
class PlannedWorld:
    """A world made ready: its ground actions, and a shortest plan (None: none was found)."""

    world: World
    actions: tuple[Action, ...]
    start: frozenset[str]
    goal: frozenset[str]
    plan: tuple[str, ...] | None

    @property
    def length(self) -> int:
        """The number of moves of the shortest plan; -1 if there is none."""
        return -1 if self.plan is None else len(self.plan)


def apply_action(facts: frozenset[str], action: Action) -> frozenset[str]:
    """The facts after an action."""
    return (facts - action.deletes) | action.adds


@lru_cache(maxsize=1024)
def read_world(text: str) -> PlannedWorld:
    """Read, validate and solve a world; raises `InvalidOption` with the reason for a refusal."""
    if len(text) > LONGEST_WORLD:
        raise InvalidOption(f"a world has at most {LONGEST_WORLD} characters, not {len(text)}")
    try:
        world = msgspec.json.decode(text, type=World)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise InvalidOption(f"the world cannot be read: {error}") from None
    _check(world)
    actions = tuple(_ground(world))
    start, goal = frozenset(map(_tidy, world.start)), frozenset(map(_tidy, world.goal))
    return PlannedWorld(world, actions, start, goal, _solve(actions, start, goal))


def _tidy(fact: str) -> str:
    return fact.replace(", ", ",").replace(",", ", ")


def _check(world: World) -> None:
    """Raise `InvalidOption` where a name or a fact of a world is malformed or unknown."""
    names = [world.name, *world.objects, *(n for many in world.objects.values() for n in many)]
    names += [operator.name for operator in world.operators]
    for name in names:
        if not _NAME.fullmatch(name):
            raise InvalidOption(f"{name!r} is no name: write small letters, digits, '-' and '_'")
    if not world.operators or not world.goal:
        raise InvalidOption("a world has at least one operator and one goal")
    known = {n for many in world.objects.values() for n in many}
    for fact in (*world.start, *world.goal):
        _check_fact(fact, known)
    for operator in world.operators:
        for kind in operator.parameters.values():
            if kind not in world.objects:
                raise InvalidOption(f"operator {operator.name!r} has the unknown type {kind!r}")
        inside = known | {f"?{name.lstrip('?')}" for name in operator.parameters}
        for fact in (*operator.needs, *operator.adds, *operator.deletes):
            _check_fact(fact, inside)


def _check_fact(fact: str, known: Iterable[str]) -> None:
    if not _FACT.fullmatch(fact):
        raise InvalidOption(f"{fact!r} is no fact, which is written as in at(key, hall)")
    inside = fact[fact.index("(") + 1 : -1]
    for name in (part.strip() for part in inside.split(",")):
        if name and name not in known:
            raise InvalidOption(f"{fact!r} names {name!r}, which is no object of the world")


def _ground(world: World) -> list[Action]:
    """Every operator with every choice of different objects."""
    found = []
    for operator in world.operators:
        names = [f"?{name.lstrip('?')}" for name in operator.parameters]
        choices = [world.objects[kind] for kind in operator.parameters.values()]
        for chosen in product(*choices):
            if len(set(chosen)) < len(chosen):
                continue
            values = dict(zip(names, chosen, strict=True))
            facts = [
                frozenset(_fill_fact(fact, values) for fact in part)
                for part in (operator.needs, operator.adds, operator.deletes)
            ]
            found.append(Action(" ".join((operator.name, *chosen)), *facts))
            if len(found) > MOST_ACTIONS:
                raise InvalidOption(f"a world has at most {MOST_ACTIONS} ground actions")
    return sorted(found, key=lambda action: action.text)


def _fill_fact(fact: str, values: Mapping[str, str]) -> str:
    return _tidy(_PARAMETER.sub(lambda found: values[found[0]], fact))


def _solve(
    actions: tuple[Action, ...], start: frozenset[str], goal: frozenset[str]
) -> tuple[str, ...] | None:
    """A shortest plan by breadth-first search; None if none was found within the limit."""
    queue: deque[tuple[frozenset[str], tuple[str, ...]]] = deque([(start, ())])
    seen = {start}
    while queue:
        facts, plan = queue.popleft()
        if goal <= facts:
            return plan
        for action in actions:
            if action.needs <= facts:
                after = apply_action(facts, action)
                if after not in seen and len(seen) < MOST_STATES:
                    seen.add(after)
                    queue.append((after, (*plan, action.text)))
    return None


# The generator

THEMES = (  # name, types of places and of things, places, things
    (
        "house",
        "room",
        "thing",
        ("hall", "attic", "cellar", "kitchen", "porch"),
        ("lamp", "book", "cup", "rope"),
    ),
    (
        "harbour",
        "pier",
        "crate",
        ("north-pier", "south-pier", "dock", "yard", "mole"),
        ("salt", "wool", "tea", "iron"),
    ),
    (
        "farm",
        "field",
        "tool",
        ("barn", "meadow", "orchard", "stable", "pond"),
        ("spade", "fork", "scythe", "bucket"),
    ),
)


def generate(rng: Rng, places: int, things: int, goals: int, locked: int) -> World:
    """A world of carrying: places on a path with some extra ways, things, and locked ways."""
    name, place, thing, all_places, all_things = rng.choice(THEMES)
    rooms, goods = list(all_places), list(all_things)
    rng.shuffle(rooms)
    rng.shuffle(goods)
    rooms, goods = rooms[:places], goods[:things]
    start = [f"at(you, {rooms[0]})", "free(hands)"]
    for n in range(1, places):
        way = "locked" if n <= locked else "joined"
        start += [f"{way}({rooms[n - 1]}, {rooms[n]})", f"joined({rooms[n]}, {rooms[n - 1]})"]
    if locked:
        start.append(f"at(latchkey, {rooms[0]})")
    start += [f"at({good}, {rng.choice(rooms)})" for good in goods]
    goal = []
    for good in goods[:goals]:
        now = next(fact for fact in start if fact.startswith(f"at({good}, "))
        others = [room for room in rooms if f"at({good}, {room})" != now]
        goal.append(f"at({good}, {rng.choice(others)})")
    operators = [
        Operator(
            "go", {"a": place, "b": place}, ["at(you, ?a)", "joined(?a, ?b)"],
            ["at(you, ?b)"], ["at(you, ?a)"],
        ),
        Operator(
            "take", {"t": thing, "a": place}, ["at(you, ?a)", "at(?t, ?a)", "free(hands)"],
            ["held(?t)"], ["at(?t, ?a)", "free(hands)"],
        ),
        Operator(
            "drop", {"t": thing, "a": place}, ["at(you, ?a)", "held(?t)"],
            ["at(?t, ?a)", "free(hands)"], ["held(?t)"],
        ),
    ]  # fmt: skip
    items = [*goods]
    if locked:
        items.append("latchkey")
        operators.append(
            Operator(
                "unlock", {"a": place, "b": place},
                ["at(you, ?a)", "locked(?a, ?b)", "held(latchkey)"],
                ["joined(?a, ?b)"], ["locked(?a, ?b)"],
            )
        )  # fmt: skip
    objects = {place: rooms, thing: items, "person": ["you"], "part": ["hands"]}
    return World(name, objects, operators, start, goal)


def write_world(world: World) -> str:
    """A world as JSON."""
    return msgspec.json.encode(world).decode()


LEVELS = {  # places, things, goals, locked ways
    "easy": (2, 1, 1, 0),
    "medium": (3, 2, 1, 0),
    "hard": (4, 3, 2, 1),
}


@lru_cache(maxsize=1024)
def generate_world(level: str, seed: int) -> PlannedWorld:
    """The world of a seed, validated and solved."""
    rng = Rng.seeded(seed, 71)
    while True:
        planned = read_world(write_world(generate(rng, *LEVELS[level])))
        if planned.length > 0:
            return planned


def evolve(world: World, rng: Rng, *, harder: bool) -> World:
    """AgentGen's bidirectional evolution: a sibling with a goal more, or one less.

    A goal more asks for a thing that is not asked for yet to be somewhere else; where there is no
    such thing, or only one goal, the world stays as it is.
    """
    if not harder:
        kept = world.goal[:-1] if len(world.goal) > 1 else world.goal
        return msgspec.structs.replace(world, goal=kept)
    asked = {fact[3:].split(",")[0] for fact in world.goal}
    spare = sorted(
        fact for fact in world.start
        if fact.startswith("at(") and fact[3:].split(",")[0] not in {*asked, "you", "latchkey"}
    )  # fmt: skip
    if not spare:
        return world
    fact = rng.choice(spare)
    thing, here = fact[3:-1].split(", ")
    rooms = next(many for many in world.objects.values() if here in many)
    aim = rng.choice([room for room in rooms if room != here])
    return msgspec.structs.replace(world, goal=[*world.goal, f"at({thing}, {aim})"])
