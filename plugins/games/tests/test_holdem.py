"""Texas hold'em: published counts of hands, OpenSpiel's betting, and the edges of the rules."""

from __future__ import annotations

import re
from itertools import combinations
from types import FunctionType
from typing import Any, cast

import numpy as np
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng
from palestra.scene import RoundTable
from palestra_games.card.holdem import (
    BASE,
    CALL,
    FOLD,
    HANDS,
    PAIR,
    QUADS,
    RAISE,
    STRAIGHT,
    STRAIGHT_FLUSH,
    Holdem,
    read_card,
    strength,
    worth,
)

DEAL = "AsAh KsKh QsQh 2c3c4d8d9c"


def code(cards: str) -> list[int]:
    return [read_card(pair) for pair in zip(*[iter(cards.replace(" ", ""))] * 2, strict=True)]


def value(cards: list[int] | tuple[int, ...]) -> int:
    counts = sum(1 << 4 * (card // 4) for card in cards)
    suits = sum(1 << (BASE * (card % 4) + card // 4) for card in cards)
    return worth(counts, suits)


def play(cards: str, moves: str, **options: Any) -> Episode:
    """Play moves, of which k is a check, c a call, f a fold, r a raise and a number a raise to."""
    game = Holdem(**options)
    episode = Episode(game, 0, compiled=False)
    episode.load(game.deal(cards))
    words = {"k": "check", "c": "call", "f": "fold", "r": "raise"}
    for move in moves.split():
        seat = episode.to_act[0]
        episode.act({seat: episode.parse(seat, words.get(move, f"raise to {move}"))})
    return episode


# Hands


@pytest.mark.exhaustive
def test_all_hands_of_five_cards_come_as_often_as_published() -> None:
    numba = pytest.importorskip("numba", reason="numba is not installed")
    from palestra.engine.rule_functions import device_functions

    rules = {"worth": cast(FunctionType, worth)}
    compiled = device_functions(rules, numba.njit, "_counting")["worth"]

    @numba.njit  # type: ignore[untyped-decorator]
    def all_hands(kinds: Any, seen: Any) -> None:
        for a in range(52):
            for b in range(a):
                for c in range(b):
                    for d in range(c):
                        for e in range(d):
                            counts = 0
                            suits = 0
                            for card in (a, b, c, d, e):
                                counts += 1 << 4 * (card // 4)
                                suits |= 1 << (13 * (card % 4) + card // 4)
                            found = compiled(counts, suits)
                            kinds[found // 371293] += 1
                            seen[found] = 1

    kinds, seen = np.zeros(9, np.int64), np.zeros(9 * BASE**5, np.int8)
    all_hands(kinds, seen)
    assert dict(zip(HANDS, kinds.tolist(), strict=True)) == {
        "high card": 1_302_540,
        "a pair": 1_098_240,
        "two pair": 123_552,
        "three of a kind": 54_912,
        "a straight": 10_200,
        "a flush": 5_108,
        "a full house": 3_744,
        "four of a kind": 624,
        "a straight flush": 40,
    }
    assert seen.sum() == 7_462  # hands that are not equal, as published


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("AsKsQsJsTs", "9h8h7h6h5h"),
        ("6c5c4c3c2c", "5d4d3d2dAd"),
        ("5d4d3d2dAd", "AsAhAcAdKs"),
        ("2s2h2c2d3s", "AsAhAcKdKs"),
        ("3s3h3c2d2s", "2h2c2d3d3h"),
        ("2s2h2cAdAs", "AhQhTh8h6h"),
        ("Ah6h5h4h2h", "AsKdQsJdTs"),
        ("6s5d4s3d2s", "As2d3s4d5c"),
        ("As2d3s4d5c", "AsAdAhKsQd"),
        ("2s2d2h4s3d", "AsAdKsKdQh"),
        ("AsAd3s3dKh", "KsKdQsQdAh"),
        ("AsAd3s3dKh", "AhAc3h3cQd"),
        ("2s2dAhKsQd", "AsKdQhJs9d"),
        ("AsKdQhJs9d", "AhKcQdJc8s"),
    ],
)
def test_hands_rank_by_the_rule_book(better: str, worse: str) -> None:
    assert value(code(better)) > value(code(worse))


def test_suits_do_not_decide_and_the_sixth_card_does_not_count() -> None:
    assert value(code("AsKdQhJs9d")) == value(code("AhKcQdJc9s"))
    assert value(code("AsAdKsKdQhQc2s")) == value(code("AsAdKsKdQhQcJs"))
    assert value(code("AsAdKsKdQhJc2s")) == value(code("AhAcKhKcQd3s4s"))


def test_seven_cards_are_worth_their_best_five() -> None:
    rng = Rng(3)
    for _ in range(300):
        deck = list(range(52))
        rng.shuffle(deck)
        cards = deck[:7] if rng.below(2) else [c for c in deck if c % 4 == 0 or c // 4 < 4][:7]
        assert value(cards) == max(value(five) for five in combinations(cards, 5))


@pytest.mark.parametrize(
    ("cards", "kind"),
    [
        ("AsKsQsJsTs9s8s", STRAIGHT_FLUSH),
        ("As2s3s4s5sKdKh", STRAIGHT_FLUSH),
        ("AsAhAdAcKsKhKd", QUADS),
        ("AsKsQsJsTh2d3d", STRAIGHT),
        ("KsAs2d3h4c9d9h", PAIR),
    ],
)
def test_the_kind_of_seven_cards(cards: str, kind: int) -> None:
    assert value(code(cards)) // BASE**5 == kind


# Against OpenSpiel


def theirs(game: Holdem) -> Any:
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    seats, limit = game.num_players, game.betting == "limit"
    first = "1 2 2 2" if seats == 2 else "3 1 1 1"
    blinds = [game.small_blind, game.big_blind, *[0] * (seats - 2)]
    options = {
        "betting": game.betting.replace("-", ""),
        "bettingAbstraction": "fcpa" if limit else "fullgame",
        "numPlayers": seats,
        "numRounds": 4,
        "blind": " ".join(map(str, blinds)),
        "firstPlayer": first,
        "numSuits": 4,
        "numRanks": 13,
        "numHoleCards": 2,
        "numBoardCards": "0 3 1 1",
        "stack": " ".join([str(game.stack)] * seats),
    }
    if limit:
        options["raiseSize"] = " ".join(str(n * game.big_blind) for n in (1, 1, 2, 2))
        options["maxRaises"] = "3 4 4 4"
    return pyspiel.load_game("universal_poker", options)


def put_in_before(state: Any, seat: int) -> int:
    return int(state.bets[: state.stage, seat].sum())


def compare_a_hand(game: Holdem, other: Any, seed: int) -> float:
    """Play one random hand on both sides; returns what the first seat is paid."""
    state, rng = game.initial_state(seed), Rng(seed)
    cards = iter(state.deck.tolist())
    paid = [0.0] * game.num_players
    while True:
        while other.is_chance_node():
            other.apply_action(next(cards))
        acting = game.to_act(state)
        assert acting == (() if other.is_terminal() else (other.current_player(),))
        if not acting:
            assert paid == pytest.approx(other.returns())
            return paid[0]
        seat = acting[0]
        before = put_in_before(state, seat)

        def translated(action: int, before: int = before) -> int:
            no_limit_raise = action >= RAISE and game.betting == "no-limit"
            return action - 1 + before if no_limit_raise else action

        legal = game.legal_actions(state, seat)
        assert sorted(map(translated, legal)) == sorted(other.legal_actions())
        passive = [action for action in legal if action < RAISE and action != FOLD]
        action = rng.choice(passive if rng.below(3) else legal)
        other.apply_action(translated(action))
        step = game.step(state, {seat: action})
        paid = [sum(step.rewards.get(owner, {}).values()) for owner in range(game.num_players)]


@pytest.mark.parametrize(
    ("options", "hands"),
    [
        ({"stack": 20}, 150),
        ({"stack": 7, "small_blind": 1, "big_blind": 3}, 150),
        ({"betting": "limit", "stack": 60}, 150),
        ({"num_players": 3, "stack": 25}, 120),
        ({"num_players": 6, "stack": 12}, 80),
        ({"num_players": 4, "betting": "limit", "stack": 60}, 80),
    ],
)
def test_whole_hands_agree_with_openspiel(options: dict[str, Any], hands: int) -> None:
    game = Holdem(**options)
    other = theirs(game)
    paid = [compare_a_hand(game, other.new_initial_state(), seed) for seed in range(hands)]
    assert min(paid) < 0 < max(paid)


# The rules


@pytest.mark.parametrize(
    ("moves", "paid"),
    [
        ("f", (-1, 1)),
        ("4 f", (2, -2)),
        ("c k k k k k k k", (2, -2)),
        ("c k 10 f", (-2, 2)),
        ("4 c k 6 c k k k k", (10, -10)),
        ("100 c", (100, -100)),
        ("4 20 100 c", (100, -100)),
    ],
)
def test_the_pot_is_paid_by_the_rule_book(moves: str, paid: tuple[float, float]) -> None:
    episode = play("AsAh KsKh 2c3c4d8d9c", moves)
    assert episode.over
    assert tuple(episode.returns) == paid
    assert episode.outcome is not None
    assert episode.outcome.scores == paid


def test_the_small_blind_opens_and_the_big_blind_may_raise_after_calls() -> None:
    episode = play("AsAh KsKh 2c3c4d8d9c", "c")
    assert episode.to_act == (1,)
    assert episode.legal_text(1) == "check, raise to 4 … raise to 100"
    assert play("AsAh KsKh 2c3c4d8d9c", "c k").to_act == (1,)


def test_a_raise_is_as_large_as_the_last_one_or_all_in() -> None:
    episode = play("AsAh KsKh 2c3c4d8d9c", "10")
    assert episode.legal_text(1) == "fold, call, raise to 18 … raise to 100"
    with pytest.raises(InvalidAction, match="raise to 18"):
        episode.parse(1, "raise to 17")
    episode.act({1: episode.parse(1, "raise to 60")})
    assert episode.legal_text(0) == "fold, call, raise to 100"
    episode.act({0: episode.parse(0, "raise to 100")})
    assert episode.legal_text(1) == "fold, call"


def test_a_new_round_starts_from_the_big_blind_again() -> None:
    episode = play("AsAh KsKh 2c3c4d8d9c", "10 c")
    assert episode.legal_text(1) == "check, raise to 2 … raise to 90"


def test_limit_raises_are_fixed_doubled_on_the_turn_and_at_most_four() -> None:
    episode = play("AsAh KsKh 2c3c4d8d9c", "r r", betting="limit")
    assert episode.state.bets[0].tolist() == [4, 6]
    assert episode.legal_text(0) == "fold, call, raise"
    episode = play("AsAh KsKh 2c3c4d8d9c", "r r r", betting="limit")
    assert episode.legal_text(1) == "fold, call"
    episode = play("AsAh KsKh 2c3c4d8d9c", "r r r c r c r", betting="limit")
    assert episode.state.bets.tolist()[:3] == [[8, 8], [2, 2], [0, 4]]


def test_all_in_players_see_the_rest_of_the_board() -> None:
    episode = play("AsAh KsKh 2c3c4d8d9c", "c k 98 c")
    assert episode.over
    assert [event.text for event in episode.events][-5:] == [
        "The turn: the board is 2c 3c 4d 8d.",
        "The river: the board is 2c 3c 4d 8d 9c.",
        "player_0 shows As Ah: a pair.",
        "player_1 shows Ks Kh: a pair.",
        "Paid: player_0 +100, player_1 -100.",
    ]


def test_equal_hands_split_the_pot_with_what_the_folded_have_put_in() -> None:
    deal = "2s3s 2h3h 4s4h AcKcQdJdTd"
    episode = play(deal, "9 c c", num_players=3)
    for _ in range(9):
        seat = episode.to_act[0]
        episode.act({seat: CALL})
    assert episode.over
    assert list(episode.returns) == [0, 0, 0]
    episode = play(deal, "9 c c 5 f c k k k k", num_players=3)
    assert list(episode.returns) == [4.5, -9, 4.5]


def test_a_seat_that_has_folded_is_not_asked_again() -> None:
    episode = play(DEAL, "f c k", num_players=3)
    assert episode.to_act == (0,)
    episode = play(DEAL, "c f k", num_players=3)
    assert episode.to_act == (1,)
    assert play(DEAL, "4 f f", num_players=3).returns == play(DEAL, "9 f f", num_players=3).returns


def test_folded_cards_stay_hidden_and_shown_cards_do_not() -> None:
    episode = play(DEAL, "f c k k k k k k k", num_players=3)
    assert episode.over
    game, state = episode.game, episode.state
    drawn = [game.determinize(state, 0, Rng(n)).deck.tolist() for n in range(30)]
    assert len({tuple(sorted(deck)) for deck in drawn}) == 1
    fixed = [place for place in range(52) if len({deck[place] for deck in drawn}) == 1]
    assert fixed == [0, 1, 2, 3, 6, 7, 8, 9, 10]
    (table,) = game.scene(state, 0).parts
    assert isinstance(table, RoundTable)
    _, shown, folded = table.people
    assert folded.out
    assert [card.hidden for card in folded.cards] == [True, True]
    assert [(card.rank, card.suit) for card in shown.cards] == [("K", "spades"), ("K", "hearts")]


@pytest.mark.parametrize(("seats", "button"), [(2, 0), (3, 2), (6, 5)])
def test_the_button_is_before_the_small_blind_and_with_it_of_two(seats: int, button: int) -> None:
    game = Holdem(num_players=seats)
    (table,) = game.scene(game.initial_state(0)).parts
    assert isinstance(table, RoundTable)
    assert [person.dealer for person in table.people] == [seat == button for seat in range(seats)]
    assert [person.chips for person in table.people] == [1, 2, *[0] * (seats - 2)]
    assert table.pot == 3


def test_who_has_no_chips_has_no_button() -> None:
    game = Holdem(num_players=4, hands=9)
    state = game.initial_state(0)
    state.small, state.chips[:] = 2, [50, 0, 90, 60]
    assert game.dealer(state) == 0
    state.small, state.chips[:] = 3, [0, 0, 90, 60]
    assert game.dealer(state) == 3


def test_strength_is_that_of_own_cards_and_board() -> None:
    game = Holdem(num_players=3)
    state = game.deal("AsAh KsKh QsQh AcKcQc2c3d")
    ranked = [strength(game.config, state, seat) for seat in range(3)]
    assert sorted(ranked, reverse=True) == ranked
    assert [kind // BASE**5 for kind in ranked] == [3, 3, 3]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"num_players": 7}, "from 2 to 6"),
        ({"betting": "pot-limit"}, "'no-limit' or 'limit'"),
        ({"small_blind": 3}, "at most big_blind"),
        ({"stack": 3}, "from 4"),
        ({"stack": 47, "betting": "limit"}, "from 48"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        Holdem(**options)


@pytest.mark.parametrize("cards", ["AsAh", "AsAs KsKh 2c3c4d8d9c", "1sAh KsKh 2c3c4d8d9c"])
def test_a_deal_needs_real_and_different_cards(cards: str) -> None:
    with pytest.raises(InvalidOption):
        Holdem().deal(cards)


# Unequal stacks and side pots, by hand; 1,000 random hands with such stacks were also played beside
# pokerkit 0.7.7: legal raises, who is to act and payments were equal

SIDE = "AsAh KsKh QsQh JsJh 2c3c4d8d9c"  # the seats' hands rank 0, 1, 2, 3, the best first


THREE = "AsAh KsKh QsQh 2c3c4d8d9c"


@pytest.mark.parametrize(
    ("cards", "stacks", "moves", "paid"),
    [
        # main pot 3 x 10 to the aces, side pot 2 x 20 to the kings; what nobody matched goes back
        (THREE, (10, 30, 50), "50 c c", [20, 10, -30]),
        # the second stack has the best hand and wins both pots
        ("QsQh AsAh KsKh 2c3c4d8d9c", (10, 30, 50), "50 c c", [-10, 40, -30]),
        # pots of 4 x 10, 3 x 10 and 2 x 20, each to another player
        (SIDE, (10, 20, 40, 60), "40 c c c", [30, 10, 0, -40]),
        # two straights to the ace split the main pot of 30; the side pot of 40 is seat 1's alone
        ("AsKh AhKs 2s2h QcJcTd8d7s", (10, 30, 50), "50 c c", [5, 25, -30]),
        # 20, called all in with 10 and with 20, then 20 more, to which seat 2 folds: the main pot
        # of 30 goes to the aces, and seat 1 takes back its 30 with the 10 that seat 2 leaves
        (THREE, (10, 50, 50), "20 c c 20 f", [20, 0, -20]),
    ],
)
def test_side_pots_pay_what_was_worked_out_by_hand(
    cards: str, stacks: tuple[int, ...], moves: str, paid: list[float]
) -> None:
    episode = play(cards, moves, num_players=len(stacks), stacks=stacks)
    assert episode.over
    assert list(episode.returns) == paid


def test_a_short_all_in_does_not_let_those_raise_who_have_acted() -> None:
    # a raise to 10, a call, 13 all in: 3 more than 10, where a full raise is 8
    episode = play(SIDE, "10 c 13", num_players=4, stacks=(13, 60, 60, 60))
    assert episode.to_act == (1,)
    assert "raise" in episode.legal_text(1)  # the big blind has not acted
    episode.act({1: CALL})
    assert episode.to_act == (2,)
    assert "raise" not in episode.legal_text(2)


def test_nobody_raises_whom_nobody_could_call() -> None:
    episode = play(THREE, "20", num_players=3, stacks=(20, 12, 20))
    assert episode.legal_text(0) == "fold, call"


# A match


def test_a_match_goes_on_with_the_chips_that_are_left_and_the_blinds_move() -> None:
    episode = Episode(Holdem(num_players=3, hands=4, stack=20), 1, compiled=False)
    small, chips = [], []
    while not episode.over:
        state = episode.state
        if not state.bets[1:].any() and state.bets.sum() == 3 and not state.acted.any():
            small.append(int(state.small))
            chips.append(state.chips.tolist())
        # two fold to the big blind
        episode.act({episode.to_act[0]: FOLD})
    assert small == [0, 1, 2, 0]
    assert chips == [[20, 20, 20], [19, 21, 20], [19, 20, 21], [20, 20, 20]]
    assert list(episode.returns) == [-1, 1, 0]


@pytest.mark.parametrize("seed", range(12))
def test_chips_of_a_match_are_conserved_and_it_ends_when_one_has_all(seed: int) -> None:
    game = Holdem(num_players=4, hands=40, stacks=(9, 20, 30, 15))
    episode, rng = Episode(game, seed, compiled=False), Rng(seed)
    while not episode.over:
        episode.act({s: episode.sample(s, rng) for s in episode.to_act})
        assert episode.state.chips.sum() == 74
    state = episode.state
    won = np.array(episode.returns)
    assert np.array([9, 20, 30, 15]) + won == pytest.approx(state.chips)
    assert state.hand == 40 or sorted(state.chips)[:3] == [0, 0, 0]


def test_the_cards_of_a_hand_that_nobody_showed_stay_hidden_in_the_next() -> None:
    episode = Episode(Holdem(hands=3, stack=20), 4, compiled=False)
    cards = episode.game.hole(episode.state, 0)
    episode.act({0: FOLD})
    told = [event for event in episode.transcript(1) if event.kind == "deal"]
    assert len(told) == 2  # player_1's own cards, of both hands
    assert all(sorted(event.data["cards"]) != sorted(cards) for event in told)
    game, state = episode.game, episode.state
    drawn = {tuple(game.determinize(state, 1, Rng(n)).past_deck[:2]) for n in range(9)}
    assert len(drawn) > 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"stacks": (10, 20)}, "one number for each of the 3"),
        ({"stacks": (10, 3, 20)}, "from 4 to 10000"),
        ({"stacks": (10, 20, 20_000)}, "at most 10000"),
        ({"stack": 10_000, "num_players": 4, "hands": 2}, "30000 together"),
    ],
)
def test_stacks_that_cannot_be_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        Holdem(**{"num_players": 3, **options})


# What a player reads


@pytest.mark.parametrize("seats", [2, 3, 4])
@pytest.mark.parametrize("betting", ["no-limit", "limit"])
@pytest.mark.parametrize("hands", [1, 2, 5])
@pytest.mark.parametrize("chips", ["default", "same", "different"])
def test_the_rules_of_every_combination_of_options_say_one_thing(
    seats: int, betting: str, hands: int, chips: str
) -> None:
    stacks = {"default": (), "same": (60,) * seats, "different": (60, 48, 96, 50)[:seats]}[chips]
    game = Holdem(seats, betting=betting, hands=hands, stacks=stacks)
    for seat in range(seats):
        rules = game.rules_for(seat)
        numbers = re.findall(r"You play (one hand|up to \d+ hands)", rules)
        assert numbers == ["one hand" if hands == 1 else f"up to {hands} hands"]
        same = re.findall(r"Everybody starts with (\d+) chips", rules)
        assert same == ([] if chips == "different" else [str(game.start_chips[0])])
        assert "the same number" not in rules
        assert not [n for n in set(stacks) if chips == "different" and f" {n}" not in rules]
        assert rules.count("the blinds are 1 and 2") == 1
        assert ("blinds move on" in rules) == (hands > 1)
        assert ("In the first hand player_0 has posted" in rules) == (hands > 1)
        assert rules.count("acts first before the flop") == 1
        assert ("player_0 acts first" in rules) == (hands == 1 and seats == 2)
        assert ("side pots" in rules) == bool(stacks or hands > 1)


def test_the_first_hand_has_the_blinds_that_the_rules_say() -> None:
    for hands in (1, 3):
        state = Holdem(3, hands=hands).initial_state(4)
        assert state.bets[0].tolist() == [1, 2, 0]
