"""Records as one self-contained page: timeline, board, transcripts, rewards and turns."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup
from palestra import Episode, EpisodeRecord, Scene, renderer, retrace
from palestra.files import write_text
from palestra.html import render_page
from palestra.records.record import StepRecord

from palestra_renderers.palette import seat_colour
from palestra_renderers.plain import clean, ending, shown_return, widget_line

Progress = Callable[[int, int], None]
TEXT_LIMIT = 2_000


def page_data(record: EpisodeRecord, viewer: int | None = None) -> dict[str, Any]:
    """The page's data for one record; for a seat, only what that seat may know."""
    frames, shown, seats = [], 0, range(len(record.players))
    for number, episode in enumerate(retrace(record)):
        events = new_events(episode, viewer, shown)
        frames.append(
            {
                "scene": scene_data(episode.scene(viewer)),
                "events": events,
                "returns": [_rounded(shown_return(episode, s, viewer)) for s in seats],
                "acting": list(episode.to_act),
                "turns": turn_data(record, number - 1, viewer, episode),
                "end": ending(episode),
            }
        )
        shown = len(episode.events) if viewer is None else episode.cursor(viewer)
    return {
        "env": record.env,
        "seed": record.seed if viewer is None else None,  # whoever knows it can deal again
        "players": list(record.players),
        "agents": [clean(agent, 80) for agent in record.agents],
        "colours": ["#{:02x}{:02x}{:02x}".format(*seat_colour(s)) for s in range(-1, 8)],
        "viewer": None if viewer is None else record.players[viewer],
        "frames": frames,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def new_events(episode: Episode, viewer: int | None, since: int) -> list[list[Any]]:
    """Text and audience (None: everybody) of the events the viewer may know from `since` on."""
    if viewer is not None:
        return [[clean(event.text, TEXT_LIMIT), None] for event in episode.news(viewer, since)]
    return [
        [clean(event.text, TEXT_LIMIT), None if event.audience is None else sorted(event.audience)]
        for event in episode.events[since:]
    ]


def turn_data(
    record: EpisodeRecord, number: int, viewer: int | None, episode: Episode
) -> list[dict[str, Any]]:
    """One step: the actions, the rewards, and the resources used."""
    if number < 0:
        return []
    step = record.steps[number]
    private = any(e.audience is not None and viewer not in e.audience for e in step.events)
    open_to_all = episode.game.perfect_information and not private
    rows = []
    for turn in step.turns:
        own = viewer in (None, turn.seat)
        shown = own or open_to_all  # otherwise the events tell what they may know
        rows.append(
            {
                "player": turn.seat,
                "text": clean(turn.text, TEXT_LIMIT) if shown else "(not shown to this seat)",
                "status": turn.status,
                "rewards": step.rewards.get(turn.seat, {}) if own else {},
                "tokens": turn.spent.tokens if own else 0,
                "cost": turn.spent.cost if own else 0,
            }
        )
    return rows + paid_without_acting(step, viewer)


def paid_without_acting(step: StepRecord, viewer: int | None) -> list[dict[str, Any]]:
    """Rewards of seats that made no decision in a step, in the form of decisions."""
    acting = {turn.seat for turn in step.turns}
    nothing = {"text": "", "status": "", "tokens": 0, "cost": 0}
    return [
        {**nothing, "player": seat, "rewards": terms}
        for seat, terms in sorted(step.rewards.items())
        if terms and seat not in acting and viewer in (None, seat)
    ]


def scene_data(scene: Scene) -> dict[str, Any]:
    """A scene as JSON."""
    data: dict[str, Any] = {
        "caption": clean(scene.caption),
        "hands": [
            [clean(owner), [[clean(c.glyph), c.colour] for c in cards]]
            for owner, cards in scene.hands
        ],
        "bars": [[clean(b.label), b.value, b.full, b.colour] for b in scene.bars],
        "lines": [
            *(clean(line, TEXT_LIMIT) for text in scene.lines for line in text.splitlines()),
            *map(widget_line, scene.widgets),
        ],
    }
    if scene.grid is not None:
        data["grid"] = {
            "cells": [
                [p and [clean(p.glyph), p.colour, p.shape, clean(p.label)] for p in row]
                for row in scene.grid.cells
            ],
            "columns": [clean(label) for label in scene.grid.column_labels],
            "rows": [clean(label) for label in scene.grid.row_labels],
            "shaded": sorted(scene.grid.shaded),
            "highlighted": sorted(scene.grid.highlighted),
            "checkered": scene.grid.checkered,
        }
    return data


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
    return write_text(path, _page(episodes))


def _page(episodes: list[dict[str, Any]]) -> str:
    """The page; its security policy names the hash of its script, so a browser runs no other."""
    data = json.dumps(episodes, separators=(",", ":")).replace("<", "\\u003c")
    script = f'\n"use strict";\nconst EPISODES = {data};\n{_asset("replay.js")}\n'
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return render_page(
        "palestra_renderers",
        "replay.html",
        style=Markup(_asset("replay.css")),
        script=Markup(script),
        script_hash=Markup(f"sha256-{digest}"),
    )


def _asset(name: str) -> str:
    return files("palestra_renderers").joinpath(name).read_text("utf-8")
