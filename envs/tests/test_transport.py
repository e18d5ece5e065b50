"""Transport: fewest steps by shortest paths and by trips, what hands hold, and who knows what."""

from __future__ import annotations

from itertools import permutations

import networkx as nx
import palestra
import pytest
from palestra import Rng, TextAction
from palestra_envs.text.transport.game import (
    ROOMS,
    THINGS,
    Drop,
    Go,
    House,
    Report,
    Take,
    Transport,
    Wait,
)

ID = "text/Transport-v0"
LINE = ((1,), (0, 2), (1, 3), (2,))  # hall – kitchen – study – bedroom


def house(places: list[int], players: list[int], goal: int = 0) -> House:
    seen = [1 << room for room in players]
    return House(Rng(0), LINE, (0, 1, 2, 3), goal, players, places, seen)


def graph_of(state: House) -> nx.Graph:
    return nx.Graph((room, other) for room, near in enumerate(state.doors) for other in near)


def fewest_steps(game: Transport, state: House) -> int:
    """By breadth-first search over the rules, for one player."""
    layer, known, steps = [state], {(tuple(state.players), tuple(state.places))}, 0
    while layer:
        steps, following = steps + 1, list[House]()
        for one in layer:
            moves: list[TextAction] = [Go(ROOMS[r]) for r in one.doors[one.players[0]]]
            moves += [Take(game.names[n]) for n in game.can_take(one, 0)]
            moves += [Drop()] if game.carried(one, 0) else []
            for move in moves:
                after = game.clone(one)
                game.step(after, {0: move})
                if game.brought(after) == game.things:
                    return steps
                if (key := (tuple(after.players), tuple(after.places))) not in known:
                    known.add(key)
                    following.append(after)
        layer = following
    raise AssertionError("it cannot be done")


@pytest.mark.parametrize("seed", range(6))
def test_two_hands_take_the_shortest_round_through_the_house(seed: int) -> None:
    game = Transport(num_players=1, rooms=7, things=2, containers=0, steps=200)
    state = game.initial_state(seed)
    ways = dict(nx.all_pairs_shortest_path_length(graph_of(state)))
    start, goal = state.players[0], state.goal
    rounds = [ways[start][a] + ways[a][b] + ways[b][goal] for a, b in permutations(state.places)]
    assert fewest_steps(game, state) == min(rounds) + 2 + 1  # and two takes, and one drop


@pytest.mark.parametrize(("containers", "steps"), [(0, 18), (1, 13)])
def test_trips_between_two_rooms_by_hand(containers: int, steps: int) -> None:
    """Seven things lie in one room, and are due in the next.

    By twos: 7 takes, 4 ways there with 4 drops, and 3 ways back. With a container, by fours: 8
    takes, 2 ways with 2 drops, and 1 way back.
    """
    game = Transport(num_players=1, rooms=2, things=7, containers=containers, steps=60)
    state = House(Rng(0), ((1,), (0,)), (0, 1), 0, [1], [1] * (7 + containers), [2])
    assert fewest_steps(game, state) == steps
    starts = ((n, game.initial_state(n)) for n in range(99))
    seed = next(n for n, start in starts if start.players[0] != start.goal)
    (record,) = palestra.play(
        ID,
        agents="carrier",
        seed=seed,
        num_players=1,
        rooms=2,
        things=7,
        containers=containers,
        steps=60,
    )
    assert len(record.steps) == steps


def test_a_container_takes_one_hand_and_holds_three() -> None:
    game = Transport(num_players=1, rooms=4, things=6, containers=1)
    state = house([1] * 6 + [1], [1])
    game.step(state, {0: Take(THINGS[0])})
    game.step(state, {0: Take("basket")})
    for n in (1, 2, 3):
        game.step(state, {0: Take(THINGS[n])})
    assert game.held(state, 0) == [0, 6]
    assert game.inside(state, 6) == [1, 2, 3]
    assert game.can_take(state, 0) == []
    assert "apple, basket (book, candle, clock)" in game.describe(state, 0)
    game.step(state, {0: Go("hall")})
    step = game.step(state, {0: Drop()})
    assert step.rewards[0] == {"brought": pytest.approx(4 / 6)}
    assert game.held(state, 0) == [6]
    assert game.can_take(state, 0) == []  # what was brought stays


def test_of_two_who_reach_for_one_thing_the_first_changes_from_step_to_step() -> None:
    game = Transport(num_players=2, rooms=4, things=2, containers=0)
    state = house([2, 2], [2, 2])
    both = {0: Take("apple"), 1: Take("apple")}
    step = game.step(state, both)
    assert state.places == [4, 2]  # player_0 has it
    gone = [event for event in step.events if event.data.get("gone")]
    assert [event.audience for event in gone] == [frozenset({1})]
    game.step(state, {0: Take("book"), 1: Take("book")})
    assert state.places == [4, 5]  # and player_1 that


def test_nobody_reads_what_it_has_neither_seen_nor_been_told() -> None:
    game = Transport(num_players=3, rooms=4, things=3, containers=0)
    one, other = house([3, 2, 3], [1, 3, 0]), house([2, 3, 2], [1, 3, 0])
    for seat, same in ((0, True), (1, False), (2, True)):
        assert (game.describe(one, seat) == game.describe(other, seat)) is same
        assert (game.observe(one, seat) == game.observe(other, seat)).all() == same
        assert (game.scene(one, seat) == game.scene(other, seat)) is same
    game.step(one, {0: Wait(), 1: Take("apple"), 2: Wait()})
    assert game.knows(one, 0, 0)  # who takes what is heard
    assert not game.knows(one, 0, 2)
    game.step(one, {0: Wait(), 1: Report(), 2: Wait()})
    assert game.knows(one, 0, 2)
    assert "In the bedroom: candle." in game.describe(one, 2)
    assert not game.knows(one, 0, 1)


def test_what_is_put_down_elsewhere_is_known_and_the_rest_of_that_room_is_not() -> None:
    game = Transport(num_players=2, rooms=4, things=2, containers=0)
    state = house([2, 3], [2, 0])
    for move in (Take("apple"), Go("bedroom"), Drop()):
        game.step(state, {0: move, 1: Wait()})
    told = game.describe(state, 1)
    assert "The apple was put down in the bedroom." in told
    assert "book" not in told
    assert game.observe(state, 1)[5:7].tolist() == [3, -1]


@pytest.mark.parametrize("seed", range(5))
def test_worlds_that_a_player_imagines_differ_where_it_has_not_looked(seed: int) -> None:
    game = Transport(num_players=2)
    state = game.initial_state(seed)
    for step in range(5):
        moves = {s: game.sample(state, s, Rng.seeded(seed * 99 + step + s)) for s in (0, 1)}
        game.step(state, moves)
    drawn = [game.determinize(state, 0, Rng.seeded(n)) for n in range(40)]
    unknown = [n for n in range(len(game.names)) if not game.knows(state, 0, n)]
    assert unknown
    for n in range(len(game.names)):
        places = {world.places[n] for world in drawn}
        assert (len(places) > 1) == (n in unknown)
        assert n not in unknown or state.goal not in places
    for world in drawn:
        assert game.describe(world, 0) == game.describe(state, 0)


def test_houses_are_whole_and_differ() -> None:
    kinds = set()
    for seed in range(300):
        state = Transport(rooms=9).initial_state(seed)
        graph = graph_of(state)
        assert len(graph) == 9
        assert nx.is_connected(graph)
        assert nx.is_planar(graph)
        kinds.add(state.doors)
    assert len(kinds) > 290


@pytest.mark.slow
def test_more_is_brought_by_players_who_divide_the_house() -> None:
    """Over the same houses, and with unequal teams: nobody doubles another's way."""
    mean = {}
    for agent in ("random", "carrier:claims=false", "carrier"):
        records = palestra.play(ID, agents=agent, episodes=60, seed=2, num_players=4)
        mean[agent] = sum(record.returns[0] for record in records) / 60
    assert mean["random"] < 0.1
    assert mean["carrier:claims=false"] < mean["carrier"] - 0.02
