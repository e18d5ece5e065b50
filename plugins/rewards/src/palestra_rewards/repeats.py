"""`palestra repeats`: how often the same decision recurs, by environment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import palestra
import typer
from palestra.kernel.registry import registry

from palestra_rewards.arrays import together
from palestra_rewards.group import Group
from palestra_rewards.pages import replace_part

START, END = "<!-- repeats -->", "<!-- end of repeats -->"
ROLLOUTS, STEPS = 8, 100  # rollouts of one start, steps of each


@dataclass(frozen=True, slots=True)
class Repeats:
    """Shares of turns that faced a decision which another turn faced too.

    `by_step` compares turns of an episode by `state_key`, which includes counters. `in_episode`
    and `in_group` (all rollouts of a start) compare them by the game's anchor.
    """

    env: str
    turns: int
    by_step: float
    in_episode: float
    in_group: float


def measure(
    env: str, *, n: int = ROLLOUTS, seed: int = 0, max_episode_steps: int = STEPS
) -> Repeats:
    """The repeats of an environment, in n rollouts of one start by random agents."""
    records = palestra.rollouts(
        env, agents="random", n=n, seed=seed, max_episode_steps=max_episode_steps
    )
    group = Group.of(records)
    keyed = [f"{turn.seat}:{turn.state_key}" for record in records for turn in record.turns]
    return Repeats(
        env=env,
        turns=group.size,
        by_step=_share(group, keyed),
        in_episode=share_in_episodes(group),
        in_group=group.repeats,
    )


def share_in_episodes(group: Group) -> float:
    """The share of turns whose decision recurs in their own episode."""
    return _share(group, [] if group.state is None else group.state.tolist())


def _share(group: Group, keys: Sequence[object]) -> float:
    if not keys:
        return 0.0
    names = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    faced = together((group.line, np.array([names[key] for key in keys])))
    return float((np.bincount(faced)[faced] > 1).mean())


def repeats_command(
    env: Annotated[list[str] | None, typer.Argument(help="Environments; all by default.")] = None,
    write: Annotated[Path | None, typer.Option(help="Write the table into this page.")] = None,
) -> None:
    """Measure how often the same decision recurs."""
    table = markdown(measure(name) for name in env or registry().environments)
    if write is None:
        typer.echo(table, nl=False)
        return
    write.write_text(replace_part(write.read_text("utf-8"), (START, END), table), "utf-8")


def markdown(rows: Iterable[Repeats]) -> str:
    """Repeats as a Markdown table."""
    lines = [
        "| environment | turns | in an episode, by step | in an episode | in a group |",
        "|---|---|---|---|---|",
    ]
    lines += [row(one) for one in rows]
    return "\n".join(lines) + "\n"


def row(one: Repeats) -> str:
    shares = (one.by_step, one.in_episode, one.in_group)
    return f"| {one.env} | {one.turns} | " + " | ".join(f"{s:.2f}" for s in shares) + " |"
