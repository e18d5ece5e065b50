"""Small pictures of environments for the lobby, drawn when they are first asked for, and kept."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Sequence

log = logging.getLogger("palestra.server")
COMMAND = (sys.executable, "-m", "palestra_server.picture_process")
SECONDS = 20.0  # that one picture may take
MOST_BYTES = 400_000  # of one picture
IDLE = 60.0  # seconds until the process ends that nobody asks
NONE = b"null"  # what an environment without a picture has


class Pictures:
    """The pictures of one server; `command` is the process that draws them, one after the other.

    seconds: the time for one picture; a process that takes longer is ended, and the environment
    keeps `NONE`.
    """

    def __init__(self, command: Sequence[str] = COMMAND, *, seconds: float = SECONDS) -> None:
        self._command, self._seconds = command, seconds
        self._drawn: dict[str, asyncio.Task[bytes]] = {}
        self._turn = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._idle: asyncio.TimerHandle | None = None

    async def of(self, env: str) -> bytes:
        """An environment's picture as JSON."""
        if env not in self._drawn:
            self._drawn[env] = asyncio.create_task(self._draw(env))
        return await asyncio.shield(self._drawn[env])  # whoever asks may be gone before it is drawn

    async def close(self) -> None:
        """Draw nothing more."""
        for task in self._drawn.values():
            task.cancel()
        await self._end()

    async def _draw(self, env: str) -> bytes:
        async with self._turn:
            if self._idle is not None:
                self._idle.cancel()
            why = "the process that draws it ended"
            try:
                drawn = await asyncio.wait_for(self._ask(env), self._seconds)
            except (OSError, ValueError, TimeoutError) as error:  # ValueError: over MOST_BYTES
                drawn, why = b"", repr(error)
            if not drawn.endswith(b"\n"):
                log.warning("env=%s has no picture: %s", env, why)
                await self._end()
                return NONE
            loop = asyncio.get_running_loop()
            self._idle = loop.call_later(IDLE, lambda: loop.create_task(self._end_idle()))
            return drawn.rstrip()

    async def _end_idle(self) -> None:
        async with self._turn:
            await self._end()

    async def _end(self) -> None:
        """End the process; the next picture starts another."""
        if self._idle is not None:
            self._idle.cancel()
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.communicate()  # closes its pipes

    async def _ask(self, env: str) -> bytes:
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=MOST_BYTES,
            )
        asked, told = self._process.stdin, self._process.stdout
        assert asked is not None
        assert told is not None
        asked.write(f"{env}\n".encode())
        await asked.drain()
        return await told.readline()
