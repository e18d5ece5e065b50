"""What all adapters share: opening models, asking for a move, a conversation per episode."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from palestra import (
    Agent,
    BudgetSpent,
    Decision,
    InvalidAction,
    InvalidOption,
    Meta,
    Rng,
    Turn,
    UnknownName,
)
from palestra import open_model as open_by_uri
from palestra.agents.asking import Asking
from palestra.agents.models import Message, Model, Reply, Request
from palestra.llm.conversation import STYLES, Conversation, confidence
from palestra.llm.legal import hold
from palestra.phrasing.wording import answer_form

from palestra_adapters.seats import BySeat
from palestra_adapters.texts import join_lines, join_paragraphs, refusal
from palestra_adapters.thinking import Ask, Thinking, Thread, think_to_the_end, think_together

SEEDS = 1 << 31
STREAM = 0xADA9  # keeps the random numbers of adapters apart from those of other agents
T = TypeVar("T")
_NEXT_MODEL = re.compile(r"\+(?=[a-z]+:)")


class Adapter(Agent):
    """Thinks about all waiting turns with the models of `target`, in shared model calls.

    target: a model's URI, with or without `llm:` before it; several are joined by `+`. seed fixes
    the random numbers. Other options go to the models; write `model.NAME` if the agent has an
    option of the same name.
    """

    def __init__(
        self,
        *,
        target: str = "",
        prompt: Annotated[
            str, Meta(description="chat (the model's chat template) or raw (one text to continue)")
        ] = "chat",
        max_tokens: Annotated[int, Meta(ge=1, description="tokens of a reply at most")] = 128,
        temperature: Annotated[
            float, Meta(ge=0, description="sampling temperature where one reply is asked for")
        ] = 0.0,
        seed: int | None = None,
        adapter: Annotated[str | None, Meta(description="folder of a LoRA adapter")] = None,
        keep_tokens: Annotated[
            bool, Meta(description="whether the exact tokens of every reply are recorded")
        ] = False,
        model: Model | Sequence[Model] | None = None,
        **options: Any,
    ) -> None:
        if prompt not in STYLES:
            raise UnknownName("prompt", prompt, STYLES)
        name = type(self).__name__.lower()
        if model is not None and options:
            raise InvalidOption(
                f"{name} has no option {next(iter(options))!r}; give a model's where it is opened"
            )
        self.models = _given_models(model) or open_models(target, name, options)
        self.style = STYLES[prompt]()
        if self.style.raw and any("raw" not in m.abilities for m in self.models):
            raise InvalidOption("prompt=raw is not possible with this model; leave it out")
        if keep_tokens and (dumb := [m for m in self.models if "tokens" not in m.abilities]):
            raise InvalidOption(f"keep_tokens is not possible with {dumb[0].name}")
        self.max_tokens, self.temperature, self.lora = max_tokens, temperature, adapter
        self.keeps_tokens = keep_tokens
        self._seed, self._fixed_seed = seed or 0, seed is not None
        self.rng = Rng.seeded(self._seed)  # replaced in `think` by the decision's own
        self._talks: dict[int, dict[int, Conversation]] = {}  # by episode, then by seat
        self._kept: list[BySeat[Any]] = []
        self._thinking: set[Thread] = set()  # about turns that are awaited by themselves

    @abstractmethod
    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        """The questions that lead to a decision; `advice` is text from a memory or wrapper."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        threads = [Thread(self.think_alone(turn), turn.account) for turn in turns]
        return think_together(self.models, threads)

    def deliberate(self, turn: Turn) -> Asking | None:
        if type(self).act is not Adapter.act:  # it thinks about several turns together
            return None
        return self._deliberate(turn)

    def _deliberate(self, turn: Turn) -> Asking:
        thread = Thread(self.think_alone(turn), turn.account)
        self._thinking.add(thread)
        try:
            return (yield from think_to_the_end(self.models, thread, self._thinking - {thread}))
        finally:
            self._thinking.discard(thread)

    def think_alone(self, turn: Turn, *advice: str) -> Thinking[Decision]:
        """`think` with random numbers that do not depend on other turns thought about together."""
        return self.drawing(turn.rng(self._seed, STREAM), self.think(turn, join_lines(*advice)))

    def drawing(self, rng: Rng, thinking: Thinking[T]) -> Thinking[T]:
        """Run a line of thought with `rng` as `self.rng` whenever it is resumed."""
        replies: Sequence[Reply] | None = None
        spent: BudgetSpent | None = None
        while True:
            self.rng = rng
            try:
                asks = thinking.throw(spent) if spent else thinking.send(replies)  # type: ignore[arg-type]
            except StopIteration as end:
                found: T = end.value
                return found
            spent = None
            try:
                replies = yield asks
            except BudgetSpent as error:
                spent = error

    def by_seat(self, kind: type[T]) -> BySeat[T]:
        """A new table of what this agent keeps, of this kind, for each seat of an episode."""
        kept: BySeat[T] = BySeat()
        self._kept.append(kept)
        return kept

    def role_member(self, role: int) -> int:
        """The index of a role's model where the last model plays all roles that have none."""
        return min(role, len(self.models) - 1)

    # Asking

    def consult(self, turn: Turn, *parts: str, advice: str = "", **fields: Any) -> Thinking[str]:
        """Ask one question, and return what the reply says besides its reasoning.

        parts: paragraphs of the question; empty ones are left out. advice: added to the rules of
        the seat. fields: those of `ask`, as `member` and `temperature`.
        """
        (reply,) = yield [self.about(turn, *parts, advice=advice, **fields)]
        return said_in(reply)

    def about(self, turn: Turn, *parts: str, advice: str = "", **fields: Any) -> Ask:
        """The question of `consult`, to be asked together with others."""
        return self.ask(self.single(rules_of(turn, advice), join_paragraphs(*parts)), **fields)

    def hear(self, asks: Sequence[Ask]) -> Thinking[list[str]]:
        """What the replies to these questions say besides their reasoning; asked together."""
        replies = (yield asks) if asks else []
        return [said_in(reply) for reply in replies]

    def write(self, rules: str, text: str, **fields: Any) -> Thinking[str]:
        """Ask one question under these rules; what the reply says besides its reasoning."""
        (reply,) = yield [self.ask(self.single(rules, text), **fields)]
        return said_in(reply)

    def held_to(self, answers: Sequence[str], member: int = 0) -> dict[str, Any]:
        """Fields of `ask` that hold a reply to one of these answers, where the model can be."""
        if "choices" not in self.models[member].abilities:
            return {}
        return {"choices": tuple(map(self.style.reply, answers))}

    def ask(
        self,
        messages: Sequence[Message],
        *,
        member: int = 0,
        talk: Conversation | None = None,
        temperature: float | None = None,
        **fields: Any,
    ) -> Ask:
        """A question with this agent's settings; `fields` of the request override them."""
        heat = self.temperature if temperature is None else temperature
        settings: dict[str, Any] = {
            "max_tokens": self.max_tokens,
            "stop": self.style.stop,
            "raw": self.style.raw,
            "temperature": heat,
            "seed": self.rng.word() % SEEDS if heat else None,
            "adapter": self.lora,
            "tokens": self.keeps_tokens and not fields.get("score"),
        }
        return Ask(Request(tuple(messages), **settings | fields), member, talk)

    def single(self, rules: str, question: str, *, answer: str = "") -> list[Message]:
        """Messages with the rules and one question."""
        return [self.style.rules_message(rules, answer), self.style.question(question)]

    def move(self, turn: Turn, messages: Sequence[Message], *, member: int = 0, **more: Any) -> Ask:
        """Ask for a move, constrained to legal moves if the model supports it."""
        held = hold(turn, self.models[member], self.style, self.max_tokens)
        return self.ask(messages, member=member, **held | more)

    def talk(self, turn: Turn, advice: str = "", *, answer: str | None = None) -> Conversation:
        """The conversation of this seat in this episode.

        `answer` describes the form of replies, by default the game's own form of moves.
        """
        talks = self._talks.setdefault(turn.episode_key, {})
        if turn.seat not in talks:
            rules = rules_of(turn, advice)
            form = answer_form(turn.game, turn.seat) if answer is None else answer
            talks[turn.seat] = Conversation(self.style, rules, answer=form)
        return talks[turn.seat]

    def decide(self, turn: Turn, reply: Reply, thought: str = "") -> Decision:
        """A reply as a decision: reasoning split off, and the move in the game's notation."""
        more, text = split_thought(reply)
        return Decision(
            text=game_text(turn, text),
            logprob=reply.logprob,
            thought=join_lines(thought, more),
            model=reply.model,
            sampling={"temperature": self.temperature, "max_tokens": self.max_tokens},
            facts=confidence(reply),
        )

    # The run

    def reseed(self, seed: int) -> None:
        if not self._fixed_seed:
            self._seed = seed
            self.rng = Rng.seeded(seed)

    def forget(self, episode_key: int) -> None:
        self._talks.pop(episode_key, None)
        for kept in self._kept:
            kept.end(episode_key)

    def close(self) -> None:
        self._talks.clear()
        for model in dict.fromkeys(self.models):
            model.close()


def _given_models(model: Model | Sequence[Model] | None) -> list[Model]:
    if model is None:
        return []
    return [model] if isinstance(model, Model) else list(model)


def open_models(target: str, name: str, options: dict[str, Any]) -> list[Model]:
    """The models of `uri+uri+…`, each opened once."""
    if not target:
        raise InvalidOption(f"{name} needs a model: {name}:local:, {name}:openai:…@…")
    uris = [uri.removeprefix("llm:") for uri in _NEXT_MODEL.split(target)]
    opened: dict[str, Model] = {}
    for uri in uris:
        if uri not in opened:
            opened[uri] = open_by_uri(uri, **options)
    return [opened[uri] for uri in uris]


_THOUGHT = re.compile(r"\s*<think>(.*?)(?:</think>|\Z)\s*", re.DOTALL)


def split_thought(reply: Reply) -> tuple[str, str]:
    """A reply's reasoning, from the server's own field or between `<think>` tags, and the rest."""
    found = _THOUGHT.match(reply.text)
    if found is None:
        return reply.thought, reply.text.strip()
    return found.group(1).strip(), reply.text[found.end() :].strip()


def said_in(reply: Reply) -> str:
    """What a reply says besides its reasoning."""
    return split_thought(reply)[1]


def one_line(text: str) -> str:
    """A text without line breaks, and with single blanks."""
    return " ".join(text.split())


def game_text(turn: Turn, text: str) -> str:
    """A move in the game's notation; text that is not a legal move is returned unchanged."""
    found = legal_move(turn, text)
    return text if found is None else found


def legal_move(turn: Turn, text: str) -> str | None:
    """The legal move in a text, in the game's notation; None if there is none."""
    try:
        return turn.action_text(turn.parse(text.strip()))
    except InvalidAction:
        return None


def rules_of(turn: Turn, *more: str) -> str:
    """The rules that the seat reads, and lines that are added to them; empty ones are left out."""
    return join_lines(turn.game.rules_for(turn.seat), *more)


def story(turn: Turn, answer: str = "") -> str:
    """Everything a seat has seen, the position, and its legal moves.

    answer: what the last answer is called if the line that it was refused is to follow.
    """
    seen = "\n".join([*(event.text for event in turn.transcript), turn.position])
    return join_lines(seen, refusal(turn, answer)) if answer else seen


class Plain(Adapter):
    """Asks only for the move; the inner adapter of memories and routers around a plain model."""

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        talk = self.talk(turn, advice)
        talk.ask(question(turn))
        (reply,) = yield [self.move(turn, talk.messages, talk=talk)]
        decision = self.decide(turn, reply)
        talk.answer(decision.text or "")
        return decision


def question(turn: Turn) -> str:
    """The next question to a seat: what is new, or why its last answer was refused."""
    if not turn.error:
        return turn.text
    return f"{refusal(turn)}\n{answer_form(turn.game, turn.seat)}"
