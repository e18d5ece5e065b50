"""What games report for the record, against what the moves came to."""

from __future__ import annotations

from itertools import pairwise
from math import log2
from typing import Any

import palestra
import pytest
from palestra.records.facts import Reporting
from palestra.records.record import as_json, retrace

CASES: dict[str, dict[str, Any]] = {
    "games/Sudoku-v0": {"side": 4},
    "games/Minesweeper-v0": {"rows": 5, "columns": 5, "mines": 3},
    "games/Sokoban-v0": {},
    "games/Mining-v0": {},
    "games/Quest-v0": {},
    "games/PlanPath-v0": {},
    "games/Wordle-v0": {},
    "games/TwentyQuestions-v0": {},
    "games/GuessMyCity-v0": {},
    "games/AgentsNet-v0": {"num_players": 5},
}


@pytest.mark.parametrize("env", CASES)
def test_facts_are_plain_and_progress_is_a_share(env: str) -> None:
    game = palestra.game(env, **CASES[env])
    assert isinstance(game, Reporting)
    (record,) = palestra.play(env, agents="random", seed=5, max_episode_steps=40, **CASES[env])
    now: dict[str, Any] = {}
    for episode, facts in zip(
        retrace(record), [record.facts, *(step.facts for step in record.steps)], strict=True
    ):
        now |= facts
        before = episode.state_key()
        assert as_json(game.record_facts(episode.state)) == now
        assert episode.state_key() == before
        assert 0 <= now["progress"] <= 1
    assert record.outcome is not None
    if record.outcome.results[0] == "win":
        assert now["progress"] == 1


def test_answers_take_away_what_a_listener_may_believe() -> None:
    (record,) = palestra.play("games/TwentyQuestions-v0", agents="halving", seed=2)
    beliefs = [
        record.facts["belief"],
        *(s.facts["belief"] for s in record.steps if "belief" in s.facts),
    ]
    left = [sum(chance > 0 for chance in belief) for belief in beliefs]
    assert left[0] == len(beliefs[0])
    assert all(more > fewer for more, fewer in pairwise(left))
    assert beliefs[-1][record.facts["type"]] == 1
    assert all(sum(belief) == pytest.approx(1) for belief in beliefs)
    first = next(step for step in record.steps if "progress" in step.facts)
    assert first.facts["progress"] == pytest.approx(1 - log2(left[1]) / log2(left[0]))


def test_a_fetched_treasure_is_a_quest_done_in_order() -> None:
    (record,) = palestra.play("games/Quest-v0", agents="quest-explorer", chests=1, length=8)
    reached = [step.facts["milestones"] for step in record.steps if "milestones" in step.facts]
    assert reached == [
        ["red key taken"],
        ["red key taken", "red chest"],
        ["red key taken", "red chest", "treasure taken"],
    ]


def test_each_agent_answers_for_its_own_links() -> None:
    game = palestra.game("games/AgentsNet-v0", num_players=4, edges=((0, 1), (1, 2), (2, 3)))
    state = game.initial_state(0)
    state.answers = ("Group 1", "Group 1", "Group 2", "Group 1")
    assert game.record_facts(state)["local"] == [0.0, 0.5, 1.0, 1.0]
    vote = palestra.game("games/AgentsNet-v0", task="leader-election", num_players=4)
    state = vote.initial_state(0)
    for given, own in (("YYNN", [0, 0, 1, 1]), ("YNNN", [1, 1, 1, 1]), ("NNNN", [0, 0, 0, 0])):
        state.answers = tuple({"Y": "Yes", "N": "No"}[one] for one in given)
        assert vote.record_facts(state)["local"] == own
