"""PIPA: the stages of an interactive planner, judged one by one from its traces.

After "PIPA: A Unified Evaluation Protocol for Diagnosing Interactive Planning Agents" (2025). A
planner is seen as a decision process with five scores, each a mean of yes-or-no criteria: state
consistency (its steps serve the request), tool efficiency (calls that neither fail nor repeat),
observation alignment (what it says agrees with what it saw), policy adherence, task completion.
Who is asked here is the judge. Traces are those of a file, of recorded episodes, or ours, each with
one planted fault: there the judge itself is audited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from palestra import EpisodeRecord, InvalidOption, iter_records, measure, quote
from palestra.files import UNREADABLE
from palestra.records.record import EventRecord, TurnRecord
from palestra.runner.run_folder import FINISHED
from scipy import stats

from palestra_arena.probes.analysis import known_shares, mean_of, shares_of
from palestra_arena.probes.items import Item, ProbeSet
from palestra_arena.probes.run import Answer
from palestra_arena.probes.tables import Cell, Table
from palestra_arena.trust.judges import audit_judge

STAGES = (
    "state consistency",
    "tool efficiency",
    "observation alignment",
    "policy adherence",
    "task completion",
)
SPOKEN = ("text", "answer", "message", "reply")  # fields of actions that speak
COUNTED = ("tool efficiency", "task completion")  # in our traces; no judge is asked


class PlannerStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """One tool call: what the planner thought, called and saw; `error` if the call failed."""

    call: str
    observation: str = ""
    thought: str = ""
    error: str = ""


class PlannerTurn(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the user said, the planner's steps, and its response."""

    user: str
    steps: tuple[PlannerStep, ...] = ()
    response: str = ""


class Trace(msgspec.Struct, frozen=True, omit_defaults=True):
    """A planner's whole dialogue under its policies.

    completed: whether the task was done, if it is known; a judge is asked otherwise. satisfaction:
    the user's own rating. faulty: the stage with a planted fault, in traces that audit a judge.
    """

    id: str
    turns: tuple[PlannerTurn, ...]
    policies: tuple[str, ...] = ()
    completed: bool | None = None
    satisfaction: float | None = None
    faulty: str | None = None


def probes(traces: str = "", records: str = "") -> ProbeSet:
    """What a judge is asked about traces: those of a file of JSON lines, of recorded episodes
    (`records`, a file or a run's folder), or our own.
    """
    if traces and records:
        raise InvalidOption("pipa judges either traces=FILE or records=RUN, not both")
    if traces:
        judged: Sequence[Trace] = read_traces(traces)
    elif records:
        folder = Path(records)
        file = folder / FINISHED if folder.is_dir() else folder
        if not file.exists():
            raise InvalidOption(f"{file} does not exist; name a file of records or a run's folder")
        judged = [trace_of(record) for record in iter_records(file) if not record.error]
    else:
        judged = planted_dialogues()
    items = [item for trace in judged for item in questions(trace)]
    return ProbeSet("pipa", tuple(items), source="PIPA, 2025")


def read_traces(path: str | Path) -> list[Trace]:
    """Traces from a file of JSON lines; raises `InvalidOption`."""
    try:
        lines = Path(path).read_bytes().splitlines()
        return [msgspec.json.decode(line, type=Trace) for line in lines if line.strip()]
    except (OSError, *UNREADABLE) as error:
        raise InvalidOption(
            f"{path} holds no traces ({type(error).__name__}: {error}); write one JSON object a "
            'line: {"id": "…", "turns": [{"user": "…", "steps": [{"call": "…"}]}]}'
        ) from error


def trace_of(record: EpisodeRecord, seat: int = 0) -> Trace:
    """The trace of one seat of an episode: each decision is a step, with what it was shown after.

    The request is what the seat was shown before its first decision. A step failed if the answer
    was refused, or if an event that followed has an `error` in its data. The response is the free
    text of the last decision, if that has any. Whether the task was done is the measure `success`,
    where the environment has it.
    """
    shown = record.transcript(seat)
    own = [turn for turn in record.turns if turn.seat == seat]
    ends = [turn.seen[1] for turn in own[1:]] + [len(shown)]
    steps = tuple(
        _step_of(turn, shown[turn.seen[1] : end]) for turn, end in zip(own, ends, strict=True)
    )
    request = " ".join(event.text for event in shown[: own[0].seen[1]]) if own else ""
    success = measure(record).get("success")
    return Trace(
        f"{record.env} {record.seed} seat {seat}",
        (PlannerTurn(request, steps, _words_of(own[-1].action) if own else ""),),
        completed=None if success is None else success > 0,
    )


def _step_of(turn: TurnRecord, after: Sequence[EventRecord]) -> PlannerStep:
    failed = [str(event.data["error"]) for event in after if event.data.get("error")]
    seen = " ".join(event.text for event in after if not event.data.get("error"))
    return PlannerStep(turn.text, seen, turn.thought, "; ".join([*turn.errors, *failed]))


def _words_of(action: Any) -> str:
    """The words of an action that speaks, such as Answer(text='…')."""
    said = [action.get(name) for name in SPOKEN] if isinstance(action, dict) else []
    return next((text for text in said if isinstance(text, str)), "")


def questions(trace: Trace) -> Iterator[Item]:
    """The yes-or-no questions of a trace. Tool efficiency needs none: it is counted."""
    told = ""
    counted = [list(map(int, efficient(turn.steps))) for turn in trace.turns]
    base: dict[str, object] = {
        "trace": trace.id,
        "tools": [flags for flags in counted if flags],
        "completed": trace.completed,
        "satisfaction": trace.satisfaction,
        "faulty": trace.faulty,
    }
    for number, turn in enumerate(trace.turns):
        told += f"User: {quote(turn.user)}\n"
        for place, step in enumerate(turn.steps):
            called = _step_text(step)
            yield _item(
                trace,
                f"{number}-{place}-state",
                f"{told}{called}\nDoes this last step of the assistant serve what the user asked "
                "for, given what is known so far?",
                base | {"stage": STAGES[0], "turn": number},
            )
            told += f"{called}\n"
            told += f"Error: {quote(step.error)}\n" if step.error else ""
            told += f"Result: {quote(step.observation)}\n" if step.observation else ""
        if turn.response:
            told += f"Assistant: {quote(turn.response)}\n"
            yield _item(
                trace,
                f"{number}-observation",
                f"{told}\nDoes the assistant's last reply agree with the results that it saw?",
                base | {"stage": STAGES[2], "turn": number},
            )
    for number, policy in enumerate(trace.policies):
        yield _item(
            trace,
            f"policy-{number}",
            f"{told}\nThe assistant works under this policy: {quote(policy)}\nDoes it keep the "
            "policy in the whole dialogue?",
            base | {"stage": STAGES[3], "turn": 0},
        )
    if trace.completed is None:
        yield _item(
            trace,
            "completion",
            f"{told}\nIs the user's task done at the end?",
            base | {"stage": STAGES[4], "turn": 0},
        )


def _step_text(step: PlannerStep) -> str:
    thought = f"Thought: {quote(step.thought)}\n" if step.thought else ""
    return f"{thought}Call: {quote(step.call)}"


def _item(trace: Trace, name: str, text: str, facts: dict[str, object]) -> Item:
    return Item(
        f"{trace.id} {name}",
        f"An assistant plans for a user.\n\n{text}",
        ("yes", "no"),
        style="words",
        group=str(facts["stage"]),
        facts=facts,
    )


def efficient(steps: Sequence[PlannerStep]) -> list[bool]:
    """Whether each call succeeded and was not a repetition of an earlier one with its result."""
    seen: set[tuple[str, str]] = set()
    flags = []
    for step in steps:
        key = step.call, step.observation
        flags.append(not step.error and key not in seen)
        seen.add(key)
    return flags


class Scores(NamedTuple):
    """The five scores of a trace, nan where nothing was to be judged."""

    trace: str
    stages: tuple[float, ...]
    satisfaction: float | None
    faulty: str | None

    @property
    def mean(self) -> float:
        """The mean of the scores that there are."""
        known_ = [score for score in self.stages if score == score]
        return float(np.mean(known_)) if known_ else float("nan")


def scores(answers: Sequence[Answer]) -> list[Scores]:
    """The scores of every trace: means over turns of the means over a turn's criteria."""
    by_trace: dict[str, list[tuple[Item, float]]] = {}
    for one in known_shares(shares_of(answers)):
        by_trace.setdefault(one.item.facts["trace"], []).append((one.item, one.options[0]))
    return [_scores(trace, judged) for trace, judged in by_trace.items()]


def _scores(trace: str, judged: Sequence[tuple[Item, float]]) -> Scores:
    facts = judged[0][0].facts
    stages = []
    for stage in STAGES:
        by_turn: dict[int, list[float]] = {}
        for item, yes in judged:
            if item.facts["stage"] == stage:
                by_turn.setdefault(item.facts["turn"], []).append(yes)
        means = [float(np.mean(one)) for one in by_turn.values()]
        if stage == "tool efficiency":
            means = [float(np.mean(flags)) for flags in facts["tools"]]
        elif stage == "task completion" and facts["completed"] is not None:
            means = [float(facts["completed"])]
        stages.append(float(np.mean(means)) if means else float("nan"))
    return Scores(trace, tuple(stages), facts["satisfaction"], facts["faulty"])


def report(answers: Sequence[Answer], *, confidence: float = 0.95) -> list[Table]:
    """The five scores over traces, their relation to satisfaction, and the audit of the judge."""
    found = scores(answers)
    if not found:
        return []
    rated = [one for one in found if one.satisfaction is not None]
    rows: list[tuple[Cell, ...]] = []
    for name, values in (
        *((stage, [one.stages[i] for one in found]) for i, stage in enumerate(STAGES)),
        ("mean of the stages", [one.mean for one in found]),
    ):
        pairs = [
            (value, one.satisfaction)
            for value, one in zip(values, found, strict=True)
            if one in rated and value == value
        ]
        rows.append((name, mean_of(values, confidence, (0, 1)), _correlation(pairs)))
    note = "satisfaction: Spearman's correlation with the users' ratings, where traces have them."
    tables = [Table("Stages", ("stage", "score", "satisfaction"), tuple(rows), note)]
    audited = [one for one in found if one.faulty is not None]
    return [*tables, _audit(audited, confidence)] if len(audited) > 1 else tables


def _correlation(pairs: Sequence[tuple[float, float | None]]) -> float | None:
    if len(pairs) < 3 or len({p for p, _ in pairs}) < 2 or len({s for _, s in pairs}) < 2:
        return None
    return float(stats.spearmanr(pairs).statistic)


def _audit(found: Sequence[Scores], confidence: float) -> Table:
    """Whether the judge finds the planted faults, stage by stage."""
    rows: list[tuple[Cell, ...]] = []
    for i, stage in enumerate(STAGES):
        if stage in COUNTED:
            continue
        judged = [one for one in found if one.stages[i] == one.stages[i]]
        if len(judged) > 1:
            passed = [one.stages[i] > 0.999 for one in judged]
            audit = audit_judge(
                passed, [one.faulty != stage for one in judged], confidence=confidence
            )
            rows.append((stage, audit.agreement, audit.sensitivity, audit.specificity))
    return Table(
        "The judge against planted faults",
        ("stage", "agreement", "sound ones passed", "faults found"),
        tuple(rows),
        "a stage passes if the judge finds all of it right; what is counted is left out.",
    )


POLICY = "Book nothing before the user has agreed to the price."
TOWNS = (("Sarn", 40, "18:05"), ("Orlin", 55, "09:20"), ("Tessin", 32, "13:45"))


def planted_dialogues() -> list[Trace]:
    """For every town a sound dialogue, and one with a fault in each stage."""
    return [
        _dialogue(town, price, at, fault) for town, price, at in TOWNS for fault in ("", *STAGES)
    ]


def _dialogue(town: str, price: int, at: str, fault: str) -> Trace:
    search = PlannerStep(f"search_trains(to='{town}')", f"One train at {at}, {price} euros.")
    book = PlannerStep(f"book(train='{town} {at}')", "Booked.")
    weather = PlannerStep("find_restaurants(city='Velmar')", "12 restaurants.")
    failing = PlannerStep("search_trains()", "", error="search_trains needs the field 'to'")
    said = price - 15 if fault == STAGES[2] else price
    first: tuple[PlannerStep, ...] = (search,)
    if fault == STAGES[0]:
        first = (weather, search)
    elif fault == STAGES[1]:
        first = (failing, search)
    elif fault == STAGES[3]:
        first = (search, book)
    response = f"There is a train at {at} for {said} euros. Shall I book it?"
    if fault == STAGES[3]:
        response = f"I have booked the train at {at} for {price} euros."
    done = fault != STAGES[4]
    early = fault == STAGES[3]
    late = () if early or not done else (book,)
    last = "Your train is booked." if done else "I will leave it there, then."
    return Trace(
        f"train to {town}, {fault or 'sound'}",
        (
            PlannerTurn(f"Please find me a train to {town} tonight or tomorrow.", first, response),
            PlannerTurn("That suits me." if early else "Yes, please book it.", late, last),
        ),
        (POLICY,),
        completed=done,
        faulty=fault,
    )
