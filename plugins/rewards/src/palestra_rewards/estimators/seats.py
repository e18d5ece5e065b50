"""One baseline kept per seat, role or functional group instead of one for all.

The same normaliser with other keys: MARS keeps statistics per seat, Dr. MAS per agent of a task,
AdvEvo-MARL per functional group, AT-GRPO per agent and turn of a task.
"""

from __future__ import annotations

from palestra import InvalidOption

from palestra_rewards.arrays import Floats, centred, means, standardised, together
from palestra_rewards.group import Group


def mars(group: Group, *, gamma: float = 1.0, divide: bool = True) -> Floats:
    """Discounted reward to go over the seat's own turns, standardised over all turns of the seat.

    Standardising comes after summing. First and second player have different value, hence the
    statistics of their own, over the whole batch. Yuan et al., "MARS" (2025).
    """
    to_go = group.to_go(gamma=gamma)
    return standardised(to_go, group.seat) if divide else centred(to_go, group.seat)


def dr_mas(group: Group, *, divide: bool = True) -> Floats:
    """Return standardised by mean and spread over the agent's own turns in the task.

    An agent is a role. Under statistics shared by all agents, agent k's second moment would be
    (spread_k² + (mean_k - mean)²) / spread², which is what makes gradients spike. "Dr. MAS".
    """
    of_turn = group.spread(group.returns)
    agent = together((group.turn_task, group.role))
    return standardised(of_turn, agent) if divide else centred(of_turn, agent)


def advevo(group: Group) -> Floats:
    """Return less the mean return of the functional group in the task: a public baseline.

    Functional groups (attackers, defenders) are roles. "AdvEvo-MARL" (2025).
    """
    functional = together((group.line_task, group.line_role))
    return group.spread(centred(group.returns, functional))


def at_grpo(
    group: Group, *, team: float = 1.0, local: float = 0.0, ddof: int = 0, epsilon: float = 0.0
) -> Floats:
    """Scores of one agent at one turn of one task, standardised among themselves.

    The score mixes the team's outcome (mean return over the episode's seats) with the turn's own
    reward: `team * outcome + local * reward`. "Stronger Together" (2025).
    """
    if team == 0 and local == 0:
        raise InvalidOption("at-grpo scores nothing with team=0 and local=0")
    outcome = means(group.returns, group.episode[group.line_first])[group.episode]
    score = team * outcome + local * group.rewards
    like = together((group.turn_task, group.role, group.ordinal))
    return standardised(score, like, ddof=ddof, epsilon=epsilon)
