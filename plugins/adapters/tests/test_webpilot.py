"""WebPilot: subtasks, what each role reads, dual grades, and values as the best below."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import palestra
import pytest
from adapter_worlds import Edges, Free, last, trail
from palestra import Rng
from palestra.agents.models import Request
from palestra_adapters.search.webpilot import WebPilot, read_grade_of, read_plan

AT = re.compile(r"You are at (\S+), step")
PLANNED = "1. Reach the hall: you are at the hall.\n2. Open the chest: it is open."


def role(request: Request) -> str:
    text = last(request)
    signs = {"planner": "You plan for", "controller": "You control", "appraiser": "You appraise"}
    return next((name for name, sign in signs.items() if sign in text), "explorer")


def led_to(text: str) -> str:
    """Where the move that is appraised led."""
    return AT.findall(text.partition("and now it is:")[2])[0]


def options(text: str) -> list[str]:
    return re.findall(r"'([^']+)'", text.partition("you may play: ")[2].splitlines()[0])


def untried(text: str) -> str:
    """The first place that no line of the reflections names as tried."""
    tried = re.findall(r"^- Go\(to='([^']+)'\)", text.partition("tried from here")[2], re.MULTILINE)
    left = [place for place in options(text) if place not in tried]
    return f"Go(to='{(left or options(text))[0]}')"


def pilot(
    value: Callable[[str], tuple[float, float]],
    *,
    plan: Callable[[str], str] = lambda _: "1. Get there.",
    control: Callable[[str], str] = lambda _: "Status: going on\nReflection: go on.",
    explore: Callable[[str], str] = untried,
) -> Callable[[Request], str]:
    def reply(request: Request) -> str:
        text = last(request)
        match role(request):
            case "planner":
                return plan(text)
            case "controller":
                return control(text)
            case "appraiser":
                effect, promise = value(led_to(text))
                at = led_to(text)
                return f"Effect: {effect}\nPromise: {promise}\nReflection: {at} was seen."
        return explore(text)

    return reply


def graph(seed: int, width: int = 3, depth: int = 3) -> tuple[Edges, dict[str, float]]:
    """A tree of places of unequal widths, and grades of its leaves; other places have none."""
    rng = Rng.seeded(seed)
    edges: dict[str, dict[str, float]] = {}
    grades: dict[str, float] = {}
    level = ["start"]
    for _ in range(depth):
        below = []
        for place in level:
            ways = [f"{place}{n}" for n in range(2 + rng.below(width - 1))]
            edges[place] = dict.fromkeys(ways, 0.0)
            below += ways
        level = below
    for place in level:
        edges[place] = {"end1": 0.0, "end2": 0.0}
        grades[place] = float(rng.below(1000)) / 100
    return edges, grades


@pytest.mark.parametrize("seed", range(10))
def test_with_the_whole_tree_seen_it_plays_towards_the_best_leaf(seed: int) -> None:
    """The best leaf and the best below each first move by brute force over all leaves."""
    edges, grades = graph(seed)
    model = Free(pilot(lambda place: (grades.get(place, 0.0),) * 2))
    agent = WebPilot(model=model, expansions=200, width=3, depth=3, c=2.0)
    (record,) = palestra.play(trail(edges), agents=[agent], max_episode_steps=1)
    best = max(grades, key=lambda place: grades[place])
    assert record.turns[0].text == f"Go(to='{best[:6]}')"
    found = record.turns[0].facts["candidates"]
    for first in edges["start"]:
        below = [grade for place, grade in grades.items() if place.startswith(first)]
        assert found[f"Go(to='{first}')"] == pytest.approx(max(below) / 10, abs=0.0051)


@pytest.mark.parametrize(("weight", "goes"), [(0.9, "quick"), (0.1, "deep")])
def test_effect_and_promise_are_weighed(weight: float, goes: str) -> None:
    edges = {"start": {"quick": 0.0, "deep": 0.0}, "quick": {"x": 0.0, "y": 0.0}}
    edges["deep"] = dict(edges["quick"])
    grades = {"quick": (9.0, 1.0), "deep": (2.0, 8.0)}
    model = Free(pilot(lambda place: grades.get(place, (0.0, 0.0))))
    agent = WebPilot(model=model, expansions=2, depth=1, effect=weight)
    (record,) = palestra.play(trail(edges), agents=[agent], max_episode_steps=1)
    assert record.turns[0].text == f"Go(to='{goes}')"
    expected = [weight * e / 10 + (1 - weight) * p / 10 for e, p in grades.values()]
    assert sorted(record.turns[0].facts["candidates"].values()) == pytest.approx(sorted(expected))


HALL = {
    "start": {"hall": 0.0, "yard": 0.0, "shed": 0.0},
    "hall": {"chest": 5.0, "start": 0.0},
    "yard": {"start": 0.0, "shed": 0.0},
    "shed": {"start": 0.0, "yard": 0.0},
}
LOOP = {  # without an end
    "start": {"yard": 0.0, "shed": 0.0},
    "yard": {"start": 0.0, "shed": 0.0},
    "shed": {"start": 0.0, "yard": 0.0},
}


def test_subtasks_are_worked_on_in_order_and_each_role_reads_its_own() -> None:
    def control(text: str) -> str:
        here = AT.findall(text)[-1]
        return f"Status: {'done' if here == 'hall' else 'going on'}\nReflection: at {here}."

    def value(place: str) -> tuple[float, float]:
        return (8.0, 8.0) if place in ("hall", "chest") else (1.0, 2.0)

    model = Free(pilot(value, plan=lambda _: PLANNED, control=control))
    (record,) = palestra.play(trail(HALL), agents=[WebPilot(model=model, expansions=6)])
    assert [turn.text for turn in record.turns] == ["Go(to='hall')", "Go(to='chest')"]
    assert [turn.facts["subtask"] for turn in record.turns] == [1, 2]
    assert [turn.facts["status"] for turn in record.turns] == ["planned", "done"]
    by_role = {
        name: [last(r) for r in model.requests if role(r) == name]
        for name in ("planner", "controller", "appraiser", "explorer")
    }
    assert [len(by_role["planner"]), len(by_role["controller"])] == [1, 1]
    assert "has made these moves for it: Go(to='hall')" in by_role["controller"][0]
    first = [text for text in by_role["appraiser"] if "Reach the hall" in text]
    assert first
    assert len(first) < len(by_role["appraiser"])
    for text in by_role["appraiser"]:
        assert ("Reach the hall" in text) != ("Open the chest" in text)
    for text in by_role["explorer"]:
        assert ("Reach the hall" in text) != ("Open the chest" in text)


def test_the_explorer_reads_what_was_learnt_here_and_beside() -> None:
    model = Free(pilot(lambda place: (6.0, 6.0) if place == "hall" else (3.0, 3.0)))
    palestra.play(trail(HALL), agents=[WebPilot(model=model, expansions=6)], max_episode_steps=1)
    explored = [last(r) for r in model.requests if role(r) == "explorer"]
    assert "Moves tried" not in explored[0]
    assert "Moves tried from here:\n- Go(to='hall'): 6 of 10. \"hall was seen.\"" in explored[1]
    beside = [text for text in explored if AT.findall(text)[-1] == "hall"]
    assert beside
    for text in beside:
        before = text.partition("Moves tried in place of the last one:")[2]
        assert "- Go(to='yard'): 3 of 10. \"yard was seen.\"" in before
        assert "Go(to='hall')" not in before


@pytest.mark.parametrize("tells", [True, False])
def test_a_lesson_from_a_move_beside_changes_what_is_found(*, tells: bool) -> None:
    """The explorer finds the key's door only after reading what happened at the other door."""
    doors = {
        "start": {"locked": 0.0, "open": 0.0, "wall": 0.0},
        "locked": {"start": 0.0, "wall": 0.0},
        "open": {"a-room": 0.0, "key": 10.0, "b-room": 0.0},
        "wall": {"start": 0.0, "locked": 0.0},
    }

    def reply(request: Request) -> str:
        text = last(request)
        if role(request) == "appraiser":
            at = led_to(text)
            grade = {"open": 7, "locked": 6}.get(at, 2)
            said = "it lacks a key" if tells and at == "locked" else "nothing"
            return f"Effect: {grade}\nPromise: {grade}\nReflection: {said}"
        if role(request) == "explorer" and AT.findall(text)[-1] == "open":
            return "Go(to='key')" if "it lacks a key" in text else "Go(to='a-room')"
        return pilot(lambda _: (0.0, 0.0))(request)

    agent = WebPilot(model=Free(reply), expansions=3, width=2, depth=2, c=0.1)
    (record,) = palestra.play(trail(doors), agents=[agent], max_episode_steps=1)
    found = record.turns[0].facts["candidates"]
    assert found == {"Go(to='locked')": 0.6, "Go(to='open')": 1.0 if tells else 0.0}
    assert record.turns[0].text == f"Go(to='{'open' if tells else 'locked'}')"


def test_what_fails_is_planned_again_with_the_reflection() -> None:
    plans = itertools.count()

    def plan(text: str) -> str:
        return f"- part {next(plans)}" if "went wrong" in text else "1. the shed\n2. the yard"

    def control(text: str) -> str:
        number = int(re.findall(r"works on subtask (\d+)", text)[0])
        return (
            "Status: done\nReflection: fine"
            if number == 1
            else "Status: failed\nReflection: the yard is empty"
        )

    model = Free(pilot(lambda _: (5.0, 5.0), plan=plan, control=control))
    agent = WebPilot(model=model, expansions=2)
    (record,) = palestra.play(trail(LOOP), agents=[agent], max_episode_steps=4)
    facts = [turn.facts for turn in record.turns]
    assert [one["status"] for one in facts] == ["planned", "done", "failed", "failed"]
    assert facts[1]["plan"] == ["the shed", "the yard"]
    assert facts[2]["plan"] == ["the shed", "part 0"]
    planners = [last(r) for r in model.requests if role(r) == "planner"]
    assert 'What is done:\n- "the shed"' in planners[1]
    assert 'What went wrong:\n- "the yard: the yard is empty"' in planners[1]


def test_patience_ends_a_subtask_that_never_gets_done() -> None:
    model = Free(pilot(lambda place: (9.0, 9.0) if place in ("yard", "shed") else (0.0, 0.0)))
    agent = WebPilot(model=model, expansions=6, patience=2)
    (record,) = palestra.play(trail(LOOP), agents=[agent], max_episode_steps=5)
    found = [turn.facts["status"] for turn in record.turns]
    assert found == ["planned", "going on", "failed", "going on", "failed"]


def test_each_seat_has_a_plan_and_no_hidden_card_is_read() -> None:
    """The other seat's card is drawn anew in every search, and wrong in some."""
    guesses = []
    for seed in range(12):
        model = Free(lambda request: "1. win" if role(request) == "planner" else "bet")
        agent = WebPilot(model=model, expansions=2)
        (record,) = palestra.play("games/KuhnPoker-v0", agents=[agent, agent], seed=seed)
        dealt = re.findall(r"dealt the (\w+)", " ".join(e.text for e in record.events))
        planners = [last(r) for r in model.requests if role(r) == "planner"]
        assert len(planners) == len({turn.seat for turn in record.turns})
        for text in planners:
            assert len(set(re.findall("jack|queen|king", text))) == 1
        first = itertools.takewhile(lambda r: "You are dealt" not in last(r), model.requests[1:])
        shown = [re.findall(r"player_(\d) and hold the (\w+)", last(r)) for r in first]
        held = {(int(seat), card) for pairs in shown for seat, card in pairs}
        assert {card for seat, card in held if seat == 0} == {dealt[0]}
        guesses += [card == dealt[1] for seat, card in held if seat == 1]
    assert len(set(guesses)) == 2


def test_plans_and_grades_are_read_in_many_forms() -> None:
    assert read_plan("Here:\n1) a\n 2. b\n**3.** c", 5) == ["a", "b", "c"]
    assert read_plan("Subtask 1: go\nSubtask 2: stay", 1) == ["go"]
    assert read_plan("first\n\nthen", 5) == ["first", "then"]
    assert read_plan("", 5) == ["Reach the goal."]
    assert read_grade_of("Effect", "**Effect:** 7/10\nPromise: 3") == 7.0
    assert read_grade_of("Promise", "Effect: 7\n- Promise - 3.5") == 3.5
    assert read_grade_of("Promise", "Promise: 99") == 10.0
    assert read_grade_of("Promise", "none") == 5.0
