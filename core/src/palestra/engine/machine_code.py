"""Machine code that is kept on the disk, and read only if it is what was written; needs numba.

numba runs whatever its files hold. A file that lost some bits, was cut, or lies where that of
another game or another processor was, ran as wrong rules or ended the interpreter. Here each file
begins with a hash of its bytes and of what they are for. A file with another hash is not read: the
rules are compiled again, and replace it.
"""

from __future__ import annotations

import pickle
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from numba import version_info
from numba.core.caching import IndexDataCacheFile

from palestra.engine.linked import NEWEST

SIZE = 16  # bytes of a hash


class SealedFile(IndexDataCacheFile):
    """One function's machine code, a file for each signature and processor.

    It replaces numba's own, which keeps an index of numbered files and asks when the source was
    changed. Here the names of the files say all of that: compiled drivers are named by a hash of
    what they are made of.
    """

    def load(self, key: Any) -> Any:
        """What was saved under a key; None if nothing was, or something else lies there."""
        path = self._path(key)
        try:
            kept = path.read_bytes() if path.is_file() else b""
        except OSError:
            return None
        seal, data = kept[:SIZE], kept[SIZE:]
        return pickle.loads(data) if seal == self._seal(path, data) else None

    def save(self, key: Any, data: Any) -> None:
        """Save under a key. Where that fails, as on a full disk, the code stays in memory only."""
        path = self._path(key)
        written: bytes = self._dump(data)  # type: ignore[no-untyped-call]
        with suppress(OSError), self._open_for_write(str(path)) as file:
            file.write(self._seal(path, written) + written)

    def _path(self, key: Any) -> Path:
        number = blake2b(repr((self._version, key)).encode(), digest_size=8).hexdigest()
        return Path(self._cache_path) / f"{self._index_name.removesuffix('.nbi')}.{number}.nbc"

    @staticmethod
    def _seal(path: Path, data: bytes) -> bytes:
        return blake2b(path.name.encode() + data, digest_size=SIZE).digest()


def seal(dispatcher: Any) -> None:
    """Have a dispatcher that caches keep its machine code in sealed files.

    It rests on parts of numba that are not public: a numba newer than those it was tried with
    keeps files of its own, as they are.
    """
    if version_info.short > NEWEST:
        return
    own = dispatcher._cache._cache_file
    base = own._index_name.removesuffix(".nbi")
    sealed: Any = SealedFile
    dispatcher._cache._cache_file = sealed(own._cache_path, base, own._source_stamp)
