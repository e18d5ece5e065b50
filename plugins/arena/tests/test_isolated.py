"""Tournaments whose agents play from processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from palestra.cli import main
from palestra.isolation.system import unwalled_system
from palestra_arena import Settings, run_tournament
from palestra_arena.store import Store

pytestmark = pytest.mark.skipif(bool(unwalled_system()), reason=unwalled_system() or "walled")

CHEATS = '''
import gc, os, time
from palestra import ScriptedAgent


def first(turn):
    return turn.legal_actions[0]


def hang(turn):
    while True:
        time.sleep(0.1)


def leave(turn):
    os._exit(3)


class Backwards(ScriptedAgent):
    """Says that it was trained on seeds from 5 to 1."""

    trained_on = (("games/*", 5, 1),)

    def choose(self, turn):
        return turn.legal_actions[0]


def look_for_records(turn):
    """Forfeits of the others, records and stores: whatever of them is in this process."""
    kinds = {(str(type(thing).__module__), type(thing).__name__) for thing in gc.get_objects()}
    found = {kind for kind in kinds if kind[0].startswith(("palestra_arena", "palestra.runner"))}
    if found:
        raise ValueError(f"found {found}")
    return turn.legal_actions[-1]
'''


@pytest.fixture
def cheats(tmp_path: Path) -> Path:
    file = tmp_path / "cheats.py"
    file.write_text(CHEATS)
    return file


@pytest.mark.parametrize("workers", [0, 1])
def test_results_are_those_of_one_process(workers: int) -> None:
    fields = {
        "environments": ("games/KuhnPoker-v0", "games/BattleOfTheSexes-v0"),
        "agents": ("random", "first"),
        "games": 4,
        "workers": workers,
    }
    plain = run_tournament(Settings(**fields))
    apart = run_tournament(Settings(isolate=True, **fields))
    told = [[(r.match.key, r.scores, r.status) for r in one.results] for one in (plain, apart)]
    assert told[0] == told[1]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 1])
def test_who_breaks_off_loses_and_nobody_else(cheats: Path, workers: int) -> None:
    names = [f"{cheats}:{name}" for name in ("hang", "leave", "look_for_records")]
    done = run_tournament(
        Settings(
            environments=("games/TicTacToe-v0",),
            agents=("random", *names),
            games=2,
            agent_seconds=1,
            workers=workers,
        )
    )
    for result in done.results:
        guilty = [agent for agent in result.match.agents if agent in names[:2]]
        assert result.status == ("forfeit" if guilty else "played"), result.reason
        lost = [
            a for a, r in zip(result.match.agents, result.results, strict=True) if r == "forfeit"
        ]
        assert len(lost) == bool(guilty)
        assert set(lost) <= set(guilty)
    why = " ".join(result.reason for result in done.results)
    assert "a move took more than 1 s" in why
    assert "its process ended with code 3" in why


def test_who_names_no_seeds_that_it_was_trained_on_forfeits_every_game(cheats: Path) -> None:
    settings = Settings(
        environments=("games/TicTacToe-v0",),
        agents=("random", "first", f"{cheats}:Backwards"),
        games=2,
        workers=0,
    )
    for result in run_tournament(settings).results:
        guilty = [name.endswith("Backwards") for name in result.match.agents]
        assert result.status == ("forfeit" if any(guilty) else "played"), result.reason
        if any(guilty):
            assert [one == "forfeit" for one in result.results] == guilty


def test_the_seed_of_an_isolated_tournament_is_secret(tmp_path: Path) -> None:
    seeds = []
    for name in ("one.db", "two.db"):
        store = tmp_path / name
        for games in ("2", "4"):  # the second run adds to the first
            arguments = ["tournament", "games/TicTacToe-v0", "--agents", "random,first"]
            arguments += ["--games", games, "--workers", "0", "--isolate", "--store", str(store)]
            with pytest.raises(SystemExit) as ended:
                main(arguments)
            assert not ended.value.code
        with Store(store) as opened:
            settings = opened.settings()
            assert settings
            assert len({result.match.seed for result in opened.results()}) == 2
            seeds.append(settings.seed)
    assert seeds[0] != seeds[1]
    assert min(seeds) > 1 << 40


def test_a_name_is_printed_as_it_is_and_a_file_is_never_played_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`:ok:` and `:fire:` in a name are no emojis."""
    monkeypatch.chdir(tmp_path)
    fails = 'def {}(turn, depth=1):\n    raise LookupError("no book")\n'
    Path("mine.py").write_text("".join(map(fails.format, ("ok", "fire"))))
    agents = "./mine.py:ok,./mine.py:fire:depth=2,first"
    arguments = ["tournament", "games/TicTacToe-v0", "--agents", agents, "--games", "2"]
    arguments += ["--workers", "0", "--store", "t.db"]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--no-isolate"])
    assert ended.value.code == 2
    assert "a tournament plays ./mine.py:ok in a process of its own" in capsys.readouterr().err
    assert not Path("t.db").exists()
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert not ended.value.code
    said = capsys.readouterr().out
    assert "./mine.py:ok: player_0 forfeits" in said or "- ./mine.py:ok: player_" in said
    assert "./mine.py:fire:depth=2" in said
