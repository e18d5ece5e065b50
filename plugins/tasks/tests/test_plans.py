"""Composed optimisation problems: optima by listing all choices, sentences that are read back."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import palestra
import pytest
from palestra import InvalidOption, Rng
from palestra.kernel.registry import registry
from palestra.testing.kit import CHECKS, Subject, run_check
from palestra_tasks.algorithms.optimus import OptiMUS
from palestra_tasks.algorithms.plans import (
    COMMON,
    RARE,
    WORDS,
    Part,
    Plan,
    draw_plan,
    model_of,
    read_plan,
    sentences,
)
from scipy.optimize import linprog

ID = "tasks/OptiMUS-v0"
SPLITS = registry().environment(ID).splits
SIZES = {"small": 2, "medium": 3, "large": 4}
LISTED = 260  # choices, at most, of a plan whose optimum is found by listing them


def drawn(seed: int, size: int = 2, parts: str = "common") -> Plan:
    return draw_plan(Rng.seeded(seed), size, parts)


def value(plan: Plan) -> float:
    return model_of(plan).solve().value


def differ(one: float, other: float) -> bool:
    return not math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-4)


# The optimum, from what the sentences mean: all yes-or-no choices are listed, and for each of them
# a linear programme in the amounts is solved


@dataclass
class Amounts:
    """A linear programme whose variables have names; costs are paid, so that less is better."""

    costs: dict[Any, float] = field(default_factory=dict)
    most: dict[Any, float] = field(default_factory=dict)
    least: dict[Any, float] = field(default_factory=dict)
    at_most: list[tuple[dict[Any, float], float]] = field(default_factory=list)
    whole: set[Any] = field(default_factory=set)

    def below(self, terms: dict[Any, float], bound: float) -> None:
        self.at_most.append((terms, bound))

    def solve(self) -> float:
        names = list(self.costs)
        at = {name: n for n, name in enumerate(names)}
        rows = [[terms.get(name, 0) for name in names] for terms, _ in self.at_most]
        assert all(name in at for terms, _ in self.at_most for name in terms)
        bounds = [(self.least.get(n, 0), self.most.get(n, math.inf)) for n in names]
        if any(low > high for low, high in bounds):
            return math.inf
        found = linprog(
            list(self.costs.values()), A_ub=rows, b_ub=[bound for _, bound in self.at_most],
            bounds=bounds, integrality=[name in self.whole for name in names],
        )  # fmt: skip
        return float(found.fun) if found.status == 0 else math.inf


def choices(plan: Plan) -> Iterator[dict[Any, bool]]:
    """All answers to: is any made, is the amount reached, which of two limits is kept."""
    asked: set[Any] = set()
    for part in plan.parts:
        for week in range(plan.weeks):
            if part.kind in ("lot", "setup", "choice", "crew", "gap"):
                asked |= {("any", week, item) for item in part.who}
            if part.kind in ("requires", "unless", "earlier"):
                asked.add(("any", week, part.who[0]))
            if part.kind in ("bonus", "earlier"):
                asked.add((part.kind, week, part.who[-1]))
            if part.kind == "either":
                asked.add(("first", week, part.who[0]))
    names = sorted(asked)
    for answers in itertools.product((False, True), repeat=len(names)):
        yield dict(zip(names, answers, strict=True))


def count_of_choices(plan: Plan) -> int:
    return sum(1 for _ in itertools.islice(choices(plan), LISTED + 1))


def best_by_listing(plan: Plan) -> float:
    least = min(least_cost(plan, chosen) for chosen in choices(plan))
    return least if plan.sense == "min" else -least


def least_cost(plan: Plan, chosen: dict[Any, bool]) -> float:
    paid, task = 0.0, table_alone(plan)
    for (what, week, item), yes in chosen.items():
        if what == "any" and not yes:
            task.most["make", week, item] = 0
    for part in plan.parts:
        fixed = fixed_cost(plan, part, chosen)
        if fixed is None:
            return math.inf
        paid += fixed
        for week in range(plan.weeks):
            limit(plan, part, week, chosen=chosen, task=task)
    return paid + task.solve()


def table_alone(plan: Plan) -> Amounts:
    """What the table says, with what can be kept or bought."""
    task, table = Amounts(), plan.table
    gains = [-p for p in table["profit"]] if plan.sense == "max" else table["cost"]
    about = {part.kind: part for part in plan.parts}
    for week in range(plan.weeks):
        for item, gain in enumerate(gains):
            task.costs["make", week, item] = gain
            task.most["make", week, item] = table["most"][item]
        for r, _ in enumerate(table["resources"]):
            bought, carried = about.get("outside"), about.get("carry")
            task.costs["buy", week, r] = table["dear"][r] if plan.sense == "min" else 0
            task.most["buy", week, r] = math.inf if plan.sense == "min" else 0
            if bought and bought.who == (r,):
                task.most["buy", week, r], task.costs["buy", week, r] = bought.numbers
            keeps = carried and carried.who == (r,) and week < plan.weeks - 1
            task.costs["keep", week, r] = carried.numbers[0] if carried else 0
            task.most["keep", week, r] = math.inf if keeps else 0
    for week, r in itertools.product(range(plan.weeks), range(len(table["resources"]))):
        there = (table["available"][week] if plan.weeks > 1 else table["available"])[r]
        used = {("make", week, i): row[r] for i, row in enumerate(table["use"])}
        over = {("buy", week, r): 1, ("keep", week, r): -1}
        over |= {("keep", week - 1, r): 1} if week else {}
        if plan.sense == "max":
            task.below(used | {name: -by for name, by in over.items()}, there)
        else:
            task.below({name: -by for name, by in (used | over).items()}, -there)
    return task


def fixed_cost(plan: Plan, part: Part, chosen: dict[Any, bool]) -> float | None:
    """What the choices cost by a part; None if it does not allow them."""
    weeks = range(plan.weeks)
    made = [[i for i in part.who if chosen.get(("any", week, i))] for week in weeks]
    match part.kind:
        case "setup":
            return part.numbers[0] * sum(1 for some in made if some)
        case "choice":
            return 0 if max(map(len, made)) <= part.numbers[0] else None
        case "bonus":
            return -part.numbers[1] * sum(chosen["bonus", week, part.who[0]] for week in weeks)
        case "gap":
            return None if any(one and two for one, two in itertools.pairwise(made)) else 0
        case "earlier":
            first, other = part.who
            for week in weeks:
                before = any(chosen["earlier", w, other] for w in range(week))
                if chosen["any", week, first] and not before:
                    return None
            return 0
        case "crew":
            fees = [plan.table["fee"][i] for i in sorted(set().union(*made))]
            ways = itertools.permutations(range(2), len(fees)) if len(fees) <= 2 else ()
            paid = [sum(fee[f] for fee, f in zip(fees, way, strict=True)) for way in ways]
            return min(paid, default=None)
    return 0


def limit(plan: Plan, part: Part, week: int, *, chosen: dict[Any, bool], task: Amounts) -> None:
    """Limit the amounts of a week by a part, given the choices."""
    name, numbers = [("make", week, item) for item in part.who], part.numbers
    some = chosen.get(("any", week, part.who[0]), False)
    match part.kind:
        case "whole":
            task.whole |= set(name)
        case "lot" if some:
            task.below({name[0]: -1}, -numbers[0])
        case "requires" if some:
            task.below({name[1]: -1}, -numbers[0])
        case "unless" if some:
            task.below({name[1]: 1}, numbers[0])
        case "bonus" if chosen["bonus", week, part.who[0]]:
            task.below({name[0]: -1}, -numbers[0])
        case "earlier" if chosen["earlier", week, part.who[1]]:
            task.below({name[1]: -1}, -numbers[0])
        case "either":
            kept = 0 if chosen["first", week, part.who[0]] else 1
            task.below({name[kept]: 1}, numbers[kept])
        case "share":
            everything = {("make", week, i): numbers[0] / 100 for i in items(plan)}
            task.below(everything | {name[0]: numbers[0] / 100 - 1}, 0)
        case "joint":
            task.below(dict.fromkeys(name, 1), numbers[0])
        case "tier":
            task.costs["further", week] = numbers[1]
            task.below({name[0]: 1, ("further", week): -1}, numbers[0])
        case "balance":
            for sign in (1, -1):
                task.below({name[0]: sign, name[1]: -sign * numbers[0]}, 0)
        case "smooth" if week:
            for sign in (1, -1):
                before = ("make", week - 1, part.who[0])
                task.below({name[0]: sign, before: -sign}, numbers[0])


def items(plan: Plan) -> range:
    return range(len(plan.table["items"]))


def without(plan: Plan, kind: str) -> Plan:
    return replace(plan, parts=tuple(part for part in plan.parts if part.kind != kind))


def with_part(kind: str, count: int) -> Iterable[Plan]:
    """Plans in which a condition changes the optimum, with few enough choices to list them all."""
    plans = (drawn(seed, 2, "rare" if kind in RARE else "common") for seed in itertools.count())
    having = (plan for plan in plans if kind in {part.kind for part in plan.parts})
    listed = (plan for plan in having if count_of_choices(plan) <= LISTED)
    changed = (plan for plan in listed if differ(value(plan), value(without(plan, kind))))
    return itertools.islice(changed, count)


@pytest.mark.parametrize("kind", [*COMMON, *RARE])
def test_the_optimum_is_the_best_of_all_choices(kind: str) -> None:
    for plan in with_part(kind, 3):
        assert value(plan) == pytest.approx(best_by_listing(plan), rel=1e-5, abs=1e-5), plan


def test_a_plan_by_hand() -> None:
    """10 hours; a desk earns 5 in 2 hours, a stool 2 in 1; desks only from 4 on, for 3 in all."""
    table = {
        "items": ["desks", "stools"], "resources": ["sawing"], "profit": [5, 2],
        "use": [[2], [1]], "available": [10], "most": [4, 9],
    }  # fmt: skip
    lot, setup = Part("lot", (0,), (4,)), Part("setup", (0,), (3,))
    assert value(Plan(0, 1, table, ())) == pytest.approx(24)  # 4 desks, 2 stools
    assert value(Plan(0, 1, table, (lot, setup))) == pytest.approx(21)
    assert value(Plan(0, 1, table, (lot, Part("setup", (0,), (9,))))) == pytest.approx(18)
    assert value(Plan(0, 1, table, (Part("share", (1,), (50,)),))) == pytest.approx(70 / 3)


# Words


@pytest.mark.parametrize("telling", [0, 1])
@pytest.mark.parametrize("parts", ["common", "rare"])
def test_the_sentences_say_every_condition_once(parts: str, telling: int) -> None:
    for seed in range(80):
        plan = drawn(seed, 2 + seed % 4, parts)
        told = sentences(plan, telling)
        assert len(told) == len(plan.parts) + 1
        assert read_plan(plan.table, " ".join(told)).parts == plan.parts


def test_no_condition_can_be_read_from_the_table() -> None:
    """Who sees the table alone is told of the foremen's fees, and of no other condition."""
    for seed in range(60):
        plan = drawn(seed, 4, "rare")
        kinds = {part.kind for part in plan.parts}
        assert ("fee" in plan.table) == ("crew" in kinds)
        assert ("dear" in plan.table) == (plan.sense == "min")


# What is drawn


def structure(plan: Plan) -> tuple[Any, ...]:
    """A plan without its words and numbers: which conditions meet in which items and resources."""
    roles: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for part in plan.parts:
        ordered = part.kind in ("requires", "balance", "unless", "earlier")
        about = "resource" if part.kind in ("outside", "carry") else "item"
        for place, one in enumerate(part.who):
            roles.setdefault((about, one), []).append((part.kind, place if ordered else 0))
    met = Counter((about, tuple(sorted(found))) for (about, _), found in roles.items())
    return plan.sense, plan.weeks, tuple(sorted(met.items()))


@pytest.mark.parametrize(("name", "least"), [("small", 900), ("medium", 990), ("large", 998)])
@pytest.mark.parametrize("parts", ["common", "rare"])
def test_hardly_two_problems_of_a_split_are_alike(name: str, least: int, parts: str) -> None:
    found = {structure(drawn(seed, SIZES[name], parts)) for seed in range(1000)}
    assert len(found) >= least - 150 * (parts == "rare" and name == "small")


def test_held_out_problems_have_two_conditions_that_the_others_never_have() -> None:
    for seed in range(200):
        common, rare = (
            {part.kind for part in drawn(seed, 3, parts).parts} for parts in ("common", "rare")
        )
        assert common <= set(COMMON)
        assert len(rare & set(RARE)) == 2


def test_a_condition_left_out_changes_the_optimum_more_often_than_not() -> None:
    """And each kind does in one of ten of its problems at least."""
    there, matters = Counter[str](), Counter[str]()
    for seed in range(50):
        plan = drawn(seed, 4, "rare" if seed % 2 else "common")
        true = value(plan)
        for part in plan.parts:
            there[part.kind] += 1
            matters[part.kind] += differ(value(without(plan, part.kind)), true)
    assert set(there) == set(WORDS["parts"])
    assert sum(matters.values()) > 0.5 * sum(there.values())
    assert [kind for kind in there if matters[kind] < 0.1 * there[kind]] == []


# Play


@pytest.mark.parametrize("form", ["whole", "clauses"])
@pytest.mark.parametrize("split", ["small", "held-out-large"])
def test_who_reads_every_sentence_finds_the_optimum(split: str, form: str) -> None:
    options = {**SPLITS[split], "form": form, "distractors": 5}
    records = palestra.play(ID, agents="optimus-modeller", episodes=5, **options)
    assert [record.returns[0] for record in records] == [1.0] * 5


@pytest.mark.parametrize("size", [1, 6])
def test_the_smallest_and_the_largest_problems_can_be_modelled(size: int) -> None:
    for parts in ("common", "rare"):
        options = {"story": "composed", "size": size, "parts": parts}
        records = palestra.play(ID, agents="optimus-modeller", episodes=3, **options)
        assert [record.returns[0] for record in records] == [1.0] * 3


@pytest.mark.parametrize("agent", ["optimus-relaxer", "optimus-hasty"])
def test_no_shortcut_earns_nine_tenths_of_the_reference(agent: str) -> None:
    records = palestra.play(ID, agents=agent, episodes=30, **SPLITS["large"])
    assert 0 < sum(record.returns[0] for record in records) / 30 < 0.7


def test_the_table_alone_hardly_ever_has_the_optimum() -> None:
    plans = [drawn(seed, 4) for seed in range(60)]
    assert sum(not differ(value(replace(p, parts=())), value(p)) for p in plans) <= 2


@pytest.mark.parametrize("check", sorted(CHECKS))
def test_a_composed_problem_passes_the_conformance_tests(check: str) -> None:
    options = {"story": "composed", "size": 4, "parts": "rare", "form": "clauses"}
    verdict = run_check(Subject(registry().environment(ID), options), check)
    assert verdict.status != "failed", verdict.detail


def test_rare_conditions_are_refused_where_nothing_is_composed() -> None:
    with pytest.raises(InvalidOption, match="set story to composed"):
        OptiMUS(story="any", parts="rare")
