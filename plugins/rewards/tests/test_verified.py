"""SEA: tasks done and verified by programs in the sandbox, and a reward for each step."""

from __future__ import annotations

from typing import Any

import msgspec
import palestra
import pytest
from palestra import InvalidOption
from palestra.agents.models import Request
from palestra_rewards import shape
from palestra_rewards.episodes.verified import ExpertActions, verified_tasks
from palestra_rewards.judges import Judge

QUEST = "games/Quest-v0"
GOES = """
def solve():
    before = look()
    after = act(MOVE)
    return before != after

def done(before, after):
    return before != after
"""


def first_move(seed: int) -> str:
    (record,) = palestra.rollouts(QUEST, agents="quest-explorer", n=1, seed=seed)
    return record.turns[0].text


def writer(*programs: str) -> tuple[Judge, list[str]]:
    """A model that writes numbered tasks, and these programs one after another."""
    given, asked = iter(programs), []

    def model(request: Request) -> str:
        text = request.messages[-1].content
        asked.append(text)
        return f"```python{next(given)}```" if "Write two" in text else f"Leave room {len(asked)}."

    return Judge(model), asked


def test_only_tasks_that_run_and_are_verified_are_kept() -> None:
    good = GOES.replace("MOVE", repr(first_move(1)))
    lazy = "\ndef solve():\n    return 1\n\ndef done(before, after):\n    return True\n"
    judge, asked = writer(GOES, good, lazy, lazy)
    found = verified_tasks(judge, QUEST, [1, 2])
    assert [one.moves for one in found] == [(first_move(1),)]
    assert found[0].record.tags == {"task": found[0].task}
    assert found[0].record.seed == 1
    assert "NameError" in asked[2]  # of the first program, shown for the second
    assert found[0].task in asked[3]  # known tasks are not to be written again
    assert "before anything happened" in asked[5]
    replayed = palestra.replay(found[0].record)
    assert replayed.over
    assert len(found[0].record.turns) == 1


@pytest.mark.parametrize(
    "done",
    [
        "calls = []\ndef done(before, after):\n    calls.append(0)\n    return len(calls) == 1\n",
        "def done(before, after, calls=[True]):\n    return calls.pop() if calls else False\n",
        "def done(before, after):\n    act(MOVE)\n    return look() != before\n",
    ],
)
def test_what_verifies_has_nothing_to_tell_by_but_the_positions(done: str) -> None:
    move = repr(first_move(1))
    solve = "\ndef solve():\n    return act(MOVE)\n"
    judge, _ = writer(f"{solve}{done}".replace("MOVE", move))
    assert verified_tasks(judge, QUEST, [1], tries=1) == []


def test_programs_cannot_move_for_ever_or_do_nothing() -> None:
    nothing = (
        "\ndef solve():\n    return 1\n\ndef done(before, after):\n    return before != after\n"
    )
    judge, asked = writer(nothing, GOES.replace("act(MOVE)", "act('fly')"))
    assert verified_tasks(judge, QUEST, [1]) == []
    assert "was not done" in asked[2]
    with pytest.raises(InvalidOption, match="one player"):
        verified_tasks(judge, "games/TicTacToe-v0", [1])
    with pytest.raises(InvalidOption, match="at least 1"):
        verified_tasks(judge, QUEST, [1], tries=0)


def test_steps_are_rewarded_for_form_kind_and_content() -> None:
    (record,) = palestra.rollouts(QUEST, agents="quest-explorer", n=1, seed=1)
    expert = ExpertActions([record])
    turns = len(record.turns)
    assert shape("sea", record, expert=expert) == pytest.approx([1.0] * turns)
    changed: Any = msgspec.json.decode(msgspec.json.encode(record), type=palestra.EpisodeRecord)
    texts = ["Go(direction='north')", "Go(direction='south')", "Take(thing='apple')"]
    own = [texts[0], texts[1], texts[1]]
    three = changed.steps[:3]
    for step, text in zip(three, own, strict=True):
        step.turns[0].text = text
    three[1].turns[0].status = "retried"
    changed.steps, changed.length = three, 3
    found = shape("sea", changed, expert=lambda _: [texts[0], texts[0], texts[2]])
    # the same; the same kind, with 2 * 15 of 36 letters alike, after a refusal; another kind
    assert found == pytest.approx([1.0, 0.4 + 0.5 * ratio(texts[1], texts[0]), 0.1])
    assert shape("sea", changed, expert=lambda _: ["", "", ""]) == pytest.approx([0.1, 0.0, 0.1])


def ratio(one: str, other: str) -> float:
    """Both arguments end in `direction='…'` with `th')` in common, 14 of 18 letters each."""
    assert (one[3:], other[3:]) == ("direction='south')", "direction='north')")
    return 2 * (len("direction='") + len("o") + len("th')")) / (18 + 18)
