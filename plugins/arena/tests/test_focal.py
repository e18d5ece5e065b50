"""Focal diversity by hand, by brute force, and on pools whose agents fail together unequally."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import palestra
import pytest
from hypothesis import given
from hypothesis import strategies as st
from palestra import InvalidOption, UnknownName
from palestra_arena import Settings, run_tournament
from palestra_arena.cost import (
    at_least,
    attempts_from,
    choose_team,
    failures_of,
    focal_diversity,
    majority,
)
from scipy.stats import norm

TICTACTOE = "games/TicTacToe-v0"
Table = list[list[bool]]


def counted(table: Sequence[Sequence[bool]]) -> Fraction:
    """The published formula with counts: shares of the focal member's cases on which i fail."""
    size, found = len(table[0]), []
    for focal in range(size):
        cases = [sum(row) for row in table if row[focal]]
        if cases:
            share = {i: Fraction(cases.count(i), len(cases)) for i in range(1, size + 1)}
            one = sum(Fraction(i, size) * p for i, p in share.items())
            two = sum(Fraction(i * (i - 1), size * (size - 1)) * p for i, p in share.items())
            found.append(1 - two / one)
    return sum(found, Fraction(0)) / len(found) if found else Fraction(1)


def drawn_pairs(table: Sequence[Sequence[bool]]) -> float:
    """The same without a formula: every draw of one member, and every ordered draw of two."""
    members, found = range(len(table[0])), []
    for focal in members:
        cases = [row for row in table if row[focal]]
        if cases:
            one = np.mean([row[a] for row in cases for a in members])
            two = np.mean(
                [row[a] and row[b] for row in cases for a in members for b in members if a != b]
            )
            found.append(1 - two / one)
    return float(np.mean(found)) if found else 1.0


@pytest.mark.parametrize(
    ("table", "value"),
    [
        ([[1, 1, 1], [0, 0, 0], [1, 1, 1]], 0.0),  # they fail together
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], 1.0),  # no two fail on one case
        ([[0, 0], [0, 0]], 1.0),  # nobody fails
        # two members: A fails alone and with B, so P(1) = 3/4, P(2) = 1/2; B always with A: 0
        ([[1, 0], [1, 1]], (1 - (1 / 2) / (3 / 4)) / 2),
        # C never fails; A and B always together: P(1) = 2/3, P(2) = 1/3 for both
        ([[1, 1, 0], [0, 0, 0]], 1 / 2),
        # A: cases of 1, 2, 3 failures: P(1) = 2/3, P(2) = 4/9; B: 2, 3: 5/6, 2/3; C: 3: 1, 1
        ([[1, 0, 0], [1, 1, 0], [1, 1, 1]], (1 / 3 + 1 / 5 + 0) / 3),
    ],
)
def test_focal_diversity_by_hand(table: list[list[int]], value: float) -> None:
    assert focal_diversity(table) == pytest.approx(value)
    assert float(counted([[bool(x) for x in row] for row in table])) == pytest.approx(value)


@given(
    st.integers(2, 6).flatmap(
        lambda size: st.lists(
            st.lists(st.booleans(), min_size=size, max_size=size), min_size=1, max_size=30
        )
    )
)
def test_focal_diversity_is_what_counting_gives(table: Table) -> None:
    found = focal_diversity(table)
    assert found == pytest.approx(float(counted(table)), abs=1e-12)
    assert found == pytest.approx(drawn_pairs(table), abs=1e-12)
    assert -1e-12 <= found <= 1 + 1e-12
    assert focal_diversity([row[::-1] for row in table]) == pytest.approx(found)


def test_independent_members_have_the_closed_form() -> None:
    """On a focal failure the others fail with chance p: P(1) = (1 + (M-1)p)/M, and so on."""
    rng = np.random.default_rng(1)
    for size, p in ((2, 0.3), (5, 0.1), (7, 0.6)):
        table = rng.random((200_000, size)) < p
        rest = size - 1
        one = (1 + rest * p) / size
        two = (2 * rest * p + rest * (rest - 1) * p * p) / (size * rest)
        assert focal_diversity(table) == pytest.approx(1 - two / one, abs=0.005)


def test_the_majority_is_right_where_more_than_half_are() -> None:
    assert majority([[1, 0, 0], [1, 1, 0], [0, 0, 0]]).tolist() == [1.0, 0.0, 1.0]
    assert majority([[1, 0], [1, 1], [1, 1]]).tolist() == [0.5, 0.0, 0.0]
    for size in (3, 6, 10):
        rows = list(itertools.product([0, 1], repeat=size))
        expected = [(np.sign(size - 2 * sum(row)) + 1) / 2 for row in rows]
        assert majority(rows).tolist() == expected


@pytest.mark.parametrize(
    ("table", "error"),
    [
        ([[True], [False]], "two members or more, not 1"),
        ([], "must be"),
        ([True, False], "must be"),
        ([[0.5, 1.0]], "true or false"),
    ],
)
def test_failures_that_are_no_table_are_refused(table: object, error: str) -> None:
    with pytest.raises(InvalidOption, match=error):
        focal_diversity(table)  # type: ignore[arg-type]


# The choice of a team

POOL = {  # rate of failure, and how it hangs together with two common causes
    "twin-1": (0.36, (0.97, 0.0)),
    "twin-2": (0.36, (0.97, 0.0)),
    "twin-3": (0.37, (0.97, 0.0)),
    "twin-4": (0.37, (0.97, 0.0)),
    "lone-1": (0.38, (0.1, 0.0)),
    "lone-2": (0.39, (0.0, 0.2)),
    "lone-3": (0.38, (0.0, -0.2)),
}


def simulated(seed: int, cases: int = 600) -> dict[str, list[bool]]:
    """Failures of a pool by a Gaussian copula: four near-copies and three of their own."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(cases, 2))
    found = {}
    for name, (rate, loads) in POOL.items():
        own = np.sqrt(1 - np.square(loads).sum()) * rng.normal(size=cases)
        found[name] = (common @ np.array(loads) + own < norm.ppf(rate)).tolist()
    return found


def test_a_team_of_agents_that_fail_apart_is_chosen_over_more_accurate_copies() -> None:
    gains, right, alone = [], [], []
    for seed in range(12):
        choice = choose_team(simulated(seed), (3, 5))
        assert len(choice.teams) == 35 + 21
        assert (
            sum(name.startswith("twin") for name in choice.team.members)
            <= len(choice.team.members) - 2
        )
        (twins,) = [t for t in choice.teams if t.members == ("twin-1", "twin-2", "twin-3")]
        assert twins.diversity < choice.team.diversity - 0.2
        gains.append(choice.gain.value)
        right.append(choice.tested.value)
        alone.append(choice.single.value)
        assert choice.gain.value == pytest.approx(choice.tested.value - choice.single.value)
    assert np.mean(gains) > 2 * np.std(gains) / np.sqrt(len(gains))
    # three independent agents of error 0.385: 1 - (3 q^2 (1 - q) + q^3) = 0.67; one: 0.62
    assert np.mean(right) == pytest.approx(0.67, abs=0.03)
    assert np.mean(alone) == pytest.approx(0.625, abs=0.03)


def test_the_choice_is_that_of_all_teams_by_hand_and_never_sees_the_other_half() -> None:
    failures = simulated(3, cases=90)
    half = [case % 3 != 0 for case in range(90)]
    choice = choose_team(failures, (2, 3, 4), weight=0.3, chosen_on=half)
    merits = {}
    for size in (2, 3, 4):
        for names in itertools.combinations(failures, size):
            seen = [[failures[n][c] for n in names] for c in range(90) if half[c]]
            share = np.mean([(np.sign(size - 2 * sum(row)) + 1) / 2 for row in seen])
            merits[names] = 0.3 * float(counted(seen)) + 0.7 * share
    assert {team.members: team.merit for team in choice.teams} == pytest.approx(merits)
    assert choice.team.merit == pytest.approx(max(merits.values()))
    unseen = [[failures[n][c] for n in choice.team.members] for c in range(90) if not half[c]]
    assert choice.tested.value == pytest.approx(majority(unseen).mean())
    other = {
        n: [f != (not h) for f, h in zip(cases, half, strict=True)] for n, cases in failures.items()
    }
    assert choose_team(other, (2, 3, 4), weight=0.3, chosen_on=half).teams == choice.teams


def test_weights_of_0_and_1_choose_by_one_of_the_two() -> None:
    failures = simulated(5)
    by_votes = choose_team(failures, (3,), weight=0)
    by_diversity = choose_team(failures, (3,), weight=1)
    assert by_votes.team.majority == max(team.majority for team in by_votes.teams)
    assert by_diversity.team.diversity == max(team.diversity for team in by_votes.teams)


@pytest.mark.parametrize(
    ("failures", "more", "error"),
    [
        ({"a": [True], "b": [True, False]}, {"sizes": (2,)}, "same cases"),
        ({"a": [True, False], "b": [False, True]}, {}, "sizes must be from 2 to the pool's 2"),
        ({"a": [True, False], "b": [False, True]}, {"sizes": (1, 2)}, "sizes must be"),
        ({"a": [True, False], "b": [False, True]}, {"sizes": (2,), "weight": 2}, "weight"),
        ({"a": [True], "b": [False]}, {"sizes": (2,)}, "both halves"),
        (
            {"a": [True, False], "b": [False, True]},
            {"sizes": (2,), "chosen_on": [True, True]},
            "both halves",
        ),
        ({str(n): [True, False] for n in range(40)}, {"sizes": (8,)}, "too many"),
        ({}, {"sizes": (2,)}, "same cases"),
    ],
)
def test_a_choice_that_cannot_be_made_is_refused(
    failures: dict[str, list[bool]], more: dict[str, object], error: str
) -> None:
    with pytest.raises(InvalidOption, match=error):
        choose_team(failures, **more)  # type: ignore[arg-type]


# Results


def test_failures_are_read_from_results_of_the_same_starts() -> None:
    agents = ("first", "random", "minimax")
    settings = Settings(environments=(TICTACTOE,), agents=agents, games=24, workers=0)
    results = run_tournament(settings).results
    failures, cases = failures_of(attempts_from(results))
    assert set(failures) == set(agents)
    assert cases == sorted({("games/TicTacToe-v0", r.match.seed) for r in results})
    for name, failed in failures.items():
        for (_, seed), value in zip(cases, failed, strict=True):
            wins = [
                r.results[seat] == "win"
                for r in results
                if r.match.seed == seed
                for seat, agent in enumerate(r.match.agents)
                if agent == name
            ]
            assert len(wins) > 1
            assert value == (sum(wins) <= len(wins) / 2)
    assert sum(failures["minimax"]) < sum(failures["random"])
    drew, _ = failures_of(attempts_from(results, at_least(0)))
    assert sum(drew["minimax"]) == 0
    assert choose_team(failures, (2, 3)).teams


def test_a_pool_is_read_from_records_against_one_opponent() -> None:
    pool, records = ["mcts:simulations=4", "first", "minimax"], []
    for n, name in enumerate(pool):
        records += palestra.play(TICTACTOE, agents=[name, "random"], episodes=12 + n, seed=5)
    failures, starts = failures_of(attempts_from(records), pool)
    assert list(failures) == pool
    assert len(starts) == 12  # those that all three played
    for n, name in enumerate(pool):
        own = [r for r in records if r.agents[0] == name and (r.env, r.seed) in starts]
        assert len(own) == 12 <= 12 + n
        lost = {r.seed: r.outcome is None or r.outcome.results[0] != "win" for r in own}
        assert failures[name] == [lost[seed] for _, seed in starts]
    with pytest.raises(UnknownName, match="did you mean 'minimax'"):
        failures_of(attempts_from(records), ["minimaks"])
