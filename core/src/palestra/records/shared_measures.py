"""Measures that many environments share, and helpers for measures of one game."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from palestra.catalogue.declare import metric
from palestra.records.record import EpisodeRecord

DECIDED = ("win", "draw", "loss", "forfeit")  # results of a game played to its end


@metric("win", needs=("zero-sum",), bounds=(0.0, 1.0))
def win(record: EpisodeRecord) -> dict[str, float] | None:
    """1 if the seat won, else 0, by player.

    Undefined in an episode that was cut short, or whose results are not wins and losses.
    """
    if record.outcome is None or not set(record.outcome.results) <= set(DECIDED):
        return None
    results = zip(record.players, record.outcome.results, strict=True)
    return {player: float(result == "win") for player, result in results}


@metric("draw", needs=("zero-sum",), bounds=(0.0, 1.0))
def draw(record: EpisodeRecord) -> float | None:
    """1 if the game was drawn, else 0; undefined in an episode that was cut short."""
    if record.outcome is None or not set(record.outcome.results) <= set(DECIDED):
        return None
    return float(all(result == "draw" for result in record.outcome.results))


@metric("success", needs=("one seat",), bounds=(0.0, 1.0), better="higher")
def success(record: EpisodeRecord) -> float | None:
    """1 if the player reached the goal, else 0, also when the game's own time ran out.

    Undefined where an episode ends with points only, or was cut short from outside.
    """
    if record.outcome is None or record.outcome.results[0] in ("score", "none"):
        return None
    cut = not record.steps or not record.steps[-1].turns  # by a runner, in a step of its own
    if record.outcome.results[0] == "truncated" and cut:
        return None
    return float(record.outcome.results[0] == "win")


@metric("progress", bounds=(0.0, 1.0), better="higher")
def progress(record: EpisodeRecord) -> float | None:
    """How much of the task was done at the end, where the game reports it (`record_facts`).

    Such as cells filled, boxes on goals, subgoals reached, or the part of the way that is covered.
    """
    found = last_fact(record, "progress")
    return None if found is None else float(found)


@metric("length", unit="steps", bounds=(0.0, None))
def length(record: EpisodeRecord) -> float:
    """Steps in which somebody decided; those who decide together share one step."""
    return float(sum(bool(step.turns) for step in record.steps))


@metric("welfare", needs=("several seats", "general"), better="higher")
def welfare(record: EpisodeRecord) -> float:
    """The sum of all seats' returns."""
    return float(sum(record.returns))


@metric("equality", needs=("several seats", "general"), bounds=(0.0, 1.0), better="higher")
def equality(record: EpisodeRecord) -> float | None:
    """One minus the Gini coefficient of returns, whose signs are left out in its denominator."""
    return 1.0 - gini(record.returns) if len(record.returns) > 1 else None


def gini(amounts: Sequence[float]) -> float:
    """The Gini coefficient: the sum of |x_i - x_j| over all pairs, divided by 2 n times sum |x_i|.

    It is 0 if all amounts are equal, and (n - 1) / n if one of n has everything. With amounts
    below 0, the denominator counts absolute values, as in Chen, Tsaur & Rhai (1982) and Raffinetti,
    Siletti & Vernizzi (2015), so that it stays inside [0, 1].
    """
    size, n = sum(abs(amount) for amount in amounts), len(amounts)
    if not size:
        return 0.0
    ranked = sorted(amounts)
    pairs = sum((2 * rank - n + 1) * amount for rank, amount in enumerate(ranked))
    return pairs / (n * size)


@metric("tokens", unit="tokens", bounds=(0.0, None), better="lower")
def tokens(record: EpisodeRecord) -> float | None:
    """Tokens that all seats' models read and wrote, refused answers included; undefined without."""
    return float(sum(spent.tokens for _, spent in record.usages)) or None


@metric(
    "tokens-per-welfare",
    needs=("several seats", "general"),
    unit="tokens",
    bounds=(0.0, None),
    better="lower",
)
def tokens_per_welfare(record: EpisodeRecord) -> float | None:
    """Tokens per unit of welfare; undefined without tokens, or if the welfare is not above 0."""
    spent, gained = tokens(record), welfare(record)
    return spent / gained if spent and gained > 0 else None


def data_of(record: EpisodeRecord, kind: str) -> list[dict[str, Any]]:
    """The data of all events of a kind, in order."""
    return [event.data for event in record.events if event.kind == kind]


def last_fact(record: EpisodeRecord, name: str) -> Any:
    """The last value of a fact that the game reports about its state; None if it never did."""
    for step in reversed(record.steps):
        if name in step.facts:
            return step.facts[name]
    return record.facts.get(name)


def share_of(held: Iterable[bool]) -> float | None:
    """The share that is true; None if there is nothing to count."""
    flags = [bool(flag) for flag in held]
    return sum(flags) / len(flags) if flags else None


def mean_of(values: Iterable[float]) -> float | None:
    """The mean; None if there is nothing to count."""
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else None


def term_total(record: EpisodeRecord, term: str, seat: int | None = None) -> float:
    """The sum of one reward term over the episode, of all seats or of one."""
    return float(
        sum(
            terms.get(term, 0.0)
            for step in record.steps
            for who, terms in step.rewards.items()
            if seat is None or who == seat
        )
    )


def term_count(record: EpisodeRecord, term: str, seat: int | None = None) -> int:
    """How often a reward term was paid, to all seats or to one."""
    return sum(
        term in terms
        for step in record.steps
        for who, terms in step.rewards.items()
        if seat is None or who == seat
    )
