"""Measures of puzzles and guessing games for one player."""

from __future__ import annotations

from palestra import EpisodeRecord, metric
from palestra.records.shared_measures import data_of, share_of

ASKING = ("games/GuessMyCity-v0", "games/TwentyQuestions-v0")


@metric("greatest-tile", measures=("games/Game2048-v0",), bounds=(0.0, None), better="higher")
def greatest_tile(record: EpisodeRecord) -> float | None:
    """The greatest tile on the board at the end; undefined if the game was cut short."""
    said = record.outcome.reason if record.outcome else ""
    number = said.rsplit(" ", 1)[-1]
    return float(number) if number.isdecimal() else None


@metric("milestones-reached", measures=("games/Mining-v0",), bounds=(0.0, 1.0), better="higher")
def milestones_reached(record: EpisodeRecord) -> float:
    """The share of gathering and crafting on the way to the diamond that was done."""
    done = {
        data.get("block") or data["tool"]
        for kind in ("dig", "craft")
        for data in data_of(record, kind)
    }
    return len(done - {""}) / 7


@metric("values-right", measures=("games/LogicGrid-v0",), bounds=(0.0, 1.0), better="higher")
def values_right(record: EpisodeRecord) -> float:
    """The share of values that were noted in the right house at the end."""
    return float(record.outcome.scores[0]) if record.outcome else 0.0


@metric("steps-to-goal", measures=("games/FrozenLake-v0",), unit="steps", better="lower")
def steps_to_goal(record: EpisodeRecord) -> float | None:
    """Steps until the goal was reached; undefined if it was not."""
    won = record.outcome is not None and record.outcome.results[0] == "win"
    return float(len(data_of(record, "move"))) if won else None


@metric("blocked-plans", measures=("games/PlanPath-v0",), bounds=(0.0, 1.0), better="lower")
def blocked_plans(record: EpisodeRecord) -> float | None:
    """The share of plans that were cut off by a wall or the edge; undefined without a plan."""
    return share_of(data["blocked"] for data in data_of(record, "walk"))


@metric("wrong-letters", measures=("games/Hangman-v0",), unit="letters", better="lower")
def wrong_letters(record: EpisodeRecord) -> float:
    """Letters that were guessed and are not in the word."""
    guessed = [data for data in data_of(record, "reveal") if "pattern" in data]
    return float(sum(data["letter"] not in data["pattern"] for data in guessed))


@metric("guesses", measures=("games/Wordle-v0", *ASKING), unit="guesses", better="lower")
def guesses(record: EpisodeRecord) -> float:
    """Words or things that were named as the answer."""
    return float(sum("marks" in d or "guess" in d for d in data_of(record, "reveal")))


@metric("questions", measures=ASKING, unit="questions", better="lower")
def questions(record: EpisodeRecord) -> float:
    """Questions that the host answered, guesses not counted."""
    return float(sum("question" in data for data in data_of(record, "reveal")))
