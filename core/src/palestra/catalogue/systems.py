"""Published systems: what each is here, an environment, agent, reward or command, and what is not.

What a declaration names as its `paper` is found by itself, with what its docstrings say after "Left
out:". A package lists the rest, commands and systems that are not here, in `systems.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points
from typing import Any, Final

import msgspec

from palestra.catalogue.about import about
from palestra.catalogue.read import folder_of
from palestra.files import UNREADABLE, read_toml
from palestra.kernel import hooks
from palestra.kernel.errors import PluginError
from palestra.kernel.registry import registry

FILE: Final = "systems.toml"
KINDS: Final = ("environments", "agents", "rewards")
DATED = re.compile(r"^.{0,120}?\(\d{4}[a-z]?\)[,:.]?\s+|,?\s*\(?\b\d{4}\)?$")  # who, when: a title


class System(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A published system.

    paper: its title, with authors where a declaration names them.
    here: what it is here: "environment games/Chess-v0", "agent mcts", "palestra tournament …".
    left_out: what of it is not here. absent: why nothing of it is here; `here` then is empty.
    nearest: what comes nearest to a system that is absent.
    known_as: a name that people use and that is not in the title.
    """

    paper: str
    here: tuple[str, ...] = ()
    left_out: str = ""
    absent: str = ""
    nearest: tuple[str, ...] = ()
    known_as: str = ""

    def explained(self) -> System:
        """The system with what its modules say that they leave out; imports them."""
        said = dict.fromkeys([self.left_out, *map(left_out, declared_code(self.here))])
        return msgspec.structs.replace(self, left_out=" ".join(filter(None, said)))


def declared_code(here: Iterable[str]) -> Iterator[str]:
    """The entry points of the environments, agents and rewards among what a system is here."""
    for named in here:
        kind, _, name = named.partition(" ")
        if f"{kind}s" in KINDS:
            yield getattr(registry(), f"{kind}s")[name].entry_point


def left_out(entry_point: str) -> str:
    """What the docstrings of an "module:name" say that is left out; empty if nothing."""
    return " ".join(about(entry_point).left_out.removeprefix("Left out:").split())


def title_key(paper: str) -> str:
    """The title alone in small letters: the same for a paper with and without authors and year."""
    title = DATED.sub("", paper.strip())
    return re.sub(r"[^a-z0-9]+", " ", (title or paper).casefold()).strip()


def declared() -> Iterator[System]:
    """A system for every paper that an installed environment, agent or reward names."""
    for kind in KINDS:
        for name, spec in sorted(getattr(registry(), kind).items()):
            for paper in filter(None, map(str.strip, spec.paper.split(";"))):
                yield System(paper, (f"{kind[:-1]} {name}",))


def listed() -> Iterator[System]:
    """The systems in the `systems.toml` of the installed packages."""
    for package in sorted({p.value.partition(".")[0] for p in entry_points(group=hooks.GROUP)}):
        path = folder_of(package) / FILE
        if not path.exists():
            continue
        try:
            yield from map(_system, read_toml(path).get("system", []))
        except (OSError, *UNREADABLE) as error:
            raise PluginError(f"{path} cannot be read: {error}") from error


def _system(row: dict[str, Any]) -> System:
    try:
        system = msgspec.convert(row, System)
    except msgspec.ValidationError as error:
        raise ValueError(f"{error}, in {row}") from error
    said = system.here or system.absent or system.known_as
    if not system.paper or not said or (system.here and system.absent):
        raise ValueError(f"a system has a paper, and here, absent or known_as: {row}")
    return system


def systems(search: str = "") -> list[System]:
    """Every system that has all words of `search`, in order of its title.

    search: words of a title, an author, an id or a command, in small or capital letters.
    """
    found: dict[str, System] = {}
    for one in (*declared(), *listed()):
        key = title_key(one.paper)
        found[key] = _joined(found[key], one) if key in found else one
    words = search.casefold().split()
    return [found[key] for key in sorted(found) if _has(found[key], words)]


def _joined(one: System, other: System) -> System:
    """Two parts of one system, under the longer name of its paper."""
    return System(
        max(one.paper, other.paper, key=len),
        tuple(dict.fromkeys((*one.here, *other.here))),
        " ".join(filter(None, (one.left_out, other.left_out))),
        one.absent or other.absent,
        (*one.nearest, *other.nearest),
        one.known_as or other.known_as,
    )


def _has(system: System, words: Iterable[str]) -> bool:
    text = " ".join((system.paper, system.known_as, *system.here, *system.nearest)).casefold()
    return all(word in text for word in words)
