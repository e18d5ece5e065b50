"""Options that several shapers and estimators have, described once."""

from __future__ import annotations

from typing import Annotated

from palestra import Meta

Discount = Annotated[float, Meta(ge=0, le=1, description="discount of each of a seat's own turns")]
Ddof = Annotated[
    int, Meta(ge=0, le=1, description="what the number of values is reduced by in the spread")
]
Epsilon = Annotated[float, Meta(ge=0, description="added to the spread before dividing by it")]
Divide = Annotated[bool, Meta(description="whether to divide by the spread, or only centre")]
Weight = Annotated[float, Meta(description="what the reward is multiplied by")]
