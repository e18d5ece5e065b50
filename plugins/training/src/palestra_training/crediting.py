"""Credit for the turns of records, from whichever plugin estimates it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from palestra import EpisodeRecord, InvalidOption
from palestra.kernel.registry import registry
from palestra.records.trace import SeatTrace, trace_seats

Credit = dict[tuple[int, int], float]  # by seat and step


def open_credit(names: str) -> Any:
    """Estimators by name, as the hook `palestra_credit` describes them."""
    found = registry().plugins.first("palestra_credit", names=names)
    if found is None:
        raise InvalidOption("training needs estimators; pip install palestra-rewards")
    return found


def credited_traces(
    records: Sequence[EpisodeRecord],
    credit: Any,
    agents: Collection[str],
    *,
    refused: float = -1.0,
) -> list[SeatTrace]:
    """Traces of the seats of these agents, with an advantage on every turn.

    refused: the advantage of an answer that was refused where the game went on; one that the seat
    lost by has that of its turn. Agents whose games ended before their first turn have no credit.
    """
    asked = {
        record.agents[turn.seat]
        for record in records
        for step in record.steps
        for turn in step.turns
    }
    known = sorted(asked.intersection(agents))
    found: Sequence[Credit] = credit.credit(records, known) if known else [{}] * len(records)
    traces = []
    for record, advantages in zip(records, found, strict=True):
        seats = [seat for seat, agent in enumerate(record.agents) if agent in agents]
        for trace in trace_seats(record, seats):
            for turn in trace.turns:
                lost = turn.refused and not turn.rewards
                turn.advantage = refused if lost else advantages[trace.seat, turn.step]
            traces.append(trace)
    return traces
