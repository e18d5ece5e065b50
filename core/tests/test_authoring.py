"""What somebody who writes a game or an agent is told when something is missing or misspelt."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from palestra import (
    ArrayGame,
    ArrayState,
    Episode,
    InvalidOption,
    PluginError,
    ScriptedAgent,
    Turn,
    constant,
    environment,
    play,
)
from palestra.catalogue.build import stale_environment
from palestra.rules import pass_turn, turn_to
from palestra_games.board.connect_four import ConnectFour
from palestra_games.board.tic_tac_toe import TicTacToe
from palestra_games.card.kuhn_poker import KuhnPoker


class CountState(ArrayState):
    count: int  # moves made


@dataclass(frozen=True)
class Count(ArrayGame[CountState]):
    """A game of counting, whose rules read one number that they can and one that is asked for."""

    length: int = 3
    order = "sequential"
    payoffs = "general"
    num_players = 2
    num_actions = 1
    observation_shape = (1,)

    @constant
    def double(self) -> int:
        return 2 * self.length

    @property
    def triple(self) -> int:
        return 3 * self.length

    @staticmethod
    def init_state(config: Any, state: CountState) -> None:
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: Any, state: CountState, actions: Any, out: Any) -> None:
        state.count += config.double
        pass_turn(state)

    @staticmethod
    def write_legal_mask(config: Any, state: CountState, seat: int, mask: Any) -> None:
        mask[0] = 1

    @staticmethod
    def write_observation(config: Any, state: CountState, seat: int, view: Any) -> None:
        view[0] = 0

    def describe(self, state: CountState, seat: int) -> str:
        return str(state.count)


def test_rules_read_a_constant_and_no_other_property() -> None:
    assert Count().config.double == 6
    with pytest.raises(AttributeError, match=r"rules of Count cannot .*triple.* make it a @const"):
        _ = Count().config.triple


def test_a_misspelt_option_in_the_rules_is_named_with_the_nearest() -> None:
    with pytest.raises(AttributeError, match=r"config.lenght: did you mean config.length\?"):
        _ = Count().config.lenght
    with pytest.raises(AttributeError, match=r"config.zzz: there is no such option"):
        _ = Count().config.zzz


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("order", None, "declares no order; write order = … with one of 'sequential', 'simul"),
        ("payoffs", None, "declares no payoffs; write payoffs"),
        ("payoffs", "zerosum", "declares 'zerosum' as its payoffs; .* 'zero-sum', 'common'"),
    ],
)
def test_a_fact_that_is_missing_or_unknown_is_asked_for(
    name: str, value: str | None, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if value is None:
        monkeypatch.delattr(Count, name)
    else:
        monkeypatch.setattr(Count, name, value)
    environment("games/Count-v0", family="board")(Count)
    monkeypatch.setattr(Count, "__module__", "palestra_games.board.count")
    with pytest.raises(PluginError, match=message):
        stale_environment("palestra_games", "games/Count-v0")


def test_a_game_is_played_where_no_renderer_is_installed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "palestra", "play", "games/TicTacToe-v0"]
    env = {**os.environ, "PALESTRA_BLOCK": "palestra-renderers"}

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, "--out", str(tmp_path / "run"), *more],
            capture_output=True,
            text=True,
            env=env,
            check=False,
        )

    done = run("--no-replays")
    assert done.returncode == 0, done.stderr
    assert "player_0" in done.stdout
    asked = run("--render", "terminal")
    assert asked.returncode == 2
    assert 'pip install "palestra-renderers"' in asked.stderr


class BoardPlayer(ScriptedAgent[TicTacToe | ConnectFour]):
    def choose(self, turn: Turn[TicTacToe | ConnectFour]) -> int:
        return int(np.flatnonzero(turn.mask)[-1])


class Anything(ScriptedAgent):
    def choose(self, turn: Turn) -> Any:
        return turn.sample(self.rng)


class KuhnOnly(Anything):
    plays = (KuhnPoker,)


def test_the_games_in_an_agents_brackets_are_what_it_plays() -> None:
    assert BoardPlayer.plays == (TicTacToe, ConnectFour)
    assert Anything.plays == ()
    assert KuhnOnly.plays == (KuhnPoker,)
    (record,) = play("games/ConnectFour-v0", agents=[BoardPlayer(), Anything(seed=1)])
    assert record.turns[0].action == 6
    with pytest.raises(InvalidOption, match="plays TicTacToe and ConnectFour, not KuhnPoker"):
        BoardPlayer(seed=0).act([Turn(Episode(KuhnPoker(), seed=0), 0)])
