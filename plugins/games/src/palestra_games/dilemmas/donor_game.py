"""The Donor Game over generations: donations, reputation and cultural selection.

In every round half of the players are donors, each paired at random with one of the others. A
donor gives any share of their resources, and the recipient gets twice as much; donors see the
recipient's last act as a donor, then the earlier act of that act's recipient, and so on. Donors and
recipients change sides every round. After the rounds of a generation the richer half survives; the
others are replaced by newcomers, who read the survivors' strategies and write their own, and
everybody starts with the same resources again. With punishment, a donor may instead spend a share,
and the recipient loses twice as much. After Vallinder and Hughes, "Cultural Evolution of
Cooperation among LLM Agents", 2024. As there, a donor knows of others' acts only the trace of a
recipient, and of others' strategies only those that were handed down; options show more or less.

If everybody always gives the share f, both sides of the population are multiplied by the matrices
((1 - f, 0), (2f, 1)) and ((1, 2f), (0, 1 - f)) in turn: with f = 0 nothing changes, and with f = 1
the side that gave last has nothing, and each player of the other has 3 * 2^(rounds - 1) times the
initial resources.

Checked: totals of equal givers by powers of a matrix, of givers who give everything by hand, and of
a generation by adding up what was given.

Left out: the paper's tests of invasion, and names that state the generation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    Integer,
    Meta,
    Option,
    Outcome,
    Result,
    Rng,
    Scene,
    ScriptedAgent,
    Step,
    Talking,
    Text,
    TextAction,
    TextGame,
    Turn,
    agent,
    environment,
    only,
)
from palestra.scene import Graph, Link, Node

GROWTH = 2  # what a recipient gets, or loses, for every unit a donor gives or spends
UNKNOWN = -101  # in an observation: no such act


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
    """What a donor did: `percent` is negative for a punishment.

    units: what the recipient got, negative if they lost it.
    """

    donor: int
    recipient: int
    percent: int
    round: int
    units: float = 0.0


ShownActs = Literal["trace", "partners", "everybody"]
ShownStrategies = Literal["nobody", "newcomers", "everybody"]


@dataclass(slots=True)
class DonorState:
    """A generation's resources, strategies, pairs and acts, and what was paid before."""

    rng: Rng
    resources: tuple[float, ...]  # units by seat
    strategies: tuple[str, ...]  # by seat; "" before one is written
    newcomers: tuple[int, ...]  # seats that are to write a strategy
    sides: tuple[int, ...] = ()  # seats, one half and then the other, each in ascending order
    pairs: tuple[tuple[int, int], ...] = ()  # donor and recipient; none while strategies are due
    acts: tuple[Act, ...] = ()
    round: int = 0
    generation: int = 0
    paid: tuple[tuple[float, ...], ...] = ()  # of each earlier generation, by seat
    born: tuple[int, ...] = ()  # the generation in which each seat's player came


@environment(
    "games/DonorGame-v0",
    family="social",
    tags=("social-dilemma", "generations", "chance"),
    paper="Vallinder and Hughes (2024), Cultural Evolution of Cooperation among LLM Agents",
)
@dataclass(frozen=True)
class DonorGame(Talking, TextGame[DonorState]):
    """Donors give to strangers whose past acts they see; the richer half survives.

    Newcomers write strategies, then donors give. Numbered actions are the donations from 0 to 100
    percent, the punishments if there are any, and a few strategies. `observe` documents the layout
    of an observation. Everybody is paid their resources at the end of each generation.
    """

    rules_text = """
        You live among others; each generation you can give to those you meet, and are given to.

        First whoever is new writes down a strategy: Write(strategy='I give half to everybody.').
        Then, every round, half of you are donors and each meets one of the others, the recipient. A
        donor writes how many hundredths of their resources they give, such as Donate(percent=40);
        the recipient gets twice what is given. Who gives and who gets changes every round, and so
        do the pairs. At the end of a generation everybody is paid what they have; the richer half
        lives on, the others are replaced by newcomers, and all start again with the same resources.
    """

    num_players: Annotated[
        int, Meta(ge=2, le=50, multiple_of=2, description="number of players, even")
    ] = 12
    rounds: Annotated[int, Meta(ge=1, le=60, description="rounds of a generation")] = 12
    generations: Annotated[int, Meta(ge=1, le=1000, description="number of generations")] = 10
    endowment: Annotated[
        float, Meta(gt=0, le=1e6, description="units with which everybody starts a generation")
    ] = 10.0
    punishment: Annotated[
        bool, Meta(description="whether a donor may spend units to take twice as many")
    ] = False
    trace: Annotated[
        int,
        Meta(
            ge=0,
            le=10,
            description="length of the chain of past acts that a donor sees, "
            "from recipient to recipient",
        ),
    ] = 3
    acts: Annotated[
        ShownActs,
        Meta(
            description="who learns what a donor did: trace, only later donors, through the chain "
            "of past acts (the paper's rule); partners, the recipient too; everybody"
        ),
    ] = "trace"
    strategies: Annotated[
        ShownStrategies,
        Meta(
            description="who reads the strategy that somebody wrote: nobody, so that nothing is "
            "handed down; newcomers, those of the players who lived on (the paper's rule); "
            "everybody, as soon as it is written"
        ),
    ] = "newcomers"
    message_limit: Annotated[
        int, Meta(ge=60, le=100_000, description="most characters of a strategy")
    ] = 600

    order = "phased"
    payoffs = "general"
    deterministic = False
    perfect_information = False
    reward_terms = ("resources",)
    action_types = (Write, Donate, Punish)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        most = self.num_players * self.endowment * GROWTH**self.rounds
        return (0.0, float(self.generations * most))

    @property
    def has_newcomers(self) -> bool:
        return self.generations > 1

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Every donation, every punishment if there is any, and strategies a program may write."""
        shares = range(101)
        harm = tuple(map(Punish, shares)) if self.punishment else ()
        return (*map(Donate, shares), *harm, *LINES)

    # The rules

    def initial_state(self, seed: int | None = None) -> DonorState:
        seats = self.num_players
        rich = (float(self.endowment),) * seats
        return DonorState(
            Rng.seeded(seed),
            rich,
            ("",) * seats,
            tuple(range(seats)),
            born=(0,) * seats,
        )

    def to_act(self, state: DonorState) -> tuple[int, ...]:
        if state.generation >= self.generations:
            return ()
        return state.newcomers or tuple(sorted(donor for donor, _ in state.pairs))

    def legal(self, state: DonorState, seat: int) -> Grammar:
        if state.newcomers:
            return strategy_grammar(self.message_limit)
        return donor_grammar(self.punishment)

    def step(self, state: DonorState, actions: Mapping[int, Any]) -> Step:
        if state.newcomers:
            return Step(events=self._write(state, actions))
        events: list[Event] = []
        for pair in state.pairs:
            events += self._settle(state, pair, actions[pair[0]])
        state.round += 1
        if state.round < self.rounds:
            self._pair(state)
            return Step(events=events)
        earned = {p: {"resources": n} for p, n in enumerate(state.resources) if n}
        return Step(earned, events=[*events, *self._next_generation(state)])

    def _write(self, state: DonorState, actions: Mapping[int, Any]) -> list[Event]:
        written = list(state.strategies)
        for seat, action in actions.items():
            written[seat] = action.strategy
        state.strategies, state.newcomers = tuple(written), ()
        order, half = list(range(self.num_players)), self.num_players // 2
        state.rng.shuffle(order)
        state.sides = (*sorted(order[:half]), *sorted(order[half:]))
        self._pair(state)
        return [
            Event(
                "strategy",
                f"{self.players[seat]} writes: {self.quoted(written[seat])}",
                {"player": seat, "strategy": written[seat]},
                None if self.strategies == "everybody" else only(seat),
            )
            for seat in sorted(actions)
        ]

    def _pair(self, state: DonorState) -> None:
        """The two halves are donors in turn; pairs are drawn at random."""
        half = self.num_players // 2
        donors, others = list(state.sides[:half]), list(state.sides[half:])
        if state.round % 2:
            donors, others = others, donors
        state.rng.shuffle(others)
        state.pairs = tuple(zip(donors, others, strict=True))

    def _settle(
        self, state: DonorState, pair: tuple[int, int], action: Donate | Punish
    ) -> list[Event]:
        donor, recipient = pair
        before = state.resources[recipient]
        has, harm = list(state.resources), isinstance(action, Punish)
        percent = -action.percent if harm else action.percent
        spent = move_units(has, donor, recipient, percent)
        state.resources = tuple(has)
        state.acts += (Act(donor, recipient, percent, state.round, has[recipient] - before),)
        did = "spends" if harm else "gives"
        text = (
            f"{self.players[donor]} {did} {action.percent}%, {spent:.4g} units, "
            f"{'to punish' if harm else 'to'} {self.players[recipient]}."
        )
        data = {"donor": donor, "recipient": recipient, "percent": percent}
        told = {"trace": only(donor), "partners": only(*pair), "everybody": None}[self.acts]
        kind = "reveal" if self.acts == "everybody" else "act"  # nobody knew who meets whom
        return [Event(kind, text, data, told), self._receipt(recipient, before, has[recipient])]

    def _receipt(self, seat: int, before: float, after: float) -> Event:
        """What a recipient learns of an act even if nobody tells them: their own resources."""
        did = "loses" if after < before else "receives"
        text = f"{self.players[seat]} {did} {abs(after - before):.4g} units."
        return Event("reveal", text, {"player": seat, "units": after - before}, only(seat))

    def _next_generation(self, state: DonorState) -> list[Event]:
        """Pay everybody and replace the poorer half; on ties the lower seats survive."""
        has = state.resources
        ranked = sorted(range(self.num_players), key=lambda seat: (-has[seat], seat))
        half = self.num_players // 2
        state.paid += (has,)
        state.generation += 1
        mean = sum(has) / len(has)
        over = f"Generation {state.generation} is over"
        text = f"{over}, with {mean:.4g} units on average."
        told = None if self.acts == "everybody" else only()
        events = [
            Event("reveal", f"{over}.", {"generation": state.generation}),
            Event("generation", text, {"resources": list(has)}, told),
        ]
        if state.generation >= self.generations:
            return events
        state.newcomers = tuple(sorted(ranked[half:]))
        kept = [s if p not in state.newcomers else "" for p, s in enumerate(state.strategies)]
        state.strategies, state.pairs, state.acts, state.round = tuple(kept), (), (), 0
        state.resources = (float(self.endowment),) * self.num_players
        state.born = tuple(
            state.generation if seat in state.newcomers else born
            for seat, born in enumerate(state.born)
        )
        names = ", ".join(self.players[seat] for seat in state.newcomers)
        data = {"players": list(state.newcomers)}
        return [*events, Event("newcomer", f"Replaced by newcomers: {names}.", data)]

    def outcome(self, state: DonorState) -> Outcome | None:
        if self.to_act(state):
            return None
        result: Result = "score"
        totals = tuple(map(sum, zip(*state.paid, strict=True)))
        mean = sum(totals) / self.num_players / self.generations
        reason = f"{mean:.4g} units on average over {self.generations} generations"
        return Outcome((result,) * self.num_players, totals, reason)

    def determinize(self, state: DonorState, seat: int, rng: Rng) -> DonorState:
        """Redraw others' acts, what they have, their strategies, and payments of other lives.

        A strategy is drawn from `LINES`, an act from all that are legal, and what a generation paid
        from nothing to twice the endowment.
        """
        self.refuse_the_end(state)
        copy, seats = self.clone(state), range(self.num_players)
        self._redraw_pairs(copy, seat, rng)
        others = [other for other in seats if other != seat]
        if self.strategies != "everybody":
            written = list(state.strategies)
            for other in others:
                if not self._has_read(state, seat, other):
                    written[other] = rng.choice(LINES).strategy
            copy.strategies = tuple(written)
        known = seats if self.acts == "everybody" else (seat,)  # since the seat's player came
        copy.paid = tuple(
            tuple(
                units
                if other in known and generation >= state.born[seat]
                else rng.between(0, 1000) * 2 * self.endowment / 1000
                for other, units in enumerate(paid)
            )
            for generation, paid in enumerate(state.paid)
        )
        if self.acts != "everybody" and state.round:
            self._redraw_acts(copy, seat, rng)
        return copy

    def _redraw_pairs(self, state: DonorState, seat: int, rng: Rng) -> None:
        """Pair the others anew: donors know who stands across, and recipients if acts are told."""
        if state.newcomers:
            state.sides, state.pairs = (), ()  # drawn once they have written
            return
        across = dict(state.pairs)
        told = {seat} if self.acts == "trace" else {seat, *(d for d in across if across[d] == seat)}
        left = sorted(recipient for donor, recipient in across.items() if donor not in told)
        rng.shuffle(left)
        state.pairs = tuple((d, across[d] if d in told else left.pop()) for d in sorted(across))

    def _has_read(self, state: DonorState, seat: int, author: int) -> bool:
        """Whether a player has read another's strategy: that of whoever was there before."""
        if state.strategies[author] == "":
            return True  # there is none
        return self.strategies == "newcomers" and state.born[author] < state.born[seat]

    def _redraw_acts(self, state: DonorState, seat: int, rng: Rng) -> None:
        """Draw the acts of this generation that a player has not heard of, and settle them all.

        Who was given something knows how much: the donor gives the share of theirs that comes
        nearest to it.
        """
        heard, acts = self.heard_of(state, seat), []
        has = [float(self.endowment)] * self.num_players
        for act in self._paired_anew(state, heard, rng):
            percent = act.percent
            if act not in heard:
                percent = rng.between(-100 if self.punishment else 0, 100)
                if act.recipient == seat:
                    percent = _nearest_percent(act.units / GROWTH, has[act.donor])
            before = has[act.recipient]
            move_units(has, act.donor, act.recipient, percent)
            moved = act.units if act.recipient == seat else has[act.recipient] - before
            has[act.recipient] = before + moved
            acts.append(replace(act, percent=percent, units=moved))
        seen = [seat, *(recipient for donor, recipient in state.pairs if donor == seat)]
        for one in seen:
            has[one] = state.resources[one]
        state.acts, state.resources = tuple(acts), tuple(has)

    def _paired_anew(self, state: DonorState, heard: set[Act], rng: Rng) -> list[Act]:
        """All acts, in every round those that were not heard of with another recipient."""
        acts = list(heard)
        for number in range(state.round):
            others = [act for act in state.acts if act.round == number and act not in heard]
            units = {act.recipient: act.units for act in others}
            left = sorted(units)
            rng.shuffle(left)
            for act, recipient in zip(sorted(others, key=_order), left, strict=True):
                acts.append(replace(act, recipient=recipient, units=units[recipient]))
        return sorted(acts, key=_order)

    def heard_of(self, state: DonorState, seat: int) -> set[Act]:
        """The acts a player knows: their own, those of traces they saw, and with `partners`
        what was done to them."""
        own = [act for act in state.acts if act.donor == seat]
        heard = set(own)
        if self.acts == "partners":
            heard |= {act for act in state.acts if act.recipient == seat}
        for act in own:
            heard |= set(self.history(state, act.recipient, act.round))
        for donor, recipient in state.pairs:
            if donor == seat:
                heard |= set(self.history(state, recipient))
        return heard

    def noop(self, state: DonorState, seat: int) -> TextAction:
        return LINES[-1] if state.newcomers else Donate(0)

    def history(self, state: DonorState, seat: int, before: int | None = None) -> list[Act]:
        """A player's last act as a donor before a round, by default the current one; then the last
        earlier act of its recipient, and so on.

        The result is at most `trace` acts long, and is shorter where the chain begins.
        """
        found: list[Act] = []
        before = state.round if before is None else before
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
                "Instead of giving, a donor may write Punish(percent=10): they spend that share, "
                "and the recipient loses twice as much."
            )
        lines.append(
            f"There are {self.generations} generations of {self.rounds} rounds; everybody starts "
            f"each with {self.endowment:g} units."
        )
        lines += [self._told_of_acts(), self._told_of_strategies()]
        return "\n".join(filter(None, lines))

    def _told_of_acts(self) -> str:
        if self.acts == "everybody":
            return "Everybody sees what every donor does."
        seen = "The recipient sees what a donor does" if self.acts == "partners" else ""
        if not self.trace:
            return f"{seen or 'Nobody sees what a donor does'}; donors learn nothing else."
        chain = (
            "Donors are told what share their recipient gave when they last were a donor, and to "
            "whom; what that player had given when they last were a donor before that; and so on, "
            f"up to {self.trace} steps back."
        )
        return f"{chain} {seen or 'Nobody else sees what a donor does'}."

    def _told_of_strategies(self) -> str:
        if self.strategies == "everybody":
            return "Everybody reads every strategy that is written."
        if self.strategies == "nobody":
            return "Nobody reads another's strategy."
        return "Newcomers read the strategies of those who lived on; nobody else reads them."

    def describe(self, state: DonorState, seat: int) -> str:
        if state.generation >= self.generations:
            return f"All generations are over. You end with {state.resources[seat]:.4g} units."
        lines = [
            f"You are {self.players[seat]}. Generation {state.generation + 1} of "
            f"{self.generations}. You have {state.resources[seat]:.4g} units."
        ]
        if state.newcomers:
            return "\n".join([*lines, *self._models(state, seat)])
        lines.append(f"Your strategy: {self.quoted(state.strategies[seat])}")
        ((donor, recipient),) = (pair for pair in state.pairs if seat in pair)
        lines.append(f"Round {state.round + 1} of {self.rounds}.")
        if seat != donor:
            by = "" if self.acts == "trace" else f" by {self.players[donor]}"
            lines.append(f"You may be given something{by}.")
            return "\n".join(lines)
        name, has = self.players[recipient], state.resources[recipient]
        lines.append(f"You are a donor. Your recipient is {name}, who has {has:.4g} units.")
        lines += map(self._act_sentence, self.history(state, recipient))
        return "\n".join(lines)

    def _models(self, state: DonorState, seat: int) -> list[str]:
        """What a player knows of strategies while newcomers write theirs."""
        if seat not in state.newcomers:
            own = self.quoted(state.strategies[seat])
            return [f"Your strategy: {own}", "Newcomers write theirs."]
        lines = ["You are new: write a strategy."]
        if self.strategies == "nobody":
            return lines
        for other, strategy in enumerate(state.strategies):
            if other not in state.newcomers:
                said = self.quoted(strategy)
                lines.append(f"{self.players[other]}, who lived on, follows: {said}")
        return lines

    def _act_sentence(self, act: Act) -> str:
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

    def observe(self, state: DonorState, seat: int) -> NDArray[np.float32]:
        """Generation, round, writes a strategy?, donor?, recipient's seat, own resources, theirs.

        Then the trace of the recipient: percent given, negative for punishments, -101 for none.
        Players who are not donors see -1 for the recipient's seat and resources.
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

    def action_mask(self, state: DonorState, seat: int) -> NDArray[np.int8]:
        mask = np.ones(len(self.menu), np.int8)
        if seat in self.to_act(state):
            mask[: -len(LINES)] = not state.newcomers
            mask[-len(LINES) :] = bool(state.newcomers)
        return mask

    def scene(self, state: DonorState, seat: int | None = None) -> Scene:
        if seat is None or self.acts == "everybody":
            return self._picture(state, range(self.num_players), state.acts)
        met = [recipient for donor, recipient in state.pairs if donor == seat]
        heard = self.heard_of(state, seat)
        acts = [act for act in state.acts if act in heard]
        return self._picture(state, sorted({seat, *met}), acts)

    def _picture(self, state: DonorState, shown: Sequence[int], acts: Sequence[Act]) -> Scene:
        """The resources of these seats, and arrows for the gifts of the latest of these rounds."""
        latest = max((act.round for act in acts), default=0)
        given = [act for act in acts if act.round == latest]
        drawn = sorted({*shown, *(one for act in given for one in (act.donor, act.recipient))})
        if self.num_players <= ALL_DRAWN:  # who plays is no secret, only what they have
            drawn = list(range(self.num_players))
        place = {one: number for number, one in enumerate(drawn)}
        nodes = tuple(
            Node(str(one), one, f"{state.resources[one]:.4g}" if one in shown else "")
            for one in drawn
        )
        links = tuple(
            Link(
                place[act.donor],
                place[act.recipient],
                f"{act.percent}%",
                "red" if act.percent < 0 else act.donor,
                0.5 + abs(act.percent) / 50,
                directed=True,
            )
            for act in given
        )
        caption = f"Generation {state.generation + 1}, round {state.round + 1}"
        line = f"Gifts of round {latest + 1}, in percent of what donors had" if given else ""
        return Scene(caption, parts=(Graph(nodes, links),), lines=(line,) if line else ())


ALL_DRAWN = 24  # players; of more, a seat's picture has those whom it has heard of


def move_units(has: list[float], donor: int, recipient: int, percent: int) -> float:
    """Give or, for a negative percent, punish, in place; returns what the donor spent."""
    spent = has[donor] * abs(percent) / 100
    has[donor] -= spent
    moved = GROWTH * spent if percent >= 0 else -GROWTH * spent
    has[recipient] = max(0.0, has[recipient] + moved)
    return spent


def _order(act: Act) -> tuple[int, int]:
    return act.round, act.donor


def _nearest_percent(spent: float, of: float) -> int:
    """The hundredths of `of` that come nearest to `spent`, negative if that is taken."""
    return max(-100, min(100, round(100 * spent / of))) if of else 0


@lru_cache(maxsize=64)
def strategy_grammar(limit: int) -> Grammar:
    strategy = Text(limit, tuple(line.strategy for line in LINES))
    return Grammar((Option(Write, {"strategy": strategy}),))


@lru_cache(maxsize=2)
def donor_grammar(punishment: bool) -> Grammar:
    kinds = (Donate, Punish) if punishment else (Donate,)
    return Grammar(tuple(Option(kind, {"percent": Integer(0, 100)}) for kind in kinds))


@agent("donor", needs=("array",))
class Donor(ScriptedAgent[DonorGame]):
    """Gives `percent` to everybody; with `mirror`, what the recipient gave last, if anything."""

    def __init__(
        self,
        *,
        percent: Annotated[
            int, Meta(ge=0, le=100, description="hundredths of its resources it gives")
        ] = 50,
        mirror: Annotated[
            bool, Meta(description="whether it gives what the recipient last gave")
        ] = False,
    ) -> None:
        super().__init__()
        self._percent, self._mirror = percent, mirror

    def choose(self, turn: Turn[DonorGame]) -> TextAction:
        seen = np.asarray(turn.observation)
        if seen[2]:
            how = "at first, then what the recipient last gave" if self._mirror else "to everybody"
            return Write(f"I give {self._percent}% {how}.")
        if self._mirror and len(seen) > 7 and seen[7] != UNKNOWN:
            return Donate(max(0, int(seen[7])))
        return Donate(self._percent)
