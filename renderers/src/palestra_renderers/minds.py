"""What the seats' agents read, thought and said, turn by turn, as the data of a page.

A record holds answers, thoughts and usage, but not the prompts: most of their text follows from the
game. The prompts of the agent `llm` are rebuilt by playing the record again, in the words in which
the agent sends them; those that a server captured are shown as they were sent. Of other agents the
page shows what their seat was told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from palestra import Episode, EpisodeRecord, Usage
from palestra.agents.agent import Turn
from palestra.agents.models import Message
from palestra.agents.naming import parse_agent
from palestra.llm.conversation import STYLES, Chat
from palestra.phrasing.wording import answer_form
from palestra.records.record import Attempt, StepRecord, TurnRecord

from palestra_renderers.texts import TextTable, clean_data

EXCHANGES = "exchanges"  # what a server captured, in `TurnRecord.sampling`
HIDDEN_SETTINGS = (EXCHANGES, "tokens")
Asked = list[list[Any]]  # role and text of each message


class Minds:
    """The minds of one record's seats; for a viewer, those of that seat alone."""

    def __init__(self, record: EpisodeRecord, viewer: int | None, texts: TextTable) -> None:
        self._texts, self._viewer = texts, viewer
        self._agents = [PromptStyle(name) for name in record.agents]
        self._since = [0] * len(record.players)
        self._met: set[tuple[int, int]] = set()  # persons who have read their rules
        self._sent: dict[int, list[Any]] = {}  # by seat, the messages of the last exchange

    def read(self, episode: Episode, step: StepRecord) -> dict[int, dict[str, Any]]:
        """The minds behind a step that is about to be played, by seat."""
        return {
            turn.seat: self._mind(episode, turn)
            for turn in step.turns
            if self._viewer in (None, turn.seat) and has_mind(turn)
        }

    def _mind(self, episode: Episode, turn: TurnRecord) -> dict[str, Any]:
        found = (
            self._captured_exchanges(turn)
            if EXCHANGES in turn.sampling
            else self._tries(episode, turn)
        )
        kept = {name: fact for name, fact in turn.facts.items() if name != "talks"}
        settings = {n: v for n, v in turn.sampling.items() if n not in HIDDEN_SETTINGS}
        found |= {"settings": clean_data(settings)} if settings else {}
        found |= {"facts": clean_data(kept)} if kept else {}
        talks = turn.facts.get("talks")
        if isinstance(talks, list):
            found["talks"] = [self._talk(talk) for talk in talks if isinstance(talk, dict)]
        return found

    # Prompts

    def _tries(self, episode: Episode, turn: TurnRecord) -> dict[str, Any]:
        """The answers of a turn in order, each with the messages that asked for it."""
        agent = self._agents[turn.seat] if turn.seat < len(self._agents) else PromptStyle("")
        answers: list[Attempt | TurnRecord] = list(turn.refused)
        if not turn.refused or turn.status not in ("forfeit", "replaced"):
            answers.append(turn)  # otherwise its answer is the last refused one
        seen = Turn(episode, turn.seat, since=self._since[turn.seat])
        tries, why = [], ""
        for answer in answers:
            asked: Asked = []
            if answer.raw is not None:
                asked = self._messages(agent.messages(seen, why, self._is_new(turn, agent)))
            tries.append(self._answer(answer, asked))
            why = answer.error if isinstance(answer, Attempt) else ""
        if turn.raw is not None and turn.status in ("ok", "retried"):
            self._since[turn.seat] = seen.cursor
        return {"source": agent.source, "note": agent.note(turn), "tries": tries}

    def _is_new(self, turn: TurnRecord, agent: PromptStyle) -> bool:
        """Whether rules come first: to a new person, or in every prompt that stands alone."""
        person = turn.seat, turn.life
        new = agent.alone or person not in self._met
        self._met.add(person)
        return new

    def _messages(self, messages: Sequence[Message]) -> Asked:
        return [[m.role, self._texts.text(m.content)] for m in messages]

    def _answer(self, answer: Attempt | TurnRecord, asked: Asked) -> dict[str, Any]:
        """One answer: the prompt, the reply and what it took; what is empty is left out."""
        error = answer.error if isinstance(answer, Attempt) else ""
        found = {
            "asked": asked,
            "raw": None if answer.raw is None else self._texts.text(answer.raw),
            "thought": self._texts.text(answer.thought),
            "error": self._texts.text(error),
            "model": clean_data(answer.model),
            "logprob": answer.logprob,
            "usage": usage_data(answer.usage),
        }
        empty = {name for name, value in found.items() if value in (None, "", [], {})}
        if answer.raw is not None:
            empty.discard("raw")  # an empty answer is an answer
        return {name: value for name, value in found.items() if name not in empty}

    def _captured_exchanges(self, turn: TurnRecord) -> dict[str, Any]:
        """The exchanges with a model that a server captured, as they were sent."""
        exchanges = turn.sampling[EXCHANGES]
        tries = []
        for exchange in exchanges if isinstance(exchanges, list) else ():
            messages = list(exchange.get("messages") or ())
            before = self._sent.get(turn.seat, [])
            same = common(before, messages)
            self._sent[turn.seat] = messages
            tries.append(
                {
                    "earlier": same,
                    "asked": [self._sent_message(message) for message in messages[same:]],
                    "raw": self._sent_message(exchange.get("reply") or {})[1],
                }
            )
        if tries:
            last = self._answer(turn, [])
            tries[-1] |= {n: v for n, v in last.items() if n not in ("asked", "raw")}
            if turn.raw is not None:
                tries.append({"raw": last["raw"]})
        return {"source": "sent", "note": "", "tries": tries}

    def _sent_message(self, message: Any) -> list[Any]:
        """Role and text of a message in the form of a server; other fields as data."""
        if not isinstance(message, Mapping):
            return ["", self._texts.text(str(message))]
        content = message.get("content")
        if isinstance(content, list):
            parts = [part.get("text", part) if isinstance(part, dict) else part for part in content]
            content = "\n".join(map(str, parts))
        others = {n: v for n, v in message.items() if n not in ("role", "content") and v}
        more = "\n".join(f"{name}: {value}" for name, value in others.items())
        text = "\n".join(part for part in (content if content else "", more) if part)
        return [clean_data(str(message.get("role", ""))), self._texts.text(text)]

    # Conversations inside an agent

    def _talk(self, talk: Mapping[str, Any]) -> dict[str, Any]:
        """A conversation between roles or members, as `palestra.records.facts` describes it."""
        lines: list[list[Any]] = []
        self._talk_prompts(lines, talk.get("opening") or ())
        for step in talk.get("steps") or ():
            for turn in step.get("turns") or ():
                said = turn.get("raw") or turn.get("text") or ""
                lines.append([turn.get("player", 0), "", self._texts.text(str(said))])
            self._talk_prompts(lines, step.get("events") or ())
        return {"players": clean_data(list(talk.get("players") or ())), "lines": lines}

    def _talk_prompts(self, lines: list[list[Any]], events: Sequence[Mapping[str, Any]]) -> None:
        for event in events:
            to = event.get("audience") or [0]
            role = str((event.get("data") or {}).get("role", "asked"))
            lines.append([to[0], clean_data(role), self._texts.text(str(event.get("text", "")))])


class PromptStyle:
    """How an agent of this name words its prompts.

    `source` is "rebuilt" where the prompts are those that were sent, word for word, and "told"
    where only what the seat was told is known. `alone` says that every prompt stands alone.
    """

    def __init__(self, name: str) -> None:
        kind, options, _ = parse_agent(name)
        style = STYLES.get(str(options.get("prompt", "chat")))
        self._style: Chat = (style or Chat)()
        self._history = str(options.get("history", "conversation"))
        self._examples = options.get("examples", 0)
        self._rebuilt = kind == "llm" and style is not None
        self.source = "rebuilt" if self._rebuilt else "told"
        self.alone = self._rebuilt and self._history != "conversation"

    def messages(self, seen: Turn, why: str, new: bool) -> list[Message]:
        """The messages that this try added; `why` says why the answer before it was refused."""
        if not self._rebuilt:
            return [] if why else [Message("user", seen.text)]
        form = answer_form(seen.game, seen.seat)
        found = []
        rules = "" if self._history == "bare" else seen.game.rules_for(seen.seat)
        if new and rules:
            found.append(self._style.rules_message(rules, answer=self._style.form(form)))
        found.append(self._style.question(self._question(seen, why, form)))
        return found

    def _question(self, seen: Turn, why: str, form: str) -> str:
        refused = f"That was refused: {why}\n" if why else ""
        if self.alone:
            return refused + seen.position
        return refused + form if why else seen.text

    def note(self, turn: TurnRecord) -> str:
        """What is known to be missing from the prompts of a turn."""
        if turn.raw is None or not self._rebuilt:
            return ""
        notes = []
        if isinstance(self._examples, int) and self._examples > 0:
            notes.append(f"{self._examples} examples stood before it, which are not recorded.")
        full = turn.facts.get("full tokens", 0)
        read = max([turn.usage.tokens_in, *(one.usage.tokens_in for one in turn.refused)])
        if isinstance(full, int) and full > max(read, 1):
            notes.append("The oldest messages were dropped to fit the model's context.")
        return " ".join(notes)


def has_mind(turn: TurnRecord) -> bool:
    """Whether the record says anything of how a turn was decided."""
    kept = turn.raw, turn.thought, turn.model, turn.logprob, turn.facts, turn.refused, turn.sampling
    return any(value is not None and value not in ("", {}, []) for value in kept)


def usage_data(usage: Usage) -> dict[str, Any]:
    """What a decision took, without zeros: tokens, money, and seconds to the millisecond."""
    taken = {
        "in": usage.tokens_in,
        "out": usage.tokens_out,
        "cached": usage.tokens_cached,
        "calls": usage.calls,
        "cost": usage.cost,
        "seconds": round(usage.seconds, 3),
    }
    return {name: amount for name, amount in taken.items() if amount}


def common(before: Sequence[Any], after: Sequence[Any]) -> int:
    """How many messages at the start are the same in both."""
    pairs = zip(before, after, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(before), len(after)))
