"""The words and marks with which an answer states its own move, and those that give it to others.

"Move: 4" and "I'll play:" over a line "4" state the speaker's move; "They played:" over the same
line does not, nor does "Legal moves:" over a list. This module imports nothing of Palestra.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Sequence
from itertools import accumulate
from typing import Any

LABELS = ("answer", "move", "action", "choice", "final answer", "final move", "final action")
LABEL = re.compile(
    rf"(?:^|[.!?;]\s+)[*_]*+(?:(?:my|the|so,? my|i choose|therefore,? my)\s+)?"
    rf"(?:{'|'.join(LABELS)})"
    r"(?:\s+is)?[*_]*\s*:[*_]*\s*(?P<move>[^:]*)$",
    re.IGNORECASE,
)
_VERBS = (
    *("play", "choose", "pick", "select", "take", "make", "go with", "do", "use", "call", "move"),
    *("propose", "offer", "say", "bid", "vote", "answer", "reply", "respond", "send", "submit"),
)
_OWN = re.compile(
    r"(?:^|[.!?;]\s+)[*_#\s]*+(?:(?:so|thus|therefore|hence|now|here is|here['’]s),?\s+)*"
    rf"(?:(?:(?:my|the)\s+)?(?:next\s+)?(?:{'|'.join(LABELS)}|decision)(?:\s+(?:is|will be))?|mine"
    r"|(?:i|i['’](?:ll|d|m)|let me|let['’]s)"
    r"(?:\s+(?:now|will|would|am|going to|choose to|decide to))*"
    rf"\s+(?:{'|'.join(_VERBS)})\b(?:(?!\b(?:not?|never|than|if)\b)[^:.!?])*)[\s*_]*[:：]\Z",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"[\W_]*(?:(?:the|an?|all|for|my)\s+)*(?:"
    r"(?:player_\d+|opponents?|other player|they|he|she|user|human|system|rules?|format|examples?)"
    r"(?:\s+\w+){0,3}"
    r"|(?:\w+['’]s|opponents['’]|their|his|her|your|previous|last|earlier|legal|possible|available"
    r"|valid|allowed|illegal|rejected)\s+(?:\w+\s+)?(?:moves?|actions?|turns?|answers?|calls?"
    r"|choices?|options?|offers?|messages?)(?:\s+\w+){0,2}|rejected"
    r"|i\s+(?:(?:will|would|do|did|can)\s*not|won['’]t|don['’]t|refused?|rejected?|declined?"
    r"|considered|never)\b[^:.!?]*)\s*[:：]",
    re.IGNORECASE,
)
_CALL = re.compile(r"[A-Za-z]\w*\(.*\)|\{.*\}")
_AROUND = "[]*_`'\"., "
_LONGEST_INTRODUCTION = 300  # characters at the end of a line that are looked at
_MOST_LINES = 1000  # lines of a list that are passed over


def introduced_otherwise(
    before: Sequence[str], moves: Container[str] = (), *, explicit: bool = False
) -> bool:
    """Whether the lines before a move introduce it as something other than the speaker's own move.

    The nearest line counts that is neither empty, nor a code fence, nor one more move of a list. If
    it ends in a colon, it must be a label or begin as "I play", "I'll choose", "Here is my move";
    above a move that has a label itself it may be anything that is not about another speaker.
    """
    for line in reversed(before[-_MOST_LINES:]):
        end = line.strip(_AROUND)
        if end and not line.startswith("```") and not _listed(line, end, moves):
            end = end[-_LONGEST_INTRODUCTION:]
            if not end.endswith((":", "：")) or _OWN.search(end):
                return False
            return not explicit or _OTHERS.fullmatch(end) is not None
    return False


def _listed(line: str, bare: str, moves: Container[str]) -> bool:
    """Whether a line looks like one move of a list: a legal one, a call or one word."""
    one_word = " " not in bare and not bare.endswith((":", "："))
    return one_word or bare in moves or _CALL.fullmatch(line.strip()) is not None


STATED = ("answer", "move", "action")  # tags, and keys of a JSON object
THOUGHTS = ("analysis", "explanation", "plan", "rationale", "reasoning", "thought", "thoughts")
_END = " \t\r\n*_`$."
_BOX = re.compile(r"\\boxed\s*\{")
_TEXT = re.compile(r"\\text\s*\{(.*)\}", re.DOTALL)
_TAG = re.compile(rf"</({'|'.join(STATED)})\s*>\Z", re.IGNORECASE)
_SENTENCES = re.compile(r"(?![-+•–>|\d])[^:\"“”`\n]*[.!?;]\s+")
_IS = re.compile(r"\b(?:is|be)\Z", re.IGNORECASE)
_OBJECTS = 10  # opening braces, from the end, that are tried
_WIDE = re.compile(r"""'(?:[^'\\]|\\.)*+(?:'|\Z)|"(?:[^"\\]|\\.)*+(?:"|\Z)|[０-９]""", re.DOTALL)


def undressed(text: str) -> str:
    """An answer that ends in a box, tags or a small JSON object, with a label in place of them.

    Read so are `\\boxed{4}`, `<answer>4</answer>` (or move, action) and `{"move": 4}`, which may
    hold thoughts besides: all say "Move: 4". The words before them are judged as before a label.
    """
    for _ in range(3):  # such as an object in tags
        end = text.rstrip(_END)
        found = _boxed(end) or _tagged(end) or _keyed(end)
        if found is None:
            break
        text = _labelled(*found)
    return text


def _labelled(before: str, move: str) -> str:
    if "(" not in move and "{" not in move:
        move = " ".join(move.split())
    begin = before.rfind("\n") + 1
    if said := _SENTENCES.match(before, begin):
        before, begin = f"{before[: said.end()].rstrip()}\n{before[said.end() :]}", said.end()
    line = before[begin:].rstrip(" \t*_`")
    if line.endswith(":"):
        return f"{before} {move}"
    return f"{before}: {move}" if _IS.search(line[-10:]) else f"{before}Move: {move}"


def _boxed(text: str) -> tuple[str, str] | None:
    text = text.removesuffix("\\]").removesuffix("\\)").rstrip(_END)
    opened = list(_BOX.finditer(text, max(0, len(text) - 10_000))) if text.endswith("}") else []
    if not opened:
        return None
    inside = text[opened[-1].end() : -1]
    plain = _TEXT.fullmatch(inside)
    if plain and _balanced(plain[1]):
        inside = plain[1]
    before = text[: opened[-1].start()].rstrip(" \t$").removesuffix("\\[").removesuffix("\\(")
    return (before, inside) if _balanced(inside) else None


def _balanced(text: str) -> bool:
    depths = list(accumulate({"{": 1, "}": -1}.get(character, 0) for character in text))
    return not depths or (min(depths) >= 0 and depths[-1] == 0)


def _tagged(text: str) -> tuple[str, str] | None:
    closed = _TAG.search(text, max(0, len(text) - 100))
    if closed is None:
        return None
    opened = list(re.finditer(rf"<{closed[1]}\s*>", text[: closed.start()], re.IGNORECASE))
    inside = text[opened[-1].end() : closed.start()].strip() if opened else "</"
    return None if "</" in inside else (text[: opened[-1].start()], inside)


def _keyed(text: str) -> tuple[str, str] | None:
    start = len(text) if text.endswith("}") else 0
    for _ in range(_OBJECTS):
        start = text.rfind("{", 0, start)
        if start < 0:
            return None
        try:
            pairs, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if end == len(text) and (move := _stated_by(pairs)):
            return text[:start], move
    return None


_DECODER = json.JSONDecoder(object_pairs_hook=tuple, strict=False)


def _stated_by(pairs: Any) -> str:
    """The move of an object, as pairs, that has one, perhaps thoughts, and nothing else."""
    keys = [str(key).casefold() for key, _ in pairs]
    own = [value for key, value in pairs if str(key).casefold() in STATED]
    if len(own) != 1 or len(set(keys)) < len(keys) or not {*keys} <= {*STATED, *THOUGHTS}:
        return ""
    if isinstance(own[0], tuple):  # a typed action, as an object
        names = [str(key) for key, _ in own[0]]
        once = len(set(names)) == len(names)
        return json.dumps(dict(own[0]), ensure_ascii=False) if once else ""
    return str(own[0]) if type(own[0]) in (str, int) else ""


def plain_digits(text: str) -> str:
    """A text whose full-width digits outside quotation marks are those of ASCII."""
    if text.isascii():
        return text
    return _WIDE.sub(lambda f: f[0] if f[0][0] in "'\"" else str(int(f[0])), text)
