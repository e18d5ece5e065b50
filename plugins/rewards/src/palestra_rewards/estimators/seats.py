"""Baselines per seat, role or functional group instead of one for all.

They use one normaliser with different keys: MARS has statistics per seat, Dr. MAS per agent of a
task, AdvEvo-MARL per functional group, AT-GRPO per agent, turn and state of a task.
"""

from __future__ import annotations

from typing import Annotated

from palestra import InvalidOption, Meta, reward

from palestra_rewards.arrays import Floats, centre, number, standardise, together
from palestra_rewards.group import Group
from palestra_rewards.options import Ddof, Discount, Divide, Epsilon


@reward(
    "mars",
    shape="group",
    paper="MARS: Multi-Agent Reasoning through Self-Play in Strategic Games (2025)",
    check="test_seat_centring_removes_the_value_of_kuhn_poker",
)
def mars(group: Group, *, gamma: Discount = 1.0, divide: Divide = True) -> Floats:
    """Reward to go over the seat's own turns, standardised for each seat over the batch.

    The discounted sum comes first, then it is standardised over all turns of the seat.

    The first and the second player have different values, so each has statistics of its own, over
    the whole batch; so does each game (the fact "env") of a batch of several. Yuan et al., "MARS"
    (2025).
    """
    to_go, seat = group.to_go(gamma=gamma), group.turn_seating
    if "env" in group.facts:
        seat = together((seat, number(group.line_fact("env"))[group.line]))
    return standardise(to_go, seat) if divide else centre(to_go, seat)


@reward(
    "dr-mas",
    shape="group",
    paper="Dr. MAS: Stable Reinforcement Learning for Multi-Agent LLM Systems",
    check="test_dr_mas_second_moment_under_shared_statistics",
)
def dr_mas(group: Group, *, divide: Divide = True) -> Floats:
    """Return standardised by mean and spread over the agent's own turns in the task.

    An agent is a role. With statistics shared by all agents, agent k's second moment would be
    (spread_k² + (mean_k - mean)²) / spread², which makes gradients spike. "Dr. MAS".
    """
    of_turn = group.spread(group.returns)
    agent = together((group.turn_task, group.role, group.agent))
    return standardise(of_turn, agent) if divide else centre(of_turn, agent)


@reward(
    "advevo",
    shape="group",
    paper=(
        "AdvEvo-MARL: Shaping Internalized Safety through Adversarial Co-Evolution in "
        "Multi-Agent Reinforcement Learning (2025)"
    ),
    check="test_advevo_centres_each_functional_group",
)
def advevo(group: Group) -> Floats:
    """Return minus the mean return of the functional group in the task: a public baseline.

    Functional groups (attackers, defenders) are roles. "AdvEvo-MARL" (2025).
    """
    functional = together((group.line_task, group.line_role))
    return group.spread(centre(group.returns, functional))


@reward(
    "at-grpo",
    shape="group",
    needs=("state keys",),
    paper="Stronger Together: On-Policy RL for Collaborative LLMs (2025)",
    check="test_at_grpo_compares_candidates_of_one_position_only",
)
def at_grpo(
    group: Group,
    *,
    team: Annotated[float, Meta(description="weight of the team's outcome")] = 1.0,
    local: Annotated[float, Meta(description="weight of the turn's own reward")] = 0.0,
    ddof: Ddof = 0,
    epsilon: Epsilon = 0.0,
) -> Floats:
    """Scores of one agent at one turn and state of a task, standardised among themselves.

    The score mixes the team's outcome (mean return over the episode's seats) with the turn's own
    reward: `team * outcome + local * reward`. Independent rollouts seldom reach the same state
    after the first turn, and a turn that is alone gets 0; `branching.branch_turns` therefore plays
    k candidates from one state at every turn and continues from the best. Whether to train one
    model or several, and on which samples, is left to the caller. Zhao et al., "Stronger Together"
    (2025).
    """
    if team == 0 and local == 0:
        raise InvalidOption("at-grpo scores nothing with team=0 and local=0; set one of them")
    assert group.state is not None
    outcome = group.team_returns[group.episode]
    score = team * outcome + local * group.rewards
    like = together((group.turn_task, group.role, group.agent, group.ordinal, group.state))
    return standardise(score, like, ddof=ddof, epsilon=epsilon)
