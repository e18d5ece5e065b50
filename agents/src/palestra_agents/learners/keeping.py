"""The whole state of a learner as plain data, from which a run is resumed as if it never stopped.

An object says in `changing` which of its attributes change while it learns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from palestra import InvalidOption
from palestra.engine.batch import Batch
from torch import nn

PLAIN = (int, float, str, bytes, type(None), torch.Tensor)


def state_of(thing: Any) -> Any:
    """What `restore` needs, in types that `torch.load` reads with `weights_only`."""
    if isinstance(thing, PLAIN):
        return thing
    if isinstance(thing, nn.Module | torch.optim.Optimizer):
        return thing.state_dict()
    if isinstance(thing, torch.Generator):
        return thing.get_state()
    if isinstance(thing, Batch):
        return torch.from_numpy(thing.lanes.copy().view(np.uint8))
    if isinstance(thing, np.ndarray):
        return torch.from_numpy(thing.copy())
    if isinstance(thing, dict):
        return {name: state_of(value) for name, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [state_of(value) for value in thing]
    return {name: state_of(getattr(thing, name)) for name in thing.changing}


def restore(thing: Any, state: Any) -> Any:
    """Bring a fresh object to a state; returns it, or what takes its place."""
    if isinstance(thing, nn.Module | torch.optim.Optimizer):
        thing.load_state_dict(state)
    elif isinstance(thing, torch.Generator):
        thing.set_state(state)
    elif isinstance(thing, Batch):
        saved = state.numpy()
        if saved.nbytes != thing.lanes.nbytes:
            raise InvalidOption("the rules have changed since this run was saved; train afresh")
        thing.load(saved.view(thing.lanes.dtype).reshape(-1))
    elif isinstance(thing, np.ndarray):
        return state.numpy()
    elif isinstance(thing, list):
        return [restore(one, kept) for one, kept in zip(thing, state, strict=True)]
    elif hasattr(thing, "changing"):
        for name in thing.changing:
            setattr(thing, name, restore(getattr(thing, name), state[name]))
    elif isinstance(thing, tuple):
        return tuple(state)
    else:
        return state
    return thing
