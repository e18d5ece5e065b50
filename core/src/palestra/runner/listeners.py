"""Life-cycle hooks of the objects that a caller passes to a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pluggy

from palestra.kernel import hooks
from palestra.kernel.errors import UnknownName


class Listeners:
    """The hooks of some objects, for one run.

    Resolved once: a hook nobody implements is None here and costs nothing.
    """

    def __init__(self, objects: Iterable[object] = ()) -> None:
        manager = pluggy.PluginManager(hooks.GROUP)
        manager.add_hookspecs(hooks)
        for item in objects:
            manager.register(item)
            for caller in manager.get_hookcallers(item) or ():
                if caller.name not in hooks.LIFE_CYCLE:
                    raise UnknownName(
                        "life-cycle hook", caller.name, hooks.LIFE_CYCLE, f"(in {item!r})"
                    )
        self.episode_started = _caller(manager, "palestra_episode_started")
        self.turn_ready = _caller(manager, "palestra_turn_ready")
        self.action_chosen = _caller(manager, "palestra_action_chosen")
        self.stepped = _caller(manager, "palestra_stepped")
        self.episode_finished = _caller(manager, "palestra_episode_finished")


def _caller(manager: pluggy.PluginManager, hook: str) -> Any:
    """What calls a hook's functions, in pluggy's order; None if there are none.

    Plain functions are called directly: pluggy's own call takes longer than a move of a small game.
    """
    caller = getattr(manager.hook, hook)
    found = caller.get_hookimpls()
    if any(one.wrapper or one.hookwrapper for one in found):
        return caller
    calls = [(one.function, one.argnames) for one in reversed(found)]
    if not calls:
        return None

    def call(**arguments: Any) -> None:
        for function, names in calls:
            function(*[arguments[name] for name in names])

    return call
