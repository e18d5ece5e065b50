"""Learners of several seats: the papers' own small games, and parts by hand."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import palestra
import pytest
import torch
from learner_worlds import Bits, Recall
from palestra import Episode, InvalidOption, Turn, make_agent
from palestra.cli import main
from palestra.records.record import write_records
from palestra.runner.run_folder import sole_writer
from palestra_agents.learners import training
from palestra_agents.learners.field import Field, Memory, explore, with_seats
from palestra_agents.learners.maddpg import MADDPG
from palestra_agents.learners.policies import advantages
from palestra_agents.learners.recurrent import Frame, Recurrent, move_masks
from palestra_agents.learners.switching import Switching
from palestra_agents.learners.training import CURVE, FILE, STATE, make_learner, read_learner
from palestra_agents.learners.values import Mixer, ValueLearner
from palestra_agents.ppo.network import CentralPolicyValue, PolicyValue, central_views
from palestra_agents.ppo.policy import Settings
from palestra_agents.ppo.trainer import Trainer
from palestra_agents.ppo.training import one_thread
from stages import CLIMBING, Climb
from switching import climb
from values import two_step

COMMAND = ["train", "grid/Foraging-v0", "--steps", "200", "--reports", "2"]
COMMAND += ["--set", "num_envs=4"]
OWN = (["--set", "batch_size=16", "--set", "warm_up=16"], ["--set", "horizon=8"])


@pytest.fixture(autouse=True)
def single_thread() -> Iterator[None]:
    with one_thread():
        yield


# Values


@pytest.mark.slow
def test_qmix_represents_the_two_step_game_and_vdn_does_not() -> None:
    """Table 1 of Rashid et al. 2018: QMIX reaches 8, VDN prefers the certain 7."""
    qmix = two_step("qmix", 0)
    assert torch.allclose(qmix[1], torch.full((2, 2), 7.0), atol=0.2)
    assert torch.allclose(qmix[2], torch.tensor([[0.0, 1.0], [1.0, 8.0]]), atol=0.3)
    assert qmix[0].max(1).values[1] > 7.7 > qmix[0].max(1).values[0]
    vdn = two_step("vdn", 0)
    assert torch.allclose(vdn[2], torch.tensor([[-1.87, 2.31], [2.33, 6.51]]), atol=0.7)
    assert vdn[0].max(1).values[0] > vdn[0].max(1).values[1]


def test_a_mixed_value_never_falls_with_a_seats_value() -> None:
    torch.manual_seed(0)
    mixer = Mixer(state=5, seats=3, width=8)
    values = torch.randn(64, 3, requires_grad=True)
    mixer(values, torch.randn(64, 5)).sum().backward()
    assert values.grad is not None
    assert (values.grad >= 0).all()
    assert (values.grad > 0).any()


@pytest.mark.parametrize(
    ("algo", "goals"), [("iql", [[2.9, 3.9], [1.0, 2.0]]), ("vdn", [6.8, 3.0])]
)
def test_goals_are_the_rewards_and_what_the_target_network_gives(algo: str, goals: Any) -> None:
    """The target network says 1 for action 0 and 2 for action 1; gamma is 0.95."""
    learner = ValueLearner(Bits(), algo=algo, compiled=False, num_envs=2, gamma=0.95)  # type: ignore[arg-type]
    for network in (learner.network, learner.target):
        for part in network.parameters():
            torch.nn.init.zeros_(part)
    with torch.no_grad():
        list(learner.target.parameters())[-1].copy_(torch.tensor([1.0, 2.0]))
        list(learner.network.parameters())[-1].copy_(torch.tensor([0.0, 5.0]))
    rows = {
        "rewards": torch.tensor([[1.0, 2.0], [1.0, 2.0]]),
        "after": torch.zeros(2, 2, 4),
        "masks_after": torch.ones(2, 2, 2, dtype=torch.bool),
        "ended": torch.tensor([False, True]),
    }
    assert torch.allclose(learner.goals(rows), torch.tensor(goals))
    rows["masks_after"][:, :, 1] = False  # only action 0 is legal
    first = learner.goals(rows)[0]
    assert torch.allclose(first, torch.tensor([1.95, 2.95] if algo == "iql" else 4.9))


def test_where_time_was_up_the_value_goes_on() -> None:
    field = Field(palestra.game("grid/Foraging-v0", max_steps=2), 3, 0, False)  # type: ignore[arg-type]
    ended = [field.step(torch.zeros(3, 2, dtype=torch.long)).ended for _ in range(2)]
    assert not torch.stack(ended).any()
    assert field.fresh.all()
    assert len(field.returns) == 3


def test_a_memory_keeps_the_last_rows_and_draws_only_them() -> None:
    memory = Memory(4, torch.Generator().manual_seed(0))
    for start in (0, 3):
        memory.add({"x": torch.arange(start, start + 3)})
    assert sorted(memory.kept["x"].tolist()) == [2, 3, 4, 5]
    assert set(memory.sample(200)["x"].tolist()) == {2, 3, 4, 5}


def test_exploration_is_legal_and_reaches_everything_legal() -> None:
    masks = torch.tensor([[[1, 0, 1], [0, 1, 0]]]).bool().repeat(200, 1, 1)
    drawn = explore(masks, torch.Generator().manual_seed(0))
    assert set(drawn[:, 0].tolist()) == {0, 2}
    assert set(drawn[:, 1].tolist()) == {1}
    assert with_seats(torch.zeros(1, 2, 1)).tolist() == [[[0, 1, 0], [0, 0, 1]]]


# MAPPO


def fit(network: PolicyValue, seen: torch.Tensor, goals: torch.Tensor) -> float:
    """The squared error of a network's values after a fit."""
    steps = torch.optim.Adam(network.parameters(), lr=1e-2)
    masks = torch.ones(len(seen), 2)
    for _ in range(150):
        loss = (network(seen, masks)[1] - goals).square().mean()
        steps.zero_grad()
        loss.backward()
        steps.step()
    return float(loss.item())


def test_a_central_critic_knows_what_no_seat_sees() -> None:
    """Both are paid 1 if their bits agree: one bit leaves an error of 1/4, both leave none."""
    bits = torch.tensor([[a, b] for a in (0, 1) for b in (0, 1)])
    seen = torch.zeros(4, 2, 4).scatter_(2, bits.unsqueeze(-1), 1.0)
    goals = (bits[:, 0] == bits[:, 1]).float().repeat_interleave(2)
    space: Any = Bits().observation_space(0)
    torch.manual_seed(0)
    alone = fit(PolicyValue(space, 2, 32), seen.flatten(0, 1), goals)
    central = fit(CentralPolicyValue(space, 2, 32, 2), central_views(seen).flatten(0, 1), goals)
    assert alone == pytest.approx(0.25, abs=0.01)
    assert central < 0.01


def test_a_central_policy_reads_only_its_own_seat() -> None:
    space: Any = Bits().observation_space(0)
    network = CentralPolicyValue(space, 2, 32, 2)
    torch.nn.init.normal_(network.policy.weight)
    seen, masks = torch.rand(6, 2, 4), torch.ones(12, 2)
    changed = seen.clone()
    changed[:, 1] += 1.0
    before = network(central_views(seen).flatten(0, 1), masks)
    after = network(central_views(changed).flatten(0, 1), masks)
    assert torch.equal(before[0][::2], after[0][::2])
    assert not torch.allclose(before[1][::2], after[1][::2])
    assert torch.equal(network(seen.flatten(0, 1), masks)[0], before[0])


def test_mappo_trains_saves_and_plays_by_name(tmp_path: Path) -> None:
    settings = Settings(num_envs=8, horizon=8, hidden=16, central=True)
    trainer = Trainer("grid/Foraging-v0", {}, settings)
    before = [part.clone() for part in trainer.network.critic.parameters()]  # type: ignore[union-attr]
    trainer.update()
    after = list(trainer.network.critic.parameters())  # type: ignore[union-attr]
    assert any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))
    trainer.save(tmp_path)
    (record,) = palestra.play("grid/Foraging-v0", agents=[f"ppo:{tmp_path}"] * 2, seed=0)
    assert record.outcome is not None


# MADDPG


@pytest.mark.slow
def test_critics_of_maddpg_know_everybodys_observation_and_ddpgs_do_not() -> None:
    """After one step the game is over, so that a critic learns the payment: equal bits or not."""
    errors = {}
    for central in (True, False):
        learner = MADDPG(
            Bits(),
            compiled=False,
            num_envs=8,
            hidden=16,
            batch_size=64,
            warm_up=512,
            every=1,
            central=central,
            learning_rate=1e-2,
        )
        for _ in range(120):
            learner.update()
        rows = learner.memory.sample(256)
        errors[central] = learner.critic_loss(learner.seats[0], 0, rows).item()
    assert errors[True] < 0.02
    assert errors[False] == pytest.approx(0.25, abs=0.03)


def test_inferred_policies_are_those_that_the_others_play() -> None:
    """Player 1 plays action 1 with probability 0.8 if it sees bit 0, and 0.3 if it sees bit 1."""
    learner = MADDPG(Bits(), compiled=False, num_envs=4, hidden=16, infer=True, warm_up=10**9)
    generator = torch.Generator().manual_seed(0)
    bits = torch.randint(2, (4000, 2), generator=generator)
    chance = torch.where(bits[:, 1] == 0, 0.8, 0.3)
    taken = (torch.rand(4000, generator=generator) < chance).long()
    rows = {
        "seen": torch.nn.functional.one_hot(bits, 4).float(),
        "masks": torch.ones(4000, 2, 2, dtype=torch.bool),
        "actions": torch.stack([torch.zeros_like(taken), taken], 1),
    }
    seat = learner.seats[0]
    for _ in range(80):
        learner.infer(seat, rows)
    found = seat.inferred[1](torch.eye(4)[:2]).softmax(-1)[:, 1]
    assert found.tolist() == pytest.approx([0.8, 0.3], abs=0.04)


def test_a_sub_policy_is_played_for_whole_episodes_and_learns_from_its_own_steps() -> None:
    learner = MADDPG(Bits(guess=True), compiled=False, num_envs=64, hidden=8, ensemble=3)
    first = learner.playing.clone()
    learner.update()  # the episode goes on
    assert torch.equal(learner.playing, first)
    learner.update()
    assert set(learner.playing.flatten().tolist()) == {0, 1, 2}
    assert not torch.equal(learner.playing, first)
    rows = learner.memory.sample(64)
    rows["playing"][:] = 1
    learner.policy_loss(learner.seats[0], 0, rows).backward()  # type: ignore[no-untyped-call]
    grads = [part.grad for part in learner.seats[0].policies[0].parameters()]
    assert all(grad is None or not grad.any() for grad in grads)
    learner.policy_loss(learner.seats[0], 1, rows).backward()  # type: ignore[no-untyped-call]
    assert any(part.grad.any() for part in learner.seats[0].policies[1].parameters())  # type: ignore[union-attr]


# MANSA


@pytest.mark.exhaustive
@pytest.mark.slow
def test_called_where_players_must_coordinate_the_team_climbs_higher_than_alone() -> None:
    """Claus and Boutilier 1998: joint values find 11; here 2 more come from the first stage."""
    seeds = range(3)
    together = [climb(seed, control="central") for seed in seeds]
    assert [found for found, *_ in together] == [13.0] * 3
    switched = [climb(seed, cost=0.5) for seed in seeds]
    alone = [climb(seed, control="independent") for seed in seeds]
    assert np.mean([f for f, *_ in switched]) > np.mean([f for f, *_ in alone]) + 2
    assert np.mean([share for _, share, _ in switched]) < 0.9  # and not everywhere
    assert climb(0, calls=0)[:2] == (alone[0][0], 0.0)
    assert climb(0, cost=50.0)[1] == 0.0


def test_central_values_are_those_of_the_games_table() -> None:
    learner = climb(0, 200, control="central")[2]
    key = np.array([[0, 1], [0, 1]], np.float32).tobytes()  # the second stage
    table = learner.central.rows[key].reshape(3, 3)
    assert table == pytest.approx(np.array(CLIMBING), abs=0.6)


def test_the_switcher_pays_for_its_calls_and_counts_those_left() -> None:
    learner = Switching(
        Climb(), compiled=False, num_envs=1, cost=0.5, calls=2, learning_rate=0.5, gamma=0.9
    )
    seen, after = np.zeros((2, 2), np.float32), np.ones((2, 2), np.float32)
    one_left, two_left = learner.switch_key(after, 1), learner.switch_key(seen, 2)
    assert one_left != learner.switch_key(after, 2)
    learner.switcher.rows[one_left][:] = (4.0, 6.0)
    learner.learn_switch(seen, True, 2, 3.0, after, 0.9)
    goal = 3.0 - 0.5 + 0.9 * 6.0
    assert learner.switcher.rows[two_left].tolist() == pytest.approx([0.0, 0.5 * goal])
    learner.switcher.rows[learner.switch_key(after, 0)][:] = (1.0, 9.0)  # no call is left then
    learner.learn_switch(seen, True, 1, 3.0, after, 0.9)
    assert learner.switcher.rows[learner.switch_key(seen, 1)][1] == pytest.approx(
        0.5 * (3.0 - 0.5 + 0.9 * 1.0)
    )
    assert not learner.calls(seen, 0)


# Recurrent learners with messages


def recall(memory: bool) -> float:
    """The mean return, after training, of a pair that must say a bit it no longer sees."""
    learner = Recurrent(
        Recall(), compiled=False, num_envs=16, horizon=4, hidden=16, moves=2, population=2,
        learning_rate=1e-2, epochs=3, memory=memory,
    )  # fmt: skip
    returns = [row.mean() for _ in range(60) for row in learner.update()]
    return float(np.mean(returns[-200:]))


@pytest.mark.exhaustive
@pytest.mark.slow
def test_only_a_pair_with_memory_says_what_it_no_longer_sees() -> None:
    """Without memory nobody can do better than a half."""
    assert recall(memory=True) > 0.9
    assert recall(memory=False) == pytest.approx(0.5, abs=0.1)


def test_pairs_are_drawn_evenly_and_keep_their_seats_for_an_episode() -> None:
    learner = Recurrent(Recall(), compiled=False, num_envs=8, hidden=8, moves=2, population=3)
    pairs = learner.pair(3000)
    assert (pairs[:, 0] != pairs[:, 1]).all()
    counts = np.bincount((pairs[:, 0] * 3 + pairs[:, 1]).numpy(), minlength=9)
    assert counts[[1, 2, 3, 5, 6, 7]] == pytest.approx(np.full(6, 500), abs=100)
    before = learner.who.clone()
    learner._frame()
    assert torch.equal(learner.who, before)  # the episode goes on
    assert learner.memory[0].abs().sum() > 0
    learner._frame()
    assert learner.memory[0].abs().sum() == 0  # it is over, and so is what was remembered


def test_a_streams_memory_is_that_of_its_agent_alone() -> None:
    """The same observations in other company: outputs do not change, and agents differ."""
    learner = Recurrent(Recall(), compiled=False, num_envs=2, hidden=8, moves=2, population=2)
    seen = torch.rand(2, 2, 3)
    masks = torch.ones(2, 2, 4, dtype=torch.bool)
    one = learner.look(seen, masks, torch.tensor([[0, 1], [0, 1]]), learner.blank(2))
    other = learner.look(seen, masks, torch.tensor([[0, 0], [1, 1]]), learner.blank(2))
    assert torch.allclose(one.values[0, 0], other.values[0, 0])
    assert torch.allclose(one.values[1, 1], other.values[1, 1])
    assert not torch.allclose(one.values[1, 0], other.values[1, 0])


def test_moves_are_legal_with_any_token_and_advantages_follow_the_textbook() -> None:
    masks = torch.tensor([[True, False, True, True, False, True]])  # two tokens, three moves
    assert move_masks(masks, 3).tolist() == [[True, False, True]]
    empty = torch.zeros(1, 1)

    def frame(reward: float, value: float, ended: bool, cut: float = 0.0) -> Frame:
        values, rewards = torch.full((1, 1), value), torch.full((1, 1), reward)
        over, last = torch.full((1, 1), ended), torch.full((1, 1), cut)
        return Frame(
            empty, empty, empty, empty, empty, empty, values, rewards, ended=over, cut=last
        )

    frames = [frame(1.0, 0.5, ended=False), frame(0.0, 0.25, ended=True, cut=2.0)]
    found = advantages(frames, torch.full((1, 1), 9.0), 0.9, 0.8).flatten().tolist()
    second = 0.0 + 0.9 * 2.0 - 0.25
    assert found == pytest.approx([1.0 + 0.9 * 0.25 - 0.5 + 0.9 * 0.8 * second, second])


# By name


@pytest.mark.parametrize("algo", ["iql", "qmix", "maddpg", "recurrent", "hammer"])
def test_a_team_is_trained_kept_and_played_by_name(
    algo: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / algo)
    with pytest.raises(SystemExit) as done:
        main([*COMMAND, *OWN[algo in ("recurrent", "hammer")], "--algo", algo, "--out", out])
    assert not done.value.code
    assert "marl:" in capsys.readouterr().out
    learner, kept = read_learner(Path(out))
    assert kept["algo"] == algo
    one, other = (
        palestra.play("grid/Foraging-v0", agents=[f"marl:{out}"] * 2, seed=3) for _ in range(2)
    )
    assert one[0].returns == other[0].returns
    other_game = palestra.game("grid/Particles-v0")
    with pytest.raises(InvalidOption, match="was trained on"):
        make_agent(f"marl:{out}").act([Turn(Episode(other_game, 0, compiled=False), 0)])


def test_what_cannot_be_learnt_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="played in turns"):
        ValueLearner("games/TicTacToe-v0", compiled=False)
    with pytest.raises(InvalidOption, match="combinations"):
        Switching("grid/Foraging-v0", {"num_players": 6}, compiled=False)
    with pytest.raises(InvalidOption, match="no setting"):
        MADDPG(Bits(), compiled=False, colour=1)
    with pytest.raises(InvalidOption, match="choose from: ppo, mappo, iql"):
        make_learner("sac", Bits(), {}, {})
    with pytest.raises(InvalidOption, match="no trained learner"):
        read_learner(tmp_path)


# Runs that are stopped


class Killed(BaseException):
    """Stands for signal 9."""


RUNS = {
    "qmix": ["batch_size=16", "warm_up=16", "memory=100", "target_every=7"],
    "maddpg": ["batch_size=16", "warm_up=16", "memory=100", "ensemble=2", "infer=true"],
    "mansa": ["explore_end=0.3"],
    "recurrent": ["horizon=4", "population=3"],
    "hammer": ["horizon=4", "message=2"],
    "clam": ["pool=forager,random", "hidden=8"],
    "cfcql": ["batch_size=16", "target_every=7"],
}


def train_folder(algo: str, folder: Path, *more: str, steps: int = 120) -> Any:
    """Train by the command; its exit code."""
    own = [*RUNS[algo]]
    if algo == "cfcql":
        recorded = folder.parent / "recorded.jsonl"
        if not recorded.exists():
            write_records(recorded, palestra.play("grid/Foraging-v0", agents="random", max_steps=5))
        own.append(f"records={recorded}")
    sets = [part for pair in ["num_envs=4", *own] for part in ("--set", pair)]
    typed = [
        "train",
        "grid/Foraging-v0",
        "-o",
        "max_steps=5",
        *sets,
        "--algo",
        algo,
        "--steps",
        str(steps),
    ]
    with pytest.raises(SystemExit) as ended:
        main([*typed, "--reports", "3", "--out", str(folder), *more])
    return ended.value.code


def kept_run(folder: Path) -> Any:
    """Everything on file, as values that can be compared."""
    state = torch.load(folder / STATE, weights_only=True)
    if state["algo"] == "mansa":
        del state["torch_rng"]  # it draws its own random numbers
    learner = torch.load(folder / FILE, weights_only=True)
    assert not list(folder.glob(".*-*")), "drafts of a killed process are removed"
    return plain(state), plain(learner), (folder / CURVE).read_text("utf-8")


def plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


@pytest.mark.slow
@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize("algo", RUNS)
def test_a_learner_killed_between_any_two_writes_is_resumed_to_the_same_end(
    algo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [10_000]

    def counting(write: Any) -> Any:
        def call(*arguments: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return write(*arguments)

        return call

    for name in ("write_bytes", "write_text"):
        monkeypatch.setattr(training, name, counting(getattr(training, name)))
    assert train_folder(algo, tmp_path / "whole") == 0
    expected, writes = kept_run(tmp_path / "whole"), 10_000 - left[0]
    assert writes == 9
    for at in range(writes):
        folder, left[0] = tmp_path / str(at), at
        with pytest.raises(Killed):
            train_folder(algo, folder)
        left[0] = 10_000
        assert train_folder(algo, folder, *(["--resume"] if at else [])) == 0
        assert kept_run(folder) == expected, at


@pytest.mark.parametrize("algo", ["qmix", "recurrent"])
def test_ctrl_c_saves_a_learner_and_says_how_to_resume(
    algo: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = {"qmix": ValueLearner, "recurrent": Recurrent}[algo]
    update, calls = kind.update, [0]

    def interrupt(learner: Any, progress: float = 0.0) -> Any:
        calls[0] += 1
        if calls[0] == 3:
            signal.raise_signal(signal.SIGINT)
        return update(learner, progress)

    assert train_folder(algo, tmp_path / "whole") == 0
    monkeypatch.setattr(kind, "update", interrupt)
    assert train_folder(algo, tmp_path / "parts") == 130
    assert f"--resume --out {tmp_path / 'parts'}" in capsys.readouterr().out
    assert train_folder(algo, tmp_path / "parts", "--resume") == 0
    assert kept_run(tmp_path / "parts") == kept_run(tmp_path / "whole")


def test_a_learner_is_neither_overwritten_nor_mixed_with_another_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*more: str) -> str:
        assert train_folder("qmix", tmp_path, *more) == 2
        return capsys.readouterr().err

    assert "no trained learner" in said("--resume")
    assert train_folder("qmix", tmp_path) == 0
    before = (tmp_path / STATE).read_bytes()
    assert "continue it with --resume" in said()
    assert "algo='qmix', not 'vdn'" in said("--resume", "--algo", "vdn")
    assert "batch_size=16, not 8" in said("--resume", "--set", "batch_size=8")
    assert "max_food=3, not 2" in said("--resume", "-o", "max_food=2")
    with sole_writer(tmp_path):
        assert "another process" in said("--resume")
    state = torch.load(tmp_path / STATE, weights_only=True)
    torch.save(state | {"versions": {"torch": "0.4"}}, tmp_path / STATE)
    assert "torch 0.4 (installed: " in said("--resume")
    (tmp_path / STATE).write_bytes(before[:1000])
    assert "is not a learner of palestra train" in said("--resume")
