"""Pictures of the games of a run, drawn between its steps and never for more than a small share.

The thread that plays draws, since only it knows when a state is complete. How often follows from
what a picture took: at most `SHARE` of the time goes into pictures, and a quarter of that while
nobody looks at the page.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from palestra import Episode, hookimpl
from palestra.endings import ending_text
from palestra.kernel.errors import cause
from palestra.runner.watching import SHARE, Sparing, Viewer

from palestra_server.table import drawing

log = logging.getLogger("palestra.server")
MOST = 12  # boards shown
LANES = 4  # of a batch
UNSEEN = 0.25  # of the share, while nobody looks
SAVED = 0.1  # seconds of drawing that are saved up while agents think


@dataclass(slots=True)
class Board:
    """One place of the page, and the game on it."""

    name: str
    episode: Episode | None = None
    agents: tuple[str, ...] = ()
    number: int = 0  # of games on this board
    stale: bool = True
    over: bool = False


@dataclass(slots=True)
class _Places:
    """The boards by number, by episode, and those whose game is over, the last one last."""

    all: list[Board] = field(default_factory=list)
    playing: dict[int, Board] = field(default_factory=dict)
    free: list[Board] = field(default_factory=list)


class Boards(ABC):
    """Listens to a run and draws some of its games; a subclass says where pictures go."""

    def __init__(self, viewer: Viewer = "all", prefix: str = "") -> None:
        self._viewer, self._prefix = viewer, prefix
        self._places, self._sparing = _Places(), Sparing(saved=SAVED)
        self._lock = threading.Lock()  # runs may play in several threads
        self._artists: dict[str, Any] = {}

    @abstractmethod
    def put(self, part: str, data: Any) -> None:
        """Show this from now on as that part of the page."""

    @property
    @abstractmethod
    def looked_at(self) -> bool:
        """Whether somebody has the page open."""

    # Hooks

    @hookimpl
    def palestra_episode_started(self, episode: Episode, agents: tuple[str, ...]) -> None:
        with self._lock:
            board = self._take_place()
            if board is None:
                return
            self._places.playing[id(episode)] = board
            board.episode, board.agents, board.over = episode, agents, False
            board.number += 1
            if board.number == 1:
                self._draw(board)  # a new place is shown at once, whatever it takes
            else:
                self._changed(board)

    @hookimpl
    def palestra_stepped(self, episode: Episode) -> None:
        board = self._places.playing.get(id(episode))
        if board is None:
            return
        with self._lock:
            self._changed(board)

    @hookimpl
    def palestra_episode_finished(self, episode: Episode) -> None:
        with self._lock:
            board = self._places.playing.pop(id(episode), None)
            if board is not None:
                board.over = board.stale = True
                self._places.free.append(board)
                self._changed(board)

    def show_lanes(self, batch: Any, env: str) -> None:
        """Draw the first lanes of a batch of array games, if it is time to."""
        if not self._is_due():
            return
        episode = Episode(batch.game, 0, compiled=False)
        for number, state in enumerate(batch.lanes["timestep"]["state"][:LANES]):
            episode.load(state.copy())
            told = {"env": env, "seats": [], "picture": self._picture(episode, env)}
            self.put(f"board {self._prefix}lane {number}", told)
        self._sparing.done()

    def draw_all(self) -> None:
        """Draw what has changed since it was drawn, whatever it takes."""
        with self._lock:
            for board in self._places.all:
                if board.stale:
                    self._draw(board)

    # Drawing

    def _take_place(self) -> Board | None:
        """The place whose game ended last, or a new one, or None where all are taken."""
        places = self._places
        if places.free:
            return places.free.pop()
        if len(places.all) == MOST:
            return None
        places.all.append(Board(f"{self._prefix}{len(places.all)}"))
        return places.all[-1]

    def _is_due(self) -> bool:
        self._sparing.share = SHARE if self.looked_at else SHARE * UNSEEN
        return self._sparing.due()

    def _changed(self, board: Board) -> None:
        """Draw the board if it is time to; else remember that its picture is old."""
        board.stale = True
        if self._is_due():
            self._draw(board)
            self._sparing.done()

    def _draw(self, board: Board) -> None:
        """Put the board's picture on the page; what goes wrong must not end the game."""
        board.stale = False
        if board.episode is None:
            return
        try:
            self.put(f"board {board.name}", self._data(board, board.episode))
        except Exception as error:
            log.exception("board %s is not shown: %s", board.name, cause(error))

    def _data(self, board: Board, episode: Episode) -> dict[str, Any]:
        """What the page shows of a board."""
        env = episode.spec.id if episode.spec else type(episode.game).__name__
        return {
            "env": env,
            "game": board.number,
            "step": episode.steps_played,
            "over": board.over,
            "seats": [self._seat(board, episode, seat) for seat in range(len(episode.players))],
            "picture": self._picture(episode, env),
            "ending": ending_text(episode),
        }

    def _seat(self, board: Board, episode: Episode, seat: int) -> dict[str, Any]:
        """A seat as far as the page may tell: whose turn it is and what was paid can be secrets."""
        agent = board.agents[seat] if seat < len(board.agents) else ""
        told: dict[str, Any] = {"player": episode.players[seat], "agent": agent}
        open_to_all = self._viewer in ("all", seat) or episode.game.perfect_information
        if open_to_all or episode.over:
            told["acting"] = seat in episode.to_act
            told["returns"] = float(episode.returns[seat])
        if episode.over and episode.outcome is not None:
            told["result"] = episode.outcome.results[seat]
        return told

    def _picture(self, episode: Episode, env: str) -> Any:
        if env not in self._artists:
            self._artists[env] = drawing(episode.spec)
        artist = self._artists[env]
        if artist is None:
            return None
        try:
            if self._viewer == "public":
                return artist.draw_public(episode)
            return artist.draw(episode, None if self._viewer == "all" else self._viewer)
        except Exception as error:  # a run goes on without its picture
            log.exception("%s has no picture: %s", env, cause(error))
            return None
