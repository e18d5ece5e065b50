"""Functions of a plugin that are compiled over the rules of a game."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import palestra
import pytest
from palestra.engine.compiled import Template, functions_for
from palestra.kernel.array_game import ArrayGame

SOURCE = '''
def count(timesteps, totals, depth):
    """Add up the legal moves of the mover, after `depth` random steps."""
    timestep = timesteps[0]
    play_out(timestep, 5, depth)
    for seat in range(len(timestep.actions)):
        if timestep.state.acting[seat]:
            timestep.mask[seat, :] = 0
            write_legal_mask(CONFIG, timestep.state, seat, timestep.mask[seat])
            for action in range(timestep.mask.shape[1]):
                totals[0] += EACH * timestep.mask[seat, action]
    return 7
'''


def count(path: Path, depth: int, compiled: bool) -> tuple[int, int]:
    game = palestra.game("games/TicTacToe-v0")
    assert isinstance(game, ArrayGame)
    layouts = ("timesteps", game.timestep_dtype), ("totals", np.dtype(np.int64))
    functions = functions_for(game, Template(path, ("count",), layouts), compiled)
    timesteps, totals = np.zeros(1, game.timestep_dtype), np.zeros(1, np.int64)
    timesteps["state"][0] = game.initial_state(0)
    return functions.count(timesteps, totals, depth), int(totals[0])


def write(folder: Path, each: int) -> Path:
    folder.mkdir()
    path = folder / "counting.py"
    path.write_text(SOURCE.replace("EACH", str(each)))
    return path


@pytest.mark.parametrize("compiled", [True, False])
def test_a_template_runs_over_the_rules_of_a_game(tmp_path: Path, compiled: bool) -> None:
    path = write(tmp_path / "one", 1)
    assert [count(path, depth, compiled) for depth in (0, 2, 9)] == [(7, 9), (7, 7), (7, 0)]


def test_two_templates_of_one_name_do_not_run_each_other_s_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALESTRA_CACHE", str(tmp_path / "cache"))
    one, ten = write(tmp_path / "one", 1), write(tmp_path / "ten", 10)
    assert [count(path, 1, True) for path in (one, ten)] == [(7, 8), (7, 80)]
    kept = {path.name.split(".")[0] for path in tmp_path.rglob("*_counting_*.nbc")}
    assert len(kept) == 2
