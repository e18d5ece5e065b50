"""Three modes of one model: moving at once, thinking first, or looking ahead.

"A²FM: An Adaptive Agent Foundation Model for Tool-Aware Hybrid Reasoning", 2025. The model first
chooses a mode for a task, and then keeps to it. The paper's agentic mode calls
tools; here its tool is the game's simulator. The wording is this package's own.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from palestra import Agent, Decision, InvalidOption, Meta, Turn, agent

from palestra_adapters.adapter import Adapter, Plain
from palestra_adapters.react import ReAct
from palestra_adapters.search.agents import BestOfN
from palestra_adapters.thinking import Thinking

MODES = ("instant", "reasoning", "agentic")
ROUTE = (
    "Before you begin, say how you will play this task to its end, in one word. instant: it is "
    "easy, you move at once. reasoning: you think before every move. agentic: it is hard, you try "
    "moves out before you play one."
)
Mode = Literal["auto", "instant", "reasoning", "agentic"]


@agent("modes", kind="llm", needs=("fork",), summary="Moves at once, thinks, or looks ahead.")
class Modes(Adapter):
    """Plays a whole episode in one of three modes, which it reports as the fact `mode`.

    mode: "auto" asks the model at the start of every episode, and uses "reasoning" if its answer is
    none of the three; the name of a mode plays all episodes in it, for rollouts to compare. `n` and
    `scorer` are those of `bestof`, which agentic turns use.
    """

    def __init__(
        self,
        *,
        mode: Annotated[Mode, Meta(description="how to play; auto: the model chooses")] = "auto",
        n: Annotated[int, Meta(ge=1, description="moves proposed and scored if agentic")] = 4,
        scorer: Annotated[str, Meta(description="how they are scored, as in bestof")] = "judge",
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        if mode != "auto" and mode not in MODES:
            raise InvalidOption(f"mode must be auto, {', '.join(MODES)}, not {mode!r}")
        self._mode = mode
        shared: dict[str, Any] = {
            "model": self.models,
            "prompt": "raw" if self.style.raw else "chat",
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "adapter": self.lora,
            "keep_tokens": self.keeps_tokens,
        }
        looks: Agent = BestOfN(n=n, scorer=scorer, **shared)
        self.inner = {"instant": Plain(**shared), "reasoning": ReAct(**shared), "agentic": looks}
        self._chosen = self.by_seat(str)

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        key = turn.episode_key, turn.seat
        if key not in self._chosen:
            self._chosen[key] = yield from self._route(turn)
        mode = self._chosen[key]
        inner: Any = self.inner[mode]
        decision: Decision = yield from inner.drawing(self.rng, inner.think(turn, advice))
        decision.facts = {**decision.facts, "mode": mode}
        return decision

    def _route(self, turn: Turn) -> Thinking[str]:
        if self._mode != "auto":
            return self._mode
        asked = f"{turn.position}\n{ROUTE}"
        (reply,) = yield [self.about(turn, asked, **self.held_to(MODES))]
        words = reply.text.strip().lower().strip(".").split()
        return words[0] if words and words[0] in MODES else "reasoning"

    def reseed(self, seed: int) -> None:
        super().reseed(seed)
        for inner in self.inner.values():
            inner.reseed(seed)

    def forget(self, episode_key: int) -> None:
        super().forget(episode_key)
        for inner in self.inner.values():
            inner.forget(episode_key)
