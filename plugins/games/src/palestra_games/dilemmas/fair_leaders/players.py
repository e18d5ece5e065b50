"""A scripted player of the Stackelberg stages: commits best, answers best, mediates fairly."""

from __future__ import annotations

from collections.abc import Sequence

from palestra import Agent, Decision, InvalidOption, Turn, agent

from palestra_games.dilemmas.fair_leaders.game import FOLLOW, MEDIATOR, FairLeaders


@agent(
    "stackelberg",
    plays=("games/FairLeaders-v0",),
    needs=("array",),
    summary="Commits to the best move as a leader, answers best, and mediates fairly.",
)
class Stackelberg(Agent):
    """Leads with the move whose best answer pays it most, and answers with what pays it most.

    Of answers that pay the follower the same it expects the one that is worst for itself; of its
    own moves that pay the same it plays the first. As the mediator it names the player with the
    smaller total, of equals the one who has led less.
    """

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> int:
        game = turn.game
        if not isinstance(game, FairLeaders):
            raise InvalidOption(f"{self.name or 'stackelberg'} plays games/FairLeaders-v0")
        seen = [float(x) for x in turn.observation]
        n = game.num_actions
        if turn.seat == MEDIATOR:
            totals, led = seen[8 + 2 * n : 10 + 2 * n], seen[10 + 2 * n : 12 + 2 * n]
            return min(range(2), key=lambda seat: (totals[seat], led[seat]))
        if seen[3 + FOLLOW]:
            other = 1 - turn.seat
            led_with = seen[8 + other * n : 8 + (other + 1) * n].index(1.0)
            return max(range(n), key=lambda move: paid(game, turn.seat, move, led_with)[0])
        return max(range(n), key=lambda move: commitment_value(game, turn.seat, move))


def commitment_value(game: FairLeaders, leader: int, move: int) -> float:
    """What the leader is sure to be paid if the follower answers `move` with what pays him most."""
    answers = [paid(game, leader, move, answer) for answer in range(game.num_actions)]
    most = max(theirs for _, theirs in answers)
    return min(own for own, theirs in answers if theirs == most)


def paid(game: FairLeaders, seat: int, move: int, other: int) -> tuple[float, float]:
    """What `seat` and the other are paid for their moves."""
    both = game.pay(move, other) if seat == 0 else game.pay(other, move)
    return both[seat], both[1 - seat]
