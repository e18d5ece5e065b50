"""Referential games: the best any code can do in closed form, urns that learn, populations."""

from __future__ import annotations

from itertools import product
from math import comb
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidOption, Rng, Turn, make_agent
from palestra_games.social.referential import LISTEN, SPEAK, Referential

ENV = "games/Referential-v0"


def rate(agents: list[str], episodes: int = 4, **options: Any) -> float:
    """The part of all messages that was understood."""
    game = Referential(num_players=len(agents), **{"rounds": 250, **options})
    seated, points = [make_agent(name) for name in agents], 0.0
    for seed in range(episodes):
        episode = Episode(game, seed, compiled=False)
        while not episode.over:
            turns = [Turn(episode, seat) for seat in episode.to_act]
            episode.act({turn.seat: seated[turn.seat].act([turn])[0].action for turn in turns})
        points += sum(episode.returns)
    return points / len(agents) / episodes / game.rounds


def error(chance: float, messages: int) -> float:
    return float(4 * (chance * (1 - chance) / messages) ** 0.5)


@pytest.mark.parametrize(("symbols", "length"), [(9, 1), (3, 2), (2, 4), (26, 1)])
def test_enough_messages_are_always_understood(symbols: int, length: int) -> None:
    assert rate(["signaller"] * 2, symbols=symbols, length=length) == 1


@pytest.mark.parametrize("symbols", [1, 2, 4, 6])
def test_m_messages_for_n_objects_are_understood_in_m_of_n_rounds(symbols: int) -> None:
    found = rate(["signaller"] * 2, symbols=symbols, length=1)
    assert found == pytest.approx(symbols / 9, abs=error(symbols / 9, 1000))


@pytest.mark.parametrize(("objects", "messages"), [(3, 2), (4, 2), (4, 3), (2, 3)])
def test_no_code_is_better_than_that(objects: int, messages: int) -> None:
    """All pairs of a code and a way to read it, by enumeration."""
    best = 0
    for code in product(range(messages), repeat=objects):
        for reading in product(range(objects), repeat=messages):
            best = max(best, sum(reading[code[o]] == o for o in range(objects)))
    assert best == min(messages, objects)


@pytest.mark.parametrize(("symbols", "candidates"), [(3, 2), (3, 5), (1, 4), (9, 4)])
def test_fewer_candidates_are_told_apart_more_often(symbols: int, candidates: int) -> None:
    """Of c candidates those of the same message are hypergeometric; one of them is meant."""
    same = 9 // symbols - 1
    chance = sum(
        comb(same, h) * comb(8 - same, candidates - 1 - h) / comb(8, candidates - 1) / (1 + h)
        for h in range(min(same, candidates - 1) + 1)
    )
    found = rate(["signaller"] * 2, symbols=symbols, length=1, candidates=candidates)
    assert found == pytest.approx(chance, abs=error(chance, 1000) + 1e-9)


def test_codes_of_different_populations_are_not_understood() -> None:
    both = {"symbols": 9, "length": 1, "rounds": 60}
    assert rate(["signaller"] * 8, episodes=2, **both) == 1
    assert rate(["signaller"] * 4 + ["signaller:code=1"] * 4, episodes=2, **both) == 0
    half = ["signaller"] * 6 + ["signaller:code=1"] * 2  # half of the listeners are strangers
    assert rate(half, episodes=2, **both) == pytest.approx(1 / 2)


def test_random_listeners_are_right_once_in_n() -> None:
    found = rate(["signaller", "random"], episodes=8)
    assert found == pytest.approx(1 / 9, abs=error(1 / 9, 2000))


@pytest.mark.parametrize("seed", range(3))
def test_urns_learn_to_signal(seed: int) -> None:
    game = Referential(attributes=1, values=2, symbols=2, length=1, rounds=1500)
    episode, agents = (
        Episode(game, seed, compiled=False),
        [make_agent("signaller:style=urn") for _ in range(2)],
    )
    for seat, agent in enumerate(agents):
        agent.reseed(10 * seed + seat)
    halfway = 0.0
    while not episode.over:
        (seat,) = episode.to_act
        if episode.steps_played == 2000:
            halfway = episode.returns[0]
        episode.act({seat: agents[seat].act([Turn(episode, seat)])[0].action})
    assert (episode.returns[0] - halfway) / 500 > 0.9


# The rules


@pytest.mark.parametrize("mixed", [False, True])
def test_everybody_is_paired_and_speakers_are_asked_first(mixed: bool) -> None:
    game = Referential(num_players=6, mixed=mixed, rounds=30, candidates=3)
    episode, rng, partners, speakers = Episode(game, 0), Rng(1), set(), set()
    while not episode.over:
        state = episode.state
        assert all(state.partner[state.partner[seat]] == seat for seat in range(6))
        assert all(state.role[seat] != state.role[state.partner[seat]] for seat in range(6))
        role = SPEAK if episode.steps_played % 2 == 0 else LISTEN
        assert episode.to_act == tuple(seat for seat in range(6) if state.role[seat] == role)
        for seat in range(6):
            if state.role[seat] == LISTEN:
                assert state.open_to[seat].sum() == 3
                assert state.open_to[seat, state.meant[seat]]
        partners.add(int(state.partner[0]))
        speakers |= {seat for seat in range(6) if state.role[seat] == SPEAK}
        episode.act({s: rng.choice(episode.legal_actions(s)) for s in episode.to_act})
    assert speakers == (set(range(6)) if mixed else {0, 1, 2})
    assert partners == (set(range(1, 6)) if mixed else {3, 4, 5})


def test_what_each_of_a_pair_sees() -> None:
    game = Referential(symbols=2, length=3, candidates=4)
    episode = Episode(game, 5)
    name = game.names[episode.state.meant[0]]
    assert f"The object is: {name}." in episode.describe(0)
    assert "object is" not in episode.describe(1)
    assert "Candidates" in episode.describe(1)
    assert "Candidates" not in episode.describe(0)
    episode.act({0: episode.parse(0, "It is new.\nMove: bab")})
    assert "The message is: bab." in episode.describe(1)
    assert episode.observation(1).tolist()[7:10] == [1, 0, 1]
    assert episode.observation(1).tolist()[5:7] == [-1, -1]
    episode.act({1: episode.parse(1, name)})
    assert list(episode.returns) == [1, 1]
    assert f"bab was said for {name}, and {name} was picked: right." in episode.describe(1)


@pytest.mark.exhaustive
def test_batches_play_the_same_rules() -> None:
    many = palestra.make(
        ENV, view="batch", num_envs=64, attributes=1, values=4, symbols=4, length=1
    )
    seen = many.reset(seed=0)
    total, silent = 0.0, np.zeros(64, np.int64)
    for _ in range(5):
        meant = np.array(seen[:, 0, 5], np.int64)
        many.step(np.stack([meant, silent], axis=1))
        seen, rewards, *_ = many.step(np.stack([silent, meant], axis=1))
        total += float(np.asarray(rewards).sum())
    assert total == 5 * 64 * 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"num_players": 3}, "divisible by 2"),
        ({"attributes": 4}, "attributes"),
        ({"symbols": 26, "length": 3}, "at most 1000"),
        ({"candidates": 10}, "from 2 to 9"),
        ({"rounds": 0}, "rounds"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        Referential(**options)
