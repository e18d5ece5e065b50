"""Alternating offers: rules, Rubinstein's shares, and backward induction by brute force."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption
from palestra_markets.language.bargainers import proposer_share, rubinstein_share
from palestra_markets.language.bargaining import Accept, Bargaining, Propose, Reject

ID = "markets/Bargaining-v0"


def talks(**options: Any) -> Episode:
    return Episode(Bargaining(**{"discount_0": 0.9, "discount_1": 0.5, **options}), seed=0)


def test_a_deal_pays_shares_discounted_by_the_rounds_it_took() -> None:
    episode = talks()
    episode.act({0: Propose(70)})
    episode.act({1: Reject()})
    episode.act({1: Propose(40, "Meet me here.")})
    assert 'They say: "Meet me here."' in episode.log[-1][0].text
    episode.act({0: Accept()})
    assert list(episode.returns) == [60 * 0.9, 40 * 0.5]
    assert episode.outcome.reason == "They agreed."


@pytest.mark.parametrize("unbounded", [False, True])
def test_no_deal_pays_nobody(unbounded: bool) -> None:
    episode = talks(rounds=2, unbounded=unbounded)
    for seat in (0, 1):
        episode.act({seat: Propose(100)})
        episode.act({1 - seat: Reject()})
    assert episode.over
    assert episode.truncated == unbounded
    assert list(episode.returns) == [0, 0]


def test_only_a_standing_proposal_is_answered_and_only_by_the_other() -> None:
    episode = talks()
    with pytest.raises(InvalidAction):
        episode.act({0: Accept()})
    episode.act({0: Propose(50)})
    assert episode.to_act == (1,)
    with pytest.raises(InvalidAction):
        episode.act({1: Propose(50)})


@pytest.mark.parametrize("text", ["Propose(share=101)", "Propose(share=-1)", "Propose(share=nan)"])
def test_a_share_that_is_not_there_is_refused(text: str) -> None:
    with pytest.raises(InvalidAction, match=r"0\.\.100"):
        talks().parse(0, text)


def test_words_are_refused_where_there_are_none() -> None:
    with pytest.raises(InvalidAction, match="text"):
        talks(messages=False).act({0: Propose(50, "hello")})


def test_an_unknown_discount_and_an_unknown_end_are_not_told() -> None:
    episode = talks(complete=False, unbounded=True, rounds=77)
    assert "0.5" not in episode.prompt(0)
    assert "77" not in episode.prompt(0) + episode.game.rules_for(0)
    assert episode.observation(0)[[2, 4]].tolist() == [0, 0]


@pytest.mark.parametrize(
    "options", [{"total": 0}, {"rounds": 0}, {"discount_0": 0.0}, {"discount_1": 1.5}]
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="|".join(options)):
        Bargaining(**options)


# Equilibria


@pytest.mark.parametrize("discounts", [(0.9, 0.8), (0.5, 0.95), (0.99, 0.99), (0.8, 1.0)])
def test_without_an_end_the_opener_gets_rubinsteins_share(discounts: tuple[float, float]) -> None:
    d0, d1 = discounts
    total = 1_000_000
    options = {"unbounded": True, "rounds": 99, "total": total}
    (record,) = palestra.play(
        ID, agents=["rubinstein"] * 2, episodes=1, discount_0=d0, discount_1=d1, **options
    )
    assert record.returns[0] / total == pytest.approx((1 - d1) / (1 - d0 * d1), abs=2e-6)
    assert palestra.measure(record)["deal-efficiency"] == 1


def test_a_long_known_horizon_comes_close_to_none() -> None:
    assert proposer_share(10**9, 400, 0.9, 0.8) / 10**9 == pytest.approx(
        rubinstein_share(0.9, 0.8), abs=1e-6
    )


TENTHS = {0.5: Fraction(1, 2), 0.8: Fraction(4, 5), 0.9: Fraction(9, 10)}


def solve(total: int, rounds: int, discounts: tuple[Fraction, Fraction]) -> tuple[Fraction, ...]:
    """Both payoffs of the game tree with every share tried, in exact fractions."""

    @cache
    def value(at: int) -> tuple[Fraction, Fraction]:
        if at == rounds:
            return Fraction(0), Fraction(0)
        proposer, later = at % 2, value(at + 1)
        best: tuple[Fraction, Fraction] = later
        for share in range(total, -1, -1):
            kept = [Fraction(0)] * 2
            kept[proposer] = share * discounts[proposer] ** at
            kept[1 - proposer] = (total - share) * discounts[1 - proposer] ** at
            if kept[1 - proposer] >= later[1 - proposer] and kept[proposer] > best[proposer]:
                best = kept[0], kept[1]
        return best

    return value(0)


@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("discounts", [(0.9, 0.8), (0.5, 0.9), (0.8, 0.8)])
def test_with_an_end_play_is_that_of_backward_induction(
    rounds: int, discounts: tuple[float, float]
) -> None:
    (record,) = palestra.play(
        ID,
        agents=["rubinstein"] * 2,
        episodes=1,
        total=20,
        rounds=rounds,
        discount_0=discounts[0],
        discount_1=discounts[1],
    )
    expected = solve(20, rounds, (TENTHS[discounts[0]], TENTHS[discounts[1]]))
    assert record.returns == pytest.approx([float(value) for value in expected])


def test_an_even_split_is_fair_and_efficient() -> None:
    records = palestra.play(ID, agents=["even-split"] * 2, episodes=5, seed=0)
    for record in records:
        measured = palestra.measure(record)
        assert measured["deal-efficiency"] == measured["deal-fairness"] == 1
        assert measured["first-seat-gain"] == 0.5


def test_a_player_without_the_others_discount_still_agrees_in_time() -> None:
    records = palestra.play(ID, agents=["rubinstein"] * 2, episodes=10, seed=0, complete=False)
    assert all(record.outcome.reason == "They agreed." for record in records)
