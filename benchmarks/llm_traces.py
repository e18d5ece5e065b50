"""Traced play with an instant model, and traces as tensors."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import palestra
from palestra.agents.making import make_agent
from palestra.agents.models import Model, Reply, Request, Tokens
from palestra.records.trace import SeatTrace, TraceTurn, trace_seats
from palestra_training.batch import token_batch
from timing import REPEATS, Row, Work, limit

EPISODES, TURNS = 1_024, 50
PROMPT, SAID = 20, 4  # tokens that a turn adds


class Instant(Model):
    """Plays the first legal move at once, with made-up tokens."""

    name, abilities = "instant", frozenset({"choices", "tokens", "raw"})

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        tokens = Tokens(tuple(range(PROMPT)), (1,), (-0.5,), "sampling", "end", "0")
        return [Reply(r.choices[0] if r.choices else "", tokens=tokens) for r in requests]


def traced_turns() -> Row:
    """CPU time of a turn from environment to trace, with a model that takes none."""
    agent = make_agent(
        "llm", model=Instant(), prompt="raw", history="bare", mode="choice", keep_tokens=True
    )

    def play() -> int:
        records = palestra.play("games/TicTacToe-v0", agents=[agent, agent], episodes=500, live=500)
        return sum(len(trace.turns) for record in records for trace in trace_seats(record))

    cost = cpu_seconds(play) * 1e6
    name = "games/TicTacToe-v0, a traced turn with an instant model (20,000/s)"
    return limit(name, cost, at_most=50, unit="CPU us/turn")


def tensors() -> Row:
    """CPU seconds from traces to a padded batch."""
    made = [stream(number) for number in range(EPISODES)]

    def pad() -> int:
        token_batch(made)
        return 1

    name = f"traces of {EPISODES} episodes of {TURNS} turns to tensors"
    return limit(name, cpu_seconds(pad), at_most=0.2, unit="CPU s")


def cpu_seconds(work: Work) -> float:
    """The median CPU seconds of a unit of work."""
    work()
    found = []
    for _ in range(REPEATS):
        started = time.process_time()
        done = work()
        found.append((time.process_time() - started) / done)
    return statistics.median(found)


def stream(number: int) -> SeatTrace:
    """A conversation of unlike turns, as an engine would have left it."""
    trace = SeatTrace("games/X-v0", number, number, 0, "learner")
    for turn in range(TURNS):
        new = PROMPT - (number + turn) % 7
        start = len(trace.ids) + new
        trace.ids += [3] * new + [5] * SAID
        trace.sampled += [False] * new + [True] * SAID
        trace.logprobs += [0.0] * new + [-0.5] * SAID
        trace.turn += [turn] * (new + SAID)
        trace.turns.append(TraceTurn(turn, start, start + SAID, advantage=0.5))
    return trace


MEASURES = (traced_turns, tensors)
