"""An agent whose prompt says how much each reward counts: a direction over named terms.

Wang et al., "Arithmetic Control of LLMs for Diverse User Preferences: Directional Preference
Alignment with Multi-Objective Rewards", 2024. The shaper `direction` of `palestra-rewards` pays by
the direction, and its `rejection_rows` keeps the best of several rollouts for training.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from statistics import NormalDist
from typing import Annotated, Any

from palestra import Decision, InvalidOption, Meta, Turn, agent

from palestra_adapters.thinking import Thinking
from palestra_adapters.wrapper import Wrapper

STREAM = 0xD12E
WISH = "In this episode, what you reach is rated as {terms}. Make the rating as high as you can."


FADES = "With each of your decisions, {parts} times as much as with the one before."


@agent(
    "directed",
    kind="llm",
    summary="Tells the inner agent how much each named reward counts.",
    paper=(
        "Arithmetic Control of LLMs for Diverse User Preferences: Directional Preference "
        "Alignment with Multi-Objective Rewards (2024)"
    ),
)
class DirectedAgent(Wrapper):
    """Tells the inner agent a direction over reward terms; the game's rewards do not change.

    `towards` is the direction, as in `right=0.8+words=-0.6`, and is scaled to length 1. With
    `terms` alone, as in `right+words`, every episode and seat draws its own direction, uniformly
    over those without negative parts. Decisions carry the fact `direction`. `discounts` tells the
    agent how fast each term fades with its own decisions: the weights of the shapers
    `diverse-discounts` and `time-preferences`, whose ratio to the learner's own discount it is.
    """

    def __init__(
        self,
        *,
        towards: Annotated[
            str | Mapping[str, float], Meta(description="the direction: term=number, joined by +")
        ] = "",
        terms: Annotated[str, Meta(description="terms joined by +, for drawn directions")] = "",
        discounts: Annotated[
            str, Meta(description="factor of each term per own decision: term=number, joined by +")
        ] = "",
        **settings: Any,
    ) -> None:
        given = read_direction(towards) if isinstance(towards, str) else dict(towards)
        self._towards = to_unit_length(given) if given else {}
        self._terms = [name.strip() for name in terms.split("+") if name.strip()]
        if bool(self._towards) == bool(self._terms):
            raise InvalidOption(
                "directed needs a direction or terms, not both: directed:local:,towards=right=1 "
                "or terms=right+words"
            )
        self._discounts = read_direction(discounts)
        super().__init__(**settings)
        self._drawn = self.by_seat(dict[str, float])

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        key = turn.episode_key, turn.seat
        if key not in self._drawn:
            self._drawn[key] = self._towards or self._draw(turn)
        direction = self._drawn[key]
        parts = [f"{weight:+.2f} times {name}" for name, weight in direction.items()]
        wish = WISH.format(terms=", ".join(parts))
        if self._discounts:
            fades = [f"{name} counts {factor:.2f}" for name, factor in self._discounts.items()]
            wish = f"{wish} {FADES.format(parts=', '.join(fades))}"
        decision = yield from self.inner.think_alone(turn, advice, wish)
        decision.facts = {**decision.facts, "direction": direction}
        return decision

    def _draw(self, turn: Turn) -> dict[str, float]:
        """A uniform point of the unit sphere's non-negative part: scaled sizes of normal draws."""
        rng, normal = turn.rng(self._seed, STREAM), NormalDist()
        sizes = [abs(normal.inv_cdf((rng.word() + 1) / (2**32 + 1))) for _ in self._terms]
        return to_unit_length(dict(zip(self._terms, sizes, strict=True)))


def read_direction(text: str) -> dict[str, float]:
    """The weights in `right=0.8+words=-0.6` by term; empty for an empty text."""
    found: dict[str, float] = {}
    for part in filter(None, text.split("+")):
        name, _, number = part.partition("=")
        try:
            found[name.strip()] = float(number)
        except ValueError as error:
            raise InvalidOption(
                f"write a direction as term=number, joined by +, not {text!r}"
            ) from error
    return found


def to_unit_length(direction: Mapping[str, float]) -> dict[str, float]:
    """The direction scaled to length 1."""
    length = sum(value**2 for value in direction.values()) ** 0.5
    if not length or not isfinite(length):
        raise InvalidOption(f"a direction needs finite numbers, not all 0; got {dict(direction)}")
    return {name: value / length for name, value in direction.items()}
