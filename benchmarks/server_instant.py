"""A server with an environment that costs next to nothing: `python server_instant.py WHOSE STORE`.

WHOSE is `ours` or `openenv`. It listens on a free port of 127.0.0.1, prints the port, and serves
until it is killed. Both environments count steps and never end.
"""

from __future__ import annotations

import socket
import sys
from typing import Any

import uvicorn

QUIET: dict[str, Any] = {"log_level": "error", "access_log": False}


def our_settings() -> dict[str, Any]:
    """What `palestra serve` tells uvicorn."""
    from palestra_server.connections import SETTINGS

    return SETTINGS | QUIET


def our_app(store: str) -> Any:
    """A match server, with the game `bench/Instant-v0`."""
    from palestra.kernel.registry import registry
    from palestra.kernel.specs import EnvSpec
    from palestra_server.app import create_app
    from palestra_server.limits import Limits
    from palestra_server.logs import write_logs
    from palestra_server.server import MatchServer
    from palestra_server.store import MatchStore

    write_logs(as_json=False)  # as `palestra serve` does; the benchmark sends stderr to a file
    registry().environments["bench/Instant-v0"] = EnvSpec(
        "bench/Instant-v0", "instant_game:Instant", (1, 1), "simultaneous", "general"
    )
    return create_app(MatchServer(MatchStore(f"sqlite:///{store}"), Limits(matches=10_000)))


def openenv_app() -> Any:
    """OpenEnv's own server over an environment that counts."""
    from openenv.core.env_server.http_server import create_app
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import Action, Observation, State

    class Go(Action):
        action: int = 0

    class Seen(Observation):
        turn: int = 0

    class Counting(Environment[Go, Seen, State]):
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self) -> None:
            super().__init__()
            self.turn = 0

        def reset(self, seed: Any = None, episode_id: Any = None, **kwargs: Any) -> Seen:
            self.turn = 0
            return Seen(turn=0, reward=0.0, done=False)

        def step(self, action: Go, timeout_s: Any = None, **kwargs: Any) -> Seen:
            self.turn += 1
            return Seen(turn=self.turn, reward=0.0, done=False)

        @property
        def state(self) -> State:
            return State(step_count=self.turn)

    return create_app(Counting, Go, Seen, max_concurrent_envs=4_000)


def main(whose: str, store: str) -> None:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    app = our_app(store) if whose == "ours" else openenv_app()
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(app, **(our_settings() if whose == "ours" else QUIET))
    uvicorn.Server(config).run([listening])


if __name__ == "__main__":
    main(*sys.argv[1:3])
