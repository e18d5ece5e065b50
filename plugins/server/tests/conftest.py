"""Lets the tests import their own helpers."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    from palestra_server.allowed import Allowed
    from serving import serving

    allowed = Allowed(envs=("*",))  # environments that run programs too
    with serving(tmp_path_factory.mktemp("server"), allowed=allowed) as running:
        yield running


@pytest.fixture
def free_port():
    from palestra_server.listening import listen

    with listen("127.0.0.1", 0) as bound:
        return bound.getsockname()[1]
