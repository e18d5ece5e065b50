"""Groups that are paid alike are replaced, up to a bound."""

import pytest
import torch
from msgspec.structs import replace
from palestra import InvalidOption
from palestra_training.dynamic_sampling import teaches, teaching
from palestra_training.plan import Evaluation, Hints, TinyModel, TrainPlan, WarmUp
from palestra_training.trainer import Trainer

# Against an opponent that always makes the first move, two rollouts of a start often end alike.
PLAN = TrainPlan(
    env="games/KuhnPoker-v0",
    rounds=3,
    groups=5,
    group_size=2,
    dynamic_sampling=3,
    self_play=0.0,
    opponents=("first",),
    mode="choice",
    tiny=TinyModel(kind="gpt2", layers=1, width=32, heads=2, context=128, spread=0.1),
    evaluation=Evaluation(every=3, episodes=2),
)


def groups(records, size=2):
    return [records[first : first + size] for first in range(0, len(records), size)]


def differ(group):
    """Whether the learner is paid unlike amounts; it has one seat, the same in all rollouts."""
    (seat,) = {record.agents.index("learner") for record in group}
    return len({record.returns[seat] for record in group}) > 1


def test_a_round_learns_from_groups_that_differ(tmp_path):
    trainer = Trainer(PLAN, tmp_path / "run")
    left_out = 0
    for number in range(6):
        records = trainer.rollouts(number)
        taught = groups(trainer.play.taught(records))
        assert all(map(differ, taught))
        assert taught == [group for group in groups(records) if differ(group)]
        assert len(taught) == 5 or len(records) == 3 * 5 * 2
        assert [record.number for record in records] == list(range(len(records)))
        left_out += len(groups(records)) - len(taught)
    assert left_out > 5


def test_no_start_comes_twice(tmp_path):
    trainer = Trainer(PLAN, tmp_path / "run")
    seeds = [{record.seed for record in trainer.rollouts(number)} for number in range(4)]
    assert len(set.union(*seeds)) == sum(map(len, seeds))


@pytest.mark.parametrize(("groups", "factor"), [(1, 1.0), (1, 2.0), (3, 1.5)])
def test_every_seat_is_learned_in_turn_among_rivals(tmp_path, groups, factor):
    plan = replace(PLAN, groups=groups, dynamic_sampling=factor)
    trainer = Trainer(plan, tmp_path / "run")
    sat = [
        record.agents.index("learner")
        for number in range(4)
        for record in trainer.rollouts(number)[: 2 * groups : 2]
    ]
    assert sat == [place % 2 for place in range(4 * groups)]


@pytest.mark.parametrize("factor", [1.0, 1.3, 2.0])
def test_the_bound_holds_where_every_group_is_alike(tmp_path, factor):
    always = WarmUp(agent="first", episodes=20, epochs=20, learning_rate=3e-3)
    plan = replace(PLAN, dynamic_sampling=factor, temperature=1e-6, warm_up=always)
    trainer = Trainer(plan, tmp_path / "run")
    records = trainer.rollouts(0)
    assert not any(map(differ, groups(records)))
    assert len(records) == int(5 * factor) * 2
    assert trainer.play.taught(records) == records
    trainer.run()
    assert [line.alike for line in trainer.curve] == [None if factor == 1 else 0] * 3


def test_the_curve_counts_what_was_played_and_what_was_left_out(tmp_path):
    trainer = Trainer(PLAN, tmp_path / "run")
    records = trainer.rollouts()
    line = trainer._learn()
    assert line.episodes == len(records)
    assert line.alike == sum(not differ(group) for group in groups(records)) > 0


@pytest.mark.parametrize("ahead", [0, 1])
def test_a_resumed_run_is_the_run_that_never_stopped(tmp_path, ahead):
    plan = replace(PLAN, ahead=ahead)
    whole = Trainer(plan, tmp_path / "whole")
    whole.run()
    Trainer(replace(plan, rounds=2), tmp_path / "cut").run()
    again = Trainer(plan, tmp_path / "cut", resume=True)
    again.run()
    assert [line.alike for line in again.curve] == [line.alike for line in whole.curve]
    for name, value in whole.model.weights().items():
        assert torch.equal(value, again.model.weights()[name]), name


def test_a_refused_answer_teaches_where_the_game_went_on(tmp_path):
    plan = replace(PLAN, mode="free", invalid="retry:2", groups=4)
    trainer = Trainer(plan, tmp_path / "run")  # a model that has learned nothing writes nonsense
    group = trainer.rollouts()[:2]
    assert any(turn.refused for record in group for turn in record.turns)
    assert teaches(group, {"learner"})
    assert teaching(group, 2, {"somebody else"}) == []


@pytest.mark.parametrize("changes", [{"group_size": 1}, {"hints": Hints(agent="first")}])
def test_a_plan_without_groups_to_compare_is_refused(changes):
    with pytest.raises(InvalidOption, match=r"set dynamic_sampling = 1"):
        replace(PLAN, **changes)
