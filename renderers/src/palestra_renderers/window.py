"""Mode "human": the board in a window, a panel beside it, and keys to go back and forth."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path

from palestra import Episode, renderer

from palestra_renderers.changes import scene_of, shows_moves, with_changes
from palestra_renderers.drawing import pygame
from palestra_renderers.picture import SHOWN_EVENTS, Painter
from palestra_renderers.plain import clean, ending, event_lines
from palestra_renderers.public import public_lines, public_scene
from palestra_renderers.screen import OPENED, Screen
from palestra_renderers.side_panel import Facts, SidePanel, seat_facts, usage_by_seat

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
KEPT = 1_000  # number of moments kept for going back
KEYS = (
    "space pause, arrows step and back",
    "+ - speed, v view, h secrets",
    "s save picture, q close",
)


@renderer("human", families=("*",))
class WindowRenderer:
    """Shows every moment for `pause` seconds at speed 1, or until a key says to continue.

    A window that was closed stays closed, and the episode goes on without it. `names` are the
    agents' names, one per seat; pictures are saved in the folder `pictures`. `size` is that of the
    window when it opens, in pixels, and `theme` is "light" or "dark".
    """

    def __init__(self, size: tuple[int, int] = OPENED, theme: str = "light") -> None:
        self.names: tuple[str, ...] = ()
        self.pause = 0.25
        self.pictures = Path()
        self.paused = False
        self.speed = 1.0
        self.view: int | None = None
        self.secrets = True
        self._screen = Screen(size)
        self._theme = theme
        self._panel = SidePanel(theme=theme)
        self._painter: Painter | None = None
        self._film: deque[Episode] = deque(maxlen=KEPT)
        self._shown = 0
        self._locked = False
        self._episode = 0
        self._left = False  # the window was closed
        self._go = False  # one more step was asked for
        self._note = ""

    # What a renderer does

    def draw(self, episode: Episode, viewer: int | None) -> None:
        """Show the current state; returns when the next moment may come.

        With a `viewer` only what that seat may know is shown, whatever key is pressed.
        """
        if self._left:
            return
        if self._episode != id(episode) or not episode.steps_played:
            self._film.clear()
            self._episode = id(episode)
        _ = episode.log  # written once, so that every fork has the log
        self._film.append(episode.fork())
        self._shown = len(self._film) - 1
        self._locked = viewer is not None
        if self._locked:
            self.view = viewer
        self._paint()
        self._wait()

    def stay(self) -> None:
        """Keep the window until it is closed; returns at once if it is not visible."""
        self.paused = True
        while self._screen.is_open and self._screen.seen:
            self._attend()
            self._screen.rest()

    def close(self) -> None:
        """Close the window; the episode goes on without it."""
        self._screen.close()
        self._left = True

    # Time

    def _wait(self) -> None:
        """Handle window events until the current moment has been shown for its time."""
        due = time.monotonic() + self.pause / self.speed
        while True:
            self._attend()
            if self._left:
                return
            at_end = self._shown >= len(self._film) - 1
            if self._go:
                self._go = False
                if at_end:
                    return
                self._turn_to(self._shown + 1)
            elif not self.paused and time.monotonic() >= due:
                if at_end:
                    return
                self._turn_to(self._shown + 1)
                due = time.monotonic() + self.pause / self.speed
            else:
                self._screen.rest()

    def _attend(self) -> None:
        """Handle events one after another, up to a requested step."""
        for event in self._screen.events():
            if event.type == pygame().KEYDOWN:
                self._press(event.key, event.unicode)
            if self._screen.is_open:
                self._paint()
            if self._go:
                return
        if not self._screen.is_open:
            self._left = True

    def _press(self, key: int, letter: str) -> None:
        module = pygame()
        if key in (module.K_q, module.K_ESCAPE):
            self.close()
        elif key == module.K_SPACE:
            self.paused = not self.paused
        elif key in (module.K_RIGHT, module.K_n):
            self.paused = self._go = True
        elif key in (module.K_LEFT, module.K_b):
            self.paused = True
            self._turn_to(self._shown - 1)
        elif letter in ("+", "=", "-"):
            place = SPEEDS.index(self.speed) + (-1 if letter == "-" else 1)
            self.speed = SPEEDS[max(0, min(len(SPEEDS) - 1, place))]
        elif key in (module.K_v, module.K_TAB):
            self._next_view()
        elif key == module.K_h and not self._locked:
            self.secrets = not self.secrets
        elif key == module.K_s:
            self._note = f"saved {self._screen.save(self._picture_path())}"

    def _next_view(self) -> None:
        """Switch to the next seat's view; after the last, to the spectator's."""
        if self._locked:
            return
        seats = self._film[-1].game.num_players
        after = 0 if self.view is None else self.view + 1
        self.view = None if after >= seats else after

    def _turn_to(self, number: int) -> None:
        self._shown = max(0, min(len(self._film) - 1, number))
        self._paint()

    def _picture_path(self) -> Path:
        moment = self._film[self._shown]
        name = name_of(moment).rpartition("/")[2]
        return self.pictures / f"{name}-{moment.seed}-{moment.steps_played:04}.png"

    # Looks

    def _paint(self) -> None:
        moment = self._film[self._shown]
        surface = self._screen.open(f"Palestra: {name_of(moment)}")
        width, height = self._screen.size
        beside = min(340, width * 2 // 5)
        size = (width - beside, height)
        if self._painter is None or self._painter.size != size:
            self._painter = Painter(size, self._theme)
        hidden = self.view is None and not self.secrets
        scene = public_scene(moment) if hidden else scene_of(moment, self.view)
        if self._shown and shows_moves(moment.game):
            scene = with_changes(scene, self._film[self._shown - 1].scene(self.view))
        events = public_lines(moment) if hidden else event_lines(moment, self.view)
        end = ending(moment)
        self._painter.paint(scene, [], [*events[-SHOWN_EVENTS:], *([end] if end else [])])
        surface.blit(self._painter.surface, (0, 0))
        self._panel.paint(surface, (size[0], 0, beside, height), self._facts(moment, hidden))
        self._screen.flip()

    def _facts(self, moment: Episode, hidden: bool) -> Facts:
        who = "everything" if self.view is None else f"as {moment.players[self.view]}"
        state = "paused" if self.paused else f"speed {self.speed:g}x"
        viewer = -1 if hidden else self.view  # no private details of seats if secrets are hidden
        heading, moves = self._choices(moment)
        return Facts(
            name_of(moment),
            f"turn {moment.steps_played}, {'no secrets' if hidden else who}, {state}",
            seat_facts(moment, self.names, viewer, usage_by_seat(moment)),
            heading,
            moves,
            keys=(*([self._note] if self._note else []), *KEYS),
        )

    def _choices(self, moment: Episode) -> tuple[str, tuple[str, ...]]:
        """The seat whose legal moves are listed: the viewer's, or the first to act."""
        seats = [s for s in moment.to_act if self.view in (None, s)]
        if not seats or (self.view is None and not self.secrets):
            return "", ()
        seat = seats[0]
        return f"{moment.players[seat]} may play", written_moves(moment, seat)


def written_moves(episode: Episode, seat: int) -> tuple[str, ...]:
    """Legal moves as written, or the grammar in one line if they are not numbered."""
    return tuple(clean(text, 200) for text in episode.legal_texts(seat)) or (
        clean(episode.legal_text(seat)),
    )


def name_of(episode: Episode) -> str:
    """The environment's id, or the game's class name if it has none."""
    return episode.spec.id if episode.spec else type(episode.game).__name__
