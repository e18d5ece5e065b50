"""Liar's dice: bids on dice that everybody rolls in secret, until somebody says "liar".

Every player rolls his dice and sees only his own. In turn they bid a quantity and a face; a bid
must be higher than the last, that is, of a larger quantity, or of the same quantity and a higher
face. Instead of bidding a player may call the last bidder a liar; then all dice are shown. The
caller loses if at least as many dice as were bid show the face or the wild face, else the bidder.

In the game of one round the loser of the call pays the others 1, shared equally. For two players
and with the highest face wild this is OpenSpiel's `liars_dice`, and with one six-sided die each it
is Bluff(1,1), or 1-die Dudo (Neller and Lanctot, "An Introduction to Counterfactual Regret
Minimization", 2013). Its value to the first player is -7/258, the -0.0271317829457364 that
Lanctot's solver for Bluff has as the known answer. The tests check both.

In the game to the last player the loser loses a die, all dice are rolled again, and he bids first,
or the next player if that was his last die; nobody may bid more dice than are in play.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from math import comb, factorial, prod
from typing import Any, Literal

import numpy as np
from palestra import ArrayGame, Event, InvalidOption, Piece, Rng, Scene, environment, only
from palestra.rules import LOSS, WIN, finish, leave, mover, pass_turn, randint, turn_to

MAX_SEATS, MAX_DICE, MAX_FACES = 6, 6, 6
MAX_DEALS = 10_000  # first rolls that are still listed
NOTHING = -1  # standing when there is no bid yet
ROUNDS = ("one", "last")


@environment(
    "games/LiarsDice-v0",
    family="dice",
    tags=("hidden-information", "chance"),
    paper="Neller, Lanctot (2013), An Introduction to Counterfactual Regret Minimization",
    players=(2, 6),
)
@dataclass(frozen=True)
class LiarsDice(ArrayGame):
    """You play liar's dice. Everybody rolls dice, and sees only his own.

    In turn, player_0 first, players bid on the dice of all players together. "3x5" bids that at
    least three of them show a 5. Each bid must be higher than the last: a larger number of dice
    with any face, or the same number of dice with a higher face.
    Instead of bidding you can say "liar" to the last bid. Then all dice are shown. If there are at
    least as many as were bid, the player who said "liar" loses the call; otherwise the bidder does.
    """

    num_players: int = 2
    dice: int = 1
    faces: int = 6
    wild: int = 6
    rounds: Literal["one", "last"] = "one"

    order = "sequential"
    payoffs = "zero-sum"
    perfect_information = False

    def __post_init__(self) -> None:
        limits = (
            ("num_players", 2, MAX_SEATS),
            ("dice", 1, MAX_DICE),
            ("faces", 2, MAX_FACES),
            ("wild", 0, self.faces),
        )
        for name, low, high in limits:
            value = getattr(self, name)
            if not low <= value <= high:
                none = ", 0 for no wild face" if name == "wild" else ""
                raise InvalidOption(f"{name} must be from {low} to {high}{none}, not {value}")
        if self.rounds not in ROUNDS:
            raise InvalidOption(f"rounds must be 'one' or 'last', not {self.rounds!r}")

    # What follows from the options

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        """Whether the dice are rolled only once."""
        return self.rounds == "one"

    @property
    def num_bids(self) -> int:
        return self.num_players * self.dice * self.faces

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

    def constants(self) -> Mapping[str, Any]:
        return {**super().constants(), "num_bids": self.num_bids, "last": self.rounds == "last"}

    def fields(self) -> list[tuple[Any, ...]]:
        """`left`: dice by seat; `hands[p, f]`: how many of them show face f + 1.

        `bids` holds 1 + the bidder for every bid of this round, `standing` is the last of them.
        """
        return [
            ("left", np.int32, self.num_players),
            ("hands", np.int32, (self.num_players, self.faces)),
            ("bids", np.int32, self.num_bids),
            ("standing", np.int32),
        ]

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        for seat in range(config.num_players):
            state.left[seat] = config.dice
        start_round(config, state, 0)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        seat = mover(state)
        action = actions[seat]
        if action < config.num_bids:
            state.bids[action] = seat + 1
            state.standing = action
            pass_turn(state)
            return
        bidder = state.bids[state.standing] - 1
        loser = seat if is_true(config, state) else bidder
        if config.last:
            lose_die(config, state, loser, out)
        else:
            pay_others(config, state, loser, out)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, player: int, mask: Any) -> None:
        in_play = 0
        for seat in range(config.num_players):
            in_play += state.left[seat]
        for bid in range(state.standing + 1, in_play * config.faces):
            mask[bid] = 1
        mask[config.num_bids] = state.standing != NOTHING

    @staticmethod
    def write_observation(config: Any, state: Any, player: int, view: Any) -> None:
        """Own seat, whose turn it is and dice left, by seat; own dice by face; bids by bidder."""
        seats = config.num_players
        view[player] = 1
        for seat in range(seats):
            view[seats + seat] = state.acting[seat]
            view[2 * seats + seat] = state.left[seat]
        for face in range(config.faces):
            view[3 * seats + face] = state.hands[player, face]
        start = 3 * seats + config.faces
        for bid in range(config.num_bids):
            if state.bids[bid] > 0:
                view[start + (state.bids[bid] - 1) * config.num_bids + bid] = 1

    def scores(self, state: Any) -> tuple[float, ...]:
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
        lines.append(self._ending())
        return "\n".join(lines)

    def _ending(self) -> str:
        share = 1 / (self.num_players - 1)
        if self.rounds == "one":
            return (
                "The first call ends the game. Its loser is paid -1 and every other player "
                f"{share:.3g}."
            )
        return (
            "The loser of a call loses a die. Then all dice are rolled again and he bids first, or "
            "the next player if that was his last die. A bid cannot be of more dice than are in "
            f"play. Whoever has no dice left is out and is paid {-share:.3g}; the last player with "
            "dice is paid 1."
        )

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> list[Event]:
        if before is None:
            return list(self._rolls(after))
        events = []
        for seat, action in actions.items():
            text = self.action_text(before, seat, action)
            said = f'calls "{text}"' if action == self.num_bids else f"bids {text}"
            data = {"player": seat, "action": int(action)}
            events.append(Event("move", f"{self.players[seat]} {said}.", data))
            if action == self.num_bids:
                events += self._called(before, seat, after)
        return events

    def _rolls(self, state: Any) -> Iterator[Event]:
        for seat in self.present(state):
            rolled = dice_of(state, seat)
            yield Event("roll", f"You roll {listed(rolled)}.", {"dice": rolled}, only(seat))

    def _called(self, before: Any, caller: int, after: Any) -> Iterator[Event]:
        """All dice are shown; who loses the call; the next roll."""
        hands = [dice_of(before, seat) for seat in range(self.num_players)]
        named = zip(self.players, hands, strict=True)
        shown = "; ".join(f"{name} has {listed(hand)}" for name, hand in named if hand)
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
            yield from self._rolls(after)

    def describe(self, state: Any, player: int) -> str:
        own = dice_of(state, player)
        holding = f"have rolled {listed(own)}" if own else "have no dice left"
        left = [f"{name} {count}" for name, count in zip(self.players, state.left, strict=True)]
        lines = [f"You are player_{player} and {holding}.", f"Dice left: {', '.join(left)}."]
        lines.append(f"Bids in this round: {', '.join(self._bids(state)) or 'none'}.")
        lines += [f"{self.players[seat]} is to act." for seat in self.to_act(state)]
        return "\n".join(lines)

    def _bids(self, state: Any) -> list[str]:
        """Bids of this round in order, with who made them."""
        return [
            f"player_{bidder - 1} {self.action_text(state, bidder - 1, bid)}"
            for bid, bidder in enumerate(state.bids.tolist())
            if bidder
        ]

    def action_text(self, state: Any, seat: int, action: int) -> str:
        if action == self.num_bids:
            return "liar"
        return f"{action // self.faces + 1}x{action % self.faces + 1}"

    def scene(self, state: Any, player: int | None = None) -> Scene:
        """The dice of every player, those that `player` may not see face down."""
        hands = []
        for seat in range(self.num_players):
            seen = player in (None, seat) or bool(state.over)
            pieces = tuple(die_piece(die, seat, seen) for die in dice_of(state, seat))
            hands.append((self.players[seat], pieces))
        return Scene(hands=tuple(hands), lines=(f"Bids: {', '.join(self._bids(state)) or 'none'}",))

    # States

    def determinize(self, state: Any, player: int, rng: Rng) -> Any:
        """Roll the dice of the others again; once the game is over all dice have been seen."""
        copy = self.clone(state)
        if state.over:
            return copy
        for seat in range(self.num_players):
            if seat != player:
                copy.hands[seat] = 0
                for _ in range(copy.left[seat]):
                    copy.hands[seat, rng.below(self.faces)] += 1
        return copy

    def deals(self) -> list[tuple[float, Any]] | None:
        """Every first roll, up to the order of a player's dice; None if there are too many."""
        if comb(self.faces + self.dice - 1, self.dice) ** self.num_players > MAX_DEALS:
            return None
        rolls = list(combinations_with_replacement(range(1, self.faces + 1), self.dice))
        dealt = []
        for hands in product(rolls, repeat=self.num_players):
            ways = prod(orders(hand) for hand in hands)
            dealt.append((ways / self.faces ** (self.num_players * self.dice), self.deal(*hands)))
        return dealt

    def deal(self, *hands: tuple[int, ...]) -> Any:
        """The start with these dice, one tuple of faces a player."""
        if [len(hand) for hand in hands] != [self.dice] * self.num_players:
            raise InvalidOption(
                f"a deal needs {self.dice} dice for each of {self.num_players} players, not {hands}"
            )
        state = self.initial_state(0)
        state.hands[:] = 0
        for seat, hand in enumerate(hands):
            for face in hand:
                state.hands[seat, face - 1] += 1
        return state


def start_round(config: Any, state: Any, first: int) -> None:
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


def is_true(config: Any, state: Any) -> bool:
    """Whether at least as many dice as the standing bid says show its face or the wild one."""
    quantity, face = state.standing // config.faces + 1, state.standing % config.faces
    count = 0
    for seat in range(config.num_players):
        count += state.hands[seat, face]
        if config.wild > 0 and config.wild != face + 1:
            count += state.hands[seat, config.wild - 1]
    return bool(count >= quantity)


def pay_others(config: Any, state: Any, loser: int, out: Any) -> None:
    """End the game: the loser pays 1, which the others share."""
    for seat in range(config.num_players):
        state.result[seat] = WIN
        out.rewards[seat, 0] = 1.0 / (config.num_players - 1)
    state.result[loser] = LOSS
    out.rewards[loser, 0] = -1.0
    finish(state)


def lose_die(config: Any, state: Any, loser: int, out: Any) -> None:
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


def dice_of(state: Any, seat: int) -> list[int]:
    """The faces a player has rolled, lowest first."""
    counts = state.hands[seat].tolist()
    return [face + 1 for face, count in enumerate(counts) for _ in range(count)]


def orders(hand: tuple[int, ...]) -> int:
    """In how many orders dice can show these faces."""
    return factorial(len(hand)) // prod(factorial(count) for count in Counter(hand).values())


def listed(dice: list[int]) -> str:
    return ", ".join(map(str, dice))


def die_piece(face: int, seat: int, seen: bool) -> Piece:
    """A die in a seat's colour, hidden unless it is seen."""
    return Piece(str(face), seat) if seen else Piece("?", -1, label="a hidden die")
