"""Serving one packaged environment, as `palestra.json` of its folder says."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from palestra import InvalidOption
from palestra.engine.compiled import compile_ahead
from palestra.files import read_file
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.registry import open_game
from starlette.applications import Starlette
from starlette.middleware import Middleware

from palestra_server.allowed import Allowed
from palestra_server.app import create_app, running
from palestra_server.connections import BOUNDED
from palestra_server.dialects.nemo_gym import NeMoGymDialect
from palestra_server.dialects.openenv import OpenEnvDialect
from palestra_server.episodes import EpisodeOptions
from palestra_server.security import ANY_HOST, Guard
from palestra_server.server import MatchServer
from palestra_server.store import MatchStore


class Package(msgspec.Struct, forbid_unknown_fields=True):
    """What `palestra.json` says: the environment, its options, and the hub it is for."""

    env: str
    hub: str
    options: dict[str, Any] = {}
    split: str | None = None
    opponents: str = "random"

    @property
    def defaults(self) -> EpisodeOptions:
        """What an episode is played with where a client's reset names nothing else."""
        return EpisodeOptions(env=self.env, options=self.options, split=self.split)

    @property
    def allowed(self) -> Allowed:
        """What clients may name: this environment, as it is packaged, and bounded agents."""
        given = {name: [value] for name, value in self.options.items()}
        own = (self.env,)
        return Allowed(agents=(self.opponents,), envs=own, options={self.env: given}, only=own)


def read_package(file: Path) -> Package:
    """The package of a `palestra.json`; raises `InvalidOption` if it cannot be read."""
    try:
        return msgspec.json.decode(read_file(file), type=Package)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidOption(f"cannot read the package {file}: {error}") from error


def prepare(package: Package) -> int:
    """Compile the rules of a package, so that nobody's first match waits for it.

    Returns how many functions were compiled; 0 if all were, or there is nothing to compile.
    """
    split = {"split": package.split} if package.split else {}
    _, game = open_game(package.env, package.options | split)
    return compile_ahead(game)[0] if isinstance(game, ArrayGame) else 0


@cache
def server_token() -> str:
    """What opening a match takes: PALESTRA_SERVER_TOKEN, or else a new token, which is printed.

    Empty with PALESTRA_NO_TOKEN=1, for servers that only their own machine reaches.
    """
    if token := os.environ.get("PALESTRA_SERVER_TOKEN"):
        return token
    if os.environ.get("PALESTRA_NO_TOKEN", "0") not in ("", "0"):
        return ""
    token = secrets.token_urlsafe(16)
    print(f"token   {token}", file=sys.stderr, flush=True)
    return token


def create(file: Path, token: str | None = None) -> Starlette:
    """The application of a package; token: what opening a match takes, by default `server_token`.

    The environment variables PALESTRA_STORE (the database's URL), PALESTRA_SERVER_TOKEN or
    PALESTRA_NO_TOKEN=1, and PALESTRA_HOSTS (host names, comma-separated; any if it is empty) are
    the operator's.
    """
    package = read_package(file)
    store = MatchStore(os.environ.get("PALESTRA_STORE", "sqlite:///matches.db"))
    server = MatchServer(store, allowed=package.allowed)
    if token is None:
        token = server_token()
    named = [name for name in os.environ.get("PALESTRA_HOSTS", "").split(",") if name]
    hosts = named or [ANY_HOST]
    if package.hub == "openenv":
        return _openenv_app(server, package, token, hosts)
    dialects = []
    if package.hub == "nemo-gym":
        dialects = [NeMoGymDialect(server, token, package.opponents, package.defaults)]
    return create_app(server, hosts=hosts, token=token, dialects=dialects)


def _openenv_app(server: MatchServer, package: Package, token: str, hosts: list[str]) -> Starlette:
    """OpenEnv's clients find everything at the root, where a match server has its own `/ws`."""
    dialect = OpenEnvDialect(server, token, package.opponents, base="", defaults=package.defaults)

    return Starlette(
        routes=dialect.routes,
        middleware=[Middleware(Guard, hosts=hosts)],
        lifespan=lambda _: running(server, [dialect]),
    )


def serve(file: Path, host: str = "127.0.0.1", port: int = 8000, token: str | None = None) -> None:
    """Serve a package until it is stopped; token as in `create`."""
    import uvicorn

    prepare(read_package(file))
    app = create(file, token)
    uvicorn.run(app, host=host, port=port, access_log=False, ws_max_size=1_000_000, **BOUNDED)


def serve_configured(file: Path) -> None:
    """Serve a package where NeMo Gym's configuration of its server says.

    NeMo Gym starts a server with its configuration in NEMO_GYM_CONFIG_DICT, and the server's name
    in NEMO_GYM_CONFIG_PATH. Its clients send a token as a password, from `host: ":TOKEN@HOST"`.
    """
    from nemo_gym.global_config import get_global_config_dict

    found: Any = get_global_config_dict()[os.environ["NEMO_GYM_CONFIG_PATH"]]
    (server,) = found["resources_servers"].values()
    password, _, host = str(server["host"]).rpartition("@")
    serve(file, host, int(server["port"]), password.rpartition(":")[2] or None)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument(
        "--no-token", action="store_true", help="let anybody who reaches the server open matches"
    )
    parser.add_argument(
        "--prepare", action="store_true", help="compile the rules and end, for an image"
    )
    chosen = parser.parse_args()
    if chosen.prepare:
        prepare(read_package(chosen.file))
        return
    serve(chosen.file, chosen.host, chosen.port, "" if chosen.no_token else None)


if __name__ == "__main__":
    main()
