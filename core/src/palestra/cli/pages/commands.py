"""A page for each command of `palestra`, those of plugins among them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from palestra.cli.pages.markdown import cell, code, plain, section, table


def pages(group: Any) -> dict[str, str]:
    """The text of a page for each command of a group, and of an index, by file name."""
    found = dict(by_name("palestra", group))
    made = {f"{name.replace(' ', '-')}.md": page(name, found[name]) for name in found}
    return {**made, "README.md": index(found)}


def by_name(prefix: str, group: Any) -> Iterator[tuple[str, Any]]:
    """Commands by their full name; those of a group instead of the group."""
    for name, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            yield from by_name(f"{prefix} {name}", command)
        elif not command.hidden:
            yield f"{prefix} {name}", command


def index(commands: dict[str, Any]) -> str:
    rows = [
        (f"[`{name}`]({name.replace(' ', '-')}.md)", cell(_paragraphs(command)[0]))
        for name, command in commands.items()
    ]
    lines = ["# Commands", "", "Written by `palestra pages --of commands`.", ""]
    return "\n".join([*lines, *table(("command", "what it does"), rows), ""])


def page(name: str, command: Any) -> str:
    """One command: what it does, its arguments and its options."""
    shown = [parameter for parameter in command.params if not parameter.hidden]
    arguments = [p for p in shown if p.param_type_name == "argument"]
    options = [p for p in shown if p.param_type_name == "option"]
    words = [p.name.upper() if p.required else f"[{p.name.upper()}]" for p in arguments]
    return "\n".join(
        [
            f"# {name}",
            "",
            *("\n\n".join(_paragraphs(command)), ""),
            *("```text", " ".join([name, *(["[OPTIONS]"] if options else []), *words]), "```", ""),
            *section("Arguments", table(("argument", "meaning"), map(_argument, arguments))),
            *section("Options", table(("option", "default", "meaning"), map(_option, options))),
        ]
    )


def _paragraphs(command: Any) -> list[str]:
    return [" ".join(part.split()) for part in inspect.cleandoc(command.help or "").split("\n\n")]


def _argument(parameter: Any) -> tuple[str, str]:
    return code(parameter.name.upper()), plain(parameter.help or "")


def _option(parameter: Any) -> tuple[str, str, str]:
    names = ", ".join(code(name) for name in (*parameter.opts, *parameter.secondary_opts))
    repeated = " Can be given several times." if parameter.multiple else ""
    return names, code(_default(parameter.default)), plain(parameter.help or "") + repeated


def _default(value: Any) -> str:
    if value is None or value in ("", ()) or callable(value):
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(getattr(value, "value", value))
