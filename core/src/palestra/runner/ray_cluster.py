"""Join a Ray cluster, or start one on this machine; it sends no usage statistics."""

from __future__ import annotations

import contextlib
import gc
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from palestra.kernel.errors import InvalidOption, MissingExtra

try:
    import ray
except ImportError as error:
    raise MissingExtra("ray", "ray") from error

GRACE_OF_RAY = 30.0  # seconds for its processes to end
PATIENCE = 5.0  # seconds for an address to answer as Ray would
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # of RFC 9113
SETTINGS_FRAME = 4  # the type of frame with which every HTTP/2 server begins, and so Ray's gRPC
QUIET: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}


def start_cluster(cpus: int) -> list[subprocess.Popen[Any]]:
    """Start Ray on this machine, with this process's import path; gives what was started."""
    before = _processes()
    paths = os.pathsep.join(path for path in sys.path if path)
    _have_token()
    with _environment(RAY_USAGE_STATS_ENABLED="0"):
        ray.init(
            "local",  # and not a cluster that somebody else has started on this machine
            num_cpus=cpus,
            include_dashboard=False,
            runtime_env={"env_vars": {"PYTHONPATH": paths}},
            **QUIET,
        )
    return [process for process in _processes() if process not in before]


def join_cluster(address: str, setting: str) -> None:
    """Connect this process to a running cluster.

    address: host:port, or "auto" for the one on this machine. setting: what named the address, as
    in "RAY_ADDRESS=". Raises `InvalidOption` where no Ray answers.
    """
    try:
        _knock(address)
        ray.init(address, **QUIET)
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidOption(
            f"cannot join a Ray cluster at {setting}{address}: {error}; see that it runs there "
            "(ray start --head), and set RAY_AUTH_MODE and RAY_AUTH_TOKEN as it has them"
        ) from error


def _knock(address: str) -> None:
    """Raise `OSError` or `ValueError` unless a server of Ray's protocol answers at `host:port`.

    `ray.init` waits for minutes at a port of another program, and then ends this process.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:  # auto, or local
        return
    if not port.isdecimal() or int(port[:6]) >= 1 << 16:
        raise ValueError("an address is host:port")
    with socket.create_connection((host.strip("[]"), int(port)), PATIENCE) as there:
        if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
            return
        there.sendall(HELLO)
        answer = _first_bytes(there, 4)
    if len(answer) < 4 or answer[3] != SETTINGS_FRAME:
        raise ConnectionError("another program answers there, or none")


def _first_bytes(there: socket.socket, count: int) -> bytes:
    """The first bytes that come within `PATIENCE`; fewer if there are no more."""
    until, heard = time.monotonic() + PATIENCE, b""
    with contextlib.suppress(TimeoutError):
        while len(heard) < count and (left := until - time.monotonic()) > 0:
            there.settimeout(left)
            if not (part := there.recv(count - len(heard))):
                break
            heard += part
    return heard


def _have_token() -> None:
    """Set a token for this process; otherwise Ray would make one in the home folder.

    It stays for as long as the process lives: Ray reads it once.
    """
    named = any(name in os.environ for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"))
    if not named and not (Path.home() / ".ray" / "auth_token").exists():
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


def stop_cluster(processes: list[subprocess.Popen[Any]]) -> None:
    """Stop Ray, and wait for the processes it ends, which Ray itself does not."""
    ray.shutdown()
    for process in processes:
        process.wait(GRACE_OF_RAY)


def _processes() -> list[subprocess.Popen[Any]]:
    # by type: isinstance() asks some objects for their class, and of those some warn when asked
    return [found for found in gc.get_objects() if issubclass(type(found), subprocess.Popen)]


@contextlib.contextmanager
def _environment(**wanted: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
