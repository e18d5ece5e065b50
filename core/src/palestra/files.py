"""Writing files atomically, completely or not at all; reading those that people write."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from tempfile import NamedTemporaryFile, mkdtemp
from typing import Any, TypeVar

import msgspec

from palestra.kernel.errors import PalestraError
from palestra.single_keys import refuse_repeated_keys

T = TypeVar("T")

# What reading a damaged or foreign file may raise
UNREADABLE = (
    msgspec.MsgspecError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    RecursionError,
)


MOST_BYTES = 50_000_000  # of a file that a person writes
MOST_DOTS = 200  # of a key in TOML: tomllib takes seconds for one of ten thousand


class CannotWrite(PalestraError, OSError):
    """A file or folder that cannot be written; the message says why and what to do."""


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A draft next to `path` that replaces it when the block ends; removed if the block raises.

    with whole_file("replay.gif") as draft:
        draft.write_bytes(...)

    The draft has the same suffix, so that writers which look at it work. Raises `CannotWrite`.
    """
    target = Path(path)
    with writable(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        named = NamedTemporaryFile(  # noqa: SIM115 - only its name is used
            dir=target.parent, prefix=f".{target.stem}-", suffix=target.suffix, delete=False
        )
        named.close()
        draft = Path(named.name)
        try:
            yield draft
            draft.chmod(0o666 & ~_umask())
            with draft.open("rb") as written:
                os.fsync(written.fileno())
            draft.replace(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise


@contextmanager
def whole_folder(path: str | Path) -> Iterator[Path]:
    """A draft next to the folder `path` that takes its place when the block ends without an error.

    `path` must be missing or an empty folder. Raises `CannotWrite`.
    """
    target = Path(path)
    with writable(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
        try:
            yield draft
            draft.chmod(0o777 & ~_umask())
            if target.exists():
                target.rmdir()
            draft.replace(target)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise


def remove_drafts(path: str | Path) -> None:
    """Remove drafts of `path` that a killed process left; nothing may be writing it now."""
    target = Path(path)
    for draft in target.parent.glob(f".{target.stem}-????????{target.suffix}"):
        if draft.is_dir():
            shutil.rmtree(draft)
        else:
            draft.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> Path:
    """Write a text file atomically; raises `CannotWrite`."""
    with whole_file(path) as draft:
        draft.write_text(text, "utf-8")
    return Path(path)


def write_bytes(path: str | Path, data: bytes) -> Path:
    """Write a file atomically; raises `CannotWrite`."""
    with whole_file(path) as draft:
        draft.write_bytes(data)
    return Path(path)


def is_file(path: str | Path) -> bool:
    """Whether a file of that name exists; false for what cannot be a name."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):  # too long, a NUL
        return False


def read_file(path: str | Path) -> bytes:
    """The bytes of a file that a person has written or was sent.

    Raises `OSError` for a file that cannot be read, for a pipe, which might be waited for without
    end, and for more than `MOST_BYTES`, as a device without end has.
    """
    file = Path(path)
    if file.is_fifo():
        raise OSError(errno.EINVAL, "it is a pipe; write its content to a file", str(path))
    with file.open("rb") as opened:
        found = opened.read(MOST_BYTES + 1)
    if len(found) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"it has more than {MOST_BYTES} bytes", str(path))
    return found


def read_json(path: str | Path, kind: type[T]) -> T:
    """The value of a JSON file as `kind`.

    Raises as `read_file` does, and what `UNREADABLE` lists, also where an object gives a key twice.
    """
    written = read_file(path)
    found = msgspec.json.decode(written, type=kind)
    refuse_repeated_keys(written)
    return found


def read_toml(path: str | Path) -> dict[str, Any]:
    """The tables of a TOML file; raises as `read_file` does, and what `UNREADABLE` lists."""
    import tomllib

    text = read_file(path).decode("utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if any(part.count(".") > MOST_DOTS for part in re.split(r"[=,{}\[\]]", line)):
            raise ValueError(f"line {number} has a key of more than {MOST_DOTS} dots")
    return tomllib.loads(text)


@contextmanager
def writable(path: str | Path) -> Iterator[None]:
    """Turn the system's errors about a full disk or a read-only folder into `CannotWrite`."""
    try:
        yield
    except CannotWrite:
        raise
    except OSError as error:
        raise CannotWrite(
            f"cannot write {path}: {error.strerror or error}; free some room or choose a folder "
            "that can be written"
        ) from error


def refuse_strangers(path: Path, advice: str) -> None:
    """Raise `PalestraError` if somebody else could have written a file or folder that is run.

    It must belong to this user or to root, and nobody else may write it but this user's own group.
    """
    if os.name != "posix" or not path.exists():
        return
    found, me = path.stat(), os.geteuid()
    if found.st_uid not in (0, me):
        why = f"belongs to user {found.st_uid}, and you are user {me}"
    elif found.st_mode & stat.S_IWOTH:
        why = "can be written by everybody"
    elif found.st_mode & stat.S_IWGRP and found.st_gid not in (0, os.getegid()):
        why = f"can be written by group {found.st_gid}, which is not yours"
    else:
        return
    raise PalestraError(f"{path} {why}, so the code in it is not run; {advice}")


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def fresh_folder(name: str) -> Path:
    """A folder of `runs` that does not exist yet, named after what runs in it and the time."""
    first = Path("runs") / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    others = (first.with_name(f"{first.name}-{number}") for number in count(2))
    return next(folder for folder in chain([first], others) if not folder.exists())
