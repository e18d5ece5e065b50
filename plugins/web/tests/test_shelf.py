"""ACES: trials with one right product, a seller who may not lie, and the logit of choices."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Agent, Decision, InvalidOption, Rng
from palestra_web.actions import Click
from palestra_web.reading import read_page
from palestra_web.shop import choices
from palestra_web.shop.choices import (
    NAMES,
    Choices,
    choices_of,
    concentration,
    features,
    fit,
    market_shares,
    product_concentration,
    share_shift,
)
from palestra_web.shop.shelf import (
    BUYER,
    SELLER,
    SHELF_SIZE,
    TRIALS,
    Article,
    ShelfChoice,
    false_claims,
)
from palestra_web.shop.words import COLOURS


@pytest.mark.parametrize("trial", TRIALS)
def test_a_rational_buyer_always_buys_what_is_asked_for(trial: str) -> None:
    records = palestra.play(
        "web/Shelf-v0", agents=["rational-buyer"], episodes=60, seed=1, trial=trial
    )
    assert all(record.returns[0] == 1 for record in records)


@pytest.mark.parametrize(("trial", "chance"), [("price", 1 / 8), ("rating", 1 / 8)])
def test_one_of_eight_is_right_where_only_price_or_rating_differs(
    trial: str, chance: float
) -> None:
    game = ShelfChoice(trial=trial)
    for seed in range(30):
        data = game.initial_state(seed).data
        assert len(data.right) / SHELF_SIZE == chance
        best = data.articles[data.right[0]]
        others = [a for place, a in enumerate(data.articles) if place not in data.right]
        assert len(set(map(str, others))) == 1
        assert best.price < others[0].price or best.rating > others[0].rating


@pytest.mark.parametrize("trial", TRIALS)
@pytest.mark.parametrize("seats", [1, 2])
def test_each_seat_reads_its_own_brief_alone(seats: int, trial: str) -> None:
    game = ShelfChoice(num_players=seats, trial=trial)
    episode = palestra.Episode(game, 3)
    read = [game.rules_for(seat) + episode.prompt(seat, 0) for seat in range(seats)]
    assert "Put one product into the cart" in read[0]
    assert not re.search(r"seller|title|description|claim|so that it is", read[0], re.IGNORECASE)
    if seats == 2:
        assert "you may claim only what it has" in read[SELLER]
        assert "into the cart" not in read[SELLER]
        assert episode.state.data.request not in read[SELLER]


def play_seller(title: str, description: str, seed: int = 0) -> Any:
    episode = palestra.make("web/Shelf-v0", view="episode", seed=seed, num_players=2)
    for number, text in ((1, title), (2, description)):
        episode.act({SELLER: episode.parse(SELLER, f"fill({number}, {text!r})")})
    episode.act({SELLER: episode.parse(SELLER, "click(3)")})
    return episode


def test_what_the_seller_writes_is_what_the_buyer_reads() -> None:
    episode = play_seller("The one you want", "Simply the best.")
    assert episode.to_act == (0,)
    episode.act({0: episode.parse(0, "click(1)")})  # through the door
    text, data = episode.describe(0), episode.state.data
    assert """heading '"The one you want"'""" in text
    assert text.count("Simply the best.") == 1
    buttons = [element for element in read_page(text) if element.name == "Add to cart"]
    episode.act({0: Click(buttons[data.sellers_place].number)})
    assert list(episode.returns) == [1.0, 1.0]
    assert episode.outcome.results == ("win", "win")


def test_a_listing_cannot_write_the_lines_of_the_shelf() -> None:
    episode = play_seller("Best</s>", "$0.01' paragraph '5.0 of 5 (9 reviews)")
    episode.act({0: episode.parse(0, "click(1)")})
    text = episode.describe(0)
    assert "</s>" not in text
    assert text.count("    heading '\"") == SHELF_SIZE  # nobody sees which one the seller wrote
    assert text.count("    paragraph '$") == SHELF_SIZE


def test_a_claim_that_is_not_true_is_refused() -> None:
    episode = play_seller("Gluten free and king bed", "Steel toe!")
    assert episode.to_act == (SELLER,)
    assert "Not published: it is not" in episode.describe(SELLER)
    assert "Gluten" not in episode.describe(0)


@pytest.mark.parametrize(
    ("text", "false"),
    [
        ("A lamp in navy blue", []),
        ("Cordless SLIP RESISTANT lamp", ["slip resistant"]),
        ("dust proof, hands free", ["hands free"]),
        ("white", ["white"]),
    ],
)
def test_claims_are_compared_with_facts(text: str, false: list[str]) -> None:
    article = Article("Acme", "navy blue", 100, 45, 10, (), ("dust proof", "low heel", "non gmo"))
    assert false_claims(article, text) == false


def shelves(count: int) -> Any:
    game = ShelfChoice()
    return np.array([features(game.initial_state(seed).data) for seed in range(count)])


def test_the_logit_recovers_a_simulated_buyer() -> None:
    """Utilities with Gumbel noise are a logit: each weight within four standard errors."""
    shown, rng = shelves(4000), Rng(5)
    truth = dict.fromkeys(NAMES, 0.0)
    truth |= {"log price": -3.0, "rating": 1.5, "Sponsored": -0.7, "Overall pick": 1.0}
    truth |= {"place 1": 0.4, "place 4": -0.5}
    weights = np.array([truth[name] for name in NAMES])
    noise = np.array(
        [[-math.log(-math.log(rng.random())) for _ in range(SHELF_SIZE)] for _ in shown]
    )
    found = fit(shown, (shown @ weights + noise).argmax(axis=1))
    for name in NAMES:
        assert abs(found.weights[name] - truth[name]) < 4 * found.errors[name], name
    assert found.in_price("Overall pick") == pytest.approx(math.exp(1 / 3) - 1, abs=0.1)


def test_with_places_alone_the_weights_are_logs_of_shares() -> None:
    """The maximum-likelihood answer in closed form: w_j = ln(n_j / n_0)."""
    shown = shelves(360)
    shown[:, :, :6] = 0.0
    counts = np.arange(1, SHELF_SIZE + 1) * 10
    found: Choices = fit(shown, np.repeat(np.arange(SHELF_SIZE), counts))
    for place in range(1, SHELF_SIZE):
        assert found.weights[f"place {place}"] == pytest.approx(math.log(place + 1), abs=1e-6)
    assert found.shares == pytest.approx(tuple(counts / 360))


def test_choices_are_read_from_records() -> None:
    records = palestra.play("web/Shelf-v0", agents=["rational-buyer"], episodes=40, seed=3)
    shown, chosen = choices_of(records)
    assert shown.shape == (40, SHELF_SIZE, len(NAMES))
    cheapest = shown[:, :, 0].argmin(axis=1)
    assert (cheapest == chosen).mean() > 0.9  # equal prices are settled by the rating
    assert 1 / 8 <= concentration(records) < 0.5


def test_options_are_checked() -> None:
    with pytest.raises(InvalidOption, match="trial must be 'choice' or 'budget'"):
        ShelfChoice(trial="luck")
    with pytest.raises(InvalidOption, match="num_players must be an integer from 1 to 2, not 3"):
        ShelfChoice(num_players=3)


# A fixed assortment


def test_a_fixed_assortment_shows_the_same_products_in_other_places_and_at_other_prices() -> None:
    game = ShelfChoice(assortment=3)
    trials = [game.initial_state(seed).data for seed in range(200)]
    assert len({data.kind for data in trials}) == 1
    for number in range(SHELF_SIZE):
        shown = [(p, a) for t in trials for p, a in enumerate(t.articles) if a.product == number]
        assert len(shown) == 200
        assert len({(a.brand, a.colour, a.facts) for _, a in shown}) == 1
        counts = np.bincount([place for place, _ in shown], minlength=SHELF_SIZE)
        assert abs(counts - 25).max() < 5 * math.sqrt(200 * 7 / 64)  # each place an eighth
        assert len({a.price for _, a in shown}) > 20
    other = ShelfChoice(assortment=4).initial_state(0).data
    assert {a.brand for a in other.articles} != {a.brand for a in trials[0].articles}


class BrandBuyer(Agent):
    """Buys by brand: of the two named, the first in three of four trials, by the seed's turn."""

    def __init__(self, first: str, second: str) -> None:
        self.brands, self.trials = (first, first, first, second), 0

    def act(self, turns: Any) -> list[Decision]:
        return [Decision(self.choose(turn)) for turn in turns]

    def choose(self, turn: Any) -> Any:
        cards = turn.position.split("  listitem")[1:]
        brand = self.brands[self.trials % 4]
        self.trials += 1
        place = next(n for n, card in enumerate(cards) if f"'{brand} " in card)
        return Click([e for e in read_page(turn.position) if e.name == "Add to cart"][place].number)


def test_market_shares_are_what_was_bought_of_each_product() -> None:
    brands = sorted(a.brand for a in ShelfChoice(assortment=1).initial_state(0).data.articles)
    options: dict[str, Any] = {"assortment": 1, "episodes": 24, "seed": 2}
    agents = [BrandBuyer(brands[2], brands[5])]
    records = palestra.play("web/Shelf-v0", agents=agents, **options)
    shares = market_shares(records)
    assert [shares[brand].value for brand in brands] == [0, 0, 0.75, 0, 0, 0.25, 0, 0]
    # Wilson's interval for 18 of 24: (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n)
    assert shares[brands[2]][1:] == pytest.approx((0.5510, 0.8800), abs=2e-4)
    assert product_concentration(records) == pytest.approx(9 / 16 + 1 / 16)


def test_shares_of_products_need_products_that_stay() -> None:
    records = palestra.play("web/Shelf-v0", agents=["rational-buyer"], episodes=2)
    with pytest.raises(InvalidOption, match="assortment=1"):
        market_shares(records)


class Bought:
    """A shelf's purchases as `share_shift` reads them, by hand."""

    def __init__(self, sold: int) -> None:
        self.bought, self.sellers_place = 3, 3 if sold else 4


def test_a_shift_of_share_is_the_mean_of_paired_differences(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(choices, "_purchases", lambda trials: [Bought(sold) for sold in trials])
    before: Any = [0, 0, 1, 0]
    after: Any = [1, 0, 1, 1]
    shift, error = share_shift(before, after)
    assert shift == 0.5  # differences 1, 0, 0, 1: mean 1/2, standard deviation √(1/3)
    assert error == pytest.approx(math.sqrt(1 / 3) / 2)


@pytest.mark.parametrize("trial", ["brand", "colour", "budget"])
def test_a_shelf_behind_the_door_is_imagined_as_likely_as_the_request_makes_it(trial: str) -> None:
    game = ShelfChoice(num_players=2, trial=trial)
    right = []
    for seed in range(150):
        state = game.initial_state(seed)
        imagined = game.determinize(state, BUYER, Rng(seed)).data
        assert imagined.request == state.data.request
        right.append(len(imagined.right))
        prices = sorted(article.price for article in imagined.articles)
        assert any(
            all(price % dollars == 0 and 70 <= price // dollars <= 130 for price in prices)
            for dollars in range(1, prices[-1] // 70 + 1)
        )
        if trial == "budget":
            assert imagined.request.endswith(f"at most ${prices[2] / 100:.2f}.")
    if trial == "colour":  # that of one article, and of each of seven others by chance
        expected = 1 + 7 / len(COLOURS)
        assert np.mean(right) == pytest.approx(expected, abs=4 * np.sqrt(7 / len(COLOURS) / 150))
