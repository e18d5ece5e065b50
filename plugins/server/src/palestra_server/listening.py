"""A socket to listen on."""

from __future__ import annotations

import socket

from palestra import InvalidOption


def listen(host: str, port: int, option: str = "--port") -> socket.socket:
    """A bound socket; raises `InvalidOption` if the port is taken or the address is not local.

    `option` is what the caller's command calls the port.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise InvalidOption(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another {option}, or 0 for "
            "a free one"
        ) from error
    return bound
