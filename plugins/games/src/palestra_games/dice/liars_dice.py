"""Liar's dice: bids on dice that everybody rolls in secret, until somebody says "liar".

Every player rolls dice and sees only their own. In turn they bid a quantity and a face; a bid
must be higher than the last, that is, of a larger quantity, or of the same quantity and a higher
face. Instead of bidding a player may call the last bidder a liar; then all dice are shown. The
caller loses if at least as many dice as were bid show the face or the wild face, else the bidder.

In the game of one round the loser of the call pays the others 1, shared equally. For two players
and with the highest face wild this is OpenSpiel's `liars_dice`, and with one six-sided die each it
is Bluff(1,1), or 1-die Dudo (Neller and Lanctot, "An Introduction to Counterfactual Regret
Minimization", 2013). Its value to the first player is -7/258, the -0.0271317829457364 that
Lanctot's solver for Bluff has as the known answer.

In the game to the last player the loser loses a die, all dice are rolled again, and the loser bids
first, or the next player if that was their last die; nobody may bid more dice than are in play.

Checked: random games against OpenSpiel's; that value, by solving the game.

Left out: "spot on" calls and other variants of the rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from math import comb, factorial, prod
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    ArrayState,
    Channel,
    Event,
    InvalidOption,
    Meta,
    Rng,
    Scene,
    Shape,
    Vocabulary,
    constant,
    environment,
    only,
)
from palestra.rules import LOSS, WIN, finish, leave, mover, pass_turn, randint, turn_to
from palestra.scene import Dice

MAX_SEATS, MAX_DICE, MAX_FACES = 6, 6, 6
MAX_DEALS = 10_000  # most first rolls that `deals` lists
NOTHING = -1  # value of `standing` when there is no bid yet


class LiarsDiceState(ArrayState):
    """A game of liar's dice; bids are numbered by quantity, then by face."""

    left: Annotated[NDArray[np.int32], Shape("num_players")]  # by seat: dice left
    hands: Annotated[NDArray[np.int32], Shape("num_players", "faces")]  # dice by seat and face
    bids: Annotated[NDArray[np.int32], Shape("num_bids")]  # 1 + the bidder of each in this round
    standing: Annotated[int, np.int32]  # the last bid of this round; NOTHING if there is none


@environment(
    "games/LiarsDice-v0",
    family="dice",
    tags=("hidden-information", "chance"),
    paper="Neller, Lanctot (2013), An Introduction to Counterfactual Regret Minimization",
)
@dataclass(frozen=True)
class LiarsDice(ArrayGame[LiarsDiceState]):
    """Liar's dice: bids on dice that everybody rolls in secret, until somebody says "liar".

    Action faces * (quantity - 1) + face - 1 bids; the last action says "liar". An observation has,
    with one entry per seat, flags of one's own seat and of the seat to move, and the dice left;
    then one's own dice by face; then, for every seat, a flag for each bid it has made in this
    round. In one round the loser is paid -1; in the game to the last player the winner is paid 1,
    and the others share the loss.
    """

    num_players: Annotated[int, Meta(ge=2, le=MAX_SEATS, description="number of players")] = 2
    dice: Annotated[
        int, Meta(ge=1, le=MAX_DICE, description="dice of each player at the start")
    ] = 1
    faces: Annotated[int, Meta(ge=2, le=MAX_FACES, description="faces of a die")] = 6
    wild: Annotated[
        int,
        Meta(
            ge=0,
            le=MAX_FACES,
            description="the face that counts as every other face too; 0 for no wild face",
        ),
    ] = 6
    rounds: Annotated[
        Literal["one", "last"],
        Meta(
            description="whether the first call ends the game, or players lose dice until one "
            "player is left"
        ),
    ] = "one"

    vocabulary = Vocabulary(
        words=("liar's dice", "dice", "die", "bid", "bidder", "roll", "wild", "call", "face"),
        signs="x",
        written=r"\d+x\d+",
    )
    rules_text = """
        You play liar's dice. Everybody rolls dice, and sees only their own.

        In turn, player_0 first, players bid on the dice of all players together. "3x5" bids that at
        least three of them show a 5. Each bid must be higher than the last: a larger number of dice
        with any face, or the same number of dice with a higher face. Instead of bidding you can say
        "liar" to the last bid. Then all dice are shown. If there are at least as many as were bid,
        the player who said "liar" loses the call; otherwise the bidder does.
    """
    order = "sequential"
    fixed_moves = True
    payoffs = "zero-sum"
    perfect_information = False

    def validate(self) -> None:
        if self.wild > self.faces:
            raise InvalidOption(
                f"wild must be from 0 to {self.faces}, which is faces, or 0 for no wild face, not "
                f"{self.wild}"
            )

    # Derived from the options

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        """Whether the dice are rolled only once."""
        return self.rounds == "one"

    @constant
    def num_bids(self) -> int:
        """How many bids there are: quantities of all dice together, times faces."""
        return self.num_players * self.dice * self.faces

    @constant
    def to_last_player(self) -> bool:
        """Whether the game is played until only one player has dice."""
        return self.rounds == "last"

    @property
    def num_actions(self) -> int:
        """Bids by quantity and face, and "liar" as the last."""
        return self.num_bids + 1

    @property
    def observation_shape(self) -> tuple[int]:
        return (3 * self.num_players + self.faces + self.num_players * self.num_bids,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (0, self.dice)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        share = 1 / (self.num_players - 1)
        return (-1.0, share) if self.rounds == "one" else (-share, 1.0)

    # The rules

    @staticmethod
    def init_state(config: LiarsDice, state: LiarsDiceState) -> None:
        for seat in range(config.num_players):
            state.left[seat] = config.dice
        start_round(config, state, 0)

    @staticmethod
    def apply_actions(config: LiarsDice, state: LiarsDiceState, actions: Any, out: Any) -> None:
        seat = mover(state)
        action = actions[seat]
        if action < config.num_bids:
            state.bids[action] = seat + 1
            state.standing = action
            pass_turn(state)
            return
        bidder = state.bids[state.standing] - 1
        loser = seat if is_true(config, state) else bidder
        if config.to_last_player:
            lose_die(config, state, loser, out)
        else:
            pay_others(config, state, loser, out)

    @staticmethod
    def write_legal_mask(config: LiarsDice, state: LiarsDiceState, seat: int, mask: Any) -> None:
        in_play = 0
        for owner in range(config.num_players):
            in_play += state.left[owner]
        for bid in range(state.standing + 1, in_play * config.faces):
            mask[bid] = 1
        mask[config.num_bids] = state.standing != NOTHING

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        seats = self.num_players
        return (
            Channel("seat", seats, "the player's own seat, one-hot"),
            Channel("to_move", seats, "1 for the seat that is to move"),
            Channel("dice", seats, "dice left, by seat"),
            Channel("own_dice", self.faces, "how many of the player's dice show each face"),
            Channel("bids", seats * self.num_bids, "by seat: 1 for each bid made in this round"),
        )

    @staticmethod
    def write_observation(config: LiarsDice, state: LiarsDiceState, seat: int, obs: Any) -> None:
        """Own seat, whose turn it is and dice left, by seat; own dice by face; bids by bidder."""
        seats = config.num_players
        obs[seat] = 1
        for other in range(seats):
            obs[seats + other] = state.acting[other]
            obs[2 * seats + other] = state.left[other]
        for face in range(config.faces):
            obs[3 * seats + face] = state.hands[seat, face]
        start = 3 * seats + config.faces
        for bid in range(config.num_bids):
            if state.bids[bid] > 0:
                obs[start + (state.bids[bid] - 1) * config.num_bids + bid] = 1

    def scores(self, state: LiarsDiceState) -> tuple[float, ...]:
        low, high = self.payoff_bounds
        paid = {WIN: high, LOSS: low}
        return tuple(paid.get(result, 0.0) for result in state.result.tolist())

    # What a player reads

    def rules_for(self, seat: int) -> str:
        dice = "one die" if self.dice == 1 else f"{self.dice} dice"
        lines = [super().rules_for(seat)]
        lines.append(f"{self.num_players} players roll {dice} each, with faces 1 to {self.faces}.")
        if self.wild:
            lines.append(f"A {self.wild} is wild: it counts as every other face too.")
        lines.append(self._ending_text())
        return "\n".join(lines)

    def _ending_text(self) -> str:
        share = 1 / (self.num_players - 1)
        if self.rounds == "one":
            return (
                "The first call ends the game. Its loser is paid -1 and every other player "
                f"{share:.3g}."
            )
        return (
            "The loser of a call loses a die. Then all dice are rolled again and they bid first, "
            "or the next player if that was their last die. A bid cannot be of more dice than are "
            f"in play. Whoever has no dice left is out and is paid {-share:.3g}; the last player "
            "with dice is paid 1."
        )

    def narrate(
        self, before: LiarsDiceState | None, actions: Mapping[int, int], after: LiarsDiceState
    ) -> list[Event]:
        if before is None:
            return list(self._roll_events(after))
        events = []
        for seat, action in actions.items():
            text = self.action_text(before, seat, action)
            deed = f'calls "{text}"' if action == self.num_bids else f"bids {text}"
            data = {"player": seat, "action": int(action)}
            events.append(Event("move", f"{self.players[seat]} {deed}.", data))
            if action == self.num_bids:
                events += self._call_events(before, seat, after)
        return events

    def _roll_events(self, state: LiarsDiceState) -> Iterator[Event]:
        for seat in self.present(state):
            dice = dice_of(state, seat)
            yield Event("roll", f"You roll {dice_text(dice)}.", {"dice": dice}, only(seat))

    def _call_events(
        self, before: LiarsDiceState, caller: int, after: LiarsDiceState
    ) -> Iterator[Event]:
        """All dice are shown; who loses the call; the next roll."""
        hands = [dice_of(before, seat) for seat in range(self.num_players)]
        owners = zip(self.players, hands, strict=True)
        shown = "; ".join(f"{name} has {dice_text(hand)}" for name, hand in owners if hand)
        bid = self.action_text(before, caller, before.standing)
        true = is_true(self.config, before)
        loser = caller if true else int(before.bids[before.standing]) - 1
        name, verdict = self.players[loser], "true" if true else "false"
        text = f"The dice are shown: {shown}. The bid {bid} is {verdict}."
        yield Event("reveal", text, {"dice": hands, "true": true, "loser": loser})
        if self.rounds == "one":
            yield Event("loss", f"{name} loses.", {"player": loser})
            return
        out = "" if after.left[loser] else " and is out"
        yield Event("loss", f"{name} loses a die{out}.", {"player": loser})
        if not after.over:
            yield from self._roll_events(after)

    def describe(self, state: LiarsDiceState, seat: int) -> str:
        own = dice_of(state, seat)
        holding = f"have rolled {dice_text(own)}" if own else "have no dice left"
        left = [f"{name} {count}" for name, count in zip(self.players, state.left, strict=True)]
        lines = [f"You are player_{seat} and {holding}.", f"Dice left: {', '.join(left)}."]
        lines.append(f"Bids in this round: {', '.join(self._bids(state)) or 'none'}.")
        lines += [f"{self.players[other]} is to act." for other in self.to_act(state)]
        return "\n".join(lines)

    def _bids(self, state: LiarsDiceState) -> list[str]:
        """Bids of this round in order, with who made them."""
        return [
            f"player_{bidder - 1} {self.action_text(state, bidder - 1, bid)}"
            for bid, bidder in enumerate(state.bids.tolist())
            if bidder
        ]

    def action_text(self, state: LiarsDiceState, seat: int, action: int) -> str:
        if action == self.num_bids:
            return "liar"
        return f"{action // self.faces + 1}x{action % self.faces + 1}"

    def scene(self, state: LiarsDiceState, seat: int | None = None) -> Scene:
        """The dice of every player; those that `seat` may not see are hidden."""
        cups = []
        for owner in range(self.num_players):
            seen = seat in (None, owner) or bool(state.over)
            values = tuple(die if seen else 0 for die in dice_of(state, owner))
            cups.append(Dice(self.players[owner], values, owner))
        lines = (f"Bids: {', '.join(self._bids(state)) or 'none'}",)
        return Scene(lines=lines, parts=tuple(cups))

    # States

    def determinize(self, state: LiarsDiceState, seat: int, rng: Rng) -> LiarsDiceState:
        """Reroll the others' dice; once the game is over all dice have been seen."""
        copy: LiarsDiceState = self.clone(state)
        if state.over:
            return copy
        for other in range(self.num_players):
            if other != seat:
                copy.hands[other] = 0
                for _ in range(copy.left[other]):
                    copy.hands[other, rng.below(self.faces)] += 1
        return copy

    def deals(self) -> list[tuple[float, LiarsDiceState]] | None:
        """Every first roll, up to the order of a player's dice; None if there are too many."""
        if comb(self.faces + self.dice - 1, self.dice) ** self.num_players > MAX_DEALS:
            return None
        rolls = list(combinations_with_replacement(range(1, self.faces + 1), self.dice))
        dealt = []
        for hands in product(rolls, repeat=self.num_players):
            ways = prod(orders(hand) for hand in hands)
            dealt.append((ways / self.faces ** (self.num_players * self.dice), self.deal(*hands)))
        return dealt

    def deal(self, *hands: tuple[int, ...]) -> LiarsDiceState:
        """The start with these dice, one tuple of faces a player."""
        if [len(hand) for hand in hands] != [self.dice] * self.num_players:
            raise InvalidOption(
                f"a deal needs {self.dice} dice for each of {self.num_players} players, not {hands}"
            )
        state: LiarsDiceState = self.initial_state(0)
        state.hands[:] = 0
        for seat, hand in enumerate(hands):
            for face in hand:
                state.hands[seat, face - 1] += 1
        return state


def start_round(config: LiarsDice, state: LiarsDiceState, first: int) -> None:
    """Roll all dice in play, take back the bids, and ask `first` or the next player still in."""
    for seat in range(config.num_players):
        for face in range(config.faces):
            state.hands[seat, face] = 0
        for _ in range(state.left[seat]):
            state.hands[seat, randint(state, config.faces)] += 1
    for bid in range(config.num_bids):
        state.bids[bid] = 0
    state.standing = NOTHING
    for offset in range(config.num_players):
        seat = (first + offset) % config.num_players
        if state.left[seat] > 0:
            turn_to(state, seat)
            return


def is_true(config: LiarsDice, state: LiarsDiceState) -> bool:
    """Whether at least as many dice as the standing bid says show its face or the wild one."""
    quantity, face = state.standing // config.faces + 1, state.standing % config.faces
    count = 0
    for seat in range(config.num_players):
        count += state.hands[seat, face]
        if config.wild > 0 and config.wild != face + 1:
            count += state.hands[seat, config.wild - 1]
    return bool(count >= quantity)


def pay_others(config: LiarsDice, state: LiarsDiceState, loser: int, out: Any) -> None:
    """End the game: the loser pays 1, which the others share."""
    for seat in range(config.num_players):
        state.result[seat] = WIN
        out.rewards[seat, 0] = 1.0 / (config.num_players - 1)
    state.result[loser] = LOSS
    out.rewards[loser, 0] = -1.0
    finish(state)


def lose_die(config: LiarsDice, state: LiarsDiceState, loser: int, out: Any) -> None:
    """Take a die from the loser and start the next round, or end the game."""
    state.left[loser] -= 1
    if state.left[loser] == 0:
        leave(state, loser)
        state.result[loser] = LOSS
        out.rewards[loser, 0] = -1.0 / (config.num_players - 1)
    playing, winner = 0, 0
    for seat in range(config.num_players):
        if state.left[seat] > 0:
            playing, winner = playing + 1, seat
    if playing > 1:
        start_round(config, state, loser)
        return
    state.result[winner] = WIN
    out.rewards[winner, 0] = 1.0
    finish(state)


def dice_of(state: LiarsDiceState, seat: int) -> list[int]:
    """The faces a player has rolled, lowest first."""
    counts = state.hands[seat].tolist()
    return [face + 1 for face, count in enumerate(counts) for _ in range(count)]


def orders(hand: tuple[int, ...]) -> int:
    """In how many orders dice can show these faces."""
    return factorial(len(hand)) // prod(factorial(count) for count in Counter(hand).values())


def dice_text(dice: list[int]) -> str:
    return ", ".join(map(str, dice))
