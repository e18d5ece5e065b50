"""A generator of SkyRL that plays whole games with the model that is trained in one seat.

Tested with SkyRL 0.3.0. Its trainer calls `generate` (`skyrl/train/generators/base.py`, line 80)
with one entry a rollout, and learns from the token ids, masks and rewards that come back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from palestra import EpisodeRecord, InvalidOption, MissingExtra
from palestra.records.trace import SeatTrace

from palestra_training.token_games import SampledReply, play_learner

try:
    from skyrl.train.generators.base import GeneratorInput, GeneratorInterface, GeneratorOutput
except ImportError as error:
    raise MissingExtra("skyrl", "palestra-training[skyrl]") from error

FINISHES = {"stop": "end", "length": "length"}


class SeatGenerator(GeneratorInterface):
    """Plays the games that the rows of the data set name, side by side.

    A row's extras have `palestra`, a mapping of `env`, `seed` and `seat`, and optionally
    `opponents`, `invalid`, `max_episode_steps` and the environment's own options. Rewards are given
    at the last token of each reply: what the seat was paid from it to its next turn. engine:
    SkyRL's inference engine client; tokenizer: the model's. max_tokens bounds a reply where the
    sampling parameters do not.
    """

    def __init__(self, engine: Any, tokenizer: Any, *, max_tokens: int = 64) -> None:
        self._engine, self._tokenizer = engine, tokenizer
        self._max_tokens = max_tokens

    async def generate(self, input_batch: GeneratorInput) -> GeneratorOutput:
        """Play one game for each entry; the rows are in the order of the input."""
        params = dict(input_batch.get("sampling_params") or {})
        starts = [_start(extras) for extras in input_batch.get("env_extras") or []]
        if len(starts) != len(input_batch["prompts"]):
            raise InvalidOption(
                f"{len(input_batch['prompts'])} prompts came with {len(starts)} extras; every row "
                'needs "palestra"'
            )
        ids = input_batch.get("trajectory_ids") or [None] * len(starts)
        games = [self._play(start, params, one) for start, one in zip(starts, ids, strict=True)]
        played = await asyncio.gather(*games)
        returns = [
            float(record.returns[int(start.get("seat", 0))])
            for start, (record, _) in zip(starts, played, strict=True)
        ]
        end = self._tokenizer.eos_token_id
        rows = [
            _row(trace) if trace is not None else _unasked_row(paid, end)
            for (_, trace), paid in zip(played, returns, strict=True)
        ]
        output: Any = {name: [row[name] for row in rows] for name in rows[0]} if rows else {}
        output["trajectory_ids"] = input_batch.get("trajectory_ids")
        output["rollout_metrics"] = {
            "palestra/return": sum(returns) / max(1, len(returns)),
            "palestra/mistakes": sum(sum(record.mistakes) for record, _ in played),
        }
        return output  # type: ignore[no-any-return,unused-ignore]

    async def _play(
        self, start: Mapping[str, Any], params: dict[str, Any], trajectory: Any
    ) -> tuple[EpisodeRecord, SeatTrace | None]:
        session = trajectory.to_string() if trajectory is not None else None
        asked = {"max_tokens": self._max_tokens, "logprobs": 0, **params}

        async def draw(prompt: list[int]) -> SampledReply:
            output = await self._engine.generate(
                {
                    "prompts": None,
                    "prompt_token_ids": [prompt],
                    "sampling_params": asked,
                    "session_ids": None if session is None else [session],
                }
            )
            logprobs = output.get("response_logprobs")
            if not logprobs:
                raise InvalidOption(
                    "SkyRL's engine gave no log-probabilities; set "
                    "generator.sampling_params.logprobs=0"
                )
            finish = FINISHES.get(output["stop_reasons"][0], "")
            return SampledReply(output["response_ids"][0], logprobs[0], finish)

        return await play_learner(tokenizer=self._tokenizer, draw=draw, **start)


def _unasked_row(paid: float, end: int) -> dict[str, Any]:
    """The row of a seat that was never asked: SkyRL needs a token."""
    return {
        "prompt_token_ids": [end],
        "response_ids": [end],
        "rewards": [paid],
        "loss_masks": [0],
        "stop_reasons": "stop",
        "rollout_logprobs": [0.0],
    }


def _row(trace: SeatTrace) -> dict[str, Any]:
    """One trajectory as SkyRL reads it."""
    first = trace.turns[0].start
    rewards = [0.0] * (len(trace) - first)
    for turn in trace.turns:
        if turn.end > turn.start:
            rewards[turn.end - 1 - first] += turn.reward
    cut = trace.turns[-1].finish == "length"
    return {
        "prompt_token_ids": trace.ids[:first],
        "response_ids": trace.ids[first:],
        "rewards": rewards,
        "loss_masks": [int(mark) for mark in trace.sampled[first:]],
        "stop_reasons": "length" if cut else "stop",
        "rollout_logprobs": trace.logprobs[first:],
    }


def _start(extras: Mapping[str, Any]) -> dict[str, Any]:
    start = extras.get("palestra") if isinstance(extras, Mapping) else None
    if not isinstance(start, Mapping) or not {"env", "seed"} <= set(start):
        raise InvalidOption('a row needs "palestra": {"env": ID, "seed": NUMBER, "seat": NUMBER}')
    return dict(start)
