"""The page itself: kept in memory by the process that plays, served by a thread of it."""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
import uvicorn
from palestra.runner.watching import JOIN, Standing, Viewer
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from palestra_server.listening import listen
from palestra_server.page import asset_routes
from palestra_server.refused import RequestRefused
from palestra_server.security import LOOPBACK, Guard
from palestra_server.watching.boards import Boards

POLL = 0.1  # seconds between looks at what has changed
ROWS = 4_000  # of curves; more are thinned out
CLOCKS = ("steps", "round", "seconds")
STOPPING = 2.0  # seconds for open pages to be told of the end
ASSETS = ("live.js", "live.css", "page.css", "dom.js", "icon.svg")
OPEN: dict[str, Live] = {}  # the pages of this process, by what its children find them with


class Live(Boards):
    """A run's page, from `start` to `close`; any thread may tell it what happens."""

    def __init__(self, title: str, viewer: Viewer = "all", port: int = 0) -> None:
        super().__init__(viewer)
        self._key, self._feed_key = secrets.token_urlsafe(16), secrets.token_urlsafe(16)
        self._socket = listen("127.0.0.1", port, "--watch-port")
        self._socket.listen()  # so that nobody else can take the port, and early pages wait
        home = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.address, self.place = f"{home}/#key={self._key}", f"{home} {self._feed_key}"
        self._parts: dict[str, tuple[int, bytes]] = {}  # by name: when it was put, and the message
        self._rows: list[tuple[float, dict[str, float]]] = []
        self._logged = 0  # the change that was the last row
        self._changes, self._reached = 0, dict[int, int]()  # by socket: the last change it was sent
        self._kept = threading.Lock()
        config = uvicorn.Config(
            self._app(),
            log_level="error",
            log_config=None,  # its own would close the handlers of the process that plays
            access_log=False,
            lifespan="off",
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="palestra-watch", daemon=True
        )
        self.put("title", {"title": title, "viewer": str(viewer)})

    def start(self) -> Live:
        """Serve; processes that are started from now on can join."""
        OPEN[self.place] = self
        os.environ[JOIN] = self.place
        self._thread.start()
        return self

    def _app(self) -> Starlette:
        routes = [
            *asset_routes("live.html", ASSETS),
            Route("/feed", self._fed, methods=["POST"]),
            WebSocketRoute("/live", self._follow),
        ]
        return Starlette(routes=routes, middleware=[Middleware(Guard, hosts=LOOPBACK)])

    # What is told

    @property
    def looked_at(self) -> bool:
        return bool(self._reached)

    def put(self, part: str, data: Any) -> None:
        message = msgspec.json.encode([part, data])
        with self._kept:
            self._changes += 1
            self._parts[part] = self._changes, message

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Add a row to the curves, but for what only says when it was."""
        with self._kept:
            self._rows.append((step, {n: v for n, v in values.items() if n not in CLOCKS}))
            if len(self._rows) > ROWS:
                self._rows = self._rows[:-1:2] + self._rows[-1:]
            self._changes += 1
            self._logged = self._changes

    def stand(self, title: str, rows: Sequence[Standing]) -> None:
        self.put("standings", {"title": title, "rows": rows})

    def close(self) -> None:
        """Tell open pages that this is the end, and stop serving."""
        self.draw_all()
        self.put("over", True)
        until = time.monotonic() + STOPPING
        while any(n < self._changes for n in list(self._reached.values())):
            if time.monotonic() > until:
                break
            time.sleep(POLL / 2)
        OPEN.pop(self.place, None)
        if os.environ.get(JOIN) == self.place:
            del os.environ[JOIN]
        self._server.should_exit = True
        self._thread.join(2 * STOPPING)
        self._socket.close()

    # What is served

    async def _fed(self, request: Request) -> Response:
        """What another process of the run has drawn; the answer says whether anybody looks."""
        try:
            Guard.same(request.headers.get("authorization", ""), f"Bearer {self._feed_key}")
        except RequestRefused as refused:
            return PlainTextResponse(str(refused), 403)
        for part, data in msgspec.json.decode(await request.body(), type=list[tuple[str, Any]]):
            if part.startswith("board "):
                self.put(part, data)
        viewing = msgspec.json.encode({"looked_at": self.looked_at, "viewer": self._viewer})
        return Response(viewing, media_type="application/json")

    async def _follow(self, socket: WebSocket) -> None:
        """Send a page everything, then what changes; it says its key first."""
        await socket.accept()
        try:
            Guard.same(await asyncio.wait_for(socket.receive_text(), 10), self._key)
        except (RequestRefused, TimeoutError, WebSocketDisconnect, KeyError):
            with suppress(WebSocketDisconnect):
                await socket.close(1008, "this link is not this run's")
            return
        self._reached[id(socket)] = 0
        gone = asyncio.ensure_future(socket.receive())
        try:
            while not gone.done():
                await self._send_news(socket)
                await asyncio.wait({gone}, timeout=POLL)
        except (WebSocketDisconnect, RuntimeError):  # it was closed while something was sent
            pass
        finally:
            gone.cancel()
            del self._reached[id(socket)]

    async def _send_news(self, socket: WebSocket) -> None:
        """Send the parts that have changed since the last time, the oldest first."""
        known = self._reached[id(socket)]
        with self._kept:
            now = self._changes
            news = sorted(pair for pair in self._parts.values() if pair[0] > known)
            if self._logged > known:  # written when it is sent: rows may come by the thousand
                news.insert(0, (now, msgspec.json.encode(["curves", self._rows])))
        for _, message in news:
            await socket.send_text(message.decode())
        self._reached[id(socket)] = now
