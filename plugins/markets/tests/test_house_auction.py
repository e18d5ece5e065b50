"""House auctions: open and sealed formats against each other, budgets, profiles."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng
from palestra_markets.houses.auction import (
    Bid,
    HouseAuction,
    Profile,
    Raise,
    Take,
    Wait,
    Withdraw,
)
from palestra_markets.houses.personas import ATTRIBUTES, draw_persona, fitted_favourite

ID = "markets/HouseAuction-v0"


def play(**options: Any) -> Any:
    count = options.get("num_players", 4)
    settings = {"seed": 0, "episodes": 1, "budget": 100_000} | options
    return palestra.play(ID, agents=["house-bidder"] * count, **settings)


def sales(record: Any) -> list[tuple[int, int]]:
    told = [event.data for event in record.events if event.kind == "sale"]
    return [(data["winner"], data["price"]) for data in told]


@pytest.mark.parametrize("increment", [1, 20])
def test_an_english_auction_ends_within_a_step_where_vickreys_does(increment: int) -> None:
    """Who stays up to their value pays about the second highest value: the two are equivalent."""
    for seed in range(5):
        options = {"seed": seed, "increment": increment}
        (open_,), (sealed,) = play(**options), play(format="vickrey", **options)
        second = [event.data["bids"] for event in sealed.events if event.kind == "bids"]
        pairs = zip(sales(open_), sales(sealed), second, strict=True)
        for (winner, price), (_, paid), bids in pairs:
            assert abs(price - paid) <= increment
            assert bids[winner] >= max(bids) - increment


@pytest.mark.exhaustive
def test_houses_go_to_who_values_them_most_where_budgets_do_not_bind() -> None:
    for format_ in ("english", "vickrey", "first-price", "dutch"):
        for record in play(format=format_, increment=1, episodes=4):
            assert palestra.measure(record)["house-efficiency"] == pytest.approx(1, abs=0.003)


def test_tight_budgets_keep_houses_from_who_values_them_most() -> None:
    records = play(budget=900, houses=8, episodes=10)
    measured = [palestra.measure(record) for record in records]
    assert np.mean([m["house-efficiency"] for m in measured]) < 0.97
    assert all(m["budget-spent"] <= 1 for m in measured)


def test_who_spends_everything_does_not_survive() -> None:
    game = HouseAuction(num_players=2, houses=3, format="first-price", profiling=0)
    episode = Episode(game, seed=0)
    for bids in ((episode.state.left[0], 0), (0, 10), (0, 0)):
        episode.act({seat: Bid(bid) for seat, bid in enumerate(bids)})
    record = palestra.record_episode(episode)
    record.env = ID
    assert palestra.measure(record)["survival"] == 0.5
    tight, ample = (play(budget=b, houses=12)[0] for b in (300, 100_000))
    assert palestra.measure(tight)["survival"] < palestra.measure(ample)["survival"] == 1


def test_truth_is_a_dominant_bid_in_vickreys_auction() -> None:
    """Every bid of the first on a grid that holds their value, against every pair of others."""
    game = HouseAuction(num_players=3, houses=1, format="vickrey", budget=100_000, profiling=0)
    start = game.initial_state(4)
    value = start.personas[0].value(start.houses[0])
    grid = sorted({value, *range(0, 1001, 125)})
    for others in product(grid, repeat=2):
        gains: dict[int, set[float]] = {}
        for bid, seed in product(grid, range(3)):
            state = game.clone(start)
            game.reseed(state, seed)
            game.step(state, {0: Bid(bid), 1: Bid(others[0]), 2: Bid(others[1])})
            gains.setdefault(bid, set()).add(state.profits[0])
        assert min(gains[value]) >= max(map(max, gains.values()))


def test_first_prices_pay_the_bid_and_second_prices_the_next() -> None:
    for format_, price in (("first-price", 500), ("vickrey", 300)):
        episode = Episode(HouseAuction(num_players=3, houses=1, format=format_), seed=0)
        episode.act({0: Bid(100), 1: Bid(500), 2: Bid(300)})
        state = episode.state
        assert state.won[1] == [(0, price)]
        assert state.left[1] == state.personas[1].budget - price
        assert episode.returns[1] == state.personas[1].value(state.houses[0]) - price


def dutch(stops: list[int], seed: int, increment: int) -> tuple[int, int]:
    """Who wins at which price where everybody takes the house at a price they planned."""
    count = len(stops)
    game = HouseAuction(
        num_players=count, houses=1, format="dutch", budget=100_000, increment=increment
    )
    state = game.initial_state(seed)
    while state.house == 0:
        plans = enumerate(stops)
        game.step(state, {p: Take() if state.price <= stop else Wait() for p, stop in plans})
    sold = [(seat, price) for seat, won in enumerate(state.won) for _, price in won]
    return sold[0] if sold else (-1, 0)


def test_a_dutch_auction_ends_for_every_plan_as_first_prices_do() -> None:
    """A plan is a price to stop at: all triples on the grid of prices, against sealed bids."""
    grid = range(0, 1001, 250)
    sealed = HouseAuction(num_players=3, houses=1, format="first-price", budget=100_000)
    for stops in product(grid, repeat=3):
        ends: list[set[tuple[int, int]]] = [set(), set()]
        for seed in range(12):
            ends[0].add(dutch(list(stops), seed, 250))
            state = sealed.initial_state(seed)
            sealed.step(state, {seat: Bid(stop) for seat, stop in enumerate(stops)})
            won = [(seat, price) for seat, row in enumerate(state.won) for _, price in row]
            ends[1].add(won[0] if won else (-1, 0))
        assert ends[0] == ends[1]  # the lot decides between equals, so there may be several


@pytest.mark.parametrize("bidders", [2, 4])
def test_a_dutch_auction_earns_what_is_known_for_even_values(bidders: int) -> None:
    """n - 1 over n + 1: the revenue of every standard auction with values even on [0, 1]."""
    rng, paid = Rng(1), []
    for seed in range(400):
        stops = [round(1000 * rng.random() * (bidders - 1) / bidders) for _ in range(bidders)]
        paid.append(dutch(stops, seed, 5)[1] / 1000)
    error = np.std(paid) / len(paid) ** 0.5
    assert np.mean(paid) == pytest.approx((bidders - 1) / (bidders + 1), abs=3 * error + 0.005)


def test_bidders_with_the_same_plan_pay_the_same_in_both_formats() -> None:
    (falling,), (sealed,) = (play(format=f, increment=1) for f in ("dutch", "first-price"))
    assert [price for _, price in sales(falling)] == [price for _, price in sales(sealed)]


def test_nobody_takes_a_house_they_cannot_pay() -> None:
    episode = Episode(HouseAuction(format="dutch", budget=100), seed=0)
    with pytest.raises(InvalidAction):
        episode.act({p: Take() for p in range(4)})
    while episode.state.house == 0:
        episode.act({p: Wait() for p in range(4)})
    assert episode.state.won == [[]] * 4


def test_a_house_nobody_wants_is_not_sold() -> None:
    episode = Episode(HouseAuction(num_players=2, houses=1), seed=0)
    episode.act({episode.to_act[0]: Withdraw()})
    episode.act({episode.to_act[0]: Withdraw()})
    assert episode.state.won == [[], []]
    assert len(episode.to_act) == 2  # profiles


def test_nobody_bids_more_than_they_have_or_less_than_the_step() -> None:
    episode = Episode(HouseAuction(increment=20), seed=0)
    (first,) = episode.to_act
    left = episode.state.left[first]
    for price in (19, left + 1, -5):
        with pytest.raises(InvalidAction):
            episode.parse(first, f"Raise(price={price})")
    episode.act({first: Raise(100)})
    (second,) = episode.to_act
    with pytest.raises(InvalidAction):
        episode.parse(second, "Raise(price=110)")


def test_right_profiles_pay_at_the_end() -> None:
    episode = Episode(HouseAuction(num_players=3, houses=1, format="vickrey"), seed=0)
    episode.act({p: Bid(0) for p in range(3)})
    likes = [ATTRIBUTES[persona.favourite] for persona in episode.state.personas]
    wrong = next(name for name in ATTRIBUTES if name != likes[0])
    for turn in range(2):
        rivals = [(seat + 1 + turn) % 3 for seat in range(3)]
        said = [likes[rival] if seat != 1 else wrong for seat, rival in enumerate(rivals)]
        episode.act({s: Profile(f"player_{rivals[s]}", said[s]) for s in range(3)})
    assert episode.over
    assert episode.returns[0] == episode.returns[2] == 40
    assert episode.returns[1] == 20 * sum(likes[rival] == wrong for rival in (2, 0))


def test_rivals_are_profiled_by_their_bids_far_better_than_by_chance() -> None:
    records = play(format="vickrey", houses=12, episodes=10)
    accuracy = np.mean([palestra.measure(r)["profiling-accuracy"] for r in records])
    assert accuracy > 0.9
    told = play(knowledge="favourite", houses=1)
    assert palestra.measure(told[0])["profiling-accuracy"] == 1


def test_weights_are_found_behind_true_values() -> None:
    rng = Rng(1)
    for _ in range(50):
        persona = draw_persona(1000, rng)
        marks = [[rng.between(1, 10) for _ in ATTRIBUTES] for _ in range(15)]
        values = [sum(w * m for w, m in zip(persona.weights, row, strict=True)) for row in marks]
        assert fitted_favourite(marks, values) == persona.favourite
        assert sum(persona.weights) == 100


def test_what_rivals_like_is_told_as_far_as_the_option_says() -> None:
    silent, told = (Episode(HouseAuction(knowledge=k), seed=0) for k in ("none", "full"))
    assert (silent.observation(0)[-3:] == -1).all()
    assert (told.observation(0)[-4:] >= 0).all()
    assert "likes" not in silent.describe(0)
    assert "player_1 likes" in told.describe(0)


@pytest.mark.parametrize(
    "options",
    [{"format": "swiss"}, {"knowledge": "some"}, {"num_players": 1}, {"houses": 0}, {"budget": 0},
     {"increment": 0}, {"profiling": -1}],
)  # fmt: skip
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="|".join(options)):
        HouseAuction(**options)
