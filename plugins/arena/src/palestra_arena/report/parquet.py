"""Every seat of every game as one row of a Parquet file, for analysis elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from palestra import MissingExtra
from palestra.files import whole_file

from palestra_arena.result import GameResult

ROWS = 50_000  # held in memory at once


def write_parquet(results: Iterable[GameResult], path: str | Path) -> Path:
    """Write results, one row per seat; the file is replaced atomically."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra("pyarrow", "palestra-arena[parquet]") from error
    schema = pa.schema(
        [
            *((name, pa.string()) for name in ("environment", "id", "options")),
            *((name, pa.int64()) for name in ("game", "round", "seed")),
            *((name, pa.string()) for name in ("status", "reason")),
            ("steps", pa.int64()),
            ("game_seconds", pa.float64()),
            ("seat", pa.int64()),
            *((name, pa.string()) for name in ("agent", "result")),
            ("score", pa.float64()),
            ("rank", pa.int64()),
            ("points", pa.float64()),
            *((name, pa.int64()) for name in ("answers", "mistakes", "tokens_in", "tokens_out")),
            *((name, pa.int64()) for name in ("tokens_cached", "calls")),
            *((name, pa.float64()) for name in ("cost", "seconds")),
        ]
    )
    rows = _rows(results)
    with whole_file(path) as draft, pq.ParquetWriter(draft, schema) as writer:
        while batch := list(islice(rows, ROWS)):
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))
    return Path(path)


def _rows(results: Iterable[GameResult]) -> Iterator[dict[str, Any]]:
    for number, result in enumerate(results):
        match = result.match
        shared = {
            "environment": match.environment.label,
            "id": match.environment.id,
            "options": msgspec.json.encode(match.environment.options).decode(),
            "game": number,
            "round": match.round,
            "seed": match.seed,
            "status": result.status,
            "reason": result.reason,
            "steps": result.steps,
            "game_seconds": result.seconds,
        }
        for seat, agent in enumerate(match.agents):
            yield (
                shared
                | {
                    "seat": seat,
                    "agent": agent,
                    "result": result.results[seat],
                    "score": result.scores[seat],
                    "rank": result.ranks[seat],
                    "points": result.points[seat],
                    "answers": result.answers[seat] if result.answers else None,
                    "mistakes": result.mistakes[seat],
                }
                | msgspec.structs.asdict(result.usage[seat])
            )
