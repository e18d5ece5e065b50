"""A socket to listen on."""

from __future__ import annotations

import socket

from palestra import InvalidOption


def listen(host: str, port: int) -> socket.socket:
    """A bound socket; raises `InvalidOption` if the port is taken or the address is not local."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise InvalidOption(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another --port, or 0 for a "
            "free one"
        ) from error
    return bound
