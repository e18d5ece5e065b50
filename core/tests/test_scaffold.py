"""What `palestra new` writes, as the continuous integration that it writes beside it sees it."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from palestra import InvalidOption
from palestra.catalogue.build import stale
from palestra.cli.scaffold import KINDS, add_to_plugin, create_plugin
from palestra.kernel.specs import load_entry_point


@pytest.mark.parametrize("name", ["b-c", "islands-of-very-long-names"])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_new_plugin_passes_its_own_formatter_and_linter(
    kind: str, name: str, tmp_path: Path
) -> None:
    made = create_plugin(name, tmp_path, kind)
    workflow = (made / ".github" / "workflows" / "tests.yml").read_text("utf-8")
    assert "ruff check . && ruff format --check ." in workflow
    refuse_complaints(made)


def refuse_complaints(plugin: Path) -> None:
    """Run the formatter and the linter on a plugin."""
    for command in (("check",), ("format", "--check", "--diff")):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", "."],
            cwd=plugin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


# the words after `palestra new`, in order
PARTS = [("agent", "careful"), ("reward", "mobility"), ("renderer", "pages"), ("agent", "bold")]


def text_files(folder: Path) -> dict[Path, str]:
    return {path: path.read_text("utf-8") for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def island(tmp_path: Path) -> Path:
    """A distribution with a game, two agents, a reward and a renderer."""
    made = create_plugin("island-games", tmp_path)
    for kind, name in PARTS:
        add_to_plugin(name, made, kind)
    return made


def test_one_module_registers_all_that_a_plugin_was_given(
    island: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(island / "src"))
    plugin = importlib.import_module("palestra_island_games.plugin")
    assert [spec.id for spec in plugin.palestra_environments()] == ["island/Subtraction-v0"]
    assert [spec.name for spec in plugin.palestra_agents()] == ["bold", "careful"]
    assert [spec.name for spec in plugin.palestra_rewards()] == ["mobility"]
    assert [spec.mode for spec in plugin.palestra_renderers()] == ["pages"]
    assert stale("palestra_island_games") == ""
    for spec in (*plugin.palestra_agents(), *plugin.palestra_rewards()):
        assert load_entry_point(spec.entry_point).__module__.endswith(f".{spec.name}")


def test_a_plugin_of_many_parts_passes_its_formatter_linter_and_lists_what_it_needs(
    island: Path,
) -> None:
    refuse_complaints(island)
    project = tomllib.loads((island / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["optional-dependencies"]["dev"].count("palestra-games") == 1
    readme = (island / "README.md").read_text("utf-8")
    headings = [line for line in readme.splitlines() if line.startswith("## ")]
    assert headings == [
        "## The game `island/Subtraction-v0`",
        "## The agent `careful`",
        "## The step shaper `mobility`",
        "## The renderer `pages`",
        "## The agent `bold`",
    ]


def test_an_agent_made_of_a_model_brings_what_it_is_made_with(island: Path) -> None:
    before = text_files(island)
    written = add_to_plugin("doubting", island, "llm")
    refuse_complaints(island)
    assert sorted(written) == [
        "README.md",
        "pyproject.toml",
        "src/palestra_island_games/catalogue.json",
        "src/palestra_island_games/doubting.py",
        "tests/test_doubting.py",
    ]
    needed = tomllib.loads((island / "pyproject.toml").read_text("utf-8"))["project"]
    names = [wanted.partition(">=")[0] for wanted in needed["dependencies"]]
    assert names == ["palestra-agents", "palestra-adapters", "palestra[numba]"]
    add_to_plugin("wary", island, "llm")
    again = tomllib.loads((island / "pyproject.toml").read_text("utf-8"))["project"]
    assert again["dependencies"] == needed["dependencies"]
    assert set(before) < set(text_files(island))


@pytest.mark.parametrize(
    ("kind", "name", "says"),
    [
        ("llm", "bold", "'bold'|bold.py exists already"),
        ("llm", "react", "taken"),
        ("agent", "careful", "careful.py exists already"),
        ("reward", "careful", "careful.py exists already"),
        ("renderer", "pages", "pages.py exists already"),
        ("agent", "subtraction", "subtraction.py exists already"),
        ("agent", "plugin", "plugin.py exists already"),
        ("reward", "rules", "test_rules.py exists already"),
        ("agent", "class", "a word of Python's own"),
        ("agent", "Careful", "lower-case words"),
        ("agent", "2-fast", "lower-case words"),
        ("agent", "random", "taken"),
        ("reward", "env", "taken"),
        ("renderer", "html", "taken"),
    ],
)
def test_a_part_whose_name_clashes_changes_no_file(
    kind: str, name: str, says: str, island: Path
) -> None:
    before = text_files(island)
    with pytest.raises(InvalidOption, match=says):
        add_to_plugin(name, island, kind)
    assert text_files(island) == before


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("pyproject.toml", "[project.entry-points.palestra]", "[tool.x]", "entry point"),
        ("pyproject.toml", "[project]", "[project", "TOMLDecodeError"),
        ("pyproject.toml", "dev = ", "tests = ", "palestra-games"),
        ("src/palestra_atoll_games/plugin.py", "palestra_agents", "agents", r"@hookimpl\ndef"),
    ],
)
def test_a_folder_that_cannot_take_a_part_says_what_it_lacks(
    file: str, old: str, new: str, says: str, tmp_path: Path
) -> None:
    made = create_plugin("atoll-games", tmp_path)
    text = (made / file).read_text("utf-8")
    (made / file).write_text(text.replace(old, new), "utf-8")
    before = text_files(made)
    with pytest.raises(InvalidOption, match=says):
        add_to_plugin("careful", made, "agent")
    assert text_files(made) == before


def test_a_part_that_cannot_be_written_is_taken_back(tmp_path: Path) -> None:
    made = create_plugin("reef-games", tmp_path)
    shutil.rmtree(made / "tests")
    (made / "tests").write_text("a file where the tests' folder goes", "utf-8")
    before = text_files(made)
    with pytest.raises(FileExistsError, match="tests"):
        add_to_plugin("careful", made, "agent")
    assert text_files(made) == before


def test_a_module_of_a_new_agent_has_a_name_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match=r"plugin\.py"):
        create_plugin("plugin", tmp_path, "agent")
    with pytest.raises(InvalidOption, match="Python"):
        create_plugin("lambda", tmp_path, "reward")
    assert list(tmp_path.iterdir()) == []
