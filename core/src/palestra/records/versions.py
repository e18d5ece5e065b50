"""Which versions of which distributions a run depends on, and whether they are those installed."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version

from palestra.code_names import code_version
from palestra.kernel.errors import InvalidOption
from palestra.kernel.registry import registry


def versions_for(*things: object) -> dict[str, str]:
    """Versions of the distributions that define these games, agents or shapers, and of palestra.

    things: objects, functions, or entry points such as "palestra_games.kuhn:KuhnPoker". The keys
    are names of packages as they are imported; what belongs to no distribution is left out.
    """
    packages = ["palestra", *(package for thing in things for package in _packages(thing))]
    found = {name: _version(name) for name in packages}
    return {name: number for name, number in found.items() if number}


def versions_of_names(agents: Iterable[str] = (), rewards: Iterable[str] = ()) -> dict[str, str]:
    """As `versions_for`, for agents and shapers by name; unknown names are left out.

    The version of a file that is named, as in "mine.py:Mine", is a digest of what is in it.
    """
    known = registry()
    agents, rewards = list(agents), list(rewards)
    files = [code_version(name) for name in (*agents, *rewards)]
    named = [known.agents.get(name.partition(":")[0]) for name in agents]
    shapers = [known.rewards.get(name.partition(":")[0]) for name in rewards]
    found = versions_for(*(spec.entry_point for spec in (*named, *shapers) if spec))
    return {name: version for one in (found, *files) for name, version in one.items()}


def differing(was: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What is installed in another version, as "palestra_games 0.2 (installed: 0.3)"."""
    return [
        f"{name} {was[name]} (installed: {now[name]})"
        for name in sorted(was.keys() & now.keys())
        if was[name] != now[name]
    ]


def check_versions(
    where: object, was: Mapping[str, str], now: Mapping[str, str], *, accept: bool = False
) -> None:
    """Raise `InvalidOption` if a run was begun with other versions than those installed.

    where: the folder or file of the run. accept: the caller wants to resume it all the same.
    """
    changed = differing(was, now)
    if changed and not accept:
        raise InvalidOption(
            f"{where} holds a run of {', '.join(changed)}: other versions may have other rules or "
            "play otherwise. Install those versions, choose another place, or resume all the same "
            "with other_versions=True (--other-versions)"
        )


def warn_of_versions(what: object, was: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Warn if a trained policy is played with other versions than it was trained with."""
    changed = differing(was, now)
    if changed:
        warnings.warn(
            f"{what} was trained with {', '.join(changed)}: the rules may have changed since",
            stacklevel=3,
        )


def _packages(thing: object) -> list[str]:
    """The packages of what defines a thing: of its module, and of all classes it derives from."""
    if isinstance(thing, str):
        modules = [thing.partition(":")[0]]
    elif hasattr(thing, "__name__"):  # a function
        modules = [getattr(thing, "__module__", None) or ""]
    else:
        modules = [base.__module__ for base in type(thing).__mro__]
    return [module.partition(".")[0] for module in modules]


@lru_cache
def _version(package: str) -> str:
    """The version of the distribution with this package; "" if there is none."""
    if not package or package == "__main__" or package in sys.stdlib_module_names:
        return ""
    try:
        return version(package.replace("_", "-"))
    except PackageNotFoundError:  # the distribution has another name
        names = packages_distributions().get(package, ())
    return version(names[0]) if names else ""
