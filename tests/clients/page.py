"""Running what docs/clients.md or another page shows, and our own record of what was played."""

from __future__ import annotations

import re
import runpy
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest import mock

from palestra.kernel.episode import Episode

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"


@dataclass
class Ledger:
    """What all episodes of this process were asked to play and paid."""

    moves: int = 0
    illegal_turns: list[int] = field(default_factory=list)  # when an illegal move was asked for
    paid: float = 0.0  # to all seats together
    games: set[str] = field(default_factory=set)

    @property
    def illegal(self) -> int:
        return len(self.illegal_turns)


def run(
    client: str, page: Path = PAGE, replaced: Mapping[str, str] = MappingProxyType({})
) -> tuple[dict[str, Any], Ledger]:
    """Run the Python under a heading of the page as a file; its names, and what was played.

    replaced: what stands for parts of it, such as a model that is not to be downloaded.
    """
    code = block(client, page, replaced)
    with keep_ledger() as ledger, tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "as_read.py"
        script.write_text(code, "utf-8")
        names = runpy.run_path(str(script), run_name="__main__")
    return names, ledger


def block(
    client: str, page: Path = PAGE, replaced: Mapping[str, str] = MappingProxyType({})
) -> str:
    """The Python under a heading of the page."""
    section = re.split(r"^## ", page.read_text("utf-8"), flags=re.MULTILINE)
    (text,) = [part for part in section if part.startswith(f"{client}\n")]
    (code,) = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    for part, other in replaced.items():
        assert part in code, f"the section {client!r} of {page.name} has no {part!r}"
        code = code.replace(part, other)
    return str(code)


@contextmanager
def keep_ledger() -> Iterator[Ledger]:
    """Watch every episode that is played one by one (a batch keeps its own record)."""
    ledger = Ledger()
    act, play_through = Episode.act, Episode.play_through

    def watched(episode: Episode, actions: Mapping[int, Any], notes: Any = None) -> None:
        game = episode.game
        for seat, action in actions.items():
            ledger.moves += 1
            index = game.index_of(action)
            if index is None or not game.action_mask(episode.state, seat)[index]:
                ledger.illegal_turns.append(episode.steps_played)
        act(episode, actions, notes)
        ledger.paid += sum(episode.rewards)
        ledger.games.add(type(game).__name__)

    def watched_through(episode: Episode, play: Any) -> bool:
        """What was played inside the rules is played again, step by step, on a fork."""
        before = episode.fork()
        if not play_through(episode, play):
            return False
        for played in list(episode.history())[before.steps_played :]:
            watched(before, played.actions)
        assert before.returns == episode.returns
        return True

    with (
        mock.patch.object(Episode, "act", watched),
        mock.patch.object(Episode, "play_through", watched_through),
    ):
        yield ledger
