"""`palestra serve --dialects`: a session by HTTP outlives the process that it began in."""

import os
import signal
import subprocess
import sys

import httpx
import pytest
from palestra.cli import main
from palestra.records.record import replay
from palestra_server.store import MatchStore
from serving import stored_record

BASIC = httpx.BasicAuth("", "secret")
OPENENV = "/openenv/games/TicTacToe-v0"
GAME = {"env": "games/TicTacToe-v0", "seed": 3, "opponents": "first"}


def start(folder, port):
    command = [sys.executable, "-m", "palestra", "serve", "--port", str(port), "--store", "m.db"]
    process = subprocess.Popen(
        [*command, "--dialects", "openenv,nemo-gym"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PALESTRA_SERVER_TOKEN": "secret"},
    )
    line = process.stdout.readline()
    assert line.startswith("serving http://127.0.0.1:"), line
    url = line.split()[1]
    answers = httpx.HTTPTransport(retries=5)  # it is bound, and listens soon
    with httpx.Client(transport=answers) as http:
        assert http.get(f"{url}/health").json() == {"status": "ok"}
    return process, url


def stop(process, how):
    process.send_signal(how)
    process.wait()
    process.stdout.close()


def said(move):
    return {"response": {"id": move, "output": [{"type": "message", "content": move}]}}


@pytest.mark.slow
def test_sessions_go_on_after_a_kill(tmp_path):
    process, url = start(tmp_path, 0)
    try:
        with httpx.Client(base_url=url, timeout=60) as http:
            bearer = {"Authorization": "Bearer secret"}
            assert http.post(f"{OPENENV}/reset", json=GAME).status_code == 403
            assert http.post("/reset", json={"palestra": GAME}).status_code == 403
            one = http.post(f"{OPENENV}/reset", json=GAME, headers=bearer).json()
            two = http.post("/reset", json={"palestra": GAME}, auth=BASIC).json()
            names = one["metadata"]["match"], two["info"]["match"]
            rewards = [0.0, 0.0]
            for move in "987":
                one = http.post(f"{OPENENV}/step", json={"action": {"text": move}}).json()
                two = http.post("/step", json=said(move)).json()
                rewards = [rewards[0] + one["reward"], rewards[1] + two["reward"]]
                if move != "7":
                    stop(process, signal.SIGKILL)
                    process, again = start(tmp_path, url.rpartition(":")[2])
                    assert again == url
        assert (one["done"], two["terminated"], rewards) == (True, True, [1.0, 1.0])
    finally:
        stop(process, signal.SIGTERM)
    store = MatchStore(f"sqlite:///{tmp_path}/m.db")
    for name in names:
        record = stored_record(store, name)
        assert record.returns == tuple(replay(record).returns) == (1.0, -1.0)
        assert [turn.raw for turn in record.turns if turn.seat == 0] == ["9", "8", "7"]
    store.close()


def test_a_dialect_that_there_is_not_is_named(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["serve", "--dialects", "openenvy", "--port", "0", "--store", str(tmp_path / "m.db")])
    assert "did you mean 'openenv'" in capsys.readouterr().err
