"""When episodes may be long, and which starts are learned from."""

import pytest
from msgspec.structs import replace
from palestra import InvalidOption, make_agent
from palestra_training.curriculum import chosen_starts, horizon_at
from palestra_training.hints import hint_steps, score_of
from palestra_training.plan import Evaluation, Hints, TaskChoice, TinyModel, TrainPlan, read_plan
from palestra_training.trainer import Trainer

PLAN = TrainPlan(
    env="games/KuhnPoker-v0",
    rounds=2,
    groups=3,
    group_size=2,
    mode="choice",
    credit="rloo",
    tiny=TinyModel(kind="gpt2", layers=1, width=32, heads=2, context=128, spread=0.1),
    evaluation=Evaluation(every=9, episodes=2),
)


@pytest.mark.parametrize(
    ("limit", "found"),
    [(None, [5, 5, 10, 10, 30]), (12, [5, 5, 10, 10, 12]), (4, [4, 4, 4, 4, 4])],
)
def test_a_horizon_grows_at_its_rounds(limit, found):
    plan = replace(PLAN, horizon=((0, 5), (2, 10), (4, 30)), max_episode_steps=limit)
    assert [horizon_at(plan, round) for round in range(5)] == found
    assert horizon_at(replace(PLAN, max_episode_steps=limit), 3) == limit


@pytest.mark.parametrize(
    "horizon", [[[1, 5]], [[0, 5], [0, 9]], [[0, 9], [3, 5]], [[0, 5], [4, 6], [2, 9]]]
)
def test_a_horizon_that_does_not_grow_is_refused(tmp_path, horizon):
    file = tmp_path / "run.toml"
    file.write_text(f'env = "games/FrozenLake-v0"\nhorizon = {horizon}\n')
    with pytest.raises(InvalidOption, match="rounds and steps that grow"):
        read_plan(file)


def test_episodes_of_a_round_end_at_its_horizon(tmp_path):
    trainer = Trainer(replace(PLAN, horizon=((0, 1), (1, 2))), tmp_path / "run")
    for round, most in ((0, 1), (1, 2)):
        assert max(len(record.turns) for record in trainer.rollouts(round)) == most


def paid(gains):
    """Play in which an agent is paid what `gains` says of its name and the seed, in its seat."""

    class Record:
        def __init__(self, line_up, seed):
            self.returns = tuple(gains(agent.name, seed) for agent in line_up)

    return lambda line_ups, seeds, size: [
        Record(line_up, seed)
        for line_up, seed in zip(line_ups, seeds, strict=True)
        for _ in range(size)
    ]


def test_starts_that_are_too_easy_too_hard_or_free_are_left_out():
    learner, control = make_agent("first"), make_agent("random")
    gains = {
        ("first", 1): 1.0,  # too easy: solved always
        ("first", 2): 0.0,  # too hard: never more than random play
        ("first", 3): 0.4,
        ("random", 3): 0.1,
        ("first", 4): 0.4,
        ("random", 4): 0.3,  # free
    }
    tasks = TaskChoice(good=0.5, solved=0.9, better=0.1, free=0.2, episodes=4)
    play = paid(lambda name, seed: gains.get((name, seed), 0.0))
    assert chosen_starts(tasks, [1, 2, 3, 4], [learner] * 2, [control] * 2, play) == [3]
    assert chosen_starts(tasks, [1, 2], [learner] * 2, [control] * 2, play) == [1, 2]


def test_a_seat_is_compared_with_random_play_in_that_seat_alone():
    """The learner is paid more than random play in its second seat only, and that is enough."""
    learner, control = make_agent("first"), make_agent("random")

    def play(line_ups, seeds, size):
        found = paid(lambda name, seed: 0.0)(line_ups, seeds, size)
        for record, line_up in zip(found, line_ups, strict=False):
            record.returns = (0.0, 0.4 if line_up[1] is learner else 0.1)
        return found

    tasks = TaskChoice(good=0.5, episodes=1)
    assert chosen_starts(tasks, [7], [learner, learner], [control, control], play) == [7]


def test_a_run_learns_from_the_starts_that_it_chose_and_is_resumed_with_them(tmp_path):
    plan = replace(PLAN, tasks=TaskChoice(good=1.5, candidates=6, episodes=3, every=2))
    trainer = Trainer(plan, tmp_path / "run")
    trainer.run()
    assert 1 <= len(trainer.play.starts) <= 6
    records = trainer.rollouts(1)
    assert {record.seed for record in records} <= set(trainer.play.starts)
    assert trainer.rollouts(2)[0].turns != records[0].turns or len(trainer.play.starts) > 1
    again = Trainer(replace(plan, rounds=3), tmp_path / "run", resume=True)
    assert again.play.starts == trainer.play.starts
    with pytest.raises(InvalidOption, match="set ahead = 0"):
        replace(plan, ahead=1)


@pytest.mark.parametrize(
    ("score", "steps", "most", "found"),
    [(0.0, 10, 0.8, 8), (0.75, 10, 0.8, 2), (1.0, 10, 0.8, 0), (0.0, 4, 1.0, 3), (0.0, 1, 1.0, 0)],
)
def test_the_rarer_a_success_the_longer_a_hint(score, steps, most, found):
    assert hint_steps(score, steps, most) == found


def test_hinted_rollouts_begin_with_the_experts_moves_and_are_compared_apart(tmp_path):
    plan = replace(
        PLAN,
        env="games/TicTacToe-v0",
        rounds=1,
        opponents=("random",),
        self_play=0.5,
        groups=6,
        group_size=5,
        hints=Hints("first", 0.6, 0.9),
    )
    trainer = Trainer(plan, tmp_path / "run")
    records = trainer.rollouts()
    again = trainer.rollouts()
    assert [[t.text for t in r.turns] for r in records] == [
        [t.text for t in r.turns] for r in again
    ]
    lengths = set()
    for place in range(6):
        own = records[5 * place : 5 * place + 5]
        plain, hinted = own[:2], own[2:]
        assert len({record.seed for record in own}) == 1
        assert {record.branched_at for record in plain} == {0}
        (steps,) = {record.branched_at for record in hinted}
        lengths.add(steps)
        assert len({str([turn.text for turn in r.turns[:steps]]) for r in hinted}) == 1
        assert len({record.group for record in own}) == (2 if steps else 1)
        assert steps <= 9 * 0.9 * (1 - score_of(plain, ["learner"]))
    assert len(lengths) > 1
    begun = {(record.seed, record.number): record.branched_at for record in records}
    for trace in trainer.credited(records):
        assert min(turn.step for turn in trace.turns) >= begun[trace.seed, trace.number]
    trainer.run()


def test_a_share_of_hints_that_leaves_nothing_to_compare_is_refused():
    for share in (0.1, 0.9):
        with pytest.raises(InvalidOption, match="some need a hint and some none"):
            replace(PLAN, group_size=3, hints=Hints("minimax", share))
