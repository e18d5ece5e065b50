"""The command line: what it prints, writes, refuses and survives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import palestra
import pytest
from palestra.cli import main
from palestra.cli.listeners import RunTally
from palestra.records.record import read_records


@dataclass
class Result:
    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run the program in a folder of its own and collect what it says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str) -> Result:
        code = 0
        try:
            main(list(arguments))
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return Result(code, out, err)

    return call


def test_lines_of_help_are_broken_by_the_width_and_not_by_the_source(run: Run) -> None:
    lines = [line.strip() for line in run("measure", "--help").out.splitlines()]
    assert any(line.startswith("With --against") and "how much" in line for line in lines)


def test_a_page_is_not_written_from_catalogues_that_are_about_to_change(run: Run) -> None:
    refused = run("catalogue", "palestra", "--page", "page.md")
    assert refused.code
    assert "then the page: palestra catalogue --page page.md" in refused.err
    assert not Path("page.md").exists()


def test_list_filters(run: Run) -> None:
    assert "text/Commons-v0" in run("list").out
    boards = run("list", "--family", "board").out
    assert "games/ConnectFour-v0" in boards
    assert "text/Commons-v0" not in boards
    refused = run("list", "--family", "boad")
    assert refused.code
    assert "unknown family 'boad'; did you mean 'board'?" in refused.err
    rivals = run("list", "--family", "social", "--players", "5", "--pays", "zero-sum").out
    assert "games/Codenames-v0" in rivals
    assert not any(name in rivals for name in ("TrustAndSplit", "Werewolf", "LiarsDice"))


def test_info_tells_facts_rules_options_and_agents(run: Run) -> None:
    told = run("info", "grid/Foraging-v0").out
    for word in ("simultaneous", "sight=", "forager", "Albrecht", "Discrete(6)", "1-20"):
        assert word in told
    assert "15x15-4p-3f (rows=15, columns=15, num_players=4)" in told


def test_info_explains_an_agent_and_options_of_the_classes_that_it_builds_on(run: Run) -> None:
    told = " ".join(run("info", "beam").out.split())
    assert "agent, llm" in told
    assert "width 3 an integer at least 1 moves tried in a position" in told
    assert "max_tokens 128 an integer at least 1 tokens of a reply at most" in told
    assert "growth" not in told  # which the class chooses itself


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "gigpo",
            ("reward, shape group", "state keys", "Feng et al. (2025)", "discount per own turn"),
        ),
        ("welfare", ("metric of a record", "measures")),
        ("minimax", ("two players, zero-sum", "search depth, in moves")),
    ],
)
def test_info_explains_rewards_metrics_and_agents(
    run: Run, name: str, words: tuple[str, ...]
) -> None:
    told = " ".join(run("info", name).out.split())
    assert all(word in told for word in words)


def test_info_suggests_a_name(run: Run) -> None:
    done = run("info", "minimx")
    assert done.code == 2
    assert "unknown environment, agent, reward or metric 'minimx'" in done.err
    assert "did you mean 'minimax'" in done.err


def test_info_shows_the_beginning_of_long_options(run: Run) -> None:
    told = run("info", "markets/DoubleAuction-v0").out
    assert "flat-supply (demand=((150,), (140,), (130,), (120,), (110,),…" in " ".join(told.split())


def test_agents_and_plugins_are_listed(run: Run) -> None:
    agents = run("agents", "--long").out
    assert "simulations=200" in agents
    assert "harvester" in agents
    plugins = run("plugins").out
    assert "palestra-games" in plugins
    assert "loaded" in plugins


def test_play_writes_a_record_and_replays(run: Run, tmp_path: Path) -> None:
    done = run("play", "games/TicTacToe-v0", "--agents", "minimax,random", "--pause", "0")
    assert done.code == 0
    assert "minimax" in done.out
    (folder,) = (tmp_path / "runs").iterdir()
    assert {p.name for p in folder.iterdir()} == {
        "episode.jsonl",
        "replay.gif",
        "replay.html",
        "run.json",
        ".lock",
    }
    verified = run("replay", str(folder / "episode.jsonl"), "--verify")
    assert "replays exactly" in verified.out


def test_a_file_is_no_folder_for_a_run(run: Run, tmp_path: Path) -> None:
    refused = run("play", "games/TicTacToe-v0", "--out", str(tmp_path / "x.jsonl"))
    assert refused.code != 0
    assert "--out names a folder" in refused.err
    assert not any(tmp_path.iterdir())


def test_whoever_is_not_named_plays_at_random(run: Run) -> None:
    done = run("play", "grid/Foraging-v0", "--render", "none", "--no-replays", "--out", "run")
    assert done.code == 0
    assert set(read_records("run/episode.jsonl")[0].agents) == {"random"}


def test_one_agent_may_take_all_seats_and_many_may_set_their_number(run: Run) -> None:
    quiet = ("--no-replays", "--render", "none", "--out")
    run("play", "text/Commons-v0", "--agents", "harvester", *quiet, "one")
    assert len(read_records("one/episode.jsonl")[0].players) == 5
    run("play", "text/Commons-v0", "--agents", "harvester,random,random", *quiet, "three")
    assert len(read_records("three/episode.jsonl")[0].players) == 3


def test_options_of_agents_and_games_are_read(run: Run) -> None:
    run(
        *("play", "games/ConnectFour-v0", "--agents", "mcts:simulations=3,c=1.5,first"),
        *("-o", "rows=4", "-o", "columns=5", "--out", "x", "--no-replays", "--render", "none"),
    )
    (record,) = read_records("x/episode.jsonl")
    assert record.agents == ("mcts:simulations=3,c=1.5", "first")
    assert record.options == {"rows": 4, "columns": 5, "line": 4}


def test_many_episodes_are_tabled_with_metrics(run: Run) -> None:
    done = run(
        "play", "text/Commons-v0", "--agents", "harvester", "--episodes", "3", "--no-replays"
    )
    assert "rounds-survived" in done.out
    assert "0.4385 to 1" in done.out  # Wilson's for three of three
    assert "3 score" in done.out


def test_verbose_prints_questions_and_answers(run: Run) -> None:
    done = run(
        "play", "games/TicTacToe-v0", "--agents", "llm:echo:5,first", "--verbose", "--no-replays"
    )
    assert "answers: 5" in done.out
    assert "again, because" in done.out
    assert done.out.count("   rules: You play tic-tac-toe") == 2  # once for each seat
    assert "   reads: " in done.out
    assert "player_0, you may play: 1, 2, 3, 4, 5, 6, 7, 8, 9" in done.out


def test_shaped_rewards_from_the_command_line(run: Run) -> None:
    run(
        *("play", "grid/Foraging-v0", "--agents", "forager", "--rewards", "env,food-distance"),
        *("--out", "x", "--no-replays", "--render", "none"),
    )
    assert read_records("x/episode.jsonl")[0].rewards_from == ("env", "food-distance")


def test_replay_shows_exports_and_hides_what_a_seat_may_not_see(run: Run) -> None:
    run("play", "games/KuhnPoker-v0", "--agents", "random", "--out", "k", "--no-replays")
    file = "k/episode.jsonl"
    assert run("replay", file, "--pause", "0").out.count("You are dealt") == 2
    told = run("replay", file, "--pause", "0", "--seat", "0").out
    assert "You are dealt" in told
    assert told.count("You are dealt") == 1
    run("replay", file, "--html", "a.html", "--gif", "b.gif")
    assert Path("a.html").stat().st_size > 1_000
    assert Path("b.gif").stat().st_size > 1_000


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("info", "games/ConectFour-v0"), "did you mean 'games/ConnectFour-v0'"),
        (("play", "games/TicTacToe-v0", "--agents", "minmax"), "did you mean 'minimax'"),
        (("play", "games/TicTacToe-v0", "--agents", "random,random,random"), "2 seats need 2"),
        (("play", "games/TicTacToe-v0", "--agents", "random", "-o", "rows=4"), "takes no options"),
        (("play", "games/TicTacToe-v0", "--agents", "random", "-o", "rows"), "name=value"),
        (("play", "games/TicTacToe-v0", "--agents", "random", "--invalid", "skip"), "forfeit"),
        (("play", "games/TicTacToe-v0", "--agents", "random", "--render", "3d"), "terminal"),
        (("play", "games/TicTacToe-v0", "--agents", ","), "name at least one agent"),
        (("play", "games/TicTacToe-v0", "--agents", "llm:gpt:x"), "unknown model scheme 'gpt'"),
        (("replay", "nowhere.jsonl"), "there is no file nowhere.jsonl"),
        (("check", "games/Tic-v0"), "unknown environment"),
        (("solve", "text/Commons-v0"), "cannot be solved"),
    ],
)
def test_every_error_is_one_sentence(arguments: tuple[str, ...], says: str, run: Run) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert done.err.startswith("palestra: ")
    assert says in done.err
    assert "Traceback" not in done.err


def test_good_episodes_of_a_damaged_file_are_still_shown(run: Run) -> None:
    quiet = ("--no-replays", "--render", "none")
    run("play", "games/TicTacToe-v0", "--agents", "first", "--episodes", "2", "--out", "d", *quiet)
    file = Path("d/episode.jsonl")
    file.write_bytes(file.read_bytes()[:-30])
    done = run("replay", str(file), "--verify")
    assert "episode 0: games/TicTacToe-v0" in done.out
    assert "line 2: the line is cut off (1 good episodes before it were kept)" in done.err
    assert done.code == 2


@pytest.mark.parametrize(
    ("written", "instead", "says"),
    [
        (b'{"env":', b'{"invented":[1],"env":', "no record has a field invented"),
        (b'"turns":[{', b'"turns":[{"invented":1,', "no record has a field steps[0].turns[0].inv"),
        (b'"seed":3,', b'"seed":3.0,', "seed is written 3.0 and read as 3"),
        (b'"seed":3,', b'"seed":4,"seed":3,', "'seed' stands there twice"),
        (b'"returns":', b'"returns":[9.0,9.0],"returns":', "'returns' stands there twice"),
    ],
)
def test_what_is_written_and_not_read_is_named(
    written: bytes, instead: bytes, says: str, run: Run
) -> None:
    quiet = ("--no-replays", "--render", "none", "--seed", "3")
    run("play", "games/TicTacToe-v0", "--agents", "first", "--out", "d", *quiet)
    file = Path("d/episode.jsonl")
    line = file.read_bytes()
    assert run("replay", str(file), "--verify").code == 0
    assert written in line
    file.write_bytes(line.replace(written, instead, 1))
    done = run("replay", str(file), "--verify")
    assert done.code == 1
    assert says in done.err
    assert "1 of 1 records do not replay as they were written" in done.err


def test_an_episode_that_stands_there_twice_is_named(run: Run) -> None:
    quiet = ("--no-replays", "--render", "none")
    run("play", "games/TicTacToe-v0", "--agents", "random", "--episodes", "2", "--out", "d", *quiet)
    file = Path("d/episode.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines, lines[0]]))
    done = run("replay", str(file), "--verify")
    assert done.code == 1
    assert "episode 2: games/TicTacToe-v0" in done.err
    assert "it is episode 0 once more" in done.err


def test_check_prints_a_verdict_and_fails_by_exit_code(run: Run) -> None:
    one = ("--only", "facts_are_true", "--only", "masks_agree")
    good = run("check", "games/TicTacToe-v0", *one)
    assert good.code == 0
    assert good.out.count("passed") == 2
    Path("golden").mkdir()
    Path("golden/TicTacToe-v0.txt").write_text("something else\n")
    bad = run(
        "check", "games/TicTacToe-v0", "--only", "matches_golden_transcript", "--golden", "golden"
    )
    assert bad.code == 1
    assert "failed" in bad.out


def test_solve_finds_the_value_of_kuhn_poker(run: Run) -> None:
    done = run("solve", "games/KuhnPoker-v0", "--iterations", "60", "--rows", "1")
    assert "-0.05" in done.out
    assert "hold the king" in done.out


def test_version_and_module_entry(run: Run) -> None:
    assert run("--version").out.startswith("palestra 0.")
    done = subprocess.run(
        [sys.executable, "-m", "palestra", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("palestra 0.")


def test_completion_scripts_are_offered() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "palestra"],
        capture_output=True,
        text=True,
        env={**os.environ, "_PALESTRA_COMPLETE": "source_bash"},
        check=False,
    )
    assert "palestra" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ on Windows")
def test_an_interrupt_keeps_what_is_finished(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "palestra", "play", "games/ConnectFour-v0"]
    command += ["--agents", "random", "--episodes", "100000", "--out", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    record = tmp_path / "episode.jsonl"
    for _ in range(600):
        if record.exists() and record.stat().st_size:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert "Play the rest with --resume --out" in out, err
    done = {record.number for record in read_records(record)}
    assert done
    assert (tmp_path / "unfinished.jsonl").exists()
    command[command.index("100000")] = str(max(done) + 2)
    subprocess.run([*command, "--resume"], check=True, capture_output=True)
    numbers = [record.number for record in read_records(record)]
    assert sorted(numbers) == list(range(max(done) + 2))


def test_every_environment_gets_a_page(run: Run, tmp_path: Path) -> None:
    done = run("pages", str(tmp_path), "--namespace", "games")
    assert "pages and an index" in done.out
    page = (tmp_path / "games-KuhnPoker-v0.md").read_text("utf-8")
    assert "Kuhn (1950)" in page
    assert "you may play: pass, bet\n> " in page
    index = (tmp_path / "README.md").read_text("utf-8")
    (row,) = (line for line in index.splitlines() if "(games-TicTacToe-v0.md)" in line)
    assert row.startswith("|  | [games/TicTacToe-v0]")
    assert row.endswith("| 2 | sequential | zero-sum |")


def test_episodes_that_ended_in_an_error_are_counted_apart() -> None:
    asked = []

    def fragile(turn: palestra.Turn) -> int:
        asked.append(turn)
        if len(asked) == 9:
            raise OSError("the disk is gone")
        return int(turn.legal_actions[0])

    tally = RunTally(["fragile", "first"])
    for record in palestra.stream(
        "games/TicTacToe-v0", agents=[fragile, "first"], episodes=4, live=1
    ):
        tally.add(record)
    assert (tally.episodes, tally.failed) == (3, 1)
    assert tally.cause == "OSError: the disk is gone"


@pytest.mark.parametrize("command", ["tournament", "serve", "train", "rewards"])
def test_commands_of_plugins_are_there(run: Run, command: str) -> None:
    found = run(command, "--help")
    assert (found.code, found.err) == (0, "")
    assert f"palestra {command} " in found.out
