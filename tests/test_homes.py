"""What a plain installation knows of the other distributions, and what it says of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from palestra.cli import main
from palestra.cli.scaffold import create_plugin
from palestra.kernel.errors import InvalidOption
from palestra.kernel.plugins import Plugins
from palestra.kernel.registry import Registry, homes

pytestmark = pytest.mark.essential(whole=True)

ROOT = Path(__file__).parents[1]


def test_the_list_is_that_of_the_installed_plugins() -> None:
    """If this fails, run: python scripts/homes.py."""
    done = subprocess.run(
        [sys.executable, "scripts/homes.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert homes("commands")["tournament"] == "palestra-arena"
    assert homes("agents")["react"] == "palestra-adapters"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["tournamint"], "unknown command 'tournamint'; did you mean 'tournament'"),
        (["new", "game", "atoll"], "unknown kind of plugin 'game'; choose from: agent, plugin"),
    ],
)
def test_an_unknown_command_ends_in_a_next_step(
    asked: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as done:
        main(asked)
    assert done.value.code == 2
    assert says in capsys.readouterr().err


def test_what_is_not_installed_is_named_with_its_distribution(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plugins = Plugins(only=frozenset({"core"}))
    plugins.load()
    bare = Registry(plugins)
    for module in (
        "palestra.kernel.registry",
        "palestra.catalogue.find",
        "palestra.shaping",
        "palestra.cli.explaining",
        "palestra.cli.listing",
    ):
        monkeypatch.setattr(f"{module}.registry", lambda: bare)
    for asked, says in (
        (["tournament", "games/Chess-v0"], "pip install palestra-arena"),
        (["solve", "games/KuhnPoker-v0"], "pip install palestra-agents"),
        (["info", "web/Shop-v0"], "pip install palestra-web"),
        (["info", "rafa"], "pip install palestra-adapters"),
        (["list"], 'pip install "palestra[all]"'),
        (["list", "--namespace", "markets"], "pip install palestra-markets"),
    ):
        with pytest.raises(SystemExit):
            main(asked)
        assert says in " ".join("".join(capsys.readouterr()).split())
    with pytest.raises(LookupError, match="pip install palestra-adapters"):
        bare.agent("rafa")
    from palestra.shaping import load_shaper

    with pytest.raises(LookupError, match="pip install palestra-rewards"):
        load_shaper("novelty")


@pytest.mark.parametrize(
    ("kind", "name"), [("agent", "rafa"), ("reward", "novelty"), ("plugin", "web-things")]
)
def test_names_of_distributions_that_are_not_installed_are_taken_too(
    kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins = Plugins(only=frozenset({"core"}))
    plugins.load()
    monkeypatch.setattr("palestra.cli.scaffold.registry", lambda: Registry(plugins))
    with pytest.raises(InvalidOption, match="is taken"):
        create_plugin(name, tmp_path, kind)


@pytest.mark.parametrize("opened", ["make('palestra:{}')", "make_vec('palestra:{}', 2)"])
def test_gymnasium_says_what_to_install(opened: str) -> None:
    code = f"import gymnasium; gymnasium.{opened.format('games/Chess-v0')}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PALESTRA_BLOCK": "games"},
    )
    assert "run: pip install palestra-games" in done.stderr.splitlines()[-1]
