"""A seat's exchanges with a language model, kept until its next answer and recorded with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from palestra import EpisodeRecord, Usage
from palestra.agents.models import Tokens
from palestra.records.record import TurnRecord

from palestra_server.messages import Answer

MOST_BYTES = 16_000_000  # of one seat's exchanges between two answers
EXCHANGES = "exchanges"  # the key in a turn's `sampling`


class Exchange(msgspec.Struct, frozen=True):
    """One request to a language model and its reply.

    `asked` is the request's body, `reply` the message that came back. `tokens` and `logprob` are
    None if the engine does not return them.
    """

    asked: dict[str, Any]
    reply: dict[str, Any]
    model: str = ""
    usage: Usage = Usage()
    logprob: float | None = None
    tokens: Tokens | None = None

    @property
    def bytes(self) -> int:
        return len(msgspec.json.encode(self))


def with_exchanges(answer: Answer, exchanges: Sequence[Exchange]) -> Answer:
    """An answer with its exchanges: the usage of all, tokens and settings of the last.

    `sampling["exchanges"]` has the messages, tools and reply of each.
    """
    if not exchanges:
        return answer
    last = exchanges[-1]
    told = [
        {name: e.asked[name] for name in ("messages", "tools") if name in e.asked}
        | {"reply": e.reply}
        for e in exchanges
    ]
    settings = {
        name: value
        for name, value in last.asked.items()
        if name not in ("messages", "tools", "model", "stream", "stream_options")
    }
    return msgspec.structs.replace(
        answer,
        usage=sum((e.usage for e in exchanges), Usage()),
        model=last.model,
        logprob=last.logprob,
        tokens=last.tokens,
        sampling={**settings, EXCHANGES: told},
    )


def for_seat(record: EpisodeRecord, seat: int) -> EpisodeRecord:
    """A record as one seat may read it: without other seats' thoughts and requests to models.

    Facts are left out: the game's describe the whole state, and other agents' are private.
    """
    steps = [
        msgspec.structs.replace(
            step, turns=[_visible_turn(turn, seat) for turn in step.turns], facts={}
        )
        for step in record.steps
    ]
    return msgspec.structs.replace(record, steps=steps, facts={})


def _visible_turn(turn: TurnRecord, seat: int) -> TurnRecord:
    if turn.seat == seat:
        return turn
    return msgspec.structs.replace(
        turn,
        thought="",
        tokens=None,
        facts={},
        sampling={name: value for name, value in turn.sampling.items() if name != EXCHANGES},
        refused=[
            msgspec.structs.replace(attempt, thought="", tokens=None) for attempt in turn.refused
        ],
    )
