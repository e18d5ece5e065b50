"""A seat that is left out, so that a team can be played with and without each of its members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from palestra import Agent, Decision, Meta, Turn, agent, make_agent
from palestra.kernel.rng import check_seed

STREAM = 11  # of random numbers, apart from other agents of the same seed


@agent("absent", summary="Stands in for a player who is left out: does nothing where it can.")
class Absent(Agent):
    """Does nothing, in games that have such an action; elsewhere plays as `target`.

    It reports the fact `absent`, by which estimators tell who took part: play a task with every
    coalition of a team, as in `--agents mcts,absent,mcts`.
    """

    def __init__(
        self,
        *,
        target: Annotated[str, Meta(description="who plays where nothing cannot be done")] = "",
        **options: Any,
    ) -> None:
        self._stand_in = make_agent(target or "random", **options)
        self._seed = 0

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        idle = [_nothing(turn, self._seed) for turn in turns]
        asked = [turn for turn, action in zip(turns, idle, strict=True) if action is None]
        played = iter(self._stand_in.act(asked) if asked else ())
        decisions = [next(played) if action is None else Decision(action) for action in idle]
        for decision in decisions:
            decision.facts = {**decision.facts, "absent": True}
        return decisions

    def reseed(self, seed: int) -> None:
        self._seed = check_seed(seed)
        self._stand_in.reseed(seed)

    def forget(self, episode_key: int) -> None:
        self._stand_in.forget(episode_key)

    def close(self) -> None:
        self._stand_in.close()


def _nothing(turn: Turn, seed: int) -> Any:
    """The action of a seat that does nothing, as it knows the game; None if there is none."""
    return turn.fork(turn.rng(seed, STREAM)).noop(turn.seat)
