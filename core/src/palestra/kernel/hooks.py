"""The hooks a plugin may implement.

A plugin is one module, named by an entry point in the group `palestra`, with any of these
functions marked `@palestra.hookimpl`. The first group returns data, asked for once when the
plugin is loaded; the life-cycle hooks reach only objects that the caller passes to a run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pluggy

from palestra.kernel.specs import (
    AgentSpec,
    EnvSpec,
    MetricSpec,
    RendererSpec,
    RewardSpec,
    ThemeSpec,
)

GROUP = "palestra"
hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


@hookspec
def palestra_environments() -> Iterable[EnvSpec]:  # type: ignore[empty-body]
    """Return the environments this plugin adds."""


@hookspec
def palestra_agents() -> Iterable[AgentSpec]:  # type: ignore[empty-body]
    """Return the agents this plugin adds."""


@hookspec
def palestra_rewards() -> Iterable[RewardSpec]:  # type: ignore[empty-body]
    """Return the reward shapers and estimators this plugin adds; they apply only if named."""


@hookspec
def palestra_renderers() -> Iterable[RendererSpec]:  # type: ignore[empty-body]
    """Return the renderers this plugin adds, by environment family and mode."""


@hookspec
def palestra_themes() -> Iterable[ThemeSpec]:  # type: ignore[empty-body]
    """Return the themes this plugin adds; scenes are drawn with the one PALESTRA_THEME names."""


@hookspec
def palestra_metrics() -> Iterable[MetricSpec]:  # type: ignore[empty-body]
    """Return the outcome metrics this plugin adds."""


@hookspec(firstresult=True)
def palestra_models(uri: str, options: dict[str, Any]) -> Any:
    """Open the language model a URI such as `vllm:…` names; None if it is not yours."""


@hookspec(firstresult=True)
def palestra_credit(names: str) -> Any:
    """Open estimators such as `grpo+salt`, with `credit`, `state` and `load`; None if not yours."""


@hookspec(firstresult=True)
def palestra_connect(url: str, options: dict[str, Any]) -> Any:
    """Open a seat of a match on a server as a `gymnasium.Env`; None if the address is not yours."""


@hookspec(firstresult=True)
def palestra_watch(title: str, options: dict[str, Any]) -> Any:
    """Open a live page of a run, as `palestra.runner.watching` uses it; None if you have none."""


@hookspec
def palestra_commands(app: Any) -> None:
    """Add commands to the command line, a `typer.Typer`."""


@hookspec
def palestra_episode_started(episode: Any, agents: tuple[str, ...]) -> None:
    """Called before the first move of an episode."""


@hookspec
def palestra_turn_ready(turn: Any) -> None:
    """Called when a seat is about to be asked for a decision."""


@hookspec
def palestra_action_chosen(turn: Any, decision: Any) -> None:
    """Called with an agent's decision, before it is played."""


@hookspec
def palestra_stepped(episode: Any) -> None:
    """Called after every step; `episode.step` holds its rewards by name."""


@hookspec
def palestra_episode_finished(episode: Any, record: Any) -> None:
    """Called once an episode is over, with its record."""


HOOKS = tuple(name for name, value in dict(globals()).items() if hasattr(value, f"{GROUP}_spec"))
LIFE_CYCLE = HOOKS[HOOKS.index("palestra_episode_started") :]
