"""Composed studies: d-separation by networkx, fits by statsmodels, designs by many rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import combinations

import networkx as nx
import numpy as np
import palestra
import pytest
import statsmodels.api as sm
from palestra import InvalidAction, InvalidOption, Rng
from palestra.kernel.registry import registry
from palestra_tasks.science.causes import WINDOWS, WITHIN, Causes, Design
from palestra_tasks.science.effects import Columns, Correlate, Econometrics, Fit, Look, Report
from palestra_tasks.science.studies import (
    Data,
    Study,
    draw_data,
    draw_study,
    fit,
    read_causes,
    told,
)
from statsmodels.sandbox.regression.gmm import IV2SLS

SIZES = ("small", "medium", "large")
SPLITS = registry().environment("tasks/Econometrics-v0").splits
NAMES = [f"{held}{size}" for held in ("", "held-out-") for size in SIZES]


def drawn(seed: int, size: str = "large", pool: str = "all") -> Study:
    return draw_study(Rng.seeded(seed), size, pool)


def graph_of(causes: Causes) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(causes.parents)
    graph.add_edges_from((p, one) for one, parents in causes.parents.items() for p in parents)
    return graph


def some(rng: Rng, names: list[str], share: int) -> set[str]:
    return {one for one in names if rng.below(share) == 0}


def some_design(rng: Rng, causes: Causes) -> Design:
    """Any design, with an instrument in one of three cases."""
    free = [one for one in causes.columns if one not in (causes.x, causes.y)]
    instrument = rng.choice(free) if rng.below(3) == 0 else ""
    return Design(
        frozenset(some(rng, free, 3)) - {instrument},
        instrument,
        rng.choice(tuple(WITHIN)) if causes.panel else "none",
        rng.choice(WINDOWS) if causes.score else "none",
    )


# Which designs identify


@pytest.mark.parametrize("size", SIZES)
def test_separation_is_that_of_networkx(size: str) -> None:
    for seed in range(12):
        causes, rng = drawn(seed, size).causes, Rng.seeded(seed, 1)
        graph, names = graph_of(causes), sorted(causes.parents)
        for one, other in combinations(names, 2):
            given = some(rng, names, 4) - {one, other}
            found = causes.separates(given, one, other)
            assert found == nx.is_d_separator(graph, {one}, {other}, given), (one, other, given)


def identifies(causes: Causes, design: Design) -> bool:
    """The adjustment criterion and that of a conditional instrument, by networkx alone."""
    graph, x, y = graph_of(causes), causes.x, causes.y
    held = set(design.controls)
    for level, when in (("unit", ("unit", "both")), ("period", ("period", "both"))):
        if design.within in when:
            held |= {one for one in graph if causes.levels[one] == level}
    if causes.score:
        near = design.window in ("0.3", "0.6")
        held = held | {causes.score} if near else held - {causes.score}
    if causes.selected:
        held.add(causes.selected)
    on_ways = {n for way in nx.all_simple_paths(graph, x, y) for n in way[1:]}
    forbidden = on_ways.union(*(nx.descendants(graph, one) for one in on_ways))
    without = graph.copy()
    without.remove_edges_from([(x, one) for one in on_ways if graph.has_edge(x, one)])
    source = design.instrument or x
    if held & (forbidden | {x, y, source}) or source in forbidden | {y}:
        return False
    acts = not design.instrument or not nx.is_d_separator(without, {source}, {x}, held)
    return acts and nx.is_d_separator(without, {source}, {y}, held)


@pytest.mark.parametrize("split", NAMES)
def test_designs_that_identify_are_those_of_the_criteria(split: str) -> None:
    options, found = SPLITS[split], []
    for seed in range(20):
        causes, rng = drawn(seed, options["size"], options["designs"]).causes, Rng.seeded(seed, 2)
        assert causes.design is not None
        for design in (causes.design, *(some_design(rng, causes) for _ in range(15))):
            found.append(causes.identifies(design))
            assert found[-1] == identifies(causes, design), (causes, design)
        everything = frozenset(causes.columns) - {causes.x, causes.y}
        assert not identifies(causes, Design())
        assert not identifies(causes, Design(everything))
    assert 20 <= sum(found) < len(found) / 2


def error_of(study: Study, data: Data, design: Design) -> float:
    """How far an estimate is from the truth, in standard errors."""
    found = fit(study, data, design, study.causes.x, study.causes.y)
    return abs(found.value - data.effect) / found.error


@pytest.mark.parametrize("size", SIZES)
def test_many_rows_find_the_effect_by_a_design_that_identifies_and_not_by_others(
    size: str,
) -> None:
    """Curves at a cutoff leave a small error in any window, so one of 0.3 is taken."""
    right, wrong = [], []
    for seed in range(40):
        study = drawn(seed, size)
        causes, rng = study.causes, Rng.seeded(seed, 3)
        data = draw_data(study, 12_000, seed)
        assert causes.design is not None
        window = "0.3" if causes.score else "none"
        designs = [causes.design, *(some_design(rng, causes) for _ in range(8))]
        for design in designs:
            # what few periods have in common by chance is no matter of the design
            whole = replace(design, window=window, within="both" if causes.panel else "none")
            try:
                away = error_of(study, data, whole)
            except ValueError:  # what varies is held fixed
                continue
            (right if causes.identifies(whole) else wrong).append(away)
    assert len(right) >= 30
    assert len(wrong) >= 30
    assert max(right) < 5
    assert np.mean(np.array(right) < 2) > 0.85
    assert np.mean(np.array(wrong) > 5) > 0.6  # some biases are small, of a chain of weak steps


# Fits


def textbook(study: Study, data: Data, design: Design) -> tuple[float, float]:
    """The coefficient of x and its standard error by statsmodels, with dummies."""
    causes, columns = study.causes, data.columns
    one = np.ones(len(data.unit))
    near = one > 0
    extra = []
    controls = design.controls - {design.instrument}
    if design.window != "none":
        score = columns[causes.score]
        near, controls = abs(score) <= float(design.window), controls - {causes.score}
        extra = [score, score * (score >= 0)]
    if design.within in ("unit", "both"):
        extra += [data.unit == u for u in range(1, data.unit[-1] + 1)]
    if design.within in ("period", "both"):
        extra += [data.period == p for p in range(1, 12)]
    rest = [columns[c] for c in sorted(controls)]
    outcome = columns[causes.y][near]
    known = np.column_stack([columns[causes.x], *rest, *extra, one]).astype(float)[near]
    if not design.instrument:
        fitted = sm.OLS(outcome, known).fit()
        return float(fitted.params[0]), float(fitted.bse[0])
    means = np.column_stack([columns[design.instrument], *rest, *extra, one]).astype(float)[near]
    fitted = IV2SLS(outcome, known, means).fit()
    noise = outcome - known @ fitted.params
    free = len(outcome) - known.shape[1]
    middle = known.T @ means @ np.linalg.inv(means.T @ means) @ means.T @ known
    error = np.sqrt(noise @ noise / free * np.linalg.inv(middle)[0, 0])
    return float(fitted.params[0]), float(error)


@pytest.mark.parametrize("split", NAMES)
def test_fits_are_those_of_statsmodels_with_dummies(split: str) -> None:
    options, tried = SPLITS[split], 0
    for seed in range(12):
        study = drawn(seed, options["size"], options["designs"])
        causes, rng, data = study.causes, Rng.seeded(seed, 4), draw_data(study, 240, seed)
        for design in (causes.design, some_design(rng, causes), some_design(rng, causes)):
            assert design is not None
            try:
                found = fit(study, data, design, causes.x, causes.y)
            except ValueError:  # dummies for what does not vary are no textbook's either
                continue
            value, error = textbook(study, data, design)
            assert found.value == pytest.approx(value, rel=1e-6)
            assert found.error == pytest.approx(error, rel=1e-6)
            tried += 1
    assert tried >= 18


def test_the_effect_is_what_y_changes_if_x_is_moved() -> None:
    """The true effect against a derivative of the structural equations, seed by seed."""
    for seed in range(20):
        study = drawn(seed, "medium", "common")
        causes, data = study.causes, draw_data(study, 6000, seed)
        ways = list(nx.all_simple_paths(graph_of(causes), causes.x, causes.y))
        if not ways:
            assert data.effect == 0
        elif len(ways) == 1:  # a product of weights, each from 0.5 to 1.2
            steps = len(ways[0]) - 1
            assert 0.5**steps <= abs(data.effect) <= 1.2**steps


# Words and structures


@pytest.mark.parametrize("size", SIZES)
def test_words_tell_the_whole_graph_and_no_design(size: str) -> None:
    for seed in range(40):
        study = drawn(seed, size)
        text, causes = told(study, 480), study.causes
        found = read_causes(text)
        for name in ("levels", "hidden", "x", "y", "score", "selected", "columns"):
            assert getattr(found, name) == getattr(causes, name), (name, text)
        assert graph_of(found).edges == graph_of(causes).edges
        for word in ("confound", "instrument", "collider", "mediat", "control", "discontin"):
            assert word not in text


def structure(study: Study) -> str:
    """A hash that is equal for graphs that differ only in the names of variables."""
    causes, graph = study.causes, graph_of(study.causes)
    roles = (causes.x, causes.y, causes.score, causes.selected, study.group, study.after)
    for one in graph:
        role = roles.index(one) if one in roles else -1
        graph.nodes[one]["is"] = f"{role} {one in causes.hidden} {causes.levels[one]}"
    return str(nx.weisfeiler_lehman_graph_hash(graph, node_attr="is"))


@pytest.mark.filterwarnings("ignore:The hashes produced for directed graphs")
@pytest.mark.parametrize(
    ("split", "least"), [("small", 380), ("large", 400), ("held-out-large", 400)]
)
def test_hardly_two_studies_of_a_split_have_the_same_structure(split: str, least: int) -> None:
    game = Econometrics(**SPLITS[split])
    found = {structure(game.composed(game.initial_state(seed))) for seed in range(400)}
    assert len(found) >= least


def test_held_out_studies_have_what_training_studies_never_have() -> None:
    for size in SIZES:
        for seed in range(60):
            common, rare = drawn(seed, size, "common"), drawn(seed, size, "rare")
            assert (common.causes.score, common.causes.selected, common.group) == ("", "", "")
            assert rare.causes.score or rare.causes.selected or rare.group


# Play


def mean_of(agent: str, split: str, episodes: int) -> float:
    records = palestra.play(
        "tasks/Econometrics-v0", agents=agent, episodes=episodes, seed=5, **SPLITS[split]
    )
    assert not any(record.error for record in records)
    return sum(record.returns[0] for record in records) / episodes


@pytest.mark.parametrize("split", ["small", "large", "held-out-large"])
def test_the_reference_is_right_and_no_recipe_comes_near(split: str) -> None:
    reference = mean_of("econometrics-reader", split, 30)
    assert reference > 0.97
    assert mean_of("econometrics-controlling", split, 30) < 0.9 * reference
    assert mean_of("econometrics-naive", split, 30) < 0.5 * reference


def controlling(causes: Causes, design: Design, controls: Iterable[str]) -> Design:
    """A design with other controls, of those that it may have."""
    held = {one for one, level in causes.levels.items() if level in WITHIN[design.within]}
    free = set(causes.columns) - held - {causes.x, causes.y, causes.score, design.instrument}
    return replace(design, controls=frozenset(controls) & free)


def without_instrument(causes: Causes, design: Design) -> Design:
    """The recorded causes of x and y as controls in place of an instrument."""
    if not design.instrument:
        return design
    above = causes.ancestors((causes.x, causes.y)) - causes.caused
    return controlling(causes, replace(design, instrument=""), above)


def blind_to_constants(causes: Causes, design: Design) -> Design:
    rows = replace(causes, levels=dict.fromkeys(causes.levels, "row"))
    return rows.design or replace(design, within="none")


def blind_to_selection(causes: Causes, design: Design) -> Design:
    whole = replace(causes, selected="", hidden=causes.hidden | {causes.selected} - {""})
    return whole.design or design


SHORTCUTS: dict[str, Callable[[Causes, Design], Design]] = {
    "no controls": lambda causes, design: replace(design, controls=frozenset()),
    "causes of x": lambda causes, design: controlling(
        causes, design, causes.ancestors((causes.x,))
    ),
    "causes of both": lambda causes, design: controlling(
        causes, design, causes.ancestors((causes.x,)) & causes.ancestors((causes.y,))
    ),
    "everything": lambda causes, design: controlling(causes, design, causes.columns),
    "what x does not cause": lambda causes, design: controlling(
        causes, design, set(causes.columns) - causes.caused
    ),
    "no instrument": without_instrument,
    "no constants": blind_to_constants,
    "no selection": blind_to_selection,
    "no window": lambda causes, design: replace(design, window="none"),
}
# No study of the splits for training is selected or has a cutoff
NOWHERE = {(kind, size) for kind in ("no selection", "no window") for size in SIZES}


def paid(study: Study, data: Data, design: Design) -> float:
    """What a design is paid with the number that it finds."""
    assert study.causes.design
    try:
        found = fit(study, data, design, study.causes.x, study.causes.y)
    except ValueError:
        return 0.0
    error = fit(study, data, study.causes.design, study.causes.x, study.causes.y).error
    away = abs(found.value - data.effect) / error
    return (identifies(study.causes, design) + float(np.clip((6 - away) / 4, 0, 1))) / 2


@pytest.mark.parametrize("split", NAMES)
def test_no_shortcut_comes_near_to_the_reference(split: str) -> None:
    game, pays = Econometrics(**SPLITS[split]), dict[str, list[float]]()
    for seed in range(100):
        state = game.initial_state(seed)
        study, data = game.composed(state), game.data(state)
        assert study.causes.design
        for kind, shortcut in {"none": lambda causes, design: design, **SHORTCUTS}.items():
            design = shortcut(study.causes, study.causes.design)
            pays.setdefault(kind, []).append(paid(study, data, design))
    means = {kind: float(np.mean(found)) for kind, found in pays.items()}
    reference = means.pop("none")
    assert reference > 0.97
    for kind, mean in means.items():
        assert (mean <= 0.9 * reference) == ((kind, split) not in NOWHERE), (kind, mean)


@pytest.mark.parametrize("split", NAMES)
def test_pay_is_half_for_the_design_and_half_for_the_distance(split: str) -> None:
    game = Econometrics(**SPLITS[split])
    state = game.initial_state(3)
    study, data = game.composed(state), game.data(state)
    causes = study.causes
    assert causes.design is not None
    good = {
        "controls": ", ".join(sorted(causes.design.controls)),
        "instrument": causes.design.instrument,
        "within": causes.design.within,
        "window": causes.design.window,
    }
    _, error = textbook(study, data, causes.design)
    for report, pay in (
        (Report(repr(data.effect), **good), 1.0),
        (Report(repr(data.effect - 1.9 * error), **good), 1.0),
        (Report(repr(data.effect + 4 * error), **good), 0.75),
        (Report(repr(data.effect + 7 * error), **good), 0.5),
        (Report(repr(data.effect)), 0.5),
        (Report(repr(data.effect + 7 * error)), 0.0),
        (Report("NaN", **good), 0.0),
        (Report("much", **good), 0.0),
    ):
        episode = palestra.Episode(game, 3)
        episode.act({0: report})
        assert episode.returns[0] == pytest.approx(pay), report


def test_any_design_that_identifies_is_paid() -> None:
    """Several sets of controls, not the reference's alone."""
    others = 0
    for seed in range(30):
        game = Econometrics(**SPLITS["medium"])
        state = game.initial_state(seed)
        causes, effect = game.composed(state).causes, repr(game.data(state).effect)
        free = [one for one in causes.columns if one not in (causes.x, causes.y)]
        within = "both" if causes.panel else "none"
        for controls in (chosen for count in (1, 2, 3) for chosen in combinations(free, count)):
            design = Design(frozenset(controls), within=within)
            if design == causes.design or not identifies(causes, design):
                continue
            episode = palestra.Episode(game, seed)
            episode.act({0: Report(effect, ", ".join(controls), within=within)})
            assert episode.returns[0] == 1
            others += 1
    assert others >= 20


def test_columns_and_correlations_are_those_of_the_data() -> None:
    game = Econometrics(**SPLITS["small"])
    episode = palestra.Episode(game, 1)
    state = game.initial_state(1)
    data, causes = game.data(state), game.composed(state).causes
    first, second = causes.columns[:2]
    episode.act({0: Correlate(first, second)})
    wanted = np.corrcoef(data.columns[first], data.columns[second])[0, 1]
    assert f"{wanted:.4f}" in episode.log[-1][0].text
    episode.act({0: Look(first)})
    assert f"mean {data.columns[first].mean():.4f}" in episode.log[-1][0].text


def test_what_cannot_be_fitted_is_said_and_other_columns_are_refused() -> None:
    episode = palestra.Episode(Econometrics(**SPLITS["small"]), 1)
    causes = read_causes(episode.describe(0))
    episode.act({0: Fit(causes.x, causes.x)})
    assert "name another outcome" in episode.log[-1][0].text
    episode.act({0: Fit(causes.x, causes.y, instrument=causes.x)})
    assert "name another instrument" in episode.log[-1][0].text
    with pytest.raises(InvalidAction, match=r"names 'nobody'; it is columns joined by ', '"):
        episode.act({0: Fit(causes.x, causes.y, controls="nobody")})
    with pytest.raises(InvalidAction, match="names a column twice"):
        episode.act({0: Fit(causes.x, causes.y, controls=f"{causes.x}, {causes.x}")})


def test_what_is_constant_in_units_cannot_be_fitted_within_them() -> None:
    studies = [drawn(seed, "small", "all") for seed in range(60)]
    found = [(s, c) for s in studies for c in s.causes.columns if s.causes.levels[c] == "unit"]
    assert len(found) >= 3
    for study, column in found:
        data = draw_data(study, 240, 1)
        with pytest.raises(ValueError, match="does not vary"):
            fit(study, data, Design(within="unit"), column, study.causes.y)


def test_samples_and_patterns_of_columns_are_columns() -> None:
    columns = Columns(("area", "debt", "rent"))
    pattern = re.compile(columns.pattern(100))
    for seed in range(20):
        value = columns.sample(Rng.seeded(seed))
        assert columns.problem(value) is None
        assert pattern.fullmatch(repr(value))
        assert len(repr(value)) <= columns.longest(100)
    assert not pattern.fullmatch("'debt, area'")
    assert columns.problem("debt, area") is None
    for other in ("age", "area,debt", "area, area", "area, ", 3):
        assert columns.problem(other), other


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"study": "law", "size": "large"}, "are for study='composed'"),
        ({"study": "any", "designs": "rare"}, "are for study='composed'"),
        ({"study": "composed", "rows": 100}, "give 240 to 5000"),
    ],
)
def test_options_that_do_not_go_together_are_named(options: dict[str, object], what: str) -> None:
    with pytest.raises(InvalidOption, match=what):
        palestra.game("tasks/Econometrics-v0", **options)
