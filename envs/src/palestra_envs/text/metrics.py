"""Metrics that studies of shared resources, of bargaining and of joint plans report."""

from __future__ import annotations

from itertools import product
from math import dist

from palestra import EpisodeRecord, metric
from palestra.records.shared_measures import data_of, gini, last_fact, share_of, welfare

COMMONS, TRASH = "text/Commons-v0", "text/Trash-v0"
MAZE, NEGOTIATION = "text/CollaborationMaze-v0", "text/Negotiation-v0"
TRANSPORT = "text/Transport-v0"
ROUNDS = {COMMONS: "catch", TRASH: "clearing"}  # the event that ends a round


# Shared resources


@metric("rounds-survived", measures=(*ROUNDS,), unit="rounds", bounds=(0.0, None), better="higher")
def rounds_survived(record: EpisodeRecord) -> float:
    """Rounds played before the stock collapsed or the house was given up, or all of them."""
    return float(len(data_of(record, ROUNDS[record.env])))


@metric("survived", measures=(*ROUNDS,), bounds=(0.0, 1.0), better="higher")
def survived(record: EpisodeRecord) -> float:
    """1 if all rounds were played, else 0; its mean is the survival rate."""
    return float(rounds_survived(record) == int(record.options["rounds"]))


@metric("efficiency", measures=(COMMONS,), bounds=(0.0, 1.0), better="higher")
def efficiency(record: EpisodeRecord) -> float:
    """Total gain divided by the largest sustainable total, half the capacity per round; at most 1.

    GovSim (2024): 1 - max(0, T f - R) / (T f), with R the gain of all, T rounds and f the half.
    """
    rounds, capacity = int(record.options["rounds"]), int(record.options["capacity"])
    return min(1.0, welfare(record) / (rounds * (capacity // 2)))


@metric("over-usage", measures=(COMMONS,), bounds=(0.0, 1.0), better="lower")
def over_usage(record: EpisodeRecord) -> float | None:
    """The share of harvests that asked for more than an equal part of what grows back.

    What grows back is half the stock at that time; nothing before a harvest.
    """
    stock, over = 0.0, []
    for event in record.opening:
        stock = event.data.get("stock", stock)
    for step in record.steps:
        if any(event.kind == "catch" for event in step.events):
            asked = [turn.action["amount"] for turn in step.turns if turn.action is not None]
            over += [amount > stock / 2 / len(asked) for amount in asked]
        for event in step.events:
            stock = event.data.get("stock", stock)
    return share_of(over)


@metric("effort-equality", measures=(TRASH,), bounds=(0.0, 1.0), better="higher")
def effort_equality(record: EpisodeRecord) -> float:
    """One minus the Gini coefficient of what each player cleared away."""
    rounds = [data["cleared"] for data in data_of(record, "clearing")]
    return 1.0 - gini([sum(done) for done in zip(*rounds, strict=True)])


# Negotiation


def deals(record: EpisodeRecord) -> list[tuple[int, int]]:
    """What every split of the table is worth to both players."""
    counts: list[int] = data_of(record, "table")[0]["counts"]
    values: list[list[int]] = [data["values"] for data in data_of(record, "values")]
    found = set()
    for taken in product(*(range(count + 1) for count in counts)):
        rest = [count - mine for count, mine in zip(counts, taken, strict=True)]
        worth = [
            sum(n * v for n, v in zip(part, value, strict=True))
            for part, value in zip((taken, rest), values, strict=True)
        ]
        found.add((worth[0], worth[1]))
    return sorted(found)


def pareto_front(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The points that no other point equals or exceeds in both values."""
    return [
        one
        for one in points
        if not any(o != one and o[0] >= one[0] and o[1] >= one[1] for o in points)
    ]


def _deal(record: EpisodeRecord) -> tuple[float, float] | None:
    """What the agreed split is worth to both; None without an agreement."""
    if record.outcome is None or record.outcome.results[0] != "score":
        return None
    first, second = record.outcome.scores
    return first, second


@metric("agreement", measures=(NEGOTIATION,), bounds=(0.0, 1.0), better="higher")
def agreement(record: EpisodeRecord) -> float:
    """1 if the players agreed, else 0."""
    return float(_deal(record) is not None)


@metric(
    "pareto-distance", measures=(NEGOTIATION,), unit="points", bounds=(0.0, None), better="lower"
)
def pareto_distance(record: EpisodeRecord) -> float | None:
    """The distance of both values from the nearest efficient split; undefined without agreement.

    A split is efficient if no other is better for one player and no worse for the other.
    """
    deal = _deal(record)
    return min(dist(deal, best) for best in pareto_front(deals(record))) if deal else None


@metric("joint-value", measures=(NEGOTIATION,), bounds=(0.0, 1.0), better="higher")
def joint_value(record: EpisodeRecord) -> float:
    """Both values divided by the greatest sum that a split can have; 0 without an agreement."""
    return sum(_deal(record) or (0.0, 0.0)) / max(map(sum, deals(record)))


@metric("advantage", measures=(NEGOTIATION,), unit="points")
def advantage(record: EpisodeRecord) -> dict[str, float]:
    """A player's value minus the other's, by player; undefined without an agreement."""
    deal = _deal(record)
    if deal is None:
        return {}
    return {record.players[0]: deal[0] - deal[1], record.players[1]: deal[1] - deal[0]}


# The collaboration maze


@metric("route-covered", measures=(MAZE,), bounds=(0.0, 1.0), better="higher")
def route_covered(record: EpisodeRecord) -> float:
    """The share of the shortest way that the marker had covered at the end."""
    return float(record.outcome.scores[0]) if record.outcome else 0.0


@metric("goal-reached", measures=(MAZE,), bounds=(0.0, 1.0), better="higher")
def goal_reached(record: EpisodeRecord) -> float:
    """1 if the marker reached the goal, else 0."""
    return float(route_covered(record) == 1)


@metric("messages", measures=(MAZE, NEGOTIATION, COMMONS, TRASH), bounds=(0.0, None))
def messages(record: EpisodeRecord) -> float:
    """Messages that players wrote to others."""
    return float(len(data_of(record, "message")))


# Advice, programs and shared memories


@metric(
    "questions-asked",
    measures=("text/Advice-v0",),
    unit="questions",
    bounds=(0.0, None),
    better="lower",
)
def questions_asked(record: EpisodeRecord) -> float:
    """Questions that the person was asked."""
    return float(sum("said" in event for event in data_of(record, "reveal")))


@metric("type-known", measures=("text/Advice-v0",), bounds=(0.0, 1.0), better="higher")
def type_known(record: EpisodeRecord) -> float:
    """The chance that a Bayesian user model gives the person's true type at the end."""
    return float(last_fact(record, "belief")[last_fact(record, "type")])


@metric("test-accuracy", measures=("text/MLEngineering-v0",), bounds=(0.0, 1.0), better="higher")
def accuracy_on_tests(record: EpisodeRecord) -> float | None:
    """The share of test rows whose label was submitted rightly; undefined if cut off."""
    found = [event["accuracy"] for event in data_of(record, "reveal") if "accuracy" in event]
    return float(found[-1]) if found else None


@metric("memory-coverage", measures=("text/SharedMemory-v0",), bounds=(0.0, 1.0), better="higher")
def memory_coverage(record: EpisodeRecord) -> float:
    """The share of the questions asked whose answer was in the memory."""
    return float(last_fact(record, "local")[0])


# Questions of which some need a tool


def _by_question(record: EpisodeRecord) -> list[tuple[bool, int]]:
    """For every question answered, whether it needed its tool, and the calls made for it."""
    needs, called = last_fact(record, "needs"), last_fact(record, "called")
    answered = last_fact(record, "answered")
    return list(zip(needs, called, strict=False))[: len(answered)]


@metric("overuse", measures=("text/MixedQuestions-v0",), bounds=(0.0, 1.0), better="lower")
def overuse(record: EpisodeRecord) -> float | None:
    """The share of questions answered without need of a tool for which one was called."""
    return share_of([calls > 0 for needed, calls in _by_question(record) if not needed])


@metric("underuse", measures=("text/MixedQuestions-v0",), bounds=(0.0, 1.0), better="lower")
def underuse(record: EpisodeRecord) -> float | None:
    """The share of questions answered that needed a tool for which none was called."""
    return share_of([calls == 0 for needed, calls in _by_question(record) if needed])


@metric(
    "accuracy-per-call", measures=("text/MixedQuestions-v0",), bounds=(0.0, None), better="higher"
)
def accuracy_per_call(record: EpisodeRecord) -> float | None:
    """Right answers for each call that was made; undefined without calls."""
    answered, called = last_fact(record, "answered"), last_fact(record, "called")
    if not answered or not sum(called):
        return None
    return float(sum(answered) / sum(called))


# Transport


@metric("rooms-doubled", measures=(TRANSPORT,), bounds=(0.0, 1.0), better="lower")
def rooms_doubled(record: EpisodeRecord) -> float | None:
    """The share of looks into a room that another player had seen before; nothing without looks.

    A look is that of a player who enters a room of which it does not know what lies there.
    """
    seen: set[str] = set()
    doubled = []
    for event in (event for step in record.steps for event in step.events):
        if event.kind == "reveal" and "room" in event.data:
            doubled.append(event.data["room"] in seen)
            seen.add(event.data["room"])
    return share_of(doubled)


@metric("moves-to-talk", measures=(TRANSPORT,), bounds=(0.0, 1.0))
def moves_to_talk(record: EpisodeRecord) -> float | None:
    """The share of moves that are spent on messages and reports."""
    moves = [turn.action for step in record.steps for turn in step.turns if turn.action is not None]
    return share_of([move["type"] in ("Say", "Report") for move in moves])
