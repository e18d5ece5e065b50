"""Crossed agents, their cells, effects of axes, and comparisons on the same seeds."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from palestra import InvalidOption, UnknownName, Usage
from palestra.cli import main
from palestra_arena import Settings, run_tournament
from palestra_arena.axes import Axes, compose, cross, with_option
from palestra_arena.cube import (
    Means,
    changes_against,
    cube_of,
    effects_of,
    recovery_gaps,
    scores_of,
)
from palestra_arena.match import Match
from palestra_arena.result import GameResult
from palestra_arena.settings import CrossPlay, Environment, check_continues
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.multitest import multipletests

WORDLE, KITCHEN, TICTACTOE = "games/Wordle-v0", "grid/Kitchen-v0", "games/TicTacToe-v0"


def game(agent: str, env: str, seed: int, score: float, **more: object) -> GameResult:
    """One game that one agent played alone."""
    fields: dict[str, object] = {
        "match": Match(Environment(env), (agent,), seed),
        "status": "played",
        "results": ("none",),
        "scores": (score,),
        "ranks": (0,),
        "points": (1.0,),
        "mistakes": (0,),
        "usage": (Usage(tokens_in=10),),
        "steps": 1,
        "seconds": 0.0,
        "answers": (1,),
    }
    return GameResult(**(fields | more))  # type: ignore[arg-type]


# Agents from axes


@pytest.mark.parametrize(
    ("agent", "option", "changed"),
    [
        ("react:local:", "memory=4", "react:local:,memory=4"),
        ("react:local:,memory=4,reflect=true", "memory=0", "react:local:,memory=0,reflect=true"),
        ("mcts:simulations=50,c=2", "c=1", "mcts:simulations=50,c=1"),
        ("mcts", "c=1", "mcts:c=1"),
        ("llm:vllm:a/b,seed=1,model.seed=2", "seed=3", "llm:vllm:a/b,seed=3,model.seed=2"),
    ],
)
def test_one_option_is_changed_or_added(agent: str, option: str, changed: str) -> None:
    assert with_option(agent, option) == changed


@pytest.mark.parametrize("option", ["memory", "=4", "memory=", ""])
def test_what_is_no_option_is_refused(option: str) -> None:
    with pytest.raises(InvalidOption, match="NAME=VALUE"):
        with_option("react:local:", option)


def test_scaffolds_take_the_model_before_their_options() -> None:
    assert compose(Axes("openai:m@http://h/v1,key=K", "bestof,n=3", "effort=low")) == (
        "bestof:openai:m@http://h/v1,key=K,n=3,effort=low"
    )
    crossed = cross(["local:", "echo:4"], ["llm", "reflexion:react"])
    assert list(crossed) == [
        *("llm:local:", "reflexion:react:local:", "llm:echo:4", "reflexion:react:echo:4")
    ]


@pytest.mark.parametrize(
    "axes",
    [
        {"models": ["local:"]},
        {"scaffolds": ["llm"]},
        {"levels": ["effort=low"], "agents": ["random"]},
        {"models": ["local:", "local:"], "scaffolds": ["llm"]},
    ],
)
def test_half_a_cross_is_refused(axes: dict[str, list[str]]) -> None:
    with pytest.raises(InvalidOption, match=r"--scaffold|once"):
        Settings(environments=(WORDLE,), **axes)  # type: ignore[arg-type]


def test_axes_may_grow_but_not_shrink() -> None:
    base = {"environments": (WORDLE,), "scaffolds": ("llm", "react")}
    small = Settings(models=("echo:4",), **base)  # type: ignore[arg-type]
    large = Settings(models=("echo:4", "local:"), **base)  # type: ignore[arg-type]
    assert large.agents == ("llm:echo:4", "react:echo:4", "llm:local:", "react:local:")
    check_continues(small, large, "a.db")
    with pytest.raises(InvalidOption, match="local: is left out"):
        check_continues(large, small, "a.db")


def test_agents_are_left_out_of_environments_that_they_cannot_play() -> None:
    settings = Settings(
        environments=(TICTACTOE, KITCHEN),
        models=("echo:",),
        scaffolds=("llm,mode=choice", "proagent"),
        schedule=CrossPlay(("first",)),
        unfit="leave-out",
        games=2,
        workers=0,
        max_episode_steps=6,
    )
    done = run_tournament(settings)
    played = {(m.environment.id, *sorted(m.agents)) for m in (r.match for r in done.results)}
    assert played == {
        (TICTACTOE, "first", "llm:echo:,mode=choice"),
        (KITCHEN, "first", "llm:echo:,mode=choice"),
        (KITCHEN, "first", "proagent:echo:"),
    }
    with pytest.raises(InvalidOption, match="do not depend on"):
        Settings(environments=(TICTACTOE,), agents=("first",), schedule="swiss", unfit="leave-out")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="ract"):
        run_tournament(Settings(environments=(WORDLE,), agents=("ract",), unfit="leave-out"))


# Effects


def unequal_table(seed: int) -> tuple[list[dict[str, str]], np.ndarray]:
    """Three models, four scaffolds, three environments, without a fifth of the cells."""
    rng = np.random.default_rng(seed)
    cells = [
        {"model": m, "scaffold": s, "environment": e} for m in "abc" for s in "wxyz" for e in "pqr"
    ]
    kept = [cell for cell in cells if rng.random() > 0.2]
    return kept, rng.normal(size=len(kept)) + [ord(cell["model"]) % 5 for cell in kept]


@pytest.mark.parametrize("seed", range(4))
def test_effects_of_unequal_tables_are_those_of_statsmodels(seed: int) -> None:
    cells, values = unequal_table(seed)
    found = effects_of(cells, values)
    frame = pd.DataFrame(cells).assign(y=values)
    for axis in ("model", "scaffold", "environment"):  # levels in the order in which they come
        order = list(dict.fromkeys(frame[axis]))
        frame[axis] = pd.Categorical(frame[axis], categories=order)
    mains = ols("y ~ C(model, Sum) + C(scaffold, Sum) + C(environment, Sum)", frame).fit()
    for (axis, level), effect in found.levels.items():
        name = f"C({axis}, Sum)[S.{level}]"
        if name in mains.params:
            assert effect == pytest.approx(mains.params[name])
        own = [e for (of, _), e in found.levels.items() if of == axis]
        assert sum(own) == pytest.approx(0, abs=1e-9)
    pairs = ols("y ~ (C(model, Sum) + C(scaffold, Sum) + C(environment, Sum))**2", frame).fit()
    squares = anova_lm(pairs, typ=2)["sum_sq"]
    total = ((values - values.mean()) ** 2).sum()
    for term, share in found.shares.items():
        name = ":".join(f"C({axis}, Sum)" for axis in term)
        assert share == pytest.approx(squares[name] / total)


def test_an_easy_environment_favours_no_scaffold() -> None:
    """Without interaction the additive effects are exact, whatever cells are missing."""
    cells = [{"scaffold": s, "environment": e} for s, e in ("ap", "aq", "bq", "cq", "cr")]
    worth = {"a": 1.0, "b": 3.0, "c": 2.0, "p": 10.0, "q": 0.0, "r": -4.0}
    found = effects_of(cells, [worth[c["scaffold"]] + worth[c["environment"]] for c in cells])
    scaffolds = [found.levels["scaffold", name] for name in "abc"]
    assert scaffolds == pytest.approx([-1.0, 1.0, 0.0])
    assert found.shares["scaffold", "environment"] == pytest.approx(0, abs=1e-9)


def test_equal_cells_vary_with_nothing() -> None:
    """0.1 + 0.2 - 0.3 is not 0, and a share of such a variance would be any number."""
    cells = [{"scaffold": s, "environment": e} for s in "ab" for e in "pq"]
    found = effects_of(cells, [0.3, 0.1 + 0.2, 0.3, 0.1 + 0.2])
    assert list(found.shares.values()) == [0, 0, 0]


def test_blocks_that_share_no_level_have_no_effects() -> None:
    cells = [{"scaffold": s, "environment": e} for s, e in ("ap", "bp", "cq", "dq")]
    found = effects_of(cells, [1.0, 2.0, 3.0, 4.0])
    assert all(math.isnan(effect) for effect in found.levels.values())


# Cells


def test_means_are_paired_over_seeds_and_unequal_cells_have_their_own() -> None:
    made = [game("a", "x/X-v0", seed, float(seed)) for seed in range(10)]
    made += [game("b", "x/X-v0", seed, seed + 1.0) for seed in range(10)]
    made += [game("a", "x/Y-v0", seed, float(seed % 2)) for seed in range(4)]
    means = Means(scores_of(made, {"a", "b"}))
    gap = means.cells["b", "x/X-v0"] - means.cells["a", "x/X-v0"]
    assert gap == pytest.approx(1.0)  # in every resample
    assert means.cells["a", "x/X-v0"][0] == 4.5
    assert ("b", "x/Y-v0") not in means.cells
    spread = means.interval(means.cells["a", "x/X-v0"])
    exact = stats.bootstrap((np.arange(10.0),), np.mean, method="percentile", n_resamples=20_000)
    assert spread[1:] == pytest.approx(exact.confidence_interval, abs=0.25)


def test_agents_that_met_have_no_scores_of_their_own() -> None:
    done = run_tournament(
        Settings(environments=(TICTACTOE,), agents=("first", "random"), games=2, workers=0)
    )
    with pytest.raises(InvalidOption, match="--partner"):
        scores_of(done.results, {"first", "random"})


def test_the_gap_closed_is_that_of_the_definition() -> None:
    """(12 - 10) / (20 - 10) and (0.5 - 0.25) / (0.75 - 0.25)."""
    made = []
    for env, paid in (("x/X-v0", (10, 20, 12)), ("x/Y-v0", (0.25, 0.75, 0.5))):
        for agent, score in zip(("random", "solver", "mine"), paid, strict=True):
            made += [game(agent, env, seed, score + 0.1 * seed) for seed in range(3)]
    means = Means(scores_of(made, {"random", "solver", "mine"}))
    means.scale("random", "solver")
    assert means.cells["mine", "x/X-v0"] == pytest.approx(0.2)
    assert means.cells["mine", "x/Y-v0"] == pytest.approx(0.5)
    assert means.cells["random", "x/X-v0"] == pytest.approx(0)
    with pytest.raises(InvalidOption, match="no gap"):
        Means(scores_of(made, {"random", "solver"})).scale("solver", "random")
    with pytest.raises(InvalidOption, match="other has no score"):
        Means(scores_of(made, {"random", "solver"})).scale("other", "solver")


def test_a_higher_level_that_does_worse_is_counted() -> None:
    agents = cross(["m", "n"], ["s"], ["effort=low", "effort=mid", "effort=high"])
    paid = dict(zip(agents, (1, 3, 2, 5, 4, 4), strict=True))  # down, up; down, level
    made = [game(a, "x/X-v0", seed, paid[a] + seed) for a in agents for seed in range(2)]
    made += [game("s:m,effort=low", "x/Y-v0", 0, 1.0)]
    scores = scores_of(made, agents)
    cube = cube_of(scores, Means(scores), agents)
    assert cube.worse == (2, 4)
    assert len(cube.missing) == 5
    assert [row.name for row in cube.axes["level"]] == ["effort=low", "effort=mid", "effort=high"]
    assert [row.games for row in cube.axes["level"]] == [5, 4, 4]


def test_rows_count_what_their_games_took() -> None:
    agents = {"s:m": Axes("m", "s"), "t:m": Axes("m", "t")}
    made = [
        game("s:m", "x/X-v0", 0, 1.0, mistakes=(1,), answers=(4,)),
        game("s:m", "x/X-v0", 1, 0.0, status="forfeit", results=("forfeit",), answers=(4,)),
        game("s:m", "x/Y-v0", 0, 1.0),
        game("t:m", "x/X-v0", 0, 1.0, status="error"),
        game("t:m", "x/Y-v0", 0, 5.0, usage=(Usage(tokens_in=70, cost=2.0),)),
    ]
    scores = scores_of(made, agents)
    cube = cube_of(scores, Means(scores), agents)
    (row,) = cube.cells["x/X-v0"]
    assert (row.score.value, row.refused, row.forfeits, row.games) == (0.5, 1 / 8, 0.5, 2)
    first, second = cube.axes["scaffold"]
    assert (first.score.value, first.cells, first.usage.tokens) == (0.75, 2, 30)
    assert (second.usage.tokens, second.usage.cost) == (70, 2.0)
    assert cube.missing == [("t:m", "x/X-v0")]


# Comparisons


def test_changes_are_those_of_scipy_and_statsmodels_on_shared_seeds() -> None:
    rng = np.random.default_rng(3)
    paid = {"base": rng.normal(size=12), "one": rng.normal(1, 1, 12), "two": rng.normal(0, 1, 9)}
    made = [game("base", "x/X-v0", s, v) for s, v in enumerate(paid["base"])]
    made += [game("one", "x/X-v0", s, v) for s, v in enumerate(paid["one"])]
    made += [
        game("two", "x/X-v0", s + 3, v, usage=(Usage(tokens_in=14),), results=("win",))
        for s, v in enumerate(paid["two"])
    ]
    one, two = changes_against("base", made, ["base", "one", "two"])
    p_values = []
    for change, gaps in ((one, paid["one"] - paid["base"]), (two, paid["two"] - paid["base"][3:])):
        exact = stats.permutation_test(
            (gaps,), np.mean, permutation_type="samples", n_resamples=np.inf
        )
        assert change.p_value == pytest.approx(exact.pvalue, abs=1e-9)
        assert change.difference.value == pytest.approx(gaps.mean())
        p_values.append(change.p_value)
    holm = multipletests(p_values, method="holm")[1]
    assert [one.adjusted, two.adjusted] == pytest.approx(list(holm))
    assert (one.pairs, two.pairs, one.cost, two.cost) == (12, 9, 0, 4)
    assert (one.cost_of_pass.value, two.cost_of_pass.value) == (math.inf, 14)


def test_the_recovery_gap_is_clean_less_outages_by_seed() -> None:
    clean, failing = "web/ToolWorld-v0", "web/ToolWorld-v0(outages=error)"
    settings = Settings(
        environments=(
            Environment("web/ToolWorld-v0"),
            Environment("web/ToolWorld-v0", options={"outages": "error"}),
        ),
        agents=("tool-solver",),
        games=4,
        workers=0,
    )
    gaps = recovery_gaps(run_tournament(settings).results, clean, failing)
    assert gaps["tool-solver"].value == 0
    made = [game("a", clean, s, 1.0) for s in range(4)]
    made += [game("a", failing, s, float(s == 0)) for s in range(4)]
    assert recovery_gaps(made, clean, failing)["a"].value == pytest.approx(0.75)
    with pytest.raises(InvalidOption, match="same seeds"):
        recovery_gaps(made[:-1], clean, failing)


# The command line


def command(*words: str) -> int:
    """The exit status of `palestra` with these words."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return int(ended.value.code or 0)


def test_a_cube_is_played_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, out = str(tmp_path / "c.db"), tmp_path / "c.json"
    typed = ["tournament", TICTACTOE, "games/KuhnPoker-v0", "--partner", "random"]
    typed += ["--model", "echo:", "--scaffold", "llm,mode=choice", "--scaffold", "react"]
    typed += ["--level", "max_tokens=8", "--level", "max_tokens=16", "--scaffold", "proagent"]
    typed += ["--games", "4", "--workers", "0", "--store", store]
    assert command(*typed) == 0
    assert command(*typed) == 0  # nothing is left to play
    said = capsys.readouterr().out
    assert "0 games played, 32 in all" in said
    assert command("results", store, "--cube", "--json", str(out), "--pass-score", "1") == 0
    said = capsys.readouterr().out
    assert "by scaffold" in said
    assert "the higher level did worse in 0 of 4 pairs" in said
    assert "plays grid/Kitchen-v0, not games/TicTacToe-v0" in " ".join(said.split())
    cube = json.loads(out.read_text())["cube"]
    assert {row["name"] for row in cube["axes"]["scaffold"]} == {"llm,mode=choice", "react"}
    assert len(cube["missing"]) == 4
    assert command("results", store, "--gap", "a,b") != 0
    assert command("results", store, "--cube", "--gap", "a") != 0


def test_a_component_is_flipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "f.db")
    typed = ["tournament", TICTACTOE, "--agents", "mcts:simulations=20", "--partner", "random"]
    typed += ["--flip", "simulations=1", "--flip", "c=0.1", "--games", "12", "--workers", "0"]
    assert command(*typed, "--store", store) == 0
    assert command("results", store, "--against", "mcts:simulations=20") == 0
    said = capsys.readouterr().out
    assert "against mcts:simulations=20" in said
    assert "mcts:simulations=20,c=0.1" in said
    assert "mcts:simulations=1 " in said
    assert command("results", store, "--against", "mcts:simulations=2") != 0
    assert command("tournament", TICTACTOE, "--flip", "c=1", "--store", store + "2") != 0
