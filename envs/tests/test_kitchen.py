"""Kitchen: against recordings of the public package, rules at the edges, layouts, and the cook."""

from __future__ import annotations

import json
import pickle
import string
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from palestra import EnvSpec, Episode, InvalidAction, InvalidOption, Rng, Turn, make_agent
from palestra.testing.kit import run_check
from palestra.testing.subject import Subject
from palestra_envs.grid.foraging.game import Foraging
from palestra_envs.grid.kitchen.cooks import Cook
from palestra_envs.grid.kitchen.game import ACTIONS, Kitchen
from palestra_envs.grid.kitchen.observations import Hand, Pot, read_observation
from palestra_envs.grid.kitchen.rules import (
    DISH,
    GO_EAST,
    GO_NORTH,
    GO_SOUTH,
    GO_WEST,
    INTERACT,
    NOTHING,
    ONION,
    REST,
    SOUP,
)
from palestra_envs.grid.layouts import LAYOUTS, parse

TRACES = json.loads((Path(__file__).parent / "data" / "kitchen_traces.json").read_text())
DIGITS = string.digits + string.ascii_letters + "-_"
OPEN = """
XXXXXXX
X12   X
X34   P
X     S
XXOXDXX
"""
SPEC = EnvSpec(
    "grid/Kitchen-v0",
    "palestra_envs.grid.kitchen.game:Kitchen",
    players=(1, 4),
    moves="simultaneous",
    payoffs="common",
    family="grid",
)


def play(game: Kitchen, state: Any, *actions: int) -> dict[str, float]:
    """Play one action a seat; returns what everybody was paid."""
    paid = game.step(state, dict(enumerate(actions))).rewards
    assert all(paid.get(seat, {}) == paid.get(0, {}) for seat in range(game.num_players))
    return dict(paid.get(0, {}))


def cell(game: Kitchen, row: int, column: int) -> int:
    """The number of a cell, from its row and column as the text counts them."""
    return (row - 1) * game.sides[1] + column - 1


def put(
    game: Kitchen, state: Any, seat: int, place: tuple[int, int], facing: int, held: int
) -> None:
    state.cell[seat] = cell(game, *place)
    state.facing[seat] = facing
    state.hand[seat] = held


def fill(game: Kitchen, state: Any, place: tuple[int, int], content: int, clock: int = 0) -> None:
    state.there[cell(game, *place)] = content
    state.clock[cell(game, *place)] = clock


def solo(**options: Any) -> tuple[Kitchen, Any]:
    """One player in the cramped room, at the pot."""
    game = Kitchen(num_players=1, **options)
    state = game.initial_state(0)
    put(game, state, 0, (2, 3), GO_NORTH, NOTHING)
    return game, state


def cook_through(game: Kitchen, seed: int) -> Episode:
    """An episode in which the cook plays every seat."""
    episode, cook = Episode(game, seed, compiled=False), Cook(seed=seed)
    while not episode.over:
        turns = [Turn(episode, seat) for seat in episode.to_act]
        decisions = cook.act(turns)
        episode.act({t.seat: d.action for t, d in zip(turns, decisions, strict=True)})
    return episode


# Against the public package


def step_text(game: Kitchen, state: Any, before: dict[int, tuple[int, int]]) -> str:
    """A step as the recordings write it; updates `before`, the contents of cells."""
    cooks = zip(state.cell.tolist(), state.facing.tolist(), state.hand.tolist(), strict=True)
    numbers = [number for cook in cooks for number in cook]
    contents = zip(state.there.tolist(), state.clock.tolist(), strict=True)
    now = {place: found for place, found in enumerate(contents) if any(found)}
    for place in sorted(now.keys() | before.keys()):
        if now.get(place) != before.get(place):
            numbers += [place, *now.get(place, (0, 0))]
    before.clear()
    before.update(now)
    text = "".join(DIGITS[number] for number in numbers)
    if game.num_players == 2 and state.turn % 10 == 0:
        views = b"".join(game.observe(state, seat).tobytes() for seat in range(2))
        text += f" {zlib.crc32(views):08x}"
    return text


@pytest.mark.parametrize("number", range(len(TRACES["episodes"])))
def test_episodes_of_the_public_package_go_the_same_way(number: int) -> None:
    episode = TRACES["episodes"][number]
    game = Kitchen(**episode["options"], shaped=True)
    state, before = game.initial_state(0), dict[int, tuple[int, int]]()
    paid = {step: amounts for step, *amounts in episode["paid"]}
    for step, actions in enumerate(episode["actions"].split()):
        terms = play(game, state, *map(int, actions))
        assert step_text(game, state, before) == episode["steps"][step], f"step {step}"
        if game.num_players != 2:  # it pays for no dishes then
            terms.pop("dish", None)
        soup = terms.pop("soup", 0.0)
        assert [soup, sum(terms.values())] == paid.get(step, [0, 0]), f"step {step}"
    assert state.truncated


def test_the_recordings_hold_what_matters() -> None:
    assert TRACES["package"] == "overcooked-ai 1.1.0"
    seen = {(e["options"]["layout"], e["options"]["auto_cook"]) for e in TRACES["episodes"]}
    assert {(name, auto) for name in LAYOUTS for auto in (True, False)} <= seen
    soups = [sum(soup for _, soup, _ in episode["paid"]) / 20 for episode in TRACES["episodes"]]
    assert sum(soups) >= 10


# Using things


@pytest.mark.parametrize(
    ("held", "pot", "held_after", "pot_after"),
    [
        pytest.param(ONION, (0, 0), NOTHING, (1, 0), id="first onion"),
        pytest.param(ONION, (1, 0), NOTHING, (2, 0), id="second onion"),
        pytest.param(ONION, (2, 0), NOTHING, (3, 2), id="third onion, and it cooks a step"),
        pytest.param(ONION, (3, 5), ONION, (3, 6), id="no fourth onion"),
        pytest.param(NOTHING, (2, 0), NOTHING, (2, 0), id="nothing to take out"),
        pytest.param(DISH, (0, 0), DISH, (0, 0), id="empty pot"),
        pytest.param(DISH, (3, 20), DISH, (3, 21), id="one step too early"),
        pytest.param(DISH, (3, 21), SOUP, (0, 0), id="ready"),
        pytest.param(NOTHING, (3, 21), NOTHING, (3, 21), id="ready but no dish"),
        pytest.param(SOUP, (3, 21), SOUP, (3, 21), id="a soup does not go back"),
    ],
)
def test_a_pot_takes_onions_and_gives_soup_to_a_dish(
    held: int, pot: tuple[int, int], held_after: int, pot_after: tuple[int, int]
) -> None:
    game, state = solo()
    state.hand[0] = held
    fill(game, state, (1, 3), *pot)
    play(game, state, INTERACT)
    place = cell(game, 1, 3)
    assert state.hand[0] == held_after
    assert (state.there[place], state.clock[place]) == pot_after


def test_a_soup_is_ready_when_the_cook_time_is_over() -> None:
    game, state = solo(cook_time=3)
    state.hand[0] = ONION
    fill(game, state, (1, 3), 2)
    play(game, state, INTERACT)
    state.hand[0] = DISH
    for _ in range(2):
        play(game, state, INTERACT)
        assert state.hand[0] == DISH
    play(game, state, INTERACT)
    assert state.hand[0] == SOUP


def test_without_auto_cook_empty_hands_start_the_cooking() -> None:
    game, state = solo(auto_cook=False, cook_time=1)
    place = cell(game, 1, 3)
    state.hand[0] = ONION
    fill(game, state, (1, 3), 2)
    play(game, state, INTERACT)
    assert (state.there[place], state.clock[place]) == (3, 0)
    fill(game, state, (1, 3), 1)
    play(game, state, INTERACT)
    assert state.clock[place] == 2
    state.hand[0] = DISH
    play(game, state, INTERACT)
    assert state.hand[0] == DISH + 1
    put(game, state, 0, (3, 4), GO_SOUTH, DISH + 1)
    assert play(game, state, INTERACT) == {}  # a soup of one onion is taken and pays nothing
    assert state.hand[0] == NOTHING
    assert state.soups == 0


@pytest.mark.parametrize(
    ("place", "facing", "held", "held_after"),
    [
        pytest.param((2, 2), GO_WEST, NOTHING, ONION, id="onion dispenser"),
        pytest.param((2, 2), GO_WEST, DISH, DISH, id="full hands at a dispenser"),
        pytest.param((3, 2), GO_SOUTH, NOTHING, DISH, id="dish dispenser"),
        pytest.param((3, 4), GO_SOUTH, SOUP, NOTHING, id="serving a soup"),
        pytest.param((3, 4), GO_SOUTH, ONION, ONION, id="serving an onion"),
        pytest.param((3, 3), GO_NORTH, ONION, ONION, id="floor"),
    ],
)
def test_stations_give_and_take(
    place: tuple[int, int], facing: int, held: int, held_after: int
) -> None:
    game, state = solo()
    put(game, state, 0, place, facing, held)
    assert play(game, state, INTERACT) == ({"soup": 20.0} if held == SOUP else {})
    assert state.hand[0] == held_after


@pytest.mark.parametrize("held", [ONION, DISH, SOUP])
def test_a_counter_holds_one_thing(held: int) -> None:
    game, state = solo()
    put(game, state, 0, (2, 2), GO_NORTH, held)
    counter = cell(game, 1, 2)
    play(game, state, INTERACT)
    assert (state.hand[0], state.there[counter]) == (NOTHING, held)
    state.hand[0] = ONION
    play(game, state, INTERACT)
    assert (state.hand[0], state.there[counter]) == (ONION, held)
    state.hand[0] = NOTHING
    play(game, state, INTERACT)
    assert (state.hand[0], state.there[counter]) == (held, NOTHING)


def test_two_players_use_one_thing_in_order_of_seats() -> None:
    game = Kitchen(layout=OPEN, num_players=2)
    state = game.initial_state(0)
    put(game, state, 0, (2, 6), GO_EAST, NOTHING)
    put(game, state, 1, (2, 2), GO_NORTH, NOTHING)
    fill(game, state, (2, 7), ONION)
    state.cell[1] = state.cell[0]  # both at one counter, which only a test can bring about
    state.facing[1] = GO_EAST
    play(game, state, INTERACT, INTERACT)
    assert state.hand.tolist() == [ONION, NOTHING]


def test_things_are_used_before_anybody_moves() -> None:
    game, state = solo()
    put(game, state, 0, (2, 2), GO_WEST, NOTHING)
    play(game, state, GO_EAST)  # turns and walks away in one
    assert (state.hand[0], state.cell[0], state.facing[0]) == (NOTHING, cell(game, 2, 3), GO_EAST)


# Walking


@pytest.mark.parametrize(
    ("actions", "ends"),
    [
        ([GO_EAST, REST, REST, REST], "same"),  # the cell is taken
        pytest.param([GO_EAST, GO_WEST, REST, REST], "same", id="swap"),
        pytest.param([GO_EAST, GO_EAST, REST, REST], [(2, 3), (2, 4), (3, 2), (3, 3)], id="follow"),
        pytest.param(
            [GO_EAST, GO_SOUTH, GO_NORTH, GO_WEST], [(2, 3), (3, 3), (2, 2), (3, 2)], id="all round"
        ),
        pytest.param(
            [GO_NORTH, GO_EAST, GO_WEST, GO_SOUTH], [(2, 2), (2, 4), (3, 2), (4, 3)], id="walls"
        ),
        pytest.param(
            [REST, GO_SOUTH, REST, GO_EAST], [(2, 2), (3, 3), (3, 2), (3, 4)], id="into a gap"
        ),
        pytest.param([GO_EAST, REST, REST, GO_EAST], "same", id="a collision holds up everybody"),
    ],
)
def test_players_move_together_or_not_at_all(actions: list[int], ends: Any) -> None:
    game = Kitchen(layout=OPEN, num_players=4)
    state = game.initial_state(0)
    starts = state.cell.tolist()
    play(game, state, *actions)
    places = starts if ends == "same" else [cell(game, *place) for place in ends]
    assert state.cell.tolist() == places
    assert state.facing.tolist() == [GO_NORTH if action == REST else action for action in actions]


def test_two_players_do_not_enter_one_cell() -> None:
    game = Kitchen()
    state = game.initial_state(0)
    put(game, state, 0, (2, 2), GO_NORTH, NOTHING)
    put(game, state, 1, (2, 4), GO_NORTH, NOTHING)
    play(game, state, GO_EAST, GO_WEST)
    assert state.cell.tolist() == [cell(game, 2, 2), cell(game, 2, 4)]
    assert state.facing.tolist() == [GO_EAST, GO_WEST]


# What it pays, and when it ends


def test_shaping_is_off_by_default() -> None:
    game, state = solo()
    state.hand[0] = ONION
    assert play(game, state, INTERACT) == {}


@pytest.mark.parametrize(
    ("others_dish", "lying", "pot", "paid"),
    [
        (NOTHING, NOTHING, (1, 0), {"dish": 3.0}),
        (NOTHING, NOTHING, (3, 4), {"dish": 3.0}),
        (NOTHING, NOTHING, (0, 0), {}),
        (DISH, NOTHING, (1, 0), {}),
        (NOTHING, DISH, (1, 0), {}),
    ],
)
def test_a_dish_is_paid_for_where_it_is_needed(
    others_dish: int, lying: int, pot: tuple[int, int], paid: dict[str, float]
) -> None:
    game = Kitchen(shaped=True)
    state = game.initial_state(0)
    put(game, state, 0, (3, 2), GO_SOUTH, NOTHING)
    state.hand[1] = others_dish
    fill(game, state, (1, 1), lying)
    fill(game, state, (1, 3), *pot)
    assert play(game, state, INTERACT, REST) == paid
    assert state.hand[0] == DISH


def test_shaped_terms_are_named() -> None:
    game, state = solo(shaped=True)
    state.hand[0] = ONION
    assert play(game, state, INTERACT) == {"onion": 3.0}
    state.hand[0] = DISH
    fill(game, state, (1, 3), 3, 21)
    assert play(game, state, INTERACT) == {"plate": 5.0}
    put(game, state, 0, (3, 4), GO_SOUTH, SOUP)
    assert play(game, state, INTERACT) == {"soup": 20.0}


def test_an_episode_is_cut_off_after_its_steps() -> None:
    game = Kitchen(max_steps=3)
    state = game.initial_state(0)
    for _ in range(3):
        assert game.outcome(state) is None
        play(game, state, REST, REST)
    outcome = game.outcome(state)
    assert outcome is not None
    assert outcome.results == ("truncated", "truncated")
    assert game.truncated(state)


# Layouts


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_classic_layouts_are_kitchens_for_two(name: str) -> None:
    assert Kitchen(layout=name).num_players == 2


def test_a_kitchen_may_be_drawn_with_an_indent() -> None:
    game = Kitchen(
        layout="""
            XPXX
            O1 X
            X 2D
            XSXX
        """
    )
    assert game.sides == (4, 4)
    assert game.starts == (cell(game, 2, 2), cell(game, 3, 3))


def test_players_without_a_digit_start_on_the_first_free_floor() -> None:
    game = Kitchen(num_players=4)
    assert game.starts == tuple(cell(game, *p) for p in [(3, 2), (2, 4), (2, 2), (2, 3)])


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("cramped_rom", "did you mean 'cramped_room'"),
        ("kitchen", "there are cramped_room, asymmetric_advantages"),
        ("XPX\nO1X\n", "not 2 lines and 3 columns"),
        ("XPXX\nO1?S\nXDXX\n", "line 2, column 3: '\\?' means nothing"),
        ("XPXX\nO1S\nXDXX\n", "line 2, column 4: line 1 has 4 columns"),
        ("XPXX\nO1 SX\nXDXX\n", "line 2, column 5: line 1 has 4 columns"),
        ("XPXX\nO11S\nXDXX\n", "line 2, column 3: start 1 is already taken"),
        ("XPXX\nO1 S\nX XX\nXDXX\nX XX\n", "line 5, column 2: the edge must be closed"),
        ("XPXX\nO1 S\nXXXX\n", "has no dish dispenser \\(D\\)"),
        ("XPXX\nX1 S\nXDXX\n", "has no onion dispenser \\(O\\)"),
        ("XPXXX\nO1 XD\nX 2SX\nXXXXX\n", "line 2, column 5: no player can reach this dish"),
        ("XXXXX\nO1X2P\nDXXXS\nXXXXX\n", "line 3, column 1: no player can reach this dish"),
        ("XXXXPX\nO1XX2D\nXXXXSX\n", "line 2, column 1: no onion can get from here"),
        ("XPXXXX\nO1XX2D\nXXXXSX\n", "line 2, column 6: no dish can get from here"),
        ("XOXXXX\nP1XX2S\nXDXXXX\n", "line 2, column 1: no soup can get from this pot"),
    ],
)
def test_a_faulty_layout_is_refused_by_line_and_column(text: str, error: str) -> None:
    with pytest.raises(InvalidOption, match=error):
        Kitchen(layout=text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("XDXSX\nO1X2P\nXXXXX\n", id="over a counter"),
        pytest.param("XXXXX\nO1P2D\nXXXSX\n", id="over a pot"),
    ],
)
def test_players_who_cannot_meet_may_hand_things_on(text: str) -> None:
    assert Kitchen(layout=text).num_players == 2


def test_what_two_can_do_may_be_too_much_for_one() -> None:
    with pytest.raises(InvalidOption, match="no player can reach this"):
        Kitchen(layout="forced_coordination", num_players=1)


@pytest.mark.parametrize(
    "options",
    [
        {"num_players": 0},
        {"num_players": 5},
        {"cook_time": 0},
        {"cook_time": 101},
        {"max_steps": 0},
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, int]) -> None:
    (name,) = options
    with pytest.raises(InvalidOption, match=f"{name} must be"):
        Kitchen(**options)  # type: ignore[arg-type]


def test_a_kitchen_without_room_is_refused() -> None:
    with pytest.raises(InvalidOption, match="no room for 3 players"):
        Kitchen(layout="XPXX\nO12S\nXDXX\n", num_players=3)


# Views, words and pictures


def test_the_view_has_the_own_player_first() -> None:
    game = Kitchen()
    state = game.initial_state(0)
    put(game, state, 0, (2, 2), GO_WEST, ONION)
    put(game, state, 1, (3, 4), GO_SOUTH, SOUP)
    fill(game, state, (1, 3), 2)
    fill(game, state, (1, 1), DISH)
    view = game.observe(state, 1).transpose(2, 0, 1)
    filled = {
        plane: [(*map(int, place), int(view[plane][tuple(place)])) for place in np.argwhere(seen)]
        for plane, seen in enumerate(view)
        if seen.any() and plane not in (10, 11, 12, 13, 14)
    }
    assert filled == {
        0: [(2, 3, 1)],  # where I am
        1: [(1, 1, 1)],  # where the other is
        3: [(2, 3, 1)],  # I face south
        9: [(1, 1, 1)],  # the other faces west
        15: [(0, 2, 2)],  # onions in the pot
        16: [(2, 3, 3)],  # onions in my soup
        18: [(2, 3, 1)],  # which is ready
        19: [(0, 0, 1)],  # a dish
        20: [(1, 1, 1)],  # the other's onion
    }
    assert [int(view[plane].sum()) for plane in range(10, 15)] == [1, 9, 2, 1, 1]


def test_the_view_says_when_time_runs_out() -> None:
    game = Kitchen()
    state = game.initial_state(0)
    for turn, urgent in ((360, 0), (361, 1)):
        state.turn = turn
        assert set(game.observe(state, 0)[:, :, 21].ravel().tolist()) == {urgent}


def test_the_text_says_where_everybody_is_and_what_there_is() -> None:
    game = Kitchen(auto_cook=False)
    state = game.initial_state(0)
    put(game, state, 0, (2, 2), GO_WEST, ONION)
    put(game, state, 1, (3, 2), GO_NORTH, DISH + 1)
    fill(game, state, (1, 3), 3, 15)
    fill(game, state, (1, 1), DISH)
    fill(game, state, (4, 5), ONION)
    assert game.describe(state, 1).splitlines() == [
        "You are player_1, in row 3, column 2, facing north (player_0), "
        "holding a soup of only 1 onion. Steps played: 0 of 400.",
        "player_0 is in row 2, column 2, facing west (onion dispenser), holding an onion.",
        "The pot in row 1, column 3 cooks a soup, ready in 6 steps.",
        "On the counters: a dish in row 1, column 1; an onion in row 4, column 5.",
        "The map:",
        "   12345",
        " 1 XXPXX",
        " 2 O...O",
        " 3 X...X",
        " 4 XDXSX",
    ]


@pytest.mark.parametrize(
    ("content", "clock", "words"),
    [
        (0, 0, "is empty."),
        (1, 0, "holds 1 onion."),
        (2, 0, "holds 2 onions."),
        (3, 20, "cooks a soup, ready in 1 step."),
        (3, 21, "holds a soup that is ready."),
        (2, 21, "holds a soup of only 2 onions that is ready."),
    ],
)
def test_the_text_tells_a_pots_state(content: int, clock: int, words: str) -> None:
    game = Kitchen()
    state = game.initial_state(0)
    fill(game, state, (1, 3), content, clock)
    assert f"The pot in row 1, column 3 {words}" in game.describe(state, 0).splitlines()


def test_moves_are_written_and_read_as_words() -> None:
    game = Kitchen()
    state = game.initial_state(0)
    assert [game.action_text(state, 0, a) for a in game.legal_actions(state, 0)] == list(ACTIONS)
    assert game.parse(state, 0, "The pot is north of me.\nMove: Interact") == INTERACT
    with pytest.raises(InvalidAction, match="north, south, east, west, stay, interact"):
        game.parse(state, 0, "cook")


@pytest.mark.parametrize(
    ("place", "facing", "held", "pot", "action", "words"),
    [
        (
            (2, 2),
            GO_WEST,
            NOTHING,
            (0, 0),
            INTERACT,
            "takes an onion from the onion dispenser in row",
        ),
        ((2, 2), GO_NORTH, DISH, (0, 0), INTERACT, "puts a dish on the counter in row 1, column 2"),
        (
            (2, 3),
            GO_NORTH,
            ONION,
            (1, 0),
            INTERACT,
            "puts an onion into the pot in row 1, column 3",
        ),
        ((2, 3), GO_NORTH, DISH, (3, 21), INTERACT, "takes a soup from the pot in row 1, column 3"),
        ((2, 3), GO_NORTH, NOTHING, (2, 0), INTERACT, "starts the pot in row 1, column 3"),
        (
            (2, 3),
            GO_NORTH,
            DISH,
            (2, 0),
            INTERACT,
            "interacts with the pot in row 1, column 3 to no",
        ),
        ((3, 4), GO_SOUTH, SOUP, (0, 0), INTERACT, "hands in a soup"),
        ((2, 2), GO_NORTH, DISH, (0, 0), GO_WEST, "turns west to the onion dispenser"),
        ((2, 2), GO_NORTH, DISH, (0, 0), GO_EAST, "moves east"),
        ((2, 2), GO_NORTH, DISH, (0, 0), REST, "stays"),
        ((3, 4), GO_NORTH, DISH, (0, 0), GO_NORTH, "turns north and is held up"),
    ],
)
def test_events_tell_what_everybody_did(
    place: tuple[int, int],
    facing: int,
    held: int,
    pot: tuple[int, int],
    action: int,
    words: str,
) -> None:
    game = Kitchen(auto_cook=False)
    state = game.initial_state(0)
    put(game, state, 0, place, facing, held)
    fill(game, state, (1, 3), *pot)
    events = game.step(state, {0: action, 1: REST}).events
    assert events[0].text.startswith(f"player_0 {words}")
    assert events[1].text == "player_1 stays."
    delivered = [event.text for event in events[2:]]
    assert delivered == (["1 soup delivered: 20 points."] if held == SOUP else [])


def test_the_rules_give_the_numbers_of_this_kitchen() -> None:
    rules = Kitchen(num_players=3, cook_time=7, max_steps=90, shaped=True).rules_for(0)
    for fact in ("3 players", "7 steps", "90 steps", "by itself", "paid 3 for an onion"):
        assert fact in rules
    assert "empty hands interacts with a pot" in Kitchen(auto_cook=False).rules_for(0)
    assert "also paid" not in Kitchen().rules_for(0)


def test_the_picture_shows_players_things_and_pots() -> None:
    game = Kitchen()
    state = game.initial_state(0)
    put(game, state, 0, (2, 2), GO_WEST, DISH)
    fill(game, state, (1, 3), 3, 11)
    fill(game, state, (1, 1), ONION)
    scene = game.scene(state)
    assert scene.grid is not None
    drawn = ["".join(f"{p.glyph if p else '.':3}" for p in row) for row in scene.grid.cells]
    assert drawn == [
        "o  X  P  X  X  ",
        "O  A< .  B^ O  ",
        "X  .  .  .  X  ",
        "X  D  X  S  X  ",
    ]
    badges = {p.glyph: p.badge for row in scene.grid.cells for p in row if p and p.badge}
    assert badges == {"A<": "dish", "P": "10"}  # of 20 steps ten are left


# States as values, and compiled


def test_pickles_keep_options_and_states() -> None:
    game = Kitchen(layout=OPEN, num_players=4)
    twin = pickle.loads(pickle.dumps(game))
    assert twin == game
    state = game.initial_state(0)
    play(game, state, GO_EAST, GO_SOUTH, GO_NORTH, GO_WEST)
    for copy in (game.clone(state), pickle.loads(pickle.dumps(state))):
        assert copy.tobytes() == state.tobytes()
        assert twin.state_key(copy) == game.state_key(state)


@pytest.mark.exhaustive
def test_compiled_rules_equal_the_interpreted_to_the_bit() -> None:
    game = Kitchen(layout=OPEN, num_players=4, shaped=True, cook_time=2, max_steps=300)
    slow, quick = Episode(game, 0, compiled=False), Episode(game, 0, compiled=True)
    agent, rng = Cook(seed=0), Rng(1)
    while not slow.over:
        assert slow.state.tobytes() == quick.state.tobytes()
        assert slow.rewards == quick.rewards
        for seat in range(4):
            assert slow.observation(seat).tobytes() == quick.observation(seat).tobytes()
        decisions = agent.act([Turn(slow, seat) for seat in range(4)])
        actions = {
            seat: rng.below(6) if rng.random() < 0.3 else decision.action
            for seat, decision in enumerate(decisions)
        }
        slow.act(actions)
        quick.act(actions)
    assert slow.returns == quick.returns
    assert slow.state.soups > 0


@pytest.mark.parametrize("name", ["facts_are_true", "ends_are_told", "numbers_stay_in_space"])
def test_an_own_kitchen_passes_the_kit(name: str) -> None:
    options = {"layout": OPEN, "num_players": 3, "shaped": True, "cook_time": 2, "max_steps": 60}
    verdict = run_check(Subject(SPEC, options), name)
    assert verdict.status == "passed", verdict.detail


# The cook


@pytest.mark.parametrize(
    ("layout", "auto_cook", "soups"),
    [
        ("cramped_room", True, 5),
        ("cramped_room", False, 5),
        ("asymmetric_advantages", True, 10),
        ("coordination_ring", True, 5),
        ("forced_coordination", True, 8),
        ("forced_coordination", False, 8),
        ("counter_circuit", True, 4),
    ],
)
def test_two_cooks_deliver_soups(layout: str, auto_cook: bool, soups: int) -> None:
    episode = cook_through(Kitchen(layout=layout, auto_cook=auto_cook), 1)
    assert episode.state.soups >= soups
    assert episode.returns[0] == 20.0 * episode.state.soups


@pytest.mark.parametrize("seats", [1, 3])
def test_any_number_of_cooks_delivers_soups(seats: int) -> None:
    assert cook_through(Kitchen(num_players=seats), 0).state.soups >= 3


def test_a_cook_reads_its_view() -> None:
    game = Kitchen(layout="counter_circuit", auto_cook=False)
    state = game.initial_state(0)
    put(game, state, 0, (2, 2), GO_WEST, ONION)
    put(game, state, 1, (4, 4), GO_SOUTH, DISH + 2)
    fill(game, state, (1, 4), 2)
    fill(game, state, (1, 5), 3, 21)
    fill(game, state, (1, 1), DISH)
    seen = read_observation(game.observe(state, 1), 2, None, 1)
    own, other = Hand(cell(game, 4, 4), GO_SOUTH, DISH + 2), Hand(cell(game, 2, 2), GO_WEST, ONION)
    assert seen.hands == (own, other)
    assert seen.pots == (Pot(cell(game, 1, 4), 2, None), Pot(cell(game, 1, 5), 3, 0))
    assert seen.lying == {0: DISH}


def test_a_cook_hands_on_what_it_cannot_use_itself() -> None:
    game = Kitchen(layout="forced_coordination")
    state = game.initial_state(0)
    put(game, state, 1, (2, 2), GO_EAST, ONION)
    episode = Episode(game, 0, compiled=False)
    episode.load(state)
    decision = Cook(restless=0.0).act([Turn(episode, 1)])[0]
    episode.act({0: REST, 1: decision.action})
    assert episode.state.there[cell(game, 2, 3)] == ONION


def test_two_cooks_do_not_fetch_the_same_dish() -> None:
    game = Kitchen()
    state = game.initial_state(0)
    put(game, state, 0, (3, 2), GO_SOUTH, NOTHING)
    put(game, state, 1, (3, 4), GO_SOUTH, NOTHING)
    fill(game, state, (1, 3), 3, 10)
    episode = Episode(game, 0, compiled=False)
    episode.load(state)
    turns = [Turn(episode, seat) for seat in range(2)]
    actions = [decision.action for decision in Cook(restless=0.0).act(turns)]
    assert actions == [INTERACT, REST]


def test_a_cook_refuses_other_games() -> None:
    episode = Episode(Foraging(), 0)
    with pytest.raises(InvalidOption, match="'Cook' plays Kitchen, not"):
        Cook().act([Turn(episode, 0)])


def test_a_chance_of_random_moves_is_at_most_1() -> None:
    with pytest.raises(InvalidOption, match=r"restless .* from 0 to 1, not 2"):
        make_agent("cook", restless=2.0)


def test_layouts_know_what_touches_what() -> None:
    plan = parse(LAYOUTS["forced_coordination"])
    regions = set(plan.regions.values())
    assert sorted(map(len, regions)) == [3, 3]
    (pots,) = {pot for pot in regions if plan.touches(pot, plan.cells_of(2)[0])}
    assert not plan.touches(pots, plan.cells_of(3)[0])
