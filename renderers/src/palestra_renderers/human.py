"""A person as an agent: at the terminal, or in a window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Protocol

from palestra import Agent, Decision, InvalidAction, Meta, Turn, agent
from palestra.quoting import open_console
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from palestra_renderers.changes import Follower
from palestra_renderers.plain import broken, clean, verdict
from palestra_renderers.terminal import scene_texts
from palestra_renderers.typed_moves import help_lines, legal_line, read_move, refusal

Ask = Callable[[str], str]
HELP = ("?", "help", "rules", "hint")
EVENT_LIMIT = 2_000  # most characters shown of one event


class Seat(Protocol):
    """The interface of one person: a terminal or a window."""

    def ask(self, turn: Turn) -> str:
        """The chosen move, as the game writes it; raises KeyboardInterrupt if the person leaves."""

    def end(self, turn: Turn) -> None:
        """Show the outcome; `turn` was the last."""

    def close(self) -> None:
        """End: no further turn follows."""


@agent(
    "human",
    kind="human",
    summary="A person at the terminal, or in a window: human:window=true.",
)
class HumanAgent(Agent):
    """Asks a person for every move; explains an illegal one and asks again.

    With window=true the person clicks and types in a pygame window. Ctrl-D, Ctrl-C or closing the
    window raises KeyboardInterrupt, as interrupting a run does.
    """

    def __init__(
        self, window: Annotated[bool, Meta(description="whether to play in a window")] = False
    ) -> None:
        self._place: Seat = _window() if window else Terminal()
        self._last: dict[int, Turn] = {}

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        decisions = []
        for turn in turns:
            self._last[turn.episode_id] = turn
            decisions.append(Decision(text=self._place.ask(turn)))
        return decisions

    def forget(self, episode_key: int) -> None:
        last = self._last.pop(episode_key, None)
        if last is not None:
            self._place.end(last)

    def close(self) -> None:
        self._place.close()


def _window() -> Seat:
    from palestra_renderers.window_seat import WindowSeat

    return WindowSeat()


class Terminal:
    """A person who reads and types in a terminal."""

    def __init__(self, console: Console | None = None, ask: Ask = input) -> None:
        self._console = console or open_console(highlight=False)
        self._ask = ask
        self._follower = Follower()
        self._events_shown: dict[tuple[int, ...], int] = {}  # by episode, seat and person

    def ask(self, turn: Turn) -> str:
        self._show(turn)
        seat = turn.game.players[turn.seat]
        self._say(f"{seat}, you may play: {legal_line(turn)}")
        if turn.error:
            self._say(f"Not accepted: {turn.error}", "yellow")
        while True:
            typed = self._read(f"{seat}> ")
            if typed.lower() in HELP:
                for line in help_lines(turn):
                    self._say(line, "dim")
                continue
            try:
                return read_move(turn, typed)
            except InvalidAction as error:
                self._say(refusal(turn, typed, error), "yellow")
                self._say("Type ? for the rules and how to write a move.", "dim")

    def end(self, turn: Turn) -> None:
        self._show(turn)
        self._say(verdict(turn), "bold")
        self._events_shown = {
            key: n for key, n in self._events_shown.items() if key[0] != turn.episode_id
        }

    def close(self) -> None:
        """Do nothing: the terminal stays open."""

    def _read(self, prompt: str) -> str:
        """The next line that is not empty."""
        while True:
            try:
                line = self._ask(prompt).strip()
            except EOFError:
                self._say("")
                raise KeyboardInterrupt("the person left") from None
            if line:
                return line

    def _show(self, turn: Turn) -> None:
        """Print what is new to this seat, and the position."""
        key = (turn.episode_id, turn.seat, turn.life)
        events = turn.transcript
        self._console.print(Rule(f"{turn.env}, turn {turn.steps_played}", style="dim"))
        for event in events[self._events_shown.get(key, 0) :]:
            for line in event.text.splitlines():
                self._say(line, "dim", EVENT_LIMIT)
        self._events_shown[key] = len(events)
        for text in scene_texts(self._follower.scene_of_turn(turn)):
            board = "\n" in text.plain
            self._console.print(
                text,
                soft_wrap=board or self._unwrapped,
            )

    def _say(self, text: str, style: str = "", limit: int = 2 * EVENT_LIMIT) -> None:
        line = clean(text, limit)
        if not self._unwrapped:
            line = "\n".join(broken(line, self._console.width))
        self._console.print(Text(line, style=style), soft_wrap=self._unwrapped)

    @property
    def _unwrapped(self) -> bool:
        """Whether lines stay whole: on a terminal they are broken between words, to its width."""
        return not self._console.is_terminal
