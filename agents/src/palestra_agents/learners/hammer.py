"""HAMMER: a central agent sends private messages to independent PPO learners.

Gupta, Srinivasaraghavan, Mohalik, Kumar and Taylor, "HAMMER: Multi-Level Coordination of
Reinforcement Learning Agents via Learned Messaging", 2021. The central agent reads the observations
of all seats and sends each seat `message` numbers. A seat reads its own observation, its number and
its message, and nothing else. The messages pass a discretise/regularise unit (Foerster, Assael, de
Freitas and Whiteson, "Learning to Communicate with Deep Multi-Agent Reinforcement Learning",
NeurIPS 2016): noise and a sigmoid in training, a threshold in play. The gradients of the seats'
losses flow back through the messages and are all that teaches the central agent. `message=0` is the
baseline: independent learners. All seats share one local network.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import torch
from palestra import ArrayGame, Meta
from torch import Tensor, nn

from palestra_agents.checkpoints import load_weights, require_finite
from palestra_agents.learners.field import Field, rules_of, with_seats
from palestra_agents.learners.policies import (
    Local,
    advantages,
    chosen_of,
    clipped_loss,
    descend,
    entropy_of,
    standardised,
    tanh_network,
)
from palestra_agents.settings import (
    Checked,
    Clip,
    Discount,
    Entropy,
    Epochs,
    GAELambda,
    Hidden,
    Horizon,
    Lanes,
    LearningRate,
    Seed,
    ValueWeight,
    read_settings,
)


@dataclass(frozen=True)
class HammerSettings(Checked):
    """`horizon` steps of `num_envs` lanes make one update of `epochs` passes over `minibatches`."""

    num_envs: Lanes = 64
    horizon: Horizon = 25
    epochs: Epochs = 4
    minibatches: Annotated[int, Meta(ge=1, description="parts of the data of an epoch")] = 4
    learning_rate: LearningRate = 1e-3
    gamma: Discount = 0.95
    gae_lambda: GAELambda = 0.95
    clip: Clip = 0.2
    entropy: Entropy = 0.01
    value_weight: ValueWeight = 0.5
    hidden: Hidden = 64
    message: Annotated[int, Meta(ge=0, description="numbers in a message; 0 for no messages")] = 3
    channel: Annotated[
        Literal["bits", "real"],
        Meta(description="what a number of a message is in play: 0 or 1, or anything from 0 to 1"),
    ] = "bits"
    noise: Annotated[
        float, Meta(ge=0, description="standard deviation of the noise of messages in training")
    ] = 0.5
    seed: Seed = 0


class Frame(NamedTuple):
    """One step of all lanes (N, P, …): what was seen, sent, done and paid."""

    seen: Tensor
    masks: Tensor
    noise: Tensor  # of the messages
    actions: Tensor
    logprobs: Tensor
    values: Tensor
    rewards: Tensor
    ended: Tensor  # nothing follows: the episode is over
    cut: Tensor  # value of the last observation where time was up, else 0


class Hammer:
    """Trains the central agent and the seats; `update` plays a horizon and learns from it."""

    kind = HammerSettings
    changing = ("steps", "generator", "field", "local", "central", "optimizer")
    algo = "hammer"

    def __init__(
        self,
        env: str | ArrayGame[Any],
        options: Mapping[str, Any] | None = None,
        *,
        compiled: bool | None = None,
        **settings: Any,
    ) -> None:
        self.settings = read_settings(HammerSettings, settings, "hammer")
        chosen = self.settings
        self.generator = torch.Generator().manual_seed(chosen.seed)
        self.field = Field(rules_of(env, options or {}), chosen.num_envs, chosen.seed, compiled)
        width, seats = self.field.width, self.field.seats
        torch.manual_seed(chosen.seed)
        self.local = Local(width + seats + chosen.message, self.field.actions, chosen.hidden)
        self.central = nn.Sequential()
        if chosen.message:
            self.central = tanh_network(width * seats, seats * chosen.message, chosen.hidden)
        learnt = [*self.local.parameters(), *self.central.parameters()]
        self.optimizer = torch.optim.Adam(learnt, lr=chosen.learning_rate)
        self.steps = 0
        self.finished: list[np.ndarray[Any, Any]] = []  # returns of episodes, in the last update

    @property
    def sees_all(self) -> bool:
        return self.settings.message > 0

    # Playing

    def messages(self, seen: Tensor, noise: Tensor | None = None) -> Tensor:
        """The messages (M, P, K) of the central agent, which sees all of `seen` (M, P, O).

        noise: of the form of the messages, in training; without it they are as in play.
        """
        shape = (len(seen), self.field.seats, self.settings.message)
        if not self.settings.message:
            return torch.zeros(shape)
        sent: Tensor = self.central(seen.flatten(1)).reshape(shape)
        return regularise(sent, noise, self.settings.channel)

    def look(self, seen: Tensor, masks: Tensor, messages: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities (M, P, A) and values (M, P) of seats with their own messages."""
        found: tuple[Tensor, Tensor] = self.local(
            torch.cat([with_seats(seen), messages], -1), masks
        )
        return found

    @torch.no_grad()
    def act(self, seen: Tensor, masks: Tensor) -> Tensor:
        """The likeliest actions (M, P), by messages without noise."""
        logprobs, _ = self.look(seen, masks, self.messages(seen))
        require_finite(logprobs)
        return logprobs.argmax(-1)

    def _frame(self) -> Frame:
        seen, masks = self.field.view()
        shape = (*seen.shape[:2], self.settings.message)
        noise = self.settings.noise * torch.randn(shape, generator=self.generator)
        logprobs, values = self.look(seen, masks, self.messages(seen, noise))
        require_finite(logprobs)
        flat = torch.multinomial(logprobs.exp().flatten(0, 1), 1, generator=self.generator)
        actions = flat.reshape(values.shape)
        step = self.field.step(actions)
        self.finished += self.field.returns
        fresh = torch.from_numpy(self.field.fresh).unsqueeze(1)
        cut = torch.zeros_like(values)
        timed_out = fresh & ~step.ended.unsqueeze(1)
        if timed_out.any():
            last = self.look(step.after, step.masks_after, self.messages(step.after, noise))[1]
            cut = torch.where(timed_out, last, cut)
        taken, ended = chosen_of(logprobs, actions), fresh.expand_as(values)
        return Frame(seen, masks, noise, actions, taken, values, step.rewards, ended, cut)

    # Learning

    def update(self, progress: float = 0.0) -> list[np.ndarray[Any, Any]]:
        """Play a horizon and learn from it; returns the returns of finished episodes."""
        chosen, self.finished = self.settings, []
        with torch.no_grad():
            frames = [self._frame() for _ in range(chosen.horizon)]
            seen, masks = self.field.view()
            last = self.look(seen, masks, self.messages(seen))[1]
        gains = advantages(frames, last, chosen.gamma, chosen.gae_lambda)
        played = Frame(*(torch.cat(parts) for parts in zip(*frames, strict=True)))
        for _ in range(chosen.epochs):
            order = torch.randperm(len(played.seen), generator=self.generator)
            for rows in order.chunk(chosen.minibatches):
                part = Frame(*(kept[rows] for kept in played))
                descend(self.loss(part, gains.flatten(0, 1)[rows]), self.optimizer)
        self.steps += chosen.horizon * chosen.num_envs
        return self.finished

    def loss(self, part: Frame, gains: Tensor) -> Tensor:
        """The seats' mean PPO loss, a function of what the central agent sent."""
        logprobs, values = self.look(part.seen, part.masks, self.messages(part.seen, part.noise))
        return clipped_loss(
            self.settings,
            logprobs=chosen_of(logprobs, part.actions),
            before=part.logprobs,
            gains=standardised(gains),
            values=values,
            wanted=gains + part.values,
            entropy=entropy_of(logprobs),
        ).mean()

    # Keeping

    def weights(self) -> dict[str, Any]:
        """What `load_weights` needs."""
        return {"local": self.local.state_dict(), "central": self.central.state_dict()}

    def load_weights(self, kept: Mapping[str, Any]) -> None:
        load_weights(self.local, kept["local"], "local")
        load_weights(self.central, kept["central"], "central")


def regularise(sent: Tensor, noise: Tensor | None, channel: str) -> Tensor:
    """The discretise/regularise unit of Foerster et al. (2016).

    With noise, the sigmoid of noisy numbers; without, 1 for numbers above 0 and 0 for others if
    the channel is "bits", and the sigmoid if it is "real".
    """
    if noise is not None:
        return (sent + noise).sigmoid()
    return (sent > 0).float() if channel == "bits" else sent.sigmoid()
