"""Records as conversations: what each turn was asked, in the words of an agent, and the answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from palestra import EpisodeRecord, retrace
from palestra.agents.agent import Turn
from palestra.agents.models import Message
from palestra.llm.conversation import STYLES, THINK, Conversation
from palestra.llm.legal import list_moves
from palestra.phrasing.wording import answer_form
from palestra.records.record import TurnRecord


class Exchange(NamedTuple):
    """One answer of a seat, and all the messages before it.

    life: whose answer it is, where a game seats newcomers. refused: whether it was refused and the
    seat asked again. legal: the moves it could have been, if they were asked for and can be listed.
    """

    step: int
    seat: int
    life: int
    messages: tuple[Message, ...]
    reply: Message
    turn: TurnRecord
    refused: bool = False
    legal: tuple[str, ...] = ()


def exchanges(
    record: EpisodeRecord,
    *,
    prompt: str = "chat",
    history: str = "conversation",
    as_said: bool = False,
    refused: bool = False,
    thoughts: bool = False,
    legal: bool = False,
) -> Iterator[Exchange]:
    """The answers of a record in order, by playing it again; forfeits without an answer are not.

    prompt, history: as the agent `llm` has them. as_said: replies are what was said, where that is
    on the record, instead of the move that was played. refused: answers that were refused are part
    of it, each before the question that followed. thoughts: prompts ask for a thought before the
    move, as those of `react` do. legal: the legal moves of each turn are listed.
    """
    style, read = STYLES[prompt](), dict[int, int]()
    talks: dict[tuple[int, int], Conversation] = {}
    for episode, (number, step) in zip(retrace(record), enumerate(record.steps), strict=False):
        for turn in step.turns:
            seen = Turn(episode, turn.seat, since=read.get(turn.seat, 0))
            form = THINK if thoughts else answer_form(seen.game, turn.seat)
            attempts = [a for a in turn.refused if a.raw] if refused else []
            replies = [(attempt.raw or "", attempt.error) for attempt in attempts]
            if turn.status != "forfeit":
                replies.append(((as_said and turn.raw) or turn.text, ""))
            why = ""
            for place, (reply, error) in enumerate(replies):
                person = turn.seat, seen.life
                if person not in talks or history != "conversation":
                    rules = "" if history == "bare" else seen.game.rules_for(turn.seat)
                    talks[person] = Conversation(style, rules, answer=style.form(form))
                talk = talks[person]
                talk.ask(_question(seen, history, why, form))
                answer = style.move(reply)
                yield Exchange(
                    number,
                    turn.seat,
                    seen.life,
                    tuple(talk.messages),
                    answer,
                    turn,
                    refused=place < len(attempts),
                    legal=tuple(list_moves(seen) or ()) if legal else (),
                )
                talk.answer(reply)
                why = error
            read[turn.seat] = seen.cursor


def _question(seen: Turn, history: str, why: str, form: str) -> str:
    if history == "conversation":
        return f"That was refused: {why}\n{form}" if why else seen.text
    return f"That was refused: {why}\n{seen.position}" if why else seen.position
