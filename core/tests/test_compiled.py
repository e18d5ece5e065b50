"""The compiled rules: kept across processes, made anew when anything they reach changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidOption, PalestraError
from palestra.engine.batch import Batch
from palestra.engine.compiled import cache_folder, fingerprint
from palestra.engine.rule_functions import device_functions, helpers_of
from palestra_games.board import tic_tac_toe
from palestra_games.board.connect_four import ConnectFour
from palestra_games.board.tic_tac_toe import TicTacToe

FIRST_STEP = """
import palestra
e = palestra.make("games/TicTacToe-v0", view="episode", seed=0, compiled=True)
e.act({0: 4})
print(e.state.board.tolist())
"""


def run(cache: Path) -> str:
    env = {**os.environ, "PALESTRA_CACHE": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_STEP], capture_output=True, text=True, env=env, check=True
    )
    return done.stdout


def machine_code(cache: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in cache.rglob("*.nbc")}


def test_a_second_process_finds_the_machine_code(tmp_path: Path) -> None:
    assert run(tmp_path) == "[0, 0, 0, 0, 1, 0, 0, 0, 0]\n"
    first = machine_code(tmp_path)
    assert first
    run(tmp_path)
    assert machine_code(tmp_path) == first


AGREES = """
import sys
from palestra import Episode, Rng
from palestra_envs.grid.foraging.game import Foraging

GAMES = {"small": Foraging(rows=5, columns=6, num_players=3, max_food=2), "usual": Foraging()}
for name in sys.argv[1:]:
    for seed in range(4):
        slow, quick = (Episode(GAMES[name], seed, compiled=c) for c in (False, True))
        rng = Rng(seed)
        for _ in range(30):
            assert slow.state.tobytes() == quick.state.tobytes(), f"{name}, seed {seed}"
            if slow.over:
                break
            actions = {p: slow.game.sample(slow.state, p, rng) for p in slow.to_act}
            slow.act(actions)
            quick.act(actions)
"""


@pytest.mark.exhaustive
@pytest.mark.slow
def test_two_configurations_compiled_apart_do_not_mix_when_loaded_together(tmp_path: Path) -> None:
    env = {**os.environ, "PALESTRA_CACHE": str(tmp_path)}
    for names in (["small"], ["usual"], ["small", "usual"], ["usual", "small"]):
        command = [sys.executable, "-c", AGREES, *names]
        done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
        assert done.returncode == 0, f"{names}: {done.stderr[-300:]}"


PATIENT = """
import sys
import palestra
from palestra import Rng

e = palestra.make("games/ConnectFour-v0", view="episode", seed=0)
slow = palestra.make("games/ConnectFour-v0", view="episode", seed=0, compiled=False)
rng, played, compiled_at = Rng(0), 0, None
while not e.over:
    assert e.state.tobytes() == slow.state.tobytes()
    assert e.state_key(0) == slow.state_key(0)
    if compiled_at is None and "numba" in sys.modules:
        compiled_at = played
    played += 1
    move = slow.game.sample(slow.state, slow.to_act[0], rng)
    e.act({e.to_act[0]: move}), slow.act({slow.to_act[0]: move})
assert list(e.returns) == list(slow.returns)
print(compiled_at)
"""


@pytest.mark.parametrize(("seconds", "says"), [("1000", "None"), ("1e-9", "0"), ("0", "0")])
def test_rules_are_compiled_after_they_ran_interpreted_for_so_long(seconds: str, says: str) -> None:
    env = {**os.environ, "PALESTRA_COMPILE_AFTER": seconds}
    command = [sys.executable, "-c", PATIENT]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert (done.stdout.strip(), done.stderr) == (says, "")


def test_a_patience_that_is_no_number_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALESTRA_COMPILE_AFTER", "soon")
    with pytest.raises(InvalidOption, match=r"PALESTRA_COMPILE_AFTER .* not 'soon'"):
        Episode(TicTacToe(), 0)


def test_an_unwritable_cache_says_what_to_set(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    env = {**os.environ, "PALESTRA_CACHE": str(blocked / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_STEP], capture_output=True, text=True, env=env, check=False
    )
    assert "set PALESTRA_CACHE to a folder" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
@pytest.mark.parametrize("place", [".", "compiled", "compiled/__pycache__"])
@pytest.mark.parametrize(
    ("mode", "owner", "group", "says"),
    [
        (0o777, None, None, "can be written by everybody"),
        (0o1777, None, None, "can be written by everybody"),
        (0o755, 65534, None, "belongs to user 65534"),
        (0o775, None, 65534, "can be written by group 65534"),
        (0o775, None, None, ""),
        (0o755, None, 65534, ""),
    ],
)
def test_code_that_somebody_else_could_have_written_is_not_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    mode: int,
    owner: int | None,
    group: int | None,
    says: str,
) -> None:
    (tmp_path / "compiled/__pycache__").mkdir(parents=True)
    folder = tmp_path / place
    folder.chmod(mode)
    mine = folder.stat()
    if owner is not None:  # which only root could give away: so they are looked at by another
        monkeypatch.setattr("os.geteuid", lambda: mine.st_uid + 1)
        says = f"belongs to user {mine.st_uid}, and you are user {mine.st_uid + 1}"
        if mine.st_uid == 0:
            os.chown(folder, owner, -1)
            monkeypatch.undo()
            says = "belongs to user 65534"
    if group is not None:
        if os.geteuid():
            monkeypatch.setattr("os.getegid", lambda: mine.st_gid + 1)
            says = says and f"can be written by group {mine.st_gid}"
        else:
            os.chown(folder, -1, group)
    monkeypatch.setenv("PALESTRA_CACHE", str(tmp_path))
    if says:
        with pytest.raises(PalestraError, match=says) as refused:
            cache_folder()
        assert "set PALESTRA_CACHE to a folder that only you can write" in str(refused.value)
    else:
        assert cache_folder() == tmp_path / "compiled"


def test_a_planted_driver_is_replaced_before_it_is_run(tmp_path: Path) -> None:
    game = TicTacToe()
    planted = tmp_path / "compiled" / f"tictactoe_driver_{fingerprint(game)}.py"
    planted.parent.mkdir()
    planted.write_text("raise SystemExit('planted code runs')\n")
    assert run(tmp_path) == "[0, 0, 0, 0, 1, 0, 0, 0, 0]\n"
    assert "planted" not in planted.read_text()


def test_the_fingerprint_knows_options_helpers_and_constants(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert fingerprint(ConnectFour()) == fingerprint(ConnectFour())
    assert fingerprint(ConnectFour()) != fingerprint(ConnectFour(rows=5))
    before = fingerprint(TicTacToe())
    monkeypatch.setattr(tic_tac_toe, "LINES", tic_tac_toe.LINES[:-1])
    assert fingerprint(TicTacToe()) != before
    monkeypatch.undo()
    assert fingerprint(TicTacToe()) == before

    def has_line(board: object, mark: int) -> bool:
        return False

    monkeypatch.setattr(tic_tac_toe, "has_line", has_line)
    assert fingerprint(TicTacToe()) != before


def test_a_game_copied_to_another_module_does_not_share_compiled_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = fingerprint(TicTacToe())
    monkeypatch.setattr(TicTacToe.init_state, "__module__", "palestra_copy.tic_tac_toe")
    assert fingerprint(TicTacToe()) != before


def test_helpers_are_compiled_once_and_the_module_is_left_alone() -> None:
    functions = {"step": TicTacToe.apply_actions, "again": TicTacToe.apply_actions}
    names = []

    def note(function: object) -> object:
        names.append(function.__name__)  # type: ignore[attr-defined]
        return function

    made = device_functions(functions, note)  # type: ignore[arg-type]
    assert made["step"] is made["again"]
    assert names.count("has_line") == 1
    assert "has_line" in dict(helpers_of(TicTacToe.apply_actions))  # type: ignore[arg-type]
    assert tic_tac_toe.has_line.__globals__ is vars(tic_tac_toe)


def test_episodes_and_batches_share_the_compiled_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Alone(TicTacToe):
        """No other test compiles it."""

    monkeypatch.setenv("PALESTRA_CACHE", str(tmp_path))
    game = Alone()
    Episode(game, 0, compiled=True).act({0: 4})
    digest = fingerprint(game)
    one = sys.modules[f"alone_driver_{digest}"]
    rules = ("init_state", "apply_actions", "write_legal_mask", "write_observation")
    before = {rule: len(getattr(one, rule).signatures) for rule in rules}
    assert min(before.values()) >= 1
    batch = Batch(game, 2)
    batch.reset(0)
    batch.step(np.array([[4, 0], [0, 0]]))
    assert batch.observations[0].any()
    other = sys.modules[f"alone_batch_driver_{digest}"]
    for rule in rules:
        compiled = getattr(one, rule)
        assert getattr(other, rule, compiled) is compiled
        assert len(compiled.signatures) == before[rule], f"{rule} is compiled once"
    assert other.init_state is one.init_state


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ([("turn", "i1")], "standard field"),
        ([("item", "i1")], "call the field something else"),
        ([("flag", "?")], "use np.uint8"),
    ],
)
def test_fields_that_cannot_work_are_refused(fields: list[tuple[str, str]], says: str) -> None:
    class Odd(TicTacToe):
        def fields(self) -> list[tuple[str, str]]:
            return fields

    with pytest.raises(InvalidOption, match=says):
        Odd().initial_state(0)


def refuse(cell: int) -> None:
    if cell == 4:
        raise ValueError("the middle is taken")


class Refusing(TicTacToe):
    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        refuse(actions[0])


REFUSED = """
import sys
import numba
if "{numba}" == "newer":  # than those that are known
    numba.version_info = numba.version_info._replace(short=(99, 0))
sys.path.insert(0, "{here}")
from test_compiled import Refusing
from palestra import Episode

for action in (0, 4):
    try:
        Episode(Refusing(), 0, compiled=True).act({{0: action}})
    except ValueError as error:
        print(error)
    else:
        print("played")
"""


@pytest.mark.parametrize("numba", ["known", "newer"])
def test_an_error_of_a_compiled_rule_comes_out_fresh_and_from_the_cache(
    tmp_path: Path, numba: str
) -> None:
    env = {**os.environ, "PALESTRA_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", REFUSED.format(here=Path(__file__).parent, numba=numba)]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
        assert done.stdout == "played\nthe middle is taken\n", done.stderr


class Watched(TicTacToe):
    """Counts how often an observation is written."""

    written = 0

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        Watched.written += 1
        TicTacToe.write_observation(config, state, seat, view)


def test_interpreted_rules_write_an_observation_when_somebody_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Watched, "written", 0)
    episode, quick = Episode(Watched(), 0, compiled=False), Episode(TicTacToe(), 0, compiled=True)
    for turn, cell in enumerate((4, 0, 8)):
        episode.act({turn % 2: cell})
        quick.act({turn % 2: cell})
    assert Watched.written == 0
    for seat in range(2):
        assert np.array_equal(episode.observation(seat), quick.observation(seat))
        assert episode.state_key(seat) == quick.state_key(seat)
    assert Watched.written == 4


def test_numbas_own_switch_for_debugging_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    episode = palestra.make("games/TicTacToe-v0", view="episode", seed=1)
    episode.act({0: 4})
    assert episode.action_mask(1)[4] == 0
    with pytest.raises(palestra.InvalidOption, match="NUMBA_DISABLE_JIT"):
        palestra.make("games/ConnectFour-v0", view="episode", compiled=True, rows=11)
