"""The batch on a GPU: in numba's simulator, through the real compiler, and where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import palestra
import pytest
from palestra import InvalidOption, MissingExtra
from palestra.engine.cuda_batch import open_cuda

HERE = Path(__file__).parent
PARTS = 12  # of all games, so that several cores share the work
FEW = 40  # parts of which one is tried at every change: every 40th game


@cache
def gpu_is_here() -> bool:
    try:
        open_cuda()
    except palestra.PalestraError:
        return False
    return True


def run(script: str, part: int = 0, parts: int = 1, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, str(HERE / script), str(part), str(parts)],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.late
@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(PARTS))
def test_every_array_game_plays_alike_in_the_simulator(part: int) -> None:
    assert "all equal" in run("cuda_in_simulator.py", part, PARTS, NUMBA_ENABLE_CUDASIM="1")


@pytest.mark.slow
def test_some_array_games_play_alike_in_the_simulator_and_compile_for_a_gpu() -> None:
    assert "all equal" in run("cuda_in_simulator.py", 0, FEW, NUMBA_ENABLE_CUDASIM="1")
    assert run("cuda_to_ptx.py", 0, FEW, NUMBA_ENABLE_CUDASIM="0").split()


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(PARTS))
def test_every_array_game_compiles_for_a_gpu(part: int) -> None:
    assert run("cuda_to_ptx.py", part, PARTS, NUMBA_ENABLE_CUDASIM="0").split()


@pytest.mark.skipif(not gpu_is_here(), reason="no CUDA GPU on this machine")
def test_every_array_game_plays_alike_on_the_gpu() -> None:
    assert "all equal" in run("cuda_in_simulator.py", NUMBA_ENABLE_CUDASIM="0")


@pytest.mark.skipif(gpu_is_here(), reason="this machine has a CUDA GPU")
def test_without_a_gpu_the_error_says_so() -> None:
    with pytest.raises(InvalidOption, match="no CUDA GPU was found"):
        palestra.make("games/ConnectFour-v0", view="batch", num_envs=2, device="cuda")


def test_without_the_extra_the_error_names_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"palestra\[cuda\]"):
        palestra.make("games/ConnectFour-v0", view="batch", num_envs=2, device="cuda")


def test_what_cannot_run_on_a_gpu_is_refused() -> None:
    with pytest.raises(InvalidOption, match="not an ArrayGame"):
        palestra.make("text/Commons-v0", view="batch", num_envs=2, device="cuda")
    with pytest.raises(InvalidOption, match="thread for every environment"):
        palestra.make("games/ConnectFour-v0", view="batch", num_envs=2, device="cuda", threads=2)
