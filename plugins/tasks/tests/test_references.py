"""One agent for a whole suite of tasks."""

from __future__ import annotations

import palestra
import pytest
from palestra import EpisodeRecord, InvalidOption
from palestra_tasks.references import AGENTS


def test_every_task_has_a_simple_agent_and_a_reference() -> None:
    assert set(AGENTS) == {spec.id for spec in palestra.specs() if spec.namespace == "tasks"}


def texts(record: EpisodeRecord) -> list[str]:
    return [turn.text for step in record.steps for turn in step.turns]


@pytest.mark.parametrize("env", ["tasks/Hospital-v0", "tasks/Reranking-v0", "tasks/NeuralSA-v0"])
@pytest.mark.parametrize("column", [0, 1])
def test_it_plays_as_the_agent_that_is_named(env: str, column: int) -> None:
    suite_agent = ("tasks-scripted", "tasks-reference")[column]
    named = palestra.play(env, agents=AGENTS[env][column], episodes=2, seed=4)
    found = palestra.play(env, agents=suite_agent, episodes=2, seed=4)
    assert [one.returns for one in found] == [one.returns for one in named]
    assert [texts(one) for one in found] == [texts(one) for one in named]


def test_another_game_is_refused_by_name() -> None:
    with pytest.raises(InvalidOption, match="plays tasks"):
        palestra.play("games/TicTacToe-v0", agents="tasks-reference")
