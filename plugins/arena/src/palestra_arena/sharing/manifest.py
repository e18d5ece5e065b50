"""The list of a folder's files with their checksums, and reading such a folder with care."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path, PurePosixPath

import msgspec
from palestra import InvalidOption, PalestraError
from palestra.files import UNREADABLE, read_json, write_bytes
from palestra.kernel.errors import show

FORMAT = "palestra.folder/1"
MANIFEST = "palestra.json"
CARD = "README.md"
LONGEST_NAME, LONGEST_PATH = 255, 4000  # bytes; systems refuse to look for longer ones


class FileSum(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file's size in bytes and the SHA-256 of its content, as hexadecimal digits."""

    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every file of a folder by its path in it, with forward slashes."""

    files: dict[str, FileSum]
    format: str = FORMAT


class DamagedFolder(PalestraError, ValueError):
    """A folder whose files are not those of its manifest; the message names the first one."""


def sum_of(file: Path) -> FileSum:
    """Size and checksum of a file."""
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return FileSum(bytes=file.stat().st_size, sha256=digest)


def write_manifest(folder: Path) -> Manifest:
    """List the files of a folder in its manifest."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
    manifest = Manifest({path.relative_to(folder).as_posix(): sum_of(path) for path in files})
    encoded = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    write_bytes(folder / MANIFEST, encoded + b"\n")
    return manifest


def copy_checked(folder: Path, target: Path, called: str) -> Manifest:
    """Copy the files that a folder's manifest lists to `target`, and nothing else.

    `called` names the folder in errors.
    Raises `InvalidOption` for a folder without a manifest, and `DamagedFolder` if a file is
    missing, has another content, or lies outside of the folder.
    """
    manifest = _read(folder, called)
    for name, told in sorted(manifest.files.items()):
        source, copy = _inside(folder, name, called), target / name
        size = source.stat().st_size
        if size != told.bytes:
            raise DamagedFolder(
                f"{show(name)} in {called} has {size} bytes, and its manifest says {told.bytes}; "
                "push the folder again"
            )
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
        if sum_of(copy) != told:  # of the copy: the source may change meanwhile
            raise DamagedFolder(
                f"{show(name)} in {called} is not the file that was pushed: its checksum differs; "
                "push the folder again"
            )
    shutil.copyfile(folder / MANIFEST, target / MANIFEST)
    return manifest


def _read(folder: Path, called: str) -> Manifest:
    file = folder / MANIFEST
    if not file.is_file():
        raise InvalidOption(f"{called} holds no {MANIFEST}; palestra push writes such a folder")
    try:
        manifest = read_json(file, Manifest)
    except (OSError, *UNREADABLE) as error:
        raise DamagedFolder(
            f"cannot read {MANIFEST} of {called}: {error}; push the folder again"
        ) from error
    if manifest.format != FORMAT:
        raise InvalidOption(
            f"{called} has the format {show(manifest.format)}; this version reads {FORMAT}"
        )
    return manifest


def _inside(folder: Path, name: str, called: str) -> Path:
    """A file of the folder; a manifest from elsewhere may not reach out of it."""
    parts = PurePosixPath(name).parts
    plain = name == "/".join(parts) and not any(p.startswith(".") or "\\" in p for p in parts)
    path = folder / name
    if not plain or PurePosixPath(name).is_absolute() or "\0" in name or ":" in name:
        raise DamagedFolder(
            f"the manifest of {called} names {show(name)}, which is no path inside it"
        )
    longest = max(map(len, map(str.encode, parts)), default=0)
    too_long = longest > LONGEST_NAME or len(name.encode()) > LONGEST_PATH
    if too_long or not path.is_file():
        raise DamagedFolder(f"{called} lacks {show(name)}, which its manifest lists; push it again")
    if not path.resolve().is_relative_to(folder.resolve()):
        raise DamagedFolder(
            f"{show(name)} in {called} is a link to a place outside of it; push it again"
        )
    return path
