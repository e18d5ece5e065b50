"""What docs/server.md shows runs, against a server on another port."""

import re
from functools import partial

import pytest
from model_server import ModelServer
from pages import snippet
from palestra_server.dialects.mcp import McpDialect
from palestra_server.dialects.openai import CaptureDialect
from serving import running, serving


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with running(ModelServer(first_legal).app) as upstream:
        capture = partial(CaptureDialect, upstream=f"{upstream}/v1")
        folder = tmp_path_factory.mktemp("page")
        with serving(folder, dialects=[McpDialect, capture]) as (address, _):
            yield address


def run(word, url):
    found = {}
    exec(compile(snippet(word).replace("http://127.0.0.1:8000", url), word, "exec"), found)
    return found


def first_legal(prompt):
    """The first move of the list that ends the position's last line but one."""
    return re.findall(r"[a-z]?\d", prompt.splitlines()[-2])[0]


def test_the_session_by_mcp(url):
    found = run("from mcp import Client", url)
    found["server"].close()
    assert found["result"] in ("win", "loss", "draw")


def test_the_session_by_a_base_url(url):
    found = run("openai.OpenAI", url)
    for opened in (found["seat"], found["server"], found["model"]):
        opened.close()
    record = found["record"]
    assert record["mistakes"] == [0, 0]
    mine = [turn for step in record["steps"] for turn in step["turns"] if turn["player"] == 0]
    assert [len(turn["sampling"]["exchanges"]) for turn in mine] == [1] * len(mine)
    assert [turn["raw"] for turn in mine] == [
        turn["sampling"]["exchanges"][0]["reply"]["content"] for turn in mine
    ]


def test_the_session_of_several_seats(url):
    found = run("seats=(0, 1)", url)
    assert not found["env"].agents
    assert set(found["terminated"]) == {"player_0", "player_1"}
