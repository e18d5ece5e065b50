"""A learner's exact strategy in a game that is small enough, and how far it is from equilibrium."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from palestra import Episode, Game, InvalidOption
from palestra.agents.agent import Turn
from palestra.agents.models import Model, Reply, Request
from palestra.kernel.specs import load_entry_point

from palestra_training.learner import Learner
from palestra_training.plan import TrainPlan
from palestra_training.play import seat_learner

SOLVER = "palestra_agents.game_tree"
POSITIONS, SETS = 20_000, 1_000  # of the largest game that is solved; a set asks the model once
Decision = tuple[bytes, int, Any]  # an information set, who moves there, and a position of it


class _Asked(Model):
    """Answers with the first choice, and keeps the request."""

    name, abilities = "asked", frozenset({"choices", "raw"})

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        self.request = requests[-1]
        return [Reply((request.choices or ("",))[0]) for request in requests]


def decisions(game: Game[Any, Any], plan: TrainPlan) -> list[Decision]:
    """Every information set of a game, if a learner's exploitability can be found; else none.

    It can in zero-sum games of two seats whose tree is small, if replies are held to legal moves
    and a prompt holds the position alone, so that it is the same however the position came about.
    """
    asked = plan.mode == "choice" and plan.history != "conversation"
    if not asked or game.payoffs != "zero-sum" or game.num_players != 2:
        return []
    try:
        deals = load_entry_point(f"{SOLVER}:check_solvable")(game)
    except InvalidOption:
        return []
    if len(deals) > POSITIONS:
        return []
    found: dict[bytes, Decision] = {}
    for number, one in enumerate(_walk(game, [state for _, state in deals])):
        found.setdefault(one[0], one)
        if number >= POSITIONS or len(found) > SETS:
            return []
    return list(found.values())


def _walk(game: Game[Any, Any], states: Sequence[Any]) -> Iterator[Decision]:
    left, play = list(states), load_entry_point(f"{SOLVER}:play")
    while left:
        state = left.pop()
        seats = game.to_act(state)
        if seats:
            yield game.state_key(state, seats[0]), seats[0], state
            left += [play(game, state, a)[0] for a in game.legal_actions(state, seats[0])]


def strategy_of(
    learners: Sequence[Learner], plan: TrainPlan, game: Game[Any, Any], sets: Sequence[Decision]
) -> dict[bytes, dict[Any, float]]:
    """The probability of every action at every information set, at the plan's temperature.

    learners: one, or one for each seat. sets: what `decisions` found.
    """
    model = _Asked()
    agent = seat_learner(model, plan, plan.temperature, keep=False)
    found = {}
    for key, seat, state in sets:
        episode = Episode(game, 0, compiled=False)
        episode.load(state)
        agent.act([Turn(episode, seat)])
        chances = learners[seat % len(learners)].strategy(model.request)
        found[key] = dict(zip(game.legal_actions(state, seat), chances.values(), strict=True))
    return found


def exploitability_of(
    learners: Sequence[Learner], plan: TrainPlan, game: Game[Any, Any], sets: Sequence[Decision]
) -> float | None:
    """The exploitability of what the learners play in training; None if there are no sets."""
    if not sets:
        return None
    measure = load_entry_point("palestra_agents.exploitability:exploitability")
    return float(measure(game, strategy_of(learners, plan, game, sets)))
