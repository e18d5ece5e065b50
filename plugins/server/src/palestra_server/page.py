"""The page on which people open matches, sit down, play and watch."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from palestra import EpisodeRecord
from palestra.kernel.registry import registry, renderer
from palestra.kernel.specs import EnvSpec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from palestra_server.allowed import Allowed
from palestra_server.aside import Threads
from palestra_server.pictures import NONE, Pictures
from palestra_server.table import drawing

KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
ASSETS = (
    "page.css",
    "page.js",
    "dom.js",
    "gallery.js",
    "lobby.js",
    "invitation.js",
    "names.js",
    "seat.js",
    "moves.js",
    "icon.svg",
)
CHOSEN = ("id", "summary", "players", "family", "tags")  # of an environment, for who chooses one
GROUPS = {  # what people call the namespaces of ours; another is called as it is written
    "games": "Games",
    "grid": "Grid worlds",
    "markets": "Markets",
    "tasks": "Tasks",
    "text": "Worlds in words",
    "web": "Web and tools",
}
COUNTED = ("num_players",)  # options that follow from the seats
BLANK = "// no renderer is installed: pictures are shown in words\n"


def page_routes(allowed: Allowed, pictures: Pictures) -> list[BaseRoute]:
    """The page and what it loads; every file is named here, none by a client."""
    return [
        *asset_routes("index.html", ASSETS),
        Route("/page/choices.json", _choices(allowed)),
        Route("/page/pictures/{env:path}", _picture(allowed, pictures)),
    ]


def asset_routes(page: str, assets: Sequence[str]) -> list[BaseRoute]:
    """A page at the root, files under `/page`, and what draws pictures there."""
    routes: list[BaseRoute] = [Route("/", _file(page))]
    routes += [Route(f"/page/{name}", _file(name)) for name in assets]
    artist = drawing(None)
    script, style = (BLANK, "") if artist is None else (artist.script(), artist.style())
    return [
        *routes,
        Route("/page/marks.js", _static(f'"use strict";\n{script}'.encode(), "js")),
        Route("/page/theme.css", _static(style.encode(), "css")),
    ]


def _file(name: str) -> Callable[[Request], Awaitable[Response]]:
    content = files("palestra_server").joinpath("page_files", name).read_bytes()
    return _static(content, name.rpartition(".")[2])


def _static(content: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_: Request) -> Response:
        return Response(content, media_type=KINDS[kind])

    return answer


def _choices(allowed: Allowed) -> Callable[[Request], Awaitable[Response]]:
    """What can be played, and which agents can sit at a table, as clients may name them."""

    async def answer(_: Request) -> Response:
        found = msgspec.json.encode(choices(allowed))
        return Response(found, media_type="application/json")

    return answer


def _picture(allowed: Allowed, pictures: Pictures) -> Callable[[Request], Awaitable[Response]]:
    """The picture of an environment that clients are shown, for the script of mode "marks"."""

    async def answer(request: Request) -> Response:
        spec = registry().environments.get(request.path_params["env"])
        if spec is None or not allowed.lists(spec):
            return Response(NONE, 404, media_type="application/json")
        return Response(await pictures.of(spec.id), media_type="application/json")

    return answer


def choices(allowed: Allowed) -> dict[str, Any]:
    """The environments and agents that are offered on the page."""
    known = registry()
    environments = [
        {name: getattr(spec, name) for name in CHOSEN}
        | {
            "group": GROUPS.get(spec.namespace, spec.namespace),
            "seats": usual_seats(spec),
            "splits": {split: usual_seats(spec, split) for split in sorted(spec.splits)},
            "options": [asdict(o) for o in spec.options if o.name not in COUNTED],
        }
        for _, spec in sorted(known.environments.items())
        if allowed.lists(spec)
    ]
    agents = []
    for name in allowed.listed_agents():
        spec = known.agents[name.partition(":")[0]]
        agents.append(
            {"name": name, "kind": spec.kind, "summary": spec.summary, "plays": spec.plays}
        )
    return {"environments": environments, "agents": agents}


def usual_seats(spec: EnvSpec, split: str = "") -> int:
    """How many seats an environment has where nobody says, without importing it."""
    usual = {option.name: option.default for option in spec.options} | dict(spec.kwargs)
    seats = str((usual | dict(spec.splits.get(split, {}))).get("num_players", ""))
    return int(seats) if seats.isdecimal() else spec.players[0]


async def record_response(record: EpisodeRecord, form: str, threads: Threads) -> Response:
    """A record as a line of JSON, or as a page to replay it (`form="html"`).

    threads: where pages are written, which takes a minute for a match of 13,000 steps. Raises
    `MissingExtra` if no renderer writes pages.
    """
    if form != "html":
        return Response(msgspec.json.encode(record), media_type="application/json")
    return Response(await threads.run(replay_page, record), media_type="text/html")


def replay_page(record: EpisodeRecord) -> bytes:
    """A page to replay a record; raises `MissingExtra` if no renderer writes pages."""
    write = renderer(registry().environments.get(record.env), "html")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "replay.html"
        write([record], path, None, None)
        return path.read_bytes()
