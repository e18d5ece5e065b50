"""Pages over HTTP, on loopback only, for a browser of a test, of a run or of a person.

Every session has an unguessable key, which the browser receives as a cookie when it opens the
session's entrance. Pages run no script and load nothing; a content security policy in every
response makes the browser enforce that.
"""

from __future__ import annotations

import secrets
import threading
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

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
    """What answers the requests of one browser."""

    @property
    def home(self) -> str:
        """The address that a browser opens first."""

    def get(self, url: str) -> str:
        """The HTML at an address."""

    def post(self, url: str, fields: dict[str, str]) -> str:
        """Take a form; returns the address to go to."""


class Served:
    """One seat of a state that only the browser changes."""

    def __init__(self, game: Website, state: WebState, seat: int) -> None:
        self.game, self.state, self.seat = game, state, seat

    @property
    def home(self) -> str:
        return self.game.home(self.seat)

    def get(self, url: str) -> str:
        return to_html(self.game.page(self.state.data, self.seat, url))

    def post(self, url: str, fields: dict[str, str]) -> str:
        return self.game.take(self.state.data, self.seat, url, fields).url


class Server:
    """Serves sessions until it is closed: `with Server() as server: server.enter(session)`."""

    def __init__(self, port: int = 0) -> None:
        self._sessions: dict[str, tuple[Session, threading.Lock]] = {}
        handler = type("Handler", (_Handler,), {"sessions": self._sessions})
        self._http = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

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
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    """Answers a browser; `sessions` is the server's."""

    sessions: dict[str, tuple[Session, threading.Lock]]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        key = self.path.removeprefix("/enter/")
        if key != self.path and key in self.sessions and self._is_local():
            cookie = f"palestra={key}; HttpOnly; SameSite=Strict; Path=/"
            home = self.sessions[key][0].home
            self._answer(303, headers={"Location": home, "Set-Cookie": cookie})
            return
        session = self._session()
        if session is not None:
            with session[1]:
                self._answer(200, session[0].get(self.path))

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LARGEST_FORM:
            self.close_connection = True
            self._answer(413, "A form may have at most 1 MiB.")
            return
        body = self.rfile.read(int(length)).decode("utf-8", "replace")
        session = self._session()
        if session is None:
            return
        fields = {
            name: value.replace("\r\n", "\n")
            for name, value in parse_qsl(body, keep_blank_values=True, max_num_fields=10_000)
        }
        with session[1]:
            self._answer(303, headers={"Location": session[0].post(self.path, fields)})

    def _session(self) -> tuple[Session, threading.Lock] | None:
        """The session of the browser's cookie; answers 403 where there is none."""
        try:
            cookies = SimpleCookie(self.headers.get("Cookie", ""))
        except CookieError:
            cookies = SimpleCookie()
        found = self.sessions.get(cookies["palestra"].value) if "palestra" in cookies else None
        if found is None or not self._is_local():
            self._answer(403, "Open the address that `palestra web serve` printed.")
            return None
        return found

    def _is_local(self) -> bool:
        """Whether the request names this server, and no page of another site sent it."""
        host = self.headers.get("Host", "")
        origin = self.headers.get("Origin")
        if origin not in (None, "null") and urlsplit(origin).netloc != host:
            return False
        return host.partition(":")[0] in ("127.0.0.1", "localhost")

    def _answer(self, status: int, text: str = "", headers: dict[str, str] | None = None) -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (HEADERS | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing; the record of a run has its actions."""
