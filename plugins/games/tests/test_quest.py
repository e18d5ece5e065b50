"""Quests: exact lengths by a search over all states, even draws by counting, what is paid when."""

from __future__ import annotations

from collections import Counter, deque
from itertools import product
from typing import Any

import networkx as nx
import pytest
from palestra import Episode, InvalidOption, Rng, play
from palestra_games.puzzles.quest import (
    House,
    Quest,
    Take,
    build,
    distances,
    draw_walk,
)


def fewest_steps(game: Quest, state: House) -> int:
    """By search over rooms and subgoals, taking nothing that is of no use."""
    queue, known = deque([(game.clone(state), 0)]), {(state.room, state.gained)}
    while True:
        at, steps = queue.popleft()
        if at.gained == game.subgoals:
            return steps
        for action in game.legal_actions(at, 0):
            then = game.clone(at)
            game.step(then, {0: action})
            if (then.room, then.gained) not in known:
                known.add((then.room, then.gained))
                queue.append((then, steps + 1))


@pytest.mark.exhaustive(sample=16)
@pytest.mark.parametrize("rooms", [2, 5, 12, 40])
@pytest.mark.parametrize("chests", [0, 1, 3, 8])
@pytest.mark.parametrize("stretch", [0.0, 0.5, 1.0])
def test_the_shortest_solution_has_the_wanted_length(
    rooms: int, chests: int, stretch: float
) -> None:
    least = 1 + 2 * chests
    length = least + int(stretch * ((chests + 1) * (rooms - 1) // 2))
    game = Quest(rooms=rooms, chests=chests, length=length, max_steps=10_000)
    for seed in range(3):
        state = game.initial_state(seed)
        assert fewest_steps(game, state) == length
        walk = game.walkthrough(state)
        assert len(walk) == length
        episode = Episode(game, seed)
        for action in walk:
            episode.act({0: action})
        assert episode.over
        assert list(episode.returns) == [pytest.approx(1)]


@pytest.mark.parametrize("seed", range(10))
def test_the_house_is_a_tree_whose_distances_are_those_of_networkx(seed: int) -> None:
    doors, spots = build(Rng(seed), 15)
    graph = nx.Graph((room, to) for room, ways in enumerate(doors) for to in ways if to >= 0)
    assert nx.is_tree(graph)
    assert len(graph) == len(set(spots)) == 15
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    assert distances(doors) == [[lengths[a][b] for b in range(15)] for a in range(15)]


def test_places_are_drawn_evenly_from_all_walks_of_a_length() -> None:
    steps = distances(build(Rng(2), 5)[0])
    walks = [
        walk
        for walk in product(range(5), repeat=3)
        if steps[0][walk[0]] + steps[walk[0]][walk[1]] + steps[walk[1]][walk[2]] == 4
    ]
    rng, draws = Rng(1), 200 * len(walks)
    counts = Counter(draw_walk(rng, steps, 0, [range(5)] * 3, 4) for _ in range(draws))
    assert set(counts) == set(walks)
    assert all(140 < count < 260 for count in counts.values())  # 200, give or take 4 sigma
    assert draw_walk(rng, steps, 0, [range(5)] * 3, 100) is None


@pytest.mark.parametrize(
    ("density", "paid"),
    [
        (0.0, [0, 0, 0, 0, 5]),
        (0.5, [0, 2, 1, 0, 2]),
        (1.0, [1, 1, 1, 1, 1]),
    ],
)
def test_density_says_how_many_subgoals_are_paid_at_once(density: float, paid: list[int]) -> None:
    episode = Episode(Quest(density=density), 0)
    got, before = [], 0
    for action in episode.game.walkthrough(episode.state):
        episode.act({0: action})
        if episode.state.gained > before:
            before = episode.state.gained
            got.append(round(5 * episode.rewards[0]))
    assert got == paid


@pytest.mark.parametrize("things", [0, 5, 20])
def test_things_make_more_actions_and_are_of_no_use(things: int) -> None:
    game = Quest(things=things)
    assert game.action_space(0).n == 4 + 3 + 2 + things
    episode = Episode(game, 1)
    while things:
        loose = [a for a in episode.legal_actions(0) if isinstance(a, Take)]
        if loose:
            break
        episode = Episode(game, episode.seed + 1)
    if things:
        before = len(game.walkthrough(episode.state))
        episode.act({0: loose[-1]})
        assert len(game.walkthrough(episode.state)) == before - (episode.state.gained > 0)


def test_what_is_hidden_fits_what_was_seen_and_the_length() -> None:
    game = Quest()
    episode = Episode(game, 4)
    for action in game.walkthrough(episode.state)[:1]:
        episode.act({0: action})
    drawn = set()
    for seed in range(50):
        twin = game.determinize(episode.state, 0, Rng(seed))
        assert game.describe(twin, 0) == episode.describe(0)
        fresh = game.clone(twin)
        fresh.gained, fresh.room = 0, fresh.start
        assert len(game.walkthrough(fresh)) == game.length
        drawn.add(twin.places)
    assert len(drawn) > 1


def test_explorers_find_the_treasure_and_random_walkers_seldom_do() -> None:
    explorer, random = (
        play("games/Quest-v0", agents=[agent], episodes=40, seed=3)
        for agent in ("quest-explorer", "random")
    )
    assert all(record.outcome.results == ("win",) for record in explorer)
    assert sum(record.outcome.results == ("win",) for record in random) < 20


@pytest.mark.parametrize(
    "options",
    [
        {"rooms": 1},
        {"things": 99},
        {"chests": -1},
        {"length": 4},
        {"length": 60},
        {"density": 1.5},
        {"max_steps": 0},
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match=f"{next(iter(options))} must be (a.* )?from"):
        Quest(**options)
