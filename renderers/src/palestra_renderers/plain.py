"""The seats, the events and the end in plain text, and untrusted text made safe to show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from palestra import Episode, Turn, printable
from palestra.endings import ending_text, number_text
from rich.cells import cell_len

LINE_LIMIT = 400


def clean(text: str, limit: int = LINE_LIMIT) -> str:
    """One line of text, with control characters and direction marks shown as `\\u{…}`.

    It is clipped to `limit` characters. A player's message may contain terminal escapes or a
    hundred thousand letters; it must not move the cursor, change colours or flood the screen.
    """
    if len(text) <= limit and text.isprintable():  # usually there is no such character
        return text
    shown = printable(text[: limit + 1]).replace("\n", "\\n")
    return shown if len(shown) <= limit else f"{shown[:limit]}…"


def clean_lines(texts: Iterable[str], limit: int = LINE_LIMIT) -> list[str]:
    """Every line of some texts, each as `clean` shows it."""
    return [clean(line, limit) for text in texts for line in text.split("\n")]


def broken(text: str, width: int) -> list[str]:
    """A line of text as lines of a terminal, broken between words.

    A word that is wider than a line, such as a long list of moves, is broken after its bars.
    """
    lines = [""]
    for word in re.findall(" *[^ ]+", text):
        for part in re.findall(r"[^|]*\||[^|]+", word) if cell_len(word) > width else [word]:
            if lines[-1] and cell_len(lines[-1]) + cell_len(part) > width:
                lines.append(part.lstrip())
            else:
                lines[-1] += part
    return lines


def shown_return(episode: Episode, seat: int, viewer: int | None) -> float | None:
    """A seat's return so far; None if `viewer` must not see it.

    Another seat's rewards may reveal its hidden information, so they are shown only at the end. The
    same holds for rewards from before a newcomer came.
    """
    if viewer is not None and episode.life(viewer) and not episode.over:
        return episode.paid(seat, episode.life(seat)) if seat == viewer else None
    open_to_all = viewer in (None, seat) or episode.over or episode.game.perfect_information
    return float(episode.returns[seat]) if open_to_all else None


def seat_title(episode: Episode, seat: int, names: Sequence[str], viewer: int | None) -> str:
    """Player, agent, and the seat's return so far."""
    name = f" {clean(names[seat], 40)}" if seat < len(names) else ""
    paid = shown_return(episode, seat, viewer)
    return f"{episode.players[seat]}{name}{'' if paid is None else f': {number_text(paid)}'}"


def status_lines(
    episode: Episode, names: Sequence[str] = (), viewer: int | None = None
) -> list[str]:
    """The seats, their returns so far, and whose turn it is."""
    return [
        f"{'>' if seat in episode.to_act else ' '} {seat_title(episode, seat, names, viewer)}"
        for seat in range(len(episode.players))
    ]


VERDICTS = {"win": "You win", "loss": "You lose", "draw": "A draw", "forfeit": "You forfeited"}


def verdict(turn: Turn) -> str:
    """How the episode ended for the person whose last turn this was, and for all."""
    own = VERDICTS.get(turn.result, "It is over")
    return f"{own}, with {number_text(turn.returns)}. {clean(turn.ending)}".rstrip()


def ending(episode: Episode) -> str:
    """How the episode ended, in one line; empty while it goes on."""
    return clean(ending_text(episode))


def event_lines(episode: Episode, viewer: int | None, limit: int = LINE_LIMIT) -> list[str]:
    """The lines of every event the viewer may know; a spectator also sees who private ones are for.

    An event that a game tells in several lines stays so; what a player says is on one (`quote`).
    """
    if viewer is not None:
        return clean_lines((event.text for event in episode.transcript(viewer)), limit)
    lines = []
    for event in episode.events:
        names = [episode.players[seat] for seat in sorted(event.audience or ())]
        to = f"(to {', '.join(names)}) " if names else ""
        lines += clean_lines([f"{to}{event.text}"], limit)
    return lines
