"""A quick reading of the answers that programs and most models give: one plain call."""

from __future__ import annotations

import re
from functools import lru_cache

from palestra.answers import LONGEST_ANSWER
from palestra.kernel.actions import TextAction

# No backslash, no line break, and no "<", which could open a thought
_VALUE = r"""-?(?:0|[1-9][0-9]{0,17})|True|False|None|'[ !"#-&(-;=-\[\]-~]*'|"[ !#-;=-\[\]-~]*\""""
_FIELD = rf"([A-Za-z_][A-Za-z_0-9]*)=({_VALUE})"
_CALL = re.compile(rf"([A-Za-z][A-Za-z_0-9]*)\((?:{_FIELD}(?:, {_FIELD})*)?\)")
_NAMED_VALUE = re.compile(_FIELD)
_NAMES = {"True": True, "False": False, "None": None}


def read_plain_call(text: str, types: tuple[type[TextAction], ...]) -> TextAction | None:
    """The action of an answer that is one call with simple values, on one line; None for any other.

    `palestra.kernel.actions.read_action` reads the same action from such an answer, and takes five
    times as long because it allows for everything else that a model may write. Whether the action
    is legal is not checked.
    """
    call = _CALL.fullmatch(text)
    kind = _by_name(types).get(call[1]) if call and len(text) <= LONGEST_ANSWER else None
    if kind is None:
        return None
    written = _NAMED_VALUE.findall(text, len(kind.__name__))
    values = {name: _value(value) for name, value in written}
    try:
        return kind(**values) if len(values) == len(written) else None
    except Exception:  # a field that it lacks, or a value that its class refuses
        return None


@lru_cache(maxsize=256)
def _by_name(types: tuple[type[TextAction], ...]) -> dict[str, type[TextAction]]:
    return {kind.__name__: kind for kind in types}


def _value(written: str) -> str | int | None:
    if written[0] in "'\"":
        return written[1:-1]
    return _NAMES[written] if written in _NAMES else int(written)
