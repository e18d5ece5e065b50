"""Options that several shapers and estimators share."""

from __future__ import annotations

from typing import Annotated

from palestra import Meta

Discount = Annotated[float, Meta(ge=0, le=1, description="discount per own turn of a seat")]
Ddof = Annotated[
    int, Meta(ge=0, le=1, description="subtracted from the number of values in the spread")
]
Epsilon = Annotated[float, Meta(ge=0, description="added to the spread before dividing by it")]
Divide = Annotated[bool, Meta(description="whether to divide by the spread, or only centre")]
Weight = Annotated[float, Meta(description="factor of the reward")]
