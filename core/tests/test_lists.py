"""`palestra list`, `agents`, `rewards` and `metrics`, at a terminal and in a pipe; and help."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import palestra
import pytest
import typer
from palestra.cli import add_commands, main
from palestra.cli.entries import SUMMARY, cut, lines
from palestra.cli.groups import AUTHOR, GROUPS, MORE, PLAY, in_order
from palestra.cli.listing import ENVIRONMENT
from palestra.cli.unknown import Commands
from palestra.kernel.plugins import Plugin, Plugins
from palestra.kernel.registry import registry
from palestra.kernel.specs import EnvSpec

LISTS = {"list": "environments", "agents": "agents", "rewards": "rewards", "metrics": "metrics"}


def names_of(command: str) -> list[str]:
    return sorted(getattr(registry(), LISTS[command]))


def started(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "palestra", *arguments]


def piped(*arguments: str) -> str:
    environment = {**os.environ, "COLUMNS": "80"}
    return subprocess.run(
        started(*arguments), env=environment, capture_output=True, text=True, check=True
    ).stdout


def at_terminal(*arguments: str) -> str:
    """What the program writes to a terminal of 80 columns."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "TERM": "xterm-256color"}
    with subprocess.Popen(started(*arguments), env=environment, stdout=theirs) as running:
        os.close(theirs)
        said = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux, once the program has ended
                break
            if not part:
                break
            said += part
        assert running.wait() == 0
    os.close(ours)
    return said.decode().replace("\r\n", "\n")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    return int(stop.value.code or 0), *capsys.readouterr()


@pytest.mark.parametrize("command", LISTS)
def test_a_pipe_gets_one_whole_line_an_entry(command: str) -> None:
    rows = piped(command).splitlines()[1:]
    assert sorted(row.split()[0] for row in rows) == names_of(command)
    known = getattr(registry(), LISTS[command])
    for row in rows:
        assert row.endswith(known[row.split()[0]].summary)
        assert "\x1b" not in row


@pytest.mark.parametrize("command", LISTS)
def test_a_terminal_gets_lines_that_fit_and_whole_names(command: str) -> None:
    header, *rows = at_terminal(command).splitlines()
    assert len(header) <= 80
    assert max(map(len, rows)) == 80
    assert sorted(row.split()[0] for row in rows) == names_of(command)
    assert any(row.endswith("…") for row in rows)


def test_the_games_of_poker_are_found_with_grep() -> None:
    rows = [row for row in piped("list").splitlines() if "poker" in row.casefold()]
    assert {row.split()[0] for row in rows} >= {
        "games/Holdem-v0",
        "games/KuhnPoker-v0",
        "games/LeducHoldem-v0",
    }


@pytest.mark.parametrize("command", LISTS)
def test_json_has_every_entry_and_filters_too(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    key = "id" if command == "list" else "name"
    code, out, _ = run(capsys, command, "--json")
    assert not code
    assert sorted(entry[key] for entry in json.loads(out)) == names_of(command)
    name = names_of(command)[3]
    _, out, _ = run(capsys, command, "--json", "--search", name.upper())
    found = json.loads(out)
    assert name in [entry[key] for entry in found]
    assert len(found) < len(names_of(command))


@pytest.mark.parametrize("command", LISTS)
def test_more_columns_are_never_cut(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, command, "--long")
    header, *rows = out.splitlines()
    assert len(header.split()) > len(run(capsys, command)[1].splitlines()[0].split())
    assert sorted(row.split()[0] for row in rows) == names_of(command)
    assert "…" not in out


FILTERS = [
    (("list", "--search", "KUHN two"), "games/KuhnPoker-v0", "games/Holdem-v0"),
    (("list", "--search", "dice"), "games/LiarsDice-v0", "games/Chess-v0"),  # by its family
    (("list", "--search", "southey"), "games/LeducHoldem-v0", "games/Holdem-v0"),  # by its paper
    (("list", "--family", "board"), "games/Chess-v0", "games/KuhnPoker-v0"),
    (("agents", "--kind", "search"), "mcts", "random"),
    (("agents", "--plays", "games/TicTacToe-v0"), "minimax", "hanabi-iggi"),
    (("agents", "--plays", "games/Hanabi-v0"), "hanabi-iggi", "minimax"),
    (("agents", "--plays", "games/TicTacToe-v0", "--kind", "search"), "mcts", "random"),
    (("rewards", "--kind", "step"), "food-distance", "gigpo"),
    (("rewards", "--shape", "group", "--needs", "state keys"), "gigpo", "grpo"),
    (("metrics", "--measures", "grid/Harvest-v0"), "apples", "agreement"),
]


@pytest.mark.parametrize(("arguments", "there", "gone"), FILTERS)
def test_filters_keep_what_matches(
    arguments: tuple[str, ...], there: str, gone: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, *arguments)
    names = [row.split()[0] for row in out.splitlines()[1:]]
    assert not code
    assert there in names
    assert gone not in names


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("list", "--search", "qqq"), "No environment matches --search qqq. Installed families: "),
        (("agents", "--kind", "llm", "--search", "qqq"), "Installed kinds: human, learned, llm"),
        (("rewards", "--search", "qqq"), "No reward matches --search qqq. Installed kinds: "),
        (("metrics", "--search", "qqq"), "No metric matches --search qqq."),
    ],
)
def test_filters_without_a_match_say_what_there_is(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (0, "")
    assert said in err
    _, out, err = run(capsys, *arguments, "--json")
    assert json.loads(out) == []
    assert said in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("list", "--family", "boad"), ("did you mean 'board'?", "Accepted: board, card,")),
        (("list", "--family", "zzz"), ("unknown family 'zzz'; choose from: board, card,",)),
        (("list", "--namespace", "zzz"), ("unknown namespace 'zzz'; choose from: ", "games, grid")),
        (("agents", "--kind", "serch"), ("did you mean 'search'?", "Accepted: human, learned,")),
        (("agents", "--plays", "games/Ches-v0"), ("did you mean 'games/Chess-v0'",)),
        (("rewards", "--kind", "zzz"), ("unknown kind 'zzz'; choose from: episode, group, step",)),
        (("metrics", "--measures", "games/Ches-v0"), ("did you mean 'games/Chess-v0'",)),
    ],
)
def test_unknown_values_are_refused_with_what_is_accepted(
    arguments: tuple[str, ...], said: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert all(words in err for words in said)


def test_what_a_plugin_writes_stays_in_its_line() -> None:
    spec = EnvSpec("atoll/Odd-v0", "a:B", (2, 2), "sequential", "general", summary="a\nb \x1b[31mc")
    (_, row) = lines([spec], ENVIRONMENT | SUMMARY, 80)
    assert row == "atoll/Odd-v0  2        a b \\u{1b}[31mc"
    assert cut("abcdef", 4) == "abc…"


# Help


def panels(text: str) -> dict[str, list[str]]:
    """The commands of each panel of a help page."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("╭─ "):
            found[name := line.strip("╭─╮ ")] = []
        elif line.startswith("│ ") and line[2] not in " -":
            found[name].append(line.split()[1])
    return found


def test_help_shows_every_command_once_in_a_group() -> None:
    from palestra.cli.app import BUILT_IN, app

    shown = panels(piped("--help"))
    shown.pop("Options")
    assert tuple(shown) == GROUPS
    assert shown[PLAY][:3] == ["play", "list", "info"]
    assert shown[AUTHOR][0] == "new"
    add_commands(app, registry().plugins, BUILT_IN)
    known = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert sorted(name for names in shown.values() for name in names) == sorted(known)
    assert not any(command.hidden for command in known.values())


class Greeting:
    """Adds a command without a group, and one with a group of its own."""

    @palestra.hookimpl
    def palestra_commands(self, app: typer.Typer) -> None:
        app.command("greet")(lambda: None)
        app.command("wave", rich_help_panel="Of Ada")(lambda: None)
        app.add_typer(typer.Typer(), name="dances", rich_help_panel=PLAY)


def test_commands_of_plugins_without_a_group_are_shown_in_the_last() -> None:
    app = typer.Typer(cls=Commands)
    app.command("play", rich_help_panel=PLAY)(lambda: None)
    plugins = Plugins()
    plugins.register(Greeting(), Plugin("greeting", "greeting 1.0"))
    add_commands(app, plugins, (list(app.registered_commands), []))
    assert [one.rich_help_panel for one in app.registered_commands] == [PLAY, MORE, "Of Ada"]
    assert [one.rich_help_panel for one in app.registered_groups] == [PLAY]
    named = [("greet", MORE), ("wave", "Of Ada"), ("dances", PLAY), ("play", PLAY)]
    assert in_order(named) == ["play", "dances", "wave", "greet"]
