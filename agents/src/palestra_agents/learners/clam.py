"""CLAM: PPO with an embedding of the opponent, learnt by contrast from one's own observations.

"Contrastive learning-based agent modeling for deep reinforcement learning", 2024. For every episode
the opponents are drawn from `pool`, a list of scripted agents. A recurrent encoder (GRU) reads what
the learner has observed so far; its output, of length 1, is the embedding, which the policy and the
value read beside the observation from the first step. The encoder learns by InfoNCE (van den Oord,
Li and Vinyals, "Representation Learning with Contrastive Predictive Coding", 2018): two random
crops of one episode, with random observations masked, are to be alike, and unlike those of episodes
against other opponents. Opponents' observations and moves are never read. `contrast=false` is the
baseline: PPO without the embedding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from palestra import ArrayGame, Episode, InvalidOption, Meta, Turn, make_agent
from palestra.cli.arguments import split_agents
from palestra.kernel.registry import registry
from torch import Tensor, nn

from palestra_agents.checkpoints import load_weights, require_finite
from palestra_agents.learners.field import Form, rules_of
from palestra_agents.learners.policies import (
    Local,
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
    Lanes,
    LearningRate,
    Seed,
    ValueWeight,
    read_settings,
)

FIXED = ("scripted", "solver")  # kinds of agents that may be in a pool


@dataclass(frozen=True)
class ClamSettings(Checked):
    """`num_envs` whole episodes make one update of `epochs` passes over them."""

    pool: Annotated[
        str, Meta(description="opponents, such as strategy:name=grim,strategy:name=tit-for-tat")
    ] = ""
    contrast: Annotated[bool, Meta(description="false: without the embedding")] = True
    embedding: Annotated[int, Meta(ge=1, description="numbers in an embedding")] = 8
    temperature: Annotated[float, Meta(gt=0, description="of InfoNCE")] = 0.1
    masked: Annotated[
        float, Meta(ge=0, lt=1, description="share of a crop's observations that are masked")
    ] = 0.1
    encoder_steps: Annotated[
        int, Meta(ge=0, description="gradient steps of the encoder in an update")
    ] = 16
    encoder_rate: LearningRate = 1e-2
    num_envs: Lanes = 64
    epochs: Epochs = 4
    learning_rate: LearningRate = 3e-3
    gamma: Discount = 0.99
    gae_lambda: GAELambda = 0.95
    clip: Clip = 0.2
    entropy: Entropy = 0.02
    value_weight: ValueWeight = 0.5
    hidden: Hidden = 32
    seed: Seed = 0


class Played(NamedTuple):
    """Episodes (N, T, …), padded at the end to the longest."""

    seen: Tensor
    masks: Tensor
    actions: Tensor
    logprobs: Tensor
    rewards: Tensor
    going: Tensor  # (N, T): not padding
    opponents: Tensor  # (N,): the opponents' number in the pool
    returns: Tensor  # (N,)


class Encoder(nn.Module):
    """A GRU over observations, whose outputs have length 1."""

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.gru = nn.GRU(inputs, hidden, batch_first=True)
        self.head = nn.Linear(hidden, outputs)

    def forward(self, seen: Tensor, memory: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Embeddings (M, T, E) after each observation (M, T, O), and the memory (1, M, H)."""
        hidden, memory = self.gru(seen, memory)
        return nn.functional.normalize(self.head(hidden), dim=-1), memory


class Clam:
    """Trains one player against a pool; `update` plays episodes and learns from them."""

    kind = ClamSettings
    sees_all = False
    changing = ("steps", "episodes", "generator", "encoder", "local", "optimizer", "contrasts")
    algo = "clam"

    def __init__(
        self,
        env: str | ArrayGame[Any],
        options: Mapping[str, Any] | None = None,
        *,
        compiled: bool | None = None,
        **settings: Any,
    ) -> None:
        self.settings = read_settings(ClamSettings, settings, "clam")
        chosen, self.compiled = self.settings, compiled
        self.pool = names_of(chosen.pool)
        self.generator = torch.Generator().manual_seed(chosen.seed)
        self.field = Form(rules_of(env, options or {}))
        torch.manual_seed(chosen.seed)
        wide, code = self.field.width, chosen.embedding if chosen.contrast else 0
        self.encoder = Encoder(wide, chosen.hidden, chosen.embedding)
        self.local = Local(wide + code, self.field.actions, chosen.hidden)
        self.optimizer = torch.optim.Adam(self.local.parameters(), lr=chosen.learning_rate)
        self.contrasts = torch.optim.Adam(self.encoder.parameters(), lr=chosen.encoder_rate)
        self.steps = self.episodes = 0
        self.going: Tensor | None = None  # the encoder's memory of the episode of `act`

    # Playing

    def inputs(self, seen: Tensor, codes: Tensor) -> Tensor:
        """What policy and value read: observations (…, O), and embeddings (…, E) if they count."""
        return torch.cat([seen, codes], -1) if self.settings.contrast else seen

    @torch.no_grad()
    def act(self, seen: Tensor, masks: Tensor) -> Tensor:
        """The likeliest actions (M, P); each seat is embedded from its own observations.

        `going` is the memory of the episode; set it to None where one begins.
        """
        codes, self.going = self.encoder(seen.flatten(0, 1).unsqueeze(1), self.going)
        codes = codes.reshape(*seen.shape[:2], -1)
        logprobs, _ = self.local(self.inputs(seen, codes), masks)
        require_finite(logprobs)
        chosen: Tensor = logprobs.argmax(-1)
        return chosen

    @torch.no_grad()
    def play(self, count: int) -> Played:
        """New episodes: opponents and the learner's seat are drawn for each."""
        field, chosen = self.field, self.settings
        opponents = torch.randint(len(self.pool), (count,), generator=self.generator)
        seats = torch.randint(field.seats, (count,), generator=self.generator).tolist()
        first = (chosen.seed << 32) + self.episodes
        agents = [make_agent(name, seed=first) for name in self.pool]
        games = [Episode(field.game, first + i, compiled=self.compiled) for i in range(count)]
        self.episodes += count
        memory, rows = None, []
        while not all(game.over for game in games):
            seen = torch.stack([self.look(g, s) for g, s in zip(games, seats, strict=True)])
            masks = torch.stack([legal_of(g, s) for g, s in zip(games, seats, strict=True)])
            going = torch.tensor([not game.over for game in games])
            codes, memory = self.encoder(seen.unsqueeze(1), memory)
            logprobs, _ = self.local(self.inputs(seen, codes.squeeze(1)), masks)
            require_finite(logprobs)
            actions = torch.multinomial(logprobs.exp(), 1, generator=self.generator)
            paid = torch.zeros(count)
            for i in going.nonzero().flatten().tolist():
                agent, seat = agents[int(opponents[i])], seats[i]
                turns = [Turn(games[i], s) for s in games[i].to_act if s != seat]
                moves = {t.seat: d.action for t, d in zip(turns, agent.act(turns), strict=True)}
                if seat in games[i].to_act:
                    moves[seat] = int(actions[i])
                games[i].act(moves)
                paid[i] = float(games[i].rewards[seat])
            taken = chosen_of(logprobs, actions.squeeze(1))
            rows.append((seen, masks, actions.squeeze(1), taken, paid, going))
        parts = [torch.stack(part, 1) for part in zip(*rows, strict=True)]
        returns = torch.tensor([float(g.returns[s]) for g, s in zip(games, seats, strict=True)])
        parts += [opponents, returns]
        return Played(*parts)

    def look(self, game: Episode, seat: int) -> Tensor:
        """The scaled observation (O,) of a seat; zeros where the episode is over."""
        if game.over:
            return torch.zeros(self.field.width)
        own = np.asarray(game.observation(seat), np.float32)
        return torch.from_numpy(own.copy()).flatten() / self.field.scale

    # Learning

    def update(self, progress: float = 0.0) -> list[np.ndarray[Any, Any]]:
        """Play episodes and learn from them; returns their returns."""
        chosen = self.settings
        if not self.pool:
            raise InvalidOption(
                "clam needs opponents to tell apart: --set pool=AGENT,AGENT,… (palestra agents)"
            )
        played = self.play(chosen.num_envs)
        self.steps += int(played.going.sum())
        with torch.no_grad():
            inputs = self.inputs(played.seen, self.encoder(played.seen)[0])
            values = self.local(inputs, played.masks)[1] * played.going
        gains = gains_of(played.rewards, values, chosen.gamma, chosen.gae_lambda)
        for _ in range(chosen.epochs):
            descend(self.loss(played, inputs, gains, values), self.optimizer)
        for _ in range(chosen.encoder_steps if chosen.contrast else 0):
            descend(self.contrastive_loss(played), self.contrasts)
        return [np.array([value]) for value in played.returns.tolist()]

    def loss(self, played: Played, inputs: Tensor, gains: Tensor, values: Tensor) -> Tensor:
        """PPO's clipped loss over the steps that were played."""
        there = played.going
        logprobs, worth = self.local(inputs[there], played.masks[there])
        return clipped_loss(
            self.settings,
            logprobs=chosen_of(logprobs, played.actions[there]),
            before=played.logprobs[there],
            gains=standardised(gains[there]),
            values=worth,
            wanted=gains[there] + values[there],
            entropy=entropy_of(logprobs),
        ).mean()

    def contrastive_loss(self, played: Played) -> Tensor:
        """InfoNCE of two views of each episode."""
        one, other = (self.encoded(played) for _ in range(2))
        return info_nce(one, other, played.opponents, self.settings.temperature)

    def encoded(self, played: Played) -> Tensor:
        """The embedding (N, E) at the end of a random crop of each episode, partly masked."""
        count, longest = played.going.shape
        lengths = played.going.sum(1)
        draws = torch.rand(2, count, generator=self.generator)
        wide = 1 + (draws[0] * lengths).long()  # from 1 to the whole episode
        first = (draws[1] * (lengths - wide + 1)).long()
        last = first + wide - 1
        at = torch.arange(longest)
        kept = torch.rand(count, longest, generator=self.generator) >= self.settings.masked
        kept &= at >= first.unsqueeze(1)
        codes: Tensor = self.encoder(played.seen * kept.unsqueeze(-1))[0]
        return codes[torch.arange(count), last]

    # Keeping

    def weights(self) -> dict[str, Any]:
        """What `load_weights` needs."""
        return {"local": self.local.state_dict(), "encoder": self.encoder.state_dict()}

    def load_weights(self, kept: Mapping[str, Any]) -> None:
        load_weights(self.local, kept["local"], "local")
        load_weights(self.encoder, kept["encoder"], "encoder")


def info_nce(one: Tensor, other: Tensor, opponents: Tensor, temperature: float) -> Tensor:
    """The mean loss of telling each episode's other view from those against other opponents.

    one, other: embeddings (N, E) of two views. opponents: whom each episode was against, (N,).
    """
    alike = one @ other.T / temperature
    same = opponents.unsqueeze(1) == opponents
    own = torch.eye(len(one), dtype=torch.bool)
    return nn.functional.cross_entropy(
        alike.masked_fill(same & ~own, -torch.inf), torch.arange(len(one))
    )


def gains_of(rewards: Tensor, values: Tensor, gamma: float, decay: float) -> Tensor:
    """Generalised advantages (N, T) of whole episodes; rewards and values of padding are 0."""
    found, later = torch.zeros_like(values), torch.zeros(len(values))
    after = torch.zeros(len(values))
    for t in reversed(range(values.shape[1])):
        later = rewards[:, t] + gamma * after - values[:, t] + gamma * decay * later
        found[:, t], after = later, values[:, t]
    return found


def legal_of(game: Episode, seat: int) -> Tensor:
    """What is legal for a seat (A,); everything where it is not to act."""
    count = int(game.game.num_actions)  # type: ignore[attr-defined]
    if seat not in game.to_act:
        return torch.ones(count, dtype=torch.bool)
    return torch.from_numpy(np.asarray(game.action_mask(seat)).copy()).bool()


def names_of(pool: str) -> Sequence[str]:
    """The agents of a pool; raises `InvalidOption` for one that is not installed or that learns.

    A pool may come from a stranger's file, so that it names no code and no model.
    """
    found = split_agents(pool) if pool else []
    known = registry().agents
    for name in found:
        spec = known.get(name.partition(":")[0])
        if spec is None or spec.kind not in FIXED:
            raise InvalidOption(
                f"{name!r} cannot be in the pool: take agents of kind {' or '.join(FIXED)} "
                "(palestra agents)"
            )
    return found
