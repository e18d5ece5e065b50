"""UI-Genie's labels by hand, and its model and rounds on real pages."""

from __future__ import annotations

from typing import Any

import numpy as np
import palestra
import pytest
from palestra import EpisodeRecord, InvalidOption
from palestra_rewards import shape
from palestra_rewards.learnt.genie import (
    Course,
    GuiRewards,
    Label,
    checked_actions,
    explore,
    improve,
    spoilt,
    tried_actions,
)
from palestra_rewards.learnt.texts import StoryNetwork

pytest.importorskip("torch")
PAGES = "web/Widgets-v0"
LAKE: dict[str, Any] = {"layout": ("SFF", "FHF", "FFG"), "slippery": False}


def played(agent: str, widget: str, seeds: range) -> list[EpisodeRecord]:
    return [
        record
        for seed in seeds
        for record in palestra.play(PAGES, agents=[agent], seed=seed, widget=widget)
    ]


@pytest.fixture(scope="module")
def fitted() -> GuiRewards:
    """Fitted to what random players did on pages of colours, checked against the solutions."""
    model = GuiRewards(StoryNetwork())
    model.learn(checked_actions(played("random", "click-color", range(100)), "widget-oracle"))
    return model


def test_actions_are_checked_against_the_solution() -> None:
    (record,) = palestra.play(PAGES, agents=["random"], seed=4, widget="click-option")
    course = Course.of(record)
    labels = checked_actions([record], "widget-oracle")
    best = [one.story.splitlines()[-1] for one in labels if one.right == 1.0]
    assert best[0].startswith("> Click(radio")  # the page's own words, not the number
    assert {one.task for one in labels} == {course.task}
    assert course.task.startswith("Task: Select ")
    own = [one for one in labels if one.story == course.step(0)]
    assert [one.right for one in own] == [float(own[0].story.splitlines()[-1] == best[0])]


def test_solutions_are_spoilt_in_three_ways() -> None:
    one, other = played("widget-oracle", "click-option", range(2))
    labels = spoilt([one, other])
    course, task = Course.of(one), Course.of(other).task
    first = labels[:4]
    assert [label.right for label in first] == [1.0, 0.0, 0.0, 0.0]
    assert first[0] == Label(course.task, course.whole(), 1.0)
    assert first[1].story == course.whole(1)  # of two actions
    assert first[2] == Label(task, course.whole(), 0.0)
    assert first[3].story.splitlines()[-3:] == [f"> {course.words[-1]}"] * 3


def test_actions_of_failures_are_right_while_the_task_can_still_be_done() -> None:
    """Down is no mistake, since the goal can be reached after it; the step into the hole is one."""
    walker = iter(["down", "right"])
    (record,) = palestra.rollouts(
        "games/FrozenLake-v0",
        agents=palestra.FunctionAgent(lambda turn: turn.parse(next(walker))),
        n=1,
        **LAKE,
    )
    way = {0: "down", 3: "down", 6: "right", 7: "right"}
    guide = palestra.FunctionAgent(lambda turn: turn.parse(way[int(turn.observation.argmax())]))
    labels = tried_actions(record, guide, lambda r: r.returns[0] > 0, tries=1)
    assert [one.right for one in labels] == [1.0, 0.0]
    assert labels[1].story.splitlines()[1] == "> down"


def test_one_model_knows_right_actions_and_whole_tasks(fitted: GuiRewards) -> None:
    """On pages that it was not fitted to; most actions are wrong, so balanced accuracy counts."""
    held_out = checked_actions(played("random", "click-color", range(200, 230)), "widget-oracle")
    right = [one for one in held_out if one.right]
    wrong = [one for one in held_out if not one.right]
    assert fitted.accuracy(right) > 0.8
    assert fitted.accuracy(wrong) > 0.8
    whole = GuiRewards()
    whole.learn(spoilt(played("widget-oracle", "click-color", range(100))))
    assert whole.accuracy(spoilt(played("widget-oracle", "click-color", range(200, 220)))) > 0.8
    (record,) = played("widget-oracle", "click-color", range(300, 301))
    paid = shape("ui-genie", record, scores=whole, whole=2.0)
    assert paid == pytest.approx(whole.of_actions(record) + 2 * whole.of_task(record))
    again = GuiRewards()
    again.load(whole.state())
    assert again.of_task(record) == whole.of_task(record)


def test_the_model_guides_exploring(fitted: GuiRewards) -> None:
    won = []
    for seed in range(400, 412):
        start = palestra.make(PAGES, view="episode", seed=seed, widget="click-color")
        best = explore(start, fitted, "random", width=20, beams=1, seed=seed)[0]
        palestra.replay(best)
        won.append(best.returns[0] > 0)
    assert np.mean(won) > 0.6  # random play does one in seven


def test_agent_and_model_improve_each_other() -> None:
    """An agent that repeats what was right for a task solves in round two what it could not."""

    def learn(solutions: list[EpisodeRecord]) -> palestra.Agent:
        known = {Course.of(one).task: Course.of(one).words[0] for one in solutions}

        def choose(turn: palestra.Turn) -> Any:
            lines = turn.position.splitlines()
            wanted = known.get(lines[0], "")[len("Click(") : -1]
            named = [line for line in lines if wanted and line.endswith(wanted)]
            if named:
                return turn.parse(f"Click(element={named[0].split(']')[0].strip(' [')})")
            return turn.sample(turn.rng(7, 7))

        return palestra.FunctionAgent(choose)

    def rule(record: EpisodeRecord) -> bool:
        return record.returns[0] > 0

    model = GuiRewards(StoryNetwork())
    first = checked_actions(played("random", "click-color", range(100)), "widget-oracle")
    model.learn([*first, *spoilt(played("widget-oracle", "click-color", range(60)))])
    rounds = improve(
        PAGES,
        range(500, 520),
        model,
        "random",
        rounds=2,
        learn=learn,
        rule=rule,
        options={"widget": "click-color"},
        width=2,
        beams=1,
    )
    solved = {seed: one for this in rounds for seed, one in this.solved.items()}
    assert len(rounds[0].solved) < len(solved)
    assert np.mean([rule(one) for one in solved.values()]) > 0.8
    assert rounds[1].solved.keys() <= rounds[0].failed.keys()


def test_games_of_several_players_are_refused() -> None:
    (record,) = palestra.play("games/TicTacToe-v0", agents=["random"] * 2)
    with pytest.raises(InvalidOption, match="one player"):
        Course.of(record)
