"""The official MCP inspector, by its command line, in an environment of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from clients import python_of
from palestra_server.client import Server
from palestra_server.dialects.mcp import McpDialect
from palestra_server.messages import OPEN
from serving import serving

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]
GAME = (sys.executable, "-m", "palestra", "mcp", "games/TicTacToe-v0")


@pytest.fixture(scope="module")
def inspect(tmp_path_factory):
    """Runs the inspector once; gives its result, or what it wrote if that is another status."""
    home = Path(python_of("inspector")).parent
    script = home.parent / "node_modules" / ".bin" / "mcp-inspector"
    quiet = {**os.environ, "HOME": str(tmp_path_factory.mktemp("home"))}
    path = os.environ.get("PYTHONPATH")
    given = ["-e", f"PYTHONPATH={path}"] if path else []

    def inspect(method, *arguments, target, status=0):
        command = [home / "node", script, "--cli", *target, *given, "--method", method, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=quiet)
        assert done.returncode == status, done.stdout + done.stderr
        return json.loads(done.stdout) if status == 0 else done.stdout + done.stderr

    return inspect


def call(inspect, tool, *, target, era="legacy", status=0, **arguments):
    told = inspect(
        *("tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments)),
        *("--protocol-era", era),
        target=target,
        status=status,
    )
    return told["structuredContent"] if status == 0 else told


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_it_finds_no_fault_in_the_tools_of_the_command(inspect, era):
    listed = inspect("tools/list", "--strict", "--protocol-era", era, target=GAME)["tools"]
    assert [tool["name"] for tool in listed][:2] == ["join", "rules"]
    found = inspect("resources/list", "--protocol-era", era, target=GAME)["resources"]
    assert [resource["uri"] for resource in found] == ["palestra://rules"]
    joined = call(inspect, "join", target=GAME, era=era, name="ada")
    assert joined["your_turn"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_it_plays_a_match_over_http_with_nothing_but_the_token(inspect, era, tmp_path):
    with serving(tmp_path, dialects=[McpDialect]) as (url, server):
        target, made = [f"{url}/mcp"], Server(url)
        match = made.create("games/TicTacToe-v0", [OPEN, "first"], seed=3)
        seat = call(inspect, "join", target=target, era=era, match=match, name="ada")
        token = seat["token"]
        rules = call(inspect, "rules", target=target, era=era, token=token)
        assert rules == {"rules": seat["rules"]}
        for move in "987":  # the other seat plays 1 and 2
            seat = call(inspect, "move", target=target, era=era, text=move, token=token)
        made.close()
        assert (seat["status"], seat["returns"]) == ("over", 1.0)
        assert server.match(match).record().agents == ("remote:ada", "first")
