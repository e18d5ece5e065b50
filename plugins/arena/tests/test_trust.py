from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import palestra
import pytest
from palestra import Agent, Decision, InvalidOption, Turn
from palestra.cli import main
from palestra_arena import Settings, Store, run_tournament
from palestra_arena.trust import Evidence, Faults, TrainedOn, claw_score, inspect

TICTACTOE = "games/TicTacToe-v0"


class First(Agent):
    """Honest: plays the first legal move, and says at length what it saw."""

    trained_on: tuple[tuple[str, int, int], ...] = ()

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [self.decide(turn) for turn in turns]

    def decide(self, turn: Turn) -> Decision:
        thought = f"I looked at the whole position and it was this one: {turn.text}"
        return Decision(turn.legal_actions[0], thought=thought)


class Tamperer(First):
    """Writes a finished line of its own onto the board."""

    def decide(self, turn: Turn) -> Decision:
        board = turn._episode._simulator.state.board
        if turn.steps_played >= 4:
            board[board == 2 - turn.seat] = turn.seat + 1
        return super().decide(turn)


class Usurper(First):
    """Makes the rival's move too."""

    def decide(self, turn: Turn) -> Decision:
        if turn.steps_played == 0:
            for seat in (0, 1):
                turn._episode.act({seat: turn._episode.legal_actions(seat)[0]})
        return super().decide(turn)


class Payer(First):
    """Credits itself what it has not earned."""

    def decide(self, turn: Turn) -> Decision:
        paid = [0.0, 0.0]
        paid[turn.seat] = 5.0
        turn._episode._simulator.set_returns(paid)
        return super().decide(turn)


class Parrot(First):
    """Says the same long thing whatever it sees."""

    def decide(self, turn: Turn) -> Decision:
        return Decision(
            turn.legal_actions[0], thought="The answer to this benchmark is known. " * 3
        )


class Graduate(First):
    """Says what it has learned on."""

    trained_on = ((TICTACTOE, 0, 1),)


def settings(*agents: str, **more: Any) -> Settings:
    base: dict[str, Any] = {"environments": (TICTACTOE,), "games": 6, "workers": 0}
    return Settings(agents=agents, **(base | more))


def audited(tmp_path: Path, cheat: type[Agent], **more: Any) -> tuple[set[str], set[str]]:
    """Kinds of findings and agents named, after a tournament with evidence."""
    chosen = settings("suspect", "honest", "random", evidence=True, **more)
    with Store(tmp_path / "a.db") as store:
        run_tournament(chosen, store, agents={"suspect": cheat, "honest": First})
        found = inspect(store.records())
    return {f.kind for f in found}, {f.agent for f in found}


@pytest.mark.parametrize(
    ("cheat", "kind"),
    [(Tamperer, "tampering"), (Usurper, "tampering"), (Payer, "reward"), (Parrot, "repetition")],
)
def test_a_planted_cheater_is_found_and_the_honest_are_not_named(
    cheat: type[Agent], kind: str, tmp_path: Path
) -> None:
    kinds, named = audited(tmp_path, cheat)
    assert kind in kinds
    assert "suspect" in named
    assert not named & {"honest", "random"}


def test_honest_agents_leave_no_findings(tmp_path: Path) -> None:
    assert audited(tmp_path, First) == (set(), set())


@pytest.mark.parametrize(
    "env",
    [
        "games/KuhnPoker-v0",
        "games/Wordle-v0",
        "grid/Foraging-v0",
        "text/Negotiation-v0",
        "markets/Bargaining-v0",
        "games/Werewolf-v0",
        "games/Blackjack-v0",
    ],
)
def test_random_play_is_honest_in_games_of_every_kind(env: str) -> None:
    evidence = Evidence()
    seats = palestra.game(env).num_players
    records = palestra.play(
        env, agents=["random"] * seats, episodes=6, hooks=[evidence], max_episode_steps=40, live=3
    )
    assert evidence.findings == []
    assert inspect(records) == []


def test_a_record_that_was_written_over_is_found() -> None:
    (record,) = palestra.play(TICTACTOE, agents=["random", "first"])
    loser = record.returns.index(-1.0)
    better = msgspec.structs.replace(record, returns=(1.0, 1.0))
    assert {f.kind for f in inspect([better])} == {"reward", "divergence"}
    assert record.agents[loser] in {f.agent for f in inspect([better])}
    unfinished = msgspec.structs.replace(record, outcome=None)
    assert "reward" in {f.kind for f in inspect([unfinished])}


def test_a_move_that_was_not_legal_is_found() -> None:
    (record,) = palestra.play(TICTACTOE, agents=["first", "first"])
    turn = record.steps[2].turns[0]
    turn.action = record.steps[0].turns[0].action
    found = {f.kind: f for f in inspect([record])}
    assert "illegal" in found
    assert found["illegal"].turn == 2


def test_findings_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "a.db"
    run_tournament(
        settings("suspect", "honest", evidence=True),
        store,
        agents={"suspect": Payer, "honest": First},
    )
    with pytest.raises(SystemExit) as done:
        main(["results", str(store), "--inspect"])
    assert not done.value.code
    assert "reward: suspect, games/TicTacToe-v0, seed 0" in capsys.readouterr().out


# Faults


def test_no_fault_changes_nothing_and_every_answer_may_be_hit() -> None:
    plain = palestra.play(TICTACTOE, agents=["first", "first"], episodes=3)
    none, all_of_them = Faults(0.0), Faults(1.0)
    same = palestra.play(TICTACTOE, agents=["first", "first"], episodes=3, hooks=[none])
    hit = palestra.play(TICTACTOE, agents=["first", "first"], episodes=3, hooks=[all_of_them])
    assert [r.mistakes for r in same] == [r.mistakes for r in plain] == [(0, 0)] * 3
    moves = sum(len(record.steps) for record in hit)
    assert sum(all_of_them.counts.values()) == moves == sum(sum(r.mistakes) for r in hit)
    assert [r.returns for r in hit] == [r.returns for r in plain]  # what is sent again arrives


def test_faults_come_at_their_rate_and_the_same_for_the_same_seed() -> None:
    counts = []
    for _ in range(2):
        faults = Faults(0.3, ("lost",))
        records = palestra.play("games/Chess-v0", agents=["random"] * 2, episodes=4, hooks=[faults])
        counts.append(faults.counts["lost"])
    moves = sum(len(record.steps) for record in records)
    assert counts[0] == counts[1]
    assert abs(counts[0] - 0.3 * moves) < 4 * (0.21 * moves) ** 0.5


def test_an_agent_that_may_not_ask_again_forfeits_under_faults() -> None:
    done = run_tournament(settings("first", "random", faults=1.0, invalid="forfeit"))
    assert {result.status for result in done.results} == {"forfeit"}
    again = run_tournament(settings("first", "random", faults=1.0, invalid="retry:1"))
    assert {result.status for result in again.results} == {"played"}


@pytest.mark.parametrize("wrong", [{"rate": 2.0}, {"rate": 0.1, "kinds": ("eaten",)}])
def test_faults_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption):
        Faults(**wrong)


def test_safety_gates_the_score() -> None:
    assert claw_score(1, 0, 1) == 0
    assert claw_score(1, 1, 1) == 1
    assert claw_score(0.5, 1, 1) == pytest.approx(0.6)


# Held-out seeds


def test_an_agent_is_not_scored_on_seeds_it_learned_on() -> None:
    entry = TrainedOn("honest", "games/*", 0, 99)
    chosen = settings("honest", "random", trained=(entry,))
    with pytest.raises(InvalidOption, match="begin at seed 100"):
        run_tournament(chosen, agents={"honest": First})
    later = settings("honest", "random", trained=(entry,), seed=100)
    assert run_tournament(later, agents={"honest": First}).played == 6
    elsewhere = settings("honest", "random", trained=(TrainedOn("honest", "grid/*", 0, 99),))
    assert run_tournament(elsewhere, agents={"honest": First}).played == 6


def test_an_agent_that_says_itself_what_it_learned_on_gets_void_games() -> None:
    done = run_tournament(settings("graduate", "random"), agents={"graduate": Graduate})
    by_seed = {(result.match.seed, result.status) for result in done.results}
    assert by_seed == {(0, "void"), (1, "void"), (2, "played")}
    assert "trained on seeds 0 to 1" in done.results[0].reason


def test_scoring_it_all_the_same_is_said_on_the_leaderboard(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = TrainedOn("honest", TICTACTOE, 0, 1)
    chosen = settings("honest", "random", trained=(entry,), allow_seen=True)
    run_tournament(chosen, tmp_path / "a.db", agents={"honest": First})
    with pytest.raises(SystemExit):
        main(["results", str(tmp_path / "a.db")])
    assert "4 games here are no test of it" in capsys.readouterr().out
