"""The words with which an answer states its own move, and those that give it to somebody else.

"Move: 4" and "I'll play:" over a line "4" state the speaker's move; "They played:" over the same
line does not, nor does "Legal moves:" over a list. This module imports nothing of Palestra.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

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
