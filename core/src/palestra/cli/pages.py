"""`palestra pages`: a page of Markdown for every installed environment."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated

import typer

from palestra.cli.listing import facts_of, seats_text
from palestra.cli.measuring import range_text
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.episode import Episode
from palestra.kernel.registry import load_game, registry
from palestra.kernel.rng import Rng
from palestra.kernel.specs import EnvSpec, load_entry_point

TURNS = 6  # turns of the conversation that are shown
LONGEST = 3_000  # characters of it that are shown


def pages_command(
    folder: Annotated[Path, typer.Argument(help="Folder for the pages; created if missing.")],
    namespace: Annotated[str, typer.Option(help="Only this namespace.")] = "",
) -> None:
    """Write a page for every installed environment, and an index."""
    specs = [s for s in registry().environments.values() if namespace in ("", s.namespace)]
    folder.mkdir(parents=True, exist_ok=True)
    for spec in specs:
        (folder / page_name(spec)).write_text(page(spec), "utf-8")
    (folder / "README.md").write_text(index(specs), "utf-8")
    typer.echo(f"wrote {len(specs)} pages and an index to {folder}")


def page_name(spec: EnvSpec) -> str:
    return spec.id.replace("/", "-") + ".md"


def index(specs: list[EnvSpec]) -> str:
    """A table of environments, by family."""
    rows = ["| environment | players | moves | payoffs | family |", "|---|---|---|---|---|"]
    for spec in sorted(specs, key=lambda s: (s.family, s.id)):
        link = f"[{spec.id}]({page_name(spec)})"
        rows.append(
            f"| {link} | {seats_text(spec)} | {spec.moves} | {spec.payoffs} | {spec.family} |"
        )
    return "\n".join(
        [
            "# Environments",
            "",
            "Written by `palestra pages` from specs, docstrings and one episode each.",
            "",
            *rows,
            "",
        ]
    )


def catalogue_page() -> str:
    """One page of Markdown: every installed environment by family, and every agent."""
    specs = sorted(registry().environments.values(), key=lambda s: (s.family, s.id))
    lines = [
        "# Catalogue",
        "",
        "Written by `palestra catalogue --page docs/catalogue.md` from what the installed plugins "
        "declare. `palestra info ID` explains one environment and its options.",
        "",
        "## Environments",
    ]
    for family in dict.fromkeys(spec.family for spec in specs):
        lines += ["", f"### {family}", "", "| id | what | seats | moves | payoffs | paper |"]
        lines.append("|---|---|---|---|---|---|")
        for spec in specs:
            if spec.family == family:
                facts = (spec.summary, seats_text(spec), spec.moves, spec.payoffs, spec.paper)
                lines.append(f"| `{spec.id}` | {' | '.join(map(_cell, facts))} |")
    lines += [
        "",
        "## Agents",
        "",
        "| name | kind | what | plays | options |",
        "|---|---|---|---|---|",
    ]
    for name, agent in sorted(registry().agents.items()):
        plays = "any" if agent.plays == ("*",) else ", ".join(agent.plays)
        options = ", ".join(option.name for option in agent.options) or "-"
        columns = (agent.kind, agent.summary, plays, options)
        lines.append(f"| `{name}` | {' | '.join(map(_cell, columns))} |")
    return "\n".join([*lines, "", *_measures(), ""])


def _measures() -> list[str]:
    """A table of every metric: what it means, where it lies, and where it applies."""
    lines = [
        "## Measures",
        "",
        "`palestra.measure(record)` computes them for one episode; `palestra play`, `palestra "
        "measure` and `palestra report` show their means with intervals. An episode in which a "
        "measure is not defined does not count for it.",
        "",
        "| name | what | range | unit | better | of |",
        "|---|---|---|---|---|---|",
    ]
    for name, metric in sorted(registry().metrics.items()):
        of = ", ".join(metric.needs or metric.measures)
        where = "any" if of == "*" else of
        columns = (
            metric.summary,
            range_text(metric.bounds),
            metric.unit or "-",
            metric.better or "-",
            where,
        )
        lines.append(f"| `{name}` | {' | '.join(map(_cell, columns))} |")
    return lines


def page(spec: EnvSpec) -> str:
    """One environment: its rules, its facts, how to make it, and how it is played."""
    kind = load_entry_point(spec.entry_point)
    game = load_game(spec, {})
    about = "\n\n".join(
        text for text in (inspect.getdoc(inspect.getmodule(kind)), inspect.getdoc(kind)) if text
    )
    facts = [f"| {name} | {_cell(value)} |" for name, value in facts_of(spec, game)]
    return "\n".join(
        [
            f"# {spec.id}",
            "",
            about,
            "",
            "## What a player reads",
            "",
            *[f"> {line}".rstrip() for line in game.rules_for(0).splitlines()],
            "",
            "## Facts",
            "",
            "| | |",
            "|---|---|",
            *facts,
            "",
            "## Make it",
            "",
            "```python",
            *_making(spec),
            "```",
            "",
            "## A conversation",
            "",
            "The first questions to one seat, with random legal answers:",
            "",
            "```text",
            _conversation(spec),
            "```",
            "",
        ]
    )


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _making(spec: EnvSpec) -> list[str]:
    several = spec.players[1] > 1
    rivals = ', seat=0, opponents="random"' if several else ""
    lines = ["import gymnasium as gym, palestra", ""]
    if "array" in spec.observations:
        lines.append(f'env = gym.make("palestra:{spec.id}"{rivals})')
        lines.append(f'many = palestra.make("{spec.id}", view="batch", num_envs=1024)')
    lines.append(f'env = gym.make("palestra:{spec.id}"{rivals}, obs="text")')
    if several:
        view = "parallel" if spec.moves != "sequential" else "aec"
        lines.append(f'env = palestra.make("{spec.id}", view="{view}")')
    return lines


def _conversation(spec: EnvSpec) -> str:
    """What the first seat that is asked sees and answers in one random episode."""
    game, rng = load_game(spec, {}), Rng.seeded(0)
    # interpreted: a few turns are not worth compiling for
    episode = Episode(game, 0, spec=spec, compiled=False if isinstance(game, ArrayGame) else None)
    seat, since, lines = episode.to_act[0], 0, list[str]()
    for _ in range(4 * TURNS):
        if episode.over or len(lines) == 2 * TURNS:
            break
        actions = {s: game.sample(episode.state, s, rng) for s in episode.to_act}
        if seat in actions:
            said = game.action_text(episode.state, seat, actions[seat])
            lines += [episode.prompt(seat, since), f"> {said}\n"]
            since = episode.cursor(seat)
        episode.act(actions)
    text = "\n".join(lines).strip()
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
