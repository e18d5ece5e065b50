"""A person who plays in a window: click cells or moves, drag, type, or walk with arrow keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palestra import InvalidAction, Rng, Scene, Turn
from palestra.endings import number_text

from palestra_renderers.changes import Follower, shows_moves, with_changes
from palestra_renderers.drawing import pygame
from palestra_renderers.picture import SHOWN_EVENTS, Painter
from palestra_renderers.plain import clean, verdict
from palestra_renderers.screen import OPENED, Screen
from palestra_renderers.side_panel import Facts, SeatFacts, SidePanel
from palestra_renderers.targets import bare, key_moves, with_targets
from palestra_renderers.theme import paint_of
from palestra_renderers.typed_moves import help_lines, read_move, refusal

KEYS = ("click or drag, or type a move", "Enter plays, Esc clears, F1 or ? helps")
GRAMMAR = 240  # most characters shown of a grammar


class WindowSeat:
    """Shows one seat's view, and waits until a legal move was clicked or typed."""

    def __init__(self, size: tuple[int, int] = OPENED) -> None:
        self.screen = Screen(size)
        self.panel = SidePanel()
        self.painter: Painter | None = None
        self.typed = ""
        self._note = ""
        self._helping = False
        self._pressed = ""  # the name of the cell on which the mouse button went down
        self._follower = Follower()

    def ask(self, turn: Turn) -> str:
        self.typed, self._note, self._helping, self._pressed = "", turn.error, False, ""
        self.paint(turn)
        while True:
            for event in self.screen.events():
                move = self._take(turn, event)
                if not self.screen.is_open:
                    break
                if move is not None:
                    self.typed, self._note = "", ""
                    self.paint(turn, waiting=True, after=move)
                    return move
                self.paint(turn)
            if not self.screen.is_open:
                raise KeyboardInterrupt("the person left")
            self.screen.rest()

    def end(self, turn: Turn) -> None:
        """Show the outcome until a key is pressed; returns at once if the window is not visible."""
        self._helping, self._note = False, f"{verdict(turn)} Press a key."
        self.paint(turn, waiting=True)
        module = pygame()
        while self.screen.is_open and self.screen.seen:
            if any(e.type in (module.KEYDOWN, module.MOUSEBUTTONDOWN) for e in self._events()):
                return
            self.screen.rest()

    def close(self) -> None:
        self.screen.close()

    def _events(self) -> list[Any]:
        return list(self.screen.events())

    # Input

    def _take(self, turn: Turn, event: Any) -> str | None:
        """Handle one event; returns a legal move if it completed one."""
        module = pygame()
        if event.type == module.KEYDOWN:
            return self._press(turn, event.key, event.unicode)
        if event.type == module.MOUSEBUTTONDOWN and event.button == 1:
            self._pressed = self._name_at(event.pos)
            return self._click(turn, event.pos)
        if event.type == module.MOUSEBUTTONUP and event.button == 1:
            dragged = self._pressed and self._name_at(event.pos) not in ("", self._pressed)
            return self._click(turn, event.pos) if dragged else None
        return None

    def _name_at(self, place: tuple[int, int]) -> str:
        """The name of the cell at a place; empty if there is none."""
        return self.painter.name_at(*place) if self.painter else ""

    def _press(self, turn: Turn, key: int, letter: str) -> str | None:
        module = pygame()
        if self._helping:
            self._helping = False
        elif key == module.K_F1 or (letter == "?" and not self.typed):
            self._helping = True
        elif key == module.K_ESCAPE:
            self.typed = self._note = ""
        elif key == module.K_BACKSPACE:
            self.typed = self.typed[:-1]
        elif key in (module.K_RETURN, module.K_KP_ENTER):
            return self._play(turn, self.typed)
        elif not self.typed and (move := key_moves(turn.legal_texts).get(module.key.name(key))):
            return self._play(turn, move)
        elif letter and letter.isprintable():
            self.typed += letter
        return None

    def _click(self, turn: Turn, place: tuple[int, int]) -> str | None:
        """Handle a click: a button plays its move; cells add their names until they form a move."""
        self._helping = False
        button = self.panel.at(place)
        if button is not None:
            return self._play(turn, button)
        clicked = self._name_at(place)
        if not clicked:
            return None
        for typed in (self.typed + clicked, clicked):
            possible = moves_from(turn.legal_texts, typed)
            if possible:
                self.typed = typed
                whole = [move for move in possible if bare(move) == bare(typed)]
                self._note = "" if whole else f"{len(possible)} moves begin so."
                return self._play(turn, whole[0]) if len(whole) == 1 else None
        self._note = f"No legal move begins with {clicked}."
        self.typed = ""
        return None

    def _play(self, turn: Turn, text: str) -> str | None:
        """Play a move if it is legal; otherwise show the reason why not."""
        if not text.strip():
            return None
        try:
            return read_move(turn, text)
        except InvalidAction as error:
            self._note = clean(refusal(turn, text, error), 300)
            return None

    # Looks

    def paint(self, turn: Turn, *, waiting: bool = False, after: str = "") -> None:
        """Paint the seat's view with the moves that match the input, or the rules.

        after: the move that was just made; it is shown where nothing is hidden or left to chance.
        """
        surface = self.screen.open(f"Palestra: {turn.env}")
        width, height = self.screen.size
        beside = min(340, width * 2 // 5)
        size = (width - beside, height)
        if self.painter is None or self.painter.size != size:
            self.painter = Painter(size)
        if self._helping:
            self.painter.write_page(help_lines(turn))
        else:
            events = [clean(event.text) for event in turn.transcript[-SHOWN_EVENTS:]]
            scene = scene_after(turn, after) or self._follower.scene_of_turn(turn)
            if not waiting:
                scene = with_targets(scene, turn.legal_texts, self.typed)
            self.painter.paint(scene, [], events)
        surface.blit(self.painter.surface, (0, 0))
        self.panel.paint(surface, (size[0], 0, beside, height), self._facts(turn, waiting))
        self.screen.flip()

    def _facts(self, turn: Turn, waiting: bool) -> Facts:
        scene = turn.scene
        seats = tuple(
            SeatFacts(
                f"{name} (you): {number_text(turn.returns)}" if seat == turn.seat else name,
                seat == turn.seat,
                paint=paint_of(scene.colour_of(seat)),
            )
            for seat, name in enumerate(turn.game.players)
        )
        heading, moves = "", tuple[str, ...]()
        if not waiting:  # others' turn, or the end, has no moves of this seat
            moves = tuple(moves_with(turn.legal_texts, self.typed))
            speaking = not turn.legal_texts or bool(getattr(turn.legal, "options", ()))
            heading = f"You may play: {turn.legal_text}" if speaking else "You may play"
        return Facts(
            turn.env,
            f"turn {turn.steps_played}",
            seats,
            clean(heading, GRAMMAR),
            moves,
            typed=self.typed,
            note="Waiting for the others." if waiting and not self._note else self._note,
            keys=KEYS,
        )


def scene_after(turn: Turn, move: str) -> Scene | None:
    """What the seat sees after its move; None where that is not yet certain."""
    if not move or not turn.game.deterministic or not shows_moves(turn.game):
        return None
    twin = turn.fork(Rng.seeded(0))
    twin.act({turn.seat: turn.parse(move)})
    return with_changes(twin.scene(turn.seat), turn.scene)


def moves_from(moves: Sequence[str], typed: str) -> list[str]:
    """Moves that begin with the input."""
    return [move for move in moves if bare(move).startswith(bare(typed))]


def moves_with(moves: Sequence[str], typed: str) -> list[str]:
    """Moves that begin with the input or, if none does, contain it."""
    return moves_from(moves, typed) or [move for move in moves if bare(typed) in bare(move)]
