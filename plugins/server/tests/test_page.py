"""The session with a model server that docs/server-clients.md shows."""

import re
from functools import partial

from model_server import ModelServer
from pages import snippet
from palestra_server.dialects.openai import CaptureDialect
from serving import running, serving


def first_legal(prompt):
    """The first move of the list that ends the position's last line but one."""
    return re.findall(r"[a-z]?\d", prompt.splitlines()[-2])[0]


def test_the_session_by_a_base_url(tmp_path):
    found = {}
    with running(ModelServer(first_legal).app) as upstream:
        capture = partial(CaptureDialect, upstream=f"{upstream}/v1")
        with serving(tmp_path, dialects=[capture]) as (url, _):
            code = snippet("openai.OpenAI").replace("http://127.0.0.1:8000", url)
            exec(compile(code, "page", "exec"), found)
            for opened in (found["seat"], found["server"], found["model"]):
                opened.close()
    record = found["record"]
    assert record["mistakes"] == [0, 0]
    mine = [turn for step in record["steps"] for turn in step["turns"] if turn["player"] == 0]
    assert [len(turn["sampling"]["exchanges"]) for turn in mine] == [1] * len(mine)
    assert [turn["raw"] for turn in mine] == [
        turn["sampling"]["exchanges"][0]["reply"]["content"] for turn in mine
    ]
