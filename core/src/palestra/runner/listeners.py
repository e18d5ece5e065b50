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
    caller = getattr(manager.hook, hook)
    return caller if caller.get_hookimpls() else None
