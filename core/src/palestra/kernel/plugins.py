"""Finding, loading and listing plugins.

Entry points are scanned once. A plugin that does not import, implements a hook that does not exist
or returns something invalid is disabled and its error kept; the others still work. Environment
variables: PALESTRA_PLUGINS (only these, comma-separated; empty for none), PALESTRA_BLOCK (not
these; never imported), PALESTRA_STRICT=1 (raise instead of disabling). Both lists take names of
plugins or of distributions; a name that is not installed is warned of.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from inspect import isroutine
from traceback import extract_tb
from typing import Any

import pluggy

from palestra.guarded import guarded
from palestra.kernel import hooks
from palestra.kernel.errors import PalestraError, PluginError, UnknownName, cause, show
from palestra.kernel.specs import (
    AgentSpec,
    EnvSpec,
    MetricSpec,
    RendererSpec,
    RewardSpec,
    ThemeSpec,
)

CATALOGUES: dict[str, type] = {
    "palestra_environments": EnvSpec,
    "palestra_agents": AgentSpec,
    "palestra_rewards": RewardSpec,
    "palestra_renderers": RendererSpec,
    "palestra_themes": ThemeSpec,
    "palestra_metrics": MetricSpec,
}


@dataclass(frozen=True, slots=True)
class Failure:
    """A plugin that failed, the stage at which it failed, and why."""

    plugin: str
    distribution: str
    stage: str
    error: BaseException

    def __str__(self) -> str:
        return (
            f"plugin {self.plugin!r} ({self.distribution}) failed to {self.stage}: "
            f"{type(self.error).__name__}: {_message(self.error)}{_place(self.error)}"
        )


@dataclass(slots=True)
class Plugin:
    """One installed plugin: `status` is "loaded", "blocked" or "failed".

    `contested` lists declarations that are ignored because they belong to another plugin.
    """

    name: str
    distribution: str
    status: str = "loaded"
    hooks: tuple[str, ...] = ()
    failure: Failure | None = None
    gives: dict[str, list[Any]] = field(default_factory=dict)
    contested: list[str] = field(default_factory=list)

    @property
    def owner(self) -> str:
        """The distribution's name, without its version."""
        return self.distribution.split(" ", 1)[0]


class Plugins:
    """Everything installed; `load()` fills it."""

    def __init__(
        self,
        only: frozenset[str] | None = None,
        blocked: frozenset[str] = frozenset(),
        strict: bool = False,
    ) -> None:
        self.manager = pluggy.PluginManager(hooks.GROUP)
        self.manager.add_hookspecs(hooks)
        self.plugins: dict[str, Plugin] = {}
        self._only, self._blocked, self._strict = only, blocked, strict

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Plugins:
        only = environment.get("PALESTRA_PLUGINS")
        return cls(
            only=None if only is None else _names(only),
            blocked=_names(environment.get("PALESTRA_BLOCK", "")),
            strict=environment.get("PALESTRA_STRICT", "") not in ("", "0"),
        )

    @property
    def failures(self) -> list[Failure]:
        return [plugin.failure for plugin in self.plugins.values() if plugin.failure]

    def load(self, points: Iterable[EntryPoint] | None = None) -> None:
        """Load every plugin that is installed and allowed: Palestra's own first, then by name."""
        found = entry_points(group=hooks.GROUP) if points is None else points
        for point in sorted(found, key=_order):
            self._load_one(point)
        self._warn_of("PALESTRA_PLUGINS", self._only or frozenset())
        self._warn_of("PALESTRA_BLOCK", self._blocked)

    def _warn_of(self, variable: str, names: frozenset[str]) -> None:
        """Warn of names in a variable that no plugin and no distribution has."""
        known = {name for p in self.plugins.values() for name in (p.name, p.owner)}
        for name in sorted(names - known):
            unknown = UnknownName(f"plugin in {variable}:", name, known)
            warnings.warn(str(unknown), RuntimeWarning, stacklevel=2)

    def _load_one(self, point: EntryPoint) -> None:
        owner = _owner(point)
        distribution = f"{owner} {point.dist.version}" if owner and point.dist else "unknown"
        plugin = Plugin(point.name, distribution)
        taken = self.plugins.get(point.name)
        if taken is not None:
            if taken.distribution == distribution:
                return  # the same installation appears twice on the path
            plugin.name = f"{point.name} ({plugin.owner})"
        self.plugins[plugin.name] = plugin
        names = {point.name, plugin.name, plugin.owner}
        if names & self._blocked or (self._only is not None and not names & self._only):
            plugin.status = "blocked"
            return
        try:
            module = guarded(point.load, f"importing plugin {plugin.name!r}")
        except BaseException as error:  # sys.exit, and anything else that a module raises
            self._fail(plugin, "import", error)
            return
        self.register(module, plugin)

    def register(self, module: object, plugin: Plugin) -> None:
        """Register a plugin object and collect its catalogues."""
        self.plugins[plugin.name] = plugin
        try:
            self.manager.register(module, plugin.name)
            callers = self.manager.get_hookcallers(module) or []
            plugin.hooks = tuple(sorted(caller.name for caller in callers))
            self._reject_unknown(plugin, module)
        except BaseException as error:
            self._withdraw(plugin)
            self._fail(plugin, "register", error)
            return
        for hook in plugin.hooks:
            if hook in CATALOGUES:
                self._ask(plugin, module, hook)

    def _reject_unknown(self, plugin: Plugin, module: object) -> None:
        for hook in plugin.hooks:
            if hook not in hooks.HOOKS:
                raise UnknownName("hook", hook, hooks.HOOKS)
        for name in dir(module):  # pluggy overlooks a hook without the decorator
            found = name.startswith("palestra_") and isroutine(getattr(module, name))
            if found and name not in plugin.hooks:
                raise PluginError(f"{name} is not marked as a hook; put @hookimpl above it")

    def _ask(self, plugin: Plugin, module: object, hook: str) -> None:
        try:
            items = guarded(lambda: list(getattr(module, hook)()), f"{hook} of {plugin.name!r}")
            for item in items:
                if not isinstance(item, CATALOGUES[hook]):
                    expected = CATALOGUES[hook].__name__
                    raise TypeError(f"{hook} must give {expected}s, not {show(item)}")
        except BaseException as error:
            self._fail(plugin, f"answer {hook}", error)
            return
        plugin.gives[hook] = items

    def _withdraw(self, plugin: Plugin) -> None:
        if self.manager.has_plugin(plugin.name):
            self.manager.unregister(name=plugin.name)

    def _fail(self, plugin: Plugin, stage: str, error: BaseException) -> None:
        if isinstance(error, KeyboardInterrupt):  # the user's Ctrl-C
            raise error
        if self._strict:
            raise PluginError(
                str(Failure(plugin.name, plugin.distribution, stage, error))
            ) from error
        plugin.status = "failed"
        plugin.failure = Failure(plugin.name.strip(), plugin.distribution, stage, error)
        self.plugins[plugin.name] = plugin

    def reject(self, name: str, stage: str, error: BaseException) -> None:
        """Mark a loaded plugin as failed at one stage."""
        self._fail(self.plugins[name], stage, error)

    def contest(self, name: str, problem: str) -> None:
        """Note that something a plugin declares already belongs to another."""
        if self._strict:
            raise PluginError(problem)
        self.plugins[name].contested.append(problem)

    def first(self, hook: str, **arguments: Any) -> Any:
        """Call a hook of each plugin until one returns a result; a failing one is skipped.

        Raises `PluginError` if a plugin failed and no other returns a result, and a plugin's
        `UnknownName` if no other knows the name.
        """
        broken: PalestraError | None = None
        for name, module in self.manager.list_name_plugin():
            implementation = getattr(module, hook, None)
            if implementation is None:
                continue
            try:
                answer = implementation(**arguments)
            except UnknownName as error:
                broken = broken or error
            except (PalestraError, ImportError, LookupError, ValueError, OSError):
                raise  # a deliberate error: it is the plugin's answer
            except BaseException as error:
                self.reject(name, f"answer {hook}", error)
                broken = PluginError(f"plugin {name!r} failed to answer {hook}: {cause(error)}")
                broken.__cause__ = error
            else:
                if answer is not None:
                    return answer
        if broken is not None:
            raise broken
        return None

    def call_one(self, name: str, hook: str, **arguments: Any) -> None:
        """Call a hook of one plugin, if it is loaded and has it; disable the plugin if it fails."""
        module = self.manager.get_plugin(name)
        if module is None or hook not in self.plugins[name].hooks:
            return
        try:
            getattr(module, hook)(**arguments)
        except BaseException as error:
            self.reject(name, f"answer {hook}", error)


OFFICIAL = (
    "palestra",
    *(
        f"palestra-{name}"
        for name in ("envs", "agents", "renderers", "games", "markets", "rewards")
    ),
    *(f"palestra-{name}" for name in ("arena", "adapters", "web", "server", "training", "tasks")),
)


def _order(point: EntryPoint) -> tuple[int, str, str, str]:
    """Sort key: Palestra's own distributions first, so that others cannot take their names."""
    owner = _owner(point).lower()
    place = OFFICIAL.index(owner) if owner in OFFICIAL else len(OFFICIAL)
    return place, owner, point.name, point.value


def _owner(point: EntryPoint) -> str:
    """The distribution's name; empty where its metadata is missing or names none."""
    return (point.dist and point.dist.name) or ""


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:
        return "(its message cannot be read)"


def _place(error: BaseException) -> str:
    """Where in a plugin's code an exception was raised: ' (…/plugin.py, line 9)'; '' if nowhere."""
    ours = "<", os.path.dirname(os.path.dirname(__file__))
    own = [f for f in extract_tb(error.__traceback__) if not f.filename.startswith(ours)]
    return f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(",") if name.strip())
