"""An agent for a seat that is left out, to play a team with and without each of its members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from palestra import Agent, Decision, Meta, Turn, agent, make_agent
from palestra.kernel.rng import check_seed

STREAM = 11  # random stream, separate from other agents of the same seed


@agent("absent", summary="Placeholder for a player who is left out: passes if the game allows it.")
class Absent(Agent):
    """Does nothing in games that have such an action; otherwise plays as `target`.

    It reports the fact `absent`, which tells estimators who took part. Play a task with every
    coalition of a team, as in `--agents mcts,absent,mcts`.
    """

    def __init__(
        self,
        *,
        target: Annotated[
            str, Meta(description="agent that plays in games without an action that does nothing")
        ] = "",
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
    """The action that does nothing, from the seat's view of the game; None if there is none."""
    return turn.fork(turn.rng(seed, STREAM)).noop(turn.seat)
