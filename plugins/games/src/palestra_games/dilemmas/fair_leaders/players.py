"""A scripted player of the Stackelberg stages: commits best, answers best, mediates fairly."""

from __future__ import annotations

from palestra import ScriptedAgent, Turn, agent

from palestra_games.dilemmas.fair_leaders.game import FOLLOW, MEDIATOR, FairLeaders


@agent("stackelberg", needs=("array",))
class Stackelberg(ScriptedAgent[FairLeaders]):
    """Leads with the move whose best response pays it most, and follows with a best response.

    If several responses pay the follower the same, it expects the one that is worst for itself; of
    its own equally good moves it plays the first. As the mediator it names the player with the
    smaller total, or on a tie the one who has led less.
    """

    def choose(self, turn: Turn[FairLeaders]) -> int:
        game = turn.game
        seen = [float(x) for x in turn.observation]
        n = game.num_actions
        if turn.seat == MEDIATOR:
            totals, led = seen[8 + 2 * n : 10 + 2 * n], seen[10 + 2 * n : 12 + 2 * n]
            return min(range(2), key=lambda seat: (totals[seat], led[seat]))
        if seen[3 + FOLLOW]:
            other = 1 - turn.seat
            led_with = seen[8 + other * n : 8 + (other + 1) * n].index(1.0)
            return max(range(n), key=lambda move: both_payoffs(game, turn.seat, move, led_with)[0])
        return max(range(n), key=lambda move: commitment_value(game, turn.seat, move))


def commitment_value(game: FairLeaders, leader: int, move: int) -> float:
    """The leader's lowest payoff if the follower plays a best response to `move`."""
    answers = [both_payoffs(game, leader, move, answer) for answer in range(game.num_actions)]
    most = max(theirs for _, theirs in answers)
    return min(own for own, theirs in answers if theirs == most)


def both_payoffs(game: FairLeaders, seat: int, move: int, other: int) -> tuple[float, float]:
    """The payoffs of `seat` and of the other player for their moves."""
    both = game.pay(move, other) if seat == 0 else game.pay(other, move)
    return both[seat], both[1 - seat]
