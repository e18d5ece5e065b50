"""Reference groups and governments for `markets/Population-v0`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated

import numpy as np
from palestra import InvalidOption, Meta, ScriptedAgent, TextAction, Turn, agent

from palestra_markets.population.population import GOVERNMENT, Policy, Population, Stay


class TownAgent(ScriptedAgent[Population]):
    """Decides from its seat and the share of all people who are infectious."""

    def choose(self, turn: Turn[Population]) -> TextAction:
        infectious = float(np.asarray(turn.observation)[6])
        return self.decide(turn.seat, infectious)

    @abstractmethod
    def decide(self, seat: int, infectious: float) -> TextAction:
        """An action; `infectious` is a share of all people."""


@agent("cautious-group", needs=("array",))
class CautiousGroup(TownAgent):
    """A group that stays at home in proportion to the share of people who are infectious.

    At most 95 percent of it stay at home.
    """

    def __init__(
        self,
        fear: Annotated[
            float,
            Meta(
                ge=0,
                le=1000,
                description="percentage points more that stay at home per "
                "percentage point infectious",
            ),
        ] = 15.0,
    ) -> None:
        super().__init__()
        self._fear = fear

    def decide(self, seat: int, infectious: float) -> TextAction:
        if seat == GOVERNMENT:
            raise InvalidOption(
                "cautious-group can take only a group's seat; seat 0 is the government's"
            )
        return Stay(min(95, round(self._fear * 100 * infectious)))


@agent("threshold-government", needs=("array",))
class ThresholdGovernment(TownAgent):
    """A government that closes workplaces and pays a stimulus while many people are infectious.

    With closed=0 and stimulus=0 it does nothing.
    """

    def __init__(
        self,
        threshold: Annotated[
            float, Meta(ge=0, le=100, description="percent infectious above which it acts")
        ] = 2.0,
        closed: Annotated[
            int, Meta(ge=0, le=100, description="percent of workplaces it closes")
        ] = 60,
        stimulus: Annotated[
            int, Meta(ge=0, le=1000, description="dollars a week it pays to adults out of work")
        ] = 300,
    ) -> None:
        super().__init__()
        self._threshold, self._answer = threshold, Policy(stimulus, closed)

    def decide(self, seat: int, infectious: float) -> TextAction:
        if seat != GOVERNMENT:
            raise InvalidOption(
                "threshold-government can take only seat 0, the government's; seat groups as "
                "'cautious-group'"
            )
        return self._answer if 100 * infectious > self._threshold else Policy(0, 0)
