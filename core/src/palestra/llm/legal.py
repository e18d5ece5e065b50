"""Constraining a model's reply to the legal moves of a turn."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import product
from typing import Any

from palestra.agents.agent import Turn
from palestra.agents.models import Model
from palestra.kernel.actions import Domain, Grammar, Integer, OneOf
from palestra.llm.conversation import Chat

SLACK = 8  # extra tokens that a constrained reply may take
MOST_TYPED = 1_000  # typed actions that are written out one by one


def hold(turn: Turn, model: Model, style: Chat, chars: int) -> dict[str, Any]:
    """The fields of a `Request` that constrain a model's reply to legal moves.

    Typed actions are constrained by a pattern with at most `chars` characters of free text, listed
    moves by a list. Empty if the model cannot be constrained, or if moves cannot be listed and the
    model does not support patterns.
    """
    legal = turn.legal
    if isinstance(legal, Grammar) and "pattern" in model.abilities:
        pattern = re.escape(style.reply("")) + legal.pattern(chars)
        return {"pattern": pattern, "max_tokens": legal.longest(chars) + SLACK}
    if (listed := list_moves(turn)) is None:
        return {}
    moves = tuple(map(style.reply, listed))
    return {"choices": moves, "max_tokens": max(map(len, moves)) * 4 + SLACK}


def list_moves(turn: Turn) -> list[str] | None:
    """Every legal move as it is written; None if free text or too many typed actions are legal."""
    legal = turn.legal
    if not isinstance(legal, Grammar):
        return turn.legal_texts
    kinds = [{name: _values(d) for name, d in option.fields.items()} for option in legal]
    if any(None in kind.values() for kind in kinds):
        return None
    if numbered := turn.legal_texts:
        return numbered
    known = [{name: values or () for name, values in kind.items()} for kind in kinds]
    if sum(math.prod(map(len, kind.values())) for kind in known) > MOST_TYPED:
        return None
    return [
        repr(option.action(**dict(zip(kind, chosen, strict=True))))
        for option, kind in zip(legal, known, strict=True)
        for chosen in product(*kind.values())
    ]


def _values(domain: Domain) -> Sequence[Any] | None:
    """What a field may hold, in order; None if that is not known or is free text."""
    if isinstance(domain, OneOf):
        return domain.values
    return range(domain.low, domain.high + 1) if isinstance(domain, Integer) else None
