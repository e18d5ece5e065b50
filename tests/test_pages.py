"""Pages of environments, agents and rewards, and the reference scores on them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import palestra
import pytest
import typer
from palestra.cli import add_commands
from palestra.cli.app import BUILT_IN, app
from palestra.cli.explaining import all_options
from palestra.cli.pages import agents, commands, page, rewards
from palestra.cli.pages.markdown import plain, table
from palestra.cli.pages.reference import Reference, measure_reference, read_reference
from palestra.kernel.registry import registry
from typer.testing import CliRunner

SECTIONS = (
    "Rules as a player reads them",
    "Facts",
    "Options",
    "Observations and actions",
    "Rewards",
    "Measures",
    "Use it",
    "A conversation",
)


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return done.output


def test_a_page_has_every_section() -> None:
    text = page(registry().environment("games/LiarsDice-v0"))
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert [heading for heading in headings if heading in SECTIONS] == list(SECTIONS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "env", ["games/TicTacToe-v0", "grid/Foraging-v0", "text/Negotiation-v0", "web/Shop-v0"]
)
def test_the_snippets_of_a_page_run(env: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALESTRA_DEBUG", "1")  # interpreted: nothing is compiled for one step
    found = re.findall(r"^```python\n(.*?)^```", page(registry().environment(env)), re.S | re.M)
    assert len(found) == (3 if env == "web/Shop-v0" else 4)
    for code in found:
        exec(compile(code, env, "exec"), {})


def test_markup_in_a_cell_is_escaped_outside_code() -> None:
    assert plain("a|b *c* `d_e` [f]") == r"a\|b \*c\* `d_e` \[f\]"
    assert plain("one ` alone") == r"one \` alone"
    assert table(("a", "b"), []) == []
    assert table(("a", "b"), [("1", "2")]) == ["| a | b |", "|---|---|", "| 1 | 2 |"]


def test_scores_are_means_over_the_seats_of_an_agent(tmp_path: Path) -> None:
    spec = registry().environment("games/TicTacToe-v0")
    measured, record = measure_reference(spec, 6, 30.0, speed=False)
    assert [score.agent for score in measured.scores] == ["random", "scripted"]
    assert all(score.episodes == 6 and score.against == "random" for score in measured.scores)
    assert record.env == spec.id
    (tmp_path / "games-TicTacToe-v0.json").write_text(measured.to_json(), "utf-8")
    assert read_reference(tmp_path, "games-TicTacToe-v0") == measured
    assert read_reference(tmp_path, "games-Chess-v0") is None
    shown = page(spec, measured)
    assert "| `scripted` | random |" in shown
    assert "palestra reference FOLDER games/TicTacToe-v0 --episodes 6" in shown


def test_agents_of_one_seat_are_measured_there() -> None:
    """A support desk has a customer, a clerk, an impostor and a keeper of the stock."""
    spec = registry().environment("web/SupportDesk-v0")
    measured, _ = measure_reference(spec, 2, 5.0, speed=False)
    clerk = next(score for score in measured.scores if score.agent == "support-clerk")
    assert clerk.against == "random"


def test_an_interval_that_is_not_a_number_is_kept_as_nothing() -> None:
    found = Reference("games/X-v0", "", {}, [])
    assert '"scores": []' in found.to_json()


@pytest.mark.slow
def test_the_commands_write_pages_with_pictures(tmp_path: Path) -> None:
    scores, pages = tmp_path / "scores", tmp_path / "pages"
    said = run(
        *("reference", str(scores), "games/TicTacToe-v0", "--episodes", "2", "--no-speed"),
    )
    assert said.startswith("games/TicTacToe-v0: random ")
    assert (scores / "games-TicTacToe-v0.webp").read_bytes()[8:12] == b"WEBP"
    run("pages", str(pages), "--namespace", "games", "--reference", str(scores))
    written = (pages / "games-TicTacToe-v0.md").read_text("utf-8")
    assert "![An episode of games/TicTacToe-v0](games-TicTacToe-v0.webp)" in written
    assert (pages / "games-TicTacToe-v0.webp").exists()
    assert "| ![games/TicTacToe-v0](games-TicTacToe-v0.webp) |" in (pages / "README.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("subject", ["agents", "rewards"])
def test_every_agent_and_reward_has_a_page(subject: str, tmp_path: Path) -> None:
    run("pages", str(tmp_path), "--of", subject)
    known = registry().agents if subject == "agents" else registry().rewards
    assert {path.stem for path in tmp_path.glob("*.md")} == {*known, "README"}


@pytest.mark.slow
def test_the_page_of_an_agent_or_a_reward_describes_every_option() -> None:
    known = registry()
    shown = [(f"agent {n}", agents.page(s), all_options(s)) for n, s in known.agents.items()]
    shown += [(f"reward {n}", rewards.page(s), s.options) for n, s in known.rewards.items()]
    assert sum(len(options) for _, _, options in shown) > 500
    for name, text, options in shown:
        for option in options:
            row = re.search(rf"^\| `{option.name}` \| (.*) \| (.+) \| (.+) \|$", text, re.MULTILINE)
            assert row, f"{name}: no type or no meaning of {option.name}"
            assert len(row[3].split()) > 1, f"{name}: {option.name}: {row[3]}"


def test_info_shows_the_options_that_an_agent_hands_on() -> None:
    own = {option.name for option in registry().agents["react"].options}
    handed = {option.name for option in all_options(registry().agents["react"])} - own
    assert handed
    told = run("info", "react")
    text = agents.page(registry().agents["react"])
    assert all(name in told and f"| `{name}` |" in text for name in handed)


def test_every_environment_of_the_stored_scores_is_installed() -> None:
    folder = Path(__file__).parents[1] / "docs" / "measured"
    ids = {spec.id.replace("/", "-") for spec in palestra.specs()}
    assert {path.stem for path in folder.iterdir()} <= ids


@pytest.fixture
def commands_of_plugins() -> Any:
    """The group of all commands, those of plugins among them."""
    add_commands(app, registry().plugins, BUILT_IN)
    return typer.main.get_command(app)


def test_every_command_has_a_page_with_its_options(
    tmp_path: Path, commands_of_plugins: Any
) -> None:
    run("pages", str(tmp_path), "--of", "commands")
    index = (tmp_path / "README.md").read_text("utf-8")
    assert "[`palestra tournament`](palestra-tournament.md)" in index
    assert (tmp_path / "palestra-new-plugin.md").exists()
    text = (tmp_path / "palestra-play.md").read_text("utf-8")
    assert "palestra play [OPTIONS] ENV" in text
    assert "| `--episodes` | `1` | Number of episodes. |" in text
    bare = re.findall(r"^\| (`-[^|]*) \| [^|]* \|  \|$", text, re.MULTILINE)
    assert not bare, f"options of palestra play without a meaning: {bare}"


def test_every_option_of_every_command_says_what_it_means(commands_of_plugins: Any) -> None:
    bare = [
        f"{name} {parameter.name}"
        for name, command in sorted(commands.by_name("palestra", commands_of_plugins))
        for parameter in command.params
        if not parameter.hidden and not parameter.help
    ]
    assert not bare


def test_one_agent_is_measured_and_the_scores_of_others_stay(tmp_path: Path) -> None:
    env, model = "games/KuhnPoker-v0", "llm:echo:pass"
    run("reference", str(tmp_path), env, "--episodes", "4", "--no-speed")
    before = read_reference(tmp_path, "games-KuhnPoker-v0")
    assert before is not None
    run("reference", str(tmp_path), env, "--episodes", "6", "--agent", model)
    after = read_reference(tmp_path, "games-KuhnPoker-v0")
    assert after is not None
    assert after.scores[:-1] == before.scores
    assert (after.scores[-1].agent, after.scores[-1].episodes) == (model, 6)
    lost = CliRunner().invoke(app, ["reference", str(tmp_path / "none"), env, "--agent", model])
    assert "leave out --agent" in str(lost.exception)
