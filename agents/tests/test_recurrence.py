"""Recurrent policies and values: torch's own GRU, episodes by brute force, and a task of memory."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from learner_worlds import Cue, whole_and_resumed
from palestra import Agent, EnvSpec, Episode, InvalidOption, Turn, make_agent
from palestra.kernel.registry import registry
from palestra_agents.learners.field import Field, explore
from palestra_agents.learners.keeping import restore, state_of
from palestra_agents.learners.sequences import Sequences
from palestra_agents.learners.training import save_learner
from palestra_agents.learners.values import ValueLearner
from palestra_agents.ppo.network import CentralPolicyValue, PolicyValue, RunningMoments
from palestra_agents.ppo.policy import Settings
from palestra_agents.ppo.trainer import Trainer
from palestra_agents.ppo.training import one_thread, wins_against_random
from palestra_agents.recurrence import Recurrence
from torch import Tensor, nn

CUE = "games/Cue-v0"
SMALL = Settings(num_envs=5, horizon=7, hidden=8, minibatches=3, epochs=2, recurrent=True)
VALUES: dict[str, Any] = {"num_envs": 4, "hidden": 8, "mixing": 4, "memory": 60, "warm_up": 8}
VALUES |= {"recurrent": True, "episodes": 6, "compiled": False}


@pytest.fixture(autouse=True)
def single_thread() -> Iterator[None]:
    with one_thread():
        yield


@pytest.fixture
def cue(monkeypatch: pytest.MonkeyPatch) -> None:
    """`CUE` as an id."""
    spec = EnvSpec(CUE, "learner_worlds:Cue", (2, 5), moves="simultaneous", payoffs="general")
    monkeypatch.setitem(registry().environments, CUE, spec)


# The unit


def like(unit: Recurrence) -> nn.GRU:
    """torch's GRU with the weights of a unit."""
    whole = nn.GRU(unit.cell.input_size, unit.hidden)
    for name, weight in unit.cell.named_parameters():
        getattr(whole, f"{name}_l0").data.copy_(weight.data)
    return whole


@pytest.mark.parametrize("seed", range(3))
def test_steps_and_episodes_are_those_of_torchs_gru(seed: int) -> None:
    """Streams whose episodes end at different steps: each is a sequence of its own."""
    torch.manual_seed(seed)
    unit, steps, streams = Recurrence(3, 6), 11, 4
    whole, inputs = like(unit), torch.randn(steps, streams, 3)
    blank = torch.zeros(streams, 6)
    assert torch.allclose(unit(inputs, blank)[0], whole(inputs)[0], atol=1e-6)
    fresh = torch.rand(steps, streams) < 0.3
    found, after = unit(inputs, torch.randn(streams, 6) * fresh[0].unsqueeze(1), fresh)
    for stream in range(streams):
        starts = [0, *(fresh[1:, stream].nonzero().flatten() + 1).tolist(), steps]
        for start, end in pairwise(starts):
            alone = whole(inputs[start:end, stream])[0]
            assert torch.allclose(found[start:end, stream], alone, atol=1e-5)
        assert torch.equal(after[stream], found[-1, stream])


def test_a_step_at_which_a_seat_does_not_act_is_not_remembered() -> None:
    torch.manual_seed(0)
    unit, inputs = Recurrence(2, 5), torch.randn(9, 1, 2)
    acting = torch.tensor([1, 0, 1, 1, 0, 0, 1, 1, 0]).bool()
    found, after = unit(inputs, torch.zeros(1, 5), acting=acting.unsqueeze(1))
    alone = like(unit)(inputs[acting])[0]
    assert torch.allclose(found[acting], alone, atol=1e-6)
    assert torch.allclose(after, alone[-1], atol=1e-6)


def test_no_gradient_crosses_the_end_of_an_episode() -> None:
    torch.manual_seed(0)
    unit, inputs = Recurrence(3, 6), torch.randn(8, 2, 3, requires_grad=True)
    fresh = torch.zeros(8, 2, dtype=torch.bool)
    fresh[3, 0] = fresh[6, 1] = True
    unit(inputs, torch.zeros(2, 6), fresh)[0][7].sum().backward()
    assert inputs.grad is not None
    reached = inputs.grad.abs().sum(-1) > 0
    assert reached[:, 0].tolist() == [False] * 3 + [True] * 5
    assert reached[:, 1].tolist() == [False] * 6 + [True] * 2


# Whole episodes


def played(seats: int, lanes: int, size: int, steps: int, seed: int) -> tuple[Sequences, Any]:
    """A memory after random play, and the episodes as lists of rows, by lane."""
    generator = torch.Generator().manual_seed(seed)
    field = Field(Cue(num_players=seats, longest=5), lanes, seed, compiled=False)
    memory, episodes = Sequences(size, lanes, generator), []
    going: list[list[Any]] = [[] for _ in range(lanes)]
    for number in range(steps):
        begins = torch.from_numpy(field.fresh.copy())
        step = field.step(explore(field.view()[1], generator))
        over = torch.from_numpy(field.fresh.copy())
        memory.add_step(step.rows(), begins, over)
        for lane in range(lanes):
            going[lane].append((number, {name: row[lane] for name, row in step.rows().items()}))
            if over[lane]:
                episodes.append(going[lane])
                going[lane] = []
    return memory, episodes


@pytest.mark.parametrize(
    ("seats", "lanes", "size", "steps"), [(2, 3, 300, 40), (3, 5, 40, 33), (4, 7, 41, 100)]
)
def test_whole_episodes_of_all_lengths_are_drawn(
    seats: int, lanes: int, size: int, steps: int
) -> None:
    memory, episodes = played(seats, lanes, size, steps, seed=steps)
    oldest = max(0, steps - size // lanes)
    kept = [[row for _, row in rows] for rows in episodes if rows[0][0] >= oldest]
    rows, theirs = memory.episodes(400)
    seen = [0] * len(kept)
    assert len({len(one) for one in kept}) > 1
    for number in range(400):
        length = int(theirs[:, number].sum())
        assert theirs[:length, number].all()
        drawn = {name: row[:length, number] for name, row in rows.items()}
        same = [
            len(one) == length
            and all(torch.equal(torch.stack([r[n] for r in one]), drawn[n]) for n in drawn)
            for one in kept
        ]
        assert any(same)
        seen = [count + match for count, match in zip(seen, same, strict=True)]
    assert min(seen) > 0


def test_a_memory_without_a_whole_episode_is_refused() -> None:
    memory, _ = played(seats=2, lanes=3, size=3, steps=9, seed=0)
    with pytest.raises(InvalidOption, match="choose a larger memory"):
        memory.episodes(2)


@pytest.mark.parametrize(("algo", "seats"), [("iql", 2), ("vdn", 4), ("qmix", 3)])
def test_what_is_learnt_is_that_of_every_episode_alone(algo: Any, seats: int) -> None:
    """Values by torch's GRU, an episode and a seat at a time; the goals by the formula."""
    learner = ValueLearner(Cue(num_players=seats, longest=5), algo=algo, **VALUES)
    for _ in range(40):
        learner.update(0.5)
    for part in learner.target.parameters():
        nn.init.normal_(part, std=0.3)
    state = learner.generator.get_state()
    episodes, theirs = learner.memory.episodes(6)  # type: ignore[union-attr]
    learner.generator.set_state(state)
    rows, values, goals = learner.drawn()
    lengths, place = theirs.sum(0).tolist(), {}
    for number, (step, column) in enumerate(theirs.nonzero().tolist()):
        place[step, column] = number
    assert len(set(lengths)) > 1

    def alone(network: Any, column: int, seat: int) -> Tensor:
        count, inputs, last = lengths[column], [], torch.zeros(3)
        for step in range(count + 1):
            own = {n: r[min(step, count - 1), column] for n, r in episodes.items()}
            seen = own["seen" if step < count else "after"][seat]
            inputs.append(torch.cat([seen, torch.eye(seats)[seat], last]))
            last = torch.eye(3)[own["actions"][seat]]
        hidden = like(network.memory)(network.first(torch.stack(inputs)).relu())[0]
        return network.last(hidden)  # type: ignore[no-any-return]

    for column, count in enumerate(lengths):
        own = torch.stack([alone(learner.network, column, seat) for seat in range(seats)], 1)
        aims = torch.stack([alone(learner.target, column, seat) for seat in range(seats)], 1)
        for step in range(count):
            number = place[step, column]
            assert torch.allclose(values[number], own[step], atol=1e-5)
            later = aims[step + 1].gather(-1, own[step + 1].argmax(-1, keepdim=True)).squeeze(-1)
            paid, on = rows["rewards"][number], 0.99 * (step < count - 1)
            if algo == "iql":
                assert torch.allclose(goals[number], paid + on * later, atol=1e-5)
            else:
                after = rows["after"][number : number + 1]
                team = learner.team(later.unsqueeze(0), after, learner.target_mixer)
                assert torch.allclose(goals[number], paid.sum() + on * team[0], atol=1e-5)


def test_a_learner_goes_on_from_its_state_to_the_bit() -> None:
    def fresh() -> ValueLearner:
        return ValueLearner(Cue(num_players=3, longest=5), algo="qmix", **VALUES)

    whole, other = fresh(), fresh()
    for _ in range(23):
        whole.update(0.4)
    restore(other, deepcopy(state_of(whole)))
    for _ in range(20):
        whole.update(0.4)
        other.update(0.4)
    assert whole.updates > 20
    for one, two in zip(whole.network.parameters(), other.network.parameters(), strict=True):
        assert torch.equal(one, two)
    state = state_of(whole)
    state["memory"]["rows"]["over"] = state["memory"]["rows"]["over"][:, :2]
    with pytest.raises(InvalidOption, match="over must be"):
        restore(fresh(), state)


# PPO and MAPPO


@pytest.mark.parametrize(
    ("env", "options", "more"),
    [
        (CUE, {"num_players": 3, "longest": 5}, {"central": True, "value_norm": True}),
        (CUE, {"num_players": 2}, {}),
        ("games/KuhnPoker-v0", {}, {}),
    ],
)
def test_what_is_learnt_from_is_what_was_played(
    cue: None, env: str, options: dict[str, Any], more: dict[str, Any]
) -> None:
    """Streams through a horizon give the log-probabilities and values of play, step by step."""
    trainer = Trainer(env, options, replace(SMALL, **more))
    for _ in range(3):  # the later ones begin within episodes
        trainer.update()
    for part in trainer.network.parameters():
        if part.requires_grad:
            nn.init.normal_(part, std=0.4)
    rollout = trainer.collect()
    assert rollout.memory is not None
    assert rollout.memory.abs().sum() > 0
    chosen = rollout.acting.flatten().nonzero().squeeze(-1)
    flat = {"actions": rollout.actions.flatten(0, 2)[chosen]}
    numbers = []
    for part, logprobs, values in trainer.parts(rollout, flat):
        taken = logprobs.gather(1, flat["actions"][part].unsqueeze(1)).squeeze(1)
        assert torch.allclose(taken, rollout.logprobs.flatten()[chosen][part], atol=1e-5)
        assert torch.allclose(values, rollout.values.flatten()[chosen][part], atol=1e-5)
        numbers += part.tolist()
    assert sorted(numbers) == list(range(len(chosen)))


@pytest.mark.parametrize(
    ("env", "central"), [("games/KuhnPoker-v0", False), ("grid/Foraging-v0", True)]
)
def test_a_run_is_resumed_to_the_bit(env: str, central: bool, tmp_path: Path) -> None:
    settings = replace(SMALL, central=central, value_norm=True)
    whole, again = whole_and_resumed(lambda: Trainer(env, {}, settings), tmp_path)
    for one, other in zip(whole.network.parameters(), again.network.parameters(), strict=True):
        assert torch.equal(one, other)
    file = tmp_path / "policy.pt"
    kept = torch.load(file, weights_only=True)
    torch.save(kept | {"memory": kept["memory"] + 2.0}, file)
    with pytest.raises(InvalidOption, match="memory must be from -1"):
        Trainer.load(tmp_path)
    kept["network"]["norm.moments"][2] = -1.0
    torch.save(kept, file)
    with pytest.raises(InvalidOption, match="no moments"):
        make_agent(f"ppo:{tmp_path}")


def test_rivals_a_filter_and_a_teacher(tmp_path: Path) -> None:
    from palestra.task_filter import TaskFilter

    trainer = Trainer("games/KuhnPoker-v0", {}, SMALL)
    trainer.save(tmp_path)
    won, mean = wins_against_random(trainer.network, trainer.env, {}, episodes=32)
    assert 0 < won < 1
    assert -2 <= mean <= 2
    with pytest.raises(InvalidOption, match="without memory"):
        Trainer("games/KuhnPoker-v0", {}, SMALL, TaskFilter(good=1.0))
    with pytest.raises(InvalidOption, match="is recurrent"):
        Trainer("games/KuhnPoker-v0", {}, Settings(num_envs=2, teacher=str(tmp_path)))


# Normalised values


@pytest.mark.parametrize("seed", range(5))
def test_moments_are_numpys_over_the_whole_stream(seed: int) -> None:
    rng = np.random.default_rng(seed)
    moments, parts = RunningMoments(), []
    assert (moments.mean, moments.deviation) == (0.0, 1.0)
    for size in (1, 7, 0, 300, 2):
        parts.append(rng.normal(rng.normal(0, 1e4), 10 ** rng.uniform(-2, 3), size))
        moments.add(torch.from_numpy(parts[-1]))
    stream = np.concatenate(parts)
    assert float(moments.mean) == pytest.approx(stream.mean(), rel=1e-6)
    assert float(moments.deviation) == pytest.approx(stream.std(), rel=1e-6)
    assert moments.moments[0] == len(stream)


@pytest.mark.parametrize("central", [False, True])
def test_a_value_head_gives_deviations_from_the_mean(central: bool) -> None:
    """The same weights with and without: values are the plain ones, scaled and moved."""
    space: Any = Cue().observation_space(0)
    more = (2,) if central else ()
    kind: Any = CentralPolicyValue if central else PolicyValue
    torch.manual_seed(0)
    plain = kind(space, 3, 8, *more)
    torch.manual_seed(0)
    scaled = kind(space, 3, 8, *more, value_norm=True)
    goals = torch.tensor([90.0, 110.0, 130.0])
    scaled.norm.add(goals)
    seen = torch.rand(6, 4 + (2 * 4 + 2) * central)
    (one, before), (other, after) = (net(seen, torch.ones(6, 3)) for net in (plain, scaled))
    assert torch.equal(one, other)
    assert torch.allclose(after, before * goals.std(correction=0) + 110.0)


def test_large_returns_are_learnt_only_when_they_are_normalised() -> None:
    """Targets near 1,000: the error, in deviations, after equally many updates."""
    errors = {}
    for value_norm in (False, True):
        settings = Settings(
            num_envs=4, horizon=8, hidden=16, minibatches=1, value_norm=value_norm, seed=1
        )
        trainer = Trainer("games/KuhnPoker-v0", {}, settings)
        goals = torch.full((8, 4, 2), 1000.0) + torch.randn(8, 4, 2)
        for _ in range(5):
            rollout = trainer.collect()
            trainer.learn(rollout, torch.randn(8, 4, 2), goals)
        errors[value_norm] = float((trainer.collect().values - 1000).abs().max())
    assert errors[True] < 5
    assert errors[False] > 500


# In play


def turns(episode: Episode) -> list[Turn]:
    return [Turn(episode, seat) for seat in range(episode.game.num_players)]


def all_steps(agent: Agent, seed: int, *, seats: int = 3) -> list[Any]:
    """Every decision of an episode that is played by itself."""
    episode, found = Episode(Cue(num_players=seats, longest=5), seed, compiled=False), []
    while not episode.over:
        found.append([(d.action, d.facts) for d in agent.act(turns(episode))])
        episode.act({seat: action for seat, (action, _) in enumerate(found[-1])})
    return found


@pytest.fixture(params=["marl", "ppo"])
def trained(request: pytest.FixtureRequest, cue: None, tmp_path: Path) -> str:
    """A recurrent team whose actions depend on what it remembers."""
    options = {"num_players": 3, "longest": 5}
    if request.param == "ppo":
        trainer = Trainer(CUE, options, replace(SMALL, central=True, value_norm=True))
        networks: Any = trainer.network
    else:
        learner = ValueLearner(Cue(**options), algo="qmix", **VALUES)
        networks = learner.network
    torch.manual_seed(3)
    for part in networks.parameters():
        if part.requires_grad:
            nn.init.normal_(part, std=1.0)
    if request.param == "ppo":
        trainer.save(tmp_path)
        return f"ppo:{tmp_path},greedy=true"
    save_learner(learner, "qmix", CUE, options, tmp_path)
    return f"marl:{tmp_path}"


def test_episodes_seats_and_turns_asked_again_have_memories_of_their_own(trained: str) -> None:
    alone = {seed: all_steps(make_agent(trained), seed) for seed in range(12)}
    assert len({str([step[0] for step in one[1:]]) for one in alone.values()}) > 2
    agent = make_agent(trained)
    episodes = {
        seed: Episode(Cue(num_players=3, longest=5), seed, compiled=False) for seed in alone
    }
    steps: dict[int, list[Any]] = {seed: [] for seed in alone}
    while going := [seed for seed, episode in episodes.items() if not episode.over]:
        asked = [turn for seed in going for turn in turns(episodes[seed])]
        found: list[Any] = []
        for turn in asked:  # one seat at a time, and every third a second time
            (decision,) = agent.act([turn])
            if len(found) % 3 == 0:
                (decision,) = agent.act([turn])
            found.append((decision.action, decision.facts))
        for number, seed in enumerate(going):
            steps[seed].append(found[3 * number : 3 * number + 3])
            episodes[seed].act({seat: action for seat, (action, _) in enumerate(steps[seed][-1])})
    for seed, one in alone.items():
        for mine, theirs in zip(steps[seed], one, strict=True):
            assert [action for action, _ in mine] == [action for action, _ in theirs]
            for (_, facts), (_, others) in zip(mine, theirs, strict=True):
                assert facts.keys() == others.keys()
                assert facts.get("strategy", {}) == pytest.approx(
                    others.get("strategy", {}), abs=1e-5
                )


def test_a_fork_shares_no_memory_and_an_ended_episode_leaves_none(trained: str) -> None:
    agent, reference = make_agent(trained), make_agent(trained)
    seed = next(s for s in range(50) if len(all_steps(make_agent(trained), s)) == 5)
    expected = all_steps(reference, seed)
    episode = Episode(Cue(num_players=3, longest=5), seed, compiled=False)
    for step in expected:
        found = agent.act(turns(episode))
        assert [d.action for d in found] == [action for action, _ in step]
        if episode.steps_played < 4:
            fork = episode.fork()
            while not fork.over:  # plays on with no memory of what came before
                fork.act({seat: d.action for seat, d in enumerate(agent.act(turns(fork)))})
            agent.forget(Turn(fork, 0).episode_key)
        episode.act({seat: d.action for seat, d in enumerate(found)})
    assert agent._memories._kept  # type: ignore[attr-defined]
    agent.forget(Turn(episode, 0).episode_key)
    assert not agent._memories._kept  # type: ignore[attr-defined]


# A task of memory


def cue_returns(algo: Any, recurrent: bool, seats: int, seed: int) -> float:
    """The mean return of a player in the last episodes of a training."""
    returns: list[float] = []
    if algo == "mappo":
        settings = Settings(
            num_envs=16, horizon=12, hidden=24, minibatches=2, learning_rate=1e-2, seed=seed,
            central=True, recurrent=recurrent, value_norm=recurrent,
        )  # fmt: skip
        trainer = Trainer(CUE, {"num_players": seats}, settings)
        for number in range(24):
            trainer.update(number / 24)
            returns += trainer.returns
        return float(np.mean(returns[-300:]))
    learner = ValueLearner(
        Cue(num_players=seats), algo=algo, compiled=False, num_envs=8, hidden=24, mixing=8,
        warm_up=100, learning_rate=5e-3, gamma=0.9, target_every=50, memory=2000, batch_size=64,
        episodes=16, explore_end=0.0, recurrent=recurrent, seed=seed,
    )  # fmt: skip
    for number in range(600):
        returns += [float(row.mean()) for row in learner.update(number / 600)]
    return float(np.mean(returns[-300:]))


@pytest.mark.slow
@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize(("algo", "seats"), [("vdn", 2), ("qmix", 3), ("mappo", 3), ("iql", 5)])
def test_only_who_remembers_names_a_cue_that_is_gone(cue: None, algo: str, seats: int) -> None:
    """By the last observation alone nobody is right more often than once in three times."""
    assert min(cue_returns(algo, True, seats, seed) for seed in range(3)) > 0.97
    assert cue_returns(algo, False, seats, 0) == pytest.approx(1 / 3, abs=0.08)
