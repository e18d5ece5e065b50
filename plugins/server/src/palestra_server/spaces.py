"""Gymnasium's spaces and speech as JSON, so that a client needs no copy of the game."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from palestra import InvalidOption
from palestra.kernel.actions import TextAction
from palestra.kernel.game import Game


def write_space(space: spaces.Space[Any] | None) -> dict[str, Any] | None:
    """A space as plain data; raises `InvalidOption` for a kind that games here do not use."""
    if space is None:
        return None
    if isinstance(space, spaces.Discrete):
        return {"kind": "discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.Box):
        return {
            "kind": "box",
            "low": _edge(space.low),
            "high": _edge(space.high),
            "shape": list(space.shape),
            "dtype": str(space.dtype),
        }
    if isinstance(space, spaces.MultiBinary):
        return {"kind": "multi-binary", "n": np.asarray(space.n).tolist()}
    if isinstance(space, spaces.MultiDiscrete):
        return {"kind": "multi-discrete", "nvec": space.nvec.tolist()}
    if isinstance(space, spaces.Dict):
        return {"kind": "dict", "spaces": {k: write_space(v) for k, v in space.items()}}
    raise InvalidOption(f"a space of the kind {type(space).__name__} cannot be sent")


def _edge(bound: Any) -> Any:
    """A bound as one number if it is the same everywhere; infinities as words."""
    values = np.unique(bound)
    return _word(values[0]) if len(values) == 1 else [_word(value) for value in bound.ravel()]


def _word(value: Any) -> Any:
    return value.item() if np.isfinite(value) else str(value)


def read_space(data: Any) -> Any:
    """A space from what `write_space` gave."""
    if data is None:
        return None
    kind = data["kind"]
    if kind == "discrete":
        return spaces.Discrete(data["n"], start=data["start"])
    if kind == "box":
        dtype = np.dtype(data["dtype"])
        low, high = (_bound(data[edge], data["shape"], dtype) for edge in ("low", "high"))
        return spaces.Box(low, high, dtype=dtype.type)
    if kind == "multi-binary":
        return spaces.MultiBinary(data["n"])
    if kind == "multi-discrete":
        return spaces.MultiDiscrete(data["nvec"])
    if kind == "dict":
        return spaces.Dict({name: read_space(inner) for name, inner in data["spaces"].items()})
    raise InvalidOption(f"a space of the kind {kind!r} cannot be read; is the server newer?")


def _bound(value: Any, shape: list[int], dtype: Any) -> Any:
    values = np.array(value if isinstance(value, list) else [value], dtype=float).astype(dtype)
    return np.broadcast_to(values, shape) if values.size == 1 else values.reshape(shape)


def fields_of_speech(game: Game[Any, Any]) -> list[str] | None:
    """The fields of a game's speech: `text`, and `to` where one player may be told alone.

    Speech is the typed action `Say`. None where nobody speaks, or speech needs further fields.
    """
    kinds: tuple[type[TextAction], ...] = getattr(game, "action_types", ())
    for kind in kinds:
        if kind.__name__ == "Say" and set(kind.__struct_fields__) <= {"text", "to"}:
            return list(kind.__struct_fields__)
    return None
