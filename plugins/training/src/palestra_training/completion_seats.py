"""Whole matches whose learning seats are asked by chat completions of a trainer's own endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, NamedTuple

from palestra import Agent, Decision, EpisodeRecord, MissingExtra, Turn, play
from palestra.agents.budget import Usage
from palestra.agents.making import AgentLike, make_agent
from palestra.agents.models import Reply, Request
from palestra.kernel.lives import newcomers
from palestra.runner.awaited import AwaitedModel

try:
    import openai
except ImportError as error:
    raise MissingExtra("the openai client", "palestra-agents[openai]") from error

Ask = Callable[[Request], Awaitable[Reply]]
Heard = Callable[[Request, Any], None]  # a request, and the chat completion that answered it


class AskedSeat(NamedTuple):
    """A learning seat; `ask_of` gives what answers a person's requests, by the person's number."""

    ask_of: Callable[[int], Ask]


def ask_by(client: Any, model: str, heard: Heard | None = None, **sampling: Any) -> Ask:
    """A function that answers requests by chat completions with log-probabilities.

    client: an `openai.AsyncOpenAI`. model: the name that the endpoint knows. heard: is told every
    request with its completion. sampling: further fields of the request, which take precedence over
    those of the seat. No sampling seed is sent, so that matches of one start differ. Errors of the
    client are raised, but for a conversation that outgrows the context: the seat shortens it.
    """

    async def ask(request: Request) -> Reply:
        body = {"max_tokens": request.max_tokens, "temperature": request.temperature} | sampling
        messages = [{"role": one.role, "content": one.content} for one in request.messages]
        try:
            completion = await client.chat.completions.create(
                model=model, messages=messages, logprobs=True, **body
            )
        except openai.BadRequestError as error:
            if "context" in str(error) and ("length" in str(error) or "window" in str(error)):
                return Reply("", overflow=True, model=model)
            raise
        if heard is not None:
            heard(request, completion)
        return _reply(completion, model)

    return ask


def _reply(completion: Any, model: str) -> Reply:
    message, used = completion.choices[0].message, completion.usage
    usage = Usage(calls=1)
    if used is not None:
        usage = Usage(tokens_in=used.prompt_tokens, tokens_out=used.completion_tokens, calls=1)
    thought = getattr(message, "reasoning_content", None) or ""
    return Reply(message.content or "", usage, model=completion.model or model, thought=thought)


async def play_asked(
    env: str,
    seated: Sequence[AgentLike | AskedSeat],
    asking: Mapping[str, Any],
    **settings: Any,
) -> EpisodeRecord:
    """Play one match beside the running event loop, and return its record.

    seated: one entry a seat. Each person at an `AskedSeat`, 0 for the first, is an agent of their
    own, whose answers are awaited in the running loop. asking: options of the agent `llm`, such as
    `history`. settings: those of `palestra.play` and the environment's options. Whatever ends the
    match early is raised.
    """
    loop = asyncio.get_running_loop()
    models: list[AwaitedModel] = []

    def sit(ask_of: Callable[[int], Ask], life: int) -> Agent:
        models.append(AwaitedModel(ask_of(life), loop, "learner"))
        return make_agent("llm", model=models[-1], **asking)

    agents = [
        _People(partial(sit, entry.ask_of)) if isinstance(entry, AskedSeat) else entry
        for entry in seated
    ]
    thread = ThreadPoolExecutor(1, "palestra")  # the loop's own threads resolve host names
    match = partial(play, env, agents=agents, **settings)
    try:
        (record,) = await loop.run_in_executor(thread, copy_context().run, match)
    finally:
        for model in models:
            model.stop()
        thread.shutdown(wait=False)
    return record


def paid_people(record: EpisodeRecord) -> dict[tuple[int, int], float]:
    """What every person was paid, by seat and the person's number at it, turns or none."""
    lives = [0] * len(record.players)
    paid = {(seat, 0): 0.0 for seat in range(len(lives))}
    for step in record.steps:
        for seat, terms in step.rewards.items():
            paid[seat, lives[seat]] += sum(terms.values())
        for seat in [seat for event in step.events for seat in newcomers(event)]:
            lives[seat] += 1
            paid[seat, lives[seat]] = 0.0
    return paid


class _People(Agent):
    """An agent for each person at a seat, which is made at the person's first turn."""

    def __init__(self, sit: Callable[[int], Agent]) -> None:
        self.name = "learner"
        self._sit, self._agents = sit, dict[int, Agent]()

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [self._agent(turn.life).act([turn])[0] for turn in turns]

    def _agent(self, life: int) -> Agent:
        if life not in self._agents:
            self._agents[life] = self._sit(life)
        return self._agents[life]
