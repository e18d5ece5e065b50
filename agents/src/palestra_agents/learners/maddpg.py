"""MADDPG: every seat has a policy of its own observation and a critic of everybody's.

Lowe, Wu, Tamar, Harb, Abbeel and Mordatch, "Multi-Agent Actor-Critic for Mixed
Cooperative-Competitive Environments", NeurIPS 2017. Actions are numbered; policies are relaxed by
the Gumbel-softmax, as in the paper, so that the critic's gradient reaches them. With `ensemble`
sub-policies a seat draws one for each episode and trains it on the steps that it played. With
`infer` a seat does not know the others' policies: it fits one to each other seat's actions, by
likelihood with an entropy bonus, and uses these in its critic's targets. `central=false` is the
paper's baseline DDPG, whose critic knows only the seat's own observation and action.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
from palestra import ArrayGame, Meta
from torch import Tensor, nn

from palestra_agents.checkpoints import (
    load_weights,
    require_finite,
    require_names,
    require_tensor,
)
from palestra_agents.learners.field import (
    Field,
    Memory,
    rules_of,
)
from palestra_agents.learners.policies import ILLEGAL, descend
from palestra_agents.settings import (
    BatchSize,
    Checked,
    Discount,
    Hidden,
    Kept,
    Lanes,
    LearningRate,
    Seed,
    WarmUp,
    read_settings,
)

PARTS = ("policies", "critics", "inferred")


@dataclass(frozen=True)
class MADDPGSettings(Checked):
    """After every `every` steps of a lane, all seats learn from `batch_size` kept steps."""

    num_envs: Lanes = 32
    batch_size: BatchSize = 512
    memory: Kept = 100_000
    every: Annotated[int, Meta(ge=1, description="steps of a lane between updates")] = 3
    learning_rate: LearningRate = 3e-3
    gamma: Discount = 0.95
    follow: Annotated[
        float, Meta(gt=0, le=1, description="how far target networks move towards the learnt ones")
    ] = 0.01
    hidden: Hidden = 64
    ensemble: Annotated[int, Meta(ge=1, description="sub-policies of every seat")] = 1
    infer: Annotated[bool, Meta(description="whether the others' policies are inferred")] = False
    inference_entropy: Annotated[
        float, Meta(ge=0, description="weight of the inferred policies' entropy")
    ] = 1e-3
    central: Annotated[bool, Meta(description="false: critics see one seat only (DDPG)")] = True
    logit_cost: Annotated[float, Meta(ge=0, description="weight of the squared logits")] = 1e-3
    warm_up: WarmUp = 2_000
    seed: Seed = 0


def network(inputs: int, outputs: int, hidden: int) -> nn.Sequential:
    """Two hidden layers."""
    return nn.Sequential(
        nn.Linear(inputs, hidden),
        nn.ReLU(),
        nn.Linear(hidden, hidden),
        nn.ReLU(),
        nn.Linear(hidden, outputs),
    )


class SeatLearner:
    """The networks of one seat: sub-policies, a critic of each, and inferred policies of others."""

    changing = (
        "policies",
        "critics",
        "inferred",
        "target_policies",
        "target_critics",
        "target_inferred",
        "policy_steps",
        "critic_steps",
        "inference_steps",
    )

    def __init__(self, seat: int, field: Field, settings: MADDPGSettings) -> None:
        self.seat = seat
        wide, actions, hidden = field.width, field.actions, settings.hidden
        known = field.seats if settings.central else 1
        count = settings.ensemble
        self.policies = nn.ModuleList(network(wide, actions, hidden) for _ in range(count))
        self.critics = nn.ModuleList(
            network(known * (wide + actions), 1, hidden) for _ in range(count)
        )
        others = field.seats if settings.infer else 0
        self.inferred = nn.ModuleList(network(wide, actions, hidden) for _ in range(others))
        self.target_policies = deepcopy(self.policies)
        self.target_critics = deepcopy(self.critics)
        self.target_inferred = deepcopy(self.inferred)
        rate = settings.learning_rate
        self.policy_steps = torch.optim.Adam(self.policies.parameters(), lr=rate)
        self.critic_steps = torch.optim.Adam(self.critics.parameters(), lr=rate)
        self.inference_steps = (
            torch.optim.Adam(self.inferred.parameters(), lr=rate) if others else None
        )

    def follow(self, share: float) -> None:
        """Move the target networks a little."""
        pairs = (
            (self.policies, self.target_policies),
            (self.critics, self.target_critics),
            (self.inferred, self.target_inferred),
        )
        with torch.no_grad():
            for learnt, target in pairs:
                for new, old in zip(learnt.parameters(), target.parameters(), strict=True):
                    old.lerp_(new, share)


class MADDPG:
    """Trains all seats; `update` plays one step in every lane and learns."""

    kind = MADDPGSettings
    sees_all = False
    changing = ("steps", "plays", "generator", "field", "seats", "memory", "playing")
    algo = "maddpg"

    def __init__(
        self,
        env: str | ArrayGame[Any],
        options: Mapping[str, Any] | None = None,
        *,
        compiled: bool | None = None,
        **settings: Any,
    ) -> None:
        self.settings = read_settings(MADDPGSettings, settings, "maddpg")
        chosen = self.settings
        self.steps = self.plays = 0
        self.generator = torch.Generator().manual_seed(chosen.seed)
        self.field = Field(rules_of(env, options or {}), chosen.num_envs, chosen.seed, compiled)
        torch.manual_seed(chosen.seed)
        self.seats = [SeatLearner(seat, self.field, chosen) for seat in range(self.field.seats)]
        self.memory = Memory(chosen.memory, self.generator)
        self.playing = self.draw(chosen.num_envs)  # (N, P): the sub-policy of each seat

    # Playing

    def draw(self, lanes: int) -> Tensor:
        """Which sub-policy each seat plays in each lane."""
        shape = (lanes, self.field.seats)
        return torch.randint(self.settings.ensemble, shape, generator=self.generator)

    def logits(self, seen: Tensor, masks: Tensor, playing: Tensor) -> Tensor:
        """Logits (M, P, A) of the sub-policies (M, P) that are playing."""
        found = []
        for seat in self.seats:
            number, own = seat.seat, seen[:, seat.seat]
            each = torch.stack([policy(own) for policy in seat.policies], 1)
            found.append(each[torch.arange(len(own)), playing[:, number]])
        return legal_only(torch.stack(found, 1), masks)

    @torch.no_grad()
    def act(self, seen: Tensor, masks: Tensor) -> Tensor:
        """The likeliest actions (M, P) of the first sub-policies."""
        first = torch.zeros(seen.shape[:2], dtype=torch.long)
        logits = self.logits(seen, masks, first)
        require_finite(logits)
        return logits.argmax(-1)

    @torch.no_grad()
    def update(self, progress: float = 0.0) -> list[np.ndarray[Any, Any]]:
        """Play one step in every lane and learn; returns the returns of finished episodes."""
        chosen = self.settings
        seen, masks = self.field.view()
        chances = self.logits(seen, masks, self.playing).softmax(-1)
        require_finite(chances)
        drawn = torch.multinomial(chances.flatten(0, 1), 1, generator=self.generator)
        step = self.field.step(drawn.reshape(masks.shape[:2]))
        self.memory.add({**step.rows(), "playing": self.playing.clone()})
        fresh = torch.from_numpy(self.field.fresh)
        self.playing[fresh] = self.draw(int(fresh.sum()))
        self.steps += chosen.num_envs
        self.plays += 1
        if self.steps >= chosen.warm_up and self.plays % chosen.every == 0:
            with torch.enable_grad():
                for seat in self.seats:
                    self.learn(seat)
        return self.field.returns

    # Learning

    def learn(self, seat: SeatLearner) -> None:
        """Fit one seat's inferred policies, critics and sub-policies to a batch."""
        rows = self.memory.sample(self.settings.batch_size)
        if seat.inference_steps is not None:
            self.infer(seat, rows)
        losses = [self.critic_loss(seat, k, rows) for k in range(self.settings.ensemble)]
        descend(torch.stack(losses).sum(), seat.critic_steps)
        losses = [self.policy_loss(seat, k, rows) for k in range(self.settings.ensemble)]
        descend(torch.stack(losses).sum(), seat.policy_steps)
        seat.follow(self.settings.follow)

    def infer(self, seat: SeatLearner, rows: Mapping[str, Tensor]) -> None:
        """Fit the others' policies to what they did (the paper's equation 7)."""
        assert seat.inference_steps is not None
        loss = torch.zeros(())
        for other in range(self.field.seats):
            if other != seat.seat:
                logits = seat.inferred[other](rows["seen"][:, other])
                logprobs = legal_only(logits, rows["masks"][:, other]).log_softmax(-1)
                taken = logprobs.gather(1, rows["actions"][:, other : other + 1])
                entropy = -(logprobs.exp() * logprobs.clamp(min=-50)).sum(-1)
                loss = loss - (taken.mean() + self.settings.inference_entropy * entropy.mean())
        descend(loss, seat.inference_steps)

    def critic_loss(self, seat: SeatLearner, k: int, rows: Mapping[str, Tensor]) -> Tensor:
        """Squared error of the critic of one sub-policy, on the steps that it played."""
        with torch.no_grad():
            moves = self.later_moves(seat, k, rows)
            later = self.judged(seat, seat.target_critics[k], rows["after"], moves)
            goes_on = (~rows["ended"]).float()
            goal = rows["rewards"][:, seat.seat] + self.settings.gamma * goes_on * later
        moves = one_hot(rows["actions"], self.field.actions)
        error = self.judged(seat, seat.critics[k], rows["seen"], moves) - goal
        return own_mean(error.square(), rows["playing"][:, seat.seat] == k)

    def later_moves(self, seat: SeatLearner, k: int, rows: Mapping[str, Tensor]) -> Tensor:
        """Moves (M, P, A) of the target policies in the states after the steps."""
        moves = []
        for other in self.seats:
            own = rows["after"][:, other.seat]
            if other.seat != seat.seat and seat.inference_steps is not None:
                logits = seat.target_inferred[other.seat](own)
            else:
                mine = k if other.seat == seat.seat else 0
                logits = other.target_policies[mine](own)
                if other.seat != seat.seat and self.settings.ensemble > 1:
                    each = torch.stack([policy(own) for policy in other.target_policies], 1)
                    logits = each[torch.arange(len(own)), rows["playing"][:, other.seat]]
            moves.append(gumbel(legal_only(logits, rows["masks_after"][:, other.seat]), hard=True))
        return torch.stack(moves, 1)

    def policy_loss(self, seat: SeatLearner, k: int, rows: Mapping[str, Tensor]) -> Tensor:
        """The critic's value of the relaxed move of one sub-policy, others as they moved."""
        number = seat.seat
        logits = legal_only(seat.policies[k](rows["seen"][:, number]), rows["masks"][:, number])
        moves = one_hot(rows["actions"], self.field.actions)
        moves = torch.cat(
            [moves[:, :number], gumbel(logits, hard=True).unsqueeze(1), moves[:, number + 1 :]], 1
        )
        value = self.judged(seat, seat.critics[k], rows["seen"], moves)
        bounded = logits.masked_fill(logits <= ILLEGAL / 2, 0.0).square().mean(-1)
        loss = self.settings.logit_cost * bounded - value
        return own_mean(loss, rows["playing"][:, number] == k)

    def judged(self, seat: SeatLearner, critic: nn.Module, seen: Tensor, moves: Tensor) -> Tensor:
        """A critic's values (M,); without `central` it reads only the seat's own part."""
        if not self.settings.central:
            seen, moves = seen[:, seat.seat, None], moves[:, seat.seat, None]
        found: Tensor = critic(torch.cat([seen.flatten(1), moves.flatten(1)], 1))
        return found.squeeze(-1)

    # Keeping

    def check(self) -> None:
        ensemble, playing = self.settings.ensemble, self.playing
        require_tensor("playing", playing, tuple(playing.shape), torch.int64, (0, ensemble - 1))
        self.field.check_rows(self.memory.rows, playing=ensemble)

    def weights(self) -> dict[str, Any]:
        """What `load_weights` needs."""
        return {
            str(seat.seat): {name: getattr(seat, name).state_dict() for name in PARTS}
            for seat in self.seats
        }

    def load_weights(self, kept: Mapping[str, Any]) -> None:
        for seat in self.seats:
            parts = require_names("weights", kept[str(seat.seat)], PARTS)
            for name in PARTS:
                load_weights(getattr(seat, name), parts[name], f"{seat.seat}.{name}")


def legal_only(logits: Tensor, masks: Tensor) -> Tensor:
    """Logits of which those of illegal actions are very low."""
    legal = masks | ~masks.any(-1, keepdim=True)
    return logits.masked_fill(~legal, ILLEGAL)


def gumbel(logits: Tensor, hard: bool) -> Tensor:
    """A relaxed sample of an action; `hard` rounds it and keeps the gradient."""
    return nn.functional.gumbel_softmax(logits, tau=1.0, hard=hard)


def one_hot(actions: Tensor, count: int) -> Tensor:
    return nn.functional.one_hot(actions, count).float()


def own_mean(losses: Tensor, own: Tensor) -> Tensor:
    """The mean loss over the rows that are a sub-policy's own; 0 if it has none."""
    return (losses * own).sum() / own.sum().clamp(min=1)
