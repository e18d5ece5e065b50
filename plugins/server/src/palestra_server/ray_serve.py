"""Servers on several machines through Ray Serve, on one database.

`palestra_server.ray_serve.run(Settings(store="postgresql://…", inside="0.0.0.0"), servers=8)` on a
Ray cluster: Ray Serve places the servers, starts them again, and balances connections behind one
port; `peers` passes requests on to the server that plays a match, and takes a lost machine's
matches over. Tested with Ray 2.60.
"""

from __future__ import annotations

import os
from typing import Any

import msgspec

from palestra_server.workers import SETTINGS, Settings


def run(settings: Settings, servers: int, *, route: str = "/", cpus: float = 1.0) -> Any:
    """Serve on a Ray cluster that this process has joined; returns Ray Serve's handle.

    servers: how many, at most one on a core (`cpus` each). Their addresses for each other are
    those of their machines.
    """
    from ray import serve

    said = msgspec.json.encode(settings).decode()
    deployment = serve.deployment(
        name="palestra",
        num_replicas=servers,
        ray_actor_options={"num_cpus": cpus},
        max_ongoing_requests=10_000,
        health_check_period_s=5.0,
    )(serve.ingress(_builder(said))(_Server))
    return serve.run(deployment.bind(), route_prefix=route, name="palestra")


class _Server:
    """Ray Serve's replica; the application answers for it."""


def _builder(said: str) -> Any:
    """What makes the application where the replica runs."""

    def build() -> Any:
        import ray

        from palestra_server.workers import create

        settings = msgspec.json.decode(said, type=Settings)
        here = ray.util.get_node_ip_address()
        os.environ[SETTINGS] = msgspec.json.encode(
            msgspec.structs.replace(settings, inside=here, hosts=[*settings.hosts, here])
        ).decode()
        return create()

    return build
