"""Ray Serve on two nodes and one PostgreSQL: a node that is killed costs no move."""

import json
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from clients import python_of

SCRIPT = Path(__file__).with_name("ray_cluster.py")
ROOT = os.geteuid() == 0 if hasattr(os, "geteuid") else False


@contextmanager
def postgres(port):
    """The URL of a PostgreSQL of its own; it refuses to run as root."""
    become = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if ROOT else []
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        if ROOT:
            shutil.chown(folder, "postgres")
        data = f"{folder}/data"

        def call(*command):
            subprocess.run([*become, *command], cwd=folder, check=True, stdout=subprocess.DEVNULL)

        call("initdb", "-D", data, "-A", "trust", "-U", "palestra")
        options = f"-p {port} -k {data} -c listen_addresses=127.0.0.1"
        call("pg_ctl", "-D", data, "-o", options, "-l", f"{folder}/log", "-w", "start")
        try:
            yield f"postgresql+psycopg://palestra@127.0.0.1:{port}/postgres"
        finally:
            call("pg_ctl", "-D", data, "-m", "immediate", "stop")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("initdb") is None, reason="no PostgreSQL")
def test_a_node_killed_in_the_middle_of_matches_costs_no_move(free_port):
    python = python_of("ray_serve")
    with postgres(free_port + 1) as url:
        done = subprocess.run(
            [python, str(SCRIPT), url, str(free_port)],
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
