"""A Markov decision problem of one seat as tables, and the values of policies on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from palestra import EpisodeRecord, InvalidOption

from palestra_rewards.arrays import Bools, Floats, floats, number
from palestra_rewards.episodes.turns import lines_of
from palestra_rewards.reading import turn_rewards


@dataclass(frozen=True)
class Mdp:
    """States, actions and transition probabilities; other seats are part of the environment.

    `moves` has shape (states, actions, states); its rows sum to 1, or to less if the episode may
    end. `start` holds the probabilities of first states. `open` says which actions a state has, by
    default all. If the tables are read from records, `rewards` and `counts`, shape (states,
    actions), are each action's mean reward and how often it was seen. `states` and `actions` are
    the names that `table` uses.
    """

    moves: Floats
    start: Floats
    gamma: float = 0.95
    open: Bools = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))
    rewards: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    counts: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    states: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        size = self.moves.shape
        if len(size) != 3 or size[0] != size[2] or self.start.shape != (size[0],):
            raise InvalidOption(
                f"moves must have shape (states, actions, states), start (states,); not {size} and "
                f"{self.start.shape}"
            )
        if not 0 <= self.gamma < 1:
            raise InvalidOption(f"gamma must be from 0 to below 1, not {self.gamma}")
        if not self.open.size:
            object.__setattr__(self, "open", np.ones(size[:2], dtype=bool))

    @classmethod
    def seen(cls, records: Sequence[EpisodeRecord], *, seat: int = 0, gamma: float = 0.95) -> Mdp:
        """Estimate the tables of a seat from records; probabilities are observed frequencies.

        States are known by their anchors, so that counters do not tell them apart. Actions never
        seen in a state are not available there.
        """
        visits: list[tuple[str, str, str, float]] = []
        first: list[str] = []
        for record in records:
            paid, turns = turn_rewards(record), record.turns
            own = [one for one in lines_of(record) if turns[one[0]].seat == seat]
            for places in own:
                keys = [turns[place].anchor or turns[place].state_key for place in places]
                first.append(keys[0])
                moved = [action_key(turns[place].action) for place in places]
                visits += zip(keys, moved, [*keys[1:], ""], paid[places], strict=True)
        if not visits or not all(before for before, *_ in visits):
            raise InvalidOption(f"these records hold no turns of seat {seat} with a state_key")
        return _count_mdp(visits, first, gamma)

    def table(self, values: Any) -> dict[str, float]:
        """Values of open state-action pairs by name, in the form that step shapers read."""
        found = floats(values)
        return {
            f"{self.states[s]} {self.actions[a]}": float(found[s, a])
            for s, a in np.argwhere(self.open)
        }

    def ahead(self, values: Floats) -> Floats:
        """Discounted expected value of the next state, shape (states, actions)."""
        return floats(self.gamma * self.moves @ values)

    def evaluate(self, policy: Floats, rewards: Floats) -> tuple[Floats, Floats]:
        """Exact values of a policy: of states, and of actions."""
        values = np.linalg.solve(self._stay(policy), (policy * rewards).sum(axis=1))
        return values, rewards + self.ahead(values)

    def visits(self, policy: Floats) -> Floats:
        """Discounted visits, shape (states, actions); sum 1/(1-gamma) if episodes never end."""
        states = np.linalg.solve(self._stay(policy).T, self.start)
        return floats(states[:, None] * policy)

    def best(self, rewards: Floats) -> tuple[Floats, Floats]:
        """An optimal policy (one action per state) and its action values, by policy iteration."""
        everywhere = np.arange(self.start.size)
        chosen = self.open.argmax(axis=1)
        while True:
            policy = np.zeros(self.open.shape)
            policy[everywhere, chosen] = 1
            _, worth = self.evaluate(policy, rewards)
            worth = np.where(self.open, worth, -np.inf)
            better = worth.max(axis=1) > worth[everywhere, chosen] + 1e-10
            if not better.any():
                return policy, worth
            chosen = np.where(better, worth.argmax(axis=1), chosen)

    def soft(self, rewards: Floats, temperature: float) -> tuple[Floats, Floats]:
        """The policy that maximises return plus `temperature` times entropy; and its values."""
        if temperature <= 0:
            raise InvalidOption(f"temperature must be above 0, not {temperature}")
        values = np.zeros(self.start.size)
        while True:
            worth = np.where(self.open, rewards + self.ahead(values), -np.inf)
            top = worth.max(axis=1, keepdims=True)
            weight = np.exp((worth - top) / temperature)
            fresh = (top + temperature * np.log(weight.sum(axis=1, keepdims=True)))[:, 0]
            policy = weight / weight.sum(axis=1, keepdims=True)
            if np.abs(fresh - values).max() < 1e-11 * max(1.0, np.abs(fresh).max()):
                return floats(policy), floats(fresh)
            values = fresh

    def _stay(self, policy: Floats) -> Floats:
        moves = np.einsum("sa,sat->st", policy, self.moves)
        return floats(np.eye(self.start.size) - self.gamma * moves)


def action_key(action: Any) -> str:
    """An action as text: its number, or the JSON of a typed action."""
    return msgspec.json.encode(action).decode()


def _count_mdp(visits: list[tuple[str, str, str, float]], first: list[str], gamma: float) -> Mdp:
    before, moved, after, paid = (list(column) for column in zip(*visits, strict=True))
    states, actions = tuple(dict.fromkeys(before)), tuple(dict.fromkeys(moved))
    place = {name: row for row, name in enumerate(states)}
    s, a = number(before), number(moved)
    counts = np.zeros((len(states), len(actions)))
    rewards, moves = counts.copy(), np.zeros((*counts.shape, len(states)))
    np.add.at(counts, (s, a), 1)
    np.add.at(rewards, (s, a), paid)
    on = [row for row, name in enumerate(after) if name]
    then = np.array([place[after[row]] for row in on], dtype=np.int64)
    np.add.at(moves, (s[on], a[on], then), 1)
    often = np.maximum(counts, 1)
    start = np.bincount([place[name] for name in first], minlength=len(states)) / len(first)
    return Mdp(
        moves / often[:, :, None],
        start,
        gamma,
        counts > 0,
        rewards / often,
        counts,
        states,
        actions,
    )


def epic_distance(one: Any, other: Any, gamma: float) -> float:
    """The EPIC distance of two rewards, from 0 (equivalent) to 1 (opposite).

    Rewards have shape (states, actions, next states). Each is brought to a canonical form, which
    potential shaping does not change, over uniform states and actions; the distance is
    `sqrt((1 - correlation) / 2)`. Gleave et al., "Quantifying Differences in Reward Functions"
    (2021), as StateFactory's rewards are tested.
    """
    first, second = _canonical(floats(one), gamma), _canonical(floats(other), gamma)
    if first.shape != second.shape or min(first.std(), second.std()) < 1e-12:
        raise InvalidOption("rewards must have one shape, and differ by more than a potential")
    correlation = np.corrcoef(first.ravel(), second.ravel())[0, 1]
    return float(np.sqrt(np.clip(1 - correlation, 0, 2) / 2))


def _canonical(rewards: Floats, gamma: float) -> Floats:
    ahead = rewards.mean(axis=(1, 2))
    potential = gamma * ahead[None, None, :] - ahead[:, None, None]
    return floats(rewards + potential - gamma * rewards.mean())
