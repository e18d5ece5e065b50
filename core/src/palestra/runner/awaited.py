"""An episode played inside another program's event loop: seats whose replies are awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any, ClassVar

from palestra.agents.agent import Agent
from palestra.agents.making import AgentLike, make_agent
from palestra.agents.models import Ability, Model, Reply, Request
from palestra.kernel.errors import ModelError
from palestra.kernel.game import Game
from palestra.kernel.specs import EnvSpec
from palestra.records.record import EpisodeRecord
from palestra.runner.play import play

Answer = Callable[[Request], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class AwaitedSeat:
    """A seat that a coroutine function answers, asked as the agent `llm` asks a language model.

    name: the agent's name on the record. options: the agent's own, such as `history`.
    """

    answer: Answer
    name: str = "learner"
    options: Mapping[str, Any] = field(default_factory=dict)


class AwaitedModel(Model):
    """A language model whose replies are coroutines of a running event loop.

    `chat` is called from another thread than the loop's, and waits there. The coroutines run in the
    context (`contextvars`) in which the model was made. What one raises is raised by `chat`. After
    `stop` every waiting and later call raises `ModelError`.
    """

    abilities: ClassVar[frozenset[Ability]] = frozenset({"tokens", "raw", "adapter"})

    def __init__(self, answer: Answer, loop: asyncio.AbstractEventLoop, name: str) -> None:
        self.name = name
        self._answer, self._loop = answer, loop
        self._context = copy_context()
        self._asked: list[Future[Reply]] = []
        self._stopped = False

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        self._asked = [
            self._context.run(asyncio.run_coroutine_threadsafe, self._reply(request), self._loop)
            for request in requests
        ]
        try:
            return [asked.result() for asked in self._asked]
        finally:
            for asked in self._asked:
                asked.cancel()

    async def _reply(self, request: Request) -> Reply:
        if self._stopped:
            raise ModelError(f"nobody waits for the replies of {self.name} any more")
        return await self._answer(request)

    def stop(self) -> None:
        self._stopped = True
        for asked in self._asked:
            asked.cancel()


async def play_awaited(
    env: str | EnvSpec | Game[Any, Any],
    agents: Sequence[AgentLike | AwaitedSeat],
    **settings: Any,
) -> EpisodeRecord:
    """Play one episode beside the running event loop, and return its record.

    agents: one per seat; the coroutines of an `AwaitedSeat` run in the loop, the game in a thread
    of its own. settings: those of `palestra.play` (`seed`, `invalid`, `max_episode_steps`,
    the game's options), but for `episodes`. Whatever a coroutine raises ends the episode and is
    raised here; a cancelled call ends the episode too.
    """
    loop = asyncio.get_running_loop()
    models: list[AwaitedModel] = []
    seated = [
        _seat(agent, models, loop) if isinstance(agent, AwaitedSeat) else agent for agent in agents
    ]
    thread = ThreadPoolExecutor(1, "palestra")
    try:
        (record,) = await loop.run_in_executor(thread, lambda: play(env, agents=seated, **settings))
    finally:
        for model in models:
            model.stop()
        thread.shutdown(wait=False)
    return record


def _seat(seat: AwaitedSeat, models: list[AwaitedModel], loop: asyncio.AbstractEventLoop) -> Agent:
    model = AwaitedModel(seat.answer, loop, seat.name)
    models.append(model)
    agent = make_agent("llm", model=model, **seat.options)
    agent.name = seat.name
    return agent
