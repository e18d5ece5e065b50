"""DigiRL's and Digi-Q's choices, against numbers worked out by hand."""

import dataclasses
import json
import random

import palestra
import pytest
from palestra import EpisodeRecord
from palestra.agents.models import Message
from palestra.cli import main
from palestra.records.record import StepRecord, TurnRecord
from palestra_training.exchanges import Exchange
from palestra_training.text_rows import Trajectory, paid_by_answer
from palestra_training.value_filters import (
    best_legal_rows,
    best_rows,
    filtered_rows,
    step_advantages,
)
from palestra_training.value_networks import Critic, step_values

COLOURS = ("red", "blue", "green")


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


def tickets(number, share):
    """Rollouts of one answer each: a key fits a door in `share` of cases, others in the rest.

    No question comes again: each has a number of its own.
    """
    rng, played, shares = random.Random(number), [], []
    for n in range(number):
        key, door = rng.choice(COLOURS), rng.choice(COLOURS)
        shares.append(share if key == door else 1 - share)
        asked = f"key {key}, door {door}, ticket {rng.randrange(10**6)}"
        played.append(rollout(n, (asked, "open", float(rng.random() < shares[-1]))))
    return played, shares


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, -3.0])
def test_a_network_knows_what_a_position_is_worth_that_never_came_before(scale):
    played, shares = tickets(600, 0.9)
    for one in played:
        for step in one.record.steps:
            step.rewards = {
                s: {k: scale * v for k, v in p.items()} for s, p in step.rewards.items()
            }
    found = step_values(played)
    errors = [abs(values[0] - scale * share) for values, share in zip(found, shares, strict=True)]
    own = [abs(scale * (one.worth - share)) for one, share in zip(played, shares, strict=True)]
    assert sum(errors) / len(errors) < 0.16 * abs(scale)
    assert sum(errors) < 0.8 * sum(own)  # what a mean over visits would be
    assert found == step_values(played)


def test_a_network_is_not_asked_where_all_is_paid_alike():
    assert step_values([rollout(n, ("s", "left", 0.5)) for n in range(4)]) == [[0.5]] * 4
    assert step_values([rollout(0, ("s", "left", 0.5), ("t", "up", 0.5))]) == [[1.0, 0.5]]


def walks(number, length):
    """Random walks from a cell to an end of a corridor; the right end pays 1."""
    rng, played = random.Random(number), []
    for n in range(number):
        cell, moves = rng.randrange(1, length), []
        while 0 < cell < length:
            move = rng.choice(["left", "right"])
            moves.append([f"cell {cell} of {length}, ticket {rng.randrange(10**6)}", move, 0.0])
            cell += 1 if move == "right" else -1
        moves[-1][2] = float(cell == length)
        played.append(rollout(n, *moves))
    return played


@pytest.mark.slow
def test_a_critic_knows_the_gamblers_ruin():
    """V = c / 6, Q(right) = (c + 1) / 6, Q(left) = (c - 1) / 6."""
    played = walks(250, 6)
    critic = Critic(played)
    errors, answers = [], [answer for one in played[:80] for answer in one.answers]
    for answer in answers:
        cell = int(answer.messages[0].content.split()[2])
        left, right = critic.worths(answer, ["left", "right"])
        errors += [abs(left - (cell - 1) / 6), abs(right - (cell + 1) / 6)]
        errors.append(abs(critic.value(answer) - cell / 6))
    assert sum(errors) / len(errors) < 0.15
    legal = [
        dataclasses.replace(one, answers=[a._replace(legal=("left", "right")) for a in one.answers])
        for one in played[:80]
    ]
    assert list(best_rows(legal)) == []  # no two answers at one position
    rows = list(best_legal_rows(legal, critic))
    right = [row["completion"][0]["content"] == "right" for row in rows]
    assert len(rows) > 0.9 * len(answers)
    assert sum(right) > 0.98 * len(rows)
    assert list(best_legal_rows(legal, critic, least=2.0)) == []
    given = [row["completion"][0]["content"] for row in best_legal_rows(played[:80], critic)]
    assert given.count("right") > 0.7 * len(given)  # without lists, what was given, if above V
    assert len(given) < 0.7 * len(rows)


def test_the_best_of_many_legal_moves_is_among_those_that_were_drawn():
    class Longest:
        def worths(self, answer, moves):
            assert moves[0] == "a"
            assert len(set(moves)) == len(moves) == 16
            return [float(len(move)) for move in moves]

        def value(self, answer):
            return 0.5

    (one,) = [rollout(0, ("s", "a", 1.0))]
    legal = tuple("a" * n for n in range(1, 40))
    one.answers[:] = [one.answers[0]._replace(legal=legal)]
    found = [
        next(best_legal_rows([one], Longest(), seed=seed))["completion"][0]["content"]
        for seed in range(30)
    ]
    assert len(set(found)) > 3
    assert min(map(len, found)) >= 16


@pytest.mark.slow
def test_the_command_learns_values(tmp_path, capsys):
    """Who always passes gives every pot to a bet: it is the best answer in every position."""
    records = [
        record
        for seed in range(20)
        for record in palestra.rollouts(
            "games/KuhnPoker-v0", agents=["random", "first"], n=6, seed=seed
        )
    ]
    palestra.write_records(tmp_path / "episode.jsonl", records)
    asked = ["export-llm", str(tmp_path / "episode.jsonl"), "--out", str(tmp_path / "rows.jsonl")]
    for rows in ("best", "filter", "imitate"):
        with pytest.raises(SystemExit) as left:
            main([*asked, "--rows", rows, "--agents", "random", "--by-network", "--least", "0"])
        if rows == "imitate":
            break
        assert left.value.code in (0, None)
        lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
        answers = [line["completion"][0]["content"] for line in lines]
        assert len(answers) > 10
        assert answers.count("bet") > (0.9 if rows == "best" else 0.5) * len(answers)
    assert left.value.code == 2
    assert "--by-network is for --rows filter and best, not imitate" in capsys.readouterr().err


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
