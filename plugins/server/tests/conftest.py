"""Lets the tests import their own helpers."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    from serving import serving

    with serving(tmp_path_factory.mktemp("server")) as running:
        yield running
