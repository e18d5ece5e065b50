"""Scripted players of Werewolf: one at random, and a village that listens to its seer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from palestra import ScriptedAgent, TextAction, Turn, agent

from palestra_games.social.discussion import Pass, Say
from palestra_games.social.werewolf.game import Werewolf
from palestra_games.social.werewolf.rules import (
    CLEARED,
    SEER,
    TALK,
    VOTE,
    WEREWOLF,
    Vote,
    program_lines,
)


@agent("villager", needs=("array",))
class Villager(ScriptedAgent[Werewolf]):
    """Says nothing in Werewolf, and votes and chooses at random, in every role."""

    stream = 4

    def choose(self, turn: Turn[Werewolf]) -> TextAction:
        if turn.observation[0] == TALK:
            return Pass()
        return turn.sample(self.rng)


@agent("telltale-seer", needs=("array",))
class Telltale(Villager):
    """As the seer in Werewolf, tells what it saw; in other roles, votes for whom a seer named.

    The seer names a living werewolf that it knows and votes for it, or else the last player it has
    cleared. Werewolves play at random, and so does everybody in all other decisions.
    """

    def choose(self, turn: Turn[Werewolf]) -> TextAction:
        chance = super().choose(turn)
        seen = np.asarray(turn.observation).tolist()
        players = turn.game.players
        if seen[0] == TALK:
            return self._tell(seen, players)
        if seen[0] != VOTE:
            return chance
        wolves = known_wolves(seen, players) or accused_seats(seen, players)
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


def accused_seats(seen: Sequence[int], players: tuple[str, ...]) -> list[int]:
    """Living seats that somebody who calls themselves the seer has called werewolves today."""
    canned = program_lines(players)
    n, rounds = len(players), len(players) - 2
    heard = seen[3 + 2 * n + rounds * (3 + 2 * n) :]
    said = {canned[code - 2].text for code in heard if 2 <= code < 2 + len(canned)}
    named = [s for s, name in enumerate(players) if f"I am the seer: {name} is a werewolf." in said]
    return [seat for seat in named if seen[3 + seat]]
