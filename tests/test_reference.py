"""The reference has a text and an example for every public name, its parameters and its errors."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import palestra
import pytest
from page_output import FENCE, check_page

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "reference").glob("*.md"))
HEADING = re.compile(r"^## `(\w+)`$", re.MULTILINE)
# of other libraries, or no object of its own: their pages say what they are
WITHOUT_DOCSTRING = {"FilePath", "Meta", "Result", "__version__", "hookimpl"}
NAMES = sorted(set(palestra.__all__) - WITHOUT_DOCSTRING)
FEWEST_WORDS = 3
BUILT_IN = {kind.__init__ for kind in (Exception, LookupError, ValueError, TypeError, ImportError)}
CALLS = (staticmethod, classmethod, property, cached_property)


@dataclass(frozen=True, slots=True)
class Entry:
    """What the reference shows of one name: its text, and the parameters to describe there.

    around: the texts of the class, which describe the arguments that its methods share.
    errors: what its own lines raise.
    """

    name: str
    text: str
    parameters: tuple[str, ...]
    around: str = ""
    errors: tuple[str, ...] = ()

    def problems(self) -> Iterator[str]:
        if len(self.text.split()) < FEWEST_WORDS:
            yield f"{self.name} has no text"
        for parameter in self.parameters:
            if not mentions(f"{self.text}\n{self.around}", parameter):
                yield f"{self.name} does not say what {parameter} is"
        for error in self.errors:
            if not mentions(f"{self.text}\n{self.around}", error):
                yield f"{self.name} does not say when it raises {error}"


def mentions(text: str, name: str) -> bool:
    """Whether a text has a name as a word of its own."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def own(kind: type) -> list[type]:
    """A class and its bases that are written here, the base classes last."""
    return [base for base in kind.__mro__ if base.__module__.startswith("palestra")]


def class_text(kind: type) -> str:
    """The docstrings of a class and its bases, without those that dataclasses generate."""
    texts = (vars(base).get("__doc__") or "" for base in own(kind))
    return "\n".join(text for text in texts if not re.match(r"\w+\(.*\)", text))


def function_of(value: Any) -> Any:
    """The function behind a method, a property or a static method."""
    if isinstance(value, property):
        return value.fget
    if isinstance(value, cached_property):
        return value.func
    return value.__func__ if isinstance(value, staticmethod | classmethod) else value


def parameters_of(function: Any) -> tuple[str, ...]:
    if inspect.isclass(function) and function.__init__ in BUILT_IN:
        return ()  # a message, as every exception takes it
    names = inspect.signature(function).parameters
    return tuple(n for n in names if n not in ("self", "cls") and not n.startswith("_"))


def errors_of(function: Any) -> tuple[str, ...]:
    """The names of the exceptions that a function's own lines raise."""
    if not inspect.isfunction(function) or not function.__module__.startswith("palestra"):
        return ()  # a class, or of another library, such as the __init__ of a protocol
    if function.__code__.co_filename == "<string>":
        return ()  # made by `dataclass`
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    raised = [n.exc for n in ast.walk(tree) if isinstance(n, ast.Raise) and n.exc is not None]
    names = {ast.unparse(e.func if isinstance(e, ast.Call) else e) for e in raised}
    return tuple(sorted(name for name in names if name[0].isupper()))


def entries(name: str, value: Any) -> Iterator[Entry]:
    """The entry of a public name, and one for every public method and attribute of a class."""
    if not inspect.isclass(value):
        yield Entry(name, value.__doc__ or "", parameters_of(value), errors=errors_of(value))
        return
    around = class_text(value)
    making = [vars(b)[n] for b in own(value) for n in ("__init__", "__post_init__") if n in vars(b)]
    errors = tuple(error for function in making for error in errors_of(function))
    yield Entry(name, around, parameters_of(value), errors=errors)
    members = {n: v for base in reversed(own(value)) for n, v in vars(base).items() if n[0] != "_"}
    declared = {n for base in own(value) for n in vars(base).get("__annotations__", ())}
    for member in sorted(members.keys() | {n for n in declared if n[0] != "_"}):
        yield member_entry(value, member, members.get(member), around)


def member_entry(kind: type, member: str, value: Any, around: str) -> Entry:
    name = f"{kind.__name__}.{member}"
    if not (isinstance(value, CALLS) or inspect.isfunction(value)):
        return Entry(name, around, (member,))  # an attribute: the text of the class describes it
    texts = [function_of(vars(b)[member]).__doc__ or "" for b in own(kind) if member in vars(b)]
    given = (
        () if isinstance(value, property | cached_property) else parameters_of(function_of(value))
    )
    return Entry(name, "\n".join(texts), given, around, errors_of(function_of(value)))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_method_parameter_and_error_has_a_text(name: str) -> None:
    problems = [p for e in entries(name, getattr(palestra, name)) for p in e.problems()]
    assert not problems, "\n".join(problems)


def sections(text: str) -> dict[str, str]:
    """The parts of a page of the reference, by the name that each is about."""
    _, *parts = HEADING.split(text)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def missing(name: str, section: str) -> Iterator[str]:
    """What a section of the reference does not have."""
    directive = rf"^\.\. auto\w+:: palestra\.{name}$"
    if name not in WITHOUT_DOCSTRING and not re.search(directive, section, re.MULTILINE):
        yield f"{name}: the entry made from its docstring"
    found = [m for m in FENCE.finditer(section) if m["language"] == "python"]
    if not any(mentions(m["code"], f"palestra.{name}") and m["shown"] for m in found):
        yield f"{name}: an example that uses palestra.{name}, with its output"


def test_every_name_has_one_section_with_an_example() -> None:
    found = [sections(page.read_text("utf-8")) for page in PAGES]
    assert sorted(name for page in found for name in page) == sorted(palestra.__all__)
    lost = [part for page in found for item in page.items() for part in missing(*item)]
    assert not lost, "\n".join(lost)


def test_a_section_without_an_example_is_found() -> None:
    entry = "```{eval-rst}\n.. autofunction:: palestra.play\n```\n\n"
    code = "```python\nprint(palestra.play)\n```\n\n"
    assert list(missing("play", entry + code + "```text\n1\n```\n")) == []
    assert len(list(missing("play", entry + code))) == 1
    assert len(list(missing("play", code.replace("play", "make") + "```text\n1\n```\n"))) == 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_print_what_they_show(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALESTRA_DEBUG", "1")  # interpreted: a few moves need no compilation
    check_page(page, tmp_path)


class Undescribed:
    """A class with a text, as an example of what is found."""

    __module__ = "palestra.undescribed"

    size = 3

    def move(self, step: int) -> None: ...

    def turn(self, angle: float) -> None:
        """Turn it by so much, at once."""

    @property
    def place(self) -> int:
        return 0


def test_what_has_no_text_is_found() -> None:
    found = [p for e in entries("Undescribed", Undescribed) for p in e.problems()]
    assert found == [
        "Undescribed.move has no text",
        "Undescribed.move does not say what step is",
        "Undescribed.place has no text",
        "Undescribed.size does not say what size is",
        "Undescribed.turn does not say what angle is",
    ]


# The other public modules, each on a page that autodoc writes


def site_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_script", ROOT / "scripts" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = script  # dataclasses look their module up
    spec.loader.exec_module(script)
    return script


def bare_members(kind: type) -> Iterator[str]:
    """The public methods and properties of a class that have no text, of its own or a base's."""
    for name, value in vars(kind).items():
        given = (getattr(vars(base).get(name), "__doc__", None) for base in kind.__mro__)
        if inspect.isfunction(function_of(value)) and not name.startswith("_") and not any(given):
            yield f"{kind.__name__}.{name}"


@pytest.mark.essential(whole=True)
@pytest.mark.slow
def test_every_name_of_the_other_public_modules_has_a_text() -> None:
    script, bare, seen = site_script(), [], 0
    for module in map(importlib.import_module, script.public_modules()):
        for name in script.public_names(module):
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isroutine(value):
                seen += 1
                bare += [] if inspect.getdoc(value) else [f"{module.__name__}.{name}"]
            if inspect.isclass(value):
                bare += bare_members(value)
    assert seen > 250
    assert not bare
    others = [module for module in script.public_modules() if module != "palestra"]
    index = script.reference_index(others)  # each stands under what a reader wants to do
    assert all(f"   {module}\n" in index for module in others)
