"""The groups under which `palestra --help` shows commands, in order.

A plugin names its own with `app.command("greet", rich_help_panel=EVALUATE)`.
"""

from __future__ import annotations

from typing import Any

PLAY = "Play and watch"
TRAIN = "Train"
EVALUATE = "Evaluate"
SHARE = "Serve and share"
AUTHOR = "Write your own"
MORE = "More"
GROUPS = (PLAY, TRAIN, EVALUATE, SHARE, AUTHOR)
# what help shows at the top of its group
FIRST = ("play", "list", "info", "train", "train-llm", "tournament", "results", "serve", "new")


def group_of(info: Any) -> str:
    """The group that a command, or a `Typer` of several, was added with; by default `MORE`."""
    named = info.rich_help_panel  # Typer's placeholder where none was given
    return named if isinstance(named, str) and named else MORE


def in_order(named: list[tuple[str, str]]) -> list[str]:
    """Names of commands, given as (name, group), in the order in which help shows them.

    Groups of plugins follow ours, and `MORE` is the last.
    """

    def place(one: tuple[str, str]) -> tuple[int, int]:
        name, group = one
        last = len(GROUPS) + (group == MORE)
        return (
            GROUPS.index(group) if group in GROUPS else last,
            FIRST.index(name) if name in FIRST else len(FIRST),
        )

    return [name for name, _ in sorted(named, key=place)]
