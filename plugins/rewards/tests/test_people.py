"""Credit by person: a game may put a new person at a seat."""

from __future__ import annotations

import zlib
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec
import numpy as np
import palestra
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import EpisodeRecord, UnknownName
from palestra.records.record import EventRecord, OutcomeRecord, StepRecord, TurnRecord
from palestra_rewards import Group, entries, estimate, shape
from palestra_rewards.crediting import TurnCredit
from palestra_rewards.facts import nest_records, of_person
from palestra_rewards.people import people_of
from palestra_rewards.producers import RUNS
from palestra_rewards.reading import turn_rewards
from reward_rollouts import drawn

NEWCOMER = EventRecord("newcomer", "Somebody new sits at seat 1.", {"players": [1]}, None)


def turn(seat: int, life: int = 0) -> TurnRecord:
    return TurnRecord(seat, 0, text=f"{seat}/{life}", life=life, state_key=f"{seat}{life}")


def relay(paid: tuple[tuple[float, float], ...], number: int = 0) -> EpisodeRecord:
    """Two seats decide together in three steps; after the first, a new person is at seat 1."""
    steps = [
        StepRecord(
            [turn(0), turn(1, int(place > 0))],
            rewards={0: {"points": mine}, 1: {"points": theirs}},
            events=[NEWCOMER] * (place == 0),
            facts={"progress": [0.25 * (place + 1), 0.5 / (place + 1)]},
        )
        for place, (mine, theirs) in enumerate(paid)
    ]
    totals = tuple(float(sum(column)) for column in zip(*paid, strict=True))
    return EpisodeRecord(
        "relay",
        7,
        ("left", "right"),
        ("a", "b"),
        steps=steps,
        outcome=OutcomeRecord(("score", "score"), (totals[0], totals[1])),
        returns=totals,
        number=number,
        group="one",
        facts={"progress": [0.0, 0.0]},
    )


ONE, TWO = relay(((1, 10), (2, 3), (3, 4))), relay(((5, 20), (0, 1), (0, 2)), 1)


def test_a_seats_pay_is_that_of_who_sat_there() -> None:
    found = [(p.seat, p.life, p.turns.tolist(), p.paid, p.left) for p in people_of(ONE)]
    assert found == [(0, 0, [0, 2, 4], 6, None), (1, 0, [1], 10, 0), (1, 1, [3, 5], 7, None)]


def test_lines_are_people_and_are_compared_with_who_sat_there_in_their_turn() -> None:
    group = Group.of([ONE, TWO])
    assert group.returns.tolist() == [6, 10, 7, 5, 20, 3]
    assert group.life.tolist() == [0, 0, 0, 1, 0, 1] * 2
    assert group.to_go().tolist() == [6, 10, 5, 7, 3, 4, 5, 20, 0, 3, 0, 2]
    assert estimate("rloo", group).values.tolist() == [1, -10, 1, 4, 1, 4, -1, 10, -1, -4, -1, -4]
    assert group.peer_names[2].endswith("seat 1 person 1 b")
    assert group.team_returns.tolist() == [(6 + 17) / 2, (5 + 23) / 2]


def test_what_comes_before_a_newcomers_first_turn_is_not_paid_to_who_left() -> None:
    late = relay(((1, 10), (2, 3), (3, 4)))
    late.steps[1].turns.pop()  # the newcomer decides in the last step only
    assert turn_rewards(late).tolist() == [1, 10, 2, 3, 4]
    assert [person.paid for person in people_of(late)] == [6, 10, 7]


def test_facts_and_success_are_those_until_a_person_left() -> None:
    first, second = people_of(ONE)[1:]
    assert of_person(ONE, "progress", first) == 0.5
    assert of_person(ONE, "progress", second) == pytest.approx(0.5 / 3)
    group = Group.of([ONE])
    assert group.success is not None
    assert group.success.tolist() == pytest.approx([0.75, 0.5, 0.5 / 3])
    assert list(group.facts["progress"]) == pytest.approx([0.75, 0.5, 0.5 / 3])


def test_shapers_pay_people_apart() -> None:
    graded = shape("spa-rl", ONE, scores=lambda record: [0.0] * 6, valid=0.0)
    assert graded.tolist() == [2, 10, 2, 3.5, 2, 3.5]  # each outcome over the person's own turns
    near = shape("recourse", ONE, expert=["x"] * 6, near=1.0)
    assert near.tolist() == [0, 10, 0, 0, 6, 7]


def test_a_new_person_is_nobodys_team_mate_to_compare_with() -> None:
    with pytest.raises(UnknownName):
        Group.of([ONE]).only(agents=["c"])
    kept = Group.of([ONE, TWO]).only(seats=[1])
    assert kept.returns.tolist() == [10, 7, 20, 3]
    assert kept.life.tolist() == [0, 1, 1, 0, 1, 1]


def bumpy(game: Any, state: Any, seat: int) -> float:
    """A potential without any rhyme."""
    told = f"{state.points}{state.generation}{state.done}{seat}"
    return 1 + (zlib.crc32(told.encode()) % 97) / 10


@cache
def village(rewards: str = "env") -> list[EpisodeRecord]:
    return palestra.rollouts(
        "games/Norms-v0", agents="random", seed=1, n=2, rewards=[rewards], gamma=0.9
    )


def test_people_of_a_real_village_share_the_pay_of_their_seats() -> None:
    for record in village():
        people = people_of(record)
        assert max(person.life for person in people) >= 2
        for seat, total in enumerate(record.returns):
            assert sum(p.paid for p in people if p.seat == seat) == pytest.approx(total)
        for person in people:
            steps = np.array([n for n, step in enumerate(record.steps) for _ in step.turns])
            held = range(int(steps[person.turns[0]]), 1 + int(steps[person.turns[-1]]))
            earned = sum(sum(record.steps[n].rewards.get(person.seat, {}).values()) for n in held)
            assert person.paid == pytest.approx(earned)  # everybody in the village decides at once


def test_potential_terms_of_each_person_sum_to_minus_their_first_potential() -> None:
    for record in village(f"potential:of={__name__}:bumpy"):
        paid = turn_rewards(record)
        first = [
            [bumpy(episode.game, episode.state, seat) for seat in range(len(record.players))]
            for episode in palestra.retrace(record)
        ]
        steps = [n for n, step in enumerate(record.steps) for _ in step.turns]
        for person in people_of(record):
            discounted = sum(0.9**n * paid[place] for n, place in enumerate(person.turns))
            assert discounted == pytest.approx(-first[steps[person.turns[0]]][person.seat])


def test_turns_of_workers_are_credited_with_their_planner_without_being_split() -> None:
    (run,) = [run for run in RUNS if run.entry == "matpo"]
    whole = replace(run, prepare=list).play()
    assert [turn.facts.get("worker") for turn in whole[0].turns].count(None) < len(whole[0].turns)
    found = TurnCredit("matpo").credit(whole, {record.agents[0] for record in whole})
    assert [set(one.values()) for one in found] == [{1.0}, {-1.0}]
    assert [len(one) for one in found] == [len(record.turns) for record in whole]
    inside = dict(
        zip([r.tags["id"] for r in nest_records(whole) if not r.parent], found, strict=True)
    )
    for part, value in zip(
        nest_records(whole), by_episode("matpo", nest_records(whole)), strict=True
    ):
        assert set(value.tolist()) == set(inside[part.parent or part.tags["id"]].values())


def test_workers_have_a_role_of_their_own() -> None:
    (run,) = [run for run in RUNS if run.entry == "matpo"]
    record, _ = replace(run, prepare=list).play()
    group = Group.of([record])
    said = [group.roles[role] for role in group.role]
    name = record.facts["roles"][0]
    assert said == [f"{name} worker" if "worker" in t.facts else name for t in record.turns]
    pair = Group.of([record, msgspec.structs.replace(record, returns=(5.0,))])
    kept = estimate("flow-grpo", pair, planners=[name]).per_episode()
    assert kept[1].tolist() == [0.0 if "worker" in t.facts else 1.0 for t in record.turns]


def by_episode(names: str, records: list[EpisodeRecord]) -> list[np.ndarray[Any, Any]]:
    return estimate(names, Group.of(records, compare_by=("seat",))).per_episode()


OF_SEATS = {"shapley", "counterfactual", "dylan", "comam", "at-grpo", "qlass", "segment-chain"}
ANY = sorted({entry.name for entry in entries("group")} - OF_SEATS)


@pytest.mark.parametrize("name", ANY)
@settings(max_examples=8)
@given(seed=st.integers(0, 10_000))
def test_two_people_at_a_seat_are_credited_as_if_each_had_one(name: str, seed: int) -> None:
    """Four seats, and the same turns as two seats at which a second person followed the first."""
    known: dict[str, dict[str, Any]] = {
        "archer": {"critic": "table"},
        "turn-critic": {"critic": "table"},
        "arena": {"judge": lambda i, j: 0.5 + 0.01 * (i - j)},
    }
    given_options = known.get(name, {})
    apart = drawn(seed, seats=4)
    columns = {
        column: getattr(apart, column)
        for column in ("episode", "turn", "rewards", "task", "truncated", "success", "parent")
    }
    columns |= {column: getattr(apart, column) for column in ("state", "action", "logprob")}
    columns |= {column: getattr(apart, column) for column in ("tokens", "seconds", "cost")}
    columns |= {"role": apart.seat, "facts": apart.facts}
    four = Group.from_arrays(seat=apart.seat, **columns)
    two = Group.from_arrays(seat=apart.seat // 2, life=apart.seat % 2, **columns)
    assert two.lines == four.lines
    np.testing.assert_allclose(
        estimate(name, two, **given_options).values,
        estimate(name, four, **given_options).values,
        atol=1e-9,
    )


def test_a_teams_worth_counts_all_people_at_a_seat() -> None:
    """Seat 1 earns 2 and then 3, as much as seat 0: a common payoff of 5."""
    columns: dict[str, Any] = {
        "episode": [0, 1, 1, 2, 2, 2],
        "seat": [0, 1, 1, 0, 1, 1],
        "life": [0, 0, 1, 0, 0, 1],
        "rewards": [1.0, 2.0, 0.0, 5.0, 2.0, 3.0],
        "facts": {"coalition": [[0], [1], [0, 1]]},
    }
    found = estimate("shapley", Group.from_arrays(**columns)).values
    # worths: {} 0, {0} 1, {1} 2, both 5: (1 + 3) / 2 and (2 + 4) / 2
    assert found.tolist() == [2.0, 3.0, 3.0, 2.0, 3.0, 3.0]


def test_weights_of_diverse_discounts_start_anew_with_each_person() -> None:
    named = "diverse-discounts:gammas=norm=0.9+temptation=0.5,gamma=0.9"
    for record, plain in zip(village(named), village(), strict=True):
        wanted = shape(
            "time-preferences", plain, gammas={"norm": 0.9, "temptation": 0.5}, gamma=0.9
        )
        np.testing.assert_allclose(turn_rewards(record), wanted, atol=1e-9)
    assert any(p.life for record in village() for p in people_of(record))
