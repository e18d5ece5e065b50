"""The wheels in a clean environment: the core alone, a generated plugin, then everything."""

from __future__ import annotations

import re
import shlex
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributions import ROOT, CleanEnvironment, uv

pytestmark = pytest.mark.slow


def test_every_wheel_carries_its_code_and_licence(wheels: Path) -> None:
    built = sorted(wheels.glob("*.whl"))
    assert len(built) >= 5
    for wheel in built:
        names = zipfile.ZipFile(wheel).namelist()
        assert any(name.endswith("/__init__.py") for name in names), wheel.name
        assert any(name.endswith("licenses/LICENSE") for name in names), wheel.name


def test_the_core_alone_says_what_to_install(clean: CleanEnvironment) -> None:
    assert "palestra[all]" in clean.run("-m", "palestra", "plugins")
    done = clean.attempt("-m", "palestra", "info", "games/ConnectFour-v0")
    assert done.returncode == 2
    assert "pip install palestra-games" in done.stderr


def test_a_generated_plugin_installs_and_passes_its_tests(
    clean: CleanEnvironment, tmp_path: Path
) -> None:
    clean.run("-m", "palestra", "new", "plugin", "atoll-games", "--folder", str(tmp_path))
    source = tmp_path / "palestra-atoll-games"
    uv("build", "--wheel", "--out-dir", str(tmp_path / "dist"), str(source))
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    installed = tmp_path / "installed"
    clean.install(str(wheel), target=installed)
    assert "atoll/Subtraction-v0" in clean.run("-m", "palestra", "list", extra=(installed,))
    # the kit needs the checkers of the libraries it checks for, all of them light but SB3
    done = clean.attempt(
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(source / "tests"),
        extra=(installed,),
        cwd=source,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


@pytest.fixture(scope="module")
def official(
    clean: CleanEnvironment, wheels: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The plugins that scaffolds are tested on, in a folder of their own."""
    folder = tmp_path_factory.mktemp("official")
    kinds = ("games", "web", "renderers", "adapters", "agents")
    names = [f"palestra_{kind}" for kind in kinds]
    found = [str(path) for name in names for path in wheels.glob(f"{name}-*.whl")]
    assert len(found) == len(names)
    clean.install(*found, target=folder)
    return folder


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize(
    ("kind", "name", "command", "says"),
    [
        ("agent", "atoll-careful", "play games/TicTacToe-v0 --agents atoll-careful", "result"),
        (
            "agent --llm",
            "atoll-doubting",
            "play games/TicTacToe-v0 --agents atoll-doubting:echo:",
            "result",
        ),
        (
            "reward",
            "atoll-mobility",
            "play games/TicTacToe-v0 --rewards env,atoll-mobility",
            "mean",
        ),
        ("renderer", "atoll-pages", "play games/TicTacToe-v0 --render atoll-pages", "step-0000.md"),
        ("site", "atoll-sites", "play atoll/Lamps-v0", "result"),
    ],
)
def test_every_kind_of_plugin_installs_works_and_passes_its_tests(
    kind: str,
    name: str,
    command: str,
    says: str,
    clean: CleanEnvironment,
    official: Path,
    tmp_path: Path,
) -> None:
    clean.run("-m", "palestra", "new", *kind.split(), name, "--folder", str(tmp_path))
    source, installed = tmp_path / f"palestra-{name}", tmp_path / "installed"
    clean.install(str(source), target=installed)
    both, run = (installed, official), tmp_path / "run"
    listed = clean.run("-m", "palestra", "plugins", extra=both)
    assert f"palestra-{name} 0.1.0" in listed
    played = clean.run(
        *("-m", "palestra", *command.split(), "--out", str(run), "--pause", "0", "--no-replays"),
        extra=both,
    )
    assert says in played + " ".join(path.name for path in run.rglob("*"))
    done = clean.attempt(
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", str(source / "tests")),
        extra=both,
        cwd=source,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_a_game_an_agent_and_a_reward_in_one_distribution_pass_their_tests(
    clean: CleanEnvironment, official: Path, tmp_path: Path
) -> None:
    clean.run("-m", "palestra", "new", "plugin", "atoll-games", "--folder", str(tmp_path))
    source, installed = tmp_path / "palestra-atoll-games", tmp_path / "installed"
    for kind, name in (("agent", "atoll-careful"), ("reward", "atoll-mobility")):
        clean.run("-m", "palestra", "new", kind, name, "--into", str(source))
    clean.install(str(source), target=installed)
    both = (installed, official)
    listed = clean.run("-m", "palestra", "plugins", extra=both)
    assert "1 agents, 1 environments, 1 rewards" in " ".join(listed.split())
    assert "conforms" in clean.run("-m", "palestra", "check", "atoll/Subtraction-v0", extra=both)
    clean.run(
        *("-m", "palestra", "play", "atoll/Subtraction-v0", "--agents", "atoll-careful,random"),
        *("--rewards", "env,atoll-mobility", "--out", str(tmp_path / "run"), "--pause", "0"),
        extra=both,
    )
    done = clean.attempt(
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", str(source / "tests")),
        extra=both,
        cwd=source,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d+ passed", done.stdout)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("plugin", "games-of-mine"),  # a namespace of palestra-games, which is not installed here
        ("plugin", "envs"),
        ("plugin", "play-things"),  # a command
        ("agent", "mcts"),
        ("agent", "random"),
        ("reward", "env"),
        ("renderer", "html"),
        ("site", "web-shops"),
    ],
)
def test_reserved_names_are_refused(
    kind: str, name: str, clean: CleanEnvironment, tmp_path: Path
) -> None:
    done = clean.attempt("-m", "palestra", "new", kind, name, "--folder", str(tmp_path))
    assert done.returncode == 2
    assert "taken" in done.stderr or "of Palestra's own" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["Atoll", "atoll games", "../atoll", ""])
def test_a_bad_plugin_name_writes_nothing(
    name: str, clean: CleanEnvironment, tmp_path: Path
) -> None:
    done = clean.attempt("-m", "palestra", "new", "plugin", name, "--folder", str(tmp_path))
    assert done.returncode == 2
    assert "island-games" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.essential
def test_everything_installs_from_wheels_and_plays(
    clean: CleanEnvironment, wheels: Path, tmp_path: Path
) -> None:
    everything = tmp_path / "all"
    clean.install(*map(str, sorted(wheels.glob("palestra_*.whl"))), target=everything)
    pygame = "pygame" if sys.version_info < (3, 14) else "pygame-ce"
    clean.install(pygame, "pillow", "lazy-loader", target=everything)
    listed = clean.run("-m", "palestra", "list", extra=(everything,))
    assert "games/ConnectFour-v0" in listed
    out = tmp_path / "run"
    clean.run(
        *("-m", "palestra", "play", "games/TicTacToe-v0", "--agents", "minimax,mcts"),
        *("--out", str(out), "--pause", "0"),
        extra=(everything,),
    )
    assert sorted(path.name for path in out.iterdir()) == [
        ".lock",
        "episode.jsonl",
        "replay.gif",
        "replay.html",
        "run.json",
    ]


def install_lines() -> Iterator[str]:
    """What stands behind every `pip install` of the READMEs and the documentation."""
    pages = (*ROOT.glob("README.md"), *ROOT.glob("*/README.md"), *ROOT.glob("plugins/*/README.md"))
    for page in (*pages, *ROOT.glob("docs/*.md")):
        text = page.read_text("utf-8").replace("--no-deps\n", "--no-deps ")
        for found in re.findall(r"pip install ([^`\n#&]+)", text):
            # not the benchmarks' peers, which are built from source, nor an author's own folder
            if not found.startswith(("-r ", "-e ")):
                yield found.rstrip(" .)")


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment into which nothing is ever installed."""
    folder = tmp_path_factory.mktemp("empty") / "venv"
    uv("venv", "--python", sys.executable, str(folder))
    return folder / "bin" / "python"


@pytest.mark.exhaustive(sample=3)
@pytest.mark.parametrize("line", sorted(set(install_lines())))
def test_what_the_pages_say_to_install_comes_from_wheels_alone(
    line: str, wheels: Path, empty: Path
) -> None:
    uv(
        *("pip", "install", "--dry-run", "--only-binary", ":all:", "--find-links", str(wheels)),
        *("--python", str(empty), *shlex.split(line)),
    )


def test_the_environments_need_neither_numba_nor_scipy(wheels: Path, tmp_path: Path) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    uv("venv", "--python", sys.executable, str(tmp_path / "venv"))
    bare = CleanEnvironment(python, wheels, tmp_path)
    bare.install("--find-links", str(wheels), "palestra-envs")
    heavy = ("numba", "llvmlite", "scipy", "torch", "networkx", "pandas", "PIL")
    found = bare.run("-c", f"from importlib.util import find_spec; print(*map(find_spec, {heavy}))")
    assert set(found.split()) == {"None"}
    for env in ("grid/Foraging-v0", "text/Negotiation-v0"):
        told = bare.run(
            *("-m", "palestra", "play", env, "--agents", "random", "--no-replays"),
            *("--out", str(tmp_path / env), "--pause", "0"),
        )
        assert ("about 40 times slower" in told) == env.startswith("grid/")
    done = bare.attempt(
        *("-m", "palestra", "play", "grid/Particles-v0", "--agents", "particle-pilot"),
        *("--no-replays", "--pause", "0"),
    )
    assert done.returncode == 2
    assert 'pip install "palestra-envs[scipy]"' in done.stderr
