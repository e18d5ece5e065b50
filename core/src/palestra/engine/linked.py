"""Compiling with numba what only other compiled functions call; needs numba.

numba makes every function ready to be called from Python: it wraps it, optimises it with all that
it calls, and translates the whole to machine code, level by level. Here that is left to the
functions that Python does call, which saves from a third to a half of the time. It rests on parts
of numba that are not public: a numba newer than those it was tried with compiles as numba does.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from numba import version_info
from numba.core.caching import Cache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

NEWEST = (0, 68)  # the newest numba version this was tested with


class _Linked(JITCodeLibrary):
    """Optimised code without an address, to be linked into other code."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> _Linked:
        return self

    def set_env(self, name: str, env: Any) -> None:
        """Nothing yet: observe `place_environments`."""


class _Joint(_Linked):
    """Code that is optimised only where it is linked in."""

    def _optimize_final_module(self) -> None:
        pass


class _LinkedCompiler(Compiler):
    kind = _Linked

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        super().__init__(typing, target, library or self.kind(target.codegen(), "linked"), *rest)


class _JointCompiler(_LinkedCompiler):
    kind = _Joint


# What `numba.njit` is told: `LINKED` for rules, which run up to 1.6 times faster if they are
# optimised before they are inlined as well; `JOINT` for what stands between them and an entry.
LINKED: dict[str, Any] = {}
JOINT: dict[str, Any] = {}


def _spare_blas() -> None:
    """Import numba's functions of arrays without SciPy's linear algebra: .15 s of processor time.

    numba imports it to see whether it is there. Compiled code that calls it finds the real one.
    """
    name = "scipy.linalg.cython_blas"
    known = {name, "numba.np.arraymath"} & sys.modules.keys()
    if known or find_spec("scipy") is None:
        return
    sys.modules[name] = ModuleType(name)
    try:
        with suppress(ImportError):  # another numba, which imports them elsewhere
            import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules[name]


if version_info.short <= NEWEST:
    _spare_blas()
    bare = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    LINKED = bare | {"pipeline_class": _LinkedCompiler}
    JOINT = bare | {"pipeline_class": _JointCompiler}


def place_environments(dispatcher: Any, signature: Any) -> None:
    """Tell a compiled function where what was linked into it keeps its Python objects."""
    if not LINKED:
        return
    result = dispatcher.overloads[signature]
    for env in result._find_referenced_environments():
        result.codegen.set_env(env.env_name, env)


def only_read_cache() -> None:
    """Have numba load what it has cached, and store nothing, in this process.

    It gives up a folder in which it cannot write, even if all that it needs is there.
    """
    caching: Any = sys.modules[Cache.__module__]
    caching._CacheLocator.ensure_cache_path = lambda self: None
    caching.FunctionCache.save_overload = lambda self, sig, data: None
