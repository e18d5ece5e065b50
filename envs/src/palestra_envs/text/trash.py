"""Trash: an inverted commons, in which something harmful grows and clearing it costs effort.

Some people share a house. In every round all players name, at once and sealed, how much trash they
clear away; a unit costs one point of effort. If more than `limit` is left the house is given up and
the game ends; otherwise all are paid `home`, and they talk in turn. Then what was left doubles, to
`least` or more. It is the inverse scenario of the "Reproducibility Study of Cooperate or Collapse"
(2025), where a society shares the removal of a harmful resource; the numbers are our own.

Trash follows t' = max(least, 2 (t - sum of what is cleared)). Keeping it just at the limit costs
each player 10 points in every one of 12 rounds, and leaves 60; clearing nearly all at once and
little later costs 36, and leaves 144. A player who does nothing while the others do enough is paid
best, so it is a dilemma. The tests check the least effort, found by dynamic programming, with
shortest paths in networkx.

Checked: runs in closed form; the least effort against shortest paths by networkx; whoever does
nothing while others do enough is paid best.

Left out: the paper's words, which are not published; numbers are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
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
    TextAction,
    TextGame,
    Turn,
    agent,
    check_ranges,
    environment,
    only,
)
from palestra.scene import Person, RoundTable

from palestra_envs.text.sharing import (
    EVERYBODY,
    Pass,
    Say,
    amounts_text,
    proportional_shares,
    talk_grammar,
)

LINES = (
    Say(text="Let us all clear more."),
    Say(text="I will do my fair share."),
    Say(text="Somebody did too little."),
    Say(text="I agree."),
)


class Clear(TextAction, frozen=True):
    """Clear this much trash away."""

    amount: int


@dataclass(slots=True)
class TrashState:
    """The trash there is, what players have cleared, and how far the talk is."""

    rng: Rng
    trash: int
    cleared: list[int]  # so far, by seat
    last: list[int] = field(default_factory=list)  # in the last round, by seat
    round: int = 0  # rounds of clearing played
    spoken: int = 0  # turns of this round's talk
    talking: bool = False
    ended: str = ""  # "kept" or "given up"


@environment(
    "text/Trash-v0",
    family="social",
    tags=("commons", "social-dilemma", "messages", "public-good", "deterministic"),
    paper=(
        "Reproducibility Study of Cooperate or Collapse: Emergence of Sustainable Cooperation "
        "in a Society of LLM Agents (2025)"
    ),
)
@dataclass(frozen=True)
class Trash(Talking, TextGame[TrashState]):
    """Housemates clear away trash that doubles every round; each unit costs effort.

    Numbered actions are Clear(0) to Clear(most), four lines to say, and Pass(). An observation is
    an int32 vector: trash, rounds cleared, whether players talk now, turns of talk, own seat, what
    each player has cleared so far, and what each cleared last. A unit cleared costs 1; a round in
    which the house is kept pays `home`.
    """

    rules_text = """
        You and others share a house in which trash piles up: what is left doubles every round.

        Each round everybody secretly names how much they clear away: write Clear(amount=10). A unit
        costs you one point. If too much is left the house is given up and the game is over;
        otherwise everybody is paid. Then all amounts are told and you talk in turn: write
        Say(text='Let us all clear more.') to everybody, Say(text='Can I trust you?', to='player_2')
        to one player only, or Pass() to say nothing.
    """

    num_players: Annotated[int, Meta(ge=2, le=10, description="number of players")] = 5
    rounds: Annotated[int, Meta(ge=1, le=1000, description="rounds of clearing")] = 12
    start: Annotated[
        int, Meta(ge=1, le=2000, description="trash before the first round, in units")
    ] = 100
    limit: Annotated[
        int, Meta(ge=0, le=1000, description="most trash that may be left after clearing, in units")
    ] = 50
    least: Annotated[
        int,
        Meta(ge=0, le=2000, description="least trash at the start of a later round, in units"),
    ] = 20
    home: Annotated[
        int,
        Meta(
            ge=0,
            le=1000,
            description="points paid to each player for every round in which the house is kept",
        ),
    ] = 15
    talk: Annotated[bool, Meta(description="whether players talk after each clearing")] = True
    utterances: Annotated[
        int, Meta(ge=1, le=1000, description="turns to speak in each talk, all players together")
    ] = 10
    message_limit: Annotated[
        int, Meta(ge=40, le=10_000, description="longest message, in characters")
    ] = 300

    counters = ("cleared",)
    order = "phased"
    payoffs = "general"
    deterministic = True
    reward_terms = ("home", "effort")
    action_types = (Clear, Say, Pass)

    def validate(self) -> None:
        check_ranges(self, (("least", 0, 2 * self.limit),))

    @property
    def most(self) -> int:
        """The most trash there can be."""
        return max(self.start, self.least, 2 * self.limit)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (-float(self.most * self.rounds), float(self.home * self.rounds))

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        return (*(Clear(n) for n in range(self.most + 1)), *LINES, Pass())

    # The rules

    def initial_state(self, seed: int | None = None) -> TrashState:
        return TrashState(Rng.seeded(seed), self.start, [0] * self.num_players)

    def to_act(self, state: TrashState) -> tuple[int, ...]:
        if state.ended:
            return ()
        if state.talking:
            return ((state.round + state.spoken) % self.num_players,)
        return tuple(range(self.num_players))

    def legal(self, state: TrashState, seat: int) -> Grammar:
        if state.talking:
            return talk_grammar(self.players, seat, self.message_limit, LINES)
        return clear_grammar(state.trash)

    def step(self, state: TrashState, actions: Mapping[int, Any]) -> Step:
        if state.talking:
            return Step(events=self._speak(state, actions))
        done = [actions[seat].amount for seat in range(self.num_players)]
        if sum(done) > state.trash:
            done = proportional_shares(done, state.trash)
        state.trash -= sum(done)
        state.last, state.round = done, state.round + 1
        state.cleared = [total + n for total, n in zip(state.cleared, done, strict=True)]
        text = f"Round {state.round}: {amounts_text(self.players, done)}; {state.trash} left."
        events = [Event("clearing", text, {"cleared": list(done), "left": state.trash})]
        paid = {seat: {"effort": -float(n)} for seat, n in enumerate(done) if n}
        if state.trash > self.limit:
            state.ended = "given up"
            text = f"More than {self.limit} are left: the house is given up."
            return Step(paid, events=[*events, Event("end", text)])
        for seat in range(self.num_players):
            paid.setdefault(seat, {})["home"] = float(self.home)
        if self.talk:
            state.talking, state.spoken = True, 0
        else:
            events += self._grow(state)
        return Step(paid, events=events)

    def _speak(self, state: TrashState, actions: Mapping[int, Any]) -> list[Event]:
        ((seat, action),) = actions.items()
        events = []
        if isinstance(action, Say):
            name, audience, verb = self.players[seat], None, "says"
            if action.to != EVERYBODY:
                hearer = self.players.index(action.to)
                audience, verb = only(seat, hearer), f"whispers to {action.to}"
            data = {"player": seat, "to": action.to, "text": action.text}
            text = f"{name} {verb}: {self.quoted(action.text)}"
            events.append(Event("message", text, data, audience))
        state.spoken += 1
        if state.spoken == self.utterances:
            state.talking = False
            events += self._grow(state)
        return events

    def _grow(self, state: TrashState) -> list[Event]:
        if state.round == self.rounds:
            state.ended = "kept"
            return [Event("end", f"The house was kept for all {self.rounds} rounds.")]
        state.trash = self.after_growth(state.trash)
        return [Event("growth", f"Trash grows to {state.trash}.", {"trash": state.trash})]

    def after_growth(self, left: int) -> int:
        """How much trash there is after what was left has grown."""
        return max(self.least, 2 * left)

    def plan(self, trash: int, rounds: int) -> tuple[int, int]:
        """The least that all together must clear to keep the house for this many rounds.

        Returns the amount to clear now and the amount for all rounds.
        """

        @cache
        def effort(trash: int, rounds: int) -> tuple[int, int]:
            """The amount for all rounds, then the amount to clear now."""
            must = max(0, trash - self.limit)
            if rounds == 1:
                return must, must
            choices = range(must, trash + 1)
            return min(
                (n + effort(self.after_growth(trash - n), rounds - 1)[0], n) for n in choices
            )

        whole, now = effort(trash, rounds)
        return now, whole

    def scores(self, state: TrashState) -> tuple[float, ...]:
        kept = state.round - (state.ended == "given up")
        return tuple(float(self.home * kept - n) for n in state.cleared)

    def outcome(self, state: TrashState) -> Outcome | None:
        if not state.ended:
            return None
        reason = f"The house was {state.ended} in round {state.round} of {self.rounds}."
        result: Result = "score"
        return Outcome((result,) * self.num_players, self.scores(state), reason)

    def noop(self, state: TrashState, seat: int) -> TextAction:
        return Pass() if state.talking else Clear(0)

    # What a player sees

    def rules_for(self, seat: int) -> str:
        return (
            f"{super().rules_for(seat)}\nThere are {self.rounds} rounds. More than {self.limit} "
            f"left is too much; otherwise a round pays {self.home}. Trash grows to at least "
            f"{self.least}."
        )

    def describe(self, state: TrashState, seat: int) -> str:
        lines = [
            f"You are {self.players[seat]}. {self._phase(state)} of {self.rounds}.",
            f"There is {state.trash} trash; at most {self.limit} may be left after clearing.",
            f"Cleared so far: {amounts_text(self.players, state.cleared)}.",
        ]
        if state.last:
            lines.append(f"Cleared last: {amounts_text(self.players, state.last)}.")
        if state.talking:
            lines.append(f"Words spoken in this talk: {state.spoken} of {self.utterances}.")
        return "\n".join(lines)

    def _phase(self, state: TrashState) -> str:
        if state.talking:
            return f"Talk after round {state.round}"
        return f"Clearing of round {min(state.round + 1, self.rounds)}"

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        top = max(self.most * self.rounds, self.utterances)
        return spaces.Box(0, top, (5 + 2 * self.num_players,), np.int32)

    def observe(self, state: TrashState, seat: int) -> NDArray[np.int32]:
        """Trash, rounds cleared, talking?, words spoken, own seat, cleared so far, cleared last."""
        last = state.last or [0] * self.num_players
        row = [state.trash, state.round, state.talking, state.spoken, seat, *state.cleared, *last]
        return np.array(row, np.int32)

    def scene(self, state: TrashState, seat: int | None = None) -> Scene:
        """The heap, with everybody around it and what they have cleared."""
        full = float(max(self.most, *state.cleared))
        last = state.last or [0] * self.num_players
        people = tuple(
            Person(name, own, detail=f"{n} (+{now})" if now else str(n), share=n / full)
            for own, (name, n, now) in enumerate(
                zip(self.players, state.cleared, last, strict=True)
            )
        )
        words = f"trash: {state.trash} / {self.most}"
        heap = RoundTable(people, words=words, ground="waste", level=state.trash / self.most)
        return Scene(f"{self._phase(state)} of {self.rounds}.", parts=(heap,))


@lru_cache(maxsize=256)
def clear_grammar(most: int) -> Grammar:
    """Clear any amount up to the most."""
    return Grammar((Option(Clear, {"amount": Integer(0, most)}),))


@agent("tidier")
class Tidier(ScriptedAgent[Trash]):
    """Clears its share of the trash by rule: policy=farsighted|needed|idle.

    Its share is even, rounded up: of what costs least over all rounds, of what must be cleared now,
    or nothing. It says nothing and reads only its own array observation.
    """

    def __init__(
        self,
        *,
        policy: Annotated[
            Literal["farsighted", "needed", "idle"],
            Meta(
                description="the amount of which it clears its share: for all rounds, for this "
                "one, or nothing"
            ),
        ] = "farsighted",
    ) -> None:
        super().__init__(seed=0)  # it uses no randomness
        self._policy = policy

    def choose(self, turn: Turn[Trash]) -> TextAction:
        game = turn.game
        trash, played, talking, *_ = np.asarray(turn.observation).tolist()
        if talking:
            return Pass()
        amount = max(0, trash - game.limit)
        if self._policy == "farsighted":
            amount, _ = game.plan(trash, game.rounds - played)
        return Clear(0 if self._policy == "idle" else -(-amount // game.num_players))
