"""What is installed, by name: environments, agents, renderers, rewards, metrics, models."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from palestra.kernel.errors import InvalidOption, MissingExtra, PluginError, UnknownName
from palestra.kernel.game import Game
from palestra.kernel.naming import construct
from palestra.kernel.plugins import Plugins
from palestra.kernel.specs import (
    AgentSpec,
    EnvSpec,
    MetricSpec,
    RendererSpec,
    RewardSpec,
    load_entry_point,
)

Spec = TypeVar("Spec", EnvSpec, AgentSpec, RewardSpec, RendererSpec, MetricSpec)


class Registry:
    """The catalogues of all loaded plugins."""

    def __init__(self, plugins: Plugins) -> None:
        self.plugins = plugins
        self.environments = self._collect("palestra_environments", lambda s: s.id)
        self.agents = self._collect("palestra_agents", lambda s: s.name)
        self.rewards = self._collect("palestra_rewards", lambda s: s.name)
        self.renderers = self._collect("palestra_renderers", lambda s: f"{s.family} {s.mode}")
        self.metrics = self._collect("palestra_metrics", lambda s: s.name)

    def _collect(self, hook: str, key: Any) -> dict[str, Any]:
        """Merge one catalogue; a name claimed twice belongs to nobody and names both."""
        found: dict[str, tuple[str, Any]] = {}
        disputed: dict[str, list[str]] = {}
        for name, plugin in self.plugins.plugins.items():
            for spec in plugin.gives.get(hook, ()):
                first = found.setdefault(key(spec), (name, spec))
                if first[1] is not spec:
                    disputed.setdefault(key(spec), [first[0]]).append(name)
        for item, owners in disputed.items():
            del found[item]
            described = " and ".join(
                f"{owner!r} ({self.plugins.plugins[owner].distribution})" for owner in owners
            )
            error = PluginError(
                f"{item!r} is claimed by {described}; block one of them with PALESTRA_BLOCK"
            )
            self.disputes[item] = str(error)
            for owner in owners:
                self.plugins.reject(owner, f"register {item!r}", error)
        return {item: spec for item, (_, spec) in found.items()}

    @property
    def disputes(self) -> dict[str, str]:
        """Names two plugins claim, and what to do about it."""
        return self.__dict__.setdefault("_disputes", {})  # type: ignore[no-any-return]

    def environment(self, name: str) -> EnvSpec:
        """Look an id up; a module prefix (`palestra:`) is allowed."""
        bare = name.rpartition(":")[2]
        spec = self.environments.get(bare)
        if spec is None:
            if bare in self.disputes:
                raise PluginError(self.disputes[bare])
            namespaces = sorted({s.namespace for s in self.environments.values()})
            hint = f"Installed namespaces: {', '.join(namespaces)}."
            if not namespaces:
                hint = 'No environments are installed; pip install "palestra[all]".'
            raise UnknownName("environment", name, self.environments, hint + self._broken())
        return spec  # type: ignore[no-any-return]

    def _broken(self) -> str:
        failures = self.plugins.failures
        return f" Not loaded: {'; '.join(map(str, failures))}" if failures else ""

    def agent(self, name: str) -> AgentSpec:
        spec = self.agents.get(name)
        if spec is None:
            hint = (
                "" if self.agents else 'No agents are installed; pip install "palestra[standard]".'
            )
            raise UnknownName("agent", name, self.agents, hint + self._broken())
        return spec  # type: ignore[no-any-return]


@lru_cache(maxsize=1)
def registry() -> Registry:
    """Load every plugin, once a process."""
    plugins = Plugins.from_environment()
    plugins.load()
    return Registry(plugins)


def specs(
    *,
    family: str | None = None,
    namespace: str | None = None,
    players: int | None = None,
    moves: str | None = None,
    payoffs: str | None = None,
    tags: Iterable[str] = (),
) -> list[EnvSpec]:
    """Every installed environment whose declared facts match, in order of id."""
    wanted = set(tags)
    return [
        spec
        for _, spec in sorted(registry().environments.items())
        if (family is None or spec.family == family)
        and (namespace is None or spec.namespace == namespace)
        and (players is None or spec.players[0] <= players <= spec.players[1])
        and (moves is None or spec.moves == moves)
        and (payoffs is None or spec.payoffs == payoffs)
        and wanted <= set(spec.tags)
    ]


def load_game(spec: EnvSpec, options: Mapping[str, Any], agents: int = 1) -> Game[Any, Any]:
    """Construct the game a spec names, with its options checked.

    The option `split` stands for the options of that split of the spec; any given beside it count
    for more. Where the number of players may vary and is not given, it is that of `agents` (1: the
    default).
    """
    fewest, most = spec.players
    kind = load_entry_point(spec.entry_point)
    chosen = {**spec.kwargs, **options}
    if "split" in chosen:
        split = chosen.pop("split")
        if split not in spec.splits:
            hint = "" if spec.splits else "It has none: name the options themselves."
            raise UnknownName(f"split of {spec.id}", str(split), spec.splits, hint)
        chosen = {**spec.kwargs, **spec.splits[split], **chosen}
    if fewest < most and fewest <= agents <= most and agents > 1:
        chosen.setdefault("num_players", agents)
    game: Game[Any, Any] = construct(kind, spec.id, chosen)
    return game


def game(name: str, **options: Any) -> Game[Any, Any]:
    """The rules registered under an id."""
    return load_game(registry().environment(name), options)


def open_game(
    env: str | EnvSpec | Game[Any, Any], options: Mapping[str, Any], agents: int = 1
) -> tuple[EnvSpec | None, Game[Any, Any]]:
    """The spec (None for a bare game) and the game itself; see `load_game`."""
    if isinstance(env, Game):
        if options:
            raise InvalidOption(f"{env!r} is already made; it takes no options {sorted(options)}")
        return None, env
    spec = env if isinstance(env, EnvSpec) else registry().environment(env)
    return spec, load_game(spec, options, agents)


def renderer(spec: EnvSpec | None, mode: str) -> Any:
    """The renderer for an environment's family in one mode, or the one for every family."""
    family = spec.family if spec else "*"
    available = registry().renderers
    found = available.get(f"{family} {mode}") or available.get(f"* {mode}")
    if found is None:
        modes = sorted({s.mode for s in available.values()})
        if not modes:
            raise MissingExtra("a renderer", "palestra-renderers")
        raise UnknownName("render mode", mode, modes)
    return load_entry_point(found.entry_point)


def warn_of_failures() -> None:
    """Tell the user, once, which installed plugins could not be used."""
    for failure in registry().plugins.failures:
        warnings.warn(f"{failure}. See: palestra plugins", RuntimeWarning, stacklevel=3)


def forget() -> None:
    """Drop what was loaded, so that the next look-up scans again (after installing a plugin)."""
    registry.cache_clear()
