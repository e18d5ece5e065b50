"""Every example runs, in little."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
STEPS = {
    "sb3_ppo.py": "600",
    "maskable_self_play.py": "40000",
    "cleanrl_foraging.py": "16384",
    "exploration_sweep.py": "200",
    "jam_ql.py": "200",
    "growing_population.py": "2",
}

pytestmark = [pytest.mark.slow, pytest.mark.late]


def test_every_example_is_listed_and_tried() -> None:
    files = {path.name for path in EXAMPLES.glob("*.py")}
    assert files == set(STEPS)
    listed = (EXAMPLES / "README.md").read_text("utf-8")
    assert all(f"`{name}`" in listed for name in files)


def test_the_cells_of_the_notebook_run() -> None:
    cells = json.loads((EXAMPLES / "palestra.ipynb").read_text("utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code[0].startswith("%pip install")
    names: dict[str, object] = {}
    for cell in code[1:]:
        exec(compile(cell, "palestra.ipynb", "exec"), names)
    assert "record" in names


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize("name", STEPS)
def test_it_runs(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), "--steps", STEPS[name]],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
