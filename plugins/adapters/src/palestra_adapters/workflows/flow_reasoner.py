"""FlowReasoner: a meta agent writes one workflow for every query, here for every episode.

Gao et al., "FlowReasoner: Reinforcing Query-Level Meta-Agents", 2025. The paper trains the meta
agent with a reward of performance, complexity and efficiency of what it wrote; here are the meta
agent and the reward. Training is left to a trainer.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from palestra import Decision, EpisodeRecord, InvalidOption, Meta, Turn, agent
from palestra.quoting import disarm, quote

from palestra_adapters.adapter import rules_of, said_in, story
from palestra_adapters.optimisers.wording import FORM, LANGUAGE, read_proposal
from palestra_adapters.thinking import Thinking
from palestra_adapters.workflows.player import FlowPlayer
from palestra_adapters.workflows.steps import Workflow, answered_once

DESIGN = (
    "This is the start of one episode:\n{story}\n\nDesign the workflow that will play this episode "
    "best. A workflow that asks less often is better if it plays as well.\n{form}"
)
AGAIN = "{asked}\n\nYour last reply was refused: {error}. It was:\n{reply}\n\nWrite it again."


@agent(
    "flow-reasoner",
    kind="llm",
    summary="Writes a workflow for every episode after reading its start, and plays by it.",
    paper="FlowReasoner: Reinforcing Query-Level Meta-Agents (2025)",
)
class FlowReasoner(FlowPlayer):
    """At its first turn of an episode the model writes a workflow, which plays the whole episode.

    A workflow that cannot be played is sent back, `tries` times in all; then one answer a move is
    the workflow. Two models joined by `+` are player and meta agent. The first decision has the
    facts `flow`, the workflow, and `designed`, whether the model wrote it.
    """

    def __init__(
        self,
        *,
        tries: Annotated[int, Meta(ge=1, description="replies until a workflow is readable")] = 3,
        length: Annotated[int, Meta(ge=1, description="most tokens of a workflow")] = 1_024,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._tries, self._length = tries, length
        self._flows = self.by_seat(Workflow)
        self._new = self.by_seat(bool)

    def flow(self, turn: Turn, advice: str) -> Thinking[Workflow]:
        key = turn.episode_key, turn.seat
        if key not in self._flows:
            made = yield from self._design(turn, advice)
            self._flows[key] = made or answered_once()
            self._new[key] = made is not None
        return self._flows[key]

    def _design(self, turn: Turn, advice: str) -> Thinking[Workflow | None]:
        rules = rules_of(turn, advice)
        asked = prompt = DESIGN.format(story=story(turn), form=FORM)
        for _ in range(self._tries):
            messages = self.single(rules, prompt, answer=f"\n{LANGUAGE}")
            member = len(self.models) - 1
            (reply,) = yield [self.ask(messages, member=member, max_tokens=self._length)]
            text = said_in(reply)
            try:
                return read_proposal(text)[1]
            except InvalidOption as error:
                prompt = AGAIN.format(asked=asked, error=disarm(str(error)), reply=quote(text))
        return None

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        decision = yield from super().think(turn, advice)
        key = turn.episode_key, turn.seat
        if key in self._new:
            flow = msgspec.to_builtins(self._flows[key])
            more = {"flow": flow, "designed": self._new.pop(key)}
            decision.facts = {**decision.facts, **more}
        return decision


def flow_reward(
    record: EpisodeRecord, seat: int = 0, *, complexity: float = 0.01, tokens: float = 0.0
) -> float:
    """Return - complexity * (steps + links of the workflow) - tokens * thousands of tokens used.

    The reward of the meta agent. The abstract names the three purposes; the weights are options.
    Raises `InvalidOption` for a record without the fact `flow`.
    """
    own = [turn for turn in record.turns if turn.seat == seat]
    flows = [turn.facts["flow"] for turn in own if "flow" in turn.facts]
    if not flows:
        raise InvalidOption("no turn of this seat has a workflow; play it with flow-reasoner")
    steps = flows[0]["steps"]
    size = len(steps) + sum(len(step.get("reads", ())) for step in steps)
    used = sum(turn.usage.tokens for turn in own) / 1000
    return record.returns[seat] - complexity * size - tokens * used
