"""Potential-based shaping: pay for progress without changing the best policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from palestra import InvalidOption, Meta, Transition, reward
from palestra.engine.shaped_batch import Transitions
from palestra.kernel.specs import load_entry_point
from palestra.shaping import potential_based

Potential = Callable[[Any, Any, int], Any]


@reward(
    "potential",
    shape="step",
    needs=("potential",),
    paper=(
        "Ng, Harada and Russell (1999), Policy invariance; Devlin and Kudenko (2012), Dynamic "
        "Potential-Based Reward Shaping"
    ),
    check="test_potential_shaping_leaves_the_optimal_policy_unchanged",
    cost="linear in steps",
)
@potential_based
class PotentialShaper:
    """Pays for rising potential, without changing the optimal policy.

    Pays `gamma * potential(after) - potential(before)`; the potential of a terminal state is 0.

    `of` is a function of (game, state, player), or names one as "module:function". The discounted
    sum over an episode is minus the potential of its first state, whatever was played, so no policy
    gains on another (Ng, Harada and Russell, 1999). With `dynamic` the potential may change while
    it is learnt: a state keeps the value it had when it was entered, which preserves the invariance
    (Devlin and Kudenko, 2012). A forfeit and a step limit end an episode too.
    """

    def __init__(
        self,
        *,
        of: Annotated[
            str | Potential,
            Meta(description="a function of (game, state, seat), or its name as module:function"),
        ],
        dynamic: Annotated[
            bool, Meta(description="whether the potential changes while it is learnt")
        ] = False,
        vectorised: Annotated[
            bool,
            Meta(
                description="whether `of` takes an array of states and returns an array of numbers"
            ),
        ] = False,
    ) -> None:
        self._potential: Potential = load_entry_point(of) if isinstance(of, str) else of
        if not callable(self._potential):
            raise InvalidOption(f"a potential is a function of (game, state, player), not {of!r}")
        self._of, self._dynamic, self._vectorised = of, dynamic, vectorised
        self.batched = vectorised and not dynamic
        self.entered: dict[int, float] = {}

    def begin(self) -> PotentialShaper:
        return PotentialShaper(of=self._of, dynamic=self._dynamic, vectorised=self._vectorised)

    def copy(self) -> PotentialShaper:
        twin = self.begin()
        twin.entered = dict(self.entered)
        return twin

    def __call__(self, step: Transition) -> dict[str, float]:
        before = self.entered.get(step.seat) if self._dynamic else None
        if before is None:
            before = self._potential(step.game, step.before, step.seat)
        after = 0.0 if step.over else self._potential(step.game, step.after, step.seat)
        self.entered[step.seat] = after
        if step.over:
            del self.entered[step.seat]  # a person who takes the seat starts from the state's own
        return {"potential": step.gamma * after - before}

    def batch(self, steps: Transitions) -> dict[str, Any]:
        """The same for many lanes; if `vectorised`, with a potential of arrays of states."""
        before = self._potential(steps.game, steps.before, steps.seat)
        after = self._potential(steps.game, steps.after, steps.seat)
        return {"potential": np.where(steps.over, 0.0, steps.gamma * after) - before}
