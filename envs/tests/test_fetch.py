"""Fetch: plans solved by hand, and the oracle's value against what it earns."""

from __future__ import annotations

from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import Episode, InvalidOption, Rng, Turn
from palestra.agents.making import make_agent
from palestra_envs.grid.fetch.fetchers import FetchOracle, Lookahead, Plan, known_by
from palestra_envs.grid.fetch.game import ASK, GO, RECALL, TAKE, WAIT, Fetch

SEEDS = st.integers(0, 2**64 - 1)
SMALL = {"num_spots": 3, "distractors": 1}
RED, BLUE = (0, 0, 0), (2, 0, 0)
PRICES = {"bonus": 10, "go_price": 1, "ask_price": 1, "fatigue": 0.5, "recall_price": 0.5}


def line(spots: list[int], **options: Any) -> tuple[Fetch, Any]:
    """A red and a blue mug on a line of twenty cells, the robot in the middle; red is wanted."""
    game = Fetch(rows=1, columns=21, num_spots=len(spots), distractors=1, **{**PRICES, **options})
    where = [(0, 10 + spot) for spot in spots]
    return game, game.arrange([(0, 10)], where, [0, 1], [RED, BLUE])


def plan(game: Fetch, state: Any) -> tuple[float, int]:
    """The oracle's value and first action."""
    spots, looks, knowledge = known_by(game, game.observe(state, 0))
    return Plan(game, spots, looks).best(*knowledge)


def play_out(game: Fetch, agent: Any, seed: int) -> Episode:
    episode = Episode(game, seed, compiled=False)
    while not episode.over:
        turns = [Turn(episode, seat) for seat in episode.to_act]
        decisions = agent.act(turns)
        episode.act({t.seat: d.action for t, d in zip(turns, decisions, strict=True)})
    return episode


# Plans, by hand


@pytest.mark.parametrize(
    ("options", "value", "first"),
    [
        # The mugs are three cells off on either side. Recall for 0.5 is sure, ask for 1, go 3.
        pytest.param({"stale": 0.0}, 10 - 0.5 - 1 - 3, {ASK, RECALL}, id="sure memory"),
        # Without memory: ask, go 3, and half the time 6 back to the other.
        pytest.param({"recall_price": 99}, 10 - 1 - 3 - 3, {ASK, GO, GO + 1}, id="no memory"),
        # A question for 6 is dearer than taking the first mug found, right half of the time.
        pytest.param({"recall_price": 99, "ask_price": 6}, 5 - 3, {GO, GO + 1}, id="dear question"),
        # Nothing pays.
        pytest.param({"bonus": 1}, 0.0, {WAIT}, id="dear world"),
        # Free recall is not used where it says nothing: each mug has moved with a chance of 1/2.
        pytest.param(
            {"stale": 0.5, "recall_price": 0.01},
            10 - 1 - 3 - 3,
            {ASK, GO, GO + 1},
            id="idle memory",
        ),
    ],
)
def test_plans_for_two_mugs_on_two_spots(
    options: dict[str, Any], value: float, first: set[int]
) -> None:
    game, state = line([-3, 3], **options)
    found, action = plan(game, state)
    assert found == pytest.approx(value)
    assert action in first


def test_a_stale_memory_is_worth_what_bayes_says() -> None:
    """Remembered at both ends, each moved with 1/5: where both agree they are right 16 of 17 times.

    One end each is remembered with 0.68 = 0.64 + 0.04; the same end twice, with 0.32, says nothing.
    """
    game, state = line([-3, 3], stale=0.2)
    agreed = 10 - 3 - 6 / 17
    value = 10 - 0.5 - 1 - (0.68 * (3 + 6 / 17) + 0.32 * 6)
    assert plan(game, state)[0] == pytest.approx(value)
    state.recalled, state.asked = 1, 1
    assert plan(game, state) == (pytest.approx(agreed), GO)


def test_the_nearer_spot_is_looked_at_first_where_all_are_alike() -> None:
    """Three spots at 1, 4 and 6 cells, two mugs, no memory: the red one is at each with 1/3."""
    game, state = line([-1, 4, 6], recall_price=99)
    # ask, then 1 to the first, 5 to the second, 2 more to the third; blue on the way saves nothing
    assert plan(game, state) == (pytest.approx(10 - 1 - 1 - (0 + 5 + 7) / 3), GO)


@settings(max_examples=6)
@given(seed=SEEDS, stale=st.sampled_from([0.0, 0.2, 0.6]))
def test_no_plan_beats_knowing_all_and_none_is_worse_than_staying(seed: int, stale: float) -> None:
    game = Fetch(**SMALL, stale=stale)
    state = game.initial_state(seed)
    value, _ = plan(game, state)
    rows = [game.place(cell) for cell in state.spots]
    row, column = game.place(state.cell[0])
    nearest = min(abs(r - row) + abs(c - column) for r, c in rows)
    assert 0 <= value <= game.bonus - game.go_price * nearest


def test_the_oracle_earns_its_value_on_average_and_the_script_less() -> None:
    """Over worlds drawn anew from one start, which differ in all that is hidden."""
    game, rng = Fetch(**SMALL, stale=0.3, ask_price=1.5), Rng(5)
    start = game.initial_state(4)
    spots, looks, knowledge = known_by(game, game.observe(start, 0))
    house, earned, scripted = Plan(game, spots, looks), [], []

    def planned(state: Any) -> int:
        return house.best(*known_by(game, game.observe(state, 0))[2])[1]

    for _ in range(300):
        world = game.determinize(start, 0, rng)
        for choose, sums in (
            (planned, earned),
            (lambda state: game.scripted_action(game.config, state, 0), scripted),
        ):
            state = game.clone(world)
            while game.outcome(state) is None and (action := choose(state)) != WAIT:
                game.step(state, {0: action})
            sums.append(float(state.earned[0]))
    value, _ = house.best(*knowledge)
    assert fmean(earned) == pytest.approx(value, abs=4 * stdev(earned) / 300**0.5)
    assert fmean(scripted) <= value + 4 * stdev(scripted) / 300**0.5


def test_the_oracle_plays_its_plan() -> None:
    game = Fetch(**SMALL)
    state = game.initial_state(3)
    spots, looks, knowledge = known_by(game, game.observe(state, 0))
    first = Plan(game, spots, looks).best(*knowledge)[1]
    episode = play_out(game, FetchOracle(), 3)
    assert next(iter(episode.history())).actions == {0: first}


# Rules


def test_questions_grow_dearer_and_costs_are_told_by_kind() -> None:
    game, state = line([-3, 3])
    step = game.step(state, {0: ASK})
    assert (step.rewards, step.costs) == ({0: {"ask": -1.0}}, {0: {"ask": 1.0}})
    assert game.step(state, {0: ASK}).costs == {0: {"ask": 1.5}}
    assert game.step(state, {0: GO + 1}).costs == {0: {"go": 3.0}}
    assert game.step(state, {0: RECALL}).costs == {0: {"recall": 0.5}}
    assert game.step(state, {0: GO}).costs == {0: {"go": 6.0}}
    assert game.step(state, {0: TAKE}).rewards == {0: {"success": 10.0}}
    outcome = game.outcome(state)
    assert outcome is not None
    assert (outcome.reason, outcome.scores) == ("the right mug was brought", (10.0 - 12,))


def test_the_wrong_mug_ends_it_unpaid_and_robots_share_what_they_see() -> None:
    game = Fetch(rows=1, columns=21, num_players=2, num_spots=2, distractors=1, **PRICES)
    state = game.arrange([(0, 10), (0, 0)], [(0, 7), (0, 13)], [0, 1], [RED, BLUE])
    assert TAKE not in game.legal_actions(state, 0)
    game.step(state, {0: GO + 1, 1: WAIT})
    assert "spot 2 in row 1, column 14, 13 east of you: mug 2" in game.describe(state, 1)
    assert game.step(state, {0: TAKE, 1: WAIT}).rewards == {}
    outcome = game.outcome(state)
    assert outcome is not None
    assert outcome.reason == "the wrong mug was brought"


def test_memory_is_stale_as_often_as_said() -> None:
    game = Fetch(stale=0.3)
    moved = [
        float((state.remembered != state.lies).mean())
        for state in (game.initial_state(seed) for seed in range(500))
    ]
    assert fmean(moved) == pytest.approx(0.3, abs=4 * (0.3 * 0.7 / 2000) ** 0.5)


@settings(max_examples=20)
@given(seed=SEEDS)
def test_redrawing_what_is_hidden_leaves_views_alone_and_mugs_differ(seed: int) -> None:
    game, rng = Fetch(num_players=2), Rng(seed)
    state = game.initial_state(seed)
    assert len({tuple(look) for look in state.looks.tolist()}) == 4
    for _ in range(4):
        for seat in range(2):
            other = game.determinize(state, seat, rng)
            assert np.array_equal(game.observe(other, seat), game.observe(state, seat))
            assert game.describe(other, seat) == game.describe(state, seat)
            assert game.scene(other, seat) == game.scene(state, seat)
        if game.outcome(state) is None:
            game.step(state, {p: game.sample(state, p, rng) for p in range(2)})


@pytest.mark.parametrize("seed", range(6))
def test_the_script_brings_the_right_mug(seed: int) -> None:
    episode = play_out(Fetch(num_players=2), make_agent("scripted"), seed)
    assert episode.outcome is not None
    assert episode.outcome.reason == "the right mug was brought"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"distractors": 5}, "distractors must be an integer from 0 to 4"),
        ({"num_spots": 3}, "num_spots must be at least 4"),
        ({"rows": 1, "columns": 3}, "no room for 5 spots"),
        ({"stale": 1.5}, "stale"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidOption, match=named):
        Fetch(**options)


SPLITS: list[dict[str, Any]] = [
    {},
    {"num_spots": 4, "distractors": 3},
    {"num_spots": 8, "distractors": 4, "rows": 12, "columns": 12},
    {"stale": 0.6, "num_spots": 7, "distractors": 3},
    {"num_spots": 8, "distractors": 0, "recall_price": 99},
]


@pytest.mark.parametrize("options", SPLITS)
@pytest.mark.parametrize("seed", range(3))
def test_the_oracle_plays_houses_of_every_size(options: dict[str, Any], seed: int) -> None:
    episode = play_out(Fetch(**options), FetchOracle(), seed)
    assert episode.outcome is not None
    assert episode.outcome.reason == "the right mug was brought"


@pytest.mark.parametrize("options", SPLITS)
def test_a_bounded_search_stays_bounded(options: dict[str, Any]) -> None:
    game = Fetch(**options)
    spots, looks, knowledge = known_by(game, game.observe(game.initial_state(0), 0))
    search = Lookahead(game, spots, looks)
    search.best(*knowledge)
    assert search.search.cache_info().currsize < 100_000
    assert search.find.cache_info().currsize < 100_000


@settings(max_examples=8)
@given(seed=SEEDS, stale=st.sampled_from([0.1, 0.4]))
def test_a_bounded_search_is_worth_about_what_the_best_plan_is(seed: int, stale: float) -> None:
    game = Fetch(num_spots=3, distractors=1, stale=stale)
    state = game.initial_state(seed)
    spots, looks, knowledge = known_by(game, game.observe(state, 0))
    best = Plan(game, spots, looks).best(*knowledge)[0]
    assert Lookahead(game, spots, looks).best(*knowledge)[0] == pytest.approx(best, abs=0.5)


def test_the_oracle_refuses_more_than_one_robot_and_says_what_to_do() -> None:
    with pytest.raises(InvalidOption, match="not for two robots; set num_players=1, or use"):
        FetchOracle().act([Turn(Episode(Fetch(num_players=2), 0, compiled=False), 0)])


@pytest.mark.parametrize("options", [*SPLITS[:4], {"num_spots": 5, "distractors": 0}])
def test_the_full_search_refuses_houses_that_take_too_long(options: dict[str, Any]) -> None:
    game = Fetch(**options)
    spots, looks, _ = known_by(game, game.observe(game.initial_state(0), 0))
    with pytest.raises(InvalidOption, match="up to 4 spots and 27 memories"):
        Plan(game, spots, looks)
