"""Reasoning about a turn as a generator of questions, so that many turns share model calls.

An adapter writes its method for one turn, top to bottom:

    replies = yield [ask, ask]      # what it asks next, answered together
    return Decision(text=...)

`think_together` runs the generators of all waiting turns in step. Each round collects the
questions of all of them, calls every model once, and hands the replies back.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import msgspec
from palestra import BudgetSpent, Decision, ModelError, Usage
from palestra.agents.asking import Asking, Question, deliberate_together
from palestra.agents.budget import Account
from palestra.agents.models import Message, Model, Reply, Request, Tokens, exchanges
from palestra.llm.conversation import Conversation
from palestra.llm.prices import price_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ask:
    """One question; `member` is the index of the agent's model that it is for.

    If it continues a `talk`, that talk is shortened when the model's context is full.
    """

    request: Request
    member: int = 0
    talk: Conversation | None = None


Thinking = Generator[Sequence[Ask], Sequence[Reply], T]


def together(parts: Iterable[Thinking[T]]) -> Thinking[list[T]]:
    """Run several lines of thought in parallel, with their questions asked together."""
    lines = list(parts)
    asks: list[Sequence[Ask]] = [()] * len(lines)
    done: dict[int, T] = {}
    replies: list[Sequence[Reply] | None] = [None] * len(lines)
    while len(done) < len(lines):
        for i, line in enumerate(lines):
            if i not in done:
                try:
                    asks[i] = line.send(replies[i])  # type: ignore[arg-type]
                except StopIteration as end:
                    done[i], asks[i] = end.value, ()
        if len(done) < len(lines):
            answers = iter((yield [ask for part in asks for ask in part]))
            replies = [[next(answers) for _ in part] for part in asks]
    return [done[i] for i in range(len(lines))]


@dataclass(slots=True, eq=False)
class Thread:
    """A line of thought about one turn, and the usage and exact tokens of its replies so far."""

    thinking: Thinking[Decision]
    account: Account | None = None
    asks: Sequence[Ask] = ()
    usage: Usage = field(default_factory=Usage)
    tokens: list[Tokens] = field(default_factory=list)
    decision: Decision | None = None

    def hear(self, replies: Sequence[Reply] | None) -> None:
        """Continue with the replies until the next question or the decision."""
        try:
            self.asks = self.thinking.send(replies)  # type: ignore[arg-type]
        except StopIteration as end:
            self.decision = end.value

    def take(self, replies: Sequence[Reply]) -> None:
        """Count replies, and continue with them."""
        self.usage = sum((reply.usage for reply in replies), self.usage)
        self.tokens += [reply.tokens for reply in replies if reply.tokens is not None]
        self.hear(replies)

    def stop(self, unit: str) -> None:
        """Force a decision without further questions; if there is none, the answer is empty."""
        try:
            self.thinking.throw(BudgetSpent(f"budget of {unit} is spent"))
            self.thinking.close()
        except StopIteration as end:
            self.decision = end.value
        except BudgetSpent as spent:
            self.decision = Decision(text="", thought=str(spent))
        if self.decision is None:
            self.decision = Decision(text="", thought=f"budget of {unit} is spent")


def think_to_the_end(models: Sequence[Model], thread: Thread, beside: Collection[Thread]) -> Asking:
    """Run one thread to its decision, while others run `beside` it, which spend with it."""
    thread.hear(None)
    while thread.decision is None:
        _stop_the_poor([thread], [thread, *beside])
        if thread.decision is None:
            thread.take((yield from _answered(models, thread.asks)))
    return _settle_thread(thread, models)


def _answered(
    models: Sequence[Model], asked: Sequence[Ask]
) -> Generator[Sequence[Question], Sequence[Reply], list[Reply]]:
    """One priced reply per ask, in order, asked again where a context is full."""
    asks, replies = list(asked), [Reply("")] * len(asked)
    open_ = list(range(len(asks)))
    while open_:
        found = yield [Question(models[asks[i].member], asks[i].request) for i in open_]
        for i, reply in zip(open_, found, strict=True):
            replies[i] = price_reply(reply, models[asks[i].member])
        open_ = [i for i in open_ if replies[i].overflow]
        for i in open_:
            asks[i] = shorten_history(asks[i], models[asks[i].member])
    return replies


def think_together(models: Sequence[Model], threads: Sequence[Thread]) -> list[Decision]:
    """Run all threads to their decisions, calling every model once per round; usage is summed."""
    for thread in threads:
        thread.hear(None)
    while waiting := [thread for thread in threads if thread.decision is None]:
        _stop_the_poor(waiting, threads)
        waiting = [thread for thread in waiting if thread.decision is None]
        asked = [ask for thread in waiting for ask in thread.asks]
        replies = iter(answer(models, asked))
        for thread in waiting:
            thread.take([next(replies) for _ in thread.asks])
    return [_settle_thread(thread, models) for thread in threads]


def _settle_thread(thread: Thread, models: Sequence[Model]) -> Decision:
    decision = thread.decision
    if decision is None:
        raise RuntimeError("a thread has ended without a decision")
    decision.usage = decision.usage + thread.usage
    if thread.tokens:
        decision.earlier = (*exchanges(decision), *thread.tokens[:-1])
        decision.tokens = thread.tokens[-1]
    decision.model = decision.model or "+".join(dict.fromkeys(model.name for model in models))
    return decision


def charge(decision: Decision, said: Decision) -> None:
    """Add to a decision what another answer cost that it rests on: usage, and exact tokens."""
    decision.usage = decision.usage + said.usage
    decision.earlier = (*exchanges(said), *decision.earlier)


def _stop_the_poor(waiting: Sequence[Thread], threads: Sequence[Thread]) -> None:
    """Stop the threads whose account is exhausted by the usage of all threads so far."""
    for thread in waiting:
        account = thread.account
        if account is None or not account.limited:
            continue
        used = sum((t.usage for t in threads if t.account is account), account.used)
        spent = Account(account.budget, used, account.steps).exhausted()
        if spent:
            thread.stop(spent)


def answer(models: Sequence[Model], asked: Sequence[Ask]) -> list[Reply]:
    """One priced reply per ask, in order; one call per model, and more if a context is full."""
    (found,) = deliberate_together([_answered(models, asked)])
    if isinstance(found, Exception):
        raise found
    replies: list[Reply] = found
    return replies


def price_reply(reply: Reply, model: Model) -> Reply:
    """The reply with its cost by the user's table of prices."""
    price = price_of(model.name)
    if not price.costs:
        return reply
    usage = msgspec.structs.replace(reply.usage, cost=price.of(reply.usage))
    return msgspec.structs.replace(reply, usage=usage)


def shorten_history(ask: Ask, model: Model) -> Ask:
    """The same question with half of its history left out; raises `ModelError` if none is left."""
    if ask.talk is not None and ask.talk.shorten():
        return saying(ask, ask.talk.messages)
    messages = list(ask.request.messages)
    longest = max(range(len(messages)), key=lambda i: len(messages[i].content) * (i > 0))
    lines = messages[longest].content.splitlines()
    if longest == 0 or len(lines) < 3:
        raise ModelError(
            f"the rules and the question alone do not fit the context of {model.name}; "
            "use a model with a longer context"
        )
    kept = "\n".join(["…", *lines[(len(lines) + 1) // 2 :]])
    messages[longest] = Message(messages[longest].role, kept)
    return saying(ask, messages)


def saying(ask: Ask, messages: Sequence[Message]) -> Ask:
    """The same question with other messages."""
    request = msgspec.structs.replace(ask.request, messages=tuple(messages))
    return replace(ask, request=request)
