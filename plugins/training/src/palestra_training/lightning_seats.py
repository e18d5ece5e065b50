"""An agent of Agent Lightning that plays a whole match with the model that is trained in one seat.

Tested with agentlightning 0.3.0. Its runner calls `rollout_async` for every row of the data set
(`agentlightning/runner/agent.py`, line 679), and stores the float that comes back as the reward of
the calls that its proxy or tracer captured.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from palestra import InvalidOption, MissingExtra

from palestra_training.completion_seats import Ask, AskedSeat, ask_by, paid_people, play_asked
from palestra_training.play import LEARNER
from palestra_training.token_games import line_up

try:
    import openai
    from agentlightning import LLM, LitAgent
    from opentelemetry import context
    from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY as UNSEEN
except ImportError as error:
    raise MissingExtra("agentlightning", "palestra-training[lightning]") from error


class SeatAgent(LitAgent[Any]):
    """Plays the match that a row names, and returns what the row's person was paid in all.

    A row is a mapping of `env`, `seed` and `seat`, and optionally `person` (0, who sits there
    first), `opponents`, `invalid`, `max_episode_steps` and the environment's own options.
    `opponents` is an agent for all other seats, or one for each in order of seat; "learner" is the
    model itself. Only the calls of the row's person, refused answers included, go to the endpoint
    of the rollout and are seen by tracers; all others are not captured, so that a rollout holds one
    person's calls and their reward. A match that fails raises, which fails the attempt; a person
    who never came has no reward.

    resource: the name of the LLM among the resources; needed if there are several. history: what a
    prompt holds, as the agent `llm` has it. max_tokens, temperature: of a reply, where the LLM's
    sampling parameters have none. key: the environment variable with the endpoint's key, where the
    LLM has none.
    """

    def __init__(
        self,
        *,
        resource: str = "",
        history: str = "conversation",
        max_tokens: int = 64,
        temperature: float = 1.0,
        key: str = "",
    ) -> None:
        super().__init__()
        self._resource, self._key = resource, key
        self._asking = {"history": history, "max_tokens": max_tokens, "temperature": temperature}

    async def rollout_async(self, task: Any, resources: Any, rollout: Any) -> float | None:
        """Play one match; the reward of the row's person, None if nobody sat there as such."""
        row = _row(task)
        env, seat, person = row.pop("env"), int(row.pop("seat")), int(row.pop("person", 0))
        named = line_up(env, seat, row.pop("opponents", "random"), row)
        llm = self._llm(resources)
        own_url = llm.get_base_url(rollout.rollout_id, rollout.attempt.attempt_id)
        key = llm.api_key or os.environ.get(self._key) or "none"
        sampling = dict(llm.sampling_parameters)
        asking = self._asking | {name: sampling[name] for name in self._asking if name in sampling}
        async with (
            openai.AsyncOpenAI(base_url=own_url, api_key=key) as own,
            openai.AsyncOpenAI(base_url=llm.get_base_url(None, None), api_key=key) as other,
        ):
            learner = _seen(ask_by(own, llm.model, **sampling))
            model = ask_by(other, llm.model, **sampling)

            def ask_of(at: int, life: int) -> Ask:
                return learner if (at, life) == (seat, person) else model

            seated = [
                AskedSeat(partial(ask_of, at)) if name == LEARNER else name
                for at, name in enumerate(named)
            ]
            unseen = context.attach(context.set_value(UNSEEN, True))
            try:
                record = await play_asked(env, seated, asking, **row)
            finally:
                context.detach(unseen)
        return paid_people(record).get((seat, person))

    def _llm(self, resources: Mapping[str, Any]) -> LLM:
        found = {name: one for name, one in resources.items() if isinstance(one, LLM)}
        if self._resource in found:
            return found[self._resource]
        if self._resource or len(found) != 1:
            raise InvalidOption(
                f"resource={self._resource!r} names no LLM; choose from: "
                f"{', '.join(sorted(found)) or 'none, the trainer gives no LLM'}"
            )
        return next(iter(found.values()))


def _seen(ask: Ask) -> Ask:
    """The same, seen by tracers."""

    async def seen(request: Any) -> Any:
        context.attach(context.set_value(UNSEEN, False))  # in this request's own context
        return await ask(request)

    return seen


def _row(task: Any) -> dict[str, Any]:
    if not isinstance(task, Mapping) or not {"env", "seed", "seat"} <= set(task):
        raise InvalidOption('a row needs {"env": ID, "seed": NUMBER, "seat": NUMBER}')
    return dict(task)
