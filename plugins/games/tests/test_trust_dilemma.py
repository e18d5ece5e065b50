"""The trust dilemma: rates by the grid graph's mean distance, and a stag hunt among its players."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidOption
from palestra_games.dilemmas.trust_dilemma import MOVES, TrustDilemma

ENV = "games/TrustDilemma-v0"


def means(*styles: str, **options: Any) -> tuple[float, float]:
    agents = [f"stag-hunter:style={style}" for style in styles]
    records = palestra.play(ENV, agents=agents, episodes=30, seed=0, **options)
    first, second = np.mean([record.returns for record in records], axis=0)
    return float(first), float(second)


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize(("rows", "columns"), [(5, 5), (3, 7), (2, 4)])
def test_two_hunters_take_a_stag_every_mean_distance(rows: int, columns: int) -> None:
    """From cell to cell, both together; (m + n) / 3 is the mean over two different cells."""
    mean = nx.average_shortest_path_length(nx.grid_2d_graph(rows, columns))
    assert mean == pytest.approx((rows + columns) / 3)
    steps, episodes = 500, 8
    options = {"rows": rows, "columns": columns, "plants": 0, "steps": steps}
    agents = ["stag-hunter", "stag-hunter"]
    records = palestra.play(ENV, agents=agents, episodes=episodes, seed=1, **options)
    rates = [record.returns[0] / 5 / steps for record in records]
    error = np.std(rates, ddof=1) / episodes**0.5
    assert np.mean(rates) == pytest.approx(1 / mean, abs=5 * error + 2 / steps)
    assert all(record.returns[0] == record.returns[1] for record in records)


@pytest.mark.parametrize("seed", range(8))
def test_the_first_stag_is_taken_as_soon_as_both_can_be_there(seed: int) -> None:
    game = TrustDilemma(rows=6, columns=7, plants=0)
    grid, episode = nx.grid_2d_graph(6, 7), Episode(game, seed, compiled=False)
    stag = game.cell(episode.state.stag)
    lengths = [nx.shortest_path_length(grid, corner, stag) for corner in ((0, 0), (5, 6))]
    agents = [palestra.make_agent("stag-hunter") for _ in range(2)]
    while not episode.state.taken:
        turns = [palestra.Turn(episode, seat) for seat in range(2)]
        episode.act({s: agents[s].act([turns[s]])[0].action for s in range(2)})
    assert episode.steps_played == max(lengths)


def test_hunting_and_picking_are_a_stag_hunt() -> None:
    hunt, pick = means("together", "together"), means("plants", "plants")
    alone, beside = means("together", "plants")
    assert hunt[0] > beside  # together is an equilibrium, and the best
    assert pick[0] > alone  # so is picking
    assert hunt[0] > pick[0]
    assert alone < min(beside, *pick, *hunt)  # and hunting risks most


def test_the_rash_are_gored_when_the_other_picks() -> None:
    records = palestra.play(
        ENV, agents=["stag-hunter:style=rash", "stag-hunter:style=plants"], episodes=20, seed=3
    )
    assert all(record.returns[0] < 0 < record.returns[1] for record in records)


def placed(hunters: tuple[int, int], stag: int, plants: tuple[int, int]) -> Episode:
    episode = Episode(TrustDilemma(), 0, compiled=False)
    state = episode.state
    state.hunters[:], state.stag, state.growing[:] = hunters, stag, plants
    episode.load(state)
    return episode


@pytest.mark.parametrize(
    ("hunters", "moves", "paid"),
    [
        ((11, 13), ("right", "left"), (5, 5)),  # both step on the stag at 12
        ((11, 13), ("right", "stay"), (-2, 0)),
        ((2, 17), ("down", "up"), (0, -2)),
        ((0, 24), ("right", "stay"), (1, 0)),  # a plant at 1
        ((0, 2), ("right", "left"), (0.5, 0.5)),
        ((0, 24), ("stay", "left"), (0, 1)),  # a plant at 23
    ],
)
def test_who_is_paid_for_what(
    hunters: tuple[int, int], moves: tuple[str, str], paid: tuple[float, float]
) -> None:
    episode = placed(hunters, 12, (1, 23))
    before = episode.state
    episode.act({seat: MOVES.index(move) for seat, move in enumerate(moves)})
    assert tuple(episode.rewards) == paid
    cells = [episode.state.stag, *episode.state.growing]
    moved = [a != b for a, b in zip(cells, [before.stag, *before.growing], strict=True)]
    assert sum(moved) == (paid != (0, 0))
    assert len({*cells}) == 3
    assert not {*cells} & {*episode.state.hunters.tolist()}


def test_nobody_leaves_the_grid() -> None:
    episode = placed((0, 24), 12, (1, 23))
    assert [MOVES[m] for m in episode.legal_actions(0)] == ["stay", "down", "right"]
    assert [MOVES[m] for m in episode.legal_actions(1)] == ["stay", "up", "left"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rows": 1}, "rows must be an integer from 2"),
        ({"rows": 25, "columns": 20}, "at most 400 cells"),
        ({"plants": 22}, "plants must be an integer from 0 to 20"),
        ({"rows": 2, "columns": 3, "plants": 3}, "plants must be from 0 to 2 on 6 cells"),
        ({"gore": -1}, "gore"),
        ({"steps": 0}, "steps"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        TrustDilemma(**options)
