"""A language model as an agent: rules once, then what it saw, then the question.

The conversation of a seat is append-only, so that a server's prefix cache keeps serving it: every
prompt starts with the one before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from palestra import Agent, Decision, InvalidOption, Turn, UnknownName, open_model
from palestra.models import Message, Model, Reply, Request

MODES = ("free", "choice")
ANSWER = "Answer with your move only."


class LLMAgent(Agent):
    """Plays with the model `target`, a URI such as `vllm:…`, `openai:…` or `echo:`.

    mode="free": the reply is text, which the game parses; a refused reply is asked again with the
    reason, as often as the run's policy allows. mode="choice": the model may only write one of
    the legal moves; where they cannot be listed (free messages) that turn is asked freely.
    """

    def __init__(
        self,
        *,
        target: str = "",
        mode: str = "free",
        max_tokens: int = 64,
        temperature: float = 0.0,
        seed: int | None = None,
        model: Model | None = None,
    ) -> None:
        if mode not in MODES:
            raise UnknownName("decoding mode", mode, MODES)
        if model is None and not target:
            raise InvalidOption("llm needs a model: llm:vllm:…, llm:openai:…@…, llm:echo:")
        self._model = model or open_model(target)
        self._mode, self._max_tokens, self._temperature = mode, max_tokens, temperature
        self._seed = seed
        self._talks: dict[tuple[int, int], list[Message]] = {}

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        requests = [self._request(turn) for turn in turns]
        replies = self._model.chat(requests)
        return [
            self._decision(turn, request, reply)
            for turn, request, reply in zip(turns, requests, replies, strict=True)
        ]

    def _request(self, turn: Turn) -> Request:
        talk = self._talks.setdefault((turn.episode_key, turn.player), [])
        if not talk:
            talk.append(Message("system", f"{turn.game.rules(turn.player)}\n{ANSWER}"))
        if turn.error:
            talk.append(Message("user", f"That was refused: {turn.error}\n{ANSWER}"))
        else:
            talk.append(Message("user", turn.text))
        return Request(
            messages=tuple(talk),
            choices=self._choices(turn) if self._mode == "choice" else None,
            max_tokens=self._max_tokens,
            temperature=self._temperature,
            seed=self._seed,
        )

    @staticmethod
    def _choices(turn: Turn) -> tuple[str, ...] | None:
        """Every legal move in the game's own words; None where free text is among them."""
        if not hasattr(turn.legal, "nonzero"):
            free = any("Text" in type(d).__name__ for o in turn.legal for d in o.fields.values())
            if free:
                return None
        return tuple(turn.action_text(action) for action in turn.legal_actions)

    def _decision(self, turn: Turn, request: Request, reply: Reply) -> Decision:
        self._talks[turn.episode_key, turn.player].append(Message("assistant", reply.text))
        return Decision(
            text=reply.text, usage=reply.usage, logprob=reply.logprob, model=reply.model
        )

    def reseed(self, seed: int) -> None:
        self._seed = seed

    def forget(self, episode_key: int) -> None:
        for key in [key for key in self._talks if key[0] == episode_key]:
            del self._talks[key]

    def close(self) -> None:
        self._talks.clear()
        self._model.close()
