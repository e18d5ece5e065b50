from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from palestra import InvalidOption, Usage
from palestra_arena import GameResult, Settings
from palestra_arena.match import Match, Meeting, matches_of, seatings
from palestra_arena.result import points_of, ranks_of
from palestra_arena.schedule import ScheduledEnvironment, make_plan, simulate_swiss
from palestra_arena.settings import (
    Adaptive,
    CrossPlay,
    Environment,
    KnockOut,
    Ladder,
    Population,
    RoundRobin,
    Swiss,
)

HERE = Environment("games/TicTacToe-v0")
Judge = Callable[[Match], Sequence[float]]


def played(match: Match, scores: Sequence[float]) -> GameResult:
    seats = len(match.agents)
    ranks = ranks_of(["score"] * seats, list(scores))
    return GameResult(
        match,
        "played",
        ("score",) * seats,
        tuple(scores),
        ranks,
        points_of(ranks),
        (0,) * seats,
        (Usage(),) * seats,
        1,
        0.0,
    )


def strongest_wins(match: Match) -> Sequence[float]:
    """Agents are numbers, and the higher beats the lower."""
    return [float(agent) for agent in match.agents]


def all_draw(match: Match) -> Sequence[float]:
    return [0.0 for _ in match.agents]


def rounds(
    schedule: Any, agents: int, judge: Judge = strongest_wins, seats: int = 2, **more: Any
) -> list[list[Meeting]]:
    settings = Settings(
        environments=(HERE,),
        agents=tuple(map(str, range(agents))),
        schedule=schedule,
        games=2,
        **more,
    )
    plan = make_plan(settings, [ScheduledEnvironment(HERE, seats)])
    told = [next(plan)]
    while True:
        results = [
            played(m, judge(m)) for meeting in told[-1] for m in matches_of(meeting, settings)
        ]
        try:
            told.append(plan.send(results))
        except StopIteration:
            return told


def pairs(meetings: Sequence[Meeting]) -> list[frozenset[str]]:
    return [frozenset(meeting.agents) for meeting in meetings]


def test_seatings_leave_out_orders_that_are_equal() -> None:
    assert seatings(("a", "b"), "rotate") == [("a", "b"), ("b", "a")]
    assert seatings(("a", "a"), "rotate") == [("a", "a")]
    assert len(seatings(("a", "b", "c"), "permute")) == 6
    assert seatings(("a", "b", "c"), "fixed") == [("a", "b", "c")]


def test_round_robin_of_n_agents_at_k_seats_is_n_choose_k() -> None:
    (only,) = rounds(RoundRobin(), 6, seats=3)
    assert len(only) == len(set(pairs(only))) == 20


def test_cross_play_seats_each_agent_with_each_held_out_partner() -> None:
    (only,) = rounds(CrossPlay(partners=("x", "y")), 3, judge=all_draw, seats=3)
    assert {m.agents for m in only} == {(a, p, p) for a in "012" for p in "xy"}
    (square,) = rounds(CrossPlay(), 3)
    assert len(square) == 6
    with pytest.raises(InvalidOption, match="held-out"):
        rounds(CrossPlay(partners=("0",)), 3)


def test_populations_play_equally_often() -> None:
    (only,) = rounds(Population(lineups=20), 7, seats=5)
    seats = Counter(agent for meeting in only for agent in meeting.agents)
    assert max(seats.values()) - min(seats.values()) <= 1
    assert all(len(set(meeting.agents)) == 5 for meeting in only)


@pytest.mark.parametrize("agents", [2, 3, 5, 8, 13])
def test_a_knock_out_takes_one_match_less_than_agents_and_finds_the_strongest(agents: int) -> None:
    told = rounds(KnockOut(), agents)
    meetings = [meeting for turn in told for meeting in turn]
    assert len(meetings) == agents - 1
    assert len(told) == (agents - 1).bit_length()
    assert str(agents - 1) in told[-1][0].agents
    assert all(str(agents - 1) in [a for m in turn for a in m.agents] for turn in told[1:])


def test_the_best_seeds_of_a_knock_out_cannot_meet_before_the_final() -> None:
    told = rounds(KnockOut(), 8, judge=lambda m: [-float(a) for a in m.agents])
    assert pairs(told[0]) == [frozenset(pair) for pair in ("07", "16", "25", "34")]
    assert pairs(told[2]) == [frozenset("01")]


def test_a_ladder_carries_the_strongest_to_the_top_in_one_sweep() -> None:
    told = rounds(Ladder(), 5)
    assert len(told) == 4
    assert all("4" in turn[0].agents for turn in told)
    assert pairs(told[-1]) == [frozenset("40")]


def test_later_rounds_play_new_seeds() -> None:
    settings = Settings(environments=(HERE,), agents=("a", "b"), games=4, seed=10)
    first, second = (
        {match.seed for match in matches_of(Meeting(HERE, ("a", "b"), number), settings)}
        for number in (0, 1)
    )
    assert first == {10, 11}
    assert second == {12, 13}


@given(
    agents=hs.integers(2, 12), seed=hs.integers(0, 50), draw=hs.sampled_from(["seeded", "random"])
)
def test_a_swiss_tournament_pairs_everybody_and_repeats_nobody(
    agents: int, seed: int, draw: Any
) -> None:
    count = min(3, agents - 1)
    told = rounds(Swiss(rounds=count, draw=draw), agents, seed=seed)
    met: list[frozenset[str]] = []
    for turn in told:
        seated = [agent for meeting in turn for agent in meeting.agents]
        assert len(seated) == len(set(seated)) == agents - agents % 2
        met += pairs(turn)
    if agents >= 6:
        assert len(met) == len(set(met))


def test_the_first_round_of_a_seeded_swiss_folds_the_field() -> None:
    told = rounds(Swiss(), 8)
    assert len(told) == 3
    assert pairs(told[0]) == [frozenset(pair) for pair in ("04", "15", "26", "37")]


def test_winners_of_a_swiss_round_meet_winners() -> None:
    told = rounds(Swiss(rounds=2), 8)
    assert {frozenset(pair) for pair in (("4", "6"), ("5", "7"))} <= set(pairs(told[1]))


def test_nobody_sits_out_a_swiss_tournament_twice_while_others_have_not() -> None:
    told = rounds(Swiss(rounds=3), 5)
    out = [set("01234") - {a for m in turn for a in m.agents} for turn in told]
    assert len(set.union(*out)) == 3


def test_elimination_drops_the_lowest_after_every_round() -> None:
    told = rounds(Swiss(rounds=4, eliminate=2), 8)
    assert [len(turn) for turn in told] == [4, 3, 2, 1]
    assert "7" in told[-1][0].agents


def test_a_swiss_sequence_plays_one_environment_a_round() -> None:
    places = [HERE, Environment("games/ConnectFour-v0")]
    settings = Settings(
        environments=tuple(places), agents=tuple("0123"), schedule=Swiss(sequence=True), games=2
    )
    plan = make_plan(settings, [ScheduledEnvironment(place, 2) for place in places])
    first = next(plan)
    assert {m.environment for m in first} == {places[0]}
    results = [
        played(m, strongest_wins(m)) for meeting in first for m in matches_of(meeting, settings)
    ]
    assert {m.environment for m in plan.send(results)} == {places[1]}


def test_an_adaptive_tournament_stops_when_every_pairing_is_clear() -> None:
    told = rounds(Adaptive(rounds=60), 3)
    assert 2 < len(told) < 60
    assert all(len(turn) == 3 for turn in told)
    assert len(rounds(Adaptive(rounds=5), 3, judge=all_draw)) == 5


def test_pairings_refuse_games_of_other_sizes() -> None:
    for schedule in (Swiss(), KnockOut(), Ladder(), Adaptive()):
        with pytest.raises(InvalidOption, match="seats 3"):
            rounds(schedule, 4, seats=3)


# LLM Swiss Round, simulated


def transitive(models: int, environments: int) -> np.ndarray:
    order = np.arange(models)
    wins = (order[:, None] < order[None]) * 1.0 + np.eye(models) / 2
    return np.tile(wins, (environments, 1, 1))


def test_a_dominant_model_wins_every_round_and_all_points_are_shared_out() -> None:
    scores = simulate_swiss(transitive(8, 6), simulations=100_000)
    assert scores[0] == 6
    assert scores.sum() == pytest.approx(6 * 4)
    assert (np.diff(scores) <= 0.02).all()


def test_three_rounds_of_eight_give_the_binomial_scores_of_swiss() -> None:
    """Without ties or floats, 1, 3, 3 and 1 of 8 models end on 3, 2, 1 and 0 points."""
    scores = simulate_swiss(transitive(8, 3), simulations=20_000)
    assert scores[0] == 3
    assert scores[-1] == 0
    assert scores.sum() == pytest.approx(12)


def test_an_odd_model_sits_out_for_nothing() -> None:
    scores = simulate_swiss(np.full((1, 3, 3), 0.5), simulations=50_000)
    np.testing.assert_allclose(scores, 1 / 3, atol=0.02)


def test_elimination_punishes_the_specialist_who_starts_badly() -> None:
    """Model 0 loses the first environment and wins the rest; pressure throws it out first."""
    wins = np.full((4, 4, 4), 0.5)
    wins[0, 0, :], wins[0, :, 0] = 0.0, 1.0
    wins[1:, 0, :], wins[1:, :, 0] = 1.0, 0.0
    free = simulate_swiss(wins, eliminate=0, simulations=20_000)
    hard = simulate_swiss(wins, eliminate=1, simulations=20_000)
    assert free[0] == 3
    assert hard[0] < 2
