"""A distribution's catalogue: its declarations in one file, read without importing its code."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import msgspec

from palestra.kernel.errors import PluginError
from palestra.kernel.specs import AgentSpec, EnvSpec, MetricSpec, RendererSpec, RewardSpec

FILE = "catalogue.json"
FORMAT = "palestra.catalogue/1"


class Catalogue(msgspec.Struct, kw_only=True):
    """What a package declares; `extra` holds what its own hooks need beyond the specs."""

    format: str = FORMAT
    environments: list[EnvSpec] = []
    agents: list[AgentSpec] = []
    rewards: list[RewardSpec] = []
    renderers: list[RendererSpec] = []
    metrics: list[MetricSpec] = []
    extra: dict[str, Any] = {}


def read_catalogue(package: str) -> Catalogue:
    """Read the catalogue in a package's folder; none of the package's code is imported.

    package: the name under which the package is imported.

    Returns lists of specs: `environments`, `agents`, `rewards`, `renderers`, `metrics`. Raises
    `PluginError` if the file is missing or cannot be read.
    """
    return catalogue_in(folder_of(package))


def catalogue_in(folder: Path) -> Catalogue:
    """Read the catalogue in the folder of a package, as `read_catalogue` does."""
    path, package = folder / FILE, folder.name
    try:
        catalogue = msgspec.json.decode(path.read_bytes(), type=Catalogue)
    except FileNotFoundError:
        raise PluginError(
            f"{path} is missing; write it with: palestra catalogue {package}"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PluginError(
            f"{path} cannot be read: {error}; write it again with: palestra catalogue {package}"
        ) from error
    if catalogue.format != FORMAT:
        raise PluginError(f"{path} has format {catalogue.format!r}; this version reads {FORMAT!r}")
    return catalogue


def folder_of(package: str) -> Path:
    """The folder of an installed package, found without importing it."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise PluginError(f"{package!r} is no installed package")
    return Path(next(iter(found.submodule_search_locations)))
