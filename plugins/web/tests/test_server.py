"""The server: loopback, sessions apart, nothing from elsewhere."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from urllib.parse import urlsplit

import palestra
import pytest
from palestra_web.server import LARGEST_FORM, BrowserSession, Server


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as opened:
        yield opened


def served(seed: int) -> BrowserSession:
    game = palestra.game("web/Shop-v0", products=200)
    return BrowserSession(game, game.initial_state(seed), 0)  # type: ignore[arg-type]


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
    assert "samesite=strict" in cookie.lower()
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


class Notes:
    """A session that notes what it is asked."""

    home = "/"

    def __init__(self) -> None:
        self.asked: list[object] = []

    def get(self, url: str) -> str:
        self.asked.append(url)
        return "\ud800 is half a character"

    def post(self, url: str, fields: dict[str, str]) -> str:
        self.asked.append((url, fields))
        return "/next?näher=1"


def test_addresses_and_fields_reach_the_session_as_they_were_sent(server: Server) -> None:
    notes = Notes()
    entered = ask(server, "GET", urlsplit(server.enter(notes)).path)
    cookie = entered.headers["Set-Cookie"].partition(";")[0]
    shown = ask(server, "GET", "/a%20b/%2F?q=x%20y&q=z", Cookie=cookie)
    assert (shown.status, shown.body) == (200, "? is half a character")  # type: ignore[attr-defined]
    sent = ask(server, "POST", "/take?n=1", "text=one%0D%0Atwo&empty=", Cookie=cookie)
    assert (sent.status, sent.headers["Location"]) == (303, "/next?n%C3%A4her=1")
    assert notes.asked == [
        "/a%20b/%2F?q=x%20y&q=z",
        ("/take?n=1", {"text": "one\ntwo", "empty": ""}),
    ]


def test_a_form_that_does_not_say_its_length_is_refused(server: Server) -> None:
    cookie = enter(server)
    connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=10)
    connection.putrequest("POST", "/buy/3")
    connection.putheader("Cookie", cookie)
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    with connection.getresponse() as answer:
        assert answer.status == 413
    connection.close()


def test_nobody_answers_once_it_is_closed() -> None:
    with Server() as server:
        enter(server)
    with pytest.raises(ConnectionRefusedError):
        ask(server, "GET", "/")
    Server().close()  # at once, too
