"""AgentGym: fourteen kinds of environment behind one protocol, and evolution across them.

Xi, Ding, Chen et al., "AgentGym: Evolving Large Language Model-based Agents across Diverse
Environments", 2024, has 14 kinds of environment behind one protocol, trajectories in one format,
and AgentEvol: a policy explores all of them and is then trained, from the base policy, on what it
has done, weighted by reward, over and over. Every environment of Palestra has that protocol
already (`palestra.make`, its server, its records), so that a kind here is an id with options;
`evolve` is AgentEvol's loop for policies that are tables, one action for each decision, and
`survey` plays an agent in all kinds.

python -m palestra_tasks.worlds.kinds AGENT [SPLIT] prints the mean return of an agent in each kind
of a split: all, held-in or held-out.

Checked: the loop reaches the optimum of a small world from a uniform base policy; held-out kinds
are those for which the authors' table has no trajectories.

Left out: the authors' environments, their trajectories, and a policy that is a language model.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import palestra
from palestra import Rng, UnknownName

# What AgentGym has, and an environment of the same kind: (id, options)
KINDS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "web shopping": ("web/Shop-v0", {}),
    "web navigation": ("web/Widgets-v0", {}),
    "text game: household": ("games/Quest-v0", {}),
    "text game: science": ("tasks/BoxingGym-v0", {}),
    "text game: craft": ("tasks/PlanWorld-v0", {"level": "medium"}),
    "embodied: instructions": ("tasks/AutoEnv-v0", {"drawn": "none", "turns": 12}),
    "maze": ("text/CollaborationMaze-v0", {}),
    "word game": ("games/Wordle-v0", {}),
    "tools: weather": ("web/ToolWorld-v0", {}),
    "tools: films": ("web/ToolWorld-v0", {"task": "lookup"}),
    "tools: papers": ("web/TravelDesk-v0", {"level": "easy", "days": 3}),
    "tools: sheets": ("web/CRMCalls-v0", {}),
    "tools: to-do": ("web/AppWorld-v0", {}),
    "programs: database": ("web/CRMDesk-v0", {}),
}

# Kinds for which AgentGym has tasks to be judged on and no trajectories to learn from
HELD_OUT = ("web navigation", "tools: papers", "tools: sheets")
SPLITS = ("all", "held-in", "held-out")


def kinds_of(split: str) -> tuple[str, ...]:
    """The kinds of a split: all, held-in (to learn from and be judged on) or held-out."""
    if split not in SPLITS:
        raise UnknownName("split", split, SPLITS)
    wanted = {"all": (True, False), "held-in": (False,), "held-out": (True,)}[split]
    return tuple(kind for kind in KINDS if (kind in HELD_OUT) in wanted)


def installed_kinds(split: str = "all") -> dict[str, tuple[str, Mapping[str, Any]]]:
    """The kinds of a split whose environment is installed."""
    known = {spec.id for spec in palestra.specs()}
    return {kind: KINDS[kind] for kind in kinds_of(split) if KINDS[kind][0] in known}


def survey(
    agent: str = "random", episodes: int = 3, seed: int = 0, split: str = "all"
) -> dict[str, float]:
    """The mean return of the first seat in every installed kind, with one agent in all of them."""
    means = {}
    for kind, (env, options) in installed_kinds(split).items():
        records = palestra.play(
            env, agents=agent, episodes=episodes, seed=seed, invalid="random", **options
        )
        failed = [record.error for record in records if record.error]
        if failed:
            raise palestra.PalestraError(f"{env}: {failed[0]}")
        means[kind] = sum(record.returns[0] for record in records) / episodes
    return means


@dataclass(slots=True)
class TablePolicy:
    """Weights of actions by decision; unknown decisions are played at random."""

    weights: dict[tuple[str, bytes], dict[int, float]] = field(default_factory=dict)

    def choose(self, key: tuple[str, bytes], legal: Sequence[int], rng: Rng) -> int:
        """Draw a legal action; every action has a weight of 1 to begin with."""
        known = self.weights.get(key, {})
        return legal[rng.weighted([1.0 + known.get(action, 0.0) for action in legal])]


@dataclass(frozen=True, slots=True)
class ExplorationEpisode:
    """An episode of exploration: its decisions, and its return."""

    decisions: tuple[tuple[tuple[str, bytes], int], ...]
    reward: float


def explore(
    policy: TablePolicy, env: str, options: Mapping[str, Any], seed: int, rng: Rng, most: int = 100
) -> ExplorationEpisode:
    """Play one episode of an environment for one player with numbered actions."""
    game = palestra.game(env, **options)
    episode = palestra.Episode(game, seed)
    made = []
    for _ in range(most):
        if episode.over:
            break
        legal = [int(n) for n in episode.action_mask(0).nonzero()[0]]
        key = (env, game.anchor(episode.state, 0))
        action = policy.choose(key, legal, rng)
        made.append((key, action))
        episode.act({0: game.action_of(action)})
    return ExplorationEpisode(tuple(made), float(episode.returns[0]))


def learn(tried: Sequence[ExplorationEpisode], strength: float = 20.0) -> TablePolicy:
    """A new policy from the base one, by imitation weighted by reward above the mean."""
    policy = TablePolicy()
    means: dict[str, list[float]] = {}
    for one in tried:
        if one.decisions:
            means.setdefault(one.decisions[0][0][0], []).append(one.reward)
    for one in tried:
        if not one.decisions:
            continue
        rewards = means[one.decisions[0][0][0]]
        above = one.reward - sum(rewards) / len(rewards)
        for key, action in one.decisions if above > 0 else ():
            row = policy.weights.setdefault(key, {})
            row[action] = row.get(action, 0.0) + strength * above
    return policy


def evolve(
    worlds: Sequence[tuple[str, Mapping[str, Any]]],
    *,
    seeds: Sequence[int],
    rounds: int = 4,
    episodes: int = 8,
    seed: int = 0,
) -> tuple[TablePolicy, list[float]]:
    """AgentEvol's loop; returns the last policy and the mean return of every round."""
    policy, rng, kept, curve = (
        TablePolicy(),
        Rng.seeded(seed),
        list[ExplorationEpisode](),
        list[float](),
    )
    for _ in range(rounds):
        fresh = [
            explore(policy, env, options, start, rng)
            for env, options in worlds
            for start in seeds
            for _ in range(episodes)
        ]
        kept += fresh
        curve.append(sum(one.reward for one in fresh) / len(fresh))
        policy = learn(kept)
    return policy, curve


def main() -> None:
    """Print the mean return of an agent in each kind."""
    agent = sys.argv[1] if len(sys.argv) > 1 else "random"
    split = sys.argv[2] if len(sys.argv) > 2 else "all"
    print("| kind | mean return |\n|---|---|")
    for kind, mean in survey(agent, split=split).items():
        print(f"| {kind} | {mean:.2f} |")


if __name__ == "__main__":
    main()
