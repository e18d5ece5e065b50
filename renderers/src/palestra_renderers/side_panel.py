"""The panel beside the board: seats and what they were paid, legal moves, keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from palestra import Episode, Usage
from palestra.endings import number_text

from palestra_renderers.drawing import pygame, words
from palestra_renderers.layout.sheet import opening
from palestra_renderers.lettering import cut, text_width, wrap
from palestra_renderers.plain import clean, seat_title
from palestra_renderers.theme import LIGHT, THEMES, Rgb, ink_on, paint_of, seat_colour

Box = tuple[int, int, int, int]
BUTTON, BUTTON_INK = seat_colour(6), LIGHT[ink_on("seat6")]


@dataclass(frozen=True, slots=True)
class SeatFacts:
    """One seat: who plays it, in which paint of the theme, and lines of detail below."""

    title: str
    acting: bool = False
    details: tuple[str, ...] = ()
    paint: str = "nobody"


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything a panel shows; `typed` is the input line, None if there is none."""

    title: str
    subtitle: str
    seats: tuple[SeatFacts, ...] = ()
    heading: str = ""
    moves: tuple[str, ...] = ()
    typed: str | None = None
    note: str = ""
    keys: tuple[str, ...] = ()


def seat_facts(
    episode: Episode, names: Sequence[str], viewer: int | None, used: Sequence[Usage]
) -> tuple[SeatFacts, ...]:
    """Seats as `viewer` may know them: terms, tokens and costs of others only for a spectator."""
    facts, scene = [], episode.scene(viewer)
    for seat in range(len(episode.players)):
        title = seat_title(episode, seat, names, viewer)
        own = viewer is None or viewer == seat
        details = seat_details(episode, seat, used[seat]) if own else ()
        paint = paint_of(scene.colour_of(seat))
        facts.append(SeatFacts(title, seat in episode.to_act, details, paint))
    return tuple(facts)


def seat_details(episode: Episode, seat: int, used: Usage) -> tuple[str, ...]:
    """A seat's rewards in the last step by term, and the resources its decisions used so far."""
    terms = episode.step.rewards.get(seat, {}) if episode.steps_played else {}
    lines = [
        ", ".join(
            f"{clean(term, 40)} {'+' * (paid > 0)}{number_text(paid)}"
            for term, paid in terms.items()
        )
    ]
    if used.tokens:
        lines.append(f"{used.tokens:,} tokens, cost {number_text(used.cost)}")
    if episode.mistakes[seat]:
        lines.append(f"mistakes: {episode.mistakes[seat]}")
    return tuple(line for line in lines if line)


def usage_by_seat(episode: Episode) -> list[Usage]:
    """The resources used by the decisions in an episode's history, if a runner recorded them."""
    used = [Usage()] * episode.game.num_players
    for played in episode.history():
        for seat, note in (played.notes or {}).items():
            used[seat] = sum((attempt.usage for attempt in note.refused), used[seat])
            if note.decision is not None:
                used[seat] += note.decision.usage
    return used


class SidePanel:
    """Paints facts into a box of a surface, and remembers where its buttons are."""

    def __init__(self, line: int = 20, theme: str = "light") -> None:
        self.line, self._colours = line, THEMES[theme]
        self.buttons: list[tuple[Box, str]] = []
        self._surface: Any = None

    def paint(self, surface: Any, box: Box, facts: Facts) -> None:
        left, top, width, height = box
        self._surface, self.buttons = surface, []
        pygame().draw.rect(surface, self._colours["panel"], box)
        pygame().draw.line(surface, self._colours["faint"], (left, top), (left, top + height))
        x, room, line = left + line_gap(self.line), width - 2 * line_gap(self.line), self.line
        y = self._text([facts.title], x, top + line // 2, room, self._colours["ink"])
        y = self._text([facts.subtitle], x, y, room, self._colours["quiet"]) + line // 2
        bottom = top + height - line * len(facts.keys) - line // 2
        self._text(facts.keys, x, bottom, room, self._colours["quiet"])
        if facts.typed is not None:
            bottom = self._entry(facts, x, bottom, room)
        y = self._seats(facts.seats, x, y, room, bottom) + line // 2
        if facts.heading and y + 2 * line < bottom:
            y = self._text([facts.heading], x, y, room, self._colours["quiet"])
            self._moves(facts.moves, x, y + 2, room, bottom - line // 2)

    def at(self, place: tuple[int, int]) -> str | None:
        """The move of the button at a point."""
        for (x, y, width, height), move in self.buttons:
            if x <= place[0] < x + width and y <= place[1] < y + height:
                return move
        return None

    def _text(self, texts: Iterable[str], x: int, y: int, room: int, colour: Rgb) -> int:
        for text in texts:
            for part in wrap(clean(text), room, self.line):
                self._surface.blit(words(part, self.line, colour), (x, y))
                y += self.line
        return y

    def _seats(self, seats: Sequence[SeatFacts], x: int, y: int, room: int, bottom: int) -> int:
        """As many seats as fit; if not all do, those who are to act come first."""
        line = self.line
        lines = sum(1 + len(facts.details) for facts in seats)
        brief = lines * line > (bottom - y) * 2 // 3
        for seat, facts in enumerate(seats):
            if y + line > bottom - 2 * line:
                return self._text(
                    [f"and {len(seats) - seat} more"], x, y, room, self._colours["quiet"]
                )
            if facts.acting:
                pygame().draw.rect(
                    self._surface, self._colours["faint"], (x - 4, y - 1, room + 8, line - 2)
                )
            centre = (x + line // 3, y + line // 2 - 3)
            pygame().draw.circle(self._surface, self._colours[facts.paint], centre, line // 4)
            pygame().draw.circle(self._surface, self._colours["ink"], centre, line // 4, 1)
            title = cut(clean(facts.title), room - line, line)
            self._surface.blit(words(title, line, self._colours["ink"]), (x + line, y))
            y += line
            if not brief:
                y = self._text(facts.details, x + line, y, room - line, self._colours["quiet"])
        return y

    def _moves(self, moves: Sequence[str], x: int, y: int, room: int, bottom: int) -> None:
        """Moves as buttons, in rows, as many as fit."""
        line, across = self.line, x
        for number, move in enumerate(moves):
            face = words(cut(clean(move), room - line // 2, line), line, BUTTON_INK)
            width = min(room, face.get_width() + line // 2)
            if across + width > x + room:
                across, y = x, y + line + 5
            if y + 2 * line > bottom:
                rest = f"and {len(moves) - number} more: type to choose"
                self._surface.blit(words(rest, line, self._colours["quiet"]), (x, y))
                return
            box = (across, y, width, line + 1)
            pygame().draw.rect(self._surface, BUTTON, box, border_radius=4)
            self._surface.blit(face, (across + line // 4, y + 3))
            self.buttons.append((box, move))
            across += width + 5

    def _entry(self, facts: Facts, x: int, bottom: int, room: int) -> int:
        """The input line and the message about it; returns where they start."""
        line = self.line
        notes = opening(wrap(clean(facts.note), room, line), 6) if facts.note else []
        top = bottom - line * (len(notes) + 2)
        box = (x, top, room, line + 4)
        pygame().draw.rect(self._surface, self._colours["ink"], box, 1, border_radius=4)
        typed = clean(facts.typed or "")
        tail = typed
        while text_width(f"> …{tail}|", line) > room - 10:  # the cursor stays in sight
            tail = tail[1:]
        shown = f"> {'…' * (len(tail) < len(typed))}{tail}|"
        self._surface.blit(words(shown, line, self._colours["ink"]), (x + 5, top + 4))
        self._text(notes, x, top + line + 8, room, self._colours["ink"])
        return top - line // 2


def line_gap(line: int) -> int:
    return line * 2 // 3
