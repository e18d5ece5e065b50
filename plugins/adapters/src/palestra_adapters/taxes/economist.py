"""LLM Economist: a model as every worker and as the planner, who learn from their own records.

S. Karten et al., "LLM Economist: Large Population Models and Mechanism Design in Multi-Agent
Generative Simulacra", 2025. Nobody is trained: a worker reads the hours it has worked and what they
were worth, and a planner the rates it has set and the mean utility of those years, with the best so
far named; both write a thought and their next choice. With elections, workers read what each
winner's years were worth to themselves before they speak and vote.

A seat reads only what its own transcript has. The wording is this package's own.

Left out: personas from census data: a persona is a clause; updates of the planner by reinforcement
learning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from palestra import Decision, Event, Meta, Turn, agent
from palestra.records.record import EventRecord

from palestra_adapters.adapter import Adapter, legal_move, rules_of, split_thought
from palestra_adapters.texts import join_lines
from palestra_adapters.thinking import Thinking

PHASES = ("speeches", "votes", "rates", "work")  # by the first number of an observation
ASKS = {
    "rates": (
        "You set the rates. Years so far:\n{years}\n{best}Rates that are tried teach you most "
        "while years are left; then use the best. Write a thought, and on the last line your move: "
        "Rates(b1=…, …, b7=…) or Shift(bracket=…, by=…)."
    ),
    "work": (
        "Your last steps of work:\n{steps}\n{best}Write a thought, and on the last line your move: "
        "Work(hours=…)."
    ),
    "speeches": (
        "Years so far, and what a step of them was worth to you:\n{own}\nAn election comes. Say to "
        "all how you would tax: a thought, and on the last line your move: Speak(text='…')."
    ),
    "votes": (
        "Years so far, and what a step of them was worth to you:\n{own}\nThe speeches:\n"
        "{speeches}\nVote: a thought, and on the last line your move: Vote(player='…')."
    ),
}


@dataclass(slots=True)
class TaxYear:
    """A year as one seat saw it."""

    number: int
    rates: tuple[int, ...]
    winner: str = ""  # who was elected to set the rates
    welfare: list[float] = field(default_factory=list)  # mean utility, by step
    slips: list[Event | EventRecord] = field(default_factory=list)  # of the seat, by step

    @property
    def mean(self) -> float:
        return sum(self.welfare) / len(self.welfare)

    @property
    def own(self) -> float:
        """The seat's own mean utility of a step; nan for the planner."""
        values = [float(slip.data["utility"]) for slip in self.slips]
        return sum(values) / len(values) if values else float("nan")


def tax_years(transcript: Sequence[Event | EventRecord], players: Sequence[str]) -> list[TaxYear]:
    """The years of a seat's transcript; the last one may have no step yet."""
    years: list[TaxYear] = []
    winner = ""
    for event in transcript:
        if event.kind == "elected":
            winner = players[event.data["player"]]
        elif event.kind == "rates":
            years.append(TaxYear(len(years) + 1, tuple(event.data["rates"]), winner))
        elif event.kind == "slip" and years:
            years[-1].slips.append(event)
        elif event.kind == "reveal" and event.data and years:
            years[-1].welfare.append(float(event.data["welfare"]))
    return years


@agent(
    "economist",
    kind="llm",
    needs=("array",),
    plays=("markets/TaxEconomy-v0",),
    summary="A worker or the planner of a tax economy, who learns from its own record in context.",
    paper=(
        "LLM Economist: Large Population Models and Mechanism Design in Multi-Agent Generative "
        "Simulacra (2025)"
    ),
)
class Economist(Adapter):
    """Plays any seat; a prompt lists the last `memory` years or steps and, with `best`, the best.

    Facts of a decision: `phase` (rates, work, speeches or votes) and `shown`, the number of years
    or steps that the prompt listed.
    """

    def __init__(
        self,
        *,
        memory: Annotated[int, Meta(ge=0, le=1000, description="years or steps shown")] = 10,
        best: Annotated[bool, Meta(description="whether the best one so far is named")] = True,
        **settings: Any,
    ) -> None:
        settings.setdefault("max_tokens", 256)
        super().__init__(**settings)
        self._memory, self._best = memory, best

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        phase = _phase(turn)
        years = tax_years(turn.transcript, turn.game.players)
        asked, shown = self._question(turn, phase, years)
        refused = f"That was refused: {turn.error}\n" if turn.error else ""
        rules = rules_of(turn, advice)
        text = f"{refused}{turn.position}\n\n{asked}"
        (reply,) = yield [self.ask(self.single(rules, text))]
        more, said = split_thought(reply)
        last = said.splitlines()[-1].strip() if said else ""
        thought = join_lines(more, "\n".join(said.splitlines()[:-1]))
        facts = {"phase": phase, "shown": shown}
        move = legal_move(turn, last) or last
        return Decision(text=move, thought=thought, model=reply.model, facts=facts)

    def _question(self, turn: Turn, phase: str, years: Sequence[TaxYear]) -> tuple[str, int]:
        """The question of a phase, and how many years or steps it lists."""
        done = [year for year in years if year.welfare]
        if phase == "work":
            return self._work(years)
        kept = done[len(done) - self._memory :] if self._memory < len(done) else done
        if phase == "rates":
            best = max(done, key=lambda year: year.mean, default=None)
            named = f"The best was {_year_text(best)}\n" if best and self._best else ""
            listed = "\n".join(map(_year_text, kept)) or "none"
            return ASKS["rates"].format(years=listed, best=named), len(kept)
        own = "\n".join(map(_own_text, kept)) or "none"
        since = [event for event in turn.transcript if event.kind in ("speech", "rates")]
        starts = [place for place, event in enumerate(since) if event.kind == "rates"]
        heard = since[starts[-1] + 1 :] if starts else since
        speeches = "\n".join(event.text for event in heard) or "none"
        return ASKS[phase].format(own=own, speeches=speeches), len(kept)

    def _work(self, years: Sequence[TaxYear]) -> tuple[str, int]:
        """A worker's steps, and the best of those under the rates in force."""
        steps = [(year, slip) for year in years for slip in year.slips]
        kept = steps[len(steps) - self._memory :] if self._memory < len(steps) else steps
        same = [slip for year, slip in steps if year.rates == years[-1].rates]
        best = max(same, key=lambda slip: float(slip.data["utility"]), default=None)
        named = (
            f"Under these rates your best step was: {best.text}\n" if best and self._best else ""
        )
        listed = "\n".join(f"Year {year.number}: {slip.text}" for year, slip in kept) or "none"
        return ASKS["work"].format(steps=listed, best=named), len(kept)


def _phase(turn: Turn) -> str:
    """The phase, which is the first number of an observation."""
    return PHASES[int(np.asarray(turn.observation)[0])]


def _rates_text(year: TaxYear) -> str:
    winner = f" set by {year.winner}" if year.winner else ""
    return f"year {year.number}, rates {', '.join(map(str, year.rates))} percent{winner}"


def _year_text(year: TaxYear) -> str:
    return f"{_rates_text(year)}: mean utility {year.mean:.4f}"


def _own_text(year: TaxYear) -> str:
    return f"{_rates_text(year)}: {year.own:.4f}"
