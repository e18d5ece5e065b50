"""`palestra compile`: a game's machine code is on the disk before its first use."""

from __future__ import annotations

import palestra
import pytest
from palestra.cli.app import app
from palestra.cli.compiling import array_games
from palestra.engine.compiled import BATCH_ENTRIES, ENTRIES, cache_folder, fingerprint
from palestra.kernel.array_game import ArrayGame
from typer.testing import CliRunner

GAME = "games/TicTacToe-v0"
EVERY = len(ENTRIES) + len(BATCH_ENTRIES)


def compile_games(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["compile", *arguments])
    return done.exit_code, done.output


def kept(env_id: str) -> set[str]:
    """The functions of a game whose machine code is on the disk, as driver.function."""
    game = palestra.game(env_id)
    assert isinstance(game, ArrayGame)
    name, digest = type(game).__name__.lower(), fingerprint(game)
    files = [path.name for path in cache_folder().rglob(f"{name}_*_{digest}.*.nbc")]
    return {file.removeprefix(f"{name}_").replace(f"_{digest}", "").split("-")[0] for file in files}


def test_every_function_of_a_game_is_on_the_disk_afterwards() -> None:
    code, said = compile_games(GAME, "--jobs", "1")
    assert code == 0
    assert f"{GAME}: " in said
    single = {f"driver.{entry}" for entry in ENTRIES}
    assert kept(GAME) == single | {f"batch_driver.{entry}" for entry in BATCH_ENTRIES}
    code, said = compile_games(GAME, "--jobs", "1")
    assert f"{GAME}: compiled already ({EVERY} functions)" in said
    assert "1 game ready after" in said


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.late
def test_processes_of_their_own_fill_the_same_cache() -> None:
    games = [GAME, "games/KuhnPoker-v0"]
    code, said = compile_games(*games, "--jobs", "2")
    assert code == 0, said
    assert all(len(kept(env_id)) == EVERY for env_id in games)
    _, said = compile_games(*games, "--jobs", "1")
    assert said.count(f"compiled already ({EVERY} functions)") == 2


def test_what_cannot_be_compiled_is_said_and_the_rest_goes_on() -> None:
    code, said = compile_games("text/Commons-v0", GAME, "--jobs", "1")
    assert code == 1
    assert "text/Commons-v0: is no array game: it has nothing to compile" in said
    assert "1 game ready" in said
    code, said = compile_games(GAME, "-o", "rows=3", "--jobs", "1")
    assert code == 1
    assert "rows" in said


def test_without_ids_all_array_games_with_those_options_are_meant() -> None:
    ids = array_games({})
    assert GAME in ids
    assert "text/Commons-v0" not in ids
    with_rows = array_games({"rows": 6})
    assert "games/ConnectFour-v0" in with_rows
    assert GAME not in with_rows
