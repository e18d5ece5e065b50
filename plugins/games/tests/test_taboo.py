"""Taboo: what is forbidden, tries and cards, and chances in closed form."""

from __future__ import annotations

from typing import Any

import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng, Turn, make_agent
from palestra.scene import Cards
from palestra_games.social.taboo import Describe, Guess, Skip, Taboo

ENV = "games/Taboo-v0"
SEA = (
    ("ocean", ("whale", "shark", "ship", "wave")),
    ("animal", ("whale", "shark", "horse", "cat")),
    ("travel", ("ship", "horse", "plane")),
)


def begun(target: str = "whale", **options: Any) -> Episode:
    game = Taboo(**{"associations": SEA, "forbidden": 2, **options})
    episode = Episode(game, 0)
    state = episode.state
    state.target = game.vocabulary.index(target)
    episode.load(state)
    return episode


def test_forbidden_are_the_words_that_share_most_hints() -> None:
    episode = begun(forbidden=3)
    assert episode.game.card(episode.state.target) == ("shark", "cat", "horse")
    assert "The word is whale. Forbidden: shark, cat, horse." in episode.describe(0)


@pytest.mark.parametrize(
    ("text", "breach"),
    [
        ("It is larger than anything else.", ""),
        ("A WHALE!", "WHALE"),
        ("Two whales", "whales"),
        ("They were whaling.", "whaling"),
        ("Not sharks.", "sharks"),
        ("An oil for whaleboats", "whaleboats"),
        ("Concatenate, scatter", ""),  # "cat" is inside, but no form and too short for a part
        ("Who's a-whale-ing?", "whale"),
        ("cats", "cats"),
    ],
)
def test_forms_and_parts_are_buzzed_and_lose_the_card(text: str, breach: str) -> None:
    episode = begun(forbidden=3)
    assert episode.game.breach(episode.state.target, text) == breach
    episode.act({0: Describe(text)})
    assert bool(episode.state.done) == bool(breach)
    assert episode.to_act == ((0,) if breach else (1,))
    told = "\n".join(event.text for event in episode.transcript(1))
    assert ("The word was whale." in told) == bool(breach)


def test_a_word_that_is_found_pays_both() -> None:
    episode = begun(cards=1)
    episode.act({0: Describe("a large animal of the ocean")})
    episode.act({1: Guess("cat")})
    episode.act({0: Describe("it swims")})
    episode.act({1: Guess("WHALE")})
    assert episode.over
    assert list(episode.returns) == [1, 1]
    assert episode.outcome.reason == "1 of 1 words were found"


def test_tries_run_out_and_cards_can_be_skipped() -> None:
    episode = begun(cards=2, tries=2)
    for guess in ("cat", "plane"):
        episode.act({0: Describe("swims")})
        episode.act({1: Guess(guess)})
    assert len(episode.state.done) == 1
    assert episode.state.target != episode.state.done[0]
    episode.act({0: Skip()})
    assert episode.over
    assert list(episode.returns) == [0, 0]


def test_the_guesser_does_not_see_the_card() -> None:
    episode = begun()
    episode.act({0: Describe("animal")})
    twin = episode.fork()
    drawn = set()
    for seed in range(60):
        twin.load(episode.game.determinize(episode.state, 1, Rng(seed)))
        drawn.add(episode.game.vocabulary[twin.state.target])
        assert twin.describe(1) == episode.describe(1)
        assert twin.observation(1).tolist() == episode.observation(1).tolist()
    assert drawn == set(episode.game.vocabulary)


def test_what_has_been_said_rules_words_out() -> None:
    episode = begun()
    episode.act(
        {0: Describe("horsepower")}
    )  # would be buzzed for "horse" and where it is forbidden
    game = episode.game
    drawn = {
        game.vocabulary[game.determinize(episode.state, 1, Rng(seed)).target] for seed in range(60)
    }
    allowed = {
        word
        for number, word in enumerate(game.vocabulary)
        if word != "horse" and "horse" not in game.card(number)
    }
    assert drawn == allowed != set(game.vocabulary)


def test_a_guess_is_one_word() -> None:
    episode = begun()
    episode.act({0: Describe("swims")})
    with pytest.raises(InvalidAction):
        episode.act({1: Guess("blue whale")})


# Chances


def grouped(groups: int, size: int) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """One hint for every group of words, and every word in one group."""
    letters = "bcdfghjklmnpqrstvwxz"
    return tuple(
        (f"hint{letters[g]}", tuple(f"{letters[g]}{letters[i]}" for i in range(size)))
        for g in range(groups)
    )


def points(agent: str, episodes: int, **options: Any) -> float:
    """Mean points a card."""
    records = palestra.play(ENV, agents=[agent] * 2, episodes=episodes, seed=0, **options)
    return sum(record.returns[0] for record in records) / episodes / options["cards"]


def test_one_hint_for_every_word_finds_all() -> None:
    table = grouped(12, 1)
    assert points("taboo-player", 5, associations=table, forbidden=0, cards=12) == 1


@pytest.mark.parametrize("size", [2, 4, 6])
def test_going_through_the_words_of_one_hint(size: int) -> None:
    """The giver has one hint and then skips: one try a card, and every word is the card once."""
    game = Taboo(associations=grouped(4, size), forbidden=0, cards=4 * size)
    episode, agent = Episode(game, 3), make_agent("taboo-player")
    while not episode.over:
        (seat,) = episode.to_act
        episode.act({seat: agent.act([Turn(episode, seat)])[0].action})
    assert episode.returns[0] == 4  # the first of each group


@pytest.mark.parametrize(("words", "tries"), [(4, 3), (10, 5)])
def test_guessing_at_random_finds_what_chance_finds(words: int, tries: int) -> None:
    rng, found, cards = Rng(5), 0, 1500
    game = Taboo(associations=grouped(words, 1), forbidden=0, cards=1, tries=tries)
    for seed in range(cards):
        episode = Episode(game, seed)
        while not episode.over:
            if episode.to_act == (0,):
                episode.act({0: Describe("...")})
            else:
                episode.act({1: Guess(rng.choice(game.vocabulary))})
        found += episode.returns[0] > 0
    chance = 1 - (1 - 1 / words) ** tries
    assert found / cards == pytest.approx(chance, abs=4 * (chance * (1 - chance) / cards) ** 0.5)


def test_scripted_players_find_most_cards_that_are_shipped() -> None:
    game = Taboo()
    assert points("taboo-player", 8, cards=len(game.vocabulary)) > 0.6


@pytest.mark.parametrize(
    ("options", "said"),
    [({"cards": 0}, "cards"), ({"tries": 0}, "tries"), ({"forbidden": 11}, "forbidden")],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        Taboo(**options)


@pytest.mark.parametrize("cards", [1, 4])
def test_the_last_picture_has_the_words_that_both_were_told(cards: int) -> None:
    episode, rng = Episode(Taboo(cards=cards), 3), Rng.seeded(5)
    while not episode.over:
        episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})
    told = [event.data["word"] for event in episode.events if "The word was" in event.text]
    for seat in (None, 0, 1):
        (row,) = episode.scene(seat).all_parts()
        assert isinstance(row, Cards)
        assert [card.rank for card in row.cards] == told
    assert len(told) == cards
