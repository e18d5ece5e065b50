"""Demonstration turns: the environment's questions and a reference agent's answers."""

from __future__ import annotations

from collections.abc import Sequence

from palestra import Agent, Decision, InvalidOption, Turn, make_agent
from palestra.kernel.game import Game
from palestra.llm.conversation import Example
from palestra.runner.runner import Runner

FAR = 1 << 30  # demonstrations use seeds beyond those of runs of ordinary size
EPISODES = 200


def demonstrate(game: Game[object, object], teacher: str, count: int) -> list[Example]:
    """`count` different turns of `teacher` playing every seat of `game`, in the order played.

    Raises `InvalidOption` if the games do not have that many different questions.
    """
    witness = _Witness(make_agent(teacher), count)
    witness.reseed(FAR)
    runner = Runner(game, [witness] * game.num_players, seed=FAR, live=1)
    for _ in runner.run(range(EPISODES)):
        if len(witness.seen) >= count:
            break
    if len(witness.seen) < count:
        raise InvalidOption(
            f"examples={count}: {teacher} met only {len(witness.seen)} different questions in "
            f"{EPISODES} episodes; ask for fewer"
        )
    return [Example(*item) for item in list(witness.seen.items())[:count]]


class _Witness(Agent):
    """Plays as the teacher does and keeps what it was asked and answered."""

    def __init__(self, teacher: Agent, count: int) -> None:
        self.name = f"examples of {teacher.name}"
        self.seen: dict[str, str] = {}
        self._teacher, self._count = teacher, count

    def reseed(self, seed: int) -> None:
        self._teacher.reseed(seed)

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        decisions = self._teacher.act(turns)
        for turn, decision in zip(turns, decisions, strict=True):
            move = decision.text or turn.action_text(decision.action)
            self.seen.setdefault(turn.position, move)
        return decisions

    def forget(self, episode_key: int) -> None:
        self._teacher.forget(episode_key)
