"""Pages over HTTP, on loopback only, for the browser of a test, a run or a person.

Every session has an unguessable key, which the browser receives as a cookie when it opens the
session's entrance. Pages run no script and load nothing; a content security policy in every
response makes the browser enforce that.
"""

from __future__ import annotations

import secrets
import socket
import threading
from typing import Protocol
from urllib.parse import parse_qsl, urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from palestra_web.html import to_html
from palestra_web.website import Website, WebState

LARGEST_FORM = 1 << 20  # bytes
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Session(Protocol):
    """A session: it answers the requests of one browser."""

    @property
    def home(self) -> str:
        """The address that a browser opens first."""

    def get(self, url: str) -> str:
        """The HTML at an address."""

    def post(self, url: str, fields: dict[str, str]) -> str:
        """Take a form; returns the address to go to."""


class BrowserSession:
    """A session for one seat of a state that only the browser changes."""

    def __init__(self, game: Website, state: WebState, seat: int) -> None:
        self.game, self.state, self.seat = game, state, seat

    @property
    def home(self) -> str:
        return self.game.home(self.seat)

    def get(self, url: str) -> str:
        page = self.game.page(self.state.data, self.seat, url)
        self.game.note(self.state.data, page)
        return to_html(page)

    def post(self, url: str, fields: dict[str, str]) -> str:
        return self.game.take(self.state.data, self.seat, url, fields).url


class Server:
    """Serves sessions until it is closed: `with Server() as server: server.enter(session)`."""

    def __init__(self, port: int = 0) -> None:
        self._sessions: dict[str, tuple[Session, threading.Lock]] = {}
        routes = [
            Route("/enter/{key}", self._enter, methods=["GET"]),
            Route("/{path:path}", self._show, methods=["GET"]),
            Route("/{path:path}", self._take, methods=["POST"]),
        ]
        self._listener = socket.create_server(("127.0.0.1", port))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._http = uvicorn.Server(
            uvicorn.Config(
                Starlette(routes=routes),
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="error",  # no access log: the record of a run has the actions
                headers=list(HEADERS.items()),
                server_header=False,
                timeout_graceful_shutdown=1,
            )
        )
        self._thread = threading.Thread(
            target=self._http.run, kwargs={"sockets": [self._listener]}, daemon=True
        )
        self._thread.start()

    def enter(self, session: Session) -> str:
        """Add a session; returns the address at which a browser enters it."""
        key = secrets.token_urlsafe(24)
        self._sessions[key] = session, threading.Lock()
        return f"{self.address}/enter/{key}"

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.should_exit = True
        self._thread.join()
        self._listener.close()  # uvicorn leaves it open if it has not started serving

    async def _enter(self, request: Request) -> Response:
        key = request.path_params["key"]
        if key not in self._sessions or not _is_local(request):
            return _refusal()
        home = RedirectResponse(self._sessions[key][0].home, 303)
        home.set_cookie("palestra", key, httponly=True, samesite="strict")
        return home

    async def _show(self, request: Request) -> Response:
        found = self._session(request)
        if found is None:
            return _refusal()
        session, lock = found

        def show() -> bytes:
            with lock:
                return session.get(_target(request)).encode("utf-8", "replace")

        return HTMLResponse(await run_in_threadpool(show))

    async def _take(self, request: Request) -> Response:
        length = request.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LARGEST_FORM:
            return HTMLResponse("A form may have at most 1 MiB.", 413, {"Connection": "close"})
        found = self._session(request)
        if found is None:
            return _refusal()
        session, lock = found
        fields = _fields((await request.body()).decode("utf-8", "replace"))

        def take() -> str:
            with lock:
                return session.post(_target(request), fields)

        return RedirectResponse(await run_in_threadpool(take), 303)

    def _session(self, request: Request) -> tuple[Session, threading.Lock] | None:
        """The session of the browser's cookie."""
        found = self._sessions.get(request.cookies.get("palestra", ""))
        return found if _is_local(request) else None


def _refusal() -> Response:
    return HTMLResponse("Open the address that `palestra web serve` printed.", 403)


def _is_local(request: Request) -> bool:
    """Whether the request is addressed to this server and comes from no other site's page."""
    host = request.headers.get("Host", "")
    origin = request.headers.get("Origin")
    if origin not in (None, "null") and urlsplit(origin).netloc != host:
        return False
    return host.partition(":")[0] in ("127.0.0.1", "localhost")


def _target(request: Request) -> str:
    """The requested address, exactly as sent."""
    path, query = request.scope["raw_path"].decode("latin-1"), request.url.query
    return f"{path}?{query}" if query else path


def _fields(body: str) -> dict[str, str]:
    """The fields of a form, with normalised line breaks."""
    pairs = parse_qsl(body, keep_blank_values=True, max_num_fields=10_000)
    return {name: value.replace("\r\n", "\n") for name, value in pairs}
