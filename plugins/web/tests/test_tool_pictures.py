"""Pictures of calls, of types of values and of trips."""

from __future__ import annotations

import json
from typing import Any

import networkx as nx
import palestra
import pytest
from palestra import Episode, Grid, Rng, Scene
from palestra.scene import Bars, Graph, Part, Table
from palestra.testing.subject import play_on
from palestra_web.tools.answers import answer_part, call_grid, call_table
from palestra_web.tools.declare import Call
from palestra_web.tools.game import Made


def part_of(scene: Scene, kind: type[Part]) -> Any:
    """The first part of a kind; None if there is none."""
    return next((part for part in scene.all_parts() if isinstance(part, kind)), None)


def made(answer: Any, tool: str = "look", *, failed: bool = False) -> Made:
    return Made(Call(tool, {"id": "x"}), answer if failed else json.dumps(answer), failed)


@pytest.mark.parametrize(
    ("answer", "kind", "gold"),
    [
        ({"U1": 3, "U2": 0, "U3": 9.5}, Bars, "U2"),
        ({"U1": {"cases": 3, "minutes": 2.25}, "U2": {"cases": 1, "minutes": 7.0}}, Table, "U2"),
        ([{"id": f"C{n}", "name": "x" * 90} for n in range(50)], Table, "C41"),
        (["one", "two"], Table, "two"),
        ({"city": "Kelso", "note": ""}, Table, "Kelso"),
        ("a text", Table, "a text"),
        ([], Table, ""),
        (None, Table, ""),
        (True, Table, "True"),
    ],
)
def test_an_answer_is_drawn_and_the_right_one_is_gold(
    answer: Any, kind: type[Part], gold: str
) -> None:
    plain, shown = answer_part(made(answer)), answer_part(made(answer), gold)
    assert isinstance(shown, kind)
    assert "gold" not in repr(plain)
    assert repr(shown).count("'gold'") == bool(gold)
    if isinstance(shown, Table) and gold:
        assert gold in shown.rows[shown.colours.index("gold")]
    assert len(shown.rows if isinstance(shown, Table) else shown.bars) <= 20  # type: ignore[union-attr]


def test_calls_are_numbered_and_those_that_failed_are_red() -> None:
    calls = tuple(made(n, "abc"[n % 3], failed=n in (4, 11)) if n not in (4, 11)
                  else made("no", "abc"[n % 3], failed=True) for n in range(13))  # fmt: skip
    table, grid = call_table(calls, 5), call_grid(calls, 40)
    assert [row[0] for row in table.rows] == ["9", "10", "11", "12", "13"]
    assert table.colours == ("green", "green", "green", "red", "green")
    assert grid.column_labels == tuple(str(n) for n in range(4, 14))
    for column in range(10):
        (row,) = [r for r in range(3) if grid.cells[r][column] is not None]
        piece = grid.cells[row][column]
        assert grid.row_labels[row] == "abc"[(column + 3) % 3]
        assert piece is not None
        assert (piece.colour == "red") == (column + 3 in (4, 11))


@pytest.mark.parametrize("options", [{}, {"walk": 4, "goals": 3}, {"discover": True}])
def test_types_are_linked_by_the_calls_that_were_made(options: dict[str, Any]) -> None:
    game = palestra.game("web/ToolWorld-v0", **options)
    for seed in range(6):
        episode = Episode(game, seed)
        for _moment in play_on(episode, Rng(seed), 12):
            state = episode.state
            functions = game.library(state).functions
            seen, own = part_of(episode.scene(), Graph), part_of(episode.scene(0), Graph)
            names = [node.label for node in own.nodes] if own else []
            links = own.links if own else ()
            drawn = nx.DiGraph((names[link.start], names[link.end]) for link in links)
            called = [functions[m.call.tool] for m in state.calls_made if m.call.tool in functions]
            first = list({f.tool.name: f for f in called}.values())[:6]
            wanted = {(f.takes, f.gives) for f in first if f.takes != f.gives}
            assert set(drawn.edges) == wanted
            gold = [node.label for node in seen.nodes if node.colour == "gold"]
            assert set(gold) == {f"{g.table}_{g.column}" for g in state.task.goals}
            assert own is None or not {"gold", "blue"} & {node.colour for node in own.nodes}


@pytest.mark.parametrize("days", [3, 5, 7])
def test_a_trip_shows_a_plan_that_would_do_to_spectators_alone(days: int) -> None:
    game = palestra.game("web/TravelDesk-v0", days=days)
    for seed in range(4):
        episode = Episode(game, seed)
        state, trip = episode.state, episode.state.trip
        seen, own = part_of(episode.scene(), Graph), part_of(episode.scene(0), Graph)
        tour = nx.DiGraph((link.start, link.end) for link in seen.links)
        assert len(nx.find_cycle(tour, 0)) == trip.request.cities + 1  # there and back
        assert [node.label for node in own.nodes] == [trip.request.origin]
        state.noted.update({day.day: day for day in trip.witness})
        bars = part_of(game.scene(state), Bars)
        assert [bar.value == bar.full for bar in bars.bars[:2]] == [True, True]
        assert bars.bars[2].value <= bars.bars[2].full == trip.request.budget
        grid = part_of(game.scene(state), Grid)
        filled = {(grid.row_labels[r], c) for r, row in enumerate(grid.cells)
                  for c, piece in enumerate(row) if piece}  # fmt: skip
        nights = {("night", day) for day in range(days - 1)}
        assert {cell for cell in filled if cell[0] == "night"} == nights
        assert part_of(game.scene(state, 0), Bars) is None
