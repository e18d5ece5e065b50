"""Scripted players of Werewolf: one at random, and a village that listens to its seer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from palestra import Agent, Decision, InvalidOption, Rng, TextAction, Turn, agent

from palestra_games.social.werewolf.game import Werewolf
from palestra_games.social.werewolf.rules import (
    CLEARED,
    SEER,
    TALK,
    VOTE,
    WEREWOLF,
    Pass,
    Say,
    Vote,
    lines,
)


@agent(
    "villager",
    plays=("games/Werewolf-v0",),
    needs=("array",),
    summary="Says nothing, and votes and chooses at random, in every role.",
)
class Villager(Agent):
    """Says nothing, and votes and chooses at random, in every role."""

    def __init__(self, *, seed: int | None = None) -> None:
        self._rng = Rng.seeded(seed, stream=4)

    def reseed(self, seed: int) -> None:
        self._rng = Rng.seeded(seed, stream=4)

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self.choose(turn)) for turn in turns]

    def choose(self, turn: Turn) -> TextAction:
        """What to play in one turn."""
        if not isinstance(turn.game, Werewolf):
            raise InvalidOption(f"{self.name or 'villager'} plays games/Werewolf-v0")
        if turn.observation[0] == TALK:
            return Pass()
        action: TextAction = turn.sample(self._rng)
        return action


@agent(
    "telltale-seer",
    plays=("games/Werewolf-v0",),
    needs=("array",),
    summary="As the seer tells what it saw; in other roles votes for whom a seer named.",
)
class Telltale(Villager):
    """As the seer tells what it saw; in other roles votes for whom a seer named.

    The seer names a living werewolf that it knows and votes for it, or else the last player it has
    cleared. Werewolves and all that is not said here are left to chance.
    """

    def choose(self, turn: Turn) -> TextAction:
        chance = super().choose(turn)
        seen = np.asarray(turn.observation).tolist()
        players = turn.game.players
        if seen[0] == TALK:
            return self._tell(seen, players)
        if seen[0] != VOTE:
            return chance
        wolves = known_wolves(seen, players) or accused(seen, players)
        own = seen[3 + len(players) + seen[2]] - 1
        return Vote(players[wolves[0]]) if wolves and own != WEREWOLF else chance

    def _tell(self, seen: list[int], players: tuple[str, ...]) -> TextAction:
        if seen[3 + len(players) + seen[2]] - 1 != SEER:
            return Pass()
        wolves = known_wolves(seen, players)
        if wolves:
            return Say(f"I am the seer: {players[wolves[0]]} is a werewolf.")
        cleared = [s for s in living(seen, players) if codes(seen, players)[s] == CLEARED]
        return (
            Say(f"I am the seer: {players[cleared[-1]]} is not a werewolf.") if cleared else Pass()
        )


def living(seen: Sequence[int], players: Sequence[str]) -> list[int]:
    """Seats alive, from the array view."""
    return [seat for seat in range(len(players)) if seen[3 + seat]]


def codes(seen: Sequence[int], players: Sequence[str]) -> Sequence[int]:
    """What is known of each seat, from the array view."""
    return seen[3 + len(players) : 3 + 2 * len(players)]


def known_wolves(seen: Sequence[int], players: Sequence[str]) -> list[int]:
    """Living werewolves that this seat knows."""
    return [s for s in living(seen, players) if codes(seen, players)[s] == 1 + WEREWOLF]


def accused(seen: Sequence[int], players: tuple[str, ...]) -> list[int]:
    """Living seats that somebody who calls himself the seer has called werewolves today."""
    canned = lines(players)
    n, rounds = len(players), len(players) - 2
    heard = seen[3 + 2 * n + rounds * (3 + 2 * n) :]
    said = {canned[code - 2].text for code in heard if 2 <= code < 2 + len(canned)}
    named = [s for s, name in enumerate(players) if f"I am the seer: {name} is a werewolf." in said]
    return [seat for seat in named if seen[3 + seat]]
