"""The whole state of a learner as plain data, from which a run is resumed as if it never stopped.

An object says in `changing` which of its attributes change while it learns. Where their ranges
depend on its settings, its `check` raises `InvalidOption` for what no run of it comes to.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from palestra import InvalidOption
from torch import nn

from palestra_agents.checkpoints import (
    load_generator,
    load_optimizer,
    load_weights,
    require_count,
    require_names,
    require_tensor,
)
from palestra_agents.lane_moves import LaneMoves

PLAIN = (int, float, str, bytes, type(None), torch.Tensor)


def state_of(thing: Any) -> Any:
    """What `restore` needs, in types that `torch.load` reads with `weights_only`."""
    if isinstance(thing, PLAIN):
        return thing
    if isinstance(thing, nn.Module | torch.optim.Optimizer):
        return thing.state_dict()
    if isinstance(thing, torch.Generator):
        return thing.get_state()
    if isinstance(thing, LaneMoves):
        return thing.state()
    if isinstance(thing, np.ndarray):
        return torch.from_numpy(thing.copy())
    if isinstance(thing, dict):
        return {name: state_of(value) for name, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [state_of(value) for value in thing]
    return {name: state_of(getattr(thing, name)) for name in thing.changing}


def restore(thing: Any, state: Any, name: str = "learner") -> Any:
    """Bring a fresh object to a state; returns it, or what takes its place.

    Raises `InvalidOption` for a state that is not one of such an object.
    """
    if isinstance(thing, nn.Module):
        load_weights(thing, state, name)
    elif isinstance(thing, torch.optim.Optimizer):
        load_optimizer(thing, state, name)
    elif isinstance(thing, torch.Generator):
        load_generator(thing, state, name)
    elif isinstance(thing, LaneMoves):
        thing.replay(state)
    elif isinstance(thing, np.ndarray):
        own = torch.from_numpy(thing)
        return require_tensor(name, state, tuple(own.shape), own.dtype).numpy()
    elif isinstance(thing, torch.Tensor):
        return require_tensor(name, state, tuple(thing.shape), thing.dtype)
    elif isinstance(thing, list | tuple):
        return type(thing)(_restore_all(thing, state, name))
    elif hasattr(thing, "changing"):
        require_names(name, state, thing.changing)
        for part in thing.changing:
            setattr(thing, part, restore(getattr(thing, part), state[part], f"{name}.{part}"))
        if hasattr(thing, "check"):
            thing.check()
    elif isinstance(thing, int):
        return require_count(name, state)
    elif not isinstance(state, type(thing)):
        raise InvalidOption(f"{name} must be {type(thing).__name__}, not {type(state).__name__}")
    else:
        return state
    return thing


def _restore_all(things: list[Any] | tuple[Any, ...], states: Any, name: str) -> list[Any]:
    if not isinstance(states, list) or len(states) != len(things):
        raise InvalidOption(f"{name} must be a list of {len(things)}")
    pairs = zip(things, states, strict=True)
    return [restore(thing, state, f"{name}.{i}") for i, (thing, state) in enumerate(pairs)]
