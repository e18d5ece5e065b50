"""What happens when a player leaves a match: they forfeit, or a substitute plays on in the seat.

A player leaves by resigning, by silence until their time is up, and by more illegal answers than
the match's policy for them allows. A forfeit ends the match for all, so it is for matches without
others who want to play on; in zero-sum games of more than two seats it would also pay each rival,
and friends could share a table to collect that. Elsewhere a substitute plays on. Whoever has left
gets no better result than a forfeit would have given.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any, Literal

import msgspec
from palestra import Agent, InvalidOption
from palestra.agents.making import make_agent
from palestra.kernel.game import Game, Outcome
from palestra.kernel.registry import registry
from palestra.records.record import TurnNote
from palestra.runner.runner import Runner
from palestra.runner.running import RunningEpisode

from palestra_server.messages import Departure, MatchPlan, OnLeave, Why


def usual_substitute() -> str:
    """`absent`, which does nothing where the game allows it; `random` where it is missing."""
    return "absent" if "absent" in registry().agents else "random"


def pays_rivals(game: Game[Any, Any]) -> bool:
    """Whether a forfeit pays several rivals, who may be the loser's friends."""
    return game.payoffs == "zero-sum" and game.num_players > 2


def policy_for(game: Game[Any, Any], wanted: OnLeave) -> Literal["forfeit", "substitute"]:
    """The policy of a match; raises `InvalidOption` for a forfeit that would pay several rivals."""
    if wanted == "auto":
        duel = game.num_players == 2 and game.payoffs == "zero-sum"
        return "forfeit" if duel or game.num_players == 1 else "substitute"
    if wanted == "forfeit" and pays_rivals(game):
        raise InvalidOption(
            "on_leave is 'substitute' or 'auto' in zero-sum games of more than two seats, where a "
            "forfeit would pay each rival"
        )
    return wanted


class Leaving:
    """Who has left a match. The plan and the answers alone decide it, so a journal restores it.

    open_seats: the seats that are played from outside. `away` has the departures, by seat, of those
    whom a substitute replaces or whose leaving ended the match.
    """

    def __init__(
        self, plan: MatchPlan, runner: Runner, running: RunningEpisode, open_seats: Set[int]
    ) -> None:
        self.departures: list[Departure] = []
        self.away: dict[int, Departure] = {}
        self._plan, self._runner, self._running = plan, runner, running
        self._open_seats = open_seats
        self._left: dict[int, Agent] = {}  # who sat there before the substitute
        self._most: dict[int, float] = {}  # what who is away may get at most
        self._substitutes: list[Agent] = []

    def player(self, seat: int) -> Agent:
        """Whose seat it is, whoever plays it now."""
        return self._left.get(seat, self._runner.agents[seat])

    def replaces(self, seat: int) -> bool:
        """Whether a substitute would play on.

        When the last seat that is played from outside is left, nobody waits for the result.
        """
        others = self._open_seats - self.away.keys() - {seat}
        last = seat in self._open_seats and not others
        return bool(self._plan.substitute) and not last

    def leave(self, seat: int, why: Why) -> None:
        """Let a seat's player leave now."""
        episode, game = self._running.episode, self._runner.game
        substitute = self._plan.substitute if self.replaces(seat) else ""
        left = Departure(
            *(seat, game.players[seat], self.player(seat).name, episode.steps_played, why),
            substitute=substitute,
        )
        self.departures.append(left)
        self.away[seat] = left
        self._most[seat] = float(episode.returns[seat] + game.forfeit(seat)[seat])
        if substitute:
            self._seat_substitute(seat, substitute)
        else:
            self._end(seat, why)

    def _seat_substitute(self, seat: int, name: str) -> None:
        agent = make_agent(name)
        agent.reseed(self._plan.seed + seat)
        self._substitutes.append(agent)
        self._left[seat], self._runner.agents[seat] = self._runner.agents[seat], agent
        if self._running.lost.pop(seat, None) is not None:
            self._running.notes.pop(seat, None)

    def _end(self, seat: int, why: Why) -> None:
        running, episode = self._running, self._running.episode
        if pays_rivals(self._runner.game) and self._plan.on_leave == "substitute":
            episode.truncate(f"nobody is left: {episode.players[seat]} was last", self._notes())
            running.clear()
        elif seat not in running.lost:  # else the step ends once the others have answered
            episode.forfeit(seat, why, self._notes())
            running.clear()

    def _notes(self) -> dict[int, TurnNote]:
        """The answers of the step that is cut off; those of lost seats are refused already."""
        notes = self._running.unplayed()
        for seat in self._running.lost:
            notes[seat] = TurnNote(refused=notes[seat].refused)
        return notes

    def repair(self, seat: int) -> None:
        """Play a random move for a substitute whose own answer was late or illegal."""
        running = self._running
        running.lost.pop(seat, None)
        action = running.episode.sample(seat, running.episode.repair_rng(seat))
        refused = running.refused.get(seat, ())
        running.actions[seat], running.notes[seat] = action, TurnNote(None, refused, "replaced")

    def check_reclaim(self, seat: int) -> None:
        """Raise `InvalidOption` for a seat that cannot be reclaimed."""
        left = self.away.get(seat)
        if left is None:
            raise InvalidOption(f"seat {seat} has not been left; play on")
        if left.why == "resigned" or not left.substitute:
            raise InvalidOption(f"seat {seat} cannot be reclaimed: its player {_said(left)}")

    def came_back(self, seat: int) -> bool:
        """Whether a seat was reclaimed in this step: who is silent again lets it be played."""
        step = self._running.episode.steps_played
        return any(left.seat == seat and left.back == step for left in self.departures)

    def reclaim(self, seat: int) -> None:
        """Give a seat back to its player; raises `InvalidOption`."""
        self.check_reclaim(seat)
        left = self.away.pop(seat)
        left.back = self._running.episode.steps_played
        self._runner.agents[seat] = self._left.pop(seat)

    # What is seen of it

    def refusal(self, seat: int) -> str:
        """What the client of a seat hears that may not answer; empty if it may."""
        left = self.away.get(seat)
        if left is None or not left.substitute:
            return ""
        hint = (
            ""
            if left.why == "resigned"
            else "; reclaim the seat first (POST /seat/reclaim, or the tool reclaim)"
        )
        return f"seat {seat} {_said(left)}, and {left.substitute} plays on{hint}"

    def known_to(self, seat: int, *, turns: bool) -> list[Departure]:
        """Departures that a seat may know. Silence betrays whose turn it was; resigning does not.

        turns: whether the seat may know whose turn it is.
        """
        return [d for d in self.departures if turns or d.why == "resigned" or d.seat == seat]

    def returns(self, seat: int) -> float:
        """The return so far of a seat's player, who may have left."""
        paid = float(self._running.episode.returns[seat])
        return min(paid, self._most[seat]) if seat in self.away else paid

    def result(self, seat: int, outcome: Outcome) -> tuple[str, float]:
        """The result and score of a seat's player at the end."""
        score = float(outcome.scores[seat])
        if seat in self.away:
            return "forfeit", min(score, self._most[seat])
        return outcome.results[seat], score

    def tag(self, outcome: Outcome | None) -> list[dict[str, Any]]:
        """The departures as a record keeps them."""
        for seat, left in self.away.items():
            if outcome is not None:
                left.result, left.score = self.result(seat, outcome)
        return [msgspec.to_builtins(left) for left in self.departures]

    def close(self) -> None:
        """Close the agents that do not sit in a seat now."""
        seated = set(map(id, self._runner.agents))
        for agent in (*self._left.values(), *self._substitutes):
            if id(agent) not in seated:
                agent.close()


def _said(left: Departure) -> str:
    ways = {
        "resigned": "resigned",
        "silent": "was silent until its time was up",
        "illegal": "gave too many illegal answers",
    }
    return f"{ways[left.why]} at step {left.step}"
