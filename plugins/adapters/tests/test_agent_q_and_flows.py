"""Agent Q's mixture, search and pairs; a workflow per episode, and its reward."""

from __future__ import annotations

import json
import math
from typing import Any

import palestra
import pytest
from adapter_worlds import Free, last, trail
from optimiser_worlds import follows, shuffled
from palestra import EpisodeRecord, InvalidOption
from palestra.agents.models import Request
from palestra.testing import ScriptedModel
from palestra_adapters.optimisers.wording import as_text
from palestra_adapters.search.agent_q import AgentQ, QNode, back_up, preference_pairs, ranked_values
from palestra_adapters.workflows.flow_reasoner import FlowReasoner, flow_reward
from palestra_adapters.workflows.steps import AskStep, ToolStep, Workflow

SPOT: Any = None  # the rules below need no position


def test_values_are_mixed_and_bounded_by_hand() -> None:
    root = QNode(SPOT)
    left, right = QNode(SPOT, root, "l", critic=1.0), QNode(SPOT, root, "r", critic=0.0)
    assert left.bound(0.5, 1.0) == math.inf
    back_up(left, 0.0)
    back_up(right, 1.0)
    back_up(right, 0.5)
    assert (root.visits, root.total) == (3, 1.5)
    assert left.value(0.25) == pytest.approx(0.25 * 0.0 + 0.75 * 1.0)
    assert right.value(0.25) == pytest.approx(0.25 * 0.75)
    assert right.bound(1.0, 2.0) == pytest.approx(0.75 + 2 * math.sqrt(math.log(3) / 2))


def test_a_ranking_becomes_values_from_one_to_zero() -> None:
    assert ranked_values("abc", "2, 3, 1") == {"b": 1.0, "c": 0.5, "a": 0.0}
    assert ranked_values("abc", "3") == {"c": 1.0, "a": 0.25, "b": 0.25}
    assert ranked_values("abc", "9, none") == {"a": 0.5, "b": 0.5, "c": 0.5}


BAIT = {
    "start": {"bait": 0.0, "path": 0.0},
    "bait": {"dead end": 0.25, "wall": 0.0},
    "path": {"gold": 1.0, "wall": 0.0},
}


def fooled(request: Request) -> str:
    """As critic it prefers the bait; as policy it goes on by the request's seed."""
    text = last(request)
    if "Rank them" in text:
        return "1, 2"
    assert request.choices is not None
    return request.choices[(request.seed or 0) % len(request.choices)]


def searched(alpha: float, seed: int = 0) -> EpisodeRecord:
    agent = AgentQ(model=ScriptedModel(fooled), alpha=alpha, iterations=30)
    return palestra.play(trail(BAIT, top=1.0), agents=[agent], seed=seed)[0]


def test_outcomes_correct_a_critic_who_is_fooled() -> None:
    """The paper's ordering: search with outcomes beats the critic alone."""
    with_outcomes = [searched(0.8, seed).returns[0] for seed in range(5)]
    critic_alone = [searched(0.0, seed).returns[0] for seed in range(5)]
    assert with_outcomes == [1.0] * 5
    assert max(critic_alone) < 1.0


def test_pairs_prefer_what_pays_more_and_tell_positions_apart() -> None:
    record = searched(1.0)
    pairs = preference_pairs([record], gap=0.2, visits=2)
    by_move = {(pair.chosen, pair.rejected) for pair in pairs}
    assert ("Go(to='path')", "Go(to='bait')") in by_move
    assert ("Go(to='gold')", "Go(to='wall')") in by_move
    assert not any((b, a) in by_move for a, b in by_move)
    assert all(pair.gap > 0.2 for pair in pairs)
    assert any("You are at path" in pair.prompt for pair in pairs)
    assert preference_pairs([record], gap=1.1) == []
    with pytest.raises(InvalidOption, match="agent-q"):
        preference_pairs(palestra.play(trail(BAIT), agents="random"))


def test_log_probabilities_of_the_policy_are_kept_where_the_model_tells_them() -> None:
    record = palestra.play(trail(BAIT, top=1.0), agents=["agent-q:echo:,alpha=1.0"])[0]
    pairs = preference_pairs([record], gap=0.0)
    assert pairs
    assert all(pair.chosen_logprob is not None for pair in pairs)


AHEAD = Workflow((ToolStep("ahead", playouts=1), AskStep("answer", reads=("ahead",))))


def meta(request: Request) -> str:
    """Designs a look ahead for the first room, and one answer for the others."""
    text = last(request)
    if "Design the workflow" not in text:
        return follows(request)
    if "refused" not in text:
        return "A look ahead, I think."
    return as_text(AHEAD if "room 0" in text else Workflow((AskStep("answer"),)))


def test_every_episode_is_played_by_a_workflow_of_its_own() -> None:
    model = Free(meta)
    records = palestra.play(shuffled(), agents=[FlowReasoner(model=model)], episodes=12)
    for record in records:
        (turn,) = record.turns
        first = "room 0" in turn.facts["talks"][0]["opening"][1]["text"]
        assert turn.facts["designed"]
        assert len(turn.facts["flow"]["steps"]) == (2 if first else 1)
        if first:
            assert record.returns == (1.0,)
    assert any('It was:\n"A look ahead, I think.' in last(r) for r in model.requests)
    assert "- tool: looks ahead" in model.requests[0].messages[0].content


def test_without_a_readable_workflow_one_answer_is_played() -> None:
    model = Free(lambda r: "none" if "Design" in last(r) else follows(r))
    record = palestra.play(shuffled(), agents=[FlowReasoner(model=model, tries=2)])[0]
    assert record.turns[0].facts["designed"] is False
    assert len(model.requests) == 3
    assert json.loads(json.dumps(record.turns[0].facts["flow"]))["name"] == "one answer"


def test_the_reward_of_the_meta_agent_by_hand() -> None:
    record = palestra.play(shuffled(), agents=[FlowReasoner(model=Free(lambda r: _both(r)))])[0]
    used = record.turns[0].usage.tokens
    # two steps and one link
    assert flow_reward(record, complexity=0.1) == pytest.approx(record.returns[0] - 0.3)
    priced = flow_reward(record, complexity=0.0, tokens=2.0)
    assert priced == pytest.approx(record.returns[0] - 2 * used / 1000)
    with pytest.raises(InvalidOption, match="flow-reasoner"):
        flow_reward(palestra.play(shuffled(), agents="random")[0])


def _both(request: Request) -> str:
    return as_text(AHEAD) if "Design" in last(request) else follows(request)
