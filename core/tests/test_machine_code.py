"""Machine code on the disk is run only if it is what was written there for this function."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba")
from palestra.engine.machine_code import SealedFile

KEY, CODE = ("signature", ("x86_64", "a processor"), "hash"), {"code": b"\x90" * 50, "name": "move"}


def sealed(folder: Path, name: str = "game_driver_1.move-69.py311") -> SealedFile:
    return SealedFile(str(folder), name, (0.0, 0))


def only_file(folder: Path) -> Path:
    (found,) = folder.iterdir()
    return found


def test_what_was_saved_is_loaded_by_its_key_alone(tmp_path: Path) -> None:
    sealed(tmp_path).save(KEY, CODE)
    assert sealed(tmp_path).load(KEY) == CODE
    assert sealed(tmp_path).load((KEY[0], ("x86_64", "another processor"), KEY[2])) is None


def test_no_file_with_other_bits_or_of_another_length_is_read(tmp_path: Path) -> None:
    kept = sealed(tmp_path)
    kept.save(KEY, CODE)
    path = only_file(tmp_path)
    whole = path.read_bytes()
    flipped = [
        whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :]
        for place in range(len(whole))
    ]
    for changed in (*flipped, *(whole[:length] for length in range(len(whole))), whole + b"\0"):
        path.write_bytes(changed)
        assert kept.load(KEY) is None
    path.write_bytes(whole)
    assert kept.load(KEY) == CODE


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("game_driver_2.move-69.py311", KEY),
        ("game_driver_1.begin-54.py311", KEY),
        ("game_driver_1.move-69.py311", ("signature", ("x86_64", "another processor"), "hash")),
    ],
)
def test_a_file_in_the_place_of_another_is_not_read(
    tmp_path: Path, name: str, key: tuple[object, ...]
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    sealed(here).save(KEY, CODE)
    sealed(there, name).save(key, {"code": b"of another"})
    shutil.copy(only_file(there), only_file(here))
    assert sealed(here).load(KEY) is None


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices")
@pytest.mark.parametrize("what", ["a folder", "a pipe", "a device without end", "a link to itself"])
def test_what_is_no_file_is_neither_read_nor_waited_for(tmp_path: Path, what: str) -> None:
    kept = sealed(tmp_path)
    kept.save(KEY, CODE)
    path = only_file(tmp_path)
    path.unlink()
    if what == "a folder":
        path.mkdir()
    elif what == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if what == "a device without end" else path)
    assert kept.load(KEY) is None
    kept.save(KEY, CODE)  # it is replaced, or cannot be
    assert kept.load(KEY) == (None if what == "a folder" else CODE)


FIRST_STEP = """
import resource, sys
limit = int(sys.argv[1])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
import palestra
e = palestra.make("games/TicTacToe-v0", view="episode", seed=0, compiled=True)
e.act({0: 4})
print(e.state.board.tolist())
"""


def first_step(cache: Path, limit: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_STEP, str(limit)],
        capture_output=True,
        text=True,
        # Python would leave half of the bytecode of what is imported here for the first time
        env={**os.environ, "PALESTRA_CACHE": str(cache), "PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    )
    return done.stdout + done.stderr


def machine_code(cache: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in cache.rglob("*.nbc")}


@pytest.mark.slow
def test_damaged_machine_code_is_compiled_again(tmp_path: Path) -> None:
    board = "[0, 0, 0, 0, 1, 0, 0, 0, 0]\n"
    assert first_step(tmp_path) == board
    whole = machine_code(tmp_path)
    assert whole
    rng = random.Random(1)
    for path, code in whole.items():
        changed = bytearray(code)
        for place in rng.sample(range(len(code)), 200):
            changed[place] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
    assert first_step(tmp_path) == board
    written = machine_code(tmp_path)
    assert written.keys() == whole.keys()
    assert first_step(tmp_path) == board
    assert machine_code(tmp_path) == written


@pytest.mark.slow
def test_where_the_disk_is_full_rules_are_compiled_and_not_kept(tmp_path: Path) -> None:
    """A limit on the length of files has writes fail as a full disk does; drivers still fit."""
    assert first_step(tmp_path, limit=20_000) == "[0, 0, 0, 0, 1, 0, 0, 0, 0]\n"
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {".py"}
    assert not list(tmp_path.rglob("*.tmp.*"))


def test_linear_algebra_is_imported_by_those_who_use_it() -> None:
    """Playing needs none of SciPy; code of one's own that numba compiles still finds it."""
    program = """
import sys, numba, numpy, palestra
palestra.make("games/TicTacToe-v0", compiled=True).reset(seed=0)
assert "numba.np.arraymath" in sys.modules
assert "scipy.linalg" not in sys.modules
@numba.njit
def solve(a, b):
    return numpy.linalg.solve(a @ a, b)
print(solve(2.0 * numpy.eye(2), numpy.ones(2)).tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[0.25, 0.25]\n", done.stderr
