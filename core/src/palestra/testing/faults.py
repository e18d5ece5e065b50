"""Short reports of what a check found: the line in the author's code, and the reason."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import linecache
import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from palestra.engine.explaining import short_path
from palestra.kernel.errors import PalestraError
from palestra.testing.subject import Failed, Subject

Place = tuple[str, int]
CORE = Path(__file__).parents[1]  # which holds no author's code
LINES = 20_000  # of the author's that are followed in search of a draw


def explain(error: Exception, subject: Subject) -> tuple[str, str]:
    """The cause of a failed check, equal for the same cause, and a line about it."""
    if isinstance(error, Failed):
        return error.cause or str(error), str(error)
    said = str(error) if isinstance(error, PalestraError) else f"{type(error).__name__}: {error}"
    place = place_of(error, subject)
    if place is None:
        return said, said
    where = at(place)
    if where in said:  # as of rules that do not compile
        return said, said
    return f"{where} {type(error).__name__}", f"{where}: {source(place)} — {said}"


def at(place: Place) -> str:
    return f"{short_path(place[0])}:{place[1]}"


def source(place: Place) -> str:
    return linecache.getline(*place).strip()


def place_of(error: BaseException, subject: Subject) -> Place | None:
    """The innermost line of the author's code in an exception's traceback."""
    owned, found, trace = author_files(subject), None, error.__traceback__
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if owned(path):
            found = path, trace.tb_lineno
        trace = trace.tb_next
    return found


def author_files(subject: Subject) -> Any:
    """Whether a path is one of the files of the package, or the module, that holds the game."""
    modules = {subject.spec.entry_point.partition(":")[0]}
    if "game" in subject.__dict__:
        modules |= {kind.__module__ for kind in type(subject.game).__mro__}
    roots = [root for module in modules - {"", "builtins"} for root in _roots(module)]

    def owned(path: str) -> bool:
        above = [Path(path), *Path(path).parents]
        return CORE not in above and any(root in above for root in roots)

    return owned


def _roots(module: str) -> Iterator[Path]:
    """The folder of a module's package, or the file of a module that is in none."""
    top = module.partition(".")[0]
    if top in ("palestra", "abc", "typing"):
        return
    found: Any = sys.modules.get(top)
    if found is None:
        with contextlib.suppress(ImportError, ValueError):
            found = importlib.util.find_spec(top)
    folders: Iterable[str] = (
        getattr(found, "submodule_search_locations", None) or getattr(found, "__path__", None) or ()
    )
    yield from map(Path, folders)
    file = getattr(sys.modules.get(module), "__file__", None)
    if file and not folders:
        yield Path(file)


# Where a channel is written

WRITERS = {
    "observation": ("write_observation", "observe"),
    "mask": ("write_legal_mask", "action_mask"),
    "key": ("state_key",),
    "describe": ("describe",),
    "prompt": ("legal_text", "legal"),
    "legal": ("legal_text", "legal"),
    "scene": ("scene",),
    "events": ("narrate", "step", "opening"),
    "rules": ("rules_for",),
    "to_act": ("to_act",),
}


def written_at(game: Any, channels: Iterable[str]) -> str:
    """Where the author writes what these channels show a seat: "rules.py:41, in scene()"."""
    for channel in channels:
        for name in WRITERS.get(channel, ()):
            function = inspect.unwrap(getattr(type(game), name, None) or str)
            code = getattr(function, "__code__", None)
            if code and not function.__module__.startswith("palestra."):
                return f"{at((code.co_filename, code.co_firstlineno))}, in {name}()"
    return ""


# Who draws from a generator of the process


def who_draws(subject: Subject, play: Any) -> str:
    """The author's line that draws from a process-wide generator while `play()` runs."""
    owned, before, last = author_files(subject), _generators(), ("", 0)
    seen, found = 0, ""

    def watch(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal before, last, seen, found
        if found or seen > LINES or not owned(frame.f_code.co_filename):
            return None
        seen += 1
        now = _generators()
        if now != before and last[1]:
            found = f"{at(last)}: {source(last)}"
        before, last = now, (frame.f_code.co_filename, frame.f_lineno)
        return watch

    tracer = sys.gettrace()
    sys.settrace(watch)
    try:
        play()
    finally:
        sys.settrace(tracer)
    if not found and _generators() != before and last[1]:
        found = f"{at(last)}: {source(last)}"
    return found


def _generators() -> Any:
    """What the next draws of the process-wide generators depend on, cheap to compare."""
    _, keys, position, *_ = np.random.get_state(legacy=True)
    return hash((random.getstate(), np.asarray(keys).tobytes(), position))
