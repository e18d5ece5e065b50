"""Quoting what one seat writes for others to read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

# The first character of what may be a special token of some model's chat template
_TOKEN = re.compile(
    r"<(?=[|｜]|[^\s<>][^<>\n]{0,80}>)"  # <|im_end|> <｜User｜> </s> <seed:bos> <<SYS>> <[PAD]>
    r"|\[(?=@[A-Z_]{2,80}@\])"  # [@BOS@]
    r"|\[(?=/?[a-z]?[A-Z_]{2}[A-Z_0-9]{0,80}\]|\||control_\d|e~\[)"  # [INST] [gMASK] [|user|] [e~[
    r"|\](?=[~<])"  # ]~b] ]<]
    r"|>(?=>[A-Z]{3,80}<<)"  # >>TITLE<<
    r"|\|(?=\|\|[A-Z_]{3,80}\|{3})"  # |||IP_ADDRESS|||
)
_PLAIN = re.compile(r"[ !#-;=?-Z^-{}~]*")  # ASCII without the quotation mark, \ | and < > [ ]
_KEPT = "\u200d"  # joins emoji
_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_WRITTEN = re.compile(r'\\(?:([\\"nrt])|u\{([0-9a-f]+)\})')
_LONG = {"\\": "\\", '"': '"', "n": "\n", "r": "\r", "t": "\t"}


def quote(text: str) -> str:
    r"""A message, `text`, as one quoted unit on one line, which cannot be mistaken for anything
    else.

    It is enclosed in quotation marks. Line breaks, quotation marks and backslashes are escaped as
    in Python; control and direction characters, and what opens a special token of a language
    model's chat template (`<|im_end|>`, `</s>`, `[INST]`), also once the text is normalised (`＜`),
    as `\\u{…}`. `unquote` gives the text back.
    """
    return f'"{escape(text)}"'


def escape(text: str) -> str:
    """As `quote`, without the quotation marks."""
    if _PLAIN.fullmatch(text):  # the usual case; letter by letter takes ten times as long
        return text
    marked = _TOKEN.sub(lambda found: f"\0{found[0]}", text.replace("\0", "\0\0"))
    return "".join(_escape_marks(marked))


def _escape_marks(marked: str) -> Iterator[str]:
    letters = iter(marked)
    for letter in letters:
        if letter == "\0":  # marks a letter that must be escaped, whatever it is
            yield f"\\u{{{ord(next(letters)):x}}}"
        elif letter in _SHORT:
            yield _SHORT[letter]
        elif letter.isascii() and letter.isprintable():
            yield letter
        elif letter not in _KEPT and (
            unicodedata.category(letter) in _UNSEEN or _opens_if_normalised(letter)
        ):
            yield f"\\u{{{ord(letter):x}}}"
        else:
            yield letter


def _opens_if_normalised(letter: str) -> bool:
    """Whether a tokenizer that normalises text reads a letter such as `＜` as an opener."""
    if letter.isascii() or letter.isalnum():
        return False
    return not _OPENERS.isdisjoint(unicodedata.normalize("NFKD", letter))


_OPENERS = frozenset("<>[]|")


_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, directions, half characters, line separators


def unquote(quoted: str) -> str:
    """The text from which `quote` made `quoted`."""
    return _WRITTEN.sub(
        lambda found: _LONG[found[1]] if found[1] else chr(int(found[2], 16)), quoted[1:-1]
    )


def disarm(text: str) -> str:
    """A text that names a move, for a model to read: on one line, and without special tokens.

    Moves are written by `repr`, which escapes quotes and controls but not `<|im_end|>`.
    """
    marked = _TOKEN.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", one_line(text))
    if marked.isascii():
        return marked
    return "".join(
        f"\\u{{{ord(letter):x}}}" if _opens_if_normalised(letter) else letter for letter in marked
    )


def without(text: str, strings: Collection[str]) -> str:
    """A text in which none of some strings occurs: the first letter of each is escaped.

    A string that its own escape brings back, such as `u{`, is left out.
    """
    known = [re.escape(one) for one in sorted(filter(None, strings), key=len, reverse=True)]
    if not known:
        return text
    found = re.compile("|".join(known))
    for _ in range(3):  # an escape may complete another string
        if not found.search(text):
            return text
        text = found.sub(lambda one: f"\\u{{{ord(one[0][0]):x}}}{one[0][1:]}", text)
    while found.search(text):
        text = found.sub("", text)
    return text


def open_console(**settings: Any) -> Console:
    """A console of rich that prints names as they are: `:ok:` in one is no emoji.

    settings: rich's own, such as `stderr` or `quiet`.
    """
    from rich.console import Console

    return Console(emoji=False, **settings)


def printable(text: str) -> str:
    """A text for a terminal or a log: keeps line breaks, escapes other control characters."""
    if text.isprintable():
        return text
    return "".join(
        letter
        if letter == "\n" or letter in _KEPT or unicodedata.category(letter) not in _UNSEEN
        else f"\\u{{{ord(letter):x}}}"
        for letter in text
    )


def one_line(text: str) -> str:
    """As `printable`, with line breaks escaped too."""
    return printable(text).replace("\n", "\\n")
