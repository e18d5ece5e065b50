"""A real server on loopback for tests: the application under uvicorn, in a thread."""

import threading
import time
from contextlib import contextmanager

import uvicorn
from palestra_server.app import create_app
from palestra_server.listening import listen
from palestra_server.server import MatchServer
from palestra_server.store import MatchStore


@contextmanager
def serving(folder, dialects=(), **settings):
    """Yields the address and the server; it is stopped, and its database closed, at the end.

    `dialects` are called with the server.
    """
    server = MatchServer(MatchStore(f"sqlite:///{folder}/matches.db"))
    settings["dialects"] = [open_dialect(server) for open_dialect in dialects]
    with running(create_app(server, **settings)) as url:
        yield url, server


@contextmanager
def running(app):
    """Yields the address of an application under uvicorn."""
    socket = listen("127.0.0.1", 0)
    config = uvicorn.Config(app, log_level="error", access_log=False)
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
