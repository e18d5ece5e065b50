"""A run as a folder that others can read: its files, a card and a manifest."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import AbstractContextManager, closing
from pathlib import Path

from palestra import InvalidOption
from palestra.files import whole_folder, write_text
from palestra.runner.run_folder import UNFINISHED

from palestra_arena.sharing.card import WRITTEN, card_of
from palestra_arena.sharing.contents import Contents, read_contents
from palestra_arena.sharing.manifest import CARD, MANIFEST, copy_checked, write_manifest

SQLITE = b"SQLite format 3\0"


def write_folder(source: Path, target: Path) -> Contents:
    """Copy a run to `target`, which is missing or empty, with a card and checksums.

    Hidden files, links and unfinished episodes stay behind. A README.md of your own is kept.
    Raises `InvalidOption` for a folder without anything to share, and `CannotWrite`.
    """
    files = shared_files(source)
    with _target(target) as draft:
        for file in files:
            copy = draft / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            _copy(file, copy)
        contents = read_contents(draft)
        if not (draft / CARD).exists():
            write_text(draft / CARD, card_of(source.resolve().name, contents))
        write_manifest(draft)
    return contents


def read_folder(source: Path, target: Path, called: str = "") -> Contents:
    """Copy a pushed folder to `target` after checking every file against its manifest.

    `called` names the source in errors. Raises `DamagedFolder` if a file is not the one that was
    pushed; nothing is written then.
    """
    with _target(target) as draft:
        copy_checked(source, draft, called or str(source))
        return read_contents(draft)


def shared_files(folder: Path) -> list[Path]:
    """The files of a run that are shared, in the order of their names."""
    if not folder.is_dir():
        raise InvalidOption(f"there is no folder {folder}; palestra play --out {folder} makes one")
    return sorted(path for path in folder.rglob("*") if path.is_file() and _is_shared(path, folder))


def _is_shared(path: Path, folder: Path) -> bool:
    inner = path.relative_to(folder)
    if path.is_symlink() or not path.resolve().is_relative_to(folder.resolve()):
        return False
    if any(part.startswith(".") for part in inner.parts) or path.name == UNFINISHED:
        return False
    if inner.as_posix() == CARD:
        return WRITTEN not in path.read_text("utf-8", errors="replace")
    return inner.as_posix() != MANIFEST and not path.name.endswith((".db-wal", ".db-shm"))


def _copy(file: Path, copy: Path) -> None:
    """Copy a file; a database whole, with what its journal holds while games are written."""
    with file.open("rb") as opened:
        database = opened.read(len(SQLITE)) == SQLITE
    if not database:
        shutil.copyfile(file, copy)
        return
    with closing(sqlite3.connect(file)) as old, closing(sqlite3.connect(copy)) as new:
        old.backup(new)
        new.execute("PRAGMA journal_mode = DELETE")


def _target(target: Path) -> AbstractContextManager[Path]:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidOption(f"{target} exists already; choose another folder")
    return whole_folder(target)
