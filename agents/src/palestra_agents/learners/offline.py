"""CFCQL: values of a team learnt from recorded play alone.

Shao et al., "Counterfactual Conservative Q Learning for Offline Multi-agent Reinforcement
Learning", NeurIPS 2023. To the loss of QMIX or VDN comes `conservatism` times a term that lowers
the values of actions that the records do not hold. It is counterfactual: one seat departs from the
recorded actions at a time, and the seats' terms are averaged by weights that rise with the distance
of the seat's values from the recorded behaviour. The term does not grow with the number of seats,
as that of all seats together does (`kind=joint`, the paper's MACQL, whose joint actions are drawn).
`kind=clone` plays as the records do.

Left out: networks that remember, continuous actions, and TD(lambda).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from palestra import ArrayGame, Episode, EpisodeRecord, InvalidOption, Meta
from palestra.records.record import iter_records, options_of, retrace
from torch import Tensor, nn

from palestra_agents.checkpoints import load_weights, require_finite
from palestra_agents.learners.field import Field, Memory, rules_of, with_seats
from palestra_agents.learners.values import ILLEGAL, Mixer
from palestra_agents.settings import (
    BatchSize,
    Checked,
    Discount,
    Hidden,
    Lanes,
    LearningRate,
    Seed,
    read_settings,
)


@dataclass(frozen=True)
class OfflineSettings(Checked):
    """Every update is one gradient step; meanwhile the policy plays `num_envs` lanes to be seen."""

    records: Annotated[
        str, Meta(description="files of recorded episodes to learn from, joined by +")
    ] = ""
    num_envs: Lanes = 8
    batch_size: BatchSize = 256
    learning_rate: LearningRate = 5e-4
    gamma: Discount = 0.99
    kind: Annotated[
        Literal["counterfactual", "joint", "none", "clone"],
        Meta(description="seats that depart from the records: one at a time, all, none; or a copy"),
    ] = "counterfactual"
    mixer: Annotated[
        Literal["qmix", "vdn"], Meta(description="how seats' values make up the team's")
    ] = "qmix"
    conservatism: Annotated[float, Meta(ge=0, description="weight of the conservative term")] = 1.0
    temperature: Annotated[
        float, Meta(ge=0, description="how much more a seat weighs that departs further")
    ] = 0.0
    draws: Annotated[int, Meta(ge=1, description="joint actions drawn for kind=joint")] = 64
    target_every: Annotated[
        int, Meta(ge=1, description="updates between copies of the network to its target")
    ] = 200
    hidden: Hidden = 64
    mixing: Annotated[int, Meta(ge=1, description="width of QMIX's mixing network")] = 32
    seed: Seed = 0


class Offline:
    """Learns values of all seats from records, with a copy of their behaviour beside them."""

    sees_all = False
    changing = (
        "steps",
        "generator",
        "field",
        "network",
        "mixer",
        "behaviour",
        "target",
        "target_mixer",
        "optimizer",
        "digest",
    )

    def __init__(
        self,
        env: str | ArrayGame[Any],
        options: Mapping[str, Any] | None = None,
        *,
        compiled: bool | None = None,
        **settings: Any,
    ) -> None:
        self.settings = read_settings(OfflineSettings, settings, "cfcql")
        chosen, self.steps = self.settings, 0
        self.generator = torch.Generator().manual_seed(chosen.seed)
        self.field = Field(rules_of(env, options or {}), chosen.num_envs, chosen.seed, compiled)
        torch.manual_seed(chosen.seed)
        field = self.field
        self.network, self.behaviour = self._network(), self._network()
        self.mixer = Mixer(field.width * field.seats, field.seats, chosen.mixing)
        self.target, self.target_mixer = deepcopy(self.network), deepcopy(self.mixer)
        parts = (self.network, self.behaviour, self.mixer)
        learnt = [weight for part in parts for weight in part.parameters()]
        self.optimizer = torch.optim.Adam(learnt, lr=chosen.learning_rate)
        self.memory = Memory(0, self.generator)
        self.digest = ""  # of the files that the memory was read from

    def _network(self) -> nn.Sequential:
        field, hidden = self.field, self.settings.hidden
        return nn.Sequential(
            nn.Linear(field.width + field.seats, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, field.actions),
        )

    # Playing

    def values(self, seen: Tensor, masks: Tensor, network: nn.Module | None = None) -> Tensor:
        """Values (M, P, A) of actions; those of illegal ones are very low."""
        found: Tensor = (network or self.network)(with_seats(seen))
        legal = masks | ~masks.any(-1, keepdim=True)  # a seat that is out has nothing legal
        return found.masked_fill(~legal, ILLEGAL)

    @torch.no_grad()
    def act(self, seen: Tensor, masks: Tensor) -> Tensor:
        """The best actions (M, P), or the likeliest of the records with `kind=clone`."""
        network = self.behaviour if self.settings.kind == "clone" else self.network
        values = self.values(seen, masks, network)
        require_finite(values)
        return values.argmax(-1)

    def update(self, progress: float = 0.0) -> list[np.ndarray[Any, Any]]:
        """Learn once; returns those of episodes that the policy plays meanwhile, unlearnt from."""
        if not self.memory.filled:
            self.remember()
        self.learn()
        self.steps += 1
        self.field.step(self.act(*self.field.view()))
        return self.field.returns

    # Learning

    def remember(self) -> None:
        """Read all recorded steps. Raises `InvalidOption` for those of another game or run."""
        chosen = self.settings.records
        if not chosen:
            raise InvalidOption(
                "cfcql learns from recorded episodes alone; name their file, as in "
                "--set records=runs/foraging/episode.jsonl"
            )
        paths = [Path(path) for path in chosen.split("+")]
        for path in paths:
            if not path.is_file():
                raise InvalidOption(f"records={chosen}: there is no file {path}")
        digest = sha256(b"".join(sha256(path.read_bytes()).digest() for path in paths)).hexdigest()
        if self.digest not in ("", digest):
            raise InvalidOption(
                f"{chosen} has changed since this run began; resume it with the same records, or "
                "train into another --out"
            )
        rows = [row for path in paths for row in _rows_of(path, self.field)]
        if not rows:
            raise InvalidOption(f"{chosen} holds no step to learn from")
        self.digest, self.memory = digest, Memory(len(rows), self.generator)
        self.memory.add({name: torch.stack([row[name] for row in rows]) for name in rows[0]})

    def learn(self) -> float:
        """One gradient step on a batch of recorded steps; returns the loss."""
        rows = self.memory.sample(self.settings.batch_size)
        loss = self.loss(rows) + self.clone_loss(rows)
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), 10.0)
        self.optimizer.step()
        require_finite(loss)
        if (self.steps + 1) % self.settings.target_every == 0:
            self.target.load_state_dict(self.network.state_dict())
            self.target_mixer.load_state_dict(self.mixer.state_dict())
        return float(loss.item())

    def clone_loss(self, rows: Mapping[str, Tensor]) -> Tensor:
        """Cross-entropy of the recorded actions of the seats that had a choice."""
        guesses = self.values(rows["seen"], rows["masks"], self.behaviour).flatten(0, 1)
        losses = nn.functional.cross_entropy(guesses, rows["actions"].flatten(), reduction="none")
        acting = rows["masks"].any(-1).flatten()
        return (losses * acting).sum() / acting.sum().clamp(min=1)

    def loss(self, rows: Mapping[str, Tensor]) -> Tensor:
        """Half the squared TD error, and the conservative term."""
        values = self.values(rows["seen"], rows["masks"])
        taken = values.gather(-1, rows["actions"].unsqueeze(-1)).squeeze(-1)
        team = self.team(taken, rows["seen"], self.mixer)
        loss = (team - self.goals(rows)).square().mean() / 2
        weight = self.settings.conservatism
        if self.settings.kind == "counterfactual":
            raised = self.departures(values, taken, rows)
            lifted = (self.weights_of(raised, rows) * raised.logsumexp(-1)).sum(-1)
            loss = loss + weight * (lifted - team).mean()
        elif self.settings.kind == "joint":
            loss = loss + weight * (self.joint(values, rows) - team).mean()
        return loss

    def departures(self, values: Tensor, taken: Tensor, rows: Mapping[str, Tensor]) -> Tensor:
        """Team values (M, P, A) if one seat took each of its actions, the others the recorded."""
        count, seats, actions = values.shape
        chosen = taken[:, None, None].expand(count, seats, actions, seats)
        own = torch.eye(seats, dtype=torch.bool)[None, :, None]
        all_values = torch.where(own, values.unsqueeze(-1).clamp(min=-1e6), chosen)
        seen = rows["seen"][:, None, None].expand(count, seats, actions, *rows["seen"].shape[1:])
        team = self.team(all_values.flatten(0, 2), seen.flatten(0, 2), self.mixer)
        return team.reshape(count, seats, actions).masked_fill(~open_actions(rows), ILLEGAL)

    @torch.no_grad()
    def weights_of(self, raised: Tensor, rows: Mapping[str, Tensor]) -> Tensor:
        """Weights (M, P) of the seats' terms: a softmax of how far each departs from the records.

        The distance is that of the softmax of the seat's values from its recorded behaviour (KL).
        """
        wanted = raised.log_softmax(-1)
        usual = self.values(rows["seen"], rows["masks"], self.behaviour).log_softmax(-1)
        apart = torch.where(open_actions(rows), wanted.exp() * (wanted - usual), 0.0).sum(-1)
        return (self.settings.temperature * apart).softmax(-1)

    def joint(self, values: Tensor, rows: Mapping[str, Tensor]) -> Tensor:
        """The soft maximum (M,) of team values over joint actions, from `draws` of them."""
        draws, possible = self.settings.draws, open_actions(rows)
        count, seats, actions = values.shape
        drawn = torch.multinomial(
            possible.float().flatten(0, 1), draws, replacement=True, generator=self.generator
        )
        picked = values.flatten(0, 1).gather(-1, drawn).reshape(count, seats, draws)
        seen = rows["seen"].unsqueeze(1).expand(count, draws, *rows["seen"].shape[1:])
        team = self.team(picked.transpose(1, 2).flatten(0, 1), seen.flatten(0, 1), self.mixer)
        ways = possible.sum(-1).float().log().sum(-1)
        return team.reshape(count, draws).logsumexp(-1) - math.log(draws) + ways

    @torch.no_grad()
    def goals(self, rows: Mapping[str, Tensor]) -> Tensor:
        """What the team's values should be (M,), by double Q-learning."""
        after, masks = rows["after"], rows["masks_after"]
        best = self.values(after, masks).argmax(-1, keepdim=True)
        later = self.values(after, masks, self.target).gather(-1, best).squeeze(-1)
        team = self.team(later, after, self.target_mixer)
        return rows["rewards"].sum(-1) + self.settings.gamma * (~rows["ended"]).float() * team

    def team(self, values: Tensor, seen: Tensor, mixer: Mixer) -> Tensor:
        """The team's values (M,) of the seats' values (M, P)."""
        if self.settings.mixer == "qmix":
            return mixer(values, seen.flatten(1))
        return values.sum(-1)

    # Keeping

    def weights(self) -> dict[str, Any]:
        """What `load_weights` needs."""
        return {"network": self.network.state_dict(), "behaviour": self.behaviour.state_dict()}

    def load_weights(self, kept: Mapping[str, Any]) -> None:
        load_weights(self.network, kept["network"])
        load_weights(self.behaviour, kept["behaviour"], "behaviour")


def open_actions(rows: Mapping[str, Tensor]) -> Tensor:
    """Actions (M, P, A) that a seat could take; the recorded one alone where nothing was legal."""
    masks = rows["masks"]
    recorded = nn.functional.one_hot(rows["actions"], masks.shape[-1]).bool()
    return masks | (recorded & ~masks.any(-1, keepdim=True))


def _rows_of(path: Path, field: Field) -> Iterator[dict[str, Tensor]]:
    """The steps of all episodes of a file that did not end in an error."""
    wanted = options_of(field.game)
    for record in iter_records(path):
        for name, value in wanted.items():
            if record.options.get(name) != value:
                raise InvalidOption(
                    f"{path}: an episode of {record.env} was played with {name}="
                    f"{record.options.get(name)!r}, not {value!r}; train with -o {name}=… as "
                    "recorded, or record others"
                )
        if not record.error:
            yield from _steps_of(record, field)


def _steps_of(record: EpisodeRecord, field: Field) -> Iterator[dict[str, Tensor]]:
    """A row for every step that was played; a forfeit and a stop are none."""
    before: tuple[Tensor, Tensor] | None = None
    for number, episode in enumerate(retrace(record, field.game)):
        after = _view(episode, field)
        turns = record.steps[number - 1].turns if number else []
        if before is not None and turns and all(t.status != "forfeit" for t in turns):
            actions = torch.zeros(field.seats, dtype=torch.int64)
            for turn in turns:
                actions[turn.seat] = int(turn.action)
            yield {
                "seen": before[0],
                "masks": before[1],
                "actions": actions,
                "rewards": torch.tensor([float(paid) for paid in episode.rewards]),
                "ended": torch.tensor(episode.over and not episode.truncated),
                "after": after[0],
                "masks_after": after[1],
            }
        before = after


def _view(episode: Episode, field: Field) -> tuple[Tensor, Tensor]:
    """Copies of the scaled observations (P, O) and masks (P, A)."""
    seats = range(field.seats)
    seen = [np.asarray(episode.observation(seat), np.float32).ravel() for seat in seats]
    masks = [np.asarray(episode.action_mask(seat), bool) for seat in seats]
    return torch.from_numpy(np.stack(seen)) / field.scale, torch.from_numpy(np.stack(masks))
