"""Parsing of typed moves: exact, shortened, or in plain words for typed actions."""

from __future__ import annotations

from typing import Any

from palestra import Grammar, Integer, InvalidAction, OneOf, Option, Turn, answers
from palestra.kernel import actions
from palestra.kernel.errors import show

SHOWN_LEGAL = 1_000
SHOWN_BEGUN = 8  # moves that a typed beginning may mean
HOW = (
    "Type a move as it is written above, or as much of it as makes it clear; typed actions also "
    "in plain words, as in \"say hello\" for Say(text='hello'). ? shows this, Ctrl-D leaves."
)


def read_move(turn: Turn, typed: str) -> str:
    """The legal move that a text means, as the game writes it; raises `InvalidAction`."""
    text = typed.strip()
    legal = turn.legal
    candidates = [text, *(_typed_moves(legal, text) if isinstance(legal, Grammar) else [])]
    refused: list[InvalidAction] = []
    for candidate in candidates:
        try:
            turn.parse(candidate)
        except InvalidAction as error:
            refused.append(error)
        else:
            return candidate
    if len(begun := _begun(turn, text)) == 1:
        return begun[0]
    raise next((error for error in refused if _reason(error)), refused[0])


def refusal(turn: Turn, typed: str, error: InvalidAction) -> str:
    """What a person reads about a text that is no move: what came, why not, what is accepted."""
    text = typed.strip()
    if begun := _begun(turn, text):
        more = ", …" * (len(begun) > SHOWN_BEGUN)
        return f"{show(text)} may mean {', '.join(begun[:SHOWN_BEGUN])}{more}; type more of it."
    said = f"{show(text)} is not a move here"
    if reason := _reason(error):
        said += f": {reason}"
    example = f", for example {error.example}" if error.example else ""
    return f"{said}. Type one of these{example}: {legal_line(turn)}"


def _begun(turn: Turn, text: str) -> list[str]:
    """The legal moves that begin as a text does; none for no text."""
    begun = text.lower()
    return [move for move in turn.legal_texts if text and move.lower().startswith(begun)]


def _reason(error: InvalidAction) -> str:
    """Why a move is refused; empty if it only tells a model how to write its answer."""
    told = (actions.FORM, answers.FORM)
    return "" if any(form in error.why for form in told) else error.why


def help_lines(turn: Turn) -> list[str]:
    """The rules, the position in words, the legal moves, and how to type them."""
    position, told = turn.position, turn.game.rules_for(turn.seat).splitlines()
    if len(position) > SHOWN_LEGAL * 2:
        position = f"{position[: SHOWN_LEGAL * 2]} …"
    return ["Rules", *told, "", "Position", *position.splitlines(), "", HOW]


def legal_line(turn: Turn) -> str:
    """The legal moves, in one line that fits a screen."""
    legal = turn.legal_text
    return legal if len(legal) <= SHOWN_LEGAL else f"{legal[:SHOWN_LEGAL]} …"


def _typed_moves(grammar: Grammar, text: str) -> list[str]:
    """Typed actions that plain words may mean: an action's name and its fields in order."""
    name, _, rest = text.partition(" ")
    meant = [(o, rest.strip()) for o in grammar if o.name.lower() == name.lower()]
    if len(grammar.options) == 1:
        meant.append((grammar.options[0], text))
    return [call for option, words in meant if (call := _call(option, words))]


def _call(option: Option, words: str) -> str:
    """An action in call form, its fields read from words; empty if they do not fit."""
    fields = list(option.fields.items())
    if not fields:
        return "" if words and words.lower() != option.name.lower() else repr(option.action())
    parts = words.split(None, len(fields) - 1)
    if len(parts) < len(fields):
        return ""
    values = {n: _value(d, p) for (n, d), p in zip(fields, parts, strict=True)}
    return repr(option.action(**values))


def _value(domain: Any, part: str) -> Any:
    text = part.strip("'\"") if part[:1] == part[-1:] else part
    if isinstance(domain, Integer) and text.lstrip("-").isdecimal():
        try:
            return int(text)
        except ValueError:  # "--5", or more digits than Python reads
            return text
    if isinstance(domain, OneOf):
        lowered = text.lower()
        return next((v for v in domain.values if str(v).lower() == lowered), text)
    return text
