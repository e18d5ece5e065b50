"""Price negotiation: rules, outside options, backward induction by brute force, and metrics."""

from __future__ import annotations

from functools import cache
from typing import Any

import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption
from palestra_markets.language.bargaining import Accept, Reject
from palestra_markets.language.price_negotiation import Offer, PriceNegotiation, Walk

ID = "markets/PriceNegotiation-v0"


def talks(**options: Any) -> Episode:
    return Episode(PriceNegotiation(**{"seller_value": 80, "buyer_value": 120, **options}), seed=0)


def played(agents: list[str], **options: Any) -> Any:
    (record,) = palestra.play(ID, agents=agents, episodes=1, **options)
    return record


def test_a_sale_pays_the_price_less_the_value_and_the_value_less_the_price() -> None:
    episode = talks()
    episode.act({0: Offer(130)})
    episode.act({1: Reject()})
    episode.act({1: Offer(95, "No more.")})
    assert 'They say: "No more."' in episode.log[-1][0].text
    episode.act({0: Accept()})
    assert list(episode.returns) == [15, 25]
    assert episode.outcome.reason == "Sold for 95."


def test_a_bad_price_loses_money() -> None:
    episode = talks()
    episode.act({0: Offer(200)})
    episode.act({1: Accept()})
    assert list(episode.returns) == [120, -80]


@pytest.mark.parametrize("first", [Walk(), Offer(100)])
def test_walking_away_pays_both_outside_options(first: Any) -> None:
    episode = talks(outside_0=7, outside_1=9)
    episode.act({0: first})
    if not episode.over:
        episode.act({1: Walk()})
    assert list(episode.returns) == [7, 9]


@pytest.mark.parametrize("unbounded", [False, True])
def test_time_that_runs_out_pays_nobody(unbounded: bool) -> None:
    episode = talks(rounds=1, unbounded=unbounded, outside_0=7, outside_1=9)
    episode.act({0: Offer(100)})
    episode.act({1: Reject()})
    assert episode.over
    assert episode.truncated == unbounded
    assert list(episode.returns) == [0, 0]


def test_a_hidden_value_and_an_unknown_end_are_not_told() -> None:
    episode = talks(complete=False, unbounded=True, buyer_value=123, rounds=77)
    assert "123" not in episode.prompt(0)
    assert "77" not in episode.prompt(0) + episode.game.rules_for(0)
    assert episode.observation(0)[[2, 4]].tolist() == [0, -1]


@pytest.mark.parametrize("text", ["Offer(price=201)", "Offer(price=-1)", "Offer(price=inf)"])
def test_a_price_out_of_range_is_refused(text: str) -> None:
    with pytest.raises(InvalidAction):
        talks().parse(0, text)


@pytest.mark.parametrize(
    "options",
    [{"scale": 0}, {"rounds": 0}, {"seller_value": 201}, {"outside_1": -1}, {"buyer_value": 1.5}],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="|".join(options)):
        PriceNegotiation(**options)


# Equilibria


def solve(game: PriceNegotiation, values: tuple[int, int]) -> tuple[int, int]:
    """Payoffs of the subgame-perfect equilibrium, every price of the tree tried; who is indifferent
    accepts, walks rather than goes on, and names what pays both more.
    """

    @cache
    def value(at: int) -> tuple[int, int]:
        if at == game.rounds:
            return 0, 0
        proposer, later = at % 2, value(at + 1)
        answerer = 1 - proposer
        refused = game.outside if game.outside[answerer] >= later[answerer] else later
        best = game.outside
        for price in range(game.max_price + 1):
            paid = price - values[0], values[1] - price
            reached = paid if paid[answerer] >= refused[answerer] else refused
            best = max(best, reached, key=lambda pair: (pair[proposer], sum(pair)))
        return best

    return value(0)


@pytest.mark.parametrize("rounds", [1, 2, 3, 6])
@pytest.mark.parametrize("values", [(16, 24), (20, 30), (30, 20), (20, 20)])
@pytest.mark.parametrize("outside", [(0, 0), (3, 0), (0, 5), (4, 3), (9, 9)])
def test_with_an_end_play_is_that_of_backward_induction(
    rounds: int, values: tuple[int, int], outside: tuple[int, int]
) -> None:
    options = {
        "scale": 20,
        "rounds": rounds,
        "seller_value": values[0],
        "buyer_value": values[1],
        "outside_0": outside[0],
        "outside_1": outside[1],
    }
    expected = solve(PriceNegotiation(**options), values)
    assert played(["haggler"] * 2, **options).returns == expected


@pytest.mark.parametrize(("rounds", "winner"), [(1, 0), (2, 1), (9, 0), (10, 1)])
def test_whoever_names_the_last_price_takes_the_whole_gain(rounds: int, winner: int) -> None:
    record = played(["haggler"] * 2, seller_value=80, buyer_value=120, rounds=rounds)
    assert record.returns[winner] == 40
    assert len(record.steps) == 2


def test_without_an_end_the_surplus_over_the_outside_options_is_halved() -> None:
    options = {"seller_value": 80, "buyer_value": 120, "outside_0": 10, "unbounded": True}
    assert played(["haggler"] * 2, **options).returns == (25, 15)


@pytest.mark.parametrize("seller", [80, 100, 120, 150])
def test_the_one_price_against_a_hidden_value_is_the_best_of_all(seller: int) -> None:
    game = PriceNegotiation()
    drawn = [80, 100, 120, 150]
    best = max(sum(p - seller for v in drawn if v >= p) / 4 for p in range(game.max_price + 1))
    options = {"seller_value": seller, "rounds": 1, "complete": False}
    paid = [played(["haggler"] * 2, buyer_value=v, **options).returns[0] for v in drawn]
    assert sum(paid) / 4 == max(0, best)


# Metrics


def test_efficiency_is_no_trade_where_the_seller_values_it_more() -> None:
    options = {"seller_value": 120, "buyer_value": 80}
    kept = played(["haggler"] * 2, **options)
    assert palestra.measure(kept)["trade-efficiency"] == 1
    sold = talks(**options)
    sold.act({0: Offer(100)})
    sold.act({1: Accept()})
    record = palestra.record_episode(sold)
    assert palestra.measure(record, ["trade-efficiency"])["trade-efficiency"] == 0


def test_the_halfway_price_is_fair_and_efficient() -> None:
    measured = palestra.measure(played(["fair-price"] * 2, seller_value=80, buyer_value=120))
    assert measured["trade-efficiency"] == measured["trade-fairness"] == 1
    assert measured["seller-gain"] == 0.5


def test_all_to_one_side_is_not_fair() -> None:
    record = played(["haggler"] * 2, seller_value=80, buyer_value=120, rounds=1)
    assert palestra.measure(record)["trade-fairness"] == 0


@pytest.mark.parametrize("pair", [["haggler", "fair-price"], ["fair-price", "haggler"]])
def test_hidden_values_never_make_a_reference_player_lose(pair: list[str]) -> None:
    for record in palestra.play(ID, agents=pair, episodes=20, seed=0, complete=False):
        assert min(record.returns) >= 0
