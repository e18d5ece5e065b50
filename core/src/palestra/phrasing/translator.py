"""Translating a game's texts one to one into invented words, other signs and cell names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from string import ascii_lowercase, ascii_uppercase

from palestra.kernel.rng import Rng
from palestra.phrasing.vocabulary import Vocabulary

CONSONANTS, VOWELS = "bdfgklmnprtvz", "aeiou"
ENDINGS = {"": "", "s": "s", "es": "s", "'s": "'s", "ed": "ed", "d": "ed", "ing": "ing", "er": "er"}
MOST = 30  # rows and columns that cells may have
LAYOUT = frozenset(" .|+-_/")
_ALONE = re.compile(r"(?<![\w'-])[^\s\w]*(\S)[^\s\w]*(?![\w'-])")
_CELL = re.compile(r"(?<!\w)([a-z]\d{1,2})([-=]?(?:[a-z]?\d{1,2}))*[a-z]?(?!\w)")
_PART = re.compile(r"=.+|[a-z](?=\d)|\d+|[a-z]")


class Translator:
    """Replaces words and phrases, signs and cells; equal seeds give equal words.

    The replacement is one to one: texts that differ still differ after translation.
    """

    def __init__(
        self, vocabulary: Vocabulary, words: Iterable[str], seed: int, taken: str = ""
    ) -> None:
        self._vocabulary = vocabulary
        rng = Rng.seeded(seed, stream=11)
        listed = sorted(set(words), key=lambda word: (-len(word), word))
        self.words = _invent(listed, rng, taken.casefold())
        self.signs = _other_signs(vocabulary.signs, rng)
        letters = _shuffle(rng, ascii_lowercase)
        self._columns = dict(zip(ascii_lowercase, letters, strict=True))
        ones, tens = range(1, 10), range(10, MOST + 1)
        self._rows = {
            str(n): str(m)
            for part in (ones, tens)
            for n, m in zip(part, _shuffle(rng, part), strict=True)
        }
        self._spelt, self._pattern = _forms(self.words)
        coded = vocabulary.written
        self._coded = re.compile(rf"(?<!\w)(?:{coded})(?!\w)") if coded else None

    def __call__(self, text: str) -> str:
        """A text, line by line."""
        return "\n".join(map(self._line, text.split("\n")))

    def cell(self, name: str) -> str:
        """The name of a cell, a column or a row, or of a move between cells."""
        return _PART.sub(self._cell_part, name)

    def _cell_part(self, found: re.Match[str]) -> str:
        part = found[0]
        if part.startswith("="):
            return self._signs_of(part)
        if part.isdigit():
            return self._rows.get(part, part)
        next_is_digit = found.string[found.end() : found.end() + 1].isdigit()
        return self._columns[part] if next_is_digit else self.signs.get(part, part)

    def _line(self, line: str) -> str:
        if self._is_drawn(line):
            return self._translate_drawing(line)
        head, rest = self._written_line(line)
        if head:
            return self._words_of(head) + self._written(rest)
        line = self._words_of(line)
        if self._vocabulary.cells:
            line = _CELL.sub(lambda found: self.cell(found[0]), line)
        if self._coded:
            line = self._coded.sub(lambda found: self._signs_of(found[0]), line)
        if self.signs:
            line = _ALONE.sub(self._alone, line)
        return line

    def _words_of(self, text: str) -> str:
        return self._pattern.sub(self._word, text) if self._pattern else text

    def _word(self, found: re.Match[str]) -> str:
        article, word = found["an"] or "", found["word"]
        made = self._spelt[" ".join(word.casefold().split())]
        if word[:1].isupper():
            made = made.upper() if len(word) > 1 and word.isupper() else made.capitalize()
        return article.replace("n", "").replace("N", "") + made

    def _alone(self, found: re.Match[str]) -> str:
        sign = found[1]
        made = self.signs.get(sign, sign) if sign not in "aAI" else sign
        start = found.start(1) - found.start()
        return found[0][:start] + made + found[0][start + 1 :]

    # Boards

    def _is_drawn(self, line: str) -> bool:
        """Whether a line shows part of a board: signs, labels and separators."""
        if not line.strip() or not (self.signs or self._vocabulary.cells):
            return False
        if self._labels(line):
            return True
        known = LAYOUT | set(self.signs)
        if self._vocabulary.cells:
            known = known | set("0123456789#*")
            return len(line.split()) > 1 and set(line) <= known
        shown = line[len(self._label(line)) :].strip()
        return len(shown) > 1 and set(shown) <= known

    def _label(self, line: str) -> str:
        """The row number before a line's signs, if digits are not signs."""
        found = re.match(r"\s*\d+(?=\s)", line)
        return found[0] if found and not any(map(str.isdigit, self.signs)) else ""

    def _labels(self, line: str) -> bool:
        """Whether a line is the letters of the columns, in order."""
        letters = [token for token in line.split() if token != "|"]
        return (
            self._vocabulary.cells
            and len(letters) > 1
            and letters == list(ascii_lowercase[: len(letters)])
        )

    def _translate_drawing(self, line: str) -> str:
        if self._labels(line):
            return "".join(self._columns.get(letter, letter) for letter in line)
        head = self._label(line)
        number = head.strip()
        shown = self._rows.get(number, number) if self._vocabulary.cells else number
        return head.replace(number, shown) + self._signs_of(line[len(head) :])

    def _signs_of(self, text: str) -> str:
        return "".join(self.signs.get(sign, sign) for sign in text)

    def _written_line(self, line: str) -> tuple[str, str]:
        """Split a line written in signs into its beginning and the rest."""
        for start in self._vocabulary.lines:
            if line.startswith(start):
                return line[: len(start)], line[len(start) :]
        return "", line

    def _written(self, text: str) -> str:
        return re.sub(
            r"\S+",
            lambda found: (
                self.cell(found[0]) if _CELL.fullmatch(found[0]) else self._signs_of(found[0])
            ),
            text,
        )


def _invent(words: list[str], rng: Rng, taken: str) -> dict[str, str]:
    """A new word for each, which occurs nowhere else and cannot be an inflection of another."""
    made: dict[str, str] = {}
    for word in words:
        while True:
            syllables = [rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(2)]
            new = "".join(syllables) + rng.choice("bfgklmnptvz")
            if new not in taken and new not in made.values():
                break
        made[word.casefold()] = new
    return made


def _other_signs(signs: str, rng: Rng) -> dict[str, str]:
    """Another character of its kind for each: capitals, small letters, digits; else capitals."""
    made: dict[str, str] = {}
    left = {
        "upper": [c for c in ascii_uppercase if c not in signs and c not in "AI"],
        "lower": [c for c in ascii_lowercase if c not in signs and c != "a"],
    }
    pools = {kind: _shuffle(rng, pool) for kind, pool in left.items()}
    for sign in signs:
        if sign.isdigit() and "digits" not in pools:
            digits = [c for c in signs if c.isdigit()]
            pools["digits"] = _shuffle(rng, digits)[::-1]
        kind = "digits" if sign.isdigit() else "lower" if sign.islower() else "upper"
        made[sign] = pools[kind].pop()
    return made


def _forms(words: Mapping[str, str]) -> tuple[dict[str, str], re.Pattern[str] | None]:
    """Every form of every word with its replacement, and a pattern that finds them."""
    spelt: dict[str, str] = {}
    for word, new in words.items():
        for form, made in _inflections(word, new):
            spelt.setdefault(form, made)
    for word, new in words.items():  # a listed word is not treated as a form of another
        spelt[word] = new
    if not spelt:
        return {}, None
    longest = sorted(spelt, key=len, reverse=True)
    either = "|".join(re.escape(form).replace(r"\ ", r"\s+") for form in longest)
    return spelt, re.compile(rf"\b(?P<an>an\s+)?(?<![\w_])(?P<word>{either})(?![\w_])", re.I)


def _inflections(word: str, new: str) -> list[tuple[str, str]]:
    """Regular forms of a noun or a verb with those of the new word."""
    forms = [(word + ending, new + other) for ending, other in ENDINGS.items()]
    if word[-1:] == "y":
        forms += [(word[:-1] + "ies", new + "s"), (word[:-1] + "ied", new + "ed")]
    if word[-1:] == "e":
        forms += [(word[:-1] + "ing", new + "ing"), (word + "r", new + "er")]
    if word[-1:] == "f":
        forms.append((word[:-1] + "ves", new + "s"))
    if len(word) > 2 and word[-1] not in "aeiouwxy" and word[-2] in "aeiou":
        forms += [(word + word[-1] + ending, new + ending) for ending in ("ed", "ing", "er")]
    return forms


def _shuffle(rng: Rng, items: Iterable[object]) -> list[str]:
    left = [str(item) for item in items]
    return [left.pop(rng.below(len(left))) for _ in range(len(left))]
