from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet
import pytest
from palestra import InvalidOption, Usage
from palestra.cli import main
from palestra_arena import GameResult, Settings, Store, run_tournament
from palestra_arena.match import Match
from palestra_arena.report import (
    generality_of,
    leaderboard_table,
    make_leaderboard,
    write_json,
    write_markdown,
    write_page,
    write_parquet,
)
from palestra_arena.report.suite import suite_report
from palestra_arena.report.table import cells_of
from palestra_arena.result import failed_result, points_of, ranks_of, void
from palestra_arena.settings import Environment
from rich.console import Console

TICTACTOE = Environment("games/TicTacToe-v0")
EVIL = "<script>document.title='owned'</script>&\"'"


def game(agents: tuple[str, ...], scores: tuple[float, ...], seed: int) -> GameResult:
    ranks = ranks_of(["score"] * len(agents), scores)
    return GameResult(
        Match(TICTACTOE, agents, seed),
        "played",
        ("score",) * len(agents),
        scores,
        ranks,
        points_of(ranks),
        (0,) * len(agents),
        (Usage(tokens_in=10, tokens_out=5, cost=0.5, seconds=0.1),) * len(agents),
        9,
        0.2,
    )


@pytest.mark.parametrize("seats", [2, 3])
def test_seats_that_are_not_balanced_are_said(seats: int, tmp_path: Path) -> None:
    names = ("a", "b", "c")[:seats]
    scores = (1.0, 0.0, 0.0)[:seats]
    fixed = [game(names, scores, seed) for seed in range(6)]
    board = make_leaderboard(fixed)
    others = ", ".join(names[1:])
    assert f"a sat at seat 0 in 6 of 6 games of games/TicTacToe-v0 with {others}" in board.seating
    assert (
        "not balanced"
        in json.loads(write_json(board, tmp_path / "board.json").read_text())["seating"]
    )
    turns = [names[i:] + names[:i] for i in range(seats)]
    rotated = [game(order, scores, seed) for seed in range(6) for order in turns]
    assert make_leaderboard(rotated).seating == ""
    assert make_leaderboard(rotated[:-1]).seating == ""  # a game is still running


def test_an_agent_that_wins_more_often_and_is_paid_less_is_said() -> None:
    small, large = (1.0, -1.0), (-10.0, 10.0)
    pots = [game(("a", "b"), large if seed % 4 == 0 else small, seed) for seed in range(100)]
    board = make_leaderboard(pots)
    assert [row.agent for row in board.rows] == ["a", "b"]
    assert board.winnings.endswith(
        "a won more often than b and was paid less, a score of -1.75 and not of 1.75"
    )
    even = [game(("a", "b"), small if seed % 4 else (-1.0, 1.0), seed) for seed in range(100)]
    assert make_leaderboard(even).winnings == ""
    assert make_leaderboard(pots[:4]).winnings == ""  # four games do not show it


def run(*arguments: str) -> int:
    """The exit code of `palestra …`."""
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(stopped.value.code or 0)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    settings = Settings(
        environments=(TICTACTOE,), agents=("random", "first", "minimax"), games=6, workers=0
    )
    run_tournament(settings, path)
    return path


def test_a_leaderboard_ranks_and_counts(store: Path) -> None:
    with Store(store) as opened:
        board = make_leaderboard(opened.results())
    assert board.rows[0].agent == "minimax"
    assert [row.games for row in board.rows] == [12, 12, 12]
    assert sum(row.points.value for row in board.rows if row.points) == pytest.approx(1.5)
    one, two = board.pairings["first", "random"], board.pairings["random", "first"]
    assert one.points.value + two.points.value == pytest.approx(1)


def test_swapped_seats_of_a_seed_count_as_one_trial() -> None:
    games = [game(pair, (1, 0), seed) for seed in range(5) for pair in (("a", "b"), ("b", "a"))]
    board = make_leaderboard(games)
    first = board.rows[0]
    assert first.games == 10
    assert first.points is not None
    from palestra_arena.statistics import wilson

    assert first.points == wilson(2.5, 5)


def test_void_games_and_errors_count_for_no_agent() -> None:
    games = [game(("a", "b"), (1, 0), 0), void(Match(TICTACTOE, ("a", "b"), 1), "known seed")]
    board = make_leaderboard(games)
    assert (board.games, board.void, board.rows[0].games) == (2, 1, 1)
    board = make_leaderboard([*games, failed_result(Match(TICTACTOE, ("a", "b"), 2), "broke")])
    assert (board.games, board.void, board.errors, board.rows[0].games) == (3, 1, 1, 1)
    assert board.uncounted == "1 ended in an error and 1 void (these count for no agent)"
    with pytest.raises(InvalidOption, match="nothing to rank"):
        make_leaderboard(games[1:])


def test_games_without_winners_are_ranked_by_what_they_paid() -> None:
    solo = [
        game((name,), (pay + seed,), seed)
        for name, pay in (("a", 1), ("b", 5))
        for seed in range(4)
    ]
    board = make_leaderboard(solo)
    assert [row.agent for row in board.rows] == ["b", "a"]
    assert board.rows[0].rating is None
    assert board.rows[0].score.low <= board.rows[0].score.value <= board.rows[0].score.high
    assert "nobody beat anybody" in board.unrated


def test_percentiles_are_of_seeds_and_of_the_best_on_each() -> None:
    """a has 1/2, 1 and 1 of the best on seeds 0 to 2; b 1, 1/4 and 0."""
    paid = {"a": (5, 4, 2), "b": (10, 1, 0)}
    games = [game((name,), (pay,), seed) for name in "ab" for seed, pay in enumerate(paid[name])]
    found, tasks, left_out = generality_of([*games, game(("a",), (1,), 7)])
    assert (tasks, left_out) == (3, 1)
    assert found["a"] == (1.0, pytest.approx((0.5, 0.6, 0.7, 1.0)))
    assert found["b"] == (pytest.approx(2 / 3), pytest.approx((0.0, 0.05, 0.1, 0.25)))
    with pytest.raises(InvalidOption, match="none was played by all"):
        generality_of([*games, game(("c",), (1,), 7)])
    with pytest.raises(InvalidOption, match="paid -1 on seed 2"):
        generality_of([game(("a",), (pay,), seed) for seed, pay in enumerate((1, 0, -1))])


def test_rivals_who_are_also_paid_below_nothing_are_scored_by_whom_they_beat() -> None:
    games = [game(("a", "b"), (1, -1), 0), game(("a", "b"), (0, 0), 1)]
    found, _, _ = generality_of(games)
    assert found["a"] == (1.0, (1.0,) * 4)
    assert found["b"] == (0.5, pytest.approx((0.0, 0.1, 0.2, 0.5)))


def test_the_results_command_shows_percentiles(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("results", str(store), "--percentiles") == 0
    shown = capsys.readouterr().out
    assert re.search(r"agent +participation +p0 +p10 +p20 +p50", shown)
    assert re.search(r"minimax \* +1.00( +1.00){4}", shown)
    assert "percentiles over 3 tasks of the share of the best" in " ".join(shown.split())


def test_parquet_holds_a_row_a_seat(store: Path, tmp_path: Path) -> None:
    with Store(store) as opened:
        results = list(opened.results())
    table = pyarrow.parquet.read_table(write_parquet(results, tmp_path / "a.parquet"))
    assert table.num_rows == 36
    row = table.slice(0, 1).to_pylist()[0]
    assert row["agent"] == results[0].match.agents[0]
    assert row["score"] == results[0].scores[0]
    assert list(tmp_path.glob(".*")) == []


def refusing() -> list[GameResult]:
    """Two agents: one with 3 of 12 answers refused and 1 of 2 games forfeited, one with neither."""
    fair = msgspec.structs.replace(game(("a", "b"), (1, 0), 0), mistakes=(1, 0), answers=(6, 5))
    lost = msgspec.structs.replace(
        game(("a", "b"), (-1, 1), 1),
        status="forfeit",
        results=("forfeit", "win"),
        mistakes=(2, 0),
        answers=(6, 3),
    )
    return [fair, lost]


def test_refused_answers_and_forfeits_stand_beside_every_row(tmp_path: Path) -> None:
    """In the table, the page, JSON, Markdown, Parquet and the report of a suite."""
    board = make_leaderboard(refusing())
    rows = {row.agent: row for row in board.rows}
    assert (rows["a"].refused, rows["a"].forfeited) == (0.25, 0.5)
    assert (rows["b"].refused, rows["b"].forfeited) == (0, 0)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(leaderboard_table(board, console))
    shown = console.export_text()
    assert re.search(r"refused +forfeits", shown)
    assert re.search(r"a .* 25\.0\s% +50\.0\s%", shown)
    page = write_page(board, None, tmp_path / "page.html").read_text("utf-8")
    assert "refused" in page
    assert re.search(r"50\.0\s%", page)
    saved = json.loads(write_json(board, tmp_path / "board.json").read_text("utf-8"))
    by_agent = {row["agent"]: row for row in saved["rows"]}
    assert (by_agent["a"]["refused_share"], by_agent["a"]["forfeit_share"]) == (0.25, 0.5)
    assert (by_agent["a"]["answers"], by_agent["a"]["refused"]) == (12, 3)
    lines = write_markdown(board, tmp_path / "board.md").read_text("utf-8").splitlines()
    header = lines[0].split("|")
    [line] = [line.split("|") for line in lines if "| a |" in line]
    assert line[header.index(" refused ")].strip() == "25.0\N{NO-BREAK SPACE}%"
    table = pyarrow.parquet.read_table(write_parquet(refusing(), tmp_path / "a.parquet"))
    assert table.column("answers").to_pylist() == [6, 5, 6, 3]
    report = suite_report(refusing())
    assert report.refused == {"a": 0.25, "b": 0}
    assert report.forfeited == {"a": 0.5, "b": 0}


def test_a_narrow_table_keeps_refused_and_forfeits() -> None:
    console = Console(width=40, file=io.StringIO())
    board = make_leaderboard(refusing())
    names = [column.header for column in leaderboard_table(board, console).columns]
    assert {"refused", "forfeits"} <= set(names)


def test_a_share_that_was_not_counted_is_a_dash() -> None:
    old = [msgspec.structs.replace(result, answers=()) for result in refusing()]
    board = make_leaderboard(old)
    rows = {row.agent: row for row in board.rows}
    assert rows["a"].refused is None
    assert cells_of(rows["a"], board)["refused"] == "–"


def evil_page(tmp_path: Path) -> Path:
    games = [game((EVIL, "b"), (seed % 3 > 0, seed % 3 == 0), seed) for seed in range(6)]
    settings = Settings(environments=(TICTACTOE,), agents=(EVIL, "b"))
    return write_page(make_leaderboard(games), settings, tmp_path / "page.html")


def test_the_page_escapes_names_and_needs_no_network(tmp_path: Path) -> None:
    text = evil_page(tmp_path).read_text("utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert not re.search(r"(src|href)=|https?://|url\(", text)
    assert """content="default-src 'none'; style-src 'unsafe-inline'; base-uri""" in text


@pytest.mark.slow
def test_the_page_shows_in_a_browser(tmp_path: Path, chromium_path: str) -> None:
    page = evil_page(tmp_path)
    done = subprocess.run(
        [
            *(chromium_path, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"),
            *(f"--user-data-dir={tmp_path / 'profile'}", page.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    shown = done.stdout
    assert "<title>Leaderboard</title>" in shown
    assert shown.count("<svg") == 2
    assert len(re.findall(r"<tr>", shown)) == 2 * 3


# What is typed


def test_a_tournament_is_typed_resumed_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, page = tmp_path / "a.db", tmp_path / "a.html"
    typed = ("--agents", "random,minimax:depth=9", "--games", "4", "--store", str(store))
    assert run("tournament", TICTACTOE.id, *typed, "--workers", "0") == 0
    assert "4 games played, 4 in all" in capsys.readouterr().out
    assert run("tournament", "--store", str(store), "--games", "6") == 0
    assert "2 games played, 6 in all" in capsys.readouterr().out
    assert run("results", str(store), "--html", str(page), "--rating", "glicko2") == 0
    out = capsys.readouterr().out
    assert "glicko2" in out
    assert out.index("minimax:depth=9") < out.index("random")
    assert "minimax:depth=9" in page.read_text("utf-8")


def test_a_settings_file_is_a_tournament(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.toml"
    file.write_text(
        f'environments = ["{TICTACTOE.id}"]\nagents = ["random", "first"]\n'
        'games = 4\nworkers = 0\nschedule = "swiss"\n'
    )
    assert run("tournament", "--settings", str(file), "--store", str(tmp_path / "a.db")) == 0
    assert "4 games played" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("tournament", "games/TicTacToe-v0"), "name the agents"),
        (("tournament", "games/TicTacTo-v0", "--agents", "random,first"), "TicTacToe"),
        (("tournament", "games/TicTacToe-v0", "--agents", "random,random"), "named twice"),
        (("results", "nowhere.db"), "there is no store"),
    ],
)
def test_mistakes_are_one_sentence(
    arguments: tuple[str, ...],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[Any],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*arguments) == 2
    error = capsys.readouterr().err
    assert says in error
    assert "Traceback" not in error
    assert not list(tmp_path.iterdir())


def test_an_unknown_rating_is_refused(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("results", str(store), "--rating", "eloo") == 2
    assert "unknown rating system" in capsys.readouterr().err


def test_names_in_a_leaderboard_stay_names(tmp_path: Path) -> None:
    hostile = ("\x1b[2J\x07b", "\u202eexe.gnp", "a\n1  mine 9999", EVIL, "[l](javascript:1)|`*x*`")
    store = tmp_path / "names.db"
    with Store(store) as opened:
        for seed, one in enumerate(hostile):
            for other in hostile[seed + 1 :]:
                opened.add(game((one, other), (1.0, 0.0), seed))
    page, table = tmp_path / "names.html", tmp_path / "names.md"
    shown = results_of(str(store), "--costs", "--html", str(page), "--markdown", str(table))
    for text in (shown, page.read_text("utf-8"), table.read_text("utf-8")):
        lines = text.replace("\N{NO-BREAK SPACE}", " ").split("\n")
        assert all(line.isprintable() for line in lines)
        assert "9999" in text
    for text in (shown, table.read_text("utf-8")):  # in a page a line break is a space
        assert not any(line.startswith("1  mine") for line in text.split("\n"))
    assert not re.search(r"<script>document|\]\(javascript|`", table.read_text("utf-8"))
    rows = [line for line in table.read_text("utf-8").split("\n") if line]
    assert len(rows) == len(hostile) + 2
    assert len({row.count("|") for row in rows}) == 1


def results_of(*arguments: str) -> str:
    """What `palestra results` prints in a process of its own."""
    command = [sys.executable, "-m", "palestra", "results", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
