"""The server: loopback, sessions apart, nothing from elsewhere."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from urllib.parse import urlsplit

import palestra
import pytest
from palestra_web.server import LARGEST_FORM, Served, Server


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as opened:
        yield opened


def served(seed: int) -> Served:
    game = palestra.game("web/Shop-v0", products=200)
    return Served(game, game.initial_state(seed), 0)  # type: ignore[arg-type]


def ask(
    server: Server, method: str, path: str, body: str = "", **headers: str
) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=10)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body or None, names)
    response = connection.getresponse()
    response.body = response.read().decode()  # type: ignore[attr-defined]
    connection.close()
    return response


def enter(server: Server, seed: int = 0) -> str:
    """The cookie of a new session."""
    entrance = server.enter(served(seed))
    answer = ask(server, "GET", urlsplit(entrance).path)
    assert answer.status == 303
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    return cookie.partition(";")[0]


def test_it_listens_on_loopback_only(server: Server) -> None:
    assert server.address.startswith("http://127.0.0.1:")


def test_sessions_are_apart_and_unguessable(server: Server) -> None:
    one, other = enter(server, 0), enter(server, 1)
    assert one != other
    assert len(one) > 30
    bought = ask(server, "POST", "/buy/3", "x=1", Cookie=one)
    assert bought.headers["Location"] == "/thanks"
    assert "Thank you" in ask(server, "GET", "/thanks", Cookie=one).body  # type: ignore[attr-defined]
    assert "Not found" in ask(server, "GET", "/thanks", Cookie=other).body  # type: ignore[attr-defined]


@pytest.mark.parametrize("cookie", ["", "palestra=guess", "palestra=", "x=\x01", ";;;="])
def test_nobody_else_is_let_in(server: Server, cookie: str) -> None:
    enter(server)
    assert ask(server, "GET", "/", Cookie=cookie).status == 403
    assert ask(server, "POST", "/buy/3", "x=1", Cookie=cookie).status == 403


def test_a_page_of_somebody_else_cannot_send_forms(server: Server) -> None:
    cookie = enter(server)
    assert ask(server, "POST", "/buy/3", "", Cookie=cookie, Origin="http://evil").status == 403
    assert ask(server, "GET", "/", Cookie=cookie, Host="evil.example").status == 403


def test_too_large_a_form_is_refused(server: Server) -> None:
    cookie = enter(server)
    answer = ask(server, "POST", "/buy/3", "", Cookie=cookie, Content_Length=str(LARGEST_FORM + 1))
    assert answer.status == 413


def test_every_page_forbids_scripts_and_the_network(server: Server) -> None:
    answer = ask(server, "GET", "/", Cookie=enter(server))
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
