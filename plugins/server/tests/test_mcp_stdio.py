"""`palestra mcp`, started as a child process by the official SDK's own client."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager

import pytest
from mcp import Client, StdioServerParameters
from mcp_clients import mcp_call
from palestra.cli import main
from palestra.records.record import replay
from palestra_server.client import Server
from palestra_server.messages import OPEN
from serving import record_of, serving

COMMAND = ["-m", "palestra", "mcp"]
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}


@asynccontextmanager
async def stdio_client(*arguments, mode="auto"):
    given = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    started = StdioServerParameters(command=sys.executable, args=[*COMMAND, *arguments], env=given)
    async with Client(started, mode=mode) as client:
        yield client


async def play(client, seat):
    while seat["status"] != "over":
        text, _ = await mcp_call(client, "legal")
        _, seat = await mcp_call(client, "move", text=text.splitlines()[-1])
    return seat


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_plays_one_match_after_another_here(mode):
    arguments = ("games/TicTacToe-v0", "--agents", "first,open", "--seed", "3")

    async def both():
        async with stdio_client(*arguments, mode=mode) as client:
            with pytest.raises(RuntimeError, match="no seat yet"):
                await mcp_call(client, "look")
            seats = []
            for _ in range(2):
                text, seat = await mcp_call(client, "join", name="ada")
                assert "token" not in text
                assert seat["seat"] == 1
                rules = (await client.read_resource("palestra://rules")).contents[0].text
                assert rules == seat["rules"] == (await mcp_call(client, "rules"))[0]
                assert "say" not in {tool.name for tool in (await client.list_tools()).tools}
                seats.append(await play(client, seat))
            return seats

    first, second = asyncio.run(both())
    assert first["match"] != second["match"]
    assert first["result"] == second["result"] != ""


@pytest.mark.slow
def test_a_client_plays_on_a_server_and_goes_on_with_its_token(tmp_path):
    async def begin(url, match):
        async with stdio_client(url) as client:
            _, seat = await mcp_call(client, "join", match=match, seat=2, name="ada")
            return seat["token"]

    async def end(url, token):
        async with stdio_client(url, "--token", token) as client:
            _, seat = await mcp_call(client, "look")
            assert seat["seat"] == 2
            return await play(client, seat)

    with serving(tmp_path) as (url, server):
        made = Server(url)
        match = made.create("games/LiarsDice-v0", ["first", "random", OPEN], seed=4)
        seat = asyncio.run(end(url, asyncio.run(begin(url, match))))
        made.close()
        record = record_of(server, match)
    assert record.agents[2] == "remote:ada"
    assert seat["returns"] == record.returns[2]
    assert tuple(replay(record).returns) == record.returns


@pytest.mark.slow
def test_a_server_that_is_away_is_named_in_every_answer():
    async def ask():
        async with stdio_client("http://127.0.0.1:9") as client:
            assert "say" in {tool.name for tool in (await client.list_tools()).tools}
            with pytest.raises(RuntimeError, match=r"http://127.0.0.1:9/? cannot be reached"):
                await mcp_call(client, "join")

    asyncio.run(ask())


def start_loud():
    """The command with an agent that prints, and whose child processes do."""
    process = subprocess.Popen(
        [sys.executable, "-c", LOUD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert ask(process, HELLO)["result"]["serverInfo"]["name"] == "palestra"
    tell(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    return process


def tell(process, message):
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def ask(process, message):
    tell(process, message)
    return json.loads(process.stdout.readline())


def call(name, **arguments):
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}


def look(process, seat):
    answer = ask(process, call("look", token=seat["token"]))
    return answer["result"]["structuredContent"]


LOUD = """
import os, subprocess, sys
from palestra.agents.simple import RandomAgent
from palestra.cli import main

plain = RandomAgent.act

def act(self, turns):
    print("moves")
    os.write(1, b"raw")
    child = "import sys; print('child reads', sys.stdin.read() or 'nothing')"
    subprocess.run([sys.executable, "-c", child], check=True)
    return plain(self, turns)

RandomAgent.act = act
main(["mcp", "games/LiarsDice-v0", "--agents", "random,open,open", "--seed", "1"])
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["closed", signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_else_is_written_and_no_process_is_left(how):
    process = start_loud()
    joined = [ask(process, call("join"))["result"]["structuredContent"] for _ in "ab"]
    waits = next(seat for seat in joined if not look(process, seat)["your_turn"])
    tell(process, call("look", token=waits["token"], wait=60))  # the other seat stays silent
    assert ask(process, PING)["id"] == PING["id"]
    if how == "closed":
        process.stdin.close()
    else:
        process.send_signal(how)
    process.wait(30)
    said = process.stderr.read().decode()
    assert "raw" in said
    assert "moves" in said
    assert "child reads nothing" in said
    assert "Traceback" not in said
    for line in process.stdout.read().splitlines():
        assert json.loads(line)["jsonrpc"] == "2.0"
    with pytest.raises(ProcessLookupError):  # of its group
        os.killpg(process.pid, 0)
    process.stdin.close(), process.stdout.close(), process.stderr.close()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["games/TicTacTo-v0"], "did you mean 'games/TicTacToe-v0'"),
        (["games/TicTacToe-v0", "--agents", "mcts,random"], "as in open,random"),
        (["games/TicTacToe-v0", "--token", "x"], "name the server's address"),
        (["http://127.0.0.1:9", "--agents", "mcts"], "only --token"),
    ],
)
def test_what_cannot_be_played_is_said_at_once(arguments, said, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["mcp", *arguments])
    assert ended.value.code != 0
    told = capsys.readouterr()
    assert said in " ".join(told.err.split())
    assert told.out == ""
