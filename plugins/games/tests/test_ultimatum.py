"""Ultimatum, dictator and trust: rules, backward induction, scripted bargainers."""

from __future__ import annotations

from itertools import product
from typing import Any

import palestra
import pytest
from palestra import Agent, Episode, InvalidAction, InvalidOption, Turn, make_agent
from palestra.scene import RoundTable
from palestra_games.dilemmas.matrix_game.strategies import Bargainer
from palestra_games.dilemmas.ultimatum import Dictator, Division, Trust, Ultimatum

Plan = tuple[int, tuple[float, ...]]


def start(game: Division) -> Episode:
    return Episode(game, 0, compiled=False)


def play(game: Division, *moves: str) -> Episode:
    episode = start(game)
    for move in moves:
        seat = episode.to_act[0]
        episode.act({seat: episode.parse(seat, move)})
    return episode


def bargain(game: Division, first: Agent, second: Agent) -> tuple[float, ...]:
    episode, agents = start(game), (first, second)
    while not episode.over:
        seat = episode.to_act[0]
        episode.act({seat: agents[seat].act([Turn(episode, seat)])[0].action})
    return tuple(episode.returns)


# The rules


@pytest.mark.parametrize("pie", [1, 2, 10])
def test_ultimatum_pays_the_split_or_nobody(pie: int) -> None:
    for offer in range(pie + 1):
        game = Ultimatum(pie=pie)
        assert tuple(play(game, str(offer), "accept").returns) == (pie - offer, offer)
        assert tuple(play(game, str(offer), "reject").returns) == (0, 0)


@pytest.mark.parametrize(
    ("game", "moves", "pot", "chips"),
    [
        (Ultimatum(pie=7), (), 7, [0, 0]),
        (Ultimatum(pie=7), ("3",), 0, [4, 3]),
        (Ultimatum(pie=7), ("3", "accept"), 0, [4, 3]),
        (Ultimatum(pie=7), ("3", "reject"), 7, [0, 0]),
        (Dictator(pie=7), ("0",), 0, [7, 0]),
        (Trust(pie=7), (), 0, [7, 0]),
        (Trust(pie=7), ("2",), 0, [5, 6]),
        (Trust(pie=7), ("2", "5"), 0, [10, 1]),
    ],
)
def test_the_units_lie_before_those_who_would_be_paid(
    game: Division, moves: tuple[str, ...], pot: float, chips: list[float]
) -> None:
    (table, *_) = play(game, *moves).scene().parts
    assert isinstance(table, RoundTable)
    assert table.pot == pot
    assert [person.chips for person in table.people] == chips


def test_dictator_cannot_be_refused() -> None:
    for given in range(11):
        episode = play(Dictator(), str(given))
        with pytest.raises(InvalidAction, match="accept"):
            episode.parse(1, "reject")
        episode.act({1: episode.legal_actions(1)[0]})
        assert tuple(episode.returns) == (10 - given, given)


def test_trust_grows_what_is_sent_and_keeps_every_unit() -> None:
    for sent in range(6):
        for returned in range(4 * sent + 1):
            first, second = play(Trust(pie=5, multiplier=4), str(sent), str(returned)).returns
            assert (first, second) == (5 - sent + returned, 4 * sent - returned)
            assert first + second == 5 + 3 * sent


def test_the_example_of_berg_dickhaut_and_mccabe() -> None:
    """All 10 sent are 30; half of them returned leaves 15 to each."""
    assert tuple(play(Trust(), "10", "15").returns) == (15, 15)


def test_nobody_gives_what_they_do_not_have() -> None:
    with pytest.raises(InvalidAction):
        play(Ultimatum(), "11")
    with pytest.raises(InvalidAction):
        play(Ultimatum(), "accept")
    with pytest.raises(InvalidAction):
        play(Trust(), "11")
    with pytest.raises(InvalidAction):
        play(Trust(), "4", "13")
    assert play(Trust(), "0").legal_actions(1) == [0]


# Backward induction


def plans(episode: Episode) -> list[tuple[tuple[str, ...], tuple[float, ...]]]:
    """The path and pay of every pure subgame-perfect equilibrium from here.

    A plan of the others is fixed for every move; the mover takes one that pays them the most.
    """
    if episode.over:
        return [((), tuple(episode.returns))]
    seat = episode.to_act[0]
    branches = []
    for action in episode.legal_actions(seat):
        child = episode.fork()
        child.act({seat: action})
        text = episode.game.action_text(episode.state, seat, action)
        branches.append([((text, *path), paid) for path, paid in plans(child)])
    found = set()
    for chosen in product(*branches):
        most = max(paid[seat] for _, paid in chosen)
        found |= {(path, paid) for path, paid in chosen if paid[seat] == most}
    return sorted(found)


@pytest.mark.parametrize("pie", [1, 2, 7])
def test_ultimatum_has_the_two_known_subgame_perfect_offers(pie: int) -> None:
    """Nothing, if nothing is accepted; else one unit: every positive offer is accepted."""
    found = plans(start(Ultimatum(pie=pie)))
    expected = {(("0", "accept"), (pie, 0)), (("1", "accept"), (pie - 1, 1))}
    if pie == 1:  # the proposer is then paid nothing, whatever they offer
        expected |= {(("0", "reject"), (0, 0))}
    assert set(found) == expected


def test_dictator_keeps_everything() -> None:
    assert plans(start(Dictator(pie=6))) == [(("0", "accept"), (6, 0))]


@pytest.mark.parametrize("multiplier", [2, 3])
def test_trust_is_not_given_by_backward_induction(multiplier: int) -> None:
    assert plans(start(Trust(pie=4, multiplier=multiplier))) == [(("0", "0"), (4, 0))]


# Bargainers


@pytest.mark.parametrize(
    ("game", "styles", "paid"),
    [
        (Ultimatum(), ("fair", "fair"), (5, 5)),
        (Ultimatum(), ("fair", "subgame-perfect"), (5, 5)),
        (Ultimatum(), ("subgame-perfect", "subgame-perfect"), (9, 1)),
        (Ultimatum(), ("subgame-perfect", "fair"), (0, 0)),
        (Ultimatum(pie=7), ("fair", "fair"), (4, 3)),
        (Ultimatum(pie=1), ("fair", "fair"), (1, 0)),
        (Dictator(), ("fair", "fair"), (5, 5)),
        (Dictator(), ("subgame-perfect", "fair"), (10, 0)),
        (Trust(), ("fair", "fair"), (15, 15)),
        (Trust(), ("fair", "subgame-perfect"), (0, 30)),
        (Trust(), ("subgame-perfect", "fair"), (10, 0)),
    ],
)
def test_bargainers_are_paid(
    game: Division, styles: tuple[str, str], paid: tuple[float, float]
) -> None:
    first, second = (make_agent(f"bargainer:style={style}") for style in styles)
    assert bargain(game, first, second) == paid


def test_subgame_perfect_bargainers_play_an_equilibrium() -> None:
    for game in (Ultimatum(pie=6), Dictator(pie=6), Trust(pie=4)):
        agent = Bargainer(style="subgame-perfect")
        assert bargain(game, agent, agent) in [paid for _, paid in plans(start(game))]


@pytest.mark.parametrize("sent", range(11))
def test_fair_trustee_makes_both_equally_rich_if_they_can(sent: int) -> None:
    episode = play(Trust(), str(sent))
    (decision,) = Bargainer().act([Turn(episode, 1)])
    episode.act({1: decision.action})
    first, second = episode.returns
    assert 0 <= second - first <= 1 or (decision.action == 0 and second < first)


def test_bargainers_refuse_other_games_and_styles() -> None:
    with pytest.raises(InvalidOption, match="'fair' or 'subgame-perfect'"):
        make_agent("bargainer:style=mean")
    episode = Episode(palestra.game("games/MatrixGame-v0"), 0, compiled=False)
    with pytest.raises(InvalidOption, match="Ultimatum and Dictator and Trust"):
        Bargainer().act([Turn(episode, 0)])


# What a player reads


def test_offers_and_answers_are_read_from_the_last_line() -> None:
    episode = play(Ultimatum(), "I think half is fair.\nMove: 5")
    assert "player_0 offers 5 of 10 units." in episode.describe(1)
    episode.act({1: episode.parse(1, "[reject]")})
    assert "player_1 rejects the offer." in episode.describe(0)
    assert episode.outcome is not None
    assert episode.outcome.reason == "player_0 is paid 0, player_1 is paid 0"


def test_rules_state_the_size_of_the_pie() -> None:
    assert "The pie has 20 units." in Ultimatum(pie=20).rules_for(0)
    assert "player_0 has 1 unit. What they send is multiplied by 2." in Trust(1, 2).rules_for(1)


@pytest.mark.parametrize("game", [Ultimatum(), Dictator(), Trust()])
def test_array_view_shows_the_moves_so_far(game: Division) -> None:
    episode = play(game, "3")
    assert episode.observation(0).tolist() == [1, 0, 3, -1]
    assert episode.observation(1).tolist() == [0, 1, 3, -1]


@pytest.mark.parametrize(
    ("kind", "options", "word"),
    [
        (Ultimatum, {"pie": 0}, "pie must be an integer from 1"),
        (Dictator, {"pie": 1001}, "to 1000, not 1001"),
        (Trust, {"multiplier": 0}, "multiplier must be an integer from 1"),
    ],
)
def test_bad_options_say_what_is_accepted(
    kind: type[Division], options: dict[str, Any], word: str
) -> None:
    with pytest.raises(InvalidOption, match=word):
        kind(**options)
