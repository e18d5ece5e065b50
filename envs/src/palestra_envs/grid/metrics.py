"""Metrics that studies of grid worlds report."""

from __future__ import annotations

from palestra import EpisodeRecord, metric
from palestra.grids.compass import MOVES
from palestra.records.shared_measures import (
    data_of,
    last_fact,
    mean_of,
    share_of,
    term_count,
    term_total,
)

from palestra_envs.grid.kitchen.rules import SOUP_PAYS

SOCIAL = ("grid/CleanUp-v0", "grid/Harvest-v0")


def steps_of(record: EpisodeRecord) -> int:
    """Steps in which somebody decided, at least 1."""
    return max(1, sum(bool(step.turns) for step in record.steps))


@metric(
    "throughput",
    measures=("grid/PathFinding-v0",),
    unit="goals a step",
    bounds=(0.0, None),
    better="higher",
)
def throughput(record: EpisodeRecord) -> float:
    """Goals reached by all seats, per step."""
    return term_total(record, "goals") / steps_of(record)


@metric("idle-share", measures=("grid/PathFinding-v0",), bounds=(0.0, 1.0), better="lower")
def idle_share(record: EpisodeRecord) -> float:
    """The share of seats that reached no goal at all."""
    seats = range(len(record.players))
    return sum(not term_count(record, "goals", seat) for seat in seats) / len(record.players)


# Delivery


@metric("margin", measures=("grid/Delivery-v0",), unit="dollars an order", better="higher")
def margin(record: EpisodeRecord) -> float:
    """Profit per order.

    Each order books repairs once, so repairs count the orders.
    """
    return float(sum(record.returns)) / max(1, term_count(record, "repair"))


@metric(
    "break-even",
    measures=("grid/Delivery-v0",),
    unit="orders",
    bounds=(0.0, None),
    better="lower",
)
def break_even(record: EpisodeRecord) -> float | None:
    """The number of orders that pay for a robot; undefined if the margin is not positive."""
    profit = margin(record)
    return float(record.options["robot_price"]) / profit if profit > 0 else None


@metric("injuries", measures=("grid/Delivery-v0",), bounds=(0.0, None), better="lower")
def injuries(record: EpisodeRecord) -> float:
    """Steps in which a robot injured somebody, summed over robots."""
    return float(term_count(record, "injury"))


# Social dilemmas


@metric("sustainability", measures=SOCIAL, unit="steps", bounds=(0.0, None), better="higher")
def sustainability(record: EpisodeRecord) -> float | None:
    """The mean step, from 1, at which a player eats an apple, averaged over players.

    Late apples mean that the stock lasts (Perolat et al. 2017). Players who ate none do not count.
    """
    eaten: dict[int, list[int]] = {}
    for number, step in enumerate(record.steps, 1):
        for seat, terms in step.rewards.items():
            if terms.get("apples", 0) > 0:
                eaten.setdefault(seat, []).append(number)
    return mean_of(sum(when) / len(when) for when in eaten.values())


@metric("apples", measures=SOCIAL, unit="apples", bounds=(0.0, None), better="higher")
def apples(record: EpisodeRecord) -> float:
    """Apples that all players ate."""
    return term_total(record, "apples")


@metric("fine-rate", measures=SOCIAL, unit="fines a step", bounds=(0.0, None), better="lower")
def fine_rate(record: EpisodeRecord) -> float:
    """Players that were hit by a fining beam, per step: the opposite of peace."""
    return term_count(record, "fines") / steps_of(record)


@metric("cleaning-share", measures=("grid/CleanUp-v0",), bounds=(0.0, 1.0))
def cleaning_share(record: EpisodeRecord) -> float | None:
    """The share of moves that cleaned or tried to."""
    return share_of(turn.text == "clean" for turn in record.turns if turn.text)


# Finding and gathering


@metric("fetched", measures=("grid/Fetch-v0",), bounds=(0.0, 1.0), better="higher")
def fetched(record: EpisodeRecord) -> float:
    """1 if the wanted mug was brought, else 0."""
    return float(term_total(record, "success") > 0)


@metric("search-cost", measures=("grid/Fetch-v0",), bounds=(0.0, None), better="lower")
def search_cost(record: EpisodeRecord) -> float:
    """What going, asking and recalling cost all players together."""
    return -sum((term_total(record, term) for term in ("go", "ask", "recall")), 0.0)


@metric("times-asked", measures=("grid/Fetch-v0",), unit="questions", bounds=(0.0, None))
def times_asked(record: EpisodeRecord) -> float:
    """Questions that the user was asked."""
    return float(term_count(record, "ask"))


@metric("food-share", measures=("grid/Foraging-v0",), bounds=(0.0, 1.0), better="higher")
def food_share(record: EpisodeRecord) -> float | None:
    """The share of all food, by level, that was loaded; undefined without normalize_reward."""
    if not record.options["normalize_reward"]:
        return None
    paid = (terms.get("food", 0.0) for step in record.steps for terms in step.rewards.values())
    return min(1.0, sum(amount for amount in paid if amount > 0))


@metric("fruit-share", measures=("grid/Fruit-v0",), bounds=(0.0, 1.0), better="higher")
def fruit_share(record: EpisodeRecord) -> float:
    """The share of the fruits that were eaten."""
    number = int(record.options["num_fruits"])
    return sum(term_count(record, f"fruit_{fruit}") > 0 for fruit in range(number)) / number


@metric("soups", measures=("grid/Kitchen-v0",), unit="soups", bounds=(0.0, None), better="higher")
def soups(record: EpisodeRecord) -> float:
    """Soups delivered by the whole team."""
    return term_total(record, "soup", seat=0) / SOUP_PAYS


@metric("foods-taken", measures=("grid/SignalForaging-v0",), unit="foods", better="higher")
def foods_taken(record: EpisodeRecord) -> float:
    """Steps in which the team was paid for the right food."""
    return float(sum(term > 0 for term in _paid(record, "success", 0)))


@metric("vocabulary-used", measures=("grid/SignalForaging-v0",), bounds=(0.0, 1.0))
def vocabulary_used(record: EpisodeRecord) -> float:
    """The share of the tokens that somebody said."""
    said = {turn.action // len(MOVES) for turn in record.turns if turn.action is not None}
    return len(said) / int(record.options["vocabulary"])


def _paid(record: EpisodeRecord, term: str, seat: int) -> list[float]:
    """A reward term of one seat, step by step."""
    return [step.rewards.get(seat, {}).get(term, 0.0) for step in record.steps]


@metric("goal-share", measures=("grid/XLand-v0",), bounds=(0.0, 1.0), better="higher")
def goal_share(record: EpisodeRecord) -> float:
    """The share of steps in which a player's goal was true, averaged over players."""
    return term_total(record, "goal") / (len(record.players) * steps_of(record))


@metric("contact-rate", measures=("grid/Particles-v0",), bounds=(0.0, 1.0))
def contact_rate(record: EpisodeRecord) -> float:
    """The share of steps in which some players touched, where the scenario pays for it.

    In `spread` a touch is a collision between partners; in `tag` it is a catch.
    """
    touched = [any("contacts" in terms for terms in s.rewards.values()) for s in record.steps]
    return sum(touched) / steps_of(record)


@metric("mean-distance", measures=("grid/Particles-v0",), bounds=(0.0, None), better="lower")
def mean_distance(record: EpisodeRecord) -> float | None:
    """The first player's mean distance term per step, without its sign; undefined if there is none.

    In `spread` it is the distance of landmarks from the player nearest to each.
    """
    if not term_count(record, "distance", seat=0):
        return None
    return abs(term_total(record, "distance", seat=0)) / steps_of(record)


@metric("catch-steps", measures=("grid/Pursuit-v0",), unit="steps", bounds=(0.0, None))
def catch_steps(record: EpisodeRecord) -> float:
    """Steps in which at least one evader was caught."""
    caught = [any("catches" in terms for terms in s.rewards.values()) for s in record.steps]
    return float(sum(caught))


@metric("all-caught", measures=("grid/Pursuit-v0",), bounds=(0.0, 1.0), better="higher")
def all_caught(record: EpisodeRecord) -> float:
    """1 if no evader was left before time was up, else 0."""
    ended = record.outcome is not None and "truncated" not in record.outcome.results
    return float(ended and "forfeit" not in record.outcome.results)  # type: ignore[union-attr]


# Wildfire


@metric("trees-saved", measures=("grid/Wildfire-v0",), bounds=(0.0, 1.0), better="higher")
def trees_saved(record: EpisodeRecord) -> float:
    """The share of the trees at the start that still stand."""
    return float(last_fact(record, "progress"))


@metric("houses-lost", measures=("grid/Wildfire-v0",), bounds=(0.0, None), better="lower")
def houses_lost(record: EpisodeRecord) -> float:
    """How many houses burned down."""
    return float(sum(event["houses"] for event in data_of(record, "lost")))


# Car-ball


@metric(
    "steps-to-score",
    measures=("grid/CarBall-v0",),
    unit="steps",
    bounds=(1.0, None),
    better="lower",
)
def steps_to_score(record: EpisodeRecord) -> float | None:
    """Steps until a team scores; undefined if none does."""
    return float(len(record.steps)) if data_of(record, "goal") else None
