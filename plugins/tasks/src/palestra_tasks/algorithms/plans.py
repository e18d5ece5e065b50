"""Composed planning problems: a table, sentences that each add a condition, and what they mean.

A `Plan` decides how many units of each item are made or bought, in one week or several. Its table
says what a unit earns or costs, what it uses or brings, and how many there may be. Each `Part` is a
condition that only a sentence tells: a smallest lot, a setup, a choice, a ratio, a store from week
to week. `model` builds the linear or mixed-integer model that table and parts mean. Making nothing
is feasible in every plan, and every amount has a limit.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any

from palestra import Rng

from palestra_tasks.combinatorial.linear import Linear

WORDS: dict[str, Any] = tomllib.loads(
    files(__package__).joinpath("plans.toml").read_text(encoding="utf-8")
)
COMMON = ("whole", "lot", "setup", "choice", "requires", "either", "share", "joint", "tier",
          "outside", "smooth", "carry")  # fmt: skip
RARE = ("balance", "bonus", "crew", "unless", "earlier", "gap")
WEEKLY = ("smooth", "carry", "earlier", "gap")  # kinds that need more than one week
OF_RESOURCES = ("outside", "carry")
FOREMEN = 2
RARE_PARTS = 2  # of a plan with parts that are rare


@dataclass(frozen=True, slots=True)
class Part:
    """A condition: its kind, the items or the resource that it is about, and its numbers."""

    kind: str
    who: tuple[int, ...]
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """A planning problem. `table` is what the player reads as data."""

    setting: int
    weeks: int
    table: dict[str, Any]
    parts: tuple[Part, ...]

    @property
    def sense(self) -> Any:
        return WORDS["settings"][self.setting]["sense"]

    @property
    def worth(self) -> str:
        """The name of what a unit of each item earns or costs."""
        return "profit" if self.sense == "max" else "cost"


# Drawing


def draw_plan(rng: Rng, size: int, parts: str) -> Plan:
    """A plan of `size` + 2 items and as many conditions; `parts` is "common" or "rare"."""
    setting, weeks = rng.below(len(WORDS["settings"])), 1 + rng.below(1 + size // 2)
    table = _draw_table(rng, WORDS["settings"][setting], size, weeks)
    plan = Plan(setting, weeks, table, ())
    kinds = _draw_kinds(rng, plan, size + 2, RARE_PARTS if parts == "rare" else 0)
    if "crew" in kinds:
        table["fee"] = [[rng.between(5, 30) for _ in range(FOREMEN)] for _ in table["items"]]
    return Plan(setting, weeks, table, tuple(_draw_part(rng, kind, table) for kind in kinds))


def _draw_kinds(rng: Rng, plan: Plan, count: int, rare: int) -> list[str]:
    possible = [
        [kind for kind in kinds if plan.weeks > 1 or kind not in WEEKLY] for kinds in (RARE, COMMON)
    ]
    # what lacks can be bought in any case where costs are, and what is bought is not kept
    apart = "outside" if plan.sense == "min" or plan.weeks == 1 else rng.choice(OF_RESOURCES)
    if plan.sense == "min" or plan.weeks > 1:
        possible[1].remove(apart)
    for kinds in possible:
        rng.shuffle(kinds)
    chosen = [*possible[0][:rare], *possible[1][: count - rare]]
    rng.shuffle(chosen)
    return chosen


def _draw_table(rng: Rng, setting: dict[str, Any], size: int, weeks: int) -> dict[str, Any]:
    """Values that roughly follow what a unit uses, and resources for about half of all units."""
    items, resources = list(setting["items"]), setting["resources"][: 1 + size // 2]
    rng.shuffle(items)
    items = items[: size + 2]
    use = [[rng.between(1, 9) for _ in resources] for _ in items]
    most = [rng.between(8, 20) for _ in items]
    # weeks differ, so that it matters what is kept from one to the next
    all_units = [sum(m * u[r] for m, u in zip(most, use, strict=True)) for r in range(len(use[0]))]
    available = [
        [rng.between(25, 75) * all_of // 100 for all_of in all_units] for _ in range(weeks)
    ]
    table = {
        "items": items,
        "resources": resources,
        "profit" if setting["sense"] == "max" else "cost": [
            3 * sum(row) // len(row) + rng.between(4, 14) for row in use
        ],
        "use": use,
        "available": available if weeks > 1 else available[0],
        "most": most,
    }
    if setting["sense"] == "min":
        table["dear"] = [rng.between(9, 14) for _ in resources]
    return table


def _draw_part(rng: Rng, kind: str, table: dict[str, Any]) -> Part:
    if kind in OF_RESOURCES:
        resource = _scarcest(table) if kind == "outside" else rng.below(len(table["resources"]))
        return Part(kind, (resource,), _draw_numbers(rng, kind, []))
    who = _draw_items(rng, kind, table)
    return Part(kind, tuple(who), _draw_numbers(rng, kind, [table["most"][i] for i in who]))


def _scarcest(table: dict[str, Any]) -> int:
    """The resource of which there is least beside what all units would use."""
    weeks = table["available"] if isinstance(table["available"][0], list) else [table["available"]]
    shares = [
        sum(week[r] for week in weeks)
        / sum(m * row[r] for m, row in zip(table["most"], table["use"], strict=True))
        for r in range(len(table["resources"]))
    ]
    return shares.index(min(shares))


def _draw_items(rng: Rng, kind: str, table: dict[str, Any]) -> list[int]:
    """Items of a part; a limit is on one of the better items, as it matters there."""
    worth = table.get("profit") or table["cost"]
    values = [sum(row) / each for row, each in zip(table["use"], worth, strict=True)]
    items = sorted(range(len(values)), key=values.__getitem__, reverse="dear" in table)
    good = items[: len(items) // 2 + 1]
    rng.shuffle(items)
    if kind in ("choice", "joint", "setup", "whole", "crew"):
        return sorted(items[: 2 if kind in ("setup", "whole") else 3])
    first = items[0] if kind in ("share", "bonus", "balance") else rng.choice(good)
    if kind in ("lot", "share", "tier", "smooth", "bonus", "gap"):
        return [first]
    others = good if kind in ("either", "unless") else items
    return [first, rng.choice([one for one in others if one != first])]


def _draw_numbers(rng: Rng, kind: str, most: Sequence[int]) -> tuple[int, ...]:
    """Numbers at which a condition matters more often than not, by the limits of its items."""
    match kind:
        case "lot":
            return (most[0] * rng.between(75, 100) // 100,)
        case "setup":
            return (rng.between(40, 120),)
        case "choice":
            return (rng.between(1, 2),)
        case "requires":
            return (most[1] * rng.between(70, 100) // 100,)
        case "either":
            return tuple(max(2, m * rng.between(5, 20) // 100) for m in most)
        case "share":
            return (5 * rng.between(6, 9),)
        case "joint":
            return (sum(most) * rng.between(25, 40) // 100,)
        case "tier":
            return max(2, most[0] * rng.between(10, 35) // 100), rng.between(5, 9)
        case "outside":
            return rng.between(10, 60), rng.between(1, 2)
        case "smooth" | "carry":
            return (rng.between(2, 3) - (kind == "carry"),)
        case "balance":
            return (rng.between(2, 3),)
        case "bonus":
            return max(3, most[0] * rng.between(60, 95) // 100), rng.between(30, 90)
        case "unless" | "earlier":
            share = rng.between(5, 20) if kind == "unless" else rng.between(70, 100)
            return (max(2, most[1] * share // 100),)
        case _:
            return ()


# Words


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _phrases(plan: Plan) -> dict[str, str]:
    """The words that a setting and the number of weeks put into sentences."""
    setting, many = WORDS["settings"][plan.setting], plan.weeks > 1
    return {
        "made": setting["made"],
        "once": " in a week" if many else "",
        "again": ", anew in each such week" if many else "",
        "too": " in the same week" if many else " as well",
        "unit": setting["unit"],
        "table": plan.worth,
        "earns": "earns" if plan.sense == "max" else "costs",
        "less": "less" if plan.sense == "max" else "more",
    }


def sentences(plan: Plan, telling: int) -> list[str]:
    """The problem in words: the story, and a sentence for each part, in one of two tellings."""
    phrases = _phrases(plan)
    told = (
        WORDS["parts"][part.kind][telling].format(**phrases, **_names(plan, part))
        for part in plan.parts
    )
    return [_story(plan, telling), *(words[0].upper() + words[1:] for words in told)]


def _names(plan: Plan, part: Part) -> dict[str, Any]:
    of_resource = part.kind in OF_RESOURCES
    names = [plan.table["resources" if of_resource else "items"][one] for one in part.who]
    return {
        "r": names[0],
        "a": names[0],
        "b": names[-1],
        "who": _listed(names),
        "n": part.numbers[0] if part.numbers else 0,
        "k": part.numbers[-1] if part.numbers else 0,
    }


def _story(plan: Plan, telling: int) -> str:
    many, table = plan.weeks > 1, plan.table
    told = WORDS["settings"][plan.setting]["story"][telling].format(
        count=len(table["items"]),
        names=_listed(table["items"]),
        works=_listed(table["resources"]),
        there="available[t][r]" if many else "available[r]",
        week=" in week t" if many else "",
        once=" in a week" if many else "",
        whole=f" over all {plan.weeks} weeks together" if many else "",
    )
    weeks = f"There are {plan.weeks} weeks t, and each has amounts of its own. " if many else ""
    return f"{weeks}{told} Parts of a unit are possible where nothing else is said."


def read_plan(table: dict[str, Any], text: str) -> Plan:
    """The plan that a table and its story tell."""
    (setting,) = (
        number for number, one in enumerate(WORDS["settings"])
        if table["resources"][0] in one["resources"]
    )  # fmt: skip
    many = isinstance(table["available"][0], list)
    plan = Plan(setting, len(table["available"]) if many else 1, table, ())
    return replace(plan, parts=tuple(_read_parts(plan, text)))


def _read_parts(plan: Plan, text: str) -> list[Part]:
    """The parts of the sentences, in their order."""
    found = []
    for kind, tellings in WORDS["parts"].items():
        for words in tellings:
            pattern = _pattern(words, _phrases(plan))
            found += [(m.start(), _part(plan, kind, m)) for m in re.finditer(pattern, text)]
    return [part for _, part in sorted(found, key=lambda pair: pair[0])]


def _pattern(words: str, phrases: dict[str, str]) -> str:
    marks = {key: f"@{key}@" for key in ("a", "b", "who", "r", "n", "k")}
    escaped = re.escape(words.format(**phrases, **marks))
    for key in marks:
        seen = r"\d+" if key in ("n", "k") else "[^.:;]+?"
        escaped = escaped.replace(f"@{key}@", f"(?P<{key}>{seen})")
    return rf"(?i)(?<![^ ]){escaped}"


def _part(plan: Plan, kind: str, found: re.Match[str]) -> Part:
    seen = found.groupdict()
    names = plan.table["resources" if "r" in seen else "items"]
    told = re.split(", | and ", seen.get("who") or seen.get("r") or seen["a"])
    told += [seen["b"]] if "b" in seen else []
    numbers = tuple(int(seen[key]) for key in ("n", "k") if key in seen)
    return Part(kind, tuple(names.index(name.lower()) for name in told), numbers)


# Meaning


@dataclass(slots=True)
class Building:
    """A model under construction, with the variables that parts need."""

    plan: Plan
    model: Linear
    made: list[list[int]]  # by week and item, the amount
    kept: dict[int, int] = field(default_factory=dict)  # price of keeping, by resource
    bought: dict[int, tuple[float, int]] = field(default_factory=dict)  # most and price
    switches: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def pay(self) -> int:
        """What a cost of 1 adds to the objective."""
        return -1 if self.plan.sense == "max" else 1

    def most(self, item: int) -> int:
        most: int = self.plan.table["most"][item]
        return most

    def any_of(self, week: int, item: int) -> int:
        """A switch that is 1 if any of an item is made in a week."""
        if (week, item) not in self.switches:
            switch = self.switches[week, item] = self.model.switch()
            self.model.row({self.made[week][item]: 1, switch: -self.most(item)}, high=0)
        return self.switches[week, item]

    def reaches(self, week: int, item: int, amount: int, pay: int = 0) -> int:
        """A switch that can be 1 only if at least an amount of an item is made in a week."""
        switch = self.model.switch(float(pay))
        self.model.row({self.made[week][item]: 1, switch: -amount}, 0)
        return switch


def model_of(plan: Plan) -> Linear:
    """The model that the table and the parts mean."""
    whole = {item for part in plan.parts if part.kind == "whole" for item in part.who}
    model, table = Linear(plan.sense), plan.table
    made = [
        [
            model.variable(float(value), 0, most, whole=item in whole)
            for item, (value, most) in enumerate(zip(table[plan.worth], table["most"], strict=True))
        ]
        for _ in range(plan.weeks)
    ]
    built = Building(plan, model, made)
    for part in plan.parts:
        for week in range(plan.weeks):
            _add_part(built, part, week)
    for resource in range(len(table["resources"])):
        _add_resource(built, resource)
    return model


def _add_resource(built: Building, resource: int) -> None:
    """What is used is there, or what is needed is met, in every week."""
    plan, model = built.plan, built.model
    needed, available = plan.sense == "min", plan.table["available"]
    most, price = built.bought.get(resource, (0.0, 0))
    if needed:
        most, price = float("inf"), plan.table["dear"][resource]
    kept = None
    for week in range(plan.weeks):
        amount = (available[week] if plan.weeks > 1 else available)[resource]
        way = 1 if needed else -1  # of what makes it easier to meet the row
        terms = {x: plan.table["use"][i][resource] for i, x in enumerate(built.made[week])}
        if most:
            terms[model.variable(float(built.pay * price), 0, most)] = way
        if kept is not None:
            terms[kept] = way
        kept = None
        if resource in built.kept and week < plan.weeks - 1:
            kept = model.variable(float(built.pay * built.kept[resource]))
            terms[kept] = -way
        model.row(terms, *((amount,) if needed else (float("-inf"), amount)))


def _add_part(built: Building, part: Part, week: int) -> None:
    """Add the rows of a part for one week."""
    if part.kind in _BY_ITEMS:
        _BY_ITEMS[part.kind](built, part, week)
    elif part.kind == "carry":
        built.kept[part.who[0]] = part.numbers[0]
    elif part.kind == "outside":
        built.bought[part.who[0]] = (part.numbers[0], part.numbers[1])


def _lot(built: Building, part: Part, week: int) -> None:
    (item,), (least,) = part.who, part.numbers
    built.model.row({built.made[week][item]: 1, built.any_of(week, item): -least}, 0)


def _setup(built: Building, part: Part, week: int) -> None:
    paid = built.model.switch(float(built.pay * part.numbers[0]))
    for item in part.who:
        built.model.row({built.any_of(week, item): 1, paid: -1}, high=0)


def _choice(built: Building, part: Part, week: int) -> None:
    built.model.row({built.any_of(week, i): 1 for i in part.who}, high=part.numbers[0])


def _requires(built: Building, part: Part, week: int) -> None:
    (item, other), (least,) = part.who, part.numbers
    built.model.row({built.made[week][other]: 1, built.any_of(week, item): -least}, 0)


def _either(built: Building, part: Part, week: int) -> None:
    passed = [built.model.switch() for _ in part.who]
    for item, limit, switch in zip(part.who, part.numbers, passed, strict=True):
        over = limit - built.most(item)
        built.model.row({built.made[week][item]: 1, switch: over}, high=limit)
    built.model.row(dict.fromkeys(passed, 1), high=1)


def _share(built: Building, part: Part, week: int) -> None:
    terms = dict.fromkeys(built.made[week], -part.numbers[0])
    terms[built.made[week][part.who[0]]] += 100
    built.model.row(terms, 0)


def _joint(built: Building, part: Part, week: int) -> None:
    built.model.row({built.made[week][i]: 1 for i in part.who}, high=part.numbers[0])


def _tier(built: Building, part: Part, week: int) -> None:
    further = built.model.variable(float(built.pay * part.numbers[1]))
    built.model.row({built.made[week][part.who[0]]: 1, further: -1}, high=part.numbers[0])


def _smooth(built: Building, part: Part, week: int) -> None:
    if week:
        now, before = (built.made[w][part.who[0]] for w in (week, week - 1))
        built.model.row({now: 1, before: -1}, -part.numbers[0], part.numbers[0])


def _balance(built: Building, part: Part, week: int) -> None:
    item, other = (built.made[week][i] for i in part.who)
    built.model.row({item: 1, other: -part.numbers[0]}, 0, 0)


def _bonus(built: Building, part: Part, week: int) -> None:
    built.reaches(week, part.who[0], part.numbers[0], -built.pay * part.numbers[1])


def _crew(built: Building, part: Part, week: int) -> None:
    if week:
        return
    fees, model = built.plan.table["fee"], built.model
    given = [[model.switch(float(built.pay * fee)) for fee in fees[item]] for item in part.who]
    for item, foremen in zip(part.who, given, strict=True):
        for any_week in range(built.plan.weeks):
            model.row({built.any_of(any_week, item): 1, **dict.fromkeys(foremen, -1)}, high=0)
    for kinds in zip(*given, strict=True):
        model.row(dict.fromkeys(kinds, 1), high=1)


def _unless(built: Building, part: Part, week: int) -> None:
    (item, other), (limit,) = part.who, part.numbers
    more = built.most(other) - limit
    terms = {built.made[week][other]: 1, built.any_of(week, item): more}
    built.model.row(terms, high=limit + more)


def _earlier(built: Building, part: Part, week: int) -> None:
    (item, other), (least,) = part.who, part.numbers
    before = [built.reaches(earlier, other, least) for earlier in range(week)]
    built.model.row({built.any_of(week, item): 1, **dict.fromkeys(before, -1)}, high=0)


def _gap(built: Building, part: Part, week: int) -> None:
    if week:
        switches = [built.any_of(w, part.who[0]) for w in (week - 1, week)]
        built.model.row(dict.fromkeys(switches, 1), high=1)


_BY_ITEMS = {
    "lot": _lot, "setup": _setup, "choice": _choice, "requires": _requires, "either": _either,
    "share": _share, "joint": _joint, "tier": _tier, "smooth": _smooth, "balance": _balance,
    "bonus": _bonus, "crew": _crew, "unless": _unless, "earlier": _earlier, "gap": _gap,
}  # fmt: skip


def program_of(model: Linear) -> Iterator[str]:
    """A program that declares a model: its variables, its constraints, its objective."""
    infinite = (float("inf"), float("-inf"))
    bounds = zip(model.lows, model.highs, model.whole, strict=True)
    yield "".join(
        f"variable('x{n}', {low:g}, {None if high in infinite else high}, {bool(whole)})\n"
        for n, (low, high, whole) in enumerate(bounds)
    )
    lines = []
    for terms, low, high in model.rows:
        told = ", ".join(f"'x{n}': {by:g}" for n, by in terms.items())
        ends = [("==", low)] if low == high else [(">=", low), ("<=", high)]
        lines += [
            f"constraint({{{told}}}, '{relation}', {bound:g})\n"
            for relation, bound in ends
            if bound not in infinite
        ]
    yield "".join(lines)
    costs = ", ".join(f"'x{n}': {cost:g}" for n, cost in enumerate(model.costs) if cost)
    yield f"objective('{model.sense}', {{{costs}}})\n"
