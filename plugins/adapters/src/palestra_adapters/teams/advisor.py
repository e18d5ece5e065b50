"""EPO's advisor: one model writes strategies, another one acts on them and stays as it is.

Liu et al., "EPO: Explicit Policy Optimization for Strategic Reasoning in LLMs via Reinforcement
Learning", ACL 2025. Before a move the advisor reads the episode so far and writes an open-ended
strategy, which the actor reads with its question. Only the advisor is trained: `strategy_rows`
gives its prompts and strategies with normalised returns, the process rewards of a judge added to
the outcome.

Left out: self-play; SOTOPIA's scenarios.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from palestra import Decision, EpisodeRecord, Meta, Turn, agent
from palestra.quoting import quote

from palestra_adapters.adapter import (
    Adapter,
    one_line,
    question,
    rules_of,
    story,
)
from palestra_adapters.scoring import grade
from palestra_adapters.texts import bullets, join_paragraphs
from palestra_adapters.thinking import Thinking

ADVISE = (
    "You advise a player; another one makes the moves. Write the player's strategy for now in one "
    "or two sentences: what to aim for, and how to treat the others. Name no single move unless "
    "everything depends on it."
)
BEFORE = "Your strategies so far:\n{lines}"
JUDGE = (
    "An adviser gave a player this strategy:\n{strategy}\nThe player then did:\n{move}\n\n"
    "Was the strategy sound and did it bring the player nearer to the goal? Answer with a number "
    "from 0 (not at all) to 10 (as much as possible)."
)


@agent(
    "advisor",
    kind="llm",
    summary="EPO: an advisor writes strategies, which another model acts on.",
    paper=(
        "EPO: Explicit Policy Optimization for Strategic Reasoning in LLMs via Reinforcement "
        "Learning (2025)"
    ),
)
class Advisor(Adapter):
    """The last of the models joined by `+` advises, the first one acts; one model may do both.

    A new strategy is written every `every` decisions of a seat. With `judged` the advisor's model
    scores each strategy after its move, from 0 to 1. Facts of a decision: `strategy`, `asked` (what
    the advisor read) and `process`, its score.
    """

    def __init__(
        self,
        *,
        every: Annotated[int, Meta(ge=1, description="decisions for which a strategy holds")] = 1,
        judged: Annotated[bool, Meta(description="whether each strategy is scored")] = False,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._every, self._judged = every, judged
        self._given = self.by_seat(list[str])
        self._decided = self.by_seat(int)

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        key = turn.episode_key, turn.seat
        given = self._given.setdefault(key, [])
        number = self._decided.get(key, 0)
        facts: dict[str, Any] = {}
        if number % self._every == 0 and not turn.error:
            asked = yield from self._advise(turn, given, advice)
            facts["asked"] = asked
        self._decided[key] = number + (not turn.error)
        strategy = given[-1]
        talk = self.talk(turn, advice)
        talk.ask(f"{question(turn)}\nYour adviser's strategy: {quote(strategy)}")
        (reply,) = yield [self.move(turn, talk.messages, talk=talk)]
        decision = self.decide(turn, reply)
        talk.answer(decision.text or "")
        facts["strategy"] = strategy
        if self._judged:
            facts["process"] = yield from self._judge(turn, strategy, decision.text or "")
        decision.facts = {**decision.facts, **facts}
        return decision

    def _advise(self, turn: Turn, given: list[str], advice: str) -> Thinking[str]:
        """Write the next strategy; returns what the advisor read."""
        rules = rules_of(turn, advice)
        lines = bullets(given[-3:])
        before = BEFORE.format(lines=lines) if lines else ""
        asked = join_paragraphs(story(turn), before, ADVISE)
        said = yield from self.write(rules, asked, member=len(self.models) - 1)
        given.append(one_line(said))
        return "\n\n".join((rules, asked))

    def _judge(self, turn: Turn, strategy: str, move: str) -> Thinking[float]:
        asked = JUDGE.format(strategy=quote(strategy), move=quote(move))
        return (yield from grade(self, turn, asked, member=len(self.models) - 1))


@dataclass(frozen=True)
class StrategyRow:
    """One strategy for training: what the advisor read, what it wrote, and its advantage."""

    prompt: str
    strategy: str
    reward: float  # of the process, and at the last strategy of an episode its return as well
    advantage: float  # discounted rewards from here on, normalised over all rows


def strategy_rows(records: Iterable[EpisodeRecord], gamma: float = 0.99) -> list[StrategyRow]:
    """The advisor's strategies with their advantages, for REINFORCE over turns.

    A strategy's reward is the mean process score of the decisions it held for; the seat's return is
    added to the last one's. Returns are discounted by strategies and normalised over all rows.
    """
    texts: list[tuple[str, str]] = []
    rewards: list[float] = []
    totals: list[float] = []
    for record in records:
        for seat in range(len(record.players)):
            turns = [turn.facts for turn in record.turns if turn.seat == seat]
            pieces = held([facts for facts in turns if "strategy" in facts])
            own = [
                float(np.mean([facts.get("process", 0.0) for facts in piece])) for piece in pieces
            ]
            if own:
                own[-1] += float(record.returns[seat])
            rewards += own
            totals += discounted_sums(own, gamma)
            texts += [(piece[0]["asked"], piece[0]["strategy"]) for piece in pieces]
    spread = float(np.std(totals)) if totals else 0.0
    mean = float(np.mean(totals)) if totals else 0.0
    scaled = [(total - mean) / spread if spread else 0.0 for total in totals]
    rows = zip(texts, rewards, scaled, strict=True)
    return [StrategyRow(*text, reward, gain) for text, reward, gain in rows]


def held(decisions: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Decisions grouped by the strategy that they followed."""
    pieces: list[list[dict[str, Any]]] = []
    for facts in decisions:
        if "asked" in facts:
            pieces.append([])
        if pieces:
            pieces[-1].append(facts)
    return pieces


def discounted_sums(rewards: Sequence[float], gamma: float) -> list[float]:
    """The sum of each reward and those after it, each discounted once more."""
    found, later = [], 0.0
    for reward in reversed(rewards):
        later = reward + gamma * later
        found.append(later)
    return found[::-1]
