"""DigiRL's and Digi-Q's choices, against numbers worked out by hand."""

import json

import palestra
import pytest
from palestra import EpisodeRecord
from palestra.agents.models import Message
from palestra.cli import main
from palestra.records.record import StepRecord, TurnRecord
from palestra_training.exchanges import Exchange
from palestra_training.text_rows import Trajectory
from palestra_training.value_filters import (
    best_rows,
    filtered_rows,
    paid_by_answer,
    step_advantages,
)


def rollout(number, *moves, seed=1, seat=0):
    """A rollout of (position, answer, pay), the other seat moving and being paid in between."""
    steps, answers = [], []
    for state, text, pay in moves:
        turn = TurnRecord(seat, 0, text, state_key=state)
        asked, reply = (Message("user", f"at {state}"),), Message("assistant", text)
        answers.append(Exchange(len(steps), seat, 0, asked, reply, turn))
        steps.append(StepRecord([turn], {1 - seat: {"x": 7.0}}))
        steps.append(
            StepRecord([TurnRecord(1 - seat, 0)], {seat: {"win": pay / 2, "bonus": pay / 2}})
        )
    record = EpisodeRecord("games/X-v0", seed, ("a", "b"), number=number, steps=steps)
    record.agents = ("learner", "rival")
    return Trajectory(record, seat, answers, float(sum(pay for *_, pay in moves)), whole=False)


def test_a_step_far_from_the_end_trusts_values_and_a_late_one_the_return():
    """H = 3: weights 1/4, 1/2 and 1."""
    found = step_advantages([0.0, 0.0, 1.0], [0.5, 0.75, 0.5], fade=0.5)
    assert found == pytest.approx([0.25 + 0.75 * 0.25, 0.5 - 0.5 * 0.25, 1.0])
    assert step_advantages([2.0, -1.0], [0.0, 3.0], fade=0.0) == pytest.approx([5.0, 1.0])
    assert step_advantages([2.0, -1.0], [9.0, 9.0], fade=1.0) == [1.0, 1.0]


@pytest.mark.parametrize("seat", [0, 1])
def test_an_answer_is_paid_until_the_next(seat):
    one = rollout(0, ("s", "left", 0.5), ("t", "up", 0.0), ("u", "up", -1.0), seat=seat)
    assert paid_by_answer(one) == [0.5, 0.0, -1.0]


PLAYED = [
    rollout(0, ("s", "left", 0.0), ("t", "up", 1.0)),
    rollout(1, ("s", "left", 0.0), ("t", "down", 0.0)),
    rollout(2, ("s", "right", 0.0), ("u", "up", 0.0)),
    rollout(3, ("s", "right", 0.0), ("u", "up", 0.0), seed=2),  # another start: nothing to gain
]


def test_digirl_imitates_the_good_steps_of_the_good_rollouts():
    """V(s) = 1/3, V(t) = 1/2: A = 1/2 + 1/2 (1/2 - 1/3) = 7/12 and 1, both above 1/H = 1/2."""
    rows = list(filtered_rows(PLAYED))
    assert [(row["episode"], row["completion"][0]["content"]) for row in rows] == [
        (0, "left"),
        (0, "up"),
    ]
    assert [row["worth"] for row in rows] == pytest.approx([7 / 12, 1.0])
    assert [row["worth"] for row in filtered_rows(PLAYED, least=0.6)] == [1.0]


def test_digi_q_imitates_the_best_answer_of_a_position():
    """Q(s, left) = 1/2 over V(s) = 1/3, Q(t, up) = 1 over V(t) = 1/2; at u there was one answer."""
    rows = list(best_rows(PLAYED))
    assert [(row["prompt"][0]["content"], row["completion"][0]["content"]) for row in rows] == [
        ("at s", "left"),
        ("at t", "up"),
    ]
    assert [row["worth"] for row in rows] == pytest.approx([1 / 6, 1 / 2])
    assert len(list(best_rows(PLAYED, least=0.2))) == 1


def test_positions_that_differ_in_counters_alone_are_one():
    """Four visits of one place at four times: V = 1/2, Q(left) = 1 and Q(right) = 0."""
    played = [
        rollout(number, (f"time {number}", "left" if number % 2 else "right", float(number % 2)))
        for number in range(4)
    ]
    for one in played:
        assert list(best_rows([one])) == []
        for answer in one.answers:
            answer.turn.anchor = "place"
    rows = list(best_rows(played))
    assert [row["completion"][0]["content"] for row in rows] == ["left"]
    assert rows[0]["worth"] == 0.5


@pytest.mark.parametrize("rows", ["filter", "best"])
def test_the_command_writes_them_from_play(tmp_path, rows):
    agents = ["random", "first"]
    records = [
        record
        for seed in range(12)
        for record in palestra.rollouts("games/KuhnPoker-v0", agents=agents, n=6, seed=seed)
    ]
    palestra.write_records(tmp_path / "episode.jsonl", records)
    asked = ["export-llm", str(tmp_path / "episode.jsonl"), "--out", str(tmp_path / "rows.jsonl")]
    with pytest.raises(SystemExit) as left:
        main([*asked, "--rows", rows, "--agents", "random", "--least", "0"])
    assert left.value.code in (0, None)
    lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert lines
    returns = {(record.seed, record.number): record.returns[0] for record in records}
    for line in lines:
        assert line["agent"] == "random"
        assert line["worth"] > 0
        own = [paid for (seed, _), paid in returns.items() if seed == line["seed"]]
        assert returns[line["seed"], line["episode"]] > sum(own) / len(own)
