"""Kuhn poker: payoffs by the rule book, and its published equilibrium."""

from __future__ import annotations

import pytest
from palestra import Episode, Rng
from palestra_games.card.kuhn_poker import KuhnPoker

GAME = KuhnPoker()
PASS, BET = 0, 1


def deal(first: int, second: int) -> Episode:
    episode = Episode(GAME, 0, compiled=False)
    state = episode.state
    state.deck[:] = [first, second, 3 - first - second]
    episode.load(state)
    return episode


@pytest.mark.parametrize(
    ("line", "higher_first", "lower_first"),
    [
        ((PASS, PASS), 1, -1),
        ((BET, PASS), 1, 1),
        ((PASS, BET, PASS), -1, -1),
        ((BET, BET), 2, -2),
        ((PASS, BET, BET), 2, -2),
    ],
)
def test_payoffs_follow_the_rule_book(
    line: tuple[int, ...], higher_first: int, lower_first: int
) -> None:
    for first, second in [(a, b) for a in range(3) for b in range(3) if a != b]:
        episode = deal(first, second)
        for move in line:
            episode.act({episode.to_act[0]: move})
        paid = higher_first if first > second else lower_first
        assert episode.over
        assert list(episode.returns) == [paid, -paid]


def test_a_showdown_shows_the_cards_and_a_fold_does_not() -> None:
    shown, folded = deal(2, 0), deal(2, 0)
    for move in (PASS, PASS):
        shown.act({shown.to_act[0]: move})
    for move in (BET, PASS):
        folded.act({folded.to_act[0]: move})
    assert any(event.kind == "reveal" for event in shown.events)
    assert not any(event.kind == "reveal" for event in folded.events)


def test_deals_are_the_six_permutations_equally_likely() -> None:
    deals = GAME.deals()
    assert len({tuple(state.deck.tolist()) for _, state in deals}) == 6
    assert sum(weight for weight, _ in deals) == pytest.approx(1)


def test_seeds_deal_every_hand_about_equally_often() -> None:
    counts: dict[tuple[int, ...], int] = {}
    for seed in range(1_200):
        deck = tuple(GAME.initial_state(seed).deck.tolist())
        counts[deck] = counts.get(deck, 0) + 1
    assert len(counts) == 6
    assert all(140 < count < 260 for count in counts.values())


def test_redrawing_keeps_the_own_card_and_both_others_possible() -> None:
    state = deal(2, 0).state
    others = {int(GAME.determinize(state, 0, Rng(n)).deck[1]) for n in range(20)}
    assert others == {0, 1}
    assert all(GAME.determinize(state, 0, Rng(n)).deck[0] == 2 for n in range(20))


def test_random_games_agree_with_openspiel() -> None:
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    theirs = pyspiel.load_game("kuhn_poker")
    for first, second in [(a, b) for a in range(3) for b in range(3) if a != b]:
        for code in range(8):
            state, episode = theirs.new_initial_state(), deal(first, second)
            state.apply_action(first)
            state.apply_action(second)
            moves = [code >> shift & 1 for shift in range(3)]
            for move in moves:
                if state.is_terminal():
                    break
                state.apply_action(move)
                episode.act({episode.to_act[0]: move})
            assert episode.over == state.is_terminal()
            if episode.over:
                assert list(episode.returns) == state.returns()
