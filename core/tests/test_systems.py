"""`palestra systems`: all that is named exists, and papers are found as people look for them."""

from __future__ import annotations

import importlib
import json
import re
from functools import cache
from pathlib import Path

import pytest
from palestra.catalogue import systems as rooms
from palestra.catalogue.systems import System, systems, title_key
from palestra.cli import add_commands
from palestra.cli.app import BUILT_IN, app
from palestra.cli.papers import systems_page
from palestra.kernel.errors import PluginError
from palestra.kernel.registry import registry
from typer.main import get_command
from typer.testing import CliRunner, Result

PAGE = Path(__file__).parents[2] / "docs" / "systems.md"
KINDS = ("environment", "agent", "reward")


@cache
def options_of(command: str) -> set[str]:
    """The options of a command, such as --out."""
    add_commands(app, registry().plugins, BUILT_IN)
    found = get_command(app).commands[command]  # type: ignore[attr-defined]
    return {option for parameter in found.params for option in parameter.opts}


def said(*words: str) -> Result:
    """What `palestra` prints."""
    return CliRunner().invoke(app, words)


def is_there(name: str) -> bool:
    """Whether an id, agent, reward, command or part of a package exists."""
    first, _, rest = name.partition(" ")
    if first in KINDS:
        return rest in getattr(registry(), f"{first}s")
    if first == "palestra":
        command, *words = rest.split()
        return {word for word in words if word.startswith("--")} <= options_of(command)
    return importlib.import_module(name) is not None


@pytest.mark.parametrize("system", systems(), ids=lambda one: title_key(one.paper)[:60])
def test_everything_that_a_system_names_is_there(system: System) -> None:
    assert bool(system.here) != bool(system.absent)
    assert all(map(is_there, (*system.here, *system.nearest)))


def test_searches_learners_and_probes_that_are_named_exist() -> None:
    from palestra_adapters.optimisers.command import searches
    from palestra_arena.evaluations import names

    here = " ".join(name for one in systems() for name in one.here)
    assert set(re.findall(r"--search (\S+)", here)) <= searches().keys()
    assert set(re.findall(r"palestra probe (\S+)", here)) == set(names())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("vallinder", "environment games/DonorGame-v0"),
        ("Cultural Evolution of Cooperation", "environment games/DonorGame-v0"),
        ("grpo deepseekmath", "reward grpo"),
        ("MANSA", "palestra train --algo mansa"),
        ("GovSim", "environment text/Commons-v0"),
        ("probe pipa", "palestra probe pipa"),
    ],
)
def test_a_paper_is_found_by_title_author_or_name(text: str, found: str) -> None:
    assert found in {name for one in systems(text) for name in one.here}


def test_one_paper_is_one_system_whoever_names_it_and_how() -> None:
    assert title_key("Zala et al. (2024), EnvGen: Worlds") == title_key("EnvGen: Worlds (2024)")
    assert title_key("Smith (1962)") == "smith"  # there is no title
    titles = [title_key(one.paper) for one in systems()]
    assert len(titles) == len(set(titles))
    (one,) = systems("safesearch automated")
    assert {"environment web/ToolWorld-v0", "palestra probe safe-search"} <= set(one.here)


def test_the_command_prints_what_is_here_and_what_is_left_out() -> None:
    shown = said("systems", "cultural evolution of cooperation").stdout
    assert "here      environment games/DonorGame-v0" in shown
    assert "left out  " in shown
    (one,) = json.loads(said("systems", "alita", "--json").stdout)
    assert one["absent"]
    assert one["nearest"]
    assert not one["here"]
    nothing = said("systems", "no such paper")
    assert (nothing.exit_code, nothing.stdout) == (1, "")
    assert "No system has 'no such paper'" in nothing.stderr


def test_the_page_is_written_from_the_same_data() -> None:
    assert PAGE.read_text("utf-8") == systems_page(), "palestra systems --page docs/systems.md"


def test_a_row_that_says_neither_what_is_here_nor_why_not_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rooms, "folder_of", lambda package: tmp_path)
    for text in ('[[system]]\npaper = "P"\n', '[[system]]\npaper = "P"\nhere = ["x"]\nwhy = "y"\n'):
        (tmp_path / rooms.FILE).write_text(text, "utf-8")
        with pytest.raises(PluginError, match=r"systems\.toml cannot be read: .*'P'"):
            list(rooms.listed())
