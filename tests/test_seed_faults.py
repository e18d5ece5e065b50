"""The yardstick of the tests: faults are one line each, and are found where a test finds them."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
GAME = '''
def winner(points, line):
    """Who has most points; the first of equals."""
    best = 0
    for seat in range(1, len(points)):
        if points[seat] > points[best]:
            best = seat
    line.append(best)
    return best
'''


@pytest.fixture(scope="module")
def script() -> ModuleType:
    found = importlib.util.spec_from_file_location("seed_faults", ROOT / "scripts/seed_faults.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules["seed_faults"] = module
    found.loader.exec_module(module)
    return module


def test_a_fault_is_one_line_that_still_is_python(script: ModuleType) -> None:
    lines = GAME.splitlines()
    faults = script.faults_in("game.py", GAME)
    assert {fault.after.strip() for fault in faults} == {
        "best = 1",
        "if points[seat] >= points[best]:",
        "pass",
        "return None",
    }
    for fault in faults:
        assert lines[fault.line - 1] == fault.before != fault.after
        lines_with = [*lines[: fault.line - 1], fault.after, *lines[fault.line :]]
        ast.parse("\n".join(lines_with))


def test_a_seed_decides_which_faults_are_drawn(script: ModuleType) -> None:
    area = {"core/src/palestra/records": 7}
    faults = script.draw(area, 0)
    assert faults == script.draw(area, 0) != script.draw(area, 1)
    assert len({(fault.path, fault.line) for fault in faults}) == len(faults) == 7
    assert sum(script.AREAS.values()) >= 60
    assert all((ROOT / place).is_dir() for place in script.AREAS)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_fault_is_caught_by_the_tests_that_reach_it(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that a test sees, one that only an exhaustive test sees, one that none sees."""
    project = tmp_path / "project"
    (project / "core/src").mkdir(parents=True)
    (project / "tests").mkdir()
    (project / "tests/selection.py").write_bytes((ROOT / "tests/selection.py").read_bytes())
    (project / "core/src/judged.py").write_text(GAME)
    (project / "conftest.py").write_text(
        "import sys\nsys.path.insert(0, 'tests')\npytest_plugins = ('selection',)\n"
    )
    (project / "tests/test_judged.py").write_text(
        "import pytest\nfrom judged import winner\n"
        "def test_most_points_win():\n    assert winner([1, 2], []) == 1\n"
        "@pytest.mark.exhaustive\n"
        "def test_the_first_of_equals_wins():\n    assert winner([2, 2], []) == 0\n"
    )
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    monkeypatch.setattr(script, "ROOT", project)
    copy = script.Copy(tmp_path / "copy")
    faults = {fault.after.strip(): fault for fault in script.faults_in_file("core/src/judged.py")}
    reached = copy.reached(list(faults.values()), [])
    tests = reached[0]
    assert [test.partition("::")[2] for test in tests] == [
        "test_most_points_win",
        "test_the_first_of_equals_wins",
    ]

    def by(text: str, everything: bool) -> str:
        name = copy.caught(faults[text], tests, everything=everything)
        return str(name).partition("::")[2]

    assert by("return None", everything=False) == "test_most_points_win"
    assert by("if points[seat] >= points[best]:", everything=False) == ""
    assert by("if points[seat] >= points[best]:", everything=True).endswith("equals_wins")
    assert by("pass", everything=True) == ""
    assert (project / "core/src/judged.py").read_text() == GAME
