"""Which tasks are worth training on: thresholds by hand, and walkers of known skill on XLand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import palestra
import pytest
import torch
from palestra import InvalidOption
from palestra.cli import main
from palestra.task_filter import TaskFilter, filter_tasks, random_policy
from palestra_agents.ppo.policy import Settings
from palestra_agents.ppo.trainer import Trainer
from palestra_agents.ppo.training import one_thread

SIDE, TIME, GRAB, HOLD = 8, 12, 5, 2
GOAL, WINDOW, SIGHT = 5, 41, SIDE - 1  # of XLand's array view
WORLD = {"rows": SIDE, "columns": SIDE, "sight": SIGHT, "max_steps": TIME, "density": 0.0}
ONE_TERM = {"num_objects": 1, "max_options": 1, "max_terms": 1}
SMALL = Settings(num_envs=16, horizon=16, hidden=32)
EASY = TaskFilter(good=TIME - 1, better=0.02, episodes=6, candidates=64, every=2)


@pytest.fixture(autouse=True)
def single_thread() -> Iterator[None]:
    with one_thread():
        yield


def stay(seen: Any, masks: Any) -> Any:
    return np.zeros(masks.shape[:2], int)


def fetch(seen: Any, masks: Any) -> Any:
    """Walk to the object, by rows and then by columns, and grab it; only if that is the goal."""
    actions = stay(seen, masks)
    for row, seat in np.ndindex(actions.shape):
        view, mask = seen[row, seat], masks[row, seat]
        kind, who, _, denied = view[GOAL : GOAL + 4]
        if kind == HOLD and who == seat and not denied:
            objects = view[WINDOW:].reshape(4, 2 * SIGHT + 1, 2 * SIGHT + 1)[3]
            down, right = np.argwhere(objects)[0] - SIGHT
            step = (1 if down < 0 else 2) if down else 3 if right < 0 else 4
            actions[row, seat] = step if down or right else GRAB * mask[GRAB]
    return actions


def steps_to_fetch(state: Any, seat: int) -> float:
    """Manhattan distance to the object; infinite if it is not wanted or somebody is in the way."""
    kind, who, _, denied = state.goals[seat, 0, 0].tolist()
    (row, column), (goal_row, goal_column) = (
        divmod(int(cell), SIDE) for cell in (state.cell[seat], state.lies[0])
    )
    rows = range(min(row, goal_row), max(row, goal_row) + 1)
    columns = range(min(column, goal_column), max(column, goal_column) + 1)
    way = {r * SIDE + column for r in rows} | {goal_row * SIDE + c for c in columns}
    blocked = any(int(cell) in way for other, cell in enumerate(state.cell) if other != seat)
    if kind != HOLD or who != seat or denied or blocked:
        return np.inf
    return abs(goal_row - row) + abs(goal_column - column)


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize("players", [1, 2])
def test_a_walker_keeps_what_is_neither_too_near_nor_too_far(players: int) -> None:
    """A thing d steps away pays it TIME - d and who stays nothing: 4 <= d < 9 is left."""
    options = {**WORLD, **ONE_TERM, "num_players": players}
    chosen = TaskFilter(good=TIME - 4, margin=TIME - 9, episodes=2)
    seeds = range(200)
    kept = filter_tasks(
        "grid/XLand-v0", seeds, chosen, agent=fetch, control=stay, others=stay, options=options
    )
    game = palestra.game("grid/XLand-v0", **options)
    deals = [game.initial_state(seed) for seed in seeds]
    far = [[steps_to_fetch(state, seat) for seat in range(players)] for state in deals]
    near_enough = np.array([[4 <= steps < 9 for steps in seats] for seats in far])
    assert kept.tolist() == near_enough.tolist()
    assert 10 <= kept.sum() < 100 * players


def test_text_games_are_filtered_too() -> None:
    """Nobody can be better than himself by more than nothing in a game without luck or choice."""
    first = lambda seen, masks: masks.argmax(-1)  # noqa: E731
    chosen = TaskFilter(good=1e9, episodes=1)
    with pytest.raises(InvalidOption, match=r"none of 4 tasks .* 0 are not too hard"):
        filter_tasks("text/Negotiation-v0", [1, 2], chosen, agent=first, control=first)


@pytest.mark.parametrize(
    ("agent", "control", "thresholds", "kept"),
    [
        ([5, 5, 0, 0], [0, 0], {}, True),
        ([9, 9, 9, 9], [0, 0], {}, False),  # too easy
        ([9, 9, 9, 0], [0, 0], {}, True),  # three in four are fewer than 0.9
        ([9, 9, 9, 0], [0, 0], {"solved": 0.75}, False),
        ([0, 0, 0, 0], [0, 0], {}, False),  # too hard
        ([5, 0, 0, 0], [0, 0], {"better": 0.25}, False),  # one in four is not more than 1/4
        ([5, 0, 0, 0], [0, 9], {"better": 0.12}, True),  # one pair in eight
        ([5, 0, 0, 0], [0, 9], {"better": 0.13}, False),
        ([5, 5, 5, 5], [0, 0], {"margin": 5}, False),
        ([5, 5, 5, 5], [0, 0], {"margin": 4.9}, True),
        ([5, 5, 0, 0], [0, 4], {"free": 2}, False),
        ([5, 5, 0, 0], [0, 4], {"free": 2.1}, True),
    ],
)
def test_thresholds_are_shares_of_episodes(
    agent: list[float], control: list[float], thresholds: dict[str, float], kept: bool
) -> None:
    assert TaskFilter(good=8, **thresholds).accept([agent], [control]).tolist() == [kept]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"good": 1, "solved": 1.5}, "solved must be a number from 0 to 1, not 1.5"),
        ({"good": 1, "better": -0.1}, "better must be a number from 0 to 1"),
        ({"good": 1, "margin": -1}, "margin must be a number at least 0"),
        ({"good": 1, "episodes": 0}, "episodes must be an integer at least 1"),
        ({"good": 1, "every": 2.5}, "every must be an integer at least 1, not 2.5"),
        ({"good": float("nan")}, "good must be a number"),
        ({"good": 1, "free": "much"}, "free must be a number, not 'much'"),
    ],
)
def test_thresholds_that_cannot_be_are_refused_by_name(options: Any, says: str) -> None:
    with pytest.raises(InvalidOption, match=says):
        TaskFilter(**options)


def test_returns_that_do_not_fit_and_no_seeds_are_refused() -> None:
    with pytest.raises(InvalidOption, match=r"same tasks, not \(2, 3\) and \(1, 3\)"):
        TaskFilter(good=1).accept(np.zeros((2, 3)), np.zeros((1, 3)))
    with pytest.raises(InvalidOption, match="at least one seed"):
        filter_tasks("grid/XLand-v0", [], TaskFilter(good=1), agent=stay)


def test_if_no_task_is_kept_the_error_says_what_failed() -> None:
    options = {**WORLD, **ONE_TERM, "num_players": 1}
    chosen = TaskFilter(good=TIME - 1, episodes=2)
    with pytest.raises(InvalidOption, match=r"none of 20 tasks .* 0 are not too hard") as error:
        filter_tasks("grid/XLand-v0", range(20), chosen, agent=stay, control=stay, options=options)
    assert "control 0" in str(error.value)


def test_random_play_is_legal_and_even() -> None:
    masks = np.tile([1, 0, 1, 1], (3000, 2, 1))
    drawn = random_policy(3)(None, masks)  # type: ignore[arg-type]
    shares = np.bincount(drawn.ravel(), minlength=4) / drawn.size
    assert shares.tolist() == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3], abs=0.03)


# Training


def test_training_deals_the_kept_tasks_and_learns_in_their_seats() -> None:
    options = {**WORLD, **ONE_TERM, "num_players": 2}
    trainer = Trainer("grid/XLand-v0", options, SMALL, EASY)
    drawn = []
    for _ in range(3):
        trainer.update()
        assert trainer.kept is not None
        seeds, learn = trainer.kept
        drawn.append(seeds.tolist())
        assert 0 < len(seeds) < EASY.candidates
        assert learn.any(1).all()
        if trainer.updates <= EASY.every:
            seats = dict(zip(drawn[0], learn.tolist(), strict=True))
            assert trainer.learning.tolist() == [seats[s] for s in trainer.batch.episode_seeds]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_filtered_run_is_resumed_as_if_never_stopped(tmp_path: Path) -> None:
    options = {**WORLD, **ONE_TERM}
    whole = Trainer("grid/XLand-v0", options, SMALL, EASY)
    for _ in range(4):
        whole.update()
    half = Trainer("grid/XLand-v0", options, SMALL, EASY)
    half.update()
    half.save(tmp_path)
    again = Trainer.load(tmp_path)
    for _ in range(3):
        again.update()
    assert again.tasks == EASY
    for one, other in zip(whole.network.parameters(), again.network.parameters(), strict=True):
        assert torch.equal(one, other)


def command(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["train", "grid/XLand-v0", "--set", "num_envs=16", "--set", "horizon=16", *arguments])
    return int(stop.value.code or 0)


def test_the_command_filters(tmp_path: Path) -> None:
    easy = ["good=63", "better=0.02", "episodes=4", "candidates=32"]
    pairs = [part for pair in easy for part in ("--filter", pair)]
    assert command("--steps", "512", "--out", str(tmp_path), *pairs) == 0
    assert Trainer.load(tmp_path).tasks == TaskFilter(63, better=0.02, episodes=4, candidates=32)


@pytest.mark.parametrize(
    ("pair", "says"),
    [
        ("hard=1", "--filter has no 'hard'; choose from: good, solved"),
        ("solved=0.5", "--filter needs good=RETURN"),
        ("good=-1", "none of 512 tasks (seeds and seats) is kept: 0 are not too easy"),
    ],
)
def test_bad_filters_are_one_sentence(
    pair: str, says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert command("--filter", pair, "--out", str(tmp_path)) == 2
    assert says in " ".join(capsys.readouterr().err.split())
