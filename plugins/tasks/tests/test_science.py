"""BoxingGym's models and information gains against closed forms, quadrature and SciPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Decision, Rng, Turn
from palestra_tasks.desk import Finish
from palestra_tasks.draws import binomial, exponential, normal, poisson
from palestra_tasks.science.boxing import (
    BoxingGym,
    Experiment,
    Explain,
    Predict,
    gain_and_regret,
    spread,
)
from palestra_tasks.science.information import information_gain, posterior
from palestra_tasks.science.models import MODELS, Axis, Model
from scipy import integrate, stats

# y = theta * d + noise: with a normal prior everything is known in closed form
LINEAR = Model(
    "linear",
    "",
    "",
    "real",
    (Axis("d", -3, 3),),
    lambda rng: [normal(rng)],
    lambda t, d: t[:, 0] * d[0],
    noise=0.5,
)


def even(count: int) -> Any:
    return np.full(count, 1 / count)


def test_there_are_at_least_eight_models() -> None:
    assert len(MODELS) >= 8


@pytest.mark.parametrize("design", [0.0, 0.5, 2.0])
def test_the_gain_of_a_linear_model_has_a_closed_form(design: float) -> None:
    thetas = LINEAR.particles(2000, 3)
    found = information_gain(LINEAR, thetas, even(2000), (design,))
    assert found == pytest.approx(0.5 * math.log(1 + design**2 / 0.25), abs=0.06)


def test_more_particles_shrink_the_bias() -> None:
    true = 0.5 * math.log(1 + 4 / 0.25)
    errors = []
    for count in (20, 200, 2000):
        found = [
            information_gain(LINEAR, LINEAR.particles(count, s), even(count), (2.0,), seed=s)
            for s in range(6)
        ]
        errors.append(abs(sum(found) / 6 - true))
    assert errors[0] > errors[2]
    assert errors[2] < 0.05


def test_the_posterior_of_a_linear_model_has_a_closed_form() -> None:
    thetas = LINEAR.particles(4000, 5)
    weights = posterior(LINEAR, thetas, [((1.0,), 1.2), ((2.0,), 1.0)])
    precision = 1 + (1 + 4) / 0.25
    mean = (1.0 * 1.2 + 2.0 * 1.0) / 0.25 / precision
    assert float(weights @ thetas[:, 0]) == pytest.approx(mean, abs=0.03)
    spread_of = math.sqrt(float(weights @ (thetas[:, 0] - mean) ** 2))
    assert spread_of == pytest.approx(precision**-0.5, abs=0.03)


def test_the_gain_of_a_question_by_quadrature() -> None:
    def entropy(p: float) -> float:
        return -p * math.log(p) - (1 - p) * math.log(1 - p)

    # ability minus difficulty is normal with variance 2
    density = stats.norm(0, math.sqrt(2)).pdf
    inside, _ = integrate.quad(lambda x: density(x) * entropy(1 / (1 + math.exp(-x))), -12, 12)
    model = MODELS["item-response"]
    found = information_gain(model, model.particles(4000, 1), even(4000), (2.0, 4.0))
    assert found == pytest.approx(math.log(2) - inside, abs=0.01)


def test_the_gain_of_a_death_process_by_quadrature() -> None:
    time, trials = 0.7, 50
    raw = stats.norm(1, 1)
    grid = np.linspace(1e-6, 8, 4001)
    weights = (raw.pdf(grid) + raw.pdf(-grid)) * (grid[1] - grid[0])  # |N(1, 1)|
    chance = 1 - np.exp(-grid * time)
    table = stats.binom(trials, chance[:, None]).pmf(np.arange(trials + 1)[None])
    marginal = weights @ table
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.where(table > 0, table * np.log(table / marginal), 0.0)
    true = float(weights @ inner.sum(axis=1))
    model = MODELS["death-process"]
    found = information_gain(model, model.particles(3000, 2), even(3000), (time,))
    assert found == pytest.approx(true, abs=0.03)


def test_a_design_that_tells_nothing_has_no_gain() -> None:
    model = MODELS["moral-choice"]
    thetas = model.particles(300, 1)
    assert information_gain(model, thetas, even(300), (0, 0, 0, 0)) == pytest.approx(0, abs=1e-9)
    assert information_gain(model, thetas, even(300), (3, 3, 0, 0)) > 0.2


@pytest.mark.parametrize(
    ("name", "mean", "outcome", "frozen"),
    [
        ("death-process", 0.3, 12, lambda m: stats.binom(50, m)),
        ("peregrines", 7.5, 4, stats.poisson),
        ("survival", 0.2, 1, lambda m: stats.binom(1, m)),
        ("dugongs", 2.0, 2.2, lambda m: stats.norm(m, 0.1)),
    ],
)
def test_likelihoods_are_scipys(name: str, mean: float, outcome: float, frozen: Any) -> None:
    found = MODELS[name].log_likelihood(np.array([mean]), outcome)[0]
    law = frozen(mean)
    true = law.logpdf(outcome) if name == "dugongs" else law.logpmf(outcome)
    assert found == pytest.approx(true)


def test_predators_and_prey_keep_their_invariant() -> None:
    # d x - c log x + b y - a log y is constant along a path of Lotka and Volterra
    theta = np.array([[0.5, 0.03, 0.6, 0.02]])
    steady = np.array([[0.5, 0.1, 0.6, 0.02]])  # predators 5 = a / b and prey 30 = c / d stay
    model = MODELS["predator-prey"]
    assert model.mean(steady, (17.0,))[0] == pytest.approx(30.0, rel=1e-6)
    found = integrate.solve_ivp(
        lambda _, v: (v[0] * (0.5 - 0.03 * v[1]), v[1] * (0.02 * v[0] - 0.6)),
        (0, 13.7),
        (30.0, 5.0),
        rtol=1e-9,
    )
    assert model.mean(theta, (13.7,))[0] == pytest.approx(found.y[0, -1], rel=1e-4)


def test_draws_have_their_distributions() -> None:
    rng = Rng.seeded(1)
    normals = [normal(rng, 2, 3) for _ in range(3000)]
    assert stats.kstest(normals, stats.norm(2, 3).cdf).pvalue > 0.001
    assert (
        stats.kstest([exponential(rng, 2) for _ in range(3000)], stats.expon(scale=0.5).cdf).pvalue
        > 0.001
    )
    for draws, law in (
        ([poisson(rng, 3.5) for _ in range(3000)], stats.poisson(3.5)),
        ([binomial(rng, 12, 0.3) for _ in range(3000)], stats.binom(12, 0.3)),
    ):
        seen = np.bincount(draws, minlength=13)[:9]
        wanted = 3000 * law.pmf(np.arange(9))
        assert float(((seen - wanted) ** 2 / wanted).sum()) < stats.chi2(9).ppf(0.9999)
    assert abs(np.mean([poisson(rng, 900) for _ in range(300)]) - 900) < 10


def test_the_prior_mean_errs_by_1_and_the_score_follows() -> None:
    game = BoxingGym(model="death-process", budget=0, queries=3)
    errors = []
    for seed in range(60):
        episode = palestra.Episode(game, seed)
        for query in episode.state.queries:
            episode.act({0: Predict(str(spread("death-process", query)[0]))})
        errors.append(episode.state.final.facts["error"])
    assert sum(errors) / len(errors) == pytest.approx(1.0, abs=0.35)


def test_whoever_experiments_well_predicts_better() -> None:
    means = {}
    for name in ("boxing-bayes:tries=4", "boxing-prior"):
        records = palestra.play(
            "tasks/BoxingGym-v0", agents=name, seed=3, episodes=8, model="dugongs"
        )
        assert not any(record.error for record in records)
        means[name] = sum(record.returns[0] for record in records) / 8
    assert means["boxing-bayes:tries=4"] > means["boxing-prior"] + 0.1


def test_a_novice_reads_the_explanation_and_nothing_else() -> None:
    (record,) = palestra.play(
        "tasks/BoxingGym-v0", agents="boxing-bayes:tries=2", seed=3, num_players=2, model="dugongs"
    )
    assert not record.error
    assert record.returns[0] == record.returns[1]
    episode = palestra.Episode(BoxingGym(model="dugongs", num_players=2), 1)
    episode.act({0: Experiment("[12]")})
    assert not [e for e in episode.transcript(1) if "outcome" in e.data]
    assert "gave" in episode.describe(0)
    assert "gave" not in episode.describe(1)


@pytest.mark.parametrize("value", ["NaN", "inf", "five", "", "1e999"])
def test_a_prediction_that_is_no_number_counts_as_the_worst(value: str) -> None:
    episode = palestra.Episode(BoxingGym(model="dugongs", budget=0, queries=1), 0)
    episode.act({0: Predict(value)})
    assert episode.returns[0] == -1.0
    assert "worst" in episode.log[-1][0].text


@pytest.mark.parametrize("design", ["[NaN]", "[99]", "[]", "12", '["a"]', "[" * 250])
def test_a_broken_design_is_refused_by_name(design: str) -> None:
    episode = palestra.Episode(BoxingGym(model="dugongs"), 0)
    episode.act({0: Experiment(design)})
    assert "No experiment was made" in episode.log[-1][0].text
    assert episode.state.trials == ()


def test_regret_is_of_the_best_random_design() -> None:
    gain, regret = gain_and_regret("moral-choice", (), (0.0, 0.0, 0.0, 0.0))
    assert gain == pytest.approx(0, abs=1e-9)
    assert regret > 0.1


@pytest.mark.parametrize("value", ["1e308", "-1e308", "1e160"])
def test_a_prediction_far_off_counts_as_the_worst(value: str) -> None:
    episode = palestra.Episode(BoxingGym(model="dugongs", budget=0, queries=1), 0)
    episode.act({0: Predict(value)})
    assert episode.returns[0] == -1.0


@pytest.mark.parametrize(
    "told", ["[1e308, 1e308]", f"[{10**400}, 1]", "[" * 900 + "]" * 900, "[null]", "\\", '"', "{}"]
)
@pytest.mark.parametrize("quoting", ["escaped", "none"])
def test_no_explanation_stops_a_scripted_novice(told: str, quoting: str) -> None:
    def scientist(turn: Turn) -> Decision:
        explain = any(option.action is Explain for option in turn.legal)
        return Decision(Explain(told) if explain else Finish())

    (record,) = palestra.play(
        "tasks/BoxingGym-v0",
        agents=[scientist, "boxing-bayes:tries=2"],
        num_players=2,
        model="dugongs",
        quoting=quoting,
        queries=2,
    )
    assert not record.error
