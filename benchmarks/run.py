"""Run the benchmarks and write `results/<name>.json` and the table in README.md.

python benchmarks/run.py [gym_make] [turn_based] [search] [text_turns] [text_rates] [weight]
    [ahead] [batch] [rules] [training] [rewards] [language_models] [order_book] [agents_net]
    [marketplace] [population] [web] [arena] [rendering] [server] [server_ids] [llm_traces]

`arena:workers` measures one row of a suite, by the name of its function, and keeps the others.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from timing import Row, as_dict, machine, versions

HERE = Path(__file__).parent
SUITES = (
    "gym_make",
    "turn_based",
    "search",
    "text_turns",
    "text_rates",
    "weight",
    "ahead",
    "batch",
    "rules",
    "training",
    "rewards",
    "language_models",
    "order_book",
    "agents_net",
    "marketplace",
    "population",
    "web",
    "arena",
    "rendering",
    "server",
    "server_ids",
    "llm_traces",
)
DISTRIBUTIONS = (
    "numpy",
    "numba",
    "gymnasium",
    "pettingzoo",
    "open_spiel",
    "textarena",
    "pgx",
    "jax",
    "jaxmarl",
    "stable_baselines3",
    "supersuit",
    "bourse",
    "uvicorn",
    "websockets",
)
UNLISTED = ("text_rates", "server_ids")  # a row for every environment: too long for the table
START, END = "<!-- results -->", "<!-- end of results -->"


def main(names: list[str]) -> None:
    for name in names or SUITES:
        suite, _, only = name.partition(":")
        path = HERE / "results" / f"{suite}.json"
        where, rows = machine(), kept_rows(path) if only else {}
        for measure in import_module(suite).MEASURES:
            if only in ("", getattr(measure, "__name__", None)):
                row = measure()
                rows[row.name, row.against] = as_dict(row)
                print(line(row), flush=True)
        result = {
            "machine": where,
            "versions": versions(*DISTRIBUTIONS),
            "rows": list(rows.values()),
        }
        path.write_text(json.dumps(result, indent=2) + "\n")
    write_table()


def kept_rows(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """What was measured before, by name and peer."""
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    return {(row["name"], row["against"]): row for row in rows}


def line(row: Row) -> str:
    verdict = "met" if row.met else "MISSED"
    return (
        f"| {row.name} | {figure(row.ours)} | {row.against} {figure(row.peer)} | {row.unit} "
        f"| {row.ratio:.2f}x | {row.target:g}x {verdict} |"
    )


def figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def write_table() -> None:
    """Put every kept result into README.md."""
    lines = ["| what | ours | against | unit | ratio | target |", "|---|---:|---|---|---:|---|"]
    for name in SUITES:
        path = HERE / "results" / f"{name}.json"
        if path.exists() and name not in UNLISTED:
            for kept in json.loads(path.read_text())["rows"]:
                kept.pop("met")
                lines.append(line(Row(**kept)))
    readme = HERE / "README.md"
    text = readme.read_text()
    head, _, rest = text.partition(START)
    _, _, tail = rest.partition(END)
    readme.write_text(f"{head}{START}\n" + "\n".join(lines) + f"\n{END}{tail}")


if __name__ == "__main__":
    main(sys.argv[1:])
