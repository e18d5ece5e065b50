"""Frozen Lake against Gymnasium's transition tables."""

from __future__ import annotations

from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv, generate_random_map
from palestra import Episode, InvalidOption
from palestra.rules import randint
from palestra_games.puzzles.frozen_lake import HOLE, FrozenLake

LAKES: list[dict[str, Any]] = [
    {"grid": "4x4"},
    {"grid": "8x8"},
    *({"layout": tuple(generate_random_map(size=n, p=0.7, seed=n))} for n in (3, 5, 9)),
]


def after(game: FrozenLake, place: int, action: int) -> Counter[tuple[int, float, bool]]:
    """What happens to one who stands there, over all three slides or the only step."""
    columns, seen = len(game.map[0]), Counter[tuple[int, float, bool]]()
    drawn: dict[int, tuple[int, float, bool]] = {}
    for seed in range(40 if game.slippery else 1):
        state = game.initial_state(seed)
        state.row, state.column = divmod(place, columns)
        slide = int(_slide(game, seed)) if game.slippery else 0
        paid = game.step(state, {0: action}).rewards.get(0, {}).get("payoff", 0.0)
        drawn[slide] = (int(state.row * columns + state.column), paid, bool(state.over))
    assert len(drawn) == (3 if game.slippery else 1)
    seen.update(drawn.values())
    return seen


def _slide(game: FrozenLake, seed: int) -> int:
    return randint(game.initial_state(seed), 3)


@pytest.mark.parametrize("slippery", [True, False])
@pytest.mark.parametrize("lake", LAKES)
def test_every_transition_is_gymnasiums(lake: dict[str, Any], slippery: bool) -> None:
    game = FrozenLake(**lake, slippery=slippery)
    table = FrozenLakeEnv(desc=list(game.map), is_slippery=slippery).P
    for place, moves in table.items():
        if game.map[place // len(game.map[0])][place % len(game.map[0])] in "GH":
            continue  # nobody moves on from there
        for action, branches in moves.items():
            ours = after(game, place, action)
            theirs = Counter((int(s), float(r), bool(over)) for _, s, r, over in branches)
            assert ours == theirs
            assert all(p == pytest.approx(1 / len(branches)) for p, *_ in branches)


def test_slides_are_equally_likely() -> None:
    game = FrozenLake()
    counts = Counter(_slide(game, seed) for seed in range(3_000))
    assert all(abs(count - 1_000) < 110 for count in counts.values())


def test_maps_are_gymnasiums() -> None:
    for name in ("4x4", "8x8"):
        theirs = FrozenLakeEnv(map_name=name).desc.astype(str)
        assert ["".join(row) for row in theirs] == list(FrozenLake(grid=name).map)


@pytest.mark.parametrize(("side", "frozen"), [(4, 0.8), (8, 0.5), (12, 0.65)])
def test_random_maps_can_be_crossed(side: int, frozen: float) -> None:
    game, maps, holes = FrozenLake(grid="random", side=side, frozen=frozen), set(), 0
    for seed in range(20):
        state = game.initial_state(seed)
        lake = nx.grid_2d_graph(side, side)
        lake.remove_nodes_from(map(tuple, np.argwhere(state.ice == HOLE).tolist()))
        assert nx.has_path(lake, (0, 0), (side - 1, side - 1))
        assert set(np.unique(state.ice)) <= {0, 1, 2, 3}
        maps.add(state.ice.tobytes())
        holes += int((state.ice == HOLE).sum())
    assert len(maps) > 10
    assert holes


@pytest.mark.parametrize(("moves", "paid", "result"), [("112212", 1, "win"), ("21", 0, "loss")])
def test_the_goal_pays_and_a_hole_does_not(moves: str, paid: float, result: str) -> None:
    episode = Episode(FrozenLake(slippery=False), 0, compiled=False)
    for move in moves:
        episode.act({0: int(move)})
    assert episode.over
    assert episode.returns[0] == paid
    assert episode.outcome is not None
    assert episode.outcome.results == (result,)


def test_time_runs_out() -> None:
    episode = Episode(FrozenLake(slippery=False, max_steps=3), 0, compiled=False)
    for _ in range(3):
        episode.act({0: 0})
    assert episode.truncated
    assert episode.returns[0] == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"grid": "5x5"}, "grid must be '4x4' or '8x8' or 'random'"),
        ({"side": 1}, "side must be"),
        ({"frozen": 0.0}, "frozen must be"),
        ({"layout": ("SF", "G")}, "of one length"),
        ({"layout": ("SF", "FF")}, "must be written in S"),
        ({"max_steps": 0}, "max_steps"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        FrozenLake(**options)
