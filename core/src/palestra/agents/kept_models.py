"""Models that stay loaded between the runs of a process, so that each is loaded once.

Each kind of model (`vllm:`, `local:`) has one `KeptModels`. An open model has a `Claim` on the
weights that it plays with; claims with equal keys share them. Weights without a claim stay loaded
until `palestra.release()` or the end of the process, or until a kind's limit makes them leave.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar
from weakref import WeakSet

T = TypeVar("T")
_kinds: WeakSet[KeptModels[Any]] = WeakSet()
_of_parents: list[Any] = []  # what a forked process inherited: its parent frees it


@dataclass(frozen=True, slots=True)
class WeightsKey:
    """What is loaded: a model, the version of its files, and the options it is opened with."""

    target: str
    version: str = ""
    options: str = ""


def version_of_files(place: Path) -> str:
    """The names, sizes and times of the files in a folder; "" for a name that is no place here.

    A model or an adapter that was trained further in the same folder has another version.
    """
    if not place.exists():
        return ""
    files = sorted(place.iterdir()) if place.is_dir() else [place]
    known = [(file.name, file.stat()) for file in files if file.is_file()]
    return " ".join(f"{name}:{found.st_size}:{found.st_mtime_ns}" for name, found in known)


@dataclass(slots=True, eq=False)
class _Loaded(Generic[T]):
    """Loaded weights, the claims on them, and the lock of the thread that computes with them."""

    weights: T
    claims: WeakSet[Claim[T]] = field(default_factory=WeakSet)
    lock: threading.RLock = field(default_factory=threading.RLock)


class Claim(Generic[T]):
    """An open model's claim on weights, which other models may share."""

    def __init__(self, kept: KeptModels[T], key: WeightsKey, load: Callable[[], T]) -> None:
        self._kept, self.key, self.load = kept, key, load

    @contextmanager
    def held(self) -> Iterator[T]:
        """The weights, for one thread at a time; loaded again if they were released."""
        loaded = self._kept.find(self)
        with loaded.lock:
            yield loaded.weights

    @property
    def weights(self) -> T:
        """The weights, for threads that take turns by themselves; loaded again like `held`."""
        return self._kept.find(self).weights

    @property
    def loaded(self) -> T | None:
        """The weights if they are loaded."""
        return self._kept.loaded(self.key)

    def leave(self) -> None:
        """Give the claim up; using the weights makes it again."""
        self._kept.leave(self)


class KeptModels(Generic[T]):
    """The loaded models of one kind, the least recently used first.

    most: how many stay loaded when nobody uses them; open models may be more.
    together: they can only be freed together.
    renew: called with weights that had no claim, before the first new claim uses them.
    empty: called after weights were dropped, to give their memory back.
    """

    def __init__(
        self,
        *,
        empty: Callable[[], object],
        renew: Callable[[T], object] = lambda _: None,
        most: int | None = None,
        together: bool = False,
    ) -> None:
        self._empty, self._renew = empty, renew
        self._most, self._together = most, together
        self._loaded: dict[WeightsKey, _Loaded[T]] = {}
        self._lock = threading.RLock()
        _kinds.add(self)

    def claim(self, key: WeightsKey, load: Callable[[], T]) -> Claim[T]:
        """A claim on the weights of this key, which `load` makes if they are not loaded."""
        claim = Claim(self, key, load)
        self.find(claim)
        return claim

    @property
    def targets(self) -> list[str]:
        """The models that are loaded."""
        return sorted({key.target for key in self._loaded})

    def loaded(self, key: WeightsKey) -> T | None:
        """The weights of a key if they are loaded."""
        found = self._loaded.get(key)
        return None if found is None else found.weights

    def find(self, claim: Claim[T]) -> _Loaded[T]:
        """The weights of a claim."""
        found = self._loaded.get(claim.key)
        if found is not None and claim in found.claims:
            return found  # without the lock: another thread may be loading for minutes
        with self._lock:
            found = self._loaded.get(claim.key)
            if found is None:
                self._make_room(claim.key)
                found = self._loaded[claim.key] = _Loaded(claim.load())
                _release_first_at_exit()
            elif not found.claims:
                self._renew(found.weights)
            found.claims.add(claim)
            return found

    def leave(self, claim: Claim[T]) -> None:
        """Give a claim up; weights without one stay, up to the limit."""
        with self._lock:
            if found := self._loaded.pop(claim.key, None):
                found.claims.discard(claim)
                self._loaded[claim.key] = found  # the most recently used
            self._limit(self._most)

    def release(self) -> None:
        """Free all weights; a model that is open loads them again when it is used."""
        with self._lock:
            self._free(list(self._loaded))

    def disown(self) -> None:
        """Forget what a forked process inherited, without freeing what is its parent's."""
        _of_parents.append(self._loaded)
        self._loaded, self._lock = {}, threading.RLock()

    def _make_room(self, key: WeightsKey) -> None:
        """Free earlier versions of a model's files, and what passes the limit with one more."""
        idle = self._idle()
        old = [k for k in idle if k.target == key.target and k.version != key.version]
        if old and self._together:
            old = idle if len(idle) == len(self._loaded) else []
        self._free(old)
        self._limit(None if self._most is None else self._most - 1)

    def _limit(self, most: int | None) -> None:
        if most is not None and len(self._loaded) > most:
            self._free(self._idle()[: len(self._loaded) - most])

    def _idle(self) -> list[WeightsKey]:
        return [key for key, loaded in self._loaded.items() if not loaded.claims]

    def _free(self, keys: list[WeightsKey]) -> None:
        for key in keys:
            del self._loaded[key]  # a thread that computes with it keeps it until it is done
        if keys:
            self._empty()


def release() -> None:
    """Free the memory of every model that this process keeps loaded.

    Models that run in this process (`vllm:`, `local:`) stay loaded after a run, so that the next
    one that names the same model with the same options starts at once. Call this before you open
    another model that does not fit beside them. An agent or a model that is still open loads its
    weights again when it is next used.
    """
    for kind in list(_kinds):
        kind.release()


def _release_first_at_exit() -> None:
    """Free models before the libraries that loaded them end, whose own handlers are registered."""
    atexit.unregister(release)
    atexit.register(release)


def _disown() -> None:
    atexit.unregister(release)
    for kind in list(_kinds):
        kind.disown()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown)
