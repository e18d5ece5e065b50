"""Texts and masks that are kept, or read the quick way, are those of the game itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import palestra
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from palestra import Grammar, Integer, InvalidAction, OneOf, Option, Rng, Text, TextAction
from palestra.engine.menus import Menu
from palestra.engine.plain_calls import read_plain_call
from palestra.kernel.actions import read_action


class Bid(TextAction, frozen=True):
    amount: int
    suit: str = "clubs"


class Say(TextAction, frozen=True):
    text: str


class Anything(TextAction, frozen=True):
    value: Any = None
    other: Any = None


TYPES = (Bid, Say, Anything)


class Whatever:
    """A domain that allows every value."""

    def problem(self, value: object) -> str | None:
        return None


ALL = Grammar(
    tuple(Option(k, dict.fromkeys(k.__struct_fields__, Whatever())) for k in TYPES)  # type: ignore[arg-type]
)
values = st.one_of(
    st.integers(), st.booleans(), st.none(), st.text(), st.floats(), st.lists(st.integers())
)
calls = st.builds(Anything, values, values).map(repr)
PIECES = (
    *("Bid", "Say", "Anything", "(", ")", "amount=", "text=", "value=", "other=", ", ", "'", '"'),
    *("1", "007", "-3", "1.0", "True", "None", "hi", "é", "{", " "),
    *("<think>", "</think>", "\\", "\n"),
)
pieces = st.sampled_from(PIECES)


@given(st.one_of(calls, st.lists(pieces, max_size=14).map("".join)))
@example("Say(text='<think>')")
@example("Say(text='a', text='b')")
@example("Bid(amount=-0)")
@example("Anything(value=99999999999999999999)")
def test_a_plain_call_is_what_the_general_reading_finds(text: str) -> None:
    quick = read_plain_call(text, TYPES)
    if quick is not None:
        found = read_action(text, ALL, TYPES)
        assert repr(found) == repr(quick)
        assert type(found) is type(quick)


@pytest.mark.parametrize(
    "action",
    [Bid(3), Bid(-7, "hearts"), Say("It's 3, isn't it?"), Say(""), Anything(True, None)],
)
def test_what_programs_write_is_plain(action: TextAction) -> None:
    assert read_plain_call(repr(action), TYPES) == action


def test_a_menu_allows_what_the_grammar_allows() -> None:
    menu: list[TextAction] = [Bid(n, suit) for n in range(7) for suit in ("clubs", "hearts", "x")]
    menu += (Say("hello"), Say("a long greeting"), Anything(1), Anything(True), Anything(1.0))
    arranged = Menu(menu)
    for options in (
        (Option(Bid, {"amount": Integer(2, 4), "suit": OneOf(("x", "clubs"))}),),
        (Option(Bid, {"amount": Integer(5, 9)}), Option(Say, {"text": Text(5)})),
        (Option(Anything, {"value": OneOf((1,))}), Option(Bid)),
        (Option(Anything, {"value": Integer(0, 1)}), Option(Say, {"text": Text(5)})),
        (),
    ):
        grammar = Grammar(options)
        allowed = [grammar.problem(action) is None for action in menu]
        assert arranged.mask(grammar).tolist() == allowed


@pytest.mark.parametrize(
    "env",
    [
        *("games/Catan-v0", "games/SplitFacts-v0", "markets/TaxEconomy-v0", "text/Commons-v0"),
        *("tasks/Incident-v0", "text/MLEngineering-v0", "web/Shop-v0", "web/ToolWorld-v0"),
    ],
)
def test_what_an_episode_keeps_is_what_the_game_says(env: str) -> None:
    episode, rng = palestra.make(env, view="episode", seed=3), Rng(4)
    for _ in range(40):
        if episode.over:
            break
        state, game = episode.state, episode.game
        for seat in range(game.num_players):
            assert np.array_equal(episode.action_mask(seat), game.action_mask(state, seat))
        for seat in episode.to_act:
            assert str(episode.legal(seat)) == episode.legal_text(seat)
            assert episode.legal_text(seat) == str(game.legal(state, seat))
            text = episode.action_text(seat, episode.sample(seat, rng))
            with pytest.raises(palestra.InvalidAction):
                episode.act(dict.fromkeys(episode.to_act))
            assert episode.parse(seat, text) == game.parse(state, seat, text)
        episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})


def test_a_fork_keeps_its_own_moves() -> None:
    episode = palestra.make("markets/Bargaining-v0", view="episode", seed=1)
    seat = episode.to_act[0]
    before = episode.legal_text(seat)
    twin = episode.fork()
    twin.act({seat: twin.sample(seat, Rng(2))})
    assert episode.legal_text(seat) == before
    with pytest.raises(InvalidAction):
        episode.parse(seat, "Fly(height=3)")


def test_texts_read_the_observations_of_compiled_rules() -> None:
    episode, rng = palestra.make("grid/Foraging-v0", view="episode", seed=5), Rng(6)
    game = episode.game
    for _ in range(20):
        state = episode.state
        for seat in range(game.num_players):
            assert np.array_equal(game.seen(state, seat), game.observe(state, seat))
        episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})
