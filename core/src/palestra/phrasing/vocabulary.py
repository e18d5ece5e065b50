"""The words that identify a game, declared beside its rules so that they can be replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words, signs and names of cells that a disguise replaces.

    A game declares it as `vocabulary`, or as `disguise_vocabulary` if it has an option of that
    name.

    words: names and terms; each is replaced wherever it stands, in singular and plural, as noun and
    verb, by one invented word. The words of the moves and the name of the class are replaced
    without being listed, save those in `kept`. meanings: what a word means, for words that the
    rules do not explain ("up"); a disguise says it below the rules. signs: characters that a board
    is drawn with; each becomes another one, in lines drawn with nothing else and where it stands
    alone. cells: whether moves name cells by a column letter and a row number, which are permuted.
    lines: how lines begin that are written in signs and cells; written: a regular expression of
    words that are written in signs, such as a card's rank and suit. instead: sentences of the rules
    that are said otherwise in a disguise, such as how the columns are named; `rules` replaces them
    whole, where `rules_text` counts on what everybody knows ("the usual rules").
    """

    words: tuple[str, ...] = ()
    meanings: Mapping[str, str] = field(default_factory=dict)
    signs: str = ""
    cells: bool = False
    lines: tuple[str, ...] = ()
    written: str = ""
    kept: tuple[str, ...] = ()
    instead: Mapping[str, str] = field(default_factory=dict)
    rules: str = ""
