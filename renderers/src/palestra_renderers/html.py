"""Records as one self-contained page: timeline, board, minds, transcripts, rewards and turns."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup
from palestra import Episode, EpisodeRecord, Event, Grid, Piece, Scene, renderer, retrace
from palestra.files import write_text
from palestra.html import render_page
from palestra.records.record import StepRecord, TurnRecord

from palestra_renderers.changes import Follower
from palestra_renderers.minds import Minds
from palestra_renderers.plain import clean, clean_lines, ending, shown_return
from palestra_renderers.svg import MarkTable, theme_css
from palestra_renderers.texts import TextTable
from palestra_renderers.theme import paint_of
from palestra_renderers.words import scene_lines

Progress = Callable[[int, int], None]
TEXT_LIMIT = 2_000
LABELS = 40  # of pieces on boards, for those readers
WORDS_LIMIT = 4_000  # of a picture in words, for readers who do not see it
SCRIPTS = ("marks.js", "picture.js", "minds.js", "rewards.js", "turns.js", "replay.js")


def page_data(record: EpisodeRecord, viewer: int | None = None) -> dict[str, Any]:
    """The page's data for one record; for a seat, only what that seat may know."""
    table, texts, follower = MarkTable(), TextTable(), Follower()
    minds = Minds(record, viewer, texts)
    frames: list[dict[str, Any]] = []
    shown, thoughts = 0, dict[int, dict[str, Any]]()
    for number, episode in enumerate(retrace(record)):
        events = new_events(episode, viewer, shown)
        picture = table.picture(follower.scene(episode, viewer))
        frame = frame_data(episode, viewer, picture, texts)
        turns = turn_data(record, number - 1, viewer, episode)
        for row in turns:
            if row["status"] != PAID and row["player"] in thoughts:
                row["mind"] = thoughts[row["player"]]
        frames.append(frame | {"events": events, "turns": turns})
        shown = len(episode.events) if viewer is None else episode.cursor(viewer)
        if number < len(record.steps):
            thoughts = minds.read(episode, record.steps[number])
    colour_of = episode.scene(viewer).colour_of
    return {
        **heading(record, viewer),
        "paints": [paint_of(colour_of(seat)) for seat in range(len(record.players))],
        "marks": table.marks,
        "sprites": table.sprites,
        "texts": texts.lines,
        "frames": frames,
    }


def heading(record: EpisodeRecord, viewer: int | None) -> dict[str, Any]:
    """What an episode is called on the page."""
    return {
        "env": record.env,
        "seed": record.seed if viewer is None else None,  # whoever knows it can deal again
        "players": list(record.players),
        "agents": [clean(agent, 80) for agent in record.agents],
        "viewer": None if viewer is None else record.players[viewer],
    }


def frame_data(
    episode: Episode, viewer: int | None, picture: dict[str, Any], texts: TextTable
) -> dict[str, Any]:
    """The picture after a step, in marks and in words, the returns and who is to act."""
    scene, seats = episode.scene(viewer), range(len(episode.players))
    picture.pop("places", None)  # where to click: nobody plays on this page
    return {
        "picture": picture,
        "words": texts.text(
            "\n".join(scene_lines(scene) + labels(scene, episode.players))[:WORDS_LIMIT]
        ),
        "returns": [_round_number(shown_return(episode, s, viewer)) for s in seats],
        "acting": list(episode.to_act),
        "end": ending(episode),
    }


def labels(scene: Scene, players: Sequence[str]) -> list[str]:
    """What lies on each cell of a scene's boards in words, for readers who do not see them."""
    found = []
    for board in scene.all_parts():
        if not isinstance(board, Grid):
            continue
        for row, pieces in enumerate(board.cells):
            for column, piece in enumerate(pieces):
                what = "" if piece is None else piece_words(piece, players)
                if what:
                    cell = board.name(row, column) or f"row {row + 1}, column {column + 1}"
                    found.append(f"{clean(cell)}: {clean(what)}")
    return found[:LABELS]


def piece_words(piece: Piece, players: Sequence[str]) -> str:
    """A piece in words; empty if the picture in words says it in full."""
    if piece.under:
        return ", ".join(filter(None, (piece_words(one, players) for one in piece.stack())))
    if piece.shape == "word":
        return ""
    seat = piece.colour if isinstance(piece.colour, int) else -1
    owner = f"{piece.glyph} of {players[seat]}" if 0 <= seat < len(players) else ""
    return piece.label or owner


def _round_number(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _event_text(event: Event) -> str:
    return "\n".join(clean_lines([event.text], TEXT_LIMIT))


def new_events(episode: Episode, viewer: int | None, since: int) -> list[list[Any]]:
    """Text and audience (None: everybody) of the events the viewer may know from `since` on."""
    if viewer is not None:
        return [[_event_text(event), None] for event in episode.news(viewer, since)]
    return [
        [_event_text(event), None if event.audience is None else sorted(event.audience)]
        for event in episode.events[since:]
    ]


PAID = "paid"  # the status of a row of rewards without a decision


def turn_data(
    record: EpisodeRecord, number: int, viewer: int | None, episode: Episode
) -> list[dict[str, Any]]:
    """One step: the actions, the rewards, and the resources used."""
    if number < 0:
        return []
    step = record.steps[number]
    private = any(e.audience is not None and viewer not in e.audience for e in step.events)
    open_to_all = episode.game.perfect_information and not private
    rows = [row_data(step, turn, viewer, open_to_all) for turn in step.turns]
    return rows + paid_without_acting(step, viewer)


def row_data(
    step: StepRecord, turn: TurnRecord, viewer: int | None, open_to_all: bool
) -> dict[str, Any]:
    """One decision; of another seat's, what a viewer learns from the game alone."""
    own = viewer in (None, turn.seat)
    if not own:  # otherwise the events tell what they may know
        return {
            "player": turn.seat,
            "text": clean(turn.text, TEXT_LIMIT) if open_to_all else "(not shown to this seat)",
            "status": turn.status if turn.status == "forfeit" else "",
            "rewards": {},
        }
    spent = turn.spent
    row = {
        "player": turn.seat,
        "text": clean(turn.text, TEXT_LIMIT),
        "status": turn.status,
        "rewards": step.rewards.get(turn.seat, {}),
    }
    row |= {"tokens": spent.tokens} if spent.tokens else {}
    row |= {"cost": spent.cost} if spent.cost else {}
    return row | ({"seconds": round(spent.seconds, 3)} if spent.seconds >= 0.001 else {})


def paid_without_acting(step: StepRecord, viewer: int | None) -> list[dict[str, Any]]:
    """Rewards of seats that made no decision in a step, in the form of decisions."""
    acting = {turn.seat for turn in step.turns}
    return [
        {"text": "", "status": PAID, "player": seat, "rewards": terms}
        for seat, terms in sorted(step.rewards.items())
        if terms and seat not in acting and viewer in (None, seat)
    ]


@renderer("html", families=("*",))
def export(
    records: Sequence[EpisodeRecord],
    path: Path,
    viewer: int | None = None,
    progress: Progress | None = None,
) -> Path:
    """Mode "html": write the records as one page that needs no network."""
    episodes = []
    for number, record in enumerate(records):
        episodes.append(page_data(record, viewer))
        if progress:
            progress(number + 1, len(records))
    return write_text(path, page(episodes))


def page(episodes: Sequence[dict[str, Any]]) -> str:
    """The page of these episodes.

    Its security policy names the hash of its script, so a browser runs no other. Episodes are
    blocks of data beside it, which a browser never runs and which are parsed when they are opened.
    """
    script = '\n"use strict";\n' + "".join(map(_asset, SCRIPTS))
    digest = b64encode(sha256(script.encode()).digest()).decode()
    names = [{n: e[n] for n in ("env", "agents", "seed")} for e in episodes]
    return render_page(
        "palestra_renderers",
        "replay.html",
        style=Markup(theme_css() + _asset("replay.css")),
        script=Markup(script),
        script_hash=Markup(f"sha256-{digest}"),
        data=[Markup(_block(block)) for block in (names, *episodes)],
    )


def _block(data: Any) -> str:
    """Data as JSON in ASCII, in which no tag can begin or end."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _asset(name: str) -> str:
    return files("palestra_renderers").joinpath(name).read_text("utf-8")
