"""Machine-learning engineering: marks by hand, a solver, hidden labels, and refused programs."""

from __future__ import annotations

import palestra
import pytest
from palestra import InvalidAction
from palestra_envs.text.ml_engineering.engineers import CODE
from palestra_envs.text.ml_engineering.game import MLEngineering, Program, run_on_table
from palestra_envs.text.ml_engineering.instrument import MARK, instrument

ID = "text/MLEngineering-v0"
TRAIN, TEST = ((1, 8, 1), (2, 3, 0), (9, 0, 1)), ((4, 5), (1, 1))


def reached(code: str) -> tuple[str, ...]:
    return run_on_table(code, TRAIN, TEST).milestones


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import os", ()),
        ("import math\n1 / 0", ("imports",)),
        ("load('training')", ("imports",)),
        ("rows = load('train')\n1 / 0", ("imports", "data")),
        ("rows = load('train')\nx = fit(rows)\nt = load('test')", ("imports", "data")),
        (
            "rows = load('train')\nx = 1\nt = load('test')\nsubmit([7])",
            ("imports", "data", "fit", "predict"),
        ),
        (
            "rows = load('train')\nt = load('test')\nsubmit([0 for r in t])",
            ("imports", "data", "fit", "predict", "submit"),
        ),
        (
            "def main():\n    rows = load('train')\n    submit([1 for r in load('test')])\nmain()",
            ("imports", "data", "fit", "predict", "submit"),
        ),
        ("print('reached_milestone submit')", ("imports",)),
    ],
)
def test_a_program_reaches_the_milestones_that_it_passes(
    code: str, expected: tuple[str, ...]
) -> None:
    assert reached(code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a = lambda: load('train')\nb = lambda: submit([0, 1])", ("imports",)),
        ("0 and load('train')\n0 and load('test')\n0 and submit([0, 1])", ("imports",)),
        ("load('train', 0)\nload('test', 0)\nx = 1", ("imports",)),
        (
            "load('train')\nload('test')\n0 and submit([0, 1])",
            ("imports", "data", "fit", "predict"),
        ),
        ("0 and load('train')\nload('test')\nsubmit([0, 1])", ("imports",)),
        ("load('train')\n0 and load('test')\nsubmit([0, 1])", ("imports", "data", "fit", "submit")),
    ],
)
def test_a_call_that_is_written_and_not_made_reaches_no_milestone(
    code: str, expected: tuple[str, ...]
) -> None:
    assert reached(code) == expected


@pytest.mark.parametrize(
    "code", [f"{MARK}('submit')", f"x = {MARK}", f"def {MARK}(name):\n    pass"]
)
def test_a_player_cannot_reach_milestones_by_name(code: str) -> None:
    with pytest.raises(InvalidAction, match="reserved"):
        instrument(code)
    assert reached(code) == ()
    assert "reserved" in run_on_table(code, TRAIN, TEST).error


def test_time_is_that_of_the_rows_loaded() -> None:
    assert run_on_table("load('train', 2)\nload('test')", TRAIN, TEST).seconds == pytest.approx(
        0.09
    )
    assert run_on_table("load('train')", TRAIN, TEST).seconds == pytest.approx(0.08)


def test_a_clean_table_is_learnt_whole_and_scored_above_the_majority() -> None:
    for seed in range(3):
        (record,) = palestra.play(ID, agents="ml-engineer", seed=seed, noise=0.0, train_rows=400)
        assert record.outcome is not None
        assert record.outcome.results == ("win",)
        assert record.returns == (1.0,)
    game = MLEngineering(test_rows=10)
    state = game.initial_state(1)
    state.labels = (1, 1, 1, 1, 1, 1, 0, 0, 0, 0)
    game.step(state, {0: Program("submit([1, 1, 1, 1, 1, 1, 1, 0, 0, 0])")})
    assert game.accuracy(state) == pytest.approx(0.9)
    assert game.score(state) == pytest.approx(0.75)  # (0.9 - 0.6) / 0.4


def test_a_fenced_program_is_read_and_labels_stay_hidden() -> None:
    episode = palestra.make(ID, view="episode", seed=3)
    text = f"I fit two columns.\n```python\n{CODE}```"
    action = episode.game.parse(episode.state, 0, text)
    assert action == Program(CODE)
    episode.act({0: action})
    told = episode.prompt(0, 0)
    assert "60 labels were submitted" in told
    assert "Accuracy" not in told
    assert all(len(row) == 4 for row in episode.state.test)


def test_errors_name_the_lines_of_the_players_own_program() -> None:
    code = (
        "# fit\n\nimport math\nrows = load('train')\nfor row in rows:\n    pass\n\nx = (1 /\n  0)"
    )
    assert run_on_table(code, TRAIN, TEST).error == "line 8: ZeroDivisionError: division by zero"
    code = "import math\n\n\ndef f(x):\n    # no\n    return x.y\n\nf(load('train'))"
    assert run_on_table(code, TRAIN, TEST).error.startswith("line 6: AttributeError")


@pytest.mark.parametrize(
    "source",
    ["x = 1" + "+1" * 800, "x = a" + ".b" * 800, "x = " + "-" * 800 + "1", "x = 0x" + "f" * 9000],
    ids=["sum", "attributes", "signs", "number"],
)
def test_a_program_that_python_cannot_write_is_refused(source: str) -> None:
    with pytest.raises(InvalidAction):
        instrument(source)
    assert "cannot play" in run_on_table(source, (), ()).error
