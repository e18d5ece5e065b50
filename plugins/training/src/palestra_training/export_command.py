"""`palestra export-llm`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from palestra import EpisodeRecord, InvalidOption, UnknownName, read_records
from palestra.cli.arguments import split_agents
from palestra.runner.run_folder import FINISHED

ROWS = ("tokens", "imitate", "agentgym", "filter", "best", "prefer", "correct")


def export_command(
    runs: Annotated[list[Path], typer.Argument(help="Records, or folders of palestra play --out.")],
    out: Annotated[Path, typer.Option(help="The file: .parquet, .arrow or .jsonl.")],
    rows: Annotated[
        str, typer.Option(help="tokens, imitate, agentgym, filter, best, prefer, correct.")
    ] = "tokens",
    by: Annotated[str, typer.Option(help="Estimators of credit; the return without them.")] = "",
    agents: Annotated[str, typer.Option(help="Only the seats of these agents.")] = "",
    expert: Annotated[str, typer.Option(help="prefer: only these are chosen, over others.")] = "",
    keep: Annotated[
        int, typer.Option(min=1, help="imitate, agentgym: so many of every start.")
    ] = 1,
    by_network: Annotated[
        bool, typer.Option("--by-network", help="filter, best: values that a network learns.")
    ] = False,
    least: Annotated[float | None, typer.Option(help="Leave out what is worth less.")] = None,
    gap: Annotated[float, typer.Option(help="prefer: how far apart two must be.")] = 0.0,
    most: Annotated[int | None, typer.Option(min=1, help="prefer: pairs of every start.")] = None,
    draws: Annotated[
        int | None, typer.Option(min=1, help="prefer: pairs drawn by the cube of their gap.")
    ] = None,
    seed: Annotated[int, typer.Option(help="prefer: for --draws; --by-network.")] = 0,
    scores: Annotated[
        str, typer.Option(help="prefer: the worths that score 0 and 1, as in -1,1.")
    ] = "0,1",
    by_turn: Annotated[bool, typer.Option("--by-turn", help="prefer: single answers.")] = False,
    history: Annotated[str, typer.Option(help="What prompts hold, as for llm.")] = "conversation",
    thoughts: Annotated[
        bool, typer.Option("--thoughts", help="Prompts ask for a thought before the move.")
    ] = False,
    refused: Annotated[float, typer.Option(help="tokens: advantage of refused answers.")] = -1.0,
) -> None:
    """Write what was played as rows to learn from: tokens, answers to imitate, preferences."""
    from palestra_training import text_rows as text
    from palestra_training import value_filters as values
    from palestra_training.agentgym_rows import agentgym_rows
    from palestra_training.crediting import credited_traces, open_credit
    from palestra_training.export import write_rows, write_traces

    if by_network and rows not in ("filter", "best"):
        raise InvalidOption(f"--by-network is for --rows filter and best, not {rows}")
    if rows not in ROWS:
        raise UnknownName("kind of rows", rows, ROWS)
    records = [record for run in runs for record in read_records(records_at(run))]
    own = split_agents(agents) if agents else []
    experts = split_agents(expert) if expert else []
    _check_names([*own, *experts], records)
    if rows == "tokens":
        records = [record for record in records if not record.error]
        kept = _with_tokens(records)
        named = own or kept
        if not set(named) & set(kept):
            raise InvalidOption("these records hold no tokens; play with keep_tokens=true")
        if by:
            traces = credited_traces(records, open_credit(by), named, refused=refused)
        else:
            traces = list(_plain(records, named))
        write_traces(out, traces)
        typer.echo(f"wrote {len(traces)} rows to {out}")
        return
    if by_network:
        from palestra_training import value_networks as networks
    credit = None
    chosen = [*own, *experts] if own else []
    if by:
        everybody = sorted({name for record in records for name in record.agents})
        credit = open_credit(by).credit(records, chosen or everybody)
    correct = rows == "correct"
    if correct and history != "conversation":
        raise InvalidOption(
            "corrections are learned with what was refused before them; leave --history out"
        )
    played = text.trajectories(
        records,
        agents=chosen,
        credit=credit,
        history=history,
        refused=correct,
        thoughts=thoughts,
        legal=by_network and rows == "best",
    )
    made: Iterator[dict[str, Any]]
    if rows == "imitate":
        made = text.imitation_rows(played, keep=keep, least=least)
    elif rows == "agentgym":
        made = agentgym_rows(played, keep=keep, least=least)
    elif rows == "filter":
        known = networks.step_values(played, seed=seed) if by_network else None
        made = values.filtered_rows(played, least=least, values=known)
    elif rows == "best" and by_network:
        critic = networks.Critic(played, seed=seed)
        made = values.best_legal_rows(played, critic, least=least or 0.0, seed=seed)
    elif rows == "best":
        made = values.best_rows(played, least=least or 0.0)
    elif rows == "prefer":
        made = text.preference_rows(
            played,
            expert=experts,
            gap=gap,
            most=most,
            draws=draws,
            seed=seed,
            scores=_read_scores(scores),
            whole=not by_turn,
        )
    else:
        made = text.correction_rows(played, least=least)
    typer.echo(f"wrote {write_rows(out, made)} rows to {out}")


def _read_scores(text: str) -> tuple[float, float]:
    """The worths that score 0 and 1."""
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise InvalidOption(f"--scores {text}: write two numbers, as in --scores=-1,1") from None
    return low, high


def records_at(path: Path) -> Path:
    """The file of records at a path: itself, or the one of a run's folder."""
    file = path / FINISHED if path.is_dir() else path
    if not file.is_file():
        raise InvalidOption(
            f"there are no records at {path}; palestra play --out writes {FINISHED}"
        )
    return file


def _check_names(names: list[str], records: list[EpisodeRecord]) -> None:
    known = sorted({name for record in records for name in record.agents})
    for name in names:
        if name not in known:
            raise UnknownName("agent of these records", name, known)


def _with_tokens(records: list[EpisodeRecord]) -> list[str]:
    """Agents whose answers have tokens."""
    return sorted(
        {
            record.agents[turn.seat]
            for record in records
            for turn in record.turns
            if turn.tokens is not None or any(a.tokens is not None for a in turn.refused)
        }
    )


def _plain(records: list[EpisodeRecord], agents: list[str]) -> Iterator[Any]:
    from palestra.records.trace import trace_seats

    for record in records:
        seats = [seat for seat, name in enumerate(record.agents) if name in agents]
        yield from trace_seats(record, seats)
