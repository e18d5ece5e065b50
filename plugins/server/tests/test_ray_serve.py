"""Ray Serve on two nodes and one PostgreSQL: a node that is killed costs no move."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from clients import python_of

SCRIPT = Path(__file__).with_name("ray_cluster.py")


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_node_killed_in_the_middle_of_matches_costs_no_move(free_port):
    done = subprocess.run(
        [python_of("ray_serve"), str(SCRIPT), str(free_port)],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"nodes"')]
    assert lines, done.stdout[-2000:] + done.stderr[-2000:]
    told = json.loads(lines[0])
    assert told["nodes"] == 2
    assert min(told["before"]) > 0, "both servers play before one is lost"
    assert told["problems"] == []
    assert told["exact"] == [True] * 6
