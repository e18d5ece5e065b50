"""What `palestra play` hangs on the life-cycle hooks: the picture, the progress, the narration."""

from __future__ import annotations

import time
from typing import Any

import typer
from rich.console import Console
from rich.progress import Progress, TaskID

from palestra.agents import Decision, Turn
from palestra.episode import Episode
from palestra.errors import PalestraError
from palestra.hooks import hookimpl
from palestra.record import EpisodeRecord


class Watcher:
    """Draws an episode at its start and after every step; a broken picture never ends it."""

    def __init__(self, artist: Any, pause: float) -> None:
        self._artist, self._pause = artist, pause
        self._drawn = -1

    @hookimpl
    def palestra_episode_started(self, episode: Episode, agents: tuple[str, ...]) -> None:
        self._artist.names = agents
        self._draw(episode)

    @hookimpl
    def palestra_stepped(self, episode: Episode) -> None:
        self._draw(episode)

    @hookimpl
    def palestra_episode_finished(self, episode: Episode) -> None:
        if self._drawn != episode.turn:  # it ended without a step: a forfeit
            self._draw(episode)

    def _draw(self, episode: Episode) -> None:
        self._drawn = episode.turn
        try:
            self._artist.draw(episode, None)
        except PalestraError:
            raise
        except Exception as error:
            typer.echo(f"(not drawn: {type(error).__name__}: {error})", err=True)
        if self._pause and not episode.over:
            time.sleep(self._pause)


class Collector:
    """Keeps the records and moves the progress bar."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self.records: list[EpisodeRecord] = []
        self._progress, self._task = progress, task

    @hookimpl
    def palestra_episode_finished(self, record: EpisodeRecord) -> None:
        self.records.append(record)
        self._progress.advance(self._task)


class Narrator:
    """Prints who is asked what, and what he answered, in full: for reading language models."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @hookimpl
    def palestra_turn_ready(self, turn: Turn) -> None:
        title = f"-- {turn.env}, turn {turn.turn}, {turn.game.players[turn.player]}"
        self._say(f"{title}{f': again, because {turn.error}' if turn.error else ''}")

    @hookimpl
    def palestra_action_chosen(self, turn: Turn, decision: Decision) -> None:
        if decision.thought:
            self._say(f"   thinks: {decision.thought}")
        written = decision.text
        if written is None:
            written = turn.action_text(decision.action)
        took = decision.usage
        tokens = f", {took.tokens} tokens" if took.tokens else ""
        self._say(f"   answers: {written} ({took.seconds:.2f} s{tokens})")

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
