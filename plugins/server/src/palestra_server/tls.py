"""The certificate and key that a server answers with over TLS."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

from palestra import InvalidOption


def tls_options(certificate: Path | None, key: Path | None) -> dict[str, Any]:
    """uvicorn's options; without `key`, the certificate's file holds the key too.

    Raises `InvalidOption` for files that are no certificate and key in PEM form, for a key of
    another certificate, and for a key that is protected by a password.
    """
    if certificate is None:
        if key is not None:
            raise InvalidOption(f"--key {key} needs --certificate, the certificate it belongs to")
        return {}
    given = f"--certificate {certificate}" + (f" --key {key}" if key else "")
    for file in (certificate, key or certificate):
        if not file.is_file():
            raise InvalidOption(f"{given}: there is no file {file}")
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        raise InvalidOption(
            f"{given}: not a certificate and its key, both as PEM and without a password ({error})"
        ) from None
    return {"ssl_certfile": str(certificate), "ssl_keyfile": str(key) if key else None}
