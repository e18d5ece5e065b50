"""A principal hires experts: they announce payments, the experts find out and report.

In every round one of a few equally likely states is true, and nobody knows which. The principal
announces recommended effort levels and payments for reports; each expert learns their own
recommendation only. Experts choose an effort level, which costs them and which nobody else sees,
then see a private signal that is right more often at a higher level, then report any signal. The
principal reads the reports, decides on a state, and gains `value` if it is the true one. Then the
state is announced, and payments are made as promised, in whole units.

The principal offers one of the proper scoring rules, or the best mechanism found by linear
programming (`Optimal`), which may recommend a lottery over efforts. An expert's costs are known to
that expert and to the principal. Without `known` only the expert knows them, and the principal, who
cannot offer `Optimal`, has to learn.

The game is that of F. Cacciamani, M. Castiglioni and N. Gatti, "Online Information Acquisition:
Hiring Multiple Agents", 2023. Checked: the least payment that makes one
expert work, in closed form; under a proper rule truth is the best report at every signal; under the
linear program's payments no deviation pays, by enumeration; correlating efforts beats every single
profile where luck is shared; the program's optimum agrees with another solver's.

Left out: regret against the best policy, as a curve over rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Annotated, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    Integer,
    InvalidOption,
    Meta,
    OneOf,
    Option,
    Outcome,
    Result,
    Rng,
    Scene,
    Seat,
    Step,
    TextAction,
    TextGame,
    environment,
    only,
)
from palestra.scene import Person, RoundTable

from palestra_markets.chart import chart
from palestra_markets.hiring.information import (
    RULES,
    Information,
    Mechanism,
    joint,
    scoring_mechanism,
)
from palestra_markets.hiring.programme import optimal_mechanism

OFFER, EFFORT, REPORT, DECISION = range(4)
PHASES = ("offer", "effort", "report", "decision")
PRINCIPAL = 0
PAY_STEPS = (10, 20, 30, 40, 60, 100)  # payments in the numbered offers, in percent of `most_paid`
TALENTS = (50, 150)  # an expert's costs are drawn from this range, in percent of `costs`


class Offer(TextAction, frozen=True):
    """Pay by a scoring rule, 0 to `pay` units, and recommend levels, one digit an expert."""

    rule: str
    pay: int
    efforts: str


class Optimal(TextAction, frozen=True):
    """Offer the best mechanism, by linear programming."""


class Exert(TextAction, frozen=True):
    """Choose an effort level."""

    level: int


class Report(TextAction, frozen=True):
    """Report a signal."""

    signal: int


class Decide(TextAction, frozen=True):
    """Decide that this is the state."""

    state: int


@dataclass(slots=True)
class Firm:
    """The state of a game; lists are by expert.

    Signals are drawn before the true state, from their joint distribution.
    """

    rng: Rng
    costs: tuple[tuple[int, ...], ...]  # by expert and level
    phase: int = OFFER
    round: int = 0
    mechanism: Mechanism | None = None  # what is offered in this round
    best: bool = False  # whether that is the best mechanism
    drawn: int = -1  # number of the recommended profile within the mechanism
    efforts: list[int] = field(default_factory=list)
    signals: list[int] = field(default_factory=list)
    reports: list[int] = field(default_factory=list)
    last: tuple[int, int] = (-1, -1)  # decision and true state of the last round
    totals: list[int] = field(default_factory=list)  # earned so far, by seat
    paid: list[int] = field(default_factory=list)  # to each expert so far, which all are told
    history: list[int] = field(default_factory=list)  # the principal's gain in every round
    ended: bool = False


@environment(
    "markets/Hiring-v0",
    family="market",
    tags=("principal-agent", "leader-follower", "hidden-information", "chance"),
    paper=(
        "Cacciamani, Castiglioni and Gatti (2023), Online Information Acquisition: Hiring "
        "Multiple Agents"
    ),
    splits={
        "one-expert": {"num_players": 2},
        "correlated": {"overlap": 0.5},
        "unverified": {"verified": False},
        "unknown": {"known": False, "rounds": 200},
    },
)
@dataclass(frozen=True)
class Hiring(TextGame[Firm]):
    """A principal hires experts, whose effort is hidden, to find out which of a few states is true.

    Numbered actions are, in order: the experts' levels and reports, the principal's decisions,
    `Optimal`, and every scoring rule at several payments for every profile of levels. The principal
    is paid `value` for a right decision (`decision`) less what they pay (`paid`); an expert is paid
    as offered (`paid`) less the cost of their level (`effort`).

    An observation is a float32 vector of 13 + n + 2 k + m m numbers for n effort levels, k experts
    and m states:

        phase (0 offer, 1 effort, 2 report, 3 decision), round, last round, seat (0: the principal)
        value of a right decision, the most that is paid, earned so far
        own recommended level, own level, own signal (-1: none)
        recommended profile's number, last decision, last state (-1: none, or not known)
        own cost of every level (-1: none), reports by expert (-1: none, or not known)
        recommended level by expert (-1: none, or not known)
        an expert's average pay for each report in each state (0: none)
    """

    num_players: Annotated[
        int, Meta(ge=2, le=4, description="the principal and one to three experts")
    ] = 3
    states: Annotated[
        int, Meta(ge=2, le=3, description="number of states, of which one is true")
    ] = 2
    accuracies: Annotated[
        Sequence[Annotated[float, Meta(gt=0, lt=1)]],
        Meta(
            min_length=2,
            max_length=3,
            description="chance that a signal is right at each effort level, rising",
        ),
    ] = (0.5, 0.7, 0.85)
    costs: Annotated[
        Sequence[Annotated[int, Meta(ge=0, le=1_000_000)]],
        Meta(
            min_length=2,
            max_length=3,
            description="cost of each effort level to an average expert, in units, rising from 0",
        ),
    ] = (0, 200, 600)
    overlap: Annotated[
        float, Meta(ge=0, le=1, description="chance that all experts share their luck in a round")
    ] = 0.0
    value: Annotated[
        int, Meta(ge=1, le=1_000_000, description="units the principal gains by a right decision")
    ] = 10_000
    most_paid: Annotated[
        int,
        Meta(ge=1, le=1_000_000, description="most units that one expert can be paid in a round"),
    ] = 10_000
    verified: Annotated[
        bool,
        Meta(
            description="whether reports are scored against the true state; if not, against "
            "another expert's report"
        ),
    ] = True
    known: Annotated[bool, Meta(description="whether the principal knows the experts' costs")] = (
        True
    )
    rounds: Annotated[int, Meta(ge=1, le=100_000, description="rounds in an episode")] = 5

    rules_text = """
        A principal wants to know which state is the case; experts can find out, for a price.

        In every round the principal first offers how they will pay for reports and which effort
        levels they recommend. Each expert then chooses a level, which costs them and which nobody
        else sees, is shown a signal, and reports a signal, true or not. The principal decides on a
        state and gains if they are right. Then the state comes out and everybody is paid as was
        offered. Write one of: Offer(rule='quadratic', pay=2000, efforts='11') to pay by a scoring
        rule from 0 to 2000 units and to recommend level 1 to two experts; with 'flat' everybody is
        paid whatever they report; Optimal() to offer the best mechanism, where you know what effort
        costs the experts; Exert(level=1) to work at a level (experts); Report(signal=0) to report a
        signal (experts); Decide(state=0) to decide (the principal).
    """
    counters = ("totals", "paid")
    order = "phased"
    payoffs = "general"
    perfect_information = False
    reward_terms = ("decision", "paid", "effort")
    action_types = (Offer, Optimal, Exert, Report, Decide)

    def validate(self) -> None:
        self._check_levels()
        if not self.verified and self.num_players == 2:
            raise InvalidOption(
                "verified=False pays one expert by the report of another: num_players must be 3 "
                "or 4, not 2"
            )

    def _check_levels(self) -> None:
        right, costs = self.accuracies, self.costs
        if list(right) != sorted(right):
            raise InvalidOption(f"accuracies must be two or three rising numbers, not {right}")
        if right[0] < 1 / self.states - 1e-9:
            raise InvalidOption(
                f"accuracies must be from 1/{self.states} to below 1 for {self.states} states, "
                f"not {right}"
            )
        if len(costs) != len(right) or costs[0] or list(costs) != sorted(costs):
            raise InvalidOption(
                f"costs must be {len(right)} rising whole numbers from 0, not {costs}"
            )

    # Derived from the options

    @property
    def experts(self) -> int:
        return int(self.num_players) - 1

    @cached_property
    def information(self) -> Information:
        return Information(self.states, self.experts, tuple(self.accuracies), self.overlap)

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        roles = ["principal"] + ["expert"] * self.experts
        return tuple(Seat(name, roles[i], i) for i, name in enumerate(self.players))

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        dearest = self.costs[-1] * TALENTS[1] / 100
        low = max(self.most_paid * self.experts, dearest)
        return (-float(self.rounds * low), float(self.rounds * max(self.value, self.most_paid)))

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Levels, reports, decisions, `Optimal`, then every rule at some pays per profile."""
        exerts = (Exert(level) for level in range(len(self.accuracies)))
        reports = (Report(signal) for signal in range(self.states))
        decisions = (Decide(state) for state in range(self.states))
        pays = sorted({max(1, self.most_paid * percent // 100) for percent in PAY_STEPS})
        names = [profile_digits(profile) for profile in self.information.profiles]
        offers = (Offer(*parts) for parts in product(RULES, pays, names))
        return (*exerts, *reports, *decisions, Optimal(), *offers)

    # The rules

    def initial_state(self, seed: int | None = None) -> Firm:
        rng = Rng.seeded(seed)
        costs = tuple(self._draw_costs(rng) for _ in range(self.experts))
        return Firm(rng, costs, totals=[0] * self.num_players, paid=[0] * self.experts)

    def _draw_costs(self, rng: Rng) -> tuple[int, ...]:
        percent = rng.between(*TALENTS)
        return tuple(cost * percent // 100 for cost in self.costs)

    def to_act(self, state: Firm) -> tuple[int, ...]:
        if state.ended:
            return ()
        if state.phase in (OFFER, DECISION):
            return (PRINCIPAL,)
        return tuple(range(1, self.num_players))

    def legal(self, state: Firm, seat: int) -> Grammar:
        return self._grammars[state.phase]

    @cached_property
    def _grammars(self) -> tuple[Grammar, ...]:
        efforts = tuple(profile_digits(profile) for profile in self.information.profiles)
        offer: dict[str, Any] = {
            "rule": OneOf(RULES),
            "pay": Integer(0, self.most_paid),
            "efforts": OneOf(efforts),
        }
        best = (Option(Optimal),) if self.known else ()
        return (
            Grammar((Option(Offer, offer), *best)),
            Grammar((Option(Exert, {"level": Integer(0, len(self.accuracies) - 1)}),)),
            Grammar((Option(Report, {"signal": Integer(0, self.states - 1)}),)),
            Grammar((Option(Decide, {"state": Integer(0, self.states - 1)}),)),
        )

    def step(self, state: Firm, actions: Mapping[int, Any]) -> Step:
        if state.phase == OFFER:
            return Step(events=self._offer(state, actions[PRINCIPAL]))
        if state.phase == EFFORT:
            return self._work(state, [actions[seat].level for seat in self.to_act(state)])
        if state.phase == REPORT:
            state.reports = [actions[seat].signal for seat in self.to_act(state)]
            state.phase = DECISION
            text = f"The experts report {comma_separated(state.reports)}."
            data = {"reports": list(state.reports)}
            return Step(events=[Event("reports", text, data, only(PRINCIPAL))])
        return self._decide(state, actions[PRINCIPAL].state)

    def mechanism_of(self, action: Any, costs: tuple[tuple[int, ...], ...]) -> Mechanism:
        """The mechanism that an offer represents, for experts with these costs."""
        if isinstance(action, Optimal):
            problem = self.information, costs, self.value, self.most_paid, self.verified
            return optimal_mechanism(*problem)[0]
        profile = tuple(map(int, action.efforts))
        return scoring_mechanism(self.information, profile, action.rule, action.pay, self.verified)

    def _offer(self, state: Firm, action: Any) -> list[Event]:
        """Announce payments to all, and each expert's recommendation to them and the principal."""
        mechanism = state.mechanism = self.mechanism_of(action, state.costs)
        state.drawn, state.phase = state.rng.weighted(mechanism.chances), EFFORT
        profile, state.best = mechanism.profiles[state.drawn], isinstance(action, Optimal)
        if state.best:
            text = f"Round {state.round + 1}: the best mechanism is offered."
        else:
            text = f"Round {state.round + 1}: up to {action.pay} units by the {action.rule} rule."
        profiles = [list(p) for p in mechanism.profiles]
        data = {"profiles": profiles, "chances": list(mechanism.chances)}
        # the best mechanism reveals something about all costs
        kind = "reveal" if state.best else "offer"
        events = [Event(kind, text, data)]
        advice = f"The recommended levels are {comma_separated(profile)}."
        events.append(Event("profile", advice, {"profile": list(profile)}, only(PRINCIPAL)))
        for expert in range(self.experts):
            events.append(self._advice_event(mechanism, expert, profile[expert]))
        return events

    def _advice_event(self, mechanism: Mechanism, expert: int, level: int) -> Event:
        """An expert's recommended level, and what their reports pay them."""
        table = self._average_pay(mechanism, expert, level)
        rows = "; ".join(
            f"report {signal} pays {', '.join(f'{pay:.0f}' for pay in row)}"
            for signal, row in enumerate(table)
        )
        seat = expert + 1
        text = (
            f"{self.players[seat]}, level {level} is recommended to you. If the others do as they "
            f"are told, on average by state: {rows}."
        )
        own = [at for at, p in enumerate(mechanism.profiles) if p[expert] == level]
        data = {
            "level": level,
            "profiles": [list(mechanism.profiles[at]) for at in own],
            "chances": [mechanism.chances[at] for at in own],
            "pays": [mechanism.pays[at][expert].tolist() for at in own],
        }
        return Event("advice", text, data, only(seat))

    def _average_pay(self, mechanism: Mechanism, expert: int, level: int) -> Any:
        """Average pay of an expert advised a level, of shape (reports, states)."""
        m = self.states
        total, weight = np.zeros((m, m)), 0.0
        for profile, chance, pays in zip(
            mechanism.profiles, mechanism.chances, mechanism.pays, strict=True
        ):
            if profile[expert] != level:
                continue
            seen = joint(self.information, profile)
            # the others' signals given the state, whatever this expert reports
            others = seen.sum(expert, keepdims=True) * m
            total += chance * np.moveaxis(others * pays[expert], expert, 0).reshape(m, -1, m).sum(1)
            weight += chance
        return total / weight if weight else total

    def _work(self, state: Firm, levels: Sequence[int]) -> Step:
        """Charge efforts; draw signals and show each to its expert."""
        state.efforts, state.phase = list(levels), REPORT
        seen = joint(self.information, tuple(levels)).sum(-1)
        state.signals = draw_cell(seen, state.rng)
        rewards, events = {}, []
        for expert, level in enumerate(levels):
            seat, cost = expert + 1, state.costs[expert][level]
            state.totals[seat] -= cost
            if cost:
                rewards[seat] = {"effort": -float(cost)}
            signal = state.signals[expert]
            text = f"{self.players[seat]}, you see signal {signal}."
            events.append(Event("signal", text, {"signal": signal, "cost": cost}, only(seat)))
        return Step(rewards, events=events)

    def _decide(self, state: Firm, decision: int) -> Step:
        """Pay as announced, announce the true state, and begin the next round."""
        assert state.mechanism is not None
        likely = joint(self.information, tuple(state.efforts))[tuple(state.signals)]
        truth = state.rng.weighted(likely.tolist())
        cell = (*state.reports, truth)
        paid = [int(table[cell]) for table in state.mechanism.pays[state.drawn]]
        gained = self.value if decision == truth else 0
        rewards = {seat: {"paid": float(pay)} for seat, pay in enumerate(paid, 1) if pay}
        rewards[PRINCIPAL] = {"decision": float(gained), "paid": -float(sum(paid))}
        state.history.append(gained - sum(paid))
        state.paid = [before + pay for before, pay in zip(state.paid, paid, strict=True)]
        for seat, change in enumerate([gained - sum(paid), *paid]):
            state.totals[seat] += change
        state.last = decision, truth
        word = "right" if gained else "wrong"
        text = (
            f"Round {state.round + 1}: the principal decides for state {decision}, which is "
            f"{word}. They pay {comma_separated(paid)}."
        )
        data = {"decision": decision, "state": truth, "paid": paid, "gained": gained}
        self._next_round(state)
        return Step(rewards, events=[Event("reveal", text, data)])

    def _next_round(self, state: Firm) -> None:
        state.round += 1
        state.ended = state.round == self.rounds
        if state.ended:
            return
        state.phase, state.mechanism, state.drawn = OFFER, None, -1
        state.efforts, state.signals, state.reports = [], [], []

    def opening(self, state: Firm) -> Sequence[Event]:
        events = []
        for expert, costs in enumerate(state.costs):
            seat = expert + 1
            text = f"The effort levels cost {self.players[seat]} {comma_separated(costs)} units."
            audience = only(PRINCIPAL, seat) if self.known else only(seat)
            events.append(Event("costs", text, {"expert": seat, "costs": list(costs)}, audience))
        return events

    def outcome(self, state: Firm) -> Outcome | None:
        if not state.ended:
            return None
        score: Result = "score"
        mean = sum(state.history) / len(state.history)
        scores = tuple(map(float, state.totals))
        return Outcome(
            (score,) * self.num_players, scores, f"the principal gains {mean:,.1f} a round"
        )

    def determinize(self, state: Firm, seat: int, rng: Rng) -> Firm:
        """Redraw the others' advice, efforts, signals, costs and gains, if the seat knows them not.

        The principal's gain of every round is public.
        """
        copy = self.clone(state)
        if not self.known or seat != PRINCIPAL:
            copy.costs = tuple(
                own if expert + 1 == seat else self._draw_costs(rng)
                for expert, own in enumerate(state.costs)
            )
        if state.mechanism is not None and seat != PRINCIPAL:
            profiles, own = state.mechanism.profiles, seat - 1
            advised = profiles[state.drawn][own]
            pairs = zip(profiles, state.mechanism.chances, strict=True)
            copy.drawn = rng.weighted([c if p[own] == advised else 0.0 for p, c in pairs])
            if state.best:
                copy.mechanism = self._with_unseen_pay(state.mechanism, own, advised)
        if state.signals and not state.ended:
            copy.efforts = [
                level if expert + 1 == seat else rng.below(len(state.costs[expert]))
                for expert, level in enumerate(state.efforts)
            ]
            if seat != PRINCIPAL:
                copy.reports = [
                    said if expert + 1 == seat else rng.below(self.states)
                    for expert, said in enumerate(state.reports)
                ]
            chances = joint(self.information, tuple(copy.efforts)).sum(-1)
            if seat != PRINCIPAL:
                seen = np.moveaxis(chances, seat - 1, 0)
                seen[[s for s in range(self.states) if s != state.signals[seat - 1]]] = 0
            copy.signals = draw_cell(chances, rng)
        if not state.ended:
            for expert in range(self.experts):
                if expert + 1 != seat:
                    copy.totals[expert + 1] = state.paid[expert] - self._spent(copy, expert, rng)
        return copy

    def _spent(self, state: Firm, expert: int, rng: Rng) -> int:
        """What an expert's efforts have cost, with random levels in the rounds before."""
        costs = state.costs[expert]
        now = costs[state.efforts[expert]] if state.efforts else 0
        return now + sum(rng.choice(costs) for _ in range(state.round))

    def _with_unseen_pay(self, offered: Mechanism, own: int, advised: int) -> Mechanism:
        """A mechanism with the pay that an expert was not shown replaced by that of a rule."""
        pays = []
        for profile, tables in zip(offered.profiles, offered.pays, strict=True):
            rule = self.information, profile, RULES[0], self.most_paid, self.verified
            (plain,) = scoring_mechanism(*rule).pays
            seen = profile[own] == advised
            both = enumerate(zip(tables, plain, strict=True))
            pays.append(
                tuple(true if seen and one == own else other for one, (true, other) in both)
            )
        return Mechanism(offered.profiles, offered.chances, tuple(pays))

    # What a player reads and observes

    def rules_for(self, seat: int) -> str:
        right = ", ".join(f"{q:g}" for q in self.accuracies)
        about = "the state" if self.verified else "the next expert's report"
        luck = (
            f" With chance {self.overlap:g} all experts share their luck." if self.overlap else ""
        )
        return (
            f"{super().rules_for(seat)}\nThere are {self.rounds} rounds and {self.states} equally "
            f"likely states. Signals are right with chance {right} by level.{luck} A right "
            f"decision is worth {self.value} units. Scoring rules score what a report says about "
            f"{about}."
        )

    def describe(self, state: Firm, seat: int) -> str:
        at = min(state.round + 1, self.rounds)
        lines = [
            f"You are {self.players[seat]}, {'the principal' if not seat else 'an expert'}. "
            f"Round {at} of {self.rounds}: {PHASES[state.phase]}.",
            f"You have earned {state.totals[seat]} units so far.",
        ]
        if state.last[0] >= 0:
            lines.append(f"The last decision was {state.last[0]}, the state {state.last[1]}.")
        if seat:
            lines.append(f"The levels cost you {comma_separated(state.costs[seat - 1])}.")
        if state.mechanism is not None and not state.ended:
            lines += self._round_lines(state, seat)
        return "\n".join(lines)

    def _round_lines(self, state: Firm, seat: int) -> list[str]:
        """What a seat knows of this round so far."""
        assert state.mechanism is not None
        profile = state.mechanism.profiles[state.drawn]
        if seat == PRINCIPAL:
            lines = [f"You recommended {comma_separated(profile)}."]
            return lines + (
                [f"Reports: {comma_separated(state.reports)}."] if state.reports else []
            )
        expert = seat - 1
        lines = [self._advice_event(state.mechanism, expert, profile[expert]).text]
        if state.signals:
            lines.append(f"You work at level {state.efforts[expert]}.")
            lines.append(f"Your signal is {state.signals[expert]}.")
        if state.reports:
            lines.append(f"You reported {state.reports[expert]}.")
        return lines

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        size = 13 + len(self.accuracies) + 2 * self.experts + self.states**2
        most = float(max(1e6, *map(abs, self.payoff_bounds)))
        return spaces.Box(-most, most, (size,), np.float32)

    def observe(self, state: Firm, seat: int) -> NDArray[np.float32]:
        expert, k = seat - 1, self.experts
        seen: list[float] = [state.phase, state.round, self.rounds, seat]
        seen += [self.value, self.most_paid, state.totals[seat]]
        offered = state.mechanism is not None and not state.ended
        profile = state.mechanism.profiles[state.drawn] if offered else ()  # type: ignore[union-attr]
        own = seat > 0 and offered
        seen.append(profile[expert] if own else -1)
        seen.append(state.efforts[expert] if own and state.efforts else -1)
        seen.append(state.signals[expert] if own and state.signals else -1)
        seen += [state.drawn if offered and not seat else -1, *state.last]
        seen += state.costs[expert] if seat else [-1] * len(self.accuracies)
        if seat == PRINCIPAL:
            seen += state.reports if offered and state.reports else [-1] * k
            seen += profile if offered else [-1] * k
        else:
            has_reported = own and state.reports
            seen += [state.reports[n] if has_reported and n == expert else -1 for n in range(k)]
            seen += [profile[n] if own and n == expert else -1 for n in range(k)]
        if own:
            table = self._average_pay(state.mechanism, expert, profile[expert])  # type: ignore[arg-type]
        else:
            table = np.zeros((self.states, self.states))
        return np.array([*seen, *table.ravel()], np.float32)

    def scene(self, state: Firm, seat: int | None = None) -> Scene:
        """Everybody with what the viewer knows they earned, and the principal's gain by round."""
        people = []
        hidden = bool(seat is None and state.efforts and not state.ended)
        for one, name in enumerate(self.players):
            role = "expert" if one else "principal"
            told = [f"earned {state.totals[one]:,}"] if seat in (None, one) else []
            if hidden and one:
                told.append(f"level {state.efforts[one - 1]}, signal {state.signals[one - 1]}")
            acting = one in self.to_act(state)
            people.append(Person(name, one, role, "; ".join(told), acting=acting))
        at = min(state.round + 1, self.rounds)
        words = f"Round {at} of {self.rounds}: {PHASES[state.phase]}."
        lines = []
        if state.last[0] >= 0:
            lines.append(f"The last decision was {state.last[0]}, the state {state.last[1]}.")
        gains = np.cumsum(state.history).tolist()
        drawn = chart({"what the principal has gained": gains}, "round", "gain")
        table = RoundTable(tuple(people), words=words)
        return Scene(parts=(table, drawn) if gains else (table,), lines=tuple(lines))


def draw_cell(chances: Any, rng: Rng) -> list[int]:
    """Draw a cell of a table of chances and return its index."""
    cell = rng.weighted(chances.ravel().tolist())
    return [int(place) for place in np.unravel_index(cell, chances.shape)]


def profile_digits(profile: Sequence[int]) -> str:
    """Effort levels, written as one digit per expert."""
    return "".join(map(str, profile))


def comma_separated(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
