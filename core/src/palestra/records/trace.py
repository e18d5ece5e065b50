"""The exact tokens of a seat: what its model read and wrote, with the rewards of each turn.

A trainer needs the ids that the engine sampled, not a text that is rendered and tokenised again. A
`SeatTrace` is one stream of ids. If a conversation is cut or rewritten, or a new person takes the
seat, a new trace begins, which says how many tokens it shares with the previous one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import msgspec

from palestra.agents.models import Tokens, exchanges
from palestra.kernel.errors import InvalidOption
from palestra.kernel.game import total
from palestra.kernel.lives import newcomers
from palestra.records.record import Attempt, EpisodeRecord, StepRecord, TurnRecord

ROUNDING = 1e-3  # how far a log-probability may lie above 0


class TraceTurn(msgspec.Struct, gc=False, omit_defaults=True):
    """One reply in a trace; a decision has as many as its agent asked its model for.

    step: the step of the record it belongs to. start and end: where its sampled tokens lie in
    `SeatTrace.ids`. refused: whether the answer was refused and asked for again. rewards: what the
    seat was paid from this turn to its next, by term, at the last reply of a decision; a refused
    answer is paid nothing, unless the seat lost by it.
    """

    step: int
    start: int
    end: int
    finish: str = ""
    policy: str = ""
    under: str = "model"
    refused: bool = False
    rewards: dict[str, float] = {}
    advantage: float | None = None

    @property
    def reward(self) -> float:
        """What the seat was paid from this reply to its next, over all terms."""
        return total(self.rewards)


class SeatTrace(msgspec.Struct, gc=False, omit_defaults=True):
    """A token stream of one seat of one episode.

    Over tokens, all of one length: `ids`, `sampled` (True for tokens the policy drew), `logprobs`
    (natural; 0.0 for what was not sampled) and `turn` (index into `turns` of the reply that a token
    leads to or belongs to). `fork` numbers the seat's streams; `common` is how many tokens it
    shares with the one before it, 0 where a new person begins; `life` is that person's number.
    `group` is the key of rollouts that are compared.
    """

    env: str
    seed: int
    number: int
    seat: int
    agent: str
    ids: list[int] = []
    sampled: list[bool] = []
    logprobs: list[float] = []
    turn: list[int] = []
    turns: list[TraceTurn] = []
    fork: int = 0
    common: int = 0
    group: str = ""
    life: int = 0

    def __len__(self) -> int:
        return len(self.ids)


def trace_seats(record: EpisodeRecord, seats: Sequence[int] | None = None) -> list[SeatTrace]:
    """The token streams of a record's seats, by seat; seats without tokens have none.

    Raises `InvalidOption` if only some answers of a seat have tokens.
    """
    traces = []
    for seat in range(len(record.players)) if seats is None else seats:
        traces += _trace_seat(record, seat)
    for trace in traces:
        check_trace(trace)
    return traces


def _trace_seat(record: EpisodeRecord, seat: int) -> list[SeatTrace]:
    turns = [
        (number, turn)
        for number, step in enumerate(record.steps)
        for turn in step.turns
        if turn.seat == seat
    ]
    paid = _rewards(record.steps, seat, turns)
    traces: list[SeatTrace] = []
    for (number, turn), rewards in zip(turns, paid, strict=True):
        for attempt in turn.refused:
            last = turn.status == "forfeit" and attempt is turn.refused[-1]
            pay = rewards if last else {}
            _append(traces, record, turn, number, attempt, pay, refused=True)
        if turn.status in ("ok", "retried"):
            _append(traces, record, turn, number, turn, rewards, refused=False)
    return traces


def _append(
    traces: list[SeatTrace],
    record: EpisodeRecord,
    turn: TurnRecord,
    step: int,
    answer: TurnRecord | Attempt,
    rewards: dict[str, float],
    *,
    refused: bool,
) -> None:
    """Append the replies of one answer; what was decided without any is paid to the one before."""
    replies = exchanges(answer)
    for place, tokens in enumerate(replies, 1):
        pay = rewards if place == len(replies) else {}
        _append_reply(traces, record, turn, step, tokens, pay, refused=refused)
    if replies or not traces:
        return
    if answer.usage.calls:
        raise InvalidOption(
            f"seat {turn.seat} of episode {record.number} has tokens in some answers only; "
            "play with keep_tokens=true, and with a model that gives them"
        )
    if traces[-1].life == turn.life:
        earned = traces[-1].turns[-1].rewards
        for term, value in rewards.items():
            earned[term] = earned.get(term, 0.0) + value


def _append_reply(
    traces: list[SeatTrace],
    record: EpisodeRecord,
    turn: TurnRecord,
    step: int,
    tokens: Tokens,
    rewards: dict[str, float],
    *,
    refused: bool,
) -> None:
    """Append one reply to the last stream, or begin another if it does not continue it."""
    last = traces[-1] if traces and traces[-1].life == turn.life else None
    common = _common(last.ids, tokens.prompt) if last is not None else 0
    if last is None or common < len(last.ids):
        agent = record.agents[turn.seat] if record.agents else ""
        last = SeatTrace(record.env, record.seed, record.number, turn.seat, agent)
        last.fork, last.common, last.group = len(traces), common, record.group
        last.life = turn.life
        traces.append(last)
        common = 0
    new = tokens.prompt[common:]
    place = len(last.turns)
    last.ids += new
    last.sampled += [False] * len(new)
    last.logprobs += [0.0] * len(new)
    start = len(last.ids)
    last.ids += tokens.reply
    last.sampled += [True] * len(tokens.reply)
    last.logprobs += tokens.logprobs
    last.turn += [place] * (len(new) + len(tokens.reply))
    last.turns.append(
        TraceTurn(
            step, start, len(last.ids), tokens.finish, tokens.policy, tokens.under, refused, rewards
        )
    )


def _common(known: Sequence[int], prompt: Sequence[int]) -> int:
    """The length of the common prefix of two streams."""
    length = min(len(known), len(prompt))
    if list(known[:length]) == list(prompt[:length]):
        return length
    return next(i for i in range(length) if known[i] != prompt[i])


def _rewards(
    steps: Sequence[StepRecord], seat: int, own: Sequence[tuple[int, TurnRecord]]
) -> list[dict[str, float]]:
    """What a seat was paid from each of its turns, given with their steps, to its next, by term.

    Rewards of a person before their first turn belong to that turn.
    """
    joined = [n + 1 for n, step in enumerate(steps) for e in step.events if seat in newcomers(e)]
    starts = [
        joined[turn.life - 1] if place and own[place - 1][1].life < turn.life else number
        for place, (number, turn) in enumerate(own)
    ]
    paid: list[dict[str, float]] = [{} for _ in own]
    turn = 0
    for number, step in enumerate(steps):
        while turn + 1 < len(own) and starts[turn + 1] <= number:
            turn += 1
        for term, value in step.rewards.get(seat, {}).items() if paid else ():
            paid[turn][term] = paid[turn].get(term, 0.0) + value
    return paid


def check_trace(trace: SeatTrace) -> None:
    """Raise `InvalidOption` for a trace that cannot have come from an engine."""
    length = len(trace.ids)
    where = f"the trace of seat {trace.seat} of episode {trace.number}"
    if not len(trace.sampled) == len(trace.logprobs) == len(trace.turn) == length:
        raise InvalidOption(
            f"{where} has {length} ids, {len(trace.sampled)} marks, {len(trace.logprobs)} "
            f"log-probabilities and {len(trace.turn)} turns; each token has one of each"
        )
    if min(trace.ids, default=0) < 0:
        raise InvalidOption(f"{where} has a negative token id")
    if trace.turn != sorted(trace.turn):
        raise InvalidOption(f"{where} goes back in turns")
    if not (all(map(isfinite, trace.logprobs)) and max(trace.logprobs, default=0) <= ROUNDING):
        raise InvalidOption(f"{where} has a log-probability that is above 0 or not finite")
    inside = [False] * length
    end = 0
    for turn in trace.turns:
        if not end <= turn.start <= turn.end <= length:
            raise InvalidOption(f"{where} has replies that overlap or lie outside of it")
        inside[turn.start : turn.end] = [True] * (turn.end - turn.start)
        end = turn.end
    if inside != trace.sampled:
        raise InvalidOption(f"{where} marks tokens as sampled that no reply holds, or the reverse")
