"""Several servers on one database: who lives, and who plays which match.

Every match is played by one server, its owner, as the database says. A server that is asked for
another's match passes the request on. When a server's beat stops, the others take its matches over
from the journal. Should two servers believe that they own a match, the journal has one place for
each answer, and the slower of them gives the match up (`store.OwnershipLost`).
"""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import dataclass

import httpx
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Scope

from palestra_server.refused import RequestRefused
from palestra_server.store import MatchStore

HOP = "x-palestra-hop"  # a header of requests that another server has passed on
LONGEST_WAIT = 90.0  # seconds for another server's answer
TAKEN_OVER = 15.0  # seconds within which a dead server's matches are another's
PASSED_ON = ("content-type", "set-cookie", "content-disposition")


class Elsewhere(RequestRefused):
    """The match is played by another server, at `address`."""

    def __init__(self, match: str, address: str) -> None:
        super().__init__(f"match {match} is played by another server; ask again", 503)
        self.match, self.address = match, address


@dataclass(slots=True)
class Peer:
    """Another server, as its beat was last seen."""

    address: str
    beat: int
    seen: float  # when its beat rose


class Peers:
    """The servers on one database, seen from one of them.

    address: where the others reach this one, as in `http://HOST:41234`. seconds: between two
    beats. A server whose beat has not risen for `patience` seconds counts as dead; each server
    measures that by its own clock, so that clocks need not agree.
    """

    def __init__(
        self, store: MatchStore, address: str, *, seconds: float = 1.0, patience: float = 4.0
    ) -> None:
        self.name, self.address = secrets.token_hex(8), address
        self.seconds, self.patience = seconds, patience
        self._store, self._count = store, 0
        self._known: dict[str, Peer] = {}
        self._http = httpx.AsyncClient(timeout=LONGEST_WAIT, headers={HOP: "1"})

    def beat(self) -> list[str]:
        """Say that this server lives, and look at the others; returns those found dead."""
        self._count += 1
        self._store.beat(self.name, self.address, self._count)
        now, found = time.monotonic(), self._store.servers()
        found.pop(self.name, None)
        for name, (address, beat) in found.items():
            known = self._known.get(name)
            if known is None or known.beat != beat:
                self._known[name] = Peer(address, beat, now)
        gone = [name for name in self._known if name not in found]
        dead = [name for name, peer in self._known.items() if now - peer.seen > self.patience]
        for name in {*gone, *dead}:
            del self._known[name]
        for name in dead:
            self._store.leave(name)
        return sorted({*gone, *dead})

    def buried(self) -> bool:
        """Whether the others took this server for dead, and its matches over."""
        return self._count > 0 and self.name not in self._store.servers()

    def leave(self) -> None:
        """Give this server's matches to the others."""
        self._store.leave(self.name)

    async def close(self) -> None:
        await self._http.aclose()

    def alive(self, name: str) -> Peer | None:
        """Another server that lives, as far as is known here; None for one that does not."""
        if name not in self._known and (found := self._store.servers().get(name)):
            self._known[name] = Peer(*found, time.monotonic())  # it has just started
        return self._known.get(name)

    def take(self, match: str) -> bool:
        """Make this server a match's owner if its own is dead; False if there is no such match.

        Raises `Elsewhere` if its owner lives.
        """
        while (owner := self._store.owner(match)) is not None:
            if owner == self.name or self._takes(match, owner):
                return True
        return False

    def _takes(self, match: str, owner: str) -> bool:
        peer = self.alive(owner)
        if peer is not None:
            raise Elsewhere(match, peer.address)
        return self._store.claim(match, owner, self.name)

    def orphans(self) -> list[str]:
        """Matches that are not over and whose server is dead."""
        living = {self.name, *self._store.servers()}
        return [match for match, owner in self._store.owned_open() if owner not in living]

    async def pass_on(self, request: Request, body: bytes, address: str) -> Response:
        """Another server's answer to a request.

        Raises `httpx.ConnectError` if it is gone, and `RequestRefused` if the answer did not come:
        then nobody knows whether the request was carried out.
        """
        url = f"{address}{request.url.path}?{request.url.query}"
        try:
            answer = await self._http.request(
                request.method, url, headers=_passed(request), content=body
            )
        except httpx.ConnectError:
            raise
        except httpx.HTTPError as error:
            raise RequestRefused(
                "the server that plays this match broke off; look before you answer again", 503
            ) from error
        response = Response(answer.content, answer.status_code)
        for name, value in answer.headers.multi_items():
            if name.lower() in PASSED_ON:
                response.headers.append(name, value)
        return response

    async def stream_on(self, request: Request, body: bytes, address: str) -> Response:
        """Another server's answer to a request, part by part, however long it takes.

        Raises `httpx.HTTPError` if it is gone.
        """
        passed = self._http.build_request(
            request.method,
            f"{address}{request.url.path}?{request.url.query}",
            headers=_passed(request),
            content=body,
            timeout=httpx.Timeout(LONGEST_WAIT, read=None),
        )
        answer = await self._http.send(passed, stream=True)
        shown = {n: v for n, v in answer.headers.items() if n in (*PASSED_ON, "mcp-session-id")}
        close = BackgroundTask(answer.aclose)
        return StreamingResponse(answer.aiter_raw(), answer.status_code, shown, background=close)

    async def ask_all(self, path: str) -> dict[str, bytes]:
        """What every other server that answers says at a path, by its name."""

        async def ask(address: str) -> bytes:
            return (await self._http.get(address + path, timeout=5.0)).content

        names = list(self._known)
        told = await asyncio.gather(
            *(ask(self._known[name].address) for name in names), return_exceptions=True
        )
        return {n: said for n, said in zip(names, told, strict=True) if isinstance(said, bytes)}


def forwarded(scope: Scope) -> dict[str, str]:
    """Headers that tell another server which client a request comes from.

    They replace what the client itself sent under these names: servers trust each other's.
    """
    told = {"x-forwarded-proto": scope["scheme"].replace("ws", "http")}
    if scope.get("client"):
        told["x-forwarded-for"] = scope["client"][0]
    return told


def _passed(request: Request) -> list[tuple[str, str]]:
    """A request's headers without those that belong to its connection, and whose request it is."""
    told = forwarded(request.scope)
    own = {"host", "content-length", "connection", "origin", "x-forwarded-for", *told}
    kept = [(name, value) for name, value in request.headers.items() if name not in own]
    return [*kept, *told.items()]
