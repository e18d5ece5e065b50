"""Agents led by experience, by a proposed task, or by orders: who is, when, and what they read."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import palestra
import pytest
from adapter_worlds import Free, last, trail
from palestra import InvalidOption
from palestra.agents.models import Request
from palestra_adapters.adapter import Plain
from palestra_adapters.directed import DirectedAgent, read_direction, to_unit_length
from palestra_adapters.mediator import Mediator, override_shares
from palestra_adapters.memory.navigator import Navigator, read_experience
from palestra_adapters.tasked import TaskedAgent, read_tasks
from palestra_adapters.teams.spp import read_final
from palestra_adapters.teams.whole import read_orders
from palestra_rewards import shape
from palestra_rewards.judges import Judge
from palestra_rewards.judges.proposing import Proposer
from palestra_rewards.training_rows import role_rows

DOORS = {"start": {"left": 0.0, "right": 1.0}}
WORLD = trail(DOORS, top=1.0)


def rules(request: Request) -> str:
    return request.messages[0].content


# Self-navigating


def learner(request: Request) -> str:
    """Goes left, unless an earlier episode has taught it better."""
    if "Know: what to do" in last(request):
        return "When: there are two doors\nKnow: take the right door."
    return "Go(to='right')" if "take the right door" in rules(request) else "Go(to='left')"


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_share_of_led_episodes_is_led_and_those_alone_succeed(share: float) -> None:
    agent = _navigator(share)
    records = palestra.play(WORLD, agents=[agent], episodes=120, live=1)
    assert not records[0].turns[0].facts["led"]  # nothing is known yet
    led = [record.turns[0].facts["led"] for record in records[1:]]
    assert [record.returns[0] for record in records[1:]] == [float(one) for one in led]
    assert abs(sum(led) / len(led) - share) < 0.13
    shown = [r.turns[0].facts.get("experience", "") for r in records]
    assert all(('- "take the right door."' in text) == bool(text) for text in shown)
    again = palestra.play(WORLD, agents=[_navigator(share)], episodes=120, live=1)
    assert [r.turns[0].facts["led"] for r in again] == [r.turns[0].facts["led"] for r in records]


def _navigator(share: float) -> Navigator:
    return Navigator(inner=Plain(model=Free(learner)), share=share)


def test_experiences_that_fit_the_start_come_first_and_the_oldest_go() -> None:
    agent = _navigator(1.0)
    palestra.play(WORLD, agents=[agent], episodes=2, live=1)
    one = agent.pool[0]
    for number, when in enumerate(("a king of hearts", "You are at start, step 0.", "chess"), 1):
        agent.pool[number] = type(one)(one.task, when, f"text {number}", 0.5, number)
    agent.pool[9] = type(one)("another game", "You are at start, step 0.", "no", 1.0, 9)
    assert agent.retrieve(one.task, "You are at start, step 0.")[0] == 2
    assert 9 not in agent.retrieve(one.task, "You are at start, step 0.")
    small = Navigator(inner=agent.inner, share=1.0, size=3)
    palestra.play(WORLD, agents=[small], episodes=9, live=1)
    assert len(small.pool) == 3
    assert min(small.pool) == max(small.pool) - 2


def test_experience_outlives_the_process_in_its_file(tmp_path: Path) -> None:
    file = str(tmp_path / "pool.json")
    first = Navigator(inner=Plain(model=Free(learner)), share=1.0, memory=file)
    palestra.play(WORLD, agents=[first], episodes=3, live=1)
    first.save()
    second = Navigator(inner=Plain(model=Free(learner)), share=1.0, memory=file)
    assert palestra.play(WORLD, agents=[second])[0].returns == (1.0,)
    assert read_experience("no form at all") == ("", "no form at all")


# Proposed tasks


def obeys(request: Request) -> str:
    return "Go(to='right')" if "right door" in rules(request) else "Go(to='left')"


def test_every_episode_has_a_task_and_the_inner_agent_reads_it(tmp_path: Path) -> None:
    tasks = ["Take the right door.", "Take the left door.", "Take the door that is right of you."]
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps([{"text": one, "moves": [], "tried": 2} for one in tasks]))
    agent = TaskedAgent(inner=Plain(model=Free(obeys)), tasks=str(file))
    records = palestra.play(WORLD, agents=[agent], episodes=60)
    given = [record.turns[0].facts["task"] for record in records]
    assert set(given) == set(tasks)
    assert min(given.count(task) for task in tasks) >= 10
    for record, task in zip(records, given, strict=True):
        assert record.turns[0].text == f"Go(to='{'right' if 'right door' in task else 'left'}')"
    (tmp_path / "wrong.json").write_text("3")
    with pytest.raises(InvalidOption, match="not a file of tasks"):
        read_tasks(str(tmp_path / "wrong.json"))
    with pytest.raises(InvalidOption, match="needs a task"):
        TaskedAgent(inner=agent.inner, tasks=[])


def test_proposed_tasks_are_played_judged_counted_and_imitated(tmp_path: Path) -> None:
    """The whole loop of PAE, with rules in the place of its three models."""

    def judge(request: Request) -> str:
        text = last(request)
        if "Write 2 tasks" in text:
            return "- Take the right door.\n- Take the left door."
        side = "right" if "Task: Take the right door." in text else "left"
        return "yes" if f"You go to {side}" in text else "no"

    proposer = Proposer(Judge(judge))
    proposer.propose("Two doors.", n=2)
    proposer.save(tmp_path / "tasks.json")

    def stubborn(request: Request) -> str:
        return "Go(to='right')"

    agent = TaskedAgent(inner=Plain(model=Free(stubborn)), tasks=str(tmp_path / "tasks.json"))
    records = palestra.play(WORLD, agents=[agent], episodes=30)
    paid = shape("pae", records, judge=Judge(judge))
    truth = [float("right" in record.turns[0].facts["task"]) for record in records]
    assert paid.tolist() == truth
    proposer.note(records, paid)
    assert [task.ease for task in proposer.tasks] == [1.0, 0.0]
    assert sum(task.tried for task in proposer.tasks) == 30
    (rows,) = role_rows(records, paid, threshold=0.5, game=WORLD).values()
    assert [row["completion"][0]["content"] for row in rows.imitate] in ([], ["Go(to='right')"])


# Directions over rewards


def weighs(request: Request) -> str:
    """Goes right where the first term counts for more than the second."""
    one, two = map(float, re.findall(r"([+-]\d\.\d\d) times", rules(request)))
    return f"Go(to='{'right' if one > two else 'left'}')"


def test_directions_are_drawn_evenly_and_the_inner_agent_reads_its_own() -> None:
    agent = DirectedAgent(inner=Plain(model=Free(weighs)), terms="payoff+words")
    records = palestra.play(WORLD, agents=[agent], episodes=200)
    angles = []
    for record in records:
        (turn,) = record.turns
        one, two = turn.facts["direction"].values()
        assert one**2 + two**2 == pytest.approx(1.0)
        assert turn.text == f"Go(to='{'right' if round(one, 2) > round(two, 2) else 'left'}')"
        angles.append(one > two)
    assert 70 < sum(angles) < 130  # the diagonal halves the quarter of a circle


def test_a_given_direction_has_length_one_and_bad_ones_are_told() -> None:
    agent = DirectedAgent(inner=Plain(model=Free(weighs)), towards="payoff=3+words=-4")
    record = palestra.play(WORLD, agents=[agent])[0]
    assert record.turns[0].facts["direction"] == {"payoff": 0.6, "words": -0.8}
    assert "rated as +0.60 times payoff, -0.80 times words." in rules(agent.models[0].requests[0])
    model = Free(weighs)
    fading = DirectedAgent(
        inner=Plain(model=model), towards="payoff=3+words=-4", discounts="words=0.5"
    )
    palestra.play(WORLD, agents=[fading])
    assert (
        "rating as high as you can. With each of your decisions, words counts 0.50 times as much "
        "as with the one before." in rules(model.requests[0])
    )
    for wrong in ("payoff", "payoff=much"):
        with pytest.raises(InvalidOption, match="term=number"):
            read_direction(wrong)
    with pytest.raises(InvalidOption, match="not all 0"):
        to_unit_length({"payoff": 0.0})
    with pytest.raises(InvalidOption, match="a direction or terms, not both"):
        DirectedAgent(inner=agent.inner)


# LLM-mediated guidance


def foreman(request: Request) -> str:
    """Sends every member that is asked about north, and writes a strategy where asked for one."""
    if "Answer with one line a member" not in last(request):
        return "Everybody goes north."
    names = re.findall(r"^(player_\d+):\n", last(request), re.MULTILINE)
    return "\n".join(f"{name}: north" for name in names)


FORAGING = {"num_players": 3, "max_episode_steps": 20, "episodes": 4}


def test_orders_are_obeyed_while_they_hold_and_no_longer() -> None:
    model = Free(foreman)
    agent = Mediator(model=model, every=8, hold=3, first=4, last=16)
    records = palestra.play("grid/Foraging-v0", agents=[agent] * 3, **FORAGING)
    assert len(model.requests) == 4 * 2 * 2  # at steps 4 and 12: a strategy and orders each
    for record in records:
        for number, step in enumerate(record.steps):
            ordered = number in (4, 5, 6, 12, 13, 14)
            for turn in step.turns:
                assert not turn.facts["overridden"] or (ordered and turn.text == "north")
                assert ("own" in turn.facts) == turn.facts["overridden"]
    shares = override_shares(records)
    assert set(shares) == {"player_0", "player_1", "player_2"}
    assert all(0 < share <= 6 / 20 for share in shares.values())


def test_without_orders_the_policy_plays_as_if_alone() -> None:
    silent = Mediator(model=Free("Nobody needs help."), every=1)
    mediated = palestra.play("grid/Foraging-v0", agents=[silent] * 3, **FORAGING)
    alone = palestra.play("grid/Foraging-v0", agents=["random"] * 3, **FORAGING)
    assert [len(r.turns) for r in mediated] == [len(r.turns) for r in alone]
    assert set(override_shares(mediated).values()) == {0.0}
    usage = [turn.usage.calls for record in mediated for turn in record.turns]
    assert sum(usage) == len(silent.models[0].requests) == 2 * 20 * 4


def test_the_rules_of_the_game_can_be_the_strategy() -> None:
    model = Free(clerk)
    agent = Mediator(model=model, controller="rules", every=1, hold=1)
    options = {"seed": 3, "max_episode_steps": 30, "num_players": 2}
    (mediated,) = palestra.play("grid/Foraging-v0", agents=[agent] * 2, **options)
    (scripted,) = palestra.play("grid/Foraging-v0", agents=["scripted"] * 2, **options)
    assert [t.text for t in mediated.turns] == [t.text for t in scripted.turns]
    assert len(model.requests) == len(mediated.steps)


def clerk(request: Request) -> str:
    """Passes the rule's lines on as they stand."""
    return last(request).split("rule of the game:\n")[1].split("\n\n")[0]


@pytest.mark.parametrize(("first", "end"), [(0, 12), (18, 30)])
def test_planes_obey_orders_early_or_late(first: int, end: int) -> None:
    """LLM-mediated MARL: overridden steps lie in the schedule, and are the rule's own."""
    agent = Mediator(model=Free(clerk), controller="rules", every=3, hold=1, first=first, last=end)
    (record,) = palestra.play(
        "grid/Wildfire-v0", agents=[agent] * 3, seed=5, max_steps=40, burn_steps=1000
    )
    led = {n for n, s in enumerate(record.steps) if any(t.facts["overridden"] for t in s.turns)}
    assert led == set(range(first, end, 3)) & set(range(len(record.steps)))
    for episode, step in zip(palestra.retrace(record), record.steps, strict=False):
        for turn in step.turns if turn_was_led(step) else ():
            rule = episode.game.scripted(episode.state, turn.seat)
            assert turn.text == episode.game.action_text(episode.state, turn.seat, rule)
    assert override_shares([record])["player_0"] == pytest.approx(4 / len(record.steps))


def turn_was_led(step: Any) -> bool:
    return all(turn.facts["overridden"] for turn in step.turns)


def test_orders_are_read_by_member() -> None:
    text = "Plan:\n- player_0: go north\nplayer_1 : load\nPlayer_0: south\nplayer_9: west"
    assert read_orders(text, ["player_0", "player_1"]) == {"player_0": "south", "player_1": "load"}


@pytest.mark.parametrize("junk", [" ", "\n", "a ", ": ", "- ", "player_0 "])
def test_a_mediator_that_floods_is_read_in_time(junk: str) -> None:
    started = time.process_time()
    read_orders(junk * (40_000 // len(junk)), ["player_0"])
    read_final(junk * (40_000 // len(junk)))
    assert time.process_time() - started < 1
