"""The caller's own code by name: `mine.py:Mine,depth=2` or `package.module:name`.

Naming code runs it. So names that come from outside, in a record or from a client of a server, are
looked up among what is installed and never here.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from inspect import isasyncgenfunction, iscoroutinefunction, signature
from pathlib import Path
from typing import Any, NamedTuple

from palestra.agents.naming import split_options
from palestra.kernel.errors import InvalidOption, PalestraError, cause
from palestra.kernel.naming import construct, fit_arguments

_NAME = r":(?P<name>[A-Za-z_][\w.]*)(?:[:,](?P<options>.*))?"
_FILE = re.compile(rf"(?P<place>(?:[A-Za-z]:)?[^:]+\.py)(?:{_NAME}|:.*)?", re.DOTALL)
_MODULE = re.compile(rf"(?P<place>[A-Za-z_]\w*(?:\.\w+)*){_NAME}", re.DOTALL)


class CodeName(NamedTuple):
    """A name in a Python file (its path) or a module, with options."""

    place: str
    name: str
    options: Mapping[str, Any]

    @property
    def is_file(self) -> bool:
        return self.place.endswith(".py")


def code_name(text: object, installed: Container[str]) -> CodeName | None:
    """What code a text names; None if its first word is installed, or names no file or module."""
    if not isinstance(text, str) or text.partition(":")[0] in installed:
        return None
    found = _FILE.fullmatch(text) or _MODULE.fullmatch(text)
    if found is None or not (found["place"].endswith(".py") or _is_module(found["place"])):
        return None
    options, rest = split_options(found["options"] or "")
    if rest:
        raise InvalidOption(f"{rest!r} in {text!r} is no option; write name=value, as in depth=3")
    return CodeName(found["place"], found["name"] or "", options)


def file_of(text: object) -> str:
    """The file that a name of code names, as in `"mine.py:Mine,depth=2"`; else empty."""
    found = _FILE.fullmatch(text) if isinstance(text, str) else None
    return found["place"] if found else ""


def code_version(text: str) -> dict[str, str]:
    """The file that a text names with a digest of what is in it; empty without one."""
    path = Path(file_of(text) or ".")
    return {file_of(text): _digest(path.read_bytes())} if path.is_file() else {}


def load_code(code: CodeName, what: str, *, leading: int = 1, **more: Any) -> Any:
    """The object that is named: of a class or factory what it makes, of a function itself.

    A function that needs arguments has its options given.

    what: "agent" or the like, for messages. leading: how many arguments of a function are no
    options. more: further options of a class. Raises `InvalidOption` if the file or name is
    missing, or the file fails when it is imported.
    """
    module = _module_of_file(code.place) if code.is_file else _imported(code.place)
    found = module
    for part in code.name.split(".") if code.name else ():
        found = getattr(found, part, None)
    if found is None or not code.name:
        own = [n for n, v in vars(module).items() if _is_own(module, n, v)]
        raise InvalidOption(
            f"{code.place} has no {code.name!r}; it has {', '.join(own) or 'nothing'}; "
            f"name one, as in {code.place}:{own[0] if own else 'NAME'}"
            if code.name
            else f"say what in {code.place}: {code.place}:{own[0] if own else 'NAME'}; it has "
            f"{', '.join(own) or 'nothing'}"
        )
    named = f"{what} {code.place}:{code.name}"
    options = more | dict(code.options)
    if isinstance(found, type) or is_factory(found, options):
        return made_by(found, named, options)
    if code.options and not hasattr(found, "__code__"):
        raise InvalidOption(f"{named} is an object; only a class or a function takes options")
    if code.options:
        return partial(found, **fit_arguments(found, named, code.options, leading=leading))
    return found


def is_factory(thing: Any, options: Container[str] = ()) -> bool:
    """Whether a plain function needs no arguments but `options`, so that a call makes something."""
    if not callable(thing) or iscoroutinefunction(thing) or isasyncgenfunction(thing):
        return False
    own = getattr(thing, "func", thing)  # of a functools.partial
    if not (isinstance(own, type) or hasattr(own, "__code__")):
        return False
    given = signature(thing).parameters.values()
    open_ended = any(one.kind is one.VAR_POSITIONAL for one in given)  # a decorator's, of a turn
    return not open_ended and all(
        one.name in options or one.default is not one.empty or one.kind is one.VAR_KEYWORD
        for one in given
    )


def made_by(make: Any, what: str, options: Mapping[str, Any]) -> Any:
    """What a caller's own class or factory makes with checked options.

    Raises `InvalidOption` for wrong options, and where the code itself fails, with its cause.
    """
    try:
        return construct(make, what, options)
    except PalestraError:
        raise
    except Exception as error:
        raise InvalidOption(f"{what} cannot be made: {cause(error)}") from error


def _is_own(module: Any, name: str, value: Any) -> bool:
    is_ours = getattr(value, "__module__", module.__name__) == module.__name__
    return is_ours and not name.startswith("_") and callable(value)


def _module_of_file(file: str) -> Any:
    path = Path(file).expanduser().absolute()
    if not path.is_file():
        beside = (
            sorted(one.name for one in path.parent.glob("*.py")) if path.parent.is_dir() else []
        )
        there = f"; its folder has {', '.join(beside[:8])}" if beside else ""
        raise InvalidOption(f"there is no file {file}{there}")
    name = f"palestra_file_{path.stem}_{_digest(str(path).encode() + path.read_bytes())}"
    if name in sys.modules:
        return sys.modules[name]
    if _Beside(path.parent) not in sys.meta_path:  # last, so that it hides nothing installed
        sys.meta_path.append(_Beside(path.parent))
    spec = spec_from_file_location(name, path)
    module = sys.modules[name] = module_from_spec(spec)  # type: ignore[arg-type]
    try:
        spec.loader.exec_module(module)  # type: ignore[union-attr]
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        del sys.modules[name]
        raise InvalidOption(f"{file} cannot be imported: {cause(error)}") from error
    return module


@dataclass(frozen=True)
class _Beside(MetaPathFinder):
    """Finds the modules beside a file without listing its folder, which isolated agents may not."""

    folder: Path

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if "." in name:  # a package finds its own modules
            return None
        package = self.folder / name
        for file in (package / "__init__.py", self.folder / f"{name}.py"):
            if file.is_file():
                return spec_from_file_location(name, file)
        return None


def _is_module(name: str) -> bool:
    top = name.partition(".")[0]
    if find_spec(top) is None and any(Path(one).exists() for one in (f"{top}.py", top)):
        sys.path.append(str(Path.cwd()))
    return find_spec(top) is not None


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InvalidOption(f"module {name} cannot be imported: {cause(error)}") from error


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=8).hexdigest()
