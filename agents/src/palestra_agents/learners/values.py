"""Value learners of teams: independent Q-learning, VDN and QMIX.

IQL: Tan, "Multi-Agent Reinforcement Learning: Independent vs. Cooperative Agents", ICML 1993. VDN:
Sunehag et al., "Value-Decomposition Networks For Cooperative Multi-Agent Learning", AAMAS 2018.
QMIX: Rashid et al., "QMIX: Monotonic Value Function Factorisation for Deep Multi-Agent
Reinforcement Learning", ICML 2018. All seats share one network, which reads the seat's observation
and number; actions are chosen by double Q-learning against a target network. VDN adds the values of
the actions taken, QMIX mixes them by a network whose weights are positive and depend on the
observations of all seats; both learn the sum of the seats' rewards, IQL every seat's own.

With `recurrent` the network has a GRU over a seat's own observations and its last action, and
learns from whole episodes, as in the experiments of the QMIX paper; without, a game that asks for
memory needs it in its observation.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import torch
from palestra import ArrayGame, Meta
from torch import Tensor, nn

from palestra_agents.checkpoints import load_weights, require_finite, require_tensor
from palestra_agents.learners.field import (
    Field,
    Memory,
    anneal,
    explore,
    rules_of,
    with_seats,
)
from palestra_agents.learners.sequences import Sequences
from palestra_agents.recurrence import Recurrence
from palestra_agents.settings import (
    BatchSize,
    Checked,
    Discount,
    Explore,
    ExploreShare,
    Hidden,
    Kept,
    Lanes,
    LearningRate,
    Recurring,
    Seed,
    WarmUp,
    read_settings,
)

Mixing = Literal["iql", "vdn", "qmix"]
ILLEGAL = -1e9


@dataclass(frozen=True)
class ValueSettings(Checked):
    """After every step of `num_envs` lanes come `updates` batches of `batch_size` kept steps.

    With `recurrent` they come after every step with which an episode ends, and a batch is one of
    whole `episodes`.
    """

    num_envs: Lanes = 32
    batch_size: BatchSize = 256
    memory: Kept = 50_000
    updates: Annotated[int, Meta(ge=1, description="gradient steps after a step of all lanes")] = 1
    learning_rate: LearningRate = 5e-4
    gamma: Discount = 0.99
    explore_start: Explore = 1.0
    explore_end: Explore = 0.05
    explore_share: ExploreShare = 0.5
    target_every: Annotated[
        int, Meta(ge=1, description="updates between copies of the network to its target")
    ] = 200
    hidden: Hidden = 64
    mixing: Annotated[int, Meta(ge=1, description="width of QMIX's mixing network")] = 32
    warm_up: WarmUp = 1_000
    seed: Seed = 0
    recurrent: Recurring = False
    episodes: Annotated[
        int, Meta(ge=1, description="kept episodes in a gradient step, if recurrent")
    ] = 32


class Mixer(nn.Module):
    """QMIX: a team value that rises with every seat's, by weights that depend on the state."""

    def __init__(self, state: int, seats: int, width: int) -> None:
        super().__init__()
        self.seats, self.width = seats, width
        self.first = nn.Linear(state, seats * width)
        self.first_bias = nn.Linear(state, width)
        self.second = nn.Linear(state, width)
        self.second_bias = nn.Sequential(nn.Linear(state, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, values: Tensor, state: Tensor) -> Tensor:
        """Team values (M,) of the seats' values (M, P) in states (M, S)."""
        first = self.first(state).abs().unflatten(-1, (self.seats, self.width))
        hidden = torch.einsum("mp,mpw->mw", values, first) + self.first_bias(state)
        second = self.second(state).abs()
        total = (nn.functional.elu(hidden) * second).sum(-1)
        return total + self.second_bias(state).squeeze(-1)


class RecurrentValues(nn.Module):
    """Values of actions from a seat's inputs so far: a layer, a GRU, and a layer."""

    def __init__(self, inputs: int, actions: int, hidden: int) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, hidden)
        self.memory = Recurrence(hidden, hidden)
        self.last = nn.Linear(hidden, actions)

    def forward(self, inputs: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Values (T, M, A) of inputs (T, M, I), and the memory (M, H) after the last step."""
        outputs, memory = self.memory(self.first(inputs).relu(), memory)
        return self.last(outputs), memory


class ValueLearner:
    """Trains one network for all seats; `algo` says how their values make up the team's."""

    kind = ValueSettings
    sees_all = False
    changing: tuple[str, ...] = (
        "steps",
        "updates",
        "generator",
        "field",
        "network",
        "mixer",
        "target",
        "target_mixer",
        "optimizer",
        "memory",
    )

    def __init__(
        self,
        env: str | ArrayGame[Any],
        options: Mapping[str, Any] | None = None,
        *,
        algo: Mixing = "qmix",
        compiled: bool | None = None,
        **settings: Any,
    ) -> None:
        self.settings = read_settings(ValueSettings, settings, algo)
        chosen = self.settings
        self.algo, self.steps, self.updates = algo, 0, 0
        self.generator = torch.Generator().manual_seed(chosen.seed)
        self.field = Field(rules_of(env, options or {}), chosen.num_envs, chosen.seed, compiled)
        torch.manual_seed(chosen.seed)
        field = self.field
        self.network = self._network()
        self.mixer = Mixer(field.width * field.seats, field.seats, chosen.mixing)
        self.target, self.target_mixer = deepcopy(self.network), deepcopy(self.mixer)
        learnt = [*self.network.parameters()]
        learnt += self.mixer.parameters() if algo == "qmix" else []
        self.optimizer = torch.optim.Adam(learnt, lr=chosen.learning_rate)
        self.memory = Memory(chosen.memory, self.generator)
        self.going: Tensor | None = None  # what `act` remembers of the episode, if recurrent
        if chosen.recurrent:
            self.memory = Sequences(chosen.memory, chosen.num_envs, self.generator)
            self.playing = self.blank(chosen.num_envs)  # what the lanes remember
            self.changing = (*ValueLearner.changing, "playing")

    def _network(self) -> nn.Module:
        field, hidden = self.field, self.settings.hidden
        inputs = field.width + field.seats
        if self.settings.recurrent:
            return RecurrentValues(inputs + field.actions, field.actions, hidden)
        return nn.Sequential(
            nn.Linear(inputs, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, field.actions),
        )

    # Playing

    def blank(self, lanes: int) -> Tensor:
        """What is remembered when an episode begins: (N, P, H + A), zeros.

        These are the GRU's memory and the seat's last action as a one-hot vector.
        """
        return torch.zeros(lanes, self.field.seats, self.settings.hidden + self.field.actions)

    def values(self, seen: Tensor, masks: Tensor, network: nn.Module | None = None) -> Tensor:
        """Values (M, P, A) of actions; those of illegal ones are very low."""
        return only_legal((network or self.network)(with_seats(seen)), masks)

    def unroll(
        self, network: nn.Module, seen: Tensor, masks: Tensor, last: Tensor, hidden: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Values (T, M, P, A) of a recurrent network over T steps, and its memory (M, P, H) then.

        seen, masks: (T, M, P, …), of every step. last: (T, M, P, A), the actions before each as
        one-hot vectors. hidden: (M, P, H), the memory before the first step.
        """
        numbered = with_seats(seen.flatten(0, 1)).reshape(*seen.shape[:3], -1)
        inputs = torch.cat([numbered, last], -1)
        values, after = network(inputs.flatten(1, 2), hidden.flatten(0, 1))
        return only_legal(values.reshape(masks.shape), masks), after.reshape(hidden.shape)

    def look(self, seen: Tensor, masks: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Values (M, P, A) of one step, and the memory (M, P, H) after it; both recurrent."""
        hidden, last = memory[..., : self.settings.hidden], memory[..., self.settings.hidden :]
        step = seen.unsqueeze(0), masks.unsqueeze(0), last.unsqueeze(0)
        values, after = self.unroll(self.network, *step, hidden)
        return values.squeeze(0), after

    @torch.no_grad()
    def act(self, seen: Tensor, masks: Tensor) -> Tensor:
        """The best actions (M, P).

        `going` is what a recurrent network remembers; set it to None where an episode begins.
        """
        if not self.settings.recurrent:
            values = self.values(seen, masks)
            require_finite(values)
            return values.argmax(-1)
        memory = self.blank(len(seen)) if self.going is None else self.going
        best, hidden = self.best(seen, masks, memory)
        self.going = self.remember(hidden, best)
        return best

    @torch.no_grad()
    def best(self, seen: Tensor, masks: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """The best actions (M, P) of a recurrent network, and its memory (M, P, H) after a step."""
        values, hidden = self.look(seen, masks, memory)
        require_finite(values)
        return values.argmax(-1), hidden

    def remember(self, hidden: Tensor, actions: Tensor) -> Tensor:
        """What is remembered (M, P, H + A) after actions (M, P)."""
        return torch.cat([hidden, self.one_hot(actions)], -1)

    def one_hot(self, actions: Tensor) -> Tensor:
        return nn.functional.one_hot(actions, self.field.actions).float()

    def update(self, progress: float = 0.0) -> list[np.ndarray[Any, Any]]:
        """Play one step in every lane and learn; returns the returns of finished episodes."""
        chosen = self.settings
        share = progress / chosen.explore_share if chosen.explore_share else 1.0
        chance = anneal(chosen.explore_start, chosen.explore_end, share)
        ready = self.play(chance)
        self.steps += chosen.num_envs
        if ready and self.steps >= chosen.warm_up:
            for _ in range(chosen.updates):
                self.learn()
        return self.field.returns

    def play(self, chance: float) -> bool:
        """Play one step in every lane and keep it; returns whether there is more to learn from.

        chance: of a random action instead of the best one.
        """
        seen, masks = self.field.view()
        wild = torch.rand(masks.shape[:2], generator=self.generator) < chance
        if not isinstance(self.memory, Sequences):
            actions = torch.where(wild, explore(masks, self.generator), self.act(seen, masks))
            self.memory.add(self.field.step(actions).rows())
            return True
        begins = torch.from_numpy(self.field.fresh.copy())
        best, hidden = self.best(seen, masks, self.playing)
        actions = torch.where(wild, explore(masks, self.generator), best)
        step = self.field.step(actions)
        over = torch.from_numpy(self.field.fresh.copy())
        self.memory.add_step(step.rows(), begins, over)
        after = self.remember(hidden, actions)
        self.playing = torch.where(over[:, None, None], torch.zeros_like(after), after)
        return bool(over.any())

    # Learning

    def learn(self) -> float:
        """One step on a batch of what is kept; returns the loss."""
        rows, values, goals = self.drawn()
        taken = values.gather(-1, rows["actions"].unsqueeze(-1)).squeeze(-1)
        if self.algo == "iql":
            loss = (taken - goals).square().mean()
        else:
            loss = (self.team(taken, rows["seen"], self.mixer) - goals).square().mean()
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), 10.0)
        self.optimizer.step()
        self.updates += 1
        require_finite(loss)
        if self.updates % self.settings.target_every == 0:
            self.target.load_state_dict(self.network.state_dict())
            self.target_mixer.load_state_dict(self.mixer.state_dict())
        return float(loss.item())

    def drawn(self) -> tuple[Mapping[str, Tensor], Tensor, Tensor]:
        """Kept steps, the values (M, P, A) of their actions, and the goals of those taken."""
        if not isinstance(self.memory, Sequences):
            rows = self.memory.sample(self.settings.batch_size)
            return rows, self.values(rows["seen"], rows["masks"]), self.goals(rows)
        rows, theirs = self.memory.episodes(self.settings.episodes)
        values, later = (self.unrolled(rows, network) for network in (self.network, self.target))
        flat = {name: row[theirs] for name, row in rows.items()}
        best = values[1:][theirs].argmax(-1, keepdim=True)
        later = later[1:][theirs].gather(-1, best).squeeze(-1).detach()
        return flat, values[:-1][theirs], self.goals_of(flat, later)

    def unrolled(self, rows: Mapping[str, Tensor], network: nn.Module) -> Tensor:
        """Values (T + 1, M, P, A) of every step of episodes (T, M), and of what came after."""
        seen = torch.cat([rows["seen"][:1], rows["after"]])
        masks = torch.cat([rows["masks"][:1], rows["masks_after"]])
        acted = self.one_hot(rows["actions"])
        last = torch.cat([torch.zeros_like(acted[:1]), acted])
        hidden = torch.zeros(*acted.shape[1:3], self.settings.hidden)
        with torch.set_grad_enabled(network is not self.target):
            return self.unroll(network, seen, masks, last, hidden)[0]

    @torch.no_grad()
    def goals(self, rows: Mapping[str, Tensor]) -> Tensor:
        """What the values of the actions taken should be: (M, P) for IQL, else (M,)."""
        after, masks = rows["after"], rows["masks_after"]
        best = self.values(after, masks).argmax(-1, keepdim=True)
        later = self.values(after, masks, self.target).gather(-1, best).squeeze(-1)
        return self.goals_of(rows, later)

    @torch.no_grad()
    def goals_of(self, rows: Mapping[str, Tensor], later: Tensor) -> Tensor:
        """As `goals`, from the values (M, P) of the best actions after the steps."""
        gamma, goes_on = self.settings.gamma, (~rows["ended"]).float()
        if self.algo == "iql":
            return rows["rewards"] + gamma * goes_on.unsqueeze(-1) * later
        team = self.team(later, rows["after"], self.target_mixer)
        return rows["rewards"].sum(-1) + gamma * goes_on * team

    def team(self, values: Tensor, seen: Tensor, mixer: Mixer) -> Tensor:
        """The team's values (M,) of the seats' values (M, P)."""
        if self.algo == "qmix":
            return mixer(values, seen.flatten(1))
        return values.sum(-1)

    # Keeping

    def check(self) -> None:
        if not isinstance(self.memory, Sequences):
            self.field.check_rows(self.memory.rows)
            return
        self.memory.check_with(self.field)
        require_tensor("playing", self.playing, tuple(self.playing.shape), torch.float32, (-1, 1))

    def weights(self) -> dict[str, Any]:
        """What `load_weights` needs."""
        return {"network": self.network.state_dict(), "mixer": self.mixer.state_dict()}

    def load_weights(self, kept: Mapping[str, Any]) -> None:
        load_weights(self.network, kept["network"])
        load_weights(self.mixer, kept["mixer"], "mixer")


def only_legal(values: Tensor, masks: Tensor) -> Tensor:
    """Values (…, A) with those of illegal actions very low."""
    legal = masks | ~masks.any(-1, keepdim=True)  # a seat that is out has nothing legal
    return values.masked_fill(~legal, ILLEGAL)
