"""verl 0.9.1: its plugin entry point, its registry, its data set and its agent loop, on a CPU.

Its trainer and its servers need GPUs: the loop is made as `AgentLoopWorker` makes it, and asked
with a server of ours in the place of vLLM's, over a small model of transformers.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import hydra
import pytest
import verl  # noqa: F401 - imports its plugins, and with them our loop
from model_service import Engine
from omegaconf import OmegaConf
from page import PAGE, run
from palestra import InvalidOption
from tiny_player import player
from verl.experimental.agent_loop import agent_loop
from verl.utils.dataset.rl_dataset import RLHFDataset
from verl.workers.rollout.replica import TokenOutput

LAKE = {"num_players": 3, "rounds": 3, "talk": False}
COMMONS = "text/Commons-v0"
START = {"env": COMMONS, "seed": 3, "seat": 1, "opponents": ["learner", "first"], **LAKE}


class Server:
    """Draws from a small model; `drawn` keeps every exchange."""

    def __init__(self, folder: Path, *, logprobs: bool = True) -> None:
        self.engine = Engine(folder, 16)
        self.logprobs = logprobs
        self.drawn: list[tuple[str, list[int], list[int], list[float]]] = []

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any], **_: Any
    ) -> TokenOutput:
        assert sampling_params["logprobs"]
        ids, logprobs, _ = self.engine.draw(prompt_ids)
        self.drawn.append((request_id, prompt_ids, ids, logprobs))
        await asyncio.sleep(0)
        return TokenOutput(
            token_ids=ids, log_probs=logprobs if self.logprobs else None, stop_reason="completed"
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return player(tmp_path_factory.mktemp("player") / "model", COMMONS, LAKE)


def loop(server: Server, **lengths: int) -> Any:
    """Our loop, made as `AgentLoopWorker` makes it."""
    rollout = {"prompt_length": 2048, "response_length": 2048, **lengths}
    config = OmegaConf.create({"actor_rollout_ref": {"rollout": rollout}, "data": {}})
    return hydra.utils.instantiate(
        config=agent_loop._agent_loop_registry["palestra"],
        trainer_config=agent_loop.DictConfigWrap(config=config),
        server_manager=server,
        tokenizer=server.engine.tokenizer,
        processor=None,
        dataset_cls=RLHFDataset,
        data_config=agent_loop.DictConfigWrap(config.data),
    )


def played(server: Server, start: Any, **lengths: int) -> Any:
    async def main() -> Any:
        return await loop(server, **lengths).run({"temperature": 1.0}, palestra=start)

    return asyncio.run(main())


def test_a_game_is_one_row_with_the_exact_tokens_of_its_seat(folder: Path) -> None:
    server = Server(folder)
    turns = others = 0
    for seed in range(4):
        server.drawn.clear()
        output = played(server, {**START, "seed": seed})
        ids = output.prompt_ids + output.response_ids
        assert len(output.response_mask) == len(output.response_logprobs)
        assert len({session for session, *_ in server.drawn}) == 1
        if not output.num_turns:  # the other seat forfeited before this one was asked
            assert output.response_mask == [0]
            continue
        found = [
            (prompt, said, logprobs)
            for _, prompt, said, logprobs in server.drawn
            if ids[: len(prompt) + len(said)] == prompt + said
        ]
        assert len(found) == output.num_turns // 2
        turns += len(found)
        assert sum(output.response_mask) == sum(len(said) for _, said, _ in found)
        drawn = [value for _, _, logprobs in found for value in logprobs]
        sampled = [
            value
            for value, mark in zip(output.response_logprobs, output.response_mask, strict=True)
            if mark
        ]
        assert sampled == pytest.approx(drawn)
        others += len(server.drawn) - len(found)  # the learner in another seat, not learned from
        tensors = output.as_dict()
        assert tensors["rm_scores"].sum() == pytest.approx(output.reward_score)
        assert tensors["responses"].shape == tensors["rollout_log_probs"].shape
        assert output.extra_fields["mistakes"] >= 0
    assert turns > 0
    assert others > 0


def test_rows_of_the_page_are_what_the_loop_reads(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names, _ = run("verl", PAGE.parent / "training-llm.md")
    config = OmegaConf.create({"max_prompt_length": 64, "prompt_key": "prompt"})
    tokenizer = Server(folder).engine.tokenizer
    rows = RLHFDataset("train.parquet", tokenizer, config)
    assert len(rows) == len(names["rows"]) == 192
    row = rows[5]
    assert row["agent_name"] == "palestra"
    assert row["palestra"]["seat"] == 2
    output = played(Server(folder), row["palestra"])
    assert output.reward_score is not None


@pytest.mark.parametrize(
    ("start", "lengths", "logprobs", "told"),
    [
        ({"env": COMMONS}, {}, True, "a row needs"),
        ({**START, "seat": 3}, {}, True, "seats 0 to 2, not 3"),
        ({**START, "opponents": ["first"]}, {}, True, "2 other seats; got 1"),
        ({**START, "seat": 0}, {"prompt_length": 8}, True, "rollout.prompt_length is 8"),
        (START, {}, False, "calculate_log_probs=True"),
    ],
)
def test_what_cannot_be_trained_on_is_named(
    folder: Path, start: Any, lengths: dict[str, int], logprobs: bool, told: str
) -> None:
    with pytest.raises(InvalidOption, match=told):
        played(Server(folder, logprobs=logprobs), start, **lengths)
