"""Routes that players of the collaboration maze agree on in free dialogue, and their readers.

`read_route` reads two typed acts, each on a line of its own among the words: "Propose: north, east"
proposes steps, and "Agree" agrees to the standing proposal. It is agreed on once everybody has
proposed the same or agreed; another proposal replaces it. No other word has an effect. The study
has a language model read the dialogue instead: `ModelGrader`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from palestra import EpisodeRecord, replay
from palestra.agents.models import Message, Model, Request

Cell = tuple[int, int]  # row and column, from 0
WAYS = {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1)}
MOVES = tuple(WAYS)
Said = tuple[int, str]  # a seat, and what it said

_PROPOSED = re.compile(r"[ \t]*propose[ \t]*:(.*)", re.IGNORECASE)
_AGREED = re.compile(r"\s*agree\.?\s*", re.IGNORECASE)


def beside(cell: Cell, move: str) -> Cell:
    """The next cell in a direction."""
    south, east = WAYS[move]
    return cell[0] + south, cell[1] + east


@dataclass(slots=True)
class Talk:
    """How far a dialogue has come."""

    here: Cell  # where the agreed steps lead, walls left aside
    route: list[str] = field(default_factory=list)  # the steps that all have agreed on
    standing: list[str] = field(default_factory=list)  # steps that some have agreed on
    backers: set[int] = field(default_factory=set)  # their seats


def follow(dialogue: Sequence[Said], start: Cell, seats: int) -> Talk:
    """Read the acts in a dialogue of so many seats; the marker stands on `start` before it."""
    talk = Talk(start)
    for seat, text in dialogue:
        for line in text.splitlines():
            proposed = steps_in(line)
            if proposed and proposed != talk.standing:
                talk.standing, talk.backers = proposed, {seat}
            elif proposed or (talk.standing and _AGREED.fullmatch(line)):
                talk.backers.add(seat)
            if len(talk.backers) == seats:
                for move in talk.standing:
                    talk.here = beside(talk.here, move)
                talk.route += talk.standing
                talk.standing, talk.backers = [], set()
    return talk


def read_route(dialogue: Sequence[Said], start: Cell, seats: int) -> list[str]:
    """The steps that all have agreed on, in order."""
    return follow(dialogue, start, seats).route


def steps_in(line: str) -> list[str]:
    """The steps that a line proposes; none if it is no proposal or cannot be read."""
    found = _PROPOSED.fullmatch(line)
    steps = [step.strip(" \t.").lower() for step in found[1].split(",")] if found else []
    return steps if all(step in WAYS for step in steps) else []


def unread_proposal(text: str) -> str:
    """The first line of a message that begins as a proposal and names no steps; empty if none."""
    lines = text.splitlines()
    return next((line for line in lines if _PROPOSED.fullmatch(line) and not steps_in(line)), "")


# Reading by a language model

Reader = Callable[[str], Sequence[str]]

ASK = (
    "Two or more players talked about how to lead a marker through a maze. Rows are counted from 1 "
    "in the north, columns from 1 in the west. {start} Read off the route that all of them agreed "
    "on, in order, up to where they agreed no further. Answer with one line of steps separated by "
    "commas, each north, south, west or east, or with the word none.\n\n{dialogue}"
)


@dataclass(frozen=True)
class ModelGrader:
    """Asks a language model which route a dialogue agreed on, as the study does."""

    model: Model

    def __call__(self, question: str) -> Sequence[str]:
        (reply,) = self.model.chat([Request((Message("user", question),))])
        lines = [line for line in reply.text.strip().splitlines() if line.strip()]
        last = lines[-1].lower() if lines else ""
        return [word for word in re.findall(r"[a-z]+", last) if word in WAYS]


def question_about(record: EpisodeRecord) -> str:
    """What a grader is asked about the record of a dialogue."""
    start = next(event.text for event in record.events if event.kind == "start")
    dialogue = "\n".join(event.text for event in record.events if event.kind == "message")
    return ASK.format(start=start, dialogue=dialogue)


def grade_route(record: EpisodeRecord, read: Reader) -> float:
    """The share of the shortest way that the route read off a record's dialogue covers, 0 to 1.

    read: a grader, such as `ModelGrader(model)`; it gets a question and returns steps.
    """
    episode = replay(record)
    game: Any = episode.game
    state = game.clone(episode.state)
    state.marker, state.trail = state.start, (state.start,)
    return float(game.progress(game.walked(state, read(question_about(record)))))


def gap(records: Sequence[EpisodeRecord]) -> float:
    """The collaboration gap: the mean score of one player alone less that of several together."""
    scores: dict[bool, list[float]] = {True: [], False: []}
    for record in records:
        scores[len(record.players) == 1].append(float(record.returns[0]))
    if not (scores[True] and scores[False]):
        raise ValueError(
            "gap needs records of one player alone and of several together, not "
            f"{len(scores[True])} and {len(scores[False])}; play with num_players=1 and with "
            "num_players=2"
        )
    alone, together = (sum(scores[one]) / len(scores[one]) for one in (True, False))
    return alone - together
