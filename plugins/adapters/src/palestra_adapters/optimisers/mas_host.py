"""MasHost: a team is built by a policy that adds roles, links and exits, learnt by reinforcement.

Yang et al., "MasHost Builds It All: Autonomous Multi-Agent System Directed by Reinforcement
Learning", 2025. A state is the team so far; an action is a node action (add one of the roles,
delete the last agent, or exit) with links from earlier agents to the new one. Hierarchical relative
policy optimisation joins the advantage of a whole team over its group with a reward of each action.
The paper's policy is a language model that reads the query; here it is a table: a logit for every
node action at each size of the team, and one for every pair of roles that may be linked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from palestra import InvalidOption, Meta, Rng

from palestra_adapters.optimisers.gptswarm import FINAL, READ, ROLES, graph_of, reaches
from palestra_adapters.optimisers.search import Search, Searching, Studio, Variant
from palestra_adapters.workflows.steps import AskStep, Workflow


@dataclass(frozen=True, slots=True)
class Action:
    """A node action at a size of the team, and the links that were or were not drawn."""

    size: int
    node: int
    links: tuple[tuple[int, int, bool], ...] = ()  # role of the earlier agent, role of the new one


@dataclass(slots=True)
class Built:
    """One team: its roles in order, links between places, and the actions that built it."""

    roles: list[int] = field(default_factory=list)
    links: list[tuple[int, int]] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)  # of each action


class HostPolicy:
    """Logits of node actions by size, and of links by pair of roles; `roles` + delete + exit."""

    def __init__(self, roles: int, most: int) -> None:
        self.roles, self.most = roles, most
        self.delete, self.exit = roles, roles + 1
        self.nodes: NDArray[np.float64] = np.zeros((most + 1, roles + 2))
        self.links: NDArray[np.float64] = np.zeros((roles, roles))

    def node_shares(self, size: int) -> NDArray[np.float64]:
        """Probabilities of node actions: an empty team can only add, a full one cannot."""
        allowed = np.ones(self.roles + 2, bool)
        allowed[: self.roles] = size < self.most
        allowed[self.roles :] = size > 0
        weights = np.where(allowed, np.exp(self.nodes[size] - self.nodes[size].max()), 0.0)
        return weights / weights.sum()

    def link_share(self, earlier: int, new: int) -> float:
        return 1 / (1 + exp(-float(self.links[earlier, new])))

    def climb(self, teams: Sequence[Built], advantages: Sequence[float], rate: float) -> None:
        """logit += rate / teams * sum over actions of (advantage + action's reward) * score."""
        nodes, links = np.zeros_like(self.nodes), np.zeros_like(self.links)
        for team, advantage in zip(teams, advantages, strict=True):
            for action, reward in zip(team.actions, team.rewards, strict=True):
                gain = advantage + reward
                nodes[action.size] -= gain * self.node_shares(action.size)
                nodes[action.size, action.node] += gain
                for earlier, new, drawn in action.links:
                    links[earlier, new] += gain * (float(drawn) - self.link_share(earlier, new))
        self.nodes += rate / len(teams) * nodes
        self.links += rate / len(teams) * links


def relative(returns: Sequence[float]) -> list[float]:
    """Advantages within a group: (return - mean) / standard deviation; zeros if all are equal."""
    spread = float(np.std(returns))
    if spread == 0:
        return [0.0] * len(returns)
    return [(value - float(np.mean(returns))) / spread for value in returns]


def build(policy: HostPolicy, rng: Rng | None, longest: int, waste: float) -> Built:
    """A team by the policy: sampled, or by the likeliest actions without `rng`.

    Deleting an agent, adding a role that is there already, and being cut off after `longest`
    actions each cost `waste`: these are the rewards of actions.
    """
    team = Built()
    for _ in range(longest):
        shares = policy.node_shares(len(team.roles))
        node = int(np.argmax(shares)) if rng is None else rng.weighted(shares.tolist())
        size = len(team.roles)
        drawn: list[tuple[int, int, bool]] = []
        reward = 0.0
        if node < policy.roles:
            reward = -waste if node in team.roles else 0.0
            drawn = _link(policy, team, node, rng)
        elif node == policy.delete:
            reward = -waste
            gone = len(team.roles) - 1
            team.roles.pop()
            team.links = [link for link in team.links if gone not in link]
        team.actions.append(Action(size, node, tuple(drawn)))
        team.rewards.append(reward)
        if node == policy.exit:
            return team
    team.rewards[-1] -= waste
    return team


def _link(
    policy: HostPolicy, team: Built, role: int, rng: Rng | None
) -> list[tuple[int, int, bool]]:
    """Add an agent, and draw its links from the agents before it."""
    drawn = []
    for place, earlier in enumerate(team.roles):
        share = policy.link_share(earlier, role)
        taken = share > 0.5 if rng is None else rng.random() < share
        drawn.append((earlier, role, taken))
        if taken:
            team.links.append((place, len(team.roles)))
    team.roles.append(role)
    return drawn


class MasHost(Search):
    """`updates` groups of `group` teams, each played on `episodes` training seeds.

    A team's return is its worth, of which every agent costs the share `price`, so that among
    teams which earn nothing a small one is no better. Every agent is heard by the final vote
    unless another agent reads it. roles: texts joined by `|`, by default five ways of
    thinking. At the end the team of the likeliest actions is played on all training seeds and
    returned.
    """

    name = "mas-host"
    paper = "MasHost Builds It All (2025)"

    def __init__(
        self,
        *,
        updates: Annotated[int, Meta(ge=1, description="steps of the gradient")] = 20,
        group: Annotated[int, Meta(ge=2, description="teams a step")] = 6,
        episodes: Annotated[int, Meta(ge=1, description="episodes a team")] = 2,
        rate: Annotated[float, Meta(gt=0, description="learning rate")] = 0.5,
        price: Annotated[
            float, Meta(ge=0, description="share of the worth that an agent costs")
        ] = 0.05,
        waste: Annotated[float, Meta(ge=0, description="price of a needless action")] = 0.1,
        most: Annotated[int, Meta(ge=1, le=8, description="agents of a team at most")] = 4,
        roles: Annotated[str, Meta(description="texts of the roles, joined by |")] = "",
    ) -> None:
        self._roles = [one.strip() for one in roles.split("|")] if roles else list(ROLES)
        if len(self._roles) < 2 or not all(self._roles):
            raise InvalidOption("mas-host needs two roles or more: roles=one|another")
        self._updates, self._group, self._episodes = updates, group, episodes
        self._rate, self._price, self._waste = rate, price, waste
        self.policy = HostPolicy(len(self._roles), most)
        self._result: Variant | None = None

    def run(self, studio: Studio, start: Workflow) -> Searching[None]:
        yield from studio.play(studio.add(start))
        for number in range(self._updates):
            teams = [self._build(studio.rng) for _ in range(self._group)]
            returns = []
            for team in teams:
                variant = self._variant(studio, team, f"sampled at update {number + 1}")
                yield from studio.play(variant, self._episodes - variant.episodes)
                own = studio.worths(variant)[: self._episodes]
                size = min(1.0, self._price * len(team.roles))
                returns.append(sum(own) / len(own) * (1 - size))
            self.policy.climb(teams, relative(returns), self._rate)
        self._result = self._variant(studio, self._build(None), "likeliest team")
        yield from studio.play(self._result)

    def _build(self, rng: Rng | None) -> Built:
        return build(self.policy, rng, 3 * self.policy.most, self._waste)

    def _variant(self, studio: Studio, team: Built, how: str) -> Variant:
        made = self.workflow(team)
        return studio.known(made) or studio.add(made, (), how)

    def workflow(self, team: Built) -> Workflow:
        """The team as steps; agents whom no other agent reads are heard by the vote."""
        names = [f"agent-{place + 1}" for place in range(len(team.roles))]
        members = [
            AskStep(name, READ if any(b == place for _, b in team.links) else "", self._roles[role])
            for place, (name, role) in enumerate(zip(names, team.roles, strict=True))
        ]
        pairs = [(names[a], names[b]) for a, b in team.links]
        pairs += [
            (n, FINAL) for n in names if not any(reaches(n, o, pairs) for o in names if o != n)
        ]
        made = graph_of(members, pairs)
        if made is None:
            raise InvalidOption("a team without agents cannot play")
        return made

    def choose(self, studio: Studio) -> Variant:
        return self._result or studio.best
