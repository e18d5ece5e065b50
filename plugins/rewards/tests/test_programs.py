"""Reward programs: in the sandbox, on records, and never at a cost when they fail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import palestra
import pytest
from palestra.agents.models import Request
from palestra_rewards import Group, shape
from palestra_rewards.episodes.programs import (
    LatentReward,
    ProgramFailed,
    design,
    facts_of,
    lessons_from,
)
from palestra_rewards.judges import Judge
from palestra_rewards.reading import turn_rewards
from test_episodes import kuhn, record_of

KEYS = """
import re
def reward(turn):
    return len(re.findall("key", turn["text"])) - 0.5 * ("key" in " ".join(turn["before"]))
"""


def test_a_program_pays_each_turn_by_its_facts(tmp_path: Path) -> None:
    record = record_of("look", "take key", "key in door")
    assert shape("code", record, program=KEYS).tolist() == [0, 1, 1.5]
    path = tmp_path / "keys.py"
    path.write_text(KEYS)
    assert shape("code", record, program=str(path), own=False).tolist() == [0, 1, 0.5]
    with pytest.raises(palestra.InvalidOption, match="no program at 'nowhere"):
        shape("code", record, program="nowhere.py")


def test_facts_add_up_to_what_was_paid() -> None:
    """A program that returns what the game paid reproduces the game's rewards, on real records."""
    program = "def reward(turn): return sum(turn['paid'].values())"
    records = kuhn(3)
    group = Group.of(records)
    np.testing.assert_allclose(shape("code", records, program=program, own=False), group.rewards)
    for record in records:
        facts = facts_of(record)
        assert [f["seat"] for f in facts] == [turn.seat for turn in record.turns]
        assert sum(f["last"] for f in facts) == 2


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("import os\ndef reward(turn): return 1", "the module os cannot be imported"),
        ("def reward(turn): return turn['none']", "line 1: KeyError"),
        ("def reward(turn):\n while True:\n  turn = 1", "executed more than 200000 lines"),
        ("def reward(turn): return float('inf')", "not made of finite numbers"),
        ("def reward(turn): return 10 ** 400", "finite numbers"),
        ("def reward(turn): return 'much'", "must return finite numbers"),
        ("def reward(turn): return [1, 2]", "must return one number, not 2"),
        ("x = 1", "the program defines no function reward"),
    ],
)
def test_a_program_that_is_refused_or_fails_is_named_and_costs_nothing(
    program: str, why: str
) -> None:
    record = record_of("look", "take key", paid=2.0)
    with pytest.warns(ProgramFailed, match=why):
        found = shape("code", record, program=program)
    assert found.tolist() == turn_rewards(record).tolist() == [0, 2]


def test_a_designer_corrects_what_the_critic_found() -> None:
    """Auto MC-Reward's loop: the error of the first program is in the second request."""
    record = record_of("take key", paid=-1.0)

    def designer(request: Request) -> str:
        asked = request.messages[-1].content
        if "these episodes failed" in asked.lower():
            return "it never left"
        assert "it never left" in asked
        if "NameError: name 'txt' is not defined" in asked:
            return f"Sorry:\n```python\n{KEYS}```"
        return "def reward(turn): return len(txt)"

    judge = Judge(designer)
    lessons = lessons_from(judge, "find the key", [record])
    assert lessons_from(judge, "find the key", [record_of("key")]) == ""
    program = design(judge, "find the key", [record], lessons=lessons)
    assert shape("code", record, program=program, own=False).tolist() == [1]
    with pytest.raises(palestra.InvalidOption, match="no program in 2 tries ran"):
        design(Judge(lambda request: "I cannot."), "task", [record], tries=2)


LATENT = """
def latent(turn):
    return [turn["text"] == "key", turn["text"] == "trap", 1]
"""


def test_latent_rewards_sum_to_the_return_and_find_the_dense_truth() -> None:
    """LaRe: return decomposition of sums recovers what each turn was worth, exactly if linear."""
    rng = np.random.default_rng(0)
    words, worth = np.array(["key", "trap", "wait"]), {"key": 2.1, "trap": -0.9, "wait": 0.1}
    records = []
    for _ in range(12):
        texts = rng.choice(words, rng.integers(1, 6)).tolist()
        records.append(record_of(*texts, paid=sum(worth[text] for text in texts)))
    model = LatentReward(LATENT).fit(records)
    found = shape("lare", records, scores=model)
    truth = [worth[turn.text] for record in records for turn in record.turns]
    np.testing.assert_allclose(found, truth, atol=1e-5)
    again = LatentReward("")
    again.load(model.state())
    np.testing.assert_array_equal(again(records[0]), model(records[0]))
    with pytest.raises(palestra.InvalidOption, match="fit this latent reward"):
        LatentReward(LATENT)(records[0])
    with pytest.raises(palestra.InvalidOption, match="gives no vectors: line 1"):
        LatentReward("def latent(turn): return 1 / 0").fit(records)
