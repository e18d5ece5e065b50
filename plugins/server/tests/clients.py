"""Clients of other projects, each run in an environment of its own (scripts/client_env.py)."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def python_of(client):
    """The Python of a client's environment, which is made first where there is none."""
    return run(sys.executable, ROOT / "scripts" / "client_env.py", client).splitlines()[-1]


def run(*command):
    """What a program prints; raises with what it said where it fails."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    return done.stdout
