"""Constraining a model's reply to the legal moves of a turn."""

from __future__ import annotations

import re
from typing import Any

from palestra.agents.agent import Turn
from palestra.agents.models import Model
from palestra.kernel.actions import Grammar, Text
from palestra.llm.conversation import Chat

SLACK = 8  # extra tokens that a constrained reply may take


def hold(turn: Turn, model: Model, style: Chat, chars: int) -> dict[str, Any]:
    """The fields of a `Request` that constrain a model's reply to legal moves.

    Typed actions are constrained by a pattern with at most `chars` characters of free text, listed
    moves by a list. Empty if the model cannot be constrained, or if free text is legal and the
    model does not support patterns.
    """
    legal = turn.legal
    if isinstance(legal, Grammar):
        if "pattern" in model.abilities:
            pattern = re.escape(style.reply("")) + legal.pattern(chars)
            return {"pattern": pattern, "max_tokens": legal.longest(chars) + SLACK}
        if not listable(legal):
            return {}
    moves = tuple(map(style.reply, turn.legal_texts))
    return {"choices": moves, "max_tokens": max(map(len, moves)) * 4 + SLACK}


def listable(legal: Any) -> bool:
    """Whether every legal move can be listed: a mask, or a grammar without free text."""
    if not isinstance(legal, Grammar):
        return True
    return not any(isinstance(d, Text) for option in legal for d in option.fields.values())
