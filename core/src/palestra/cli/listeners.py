"""The listeners of `palestra play`: the picture, the progress bar and the narration."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.progress import Progress, TextColumn

from palestra.agents.agent import Decision, Turn
from palestra.agents.budget import Usage
from palestra.kernel.episode import Episode
from palestra.kernel.errors import PalestraError, cause
from palestra.kernel.hooks import hookimpl
from palestra.quoting import printable
from palestra.records.answers import AnswerCounts, counts_of
from palestra.records.metrics import Measures, measure
from palestra.records.record import EpisodeRecord
from palestra.runner.faults import is_stop


class Watcher:
    """Draws an episode at its start and after every step; a renderer's error never ends it.

    An artist with an attribute `pause` is given the seconds between steps and waits by itself; for
    one with a method `stay`, this is called at the end to keep the last picture on screen.
    """

    def __init__(self, artist: Any, pause: float, viewer: int | None = None) -> None:
        self._artist, self._pause, self._viewer = artist, pause, viewer
        if hasattr(artist, "pause"):
            artist.pause, self._pause = pause, 0.0
        self._drawn = -1

    @hookimpl
    def palestra_episode_started(self, episode: Episode, agents: tuple[str, ...]) -> None:
        self._artist.names = agents
        self.draw(episode)

    @hookimpl
    def palestra_stepped(self, episode: Episode) -> None:
        self.draw(episode)

    @hookimpl
    def palestra_episode_finished(self, episode: Episode) -> None:
        if self._drawn != episode.steps_played:  # it ended without a step: a forfeit
            self.draw(episode)

    def draw(self, episode: Episode) -> None:
        self._drawn = episode.steps_played
        self._try(self._artist.draw, episode, self._viewer)
        if self._pause and not episode.over:
            time.sleep(self._pause)

    def close(self) -> None:
        if hasattr(self._artist, "stay"):
            self._try(self._artist.stay)
        self._try(self._artist.close)

    def _try(self, do: Callable[..., object], *arguments: Any) -> None:
        """Call `do`, and print why nothing was drawn if it raises."""
        try:
            do(*arguments)
        except PalestraError:
            raise
        except BaseException as error:
            if is_stop(error):
                raise
            typer.echo(printable(f"(not drawn: {cause(error)})"), err=True)


class Meter:
    """A progress bar with turns per second and tokens per second."""

    def __init__(self, console: Console, name: str, episodes: int, *, shown: bool) -> None:
        self._bar = Progress(
            *Progress.get_default_columns(),
            TextColumn("{task.fields[speed]}"),
            console=console,
            transient=True,
            disable=not shown,
        )
        self._task = self._bar.add_task(name, total=episodes, speed="")
        self._used, self._turns, self._started = Usage(), 0, time.monotonic()

    def __enter__(self) -> Meter:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    @hookimpl
    def palestra_action_chosen(self, decision: Decision) -> None:
        self._turns += 1
        if decision.usage.tokens:
            self._used += decision.usage
        if self._turns % 100 == 0:
            self._bar.update(self._task, speed=self._speed())

    @hookimpl
    def palestra_episode_finished(self) -> None:
        self._bar.update(self._task, advance=1, speed=self._speed())

    def _speed(self) -> str:
        seconds = max(1e-9, time.monotonic() - self._started)
        said = f"{self._turns / seconds:,.0f} turns/s"
        if self._used.tokens:
            said += f", {self._used.tokens / seconds:,.0f} tokens/s"
        return f"{said}, cost {self._used.cost:.4g}" if self._used.cost else said


class RunTally:
    """Sums over finished episodes, so that a long run need not keep their records."""

    def __init__(self, agents: Sequence[str]) -> None:
        self.agents = agents
        self.episodes = 0
        self.failed, self.cause = 0, ""
        self.first: EpisodeRecord | None = None
        self.returns = [0.0] * len(agents)
        self.answers = [AnswerCounts(episodes=0) for _ in agents]
        self.used = [Usage()] * len(agents)
        self.results: list[Counter[str]] = [Counter() for _ in agents]
        self.measures = Measures()

    def add(self, record: EpisodeRecord) -> None:
        """Count a finished episode; episodes that ended in an error are counted separately."""
        if record.error:
            self.failed += 1
            self.cause = self.cause or record.error.strip().splitlines()[-1]
            return
        self.episodes += 1
        self.first = self.first or record
        for seat, (paid, counts) in enumerate(zip(record.returns, counts_of(record), strict=True)):
            self.returns[seat] += paid
            self.answers[seat] += counts
            if record.outcome:
                self.results[seat][record.outcome.results[seat]] += 1
        for turn in record.turns:
            self.used[turn.seat] += turn.spent
        self.measures.add(measure(record))


class Narrator:
    """Prints the rules, every question and every answer in full, as a language model reads them.

    A model's text cannot move the cursor or change colours, and its lines are indented further than
    the narrator's own.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._instructed: set[tuple[int, int, int]] = set()  # who has read the rules

    @hookimpl
    def palestra_turn_ready(self, turn: Turn) -> None:
        title = f"-- {turn.env}, turn {turn.steps_played}, {turn.game.players[turn.seat]}"
        self._say(f"{title}{f': again, because {turn.error}' if turn.error else ''}")
        if turn.error:  # the question is the same
            return
        person = turn.episode_key, turn.seat, turn.life
        if person not in self._instructed:
            self._instructed.add(person)
            self._say(f"   rules: {turn.game.rules_for(turn.seat)}")
        self._say(f"   reads: {turn.text}")

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
        lines = printable(text).replace("\n", "\n   | ")
        self._console.print(lines, markup=False, highlight=False, soft_wrap=True)
