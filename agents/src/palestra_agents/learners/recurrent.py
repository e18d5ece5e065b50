"""A population of recurrent learners with a move head and a message head.

"From Grunts to Grammar: Emergent Language from Cooperative Foraging", 2025: PPO with an LSTM, whose
policy has one head for the move and one for the token that is said in the same step. A population
of such agents is paired at random for every episode, so that no private code of two survives.
Where actions are `token * moves + move`, as in `grid/SignalForaging-v0`, the two heads are drawn
apart and their log-probabilities add up.

Schulman, Wolski, Dhariwal, Radford and Klimov, "Proximal policy optimization algorithms", 2017.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from palestra import ArrayGame, InvalidOption, Meta
from torch import Tensor, nn

from palestra_agents.checkpoints import load_weights, require_finite, require_tensor
from palestra_agents.learners.field import Field, rules_of
from palestra_agents.learners.policies import (
    ILLEGAL,
    advantages,
    chosen_of,
    clipped_loss,
    descend,
    entropy_of,
    standardised,
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
class RecurrentSettings(Checked):
    """`horizon` steps of `num_envs` lanes make one update of `epochs` passes through time."""

    num_envs: Lanes = 64
    horizon: Horizon = 24
    epochs: Epochs = 4
    learning_rate: LearningRate = 1e-3
    gamma: Discount = 0.99
    gae_lambda: GAELambda = 0.95
    clip: Clip = 0.2
    entropy: Entropy = 0.02
    value_weight: ValueWeight = 0.5
    hidden: Hidden = 64
    moves: Annotated[
        int, Meta(ge=0, description="moves beside each token; 0 if actions are moves alone")
    ] = 0
    population: Annotated[int, Meta(ge=1, description="agents that are paired")] = 1
    memory: Annotated[bool, Meta(description="false: the LSTM forgets at every step")] = True
    seed: Seed = 0


class Output(NamedTuple):
    """Log-probabilities of moves (M, A) and tokens (M, V), values (M,), and the next memory."""

    moves: Tensor
    tokens: Tensor
    values: Tensor
    memory: tuple[Tensor, Tensor]


class Talker(nn.Module):
    """One agent: an encoder, an LSTM, a head for moves, one for tokens, and one for values."""

    def __init__(self, inputs: int, moves: int, tokens: int, hidden: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh())
        self.lstm = nn.LSTMCell(hidden, hidden)
        self.move, self.token = nn.Linear(hidden, moves), nn.Linear(hidden, tokens)
        self.value = nn.Linear(hidden, 1)
        for head in (self.move, self.token):
            nn.init.orthogonal_(head.weight, 0.01)
            nn.init.zeros_(head.bias)

    def forward(self, seen: Tensor, masks: Tensor, memory: tuple[Tensor, Tensor]) -> Output:
        """For observations (M, O), masks of moves (M, A) and memories (M, H) of M streams."""
        hidden, cell = self.lstm(self.encoder(seen), memory)
        moves = self.move(hidden).masked_fill(~masks, ILLEGAL).log_softmax(-1)
        tokens = self.token(hidden).log_softmax(-1)
        return Output(moves, tokens, self.value(hidden).squeeze(-1), (hidden, cell))


class Frame(NamedTuple):
    """One step of all streams (N, P): what was seen, done and paid."""

    seen: Tensor
    masks: Tensor
    who: Tensor  # the agent that played each stream
    moves: Tensor
    tokens: Tensor
    logprobs: Tensor
    values: Tensor
    rewards: Tensor
    ended: Tensor  # nothing follows in this stream: its episode is over
    cut: Tensor  # value of the last observation where time was up, else 0


class Recurrent:
    """Trains the population; `update` plays a horizon and learns from it."""

    kind = RecurrentSettings
    sees_all = False
    changing = ("steps", "generator", "field", "agents", "optimizer", "who", "memory")
    algo = "recurrent"

    def __init__(
        self,
        env: str | ArrayGame[Any],
        options: Mapping[str, Any] | None = None,
        *,
        compiled: bool | None = None,
        **settings: Any,
    ) -> None:
        self.settings = read_settings(RecurrentSettings, settings, "recurrent")
        chosen = self.settings
        self.generator = torch.Generator().manual_seed(chosen.seed)
        self.field = Field(rules_of(env, options or {}), chosen.num_envs, chosen.seed, compiled)
        self.moves = chosen.moves or self.field.actions
        if self.field.actions % self.moves:
            raise InvalidOption(
                f"moves must divide the number of actions, {self.field.actions}, not {self.moves}"
            )
        self.tokens = self.field.actions // self.moves
        torch.manual_seed(chosen.seed)
        self.agents = nn.ModuleList(
            Talker(self.field.width, self.moves, self.tokens, chosen.hidden)
            for _ in range(chosen.population)
        )
        self.optimizer = torch.optim.Adam(self.agents.parameters(), lr=chosen.learning_rate)
        self.who = self.pair(chosen.num_envs)
        self.memory = self.blank(chosen.num_envs)
        self.steps = 0
        self.finished: list[np.ndarray[Any, Any]] = []  # returns of episodes, in the last update
        self.going: tuple[Tensor, Tensor] | None = None  # the memory of the episode of `act`

    # Playing

    def pair(self, lanes: int) -> Tensor:
        """Agents of every seat (N, P), drawn at random, different ones while there are enough."""
        seats, population = self.field.seats, self.settings.population
        if population >= seats:
            weights = torch.ones(lanes, population)
            return torch.multinomial(weights, seats, generator=self.generator)
        return torch.randint(population, (lanes, seats), generator=self.generator)

    def blank(self, lanes: int) -> tuple[Tensor, Tensor]:
        """The empty memory of every stream, (N, P, H) twice."""
        shape = (lanes, self.field.seats, self.settings.hidden)
        return torch.zeros(shape), torch.zeros(shape)

    def look(
        self, seen: Tensor, masks: Tensor, who: Tensor, memory: tuple[Tensor, Tensor]
    ) -> Output:
        """The output of the agent that plays each stream, all of shape (N, P, …)."""
        allowed = move_masks(masks, self.moves)
        flat = who.flatten()
        parts: list[Tensor | None] = [None] * 5
        for number, talker in enumerate(self.agents):
            own = (flat == number).nonzero().squeeze(-1)
            if not len(own):
                continue
            before = memory[0].flatten(0, 1)[own], memory[1].flatten(0, 1)[own]
            if not self.settings.memory:
                before = torch.zeros_like(before[0]), torch.zeros_like(before[1])
            out = talker(seen.flatten(0, 1)[own], allowed.flatten(0, 1)[own], before)
            for place, found in enumerate((*out[:3], *out[3])):
                whole = parts[place]
                if whole is None:
                    whole = torch.zeros(len(flat), *found.shape[1:])
                parts[place] = whole.index_put((own,), found)
        moves, tokens, values, hidden, cell = (
            part.reshape(*who.shape, *part.shape[1:]) for part in parts if part is not None
        )
        return Output(moves, tokens, values, (hidden, cell))

    @torch.no_grad()
    def collect(self) -> tuple[list[Frame], tuple[Tensor, Tensor]]:
        """A horizon of steps, and the memory with which it began."""
        start, frames = (self.memory[0].clone(), self.memory[1].clone()), []
        self.finished = []
        for _ in range(self.settings.horizon):
            frames.append(self._frame())
        return frames, start

    def _frame(self) -> Frame:
        seen, masks = self.field.view()
        out = self.look(seen, masks, self.who, self.memory)
        moves, tokens = self.draw(out.moves), self.draw(out.tokens)
        logprobs = chosen_of(out.moves, moves) + chosen_of(out.tokens, tokens)
        step = self.field.step(tokens * self.moves + moves)
        self.finished += self.field.returns
        fresh = torch.from_numpy(self.field.fresh)
        cut = torch.zeros_like(out.values)
        timed_out = fresh & ~step.ended
        if timed_out.any():
            last = self.look(step.after, step.masks_after, self.who, out.memory).values
            cut = torch.where(timed_out.unsqueeze(1), last, cut)
        ended = fresh.unsqueeze(1).expand_as(out.values)
        frame = Frame(
            seen, masks, self.who.clone(), moves, tokens, logprobs, out.values, step.rewards,
            ended, cut,
        )  # fmt: skip
        keep = (~fresh).float()[:, None, None]
        self.memory = out.memory[0] * keep, out.memory[1] * keep
        self.who[fresh] = self.pair(int(fresh.sum()))
        return frame

    def draw(self, logprobs: Tensor) -> Tensor:
        """A random action (N, P) by its log-probabilities (N, P, A)."""
        require_finite(logprobs)
        flat = torch.multinomial(logprobs.exp().flatten(0, 1), 1, generator=self.generator)
        return flat.reshape(logprobs.shape[:2])

    @torch.no_grad()
    def act(self, seen: Tensor, masks: Tensor) -> Tensor:
        """The likeliest actions (M, P) of the first agents of the population.

        `going` is what they remember of the episode; set it to None where one begins.
        """
        lanes, seats = seen.shape[:2]
        who = torch.arange(seats).expand(lanes, seats) % self.settings.population
        memory = self.blank(lanes) if self.going is None else self.going
        out = self.look(seen, masks, who, memory)
        self.going = out.memory
        require_finite(out.moves)
        return out.tokens.argmax(-1) * self.moves + out.moves.argmax(-1)

    # Learning

    def update(self, progress: float = 0.0) -> list[np.ndarray[Any, Any]]:
        """Play a horizon and learn from it; returns the returns of finished episodes."""
        frames, start = self.collect()
        with torch.no_grad():
            seen, masks = self.field.view()
            last = self.look(seen, masks, self.who, self.memory).values
        gains = advantages(frames, last, self.settings.gamma, self.settings.gae_lambda)
        for _ in range(self.settings.epochs):
            self.descend(frames, start, gains)
        self.steps += self.settings.horizon * self.settings.num_envs
        return self.finished

    def descend(
        self, frames: list[Frame], start: tuple[Tensor, Tensor], gains: Tensor
    ) -> dict[str, float]:
        """One clipped step through the horizon, memories carried as they were played."""
        chosen, memory, losses = self.settings, start, []
        scaled = standardised(gains)
        for t, frame in enumerate(frames):
            out = self.look(frame.seen, frame.masks, frame.who, memory)
            taken = chosen_of(out.moves, frame.moves) + chosen_of(out.tokens, frame.tokens)
            lost = clipped_loss(
                chosen,
                logprobs=taken,
                before=frame.logprobs,
                gains=scaled[t],
                values=out.values,
                wanted=gains[t] + frame.values,
                entropy=entropy_of(out.moves) + entropy_of(out.tokens),
            )
            losses.append(lost)
            keep = (~frame.ended).float().unsqueeze(-1)
            memory = out.memory[0] * keep, out.memory[1] * keep
        loss = torch.stack(losses).mean()
        descend(loss, self.optimizer)
        return {"loss": float(loss.item())}

    # Keeping

    def check(self) -> None:
        require_tensor(
            "who", self.who, tuple(self.who.shape), torch.int64, (0, len(self.agents) - 1)
        )

    def weights(self) -> dict[str, Any]:
        """What `load_weights` needs."""
        return {"agents": self.agents.state_dict()}

    def load_weights(self, kept: Mapping[str, Any]) -> None:
        load_weights(self.agents, kept["agents"], "agents")


def move_masks(masks: Tensor, moves: int) -> Tensor:
    """Which moves are legal (…, A), from masks of actions `token * moves + move`."""
    allowed = masks.reshape(*masks.shape[:-1], -1, moves).any(-2)
    return allowed | ~allowed.any(-1, keepdim=True)
