"""Threads for what may take long, so that the event loop serves everybody else meanwhile.

Creation of matches, pages of records, rules that run programs, and each local agent have threads of
their own: an agent that hangs occupies those of its kind alone. A program runs in a process of its
own while its thread waits, so that threads are enough. asyncio's own threads would be joined at the
end of the process; these are not, so that what never returns keeps no process alive.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from palestra.agents.naming import parse_agent
from palestra.code_names import code_name
from palestra.kernel.registry import registry

CREATING = 4  # matches that are opened at once
WRITING = 2  # records of long matches, and pages of records, that are written at once
THINKING = 4  # turns that one agent computes at once, which contend for the interpreter
Result = TypeVar("Result")
Job = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]", Callable[[], Any]]


class Threads:
    """At most `most` threads, started when they are needed; further work waits in order."""

    def __init__(self, name: str, most: int) -> None:
        self._name, self._most = name, most
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._started = self._unfinished = 0

    async def run(self, work: Callable[..., Result], *given: Any) -> Result:
        """The result of `work`; if this is cancelled, the thread still runs to its end."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        self._unfinished += 1
        self._jobs.put((loop, future, lambda: work(*given)))
        if self._started < min(self._most, self._unfinished):
            self._started += 1
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        return await future

    def close(self) -> None:
        """End the threads that have nothing to do, and the others after their work."""
        for _ in range(self._started):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            loop, future, work = job
            result, error = None, None
            if not future.cancelled():
                try:
                    result = work()
                except BaseException as raised:
                    error = raised
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(self._settle, future, result, error)
            del job, future, work, result, error

    def _settle(
        self, future: asyncio.Future[Any], result: Any, error: BaseException | None
    ) -> None:
        self._unfinished -= 1
        if future.done():
            return
        if error is None:
            future.set_result(result)
        elif isinstance(error, Exception) and not isinstance(error, StopIteration):
            future.set_exception(error)
        else:  # no future takes a StopIteration, and any other of them would end the server
            raised = RuntimeError(repr(error))
            raised.__cause__ = error
            future.set_exception(raised)


def agent_kind(agent: str) -> str:
    """The kind of an agent by its name, such as "scripted"; the operator's own code is "code"."""
    if code_name(agent, registry().agents):
        return "code"
    return registry().agent(parse_agent(agent)[0]).kind


class Aside:
    """The threads of one server. programs, agents: as in `Limits`."""

    def __init__(self, programs: int, agents: int) -> None:
        self.creation = Threads("palestra-create", CREATING)
        self.records = Threads("palestra-records", WRITING)
        self.pages = Threads("palestra-pages", WRITING)
        self.rules = Threads("palestra-rules", programs or max(1, (os.cpu_count() or 2) - 1))
        self._agents: dict[tuple[str, str], Threads] = {}
        self._most = agents

    def agent(self, agent: str) -> Threads:
        """The threads of a local agent, by its name and model: options share them."""
        name, _, target = parse_agent(agent)
        if (name, target) not in self._agents:
            waits = agent_kind(agent) in ("llm", "human")  # for others, not computing
            most = self._most if waits else min(self._most, THINKING)
            self._agents[name, target] = Threads(f"palestra-{name}", most)
        return self._agents[name, target]

    def close(self) -> None:
        ours = (self.creation, self.records, self.pages, self.rules)
        for threads in (*ours, *self._agents.values()):
            threads.close()
