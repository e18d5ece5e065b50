"""Settings of `palestra train`: what several learners share, and how settings are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
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
Seed = Annotated[int, Meta(ge=0, description="seed of the game, the weights and the exploration")]


class Checked:
    """A dataclass of settings whose values are checked against their annotations."""

    def __post_init__(self) -> None:
        check_options(self)


def read_settings(kind: type[T], chosen: Mapping[str, Any], name: str) -> T:
    """Settings of a learner; raises `InvalidOption` for one that it does not have."""
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for given in chosen:
        if given not in known:
            raise InvalidOption(f"{name} has no setting {given!r}; choose from: {', '.join(known)}")
    return kind(**chosen)
