"""Agents made of other agents: which member plays a turn, and what is passed on to all of them."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from palestra import Agent, Decision, InvalidOption, Turn
from palestra.kernel.rng import SEED_LIMIT

K = TypeVar("K", bound=Hashable)
NEXT_AGENT = re.compile(r"\+(?=[a-z][\w-]*(?::|\+|$))")


def split_members(target: str) -> list[str]:
    """The agents of `mcts+llm:local:+random`."""
    return NEXT_AGENT.split(target) if target else []


def in_sequence(agents: Sequence[Agent | str], target: str, example: str) -> Sequence[Agent | str]:
    """The agents given, or those of `target`; raises `InvalidOption` unless there are two."""
    members = list(agents) or split_members(target)
    if len(members) < 2:
        name = example.partition(":")[0]
        raise InvalidOption(f"{name} needs two agents or more: {example}")
    return members


class Composed(Agent):
    """An agent that hands its turns to `parts`, and passes on seeds and the ends of episodes.

    One agent may be several parts; it is reseeded, told and closed once.
    """

    @abstractmethod
    def parts(self) -> Sequence[Agent]:
        """All agents that it is made of, in the order in which they are seeded."""

    def reseed(self, seed: int) -> None:
        for number, part in enumerate(_distinct(self.parts())):
            part.reseed((seed + number) % SEED_LIMIT)

    def forget(self, episode_key: int) -> None:
        for part in _distinct(self.parts()):
            part.forget(episode_key)

    def close(self) -> None:
        for part in _distinct(self.parts()):
            part.close()


def _distinct(parts: Sequence[Agent]) -> list[Agent]:
    return list({id(part): part for part in parts}.values())


def act_in_turn(
    turns: Sequence[Turn], whose: Sequence[K], agents: Mapping[K, Agent]
) -> list[Decision]:
    """The decisions of turns that are each played by the agent of their key, called once each.

    whose: the key of every turn. Agents are called in the order of `agents`.
    """
    decisions: dict[int, Decision] = {}
    for key, agent in agents.items():
        own = [place for place, chosen in enumerate(whose) if chosen == key]
        if own:
            decisions.update(zip(own, agent.act([turns[i] for i in own]), strict=True))
    return [decisions[place] for place in range(len(turns))]
