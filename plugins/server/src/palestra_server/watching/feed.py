"""Boards of another process, sent to the page of the run it belongs to."""

from __future__ import annotations

import logging
import os
import threading
from typing import Any

import httpx
import msgspec
from palestra.runner.watching import Viewer

from palestra_server.watching.boards import Boards

log = logging.getLogger("palestra.server")
EVERY = 0.25  # seconds between messages
TIMEOUT = 2.0


def join(place: str) -> Feed | None:
    """A feed of the page at this place; None if it is gone."""
    try:
        return Feed(place)
    except httpx.HTTPError as error:
        log.warning("the live page of this run is gone: %s", error)
        return None


class Feed(Boards):
    """Draws here and sends the newest picture of every board, from a thread of its own.

    The thread ends with the process, or when the page is gone.
    """

    def __init__(self, place: str) -> None:
        url, _, key = place.partition(" ")
        self._client = httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=TIMEOUT
        )
        answer = self._post([])
        viewer: Viewer = answer["viewer"]
        super().__init__(viewer, f"{os.getpid()} ")
        self._seen: bool = answer["looked_at"]
        self._waiting: dict[str, Any] = {}
        self._kept = threading.Lock()
        self._ended = threading.Event()
        threading.Thread(target=self._send, name="palestra-feed", daemon=True).start()

    @property
    def looked_at(self) -> bool:
        return self._seen

    def put(self, part: str, data: Any) -> None:
        with self._kept:
            self._waiting[part] = data

    def close(self) -> None:
        """Send nothing more."""
        self._ended.set()

    def _send(self) -> None:
        while not self._ended.wait(EVERY):
            with self._kept:
                news, self._waiting = list(self._waiting.items()), {}
            try:
                self._seen = self._post(news)["looked_at"]
            except httpx.HTTPError as error:
                log.debug("the live page is gone: %s", error)
                break
        self._client.close()

    def _post(self, news: list[tuple[str, Any]]) -> dict[str, Any]:
        answer = self._client.post("/feed", content=msgspec.json.encode(news))
        answer.raise_for_status()
        told: dict[str, Any] = answer.json()
        return told
