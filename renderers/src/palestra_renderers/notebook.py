"""An episode as the value of a notebook's cell: its picture, its seats and what has happened."""

from __future__ import annotations

from html import escape

from markupsafe import Markup
from palestra import Episode, renderer
from palestra.html import render_page

from palestra_renderers.changes import scene_of
from palestra_renderers.plain import ending, event_lines, seat_title
from palestra_renderers.still import still
from palestra_renderers.svg import theme_css

LINES = 200  # the last ones, that are shown
HEIGHT = 260  # of the frame besides the picture, in pixels


@renderer("notebook", families=("*",))
def show(episode: Episode) -> str:
    """Mode "notebook": HTML in a frame that runs no script and loads nothing.

    It shows what a spectator sees, who sees everything.
    """
    picture, height = still(scene_of(episode, None))
    page = render_page(
        "palestra_renderers",
        "episode.html",
        title=repr(episode).strip("<>"),
        style=Markup(theme_css()),
        picture=picture,
        seats=[
            (seat, seat_title(episode, seat, (), None), seat in episode.to_act)
            for seat in range(len(episode.players))
        ],
        lines=event_lines(episode, None)[-LINES:],
        end=ending(episode),
    )
    return (
        f'<iframe sandbox="" title="{escape(repr(episode))}" style="width:100%;max-width:700px;'
        f'height:{height + HEIGHT}px;border:0" srcdoc="{escape(page)}"></iframe>'
    )
