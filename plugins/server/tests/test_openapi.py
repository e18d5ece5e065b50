"""The generated OpenAPI document is true of a session, and of every route."""

import httpx
import jsonschema
from palestra_server.app import create_app
from palestra_server.openapi import ROUTES
from palestra_server.server import MatchServer
from palestra_server.store import MatchStore
from starlette.routing import Route


def checker(document):
    """Holds an answer against what the document says of its operation."""

    def check(answer, method, path):
        responses = document["paths"][path][method]["responses"]
        said = responses.get(str(answer.status_code), responses["default"])
        schema = said["content"]["application/json"]["schema"]
        whole = {**schema, "components": document["components"]}
        jsonschema.Draft202012Validator(whole).validate(answer.json())
        return answer.json()

    return check


def test_a_session_is_as_the_document_says(server):
    url, _ = server
    document = httpx.get(f"{url}/openapi.json").json()
    check = checker(document)
    with httpx.Client(base_url=url) as http:
        made = check(
            http.post("/matches", json={"env": "games/TicTacToe-v0", "seats": ["open", "first"]}),
            "post",
            "/matches",
        )
        joined = check(
            http.post(f"/matches/{made['match']}/join", json={"name": "ada"}),
            "post",
            "/matches/{match}/join",
        )
        http.headers["Authorization"] = f"Bearer {joined['token']}"
        show = {"show": "legal_texts,observation,table,forms"}
        view = check(http.get("/seat", params=show), "get", "/seat")
        while view["status"] != "over":
            text = view["legal_texts"][-1]
            moved = http.post("/seat/move", json={"text": text}, params=show)
            view = check(moved, "post", "/seat/move")
        check(http.post("/seat/again", json={}), "post", "/seat/again")
        refused = http.post("/seat/move", json={"text": 5})
        assert refused.status_code == 400
        check(refused, "post", "/seat/move")


def test_it_names_every_route_of_the_protocol(tmp_path):
    store = MatchStore(f"sqlite:///{tmp_path}/m.db")
    app = create_app(MatchServer(store))
    there = {
        (method.lower(), route.path)
        for route in app.routes
        if isinstance(route, Route)
        for method in route.methods - {"HEAD"}
        if route.path != "/" and not route.path.startswith(("/page/", "/openapi", "/metrics"))
    }
    assert {(method, path) for method, path, *_ in ROUTES} == there
    store.close()
