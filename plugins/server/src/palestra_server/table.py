"""What people on a page see and say beyond a client's views: pictures, the table, forms.

Pictures come from the renderer of mode "marks", if one is installed; without it a page shows words.
"""

from __future__ import annotations

import logging
from typing import Any

from palestra import InvalidOption
from palestra.endings import ending_text
from palestra.kernel.actions import Grammar, Integer, OneOf, Option, Text
from palestra.kernel.errors import PalestraError, cause
from palestra.kernel.registry import renderer
from palestra.kernel.specs import EnvSpec

from palestra_server.calling import callings
from palestra_server.match import Match, seen_event
from palestra_server.messages import SeatView, Table, TableSeat

log = logging.getLogger("palestra.server")
WATCHER = -1  # the seat of a view for a spectator
WIDEST = 1_000  # most values of a form's choice


def drawing(spec: EnvSpec | None) -> Any:
    """The renderer of mode "marks" for an environment; None if there is none."""
    try:
        return renderer(spec, "marks")()
    except PalestraError:
        return None


def picture(match: Match, seat: int) -> Any:
    """One seat's picture, or for `WATCHER` what every seat may see; None if there is none."""
    artist = drawing(match.spec)
    if artist is None:
        return None
    try:
        if seat == WATCHER:
            return artist.draw_public(match.episode, callings(match))
        return artist.draw(match.episode, seat, callings(match))
    except (Exception, SystemExit) as error:  # a match goes on without its picture
        log.exception("match=%s has no picture: %s", match.name, cause(error))
        return None


def people_view(match: Match, view: SeatView, show: tuple[str, ...]) -> SeatView:
    """A seat's view with the parts that pages ask for."""
    if "picture" in show:
        view.picture = picture(match, view.seat)
    if "table" in show:
        view.table = table(match, view.seat)
    if view.your_turn and "forms" in show:
        view.forms = forms(match.episode.legal(view.seat))
    return view


def watching_view(match: Match, since: int, show: tuple[str, ...]) -> SeatView:
    """What every seat may know, for a spectator."""
    episode = match.episode
    public = [event for event in episode.events if event.audience is None]
    view = SeatView(
        match=match.name,
        seat=WATCHER,
        player="",
        status=match.status,
        turn=episode.steps_played,
        cursor=len(public),
        events=[seen_event(event) for event in public[max(0, since) :]],
        left=match.leaving.known_to(WATCHER, turns=match.shows_turns(WATCHER)),
    )
    if episode.outcome is not None:
        view.truncated, view.reason = episode.truncated, episode.outcome.reason
        view.ending = ending_text(episode)
    return people_view(match, view, show)


def table(match: Match, viewer: int) -> Table:
    """The environment and who sits where, as far as the viewer may know."""
    seats = [_seat(match, seat, viewer) for seat in range(match.game.num_players)]
    called = callings(match)
    for seat in seats:
        seat.called = called.get(seat.player, "")
    summary = "" if match.spec is None else match.spec.summary
    return Table(match.plan.env, seats, summary, match.plan.seeded)


def _seat(match: Match, seat: int, viewer: int) -> TableSeat:
    outcome = match.episode.outcome
    open_to_all = match.shows_turns(viewer)
    shown = TableSeat(
        player=match.game.players[seat],
        name="" if seat in match.free else match.called(seat),
        open=seat in match.open_seats,
        free=seat in match.free,
    )
    away = match.leaving.away.get(seat)
    if away in match.leaving.known_to(viewer, turns=open_to_all):
        shown.away = away.why
    if open_to_all or seat == viewer:  # whose turn it is can betray a role
        shown.acting = match.awaits(seat)
        shown.returns = match.leaving.returns(seat)
    if outcome is not None:
        shown.result, shown.score = match.leaving.result(seat, outcome)
    return shown


def forms(legal: Any) -> list[dict[str, Any]] | None:
    """The fields of each typed action that is legal now; None where moves are not typed actions."""
    return [_form(option) for option in legal] if isinstance(legal, Grammar) else None


def _form(option: Option) -> dict[str, Any]:
    fields = [{"name": name, **_field(domain)} for name, domain in option.fields.items()]
    return {"name": option.name, "fields": fields}


def _field(domain: Any) -> dict[str, Any]:
    if isinstance(domain, Integer):
        return {"kind": "number", "low": domain.low, "high": domain.high}
    if isinstance(domain, OneOf):
        values = domain.values[:WIDEST]
        return {"kind": "choice", "values": [[repr(value), str(value)] for value in values]}
    limit = domain.limit if isinstance(domain, Text) else 0
    return {"kind": "text", "limit": limit}


def meant(match: Match, seat: int, typed: str) -> str:
    """The legal move that a typed text means; raises `InvalidAction` and says why."""
    turn = match.turn(seat)
    artist = drawing(match.spec)
    if artist is not None:
        return str(artist.read_move(turn, typed))
    if not typed.strip():
        raise InvalidOption(f"type a move: {turn.legal_text[:400]}")
    turn.parse(typed)
    return typed
