from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable

import numpy as np
import palestra
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from palestra import InvalidOption, UnknownName
from palestra_arena import statistics as st
from scipy import stats
from statsmodels.stats.power import TTestPower
from statsmodels.stats.proportion import power_proportions_2indep, proportion_confint

# pass@k and pass^k


@pytest.mark.parametrize(
    ("trials", "successes", "k"), [(5, 2, 1), (5, 2, 3), (6, 6, 2), (6, 0, 6), (7, 3, 7)]
)
def test_pass_at_k_counts_all_draws_of_k_trials(trials: int, successes: int, k: int) -> None:
    outcomes = [True] * successes + [False] * (trials - successes)
    draws = list(itertools.combinations(outcomes, k))
    assert st.pass_at_k(trials, successes, k) == pytest.approx(sum(map(any, draws)) / len(draws))
    assert st.pass_hat_k(trials, successes, k) == pytest.approx(sum(map(all, draws)) / len(draws))


def test_pass_at_k_is_unbiased_for_the_closed_form() -> None:
    """The mean over binomial successes is 1 - (1 - p)^k, and p^k for pass^k."""
    trials, k, p = 10, 3, 0.37
    chances = stats.binom.pmf(range(trials + 1), trials, p)
    at_k = sum(c * st.pass_at_k(trials, s, k) for s, c in enumerate(chances))
    hat_k = sum(c * st.pass_hat_k(trials, s, k) for s, c in enumerate(chances))
    assert at_k == pytest.approx(1 - (1 - p) ** k)
    assert hat_k == pytest.approx(p**k)


def test_all_of_k_is_rarer_than_one_and_one_rarer_than_any() -> None:
    for successes, k in itertools.product(range(9), range(1, 9)):
        one = st.pass_at_k(8, successes, 1)
        assert st.pass_hat_k(8, successes, k) <= one + 1e-12
        assert one <= st.pass_at_k(8, successes, k) + 1e-12


@pytest.mark.parametrize(
    ("trials", "successes", "k"), [(5, 6, 1), (5, -1, 1), (5, 2, 0), (5, 2, 6)]
)
def test_impossible_trials_are_refused(trials: int, successes: int, k: int) -> None:
    with pytest.raises(InvalidOption):
        st.pass_at_k(trials, successes, k)


# Intervals


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (81, 263)])
def test_wilson_is_scipys(successes: int, trials: int) -> None:
    theirs = stats.binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    ours = st.wilson(successes, trials)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(("successes", "trials"), [(0, 7), (3, 11), (81, 263), (40, 40)])
def test_wilson_is_statsmodels(successes: int, trials: int, confidence: float) -> None:
    theirs = proportion_confint(successes, trials, 1 - confidence, method="wilson")
    assert st.wilson(successes, trials, confidence)[1:] == pytest.approx(theirs, abs=1e-12)


def test_a_share_has_one_interval_wherever_it_is_asked_for() -> None:
    assert st.wilson is palestra.wilson
    assert isinstance(st.wilson(1, 2), palestra.Interval)
    with pytest.raises(InvalidOption, match="above 0 and below 1, not 95"):
        palestra.wilson(3, 5, confidence=95)


def test_wilson_gives_the_published_interval() -> None:
    """Newcombe (1998), table I: 81 of 263, score method without continuity correction."""
    assert st.wilson(81, 263)[1:] == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_bootstrap_intervals_cover_the_mean_93_to_97_times_in_100() -> None:
    rng = np.random.default_rng(11)
    covered = 0
    for repeat in range(600):
        interval = st.bootstrap(rng.normal(3, 2, size=40), resamples=600, seed=repeat)
        covered += interval.low <= 3 <= interval.high
    assert 0.93 <= covered / 600 <= 0.97


def test_many_values_have_the_interval_that_the_bootstrap_gives_them() -> None:
    sample = np.random.default_rng(8).exponential(size=1500)
    fast, slow = st.mean_interval(sample), st.bootstrap(sample)
    assert fast == pytest.approx(slow, abs=0.006)


def test_two_values_have_a_finite_interval() -> None:
    interval = st.bootstrap([0.0, 1.0])
    assert 0 <= interval.low <= interval.value <= interval.high <= 1


@pytest.mark.parametrize("values", [[2.0], [2.0] * 30, [2.0] * 3000])
def test_values_that_are_all_alike_have_no_interval_without_bounds(values: list[float]) -> None:
    for interval in (st.bootstrap(values), st.mean_interval(values)):
        assert interval.value == 2
        assert math.isnan(interval.low)
        assert math.isnan(interval.high)


@pytest.mark.parametrize("number", [1, 7, 40, 3000])
@pytest.mark.parametrize(("value", "share"), [(3.0, 1.0), (-1.0, 0.0), (1.0, 0.5)])
def test_values_that_are_all_alike_have_wilsons_interval_between_bounds(
    number: int, value: float, share: float
) -> None:
    found = st.mean_interval([value], times=[number], bounds=(-1.0, 3.0))
    low, high = proportion_confint(share * number, number, method="wilson")
    assert found == pytest.approx((value, 4 * low - 1, 4 * high - 1))
    assert found.low < found.high


@pytest.mark.parametrize("chance", [0.8, 0.98])
def test_intervals_of_rare_losses_cover_the_mean(chance: float) -> None:
    """Without bounds, all samples without a loss would miss it: 82 of 100 at 0.98."""
    rng, covered, repeats = np.random.default_rng(6), 0, 300
    for _ in range(repeats):
        scores = np.where(rng.random(10) < chance, 1.0, -1.0)
        found = st.mean_interval(scores, bounds=(-1.0, 1.0))
        covered += found.low <= 2 * chance - 1 <= found.high
    assert covered / repeats >= 0.85


def test_a_difference_that_is_the_same_in_all_pairs_has_a_width() -> None:
    found = st.compare_paired([1.0] * 8, [0.0] * 8)
    assert found.p_value == pytest.approx(2 / 2**8)
    assert 0 < found.difference.low < found.difference.high == found.difference.value == 1


# Power


def test_three_points_at_one_half_take_thousands_of_trials() -> None:
    """Fleiss: ((1.96 sqrt(2 p q) + 0.84 sqrt(p1 q1 + p2 q2)) / d)^2."""
    assert st.trials_for_two_shares(0.5, 0.53) == 4356


def test_a_published_sample_size() -> None:
    """65 % against 85 % with power 0.8: 73 each (R's power.prop.test gives 72.37)."""
    assert st.trials_for_two_shares(0.65, 0.85) == 73


@pytest.mark.parametrize(("first", "second"), [(0.5, 0.6), (0.2, 0.35), (0.7, 0.9)])
def test_the_planned_power_of_two_shares_is_reached_in_simulation(
    first: float, second: float
) -> None:
    trials = st.trials_for_two_shares(first, second, power=0.8)
    rng = np.random.default_rng(1)
    one, two = (rng.binomial(trials, p, 20_000) / trials for p in (first, second))
    pooled = (one + two) / 2
    z = (one - two) / np.sqrt(2 * pooled * (1 - pooled) / trials)
    assert np.mean(np.abs(z) > 1.959964) == pytest.approx(0.8, abs=0.02)


def test_the_power_of_pairs_is_reached_in_simulation() -> None:
    rng = np.random.default_rng(2)
    gaps = rng.normal(0.5, 1.2, size=(20_000, 30))
    found = np.mean(stats.ttest_1samp(gaps, 0, axis=1).pvalue < 0.05)
    assert st.power_of_pairs(0.5, 1.2, 30) == pytest.approx(found, abs=0.01)


@pytest.mark.parametrize(
    ("shift", "deviation", "pairs"), [(0.5, 1.2, 30), (0.1, 2.0, 200), (3, 1, 2)]
)
def test_the_power_of_pairs_is_statsmodels(shift: float, deviation: float, pairs: int) -> None:
    theirs = TTestPower().power(shift / deviation, pairs, alpha=0.05)
    assert st.power_of_pairs(shift, deviation, pairs) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize(("first", "second"), [(0.5, 0.53), (0.2, 0.35), (0.9, 0.7)])
def test_the_power_of_two_shares_is_statsmodels(first: float, second: float) -> None:
    trials = st.trials_for_two_shares(first, second, power=0.9)
    theirs = power_proportions_2indep(first - second, second, trials).power
    assert theirs == pytest.approx(0.9, abs=0.005)
    assert st.power_of_two_shares(first, second, trials) == pytest.approx(theirs, abs=1e-9)


def test_the_planned_power_against_half_is_reached_in_simulation() -> None:
    games = st.games_against_half(0.58)
    rng = np.random.default_rng(3)
    share = rng.binomial(games, 0.58, 20_000) / games
    z = (share - 0.5) / np.sqrt(0.25 / games)
    assert np.mean(np.abs(z) > 1.959964) == pytest.approx(0.8, abs=0.03)


def test_the_detectable_difference_is_the_one_that_has_the_power() -> None:
    gain = st.detectable_difference(0.5, 4356)
    assert gain == pytest.approx(0.03, abs=1e-4)


def test_equal_rates_have_no_sample_size() -> None:
    with pytest.raises(InvalidOption, match="no difference"):
        st.trials_for_two_shares(0.5, 0.5)


# Aggregates


def test_the_interquartile_mean_leaves_out_a_quarter_at_both_ends() -> None:
    assert st.iqm([[-1000, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 1e6]]) == pytest.approx(5.5)


def test_a_performance_profile_starts_at_all_and_integrates_to_the_mean() -> None:
    scores = np.random.default_rng(0).random((50, 4))
    thresholds = np.linspace(0, 1, 20_001)
    profile = st.performance_profile(scores, thresholds)
    assert profile[0] == 1
    assert profile[-1] == 0
    assert np.trapezoid(profile, thresholds) == pytest.approx(scores.mean(), abs=1e-4)


def test_stratified_intervals_keep_what_differs_between_tasks_out() -> None:
    """Tasks at 0, 10 and 100, of which one run differs by a little."""
    scores = np.tile([0.0, 10.0, 100.0], (5, 1))
    assert math.isnan(st.stratified_interval(scores).low)
    scores[0, 1] = 11.0
    interval = st.stratified_interval(scores, np.mean)
    assert 36 < interval.low < interval.value < interval.high < 37.2


def test_stratified_intervals_cover_the_mean() -> None:
    rng = np.random.default_rng(4)
    covered = 0
    for repeat in range(400):
        scores = rng.normal([0, 1, 5, 9], 1.0, size=(25, 4))
        interval = st.stratified_interval(scores, np.mean, resamples=400, seed=repeat)
        covered += interval.low <= 3.75 <= interval.high
    assert 0.92 <= covered / 400 <= 0.97


# Generality


def test_scores_are_shares_of_the_best_on_each_task() -> None:
    shares = st.shares_of_best([[5, 2, 0], [10, 1, 0]])
    assert shares.tolist() == [[0.5, 1.0, 0.0], [1.0, 0.5, 0.0]]


def test_participation_and_percentiles_by_hand() -> None:
    """Eleven tasks at 0, 0, 0.2 … 1: the p-th percentile is entry p / 10 of the sorted list."""
    shares = [1.0, 0.0, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6, 0.5, 0.0]
    assert st.generality(shares) == (pytest.approx(9 / 11), pytest.approx((0.0, 0.0, 0.2, 0.5)))


@given(shares=hs.lists(hs.floats(0, 1), min_size=1, max_size=40))
def test_percentiles_are_those_of_the_standard_library(shares: list[float]) -> None:
    found = st.generality(shares).percentiles
    deciles = statistics.quantiles(
        shares * (2 if len(shares) == 1 else 1), n=10, method="inclusive"
    )
    assert found == pytest.approx((min(shares), deciles[0], deciles[1], statistics.median(shares)))


def test_agents_are_compared_in_all_percentiles_and_the_front_is_undominated() -> None:
    """The specialist is best where it scores, and at nothing else."""
    scores = {
        "steady": [0.5] * 5,
        "weak": [0.4] * 5,
        "specialist": [0.0, 0.0, 0.9, 0.9, 0.9],
        "twin": [0.5] * 5,
    }
    found = {name: st.generality(shares) for name, shares in scores.items()}
    assert found["steady"].at_least(found["weak"])
    assert not found["weak"].at_least(found["steady"])
    assert found["steady"].at_least(found["twin"])
    assert not found["steady"].at_least(found["specialist"])
    assert not found["specialist"].at_least(found["weak"])
    assert st.pareto_front(found) == ["steady", "specialist", "twin"]


@pytest.mark.parametrize(
    ("paid", "total", "first", "second"),
    [
        pytest.param([[1, 0], [0, 1]], 1, [1, 1], [1, 1], id="pennies: both in the mix"),
        pytest.param([[1, 0, 2], [2, 1, 0], [0, 2, 1]], 2, [1] * 3, [1] * 3, id="scissors"),
        pytest.param([[1, 2], [0, 1]], 2, [1, 0], [1, 0], id="the first beats the second"),
        # columns at 1/4 and 3/4 leave the first two rows 4/4 + 2 * 3/4 = 1/4 + 3 * 3/4 = 5/2
        pytest.param(
            [[4, 2, 2], [1, 3, 3], [1, 1, 1]],
            5,
            [1, 1, 0.4],
            [1, 1, 1],
            id="a third gets 1 of 5/2",
        ),
    ],
)
def test_competitors_are_scaled_by_the_equilibrium_value(
    paid: list[list[int]], total: int, first: list[float], second: list[float]
) -> None:
    found = st.shares_of_equilibrium((paid, total - np.array(paid)))
    assert found[0].tolist() == pytest.approx(first, abs=1e-9)
    assert found[1].tolist() == pytest.approx(second, abs=1e-9)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: st.shares_of_best([[1, -1]]), "from 0 up"),
        (lambda: st.shares_of_best([1, 2]), r"\(agents, tasks\)"),
        (lambda: st.shares_of_equilibrium(([[1]], [[-1]])), "from 0 up, one per seat"),
        (
            lambda: st.shares_of_equilibrium(([[1, 0], [0, 1]], [[1, 0], [0, 1]])),
            "not to 0 and 2; where seats do not compete",
        ),
        (lambda: st.generality([]), "one finite number a task"),
    ],
)
def test_scores_that_cannot_be_normalised_are_refused(
    call: Callable[[], object], says: str
) -> None:
    with pytest.raises(InvalidOption, match=says):
        call()


# Comparisons


def test_flipping_signs_is_exact_for_few_pairs() -> None:
    """Six gains: 2 of 64 sign patterns are as extreme."""
    compared = st.compare_paired([2, 3, 4, 5, 6, 7.5], [1, 1, 1, 1, 1, 1])
    assert compared.p_value == pytest.approx(2 / 64)
    assert compared.difference.value == pytest.approx(3.583, abs=1e-3)


def test_no_difference_is_found_as_often_as_the_level_says() -> None:
    rng = np.random.default_rng(7)
    found = sum(
        st.compare_paired(*rng.normal(size=(2, 15)), resamples=499, seed=n).p_value <= 0.05
        for n in range(300)
    )
    assert found / 300 <= 0.085


def test_mcnemar_gives_the_published_value() -> None:
    """Discordant pairs 6 and 16 give 0.052 in the exact test (binomial, two-sided)."""
    first = [True] * 6 + [False] * 16 + [True] * 40
    second = [False] * 6 + [True] * 16 + [True] * 40
    assert st.mcnemar(first, second) == pytest.approx(0.0525, abs=1e-4)


def test_holm_and_bonferroni_on_the_textbook_example() -> None:
    values = [0.01, 0.04, 0.03, 0.005]
    assert st.correct(values, "holm").tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert st.correct(values, "bonferroni").tolist() == pytest.approx([0.04, 0.16, 0.12, 0.02])
    assert st.correct(values, "benjamini-hochberg").tolist() == pytest.approx(
        [0.02, 0.04, 0.04, 0.02]
    )
    with pytest.raises(UnknownName, match="benjamini-hochberg"):
        st.correct(values, "hochberg")  # type: ignore[arg-type]


# Survival


def test_kaplan_meier_on_the_published_remission_times() -> None:
    """Gehan (1965), 6-mercaptopurine: S(6) = 0.857, S(10) = 0.753, S(23) = 0.448."""
    ended = [6, 6, 6, 7, 10, 13, 16, 22, 23]
    cut = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
    curve = st.survival_curve(ended + cut, [True] * len(ended) + [False] * len(cut))
    at = dict(zip(curve.times.tolist(), curve.share.tolist(), strict=True))
    assert (at[6], at[10], at[23]) == pytest.approx((0.857, 0.753, 0.448), abs=5e-4)


# Divergence


def records() -> list[palestra.EpisodeRecord]:
    return [
        palestra.play("games/TicTacToe-v0", agents=[agent, "first"], seed=3, invalid="forfeit")[0]
        for agent in ("first", "first", "random")
    ]


def test_equal_runs_never_part() -> None:
    one, two, _ = records()
    assert st.first_divergence(one, two) is None


def test_runs_part_at_the_first_different_action() -> None:
    one, _, other = records()
    parting = st.first_divergence(one, other)
    assert parting is not None
    shared = list(zip(one.turns, other.turns, strict=False))[: parting.turn]
    assert all(a.action == b.action for a, b in shared)
    assert one.turns[parting.turn].action != other.turns[parting.turn].action
    assert parting.what == "action"


def test_the_words_two_answers_share_are_counted() -> None:
    one, two, _ = records()
    one.turns[1].raw, two.turns[1].raw = "take the corner at a1", "take the corner at c3"
    assert st.first_divergence(one, two) == st.Parting(1, "words", 4)


def test_runs_of_different_seeds_are_not_compared() -> None:
    one, two, _ = records()
    two.seed = 4
    with pytest.raises(InvalidOption, match="did not start alike"):
        st.first_divergence(one, two)
