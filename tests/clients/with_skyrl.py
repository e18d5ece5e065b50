"""SkyRL 0.3.0 on Python 3.12: its data set, its generator interface and its trainer's own checks.

Its trainer needs GPUs. The engine here has the interface of SkyRL's inference engines, over a small
model of transformers.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from model_service import Engine
from page import PAGE, run
from palestra import InvalidOption
from palestra_training.skyrl_generator import SeatGenerator
from skyrl.train.dataset import PromptDataset
from skyrl.train.generators.base import TrajectoryID
from skyrl.train.generators.utils import get_metrics_from_generator_output
from skyrl.train.utils.trainer_utils import validate_generator_output
from tiny_player import player

LAKE = {"num_players": 3, "rounds": 3, "talk": False}
COMMONS = "text/Commons-v0"


class Inference:
    """Draws from a small model; `drawn` keeps every exchange."""

    def __init__(self, folder: Path, *, logprobs: bool = True) -> None:
        self.engine, self.logprobs = Engine(folder, 16), logprobs
        self.drawn: list[tuple[str, list[int], list[int], list[float]]] = []

    async def generate(self, batch: Any, model: str | None = None) -> Any:
        (prompt,), (session,) = batch["prompt_token_ids"], batch["session_ids"]
        ids, logprobs, finish = self.engine.draw(prompt)
        self.drawn.append((session, prompt, ids, logprobs))
        await asyncio.sleep(0)
        return {
            "responses": [self.engine.tokenizer.decode(ids, skip_special_tokens=True)],
            "response_ids": [ids],
            "stop_reasons": [finish],
            "response_logprobs": [logprobs] if self.logprobs else None,
        }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return player(tmp_path_factory.mktemp("player") / "model", COMMONS, LAKE)


def generated(inference: Inference, rows: list[Any], group: int = 2) -> Any:
    """What the generator gives for rows of a data set, each `group` times."""
    repeated = [row for row in rows for _ in range(group)]
    batch: Any = {
        "prompts": [prompt for prompt, *_ in repeated],
        "env_classes": [env for _, env, *_ in repeated],
        "env_extras": [extras for _, _, extras, _ in repeated],
        "sampling_params": {"temperature": 1.0},
        "trajectory_ids": [
            TrajectoryID(uid, number % group) for number, (*_, uid) in enumerate(repeated)
        ],
        "batch_metadata": None,
    }
    generator = SeatGenerator(inference, inference.engine.tokenizer)
    return asyncio.run(generator.generate(batch)), batch


def test_rows_of_the_page_become_trajectories(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names, _ = run("SkyRL", PAGE.parent / "training-llm.md")
    inference = Inference(folder)
    rows = PromptDataset(["train.parquet"], inference.engine.tokenizer, 512, num_workers=1)
    assert len(rows) == len(names["rows"]) == 192
    output, batch = generated(inference, [rows[number] for number in range(3)])
    validate_generator_output(6, output)
    uids = [one.instance_id for one in batch["trajectory_ids"]]
    metrics = get_metrics_from_generator_output(output, uids)
    assert metrics["avg_score"] == pytest.approx(output["rollout_metrics"]["palestra/return"])
    asked = 0
    for place, trajectory in enumerate(batch["trajectory_ids"]):
        ids = output["prompt_token_ids"][place] + output["response_ids"][place]
        mask, rewards = output["loss_masks"][place], output["rewards"][place]
        own = [one for one in inference.drawn if one[0] == trajectory.to_string()]
        found = [one for one in own if ids[: len(one[1]) + len(one[2])] == one[1] + one[2]]
        asked += bool(found)
        if not found:  # another seat forfeited before this one was asked
            assert mask == [0]
            continue
        assert sum(mask) == sum(len(said) for _, _, said, _ in found)
        drawn = [value for *_, logprobs in found for value in logprobs]
        kept = zip(output["rollout_logprobs"][place], mask, strict=True)
        assert [value for value, mark in kept if mark] == pytest.approx(drawn)
        assert all(mark for value, mark in zip(rewards, mask, strict=True) if value)
    assert asked > 0


@pytest.mark.parametrize(
    ("extras", "logprobs", "told"),
    [
        ({}, True, "a row needs"),
        ({"palestra": {"env": COMMONS, "seed": 1, "seat": 4, **LAKE}}, True, "seats 0 to 2, not 4"),
        ({"palestra": {"env": COMMONS, "seed": 1, **LAKE}}, False, "logprobs=0"),
    ],
)
def test_what_cannot_be_trained_on_is_named(
    folder: Path, extras: Any, logprobs: bool, told: str
) -> None:
    with pytest.raises(InvalidOption, match=told):
        generated(Inference(folder, logprobs=logprobs), [([], "palestra", extras, "a")])
