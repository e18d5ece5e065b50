"""A scripted player for the collaboration maze: it tells its map, listens, and finds a path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from palestra import ScriptedAgent, TextAction, Turn, agent

from palestra_envs.text.collaboration_maze.game import (
    GLYPHS,
    WALL,
    Agree,
    CollaborationMaze,
    Finish,
    Propose,
    Say,
    distances,
)
from palestra_envs.text.collaboration_maze.routes import MOVES, Cell, Talk, beside, follow

MAP = re.compile(r"Map from row (\d+): ([.#?/]+)")


@agent("cartographer", needs=("array",))
class Cartographer(ScriptedAgent[CollaborationMaze]):
    """Tells its part of the map, listens, and takes a shortest way.

    It reads its own array observation and what the others say. First it tells all it sees, as many
    rows at a time as a message holds: "Map from row 1: ?.#/..?". It understands others who tell
    theirs in this form. Then it agrees to every step along a shortest path and proposes one if
    there is no such proposal. It assumes that cells it has not heard about are open.
    """

    def __init__(self) -> None:
        super().__init__(seed=0)  # it uses no randomness

    def choose(self, turn: Turn[CollaborationMaze]) -> TextAction:
        game = turn.game
        size = len(game.cells)
        seen = np.asarray(turn.observation).tolist()
        messages = list(map_messages(seen[:size], game)) if game.num_players > 1 else []
        said = [e.data for e in turn.transcript if e.kind == "message"]
        mine = sum(bool(MAP.search(d["text"])) for d in said if d["player"] == turn.seat)
        if mine < len(messages):
            return Say(text=messages[mine])
        walls = {cell for cell, code in zip(game.cells, seen, strict=False) if code == WALL}
        for data in said:
            walls |= set(walls_in(data["text"]))
        row, column, goal_row, goal_column, _, proposal, *_ = seen[size:]
        ways = distances(game.cells, walls, (goal_row, goal_column))
        if game.protocol == "dialogue":
            dialogue = [(int(d["player"]), str(d["text"])) for d in said]
            return self._talk(follow(dialogue, (row, column), game.num_players), ways)
        good = shorter((row, column), ways)
        if not good:
            return Say(text="I see no way to the goal.")
        if proposal and MOVES[proposal - 1] in good:
            return Agree()
        return Propose(move=good[0])

    def _talk(self, talk: Talk, ways: Mapping[Cell, int]) -> TextAction:
        """Agree to the next step in a typed line, or propose one; finish at the goal."""
        if ways.get(talk.here) == 0:
            return Finish()
        good = shorter(talk.here, ways)
        if not good:
            return Say(text="I see no way to the goal.")
        agrees = len(talk.standing) == 1 and talk.standing[0] in good
        return Say(text="Agree" if agrees else f"Propose: {good[0]}")


def shorter(here: Cell, ways: Mapping[Cell, int]) -> list[str]:
    """The moves that lead closer to the goal."""
    length = ways.get(here, 0)
    return [move for move in MOVES if ways.get(beside(here, move), length) < length]


def map_messages(codes: Sequence[int], game: CollaborationMaze) -> Iterator[str]:
    """A map as messages, with as many rows in each as the limit allows."""
    rows = [
        "".join(GLYPHS[code] for code in codes[row * game.columns :][: game.columns])
        for row in range(game.rows)
    ]
    most = (game.message_limit - len("Map from row 99: ")) // (game.columns + 1)
    for first in range(0, game.rows, most):
        yield f"Map from row {first + 1}: {'/'.join(rows[first : first + most])}"


def walls_in(text: str) -> Iterator[Cell]:
    """The walls that a message tells of."""
    for found in MAP.finditer(text):
        for row, line in enumerate(found[2].split("/"), int(found[1]) - 1):
            for column, glyph in enumerate(line):
                if glyph == GLYPHS[WALL]:
                    yield row, column
