"""Play with deliberate faults, for records whose steps have true labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import palestra
from palestra import Agent, Decision, EpisodeRecord, InvalidOption, Turn
from palestra.kernel.rng import Rng

DRAWS = 50  # draws of another decision before the turn is left unchanged


class Faulty(Agent):
    """Plays as `agent` does, except on its own turns `at` (from 0), where it plays another action.

    `made` lists the turns of `at` on which another action was found.
    """

    def __init__(self, agent: str | Agent, *, at: Sequence[int], seed: int = 0) -> None:
        if any(place < 0 for place in at):
            raise InvalidOption(f"turns are numbered from 0; got {list(at)}")
        self.agent, self.at = palestra.make_agent(agent), frozenset(at)
        self.made: list[int] = []
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        self.agent.reseed(seed)
        self._rng = Rng.seeded(seed, stream=3)
        self._turns = 0
        self.made.clear()

    def forget(self, episode_key: int) -> None:
        self.agent.forget(episode_key)

    def close(self) -> None:
        self.agent.close()

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        decided = zip(turns, self.agent.act(turns), strict=True)
        return [self._spoilt(turn, decision) for turn, decision in decided]

    def _spoilt(self, turn: Turn, decision: Decision) -> Decision:
        place = self._turns
        self._turns += 1
        if place not in self.at:
            return decision
        if decision.action is None:
            raise InvalidOption(
                "faults need an agent whose decisions are actions; this one answered in text"
            )
        drawn = (turn.sample(self._rng) for _ in range(DRAWS))
        other = next((one for one in drawn if one != decision.action), None)
        if other is None:
            return decision
        self.made.append(place)
        return Decision(other, usage=decision.usage)


def play_with_faults(
    env: str, agents: Sequence[str], *, at: Sequence[int], seat: int = 0, seed: int = 0
) -> EpisodeRecord:
    """Play an episode in which one seat errs deliberately on its own turns `at`.

    The tag "labels" has -1 for each fault made and 1 for every other turn. Pass them to
    `step_figures` as the truth if faults have no consequences; otherwise apply `inherited` first,
    which passes labels on to dependent steps. These are AgentProcessBench's labels without human
    annotators.
    """
    faulty = Faulty(agents[seat], at=at, seed=seed)
    seats: list[Any] = [faulty if place == seat else name for place, name in enumerate(agents)]
    (record,) = palestra.play(env, agents=seats, seed=seed)
    own = [place for place, turn in enumerate(record.turns) if turn.seat == seat]
    labels = [1] * len(record.turns)
    for fault in faulty.made:
        labels[own[fault]] = -1
    record.tags["labels"] = labels
    return record
