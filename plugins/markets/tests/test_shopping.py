"""Shopping for somebody else: how often goals are overridden, and what information is worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption
from palestra_markets.errands.shelf import NEED, Product, best, preferred_product, worth
from palestra_markets.errands.shopping import Choose, Offer, Recommend, Shopping
from scipy.integrate import quad

ID = "markets/Shopping-v0"


def play(
    principal: str = "trusting-principal", assistant: str = "leaning-assistant", **o: Any
) -> Any:
    return palestra.play(ID, agents=[principal, assistant], **{"seed": 0, "episodes": 1} | o)


def override_chance(products: int, share: float) -> float:
    """P(M - G > t): M the largest of n - 1 uniform draws, G one more, t the bonus over leaning."""
    if share >= 1:
        return 0.0
    n = products
    found, _ = quad(lambda m: (n - 1) * m ** (n - 2) * (m - share), share, 1)
    closed = (n - 1) / n * (1 - share**n) - share * (1 - share ** (n - 1))
    assert found == pytest.approx(closed)
    return float(closed)


@pytest.mark.exhaustive(sample=3)
@pytest.mark.parametrize("products", [2, 4, 8])
@pytest.mark.parametrize(
    ("bonus", "leaning"), [(0, 1.0), (25, 1.0), (50, 1.0), (25, 0.5), (60, 0.5)]
)
def test_goals_are_overridden_as_often_as_is_known(
    products: int, bonus: int, leaning: float
) -> None:
    (record,) = play(
        f"trusting-principal:bonus={bonus}", products=products, leaning=leaning, trips=1500
    )
    known = override_chance(products, bonus / (100 * leaning))
    error = (known * (1 - known) / 1500) ** 0.5
    # marks are whole numbers, ties are obeyed: half a point of a hundred
    assert palestra.measure(record)["override-rate"] == pytest.approx(known, abs=4 * error + 0.012)


def test_without_leanings_or_for_a_large_bonus_nothing_is_overridden() -> None:
    for options in (
        {"leaning": 0.0},
        {"leaning": 1.0, "principal": "trusting-principal:bonus=100"},
    ):
        (record,) = play(trips=500, **options)
        measured = palestra.measure(record)
        assert (measured["override-rate"], measured["principal-loss"]) == (0, 0)


def test_who_sees_all_loses_nothing_and_who_sees_nothing_what_was_overridden() -> None:
    losses = {}
    for information in ("none", "full"):
        (record,) = play(information=information, leaning=1.0, trips=400)
        losses[information] = palestra.measure(record)["principal-loss"]
        assert palestra.measure(record)["override-rate"] == pytest.approx(0.75, abs=0.07)
    assert losses["full"] == 0
    assert losses["none"] > 20


def test_claims_are_held_against_the_truth() -> None:
    honest, hyped = (play(assistant=f"leaning-assistant:honest={h}", leaning=1.0, trips=300)[0]
                     for h in ("true", "false"))  # fmt: skip
    assert palestra.measure(honest)["claim-honesty"] == 1
    assert palestra.measure(hyped)["claim-honesty"] < 0.5


def test_worth_is_need_and_quality_as_the_goal_weighs_it_less_the_price() -> None:
    shelf = [Product(30, 0, 0), Product(60, 50, 100), Product(100, 90, 10)]
    assert [worth(p, "good value") for p in shelf] == [70, 90, 90]
    assert [best(shelf, goal) for goal in ("cheapest", "good value", "best")] == [0, 1, 2]
    assert preferred_product(shelf, "cheapest", 1.0, 99) == 1
    assert preferred_product(shelf, "cheapest", 1.0, 100) == 0
    assert NEED == 100


def test_bonuses_are_paid_for_what_the_goal_asks_and_money_is_conserved() -> None:
    game = Shopping(leaning=0.5, trips=1)
    for product in range(4):
        episode = Episode(game, seed=3)
        episode.act({0: Offer(40)})
        shelf, goal = episode.state.shelf, episode.state.goal
        episode.act({1: Recommend(product + 1, 10)})
        episode.act({0: Choose(product + 1)})
        bonus = 40 * (product == best(shelf, goal))
        assert episode.returns[0] == worth(shelf[product], goal) - bonus
        assert episode.returns[1] == 0.5 * shelf[product].green + bonus


@pytest.mark.parametrize("information", ["none", "prices", "full"])
def test_the_principal_sees_what_the_option_says(information: str) -> None:
    episode = Episode(Shopping(information=information), seed=0)
    assert (episode.observation(1)[11:] == -1).all()  # the shelf opens after the offer
    episode.act({0: Offer(5)})
    prices = [product.price for product in episode.state.shelf]
    assert episode.observation(1)[11::4].tolist() == prices
    episode.act({1: Recommend(1, 5)})
    seen = episode.observation(0)[11:].reshape(4, 4)
    assert (seen[:, 0] == (prices if information != "none" else -1)).all()
    assert (seen[:, 1] >= 0).all() == (information == "full")
    assert np.isclose(episode.observation(0)[6], 0)  # not the leaning


@pytest.mark.parametrize(
    "text", ["Offer(bonus=101)", "Offer(bonus=-1)", "Choose(product=1)", "Offer(bonus=1.5)"]
)
def test_impossible_moves_are_refused(text: str) -> None:
    with pytest.raises(InvalidAction):
        Episode(Shopping(), seed=0).parse(0, text)


@pytest.mark.parametrize(
    "options",
    [{"information": "some"}, {"products": 1}, {"trips": 0}, {"leaning": -2.0},
     {"leaning": float("nan")}, {"most_bonus": -1}],
)  # fmt: skip
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="|".join(options)):
        Shopping(**options)


@pytest.mark.parametrize("limit", [0, 1, 7])
def test_sampled_moves_keep_to_a_short_message_limit(limit: int) -> None:
    for record in palestra.play(ID, agents="random", episodes=3, seed=2, message_limit=limit):
        assert not any(record.mistakes)
        assert all(record.outcome.results[seat] != "forfeit" for seat in range(2))
