"""Ray Serve on two nodes and one PostgreSQL: a node that is killed costs no move."""

import json
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from clients import python_of

SCRIPT = Path(__file__).with_name("ray_cluster.py")
ROOT = os.geteuid() == 0 if hasattr(os, "geteuid") else False


@contextmanager
def postgres(folder, port):
    """The URL of a PostgreSQL of its own; it refuses to run as root."""
    folder.chmod(0o777)
    data = folder / "postgres"
    become = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if ROOT else []

    def call(*command):
        subprocess.run([*become, *command], cwd="/", check=True, capture_output=True)

    for parent in folder.parents:
        if parent.owner() == "root" and ROOT and not parent.stat().st_mode & 1:
            parent.chmod(parent.stat().st_mode | 0o011)
    call("initdb", "-D", str(data), "-A", "trust", "-U", "palestra")
    options = f"-p {port} -k {data} -c listen_addresses=127.0.0.1"
    call("pg_ctl", "-D", str(data), "-o", options, "-l", str(folder / "pg.log"), "-w", "start")
    try:
        yield f"postgresql+psycopg://palestra@127.0.0.1:{port}/postgres"
    finally:
        stop = ["pg_ctl", "-D", str(data), "-m", "immediate", "stop"]
        subprocess.run([*become, *stop], cwd="/", check=False, capture_output=True)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("initdb") is None, reason="no PostgreSQL")
def test_a_node_killed_in_the_middle_of_matches_costs_no_move(tmp_path, free_port):
    python = python_of("ray_serve")
    with postgres(tmp_path, free_port + 1) as url:
        done = subprocess.run(
            [python, str(SCRIPT), url, str(free_port)],
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        )
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["nodes"] == 2
    assert min(told["before"]) > 0, "both servers play before one is lost"
    assert told["problems"] == []
    assert told["exact"] == [True] * 6
