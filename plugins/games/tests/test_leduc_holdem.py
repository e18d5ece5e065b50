"""Leduc hold'em: OpenSpiel's rules over the whole tree, and the known value."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from palestra import Episode, InvalidAction, Rng
from palestra.scene import RoundTable
from palestra_games.card.leduc_holdem import CALL, FOLD, RAISE, LeducHoldem

GAME = LeducHoldem()
JACK, QUEEN, KING = range(3)
CARDS_BY_SUIT = 2  # OpenSpiel numbers the jacks 0 and 1, the queens 2 and 3, the kings 4 and 5


def play(cards: tuple[int, int, int], moves: str) -> Episode:
    """Play moves, of which k is a check, c a call, r a raise and f a fold, from a deal."""
    episode = Episode(GAME, 0, compiled=False)
    episode.load(GAME.deal(*cards))
    words = {"k": "check", "c": "call", "r": "raise", "f": "fold"}
    for move in moves:
        seat = episode.to_act[0]
        episode.act({seat: episode.parse(seat, words[move])})
    return episode


@pytest.mark.parametrize(
    ("cards", "moves", "first"),
    [
        ((KING, QUEEN, JACK), "kkkk", 1),
        ((KING, QUEEN, QUEEN), "kkkk", -1),
        ((JACK, KING, JACK), "kkkk", 1),
        ((QUEEN, QUEEN, KING), "rckrc", 0),
        ((KING, QUEEN, JACK), "rf", 1),
        ((KING, QUEEN, JACK), "krf", -1),
        ((KING, QUEEN, JACK), "rrf", -3),
        ((KING, QUEEN, JACK), "rckrf", -3),
        ((KING, QUEEN, JACK), "rckrc", 7),
        ((KING, QUEEN, JACK), "rrcrrf", -9),
        ((KING, QUEEN, JACK), "rrckrrc", 13),
        ((KING, QUEEN, QUEEN), "krrcrrc", -13),
    ],
)
def test_the_pot_is_paid_by_the_rule_book(
    cards: tuple[int, int, int], moves: str, first: float
) -> None:
    episode = play(cards, moves)
    assert episode.over
    assert list(episode.returns) == [first, -first]
    assert episode.outcome is not None
    assert list(episode.outcome.scores) == [first, -first]


def test_folding_takes_a_raise_and_a_third_raise_is_refused() -> None:
    start, raised, reraised = (play((JACK, QUEEN, KING), moves) for moves in ("", "r", "rr"))
    assert start.legal_text(0) == "check, raise"
    assert raised.legal_text(1) == "fold, call, raise"
    assert reraised.legal_text(0) == "fold, call"
    with pytest.raises(InvalidAction, match="fold, call"):
        reraised.parse(0, "raise")


def test_the_first_player_opens_both_rounds() -> None:
    assert play((JACK, QUEEN, KING), "krc").to_act == (0,)
    assert play((JACK, QUEEN, KING), "rc").to_act == (0,)


def test_every_deal_and_betting_sequence_agrees_with_openspiel() -> None:
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    theirs = pyspiel.load_game("leduc_poker")
    endings = 0

    def compare(state: Any, other: Any, public: int, paid: list[float]) -> None:
        nonlocal endings
        if other.is_chance_node():
            other.apply_action(public)
        assert GAME.to_act(state) == (() if other.is_terminal() else (other.current_player(),))
        if other.is_terminal():
            endings += 1
            assert paid == other.returns()
            return
        seat = GAME.to_act(state)[0]
        assert GAME.legal_actions(state, seat) == other.legal_actions()
        for action in other.legal_actions():
            after = GAME.clone(state)
            step = GAME.step(after, {seat: action})
            earned = [sum(step.rewards.get(owner, {}).values()) for owner in range(2)]
            compare(after, other.child(action), public, earned)

    for first in range(6):
        for second in set(range(6)) - {first}:
            for public in set(range(6)) - {first, second}:
                other = theirs.new_initial_state()
                other.apply_action(first)
                other.apply_action(second)
                ranks = [card // CARDS_BY_SUIT for card in (first, second, public)]
                compare(GAME.deal(*ranks), other, public, [0.0, 0.0])
    assert endings == 120 * (4 + 5 * 9)  # four folds, and five ways into a second round of nine


def test_uniform_play_has_openspiels_nash_conv() -> None:
    agents = pytest.importorskip("palestra_agents.exploitability")
    uniform = agents.uniform_policy(GAME)
    assert len(uniform) == 288  # information sets without suits
    ours = agents.nash_conv(GAME, uniform)
    assert ours == pytest.approx(4.747222, abs=1e-6)
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    theirs = pyspiel.load_game("leduc_poker")
    assert ours == pytest.approx(pyspiel.nash_conv(theirs, pyspiel.UniformRandomPolicy(theirs)))


def test_openspiels_equilibrium_is_one_here_and_pays_the_known_value() -> None:
    agents = pytest.importorskip("palestra_agents.exploitability")
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    theirs = pyspiel.load_game("leduc_poker(suit_isomorphism=True)")
    solver = pyspiel.CFRPlusSolver(theirs)
    for _ in range(500):
        solver.evaluate_and_update_policy()
    strategy = solver.average_policy()
    policy: dict[bytes, dict[int, float]] = {}

    def translate(state: Any, other: Any, public: int) -> None:
        if other.is_chance_node():
            other.apply_action(public)
        if other.is_terminal():
            return
        seat = other.current_player()
        policy[GAME.state_key(state, seat)] = strategy.action_probabilities(other)
        for action in other.legal_actions():
            after = GAME.clone(state)
            GAME.step(after, {seat: action})
            translate(after, other.child(action), public)

    for _, state in GAME.deals():
        first, second, public = state.deck[:3].tolist()
        other = theirs.new_initial_state()
        other.apply_action(first)
        other.apply_action(second)
        translate(state, other, public)
    apart = agents.nash_conv(GAME, policy)
    assert apart == pytest.approx(pyspiel.nash_conv(theirs, strategy))
    assert apart < 1e-2
    assert agents.expected_values(GAME, policy)[0] == pytest.approx(-0.0856, abs=1e-3)


def test_deals_are_the_24_by_rank_and_weigh_what_the_deck_makes_likely() -> None:
    deals = {tuple(state.deck[:3].tolist()): weight for weight, state in GAME.deals()}
    assert len(deals) == 24
    assert sum(deals.values()) == pytest.approx(1)
    assert deals[JACK, QUEEN, KING] == pytest.approx(8 / 120)
    assert deals[JACK, JACK, KING] == pytest.approx(4 / 120)
    assert all(sorted(state.deck.tolist()) == [0, 0, 1, 1, 2, 2] for _, state in GAME.deals())


def test_seeds_deal_pairs_as_often_as_the_deck_makes_likely() -> None:
    decks = [GAME.initial_state(seed).deck.tolist() for seed in range(1_500)]
    assert 240 < sum(deck[0] == deck[1] for deck in decks) < 360  # one in five
    assert all(420 < count < 580 for count in Counter(deck[2] for deck in decks).values())


def test_the_public_card_is_told_when_the_first_round_is_over() -> None:
    before, after = play((JACK, QUEEN, KING), "k"), play((JACK, QUEEN, KING), "kk")
    assert "not yet turned over" in before.describe(0)
    assert "The public card is the king." in after.describe(0)
    assert [event.text for event in after.events if event.kind == "reveal"] == [
        "The public card is the king."
    ]


def test_a_showdown_shows_the_cards_and_a_fold_does_not() -> None:
    shown, folded = play((JACK, QUEEN, KING), "kkkk"), play((JACK, QUEEN, KING), "kkrf")
    last = [episode.events[-1].text for episode in (shown, folded)]
    assert last == ["Showdown: player_0 has the jack, player_1 the queen.", "player_1 folds."]


@pytest.mark.parametrize(
    ("moves", "known"),
    [("k", [0]), ("kk", [0, 2]), ("kkrf", [0, 2]), ("rf", [0]), ("kkkk", [0, 1, 2])],
)
def test_redrawing_changes_the_cards_not_seen_and_no_others(moves: str, known: list[int]) -> None:
    state = play((JACK, QUEEN, KING), moves).state
    redrawn = [GAME.determinize(state, 0, Rng(n)).deck.tolist() for n in range(40)]
    assert all(sorted(deck) == [0, 0, 1, 1, 2, 2] for deck in redrawn)
    for place in range(6):
        assert (len({deck[place] for deck in redrawn}) == 1) == (place in known)


def test_redrawn_cards_come_as_often_as_the_deck_makes_likely() -> None:
    state = play((JACK, QUEEN, KING), "kk").state
    counts = Counter(int(GAME.determinize(state, 0, Rng(n)).deck[1]) for n in range(1_000))
    assert 190 < counts[JACK] < 310  # of jack, two queens and king
    assert 430 < counts[QUEEN] < 570
    assert 190 < counts[KING] < 310


def test_actions_are_numbered_as_in_openspiel() -> None:
    assert (FOLD, CALL, RAISE) == (0, 1, 2)


def test_a_picture_shows_a_player_only_what_he_may_see() -> None:
    def glyphs(episode: Episode, seat: int | None) -> str:
        (table,) = GAME.scene(episode.state, seat).parts
        assert isinstance(table, RoundTable)
        cards = [card for person in table.people for card in person.cards]
        return "".join("?" if card.hidden else card.rank for card in (*cards, *table.cards))

    start, later, shown = (play((JACK, QUEEN, KING), moves) for moves in ("", "kk", "kkkk"))
    assert [glyphs(start, 0), glyphs(start, 1), glyphs(start, None)] == ["J??", "?Q?", "JQK"]
    assert [glyphs(later, 0), glyphs(shown, 0)] == ["J?K", "JQK"]
