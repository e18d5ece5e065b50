"""Entering every environment into Gymnasium's and PettingZoo's registries."""

from __future__ import annotations

import gymnasium
import pettingzoo

from palestra.kernel.registry import homes, registry

VECTOR = "palestra.views.vector:make"


def push() -> None:
    """Enter every environment into Gymnasium's and PettingZoo's registries; safe to repeat.

    Those of Palestra's distributions that are not installed are entered too: opening one says what
    to install.
    """
    installed = registry().environments
    namespaces = {spec.namespace for spec in installed.values()}
    missing = [name for name in homes("environments") if name.partition("/")[0] not in namespaces]
    for env in (*installed, *missing):
        if env not in gymnasium.registry:
            gymnasium.register(
                env,
                entry_point="palestra.views.gym:make",
                vector_entry_point=VECTOR,
                kwargs={"env": env},
                order_enforce=False,  # ours does both itself, without a wrapper on the step path
                disable_env_checker=True,
            )
        for kind, known in (
            ("aec", pettingzoo.aec_registry),
            ("parallel", pettingzoo.parallel_registry),
        ):
            if env not in known:
                pettingzoo.register(kind, env, f"palestra.views.{kind}:make", kwargs={"env": env})
