"""An agent that decides at every step whether to write a new plan.

Paglieri et al., "Learning When to Plan: Efficiently Allocating Test-Time Compute for LLM Agents",
2025. A plan stays in the context until another replaces it. The paper tunes a model on mixed
frequencies of planning and then by reinforcement, with a price on the tokens of plans; here are
the grammar, the frequencies, plans from outside, and the priced return.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from palestra import Decision, EpisodeRecord, InvalidOption, Meta, Turn, agent
from palestra.quoting import quote

from palestra_adapters.adapter import Adapter, game_text, question, said_in
from palestra_adapters.react import ACTION
from palestra_adapters.thinking import Thinking

FREE = (
    "If a new plan is worth its length, write it first, between <plan> and </plan>; it replaces "
    "the one you have. Else write none, and follow the plan you have. End with one line:\n"
    "Action: your move"
)
DUE = (
    "Write a new plan between <plan> and </plan>; it replaces the one you have. End with one "
    "line:\nAction: your move"
)
NONE = "Follow your plan, if you have one. Write one line:\nAction: your move"
_PLAN = re.compile(r"<plan>(.*?)</plan>", re.DOTALL)


class PlanCosts(NamedTuple):
    """Of one seat's decisions: the share with a new plan, tokens of plans, tokens per unit earned.

    `per_unit` counts all tokens written; it is infinite if nothing was earned.
    """

    rate: float
    plan_tokens: float
    per_unit: float


@agent(
    "when-to-plan",
    kind="llm",
    summary="Decides at every move whether to write a new plan, which stays until replaced.",
    paper=("Learning When to Plan: Efficiently Allocating Test-Time Compute for LLM Agents (2025)"),
)
class WhenToPlan(Adapter):
    """One reply per move: a plan or none, then the move; only the current plan is kept in context.

    every: 0 lets the model decide; k demands a plan at every k-th move and allows none between,
    -1 allows none at all. human: a plan from outside, given at the first move. The facts are
    `mode` ("plan" or "act"), `plan`, the current plan, and `plan tokens`, the share of the reply's
    tokens that the new plan took, by its share of the characters.
    """

    def __init__(
        self,
        *,
        every: Annotated[int, Meta(ge=-1, description="moves from plan to plan; 0: free")] = 0,
        human: Annotated[str, Meta(description="a plan given at the start")] = "",
        **settings: Any,
    ) -> None:
        settings.setdefault("max_tokens", 256)
        super().__init__(**settings)
        self._every, self._human = every, human
        self._plans = self.by_seat(str)
        self._steps = self.by_seat(set[int])

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        key = turn.episode_key, turn.seat
        plan = self._plans.setdefault(key, self._human)
        form = self._form(turn)
        known = f"Your plan: {quote(plan)}" if plan else "You have no plan."
        asked = f"{question(turn)}\n{known}\n{form}"
        talk = self.talk(turn, advice, answer="")
        talk.ask(asked)
        (reply,) = yield [self.ask(talk.messages, talk=talk)]
        text = said_in(reply)
        found = _PLAN.search(text)
        new = found.group(1).strip() if found and form != NONE else ""
        self._plans[key] = new or plan
        rest = _PLAN.sub("", text)
        move = game_text(turn, (rest.rpartition(ACTION)[2].strip().splitlines() or [""])[0])
        self._keep(talk, turn, move)
        decision = self.decide(turn, reply)
        decision.text, decision.thought = move, text.rpartition(ACTION)[0].strip()
        share = len(found.group(0)) / len(text) if found and new else 0.0
        decision.facts = {
            **decision.facts,
            "mode": "plan" if new else "act",
            "plan": self._plans[key],
            "plan tokens": round(share * reply.usage.tokens_out),
        }
        return decision

    def _form(self, turn: Turn) -> str:
        """What the reply may have: a plan by choice, a plan in any case, or none."""
        steps = self._steps.setdefault((turn.episode_key, turn.seat), set())
        steps.add(turn.steps_played)  # an answer that was refused is not another move
        if self._every == 0:
            return FREE
        return DUE if self._every > 0 and (len(steps) - 1) % self._every == 0 else NONE

    def _keep(self, talk: Any, turn: Turn, move: str) -> None:
        """Keep what was seen and played; the plan and the form are said anew at every move."""
        talk.take_back()
        talk.ask(question(turn))
        talk.answer(f"{ACTION} {move}")


def priced_return(record: EpisodeRecord, seat: int = 0, *, price: float) -> float:
    """The return less `price` for every token of a plan: what the paper's training maximises."""
    if price < 0:
        raise InvalidOption(f"price must be 0 or more, not {price}")
    return record.returns[seat] - price * sum(_tokens(record, seat))


def plan_costs(records: Sequence[EpisodeRecord], seat: int = 0) -> PlanCosts:
    """How often a seat planned in these episodes, and what it cost."""
    turns = [turn for record in records for turn in record.turns if turn.seat == seat]
    if not turns:
        raise InvalidOption(f"seat {seat} has not played in these records")
    planned = sum(turn.facts.get("mode") == "plan" for turn in turns)
    earned = sum(record.returns[seat] for record in records)
    spent = sum(turn.usage.tokens_out for turn in turns)
    tokens = sum(sum(_tokens(record, seat)) for record in records)
    return PlanCosts(
        planned / len(turns), tokens / len(records), spent / earned if earned > 0 else float("inf")
    )


def _tokens(record: EpisodeRecord, seat: int) -> list[float]:
    return [t.facts.get("plan tokens", 0) for t in record.turns if t.seat == seat]
