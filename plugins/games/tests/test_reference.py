"""Reference in words: who sees what, both games by hand, and guessing in closed form."""

from __future__ import annotations

from math import sqrt
from typing import Any

import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng
from palestra.scene import Cards
from palestra_games.social.reference import Pick, Place, Reference, ReferenceState, Say


def picking(**options: Any) -> Episode:
    """The red circle is meant, among four."""
    game = Reference(rounds=2, **options)
    meant = game.names.index("red circle")
    others = [game.names.index(name) for name in ("blue circle", "red star", "white star")]
    episode = Episode(game, 0)
    state = ReferenceState(Rng(0), meant, (others[0], meant, *others[1:]), (), ())
    episode.load(state)
    return episode


def test_the_listener_reads_the_words_and_not_the_object() -> None:
    episode = picking()
    assert "The object is: red circle." in episode.describe(0)
    assert "Candidates" not in episode.describe(0)
    assert "Candidates: blue circle, red circle, red star, white star." in episode.describe(1)
    assert "The object is" not in episode.prompt(1, 0)
    episode.act({0: Say("Round, like a setting sun.")})
    assert "Round, like a setting sun." in episode.prompt(1, 0)
    episode.act({1: Pick("red circle")})
    assert list(episode.returns) == [1, 1]
    assert "red circle was meant" in episode.prompt(0, 0)


def test_who_is_wrong_is_not_paid_and_roles_change() -> None:
    episode = picking(swap=True)
    episode.act({0: Say("The star.")})
    with pytest.raises(InvalidAction):
        episode.parse(1, "Pick(object='blue star')")  # no candidate
    episode.act({1: Pick("red star")})
    assert list(episode.returns) == [0, 0]
    assert episode.to_act == (1,)  # player_1 speaks now
    assert "You are the speaker." in episode.describe(1)


def test_a_row_is_built_over_several_turns_and_can_be_corrected() -> None:
    game = Reference(game="build", blocks=3, spare=1, rounds=1)
    episode = Episode(game, 0)
    row = ("red", "blue", "green")
    episode.load(ReferenceState(Rng(0), 0, (0, 1, 2, 3), row, ("empty",) * 3))
    assert "To build: red, blue, green." in episode.describe(0)
    assert "red, blue, green" not in episode.prompt(1, 0)
    for place, block in ((1, "red"), (2, "green"), (3, "white"), (2, "blue")):
        episode.act({0: Say(f"{block} at {place}")})
        episode.act({1: Place(place, block)})
    assert episode.over
    assert list(episode.returns) == pytest.approx([2 / 3, 2 / 3])


def rate(agents: list[str], **options: Any) -> float:
    rounds, episodes = 20, 20
    records = palestra.play(
        "games/Reference-v0", agents=agents, episodes=episodes, rounds=rounds, **options
    )
    return float(sum(r.returns[0] for r in records)) / rounds / episodes


@pytest.mark.parametrize("game", ["pick", "build"])
def test_who_names_what_it_sees_is_always_understood(game: str) -> None:
    assert rate(["namer", "namer"], game=game) == 1


@pytest.mark.parametrize("candidates", [2, 5])
def test_without_words_one_of_so_many_candidates_is_right(candidates: int) -> None:
    chance = 1 / candidates
    margin = 4 * sqrt(chance * (1 - chance) / 400)
    assert abs(rate(["namer:mute=true"] * 2, candidates=candidates) - chance) < margin


def test_without_words_one_of_so_many_colours_is_right() -> None:
    # 1,600 blocks, each right with chance 1/3
    found = rate(["namer:mute=true"] * 2, game="build", values=3, spare=0)
    assert abs(found - 1 / 3) < 4 * sqrt(2 / 9 / 1600)


def test_words_are_counted() -> None:
    class Fixed(palestra.Agent):
        def act(self, turns: Any) -> list[palestra.Decision]:
            return [palestra.Decision(self.choose(turn)) for turn in turns]

        def choose(self, turn: Any) -> Any:
            return Say("The big The") if "speaker" in turn.position else turn.sample(Rng(0))

    (record,) = palestra.play("games/Reference-v0", agents=[Fixed(), Fixed()], rounds=2)
    found = palestra.measure(record)
    assert found["words-a-message"] == 3
    assert found["vocabulary"] == 2


def test_candidates_are_no_more_than_objects() -> None:
    with pytest.raises(InvalidOption, match="from 2 to 4"):
        Reference(attributes=1, values=4, candidates=5)


@pytest.mark.parametrize("game", ["pick", "build"])
@pytest.mark.parametrize("rounds", [1, 3])
def test_the_last_picture_has_what_both_were_told(game: str, rounds: int) -> None:
    episode, rng = Episode(Reference(game=game, rounds=rounds), 3), Rng.seeded(5)
    while not episode.over:
        episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})
    told = [event.text for event in episode.events if event.kind == "reveal"][-1]
    for seat in (None, 0, 1):
        rows = [part for part in episode.scene(seat).all_parts() if isinstance(part, Cards)]
        assert [row.owner for row in rows] == (
            ["meant"] if game == "pick" else ["to build", "built"]
        )
        for row in rows:
            assert ", ".join(card.label for card in row.cards) in told
