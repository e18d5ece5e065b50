"""PPO: advantages by hand, learning, exact resume, and the trained agent by name."""

from __future__ import annotations

import csv
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import palestra
import pytest
import torch
from learner_worlds import whole_and_resumed
from palestra import InvalidOption
from palestra.cli import main
from palestra_agents.ppo.checkpoint import CHECKPOINT, read_checkpoint
from palestra_agents.ppo.policy import Settings, read_policy
from palestra_agents.ppo.teacher import Teacher, distance
from palestra_agents.ppo.trainer import (
    Rollout,
    Trainer,
    advantages_of,
)
from palestra_agents.ppo.training import CURVE, one_thread, wins_against_random

SMALL = Settings(num_envs=16, horizon=16, hidden=32)


@pytest.fixture(autouse=True)
def single_thread() -> Iterator[None]:
    """Cores may be shared."""
    with one_thread():
        yield


def rollout(
    acting: list[list[int]], rewards: list[list[float]], ended: list[int], values: list[list[float]]
) -> Rollout:
    """One row, as many seats as columns."""
    steps, seats = len(acting), len(acting[0])
    empty = torch.zeros(steps, 1, seats)
    return Rollout(
        observations=empty,
        masks=empty,
        acting=torch.tensor(acting, dtype=torch.bool).unsqueeze(1),
        actions=empty,
        logprobs=empty,
        values=torch.tensor(values).unsqueeze(1),
        rewards=torch.tensor(rewards).unsqueeze(1),
        ended=torch.tensor(ended, dtype=torch.bool).reshape(-1, 1, 1).expand(-1, 1, seats),
        bootstrap=empty,
    )


def test_advantages_of_one_seat_follow_the_textbook() -> None:
    rewards, values, last = [1.0, 0.0, 2.0], [0.5, 0.25, -0.5], 3.0
    settings = Settings(gamma=0.9, gae_lambda=0.8)
    found, targets = advantages_of(
        rollout([[1]] * 3, [[r] for r in rewards], [0, 0, 0], [[v] for v in values]),
        torch.tensor([[last]]),
        settings,
    )
    expected, after, later = [0.0] * 3, last, 0.0
    for t in (2, 1, 0):
        later = rewards[t] + 0.9 * after - values[t] + 0.9 * 0.8 * later
        expected[t], after = later, values[t]
    assert found.flatten().tolist() == pytest.approx(expected)
    assert targets.flatten().tolist() == pytest.approx(np.add(expected, values).tolist())


def test_a_seat_is_paid_for_its_last_move_by_what_the_other_does() -> None:
    # seat 0 moves, seat 1 moves and wins: seat 0's only decision is paid -1
    found, _ = advantages_of(
        rollout([[1, 0], [0, 1]], [[0.0, 0.0], [-1.0, 1.0]], [0, 1], [[0.0, 0.0]] * 2),
        torch.tensor([[7.0, 7.0]]),  # of the next episode: must not leak into this one
        Settings(gamma=1.0, gae_lambda=1.0),
    )
    assert found.squeeze(1).tolist() == [[-1.0, 0.0], [0.0, 1.0]]


def test_nothing_crosses_the_end_of_an_episode() -> None:
    found, _ = advantages_of(
        rollout([[1]] * 4, [[0.0], [1.0], [0.0], [5.0]], [0, 1, 0, 0], [[0.0]] * 4),
        torch.tensor([[0.0]]),
        Settings(gamma=1.0, gae_lambda=1.0),
    )
    assert found.flatten().tolist() == [1.0, 1.0, 5.0, 5.0]


def test_it_learns_to_beat_random_play() -> None:
    trainer = Trainer("games/TicTacToe-v0", {}, Settings(num_envs=64, horizon=16, hidden=64))
    before, _ = wins_against_random(trainer.network, trainer.env, trainer.options)
    for _ in range(60):
        trainer.update()
    after, mean = wins_against_random(trainer.network, trainer.env, trainer.options)
    assert before < 0.6
    assert after > 0.75
    assert 2 * after - 1 <= mean < after, "what is neither won nor drawn counts -1"


def test_seats_that_move_at_once_share_the_policy() -> None:
    trainer = Trainer("grid/Foraging-v0", {"num_players": 3, "max_steps": 32}, SMALL)
    for _ in range(2):
        losses = trainer.update()
    assert all(np.isfinite(value) for value in losses.values())
    assert trainer.returns


def test_returns_stay_to_be_read_while_no_episode_ends() -> None:
    trainer = Trainer("grid/Foraging-v0", {"num_players": 3, "max_steps": 32}, SMALL)
    for _ in range(2):
        trainer.update()
    ended = list(trainer.returns)
    trainer.update()  # steps 33 to 48
    assert len(ended) >= 3 * SMALL.num_envs
    assert trainer.returns


def test_random_rivals_are_played_against_and_not_learned_from() -> None:
    trainer = Trainer("games/TicTacToe-v0", {}, Settings(num_envs=8, random_rivals=0.5, hidden=16))
    assert trainer.learning.tolist()[:5] == [
        [False, True],
        [True, False],
        [False, True],
        [True, False],
        [True, True],
    ]
    played = trainer.collect()
    assert not (played.acting & ~trainer.learning).any()


def test_a_resumed_run_goes_on_as_if_never_stopped(tmp_path: Path) -> None:
    whole, again = whole_and_resumed(
        lambda: Trainer("games/ConnectFour-v0", {"rows": 4}, SMALL), tmp_path
    )
    assert again.steps == whole.steps
    for one, other in zip(whole.network.parameters(), again.network.parameters(), strict=True):
        assert torch.equal(one, other)


def test_the_trained_policy_plays_by_name(tmp_path: Path) -> None:
    Trainer("games/ConnectFour-v0", {}, SMALL).save(tmp_path)
    records = palestra.play(
        "games/ConnectFour-v0",
        agents=[f"ppo:{tmp_path}", f"ppo:{tmp_path},greedy=true"],
        episodes=4,
    )
    assert all(record.mistakes == (0, 0) for record in records)
    chosen = records[0].turns[0]
    assert chosen.logprob is not None
    assert chosen.logprob <= 0
    assert palestra.replay(records[0])


def test_a_policy_of_another_game_is_refused(tmp_path: Path) -> None:
    Trainer("games/ConnectFour-v0", {}, SMALL).save(tmp_path)
    with pytest.raises(InvalidOption, match="trained on games/ConnectFour-v0"):
        palestra.play("games/TicTacToe-v0", agents=[f"ppo:{tmp_path}", "random"])


def test_what_is_no_checkpoint_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="there is no trained policy"):
        palestra.make_agent(f"ppo:{tmp_path}")
    with pytest.raises(InvalidOption, match="name the folder"):
        palestra.make_agent("ppo")
    (tmp_path / CHECKPOINT).write_bytes(b"hello")
    with pytest.raises(InvalidOption, match="is not a checkpoint"):
        read_checkpoint(tmp_path)
    torch.save({"format": "palestra.ppo/0"}, tmp_path / CHECKPOINT)
    with pytest.raises(InvalidOption, match="ppo/0'; this version reads"):
        Trainer.load(tmp_path)


def test_the_command_trains_saves_draws_a_curve_and_resumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["train", "games/TicTacToe-v0", "--out", str(tmp_path), "--reports", "2"]
    small = ["--set", "num_envs=16", "--set", "horizon=8"]
    with pytest.raises(SystemExit) as stop:
        main([*common, "--steps", "512", *small])
    assert stop.value.code == 0
    with pytest.raises(SystemExit):
        main([*common, "--steps", "1024", "--resume"])
    assert Trainer.load(tmp_path).steps >= 1024
    with (tmp_path / CURVE).open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["steps"]) for row in rows] == [256, 512, 1024], "a report every half"
    assert 0 <= float(rows[-1]["wins_against_random"]) <= 1
    assert f"--agents ppo:{tmp_path}" in capsys.readouterr().out.replace("\n", "")


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ((), "holds a trained policy already; continue it with --resume, or choose another --out"),
        (("--resume", "-o", "rows=5"), "holds a run with rows=4, not 5"),
        (("--resume", "-o", "rows=4", "--set", "seed=1"), "holds a run with seed=0, not 1"),
        (("--resume", "--set", "horizon=9"), "holds a run with horizon=8, not 9"),
        (("--resume", "--filter", "good=1"), "holds a run with no good, not 1"),
        (("--resume", "-o", "rowz=5"), "did you mean 'rows'"),
        (("--resume", "-o", "rows=4", "--set", "horizon=8"), ""),
    ],
)
def test_a_policy_is_neither_overwritten_nor_mixed_with_another_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], typed: tuple[str, ...], says: str
) -> None:
    settings = Settings(num_envs=4, horizon=8, minibatches=2, hidden=8)
    Trainer("games/ConnectFour-v0", {"rows": 4}, settings).save(tmp_path)
    before = (tmp_path / CHECKPOINT).read_bytes()
    with pytest.raises(SystemExit) as stop:
        main(["train", "games/ConnectFour-v0", "--out", str(tmp_path), "--steps", "1", *typed])
    assert bool(stop.value.code) == bool(says)
    assert says in capsys.readouterr().err
    assert ((tmp_path / CHECKPOINT).read_bytes() == before) == bool(says)


def test_a_policy_of_other_versions_is_resumed_only_if_that_is_wanted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trainer = Trainer("games/ConnectFour-v0", {"rows": 4}, SMALL)
    assert trainer.versions.keys() >= {"palestra", "palestra_games", "palestra_agents", "torch"}
    trainer.versions["torch"] = "0.4"
    trainer.save(tmp_path)
    typed = ["train", "games/ConnectFour-v0", "--resume", "--out", str(tmp_path), "--steps", "1"]
    with pytest.raises(SystemExit) as stop:
        main(typed)
    assert stop.value.code == 2
    assert "a run of torch 0.4 (installed: " in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        main([*typed, "--other-versions"])
    assert stop.value.code == 0
    assert Trainer.load(tmp_path).versions["torch"] != "0.4"


def test_another_game_is_not_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Trainer("games/ConnectFour-v0", {}, SMALL).save(tmp_path)
    with pytest.raises(SystemExit):
        main(["train", "games/TicTacToe-v0", "--resume", "--out", str(tmp_path)])
    assert "a run with environment='games/ConnectFour-v0', not 'games/TicTacToe-v0'" in (
        capsys.readouterr().err
    )


def test_ctrl_c_ends_training_after_an_update_and_says_how_to_resume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    update = Trainer.update

    def interrupt(trainer: Trainer, progress: float = 0.0) -> dict[str, float]:
        if trainer.updates == 2:
            signal.raise_signal(signal.SIGINT)
        return update(trainer, progress)

    common = ["games/PrisonersDilemma-v0", "--steps", "64", "--set", "num_envs=4"]
    common += ["--set", "horizon=4", "--set", "minibatches=1", "--set", "hidden=8"]
    with pytest.raises(SystemExit):
        main(["train", *common, "--out", str(tmp_path / "whole")])
    monkeypatch.setattr(Trainer, "update", interrupt)
    with pytest.raises(SystemExit) as stop:
        main(["train", *common, "--out", str(tmp_path / "parts")])
    assert stop.value.code == 130
    assert f"Train on with --resume --out {tmp_path / 'parts'}" in capsys.readouterr().out
    monkeypatch.undo()
    with pytest.raises(SystemExit):
        main(["train", *common, "--resume", "--out", str(tmp_path / "parts")])
    whole, parts = (read_checkpoint(tmp_path / name) for name in ("whole", "parts"))
    assert whole.steps == parts.steps == 64
    for name, values in whole.network.items():
        assert torch.equal(values, parts.network[name])


def test_what_it_says_to_play_can_be_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small = ["--set", "num_envs=4", "--set", "horizon=4", "--steps", "16"]
    with pytest.raises(SystemExit):
        main(["train", "grid/Fruit-v0", "-o", "split=10x10", "--out", "fruit", *small])
    said = capsys.readouterr().out.replace("\n", " ").split("play it: palestra ")[1].split()
    with pytest.raises(SystemExit) as stop:
        main([*said, "--render", "none", "--no-replays", "--out", "played"])
    assert stop.value.code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["games/TicTacToe-v0", "--algo", "dqn"], "choose from: ppo"),
        (["games/TicTacToe-v0", "--set", "lr=1"], "no setting 'lr'"),
        (["games/TicTacToe-v0", "--set", "gamma=2"], "gamma must be a number from 0 to 1, not 2"),
        (["text/Commons-v0"], "not an array game"),
        (["games/TicTacToe-v0", "--set", "teacher=x"], "no trained policy at x"),
        (["games/TicTacToe-v0", "--resume", "--out", "nowhere"], "no trained policy"),
        (
            ["games/TicTacToe-v0", "--resume", "--set", "gamma=0.9", "--out", "x"],
            "no trained policy",
        ),
    ],
)
def test_bad_input_is_one_sentence(
    arguments: list[str],
    says: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["train", *arguments])
    assert stop.value.code == 2
    assert says in capsys.readouterr().err


def test_step_shapers_pay_the_policy_and_come_back_with_it(tmp_path: Path) -> None:
    small = Settings(num_envs=4, horizon=8, hidden=16, minibatches=2, epochs=1)
    options = {"rows": 5, "columns": 5, "max_steps": 6}
    runs = [
        Trainer("grid/Foraging-v0", options, small, rewards=rewards)
        for rewards in ((), ("env", "food-distance"))
    ]
    plain, shaped = (run.collect().rewards for run in runs)
    assert not torch.equal(plain, shaped)
    losses = runs[1].update()
    assert all(np.isfinite(loss) for loss in losses.values())
    runs[1].save(tmp_path)
    again = Trainer.load(tmp_path)
    assert again.rewards == ("env", "food-distance")
    assert again.update()["value"] > 0


def test_the_command_takes_step_shapers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["train", "grid/Foraging-v0", "--out", str(tmp_path), "--reports", "1"]
    typed += [
        "-o",
        "rows=5",
        "-o",
        "columns=5",
        "-o",
        "max_steps=6",
        "--set",
        "num_envs=4",
        "--set",
        "horizon=4",
    ]
    with pytest.raises(SystemExit) as stop:
        main([*typed, "--steps", "16", "--rewards", "env,food-distance"])
    assert stop.value.code == 0
    assert Trainer.load(tmp_path).rewards == ("env", "food-distance")
    with pytest.raises(SystemExit) as stop:
        main([*typed[:4], "--resume", "--steps", "32", "--rewards", "env"])
    assert stop.value.code == 2
    assert "holds a run with rewards=" in capsys.readouterr().err


def test_a_teacher_is_as_far_as_its_cross_entropy_and_only_while_it_has_weight(
    tmp_path: Path,
) -> None:
    """The gradient of a cross-entropy by the logits is the learner's chances less the teacher's."""
    teacher = Trainer("games/KuhnPoker-v0", {}, SMALL)
    teacher.update()
    teacher.save(tmp_path)
    settings = Settings(
        num_envs=8, hidden=8, teacher=str(tmp_path), teacher_weight=3.0, teacher_share=0.4
    )
    found = Teacher(teacher.game, settings)
    assert [found.weight(progress) for progress in (0.0, 0.2, 0.4, 1.0)] == [3.0, 1.5, 0.0, 0.0]

    seen, masks, _ = (part.flatten(0, 1) for part in teacher.views())
    chances = found.chances(seen, masks)
    assert torch.equal(chances, teacher.network(seen, masks)[0].exp())
    logits = torch.randn(chances.shape, requires_grad=True)
    logprobs = logits.masked_fill(masks == 0, -1e9).log_softmax(-1)
    distance(chances, logprobs).backward()
    assert logits.grad is not None
    assert torch.allclose(logits.grad, (logprobs.exp() - chances) / len(seen), atol=1e-6)


def test_several_teachers_count_by_weight_as_one_term_for_each(tmp_path: Path) -> None:
    """The loss and its gradient are those of the paper's sum over teachers, term by term."""
    env, options, weights = "grid/Foraging-v0", {"num_players": 3}, (2.0, 0.25, 0.75)
    folders = [tmp_path / str(number) for number in range(3)]
    for seed, folder in enumerate(folders):
        Trainer(env, options, replace(SMALL, seed=seed)).save(folder)
    settings = replace(
        SMALL,
        teacher="|".join(map(str, folders)),
        teacher_weight=3.0,
        teacher_weights="2|0.25|0.75",
    )
    learner = Trainer(env, options, settings)
    found = learner.teacher
    assert found is not None
    assert [found.weight(progress) for progress in (0.0, 0.25, 0.5)] == [9.0, 4.5, 0.0]

    seen, masks, _ = (part.flatten(0, 1) for part in learner.views())
    logits = torch.randn(masks.shape, requires_grad=True)
    logprobs = logits.masked_fill(masks == 0, -1e9).log_softmax(-1)
    one = found.weight(0.0) * distance(found.chances(seen, masks), logprobs)
    alone = [read_policy(folder).network(seen, masks)[0].exp().detach() for folder in folders]
    assert not torch.allclose(alone[0], alone[1], atol=1e-3)
    terms = [3 * w * distance(p, logprobs) for w, p in zip(weights, alone, strict=True)]
    assert torch.allclose(one, sum(terms, torch.zeros(())), rtol=1e-5)
    (joint,) = torch.autograd.grad(one, logits, retain_graph=True)
    (summed,) = torch.autograd.grad(sum(terms, torch.zeros(())), logits)
    assert torch.allclose(joint, summed, atol=1e-6)
    assert found.chances(seen, masks).sum(1) == pytest.approx(1.0, abs=1e-5)
    learner.update()
    learner.save(tmp_path / "learner")
    assert Trainer.load(tmp_path / "learner").teacher is not None


@pytest.mark.parametrize("weights", ["1", "1|2|3", "1|-1", "1|nan", "1|x", "|"])
def test_weights_that_do_not_fit_the_teachers_are_refused(tmp_path: Path, weights: str) -> None:
    Trainer("games/KuhnPoker-v0", {}, SMALL).save(tmp_path)
    settings = replace(SMALL, teacher=f"{tmp_path}|{tmp_path}", teacher_weights=weights)
    with pytest.raises(InvalidOption, match="one for each of the 2 teachers"):
        Trainer("games/KuhnPoker-v0", {}, settings)


def agreement(learner: Trainer, teacher: Path) -> float:
    """The mean distance in nats of a learner from a teacher, less the teacher's own entropy."""
    policy = read_policy(teacher)
    seen, masks, acting = (part.flatten(0, 1) for part in learner.views())
    own = seen.flatten(1)[:, : policy.game.observation_space(0).shape[0]]
    with torch.no_grad():
        wanted = policy.network(own[acting], masks[acting])[0]
        told = learner.network(seen[acting], masks[acting])[0]
    return float(distance(wanted.exp(), told) - distance(wanted.exp(), wanted))


@pytest.mark.slow
@pytest.mark.parametrize("central", [False, True])
def test_a_policy_learns_its_teachers_moves_before_it_is_paid(
    tmp_path: Path, central: bool
) -> None:
    env, options = "grid/Foraging-v0", {"num_players": 3}
    teacher = Trainer(env, options, SMALL)
    for _ in range(4):
        teacher.update()
    teacher.save(tmp_path)
    far = {}
    for weight in (0.0, 5.0):
        settings = Settings(
            num_envs=16,
            horizon=16,
            hidden=32,
            seed=5,
            central=central,
            teacher=str(tmp_path),
            teacher_weight=weight,
        )
        learner = Trainer(env, options, settings)
        for _ in range(4):
            learner.update()
        far[weight] = agreement(learner, tmp_path)
    assert far[5.0] < far[0.0] / 2


def test_a_teacher_of_another_game_is_refused(tmp_path: Path) -> None:
    Trainer("games/KuhnPoker-v0", {}, SMALL).save(tmp_path)
    with pytest.raises(InvalidOption, match="was trained on games/KuhnPoker-v0"):
        Trainer("games/TicTacToe-v0", {}, Settings(teacher=str(tmp_path)))
