"""A seat's view for other projects' clients: as text, and as data that leaves nothing out."""

from __future__ import annotations

from typing import Any

import msgspec
from palestra.quoting import disarm

from palestra_server.messages import Departure, SeatView


def as_data(view: SeatView) -> dict[str, Any]:
    """A view as plain data, with every field that is known, zeros and blanks too.

    A model may read it: what seats wrote is on one line and without special tokens in the data of
    events too, which hold it raw elsewhere.
    """
    fields = msgspec.to_builtins(msgspec.structs.asdict(view))
    fields["events"] = [
        {**event, "data": _disarmed(event.get("data", {}))} for event in fields["events"]
    ]
    return {name: value for name, value in fields.items() if value is not None}


def _disarmed(value: Any) -> Any:
    if isinstance(value, str):
        return disarm(value)
    if isinstance(value, dict):
        return {disarm(name): _disarmed(one) for name, one in value.items()}
    return [_disarmed(one) for one in value] if isinstance(value, list) else value


def in_words(view: SeatView) -> str:
    """The whole view as text, in the order a player reads it."""
    parts = [view.rules, *(event.text for event in view.events), view.position]
    parts += [_who_left(left) for left in view.left if left.seat != view.seat]
    if view.error:
        parts.append(f"Your last answer was refused: {view.error}")
    parts.append(_what_now(view))
    return "\n".join(part for part in parts if part)


def _who_left(left: Departure) -> str:
    if left.back is not None:
        return f"{left.player} left at step {left.step} and came back at step {left.back}."
    instead = f"; {left.substitute} plays on" if left.substitute else ""
    return f"{left.player} left at step {left.step} ({left.why}){instead}."


def _what_now(view: SeatView) -> str:
    if view.status == "over":
        score = "" if view.score is None else f" Your score is {view.score:g}."
        return f"The match is over. Your result: {view.result}.{score}"
    if view.status == "waiting":
        return "The match waits for players to take its free seats."
    if view.away == "resigned":
        return "You have resigned, and a substitute plays on."
    if view.away:
        return "You have lost your seat to a substitute; reclaim it to play on."
    if not view.your_turn:
        return "It is not your turn."
    return f"It is your turn. {view.legal}"
