"""Values of turns learnt from the rollouts themselves: ArCHer's critic, and QLASS's backups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from palestra import InvalidOption, Meta, reward

from palestra_rewards.arrays import Bools, Floats, Ints, floats, means, number, together
from palestra_rewards.estimators.salt import previous
from palestra_rewards.estimators.tree import prefix_tree
from palestra_rewards.estimators.truncated import egae
from palestra_rewards.group import Group
from palestra_rewards.learnt.critics import (
    CriticSettings,
    Transitions,
    TurnCritic,
    one_hot,
    select_rows,
)
from palestra_rewards.learnt.features import ACTION, STATE, made_features
from palestra_rewards.learnt.networks import Hidden, Rate, Seed, Steps
from palestra_rewards.options import Discount


@reward(
    "archer",
    shape="group",
    needs=("state keys", "actions"),
    paper="Zhou et al. (2024), ArCHer: Hierarchical Multi-Turn RL",
    check="test_the_learnt_critic_values_a_mixed_player_like_the_recursion",
    cost="gradient steps of a small network",
)
class Archer:
    """Q minus V of a turn-level critic that is learnt from the rollouts.

    Two networks learn from each other's target copies by temporal differences, one turn at a time:
    Q(s, a) from the turn's reward plus `gamma` times V of the seat's next state, and V from Q of
    the action played. Each pair of seat and agent has its own critic, shared by all tasks.

    By default the networks see states and actions by their keys (hashed to columns if there are
    more than 512) and are fitted from scratch at each call. With `features` they see words
    ("words": what the game tells the seat), numbers ("observation") or a function's result
    ("module:function" of (game, state, seat)); they then keep learning from call to call, off
    policy, from the latest `replay` turns, and `state` and `load` save and restore them. A group
    made of arrays must have the facts "state features" and "action features" for this. With
    `critic="table"` the critic is the exact solution for the keys seen, and needs no torch.

    `expectile` above one half values states by their better actions, as the offline variant with
    implicit Q-learning does. V is 0 after a line's last turn. If the line was truncated there,
    nothing is learnt from that turn, and it gets 0 if nothing else shows its value; but if no
    finished line shows the value of its state, the truncated line counts as finished. Zhou et al.,
    "ArCHer" (2024). The paper takes the smaller of two critics, reads text with a language model,
    and trains V on freshly sampled actions; here V learns from the actions played.
    """

    def __init__(
        self,
        *,
        gamma: Discount = 1.0,
        critic: Annotated[
            Literal["network", "table"], Meta(description="whether values are learnt or solved for")
        ] = "network",
        features: Annotated[
            str, Meta(description="what networks see: words, observation, a function's; or keys")
        ] = "",
        hidden: Hidden = 64,
        steps: Steps = 1000,
        rate: Rate = 0.01,
        tau: Annotated[
            float, Meta(gt=0, le=1, description="how far slow copies move at each step")
        ] = 0.1,
        expectile: Annotated[
            float,
            Meta(gt=0, lt=1, description="expectile of a state's action values; 0.5 is the mean"),
        ] = 0.5,
        replay: Annotated[
            int, Meta(ge=1, le=10_000_000, description="turns remembered between calls")
        ] = 10_000,
        batch: Annotated[
            int, Meta(ge=1, le=1_000_000, description="turns drawn for one step")
        ] = 256,
        seed: Seed = 0,
    ) -> None:
        if features:
            made_features(features)  # refuses what is none
        self.gamma, self.critic, self.features = gamma, critic, features
        self.settings = CriticSettings(
            gamma, hidden, steps, rate, tau, expectile, replay, batch, seed
        )
        self.critics: dict[str, TurnCritic] = {}

    def __call__(self, group: Group) -> Floats:
        if self.critic == "table":
            quality, value, state = turn_critic(group, gamma=self.gamma)
            return quality - value[state]
        quality, values = self.values(group)
        return quality - values

    def values(self, group: Group) -> tuple[Floats, Floats]:
        """Q and V of every turn, each of shape (turns,), after learning from these turns.

        They are equal where nothing shows a turn's value.
        """
        quality, values = np.zeros(group.size), np.zeros(group.size)
        sees = STATE in group.facts
        state, action = _critic_features(group)
        moves = _transitions(group, state, action)
        known = learnable_turns(group)
        played = together((group.turn_seating, *_keys(group)))
        for seating in range(int(group.turn_seating.max(initial=-1)) + 1):
            own = group.turn_seating == seating
            first = int(np.flatnonzero(own)[0])
            name = f"{group.seat[first]} {group.agents[group.agent[first]]}".strip()
            found = self.critics.get(name) if sees else None
            found = found or TurnCritic(self.settings)
            if (own & known).any():
                found.fit(select_rows(moves, own & known))
            if sees:
                self.critics[name] = found
            if found.networks:
                own &= np.isin(played, played[own & known]) if not sees else True
                quality[own] = found.quality(state[own], action[own])
                values[own] = found.value(state[own])
        return quality, values

    def state(self) -> dict[str, Any]:
        return {"critics": {name: one.state() for name, one in self.critics.items()}}

    def load(self, state: Mapping[str, Any]) -> None:
        self.critics = {
            name: TurnCritic(self.settings).load(kept) for name, kept in state["critics"].items()
        }


@reward(
    "turn-critic",
    shape="group",
    needs=("state keys", "actions"),
    paper="Schulman et al. (2016), High-Dimensional Continuous Control Using GAE",
    check="test_a_turn_critic_with_lambda_one_takes_the_mean_return_of_a_state_off",
    cost="gradient steps of a small network",
)
class LearntBaseline(Archer):
    """Generalised advantages over the learnt V of `archer`: a turn-level actor-critic.

    The baseline that ArCHer is compared with. `lam=1` is the reward to go minus V, `lam=0` the
    one-step temporal difference; values between weigh longer looks ahead by powers of `lam`. If a
    line was truncated, V after its last turn is taken to be V before it. The options are those
    of `archer`.
    """

    def __init__(
        self,
        *,
        lam: Annotated[
            float, Meta(ge=0, le=1, description="weight of longer looks ahead: lambda")
        ] = 0.95,
        gamma: Discount = 1.0,
        critic: Annotated[
            Literal["network", "table"], Meta(description="whether values are learnt or solved for")
        ] = "network",
        features: Annotated[
            str, Meta(description="what networks see: words, observation, a function's; or keys")
        ] = "",
        hidden: Hidden = 64,
        steps: Steps = 1000,
        rate: Rate = 0.01,
        replay: Annotated[
            int, Meta(ge=1, le=10_000_000, description="turns remembered between calls")
        ] = 10_000,
        seed: Seed = 0,
    ) -> None:
        super().__init__(
            gamma=gamma,
            critic=critic,
            features=features,
            hidden=hidden,
            steps=steps,
            rate=rate,
            replay=replay,
            seed=seed,
        )
        self.lam = lam

    def __call__(self, group: Group) -> Floats:
        if self.critic == "table":
            _, table, state = turn_critic(group, gamma=self.gamma)
            values = table[state]
        else:
            values = self.values(group)[1]
        return egae(group.with_facts(values=values), gamma=self.gamma, lam=self.lam)


def _keys(group: Group) -> tuple[Ints, Ints]:
    assert group.state is not None
    assert group.action is not None
    return group.state, group.action


def _critic_features(group: Group) -> tuple[Floats, Floats]:
    """Features of the states and the actions of every turn: those given, or one-hot keys.

    An action's key is joined with its state's, so that nothing generalises between states.
    """
    if STATE in group.facts:
        return floats(group.facts[STATE]), floats(group.facts[ACTION])
    state, action = _keys(group)
    return one_hot(state), one_hot(together((state, action)))


def _transitions(group: Group, state: Floats, action: Floats) -> Transitions:
    following = next_turn(group)
    lasting = (following >= 0).astype(np.float64)
    after = state[following] * lasting[:, None]
    return Transitions(state, action, group.rewards, after, lasting)


def learnable_turns(group: Group) -> Bools:
    """Mask of the turns whose value can be learnt: all but the last ones of truncated lines.

    If no finished line passes through a state or what follows it, truncated lines through it
    count as finished.
    """
    state, following = together((group.turn_seating, _keys(group)[0])), next_turn(group)
    last = following < 0
    known = ~last | ~group.truncated[group.episode]
    before, after = state[~last], state[following[~last]]
    ends = np.bincount(state, last & known) > 0  # states from which an end was seen
    while True:
        fresh = ends | (np.bincount(before, ends[after], minlength=ends.size) > 0)
        if (fresh == ends).all():
            return known | ~ends[state]
        ends = fresh


def turn_critic(group: Group, *, gamma: float) -> tuple[Floats, Floats, Ints]:
    """Q of every turn, V of every state, and the state's number at every turn.

    V solves `V = r + gamma P V` for the mean rewards and the transitions that were seen.
    """
    states, actions = _keys(group)
    state = together((group.turn_seating, states))
    following, known = next_turn(group), learnable_turns(group)
    value = _solve_values(group, state, following, known, gamma)
    after = np.where(following >= 0, value[state[following]], 0.0)
    played = together((state, actions))
    often = np.bincount(played, known)
    total = np.bincount(played, known * (group.rewards + gamma * after))
    quality = np.where(often[played] > 0, (total / np.maximum(often, 1))[played], value[state])
    return floats(quality), value, state


def _solve_values(group: Group, state: Ints, following: Ints, known: Bools, gamma: float) -> Floats:
    from scipy.sparse import coo_array, eye_array
    from scipy.sparse.linalg import spsolve

    on = np.flatnonzero(following >= 0)
    visits = np.bincount(state, known)
    chance = 1 / visits[state[on]]
    size = (visits.size, visits.size)
    moves = coo_array((chance, (state[on], state[following[on]])), shape=size)
    system = (eye_array(visits.size) - gamma * moves).tocsc()
    paid = np.bincount(state, known * group.rewards) / np.maximum(visits, 1)
    return np.atleast_1d(floats(spsolve(system, paid)))


def next_turn(group: Group) -> Ints:
    """The seat's next turn in the episode, -1 after its last."""
    following = np.full(group.size, -1)
    before = previous(group, np.arange(group.size))
    later = np.flatnonzero(before)
    following[before[later] - 1] = later
    return following


@reward(
    "qlass",
    shape="group",
    needs=("state keys", "actions"),
    paper="QLASS: Boosting Language Agent Inference via Q-Guided Stepwise Search (2025)",
    check="test_backed_up_q_is_that_of_the_best_child",
    cost="tree",
)
def qlass(
    group: Group,
    *,
    gamma: Discount = 1.0,
    normal: Annotated[bool, Meta(description="whether to scale Q to 0..1 in each task")] = True,
) -> Floats:
    """Q of the best child, backed up over the tree of explored rollouts.

    `Q(s, a) = r + gamma * max Q(child)`; the tree joins rollouts that share a prefix. Where chance
    leads from one decision to several states, it is the mean over the rollouts of the best child in
    the state that each reached.

    With `normal`, Q is scaled to 0..1 within the task. For one player. Lin et al., "QLASS" (2025).
    """
    if np.unique(group.seat).size > 1:
        raise InvalidOption(
            "qlass backs up the best child, which needs a single decider; keep one seat, "
            "as in Group.of(records, seats=[0])"
        )
    tree = prefix_tree(group)
    state, following = together((tree.before, _keys(group)[0])), next_turn(group)
    best = np.full(int(state.max(initial=-1)) + 1, -np.inf)
    found = np.zeros(group.size)
    for place in range(int(group.ordinal.max(initial=-1)), -1, -1):
        now = np.flatnonzero(group.ordinal == place)
        ahead = np.where(following[now] >= 0, best[state[following[now]]], 0.0)
        node = number(tree.after[now])
        found[now] = means(group.rewards[now] + gamma * ahead, node)[node]
        np.maximum.at(best, state[now], found[now])
    return _unit(found, group.turn_task) if normal else found


def _unit(values: Floats, ids: Ints) -> Floats:
    """Moved and scaled to 0..1 in every bucket; 0 where all are equal."""
    low, high = np.full(ids.max(initial=-1) + 1, np.inf), np.full(ids.max(initial=-1) + 1, -np.inf)
    np.minimum.at(low, ids, values)
    np.maximum.at(high, ids, values)
    span = (high - low)[ids]
    return floats(np.divide(values - low[ids], span, out=np.zeros(values.size), where=span > 0))
