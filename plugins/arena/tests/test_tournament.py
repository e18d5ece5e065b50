from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import palestra
import pytest
from arena_players import (
    Answers,
    Cheat,
    Crasher,
    Deaf,
    KilledOnce,
    Last,
    Picky,
    Sleeper,
    Stammerer,
    Suicide,
    nobody,
)
from palestra import Decision, InvalidOption, PalestraError, Turn, UnknownName, hookimpl
from palestra_arena import GameResult, Settings, Store, run_tournament
from palestra_arena.match import Match
from palestra_arena.referee import Referee
from palestra_arena.settings import CrossPlay, Environment, Population
from palestra_arena.tally import tally

TICTACTOE = "games/TicTacToe-v0"


def settings(*agents: str, **more: Any) -> Settings:
    base: dict[str, Any] = {"environments": (TICTACTOE,), "games": 4, "workers": 0}
    return Settings(agents=agents, **(base | more))


def essence(results: tuple[GameResult, ...]) -> list[tuple[Any, ...]]:
    """What must not depend on where or when a game was played."""
    return [(r.match, r.status, r.results, r.scores, r.steps) for r in results]


def test_every_pair_plays_every_seed_from_both_seats() -> None:
    done = run_tournament(settings("random", "first", "minimax", games=6))
    assert len(done.results) == 3 * 6
    for pair in ({"random", "first"}, {"random", "minimax"}, {"first", "minimax"}):
        played = [r.match for r in done.results if set(r.match.agents) == pair]
        assert Counter(match.seed for match in played) == {0: 2, 1: 2, 2: 2}
        assert len({(match.seed, match.agents) for match in played}) == 6


def test_an_agent_whose_needs_are_not_met_is_refused_before_any_game(tmp_path: Path) -> None:
    store = tmp_path / "arena.db"
    chosen = settings("random", "minimax", environments=(TICTACTOE, "games/KuhnPoker-v0"))
    needs = r"'minimax' cannot play games/KuhnPoker-v0: it needs perfect information"
    with pytest.raises(InvalidOption, match=needs):
        run_tournament(chosen, store)
    assert not store.exists()
    partners = CrossPlay(partners=("minimax",))
    with pytest.raises(InvalidOption, match=needs):
        run_tournament(
            settings("random", environments=("games/KuhnPoker-v0",), schedule=partners), store
        )


def test_perfect_play_never_loses_tic_tac_toe() -> None:
    done = run_tournament(settings("random", "minimax", games=10))
    for result in done.results:
        assert result.points[result.match.agents.index("minimax")] >= 0.5


def test_workers_and_one_process_agree(tmp_path: Path) -> None:
    here = run_tournament(settings("random", "first", "minimax"))
    there = run_tournament(settings("random", "first", "minimax", workers=2), tmp_path / "a.db")
    assert essence(here.results) == essence(there.results)


def test_records_replay_exactly(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        run_tournament(settings("random", "first"), store)
        records = list(store.records())
    assert len(records) == 4
    for record in records:
        palestra.replay(record)


def test_a_second_run_plays_nothing_and_more_games_only_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    assert run_tournament(settings("random", "first"), path).played == 4
    assert run_tournament(settings("random", "first"), path).played == 0
    assert run_tournament(settings("random", "first", games=6), path).played == 2
    extended = run_tournament(settings("random", "first", "minimax", games=6), path)
    assert extended.played == 12
    fresh = run_tournament(settings("random", "first", "minimax", games=6))
    assert essence(extended.results) == essence(fresh.results)


def test_a_run_stopped_by_ctrl_c_keeps_what_was_over(tmp_path: Path) -> None:
    path = tmp_path / "a.db"

    def stop(done: int, total: int, result: GameResult | None) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_tournament(settings("random", "first", games=8), path, progress=stop)
    done = run_tournament(settings("random", "first", games=8), path)
    assert done.played == 5
    assert essence(done.results) == essence(
        run_tournament(settings("random", "first", games=8)).results
    )


KILLED = """
import sys
from palestra_arena import Settings, run_tournament
from arena_players import Slow

if __name__ == "__main__":
    run_tournament(
        Settings(environments=("games/TicTacToe-v0",), agents=("slow", "random"), games=40),
        sys.argv[1],
        agents={"slow": Slow},
    )
"""


@pytest.mark.essential
def test_kill_minus_9_loses_only_the_running_game(tmp_path: Path) -> None:
    path, script = tmp_path / "a.db", tmp_path / "run.py"
    script.write_text(KILLED)
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    process = subprocess.Popen(
        [sys.executable, str(script), str(path)], env=os.environ | {"PYTHONPATH": paths}
    )
    kept = 0
    deadline = time.monotonic() + 60
    while kept < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
        if path.exists():
            with Store(path) as store:
                kept = len(store)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert kept >= 3
    with Store(path) as store:
        saved = list(store.results())
    assert len(saved) >= kept
    chosen = settings("slow", "random", games=40, workers=1)
    from arena_players import Slow

    done = run_tournament(chosen, path, agents={"slow": Slow})
    assert done.played == 40 - len(saved)
    assert len({result.match for result in done.results}) == 40


@pytest.mark.parametrize("workers", [0, 1])
def test_an_agent_that_crashes_forfeits_and_its_moves_are_kept(
    workers: int, tmp_path: Path
) -> None:
    chosen = settings("crasher", "first", "random", workers=workers)
    with Store(tmp_path / "a.db") as store:
        done = run_tournament(chosen, store, agents={"crasher": Crasher})
        records = list(store.records())
    assert len(done.results) == 12
    for result in done.results:
        if "crasher" in result.match.agents:
            seat = result.match.agents.index("crasher")
            assert result.status == "forfeit"
            assert result.results[seat] == "forfeit"
            assert result.points[seat] == 0
            assert "no idea what to do" in result.reason
        else:
            assert result.status == "played"
    assert all(len(record.steps) >= 3 for record in records)
    for record in records:
        palestra.replay(record)


def test_an_agent_that_hangs_forfeits() -> None:
    chosen = settings("sleeper", "first", games=2, game_seconds=0.3)
    done = run_tournament(chosen, agents={"sleeper": Sleeper})
    for result in done.results:
        assert result.results[result.match.agents.index("sleeper")] == "forfeit"
        assert "more than 0.3 seconds" in result.reason


def test_an_agent_that_takes_its_process_down_forfeits() -> None:
    chosen = settings("suicide", "first", "random", games=2, workers=1)
    done = run_tournament(chosen, agents={"suicide": Suicide})
    assert len(done.results) == 6
    for result in done.results:
        if "suicide" in result.match.agents:
            assert result.results[result.match.agents.index("suicide")] == "forfeit"
            assert "exit code 3" in result.reason
        else:
            assert result.status == "played"


def test_a_worker_killed_from_outside_is_replaced_and_nothing_is_lost_or_counted_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALESTRA_TEST_MARK", str(tmp_path / "killed"))
    chosen = settings("fragile", "first", workers=2)
    with Store(tmp_path / "a.db") as store:
        done = run_tournament(chosen, store, agents={"fragile": KilledOnce})
        assert len(store) == 4
    assert (tmp_path / "killed").exists()
    assert {result.status for result in done.results} == {"played"}


def test_an_agent_that_hangs_in_native_code_is_killed_and_forfeits() -> None:
    chosen = settings("deaf", "first", games=2, workers=1, game_seconds=0.2, seating="fixed")
    (first, second) = run_tournament(chosen, agents={"deaf": Deaf}).results
    assert first.results == second.results == ("forfeit", "win")
    assert "more than 0.2 seconds" in first.reason


def test_a_game_in_which_the_environment_fails_counts_for_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*arguments: object, **more: object) -> None:
        raise ZeroDivisionError("a bug in the rules")

    monkeypatch.setattr("palestra_arena.referee.Episode", fail)
    done = run_tournament(settings("random", "first"))
    assert {result.status for result in done.results} == {"error"}
    assert "a bug in the rules" in done.results[0].reason


def test_games_that_ended_in_an_error_are_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Games of some seeds fail, fewer from run to run, as a bug is mended bit by bit."""
    chosen, broken = settings("random", "first", games=6), set[int]()
    whole = run_tournament(chosen)
    settle = Referee._settle_match

    def fragile(self: Referee, match: Match, *more: Any) -> Any:
        if match.seed in broken:
            raise ZeroDivisionError("a bug in the rules")
        return settle(self, match, *more)

    monkeypatch.setattr(Referee, "_settle_match", fragile)
    left = []
    for seeds in ({0, 2}, {0, 2}, {2}, set[int]()):
        broken.clear()
        broken.update(seeds)
        done = run_tournament(chosen, store=tmp_path / "s.db")
        with Store(tmp_path / "s.db") as store:
            counted = store.tally()
            assert counted == tally(list(store.results()))
        left.append(counted.errors.total())
    assert left == [4, 4, 2, 0]  # a seed is played from both seats
    assert done.played == 2, "games that are over are not played again"
    assert essence(done.results) == essence(whole.results)
    assert counted.kinds == tally(whole.results).kinds
    again = run_tournament(chosen, store=tmp_path / "s.db")
    assert (again.played, essence(again.results)) == (0, essence(whole.results))


def test_an_agent_that_cannot_be_made_forfeits() -> None:
    done = run_tournament(settings("nobody", "first"), agents={"nobody": nobody})
    assert {result.status for result in done.results} == {"forfeit"}
    assert "weights are missing" in done.results[0].reason


def test_making_an_agent_is_tried_twice_and_costs_later_games_nothing() -> None:
    tried: list[int] = []

    def broken() -> Any:
        tried.append(1)
        raise RuntimeError("no weights")

    found = run_tournament(settings("random", "broken", games=6), agents={"broken": broken})
    assert len(found.results) == 6
    assert all(r.results[r.match.agents.index("broken")] == "forfeit" for r in found.results)
    assert len(tried) == 2


@pytest.mark.parametrize(
    "answer", ["a1", None, Decision(), Decision("x"), Decision([1]), Decision(text="rubbish")]
)
def test_answers_that_are_no_moves_forfeit(answer: object) -> None:
    done = run_tournament(
        settings("odd", "first", games=2), agents={"odd": lambda: Answers(answer)}
    )
    for result in done.results:
        assert result.results[result.match.agents.index("odd")] == "forfeit"


def test_illegal_moves_forfeit_after_the_retries_the_settings_allow() -> None:
    done = run_tournament(settings("cheat", "first", games=2), agents={"cheat": Cheat})
    for result in done.results:
        seat = result.match.agents.index("cheat")
        assert result.results[seat] == "forfeit"
        assert result.mistakes[seat] == 3


def test_games_played_together_are_the_same_for_agents_that_draw_nothing() -> None:
    players = {"last": Last}
    alone = run_tournament(settings("first", "last", games=8), agents=players)
    together = run_tournament(settings("first", "last", games=8, together=4), agents=players)
    assert essence(alone.results) == essence(together.results)


def test_one_failure_among_games_played_together_costs_one_game() -> None:
    chosen = settings("crasher", "first", games=8, together=4)
    done = run_tournament(chosen, agents={"crasher": Crasher})
    assert len(done.results) == 8


def test_awaited_games_are_the_same_and_wait_for_nobody_else() -> None:
    """The first game's first answer comes once the three others are over."""
    played: Counter[int] = Counter()
    waited: list[bool] = []

    async def last(turn: Turn) -> int:
        if not played:
            played[turn.episode_id] += 1
            until = time.monotonic() + 30
            while len(set(played) - {turn.episode_id}) < 3:
                assert time.monotonic() < until, "the other games wait for this one"
                await asyncio.sleep(0.001)
            waited.append(True)
        played[turn.episode_id] += 1
        return int(turn.legal_actions[-1])

    players = {"last": last}
    chosen = settings("first", "last", games=8, together=4, asynchronous=True)
    awaited = run_tournament(chosen, agents=players)
    assert waited == [True]
    alone = run_tournament(settings("first", "last", games=8), agents={"last": Last})
    assert Counter(map(str, essence(awaited.results))) == Counter(map(str, essence(alone.results)))


def test_an_awaited_agent_that_fails_costs_its_own_game() -> None:
    async def picky(turn: Turn) -> int:
        await asyncio.sleep(0)
        if turn.steps_played >= 3 and turn.mask[8]:
            raise ValueError("not that square")
        return int(turn.legal_actions[0])

    more: dict[str, Any] = {"together": 4, "asynchronous": True}
    done = run_tournament(settings("picky", "random", games=8, **more), agents={"picky": picky})
    lost = [r for r in done.results if r.status == "forfeit"]
    assert 0 < len(lost) < 8
    for result in lost:
        assert result.results[result.match.agents.index("picky")] == "forfeit"
        assert "not that square" in result.reason


def test_who_is_awaited_when_time_is_up_forfeits() -> None:
    async def never(turn: Turn) -> int:
        await asyncio.sleep(60)
        return 0

    more: dict[str, Any] = {"together": 2, "asynchronous": True, "game_seconds": 0.3}
    done = run_tournament(settings("never", "first", games=2, **more), agents={"never": never})
    for result in done.results:
        assert result.results[result.match.agents.index("never")] == "forfeit"
        assert "0.3 seconds" in result.reason


def test_a_request_that_is_refused_costs_the_games_it_belongs_to() -> None:
    chosen = settings("picky", "first", games=8, together=4)
    done = run_tournament(chosen, agents={"picky": Picky})
    assert Counter(r.status for r in done.results) == {"forfeit": 2, "played": 6}
    assert {r.match.seed for r in done.results if r.status == "forfeit"} == {0}
    assert all("400" in r.reason for r in done.results if r.status == "forfeit")


def test_refused_answers_are_paid_for() -> None:
    done = run_tournament(settings("stammerer", "first", games=2), agents={"stammerer": Stammerer})
    for result in done.results:
        seat = result.match.agents.index("stammerer")
        assert result.usage[seat].calls == 2 * result.mistakes[seat] > 0


def test_a_listener_that_fails_is_an_error_and_no_forfeit(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object, turn: Turn, decision: Decision) -> None:
        raise ZeroDivisionError("a bug in a listener")

    monkeypatch.setattr("palestra_arena.referee.Faults.palestra_action_chosen", hookimpl(fail))
    done = run_tournament(settings("random", "first", faults=0.5))
    assert {result.status for result in done.results} == {"error"}
    assert "a bug in a listener" in done.results[0].reason


def test_under_the_policy_raise_an_illegal_move_forfeits() -> None:
    chosen = settings("cheat", "first", games=2, invalid="raise")
    for result in run_tournament(chosen, agents={"cheat": Cheat}).results:
        assert result.results[result.match.agents.index("cheat")] == "forfeit"


def test_games_for_one_are_compared_on_the_same_seeds() -> None:
    chosen = settings("random", "first", environments=("games/Wordle-v0",), games=3)
    done = run_tournament(chosen)
    assert len(done.results) == 6
    by_agent = {
        a: [r.match.seed for r in done.results if r.match.agents == (a,)]
        for a in ("random", "first")
    }
    assert by_agent["random"] == by_agent["first"] == [0, 1, 2]


def test_populations_fill_the_seats_of_larger_games() -> None:
    chosen = settings(
        "random",
        "first",
        environments=(Environment("text/Commons-v0", players=4),),
        schedule=Population(lineups=3),
        games=4,
        max_episode_steps=6,
    )
    done = run_tournament(chosen)
    assert done.results
    for result in done.results:
        assert Counter(result.match.agents) == {"random": 2, "first": 2}


@pytest.mark.parametrize(
    ("more", "error", "says"),
    [
        ({"agents": ("random", "random")}, InvalidOption, "named twice"),
        ({"agents": ()}, InvalidOption, "at least one agent"),
        ({"agents": ("random", "rendom")}, UnknownName, "random"),
        ({"environments": ("games/TicTacTo-v0",)}, UnknownName, "TicTacToe"),
        ({"environments": ()}, InvalidOption, "at least one environment"),
        ({"agents": ("random",)}, InvalidOption, "seats 2"),
        ({"agents": ("random", "harvester")}, PalestraError, "plays"),
        ({"games": 0}, InvalidOption, "games must be 1 or more"),
        ({"seed": -1}, InvalidOption, "seed"),
        ({"invalid": "ignore"}, InvalidOption, "retry:n"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_played(
    more: dict[str, Any], error: type[Exception], says: str, tmp_path: Path
) -> None:
    base = {"environments": (TICTACTOE,), "agents": ("random", "first"), "workers": 0}
    with pytest.raises(error, match=says):
        run_tournament(Settings(**(base | more)), tmp_path / "a.db")


UNGUARDED = """
import palestra
from palestra_arena import Settings, run_tournament

class Mine(palestra.ScriptedAgent):
    def choose(self, turn):
        return turn.legal_actions[0]

settings = Settings(environments=("games/TicTacToe-v0",), agents=("random", "mine"), games=100)
run_tournament(settings, "mine.db", agents={"mine": Mine})
"""


def test_a_script_that_workers_cannot_import_ends_at_once(tmp_path: Path) -> None:
    """Every game would be lost with its worker."""
    script = tmp_path / "mine.py"
    script.write_text(UNGUARDED, "utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "below `if __name__ == '__main__':`" in done.stderr.splitlines()[-1]
    assert "workers=0" in done.stderr.splitlines()[-1]


def test_agents_that_fail_in_one_step_all_forfeit() -> None:
    """Whoever fails is to blame by themselves, whichever of them is asked first."""
    three = Environment("markets/SealedAuction-v0", players=3)
    chosen = settings("random", "crasher", "another", environments=(three,), games=6)
    failing: dict[str, Any] = {"crasher": Crasher, "another": Crasher}
    done = run_tournament(chosen, agents=failing)
    assert done.results
    for result in done.results:
        crashed = [name in failing for name in result.match.agents]
        assert [one == "forfeit" for one in result.results] == crashed
        assert result.reason.count("no idea what to do") == 2
