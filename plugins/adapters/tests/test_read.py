"""ReAd: advantages that add up, plans that are refined, and a critic that learns from returns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import palestra
import pytest
from adapter_worlds import Free, last
from palestra import Episode, InvalidOption, Turn
from palestra.agents.models import Request
from palestra_adapters.teams.read import WIDTH, ReAd, Regression, advantages, vector

GAME: Any = palestra.game("grid/Foraging-v0", max_steps=4)


def values(seen: str, actions: Sequence[str]) -> float:
    """North is worth 1 to the first and 2 to the second, who gains 3 more if both go north."""
    found = 0.0
    for seat, action in enumerate(actions):
        found += (seat + 1) * (action == "north") - (action == "stay")
    return found + 3 * (list(actions) == ["north", "north"])


def test_advantages_add_up_to_that_of_the_joint_action() -> None:
    assert advantages(values, "", ["north", "north"]) == [1.0, 5.0]
    assert advantages(values, "", ["stay", "north"]) == [-1.0, 2.0]
    rng = np.random.default_rng(0)
    critic = Regression(weights=rng.normal(size=WIDTH + 1))
    actions = ["a", "b", "c", "a"]
    gains = advantages(critic, "some place", actions)
    assert sum(gains) == pytest.approx(critic("some place", actions) - critic("some place", []))


def teams(*turns: int) -> list[Turn]:
    episode = Episode(GAME, 1, compiled=False)
    return [Turn(episode, seat) for seat in turns or (0, 1)]


def plans(*moves: tuple[str, str]) -> Free:
    left = iter(moves)
    return Free(lambda _: "\n".join(f"player_{i}: {m}" for i, m in enumerate(next(left))))


def test_a_plan_is_made_anew_until_every_action_helps() -> None:
    model = plans(("stay", "stay"), ("stay", "stay"), ("load", "load"))
    agent = ReAd(model=model, critic=values, least=0.0, tries=3)
    decisions = agent.act(teams())
    first, second, third = (last(request) for request in model.requests)
    assert "Your last plan" not in first
    assert "player_0:\n" in first
    assert "player_1:\n" in first
    assert "The action of player_0 is expected to change the team's return by -1" in second
    assert "player_0: stay\nplayer_1: stay" in third
    assert decisions[0].facts["asked"] == 3
    assert decisions[0].usage.calls == 3


def test_jointly_a_loss_of_one_may_be_made_up_by_another() -> None:
    turns = teams()
    legal = [set(turn.legal_texts) for turn in turns]
    assert "stay" in legal[0]
    assert "north" in legal[1]
    model = plans(("stay", "north"))
    agent = ReAd(model=model, critic=values, refine="joint")
    assert [d.text for d in agent.act(turns)] == ["stay", "north"]
    model = plans(("stay", "north"), ("stay", "north"))
    ReAd(model=model, critic=values, tries=2).act(teams())
    assert len(model.requests) == 2  # one by one, the first player's loss is not accepted
    with pytest.raises(InvalidOption, match="sequential or joint"):
        ReAd(model=model, refine="both")  # type: ignore[arg-type]


def test_ridge_regression_is_that_of_the_normal_equations() -> None:
    rng = np.random.default_rng(1)
    critic = Regression(ridge=0.5)
    rows = [(f"place {rng.integers(4)}", [f"m{rng.integers(3)}", "x"]) for _ in range(30)]
    for seen, actions in rows:
        critic.add(seen, actions, float(rng.normal()))
    critic.fit()
    table = np.array([vector(*row) for row in rows])
    whole = np.vstack([table, np.sqrt(0.5) * np.eye(WIDTH + 1)])
    goals = np.concatenate([critic.goals, np.zeros(WIDTH + 1)])
    assert critic.weights == pytest.approx(np.linalg.lstsq(whole, goals, rcond=None)[0], abs=1e-8)


def test_the_critic_learns_which_action_pays_and_objects_to_the_other() -> None:
    """In the prisoner's dilemma, mutual cooperation pays the team most."""

    def answer(request: Request) -> str:
        objected = "Plan it anew" in last(request)
        moves = re.findall(r"cooperate|defect", last(request))
        assert moves
        move = "cooperate" if objected or next(count) % 2 else "defect"
        return f"player_0: {move}\nplayer_1: {move}"

    count = iter(range(999))
    agent = ReAd(model=Free(answer), tries=2, least=0.0)
    env = "games/PrisonersDilemma-v0"
    palestra.play(env, agents=[agent, agent], rounds=1, episodes=12, live=1)
    good = sum(advantages(agent.regression, "", ["cooperate", "cooperate"]))
    bad = sum(advantages(agent.regression, "", ["defect", "defect"]))
    assert good > 0 > bad
