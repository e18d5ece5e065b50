"""Entering every environment into Gymnasium's and PettingZoo's registries."""

from __future__ import annotations

import gymnasium
import pettingzoo

from palestra.kernel.registry import registry

VECTOR = "palestra.views.vector:make"


def push() -> None:
    """Enter every spec into Gymnasium's and PettingZoo's registries; safe to repeat."""
    for spec in registry().environments.values():
        if spec.id not in gymnasium.registry:
            gymnasium.register(
                spec.id,
                entry_point="palestra.views.gym:make",
                vector_entry_point=VECTOR,
                kwargs={"env": spec.id},
                order_enforce=False,  # ours does both itself, without a wrapper on the step path
                disable_env_checker=True,
            )
        for kind, known in (
            ("aec", pettingzoo.aec_registry),
            ("parallel", pettingzoo.parallel_registry),
        ):
            if spec.id not in known:
                pettingzoo.register(
                    kind, spec.id, f"palestra.views.{kind}:make", kwargs={"env": spec.id}
                )
