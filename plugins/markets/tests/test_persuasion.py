"""Persuasion: rules, memory, and the known equilibria of talk that costs nothing."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption
from palestra_markets.language.persuaders import committed_lies
from palestra_markets.language.persuasion import Buy, Pass, Persuasion, Recommend, Shop
from scipy.optimize import linprog

ID = "markets/Persuasion-v0"


def shop(seed: int = 0, **options: Any) -> Episode:
    return Episode(Persuasion(**options), seed=seed)


def play(seller: str, buyer: str, **settings: Any) -> Any:
    return palestra.play(ID, agents=[f"persuader:policy={seller}", buyer], **settings)


def test_a_sale_pays_the_price_and_the_worth_less_the_price() -> None:
    for seed in range(4):
        episode = shop(seed, rounds=1, bad_worth=30)
        good = episode.state.good
        episode.act({0: Recommend(True, "Fresh.")})
        assert 'They say: "Fresh."' in episode.prompt(1)
        episode.act({1: Buy()})
        assert list(episode.returns) == [100, 100 if good else -70]


def test_what_is_not_bought_pays_nobody_and_its_quality_comes_out() -> None:
    episode = shop()
    good = episode.state.good
    episode.act({0: Recommend(False)})
    episode.act({1: Pass()})
    assert list(episode.returns) == [0, 0]
    assert ("good" if good else "bad") in episode.transcript(1)[-1].text


def test_only_the_seller_sees_the_quality() -> None:
    episode = shop()
    assert episode.observation(0)[4] == episode.state.good
    assert episode.observation(1)[4] == -1
    assert "The product is" not in episode.describe(1)


def test_a_new_buyer_remembers_no_words_and_no_single_product() -> None:
    episode = shop(myopic=True)
    episode.act({0: Recommend(True, "Trust me.")})
    assert "Trust me." in episode.prompt(1)
    episode.act({1: Buy()})
    episode.act({0: Recommend(True, "Again.")})
    assert "Trust me." not in episode.prompt(1)
    assert episode.observation(1)[10:].tolist() == [-1, -1]
    assert episode.observation(1)[8] == 1


def test_a_worth_that_is_not_told_is_hidden_from_the_seller() -> None:
    episode = shop(complete=False, good_worth=None)
    assert episode.observation(0)[3] == -1
    assert str(episode.state.worth) not in episode.prompt(0)


@pytest.mark.parametrize("text", ["Buy()", "Recommend(buy=2)", "Recommend(buy='yes')"])
def test_what_is_no_advice_is_refused(text: str) -> None:
    with pytest.raises(InvalidAction):
        shop().parse(0, text)


@pytest.mark.parametrize(
    "options",
    [
        {"price": 0},
        {"good_worth": 50},
        {"bad_worth": 101},
        {"good_chance": 1.1},
        {"good_chance": float("nan")},
        {"continuation": -0.1},
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="|".join(options)):
        Persuasion(**options)


def test_a_shop_that_may_close_after_any_round_lasts_as_long_as_it_should() -> None:
    records = play("honest", "shopper", episodes=300, seed=0, continuation=0.8, rounds=200)
    lengths = [len(record.turns) / 2 for record in records]
    mean, spread = 1 / 0.2, (0.8**0.5 / 0.2) / len(lengths) ** 0.5
    assert sum(lengths) / len(lengths) == pytest.approx(mean, abs=4 * spread)


# Equilibria


@pytest.mark.parametrize(("chance", "worth", "bad"), [(0.4, 200, 0), (0.2, 300, 40), (0.3, 125, 0)])
def test_a_committed_seller_sells_what_the_linear_programme_allows(
    chance: float, worth: int, bad: int
) -> None:
    """Recommend with chances x (good) and y (bad) so that it pays to obey both ways."""
    game = Persuasion(good_chance=chance, good_worth=worth, bad_worth=bad)
    gain, loss = chance * (worth - game.price), (1 - chance) * (game.price - bad)
    obey = [[-gain, loss], [-gain, loss]]
    best = linprog([-chance, -(1 - chance)], obey, [0, loss - gain], bounds=(0, 1))
    sales = chance + (1 - chance) * committed_lies(game, worth)
    assert sales == pytest.approx(-best.fun)
    assert sales == pytest.approx(chance * (worth - bad) / (game.price - bad))


def test_committed_sales_come_out_in_play() -> None:
    records = play("commit", "shopper:belief=obey", episodes=20, seed=0, rounds=100)
    rate = sum(palestra.measure(record)["sales-rate"] for record in records) / 20
    assert rate == pytest.approx(0.8, abs=4 * (0.16 / 2000) ** 0.5)


@pytest.mark.parametrize("chance", [0.4, 0.6])
def test_in_a_single_round_talk_is_empty(chance: float) -> None:
    """Whatever a buyer answers to the two advices, a seller recommends what sells more."""
    game = Persuasion(rounds=1, good_chance=chance)
    for good in (False, True):
        for told in (Recommend(True), Recommend(False)):
            state = game.initial_state(0)
            state.good = good
            game.step(state, {0: told})
            assert game.step(state, {1: Buy()}).rewards[0]["sale"] == game.price
    (record,) = play("always", "shopper:belief=prior", episodes=1, rounds=1, good_chance=chance)
    assert (record.turns[-1].text == "Buy()") == (chance * 200 >= 100)


def best_answer(game: Persuasion, state: Shop, trusts: bool) -> Fraction:
    """The most a seller can expect against a grim buyer, over the whole tree of the game."""
    if state.ended:
        return Fraction(0)
    chance = Fraction(game.good_chance).limit_denominator(100)
    expected = Fraction(0)
    for good, weight in ((True, chance), (False, 1 - chance)):
        best = Fraction(-1)
        for buy in (True, False):
            twin = game.clone(state)
            twin.good = good
            game.step(twin, {0: Recommend(buy)})
            bought = trusts and buy
            paid = game.step(twin, {1: Buy() if bought else Pass()}).rewards
            trusted = trusts and (good or not buy)
            here = Fraction(paid[0]["sale"] if paid else 0)
            best = max(best, here + best_answer(game, twin, trusted))
        expected += weight * best
    return expected


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_the_patient_seller_is_a_best_answer_to_a_grim_buyer(rounds: int) -> None:
    """Honesty until the last round: p a round, and everything in the last one."""
    game = Persuasion(rounds=rounds)
    best = best_answer(game, game.initial_state(0), trusts=True)
    assert best == 100 * (Fraction(2, 5) * (rounds - 1) + 1)
    records = play("patient", "shopper:belief=grim", episodes=30, seed=0, rounds=rounds)
    for record in records:
        goods = palestra.measure(record, ["good-sold", "bad-unsold"])
        assert goods["good-sold"] == 1
        assert record.turns[-1].text == "Buy()"


@pytest.mark.parametrize("chance", [Fraction(1, 10), Fraction(2, 5), Fraction(1, 2)])
@pytest.mark.parametrize("goes_on", [Fraction(1, 2), Fraction(3, 4), Fraction(9, 10)])
def test_honesty_holds_exactly_where_the_future_outweighs_one_sale(
    chance: Fraction, goes_on: Fraction
) -> None:
    """Value iteration over a lie in every bad round against p >= (1 - c) / c."""
    honest = chance / (1 - goes_on)
    value = honest
    for _ in range(200):
        value = chance * (1 + goes_on * value) + (1 - chance) * max(goes_on * value, Fraction(1))
        value = value.limit_denominator(10**12)
    assert (value == honest) == (chance >= (1 - goes_on) / goes_on)


def test_an_honest_seller_and_a_trusting_buyer_are_efficient_and_fair() -> None:
    for record in play("honest", "shopper:belief=grim", episodes=5, seed=0):
        measured = palestra.measure(record)
        assert measured["good-sold"] == measured["bad-unsold"] == measured["buyer-gain"] == 1


@pytest.mark.parametrize("myopic", [False, True])
def test_a_buyer_who_learns_stops_believing_a_seller_who_always_recommends(myopic: bool) -> None:
    (record,) = play("always", "shopper", episodes=1, seed=1, rounds=40, myopic=myopic)
    assert {turn.text for turn in record.turns[-40:] if turn.seat == 1} == {"Pass()"}


def test_wrong_policies_and_beliefs_are_named() -> None:
    with pytest.raises(InvalidOption, match=r"policy of agent .* must be 'honest' or 'always' or"):
        play("loud", "shopper", episodes=1)
    with pytest.raises(InvalidOption, match=r"belief of agent .* must be 'grim' or 'prior' or"):
        play("honest", "shopper:belief=none", episodes=1)
