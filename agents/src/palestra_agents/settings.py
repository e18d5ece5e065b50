"""Settings of `palestra train`: what several learners share, and how settings are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

from palestra import InvalidOption, Meta
from palestra.kernel.options import check_options

T = TypeVar("T")
Lanes = Annotated[int, Meta(ge=1, description="episodes played side by side")]
Horizon = Annotated[int, Meta(ge=1, description="steps of every lane between updates")]
Epochs = Annotated[int, Meta(ge=1, description="passes over the data of an update")]
BatchSize = Annotated[int, Meta(ge=1, description="kept steps in a gradient step")]
Kept = Annotated[int, Meta(ge=1, description="steps kept to learn from")]
WarmUp = Annotated[int, Meta(ge=0, description="steps before the first update")]
LearningRate = Annotated[float, Meta(gt=0, description="step size of the optimiser")]
Discount = Annotated[float, Meta(ge=0, le=1, description="discount of later rewards")]
GAELambda = Annotated[
    float, Meta(ge=0, le=1, description="lambda of generalised advantage estimation")
]
Clip = Annotated[float, Meta(gt=0, description="how far the ratio of policies may leave 1")]
Entropy = Annotated[float, Meta(ge=0, description="weight of the entropy bonus")]
ValueWeight = Annotated[float, Meta(ge=0, description="weight of the value's loss")]
Hidden = Annotated[int, Meta(ge=1, description="width of the hidden layers")]
Explore = Annotated[float, Meta(ge=0, le=1, description="share of random actions")]
ExploreShare = Annotated[
    float, Meta(gt=0, le=1, description="part of the training in which exploration falls")
]
Recurring = Annotated[
    bool, Meta(description="whether a GRU remembers what a seat saw earlier in its episode")
]
Seed = Annotated[int, Meta(ge=0, description="seed of the game, the weights and the exploration")]


class Checked:
    """A dataclass of settings whose values are checked against their annotations."""

    def __post_init__(self) -> None:
        check_options(self)


def read_settings(kind: type[T], chosen: Mapping[str, Any], name: str) -> T:
    """Settings of a learner; raises `InvalidOption` for one that it does not have."""
    require_fields(kind, chosen, f"{name} has no setting")
    return kind(**chosen)


def require_fields(kind: type, chosen: Iterable[str], complaint: str) -> None:
    """Raise `InvalidOption` for a name that is no field of the dataclass `kind`."""
    known = [field.name for field in fields(kind)]
    for given in chosen:
        if given not in known:
            raise InvalidOption(f"{complaint} {given!r}; choose from: {', '.join(known)}")


def require_same(folder: Path, kept: Mapping[str, Any], typed: Mapping[str, Any]) -> None:
    """Raise `InvalidOption` if a run is resumed with something it was not started with."""
    for name, value in typed.items():
        if name not in kept or kept[name] != value:
            was = f"{name}={kept[name]!r}" if name in kept else f"no {name}"
            raise InvalidOption(
                f"{folder} holds a run with {was}, not {value!r}; resume it with the options it "
                f"was started with, or train into another --out"
            )
