"""An agent loop of verl that plays a whole game with the model that is trained in one seat.

Tested with verl 0.9.1. The entry point group `verl.plugins` (`verl/__init__.py`, line 55) imports
this module, which registers the loop "palestra" (`experimental/agent_loop/agent_loop.py`, line
470); verl calls its `run` for every row of the data set (line 449).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from palestra import InvalidOption, MissingExtra

from palestra_training.token_games import SampledReply, play_learner

try:
    from verl.experimental.agent_loop.agent_loop import (
        AgentLoopBase,
        AgentLoopMetrics,
        AgentLoopOutput,
        register,
    )
except ImportError as error:
    raise MissingExtra("verl", "palestra-training[verl]") from error

FINISHES = {"completed": "end", "aborted": "length"}


@register("palestra")
class PalestraLoop(AgentLoopBase):  # type: ignore[misc,unused-ignore]
    """Plays the game that a row names, and returns its learning seat's tokens and return.

    A row has `agent_name` "palestra" and `palestra`, a mapping of `env`, `seed` and `seat`, and
    optionally `opponents`, `invalid`, `max_episode_steps` and the environment's own options. Rows
    of one `uid` start alike and learn one seat, so that verl's own estimators compare like with
    like. A stream longer than `prompt_length` or `response_length` of the rollout is an error.
    """

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> Any:
        """Play one game; `reward_score` is what the seat was paid in all."""
        start = _start(row)
        seat = int(start.get("seat", 0))
        record, trace = await play_learner(
            tokenizer=self.tokenizer, draw=self._drawing(sampling_params), **start
        )
        if trace is None:  # the seat was never asked: verl needs a token to score
            end = self.tokenizer.eos_token_id
            prompt, reply, mask, logprobs, turns = [end], [end], [0], [0.0], 0
        else:
            first, turns = trace.turns[0].start, len(trace.turns)
            prompt, reply = trace.ids[:first], trace.ids[first:]
            mask = [int(sampled) for sampled in trace.sampled[first:]]
            logprobs = trace.logprobs[first:]
        self._check_lengths(prompt, reply)
        return AgentLoopOutput(
            prompt_ids=prompt,
            response_ids=reply,
            response_mask=mask,
            response_logprobs=logprobs,
            reward_score=float(record.returns[seat]),
            num_turns=2 * turns,
            metrics=AgentLoopMetrics(),
            extra_fields={
                "mistakes": record.mistakes[seat],
                "result": record.outcome.results[seat] if record.outcome else "none",
            },
        )

    def _drawing(self, sampling_params: dict[str, Any]) -> Any:
        """Draws from verl's server; one game is one session, for its prefix cache."""
        session = uuid4().hex
        asked = {**sampling_params, "logprobs": True}

        async def draw(prompt: list[int]) -> SampledReply:
            output = await self.server_manager.generate(
                request_id=session, prompt_ids=prompt, sampling_params=asked
            )
            if output.log_probs is None:
                raise InvalidOption(
                    "verl's server gave no log-probabilities; set "
                    "actor_rollout_ref.rollout.calculate_log_probs=True"
                )
            finish = FINISHES.get(output.stop_reason or "", "")
            return SampledReply(output.token_ids, output.log_probs, finish)

        return draw

    def _check_lengths(self, prompt: list[int], reply: list[int]) -> None:
        for name, ids in (("prompt_length", prompt), ("response_length", reply)):
            most = self.rollout_config[name]
            if len(ids) > most:
                raise InvalidOption(
                    f"a seat has {len(ids)} tokens and actor_rollout_ref.rollout.{name} is {most}; "
                    "raise it, or play shorter episodes"
                )


def _start(row: Mapping[str, Any]) -> dict[str, Any]:
    start = row.get("palestra")
    if not isinstance(start, Mapping) or not {"env", "seed"} <= set(start):
        raise InvalidOption('a row needs "palestra": {"env": ID, "seed": NUMBER, "seat": NUMBER}')
    return dict(start)
