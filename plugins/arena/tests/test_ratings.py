from __future__ import annotations

import choix
import numpy as np
import pyspiel
import pytest
from elo_mmr_py import Contest as RustContest
from elo_mmr_py import rate_latest
from open_spiel.python.algorithms.nash_averaging import nash_averaging as spiel_nash_averaging
from open_spiel.python.egt import alpharank as spiel_alpharank
from openskill.models import PlackettLuce
from palestra import InvalidOption, UnknownName
from palestra_arena import ratings
from palestra_arena.ratings import Contest, Contests, EloMMR, Glicko2, Skill
from palestra_arena.ratings.bradley_terry import ELO
from palestra_arena.ratings.elo import elo
from palestra_arena.ratings.glicko2 import Game

NAMES = ("a", "b", "c", "d")


def random_contests(seed: int, games: int = 60, seats: int = 2, names: int = 4) -> Contests:
    rng = np.random.default_rng(seed)
    played = []
    for number in range(games):
        players = tuple(int(p) for p in rng.permutation(names)[:seats])
        merit = np.round(rng.normal(size=seats) + 0.5 * np.array(players), 0)
        ranks = tuple(int((merit > mine).sum()) for mine in merit)
        played.append(Contest(players, ranks, block=number))
    return Contests(NAMES[:names], tuple(played))


def win_table(seed: int, size: int) -> np.ndarray:
    table = np.random.default_rng(seed).integers(1, 30, (size, size)).astype(float)
    np.fill_diagonal(table, 0)
    return table


def random_antisymmetric(seed: int, size: int) -> np.ndarray:
    table = np.random.default_rng(seed).normal(size=(size, size))
    return table - table.T


# Glicko-2


def test_glicko_2_reproduces_the_worked_example_of_the_paper() -> None:
    seat = Skill(1500, 200, 0.06)
    opponents = [(Skill(1400, 30), 1.0), (Skill(1550, 100), 0.0), (Skill(1700, 300), 0.0)]
    after = Glicko2(tau=0.5).update(seat, [Game(skill, points) for skill, points in opponents])
    assert after.rating == pytest.approx(1464.06, abs=0.01)
    assert after.deviation == pytest.approx(151.52, abs=0.01)
    assert after.volatility == pytest.approx(0.05999, abs=1e-5)


def test_a_glicko_player_who_does_not_play_only_grows_uncertain() -> None:
    after = Glicko2().update(Skill(1600, 50, 0.06), [])
    assert after.rating == 1600
    # sqrt(phi^2 + sigma^2) on the internal scale, back in rating points
    assert after.deviation == pytest.approx(np.hypot(50, 0.06 * 173.7178))


def test_glicko_takes_rounds_of_the_tournament_as_rating_periods() -> None:
    games = (Contest((0, 1), (0, 1), 0, 0), Contest((0, 2), (1, 0), 1, 1))
    rated = {r.agent: r for r in ratings.glicko2(Contests(("a", "b", "c"), games))}
    system, new = Glicko2(), Skill()
    first = system.update(new, [Game(new, 1.0)])
    rested = system.update(new, [])
    assert rated["a"].value == pytest.approx(system.update(first, [Game(rested, 0.0)]).rating)


# Bradley-Terry


@pytest.mark.parametrize("seed", range(5))
def test_bradley_terry_agrees_with_choix(seed: int) -> None:
    wins = win_table(seed, 5)
    expected = choix.opt_pairwise(
        5,
        [(i, j) for i in range(5) for j in range(5) for _ in range(int(wins[i, j]))],
        tol=1e-12,
    )
    expected -= expected.mean()
    np.testing.assert_allclose(ratings.strengths(wins), expected, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_bradley_terry_agrees_with_the_elo_of_openspiel(seed: int) -> None:
    wins, draws = win_table(seed, 4), win_table(seed + 50, 4)
    draws = np.floor((draws + draws.T) / 2)
    options = pyspiel.elo.default_elo_options()
    options.smoothing_factor, options.convergence_delta = 0.0, 1e-14
    options.max_iterations = 100_000
    spiel = np.array(
        pyspiel.elo.compute_ratings_from_matrices(
            win_matrix=wins.astype(int).tolist(),
            draw_matrix=draws.astype(int).tolist(),
            options=options,
        )
    )
    ours = ELO * ratings.strengths(wins + draws / 2)
    np.testing.assert_allclose(ours - ours.mean(), spiel - spiel.mean(), atol=1e-3)


def test_two_players_differ_by_the_logarithm_of_their_odds() -> None:
    wins = np.array([[0.0, 30.0], [10.0, 0.0]])
    first, second = ratings.strengths(wins)
    assert first - second == pytest.approx(np.log(3))


def test_bradley_terry_says_when_there_is_no_maximum() -> None:
    wins = np.array([[0, 3, 3], [0, 0, 2], [0, 1, 0]])
    with pytest.raises(InvalidOption, match="no finite maximum"):
        ratings.strengths(wins)
    assert np.isfinite(ratings.strengths(wins, prior=1)).all()


def test_agents_that_no_game_joins_are_not_compared() -> None:
    games = (Contest((0, 1), (0, 1)), Contest((2, 3), (0, 1), 1))
    with pytest.raises(InvalidOption, match="no game joins"):
        ratings.bradley_terry(Contests(NAMES, games))


@pytest.mark.parametrize(("system", "width"), [("bradley-terry", 100), ("elo", 20)])
def test_who_won_everything_has_an_interval_with_a_width(system: str, width: float) -> None:
    games = tuple(Contest((0, 1), (0, 1), block) for block in range(10))
    first, second = ratings.rate(Contests(("a", "b"), games), system)
    for one in (first, second):
        assert one.low < one.value < one.high
        assert one.high - one.low > width


def test_the_interval_of_one_pair_is_that_of_jeffreys() -> None:
    """Beta(wins + 1/2, losses + 1/2) for the share, so for the odds."""
    from scipy import stats

    games = tuple(Contest((0, 1), (0, 1) if n < 14 else (1, 0), n) for n in range(20))
    first, second = ratings.bradley_terry(Contests(("a", "b"), games), resamples=40_000)
    low, high = (stats.beta.ppf(q, 14.5, 6.5) for q in (0.025, 0.975))
    for found, share in ((first.low, low), (first.high, high)):
        assert 2 * (found - 1500) == pytest.approx(ELO * np.log(share / (1 - share)), abs=6)
    assert first.value + second.value == pytest.approx(3000)


def test_bradley_terry_intervals_cover_the_truth_at_their_confidence() -> None:
    """93 to 97 of 100 intervals hold the rating that the games were drawn from."""
    rng = np.random.default_rng(5)
    truth = np.array([-0.8, -0.1, 0.2, 0.7])
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    covered = trials = 0
    for repeat in range(250):
        games = []
        for i, j in pairs:
            for won in rng.random(30) < 1 / (1 + np.exp(truth[j] - truth[i])):
                games.append(Contest((i, j), (0, 1) if won else (1, 0), len(games)))
        rated = ratings.bradley_terry(Contests(NAMES, tuple(games)), resamples=400, seed=repeat)
        for rating, strength in zip(rated, truth, strict=True):
            covered += rating.low <= 1500 + ELO * strength <= rating.high
            trials += 1
    assert 0.93 <= covered / trials <= 0.97


# Elo


def test_elo_of_a_single_game_is_the_textbook_update() -> None:
    """Equal players: the winner gains K/2."""
    rated = elo(Contests(("a", "b"), (Contest((0, 1), (0, 1)),)), k=32, resamples=2)
    assert [r.value for r in rated] == [1516, 1484]


def test_elo_expects_what_the_published_table_says() -> None:
    """FIDE Handbook B.02, table 8.1.2: rating differences and scoring probabilities."""
    for gap, share in ((0, 0.50), (50, 0.57), (100, 0.64), (200, 0.76), (300, 0.85), (400, 0.92)):
        found = float(ratings.expected_score(np.array(1500.0 + gap), np.array(1500.0)))
        assert found == pytest.approx(share, abs=0.012)


def test_elo_gains_sum_to_nothing_in_games_of_many() -> None:
    rated = elo(random_contests(3, seats=4), resamples=2)
    assert sum(r.value for r in rated) == pytest.approx(4 * 1500)


# OpenSkill


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_openskill_is_its_library(seats: int) -> None:
    contests = random_contests(seats, seats=seats)
    model = PlackettLuce()
    skills = {name: model.rating() for name in NAMES}
    for game in contests.games:
        at_table = [NAMES[player] for player in game.players]
        rated = model.rate([[skills[name]] for name in at_table], ranks=list(game.ranks))
        skills |= {name: team[0] for name, team in zip(at_table, rated, strict=True)}
    for rating in ratings.open_skill(contests):
        assert rating.value == pytest.approx(skills[rating.agent].mu)
        assert rating.high - rating.value == pytest.approx(1.959964 * skills[rating.agent].sigma)


# Elo-MMR


def standings(contest: Contest) -> list[tuple[str, int, int]]:
    """A contest as the authors' program reads it: first and last place shared with equals."""
    return sorted(
        (
            (NAMES[p], r, r + contest.ranks.count(r) - 1)
            for p, r in zip(contest.players, contest.ranks, strict=True)
        ),
        key=lambda line: line[1],
    )


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_elo_mmr_agrees_with_the_program_of_its_authors(seats: int) -> None:
    drawn = random_contests(seats + 10, games=25, seats=seats)
    decided = tuple(game for game in drawn.games if len(set(game.ranks)) > 1)
    contests = Contests(NAMES, decided)  # the program leaves out contests in which all tied
    theirs = rate_latest([RustContest(standings(game)) for game in contests.games])
    # the program adds the limit's variance to the spread of performances: 6400 / 0.2 + 6400
    ours = ratings.elo_mmr(contests, system=EloMMR(beta=38400**0.5))
    for rating in ours:
        assert rating.value == pytest.approx(theirs[rating.agent].mu, abs=0.05)
        deviation = (rating.high - rating.value) / 1.959964
        assert deviation == pytest.approx(theirs[rating.agent].sig, abs=0.05)


def test_elo_mmr_rises_with_every_better_place() -> None:
    """Theorem of the paper: a better place never lowers the rating."""
    found = []
    for rank in range(4):
        others = [r for r in range(4) if r != rank]
        games = (Contest((0, 1, 2, 3), (rank, *others)),)
        found.append(ratings.elo_mmr(Contests(NAMES, games))[0].value)
    assert found == sorted(found, reverse=True)


# Alpha-Rank


def test_alpha_rank_gives_the_published_distribution() -> None:
    """Five strategies of Han et al. (2013), population 20, alpha 0.1, as tested in OpenSpiel."""
    r, t, p, s, delta, eps = 1.0, 2.0, 0.0, -1.0, 4.0, 0.25
    table = [
        [r - eps / 2, r - eps, 0, s + delta - eps, r - eps],
        [r, r, s, s, s],
        [0, t, p, p, p],
        [t - delta, t, p, p, p],
        [r, t, p, p, p],
    ]
    expected = [0.40966787, 0.07959841, 0.20506998, 0.08505983, 0.2206039]
    found = ratings.alpha_rank_mass(table, alpha=0.1, population=20)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_alpha_rank_agrees_with_openspiel(seed: int, alpha: float, local: bool) -> None:
    table = np.random.default_rng(seed).random((5, 5))
    _, _, expected, _, _ = spiel_alpharank.compute(
        [table], m=30, alpha=alpha, use_local_selection_model=local
    )
    found = ratings.alpha_rank_mass(
        table, alpha=alpha, population=30, use_local_selection_model=local
    )
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_mutant_that_earns_the_same_takes_over_by_chance_alone() -> None:
    table = [[1.0, 2.0, 0.5], [2.0, 1.0, 0.5], [0.5, 0.5, 0.0]]
    _, _, expected, _, _ = spiel_alpharank.compute([np.array(table)], m=50, alpha=2.0)
    found = ratings.alpha_rank_mass(table, alpha=2.0, use_local_selection_model=True)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_alpha_rank_gives_rock_paper_scissors_one_third_each() -> None:
    table = [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]
    for alpha in (0.5, np.inf):
        np.testing.assert_allclose(ratings.alpha_rank_mass(table, alpha=alpha), 1 / 3, atol=1e-9)


def test_alpha_rank_gives_all_mass_to_who_beats_everybody() -> None:
    mass = ratings.alpha_rank_mass([[0.5, 0.9, 0.8], [0.1, 0.5, 0.6], [0.2, 0.4, 0.5]])
    np.testing.assert_allclose(mass, [1, 0, 0], atol=1e-3)


# Nash averaging


@pytest.mark.parametrize("size", [2, 3, 5, 8])
@pytest.mark.parametrize("seed", range(3))
def test_nash_averaging_agrees_with_openspiel(seed: int, size: int) -> None:
    table = random_antisymmetric(seed, size)
    game = pyspiel.create_matrix_game(table.tolist(), (-table).tolist())
    expected, worth = spiel_nash_averaging(game)
    mixture, value = ratings.nash_average(table)
    np.testing.assert_allclose(mixture, np.ravel(expected), atol=1e-3)
    np.testing.assert_allclose(value, np.ravel(worth), atol=1e-3)


def test_nash_averaging_solves_the_published_games() -> None:
    transitive = np.array([[0, -1, -1], [1, 0, -1], [1, 1, 0]])
    np.testing.assert_allclose(ratings.nash_average(transitive)[0], [0, 0, 1], atol=1e-6)
    cyclic = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    np.testing.assert_allclose(ratings.nash_average(cyclic)[0], [1 / 3] * 3, atol=1e-6)


def test_a_copy_of_an_agent_changes_nobodys_worth() -> None:
    cyclic = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    copied = cyclic[np.ix_([0, 1, 2, 2], [0, 1, 2, 2])]
    mixture, worth = ratings.nash_average(copied)
    np.testing.assert_allclose(mixture, [1 / 3, 1 / 3, 1 / 6, 1 / 6], atol=1e-5)
    np.testing.assert_allclose(worth, 0, atol=1e-5)


def test_nash_averaging_wants_an_antisymmetric_table() -> None:
    with pytest.raises(InvalidOption, match="antisymmetric"):
        ratings.nash_average([[0, 1], [1, 0]])


@pytest.mark.parametrize("system", ["alpha-rank", "nash-averaging"])
def test_pairs_that_never_met_are_named_and_no_ties(system: str) -> None:
    """b beat a, and c beat d, often: nothing says what a and c would do, who never met."""
    won = [Contest((1, 0), (0, 1), block=n) for n in range(9)]
    won += [Contest((2, 3), (0, 1), block=20 + n) for n in range(9)]
    joined = [Contest((1, 2), (0, 1), block=40)]
    contests = Contests(NAMES, tuple(won + joined))
    with pytest.raises(
        InvalidOption, match=r"never met: a and c, a and d, b and d; .* round-robin"
    ):
        ratings.rate(contests, system)
    assert ratings.rate(contests, "bradley-terry")


# All of them


@pytest.mark.parametrize("system", ratings.SYSTEMS)
def test_every_system_gives_each_agent_a_value_inside_its_interval(system: str) -> None:
    contests = random_contests(1, games=80)
    rated = ratings.rate(contests, system)
    assert {r.agent for r in rated} == set(NAMES)
    assert [r.value for r in rated] == sorted((r.value for r in rated), reverse=True)
    for rating in rated:
        assert rating.low <= rating.high
        if system in ("bradley-terry", "glicko2", "openskill", "elo-mmr"):
            assert rating.low <= rating.value <= rating.high


def test_an_unknown_system_names_the_known() -> None:
    with pytest.raises(UnknownName, match="glicko2"):
        ratings.rate(random_contests(1), "glicko")
