"""A real server on loopback for tests: the application under uvicorn, in a thread."""

import threading
import time
from contextlib import contextmanager

import msgspec
import uvicorn
from palestra import EpisodeRecord
from palestra_server.allowed import EVERYWHERE
from palestra_server.app import create_app
from palestra_server.connections import SETTINGS
from palestra_server.listening import listen
from palestra_server.server import MatchServer
from palestra_server.store import MatchStore


@contextmanager
def serving(folder, dialects=(), limits=None, allowed=EVERYWHERE, **settings):
    """Yields the address and the server; it is stopped, and its database closed, at the end.

    `dialects` are called with the server.
    """
    server = MatchServer(MatchStore(f"sqlite:///{folder}/matches.db"), limits, allowed=allowed)
    settings["dialects"] = [open_dialect(server) for open_dialect in dialects]
    with running(create_app(server, **settings)) as url:
        yield url, server


@contextmanager
def running(app):
    """Yields the address of an application under uvicorn."""
    socket = listen("127.0.0.1", 0)
    config = uvicorn.Config(app, **SETTINGS | {"log_level": "error"})
    uvicorn_server = uvicorn.Server(config)
    thread = threading.Thread(target=uvicorn_server.run, args=([socket],))
    thread.start()
    try:
        while not uvicorn_server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    finally:
        uvicorn_server.should_exit = True
        thread.join(20)
        socket.close()


def record_of(server, match):
    """A match's record as the database has it; its memory may be free by now."""
    return stored_record(server.store, match)


def stored_record(store, match):
    """The record that a database gets within half a minute."""
    until = time.monotonic() + 30
    while (kept := store.load(match).record) is None:
        assert time.monotonic() < until, f"match {match} goes on"
        time.sleep(0.01)
    return msgspec.json.decode(kept, type=EpisodeRecord)
