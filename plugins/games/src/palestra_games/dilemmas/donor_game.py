"""The Donor Game over generations: give to strangers, be judged by what you gave, be imitated.

In every round half of the players are donors, each paired at random with one of the others. A
donor gives any share of his resources, and his recipient gets twice as much; he sees what the
recipient did when he was last a donor, what that one's recipient had done before, and so on.
Donors and recipients change sides every round. After the rounds of a generation the richer half
survives; the others are replaced by newcomers, who read the survivors' strategies and write their
own, and everybody starts with the same resources again. With punishment, a donor may instead
spend a share, and the recipient loses twice as much. After Vallinder and Hughes, "Cultural
Evolution of Cooperation among LLM Agents", 2024. There, only the trace of a recipient is told; here
all acts are public, and the trace is what the text view puts before a donor.

If everybody always gives the share f, both sides of the population are multiplied by the matrices
((1 - f, 0), (2f, 1)) and ((1, 2f), (0, 1 - f)) in turn: with f = 0 nothing changes, and with f = 1
the side that gave last has nothing and the other 3 * 2^(rounds - 1) times what each started with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Agent,
    Bar,
    Decision,
    Event,
    Grammar,
    Integer,
    InvalidOption,
    Option,
    Outcome,
    Result,
    Rng,
    Scene,
    Step,
    Text,
    TextAction,
    TextGame,
    Turn,
    agent,
    environment,
)

GROWTH = 2  # what a recipient gets, or loses, for every unit a donor gives or spends
UNKNOWN = -101  # in the array view: no such act


class Write(TextAction, frozen=True):
    """Write down the strategy you will follow."""

    strategy: str


class Donate(TextAction, frozen=True):
    """Give this many hundredths of what you have."""

    percent: int


class Punish(TextAction, frozen=True):
    """Spend this many hundredths of what you have; the recipient loses twice that."""

    percent: int


LINES = (
    Write("I give half of what I have to everybody."),
    Write("I give to those who gave to others."),
    Write("I keep what I have."),
)


@dataclass(frozen=True, slots=True)
class Act:
    """What a donor did: `percent` is negative for a punishment."""

    donor: int
    recipient: int
    percent: int
    round: int


@dataclass(slots=True)
class Society:
    """The state: a generation's resources, strategies, pairs and acts, and what was paid before."""

    rng: Rng
    resources: tuple[float, ...]
    strategies: tuple[str, ...]
    newcomers: tuple[int, ...]
    sides: tuple[int, ...] = ()  # seats in the order in which they were split into two halves
    pairs: tuple[tuple[int, int], ...] = ()  # donor and recipient; none while strategies are due
    acts: tuple[Act, ...] = ()
    round: int = 0
    generation: int = 0
    paid: tuple[float, ...] = ()


@environment(
    "games/DonorGame-v0",
    family="social",
    tags=("social-dilemma", "generations", "chance"),
    paper="Vallinder and Hughes (2024), Cultural Evolution of Cooperation among LLM Agents",
    players=(2, 50),
)
@dataclass(frozen=True)
class DonorGame(TextGame[Society]):
    """You live among others; each generation you can give to those you meet, and are given to.

    First whoever is new writes down a strategy: Write(strategy='I give half to everybody.'). Then,
    every round, half of you are donors and each meets one of the others, the recipient. A donor
    writes how many hundredths of his resources he gives, such as Donate(percent=40); the
    recipient gets twice what is given. Who gives and who gets changes every round, and so do the
    pairs. At the end of a generation everybody is paid what he has; the richer half
    lives on, the others are replaced by newcomers who read the strategies of those who lived on,
    and all start again with the same resources.
    """

    num_players: int = 12
    rounds: int = 12
    generations: int = 10
    endowment: float = 10.0
    punishment: bool = False
    trace: int = 3
    message_limit: int = 600

    order = "phased"
    payoffs = "general"
    deterministic = False
    reward_terms = ("resources",)
    action_types = (Write, Donate, Punish)

    def __post_init__(self) -> None:
        if not 2 <= self.num_players <= 50 or self.num_players % 2:
            raise InvalidOption(
                f"num_players must be an even number from 2 to 50, not {self.num_players}"
            )
        if not 1 <= self.rounds <= 60 or not 1 <= self.generations <= 1000:
            raise InvalidOption("rounds must be from 1 to 60 and generations from 1 to 1000")
        if not 0 < self.endowment <= 1e6:
            raise InvalidOption(f"endowment must be above 0, at most a million: {self.endowment}")
        if not 0 <= self.trace <= 10 or self.message_limit < 60:
            raise InvalidOption("trace must be from 0 to 10 and message_limit at least 60")

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        most = self.num_players * self.endowment * GROWTH**self.rounds
        return (0.0, float(self.generations * most))

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Every donation, every punishment if there is any, and strategies a program may write."""
        shares = range(101)
        harm = tuple(map(Punish, shares)) if self.punishment else ()
        return (*map(Donate, shares), *harm, *LINES)

    # The rules

    def initial_state(self, seed: int | None = None) -> Society:
        seats = self.num_players
        rich = (float(self.endowment),) * seats
        return Society(
            Rng.seeded(seed), rich, ("",) * seats, tuple(range(seats)), paid=(0.0,) * seats
        )

    def to_act(self, state: Society) -> tuple[int, ...]:
        if state.generation >= self.generations:
            return ()
        return state.newcomers or tuple(sorted(donor for donor, _ in state.pairs))

    def legal(self, state: Society, seat: int) -> Grammar:
        if state.newcomers:
            return strategy_grammar(self.message_limit)
        return donor_grammar(self.punishment)

    def step(self, state: Society, actions: Mapping[int, Any]) -> Step:
        if state.newcomers:
            return Step(events=self._write(state, actions))
        events = [self._settle(state, pair, actions[pair[0]]) for pair in state.pairs]
        state.round += 1
        if state.round < self.rounds:
            self._pair(state)
            return Step(events=events)
        earned = {p: {"resources": n} for p, n in enumerate(state.resources) if n}
        return Step(earned, events=[*events, *self._succeed(state)])

    def _write(self, state: Society, actions: Mapping[int, Any]) -> list[Event]:
        written = list(state.strategies)
        for seat, action in actions.items():
            written[seat] = action.strategy
        state.strategies, state.newcomers = tuple(written), ()
        order = list(range(self.num_players))
        state.rng.shuffle(order)
        state.sides = tuple(order)
        self._pair(state)
        return [
            Event(
                "strategy",
                f"{self.players[seat]} writes: {written[seat]}",
                {"player": seat, "strategy": written[seat]},
            )
            for seat in sorted(actions)
        ]

    def _pair(self, state: Society) -> None:
        """Donors are the one half and the other in turn; who meets whom is drawn."""
        half = self.num_players // 2
        donors, others = list(state.sides[:half]), list(state.sides[half:])
        if state.round % 2:
            donors, others = others, donors
        state.rng.shuffle(others)
        state.pairs = tuple(zip(donors, others, strict=True))

    def _settle(self, state: Society, pair: tuple[int, int], action: Any) -> Event:
        donor, recipient = pair
        has = list(state.resources)
        spent = has[donor] * action.percent / 100
        harm = isinstance(action, Punish)
        has[donor] -= spent
        moved = GROWTH * spent
        has[recipient] = max(0.0, has[recipient] - moved) if harm else has[recipient] + moved
        state.resources = tuple(has)
        percent = -action.percent if harm else action.percent
        state.acts += (Act(donor, recipient, percent, state.round),)
        did = "spends" if harm else "gives"
        text = (
            f"{self.players[donor]} {did} {action.percent}%, {spent:.4g} units, "
            f"{'to punish' if harm else 'to'} {self.players[recipient]}."
        )
        return Event("act", text, {"donor": donor, "recipient": recipient, "percent": percent})

    def _succeed(self, state: Society) -> list[Event]:
        """Pay, and replace the poorer half; of equals the lower seats live on."""
        has = state.resources
        ranked = sorted(range(self.num_players), key=lambda seat: (-has[seat], seat))
        half = self.num_players // 2
        state.paid = tuple(a + b for a, b in zip(state.paid, has, strict=True))
        state.generation += 1
        mean = sum(has) / len(has)
        text = f"Generation {state.generation} is over, with {mean:.4g} units on average."
        events = [Event("generation", text, {"resources": list(has)})]
        if state.generation >= self.generations:
            return events
        state.newcomers = tuple(sorted(ranked[half:]))
        kept = [s if p not in state.newcomers else "" for p, s in enumerate(state.strategies)]
        state.strategies, state.pairs, state.acts, state.round = tuple(kept), (), (), 0
        state.resources = (float(self.endowment),) * self.num_players
        names = ", ".join(self.players[seat] for seat in state.newcomers)
        events.append(Event("newcomers", f"Replaced by newcomers: {names}."))
        return events

    def outcome(self, state: Society) -> Outcome | None:
        if self.to_act(state):
            return None
        result: Result = "score"
        mean = sum(state.paid) / self.num_players / self.generations
        reason = f"{mean:.4g} units on average over {self.generations} generations"
        return Outcome((result,) * self.num_players, state.paid, reason)

    def noop(self, state: Society, seat: int) -> TextAction:
        return LINES[-1] if state.newcomers else Donate(0)

    def history(self, state: Society, seat: int) -> list[Act]:
        """What a player last did as a donor, then what his recipient had last done before, …"""
        found: list[Act] = []
        before = state.round
        while len(found) < self.trace:
            acts = [a for a in state.acts if a.donor == seat and a.round < before]
            if not acts:
                break
            found.append(acts[-1])
            seat, before = acts[-1].recipient, acts[-1].round
        return found

    # What a player sees

    def rules_for(self, seat: int) -> str:
        lines = [super().rules_for(seat)]
        if self.punishment:
            lines.append(
                "Instead of giving, a donor may write Punish(percent=10): he spends that share, "
                "and the recipient loses twice as much."
            )
        lines.append(
            f"There are {self.generations} generations of {self.rounds} rounds; everybody starts "
            f"each with {self.endowment:g} units."
        )
        return "\n".join(lines)

    def describe(self, state: Society, seat: int) -> str:
        if state.generation >= self.generations:
            return f"All generations are over. You were paid {state.paid[seat]:.4g} in all."
        lines = [
            f"You are {self.players[seat]}. Generation {state.generation + 1} of "
            f"{self.generations}. You have {state.resources[seat]:.4g} units."
        ]
        if state.newcomers:
            return "\n".join([*lines, *self._models(state, seat)])
        lines.append(f"Your strategy: {state.strategies[seat]}")
        ((donor, recipient),) = (pair for pair in state.pairs if seat in pair)
        lines.append(f"Round {state.round + 1} of {self.rounds}.")
        if seat != donor:
            lines.append(f"You may be given something by {self.players[donor]}.")
            return "\n".join(lines)
        name, has = self.players[recipient], state.resources[recipient]
        lines.append(f"You are a donor. Your recipient is {name}, who has {has:.4g} units.")
        lines += map(self._told, self.history(state, recipient))
        return "\n".join(lines)

    def _models(self, state: Society, player: int) -> list[str]:
        if player not in state.newcomers:
            return [f"Your strategy: {state.strategies[player]}", "Newcomers write theirs."]
        lines = ["You are new: write a strategy."]
        for seat, strategy in enumerate(state.strategies):
            if seat not in state.newcomers:
                lines.append(f"{self.players[seat]}, who lived on, follows: {strategy}")
        return lines

    def _told(self, act: Act) -> str:
        did = "gave" if act.percent >= 0 else "punished with"
        donor, recipient = self.players[act.donor], self.players[act.recipient]
        return f"In round {act.round + 1} {donor} {did} {abs(act.percent)}%, to {recipient}."

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        top = self.num_players * self.endowment * float(GROWTH**self.rounds)
        most = max(top, float(self.generations), float(self.num_players), 100.0)
        return spaces.Box(float(UNKNOWN), most, (7 + self.trace,), np.float32)

    def observe(self, state: Society, seat: int) -> NDArray[np.float32]:
        """Generation, round, writes a strategy?, donor?, recipient's seat, own and his resources.

        Then the trace of the recipient: percent given, negative for punishments, -101 for none.
        Who is no donor sees -1 for the recipient's seat and resources.
        """
        seen = np.full(7 + self.trace, UNKNOWN, np.float32)
        seen[:7] = state.generation, state.round, seat in state.newcomers, 0, -1, 0, -1
        seen[5] = state.resources[seat]
        for donor, recipient in state.pairs if self.to_act(state) else ():
            if donor == seat:
                seen[3:5], seen[6] = (1, recipient), state.resources[recipient]
                for place, act in enumerate(self.history(state, recipient)):
                    seen[7 + place] = act.percent
        return seen

    def action_mask(self, state: Society, seat: int) -> NDArray[np.int8]:
        mask = np.ones(len(self.menu), np.int8)
        if seat in self.to_act(state):
            mask[: -len(LINES)] = not state.newcomers
            mask[-len(LINES) :] = bool(state.newcomers)
        return mask

    def scene(self, state: Society, player: int | None = None) -> Scene:
        full = max(self.endowment, *state.resources)
        bars = tuple(
            Bar(name, has, full, seat)
            for seat, (name, has) in enumerate(zip(self.players, state.resources, strict=True))
        )
        line = f"Generation {state.generation + 1}, round {state.round + 1}"
        acts = [self._told(act) for act in state.acts[-self.num_players // 2 :]]
        return Scene(bars=bars, lines=(line, *acts))


@lru_cache(maxsize=64)
def strategy_grammar(limit: int) -> Grammar:
    said = Text(limit, tuple(line.strategy for line in LINES))
    return Grammar((Option(Write, {"strategy": said}),))


@lru_cache(maxsize=2)
def donor_grammar(punishment: bool) -> Grammar:
    kinds = (Donate, Punish) if punishment else (Donate,)
    return Grammar(tuple(Option(kind, {"percent": Integer(0, 100)}) for kind in kinds))


@agent(
    "donor",
    plays=("games/DonorGame-v0",),
    needs=("array",),
    summary="Gives percent of what it has, or with mirror=true what the recipient last gave.",
)
class Donor(Agent):
    """Gives `percent` to everybody; with `mirror`, what the recipient last gave if he ever did."""

    def __init__(self, *, percent: int = 50, mirror: bool = False) -> None:
        if not 0 <= percent <= 100:
            raise InvalidOption(f"donor: percent must be from 0 to 100, not {percent}")
        self._percent, self._mirror = percent, mirror

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> TextAction:
        if not isinstance(turn.game, DonorGame):
            raise InvalidOption(f"the donor plays games/DonorGame-v0, not {turn.env}")
        seen = np.asarray(turn.observation)
        if seen[2]:
            how = "at first, then what the recipient last gave" if self._mirror else "to everybody"
            return Write(f"I give {self._percent}% {how}.")
        if self._mirror and len(seen) > 7 and seen[7] != UNKNOWN:
            return Donate(max(0, int(seen[7])))
        return Donate(self._percent)
