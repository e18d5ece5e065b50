"""Compiling the rules of an ArrayGame with numba, and keeping the result across processes."""

from __future__ import annotations

import dis
import gc
import importlib.util
import inspect
import os
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Timer
from time import thread_time
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from palestra.engine import batch_driver, driver
from palestra.engine.checked import checked_rules
from palestra.engine.explaining import compile_error
from palestra.engine.lanes import lane_dtype, rivals_dtype, shared_dtype
from palestra.engine.rule_functions import (
    device_functions,
    global_names,
    reachable_functions,
    rule_functions,
)
from palestra.files import refuse_strangers, write_text
from palestra.kernel.array_game import ArrayGame, Out
from palestra.kernel.errors import InvalidOption, MissingExtra, PalestraError
from palestra.kernel.rng import threefry

SMALL = 1000  # Python instructions: functions up to this length are inlined into their callers
LONG = 64  # numbers of a tuple, beyond which it is an array in compiled rules
DRIVER = Path(driver.__file__)
BATCH_DRIVER = Path(batch_driver.__file__)
OWN = (DRIVER, BATCH_DRIVER)


def numba_installed() -> bool:
    return importlib.util.find_spec("numba") is not None


def compiles_by_default() -> bool:
    """Whether rules run compiled where the caller leaves it open; without numba, warns once."""
    if not numba_installed():
        _warn_once()
    return numba_installed() and not jit_disabled()


def jit_disabled() -> bool:
    """Whether numba is told by its own variable to compile nothing."""
    return os.environ.get("NUMBA_DISABLE_JIT", "") not in ("", "0")


@cache
def _warn_once() -> None:
    warnings.warn(
        "numba is not installed: array games run interpreted, about 40 times slower; run: "
        'pip install "palestra[numba]", or pass compiled=False if that is meant',
        RuntimeWarning,
        stacklevel=4,
    )


def debugging() -> bool:
    """Whether PALESTRA_DEBUG is set; every array index is then checked.

    Episodes run interpreted by default, so that an error names its line, and refuse indices below
    0 and numbers that do not fit (`palestra.engine.checked`); compiled rules raise `IndexError`
    instead of reading or writing other memory.
    """
    return os.environ.get("PALESTRA_DEBUG", "") not in ("", "0")


def patience() -> float:
    """PALESTRA_COMPILE_AFTER: seconds that rules run interpreted before they are compiled; 0.

    For many short programs with options of their own, such as the tests of a plugin: compiling
    takes longer than they last.
    """
    given = os.environ.get("PALESTRA_COMPILE_AFTER", "") or "0"
    try:
        return float(given)
    except ValueError:
        raise InvalidOption(
            f"PALESTRA_COMPILE_AFTER is a number of seconds such as 1.5, not {given!r}"
        ) from None


@dataclass(slots=True)
class Driver:
    """The functions of `palestra.engine.driver` for one game, ready to call on its timesteps."""

    begin: Callable[[Any, int, int], int]
    derive: Callable[[Any], int]
    move: Callable[[Any, int], int]
    play: Callable[[Any], int]
    playout: Callable[[Any, int, int], int]
    against_random: Callable[[Any, Any, int], int]
    against_scripts: Callable[[Any, Any, int], int]


ENTRIES = tuple(field.name for field in fields(Driver))
SHARED = ("refresh", "settle", "pick", "play_out", "threefry")  # what other templates use of it


@dataclass(frozen=True, slots=True)
class Template:
    """A file of functions over the rules of any array game, to be compiled for one game.

    It finds the names CONFIG, Out, the game's rules, and `refresh`, `settle`, `pick`, `play_out`
    and `threefry` of `palestra.engine.driver` among its globals. It calls no function of another
    module.

    path: the file. entries: the names of the functions that Python calls. layouts: by name of an
    argument, the numpy type of the elements of that one-dimensional array; every other argument is
    an integer. Entries return an integer and do not call each other.
    """

    path: Path
    entries: tuple[str, ...]
    layouts: tuple[tuple[str, np.dtype[Any]], ...]


def functions_for(game: ArrayGame, template: Template, compiled: bool | None = None) -> Any:
    """The entries of a template for one game, as attributes of one object.

    compiled: as for `Episode`; None compiles if numba is installed, after the seconds that
    PALESTRA_COMPILE_AFTER names. Both forms return the same results. The machine code is kept in
    the cache folder.
    """
    return _functions_for(game, template, *how_to_run(compiled))


@lru_cache(maxsize=64)
def _functions_for(game: ArrayGame, template: Template, compiled: bool, seconds: float) -> Any:
    functions = SimpleNamespace()
    if not compiled:
        module = _plain_module(game, template.path)
        vars(functions).update((entry, getattr(module, entry)) for entry in template.entries)
    elif seconds > 0:
        _fill_patiently(functions, game, template, seconds)
    else:
        _fill(functions, game, template)
    return functions


def how_to_run(compiled: bool | None) -> tuple[bool, float]:
    """Whether rules run compiled, and the seconds that they run interpreted before that.

    compiled: what the caller wants; None leaves it open.
    """
    if compiled is not None:
        return compiled, 0.0
    return not debugging() and compiles_by_default(), patience()


@lru_cache(maxsize=256)
def driver_for(game: ArrayGame, compiled: bool, patience: float = 0.0) -> Driver:
    """The driver of one game with one configuration, compiled or interpreted.

    With patience, one to be compiled runs interpreted until that has taken so many seconds.
    """
    if not compiled:
        return _interpreted_driver(game)
    driver = Driver(**dict.fromkeys(ENTRIES))  # type: ignore[arg-type]
    template = _single_template(game)
    if patience > 0:
        _fill_patiently(driver, game, template, patience)
    else:
        _fill(driver, game, template)
    return driver


def _single_template(game: ArrayGame) -> Template:
    layouts = ("timesteps", game.timestep_dtype), ("rivals", rivals_dtype(game))
    return Template(DRIVER, ENTRIES, layouts)


@dataclass(slots=True)
class BatchDriver:
    """The functions of `palestra.engine.batch_driver` for one game, ready to call on its lanes."""

    begin: Callable[..., int]
    step: Callable[..., int]
    observe: Callable[..., int]
    act_randomly: Callable[..., int]


BATCH_ENTRIES = tuple(field.name for field in fields(BatchDriver))


@lru_cache(maxsize=64)
def batch_driver_for(game: ArrayGame, compiled: bool) -> BatchDriver:
    """The batch driver of one game with one configuration, compiled or interpreted."""
    if compiled:
        return _compiled_batch_driver(game)
    module = _plain_module(game, BATCH_DRIVER)
    return BatchDriver(**{entry: getattr(module, entry) for entry in BATCH_ENTRIES})


def _compiled_batch_driver(game: ArrayGame) -> BatchDriver:
    module = _compiled_module(game, BATCH_DRIVER, BATCH_ENTRIES)
    from numba import from_dtype, int64

    lanes, timesteps, shared = (
        from_dtype(dtype)[::1]
        for dtype in (lane_dtype(game), game.timestep_dtype, shared_dtype(game))
    )
    signatures = {
        "begin": (lanes, shared, int64, int64),
        "step": (lanes, timesteps, shared, int64, int64, int64),
        "observe": (lanes, int64, int64),
        "act_randomly": (lanes, int64, int64),
    }
    driver = BatchDriver(**dict.fromkeys(BATCH_ENTRIES))  # type: ignore[arg-type]
    for entry, signature in signatures.items():
        waiting = _Waiting(game, driver, entry, getattr(module, entry), signature)
        setattr(driver, entry, waiting)
    return driver


def _interpreted_driver(game: ArrayGame) -> Driver:
    module = _plain_module(game, DRIVER)
    if not debugging():
        vars(module)["write_observation"] = _not_yet
    return Driver(**{entry: getattr(module, entry) for entry in ENTRIES})


def _fill_patiently(driver: Any, game: ArrayGame, template: Template, seconds: float) -> None:
    """Give a driver entries that run interpreted until that has taken so many seconds."""
    module = _plain_module(game, template.path)
    left = seconds

    def trying(entry: str) -> Callable[..., int]:
        plain = getattr(module, entry)

        def call(*arguments: Any) -> int:
            nonlocal left
            if left <= 0:  # kept by somebody since before the others were replaced
                return int(getattr(driver, entry)(*arguments))
            started = thread_time()
            result = int(plain(*arguments))
            left -= thread_time() - started
            if left <= 0:
                _fill(driver, game, template)
            return result

        return call

    for entry in template.entries:
        setattr(driver, entry, trying(entry))


def _fill(driver: Any, game: ArrayGame, template: Template) -> None:
    """Give a driver entries that compile, or load from the disk, when they are first called."""
    module = _compiled_module(game, template.path, template.entries)
    from numba import from_dtype, int64

    types = {name: from_dtype(layout)[::1] for name, layout in template.layouts}
    for entry in template.entries:
        dispatcher = getattr(module, entry)
        code = dispatcher.py_func.__code__
        names = code.co_varnames[: code.co_argcount]
        signature = tuple(types.get(name, int64) for name in names)
        setattr(driver, entry, _Waiting(game, driver, entry, dispatcher, signature))


def _not_yet(*_: Any) -> None:
    """Do nothing: interpreted observations are slow, so they are written only when asked for."""


def _plain_module(game: ArrayGame, template: Path) -> ModuleType:
    """A template run unchanged, over the game's plain functions; checked ones for debugging."""
    rules = rule_functions(game)
    if debugging():
        rules = checked_rules(rules)
    names = {"CONFIG": game.config, "Out": Out, **rules}
    if template != DRIVER:
        names |= lane_functions(game)
    return load_template(f"palestra_rules_{id(game)}", template, names)


def _compiled_module(game: ArrayGame, template: Path, entries: tuple[str, ...]) -> ModuleType:
    """A copy of a template in the cache folder, over the game's compiled functions."""
    if not numba_installed():
        raise MissingExtra("numba, which compiles array games,", "palestra[numba]")
    if jit_disabled():
        raise InvalidOption("compiled=True is not possible while NUMBA_DISABLE_JIT is set")
    from numba import njit

    from palestra.engine.linked import JOINT, LINKED, only_read_cache
    from palestra.engine.machine_code import seal

    digest = fingerprint(game)
    source = template.read_text("utf-8")
    name = f"{type(game).__name__.lower()}_{template.stem}_{digest}"
    if template not in OWN:  # the digest covers only these
        name += blake2b(source.encode(), digest_size=6).hexdigest()
    path = cache_folder() / f"{name}.py"
    cached = path.exists() and path.read_text("utf-8") == source
    if cache_is_read_only():
        only_read_cache()
        path = path if cached else template
    elif not cached:
        write_text(path, source)  # other processes may be writing the same file
        cached = True
    functions = rule_functions(game)
    if template != DRIVER:
        functions |= lane_functions(game)
    small = _small(functions.values())

    checks: dict[str, Any] = {"boundscheck": True} if debugging() else {}

    def compile_rule(function: FunctionType) -> Any:
        inlined = function.__code__ in small
        return njit(forceinline=inlined, **((LINKED if inlined else JOINT) | checks))(function)

    devices = device_functions(functions, compile_rule, f"_{digest}", _compiled_rules(digest))
    module = load_template(name, path, {"CONFIG": _with_arrays(game.config), "Out": Out, **devices})
    sys.modules[name] = module  # as above
    for helper, function in list(vars(module).items()):
        if isinstance(function, FunctionType) and function.__module__ == name:
            kept = cached and helper in entries
            how: dict[str, Any] = {"cache": kept, "nogil": True} if helper in entries else JOINT
            dispatcher = njit(**(how | checks))(function)
            if kept:
                seal(dispatcher)
            setattr(module, helper, dispatcher)
    return module


def _with_arrays(config: Any) -> Any:
    """Options and constants with arrays for long tuples of numbers.

    An index into a tuple is compiled into a branch for each of its numbers: with 1,600 of them that
    took 18 s, with 9,900 more than eight minutes.
    """
    long = {
        name: np.array(value)
        for name, value in config._asdict().items()
        if isinstance(value, tuple)
        and len(value) > LONG
        and all(isinstance(one, int | float) for one in value)
    }
    return config._replace(**long)


@lru_cache(maxsize=256)
def _compiled_rules(digest: str) -> dict[FunctionType, Any]:
    """The functions of a game that are compiled in this process: both its drivers use them."""
    return {}


def _small(functions: Iterable[FunctionType]) -> set[CodeType]:
    """The code of rules that are small together with all they call, and of what they call.

    These are inlined where they are called: the options in `config` are constants there, so that
    loops over seats unroll. Larger ones would take minutes to compile.
    """
    rules = [function for function in functions if _length(function) <= SMALL]
    return {function.__code__ for function in reachable_functions(rules)}


@lru_cache(maxsize=4096)
def _length(function: FunctionType) -> int:
    """The number of instructions of a function and, for each call, of what it calls."""
    instructions = list(dis.get_instructions(function))
    named = (function.__globals__.get(i.argval) for i in instructions if i.opname == "LOAD_GLOBAL")
    return len(instructions) + sum(_length(f) for f in named if isinstance(f, FunctionType))


def lane_functions(game: ArrayGame) -> dict[str, FunctionType]:
    """The functions that lanes use: the rules, the generator, and the single driver's core."""
    names = {"CONFIG": game.config, "Out": Out, "threefry": threefry, **rule_functions(game)}
    name = f"palestra_shared_{fingerprint(game)}"
    single = load_template(name, DRIVER, names)
    sys.modules[name] = single  # numba looks the module of a cached function up by name
    return rule_functions(game) | {name: getattr(single, name) for name in SHARED}


def load_template(name: str, path: Path, names: dict[str, Any]) -> ModuleType:
    """A module made from a template file, with `names` among its globals.

    Python's own loader would keep bytecode beside the file, where a full disk can leave half of it,
    and every later run would fail.
    """
    module = ModuleType(name)
    vars(module).update(names, __file__=str(path))
    exec(compile(path.read_bytes(), path, "exec"), vars(module))
    return module


@dataclass(slots=True, frozen=True)
class _Waiting:
    """Stands for an entry of a driver until its first call, which compiles or loads it.

    Afterwards calls go straight to the machine code's own entry point: numba's dispatcher would
    look at the argument types every time, which costs as much again as the whole move.
    """

    game: ArrayGame
    driver: Any  # the object that has the entries as attributes
    entry: str
    dispatcher: Any
    signature: tuple[Any, ...]

    def __call__(self, *arguments: Any) -> int:
        return int(self.compile()(*arguments))

    def compile(self) -> Callable[..., int]:
        """Put the machine code in this stand-in's place, and return it."""
        from palestra.engine.linked import place_environments

        name = type(self.game).__name__
        try:
            what = f"compiling {name}.{self.entry}; the result is kept"
            with _saying(what), _without_gc():
                self.dispatcher.compile(self.signature)
        except Exception as error:
            rules = reachable_functions(rule_functions(self.game).values())
            whole = error if debugging() else None  # the compiler's own 200 lines
            raise compile_error(error, name, rules) from whole
        place_environments(self.dispatcher, self.signature)
        point: Callable[..., int] = self.dispatcher.overloads[self.signature].entry_point
        if debugging():
            point = _explain_index_error(point, name)
        setattr(self.driver, self.entry, point)
        return point

    @property
    def loaded(self) -> bool:
        """Whether the machine code was found on the disk."""
        return bool(self.dispatcher.stats.cache_hits)


def compile_ahead(game: ArrayGame) -> tuple[int, int]:
    """Compile every entry of both drivers of a game into the cache, for later processes.

    Returns how many were compiled, and how many were found compiled.
    """
    drivers = (driver_for(game, True), batch_driver_for(game, True))
    found = [getattr(driver, entry.name) for driver in drivers for entry in fields(driver)]
    waiting = [entry for entry in found if isinstance(entry, _Waiting)]
    for entry in waiting:
        entry.compile()
    compiled = sum(not entry.loaded for entry in waiting)
    return compiled, len(found) - compiled


@contextmanager
def _saying(what: str) -> Iterator[None]:
    """Print `what` on a terminal if the block takes more than a second."""
    if not sys.stderr.isatty():
        yield
        return
    timer = Timer(1.0, lambda: print(f"palestra: {what}", file=sys.stderr))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _without_gc() -> Iterator[None]:
    """No garbage collection in the block: compilers make many objects and little garbage."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _explain_index_error(point: Callable[..., int], name: str) -> Callable[..., int]:
    """Wrap machine code so that its `IndexError`, which has no line, says what to do."""

    def call(*arguments: Any) -> int:
        try:
            return point(*arguments)
        except IndexError as error:
            raise IndexError(
                f"a rule of {name} reads or writes outside an array; play it with compiled=False "
                "to see the line"
            ) from error

    return call


def fingerprint(game: ArrayGame) -> str:
    """A hash of everything the machine code depends on."""
    here = Path(__file__)
    how = (*OWN, here, here.with_name("linked.py"))
    parts = [path.read_text() for path in how]
    parts += [repr(game.config), repr(game.timestep_dtype.descr)]
    parts += [sys.version, np.__version__, _version("numba"), _version("llvmlite")]
    parts += [f"debugging={debugging()}"]
    seen = reachable_functions(rule_functions(game).values())
    # The cached code names the modules it came from: a copied game must not load another's.
    parts += [f"{function.__module__} {_source(function)}" for function in seen]
    parts += sorted(constant for function in seen for constant in _constants(function))
    return blake2b("\0".join(sorted(parts)).encode(), digest_size=12).hexdigest()


def _constants(function: FunctionType) -> Iterator[str]:
    for name in global_names(function.__code__):
        value = function.__globals__.get(name)
        if isinstance(value, int | float | tuple | str | np.ndarray):
            text = value.tobytes().hex() if isinstance(value, np.ndarray) else repr(value)
            yield f"{function.__module__}.{name}={text}"


def _source(function: FunctionType) -> str:
    try:
        return textwrap.dedent(inspect.getsource(function))
    except OSError:  # defined at a prompt, without source: hash the byte code instead
        return (
            f"{function.__qualname__} {function.__code__.co_code!r} {function.__code__.co_consts}"
        )


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "none"


def cache_is_read_only() -> bool:
    """Whether PALESTRA_CACHE_READ_ONLY says that nothing is added to the compiled games."""
    return os.environ.get("PALESTRA_CACHE_READ_ONLY", "") not in ("", "0")


def cache_folder() -> Path:
    """Where compiled games are kept: PALESTRA_CACHE, or the platform's cache folder."""
    import platformdirs

    root = os.environ.get("PALESTRA_CACHE") or platformdirs.user_cache_dir("palestra", False)
    folder = Path(root) / "compiled"
    if cache_is_read_only():
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PalestraError(
            f"cannot write compiled games to {folder}: {error}; set PALESTRA_CACHE to a folder "
            "that can be written"
        ) from error
    for place in (folder.parent, folder, folder / "__pycache__"):
        refuse_strangers(place, "set PALESTRA_CACHE to a folder that only you can write")
    return folder
