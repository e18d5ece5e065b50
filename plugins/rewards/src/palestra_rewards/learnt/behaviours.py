"""Search for sparse rewards by novelty, in a behaviour space learnt during the search: STAX.

Paolo, Coninx, Laflaquière and Doncieux, "Discovering and Exploiting Sparse Rewards in a Learned
Behavior Space" (2024). Exploration keeps policies whose behaviour is new, in the space of an
autoencoder of what they ended up seeing; emitters improve the policies that were rewarded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
from palestra import Episode, InvalidOption, Rng

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.learnt.networks import descend, network, predict_rows, tensor

STREAM = 0x57A7  # keeps the random numbers of searches apart from those of agents
Evaluate = Callable[[Floats], tuple[Floats, float]]


class Autoencoder:
    """Encodes the last observation of policies as a few numbers, and keeps learning from new ones.

    hidden: units of the hidden layers; 0 makes it linear, so that the best one spans the principal
    components. Inputs are centred and scaled by what has been seen.
    """

    def __init__(
        self, inputs: int, *, size: int = 2, hidden: int = 32, rate: float = 1e-2, seed: int = 0
    ) -> None:
        self._encode = network(inputs, size, hidden=hidden, seed=seed)
        self._decode = network(size, inputs, hidden=hidden, seed=seed + 1)
        self._rate = rate
        self._centre, self._scale = np.zeros(inputs), 1.0

    def fit(self, seen: Floats, *, steps: int = 200) -> float:
        """Take gradient steps on these rows; returns the mean squared error of their scaled form.

        shape of seen: (rows, inputs).
        """
        self._centre = seen.mean(axis=0)
        self._scale = float(max(np.abs(seen - self._centre).max(initial=0.0), 1e-9))
        rows = tensor(self._scale_rows(seen))

        def loss(step: int) -> Any:
            return ((self._decode(self._encode(rows)) - rows) ** 2).mean()

        descend([self._encode, self._decode], loss, steps=steps, rate=self._rate, fade=True)
        return float(loss(0).detach())

    def encode(self, seen: Floats) -> Floats:
        """The behaviours, shape (rows, size)."""
        return predict_rows(self._encode, self._scale_rows(seen))

    def _scale_rows(self, seen: Floats) -> Floats:
        return floats((np.atleast_2d(seen) - self._centre) / self._scale)


def novelty(behaviours: Floats, others: Floats, *, nearest: int = 15) -> Floats:
    """Mean distance of each behaviour to its nearest among the others, shape (behaviours,).

    An exact copy among the others counts as a neighbour, so leave the behaviour itself out of them.
    """
    if not len(others):
        return np.full(len(behaviours), np.inf)
    apart = np.linalg.norm(behaviours[:, None] - others[None], axis=2)
    closest = np.sort(apart, axis=1)[:, : min(nearest, len(others))]
    return floats(closest.mean(axis=1))


@dataclass(slots=True)
class BehaviourPolicy:
    """A policy's numbers, what it saw last, and its return."""

    genome: Floats
    seen: Floats
    reward: float


@dataclass(slots=True)
class Found:
    """What a search found: diverse policies, rewarded ones (best first), and evaluations used."""

    repertoire: list[BehaviourPolicy] = field(default_factory=list)
    rewarded: list[BehaviourPolicy] = field(default_factory=list)
    evaluations: int = 0

    @property
    def best(self) -> BehaviourPolicy | None:
        return self.rewarded[0] if self.rewarded else None


class Stax:
    """The search: exploration and exploitation take turns with equal budgets.

    Exploration: every policy of the population has `children` mutated children; the `kept` most
    novel of them join the repertoire, and the most novel of all become the next population.
    Novelty is measured among all of these and the repertoire, in the autoencoder's space, which
    learns from what they saw. Exploitation: an emitter around each rewarded policy draws
    `children` policies from a normal distribution whose mean and deviations follow the better
    half; one that finds nothing better three times in a row is dropped. What emitters see that
    is rewarded is kept too.

    evaluate: plays the policy of these numbers; returns what it saw last and its return.
    numbers: of a policy. spread: standard deviation of mutations.
    """

    def __init__(
        self,
        evaluate: Evaluate,
        numbers: int,
        *,
        population: int = 16,
        children: int = 2,
        kept: int = 5,
        spread: float = 0.5,
        nearest: int = 15,
        size: int = 2,
        hidden: int = 32,
        steps: int = 100,
        seed: int = 0,
    ) -> None:
        if min(numbers, population, children, kept, nearest) < 1 or spread <= 0:
            raise InvalidOption("numbers of a Stax search must be at least 1, and spread above 0")
        self._evaluate, self._numbers, self._population = evaluate, numbers, population
        self._children, self._kept, self._spread = children, kept, spread
        self._nearest, self._size, self._hidden, self._steps = nearest, size, hidden, steps
        self._rng, self._seed = Rng.seeded(seed, stream=STREAM), seed
        self._emitters: list[_Emitter] = []
        self._coder: Autoencoder | None = None

    def search(self, evaluations: int) -> Found:
        """Search until this many policies have been played."""
        found = Found()
        first = min(self._population, evaluations)
        own = [self._normal() for _ in range(first)]
        parents = [self._play(one, found) for one in own]
        while found.evaluations < evaluations:
            spent = found.evaluations
            parents = self._explore(parents, found, evaluations - spent)
            budget = found.evaluations - spent
            self._exploit(found, min(budget, evaluations - found.evaluations))
        found.rewarded.sort(key=lambda one: -one.reward)
        return found

    def _normal(self) -> Floats:
        """Independent draws of the standard normal distribution, one for each number."""
        drawn = [(self._rng.word() + 1) / (2**32 + 1) for _ in range(self._numbers)]
        return floats(list(map(NormalDist().inv_cdf, drawn)))

    def _play(self, genome: Floats, found: Found) -> BehaviourPolicy:
        seen, reward = self._evaluate(genome)
        found.evaluations += 1
        policy = BehaviourPolicy(genome, floats(seen).ravel(), reward)
        if reward > 0:
            found.rewarded.append(policy)
            if not any(np.array_equal(genome, one.mean) for one in self._emitters):
                self._emitters.append(_Emitter(genome.copy(), self._spread, reward))
        return policy

    def _explore(
        self, parents: list[BehaviourPolicy], found: Found, budget: int
    ) -> list[BehaviourPolicy]:
        drawn = [
            self._play(one.genome + self._spread * self._normal(), found)
            for one in [one for one in parents for _ in range(self._children)][:budget]
        ]
        every = [*parents, *drawn]
        novel = self._novelty(every, found.repertoire)
        children = sorted(range(len(parents), len(every)), key=lambda place: -novel[place])
        found.repertoire += [every[place] for place in children[: self._kept]]
        order = sorted(range(len(every)), key=lambda place: -novel[place])
        return [every[place] for place in order[: self._population]]

    def _novelty(
        self, every: Sequence[BehaviourPolicy], repertoire: Sequence[BehaviourPolicy]
    ) -> Floats:
        """The novelty of each policy, after the autoencoder has learnt from what all saw."""
        seen = np.array([one.seen for one in [*every, *repertoire]])
        if self._coder is None:
            self._coder = Autoencoder(
                seen.shape[1], size=self._size, hidden=self._hidden, seed=self._seed
            )
        self._coder.fit(seen, steps=self._steps)
        codes = self._coder.encode(seen)
        return floats(
            [
                novelty(codes[p : p + 1], np.delete(codes, p, axis=0), nearest=self._nearest)[0]
                for p in range(len(every))
            ]
        )

    def _exploit(self, found: Found, budget: int) -> None:
        """Spend the budget on the emitters whose policies have the highest returns."""
        while budget > 0 and self._emitters:
            emitter = max(self._emitters, key=lambda one: one.reward)
            drawn = []
            for _ in range(min(max(self._children, 4), budget)):
                genome = emitter.mean + emitter.spread * self._normal()
                seen, reward = self._evaluate(genome)
                found.evaluations += 1
                budget -= 1
                drawn.append(BehaviourPolicy(genome, floats(seen).ravel(), reward))
            found.rewarded += [one for one in drawn if one.reward > 0]
            if not emitter.move(drawn):
                self._emitters.remove(emitter)


class _Emitter:
    """A normal distribution that moves to the better half of what it draws."""

    def __init__(self, mean: Floats, spread: float, reward: float) -> None:
        self.mean, self.spread, self.reward = mean, np.full(mean.size, spread), reward
        self._idle = 0

    def move(self, drawn: Sequence[BehaviourPolicy]) -> bool:
        """Whether to go on: False after three draws without an improvement."""
        best = sorted(drawn, key=lambda one: -one.reward)
        if best[0].reward > self.reward:
            self.reward, self._idle = best[0].reward, 0
            half = np.array([one.genome for one in best[: max(len(best) // 2, 1)]])
            self.spread = 0.5 * self.spread + 0.5 * np.abs(half - self.mean).mean(axis=0)
            self.mean = half.mean(axis=0)
        else:
            self._idle += 1
        return self._idle < 3


def open_loop(start: Episode, steps: int) -> tuple[Evaluate, int]:
    """Policies that choose the action of each step by the largest of its own numbers.

    Returns what `Stax` needs: a function that plays a policy in a copy of `start` (a game of one
    player with numbered actions) and returns its observation at the end and its return, and how
    many numbers a policy has. An illegal choice gives way to the best legal one.
    """
    game = start.game
    if game.num_players != 1 or not hasattr(game, "num_actions"):
        raise InvalidOption("open_loop needs a game of one player with numbered actions")
    actions = int(game.num_actions)

    def evaluate(genome: Floats) -> tuple[Floats, float]:
        episode = start.fork()
        for scores in genome.reshape(steps, actions):
            if episode.over:
                break
            legal = episode.legal_actions(0)
            episode.act({0: max(legal, key=lambda action: scores[action])})
        seen = np.asarray(game.observe(episode.state, 0), dtype=np.float64).ravel()
        return seen, float(episode.returns[0])

    return evaluate, steps * actions
