"""Serving one packaged environment, as `palestra.json` of its folder says."""

from __future__ import annotations

import argparse
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from palestra import InvalidOption
from starlette.applications import Starlette
from starlette.middleware import Middleware

from palestra_server.app import create_app
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


def read_package(file: Path) -> Package:
    """The package of a `palestra.json`; raises `InvalidOption` if it cannot be read."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Package)
    except (OSError, msgspec.DecodeError) as error:
        raise InvalidOption(f"cannot read the package {file}: {error}") from error


def create(file: Path) -> Starlette:
    """The application of a package.

    The environment variables PALESTRA_STORE (the database's URL), PALESTRA_SERVER_TOKEN (what
    opening a match takes) and PALESTRA_HOSTS (host names, comma-separated; any if it is empty) are
    the operator's.
    """
    package = read_package(file)
    server = MatchServer(MatchStore(os.environ.get("PALESTRA_STORE", "sqlite:///matches.db")))
    token = os.environ.get("PALESTRA_SERVER_TOKEN", "")
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

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await server.start()
        async with AsyncExitStack() as open_dialects:
            await open_dialects.enter_async_context(dialect.running())
            yield
        await server.stop()

    return Starlette(
        routes=dialect.routes, middleware=[Middleware(Guard, hosts=hosts)], lifespan=lifespan
    )


def serve(file: Path, host: str = "127.0.0.1", port: int = 8000) -> None:
    """Serve a package until it is stopped."""
    import uvicorn

    uvicorn.run(create(file), host=host, port=port, access_log=False, ws_max_size=1_000_000)


def serve_configured(file: Path) -> None:
    """Serve a package where NeMo Gym's configuration of its server says.

    NeMo Gym starts a server with its configuration in NEMO_GYM_CONFIG_DICT, and the server's name
    in NEMO_GYM_CONFIG_PATH.
    """
    from nemo_gym.global_config import get_global_config_dict

    found: Any = get_global_config_dict()[os.environ["NEMO_GYM_CONFIG_PATH"]]
    (server,) = found["resources_servers"].values()
    serve(file, str(server["host"]), int(server["port"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    chosen = parser.parse_args()
    serve(chosen.file, chosen.host, chosen.port)


if __name__ == "__main__":
    main()
