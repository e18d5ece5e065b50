"""Sealed bids for positions on a page, by generalised second prices or by VCG.

Position k gets `click_rates[k]` clicks an hour, the first the most. Every advertiser has a value
for a click, his own throughout, and in every round all bid for a click at once. The highest bid
gets the first position, the next the second, and so on; equal bids are put in order by lot. With
`gsp` who has a position pays the next bid for each of his clicks, 0 where there is none. With
`vcg` he pays in all what the clicks he takes from those below are worth to them by their bids.
Then all bids are told.

The rules are those of B. Edelman, M. Ostrovsky and M. Schwarz, "Internet Advertising and the
Generalized Second-Price Auction", American Economic Review 97, 2007. Known answers checked: their
example with values 10, 4 and 2 and 200 and 100 clicks, where truthful bidders pay 800 and 200
with second prices and 600 and 200 with VCG; truth is dominant in VCG and not with second prices;
every locally envy-free equilibrium of the example pays the seller at least what VCG does.

The array view is a float32 vector of n + k + 7 numbers for n advertisers and k positions:

    own value of a click, round, last round, own earnings so far
    last round: own position from 1 (0: none), own payment, all payments
    bids of the last round, the own first, then in order of seats (-1: none yet)
    click rates
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from palestra import Event, InvalidOption, Rng, Scene, check_ranges, environment, only
from palestra.rules import all_act, finish, randint

from palestra_markets.auctions.ranking import bid_at, draw_lots, rank_of, ranking_fields
from palestra_markets.auctions.sealed_bids import SealedBids

MECHANISMS = ("gsp", "vcg")
GSP, VCG = range(2)
MOST_PLAYERS, MOST_VALUE, MOST_ROUNDS, MOST_CLICKS = 20, 10_000, 10_000, 1e6
PAYS = (
    "For every click you pay the bid of whoever is one place below you, nothing if nobody is.",
    "You pay in all what your presence costs those below you: for everybody who would stand one "
    "place higher without you, the clicks he would gain times his bid.",
)


@environment(
    "markets/PositionAuction-v0",
    family="market",
    tags=("auction", "hidden-information", "chance"),
    paper=(
        "Edelman, Ostrovsky and Schwarz (2007), Internet Advertising and the Generalized "
        "Second-Price Auction"
    ),
    splits={
        "gsp": {"mechanism": "gsp"},
        "vcg": {"mechanism": "vcg"},
        "example": {"values": (10, 4, 2), "num_players": 3},
    },
    players=(2, 20),
)
@dataclass(frozen=True)
class PositionAuction(SealedBids):
    """You bid for a place for your advertisement on a page, in every round anew.

    What a click is worth to you is told to you alone and stays the same. Everybody bids at the
    same time for one click, without knowing the other bids; write your bid as a whole number. The
    highest bid gets the first position, which gets the most clicks, the next the second, and so on
    while there are positions; between equal bids the lot decides. You earn your value for every
    click, less what you pay. Afterwards all bids are told.
    """

    num_players: int = 3
    click_rates: Sequence[float] = (200.0, 100.0)
    mechanism: str = "gsp"
    values: Sequence[int] = ()
    max_value: int = 20
    rounds: int = 10

    reward_terms = ("clicks", "paid")

    def __post_init__(self) -> None:
        if self.mechanism not in MECHANISMS:
            raise InvalidOption(
                f"mechanism must be one of {', '.join(MECHANISMS)}, not {self.mechanism!r}"
            )
        ranges = (
            ("num_players", 2, MOST_PLAYERS),
            ("max_value", 1, MOST_VALUE),
            ("rounds", 1, MOST_ROUNDS),
        )
        check_ranges(self, ranges)
        object.__setattr__(self, "click_rates", checked_rates(self.click_rates))
        object.__setattr__(self, "values", tuple(self.values))
        self._check_values()

    def _check_values(self) -> None:
        if self.values and len(self.values) != self.num_players:
            raise InvalidOption(
                f"values must be one for each of {self.num_players} players, or () to draw them, "
                f"not {self.values}"
            )
        for value in self.values:
            if not isinstance(value, int) or not 0 <= value <= self.max_value:
                raise InvalidOption(
                    f"values must be whole numbers from 0 to {self.max_value}, not {value!r}"
                )

    # What follows from the options

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        most = float(self.rounds * self.max_value * self.click_rates[0])
        return (-most, most)

    @property
    def observation_shape(self) -> tuple[int]:
        return (self.num_players + len(self.click_rates) + 7,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        pages = self.rounds * sum(self.click_rates)
        most = float(max(pages * self.max_value, self.rounds, self.max_value, *self.click_rates))
        return (-most, most)

    def constants(self) -> Mapping[str, Any]:
        own = {
            "kind": MECHANISMS.index(self.mechanism),
            "rates": tuple(self.click_rates),
            "positions": len(self.click_rates),
            "fixed": bool(self.values),
            "worths": tuple(self.values) or (0,),
        }
        return {**super().constants(), **own}

    def fields(self) -> list[tuple[Any, ...]]:
        """Values, bids and lots by seat; positions and payments of the last round; earnings."""
        seats = self.num_players
        return [
            *ranking_fields(seats),
            ("worth", np.int32, seats),
            ("position", np.int32, seats),
            ("payment", np.float64, seats),
            ("earned", np.float64, seats),
        ]

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        for seat in range(config.num_players):
            state.bid[seat] = -1
            drawn = config.worths[seat] if config.fixed else randint(state, config.max_value + 1)
            state.worth[seat] = drawn
        draw_lots(state)
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        for seat in range(config.num_players):
            state.bid[seat] = actions[seat]
        for seat in range(config.num_players):
            rank = rank_of(state, seat)
            state.position[seat] = rank + 1 if rank < config.positions else 0
            state.payment[seat] = payment(config, state, rank)
            won = clicks(config, rank) * state.worth[seat]
            out.rewards[seat, 0], out.rewards[seat, 1] = won, -state.payment[seat]
            state.earned[seat] += won - state.payment[seat]
        if state.turn + 1 >= config.rounds:
            finish(state)
            return
        draw_lots(state)

    @staticmethod
    def write_observation(config: Any, state: Any, player: int, view: Any) -> None:
        """See the module's docstring for the layout."""
        n = config.num_players
        view[0], view[1], view[2] = state.worth[player], state.turn, config.rounds
        view[3], view[4] = state.earned[player], state.position[player]
        view[5] = state.payment[player]
        for seat in range(n):
            view[6] += state.payment[seat]
            view[7 + seat] = state.bid[(player + seat) % n]
        for position in range(config.positions):
            view[7 + n + position] = config.rates[position]

    def determinize(self, state: Any, seat: int, rng: Rng) -> Any:
        """Draw the other advertisers' values anew."""
        copy = self.clone(state)
        for other in range(self.num_players):
            if other != seat:
                copy.worth[other] = rng.below(self.max_value + 1)
        return copy

    # Words

    def rules_for(self, seat: int) -> str:
        rates = ", ".join(f"{rate:g}" for rate in self.click_rates)
        kind = PAYS[MECHANISMS.index(self.mechanism)]
        return "\n".join([super().rules_for(seat), kind, f"Clicks by position: {rates}."])

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> list[Event]:
        if before is None:
            return [self._dealt(after, seat) for seat in range(self.num_players)]
        data = {
            "bids": after.bid.tolist(),
            "positions": after.position.tolist(),
            "payments": after.payment.tolist(),
        }
        events = [Event("page", f"Round {int(after.turn)}: {self._page(after)}.", data)]
        return [*events, Event("end", "The auction is over.")] if after.over else events

    def _dealt(self, state: Any, seat: int) -> Event:
        worth = int(state.worth[seat])
        text = f"To you, {self.players[seat]}, a click is worth {worth}."
        return Event("value", text, {"player": seat, "value": worth}, only(seat))

    def _page(self, state: Any) -> str:
        """Bids with positions and payments, best first."""
        told = []
        for seat in sorted(range(self.num_players), key=lambda p: state.position[p] or np.inf):
            text = f"{self.players[seat]} bids {state.bid[seat]}"
            if state.position[seat]:
                text += f", gets position {state.position[seat]}"
                text += f" and pays {state.payment[seat]:g}"
            told.append(text)
        return "; ".join(told)

    def describe(self, state: Any, seat: int) -> str:
        number = min(int(state.turn) + 1, self.rounds)
        rates = ", ".join(f"{rate:g}" for rate in self.click_rates)
        lines = [
            f"You are {self.players[seat]}. Round {number} of {self.rounds}.",
            f"A click is worth {state.worth[seat]} to you. Clicks by position: {rates}.",
            f"You have earned {state.earned[seat]:g} so far.",
        ]
        if state.bid[0] >= 0:
            lines.append(f"Last round: {self._page(state)}.")
        return "\n".join(lines)

    def scene(self, state: Any, seat: int | None = None) -> Scene:
        lines = [f"Rounds played: {int(state.turn)} of {self.rounds}."]
        if state.bid[0] >= 0:
            lines.append(f"{self._page(state)}.")
        return Scene(bars=self.bars(state, seat), lines=tuple(lines))


def checked_rates(rates: Sequence[float]) -> tuple[float, ...]:
    """Click rates as a value; InvalidOption says what is wrong with them."""
    checked = tuple(float(rate) for rate in rates)
    good = all(isfinite(rate) and 0 < rate <= MOST_CLICKS for rate in checked)
    if not checked or not good or list(checked) != sorted(checked, reverse=True):
        raise InvalidOption(
            f"click_rates must be falling numbers above 0 and up to {MOST_CLICKS:g}, one for every "
            f"position, not {tuple(rates)}"
        )
    if len(checked) > MOST_PLAYERS:
        raise InvalidOption(f"there are at most {MOST_PLAYERS} positions, not {len(checked)}")
    return checked


# Helpers of the rules


def clicks(config: Any, rank: int) -> float:
    """Clicks of a rank, from 0; none below the last position."""
    return float(config.rates[rank]) if rank < config.positions else 0.0


def payment(config: Any, state: Any, rank: int) -> float:
    """What whoever stands at a rank pays in all."""
    if rank >= config.positions:
        return 0.0
    if config.kind == GSP:
        return clicks(config, rank) * bid_at(state, rank + 1)
    total = 0.0
    for below in range(rank + 1, config.positions + 1):
        total += (clicks(config, below - 1) - clicks(config, below)) * bid_at(state, below)
    return total
