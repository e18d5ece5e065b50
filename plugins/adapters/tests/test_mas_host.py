"""MasHost: the group's advantage, the reward of an action, and a team that is learnt."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from adapter_worlds import last
from optimiser_worlds import doors, optimise
from palestra import InvalidOption, Rng
from palestra.agents.models import Request
from palestra_adapters.optimisers.mas_host import (
    Action,
    Built,
    HostPolicy,
    MasHost,
    build,
    relative,
)
from palestra_adapters.workflows.steps import AskStep


def test_advantages_are_relative_to_the_group() -> None:
    assert relative([1.0, 0.0, 0.5, 0.5]) == pytest.approx([2**0.5, -(2**0.5), 0.0, 0.0])
    assert relative([0.3, 0.3]) == [0.0, 0.0]


def test_one_update_by_hand() -> None:
    policy = HostPolicy(roles=2, most=2)
    assert policy.node_shares(0).tolist() == [0.5, 0.5, 0.0, 0.0]
    assert policy.node_shares(1).tolist() == [0.25] * 4
    assert policy.node_shares(2).tolist() == [0.0, 0.0, 0.5, 0.5]
    # adds role 0, then role 1 with a link from 0, and exits; the second action is rewarded -0.5
    team = Built([0, 1], [(0, 1)], [Action(0, 0), Action(1, 1, ((0, 1, True),)), Action(2, 3)])
    team.rewards = [0.0, -0.5, 0.0]
    policy.climb([team], [1.0], rate=2.0)
    assert policy.nodes[0] == pytest.approx([2 * 0.5, -2 * 0.5, 0, 0])
    assert policy.nodes[1] == pytest.approx([-0.25, 0.75, -0.25, -0.25])  # gain 0.5, rate 2
    assert policy.nodes[2] == pytest.approx([0, 0, -1.0, 1.0])
    assert policy.links[0, 1] == pytest.approx(2 * 0.5 * (1 - 0.5))
    assert policy.link_share(0, 1) == pytest.approx(1 / (1 + math.exp(-0.5)))


def test_needless_actions_are_paid_for() -> None:
    policy = HostPolicy(roles=2, most=3)
    policy.nodes[0, 0] = policy.nodes[1, 0] = policy.nodes[2, policy.delete] = 50.0
    team = build(policy, Rng.seeded(1), longest=4, waste=0.2)
    # add 0, add 0 again (waste), delete (waste), add 0 again (waste, and cut off)
    assert team.rewards == pytest.approx([0.0, -0.2, -0.2, -0.4])
    assert team.roles == [0, 0]


def test_agents_whom_nobody_reads_are_heard_by_the_vote() -> None:
    search = MasHost(roles="a|b|c")
    made = search.workflow(Built([0, 1, 2], [(0, 1)]))
    assert [step.name for step in made.steps] == ["agent-1", "agent-2", "agent-3", "vote"]
    assert made.steps[1].reads == ("agent-1",)  # type: ignore[union-attr]
    assert made.steps[3].reads == ("agent-2", "agent-3")  # type: ignore[union-attr]
    with pytest.raises(InvalidOption, match="two roles"):
        MasHost(roles="one")


def player(request: Request) -> str:
    """A scout knows the door but does not dare; a captain goes where a scout says."""
    who = request.messages[0].content
    heard = "it is the right one" in last(request)
    if "scout" in who:
        return "Thought: it is the right one\nAction: Go(to='left')"
    side = "right" if "captain" in who and heard else "left"
    return f"Thought: on\nAction: Go(to='{side}')"


def test_it_learns_a_team_that_needs_two_roles_in_order(tmp_path: Path) -> None:
    roles = "You are a scout.|You are a captain.|You are idle."
    search = MasHost(roles=roles, updates=40, group=10, episodes=1, rate=1.0, most=3)
    result, run = optimise(
        search, tmp_path, env=doors(), player=player, train=1, held_out=2, seed=1
    )
    assert result.start.value == 0.0
    assert result.best.value == 1.0
    kinds = [step.role for step in result.workflow.steps if isinstance(step, AskStep)]
    assert kinds == ["You are a scout.", "You are a captain."]
    assert search.policy.link_share(0, 1) > 0.7
    assert np.argmax(search.policy.node_shares(2)) == search.policy.exit
    assert run.episodes < 200  # a team that was sampled twice is played once
