"""The commands `palestra pages` and `palestra reference`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from palestra.cli.pages import agents, commands, environments, rewards
from palestra.cli.pages.reference import (
    add_scores,
    measure_reference,
    read_reference,
    write_animation,
)
from palestra.files import write_text
from palestra.kernel.errors import InvalidOption, PalestraError
from palestra.kernel.registry import registry
from palestra.kernel.specs import EnvSpec


class Subject(StrEnum):
    """What the pages are about."""

    environments = "environments"
    agents = "agents"
    rewards = "rewards"
    commands = "commands"


def pages_command(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Folder for the pages; created if missing.")],
    namespace: Annotated[str, typer.Option(help="Only environments of this namespace.")] = "",
    of: Annotated[Subject, typer.Option(help="What the pages are about.")] = Subject.environments,
    reference: Annotated[
        Path | None, typer.Option(help="A folder of `palestra reference`: scores, animations.")
    ] = None,
) -> None:
    """Write a page for every installed environment, agent, reward or command, and an index."""
    folder.mkdir(parents=True, exist_ok=True)
    if of is Subject.agents:
        pages = agents.pages()
    elif of is Subject.rewards:
        pages = rewards.pages()
    elif of is Subject.commands:
        pages = commands.pages(context.find_root().command)
    else:
        pages = environments.pages(_chosen(namespace), folder, reference)
    for name, text in pages.items():
        write_text(folder / name, text)
    typer.echo(f"wrote {len(pages) - 1} pages and an index to {folder}")


def reference_command(
    folder: Annotated[Path, typer.Argument(help="Folder for the scores; created if missing.")],
    envs: Annotated[list[str] | None, typer.Argument(help="Ids; all if none is given.")] = None,
    namespace: Annotated[str, typer.Option(help="Only environments of this namespace.")] = "",
    episodes: Annotated[int, typer.Option(min=2, help="Episodes of every agent.")] = 100,
    seconds: Annotated[float, typer.Option(help="Stop an agent after this time.")] = 10.0,
    speed: Annotated[bool, typer.Option(help="Also measure steps a second.")] = True,
    missing: Annotated[bool, typer.Option("--missing", help="Only ids without scores.")] = False,
    agent: Annotated[
        list[str] | None,
        typer.Option(help="Measure this agent alone, as in llm:local:,mode=choice; keep the rest."),
    ] = None,
) -> None:
    """Measure reference scores and speed, and draw an animation, for `palestra pages`.

    Random play, the environment's own script, and every agent that declares this environment and
    needs no language model play it; each has a file ID.json and an animation ID.webp in FOLDER.
    With --agent the scores of this agent are added to a file that is there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [registry().environment(env) for env in envs or ()] or _chosen(namespace)
    for spec in chosen:
        file = folder / f"{environments.file_stem(spec)}.json"
        if missing and file.exists():
            continue
        if agent:
            known = read_reference(folder, environments.file_stem(spec))
            if known is None:
                raise InvalidOption(f"{spec.id} has no scores in {folder} yet: leave out --agent")
            added = add_scores(spec, agent, episodes, seconds, known)
            write_text(file, added.to_json())
            typer.echo(f"{spec.id}: {added.in_words()}")
            continue
        try:
            measured, record = measure_reference(spec, episodes, seconds, speed=speed)
            write_text(file, measured.to_json())
            write_animation(record, file.with_suffix(".webp"))
        except PalestraError as error:
            typer.echo(f"{spec.id}: {error}", err=True)
        else:
            typer.echo(f"{spec.id}: {measured.in_words()}")


def _chosen(namespace: str) -> list[EnvSpec]:
    return [s for s in registry().environments.values() if namespace in ("", s.namespace)]
