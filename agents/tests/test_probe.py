"""What search agents and solvers report, and what a probe says of others' decisions."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from math import log
from typing import Any

import palestra
import pytest
from palestra import Agent, Decision, InvalidOption, Turn, make_agent
from palestra_agents.cfr import solve
from palestra_agents.minimax import value
from palestra_agents.probe import Probe


def turns_of(records: Sequence[Any], seat: int | None = None) -> list[Any]:
    return [t for record in records for t in record.turns if seat is None or t.seat == seat]


def test_minimax_reports_what_every_move_is_worth() -> None:
    game = palestra.game("games/TicTacToe-v0")
    (record,) = palestra.play(game, agents=["minimax", "random"], seed=4)
    assert record.turns[0].facts["value"] == value(game) == 0
    for turn in turns_of([record], 0):
        worth = turn.facts["candidates"]
        assert len(worth) == len(turn.legal)
        assert worth[turn.text] == max(worth.values()) == turn.facts["value"]
    assert turns_of([record], 0)[-1].facts["value"] == record.returns[0]


def test_mcts_reports_the_mean_return_of_each_action_it_tried() -> None:
    records = palestra.play(
        "games/TicTacToe-v0", agents=["mcts:simulations=200", "random"], episodes=3
    )
    for turn in turns_of(records, 0):
        worth = turn.facts["candidates"]
        assert len(worth) == len(turn.legal)
        assert all(-1 <= mean <= 1 for mean in worth.values())
        assert turn.facts["value"] == worth[turn.text]
    wins = [record for record in records if record.returns[0] == 1]
    assert wins
    for record in wins:
        last = turns_of([record], 0)[-1].facts
        assert last["value"] == max(last["candidates"].values()) == 1


def test_a_solver_reports_its_strategy_and_the_chance_of_its_draw() -> None:
    average = solve(palestra.game("games/KuhnPoker-v0"), 60)
    for turn in turns_of(palestra.play("games/KuhnPoker-v0", agents="cfr:iterations=60")):
        chances = average[bytes.fromhex(turn.state_key)]
        assert list(turn.facts["strategy"].values()) == list(chances.values())
        assert turn.logprob == pytest.approx(log(chances[turn.action]))


def test_a_probe_plays_what_its_target_plays() -> None:
    plain = palestra.play("games/TicTacToe-v0", agents="mcts:simulations=10", episodes=3, seed=8)
    for more in ("", ",tries=2", ",reference=random"):
        probed = palestra.play(
            "games/TicTacToe-v0",
            agents=f"probe:mcts,simulations=10,by=minimax:depth=2{more}",
            episodes=3,
            seed=8,
        )
        assert [t.text for t in turns_of(probed)] == [t.text for t in turns_of(plain)]


def test_verdicts_are_those_of_exact_play() -> None:
    records = palestra.play("games/TicTacToe-v0", agents="probe:random,by=minimax", episodes=4)
    for record in records:
        for before, after in zip(record.turns, record.turns[1:], strict=False):
            kept = before.facts["value"] == -after.facts["value"]
            assert before.facts["verdicts"] == kept


class Always(Agent):
    """Wins or loses at once: says the same, and counts how often it is asked."""

    def __init__(self, text: str) -> None:
        self.text, self.asked, self.forgotten = text, 0, set[int]()

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        self.asked += len(turns)
        return [Decision(text=self.text) for _ in turns]

    def forget(self, episode_key: int) -> None:
        self.forgotten.add(episode_key)


def test_ends_from_after_the_decision_say_how_sure_and_how_right_it_was() -> None:
    corridor = {"rows": 2, "columns": 5, "wall_density": 0.0}
    right = Always("Plan(path='R')")
    probe = Probe(player=copy.copy(right), by=right, tries=3)
    (record,) = palestra.play("games/PlanPath-v0", agents=[probe], seed=11, **corridor)
    assert len(record.turns) == 3
    assert [turn.facts["confidence"] for turn in record.turns] == [1.0, 1.0, 1.0]
    assert right.asked == 3 + 3 * (2 + 1 + 0)
    assert len(right.forgotten) >= 2 * 1


def test_an_answer_that_is_refused_is_not_played_to_an_end() -> None:
    probe = Probe(player=Always("nonsense"), by=Always("1"), tries=2)
    (record,) = palestra.play("games/TicTacToe-v0", agents=[probe, "random"], invalid="random")
    assert "correctness" not in record.turns[0].facts
    assert record.turns[0].status == "replaced"


def test_correctness_counts_wins_and_half_of_draws() -> None:
    class Certain(Agent):
        """Knows nothing but the first legal move."""

        def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
            return [Decision(turn.legal_actions[0]) for turn in turns]

    probe = Probe(player=Certain(), by=Certain(), tries=2)
    (record,) = palestra.play("games/TicTacToe-v0", agents=[probe, probe])
    assert record.returns == (1.0, -1.0)  # 1, 3, 5, 7: the first to move has the diagonal
    for turn in record.turns:
        assert turn.facts["correctness"] == (1.0 if turn.seat == 0 else 0.0)
        assert turn.facts["confidence"] == 1.0


def test_an_absent_player_does_nothing_where_that_can_be_done() -> None:
    records = palestra.play("games/AgentsNet-v0", agents=["absent"] * 3 + ["random"])
    idle = [turn for turn in turns_of(records) if turn.seat < 3]
    assert all(turn.facts == {"absent": True} for turn in idle)
    assert {turn.text for turn in idle[:-3]} == {"Tell(text='')"}
    assert not any("absent" in turn.facts for turn in turns_of(records, 3))


def test_an_absent_player_is_stood_in_for_elsewhere() -> None:
    by = {"absent:first": "first", "absent": "random"}
    for name, plain in by.items():
        (record,) = palestra.play("games/TicTacToe-v0", agents=[name, "first"], seed=2)
        (same,) = palestra.play("games/TicTacToe-v0", agents=[plain, "first"], seed=2)
        assert [turn.text for turn in record.turns] == [turn.text for turn in same.turns]
        assert all(turn.facts["absent"] for turn in turns_of([record], 0))


@pytest.mark.parametrize("name", ["probe:", "probe:random", "probe:,by=minimax"])
def test_a_probe_says_what_it_lacks(name: str) -> None:
    with pytest.raises(InvalidOption, match="probe needs an agent and a policy"):
        make_agent(name)
