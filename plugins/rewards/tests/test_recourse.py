"""The best path near an original one, against an enumeration of all paths."""

from __future__ import annotations

from math import log
from typing import Any

import palestra
import pytest
from palestra import InvalidOption
from palestra_rewards import shape
from palestra_rewards.episodes.recourse import Habits, Path, recourse_path
from rapidfuzz.distance import Levenshtein

LAKE: dict[str, Any] = {"layout": ("SFF", "FHF", "FFG"), "slippery": False}


def lake(**options: Any) -> Any:
    return palestra.make("games/FrozenLake-v0", view="episode", seed=0, **{**LAKE, **options})


def all_paths(start: Any, steps: int) -> list[tuple[list[str], Any]]:
    """Every path that ends, or has `steps` decisions, and the episode it leads to."""
    found: list[tuple[list[str], Any]] = []
    open_: list[tuple[list[str], Any]] = [([], start)]
    while open_:
        texts, now = open_.pop()
        if now.over or len(texts) == steps:
            found.append((texts, now))
            continue
        for text in now.legal_texts(0):
            then = now.fork()
            then.act({0: then.parse(0, text)})
            open_.append(([*texts, text], then))
    return found


def by_enumeration(
    start: Any, original: list[str], steps: int, weights: dict[str, float], habits: Habits
) -> float:
    best = -float("inf")
    for texts, end in all_paths(start, steps):
        now, chances = start.fork(), []
        for text in texts:
            chances.append(log(habits.chance_at(now, text)))
            now.act({0: now.parse(0, text)})
        alike = 1 - Levenshtein.distance(texts, original) / max(len(texts), len(original))
        score = weights["goal"] * float(end.returns[0]) + weights["near"] * alike
        best = max(best, score + weights["own"] * sum(chances) / len(chances))
    return best


@pytest.mark.parametrize("slippery", [False, True])
@pytest.mark.parametrize(
    "weights",
    [
        {"goal": 1.0, "near": 1.0, "own": 0.0},
        {"goal": 1.0, "near": 0.4, "own": 0.5},
        {"goal": 0.0, "near": 0.0, "own": 1.0},
    ],
)
@pytest.mark.parametrize("original", [["right", "right", "left"], ["down"] * 4])
def test_the_path_found_is_the_best_of_all(
    slippery: bool, weights: dict[str, float], original: list[str]
) -> None:
    start = lake(slippery=slippery)
    habits = Habits(
        palestra.rollouts("games/FrozenLake-v0", agents="random", n=3, seed=2, **LAKE), prior=0.5
    )
    path = recourse_path(start, original, steps=4, habits=habits, **weights)
    assert path.score == pytest.approx(by_enumeration(start, original, 4, weights, habits))


def test_recourse_reaches_the_goal_with_few_edits() -> None:
    """Right, right, down, down reaches the goal: one edit of a path that stops short of it."""
    path = recourse_path(lake(), ["right", "right", "down"], steps=6)
    assert [turn.text for turn in path.record.turns] == ["right", "right", "down", "down"]
    assert (path.paid, path.alike, path.score) == (1.0, 0.75, 1.75)
    assert palestra.replay(path.record).returns == [1.0]


def test_an_agents_habits_choose_between_equally_good_paths() -> None:
    def habit(text: str) -> Habits:
        walker = palestra.make("games/FrozenLake-v0", view="episode", seed=0, **LAKE)
        return Habits([recourse_path(walker, way(text), steps=4).record])

    def way(first: str) -> list[str]:
        return (
            ["right", "right", "down", "down"] if first == "right" else ["down"] * 2 + ["right"] * 2
        )

    def first(path: Path) -> str:
        return path.record.turns[0].text

    for text in ("right", "down"):
        found = recourse_path(lake(), [], steps=4, near=0.0, own=0.1, habits=habit(text))
        assert first(found) == text
        assert found.habit == pytest.approx(log(2 / 5))  # each once, beside a prior of 1 for four


def test_the_shaper_scores_a_record_as_the_search_does() -> None:
    habits = Habits(palestra.rollouts("games/FrozenLake-v0", agents="random", n=3, seed=2, **LAKE))
    original = ["right", "right", "down"]
    path = recourse_path(lake(), original, steps=5, goal=0.9, near=0.7, own=0.2, habits=habits)
    paid = shape(
        "recourse", path.record, expert=original, goal=0.9, near=0.7, own=0.2, habits=habits
    )
    assert paid.sum() == pytest.approx(path.score)
    assert paid[:-1].tolist() == [0.0] * (paid.size - 1)


def test_recourse_of_a_recorded_episode_is_a_what_if() -> None:
    """From the second state of an episode that was really played, in a game with words."""
    (record,) = palestra.rollouts("games/Quest-v0", agents="random", n=1, seed=1)
    start = next(e.fork() for n, e in enumerate(palestra.retrace(record)) if n == 2)
    original = [turn.text for turn in record.turns[2:6]]
    path = recourse_path(start, original, steps=4)
    assert path.record.branched_at == 2
    assert [turn.text for turn in path.record.turns[:2]] == [t.text for t in record.turns[:2]]
    assert path.alike == 1.0  # nothing is gained by leaving the path, so it is kept
    gained = recourse_path(start, original, steps=4, near=0.0)
    assert gained.paid >= path.paid


def test_searches_that_cannot_be_are_named() -> None:
    duel = palestra.make("games/TicTacToe-v0", view="episode", seed=0)
    with pytest.raises(InvalidOption, match="one player"):
        recourse_path(duel, [], steps=2)
    with pytest.raises(InvalidOption, match="habits"):
        recourse_path(lake(), [], steps=2, own=1.0)
    with pytest.raises(InvalidOption, match="at least 1"):
        recourse_path(lake(), [], steps=0)
