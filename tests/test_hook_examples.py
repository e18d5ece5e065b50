"""The examples of docs/hooks.md are a plugin that is found, and scripts that run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = (Path(__file__).parents[1] / "docs" / "hooks.md").read_text("utf-8")
BEFORE, RUNS = DOCS.split("## What happens in a run")
GIVES = BEFORE.split("## What a plugin gives")[1]
BLOCK = re.compile(r"^```(python|shell|json)\n(.*?)^```", re.DOTALL | re.MULTILINE)

# what is left to be asked in Python
ASKED = """
import palestra
from palestra.kernel.registry import registry
from palestra.runner.watching import open_watch

record = palestra.play("games/TicTacToe-v0", agents=["last", "random"], seed=3)[0]
credit = registry().plugins.first("palestra_credit", names="last-turn")
((where, value),) = credit.credit([record], ["last"])[0].items()
assert where[0] == 0 and value == record.returns[0], (where, value)
try:
    registry().plugins.first("palestra_credit", names="no-such")
except palestra.UnknownName as error:
    print("unknown:", error)
env = palestra.connect("here:games/TicTacToe-v0")
env.reset(seed=0)
page = open_watch("a run")
palestra.play("games/TicTacToe-v0", agents="random", episodes=2, hooks=[page])
page.log(1, {"mean": 0.5})
page.close()
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples as an installed distribution."""
    folder = tmp_path_factory.mktemp("example")
    blocks = BLOCK.findall(GIVES)
    package, info = folder / "palestra_example", folder / "palestra_example-1.0.dist-info"
    package.mkdir()
    info.mkdir()
    module = "\n\n".join(text for kind, text in blocks if kind == "python")
    (package / "__init__.py").write_text(module, "utf-8")
    (theme,) = (text for kind, text in blocks if kind == "json")
    (package / "night.json").write_text(json.dumps(json.loads(theme)), "utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: palestra-example\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[palestra]\nexample = palestra_example\n")
    return folder


def run(folder: Path, *arguments: str, **more: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200", **more},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_every_command_under_an_example_runs(plugin: Path) -> None:
    """One process runs them all, since each costs a start."""
    lines = "".join(text for kind, text in BLOCK.findall(GIVES) if kind == "shell").splitlines()
    assert len(lines) >= 9
    script = [
        "import os, shlex",
        "from palestra.cli import main",
        f"for line in {lines!r}:",
        "    words = shlex.split(line)",
        "    while '=' in words[0]:",
        "        name, _, value = words.pop(0).partition('=')",
        "        os.environ[name] = value",
        "    assert words.pop(0) == 'palestra', line",
        "    print('$', line)",
        "    try:",
        "        main(words)",
        "    except SystemExit as end:",
        "        assert not end.code, line",
    ]
    said = run(plugin, "-c", "\n".join(script))
    for expected in ("You play Hex on a rhombus", "odd-seed", "hello Ada", "end"):
        assert expected in said, said


def test_credit_connections_and_live_pages_are_those_of_the_example(plugin: Path) -> None:
    said = run(plugin, "-c", ASKED, PALESTRA_BLOCK="server")
    assert "closed" in said
    assert "unknown: " in said, "a name that no plugin knows is still named"


def test_every_example_of_a_run_runs(tmp_path: Path) -> None:
    scripts = [text for kind, text in BLOCK.findall(RUNS) if kind == "python"]
    assert len(scripts) == RUNS.count("### `palestra_")
    said = run(tmp_path, "-c", "\n".join(scripts))
    assert "seated:" in said
    assert said.count("games/TicTacToe-v0") == 3


def test_every_hook_has_an_example() -> None:
    sections = re.split(r"^### ", GIVES + RUNS, flags=re.MULTILINE)[1:]
    bare = [s.partition("(")[0] for s in sections if "```python" not in s and s[0] == "`"]
    assert not bare
