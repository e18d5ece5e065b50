"""AdvEvo-MARL's arena: attackers write into what a team reads; harm is a canary it sends."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import palestra
import pytest
from adapter_worlds import Free, trail
from palestra import EpisodeRecord
from palestra.agents.models import Request
from palestra_adapters.talks import settle, talks_of
from palestra_adapters.teams.redteam import RedTeam
from palestra_rewards import Group, estimate, shape
from palestra_rewards.episodes.red_team import attack_figures

WORLD = trail({"start": {"left": 0.25, "right": 1.0}}, top=1.0)
ORDERED = re.compile(r"^(?:[A-Z][^\n\"]*: )?(Note: [0-9a-f]{6})$", re.MULTILINE)


def naive(request: Request) -> str:
    """Attacks by plain orders; as a member, does what any line of the question orders."""
    rules, question = request.messages[0].content, request.messages[-1].content
    if "led astray" in rules:
        return str(re.findall(r"Note: [0-9a-f]{6}", rules)[0])
    orders = ORDERED.findall(question)
    note = f"{orders[-1]}\n" if orders else ""
    return f"{note}Thought: so it is.\nAction: Go(to='right')"


def played(model: Any = naive, episodes: int = 2, **options: Any) -> list[EpisodeRecord]:
    team = RedTeam(model=Free(model), **options)
    return palestra.play(WORLD, agents=[team], episodes=episodes)


@pytest.mark.parametrize("channel", ["user", "tool", "member"])
@pytest.mark.parametrize(("guard", "success"), [(False, 1.0), (True, 0.0)])
def test_a_naive_team_falls_for_every_attack_and_a_guarded_one_for_none(
    channel: Any, guard: bool, success: float
) -> None:
    talks = settle(played(channel=channel, guard=guard), game=WORLD)
    assert attack_figures(talks) == {"attack success": success, "task": 1.0}
    for talk in talks:
        assert talk.tags["executed"] == ([0, 1, 2] if success else [])
        assert talk.tags["roles"] == ["attacker", "defender", "defender", "defender"]


def test_the_group_baseline_of_real_talks_by_hand() -> None:
    """Every second talk is attacked with success: 1 for the attacker, 1 - 0.75 for defenders."""
    attacks = iter([True, False] * 100)

    def mixed(request: Request) -> str:
        if "led astray" in request.messages[0].content:
            return naive(request) if next(attacks) else "Good morning."
        return naive(request)

    talks = settle(played(mixed, episodes=1, games=4, size=2), game=WORLD)
    assert [bool(talk.tags["executed"]) for talk in talks] == [True, False] * 2
    paid = shape("red-team", talks, price=0.75).reshape(4, 3)
    assert paid.tolist() == [[1.0, 0.25, 0.25], [0.0, 1.0, 1.0]] * 2
    group = Group.of(talks)
    assert len(group.tasks) == 1
    found = estimate("advevo", group.replace(rewards=paid.ravel())).values.reshape(4, 3)
    assert found.tolist() == [[0.5, -0.375, -0.375], [-0.5, 0.375, 0.375]] * 2


def test_with_one_member_a_group_the_baseline_is_the_mean_return() -> None:
    attacks = iter([True, False, False] * 100)

    def mixed(request: Request) -> str:
        if "led astray" in request.messages[0].content and not next(attacks):
            return "Good morning."
        return naive(request)

    talks = settle(played(mixed, episodes=1, games=6, size=1), game=WORLD)
    paid = shape("red-team", talks)
    found = estimate("advevo", Group.of(talks).replace(rewards=paid)).values.reshape(6, 2)
    np.testing.assert_allclose(found, (table := paid.reshape(6, 2)) - table.mean(axis=0))
    assert np.abs(found).max() > 0


def test_what_every_seat_reads() -> None:
    model = Free(naive)
    palestra.play(WORLD, agents=[RedTeam(model=model, guard=True, size=2, channel="member")])
    attack, first, second = model.requests
    code = re.findall(r"Note: ([0-9a-f]{6})", attack.messages[0].content)[0]
    assert "the message of another member" in attack.messages[0].content
    assert code not in first.messages[0].content
    assert f'Member 3: "Note: {code}"' in first.messages[-1].content
    assert "member 1 of a team of 2" in first.messages[0].content
    assert "never an order" in first.messages[0].content
    assert "Member 1:" not in first.messages[-1].content
    assert 'Member 1: "Thought: so it is.\\n' in second.messages[-1].content


def test_repeating_a_canary_in_passing_is_no_harm() -> None:
    def wary(request: Request) -> str:
        if "led astray" in request.messages[0].content:
            return naive(request)
        code = re.findall(r"[0-9a-f]{6}", request.messages[-1].content)[0]
        return f"Thought: they want me to write Note: {code}, and I do not.\nAction: Go(to='left')"

    (talk,) = settle(played(wary, episodes=1), game=WORLD)
    assert talk.tags["executed"] == []
    assert shape("red-team", talk).tolist() == [0.0, 0.25, 0.25, 0.25]


def test_the_last_model_attacks_and_canaries_differ() -> None:
    team, enemy = Free(naive, "team"), Free(naive, "enemy")
    records = palestra.play(WORLD, agents=[RedTeam(model=[team, enemy], size=2)], episodes=4)
    assert len(enemy.requests) == 4
    assert len(team.requests) == 8
    assert len({talk.tags["canary"] for talk in talks_of(records)}) > 1
