"""Trust-and-Split: the published averages, pro-rata claims, hidden hands."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng, Turn, make_agent, play
from palestra_games.dilemmas.trust_and_split import Claim, Say, TrustAndSplit, winner

GAME = TrustAndSplit()
PAIRS = [(a, b) for a, b in product(range(3), repeat=2) if a != b]


def test_hands_beat_each_other_as_everywhere() -> None:
    rock, paper, scissors = range(3)
    assert [winner(pair) for pair in ((rock, scissors), (paper, rock), (scissors, paper))] == [
        0
    ] * 3
    assert [winner(pair) for pair in ((scissors, rock), (rock, paper), (paper, scissors))] == [
        1
    ] * 3


@pytest.mark.parametrize(
    ("styles", "expected"),
    [
        (("truthful", "truthful"), (50, 50)),
        (("greedy", "greedy"), (27.5, 27.5)),
        (("greedy", "truthful"), (52.5, 25)),
        (("truthful", "greedy"), (25, 52.5)),
    ],
)
def test_pairs_average_what_was_published(
    styles: tuple[str, str], expected: tuple[float, float]
) -> None:
    """Exactly, over the six deals."""
    game = TrustAndSplit(rounds=1)
    agents = [make_agent(f"splitter:style={style}") for style in styles]
    paid = np.zeros(2)
    for hands in PAIRS:
        episode = Episode(game, 0)
        state = episode.state
        state.hands = hands
        episode.load(state)
        while not episode.over:
            seats = episode.to_act
            episode.act({p: agents[p].act([Turn(episode, p)])[0].action for p in seats})
        paid += episode.returns
    assert (paid / len(PAIRS)).tolist() == list(expected)


def test_many_rounds_average_the_same() -> None:
    (record,) = play(
        "games/TrustAndSplit-v0", agents=["splitter:style=greedy", "splitter"], episodes=1,
        rounds=400, seed=3,
    )  # fmt: skip
    assert np.array(record.returns) / 400 == pytest.approx([52.5, 25], abs=5)


@pytest.mark.parametrize(
    ("asked", "paid"),
    [
        ((10, 0), (100, 0)),
        ((0, 10), (0, 10)),
        ((10, 10), (50, 5)),
        ((3, 4), (30, 4)),
        ((0, 0), (0, 0)),
        ((10, 5), (100 * 2 / 3, 10 / 3)),
    ],
)
def test_claims_are_met_in_proportion(asked: tuple[int, int], paid: tuple[float, float]) -> None:
    assert GAME.split((1, 0), asked) == pytest.approx(paid)
    assert GAME.split((0, 1), asked[::-1]) == pytest.approx(paid[::-1])


def test_the_opener_alternates_and_claims_are_sealed() -> None:
    episode = Episode(TrustAndSplit(rounds=2), 1)
    order = []
    while not episode.over:
        order.append(episode.to_act)
        episode.act({p: episode.game.noop(episode.state, p) for p in episode.to_act})
    assert order == [(0,), (1,), (0, 1), (1,), (0,), (0, 1)]


def test_hands_are_hidden_until_the_round_is_over() -> None:
    episode = Episode(GAME, 4)
    own = episode.state.hands
    others = {GAME.determinize(episode.state, 0, Rng(n)).hands for n in range(20)}
    assert {hands[0] for hands in others} == {own[0]}
    assert {hands[1] for hands in others} == {0, 1, 2} - {own[0]}
    episode.act({0: Say("Hello.")})
    episode.act({1: Say("I am not telling.")})
    assert episode.observation(0)[-2:].tolist() == [3, 4]
    episode.act({0: Claim(5), 1: Claim(5)})
    assert episode.observation(0)[3:7].tolist() == [*own, 5, 5]
    assert [e.kind for e in episode.log[-1]] == ["reveal", "deal", "deal"]


def test_hands_are_dealt_evenly() -> None:
    dealt = [GAME.initial_state(seed).hands for seed in range(1_200)]
    assert all(140 < dealt.count(pair) < 260 for pair in PAIRS)
    assert set(dealt) == set(PAIRS)


def test_there_is_no_talk_without_messages_and_no_claim_during_talk() -> None:
    assert TrustAndSplit(messages=0).to_act(GAME.initial_state(0)) == (0, 1)
    with pytest.raises(InvalidAction):
        Episode(GAME, 0).parse(0, "Claim(coins=10)")


@pytest.mark.parametrize("options", [{"rounds": 0}, {"messages": 21}, {"coins": 0}])
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match=next(iter(options))):
        TrustAndSplit(**options)


def test_unknown_styles_are_refused() -> None:
    with pytest.raises(InvalidOption, match="'truthful' or 'greedy'"):
        make_agent("splitter:style=kind")
