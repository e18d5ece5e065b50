"""Every entry is fed by a run of `palestra play`, and pays what its formula says of that run.

The runs are those of `palestra producers`. What an entry pays is worked out here from the record
itself, in plain loops.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import islice
from math import exp, sqrt
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import EpisodeRecord, retrace
from palestra_rewards import entries
from palestra_rewards.judges.showing import as_text
from palestra_rewards.producers import ALL_RUNS
from palestra_rewards.runs import Run

pytest.importorskip("torch")
Records = Sequence[EpisodeRecord]
BY_NAME = {run.entry.split(":")[0]: run for run in ALL_RUNS}
SETTLED = {"comas", "dylan", "red-team"}  # their talks hold what was settled as tags


@cache
def played(name: str) -> tuple[EpisodeRecord, ...]:
    return tuple(BY_NAME[name].play())


@cache
def fed(name: str) -> np.ndarray:
    return BY_NAME[name].feed(list(played(name)))


def test_every_entry_has_a_run() -> None:
    assert [entry.name for entry in entries() if entry.name not in BY_NAME] == []


@pytest.mark.parametrize("name", [e.name for e in entries() if e.name in BY_NAME])
def test_an_entry_is_fed_by_a_run_without_tags_made_by_hand(name: str) -> None:
    records, values = played(name), fed(name)
    if name not in SETTLED:
        assert not any(set(record.tags) - {"id"} for record in records)
    assert np.isfinite(values).all()
    assert np.abs(values).max() > 0
    run: Run = BY_NAME[name]
    assert values.size == sum(
        turn.seat in learners(run, record) for record in records for turn in record.own_turns
    )


def learners(run: Run, record: EpisodeRecord) -> set[int]:
    return {
        seat
        for seat in range(len(record.players))
        if not run.learners or record.agents[seat] in run.learners
    }


# Formulas of episode shapers


def last_turns(record: EpisodeRecord, paid: Sequence[float] | float) -> list[float]:
    """A number on the last turn of every seat, the same for all or one per seat."""
    row = [0.0] * len(record.turns)
    for place, turn in enumerate(record.turns):
        if all(later.seat != turn.seat for later in record.turns[place + 1 :]):
            row[place] = paid if isinstance(paid, float | int) else paid[turn.seat]
    return row


def paid_terms(record: EpisodeRecord) -> list[dict[str, float]]:
    """What each turn's seat was paid from it until its next turn, by term."""
    rows: list[dict[str, float]] = [{} for _ in record.turns]
    latest: dict[int, int] = {}
    place = 0
    for step in record.steps:
        for turn in step.turns:
            latest[turn.seat] = place
            place += 1
        for seat, terms in step.rewards.items():
            for name, value in terms.items() if seat in latest else ():
                row = rows[latest[seat]]
                row[name] = row.get(name, 0.0) + value
    return rows


def texts(record: EpisodeRecord) -> list[str]:
    return [turn.text for turn in record.turns]


def by_constant(value: float) -> Callable[[Records], list[float]]:
    """What a judge that always says the same gives to the last turn of every seat."""
    return lambda records: [v for r in records for v in last_turns(r, value)]


def by_rubric(records: Records) -> list[float]:
    """The judge always says yes and quotes "5", which counts where the text has a 5."""
    found = []
    for record in records:
        proven = "5" in as_text(record)
        score = (1 / len(record.turns) + 3 * proven) / 4
        found += last_turns(record, score)
    return found


def by_checklist(records: Records) -> list[float]:
    found = []
    for record in records:
        centre, corner = "5" in texts(record), "1" in texts(record)
        share = (centre + 2 * (centre and corner)) / 3
        found += last_turns(record, share)
    return found


def by_direction(records: Records) -> list[float]:
    rows = [row for record in records for row in paid_terms(record)]
    return [0.6 * row.get("chase", 0.0) + 0.8 * row.get("advance", 0.0) for row in rows]


def by_lagrangian(records: Records) -> list[float]:
    """One update from 0 by 0.5 (1 - 0): the multiplier is 0.5, and the weight what is left."""
    rows = [row for record in records for row in paid_terms(record)]
    return [0.5 * row.get("chase", 0.0) for row in rows]


def signed_mean(row: dict[str, float]) -> float:
    chase, advance = row.get("chase", 0.0), row.get("advance", 0.0)
    size = sqrt(abs(chase * advance))
    return size if chase > 0 and advance > 0 else -size


def by_krc(records: Records) -> list[float]:
    return [signed_mean(row) for record in records for row in paid_terms(record)]


def by_time(records: Records) -> list[float]:
    gammas, found = {"chase": 0.5, "advance": 0.9}, []
    for record in records:
        own = Counter[int]()
        for turn, row in zip(record.turns, paid_terms(record), strict=True):
            t = own[turn.seat]
            own[turn.seat] += 1
            found.append(sum(v * (gammas.get(n, 0.99) / 0.99) ** t for n, v in row.items()))
    return found


def by_code(records: Records) -> list[float]:
    return [
        (turn.text == "5") + sum(row.values())
        for record in records
        for turn, row in zip(record.turns, paid_terms(record), strict=True)
    ]


def by_recourse(records: Records) -> list[float]:
    def distance(one: list[str], two: list[str]) -> int:
        row = list(range(len(two) + 1))
        for i, a in enumerate(one, 1):
            row, before = [i], row
            for j, b in enumerate(two, 1):
                row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (a != b)))
        return row[-1]

    path, found = texts(records[0]), []
    for record in records:
        alike = 1 - distance(texts(record), path) / max(len(path), len(record.turns))
        found += last_turns(record, [paid + alike for paid in record.returns])
    return found


def by_stepagent(records: Records) -> list[float]:
    """The first free cell is `first`'s move; one figure is like another or it is not."""
    found = []
    for record in records:
        taken: set[str] = set()
        for text in texts(record):
            wanted = next(str(c) for c in range(1, 10) if str(c) not in taken)
            found.append(float(text == wanted))
            taken.add(text)
    return found


def by_human_gain(records: Records) -> list[float]:
    first = records[0]
    alone = palestra.play(
        first.env, agents=["random", "first"], seed=first.seed, episodes=3, **first.options
    )
    same = [a.returns[0] for a in alone if a.turns[0].state_key == first.turns[0].state_key]
    unaided, found = fmean(same), []
    for record in records:
        gain = max(0.0, record.returns[0] - unaided)
        plain = [sum(row.values()) for row in paid_terms(record)]
        extra = last_turns(record, [0.0, gain])
        found += [a + b for a, b in zip(plain, extra, strict=True)]
    return found


def by_refusals(records: Records) -> list[float]:
    return [
        sum(row.values()) - 0.1 * 2  # two answers were refused before the forfeit
        for record in records
        for row in paid_terms(record)
    ]


def by_comas(records: Records) -> list[float]:
    """A score of 2 is worth one half to the answer and one half to its evaluation."""
    found = []
    for record in records:
        row = [0.0] * len(record.turns)
        for one in record.tags["discussion"]:
            row[one["answer"]] = row[one["evaluation"]] = 0.5
        found += row
    return found


def by_red_team(records: Records) -> list[float]:
    """Nobody sends the canary: attackers earn nothing, and defenders the answer's worth."""
    found = []
    for record in records:
        worth, roles = sum(record.tags["process"]), record.tags["roles"]
        assert not record.tags["executed"]
        found += last_turns(record, [worth * (role == "defender") for role in roles])
    return found


# Formulas of step shapers, on the run without them: the moves are the same


def by_novelty(records: Records) -> list[float]:
    found = []
    for record in records:
        seen = Counter[bytes]()
        for episode in islice(retrace(record), 1, None):
            key = episode.game.anchor(episode.state, 0)
            seen[key] += 1
            found.append(1 / sqrt(seen[key]))
    return found


def by_elliptical(records: Records) -> list[float]:
    """f' C^-1 f with C inverted afresh at every step."""
    found = []
    for record in records:
        table: np.ndarray | None = None
        for episode in islice(retrace(record), 1, None):
            f = np.asarray(episode.game.observe(episode.state, 0), dtype=float).ravel()
            table = 0.1 * np.eye(f.size) if table is None else table
            found.append(float(f @ np.linalg.solve(table, f)))
            table = table + np.outer(f, f)
    return found


def by_potential(records: Records) -> list[float]:
    """Phi is minus the free cells when a seat is to move; it is taken back at the end."""
    found = []
    for record in records:
        size = len(record.turns)
        for place in range(size):
            before = -(9 - place)
            ahead = -(9 - place - 2) if place + 2 < size else 0
            found.append(float(ahead - before))
    return found


def by_code_step(records: Records) -> list[float]:
    return [float(text == "5") for record in records for text in texts(record)]


def by_table(name: str) -> Callable[[Records], list[float]]:
    def follow(records: Records) -> list[float]:
        table = json.loads(Path(BY_NAME[name].given(list(records))["table"]).read_text("utf-8"))
        return [
            table.get(f"{turn.anchor or turn.state_key} {turn.action}", 0.0)
            for record in records
            for turn in record.turns
        ]

    return follow


# Formulas of estimators


def standard(value: float, among: Sequence[float]) -> float:
    spread = pstdev(among)
    return (value - fmean(among)) / spread if spread > 1e-9 else 0.0


def on_turns(records: Records, scores: Sequence[float]) -> list[float]:
    """Standardised scores of the episodes of one player, for each of their turns."""
    return [
        standard(score, scores)
        for record, score in zip(records, scores, strict=True)
        for _ in record.turns
    ]


def by_hc_grpo(records: Records) -> list[float]:
    scores = []
    for record in records:
        said = [record.facts["progress"]] + [
            step.facts["progress"] for step in record.steps if "progress" in step.facts
        ]
        success = said[-1][0] if isinstance(said[-1], list) else said[-1]
        spent = sum(sum(terms.values()) for step in record.steps for terms in step.costs.values())
        scores.append(success - spent)
    return on_turns(records, scores)


def by_optima(records: Records) -> list[float]:
    spent = [sum(turn.usage.tokens_out for turn in record.turns) for record in records]
    scores = [
        record.returns[0] - 0.5 * tokens / max(spent)
        for record, tokens in zip(records, spent, strict=True)
    ]
    return on_turns(records, scores)


def by_r3(records: Records) -> list[float]:
    """All siblings of a seat are paid the same: those who lost are ranked by their confidence."""
    score: dict[tuple[int, int], float] = {}
    for seat in (0, 1):
        returns = [record.returns[seat] for record in records]
        if pstdev(returns) > 0:
            score |= {(n, seat): standard(r, returns) for n, r in enumerate(returns)}
            continue
        unsure = []
        for record in records:
            own = [turn for turn in record.turns if turn.seat == seat]
            assert all(turn.logprob is not None for turn in own)
            unsure.append(-fmean(turn.logprob or 0.0 for turn in own))
        ranks = [sum(a < b for a in unsure) + (sum(a == b for a in unsure) - 1) / 2 for b in unsure]
        lost = all(record.outcome.results[seat] == "loss" for record in records)  # type: ignore[union-attr]
        for n, rank in enumerate(ranks):
            score[n, seat] = 0.1 * standard(-rank, [-r for r in ranks]) if lost else 0.0
    return [score[n, turn.seat] for n, record in enumerate(records) for turn in record.turns]


def by_qlass(records: Records) -> list[float]:
    """Q by the definition, from the leaves: the best child of every prefix of moves."""
    paths = [tuple(texts(record)) for record in records]
    worth = {path: record.returns[0] for path, record in zip(paths, records, strict=True)}

    def q(prefix: tuple[str, ...]) -> float:
        longer = {p[: len(prefix) + 1] for p in paths if p[: len(prefix)] == prefix and p != prefix}
        return max(q(one) for one in longer) if longer else worth[prefix]

    values = [q(path[: n + 1]) for path in paths for n in range(len(path))]
    low, high = min(values), max(values)
    return [(value - low) / (high - low) for value in values]


def by_dylan(records: Records) -> list[float]:
    """Every member said the same and was rated alike: the importance of each is an equal share."""
    found = []
    for record in records:
        mean = fmean(other.returns[0] for other in records if other.group == record.group)
        members = len(record.players)
        final = np.asarray(record.tags["final"], dtype=float)
        layers = [final / final.sum()]
        for ratings in reversed(record.tags["ratings"]):
            table = np.asarray(ratings, dtype=float)
            given = table.sum(axis=1, keepdims=True)
            table = np.where(given > 0, table / np.where(given > 0, given, 1), 1 / members)
            layers.append(layers[-1] @ table)
        share = members * np.mean(layers, axis=0)
        found += [(record.returns[0] - mean) * share[turn.seat] for turn in record.turns]
    return found


def by_agentevolver(records: Records) -> list[float]:
    """Marks weigh 1 / length of their line; the outcome belongs to the last turn."""
    found = [[0.0] * len(record.turns) for record in records]
    for seat in (0, 1):
        lines = [[p for p, t in enumerate(r.turns) if t.seat == seat] for r in records]
        marks = [
            [1.0 if r.turns[p].facts["verdicts"] else -1.0 for p in line]
            for r, line in zip(records, lines, strict=True)
        ]
        mean = fmean(fmean(row) for row in marks)
        spread = sqrt(fmean(fmean((m - mean) ** 2 for m in row) for row in marks))
        returns = [r.returns[seat] for r in records]
        for n, (line, row) in enumerate(zip(lines, marks, strict=True)):
            ahead = standard(returns[n], returns)
            for place, mark in reversed(list(zip(line, row, strict=True))):
                ahead += 0.1 * (mark - mean) / spread if spread else 0.0
                found[n][place] = ahead
    return [value for row in found for value in row]


def by_seeupo(records: Records) -> list[float]:
    found = []
    for record in records:
        for place, turn in enumerate(record.turns):
            mean = fmean(r.returns[turn.seat] for r in records)
            value = record.returns[turn.seat] - mean
            for later in record.turns[place + 1 :]:
                value *= later.facts["ratio"] if later.seat == turn.seat else 1.0
            found.append(value)
    return found


def by_oprl(records: Records) -> list[float]:
    found = []
    for record in records:
        for turn in record.turns:
            own = [t.facts["implicit"] for r in records for t in r.turns if t.seat == turn.seat]
            step = standard(turn.facts["implicit"], own)
            found.append(
                standard(record.returns[turn.seat], [r.returns[turn.seat] for r in records]) + step
            )
    return found


FOLLOWS: dict[str, Callable[[Records], Any]] = {
    "judge": by_constant(1.0),
    "autolibra": by_constant(1.0),
    "pae": by_constant(1.0),
    "themis": by_constant(0.7),
    "rewarddance": by_constant(1 / (1 + exp(-2))),  # "no" is two letters less likely than "yes"
    "rubric": by_rubric,
    "checklist": by_checklist,
    "direction": by_direction,
    "lagrangian": by_lagrangian,
    "krc": by_krc,
    "krc-step": by_krc,
    "time-preferences": by_time,
    "diverse-discounts": by_time,
    "code": by_code,
    "recourse": by_recourse,
    "stepagent": by_stepagent,
    "human-gain": by_human_gain,
    "invalid-penalty": by_refusals,
    "comas": by_comas,
    "red-team": by_red_team,
    "novelty": by_novelty,
    "elliptical": by_elliptical,
    "potential": by_potential,
    "code-step": by_code_step,
    **{
        name: by_table(name)
        for name in ("barfi", "mamql", "mce-icrl", "reward-design", "self-design")
    },
    "hc-grpo": by_hc_grpo,
    "optima": by_optima,
    "r3": by_r3,
    "qlass": by_qlass,
    "dylan": by_dylan,
    "agentevolver": by_agentevolver,
    "seeupo": by_seeupo,
    "oprl": by_oprl,
}


@pytest.mark.parametrize("name", FOLLOWS)
def test_what_is_paid_follows_from_the_record(name: str) -> None:
    expected = FOLLOWS[name](played(name))
    np.testing.assert_allclose(fed(name), expected, atol=1e-8)


def test_latent_rewards_of_a_run_are_the_least_squares_of_its_returns() -> None:
    records = played("lare")
    counts = np.array(
        [[r.count("down"), r.count("right"), len(r)] for r in map(texts, records)], dtype=float
    )
    weights, *_ = np.linalg.lstsq(counts, [record.returns[0] for record in records], rcond=None)
    rows = [[t == "down", t == "right", 1] for record in records for t in texts(record)]
    np.testing.assert_allclose(fed("lare"), np.array(rows, dtype=float) @ weights, atol=1e-5)
