"""An implicit process reward model: a policy trained on pairs of a better and a worse rollout."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from palestra_rewards.arrays import Floats, Ints, floats, together
from palestra_rewards.group import Group
from palestra_rewards.learnt.networks import (
    descend,
    load_weights,
    network,
    tensor,
    torch_module,
    weights_of,
)

WIDTH = 16  # size of the embeddings of states and actions


@dataclass
class PrmSettings:
    beta: float = 0.05
    hidden: int = 32
    steps: int = 50
    rate: float = 0.05
    seed: int = 0


def better_pairs(returns: Floats, peers: Ints) -> tuple[Ints, Ints]:
    """Indices of the better and the worse line, for all pairs of peers whose returns differ."""
    rows = [np.flatnonzero(peers == one) for one in range(int(peers.max(initial=-1)) + 1)]
    pairs = [np.argwhere(returns[own][:, None] > returns[own]) for own in rows]
    found = [own[pair] for own, pair in zip(rows, pairs, strict=True)]
    both = np.concatenate([np.zeros((0, 2), dtype=np.int64), *found])
    return both[:, 0], both[:, 1]


def preference_loss(ratios: Any, line: Any, lines: int, pairs: tuple[Ints, Ints]) -> Any:
    """Mean of `-log sigmoid(beta * (better - worse))` over pairs of lines.

    `ratios` are `beta * log(pi_phi / pi_old)` of turns; a line's is the sum over its turns.
    """
    torch = torch_module()
    summed = torch.zeros(lines, dtype=torch.float64).index_add(0, line, ratios)
    return -torch.nn.functional.logsigmoid(summed[pairs[0]] - summed[pairs[1]]).mean()


def keyed_ratios(group: Group, settings: PrmSettings) -> Floats:
    """`beta * log(pi_phi / pi_old)` of every turn, where pi_phi is a table over state keys.

    pi_phi plays the actions seen at a state, initially as often as they were seen. pi_old is given
    by the rollouts' log-probs, or else by how often each action was seen there.
    """
    torch = torch_module()
    assert group.state is not None
    assert group.action is not None
    state = together((group.turn_seating, group.state))
    played = together((state, group.action))
    size = int(played.max(initial=-1)) + 1
    owner = np.zeros(size, dtype=np.int64)
    owner[played] = state
    seen = np.log(np.bincount(played) / np.bincount(state)[owner])
    old = seen[played] if group.logprob is None else group.logprob
    found = np.zeros(group.size)
    for seating in range(int(group.seating.max(initial=-1)) + 1):
        mine = group.seating == seating
        pairs = better_pairs(group.returns, np.where(mine, group.peers, -1))
        turns = np.flatnonzero(mine[group.line])
        logits = tensor(seen).requires_grad_()
        states, line = torch.as_tensor(owner), torch.as_tensor(group.line[turns])
        known = torch.as_tensor(played[turns])
        reference = tensor(old[turns])

        def ratios(
            logits: Any = logits, states: Any = states, known: Any = known, old: Any = reference
        ) -> Any:
            whole = torch.zeros(int(states.max()) + 1, dtype=torch.float64)
            whole = whole.index_add(0, states, logits.exp()).log()
            return settings.beta * (logits - whole[states])[known] - settings.beta * old

        def loss(_: int, ratios: Any = ratios, line: Any = line, pairs: Any = pairs) -> Any:
            return preference_loss(ratios(), line, group.lines, pairs)

        if pairs[0].size:
            descend([_Table(logits)], loss, steps=settings.steps, rate=settings.rate)
        with torch.no_grad():
            found[turns] = ratios().numpy()
    return found


class _Table:
    """Parameters that are learnt directly, in the form of a network."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def parameters(self) -> list[Any]:
        return [self.values]


@dataclass
class ImplicitPrm:
    """A policy over features that matches states and actions by two small networks.

    It chooses among the actions seen in the rollouts it is given, and learns from call to call.
    pi_old is given by the rollouts' log-probs, or else by a copy of the policy fitted to them.
    """

    settings: PrmSettings
    networks: list[Any] = field(default_factory=list)  # of states and of actions

    def ratios(self, group: Group, state: Floats, action: Floats, turns: Ints) -> Floats:
        """Train on the lines of these turns; returns their `beta * log(pi_phi / pi_old)`."""
        torch = torch_module()
        choices, places = np.unique(action[turns], axis=0, return_inverse=True)
        seen, offered = tensor(state[turns]), tensor(choices)
        place = torch.as_tensor(places.reshape(-1))
        line = torch.as_tensor(group.line[turns])
        mine = np.isin(np.arange(group.lines), group.line[turns])
        pairs = better_pairs(group.returns, np.where(mine, group.peers, -1))
        settings, fresh = self.settings, not self.networks
        if fresh:
            self.networks = self._made(state.shape[1], action.shape[1])

        def chances(networks: list[Any]) -> Any:
            logits = networks[0](seen) @ networks[1](offered).T
            return torch.log_softmax(logits, dim=1)[torch.arange(place.numel()), place]

        clone = deepcopy(self.networks)
        if group.logprob is None or fresh:
            descend(
                clone,
                lambda _: -chances(clone).mean(),
                steps=4 * settings.steps,
                rate=settings.rate,
                fade=True,
            )
        if fresh:
            self.networks = deepcopy(clone)
        with torch.no_grad():
            old = chances(clone) if group.logprob is None else tensor(group.logprob[turns])

        def ratios() -> Any:
            return settings.beta * (chances(self.networks) - old)

        if pairs[0].size:
            descend(
                self.networks,
                lambda _: preference_loss(ratios(), line, group.lines, pairs),
                steps=settings.steps,
                rate=settings.rate,
            )
        with torch.no_grad():
            return floats(ratios().numpy())

    def _made(self, states: int, actions: int) -> list[Any]:
        hidden, seed = self.settings.hidden, self.settings.seed
        return [
            network(states, WIDTH, hidden=hidden, seed=2 * seed),
            network(actions, WIDTH, hidden=hidden, seed=2 * seed + 1),
        ]

    def state(self) -> list[Any]:
        return [weights_of(one) for one in self.networks]

    def load(self, kept: Any) -> ImplicitPrm:
        if kept:
            first = [np.shape(one[0])[1] for one in kept]
            self.networks = self._made(first[0], first[1])
            for one, weights in zip(self.networks, kept, strict=True):
                load_weights(one, weights)
        return self


def load_models(state: Mapping[str, Any], settings: PrmSettings) -> dict[str, ImplicitPrm]:
    """The models saved by `ImplicitPrm.state`, by name."""
    return {name: ImplicitPrm(settings).load(kept) for name, kept in state.items()}
