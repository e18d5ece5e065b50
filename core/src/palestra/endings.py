"""How an episode ended, in words for people, and numbers as people write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from palestra.kernel.episode import Episode

NAMED = 4  # the most players who are named one by one
DIGITS = 4  # that a number keeps if it is not whole
SMALLEST = 8  # decimal places


@dataclass(frozen=True, slots=True)
class Forfeit:
    """The entry in the history for a seat that forfeited; `why` is one sentence."""

    why: str = "illegal move"


@dataclass(frozen=True, slots=True)
class Truncate:
    """The entry in the history for an episode that was truncated from outside."""

    why: str = "stopped"


def ended_by(players: Sequence[str], actions: Mapping[int, Any]) -> str:
    """The sentence of the event of a forfeit or a truncation; empty for a step of the rules."""
    first = next(iter(actions.values()))
    if isinstance(first, Forfeit):
        return f"{forfeit_text(players, {p: gone.why for p, gone in actions.items()})}."
    return f"{first.why}." if isinstance(first, Truncate) else ""


def number_text(value: float) -> str:
    """A number with thousands separators and without an exponent, such as "-15,840" or "0.3".

    A number that is not whole keeps four digits, at least one and at most eight of them decimals.
    """
    if not isfinite(value):
        return str(value)
    places = 0
    if value != round(value):
        places = min(SMALLEST, max(1, DIGITS - 1 - floor(log10(abs(value)))))
    text = f"{value:,.{places}f}"
    text = text.rstrip("0").rstrip(".") if places else text
    return "0" if text == "-0" else text


def ending_text(episode: Episode) -> str:
    """How an episode ended: who won or lost, and why; empty while it goes on.

    Every renderer and page shows these sentences, such as "player_1 wins. Checkmate."
    """
    outcome = episode.outcome if episode.over else None
    if outcome is None:
        return ""
    players, results = episode.players, outcome.results
    reason, said = outcome.reason, []
    if "forfeit" in results and " forfeits: " in reason:  # it says who, and why each of them
        said, reason = [reason.replace(" forfeits: forfeit", " forfeits")], ""
    elif "forfeit" in results:
        said = [_who(players, results, "forfeit")]
    if "win" in results or "loss" in results:
        said.append(_who(players, results, "win" if "win" in results else "loss"))
    elif set(results) == {"draw"}:
        said.append("A draw")
    if reason:
        said.append(reason)
    elif not said and episode.truncated:
        said.append(f"Time is up after {number_text(episode.steps_played)} steps")
    elif not said:
        shown = zip(players[:NAMED], outcome.scores, strict=False)
        scores = [f"{player} {number_text(score)}" for player, score in shown]
        said.append(f"The scores are {_list(scores, len(players))}")
    return " ".join(map(_sentence, said))


def forfeit_text(players: Sequence[str], lost: Mapping[int, str]) -> str:
    """Who forfeited, and why each of them, such as "player_1 forfeits: illegal move: 9"."""
    return "; ".join(f"{players[seat]} forfeits: {why}" for seat, why in lost.items())


def _sentence(text: str) -> str:
    """Words with a full stop and a capital, unless they begin with a name such as player_0."""
    first = text.split()[0]
    start = text[0] if "_" in first else text[0].upper()
    return start + text[1:] + ("" if text.endswith((".", "!", "?", "…")) else ".")


VERBS = {"win": ("wins", "win"), "loss": ("loses", "lose"), "forfeit": ("forfeits", "forfeit")}


def _who(players: Sequence[str], results: Sequence[str], result: str) -> str:
    """The players with a result, and its verb: "player_0 and player_2 win"."""
    found = [player for player, had in zip(players, results, strict=True) if had == result]
    return f"{_list(found[:NAMED], len(found))} {VERBS[result][len(found) > 1]}"


def _list(names: Sequence[str], count: int) -> str:
    """Names as in "a, b and c", with how many more there are."""
    rest = [f"{count - len(names)} more"] if count > len(names) else []
    *first, last = [*names, *rest] or [""]
    return f"{', '.join(first)} and {last}" if first else last
