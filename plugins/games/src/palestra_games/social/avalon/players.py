"""Scripted players of Avalon: one that trusts everybody, and one that remembers failed quests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from palestra import ScriptedAgent, TextAction, Turn, agent

from palestra_games.social.avalon.game import Avalon
from palestra_games.social.avalon.rules import (
    DISCUSS,
    IS_EVIL,
    MAX_PROPOSALS,
    PROPOSE,
    QUEST,
    QUESTS,
    TEAM_SIZES,
    VOTE,
    Approve,
    Fail,
    Propose,
    Reject,
    Succeed,
    is_evil,
)
from palestra_games.social.discussion import Pass

HEAD = 5  # numbers of the array view before what is known of each seat


@agent("avalon-trusting", needs=("array",))
class Trusting(ScriptedAgent[Avalon]):
    """Approves every team in Avalon; as an evil player it makes every quest fail.

    It proposes itself and the others with the lowest numbers, says nothing, and as the assassin
    names anybody.
    """

    stream = 4

    def choose(self, turn: Turn[Avalon]) -> TextAction:
        game = turn.game
        seen = np.asarray(turn.observation).tolist()
        own = seen[HEAD + seen[3]] - 1
        if seen[0] == DISCUSS:
            return Pass()
        if seen[0] == PROPOSE:
            ranked = self.ranking(seen, game.num_players)
            team = sorted(ranked[: TEAM_SIZES[game.num_players][seen[1]]])
            return Propose(", ".join(game.players[seat] for seat in team))
        if seen[0] == VOTE:
            return Approve() if self.approves(seen, game.num_players) else Reject()
        if seen[0] == QUEST:
            return Fail() if is_evil(own) else Succeed()
        return turn.sample(self.rng)

    def ranking(self, seen: Sequence[int], players: int) -> list[int]:
        """Seats in the order in which they are wanted on a team."""
        return sorted(range(players), key=lambda seat: seat != seen[3])

    def approves(self, seen: Sequence[int], players: int) -> bool:
        """Whether to vote for the proposed team."""
        return True


@agent("avalon-careful", needs=("array",))
class Careful(Trusting):
    """Keeps known evil players and members of failed teams off the team in Avalon.

    Good players propose themselves and those least suspected, and reject a team with a suspect,
    except in the last proposal. Evil players approve the teams with an evil player they know of.
    """

    def ranking(self, seen: Sequence[int], players: int) -> list[int]:
        suspicion = self._suspicion(seen, players)
        return sorted(super().ranking(seen, players), key=lambda seat: suspicion[seat])

    def approves(self, seen: Sequence[int], players: int) -> bool:
        tries = proposals(seen, players)[seen[1]]
        standing = [row for row in tries if row[0]][-1]
        team = [seat for seat in range(players) if standing[1 + seat]]
        known = seen[HEAD : HEAD + players]
        if is_evil(known[seen[3]] - 1):
            return seen[3] in team or any(known[seat] == IS_EVIL for seat in team)
        last = sum(row[0] > 0 for row in tries) == MAX_PROPOSALS
        return last or not any(self._suspicion(seen, players)[seat] for seat in team)

    def _suspicion(self, seen: Sequence[int], players: int) -> list[float]:
        """Per seat, 0 for oneself: how much it was part of failed quests, and 10 if it is evil."""
        own, known = seen[3], seen[HEAD : HEAD + players]
        suspicion = [10.0 * (code == IS_EVIL and not is_evil(known[own] - 1)) for code in known]
        after = HEAD + players + QUESTS * MAX_PROPOSALS * (1 + 2 * players)
        for quest, tries in enumerate(proposals(seen, players)[: seen[1]]):
            team = [row for row in tries if row[0]][-1][1 : 1 + players]
            fails = seen[after + 2 * quest] - 1
            for seat, member in enumerate(team):
                suspicion[seat] += fails * member / sum(team)
        suspicion[own] = 0.0
        return suspicion


def proposals(seen: Sequence[int], players: int) -> list[list[list[int]]]:
    """For each quest its proposals, from the array view: 1 + leader, team, votes."""
    size, start = 1 + 2 * players, HEAD + players
    rows = [list(seen[start + i * size :][:size]) for i in range(QUESTS * MAX_PROPOSALS)]
    return [rows[i : i + MAX_PROPOSALS] for i in range(0, len(rows), MAX_PROPOSALS)]
