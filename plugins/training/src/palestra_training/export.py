"""Traces and rows as files: Parquet and Arrow, which `datasets` reads, and JSON lines.

A row of tokens is one `SeatTrace`. Columns over its tokens, all of one length: ids, sampled,
logprobs, turn, and advantages (a sampled token has its turn's; null where a turn has none).
`version` is the oldest policy that wrote in it (-1 where it is no number), `rewards` what the seat
was paid in it by term, `turns` its replies. What is read back is what was written, to the bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from palestra import InvalidOption, MissingExtra
from palestra.files import whole_file
from palestra.records.trace import SeatTrace, TraceTurn, check_trace

from palestra_training.batch import advantages_of, version_of

FORMAT = "palestra.tokens/1"
SUFFIXES = (".parquet", ".arrow", ".jsonl")
ROW_GROUP = 1024
PLAIN = ("env", "seed", "number", "seat", "agent", "group", "fork", "common", "life")
OVER_TOKENS = ("ids", "sampled", "logprobs", "turn")


def pyarrow() -> Any:
    """The module pyarrow; raises `MissingExtra`."""
    try:
        import pyarrow as module
    except ImportError as error:
        raise MissingExtra("pyarrow", "palestra-training[arrow]") from error
    return module


def token_schema() -> Any:
    """The columns of a table of tokens."""
    pa = pyarrow()
    terms = pa.list_(pa.struct([("term", pa.string()), ("value", pa.float64())]))
    turn = pa.struct(
        [
            ("step", pa.int64()),
            ("start", pa.int64()),
            ("end", pa.int64()),
            ("finish", pa.string()),
            ("policy", pa.string()),
            ("under", pa.string()),
            ("refused", pa.bool_()),
            ("rewards", terms),
            ("advantage", pa.float64()),
        ]
    )
    columns = [
        ("env", pa.string()),
        ("seed", pa.uint64()),
        ("number", pa.int64()),
        ("seat", pa.int64()),
        ("agent", pa.string()),
        ("group", pa.string()),
        ("fork", pa.int64()),
        ("common", pa.int64()),
        ("life", pa.int64()),
        ("version", pa.int64()),
        ("ids", pa.list_(pa.int32())),
        ("sampled", pa.list_(pa.bool_())),
        ("logprobs", pa.list_(pa.float64())),
        ("advantages", pa.list_(pa.float64())),
        ("turn", pa.list_(pa.int32())),
        ("rewards", terms),
        ("turns", pa.list_(turn)),
    ]
    return pa.schema(columns, metadata={"format": FORMAT})


def token_table(traces: Sequence[SeatTrace]) -> Any:
    """Traces as a `pyarrow.Table`, one row each."""
    columns: dict[str, list[Any]] = {
        name: [getattr(trace, name) for trace in traces] for name in (*PLAIN, *OVER_TOKENS)
    }
    columns["version"] = [version_of(trace) for trace in traces]
    columns["advantages"] = [_advantages(trace) for trace in traces]
    columns["rewards"] = [_terms(_total(trace)) for trace in traces]
    columns["turns"] = [[_turn(turn) for turn in trace.turns] for trace in traces]
    return pyarrow().table(columns, schema=token_schema())


def _advantages(trace: SeatTrace) -> Any:
    if any(turn.advantage is None for turn in trace.turns):
        return None
    return advantages_of(trace)


def _total(trace: SeatTrace) -> dict[str, float]:
    total: dict[str, float] = {}
    for turn in trace.turns:
        for term, value in turn.rewards.items():
            total[term] = total.get(term, 0.0) + value
    return total


def _terms(rewards: dict[str, float]) -> list[dict[str, Any]]:
    return [{"term": term, "value": value} for term, value in rewards.items()]


def _turn(turn: TraceTurn) -> dict[str, Any]:
    return {**msgspec.structs.asdict(turn), "rewards": _terms(turn.rewards)}


def write_traces(path: str | Path, traces: Sequence[SeatTrace]) -> Path:
    """Write traces to a .parquet or .arrow file; whole, or not at all."""
    if Path(path).suffix == ".jsonl":
        raise InvalidOption("tokens are written as .parquet or .arrow, not as .jsonl")
    return write_table(path, token_table(traces))


def write_table(path: str | Path, table: Any) -> Path:
    """Write a table as Parquet, or as Arrow's stream format, by the suffix."""
    target, pa = Path(path), pyarrow()
    _check_suffix(target)
    with whole_file(target) as draft:
        if target.suffix == ".parquet":
            import pyarrow.parquet as parquet

            parquet.write_table(table, draft, compression="zstd", row_group_size=ROW_GROUP)
        else:
            with pa.OSFile(str(draft), "wb") as file, pa.ipc.new_stream(file, table.schema) as sink:
                sink.write_table(table, max_chunksize=ROW_GROUP)
    return target


def write_rows(path: str | Path, rows: Iterable[dict[str, Any]]) -> int:
    """Write rows of messages to a .jsonl, .parquet or .arrow file; returns how many there are."""
    target, listed = Path(path), list(rows)
    _check_suffix(target)
    if not listed:
        raise InvalidOption("there are no such rows in these records, so nothing is written")
    if target.suffix == ".jsonl":
        encoder = msgspec.json.Encoder()
        with whole_file(target) as draft:
            draft.write_bytes(b"".join(encoder.encode(row) + b"\n" for row in listed))
    else:
        pa = pyarrow()
        seeds = pa.array([row["seed"] for row in listed], pa.uint64())
        table = pa.Table.from_pylist(
            [{k: v for k, v in row.items() if k != "seed"} for row in listed]
        )
        write_table(target, table.append_column("seed", seeds))
    return len(listed)


def _check_suffix(path: Path) -> None:
    if path.suffix not in SUFFIXES:
        raise InvalidOption(f"{path} must end in one of {', '.join(SUFFIXES)}")


def read_traces(path: str | Path) -> list[SeatTrace]:
    """The traces of a file that `write_traces` wrote, checked as every trace is."""
    file, pa = Path(path), pyarrow()
    try:
        if file.suffix == ".parquet":
            import pyarrow.parquet as parquet

            table = parquet.read_table(file)
        else:
            with pa.OSFile(str(file)) as opened, pa.ipc.open_stream(opened) as source:
                table = source.read_all()
    except (OSError, pa.ArrowInvalid) as error:
        raise InvalidOption(f"cannot read tokens from {file}: {error}") from error
    kind = (table.schema.metadata or {}).get(b"format", b"").decode()
    if kind != FORMAT:
        raise InvalidOption(f"{file} does not hold {FORMAT}; write it with palestra export-llm")
    return [_trace(row) for batch in table.to_batches() for row in batch.to_pylist()]


def _trace(row: dict[str, Any]) -> SeatTrace:
    turns = [
        TraceTurn(**{**turn, "rewards": {t["term"]: t["value"] for t in turn["rewards"]}})
        for turn in row["turns"]
    ]
    trace = SeatTrace(**{name: row[name] for name in (*PLAIN, *OVER_TOKENS)}, turns=turns)
    check_trace(trace)
    return trace
