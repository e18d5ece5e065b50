"""Agents put together from axes: a scaffold, a model, and the level of one option."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from palestra import InvalidOption


@dataclass(frozen=True, slots=True)
class Axes:
    """Where an agent stands: the model it asks, its scaffold, and its level where there are any."""

    model: str
    scaffold: str
    level: str = ""


def with_option(agent: str, option: str) -> str:
    """The agent with an option such as "depth=3" in the place of an earlier value, or added.

    Raises `InvalidOption` for what is not NAME=VALUE.
    """
    name, equals, value = option.partition("=")
    if not (name.strip() and equals and value):
        raise InvalidOption(f"{option!r} changes no option; write NAME=VALUE, as in depth=3")
    head, _, tail = agent.partition(":")
    parts = tail.split(",") if tail else []
    places = [number for number, part in enumerate(parts) if part.startswith(f"{name}=")]
    if places:
        parts[places[-1]] = option
    else:
        parts.append(option)
    return f"{head}:{','.join(parts)}"


def compose(axes: Axes) -> str:
    """The agent of a cell: `bestof,n=3` with the model `local:` is `bestof:local:,n=3`."""
    name, _, options = axes.scaffold.partition(",")
    agent = f"{name}:{axes.model}"
    for option in filter(None, (*options.split(","), axes.level)):
        agent = with_option(agent, option)
    return agent


def cross(
    models: Sequence[str], scaffolds: Sequence[str], levels: Sequence[str] = ()
) -> dict[str, Axes]:
    """Every agent of models × scaffolds × levels, and where it stands.

    Raises `InvalidOption` if one of models and scaffolds is missing, or two cells are one agent.
    """
    if bool(models) != bool(scaffolds) or (levels and not models):
        raise InvalidOption(
            "agents are crossed from models and scaffolds: give at least one of each, as in "
            "--model local: --scaffold llm --scaffold react"
        )
    cells = [Axes(*cell) for cell in itertools.product(models, scaffolds, levels or ("",))]
    found = {compose(cell): cell for cell in cells}
    if len(found) < len(cells):
        raise InvalidOption("two cells are the same agent; name every model and scaffold once")
    return found
