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
def serving(folder, **settings):
    """Yields the address and the server; it is stopped, and its database closed, at the end."""
    server = MatchServer(MatchStore(f"sqlite:///{folder}/matches.db"))
    socket = listen("127.0.0.1", 0)
    config = uvicorn.Config(create_app(server, **settings), log_level="error", access_log=False)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, args=([socket],))
    thread.start()
    try:
        while not running.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{socket.getsockname()[1]}", server
    finally:
        running.should_exit = True
        thread.join(20)
        socket.close()
