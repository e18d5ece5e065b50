from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import palestra
import pytest
from palestra import UnknownName
from palestra.cli import main
from palestra.kernel.registry import load_game, registry
from palestra_arena import GameResult, Settings, Store
from palestra_arena.match import Match
from palestra_arena.report.suite import suite_report
from palestra_arena.result import points_of
from palestra_arena.settings import Environment
from palestra_arena.suites import suite

NAMES = ("mars-train", "mars-held-out", "social", "markets", "all-offline")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as done:
        main(list(arguments))
    return int(done.value.code or 0)


@pytest.mark.parametrize("name", NAMES)
def test_every_environment_of_a_suite_opens_for_two(name: str) -> None:
    chosen = suite(name)
    for environment in chosen.environments:
        spec = registry().environment(environment.id)
        game = load_game(spec, environment.options, environment.players or 1)
        assert game.num_players == 2
    Settings(environments=chosen.environments, agents=("random",), **dict(chosen.settings))


def test_all_offline_is_all_that_two_can_play_but_demonstrations() -> None:
    ids = {environment.id for environment in suite("all-offline").environments}
    assert ids == {spec.id for spec in palestra.specs(players=2) if "demo" not in spec.tags}
    assert "games/Norms-v0" not in ids


@pytest.mark.parametrize("name", NAMES)
def test_no_suite_has_a_demonstration(name: str) -> None:
    demos = {spec.id for spec in palestra.specs() if "demo" in spec.tags}
    assert demos
    assert not demos & {environment.id for environment in suite(name).environments}


def test_versions_are_those_installed_and_digests_tell_suites_apart() -> None:
    assert suite("social").pins["palestra_games"] == version("palestra-games")
    assert len({suite(name).digest for name in NAMES}) == len(NAMES)
    assert suite("social").digest == suite("social").digest


def test_an_unknown_suite_names_the_known() -> None:
    with pytest.raises(UnknownName, match="mars-held-out"):
        suite("mars-heldout")


def game(env: str, agents: tuple[str, str], winner: int, seed: int) -> GameResult:
    ranks = (0, 1) if winner == 0 else (1, 0)
    nothing: Any = (palestra.Usage(),) * 2
    return GameResult(
        match=Match(Environment(env), agents, seed),
        status="played",
        results=("win", "loss") if winner == 0 else ("loss", "win"),
        scores=(1.0, -1.0),
        ranks=ranks,
        points=points_of(ranks),
        mistakes=(0, 0),
        usage=nothing,
        steps=1,
        seconds=0.0,
    )


def test_environments_count_alike_however_many_games_they_have() -> None:
    """a wins 9 of 10 in the first and none of 2 in the second: 0.45."""
    games = [game("x/A-v0", ("a", "b"), int(seed == 0), seed) for seed in range(10)]
    games += [game("x/B-v0", ("a", "b"), 1, seed) for seed in range(2)]
    report = suite_report(games)
    assert report.environments == ("x/A-v0", "x/B-v0")
    assert report.points == {"b": (pytest.approx(0.1), 1.0), "a": (pytest.approx(0.9), 0.0)}
    assert report.overall["a"].value == pytest.approx(0.45)
    assert report.overall["a"].low < 0.45 < report.overall["a"].high


def test_where_one_plays_alone_the_return_counts() -> None:
    def solo(env: str, agent: str, paid: float, seed: int) -> GameResult:
        nothing: Any = (palestra.Usage(),)
        match = Match(Environment(env), (agent,), seed)
        ended: Any = (("win",), (paid,), (0,), (1.0,), (0,))
        return GameResult(match, "played", *ended, nothing, 1, 0.0)

    games = [solo("x/A-v0", "a", paid, seed) for seed, paid in enumerate((1.0, 0.5))]
    games += [solo("x/B-v0", "a", 0.25, 0), solo("x/A-v0", "b", 0.0, 0)]
    report = suite_report(games)
    assert report.points == {"a": (0.75, 0.25), "b": (0.0, None)}
    assert report.overall["a"].value == pytest.approx(0.5)


def test_the_suite_of_sites_seats_one() -> None:
    for environment in suite("web").environments:
        assert load_game(registry().environment(environment.id), {}).num_players == 1


def test_a_suite_is_typed_reported_and_gone_on_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "a.db"
    typed = ("--suite", "social", "--agents", "random,first", "--workers", "0")
    assert run("tournament", *typed, "--games", "2", "--store", str(store)) == 0
    out = capsys.readouterr().out
    assert f"suite social {suite('social').digest}" in out
    assert "all alike" in out
    for environment in suite("social").environments:
        assert environment.label in out
    with Store(store) as opened:
        assert len(opened) == 2 * len(suite("social").environments)
    assert run("tournament", "--store", str(store), "--games", "4") == 0
    assert run("results", str(store)) == 0
    assert "all alike" in capsys.readouterr().out


def test_a_suite_replaces_environments(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tournament", "games/Chess-v0", "--suite", "social", "--agents", "random") == 2
    assert "not both" in capsys.readouterr().err


def test_games_of_another_suite_by_that_name_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(environments=("x/A-v0",), agents=("a", "b"), suite="social 00000000")
    with Store(tmp_path / "a.db") as store:
        store.begin(settings)
        for seed in range(4):
            store.add(game("x/A-v0", ("a", "b"), seed % 2, seed))
    assert run("results", str(tmp_path / "a.db")) == 0
    assert "these games are of another social" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("name", ["tasks", "science", "clinic"])
def test_suites_of_tasks_open_and_have_settings(name: str) -> None:
    chosen = suite(name)
    for environment in chosen.environments:
        spec = registry().environment(environment.id)
        assert load_game(spec, environment.options, environment.players or 1).num_players <= 2
    Settings(environments=chosen.environments, agents=("random",), **dict(chosen.settings))
