"""A language model as an agent of any environment."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from functools import lru_cache
from math import exp
from typing import Annotated, Any

import msgspec
import numpy as np
from palestra import (
    Agent,
    Decision,
    InvalidOption,
    Meta,
    ModelError,
    Turn,
    UnknownName,
    agent,
    open_model,
)
from palestra.agents.agent import PartialDecisions
from palestra.agents.asking import Asking, Question, deliberate_together
from palestra.agents.models import (
    Ability,
    Model,
    Reply,
    Request,
    Score,
)
from palestra.kernel.rng import check_seed
from palestra.llm.conversation import STYLES, Conversation, Example, confidence
from palestra.llm.legal import MOST_TYPED, hold, list_moves
from palestra.llm.prices import price_of
from palestra.llm.tool_calls import MoveTools, called, form_of_calls, returnable
from palestra.phrasing.wording import answer_form

from palestra_agents.llm.examples import demonstrate

MODES = ("free", "choice", "score", "tools")
HISTORIES = ("conversation", "position", "bare")
_THOUGHT = re.compile(r"\s*<think>(.*?)(?:</think>|\Z)\s*", re.DOTALL)
SERVED = (
    "; serve the model and play it as openai:NAME@URL (vllm serve NAME --enable-auto-tool-choice "
    "--tool-call-parser …)"
)
UNFINISHED = {  # what a server says of a reply that did not end by itself
    "length": "the reply was cut off at max_tokens",
    "content_filter": "a filter of the server withheld the reply",
}
CALL_ROOM = 64  # tokens of a call beside its move: names, braces and quotation marks
SEEDS = 1 << 31
STREAM = 8  # random stream, separate from other agents of the same seed


class OpenRequest(msgspec.Struct, eq=False, gc=False):
    """A turn put to the model, and the replies that the model may give."""

    turn: Turn
    talk: Conversation
    request: Request
    offer: MoveTools | None = None  # with mode=tools


@agent(
    "llm",
    kind="llm",
    summary="A language model: llm:<model uri>[,mode=free|choice|score|tools].",
)
class LLMAgent(Agent):
    """Plays with the model `target`, a URI such as `vllm:…`, `openai:…@…`, `local:` or `echo:`.

    mode: "free": the reply is text, which the game parses; a refused reply is asked again with the
    reason, as often as the run's policy allows. "choice": decoding is constrained to legal moves
    (to the grammar of typed actions, by a pattern). A model without constrained decoding is
    refused; if a turn or a server does not support it, the turn is played as "free", with a warning
    and `sampling["held"]` false on the record. "score": plays the legal move with the highest mean
    log-probability per token; moves must be listable. "tools": legal moves are offered as tools,
    and the answer's one call is the move; text without a call is read as in "free". prompt: "chat"
    uses the model's chat template; "raw" is one text to continue, which small models follow better.
    examples: the number of demonstration turns by the agent `teacher` before the first question.
    history: "conversation", "position" (every turn stands alone: rules and position) or "bare" (the
    position alone); the last two suit games whose position says everything. A conversation that
    outgrows the model's context loses its oldest half; `dropped` counts those messages. adapter is
    a LoRA folder, keep_tokens records the exact tokens of every decision. Other options go to the
    model; write `model.NAME` for a model option with the same name as one of these.
    """

    def __init__(
        self,
        *,
        target: Annotated[
            str, Meta(description="model URI, as in local: or openai:NAME@https://…")
        ] = "",
        mode: Annotated[
            str,
            Meta(
                description="how moves are given: free (text), choice (constrained), score or tools"
            ),
        ] = "free",
        prompt: Annotated[
            str, Meta(description="chat (the model's chat template) or raw (one text to continue)")
        ] = "chat",
        examples: Annotated[
            int, Meta(ge=0, description="demonstration turns shown before the first question")
        ] = 0,
        teacher: Annotated[
            str, Meta(description="agent that plays the demonstration turns")
        ] = "random",
        max_tokens: Annotated[
            int, Meta(ge=1, description="tokens of a reply at most", extra={"unit": "tokens"})
        ] = 64,
        temperature: Annotated[float, Meta(ge=0, description="sampling temperature")] = 0.0,
        seed: int | None = None,
        history: Annotated[
            str,
            Meta(description="conversation (whole), position (rules and position) or bare"),
        ] = "conversation",
        adapter: Annotated[str | None, Meta(description="folder of a LoRA adapter")] = None,
        keep_tokens: Annotated[
            bool, Meta(description="whether the exact tokens of each decision are recorded")
        ] = False,
        model: Annotated[
            Model | None, Meta(description="from Python: an open model, instead of target")
        ] = None,
        **options: Any,
    ) -> None:
        if mode not in MODES:
            raise UnknownName("decoding mode", mode, MODES)
        if prompt not in STYLES:
            raise UnknownName("prompt", prompt, STYLES)
        if history not in HISTORIES:
            raise UnknownName("history", history, HISTORIES)
        if model is None and not target:
            raise InvalidOption("llm needs a model: llm:local:, llm:vllm:…, llm:openai:…@…")
        self._model: Model = model or open_model(target, **options)
        self._mode, self._style = mode, STYLES[prompt]()
        self._count, self._teacher = examples, teacher
        self._history = history
        self._max_tokens, self._temperature = max_tokens, temperature
        self._fixed = seed is not None  # a seed given as an option survives reseed()
        self._seed = check_seed(seed)
        self._adapter, self._keep = adapter, keep_tokens
        price = price_of(self._model.name)
        self._price = price if price.costs else None
        self._talks: dict[int, dict[int, Conversation]] = {}  # by episode, then by seat
        self._examples: dict[str, list[Example]] = {}
        self.dropped = 0
        self._warned = False
        self._require(mode == "choice", ("choices", "pattern"), "mode=choice")
        self._require(mode == "score", "score", "mode=score")
        self._require(mode == "tools", "tools", "mode=tools")
        self._require(self._style.raw, "raw", "prompt=raw")
        self._require(keep_tokens, "tokens", "keep_tokens")
        self._require(adapter is not None, "adapter", "adapter")
        if mode == "tools" and (self._style.raw or examples or keep_tokens):
            raise InvalidOption(
                "mode=tools is a chat of calls, whose tokens the server keeps to itself; leave out "
                "prompt=raw, examples and keep_tokens"
            )

    def _require(self, wanted: bool, ability: Ability | tuple[Ability, ...], option: str) -> None:
        """Raise `InvalidOption` if an option needs an ability that the model does not have."""
        able = {ability} if isinstance(ability, str) else set(ability)
        if wanted and not able & self._model.abilities:
            raise InvalidOption(
                f"{option} is not possible with {self._model.name}; it can: "
                f"{', '.join(sorted(self._model.abilities)) or 'chat only'}"
                f"{SERVED if ability == 'tools' else ''}"
            )

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        answers = deliberate_together([self.deliberate(turn) for turn in turns])
        failed = [answer for answer in answers if isinstance(answer, Exception)]
        if failed and len(turns) == 1:
            raise failed[0]
        if failed:
            raise PartialDecisions(turns, answers)
        return answers

    def deliberate(self, turn: Turn) -> Asking:
        """Ask the model, again with a shorter conversation where that outgrows its context."""
        item = self._ask(turn)
        try:
            while True:
                (reply,) = yield [Question(self._model, item.request)]
                if not reply.overflow:
                    return self._decide(item, reply)
                self._shorten(item)
        except BaseException:  # the same turn may be asked again
            item.talk.take_back()
            raise

    def _ask(self, turn: Turn) -> OpenRequest:
        talk = self._talk(turn)
        offer = MoveTools(turn) if self._mode == "tools" else None
        refused = f"That was refused: {turn.error}\n" if turn.error else ""
        if self._history == "conversation":
            talk.ask(f"{refused}{self._form(turn)}" if refused else turn.text)
        else:
            talk.ask(f"{refused}{turn.position}")
        request = Request(
            messages=tuple(talk.messages),
            raw=self._style.raw,
            temperature=self._temperature,
            seed=turn.rng(self._seed, STREAM).word() % SEEDS if self._temperature else None,
            adapter=self._adapter,
            tokens=self._keep,
            read=talk.read,
            new=talk.new if talk.read else 0,
            special=getattr(turn.game, "quoting", "") == "none",
            tools=offer.tools if offer else (),
            **self._held(turn),
        )
        return OpenRequest(turn, talk, request, offer)

    def _talk(self, turn: Turn) -> Conversation:
        talks = self._talks.setdefault(turn.episode_key, {})
        if turn.seat not in talks or self._history != "conversation":
            examples = self._demonstrations(turn) if self._count else []
            rules = "" if self._history == "bare" else turn.game.rules_for(turn.seat)
            form = self._style.form(self._form(turn))
            talks[turn.seat] = Conversation(self._style, rules, examples, answer=form)
        return talks[turn.seat]

    def _form(self, turn: Turn) -> str:
        """What replies must look like, in the words of the game or of its wording."""
        form = answer_form(turn.game, turn.seat)
        return form_of_calls(form) if self._mode == "tools" else form

    def _demonstrations(self, turn: Turn) -> list[Example]:
        kind = repr(turn.game)
        if kind not in self._examples:
            self._examples[kind] = demonstrate(turn.game, self._teacher, self._count)
        return self._examples[kind]

    def _held(self, turn: Turn) -> dict[str, Any]:
        """The request fields that constrain the reply to legal moves, by list or pattern."""
        freely = {"max_tokens": self._max_tokens, "stop": self._style.stop}
        if self._mode == "free":
            return freely
        if self._mode == "tools":
            return freely | {"max_tokens": self._max_tokens + CALL_ROOM}
        if self._mode == "choice":
            return hold(turn, self._model, self._style, self._max_tokens) or freely
        if (moves := list_moves(turn)) is None:
            raise InvalidOption(
                f"mode=score weighs listed moves, and {turn.env} takes free text or more than "
                f"{MOST_TYPED:,} typed actions; use mode=free or mode=choice"
            )
        return {"score": tuple(map(self._style.reply, moves))}

    def _shorten(self, item: OpenRequest) -> None:
        before = item.talk.dropped
        if not item.talk.shorten():
            raise ModelError(
                f"rules, examples and question of {item.turn.env} alone do not fit the context of "
                f"{self._model.name}; give fewer examples or a model with a longer context"
            )
        self.dropped += item.talk.dropped - before
        item.request = msgspec.structs.replace(
            item.request, messages=tuple(item.talk.messages), read=(), new=0
        )

    def _decide(self, item: OpenRequest, reply: Reply) -> Decision:
        text, thought, logprob = reply.text.strip(), reply.thought, reply.logprob
        facts: dict[str, Any] = {**confidence(reply)}
        unread = ""
        if item.request.score:
            best = int(np.argmax([score.mean for score in reply.scores]))
            text, logprob = item.request.score[best].strip(), reply.scores[best].logprob
            facts = _move_probabilities(item.request.score, reply.scores, best)
        elif found := _THOUGHT.match(reply.text):
            thought, text = found.group(1).strip(), reply.text[found.end() :].strip()
        if item.offer is not None and reply.calls:
            item.talk.answer(text, calls=returnable(reply.calls, len(item.talk.messages)))
            thought = "\n".join(filter(None, (thought, text)))
            text, unread = item.offer.read(reply.calls)
            facts["calls"] = called(reply.calls)
        else:
            item.talk.answer(text, reply.tokens)
        if reply.finish in UNFINISHED and (unread or not text):
            unread = "; ".join(filter(None, (unread, UNFINISHED[reply.finish])))
        usage = reply.usage
        if self._price is not None:
            usage = msgspec.structs.replace(usage, cost=self._price.of(usage))
        return Decision(
            text=text,
            usage=usage,
            logprob=logprob,
            thought=thought,
            model=reply.model or self._model.name,
            sampling=_sampling(
                self._mode,
                item.request.temperature,
                item.request.max_tokens,
                item.request.seed,
                self._mode != "choice" or self._was_held(item, reply),
            ),
            tokens=reply.tokens,
            facts=facts | item.talk.full_tokens(reply.usage.tokens_in),
            unread=unread,
        )

    def _was_held(self, item: OpenRequest, reply: Reply) -> bool:
        """Whether a reply under mode=choice is an allowed one; warns once if not."""
        request, text = item.request, reply.text
        if request.choices is not None:
            held = text.strip() in map(str.strip, request.choices)
            why = "it does not hold its replies to the moves it was given"
        elif request.pattern is not None:
            held = re.fullmatch(request.pattern, text) is not None
            why = "it does not hold its replies to the pattern it was given"
        else:
            held, why = False, "it knows no patterns, which free text takes"
        if not held and not self._warned:
            self._warned = True
            warnings.warn(
                f"mode=choice with {self._model.name} in {item.turn.env}: {why}, so that these "
                "turns are played as in mode=free (sampling['held'] is false on the record)",
                RuntimeWarning,
                stacklevel=2,
            )
        return held

    def reseed(self, seed: int) -> None:
        if not self._fixed:
            self._seed = check_seed(seed)

    def forget(self, episode_key: int) -> None:
        self._talks.pop(episode_key, None)

    def close(self) -> None:
        self._talks.clear()
        self._model.close()


def _move_probabilities(moves: Sequence[str], scores: Sequence[Score], best: int) -> dict[str, Any]:
    """The normalised probability of each scored move, and that of its tokens."""
    logs = np.array([score.logprob for score in scores])
    chances = np.exp(logs - logs.max())
    named = zip(map(str.strip, moves), (chances / chances.sum()).tolist(), strict=True)
    return {"strategy": dict(named), "confidence": exp(min(scores[best].mean, 0.0))}


@lru_cache(maxsize=256)
def _sampling(
    mode: str, temperature: float, max_tokens: int, seed: int | None, held: bool
) -> dict[str, Any]:
    """A decision's settings for the record; decisions with the same settings share them.

    `held` is false if mode=choice could not constrain the reply.
    """
    settings: dict[str, Any] = {"mode": mode, "temperature": temperature, "max_tokens": max_tokens}
    settings |= {} if seed is None else {"seed": seed}
    return settings if held else settings | {"held": False}
