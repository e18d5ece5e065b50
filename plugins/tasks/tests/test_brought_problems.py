"""Problems of OptiMUS that the user brings, in the folders of NLP4LP; these here are ours."""

from __future__ import annotations

import json
from pathlib import Path

import palestra
import pytest
from palestra import InvalidOption
from palestra.agents.making import make_agent
from palestra_tasks.algorithms.brought import read_problems
from scipy.optimize import linprog

LOOMS = {"Cotton": 30, "Silk": {"definition": "threads of silk", "shape": [], "value": 18}}
WRITTEN = """
variable('rugs')
variable('shawls')
constraint({'rugs': 3, 'shawls': 1}, '<=', data['Cotton'])
constraint({'rugs': 1, 'shawls': 2}, '<=', data['Silk'])
objective('max', {'rugs': 5, 'shawls': 4})
"""


def bring(home: Path, words: str, solution: object, data: object = None, name: str = "") -> None:
    home.mkdir(parents=True)
    (home / "description.txt").write_text(words, "utf-8")
    (home / "solution.json").write_text(json.dumps(solution), "utf-8")
    if data is not None:
        (home / (name or "parameters.json")).write_text(json.dumps(data), "utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    best = -linprog([-5, -4], [[3, 1], [1, 2]], [30, 18]).fun
    bring(
        tmp_path / "EASY" / "1", "Weave rugs.\nHow much can be earned?", {"objective": best}, LOOMS
    )
    bring(
        tmp_path / "HARD" / "diet", "Eat well.", {"objective": 7}, {"Food": [1, 2]}, "params.json"
    )
    bring(tmp_path / "HARD" / "2", "Nobody knows.", {"objective": None})
    bring(tmp_path / "3", "Fly a kite.", {"objective": -2.5, "variables": {"x": 1}})
    return tmp_path


def test_problems_are_read_at_any_depth_with_what_their_data_mean(folder: Path) -> None:
    found = read_problems(str(folder))
    assert sorted(found) == ["3", "EASY/1", "HARD/diet"]  # no optimum of HARD/2 is known
    assert found["EASY/1"].data == {"Cotton": 30, "Silk": 18}
    assert found["EASY/1"].words.endswith("earned?\nSilk: threads of silk")
    assert found["3"].data == {}
    assert found["3"].optimum == -2.5


@pytest.mark.parametrize("form", ["whole", "clauses"])
def test_every_problem_is_drawn_and_told(folder: Path, form: str) -> None:
    drawn = set()
    for seed in range(20):
        env = palestra.make(
            "tasks/OptiMUS-v0",
            view="episode",
            seed=seed,
            data=str(folder),
            form=form,
            distractors=4,
        )
        words, data = env.prompt(0).split("\ndata = ", 1)
        drawn.add(next(name for name in ("rugs", "Eat", "kite") if name in words))
        if "rugs" in words:
            assert json.loads(data.split("\n", 1)[0]) == {"Cotton": 30, "Silk": 18}
    assert drawn == {"rugs", "Eat", "kite"}


@pytest.mark.parametrize(("changed", "pay"), [("", 1.0), ("3, 'shawls': 1}, '<='", 0.0)])
def test_the_known_optimum_decides(folder: Path, changed: str, pay: float) -> None:
    seed = next(
        seed
        for seed in range(50)
        if "rugs"
        in palestra.make("tasks/OptiMUS-v0", view="episode", seed=seed, data=str(folder)).prompt(0)
    )
    env = palestra.make("tasks/OptiMUS-v0", view="episode", seed=seed, data=str(folder))
    code = WRITTEN.replace(changed, "2, 'shawls': 1}, '<='") if changed else WRITTEN
    for text in (f"Program(code={code!r})", "Finish()"):
        env.act({0: env.parse(0, text)})
    assert list(env.returns) == [pay]


def test_what_cannot_be_read_is_said(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    empty = tmp_path_factory.mktemp("empty")
    with pytest.raises(InvalidOption, match=r"holds no problem: a folder with description\.txt"):
        palestra.make("tasks/OptiMUS-v0", data=str(empty))
    with pytest.raises(InvalidOption, match="leave out story, size and telling, or data"):
        palestra.make("tasks/OptiMUS-v0", data=str(folder), story="diet")
    bring(empty / "a", "Words.", [1])
    with pytest.raises(InvalidOption, match=r"a is not as NLP4LP has it \(ValidationError"):
        palestra.make("tasks/OptiMUS-v0", data=str(empty))
    (empty / "a" / "solution.json").unlink()
    read_problems.cache_clear()
    with pytest.raises(InvalidOption, match=r"FileNotFoundError.*solution\.json"):
        palestra.make("tasks/OptiMUS-v0", data=str(empty))
    with pytest.raises(InvalidOption, match="play another agent, or leave out data"):
        palestra.play(
            "tasks/OptiMUS-v0", agents=make_agent("optimus-modeller"), data=str(folder), seed=1
        )
