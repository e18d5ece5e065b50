"""Stackelberg stages: two players take turns in a matrix game, and somebody says who leads.

In every stage the leader moves first, the follower sees the move and answers, and both are paid as
a table says. Leading is worth more in some tables and less in others, so who leads decides who
gets what. A third player may be the mediator who names the leader of every stage and is paid by
how much the smaller of both totals grows. With two players a rule names the leader. The setting is
that of "Emergence of Fair Leaders via Mediators in Multi-Agent Reinforcement Learning"; leading and
following is due to H. von Stackelberg, "Marktform und Gleichgewicht", 1934.

Checked: in the linear duopoly p = a - q1 - q2 without costs the leader earns a²/8 and
the follower a²/16, where Cournot's two firms earn a²/9 each; the leader's payoffs in chicken and in
the battle of the sexes; and alternation, which gives both the same there.

An observation is a float32 vector of 2n + 13 numbers for n moves, the same for every seat but for
the first three:

    own seat                               one of three, the mediator last
    what is to be done                     one of three: name a leader, lead, follow
    who leads                              one of two, zero before the first is named
    moves of this stage, or of the last    one of n each, zero before
    totals, stages led                     of both players
    stages played

Left out: the paper's grid worlds; other indices of fairness than the smaller total.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    ArrayState,
    Bar,
    Channel,
    Event,
    Meta,
    Outcome,
    Scene,
    Shape,
    constant,
    environment,
)
from palestra.rules import finish, randint, turn_to

from palestra_games.dilemmas.outcomes import score_outcome
from palestra_games.dilemmas.payoff_tables import (
    Cells,
    MoveNames,
    PayoffTable,
    latest_payoff,
)

MEDIATE, LEAD, FOLLOW = 0, 1, 2
Rule = Literal["fair", "alternate", "random", "first"]
RULES: tuple[Rule, ...] = get_args(Rule)
FAIR, ALTERNATE, RANDOM, FIRST = range(4)
MEDIATOR = 2  # the seat
NOBODY = -1


class StagesState(ArrayState):
    """The stage that is played and what has been paid; arrays are by seat."""

    phase: Annotated[int, np.int32]  # MEDIATE, LEAD or FOLLOW
    leader: Annotated[int, np.int32]  # the seat; -1 before one is named
    last: Annotated[NDArray[np.int32], Shape(2)]  # moves of this stage or of the last; -1 for none
    totals: Annotated[NDArray[np.float64], Shape(2)]  # payoffs so far
    led: Annotated[NDArray[np.int32], Shape(2)]  # stages led
    played: Annotated[int, np.int32]  # stages played


@environment(
    "games/FairLeaders-v0",
    family="matrix",
    tags=("iterated", "roles", "fairness"),
    paper=(
        "Emergence of Fair Leaders via Mediators in Multi-Agent Reinforcement Learning; von "
        "Stackelberg (1934), Marktform und Gleichgewicht"
    ),
)
@dataclass(frozen=True)
class FairLeaders(PayoffTable, ArrayGame[StagesState]):
    """A repeated matrix game with a leader and a follower, named by a rule or a mediator.

    Players' actions are the numbers of their moves; the mediator's actions are 0 and 1, the seat
    that leads. The module's docstring has the layout of an observation. Players are paid by the
    table; the mediator is paid the growth of the smaller total.
    """

    rules_text = """
        Two players, player_0 and player_1, play a game again and again; in every stage one leads.

        The leader writes the name of their move first. The follower sees it and writes the name of
        theirs. Then both are paid as the table below says. The aim of both is a high total of their
        own.
    """

    num_players: Annotated[
        int, Meta(ge=2, le=3, description="number of players; 3 adds a mediator's seat")
    ] = 2
    payoffs_table: Annotated[
        Cells,
        MoveNames,
        PayoffTable,
        Meta(
            description="payoffs row by row of player_0's moves, in every cell player_0's and "
            "player_1's; flat, or nested in rows and cells"
        ),
    ] = (2, 1, 0, 0, 0, 0, 1, 2)
    moves: MoveNames = ("opera", "football")
    stages: Annotated[int, Meta(ge=1, le=1_000_000, description="stages in an episode")] = 10
    mediator: Annotated[
        Rule,
        Meta(description="rule that names the leader; num_players=3 gives a player the choice"),
    ] = "fair"

    order = "sequential"
    payoffs = "general"
    observation_dtype = np.float32

    # Derived from the options

    @constant
    def rule(self) -> int:
        """The number of the rule that names the leader."""
        return RULES.index(self.mediator)

    @property
    def num_actions(self) -> int:
        return len(self.moves)

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        return self.num_players == 3 or self.mediator != "random"

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return self.payoffs_of(self.stages)

    @property
    def observation_shape(self) -> tuple[int]:
        return (2 * self.num_actions + 13,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        low, high = self.payoff_bounds
        return (min(0.0, low), max(float(self.stages), high))

    # The rules

    @staticmethod
    def init_state(config: FairLeaders, state: StagesState) -> None:
        state.leader = NOBODY
        for seat in range(2):
            state.last[seat] = NOBODY
        open_stage(config, state)

    @staticmethod
    def apply_actions(config: FairLeaders, state: StagesState, actions: Any, out: Any) -> None:
        leader = state.leader
        if state.phase == MEDIATE:
            appoint(state, actions[MEDIATOR])
        elif state.phase == LEAD:
            state.last[leader] = actions[leader]
            state.last[1 - leader] = NOBODY
            state.phase = FOLLOW
            turn_to(state, 1 - leader)
        else:
            state.last[1 - leader] = actions[1 - leader]
            before = min(state.totals[0], state.totals[1])
            for seat in range(2):
                paid = latest_payoff(config, state, seat)
                out.rewards[seat, 0] = paid
                state.totals[seat] += paid
            if config.num_players == 3:
                out.rewards[MEDIATOR, 0] = min(state.totals[0], state.totals[1]) - before
            state.led[leader] += 1
            state.played += 1
            if state.played >= config.stages:
                finish(state)
            else:
                open_stage(config, state)

    @staticmethod
    def write_legal_mask(config: FairLeaders, state: StagesState, seat: int, mask: Any) -> None:
        choices = 2 if seat == MEDIATOR else config.num_actions
        for action in range(choices):
            mask[action] = 1

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        n = self.num_actions
        return (
            Channel("seat", 3, "the player's own seat, one-hot; the mediator's is the last"),
            Channel("phase", 3, "what is to be done, one-hot: name a leader, lead, follow"),
            Channel("leader", 2, "who leads, one-hot; zeros before the first is named"),
            Channel("moves", 2 * n, "last move of player_0, then of player_1, one-hot each"),
            Channel("totals", 2, "payoffs so far, by seat"),
            Channel("led", 2, "stages led so far, by seat"),
            Channel("stages", 1, "stages played"),
        )

    @staticmethod
    def write_observation(config: FairLeaders, state: StagesState, seat: int, obs: Any) -> None:
        """Write the observation; the module's docstring gives the layout."""
        n = config.num_actions
        obs[seat] = 1
        obs[3 + state.phase] = 1
        if state.leader != NOBODY:
            obs[6 + state.leader] = 1
        for place in range(2):
            if state.last[place] != NOBODY:
                obs[8 + place * n + state.last[place]] = 1
            obs[8 + 2 * n + place] = state.totals[place]
            obs[10 + 2 * n + place] = state.led[place]
        obs[12 + 2 * n] = state.played

    def outcome(self, state: StagesState) -> Outcome | None:
        ended = super().outcome(state)
        led = " and ".join(str(n) for n in state.led.tolist())
        return ended and score_outcome(ended, f"the players led {led} of {self.stages} stages")

    def scores(self, state: StagesState) -> tuple[float, ...]:
        totals: list[float] = state.totals.tolist()
        return (*totals, min(totals)) if self.num_players == 3 else tuple(totals)

    # Words

    def rules_for(self, seat: int) -> str:
        lines = [super().rules_for(seat)]
        for row, mine in enumerate(self.moves):
            for column, theirs in enumerate(self.moves):
                first, second = self.pay(row, column)
                lines.append(
                    f"- player_0 plays {mine}, player_1 plays {theirs}: they are paid {first:g} "
                    f"and {second:g}."
                )
        rules = {
            "fair": "the one with the smaller total leads; of equals the one who has led less, "
            "then player_0",
            "alternate": "they take turns in leading, player_0 first",
            "random": "a lot decides who leads",
            "first": "player_0 always leads",
        }
        if self.num_players == 3:
            lines.append(
                "Before every stage player_2, the mediator, writes who leads, player_0 or "
                "player_1. The mediator is paid by how much the smaller of the players' totals "
                "grows."
            )
        else:
            lines.append(f"Who leads: {rules[self.mediator]}.")
        lines.append(f"There are {self.stages} stages.")
        return "\n".join(lines)

    def describe(self, state: StagesState, seat: int) -> str:
        role = ", the mediator" if seat == MEDIATOR else ""
        lines = [
            f"You are {self.players[seat]}{role}. "
            f"Stages played: {int(state.played)} of {self.stages}."
        ]
        totals, led, last = state.totals.tolist(), state.led.tolist(), state.last.tolist()
        if state.phase == FOLLOW or NOBODY in last:
            if state.leader != NOBODY and not state.over:
                lines.append(f"{self.players[state.leader]} leads.")
            if state.phase == FOLLOW and not state.over:
                name = self.players[state.leader]
                lines.append(f"{name} has played {self.moves[last[state.leader]]}.")
        else:
            paid = self.pay(*last)
            shown = [f"{self.players[s]} {self.moves[last[s]]} ({paid[s]:g})" for s in range(2)]
            lines.append(f"Last stage: {', '.join(shown)}.")
            if state.phase == LEAD:
                lines.append(f"{self.players[state.leader]} leads now.")
        lines.append(
            f"Totals: player_0 {totals[0]:g}, player_1 {totals[1]:g}. Stages led: {led[0]}, "
            f"{led[1]}."
        )
        return "\n".join(lines)

    def action_text(self, state: StagesState, seat: int, action: int) -> str:
        return self.players[action] if seat == MEDIATOR else self.moves[action]

    def narrate(
        self, before: StagesState | None, actions: Mapping[int, int], after: StagesState
    ) -> list[Event]:
        events = []
        if before is not None:
            ((seat, action),) = actions.items()
            if seat != MEDIATOR:
                verb = "leads with" if before.phase == LEAD else "answers"
                text = f"{self.players[seat]} {verb} {self.moves[action]}."
                events.append(Event("move", text, {"player": seat, "action": int(action)}))
            if before.phase == FOLLOW:
                paid = self.pay(*after.last.tolist())
                text = f"player_0 is paid {paid[0]:g}, player_1 {paid[1]:g}."
                events.append(Event("paid", text, {"payoffs": list(paid)}))
        if after.over:
            events.append(Event("end", f"The game is over after {self.stages} stages."))
        elif after.phase == LEAD:
            text = f"{self.players[after.leader]} leads stage {int(after.played) + 1}."
            events.append(Event("leader", text, {"leader": int(after.leader)}))
        return events

    def scene(self, state: StagesState, seat: int | None = None) -> Scene:
        """What each pair of moves pays, the pair of the last stage, and what each has been paid."""
        first, second = map(int, state.last)
        full = max(1.0, max(abs(cell) for cell in self.table) * self.stages)
        bars = [
            Bar(self.players[place], max(0.0, float(state.totals[place])), full, place)
            for place in range(2)
        ]
        caption = f"Stages played: {int(state.played)} of {self.stages}"
        if state.leader != NOBODY:
            caption += f"; {self.players[state.leader]} leads"
        grid = self.payoff_grid((first, second) if NOBODY not in (first, second) else None)
        return Scene(caption, bars=tuple(bars), parts=(grid,))


def open_stage(config: FairLeaders, state: StagesState) -> None:
    """Ask the mediator who leads, or let the rule say so."""
    if config.num_players == 3:
        state.phase = MEDIATE
        turn_to(state, MEDIATOR)
    else:
        appoint(state, leader_by_rule(config, state))


def appoint(state: StagesState, leader: int) -> None:
    """Name the leader of a stage, who moves next."""
    state.leader = leader
    state.phase = LEAD
    turn_to(state, leader)


def leader_by_rule(config: FairLeaders, state: StagesState) -> int:
    """The leader of the next stage by the rule of the configuration."""
    if config.rule == FAIR:
        if state.totals[0] != state.totals[1]:
            return 0 if state.totals[0] < state.totals[1] else 1
        return 0 if state.led[0] <= state.led[1] else 1
    if config.rule == ALTERNATE:
        return int(state.played % 2)
    if config.rule == RANDOM:
        return randint(state, 2)
    return 0
