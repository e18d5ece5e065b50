"""Composed functions: each step by numpy or by enumeration from its words, their growth and pay."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import InvalidOption, Rng
from palestra.kernel.registry import registry
from palestra.records.metrics import measure as measure_record
from palestra.testing.kit import CHECKS, Subject, run_check
from palestra_tasks.algorithms.composing import (
    draw_numbers,
    kernel_of,
    program,
    read_name,
    steps_of,
    structure_of,
)
from palestra_tasks.algorithms.fastcode import FastCode, growth, measure
from palestra_tasks.algorithms.steps import SCANS, STEPS, TOTALS, Step
from palestra_tasks.desk import Finish, Program

SIZES = ("small", "medium", "large")
SPLITS = registry().environment("tasks/FastCode-v0").splits
Numbers = list[int]


def solver(code: str) -> Callable[[Numbers], Any]:
    """The function that a program of ours defines."""
    names: dict[str, Any] = {}
    exec(code, names)
    found: Callable[[Numbers], Any] = names["solve"]
    return found


def drop(line: str, v: Any) -> Any:
    """A filter, by numpy."""
    if "multiples of 3" in line:
        return v[v % 3 != 0]
    if "less than half" in line:
        return v[np.concatenate([[True], 2 * v[1:] >= v[:-1]])[: len(v)]]
    if "remainder by 4" in line:
        return v[np.mod(v, 4) != 1]
    assert "last digit is below 3" in line
    return np.array([x for x in v.tolist() if str(x)[-1] not in "012"], dtype=int)


def changed(line: str, v: Any) -> Any:
    """A map, by numpy."""
    m = len(v) // 2 + int(re.findall(r"plus (\d+)\.", line)[0])
    places = np.arange(len(v))
    new = {
        "Replace each value by its remainder": v,
        "Multiply each value by its place": v * places,
        "Replace each value by its distance": np.abs(v - np.roll(v, 1)),
        "Square each value": v**2,
        "Add to each value": v + np.roll(v, 1),
        "Take the exclusive or": np.bitwise_xor(v, places),
    }
    return next(value for words, value in new.items() if line.startswith(words)) % m


def looked_at(line: str, v: Any) -> Any:
    """Which places (columns) each place (rows) looks at: a matrix of truth values."""
    i, j = np.indices((len(v), len(v)))
    w = len(v) // 4
    if "modulo n" in line:
        end = v[i] % len(v) if len(v) else i
        return (np.minimum(i, end) <= j) & (j <= np.maximum(i, end))
    if "places before it" in line:
        return (i - w <= j) & (j <= i)
    if "places after it" in line:
        return (i <= j) & (j <= i + w)
    return {"earlier": j < i, "later": j > i}.get(
        next(iter(re.findall("earlier|later", line)), ""), np.full(i.shape, True)
    )


def related(line: str, v: Any) -> Any:
    """Which places stand in the relation that a line names."""
    own, other = v[:, None], v[None, :]
    k = int((re.findall(r"(?:by|of|most) (\d+)", line) or ["0"])[0])
    cases = {
        "the same value": lambda: own == other,
        "the same remainder": lambda: own % k == other % k,
        "is half of n": lambda: own + other == len(v) // 2,
        "larger by": lambda: other - own == k,
        "a multiple of": lambda: (own + other) % k == 0,
        "a smaller value": lambda: other < own,
        "a larger value": lambda: other > own,
        "at most": lambda: abs(own - other) <= k,
    }
    found = next((case() for words, case in cases.items() if words in line), None)
    return np.full((len(v), len(v)), True) if found is None else found


def folded(line: str, values: Numbers, gaps: Numbers, own: int) -> int:
    """What a place gets of the values that it looks at, at some distances."""
    for words, fold in {
        "the number of odd values": lambda: sum(x % 2 for x in values),
        "the number of": lambda: len(values),
        "the distance to the nearest": lambda: min(gaps, default=0),
        "the distance to the furthest": lambda: max(gaps, default=0),
        "the sum of the distances": lambda: sum(gaps),
        "the sum of the differences": lambda: sum(abs(x - own) for x in values),
        "the sum of the values": lambda: sum(values),
        "the largest": lambda: max(values, default=0),
        "the smallest": lambda: min(values, default=0),
    }.items():
        if line.startswith(f"Give each place {words}"):
            return fold()
    raise AssertionError(line)


def scanned(line: str, v: Any) -> Any:
    """A scan, from a matrix of the places that are looked at."""
    mask = looked_at(line, v) & related(line, v)
    new = []
    for i, row in enumerate(mask):
        places = np.flatnonzero(row)
        gaps = np.abs(places - i).tolist()
        new.append(folded(line, v[places].tolist(), gaps, int(v[i])))
    return np.array(new, dtype=int)


def fits(line: str, part: Numbers, n: int) -> bool:
    """Whether a stretch is one of those that a line names."""
    k = int((re.findall(r"(?:of|most) (\d+)", line) or ["0"])[0])
    odd = sum(x % 2 for x in part)
    cases = {
        "whose sum is a multiple": lambda: sum(part) % k == 0,
        "as many odd as even": lambda: 2 * odd == len(part),
        "whose number of odd": lambda: odd % k == 0,
        "without a value twice": lambda: len(set(part)) == len(part),
        "with a sum of at most n": lambda: sum(part) <= n,
        "whose largest and smallest": lambda: max(part) - min(part) <= n // 4,
        "different values": lambda: len(set(part)) <= k,
    }
    return next(case() for words, case in cases.items() if words in line)


def of_stretches(line: str, v: Numbers) -> int:
    """A total over stretches, by listing all of them."""
    parts = [v[i:j] for i, j in combinations(range(len(v) + 1), 2)]
    if "over all stretches" in line:
        pick = max if "largest" in line else min
        return sum(map(pick, parts))
    lengths = [len(part) for part in parts if fits(line, part, len(v))]
    if "the number of stretches" in line:
        return len(lengths)
    return sum(lengths) if "the sum of the lengths" in line else max(lengths, default=0)


def of_choices(line: str, v: Numbers) -> int:
    """A total over values that are chosen in their order, by listing all choices."""
    best = 0
    for size in range(1, len(v) + 1):
        for places in combinations(range(len(v)), size):
            chosen = [v[p] for p in places]
            steps = np.diff(places if "apart" in line else chosen)
            least = int((re.findall(r"all (\d+) or more", line) or ["0"])[0])
            least = 1 if line.endswith("are rising.") else least
            if (steps >= least).all():
                best = max(best, len(chosen) if "the most values" in line else sum(chosen))
    return best


def by_enumeration(task: str, numbers: Numbers) -> int:
    """The result of a task from its words."""
    v = np.array(numbers, dtype=int)
    for line in re.findall(r"^\d+\. (.*)$", task, re.MULTILINE):
        if line.startswith("Drop"):
            v = drop(line, v)
        elif " by m, where m " in line:
            v = changed(line, v)
        elif line.startswith("Give"):
            v = scanned(line, v)
        else:
            return (of_stretches if "stretch" in line else of_choices)(line, v.tolist())
    raise AssertionError(task)


@pytest.mark.parametrize("step", [*SCANS, *TOTALS], ids=lambda step: step.name)
def test_both_programs_of_a_step_do_what_its_words_say(step: Step) -> None:
    rng = Rng.seeded(len(step.says))
    last = "" if step.kind == "total" else "/stretch-divisible-lengths:7"
    for length in (0, 1, 2, 3, 7, 11, 12):
        name = f"shifted:{rng.between(2, 9)}/{step.name}:{rng.between(2, 9)}{last}"
        numbers = draw_numbers(rng, length)
        kernel = kernel_of(name)
        wanted = by_enumeration(kernel.task, numbers)
        assert solver(kernel.slow)(numbers) == wanted, (length, kernel.slow)
        assert solver(kernel.better)(numbers) == wanted, (length, kernel.better)


def names_of(split: str, seeds: int) -> list[str]:
    game = FastCode(**SPLITS[split])
    return [game.initial_state(seed).kernel for seed in range(seeds)]


@pytest.mark.parametrize("held", ["", "held-out-"])
@pytest.mark.parametrize("size", SIZES)
def test_a_composed_function_does_what_its_task_says(size: str, held: str) -> None:
    rng = Rng.seeded(3)
    for name in names_of(held + size, 25):
        kernel = kernel_of(name)
        numbers = draw_numbers(rng, rng.between(6, 12))
        wanted = by_enumeration(kernel.task, numbers)
        assert solver(kernel.slow)(numbers) == solver(kernel.better)(numbers) == wanted, name
        longer = draw_numbers(rng, 70)
        assert solver(kernel.slow)(longer) == solver(kernel.better)(longer), name
        assert kernel_of(read_name(kernel.task)).better == kernel.better


@pytest.mark.parametrize(("size", "least"), [("small", 900), ("medium", 990), ("large", 990)])
@pytest.mark.parametrize("held", ["", "held-out-"])
def test_hardly_two_functions_of_a_split_are_alike(size: str, least: int, held: str) -> None:
    assert len({structure_of(name) for name in names_of(held + size, 1000)}) >= least


def test_held_out_scans_and_totals_are_in_no_other_split() -> None:
    found = []
    for held in ("", "held-out-"):
        names = [name for size in SIZES for name in names_of(held + size, 300)]
        found.append({s.name for n in names for s, _ in steps_of(n) if s.technique})
    assert not found[0] & found[1]
    assert found[0] | found[1] == {step.name for step in (*SCANS, *TOTALS)}


@pytest.mark.parametrize("split", ["large", "held-out-large"])
def test_lines_of_the_slow_program_grow_faster(split: str) -> None:
    for name in names_of(split, 6):
        rates = [
            growth(measure(code, name, 160))
            for code in (kernel_of(name).slow, kernel_of(name).better)
        ]
        assert rates[0] is not None
        assert rates[1] is not None
        assert rates[0] > 1.6 > 1.3 > rates[1], name


PARTS = "thirds:4/remainder:5/window-earlier-sum:2/square:3/stretch-different-count:4"
LEFT = """
    values.reverse()
    w = len(values) // 4
    values = [sum(values[i : i + w + 1]) for i in range(len(values))]
    values.reverse()
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["a slow step", "built-ins"])
def test_a_function_with_a_step_of_the_slow_work_is_not_paid(how: str) -> None:
    code = program(PARTS, lambda step: step.kind == "total")
    if how == "built-ins":
        before, rest = code.split("    new = []\n", 1)
        code = before + LEFT.strip("\n") + "\n" + rest.split("    values = new\n", 1)[1]
    numbers = draw_numbers(Rng.seeded(5), 60)
    assert solver(code)(numbers) == solver(kernel_of(PARTS).slow)(numbers)
    game = FastCode(kernel="composed", size=60)
    assert game.speed_up(PARTS, kernel_of(PARTS).better, 5)[1] == ""
    assert "on a large argument" in game.speed_up(PARTS, code, 5)[1]


def test_the_expert_reads_the_task_and_is_paid_for_each_function() -> None:
    options = {**SPLITS["held-out-small"], "functions": 2, "turns": 8}
    (record,) = palestra.play("tasks/FastCode-v0", agents="fastcode-expert", seed=4, **options)
    assert record.outcome is not None
    assert record.outcome.scores[0] > 0.7
    assert measure_record(record)["expert-share"] == 1


def first_seed(techniques: set[str]) -> int:
    """The first seed of the split `small` whose function needs exactly these techniques."""
    names = enumerate(names_of("small", 400))
    found = ((seed, {step.technique for step, _ in steps_of(name)}) for seed, name in names)
    return next(seed for seed, needed in found if needed - {""} == techniques)


@pytest.mark.parametrize(
    ("agent", "techniques", "paid"),
    [
        ("fastcode-hashing", {"hashing"}, True),
        ("fastcode-hashing", {"hashing", "sorting"}, False),
        ("fastcode-textbook", {"hashing", "sorting"}, True),
    ],
)
def test_who_knows_one_trick_is_paid_where_it_suits_all_steps(
    agent: str, techniques: set[str], paid: bool
) -> None:
    player: Any = palestra.make_agent(agent)
    episode = palestra.Episode(FastCode(**SPLITS["small"]), first_seed(techniques))
    while not episode.over:
        episode.act({0: player.choose(palestra.Turn(episode, 0))})
    assert len(episode.log) == 3, "a start, a program and Finish"
    assert (episode.returns[0] > 0) == paid


def test_the_position_shows_no_better_line() -> None:
    for name in names_of("large", 30):
        game = FastCode(kernel="composed", scans=3)
        state = game.initial_state(0)
        state.kernel = name
        shown = game.describe(state, 0)
        assert kernel_of(name).slow.strip() in shown
        for line in ("bisect", "deque", "accumulate", "seen.get", "stack"):
            assert line not in shown


def test_several_composed_functions_differ_and_those_to_come_are_drawn_anew() -> None:
    game = FastCode(**SPLITS["lessons"])
    state = game.initial_state(6)
    assert len({state.kernel, *state.coming}) == 4
    copies = [game.determinize(state, 0, Rng(n)) for n in range(8)]
    assert {copy.kernel for copy in copies} == {state.kernel}
    assert len({copy.coming for copy in copies}) == 8


def test_a_wrong_composed_program_is_never_paid() -> None:
    episode = palestra.Episode(FastCode(**SPLITS["small"]), 1)
    episode.act({0: Program("def solve(numbers):\n    return 0\n")})
    assert "Not right" in episode.log[-1][0].text
    episode.act({0: Finish()})
    assert episode.returns[0] == 0


@pytest.mark.parametrize("options", [{"scans": 3}, {"pool": "rare", "kernel": "pairs"}])
def test_options_of_composed_functions_are_refused_elsewhere(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="kernel='composed'"):
        palestra.game("tasks/FastCode-v0", **options)


def test_no_two_steps_say_the_same() -> None:
    assert len({step.says for step in STEPS.values()}) == len(STEPS)


@pytest.mark.parametrize("check", sorted(CHECKS))
def test_composed_functions_pass_the_conformance_tests(check: str) -> None:
    options = {"kernel": "composed", "pool": "rare", "scans": 1, "size": 30, "turns": 4}
    verdict = run_check(Subject(registry().environment("tasks/FastCode-v0"), options), check)
    assert verdict.status != "failed", verdict.detail
