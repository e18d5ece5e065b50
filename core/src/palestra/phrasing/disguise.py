"""`disguise=7`: an array game described in invented words, with its moves renamed.

Memorised openings and names then do not help a model. Two seeds give two disguises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cached_property, lru_cache
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from palestra.kernel.array_game import ArrayGame
from palestra.kernel.errors import InvalidOption
from palestra.kernel.events import Event
from palestra.kernel.game import Outcome, allowed_actions
from palestra.kernel.rng import Rng
from palestra.phrasing.extended import Kind, extend_game
from palestra.phrasing.translator import Translator
from palestra.phrasing.vocabulary import Vocabulary
from palestra.scene import Card, Grid, Piece, Scene

SEED = Annotated[
    int, Meta(ge=0, description="tells the game in invented words, other ones for every number")
]
SAMPLES, STEPS = 4, 40  # episodes and steps searched for the words of the moves
NUMBERED = Vocabulary()  # of a game that declares none
# Words that do not identify a game, or that the frame of every question has
COMMON = """
    all and any are card cards cell for from its let none not one other play player players round
    the then they two with you your
"""
KEPT = frozenset(COMMON.split())
# Fields of a scene that hold words of the renderers
LITERAL = {"kind", "shape", "style", "ground", "marks", "facing", "suit", "colour", "colours"}
# What the words of directions mean where rules take them as known
MEANINGS = {
    "up": "towards the top",
    "down": "towards the bottom",
    "left": "towards the left-hand side",
    "right": "towards the right-hand side",
    "north": "towards the top of a map",
    "south": "towards the bottom of a map",
    "west": "towards the left-hand side of a map",
    "east": "towards the right-hand side of a map",
    "forward": "ahead, the way you face",
    "backward": "against the way you face",
    "turn": "face another way",
    "step": "move by one cell",
    "fast": "at twice the speed",
    "slow": "at the lower speed",
    "stay": "do nothing",
    "wait": "do nothing",
}


def add_disguise(kind: Kind) -> Kind:
    """The class of a game with the option `disguise`; raises `InvalidOption` for a text game."""
    if not issubclass(kind, ArrayGame):
        raise InvalidOption(
            f"disguise is for array games, whose moves are listed; {kind.__name__} is spoken: "
            "leave disguise out, or ablate its wording"
        )
    return extend_game(kind, DisguisedGame)


class DisguisedGame(ArrayGame):
    """An array game whose texts are translations of the plain game's."""

    disguise: int
    option: ClassVar[str] = "disguise"
    hint: ClassVar[Any] = SEED
    extended_from: ClassVar[tuple[Any, tuple[Any, ...]]]

    def validate(self) -> None:
        super().validate()
        if self._vocabulary is NUMBERED and not move_words(self.plain):
            raise InvalidOption(
                f"{type(self).__name__} cannot be disguised: its moves are numbers or cells, and "
                "it declares no vocabulary; write vocabulary = Vocabulary(words=…, cells=True) "
                "beside its rules"
            )

    @cached_property
    def plain(self) -> ArrayGame:
        """The undisguised game, with the same options."""
        options = {f.name: getattr(self, f.name) for f in fields(self) if f.init}  # type: ignore[arg-type]
        options.pop("disguise")
        options.pop("wording", None)
        return self.extended_from[0](**options)

    @cached_property
    def translator(self) -> Translator:
        """From the plain game's words to the disguise's."""
        vocabulary, name = self._vocabulary, self.extended_from[0].__name__
        words = {word for word in move_words(self.plain) if word not in (*KEPT, *vocabulary.kept)}
        words |= {word.casefold() for word in vocabulary.words}
        parts = re.findall(r"[A-Z][a-z]+|\d+", name)
        words |= {" ".join(parts).casefold(), "-".join(parts).casefold()}
        return Translator(vocabulary, words, self.disguise, self._plain_rules(0))

    @property
    def _vocabulary(self) -> Vocabulary:
        names = ("vocabulary", "disguise_vocabulary")  # the first may be an option
        found = (getattr(type(self), name, None) for name in names)
        return next((v for v in found if isinstance(v, Vocabulary)), NUMBERED)

    # What is read and written

    def rules_for(self, seat: int) -> str:
        told = self.translator(self._plain_rules(seat))
        known = MEANINGS | dict(self._vocabulary.meanings)
        glossary = [
            f"“{new}” means {known[word]}"
            for word, new in sorted(self.translator.words.items())
            if word in known
        ]
        return "\n".join([told, f"In this game {'; '.join(glossary)}."]) if glossary else told

    def _plain_rules(self, seat: int) -> str:
        told = self.plain.rules_for(seat)
        if self._vocabulary.rules:
            said = type(self.plain).rules_text
            told = _rules_with(self._vocabulary.rules, told, said)
        for sentence, other in self._vocabulary.instead.items():
            told = told.replace(sentence, other)
        return told

    def describe(self, state: Any, seat: int) -> str:
        return self.translator(self.plain.describe(state, seat))

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return self.translator(self.plain.action_text(state, seat, action))

    def legal_text(self, state: Any, seat: int, moves: Mapping[str, int]) -> str:
        written = {self.plain.action_text(state, seat, a): a for a in moves.values()}
        return self.translator(self.plain.legal_text(state, seat, written))

    def parse(self, state: Any, seat: int, text: str) -> int:
        return ArrayGame.parse(self, state, seat, text)  # does not accept the plain game's notation

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> Sequence[Event]:
        return self._told(self.plain.narrate(before, actions, after))

    def opening(self, state: Any) -> Sequence[Event]:
        return self._told(self.plain.opening(state))

    def _told(self, events: Sequence[Event]) -> list[Event]:
        return [msgspec.structs.replace(e, text=self.translator(e.text)) for e in events]

    def outcome(self, state: Any) -> Outcome | None:
        found = self.plain.outcome(state)
        return found and replace(found, reason=self.translator(found.reason))

    def scene(self, state: Any, seat: int | None = None) -> Scene:
        return self._disguise_scene(self.plain.scene(state, seat))

    def _disguise_scene(self, value: Any) -> Any:
        """A scene, or part of one, with its texts translated."""
        if isinstance(value, str):
            return self.translator(value)
        if isinstance(value, tuple):
            return tuple(map(self._disguise_scene, value))
        if not is_dataclass(value) or isinstance(value, type):
            return value
        changed = {f.name: self._disguise_scene(getattr(value, f.name)) for f in fields(value)}
        if isinstance(value, Grid) and self._vocabulary.cells and not value.names:
            changed["names"] = tuple(
                tuple(self.translator.cell(value.name(row, column)) for column in range(len(cells)))
                for row, cells in enumerate(value.cells)
            )
        if isinstance(value, (Piece, Card)):
            changed["sprite"] = ""  # its picture would name it
        return replace(value, **{k: v for k, v in changed.items() if k not in LITERAL})

    def constants(self) -> Mapping[str, Any]:
        return self.plain.constants()  # so that it is the same compiled game


def _rules_with(whole: str, told: str, text: str) -> str:
    """Rules with their fixed part replaced by the full text; what options add is kept."""
    from palestra.paragraphs import paragraphs

    fixed = paragraphs(text)
    added = told.removeprefix(fixed) if told.startswith(fixed) else ""
    return paragraphs(whole) + added


@lru_cache(maxsize=256)
def move_words(game: ArrayGame) -> frozenset[str]:
    """The words that occur in the moves of some random episodes of a game."""
    found: set[str] = set()
    for text in _moves(game):
        words = re.findall(r"[A-Za-z]{2,}(?![\w-]*\d)", text.casefold())
        found |= {word for word in words if len(word) > 2 or word in MEANINGS}
    return frozenset(found - {"player"})


def _moves(game: ArrayGame) -> Iterator[str]:
    """The text of legal moves in some random episodes."""
    for seed in range(SAMPLES):
        state, rng = game.initial_state(seed), Rng.seeded(seed)
        for _ in range(STEPS):
            seats = game.to_act(state)
            if not seats:
                break
            for seat in seats:
                for action in allowed_actions(game.legal(state, seat)):
                    yield game.action_text(state, seat, action)
            game.step(state, {seat: game.sample(state, seat, rng) for seat in seats})
