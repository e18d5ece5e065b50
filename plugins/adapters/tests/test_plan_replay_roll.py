"""When to plan, replay of promising steps, and roll-outs of candidates."""

from __future__ import annotations

from collections import Counter
from typing import Any

import palestra
import pytest
from adapter_worlds import Free, Trail, last, trail
from palestra import EpisodeRecord, InvalidOption, Rng
from palestra.agents.models import Request
from palestra.testing import ScriptedModel
from palestra_adapters.adapter import Plain
from palestra_adapters.memory.swe_replay import Past, SweReplay, TrialStep, prefix
from palestra_adapters.planner import WhenToPlan, plan_costs, priced_return
from palestra_adapters.search.maxs import Maxs, candidate_score
from palestra_adapters.search.spots import Spot

# When to plan: rooms, in whose second half the plan of the first half is wrong


def corridor() -> Trail:
    """Six rooms; in the first three `red` pays, in the others `blue`."""
    edges: dict[str, dict[str, float]] = {}
    for i in range(6):
        good = "red" if i < 3 else "blue"
        edges[_room(i)] = {_room(i + 1, c): float(c == good) for c in ("red", "blue")}
        if i:
            edges[_room(i, "red")] = edges[_room(i, "blue")] = edges.pop(_room(i))
    return trail(edges, start=_room(0), top=6.0)


def _room(i: int, colour: str = "") -> str:
    return f"{'cold' if i < 3 else 'warm'}-{i}{f'-{colour}' if colour else ''}"


def planful(request: Request) -> str:
    """Plans the colour of the present rooms where it may, and follows the plan that it has."""
    text = last(request)
    warm = "You are at warm" in text
    plan = "blue" if warm else "red"
    held = (
        text.partition("Your plan: ")[2].splitlines()[0].strip('"') if "Your plan: " in text else ""
    )
    must, may = "Write a new plan" in text, "If a new plan" in text
    written = must or (may and held != plan)
    colour = plan if written else held or "blue"
    here = int(text.partition("You are at ")[2].split("-")[1][0])
    move = f"Action: Go(to='{_room(here + 1, colour)}')"
    return f"<plan>{plan}</plan>\n{move}" if written else move


def walk(**options: Any) -> EpisodeRecord:
    agent = WhenToPlan(model=Free(planful), **options)
    return palestra.play(corridor(), agents=[agent])[0]


def test_planning_when_it_is_worth_it_beats_always_and_never() -> None:
    """The paper's ordering under a price for tokens of plans, and what each costs."""
    free, always, never = walk(), walk(every=1), walk(every=-1)
    assert (free.returns, always.returns, never.returns) == ((6.0,), (6.0,), (3.0,))
    costs = [plan_costs([record]) for record in (free, always, never)]
    assert [cost.rate for cost in costs] == [2 / 6, 1.0, 0.0]
    worth = [priced_return(record, price=0.2) for record in (free, always, never)]
    assert worth[0] > worth[1] > worth[2] - 3.0
    assert worth[0] == max(worth)
    assert plan_costs([never]).plan_tokens == 0
    assert priced_return(free, price=0.0) == 6.0


def test_a_plan_stays_until_it_is_replaced_and_only_the_current_one_is_shown() -> None:
    model = Free(planful)
    palestra.play(corridor(), agents=[WhenToPlan(model=model)])
    shown = [
        last(request).partition('Your plan: "')[2].partition('"')[0] for request in model.requests
    ]
    assert shown == ["", "red", "red", "red", "blue", "blue"]
    assert "You have no plan." in last(model.requests[0])
    for request in model.requests:  # past plans and forms are not repeated
        assert not any("plan" in message.content for message in request.messages[1:-1])


def test_a_fixed_frequency_and_a_plan_from_outside() -> None:
    every = walk(every=3)
    assert [turn.facts["mode"] for turn in every.turns] == ["plan", "act", "act"] * 2
    assert every.returns == (6.0,)
    human = walk(every=-1, human="red")
    assert human.returns == (3.0,)
    assert {turn.facts["plan"] for turn in human.turns} == {"red"}
    stubborn = Free(lambda r: f"<plan>x</plan>\n{planful(r)}")
    record = palestra.play(corridor(), agents=[WhenToPlan(model=stubborn, every=-1)])[0]
    assert all(turn.facts["plan"] == "" for turn in record.turns)
    with pytest.raises(InvalidOption, match="price"):
        priced_return(record, price=-1)


# SWE-Replay


def taken(group: str, words: int, move: str = "m") -> TrialStep:
    return TrialStep(group.encode(), group, move, words)


def test_rare_groups_and_rich_reasoning_are_preferred() -> None:
    rich, poor = taken("common", 9, "rich"), taken("common", 1, "poor")
    past = [Past([poor, taken("x", 0)], 0.0), Past([poor, taken("x", 0)], 0.0)]
    past += [Past([rich, taken("rare", 3), taken("x", 0)], 1.0)]
    drawn = Counter(tuple(t.move for t in prefix(past, Rng.seeded(i))) for i in range(2000))
    # weights by hand: common 1/3, rare 1 -> 1/4 and 3/4; in common the richest step
    assert set(drawn) == {("rich",), ("rich", "m")}
    assert drawn[("rich", "m")] / 2000 == pytest.approx(0.75, abs=0.04)
    broken = [Past([rich, rich], 1.0, sound=False)]
    assert prefix(broken, Rng.seeded(0)) == []


LONG = {f"s{i}": {f"s{i + 1}": 0.0, "pit": 0.0} for i in range(6)} | {
    "s6": {"goal": 1.0, "pit": 0.0}
}


def wanderer(request: Request) -> str:
    """Goes on with probability 2/3, by the request's seed, else falls into the pit."""
    here = int(last(request).partition("You are at s")[2][0])
    on = (request.seed or 0) % 3
    return f"Go(to='{('goal' if here == 6 else f's{here + 1}') if on else 'pit'}')"


def trials(replay: float, n: int, seed: int) -> tuple[list[EpisodeRecord], Free]:
    model = Free(wanderer)
    agent = SweReplay(inner=_plain(model), replay=replay, trials=n)
    found = palestra.rollouts(
        trail(LONG, start="s0", top=1.0), agents=[agent], n=n + 1, seed=seed, live=1
    )
    return found, model


def _plain(model: Free) -> Plain:
    return Plain(model=model, temperature=1.0, max_tokens=16)


def test_replay_finds_more_for_the_calls_it_makes_and_plays_the_best_at_last() -> None:
    solved, calls = {0.0: 0.0, 0.7: 0.0}, {0.0: 0, 0.7: 0}
    for replay in (0.0, 0.7):
        for seed in range(12):
            records, model = trials(replay, 10, seed)
            own = [record.returns[0] for record in records]
            assert own[-1] == max(own)  # the best trial, replayed whole
            assert all(turn.facts.get("replayed") for turn in records[-1].turns)
            assert not records[-1].turns[0].usage.calls
            solved[replay] += max(own)
            calls[replay] += len(model.requests)
    assert solved[0.7] > solved[0.0]
    assert solved[0.7] / calls[0.7] > 1.2 * solved[0.0] / calls[0.0]


# MAXS


def test_the_score_by_hand() -> None:
    # values 0.5, 0.7, 0.6: advantage 0.6 - 0.4; Var 0.02/3; slopes 0.2, -0.1: Var 0.0225
    found = candidate_score(0.4, [0.5, 0.7, 0.6], 0.3, 0.2)
    assert found == pytest.approx(0.2 - 0.3 * 0.02 / 3 - 0.2 * 0.0225)
    assert candidate_score(0.4, [0.5], 0.3, 0.2) == pytest.approx(0.1)


BAIT = {
    "start": {"bait": 0.0, "path": 0.0},
    "bait": {"b2": 0.0},
    "b2": {"b3": 0.0},
    "b3": {"trap": 0.0},
    "path": {"p2": 0.0},
    "p2": {"p3": 0.0},
    "p3": {"gold": 1.0},
}
LOOKS = {"start": 0.5, "bait": 0.9, "b2": 0.7, "b3": 0.3, "path": 0.4, "p2": 0.5, "p3": 0.8}


def looks(spot: Spot) -> float:
    return LOOKS[spot.text.partition("You are at ")[2].split(",")[0]]


def only_move(request: Request) -> str:
    return request.choices[0] if request.choices else ""


def baited(**options: Any) -> EpisodeRecord:
    agent = Maxs(model=ScriptedModel(only_move), scorer=looks, **options)
    return palestra.play(trail(BAIT, top=1.0), agents=[agent])[0]


def test_greedy_takes_the_bait_and_four_moves_ahead_does_not() -> None:
    assert baited(depth=1).returns == (0.0,)
    deep = baited(depth=4)
    assert deep.returns == (1.0,)
    scores = deep.turns[0].facts["candidates"]
    assert scores["Go(to='path')"] == pytest.approx(
        candidate_score(0.5, [0.4, 0.5, 0.8, 1.0], 0.3, 0.2)
    )


def test_rolling_ends_when_the_candidates_agree_without_another_choice() -> None:
    same = {"start": {"a": 0.0, "b": 0.0}, "a": {"a2": 0.0}, "b": {"b2": 0.0}, "a2": {"a3": 0.0}}
    same |= {"b2": {"b3": 0.0}, "a3": {"e": 1.0}, "b3": {"e": 1.0}}
    moves, rolled = [], []
    for agree in (0.01, 0.0):
        agent = Maxs(model=ScriptedModel(only_move), scorer=slightly, agree=agree)
        turn = palestra.play(trail(same, top=1.0), agents=[agent])[0].turns[0]
        moves.append(turn.text)
        rolled.append(turn.facts["rolled"])
    assert moves == ["Go(to='b')"] * 2
    assert rolled == [2, 4]


def slightly(spot: Spot) -> float:
    """The way over b looks a little better."""
    return 0.65 if "You are at b" in spot.text else 0.6


def test_several_seats_are_rolled_with_others_by_name() -> None:
    def first(request: Request) -> str:
        return request.choices[0] if request.choices else "5"

    def moves() -> list[str]:
        agent = Maxs(model=ScriptedModel(first), scorer="playouts", width=9, depth=2)
        (record,) = palestra.play("games/TicTacToe-v0", agents=[agent, "random"])
        assert len(record.turns[0].facts["candidates"]) == 9
        return [turn.text or "" for turn in record.turns]

    assert moves() == moves()
