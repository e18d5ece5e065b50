"""What is installed, by name: environments, agents, renderers, rewards, metrics, models."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from palestra.kernel.errors import InvalidOption, MissingExtra, UnknownName, show
from palestra.kernel.game import Game
from palestra.kernel.naming import construct
from palestra.kernel.plugins import Plugins
from palestra.kernel.specs import AgentSpec, EnvSpec, load_entry_point

# modes that palestra-renderers draws for every environment
DRAWN = ("human", "rgb_array", "ansi", "terminal", "gif", "mp4", "strip", "html")


@cache
def homes(kind: str) -> dict[str, str]:
    """Palestra's distribution of each of its namespaces, agents, rewards, commands: homes.json."""
    listed = json.loads(files("palestra").joinpath("homes.json").read_bytes())[kind]
    return {name: home for home, names in listed.items() for name in names}


def where_from(kind: str, name: str) -> str:
    """What installs a namespace, agent, reward or command of Palestra's; empty for any other."""
    home = homes(kind).get(name)
    return f"It comes with another distribution; run: pip install {home}." if home else ""


class Registry:
    """The catalogues of all loaded plugins."""

    def __init__(self, plugins: Plugins) -> None:
        self.plugins = plugins
        self._namespaces: dict[str, str] = {}
        self.environments = self._collect("palestra_environments", lambda s: s.id)
        self.agents = self._collect("palestra_agents", lambda s: s.name)
        self.rewards = self._collect("palestra_rewards", lambda s: s.name)
        self.renderers = self._collect("palestra_renderers", lambda s: f"{s.family} {s.mode}")
        self.metrics = self._collect("palestra_metrics", lambda s: s.name)
        self.themes = self._collect("palestra_themes", lambda s: s.name)

    def _collect(self, hook: str, key: Any) -> dict[str, Any]:
        """Merge one catalogue; a name declared twice belongs to the plugin that was first."""
        found: dict[str, tuple[str, Any]] = {}
        for name, plugin in self.plugins.plugins.items():
            for spec in plugin.gives.get(hook, ()):
                owner = found.get(key(spec), (name, spec))[0]
                if isinstance(spec, EnvSpec) and owner == name:
                    owner = self._namespace_owner(spec.namespace, name)
                if owner == name:
                    found[key(spec)] = (name, spec)
                else:
                    self._contest(key(spec), name, owner)
        return {item: spec for item, (_, spec) in found.items()}

    def _namespace_owner(self, namespace: str, name: str) -> str:
        """The plugin whose distribution declared a namespace first."""
        plugins = self.plugins.plugins
        first = self._namespaces.setdefault(namespace, name)
        return name if plugins[first].owner == plugins[name].owner else first

    def _contest(self, item: str, name: str, owner: str) -> None:
        plugins, block = self.plugins.plugins, self.plugins.plugins[owner].owner
        self.plugins.contest(
            name,
            f"{item!r} of plugin {name!r} ({plugins[name].distribution}) is not taken: it belongs "
            f"to {owner!r} ({plugins[owner].distribution}); rename it"
            + (f", or block the other with PALESTRA_BLOCK={block}" if block != "palestra" else ""),
        )

    def environment(self, name: str) -> EnvSpec:
        """Look an id up; a module prefix (`palestra:`) is allowed."""
        bare = name.rpartition(":")[2] if isinstance(name, str) else show(name)
        spec = self.environments.get(bare)
        if spec is None:
            namespaces = sorted({s.namespace for s in self.environments.values()})
            hint = f"Installed namespaces: {', '.join(namespaces)}."
            if not namespaces:
                hint = 'No environments are installed; run: pip install "palestra[all]".'
            if (namespace := bare.split("/", 1)[0]) not in namespaces:
                own = " A plugin of your own is installed with: pip install -e ."
                hint = where_from("namespaces", namespace) or hint + own
            elif not where_from("namespaces", namespace):
                hint += " Is it new? Declare it with: palestra catalogue YOUR_PACKAGE."
            raise UnknownName("environment", name, self.environments, hint + self._broken())
        return spec

    def _broken(self) -> str:
        failures = self.plugins.failures
        return f" Not loaded: {'; '.join(map(str, failures))}" if failures else ""

    def agent(self, name: str) -> AgentSpec:
        """The spec of the agent of this name; raises `UnknownName` if no plugin declares it."""
        if (spec := self.agents.get(name)) is None:
            hint = where_from("agents", name) + self._broken()
            raise UnknownName("agent", name, self.agents, hint)
        return spec


@lru_cache(maxsize=1)
def registry() -> Registry:
    """Load every plugin, once per process."""
    plugins = Plugins.from_environment()
    plugins.load()
    return Registry(plugins)


# Options that any game accepts besides its own, and the functions that extend its class
more_options: dict[str, Callable[[type[Game[Any, Any]]], type[Game[Any, Any]]]] = {}


def load_game(spec: EnvSpec, options: Mapping[str, Any], agents: int = 1) -> Game[Any, Any]:
    """Construct the game a spec names, with its options checked.

    The option `split` stands for the options of that split; options given together with it override
    them. If the number of players is variable and not given, it is `agents` (1: the game's
    default).
    """
    fewest, most = spec.players
    kind = load_entry_point(spec.entry_point)
    chosen = {**spec.kwargs, **options}
    if "split" in chosen:
        split = chosen.pop("split")
        if not isinstance(split, str) or split not in spec.splits:
            hint = "" if spec.splits else "It has none: name the options themselves."
            named = split if isinstance(split, str) else show(split)
            raise UnknownName(f"split of {spec.id}", named, spec.splits, hint)
        chosen = {**spec.kwargs, **spec.splits[split], **chosen}
    if fewest < most and fewest <= agents <= most and agents > 1:
        chosen.setdefault("num_players", agents)
    more = {name: chosen.pop(name) for name in sorted(more_options.keys() & chosen.keys())}
    game: Game[Any, Any] = construct(kind, spec.id, chosen)
    for name, value in more.items():
        chosen[name] = value
        game = construct(more_options[name](type(game)), spec.id, chosen)
    return game


def game(name: str, **options: Any) -> Game[Any, Any]:
    """The rules (`Game`) of an id, `name`, with their `options`; `UnknownName`, `InvalidOption`."""
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
        if mode in DRAWN or not modes:
            raise MissingExtra("a renderer", "palestra-renderers")
        raise UnknownName("render mode", mode, modes)
    return load_entry_point(found.entry_point)


def forget() -> None:
    """Drop all loaded plugins, so that the next look-up scans again (after an installation)."""
    registry.cache_clear()
