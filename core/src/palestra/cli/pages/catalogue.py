"""The page that lists everything installed: `palestra catalogue --page FILE`."""

from __future__ import annotations

from palestra.cli.listing import seats_text
from palestra.cli.measuring import range_text
from palestra.cli.pages.markdown import cell
from palestra.kernel.registry import registry


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
                lines.append(f"| `{spec.id}` | {' | '.join(map(cell, facts))} |")
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
        lines.append(f"| `{name}` | {' | '.join(map(cell, columns))} |")
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
        lines.append(f"| `{name}` | {' | '.join(map(cell, columns))} |")
    return lines
