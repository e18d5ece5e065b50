"""Relay inference: one agent starts an episode, another finishes it.

"The Collaboration Gap", 2025: a strong agent plays the first turns of a seat, a weaker one the
rest. The first turns determine most of a pair's result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from palestra import Agent, Decision, InvalidOption, Meta, Turn, agent, make_agent

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


@agent(
    "relay",
    kind="llm",
    summary="One agent starts an episode, another finishes it.",
)
class Relay(Agent):
    """Agents in sequence: each plays `turns` decisions of a seat, the last one all the rest.

    target: agents joined by `+`, as in `relay:llm:openai:big@…+llm:local:,turns=2`.
    """

    def __init__(
        self,
        *,
        target: Annotated[str, Meta(description="agents joined by +")] = "",
        turns: Annotated[int, Meta(ge=0, description="decisions each agent plays")] = 1,
        agents: Annotated[
            Sequence[Agent | str], Meta(description="from Python: the agents, instead of target")
        ] = (),
    ) -> None:
        members = in_sequence(agents, target, "relay:mcts+random,turns=2")
        self.members = [make_agent(member) for member in members]
        self._turns = turns
        self._played: dict[tuple[int, int], set[int]] = {}

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        """Call every member that has waiting turns once."""
        whose = [self._member(turn) for turn in turns]
        decisions: dict[int, Decision] = {}
        for number, member in enumerate(self.members):
            own = [i for i, chosen in enumerate(whose) if chosen == number]
            if own:
                decisions.update(zip(own, member.act([turns[i] for i in own]), strict=True))
        for i, decision in decisions.items():
            decision.model = decision.model or self.members[whose[i]].name
        return [decisions[i] for i in range(len(turns))]

    def _member(self, turn: Turn) -> int:
        """Index of the member that plays this turn; retries do not count as decisions."""
        played = self._played.setdefault((turn.episode_key, turn.seat), set())
        played.add(turn.steps_played)
        before = len(played) - 1
        last = len(self.members) - 1
        return min(before // self._turns, last) if self._turns else last

    def reseed(self, seed: int) -> None:
        for number, member in enumerate(self.members):
            member.reseed(seed + number)

    def forget(self, episode_key: int) -> None:
        for key in [key for key in self._played if key[0] == episode_key]:
            del self._played[key]
        for member in self.members:
            member.forget(episode_key)

    def close(self) -> None:
        for member in self.members:
            member.close()
