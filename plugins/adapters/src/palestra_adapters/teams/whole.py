"""Agents that think once for a whole team: its waiting seats, and one order for each member."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from palestra import Decision, Turn

from palestra_adapters.adapter import Adapter
from palestra_adapters.thinking import Thinking, Thread, think_together

ORDER = re.compile(r"^[^\w\n]*+([\w ]++):[^\S\n]*+(.+)", re.MULTILINE)
Teams = Mapping[int, Sequence[Turn]]  # the waiting turns of each episode


class WholeTeam(Adapter):
    """Play all seats of a team with one such agent, so that it sees them together."""

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)  # type: ignore[arg-type]
        self._episodes: dict[int, int] = {}  # the episode of each key passed to `forget`

    def episode_of(self, turn: Turn) -> int:
        """The episode's number, which all its seats share; it is kept for `ended`."""
        self._episodes[turn.episode_key] = turn.episode_id
        return turn.episode_id

    def ended(self, episode_key: int) -> int | None:
        """The episode that a key of `forget` belongs to; None if no seat of it was played."""
        return self._episodes.pop(episode_key, None)

    def teams(self, turns: Sequence[Turn]) -> dict[int, list[Turn]]:
        """Waiting turns by their episode."""
        found: dict[int, list[Turn]] = {}
        for turn in turns:
            found.setdefault(self.episode_of(turn), []).append(turn)
        return found

    def think_for(
        self, teams: Teams, think: Callable[[Sequence[Turn]], Thinking[Decision]]
    ) -> dict[int, Decision]:
        """What `think` makes of every team, with all questions asked together, by episode."""
        threads = [
            Thread(self.drawing(team[0].rng(self._seed, 0), think(team)), team[0].account)
            for team in teams.values()
        ]
        return dict(zip(teams, think_together(self.models, threads), strict=True))


def names_of(team: Sequence[Turn]) -> list[str]:
    """The players that the turns are of."""
    return [turn.game.players[turn.seat] for turn in team]


def example_order(team: Sequence[Turn]) -> str:
    """An order of the first member, as it is to be written."""
    move = (team[0].legal_texts or ["its action"])[0]
    return f"{names_of(team)[0]}: {move}"


def read_orders(text: str, names: Sequence[str]) -> dict[str, str]:
    """The orders of a reply by member; the last line for a member counts."""
    known = {name.lower(): name for name in names}
    found = ORDER.findall(text)
    orders = ((name.rstrip().lower(), order.rstrip()) for name, order in found)
    return {known[name]: order for name, order in orders if name in known}
