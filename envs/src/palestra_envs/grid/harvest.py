"""Harvest: apples that grow back only where others are left, and a beam to fine the greedy with.

A commons: everybody gains by eating and all lose if a patch is eaten bare, for then it never grows
back. All players act at once. In a step they move, eat, shine their beams and then apples grow: on
each site without apple and player, with a probability that depends on how many apples lie within
distance 2 (which are the same 12 cells by city-block and by straight-line distance):

    apples within distance 2    0    1       2      3 or more
    chance in a step            0    0.005   0.02   0.05

The game is from Perolat, Leibo, Zambaldi, Beattie, Tuyls and Graepel, "A multi-agent reinforcement
learning model of common-pool resource appropriation", NIPS 2017, where the beam is a time-out; the
table, the fine of 50 and the cost of 1 from Hughes et al., "Inequity aversion improves cooperation
in intertemporal social dilemmas", NeurIPS 2018. There five players with a view of 15 by 15 cells
play 1,000 steps. Their map is not reproduced: where no `level` is given, patches of five apples are
laid out on the grid, too far apart to help each other.

Beams are three cells wide and reach five cells, the outer two from beside the player on; walls and
players stop them. Of several who head for one cell a random one gets it; nobody enters a cell whose
occupant stays there, and two cannot swap.

Checked against that table, rates measured within binomial bounds; a patch eaten bare stays bare.

The array view has the planes of `palestra_envs.grid.social_dilemma` and no others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from palestra.rules import all_act, truncate, uniform

from palestra_envs.grid.fields_of_view import on_map
from palestra_envs.grid.social_dilemma import SocialDilemma
from palestra_envs.grid.social_dilemma_rules import (
    APPLE,
    ORCHARD,
    SPROUT,
    come_and_go,
    eat,
    keep_score,
    lay_out,
    look,
    player_at,
    shine,
    walk,
)

ACTIONS = (
    *("stay", "forward", "backward", "step-left", "step-right", "turn-left", "turn-right"),
    "fine",
)
GROWTH = (0.0, 0.005, 0.02, 0.05)  # by apples within RADIUS; the last for all more
RADIUS = 2
PATCH = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
KINDS = {
    "@": "a wall",
    "A": "a cell on which apples grow",
    "P": "a cell to start on",
    ".": "floor",
    " ": "floor",
}
APART = 5  # rows or columns from one patch's middle to the next


@dataclass(frozen=True)
class Harvest(SocialDilemma):
    """You gather apples on a map that you share with other players.

    All players choose one action at the same time:
    - "forward", "backward", "step-left", "step-right": step one cell, seen from the way you face,
      without turning. Walls cannot be entered. If several players head for one cell, a random one
      of them gets it. A cell whose player stays there cannot be entered, nor can two players swap.
    - "turn-left", "turn-right": turn on the spot by a quarter.
    - "fine": shine a beam ahead of you, three cells wide and five long; its outer cells begin
      beside you. Walls and players stop it. Every player it hits is fined, and it costs you too.
    - "stay": do nothing.
    Beams are shone after all have moved. You eat an apple by stepping on it, and earn 1. Then
    apples grow, on the map's apple cells that hold neither apple nor player. The chance that one
    grows on such a cell in a step depends on the apples within two steps of it (rows and columns
    added up): none 0, one 0.005, two 0.02, three or more 0.05. Where all apples are gone, none ever
    grows again.
    Places are given as (cells ahead of you, cells to your right); negative numbers are behind you
    and to your left. How others face is given as you see it: "ahead" is the way you face. In what
    you see, @ is a wall, A an apple, and a digit the player of that number.
    """

    actions = ACTIONS
    planes = 7
    kinds = KINDS
    least_rows = least_columns = 6

    def build(self) -> list[str]:
        """Walls around, and patches of five apples, three cells or more from one another."""
        grid = [["@"] * self.columns for _ in range(self.rows)]
        for row in range(1, self.rows - 1):
            grid[row][1:-1] = ["."] * (self.columns - 2)
        for row in range(3, self.rows - 2, APART):
            for column in range(3, self.columns - 2, APART):
                for down, across in PATCH:
                    grid[row + down][column + across] = "A"
        return ["".join(line) for line in grid]

    @staticmethod
    def setup(config: Any, state: Any) -> None:
        lay_out(config, state)
        all_act(state)

    @staticmethod
    def advance(config: Any, state: Any, actions: Any, out: Any) -> None:
        walk(config, state, actions)
        eat(config, state, out)
        shine(config, state, actions, out)
        come_and_go(config, state)
        regrow(config, state)
        keep_score(config, state, out)
        if state.turn + 1 >= config.max_steps:
            truncate(state)

    @staticmethod
    def sense(config: Any, state: Any, player: int, view: Any) -> None:
        """See `palestra_envs.grid.social_dilemma` for the planes."""
        look(config, state, player, view)


def regrow(config: Any, state: Any) -> None:
    """Let apples grow, each as likely as the apples around its site before any has grown."""
    cells = state.cells
    for row in range(config.rows):
        for column in range(config.columns):
            if cells[row, column] == ORCHARD:
                near = min(apples_near(config, state, row, column), len(GROWTH) - 1)
                grows = near > 0 and uniform(state) < GROWTH[near]
                if grows and player_at(config, state, row, column) < 0:
                    cells[row, column] = SPROUT
    for row in range(config.rows):
        for column in range(config.columns):
            if cells[row, column] == SPROUT:
                cells[row, column] = APPLE


def apples_near(config: Any, state: Any, row: int, column: int) -> int:
    """How many apples lie within distance 2 of a cell, its own left out."""
    cells, found = state.cells, 0
    for down in range(-RADIUS, RADIUS + 1):
        for across in range(abs(down) - RADIUS, RADIUS - abs(down) + 1):
            r, c = row + down, column + across
            if (down != 0 or across != 0) and on_map(config, r, c) and cells[r, c] == APPLE:
                found += 1
    return found
