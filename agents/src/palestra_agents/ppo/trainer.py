"""PPO with one policy in every seat: self-play between rivals, parameter sharing in teams.

Schulman, Wolski, Dhariwal, Radford and Klimov, "Proximal policy optimization algorithms", 2017,
with the details of Huang et al., "The 37 implementation details of PPO", 2022. Each seat of each
lane is its own stream: a decision's reward is everything paid until the same seat decides again.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from palestra import InvalidOption, make
from palestra.engine.batch import Batch
from palestra.files import write_bytes
from palestra.records.versions import check_versions, versions_for, versions_of_names
from palestra.task_filter import TaskFilter, filter_tasks
from torch import Tensor, nn

from palestra_agents.checkpoints import (
    blaming,
    load_generator,
    load_optimizer,
    require_all_finite,
    require_finite,
    require_tensor,
)
from palestra_agents.lane_moves import LaneMoves
from palestra_agents.ppo.checkpoint import CHECKPOINT, FORMAT, Saved, path_in, read_checkpoint
from palestra_agents.ppo.network import central_views, one_step
from palestra_agents.ppo.policy import Settings, array_game, load_network, network_for
from palestra_agents.ppo.teacher import Teacher, distance
from palestra_agents.settings import read_settings

SEEDS = 2**62  # of tasks


@dataclass
class Rollout:
    """The data of one horizon: arrays of shape (T, N, P, …)."""

    observations: Tensor
    masks: Tensor
    acting: Tensor
    actions: Tensor
    logprobs: Tensor
    values: Tensor
    rewards: Tensor
    ended: Tensor  # the seat's episode is over after this step
    bootstrap: Tensor  # value of the last observation if the episode was truncated, else 0
    memory: Tensor | None = None  # before the first step, (N, P, *memory_shape)


class Trainer:
    """A training run: `update` until `steps` is enough; `save` and `load` to resume it later."""

    def __init__(
        self,
        env: str,
        options: Mapping[str, Any],
        settings: Settings,
        tasks: TaskFilter | None = None,
        rewards: Sequence[str] = (),
    ) -> None:
        rules = array_game(env, options)
        self.env, self.options, self.settings, self.tasks = env, dict(options), settings, tasks
        self.rewards = tuple(rewards)  # step shapers that pay; the game's own terms if empty
        self.game, self.steps, self.updates = rules, 0, 0
        self.curve: list[dict[str, float]] = []  # one row per report so far
        self.returns: list[float] = []  # of seats, in the last update with finished episodes
        torch.manual_seed(settings.seed)
        self.network = network_for(rules, settings)
        self.teacher = Teacher(rules, settings) if settings.teacher else None
        rate = settings.learning_rate
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=rate, eps=1e-5)
        self.batch: Batch = make(
            env,
            view="batch",
            num_envs=settings.num_envs,
            autoreset="disabled",
            rewards=self.rewards or None,
            gamma=settings.gamma if self.rewards else 1.0,
            **options,
        )
        self.batch.reset(settings.seed)
        self.moves = LaneMoves(self.batch)
        self.versions = versions_for(self.game, self, "torch") | versions_of_names(rewards=rewards)
        lanes, seats = settings.num_envs, rules.num_players
        self.memory = torch.zeros(lanes, seats, *self.network.memory_shape)
        if settings.recurrent and tasks:
            raise InvalidOption("--filter is for policies without memory; leave out recurrent")
        self.playing = self._playing_seats()
        self.learning = self.playing.clone()
        self.kept: tuple[Tensor, Tensor] | None = None  # seeds (K,) and which seats learn (K, P)

    def _playing_seats(self) -> Tensor:
        """(N, P): which seats play the policy; the others play at random."""
        lanes, seats = self.settings.num_envs, self.game.num_players
        playing = torch.ones(lanes, seats, dtype=torch.bool)
        if self.game.payoffs == "zero-sum" and seats == 2:
            rivals = torch.arange(round(lanes * self.settings.random_rivals))
            playing[rivals, rivals % 2] = False
        return playing

    # Tasks

    @torch.no_grad()
    def choose_tasks(self, tasks: TaskFilter) -> None:
        """Draw seeds and keep those with a seat worth training on."""
        seeds = torch.randint(SEEDS, (tasks.candidates,))
        options = self.options
        fit = filter_tasks(self.env, seeds.tolist(), tasks, agent=self.policy, options=options)
        learn = torch.from_numpy(fit)
        first, some = self.kept is None, learn.any(1)
        self.kept = seeds[some], learn[some]
        if first:
            self._deal(np.ones(self.settings.num_envs, bool))

    def policy(self, observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Actions of the policy in all seats, of shape (N, P)."""
        seen = torch.from_numpy(observations.astype(np.float32))
        blank = torch.zeros(*masks.shape[:2], *self.network.memory_shape)
        chances = self.evaluate(seen, torch.from_numpy(masks.copy()), blank)[0].exp()
        return torch.multinomial(chances.flatten(0, 1), 1).reshape(masks.shape[:2]).numpy()

    def _deal(self, lanes: np.ndarray) -> None:
        """Start new episodes in these lanes (N,), from the kept tasks if there is a filter."""
        if self.kept is None:
            self.batch.reset(lanes=lanes)
            return
        seeds, learn = self.kept
        drawn = torch.randint(len(seeds), lanes.shape)
        fresh = torch.from_numpy(lanes).unsqueeze(1)
        self.learning = torch.where(fresh, self.playing & learn[drawn], self.learning)
        self.batch.reset(seeds[drawn].tolist(), lanes)

    # Playing

    def update(self, progress: float = 0.0) -> dict[str, float]:
        """Play one horizon and learn from it; `progress` in [0, 1] lowers the learning rate."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.learning_rate * max(0.05, 1.0 - progress)
        if self.tasks and self.updates % self.tasks.every == 0:
            self.choose_tasks(self.tasks)
        rollout = self.collect()
        advantages, targets = advantages_of(rollout, self.last_values(), self.settings)
        teaching = self.teacher.weight(progress) if self.teacher else 0.0
        losses = self.learn(rollout, advantages, targets, teaching)
        self.steps += rollout.acting.shape[0] * rollout.acting.shape[1]
        self.updates += 1
        return losses

    def views(self) -> tuple[Tensor, Tensor, Tensor]:
        """Copies of all seats' observations, legal masks, and whether they are to act."""
        masks = torch.from_numpy(self.batch.masks.copy())
        return self.seen(), masks, torch.from_numpy(self.batch.acting.copy())

    def seen(self) -> Tensor:
        """A copy of what the network reads: (N, P, …)."""
        seen = torch.from_numpy(self.batch.observations.astype(np.float32))
        return central_views(seen) if self.settings.central else seen

    def evaluate(
        self, seen: Tensor, masks: Tensor, memory: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Log-probabilities (N, P, A), values (N, P) and the memory afterwards."""
        streams = (part.flatten(0, 1) for part in (seen, masks, memory))
        logprobs, values, after = one_step(self.network, *streams)
        require_finite(logprobs)
        return (
            logprobs.reshape(masks.shape),
            values.reshape(masks.shape[:2]),
            after.reshape(memory.shape),
        )

    @torch.no_grad()
    def collect(self) -> Rollout:
        steps: list[tuple[Tensor, ...]] = []
        before, self.returns, memory = self.returns, [], self.memory
        for _ in range(self.settings.horizon):
            seen, masks, acting = self.views()
            logprobs, values, after = self.evaluate(seen, masks, self.memory)
            self.memory = torch.where(acting[..., None, None], after, self.memory)
            drawn_from = torch.where(self.playing.unsqueeze(-1), logprobs.exp(), masks.float())
            choice = torch.multinomial(drawn_from.flatten(0, 1), 1).reshape(acting.shape)
            acting = acting & self.learning
            chosen = logprobs.gather(-1, choice.unsqueeze(-1)).squeeze(-1)
            rewards, ended, bootstrap = self._step(choice)
            steps.append((seen, masks, acting, choice, chosen, values, rewards, ended, bootstrap))
        self.returns = self.returns or before
        rollout = Rollout(*(torch.stack(parts) for parts in zip(*steps, strict=True)))
        rollout.memory = memory
        return rollout

    def _step(self, actions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Play a step; returns rewards, which seats have ended, and values of truncated seats."""
        batch = self.batch
        self.moves.add(actions.numpy())
        _, rewards, terminated, truncated, _ = batch.step(actions.numpy())
        ended = torch.from_numpy(terminated | truncated)
        bootstrap = torch.zeros(ended.shape)
        cut = np.argwhere(truncated)
        if len(cut):
            lanes, seats = cut.T
            seen = self.seen()[lanes, seats]
            masks = torch.ones(len(lanes), self.game.num_actions)
            memory = self.memory[lanes, seats]
            bootstrap[lanes, seats] = one_step(self.network, seen, masks, memory)[1]
        self.memory = torch.where(ended[..., None, None], 0.0, self.memory)
        paid = torch.from_numpy(rewards.astype(np.float32))
        if batch.finished.any():
            self.returns += batch.statistics()["returns"][batch.finished].ravel().tolist()
            self._deal(batch.finished.copy())
        return paid, ended, bootstrap

    @torch.no_grad()
    def last_values(self) -> Tensor:
        seen, masks, _ = self.views()
        return self.evaluate(seen, masks, self.memory)[1]

    # Learning

    def learn(
        self, rollout: Rollout, advantages: Tensor, targets: Tensor, teaching: float = 0.0
    ) -> dict[str, float]:
        """Clipped policy steps on the decisions of acting seats.

        teaching: the weight of the distance to the teacher.
        """
        settings, chosen = self.settings, rollout.acting.flatten().nonzero().squeeze(-1)
        flat = {f.name: getattr(rollout, f.name).flatten(0, 2)[chosen] for f in fields(Rollout)[:6]}
        gains, goals = advantages.flatten()[chosen], targets.flatten()[chosen]
        gains = (gains - gains.mean()) / (gains.std() + 1e-8)
        norm, unit = self.network.norm, torch.ones(())
        if norm is not None:
            norm.add(goals)
            unit = norm.deviation
        if self.teacher and teaching:
            flat["taught"] = self.teacher.chances(flat["observations"], flat["masks"])
        kept: list[list[float]] = []
        for _ in range(settings.epochs):
            for part, logprobs, values in self.parts(rollout, flat):
                taken = logprobs.gather(1, flat["actions"][part].unsqueeze(1)).squeeze(1)
                ratio = (taken - flat["logprobs"][part]).exp()
                bounded = ratio.clamp(1 - settings.clip, 1 + settings.clip)
                policy = -torch.min(ratio * gains[part], bounded * gains[part]).mean()
                value = ((values - goals[part]) / unit).square().mean()
                entropy = -(logprobs.exp() * logprobs.clamp(min=-50)).sum(1).mean()
                loss = policy + settings.value_weight * value - settings.entropy * entropy
                if "taught" in flat:
                    loss = loss + teaching * distance(flat["taught"][part], logprobs)
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.network.parameters(), settings.max_gradient)
                self.optimizer.step()
                kept.append([policy.item(), value.item(), entropy.item()])
        policy, value, entropy = np.mean(kept, axis=0).tolist()
        require_finite(policy + value + entropy)
        return {"policy": policy, "value": value, "entropy": entropy}

    def parts(
        self, rollout: Rollout, flat: dict[str, Tensor]
    ) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """All decisions once, in minibatches: their numbers, log-probabilities and values now.

        flat: the rows of the decisions of acting seats, in the order of the rollout.
        """
        count = len(flat["actions"])
        if self.network.memory:
            yield from self.streams(rollout, count)
            return
        size = max(1, count // self.settings.minibatches)
        order = torch.randperm(count)
        for start in range(0, count, size):
            part = order[start : start + size]
            yield part, *self.network(flat["observations"][part], flat["masks"][part])

    def streams(self, rollout: Rollout, count: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """As `parts`, by streams: a seat of a lane, whose steps stay together.

        Memories go on through the horizon, from those with which it was played.
        """
        assert rollout.memory is not None
        memory, acting = rollout.memory.flatten(0, 1), rollout.acting.flatten(1)
        numbers = torch.zeros_like(acting, dtype=torch.int64)
        numbers[acting] = torch.arange(count)
        fresh = torch.cat([torch.zeros_like(acting[:1]), rollout.ended.flatten(1)[:-1]])
        seen, masks = rollout.observations.flatten(1, 2), rollout.masks.flatten(1, 2)
        playing = acting.any(0).nonzero().squeeze(-1)
        order = playing[torch.randperm(len(playing))]
        size = max(1, len(playing) // self.settings.minibatches)
        for start in range(0, len(playing), size):
            own = order[start : start + size]
            there = acting[:, own]
            logprobs, values, _ = self.network.sequence(
                seen[:, own], masks[:, own], memory[own], fresh[:, own], there
            )
            yield numbers[:, own][there], logprobs[there], values[there]

    # Checkpoints

    def save(self, folder: Path) -> Path:
        """Write everything needed to play and to resume; the old checkpoint stays until then."""
        require_all_finite(self.network.state_dict())
        written = io.BytesIO()  # torch does not raise OSError for a full disk
        torch.save(
            {
                "format": FORMAT,
                "env": self.env,
                "options": self.options,
                "settings": asdict(self.settings),
                "tasks": asdict(self.tasks) if self.tasks else None,
                "rewards": self.rewards,
                "kept": self.kept,
                "learning": self.learning,
                "versions": self.versions,
                "steps": self.steps,
                "updates": self.updates,
                "curve": self.curve,
                "network": self.network.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "lanes": None if self.rewards else self.moves.state(),
                "torch_rng": torch.get_rng_state(),
                "memory": self.memory if self.network.memory else None,
            },
            written,
        )
        return write_bytes(folder / CHECKPOINT, written.getvalue())

    @classmethod
    def load(cls, folder: Path, *, other_versions: bool = False) -> Trainer:
        """Load a saved run; the same updates follow as without the interruption.

        With step shapers, episodes in progress are restarted. Raises `InvalidOption` for a run of
        other versions than those installed, unless `other_versions`.
        """
        saved, path = read_checkpoint(folder), path_in(folder)
        with blaming(path):
            settings = read_settings(Settings, saved.settings, "ppo")
            tasks = read_settings(TaskFilter, saved.tasks, "--filter") if saved.tasks else None
            trainer = cls(saved.env, saved.options, settings, tasks, saved.rewards)
        check_versions(folder, saved.versions, trainer.versions, accept=other_versions)
        with blaming(path):
            trainer.restore(saved)
        return trainer

    def restore(self, saved: Saved) -> None:
        """Bring a fresh trainer to a saved state; raises `InvalidOption` for one of another run."""
        shape = tuple(self.learning.shape)
        if self.rewards:  # shapers' memories of episodes are not saved: restart all episodes
            self.batch.reset(self.settings.seed + saved.updates)
        else:
            self.moves.replay(saved.lanes)
        load_network(self.network, saved.network)
        load_optimizer(self.optimizer, saved.optimizer)
        self.steps, self.updates, self.curve = saved.steps, saved.updates, saved.curve
        self.learning = require_tensor("learning", saved.learning, shape, torch.bool)
        if self.network.memory and not self.rewards:
            shape = tuple(self.memory.shape)
            self.memory = require_tensor("memory", saved.memory, shape, torch.float32, (-1, 1))
        if (self.learning & ~self.playing).any():
            raise InvalidOption("learning has seats that play at random")
        if self.tasks is not None and saved.kept is not None:
            seeds, learn = saved.kept
            count = (max(1, len(seeds)),)
            seeds = require_tensor("seeds of tasks", seeds, count, torch.int64, (0, SEEDS - 1))
            learn = require_tensor("seats of tasks", learn, (*count, shape[1]), torch.bool)
            self.kept = seeds, learn
        elif saved.kept is not None or (self.tasks is not None and saved.updates):
            raise InvalidOption("kept tasks and the filter of tasks go together")
        load_generator(torch.default_generator, saved.torch_rng, "torch_rng")
        self.last_values()  # fails for weights so large that nothing finite comes of them


def advantages_of(
    rollout: Rollout, last_values: Tensor, settings: Settings
) -> tuple[Tensor, Tensor]:
    """Generalised advantages and value targets (T, N, P), seat by seat (Schulman et al., 2016).

    Only acting steps count: a seat's reward accumulates until it acts again or its episode ends.
    """
    gamma, decay = settings.gamma, settings.gamma * settings.gae_lambda
    advantages = torch.zeros_like(rollout.values)
    paid, after, later = torch.zeros_like(last_values), last_values, torch.zeros_like(last_values)
    for t in reversed(range(len(rollout.values))):
        ended = rollout.ended[t]
        paid = rollout.rewards[t] + torch.where(ended, 0.0, paid)
        after = torch.where(ended, rollout.bootstrap[t], after)
        later = torch.where(ended, 0.0, later)
        gain = paid + gamma * after - rollout.values[t] + decay * later
        acting = rollout.acting[t]
        advantages[t] = torch.where(acting, gain, 0.0)
        paid = torch.where(acting, 0.0, paid)
        after = torch.where(acting, rollout.values[t], after)
        later = torch.where(acting, gain, later)
    return advantages, advantages + rollout.values
