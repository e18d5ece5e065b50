"""Groups of commands in order; for unknown ones the nearest, or the distribution to install."""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperGroup

from palestra.cli.groups import MORE, in_order
from palestra.kernel.errors import UnknownName
from palestra.kernel.registry import where_from


class Commands(TyperGroup):
    """A group whose unknown commands are an `UnknownName`, with its next step."""

    what = "command"
    hints: ClassVar[dict[str, str]] = {}  # what to do instead, for names that people try

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for command in self.commands.values():  # the width breaks lines, not the source
            paragraphs = (command.help or "").split("\n\n")
            command.help = "\n\n".join(" ".join(part.split()) for part in paragraphs)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, by group."""
        panels = {
            name: getattr(one, "rich_help_panel", None) for name, one in self.commands.items()
        }
        return in_order([(name, panel or MORE) for name, panel in panels.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0] if args else ""
        asked = name and not name.startswith("-") and not ctx.resilient_parsing
        if asked and self.get_command(ctx, name) is None:
            hint = where_from("commands", name) or self.hints.get(name, "")
            raise UnknownName(self.what, name, self.list_commands(ctx), hint)
        return super().resolve_command(ctx, args)


class Kinds(Commands):
    """The kinds of plugin that `palestra new` writes."""

    what = "kind of plugin"
    hints: ClassVar[dict[str, str]] = {
        "game": "A plugin with a game is written by: palestra new plugin NAME."
    }
