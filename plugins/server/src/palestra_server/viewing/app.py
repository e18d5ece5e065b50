"""The index and the replays as a page on loopback."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from hmac import compare_digest
from pathlib import Path

import msgspec
from palestra import PalestraError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from palestra_server.page import asset_routes, replay_page
from palestra_server.security import LOOPBACK, Guard
from palestra_server.viewing.folder import Folder, index_row

ASSETS = ("runs.js", "runs.css", "page.css", "dom.js", "icon.svg")
REPLAY = (  # a page that is complete in itself, and whose own policy names the hash of its script
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
KEPT = 32  # replays that are not made again


class Viewer:
    """Serves one folder to whoever has the key; a cookie holds it after the page has sent it."""

    def __init__(self, folder: Folder, home: Path, key: str, port: int) -> None:
        self._folder, self._key, self._cookie = folder, key, f"palestra-view-{port}"
        rows = [index_row(found, home) for found in folder.records]
        told = {"home": str(home), "rows": rows, "problems": folder.problems}
        self._index = msgspec.json.encode(told)
        self._page = lru_cache(KEPT)(self._make_page)

    def app(self) -> Starlette:
        routes = [
            *asset_routes("runs.html", ASSETS),
            Route("/open", self._open, methods=["POST"]),
            Route("/replay/{number:int}", self._replay),
        ]
        return Starlette(routes=routes, middleware=[Middleware(Guard, hosts=LOOPBACK)])

    async def _open(self, request: Request) -> Response:
        """The index, and the cookie that opens replays, for the key."""
        given = (await request.body())[:200].decode("utf-8", "replace")
        if not self._knows(given):
            return PlainTextResponse("this link is not this command's", 403)
        answer = Response(self._index, media_type="application/json")
        answer.set_cookie(self._cookie, self._key, httponly=True, samesite="strict")
        return answer

    async def _replay(self, request: Request) -> Response:
        """One record's replay page, made when it is asked for."""
        if not self._knows(request.cookies.get(self._cookie, "")):
            return PlainTextResponse("open the link that palestra view printed", 403)
        number = request.path_params["number"]
        if not 0 <= number < len(self._folder.records):
            return PlainTextResponse("there is no such record", 404)
        try:
            page = await asyncio.to_thread(self._page, number)
        except PalestraError as error:
            return PlainTextResponse(f"this record cannot be shown: {error}", 422)
        return Response(page, media_type="text/html", headers={"content-security-policy": REPLAY})

    def _knows(self, given: str) -> bool:
        return compare_digest(given.encode("utf-8", "replace"), self._key.encode())

    def _make_page(self, number: int) -> bytes:
        return replay_page(self._folder.records[number].read())
