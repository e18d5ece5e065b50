"""Relay inference: one agent starts an episode, another finishes it.

"The Collaboration Gap", 2025: a strong agent plays the first turns of a seat, a weaker one the
rest. The first turns determine most of a pair's result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from palestra import Agent, Decision, Meta, Turn, agent, make_agent

from palestra_adapters.members import Composed, act_in_turn, in_sequence
from palestra_adapters.seats import BySeat


@agent(
    "relay",
    kind="llm",
    summary="One agent starts an episode, another finishes it.",
)
class Relay(Composed):
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
        self._played: BySeat[set[int]] = BySeat()

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        whose = [self._member(turn) for turn in turns]
        decisions = act_in_turn(turns, whose, dict(enumerate(self.members)))
        for number, decision in zip(whose, decisions, strict=True):
            decision.model = decision.model or self.members[number].name
        return decisions

    def parts(self) -> Sequence[Agent]:
        return self.members

    def _member(self, turn: Turn) -> int:
        """Index of the member that plays this turn; retries do not count as decisions."""
        played = self._played.setdefault((turn.episode_key, turn.seat), set())
        played.add(turn.steps_played)
        before = len(played) - 1
        last = len(self.members) - 1
        return min(before // self._turns, last) if self._turns else last

    def forget(self, episode_key: int) -> None:
        self._played.end(episode_key)
        super().forget(episode_key)
