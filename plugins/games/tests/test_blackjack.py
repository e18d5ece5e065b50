"""Blackjack: Gymnasium's rules card by card, and exact values of policies."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from itertools import product
from typing import Any

import palestra
import pytest
from gymnasium.envs.toy_text import blackjack as gymnasium_blackjack
from palestra import Episode, InvalidOption, Rng
from palestra.scene import RoundTable
from palestra_games.card.blackjack import (
    DEALER,
    HIT,
    PLAYER,
    STICK,
    Blackjack,
    basic_move,
    has_usable_ace,
    points,
    total,
)

ACE, NINE, TEN, KING = 0, 8, 9, 12
RULES: Any = gymnasium_blackjack
CARDS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10)


def start(own: tuple[int, ...], dealer: tuple[int, ...], **options: Any) -> Episode:
    """A hand with these ranks, of which 0 is an ace."""
    episode = Episode(Blackjack(**options), 0, compiled=False)
    state = episode.state
    for owner, cards in ((PLAYER, own), (DEALER, dealer)):
        state.hands[owner] = 0
        state.hands[owner, : len(cards)] = cards
        state.held[owner] = len(cards)
    episode.load(state)
    return episode


# Against Gymnasium's Blackjack-v1


def observed(state: Any) -> tuple[int, int, bool]:
    return total(state, PLAYER), points(state.hands[DEALER, 0]), bool(has_usable_ace(state, PLAYER))


@pytest.mark.parametrize("options", [{}, {"natural": True}, {"sab": True}])
def test_whole_hands_agree_with_gymnasium(
    options: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = RULES.BlackjackEnv(**options)
    coming: list[int] = []
    monkeypatch.setattr(gymnasium_blackjack, "draw_card", lambda _: coming.pop(0))
    seen: Counter[float] = Counter()
    for seed in range(500):
        episode, rng = Episode(Blackjack(**options), seed, compiled=False), Rng(seed)
        state = episode.state
        coming = [points(card) for owner in (DEALER, PLAYER) for card in state.hands[owner, :2]]
        theirs.reset(seed=seed)
        paid, done = 0.0, False
        while not done:
            assert observed(episode.state) == theirs._get_obs()
            held = episode.state.held.tolist()
            move = HIT if rng.below(3) == 0 else STICK
            episode.act({0: move})
            after = episode.state
            owner = PLAYER if move == HIT else DEALER
            coming = [points(c) for c in after.hands[owner, held[owner] : after.held[owner]]]
            _, paid, done, _, _ = theirs.step(move)
            assert not coming
            assert episode.over == done
        assert episode.returns[0] == paid
        seen[paid] += 1
    assert (seen[1.5] > 0) == ("natural" in options)


# Exact values, by the functions of Gymnasium

Hand = tuple[int, ...]


def drawing(hand: Hand) -> list[Hand]:
    """The hand after each of the 13 cards, as an ace and the rest or as one sum."""
    hands = [(*hand, card) for card in CARDS]
    return [(1, sum(h) - 1) if 1 in h else (sum(h),) for h in hands]


@cache
def dealer_ends(hand: Hand) -> dict[int, float]:
    """The chance of each of the dealer's scores, 0 if they are bust."""
    if RULES.sum_hand(hand) >= 17:
        return {RULES.score(hand): 1.0}
    ends: defaultdict[int, float] = defaultdict(float)
    for longer in drawing(hand):
        for score, chance in dealer_ends(longer).items():
            ends[score] += chance / 13
    return dict(ends)


@cache
def stick_value(own: int, shown: int, natural: bool, rule: str) -> float:
    value = 0.0
    for hole in CARDS:
        for score, chance in dealer_ends((shown, hole)).items():
            paid = RULES.cmp(own, score)
            if rule == "sab" and natural and not RULES.is_natural((shown, hole)):
                paid = 1.0
            if rule == "natural" and natural and paid == 1:
                paid = 1.5
            value += paid * chance / 13
    return value


@cache
def best_value(hand: Hand, shown: int, natural: bool, rule: str) -> float:
    if RULES.is_bust(hand):
        return -1.0
    hit = sum(best_value(longer, shown, False, rule) for longer in drawing(hand)) / 13
    return max(hit, stick_value(RULES.sum_hand(hand), shown, natural, rule))


@cache
def policy_value(hand: Hand, shown: int, natural: bool, rule: str) -> float:
    """The value of basic strategy."""
    if RULES.is_bust(hand):
        return -1.0
    own = RULES.sum_hand(hand)
    if basic_move(own, shown, RULES.usable_ace(hand)) == STICK:
        return stick_value(own, shown, natural, rule)
    return sum(policy_value(longer, shown, False, rule) for longer in drawing(hand)) / 13


def over_deals(value: Any, rule: str) -> float:
    paid = 0.0
    for first, second, shown in product(CARDS, repeat=3):
        hand = (first, second)
        paid += float(value(tuple(sorted(hand)), shown, RULES.is_natural(hand), rule))
    return paid / 13**3


@pytest.mark.parametrize("rule", ["", "natural", "sab"])
def test_basic_strategy_is_worth_as_much_as_the_best_policy(rule: str) -> None:
    assert over_deals(policy_value, rule) == pytest.approx(over_deals(best_value, rule), abs=1e-12)


# The chance that the dealer is bust by the card they show, in per cent: the published table for an
# infinite deck and a dealer who stands on every 17.
BUST = {2: 35.36, 3: 37.39, 4: 39.45, 5: 41.64, 6: 42.32, 7: 26.23, 8: 24.47, 9: 22.84, 10: 21.21}


@pytest.mark.parametrize(("shown", "percent"), [*BUST.items(), (1, 11.53)])
def test_the_dealer_is_bust_as_often_as_published(shown: int, percent: float) -> None:
    ends = sum(dealer_ends((shown, hole)).get(0, 0.0) for hole in CARDS) / 13
    assert 100 * ends == pytest.approx(percent, abs=0.006)


def test_played_hands_of_basic_strategy_pay_its_exact_value() -> None:
    records = palestra.play("games/Blackjack-v0", agents=["basic-strategy"], episodes=1_000, seed=3)
    mean = sum(record.outcome.scores[0] for record in records if record.outcome) / 1_000
    assert abs(mean - over_deals(policy_value, "")) < 4 * 0.96 / 1_000**0.5


# The rules


def test_a_bust_player_loses_although_the_dealer_would_be_bust_too() -> None:
    episode = start((TEN, KING, 1), (TEN, 5))
    state = episode.state
    state.left[:] = 0
    state.left[KING] = 1
    episode.load(state)
    episode.act({0: HIT})
    assert episode.over
    assert episode.returns[0] == -1
    assert episode.events[-1].text == "You hit and get a king. You are bust."


def test_the_dealer_stands_on_a_soft_17() -> None:
    episode = start((TEN, 7), (ACE, 5))
    episode.act({0: STICK})
    assert episode.state.held[DEALER] == 2
    assert episode.returns[0] == 1


@pytest.mark.parametrize(
    ("own", "dealer", "options", "paid"),
    [
        ((ACE, KING), (TEN, NINE), {}, 1),
        ((ACE, KING), (TEN, NINE), {"natural": True}, 1.5),
        ((ACE, KING), (TEN, NINE), {"sab": True}, 1),
        ((ACE, KING), (ACE, TEN), {}, 0),
        ((ACE, KING), (ACE, TEN), {"natural": True}, 0),
        ((ACE, KING), (ACE, TEN), {"sab": True}, 0),
        ((ACE, KING), (TEN, 5, 4), {}, 0),
        ((ACE, KING), (TEN, 5, 4), {"natural": True}, 0),
        ((ACE, KING), (TEN, 5, 4), {"sab": True}, 1),
        ((6, 6, 6), (ACE, TEN), {"sab": True}, 0),
        ((6, 6, 6), (TEN, NINE), {"natural": True}, 1),
    ],
)
def test_naturals_are_paid_by_the_options(
    own: tuple[int, ...], dealer: tuple[int, ...], options: dict[str, bool], paid: float
) -> None:
    episode = start(own, dealer, **options)
    episode.act({0: STICK})
    assert episode.returns[0] == paid
    assert episode.outcome is not None
    assert episode.outcome.scores == (paid,)


def test_an_ace_counts_11_only_where_it_fits() -> None:
    for own, count, ace in (((ACE, ACE), 12, 1), ((ACE, 5, TEN), 17, 0), ((ACE, NINE), 20, 1)):
        assert start(own, (TEN, 5)).observation(0).tolist() == [count, 10, ace]


def test_cards_of_one_deck_are_not_drawn_twice() -> None:
    for seed in range(40):
        episode = Episode(Blackjack(decks=1), seed, compiled=False)
        while not episode.over:
            episode.act({0: HIT})
        state = episode.state
        drawn = Counter(
            card for owner in range(2) for card in state.hands[owner, : state.held[owner]].tolist()
        )
        assert [drawn[rank] + int(state.left[rank]) for rank in range(13)] == [4] * 13


def test_hidden_cards_are_redrawn_from_those_not_seen() -> None:
    episode = start((ACE, ACE, ACE), (ACE, 5), decks=1)
    state = episode.state
    state.left[:] = [0, 4, 0, 0, 0, 3, *[0] * 7]
    drawn: Counter[int] = Counter()
    for seed in range(1_000):
        copy = episode.game.determinize(state, 0, Rng(seed))
        drawn[int(copy.hands[DEALER, 1])] += 1
        assert copy.left.sum() == state.left.sum()
    assert set(drawn) == {1, 5}
    assert 430 < drawn[5] < 570  # four of eight


def test_the_dealers_second_card_is_shown_after_sticking_and_not_after_a_bust() -> None:
    def glyphs(episode: Episode, seat: int | None) -> list[str]:
        (table,) = episode.game.scene(episode.state, seat).parts
        assert isinstance(table, RoundTable)
        return ["?" if card.hidden else card.rank for card in table.people[1].cards]

    episode = start((TEN, 7), (TEN, NINE))
    assert glyphs(episode, 0) == ["10", "?"]
    assert glyphs(episode, None) == ["10", "9"]
    episode.act({0: STICK})
    assert glyphs(episode, 0) == ["10", "9"]
    assert episode.events[-1].text == (
        "You stick. The dealer's cards are a 10 and a 9: the dealer has 19."
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"decks": 9}, "from 0 to 8"),
        ({"decks": -1}, "from 0 to 8"),
        ({"natural": True, "sab": True}, "one"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        Blackjack(**options)


def test_the_agent_plays_nothing_else() -> None:
    with pytest.raises(InvalidOption, match="Blackjack"):
        palestra.play("games/TicTacToe-v0", agents=["basic-strategy", "random"], episodes=1)
