"""A desk decides case after case from noisy notes, where evidence and mistakes have prices.

A case is good with a known chance, otherwise bad; which one is hidden. Its first note is free.
The desk may buy more notes, reject the case, or accept it, which costs a fixed sum and shows for
certain whether it is good (an interview, a bed, a review). Rejecting a good case costs far more,
and is revealed at the end of the case. A note's score, 1 to 5, tends to be higher for good cases;
with `bias` the notes of one group of people are sometimes one too low. `theme` gives words and
prices: with `hire` a missed hire costs 40,000, an interview 2,500 and a phone screen 150.

The desk is that of "Bayesian Orchestration of Multi-LLM Agents for Cost-Aware Sequential
Decision-Making", 2025, whose prices these are. Checked: the least expected cost by
dynamic programming, against an enumeration of all policies; the cost of the optimal policy in play.

Left out: the paper's case files; here notes are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    InvalidOption,
    Meta,
    Option,
    Outcome,
    Rng,
    Scene,
    Step,
    TextAction,
    TextGame,
    environment,
)
from palestra.scene import Card, Cards, Lines

from palestra_markets.chart import chart
from palestra_markets.screening.evidence import SCORES, Costs, Evidence, posterior

GROUPS = ("blue", "green")


@dataclass(frozen=True, slots=True)
class Theme:
    """Words and prices of a desk."""

    case: str  # what a case is called
    check: str  # what buying a note is called
    accept: str  # what accepting is called
    good: str  # what is true of a good case
    prices: Costs
    chance: float  # that a case is good
    notes: tuple[str, ...]  # what a note says, by score


THEMES = {
    "hire": Theme(
        "candidate", "phone screen", "interview", "would be a strong hire",
        Costs(150, 2_500, 40_000), 0.10,
        ("Little of what the job asks for, and vague answers.",
         "Some of the skills, no proof of having used them.",
         "Solid on paper, nothing that stands out.",
         "Has done similar work and explains it clearly.",
         "Led exactly such work; every detail convinces."),
    ),
    "triage": Theme(
        "patient", "blood test", "admission", "is seriously ill",
        Costs(200, 3_000, 50_000), 0.08,
        ("All values are normal.", "One value is slightly raised.",
         "Two values are at the edge.", "Clear signs of inflammation.",
         "Several values are far out of range."),
    ),
    "fraud": Theme(
        "payment", "look-up", "manual review", "is a fraud",
        Costs(2, 40, 900), 0.03,
        ("The usual shop, the usual sum.", "A new shop nearby.",
         "An unusual hour and a round sum.", "A new device in another country.",
         "Ten payments in a minute to a shop opened today."),
    ),
}  # fmt: skip


class Check(TextAction, frozen=True):
    """Buy one more note."""


class Accept(TextAction, frozen=True):
    """Accept the case, at its price."""


class Reject(TextAction, frozen=True):
    """Reject the case."""


@dataclass(slots=True)
class ScreeningState:
    """A case under review."""

    rng: Rng
    group: int  # an index of GROUPS
    good: bool  # the hidden truth
    notes: list[int]  # scores so far, from 0
    case: int = 0  # cases decided
    cost: float = 0.0  # of all cases so far
    history: list[float] = field(default_factory=list)  # the cost after every case
    missed: int = 0  # good cases rejected
    ended: bool = False


@environment(
    "markets/Screening-v0",
    family="market",
    tags=("evidence", "costs", "hidden-information", "chance"),
    paper=(
        "Bayesian Orchestration of Multi-LLM Agents for Cost-Aware Sequential Decision-Making "
        "(2025)"
    ),
    splits={
        "hire": {"theme": "hire", "cases": 1000},
        "triage": {"theme": "triage"},
        "fraud": {"theme": "fraud"},
        "biased": {"bias": 0.5},
        "told": {"told": True},
    },
)
@dataclass(frozen=True)
class Screening(TextGame[ScreeningState]):
    """One player accepts or rejects case after case from noisy notes, at the least cost.

    Actions are 0 (buy a note), 1 (accept) and 2 (reject). Every price is paid at once, as a
    negative reward.

    An observation is a float32 vector of 15 numbers:

        case, last case, group, notes bought, notes that can still be bought
        notes so far by score, from the lowest
        chance that a case is good; prices of a note, of accepting, of rejecting a good case; cost
        so far
    """

    theme: Annotated[
        Literal["hire", "triage", "fraud"], Meta(description="words and prices of the cases")
    ] = "hire"
    cases: Annotated[int, Meta(ge=1, le=10_000, description="cases in an episode")] = 20
    checks: Annotated[
        int, Meta(ge=0, le=8, description="most notes that can be bought about a case")
    ] = 4
    clarity: Annotated[
        float,
        Meta(ge=0, le=10, description="log odds of good against bad, from one score to the next"),
    ] = 1.2
    bias: Annotated[
        float,
        Meta(ge=0, le=1, description="chance that a note on the second group is one score too low"),
    ] = 0.0
    chance: Annotated[
        float, Meta(ge=-1, lt=1, description="chance that a case is good; -1: the theme's")
    ] = -1.0
    told: Annotated[bool, Meta(description="whether the rules list how likely each score is")] = (
        False
    )

    rules_text = """
        You decide case after case from notes that may mislead, as cheaply as you can.

        A case is good or bad, and you cannot see which. You may buy more notes about it; then
        accept it, which costs a fixed price whatever it is, or reject it, which costs nothing if it
        was bad and very much if it was good. In your turn write one of: Check() to buy one more
        note; Accept() to accept; Reject() to reject.
    """
    counters = ("cost", "missed")
    order = "sequential"
    payoffs = "general"
    num_players = 1
    perfect_information = False
    reward_terms = ("checks", "accepted", "missed")
    action_types = (Check, Accept, Reject)

    def validate(self) -> None:
        if self.chance != -1 and not 0 < self.chance < 1:
            raise InvalidOption(
                f"chance must be above 0 and below 1, or -1 for the theme's, not {self.chance}"
            )

    # Derived from the options

    @property
    def words(self) -> Theme:
        """Words and prices of the theme."""
        return THEMES[self.theme]

    @property
    def prior(self) -> float:
        """The chance that a case is good."""
        return self.words.chance if self.chance == -1 else self.chance

    @cached_property
    def evidence(self) -> Evidence:
        return Evidence(self.clarity, self.bias)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        prices = self.words.prices
        return (-self.cases * (self.checks * prices.check + prices.miss), 0.0)

    @property
    def menu(self) -> tuple[TextAction, ...]:
        return Check(), Accept(), Reject()

    # The rules

    def initial_state(self, seed: int | None = None) -> ScreeningState:
        state = ScreeningState(Rng.seeded(seed), 0, False, [])
        self._next_case(state)
        return state

    def _next_case(self, state: ScreeningState) -> None:
        state.group = state.rng.below(len(GROUPS))
        state.good = state.rng.random() < self.prior
        state.notes = []
        self._write_note(state)

    def _write_note(self, state: ScreeningState) -> None:
        chances = self.evidence.likelihoods(state.group)[state.good]
        state.notes.append(state.rng.weighted(chances))

    def to_act(self, state: ScreeningState) -> tuple[int, ...]:
        return () if state.ended else (0,)

    def legal(self, state: ScreeningState, seat: int) -> Grammar:
        checks = (Option(Check),) if len(state.notes) <= self.checks else ()
        return Grammar((*checks, Option(Accept), Option(Reject)))

    def step(self, state: ScreeningState, actions: Mapping[int, TextAction]) -> Step:
        prices, action = self.words.prices, actions[0]
        if isinstance(action, Check):
            state.cost += prices.check
            self._write_note(state)
            return Step({0: {"checks": -float(prices.check)}}, events=[self._note(state)])
        accepted = isinstance(action, Accept)
        price = prices.accept if accepted else prices.miss * state.good
        state.cost += price
        state.history.append(state.cost)
        state.missed += state.good and not accepted
        events = [self._verdict(state, accepted, price)]
        state.case += 1
        state.ended = state.case == self.cases
        if not state.ended:
            self._next_case(state)
            events.append(self._note(state))
        term = "accepted" if accepted else "missed"
        return Step({0: {term: -float(price)}} if price else {}, events=events)

    def _verdict(self, state: ScreeningState, accepted: bool, price: float) -> Event:
        """The truth about a case, shown at its end."""
        words = self.words
        decision = "accepted" if accepted else "rejected"
        text = f"{words.case.capitalize()} {state.case + 1} is {decision}. "
        text += f"It {words.good}." if state.good else "It was nothing of the kind."
        data = {
            "group": state.group,
            "good": state.good,
            "accepted": accepted,
            "price": price,
            "notes": len(state.notes),
        }
        return Event("reveal", text, data)

    def _note(self, state: ScreeningState) -> Event:
        """The newest note; a `reveal`, since its score depends on the hidden truth."""
        score = state.notes[-1]
        words = self.words
        what = "First note" if len(state.notes) == 1 else words.check.capitalize()
        text = f"{what} on {words.case} {state.case + 1} ({GROUPS[state.group]}), "
        text += f"{score + 1} of {SCORES}: {words.notes[score]}"
        data = {"score": score, "group": state.group, "case": state.case}
        return Event("reveal", text, data)

    def noop(self, state: ScreeningState, seat: int) -> TextAction:
        return Accept()

    def opening(self, state: ScreeningState) -> Sequence[Event]:
        return [] if state.ended else [self._note(state)]

    def outcome(self, state: ScreeningState) -> Outcome | None:
        if not state.ended:
            return None
        reason = f"{self.cases} cases cost {state.cost:,.0f}, {state.missed} good ones were missed"
        return Outcome(("score",), (-state.cost,), reason)

    def determinize(self, state: ScreeningState, seat: int, rng: Rng) -> ScreeningState:
        """Redraw whether the case is good, with its posterior chance given the notes."""
        copy = self.clone(state)
        if not state.ended:
            likely = posterior(self.prior, state.notes, self.evidence, state.group)
            copy.good = rng.random() < likely
        return copy

    # What a player sees

    def rules_for(self, seat: int) -> str:
        words, prices = self.words, self.words.prices
        lines = [
            super().rules_for(seat),
            f"Here a case is a {words.case}; a good one {words.good}, as {100 * self.prior:g} "
            f"percent are. A {words.check} costs {prices.check:g}; accepting means {words.accept} "
            f"and costs {prices.accept:g}; to reject a good one costs {prices.miss:g}. There are "
            f"{self.cases} cases and at most {self.checks} checks of each.",
        ]
        if self.told:
            for group in range(len(GROUPS) if self.bias else 1):
                whose = f" for {GROUPS[group]}" if self.bias else ""
                bad, good = (
                    ", ".join(f"{100 * chance:.1f}" for chance in chances)
                    for chances in self.evidence.likelihoods(group)
                )
                lines.append(f"Scores of notes in percent{whose}: good {good}; bad {bad}.")
        return "\n".join(lines)

    def describe(self, state: ScreeningState, seat: int) -> str:
        at = min(state.case + 1, self.cases)
        scores = ", ".join(str(score + 1) for score in state.notes)
        left = self.checks + 1 - len(state.notes)
        return (
            f"{self.words.case.capitalize()} {at} of {self.cases}, {GROUPS[state.group]}. Notes: "
            f"{scores} of {SCORES}. You may check {left} more times.\n"
            f"All cases so far cost {state.cost:,.0f}."
        )

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        return spaces.Box(0.0, max(1e6, -self.payoff_bounds[0]), (15,), np.float32)

    def observe(self, state: ScreeningState, seat: int) -> NDArray[np.float32]:
        """The observation vector; the class docstring gives the layout."""
        prices, bought = self.words.prices, len(state.notes) - 1
        seen: list[float] = [state.case, self.cases, state.group, bought, self.checks - bought]
        seen += [state.notes.count(score) for score in range(SCORES)]
        seen += [self.prior, prices.check, prices.accept, prices.miss, state.cost]
        return np.array(seen, np.float32)

    def scene(self, state: ScreeningState, seat: int | None = None) -> Scene:
        """The case with its notes, and the cost of all cases so far."""
        group = GROUPS[state.group]
        face = Card(group, colour=group, label=f"{group} {self.words.case}", sprite="person")
        notes = tuple(Card(f"{score + 1} of {SCORES}", colour="gold", sprite="star")
                      for score in state.notes)  # fmt: skip
        caption = (
            f"{self.words.case.capitalize()} {min(state.case + 1, self.cases)} of {self.cases}"
        )
        lines = [self.words.notes[state.notes[-1]]]
        if seat is None and not state.ended:
            lines.append(f"In truth it is {'good' if state.good else 'bad'}.")
        costs = chart({"what all cases cost so far": state.history}, self.words.case, "cost")
        parts = (Cards(self.words.case, (face,)), Cards("notes", notes), Lines(tuple(lines)), costs)
        return Scene(caption, parts=parts)
