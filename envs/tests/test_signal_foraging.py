"""Signal foraging: what spelling takes, who can know what, and measures with known values."""

from __future__ import annotations

from itertools import pairwise, product
from math import isnan
from typing import Any

import numpy as np
import palestra
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import Episode, InvalidAction, InvalidOption, Rng, Turn
from palestra_envs.grid.language import (
    hamming,
    interchangeability,
    topographic_similarity,
    utterances,
)
from palestra_envs.grid.signal_foraging.game import SignalForaging
from palestra_envs.grid.signal_foraging.spellers import Speller, digits, read, spell

SEEDS = st.integers(0, 2**64 - 1)


def play_out(game: SignalForaging, seed: int) -> tuple[Any, Episode]:
    """The first state, with players in corners, and the episode as spellers play it."""
    episode, spellers = Episode(game, seed, compiled=False), Speller()
    start = game.clone(episode.state)
    start.cell[:] = [0, 24, 4][: game.num_players]
    episode.load(game.clone(start))
    while not episode.over:
        turns = [Turn(episode, seat) for seat in episode.to_act]
        decisions = spellers.act(turns)
        episode.act({t.seat: d.action for t, d in zip(turns, decisions, strict=True)})
    return start, episode


def apart(game: SignalForaging, one: int, other: int) -> int:
    (row, column), (r, c) = game.place(one), game.place(other)
    return abs(row - r) + abs(column - c)


def act(game: SignalForaging, state: Any, *texts: str) -> Any:
    """Play one action a seat, as it is written."""
    return game.step(state, {p: game.parse(state, p, text) for p, text in enumerate(texts)})


# Spelling


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("players", "foods", "vocabulary"), [(2, 2, 5), (3, 3, 2), (2, 4, 3)])
def test_spellers_need_their_message_and_then_the_longest_way(
    players: int, foods: int, vocabulary: int, seed: int
) -> None:
    options = {"num_players": players, "num_foods": foods, "vocabulary": vocabulary}
    game = SignalForaging(**options, max_steps=60)
    start, episode = play_out(game, seed)
    length = {5: 3, 3: 6, 2: 9}[vocabulary] * -(-foods // players)  # 5 rows, columns, values each
    best = int(start.food[start.worth.argmax()])
    way = max(apart(game, int(cell), best) for cell in start.cell)
    assert episode.steps_played == length + way
    assert list(episode.returns) == [1.0] * players


@pytest.mark.parametrize("seed", range(6))
def test_food_in_order_takes_the_ways_from_each_to_the_next(seed: int) -> None:
    game = SignalForaging(game="order", num_foods=3, max_steps=80)
    start, episode = play_out(game, seed)
    order = [int(start.food[food]) for food in start.worth.argsort()]
    way = max(apart(game, int(cell), order[0]) for cell in start.cell)
    way += sum(apart(game, one, other) for one, other in pairwise(order))
    assert episode.outcome is not None
    assert episode.outcome.reason == "all food was taken in order"
    assert episode.steps_played == 2 * 3 + way


def test_spellers_hardly_ever_come_to_other_food_together() -> None:
    game = SignalForaging(game="order", num_foods=4, max_steps=80)
    won = [play_out(game, seed)[1].returns[0] for seed in range(40)]
    assert sum(won) >= 38


@given(
    food=st.tuples(st.integers(0, 8), st.integers(0, 6), st.integers(1, 7)),
    vocabulary=st.integers(2, 10),
)
def test_what_is_spelled_is_read(food: tuple[int, int, int], vocabulary: int) -> None:
    game = SignalForaging(rows=9, columns=7, values=7, vocabulary=vocabulary)
    tokens = spell(game, food)
    assert len(tokens) == sum(digits(game))
    assert max(tokens) < vocabulary
    assert read(game, tokens) == food


# Rules


def arranged(cells: list[int], food: list[int], worth: list[int], **options: Any) -> Any:
    game = SignalForaging(num_foods=len(food), **options)
    state = game.initial_state(0)
    state.cell[:], state.food[:], state.worth[:] = cells, food, worth
    return game, state


@pytest.mark.parametrize(("worth", "paid", "why"), [([5, 2], 1.0, "found"), ([2, 5], 0.0, "more")])
def test_food_is_taken_when_all_stand_on_it_and_pays_if_it_is_the_best(
    worth: list[int], paid: float, why: str
) -> None:
    game, state = arranged([0, 3], [1, 20], worth)
    assert act(game, state, "east A", "west B").rewards == {}
    assert game.outcome(state) is None
    act(game, state, "stay A", "west B")
    outcome = game.outcome(state)
    assert outcome is not None
    assert outcome.scores == (paid, paid)
    assert why in outcome.reason


def test_food_out_of_order_ends_the_episode() -> None:
    game, state = arranged([0, 2], [1, 3], [2, 1], game="order")
    act(game, state, "east A", "west A")
    outcome = game.outcome(state)
    assert outcome is not None
    assert (outcome.scores, outcome.reason) == ((0.0, 0.0), "other food came before")
    game, state = arranged([0, 2], [1, 3], [1, 2], game="order")
    act(game, state, "east A", "west A")
    assert game.outcome(state) is None
    act(game, state, "east A", "east A")
    assert act(game, state, "east A", "east A").rewards == {
        0: {"success": 1.0},
        1: {"success": 1.0},
    }


def test_tokens_are_heard_anywhere_a_step_later_and_places_only_near() -> None:
    game, state = arranged([0, 24], [7, 22], [5, 2])
    assert "player_1 has said nothing yet" in game.describe(state, 0)
    assert "food 2" not in game.describe(state, 0)
    act(game, state, "stay C", "stay D")
    assert "- player_1 said D" in game.describe(state, 0)
    assert "- player_0 said C" in game.describe(state, 1)
    state.cell[1] = 6
    assert "player_1 is 1 south and 1 east of you and said D" in game.describe(state, 0)
    assert "food 1 in row 2, column 3, 1 east of you: value 5" in game.describe(state, 1)
    game, state = arranged([0, 6], [7, 22], [1, 2], game="order")
    assert game.describe(state, 1).split("\n")[1] == "- food 1 in row 2, column 3, 1 east of you"
    with pytest.raises(InvalidAction, match="one of stay, south, east, and a token of A, B, C"):
        game.parse(state, 0, "dance")


@settings(max_examples=25)
@given(seed=SEEDS, game=st.sampled_from(["score", "order"]))
def test_redrawing_what_is_hidden_leaves_a_players_views_alone(seed: int, game: str) -> None:
    world, rng = SignalForaging(game=game, num_players=3, num_foods=4), Rng(seed)
    state = world.initial_state(seed)
    for _ in range(4):
        if world.outcome(state) is None:
            world.step(state, {p: world.sample(state, p, rng) for p in range(3)})
    for seat in range(3):
        other = world.determinize(state, seat, rng)
        assert np.array_equal(world.observe(other, seat), world.observe(state, seat))
        assert world.describe(other, seat) == world.describe(state, seat)
        assert world.scene(other, seat) == world.scene(state, seat)
        assert len(set(other.worth.tolist())) == 4


# Measures


def test_whoever_does_not_know_food_cannot_tell_whether_it_was_taken_before_theirs() -> None:
    """Two deals on four cells: in one, both players took the second food on their way."""
    world = SignalForaging(rows=2, columns=2, sight=0, game="order", num_foods=2)
    state = world.initial_state(0)
    state.cell[:], state.food[:], state.worth[:], state.turn = 3, (1, 0), (2, 1), 2
    taken = world.clone(state)
    taken.food[1] = -1
    assert world.describe(state, 0) == world.describe(taken, 0)
    found = set()
    for number in range(60):
        one, two = (world.determinize(s, 0, Rng(number)) for s in (state, taken))
        assert world.state_key(one) == world.state_key(two)
        found.add(tuple(one.food.tolist()))
    assert found == {(1, -1), (1, 0), (1, 2)}
    state.worth[:] = 1, 2
    worlds = [world.determinize(state, 0, Rng(number)) for number in range(60)]
    assert {int(one.food[1]) for one in worlds} == {0, 2}  # the first lies there still


def test_topographic_similarity_of_known_languages() -> None:
    meanings = list(product((0, 1), repeat=3))
    spelled = [(m, m) for m in meanings]
    assert topographic_similarity(spelled) == pytest.approx(1.0)
    shouted = [(m, [0, 0, 0] if sum(m) % 2 else [1, 1, 1]) for m in meanings]
    assert topographic_similarity(shouted) < 0.3
    assert isnan(topographic_similarity([(m, [0]) for m in meanings]))
    with pytest.raises(InvalidOption, match="three pairs or more, not 2"):
        topographic_similarity(spelled[:2])


def test_interchangeability_is_the_share_said_alike() -> None:
    one = [((0,), "a"), ((1,), "b"), ((2,), "c")]
    other = [((1,), "b"), ((2,), "d"), ((3,), "e")]
    numbered = [[(m, [ord(word)]) for m, word in pairs] for pairs in (one, other)]
    assert interchangeability(*numbered) == 0.5
    assert isnan(interchangeability(numbered[0], []))
    assert hamming([1, 2], [1, 3, 4]) == 2


def test_what_spellers_say_is_found_in_records_and_has_parts() -> None:
    records = palestra.play("grid/SignalForaging-v0", agents=["speller"] * 2, episodes=12, seed=1)
    pairs = [pair for record in records for pair in utterances(record, 3)]
    game = SignalForaging()
    told = [(meaning, tuple(message)) for meaning, message in pairs if len(message) == 3]
    assert len(told) >= 20
    assert all(message == tuple(spell(game, meaning)) for meaning, message in told)
    assert topographic_similarity(told) > 0.5
    assert interchangeability(told[::2], told[::2]) == 1.0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"game": "chess"}, "game must be 'score' or 'order'"),
        ({"num_players": 1}, "num_players must be an integer from 2 to 4"),
        ({"vocabulary": 11}, "vocabulary must be an integer from 1 to 10"),
        ({"values": 1}, "values must be at least num_foods, 2"),
        ({"rows": 2, "columns": 2, "num_foods": 5}, "no room for 5 foods"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidOption, match=named):
        SignalForaging(**options)


def test_a_speller_needs_two_tokens() -> None:
    episode = Episode(SignalForaging(vocabulary=1), 0, compiled=False)
    with pytest.raises(InvalidOption, match="two tokens or more"):
        Speller().act([Turn(episode, 0)])
