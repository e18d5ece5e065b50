"""Making a distribution's catalogue from what its modules declare."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec

from palestra.agents.fitting import NEEDS
from palestra.catalogue.declare import Declaration, declarations, declared_ids
from palestra.catalogue.describe import (
    describe_options,
    described_parameters,
    option_range,
    reward_options,
)
from palestra.catalogue.read import FILE, Catalogue, folder_of, read_catalogue
from palestra.engine.explaining import short_path
from palestra.files import write_text
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.errors import MissingExtra, PalestraError, PluginError, UnknownName, show
from palestra.kernel.specs import (
    AgentSpec,
    EnvSpec,
    MetricSpec,
    MoveOrder,
    Payoffs,
    RendererSpec,
    RewardSpec,
)


def build_catalogue(package: str) -> Catalogue:
    """Import every module of a package and collect what they declare."""
    _import_all(package)
    catalogue = Catalogue()
    for declaration in declarations(package):
        _ADD[declaration.hook](catalogue, declaration)
        if more := declaration.facts.get("more"):
            catalogue.extra.setdefault(declaration.hook, {})[declaration.name] = more
    return catalogue


def catalogue_text(catalogue: Catalogue) -> str:
    """A catalogue as the text of its file."""
    encoded = msgspec.json.encode(msgspec.to_builtins(catalogue))
    return msgspec.json.format(encoded, indent=1).decode() + "\n"


def write_catalogue(package: str) -> tuple[Path, bool]:
    """Write a package's catalogue; returns its path, and whether the file changed."""
    path, text = folder_of(package) / FILE, catalogue_text(build_catalogue(package))
    if path.exists() and path.read_text("utf-8") == text:
        return path, False
    write_text(path, text)
    return path, True


def stale(package: str) -> str:
    """Why a package's catalogue does not match what its code declares; empty if it does."""
    path, text = folder_of(package) / FILE, catalogue_text(build_catalogue(package))
    if not path.exists():
        return f"{path} is missing; write it with: palestra catalogue {package}"
    kept = path.read_text("utf-8")
    if kept == text:
        return ""
    pairs = zip(kept.splitlines(), text.splitlines(), strict=False)
    line = next((n for n, (old, new) in enumerate(pairs, 1) if old != new), "the last")
    return f"{path} is out of date from line {line}; write it with: palestra catalogue {package}"


def stale_environment(package: str, id: str) -> str:
    """Why a catalogue's entry for one environment is out of date; empty if it is not.

    Only modules that are already imported are checked, so that it takes no time.
    """
    kept = next((spec for spec in read_catalogue(package).environments if spec.id == id), None)
    now = Catalogue()
    for said in declarations(package):
        if said.hook == "palestra_environments" and said.name == id:
            _add_environment(now, said)
    encoded = msgspec.json.encode(msgspec.to_builtins(now))
    same = kept == msgspec.json.decode(encoded, type=Catalogue).environments[0]
    return "" if same else f"{id}: out of date; write it with: palestra catalogue {package}"


def _import_all(package: str) -> None:
    root = importlib.import_module(package)
    for module in pkgutil.walk_packages(root.__path__, f"{package}."):
        if module.name.endswith("__main__"):
            continue
        # without its extra a module cannot be imported; write catalogues with all extras installed
        with contextlib.suppress(MissingExtra):
            try:
                importlib.import_module(module.name)
            except PalestraError:
                raise
            except Exception as error:
                raise PluginError(_why_not_imported(module.name, error)) from error


def _why_not_imported(module: str, error: Exception) -> str:
    """The line of the package at which an import fails, and the error."""
    said = f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError):
        return f"{module} cannot be imported: {said}"
    own = str(folder_of(module.partition(".")[0]))
    steps = [step for step in traceback.extract_tb(error.__traceback__) if own in step.filename]
    where = f"{short_path(steps[-1].filename)}:{steps[-1].lineno}: " if steps else ""
    line = f"{steps[-1].line} — " if steps else ""
    return f"{module} cannot be imported: {where}{line}{said}"


# From declarations to specs


def _add_environment(catalogue: Catalogue, said: Declaration) -> None:
    kind, facts = said.subject, said.facts
    game = kind(**facts["kwargs"])
    catalogue.environments.append(
        EnvSpec(
            id=said.name,
            entry_point=said.entry_point,
            players=facts["players"] or _players(kind, said.name),
            moves=facts["moves"] or _fact(said, "order", get_args(MoveOrder)),
            payoffs=facts["payoffs"] or _fact(said, "payoffs", get_args(Payoffs)),
            observations=("array", "text") if game.has_numbers else ("text",),
            family=facts["family"],
            tags=facts["tags"],
            paper=facts["paper"],
            kwargs=facts["kwargs"],
            splits=facts["splits"],
            summary=said.summary,
            options=describe_options(kind),
            reward_terms=tuple(game.reward_terms),
            perfect_information=bool(game.perfect_information),
            deterministic=bool(game.deterministic),
            runs_programs=bool(game.runs_programs),
            array_game=isinstance(game, ArrayGame),
        )
    )


def _fact(said: Declaration, name: str, choices: tuple[str, ...]) -> Any:
    """A fact that a class declares; raises `PluginError` if it does not."""
    value = getattr(said.subject, name, None)
    if value in choices:
        return value
    came = "declares no" if value is None else f"declares {show(value)} as its"
    words = ", ".join(map(repr, choices))
    raise PluginError(f"{said.name}: the class {came} {name}; write {name} = … with one of {words}")


def _players(kind: Any, id: str) -> tuple[int, int]:
    """The fewest and most seats, from the option `num_players` or from a class's number."""
    declared = option_range(kind, "num_players")
    if declared:
        return declared
    number = getattr(kind, "num_players", None)
    if isinstance(number, int) and "num_players" not in getattr(kind, "__dataclass_fields__", {}):
        return number, number
    raise PluginError(
        f"{id}: declare how many can play: num_players: Annotated[int, Meta(ge=2, le=5, "
        "description=…)], or players=(2, 5) in @environment"
    )


def _add_agent(catalogue: Catalogue, said: Declaration) -> None:
    plays = said.facts["plays"]
    for need in said.facts["needs"]:
        if need not in NEEDS:
            raise UnknownName(f"need of agent {said.name!r}", need, NEEDS)
    if plays is None:
        games = getattr(said.subject, "plays", ())
        plays = tuple(id for game in games for id in declared_ids(game)) if games else ("*",)
    catalogue.agents.append(
        AgentSpec(
            name=said.name,
            entry_point=said.entry_point,
            kind=said.facts["kind"],
            summary=said.summary,
            plays=tuple(plays),
            needs=said.facts["needs"],
            options=described_parameters(said.subject),
            paper=said.facts["paper"],
        )
    )


def _add_reward(catalogue: Catalogue, said: Declaration) -> None:
    facts = said.facts
    catalogue.rewards.append(
        RewardSpec(
            said.name,
            said.entry_point,
            facts["shape"],
            said.summary,
            facts["needs"],
            facts["paper"],
            reward_options(said.subject),
        )
    )


def _add_metric(catalogue: Catalogue, said: Declaration) -> None:
    facts = said.facts
    catalogue.metrics.append(
        MetricSpec(
            said.name,
            said.entry_point,
            said.summary,
            facts["unit"],
            facts["measures"],
            facts["needs"],
            facts["bounds"],
            facts["better"],
        )
    )


def _add_renderer(catalogue: Catalogue, said: Declaration) -> None:
    facts = said.facts
    catalogue.renderers.append(RendererSpec(facts["family"], facts["mode"], said.entry_point))


_ADD: Mapping[str, Any] = {
    "palestra_environments": _add_environment,
    "palestra_agents": _add_agent,
    "palestra_rewards": _add_reward,
    "palestra_metrics": _add_metric,
    "palestra_renderers": _add_renderer,
}
