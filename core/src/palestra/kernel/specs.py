"""What plugins declare: plain data, with string entry points that are imported on first use."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from palestra.kernel.errors import InvalidOption, PluginError, show

MoveOrder = Literal["sequential", "simultaneous", "phased"]
Payoffs = Literal["zero-sum", "common", "general"]
ObservationKind = Literal["array", "text"]

_ID = re.compile(r"^(?P<namespace>[A-Za-z0-9_-]+)/(?P<name>[A-Za-z0-9_-]+)-v(?P<version>\d+)$")


def load_entry_point(entry_point: str) -> Any:
    """Import and return the object that `"package.module:attribute"` names."""
    module, _, attribute = entry_point.partition(":")
    if not re.fullmatch(r"\w[\w.]*", module) or not attribute.isidentifier():
        raise InvalidOption(
            f"entry point {show(entry_point)} is not of the form 'module:attribute'"
        )
    try:
        return getattr(importlib.import_module(module), attribute)
    except (AttributeError, ModuleNotFoundError) as error:
        if isinstance(error, ImportError) and not f"{module}.".startswith(f"{error.name}."):
            raise  # it is something that the module imports
        raise PluginError(f"entry point {entry_point!r}: {error}") from error


def _check_seats(id: object, players: Any) -> None:
    """Raise `InvalidOption` unless `players` is the fewest and the most seats."""
    if not isinstance(id, str):
        raise InvalidOption(f"an environment's id is text, as 'namespace/Name-v0', not {id!r}")
    pair = isinstance(players, tuple | list) and len(players) == 2
    if not (pair and all(type(n) is int for n in players) and 1 <= players[0] <= players[1]):
        raise InvalidOption(
            f"players of {id} must be the fewest and the most seats, as in (2, 5), not {players!r}"
        )


def _check_words(spec: Any) -> None:
    """Raise `InvalidOption` for a value that a field does not accept, listing those it accepts."""
    for name, words in _words(spec.__class__).items():
        given = getattr(spec, name)
        for word in given if isinstance(given, tuple | list) else (given,):
            if word not in words:
                accepted = " or ".join(map(repr, words))
                owner = getattr(spec, "id", None) or getattr(spec, "name", "")
                raise InvalidOption(f"{name} of {owner!r} must be {accepted}, not {word!r}")


@lru_cache(maxsize=16)
def _words(kind: type) -> dict[str, tuple[str, ...]]:
    """The accepted values of each field of a spec that has a fixed set of them."""
    hints = get_type_hints(kind).items()
    found = {name: get_args(hint)[0] if get_origin(hint) is tuple else hint for name, hint in hints}
    return {name: get_args(hint) for name, hint in found.items() if get_origin(hint) is Literal}


def _tuples(value: Any) -> Any:
    """A value with lists turned into tuples, as options have them and JSON does not."""
    if isinstance(value, Mapping):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def names_environment(patterns: Iterable[str], env: str) -> bool:
    """Whether ids, namespaces (`"text/*"`) or `"*"` name an environment id."""
    return any(p in ("*", env, f"{env.split('/', 1)[0]}/*") for p in patterns)


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One option of an environment or an agent, in words.

    `accepts` says which values are allowed ("an integer from 1 to 127"), `default` is written as
    in Python (empty if the option must be given), `description` says what it means.
    """

    name: str
    accepts: str
    default: str = ""
    description: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True)
class EnvSpec:
    """One registered environment and the facts that can be known without importing it.

    id: "namespace/Name-v0". entry_point: "module:class". players: smallest and largest number of
        seats. moves, payoffs: as `order` and `payoffs` of the game. observations: "array", "text".
        family: environments that share renderers ("board", "card", "grid", "text", …). tags: words
        to filter by. paper: where the rules come from. kwargs: options that this id sets. splits:
        sets of options to train on, to test on ("held-out-…") or to compare with a paper by:
        `palestra.make(id, split=name)` plays one. summary: one sentence for lists. options: each as
        an `OptionSpec`. array_game: thousands of episodes can run in one compiled loop.
        reward_terms, perfect_information, deterministic, runs_programs: as in `Game`. Facts that
        are None are known after importing it only. Other values: `InvalidOption`.
    """

    id: str
    entry_point: str
    players: tuple[int, int]
    moves: MoveOrder
    payoffs: Payoffs
    observations: tuple[ObservationKind, ...] = ("array", "text")
    family: str = "text"
    tags: tuple[str, ...] = ()
    paper: str = ""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    splits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    summary: str = ""
    options: tuple[OptionSpec, ...] = ()
    reward_terms: tuple[str, ...] = ()
    perfect_information: bool | None = None
    deterministic: bool | None = None
    runs_programs: bool | None = None
    array_game: bool | None = None

    def __post_init__(self) -> None:
        _check_seats(self.id, self.players)
        _check_words(self)
        object.__setattr__(self, "kwargs", _tuples(self.kwargs))
        object.__setattr__(self, "splits", _tuples(self.splits))
        if not _ID.match(self.id):
            raise InvalidOption(
                f"environment id {self.id!r} is not of the form 'namespace/Name-v0'"
            )

    @property
    def namespace(self) -> str:
        """What comes before the slash in the id."""
        return self.id.split("/", 1)[0]


AgentKind = Literal["scripted", "search", "solver", "learned", "llm", "human"]


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """One agent that can be named in a string such as `mcts:simulations=200`.

    name, entry_point, summary, options, paper: as in `EnvSpec`. kind: "scripted", "search",
        "solver", "learned", "llm" or "human". plays: the ids, namespaces (`"text/*"`) or `"*"` it
        can play. needs: what it asks of a game beyond that, in the words of
        `palestra.agents.fitting.NEEDS`.
    """

    name: str
    entry_point: str
    kind: AgentKind
    summary: str
    plays: tuple[str, ...] = ("*",)
    needs: tuple[str, ...] = ()
    options: tuple[OptionSpec, ...] = ()
    paper: str = ""

    def __post_init__(self) -> None:
        _check_words(self)

    def can_play(self, env: str) -> bool:
        """Whether `plays` names the environment id `env`."""
        return names_environment(self.plays, env)


RewardShape = Literal["step", "episode", "group"]


@dataclass(frozen=True, slots=True)
class RewardSpec:
    """A reward, which applies only where it is named.

    shape: "step" or "episode" shaper, or "group" estimator. needs: what it reads besides rewards.
        name, entry_point, summary, paper, options: as in `AgentSpec`.
    """

    name: str
    entry_point: str
    shape: RewardShape
    summary: str
    needs: tuple[str, ...] = ()
    paper: str = ""
    options: tuple[OptionSpec, ...] = ()

    def __post_init__(self) -> None:
        _check_words(self)


@dataclass(frozen=True, slots=True)
class RendererSpec:
    """Draws the scenes of one environment `family` (`"*"` for any) in one `mode`.

    entry_point: the function that draws, as "module:function".
    """

    family: str
    mode: str
    entry_point: str


@dataclass(frozen=True, slots=True)
class ThemeSpec:
    """Colours and pictures for all scenes: the `name` of a theme, its `file`, and a `summary`.

    The file is JSON in a package, as in "package:night.json".
    """

    name: str
    file: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """A number of one `EpisodeRecord`.

    name, entry_point, summary: as in `AgentSpec`. unit: of the number. measures: ids, namespaces
        (`"text/*"`) or `"*"` it applies to; needs: and what of them, as in
        `palestra.records.metrics.NEEDS`. bounds: lowest and highest value, None for no bound.
        better: "higher", "lower", or empty where neither is.
    """

    name: str
    entry_point: str
    summary: str
    unit: str = ""
    measures: tuple[str, ...] = ("*",)
    needs: tuple[str, ...] = ()
    bounds: tuple[float | None, float | None] = (None, None)
    better: str = ""

    def applies_to(self, env: str) -> bool:
        """Whether `measures` names the environment id `env`."""
        return names_environment(self.measures, env)
