"""The server's own protocol as OpenAPI 3.1, generated from the structs that read and write it."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from palestra_server.messages import (
    Again,
    Create,
    Failure,
    HandOver,
    Join,
    Move,
    NewMatch,
    Rematch,
    SeatGrant,
    SeatView,
    SocketMessage,
)

Schema = dict[str, Any]
TEXT = {"type": "string"}
NUMBER = {"type": "number", "minimum": 0}
VIEW_QUERY = {
    "since": (NUMBER, "Position of the transcript to begin at; 0 tells the rules too."),
    "show": (TEXT, "What the view holds besides the words, comma-separated."),
}
WAIT = {"wait": (NUMBER, "Seconds to wait for the seat's turn, 60 at most.")}
FORM = {"form": (TEXT, "html for a page that replays the match.")}
SEAT, SERVER, WATCH = "seat's", "server's, if it has one", "invite or watch word"

# method, path, what it does, body, answer, which token, query
ROUTES: list[tuple[str, str, str, Any, Any, str, dict[str, Any]]] = [
    ("get", "/matches", "Public matches that are not over.", None, None, "", {}),
    ("post", "/matches", "Open a match.", Create, NewMatch, SERVER, {}),
    ("post", "/matches/{match}/join", "Take a free seat.", Join, SeatGrant, "", {}),
    ("get", "/matches/{match}/record", "The record, once over.", None, None, WATCH, FORM),
    ("get", "/seat", "What the seat may know.", None, SeatView, SEAT, {**VIEW_QUERY, **WAIT}),
    ("post", "/seat/move", "Answer the seat's turn.", Move, SeatView, SEAT, VIEW_QUERY),
    ("post", "/seat/resign", "Give the match up.", None, SeatView, SEAT, VIEW_QUERY),
    ("post", "/seat/reclaim", "Take the seat back.", None, SeatView, SEAT, VIEW_QUERY),
    ("post", "/seat/hand-over", "A new token for the seat.", HandOver, SeatGrant, SEAT, {}),
    ("post", "/seat/again", "The same seat in the next match.", Again, Rematch, SEAT, {}),
    (
        "get",
        "/seat/spaces",
        "Observation and action space, and the fields of speech.",
        None,
        None,
        SEAT,
        {},
    ),
    ("get", "/seat/record", "The record, once the match is over.", None, None, SEAT, FORM),
    ("get", "/health", "Whether the process runs.", None, None, "", {}),
    ("get", "/ready", "Whether matches can be opened.", None, None, "", {}),
]
CREATED = {NewMatch, SeatGrant, Rematch}  # answered with status 201


def document() -> dict[str, Any]:
    """The whole protocol; the socket's messages are among the components."""
    kinds = {Failure, SocketMessage}
    for _, _, _, body, answer, _, _ in ROUTES:
        kinds |= {kind for kind in (body, answer) if kind is not None}
    ordered = sorted(kinds, key=lambda kind: kind.__name__)
    template = "#/components/schemas/{name}"
    _, schemas = msgspec.json.schema_components(ordered, ref_template=template)
    paths: dict[str, Any] = {}
    for method, path, summary, body, answer, token, query in ROUTES:
        paths.setdefault(path, {})[method] = _operation(path, summary, body, answer, token, query)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Palestra match server", "version": version("palestra-server")},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(
    path: str, summary: str, body: Any, answer: Any, token: str, query: dict[str, Any]
) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "query", "schema": schema, "description": told}
        for name, (schema, told) in query.items()
    ]
    if "{match}" in path:
        parameters.append({"name": "match", "in": "path", "required": True, "schema": TEXT})
    status = "201" if answer in CREATED else "200"
    found: dict[str, Any] = {
        "summary": summary,
        "parameters": parameters,
        "responses": {
            status: {"description": "Done."} | (_json(answer) if answer else {}),
            "default": {"description": "Refused, and why."} | _json(Failure),
        },
    }
    if body is not None:
        found["requestBody"] = {"required": True} | _json(body)
    if token:
        found["security"] = [{"token": []}]
        found["description"] = f"Bears a token: the {token}."
    return found


def _json(kind: Any) -> Schema:
    schema = {"$ref": f"#/components/schemas/{kind.__name__}"}
    return {"content": {"application/json": {"schema": schema}}}


async def openapi(_: Request) -> Response:
    """The document, for tools that make clients."""
    return Response(msgspec.json.encode(document()), media_type="application/json")
