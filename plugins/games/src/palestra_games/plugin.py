"""What this plugin gives: the games, by id."""

from __future__ import annotations

from palestra.hooks import hookimpl
from palestra.specs import EnvSpec


@hookimpl
def palestra_environments() -> list[EnvSpec]:
    return [
        EnvSpec(
            "games/TicTacToe-v0",
            "palestra_games.games.tic_tac_toe:TicTacToe",
            players=(2, 2),
            moves="sequential",
            payoffs="zero-sum",
            family="board",
            tags=("perfect-information", "deterministic"),
        ),
        EnvSpec(
            "games/ConnectFour-v0",
            "palestra_games.games.connect_four:ConnectFour",
            players=(2, 2),
            moves="sequential",
            payoffs="zero-sum",
            family="board",
            tags=("perfect-information", "deterministic"),
        ),
        EnvSpec(
            "games/KuhnPoker-v0",
            "palestra_games.games.kuhn_poker:KuhnPoker",
            players=(2, 2),
            moves="sequential",
            payoffs="zero-sum",
            family="card",
            tags=("hidden-information", "chance"),
            paper="Kuhn (1950), A simplified two-person poker",
        ),
    ]
