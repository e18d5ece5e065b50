"""Calls of a dialect on the routes of a match server: the application's own, or by an address.

Routes pass a request on to the server that plays the match, and wait while that one is replaced; a
dialect that calls them works with `--workers` as it does in one process.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx
import msgspec
from palestra.kernel.errors import cause
from starlette.types import ASGIApp

from palestra_server.app import LONGEST_WAIT
from palestra_server.messages import Failure, Join, Move, SeatGrant, SeatView
from palestra_server.refused import RequestRefused


class Answered(RequestRefused):
    """A refusal that a route has already counted and written down."""


class Caller:
    """The routes of one application, without a socket between, or of a server at an address."""

    def __init__(self, server: ASGIApp | str) -> None:
        if isinstance(server, str):
            self._http = httpx.AsyncClient(base_url=server.rstrip("/"), timeout=LONGEST_WAIT + 30)
            return
        self._http = httpx.AsyncClient(
            transport=httpx.ASGITransport(server, raise_app_exceptions=False),
            base_url="http://localhost",
            trust_env=False,
        )

    async def matches(self) -> list[dict[str, Any]]:
        """Public matches of all servers."""
        told = await self._call("GET", "/matches")
        found: list[dict[str, Any]] = msgspec.json.decode(told)["matches"]
        return found

    async def join(self, match: str, wanted: Join) -> SeatGrant:
        path = f"/matches/{quote(match, safe='')}/join"
        told = await self._call("POST", path, content=msgspec.json.encode(wanted))
        return msgspec.json.decode(told, type=SeatGrant)

    async def look(self, token: str, since: int = 0, wait: float = 0.0, show: str = "") -> SeatView:
        asked = {"since": str(since), "wait": str(wait), "show": show}
        told = await self._call("GET", "/seat", token, params=asked)
        return msgspec.json.decode(told, type=SeatView)

    async def move(self, token: str, move: Move) -> SeatView:
        told = await self._call("POST", "/seat/move", token, content=msgspec.json.encode(move))
        return msgspec.json.decode(told, type=SeatView)

    async def reclaim(self, token: str) -> None:
        await self._call("POST", "/seat/reclaim", token)

    async def speech(self, token: str) -> list[str] | None:
        """The fields of speech in a seat's game; None where nobody speaks."""
        told = await self._call("GET", "/seat/spaces", token)
        fields: list[str] | None = msgspec.json.decode(told)["speech"]
        return fields

    async def _call(self, method: str, path: str, token: str = "", **more: Any) -> bytes:
        headers = {"content-type": "application/json"}
        if token:
            headers["authorization"] = f"Bearer {token}"
        try:
            answer = await self._http.request(method, path, headers=headers, **more)
        except httpx.HTTPError as error:
            raise RequestRefused(
                f"{self._http.base_url} cannot be reached: {cause(error)}", 502
            ) from error
        if answer.is_success:
            return answer.content
        if answer.headers.get("content-type") != "application/json":
            raise RequestRefused(f"{answer.reason_phrase}: {path[:100]}", answer.status_code)
        raise Answered(msgspec.json.decode(answer.content, type=Failure).error, answer.status_code)
