"""Matrix games: payoffs and equilibria of the presets, Markov chains, and Press and Dyson."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from statistics import mean, stdev
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Agent, Episode, InvalidOption, Turn, make_agent
from palestra.kernel.registry import registry
from palestra.records.record import record_episode, replay
from palestra.testing import Subject, run_check
from palestra_games.dilemmas.matrix_game.game import MatrixGame
from palestra_games.dilemmas.matrix_game.strategies import (
    MEMORY_ONE,
    Strategy,
    extortion,
    table_for,
)

C, D = 0, 1
T, R, P, S = 5, 3, 1, 0
PD = MatrixGame()
PRESETS = ("PrisonersDilemma", "StagHunt", "Chicken", "BattleOfTheSexes")
PD_OWN, PD_OTHER = table_for(PD, 0)
CI = 4.0  # standard errors: a sound game fails about once in 10,000 seeds, and seeds are fixed


def preset(name: str, **options: Any) -> MatrixGame:
    game = palestra.game(f"games/{name}-v0", **options)
    assert isinstance(game, MatrixGame)
    return game


def series(game: MatrixGame, agents: Sequence[Agent], seed: int = 0, **more: Any) -> Episode:
    """One episode between two agents."""
    for seat, agent in enumerate(agents):
        agent.reseed(1000 * seed + seat)
    episode = Episode(game, seed, **more)
    while not episode.over:
        turns = {seat: Turn(episode, seat) for seat in episode.to_act}
        episode.act({seat: agents[seat].act([turn])[0].action for seat, turn in turns.items()})
    return episode


def script(moves: str) -> Agent:
    """An agent that plays a line such as "CCD" and then its last move again."""
    return make_agent(lambda turn: "CD".index(moves[min(turn.steps_played, len(moves) - 1)]))


def line_of(episode: Episode, seat: int) -> str:
    rounds = [e for step in episode.log for e in step if e.kind == "round"]
    return "".join("CD"[event.data["moves"][seat]] for event in rounds)


# Payoffs and equilibria


def test_published_payoffs_of_the_prisoners_dilemma() -> None:
    paid = [[PD.pay(row, column) for column in (C, D)] for row in (C, D)]
    assert paid == [[(R, R), (S, T)], [(T, S), (P, P)]]
    assert T > R > P > S
    assert 2 * R > T + S


@pytest.mark.parametrize(
    ("name", "theirs"),
    [("StagHunt", "matrix_sh"), ("Chicken", "matrix_cd"), ("BattleOfTheSexes", "matrix_bos")],
)
def test_presets_have_openspiels_payoffs(name: str, theirs: str) -> None:
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    game, matrix = preset(name), pyspiel.load_matrix_game(theirs)
    names = {"swerve": "Chicken", "straight": "Dare"}
    order = [matrix.row_action_name(action).casefold() for action in range(2)]
    for row, column in product(range(2), repeat=2):
        a, b = (
            order.index(names.get(game.moves[m], game.moves[m]).casefold()) for m in (row, column)
        )
        assert game.pay(row, column) == (matrix.row_utility(a, b), matrix.col_utility(a, b))


SQUARE = ("matrix_pd", "matrix_bos", "matrix_rps", "matrix_brps", "matrix_rpsw")


@pytest.mark.parametrize("theirs", [*SQUARE, "matrix_shapleys_game", "matrix_mp"])
def test_any_table_repeated_pays_as_in_openspiel(theirs: str) -> None:
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    matrix = pyspiel.load_matrix_game(theirs)
    n = matrix.num_rows()
    table = [
        [[matrix.row_utility(a, b), matrix.col_utility(a, b)] for b in range(n)] for a in range(n)
    ]
    names = [matrix.row_action_name(action) for action in range(n)]
    game = MatrixGame(payoffs_table=table, moves=names, rounds=20)
    settings = {
        "num_repetitions": 20,
        "enable_infostate": False,
        "stage_game": pyspiel.load_game(theirs),
    }
    repeated = pyspiel.create_repeated_game(settings.pop("stage_game"), settings)
    rng = random.Random(0)
    state, episode = repeated.new_initial_state(), Episode(game, 0, compiled=False)
    while not state.is_terminal():
        actions = [rng.randrange(n), rng.randrange(n)]
        assert not episode.over
        state.apply_actions(actions)
        episode.act(dict(enumerate(actions)))
        assert list(episode.rewards) == state.rewards()
    assert episode.over
    assert list(episode.returns) == state.returns()


def pure_equilibria(game: MatrixGame) -> set[tuple[int, int]]:
    cells = product(range(2), repeat=2)
    return {
        (row, column)
        for row, column in cells
        if game.pay(row, column)[0] >= game.pay(1 - row, column)[0]
        and game.pay(row, column)[1] >= game.pay(row, 1 - column)[1]
    }


def mixed_equilibrium(game: MatrixGame) -> tuple[Fraction, Fraction] | None:
    """The probabilities of the first moves at which both are indifferent, if inside (0, 1)."""
    chances = []
    for seat in (1, 0):  # the row player's mix makes the column player indifferent
        gain = [
            Fraction(game.pay(*cells[0])[seat] - game.pay(*cells[1])[seat])
            for first in range(2)
            for cells in [[(first, m) if seat else (m, first) for m in range(2)]]
        ]
        if gain[0] == gain[1]:
            return None
        chance = gain[1] / (gain[1] - gain[0])
        if not 0 < chance < 1:
            return None
        chances.append(chance)
    return chances[0], chances[1]


@pytest.mark.parametrize(
    ("name", "pure", "mixed"),
    [
        ("PrisonersDilemma", {(1, 1)}, None),
        ("StagHunt", {(0, 0), (1, 1)}, (Fraction(1, 2), Fraction(1, 2))),
        ("Chicken", {(0, 1), (1, 0)}, (Fraction(1, 2), Fraction(1, 2))),
        ("BattleOfTheSexes", {(0, 0), (1, 1)}, (Fraction(3, 5), Fraction(2, 5))),
    ],
)
def test_equilibria_of_the_presets_are_the_textbooks(
    name: str, pure: set[tuple[int, int]], mixed: tuple[Fraction, Fraction] | None
) -> None:
    game = preset(name)
    assert pure_equilibria(game) == pure
    assert mixed_equilibrium(game) == mixed


# Long-run payoffs


def stationary(p: Sequence[float], q: Sequence[float], noise: float = 0.0) -> tuple[float, float]:
    """Long-run payoffs of two memory-one strategies in the prisoner's dilemma, by linear algebra.

    The states are CC, CD, DC, DD from the first player's side; the second reads them swapped.
    """
    slip = [[x * (1 - noise) + (1 - x) * noise for x in s] for s in (p, q)]
    chain = np.zeros((4, 4))
    for state in range(4):
        a, b = slip[0][state], slip[1][(0, 2, 1, 3)[state]]
        chain[state] = [a * b, a * (1 - b), (1 - a) * b, (1 - a) * (1 - b)]
    system = np.vstack([chain.T - np.eye(4), np.ones(4)])
    weights = np.linalg.lstsq(system, np.array([0, 0, 0, 0, 1.0]), rcond=None)[0]
    return float(weights @ np.array(PD_OWN)), float(weights @ np.array(PD_OTHER))


def test_tit_for_tat_with_noise_is_paid_the_mean_of_the_table() -> None:
    """All four pairs of moves are equally frequent, however small the noise (Molander 1985)."""
    tft = MEMORY_ONE["tit-for-tat"]
    for noise in (0.01, 0.1, 0.3):
        assert stationary(tft, tft, noise) == pytest.approx(((T + R + P + S) / 4,) * 2)


@pytest.mark.parametrize(
    ("names", "closed_form"),
    [
        (("tit-for-tat", "tit-for-tat"), (2.25, 2.25)),
        (("always-cooperate", "always-defect"), (0.41, 4.41)),
        (("win-stay-lose-shift", "always-defect"), None),
        (("generous-tit-for-tat", "tit-for-tat"), None),
    ],
)
def test_noisy_play_settles_where_the_markov_chain_does(
    names: tuple[str, str], closed_form: tuple[float, float] | None
) -> None:
    noise, rounds = 0.1, 2_000
    known = {**MEMORY_ONE, "generous-tit-for-tat": (1, 1 / 3, 1, 1 / 3)}
    expected = stationary(known[names[0]], known[names[1]], noise)
    if closed_form:
        assert expected == pytest.approx(closed_form)
    game = MatrixGame(rounds=rounds, noise=noise)
    agents = [make_agent(f"strategy:name={name}") for name in names]
    paid = [[r / rounds for r in series(game, agents, seed).returns] for seed in range(6)]
    for seat in range(2):
        means = [pair[seat] for pair in paid]
        error = max(stdev(means), 0.01) / len(means) ** 0.5
        assert mean(means) == pytest.approx(expected[seat], abs=6 * error)


def test_extortioner_is_press_and_dysons() -> None:
    """Their example with factor 3 and payoffs 5, 3, 1, 0: p = (11/13, 1/2, 7/26, 0)."""
    assert extortion(PD_OWN, PD_OTHER, 3.0) == pytest.approx((11 / 13, 1 / 2, 7 / 26, 0))
    assert extortion(PD_OWN, PD_OTHER, 1.0) == pytest.approx((1, 1 / 2, 1 / 2, 0))


@pytest.mark.parametrize("chi", [1.5, 3.0, 10.0])
def test_extortion_against_full_cooperation_pays_the_published_scores(chi: float) -> None:
    """Press and Dyson 2012: s_X = (2 + 13 chi) / (2 + 3 chi), s_Y = (12 + 3 chi) / (2 + 3 chi)."""
    paid = stationary(extortion(PD_OWN, PD_OTHER, chi), (1, 1, 1, 1))
    published = ((2 + 13 * chi) / (2 + 3 * chi), (12 + 3 * chi) / (2 + 3 * chi))
    assert paid == pytest.approx(published)


def test_linear_relation_holds_against_any_memory_one_opponent() -> None:
    rng = random.Random(0)
    for chi in (1.0, 2.0, 3.0, 7.0):
        for _ in range(20):
            other = [rng.uniform(0.05, 0.95) for _ in range(4)]
            own, others = stationary(extortion(PD_OWN, PD_OTHER, chi), other)
            assert own - P == pytest.approx(chi * (others - P))


@pytest.mark.exhaustive(sample=2)
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize(
    "opponent", ["always-cooperate", "generous-tit-for-tat", "win-stay-lose-shift", "random"]
)
def test_extortioner_keeps_the_linear_relation_in_play(opponent: str, seat: int) -> None:
    """s_X - P - chi (s_Y - P) is zero in the long run, whoever Y is.

    Over n rounds its mean is off by at most 1 / (phi n), here 26 / 2000, besides chance.
    """
    chi, rounds = 3.0, 2_000
    game = MatrixGame(rounds=rounds)
    rival = make_agent("random" if opponent == "random" else f"strategy:name={opponent}")
    gaps = []
    for seed in range(5):
        agents = [Strategy(name="zero-determinant", chi=chi), rival]
        returns = series(game, agents if seat == 0 else agents[::-1], seed).returns
        own, other = returns[seat] / rounds, returns[1 - seat] / rounds
        assert own > other > P
        gaps.append((own - P) - chi * (other - P))
    # chance: in every round one coin with a deviation of 1/2 at most, weighed by 1 / phi = 26
    assert abs(mean(gaps)) < 26 / rounds + CI * 13 / (rounds * len(gaps)) ** 0.5


def test_extortion_of_tit_for_tat_ends_in_mutual_defection() -> None:
    agents = [Strategy(name="zero-determinant"), Strategy(name="tit-for-tat")]
    episode = series(MatrixGame(rounds=300), agents, compiled=False)
    assert line_of(episode, 0)[-50:] == line_of(episode, 1)[-50:] == "D" * 50


def test_nothing_can_be_extorted_from_other_tables() -> None:
    agents = [Strategy(name="zero-determinant"), Strategy()]
    with pytest.raises(InvalidOption, match="prisoner's dilemma"):
        series(preset("BattleOfTheSexes"), agents, compiled=False)


# A round robin, by hand

# Ten rounds with 5, 3, 1, 0, rows against columns. Two nice players earn 10 x 3 from each other.
# A defector takes 5 and then 9 x 1 from tit-for-tat and grim, who get 0 and 9 x 1. Win-stay,
# lose-shift is exploited in every other round: 5 x (0 + 1), and the defector 5 x (5 + 1).
# The prober opens D C C and then repeats the other's move. Tit-for-tat answers C D C C …, and both
# are paid 5 + 8 x 3. Grim answers C D D D …: 0, 5, 5, then 7 x 1 for mutual defection, against
# the prober's 5, 0, 0; in the fourth round the prober still copies grim's defection.
NAMES = ("always-cooperate", "always-defect", "tit-for-tat", "grim", "win-stay-lose-shift")
BY_HAND = {
    "always-cooperate": (30, 0, 30, 30, 30),
    "always-defect": (50, 10, 14, 14, 30),
    "tit-for-tat": (30, 9, 30, 30, 30),
    "grim": (30, 9, 30, 30, 30),
    "win-stay-lose-shift": (30, 5, 30, 30, 30),
}


@pytest.mark.parametrize("name", NAMES)
def test_round_robin_pays_what_was_computed_by_hand(name: str) -> None:
    for other, paid in zip(NAMES, BY_HAND[name], strict=True):
        agents = [make_agent(f"strategy:name={name}"), make_agent(f"strategy:name={other}")]
        episode = series(preset("PrisonersDilemma"), agents, compiled=False)
        assert list(episode.returns) == [paid, BY_HAND[other][NAMES.index(name)]], other


@pytest.mark.parametrize(
    ("name", "moves", "paid"),
    [("tit-for-tat", "DCCCCCCCCC", (29, 29)), ("grim", "DCCDDDDDDD", (17, 12))],
)
def test_a_prober_is_forgiven_or_not(name: str, moves: str, paid: tuple[int, int]) -> None:
    agents = [make_agent(f"strategy:name={name}"), script(moves)]
    episode = series(PD, agents, compiled=False)
    assert tuple(episode.returns) == paid


@pytest.mark.parametrize(
    ("name", "moves", "answers"),
    [
        ("tit-for-tat", "CDDCCDC", "CCDDCCD"),
        ("grim", "CCDCCCC", "CCCDDDD"),
        ("win-stay-lose-shift", "CDDCDDC", "CCDCCDC"),
        ("always-defect", "CDCDCDC", "DDDDDDD"),
    ],
)
@pytest.mark.parametrize("seat", [0, 1])
def test_strategies_answer_a_line_as_defined(
    name: str, moves: str, answers: str, seat: int
) -> None:
    agents = [make_agent(f"strategy:name={name}"), script(moves)]
    game = MatrixGame(rounds=len(moves))
    episode = series(game, agents if seat == 0 else agents[::-1], compiled=False)
    assert line_of(episode, 1 - seat) == moves
    assert line_of(episode, seat) == answers


def test_generosity_forgives_a_share_of_defections() -> None:
    game = MatrixGame(rounds=600)
    episode = series(game, [Strategy(name="generous-tit-for-tat"), script("D")], compiled=False)
    share = line_of(episode, 0)[1:].count("C") / 599
    assert share == pytest.approx(1 / 3, abs=CI * (2 / 9 / 599) ** 0.5)


@pytest.mark.parametrize("name", PRESETS)
def test_reciprocators_agree_on_the_first_move_of_every_preset(name: str) -> None:
    agents = [make_agent("strategy:name=grim"), make_agent("strategy")]
    assert line_of(series(preset(name), agents, compiled=False), 0) == "C" * 10


def test_unknown_strategies_and_larger_games_are_refused() -> None:
    with pytest.raises(InvalidOption, match="'tit-for-tat' or"):
        make_agent("strategy:name=tit-for-tatt")
    rps = MatrixGame(payoffs_table=(0,) * 18, moves=("rock", "paper", "scissors"))
    with pytest.raises(InvalidOption, match="2x2"):
        series(rps, [Strategy(), Strategy()], compiled=False)
    for option in ("chi=0.5", "generosity=2.0"):
        with pytest.raises(InvalidOption, match=option.split("=")[0]):
            make_agent(f"strategy:{option}")


# Noise and horizon


def test_noise_turns_the_stated_share_of_moves() -> None:
    episode = series(
        MatrixGame(rounds=1_000, noise=0.2), [script("C"), script("D")], compiled=False
    )
    bound = CI * (0.2 * 0.8 / 1_000) ** 0.5
    assert line_of(episode, 0).count("D") / 1_000 == pytest.approx(0.2, abs=bound)
    assert line_of(episode, 1).count("C") / 1_000 == pytest.approx(0.2, abs=bound)


def test_certain_noise_always_turns_two_moves_and_spreads_over_the_others_of_three() -> None:
    two = series(MatrixGame(noise=1.0), [script("C"), script("D")], compiled=False)
    assert (line_of(two, 0), line_of(two, 1)) == ("D" * 10, "C" * 10)
    names = ("rock", "paper", "scissors")
    game = MatrixGame(payoffs_table=(0,) * 18, moves=names, rounds=600, noise=1.0)
    played = series(game, [script("C"), script("C")], compiled=False).state.played[0].tolist()
    assert played[0] == 0
    assert played[1] == pytest.approx(300, abs=CI * 150**0.5)


def test_payment_follows_the_moves_as_they_came_out() -> None:
    episode = Episode(MatrixGame(noise=1.0), 0, compiled=False)
    episode.act({0: C, 1: D})
    assert tuple(episode.rewards) == (T, S)
    assert "you played defect and were paid 5" in episode.describe(0)


def test_random_horizon_is_geometric_and_cut_at_the_most() -> None:
    game, lengths = MatrixGame(rounds=40, continuation=0.8), []
    for seed in range(400):
        lengths.append(series(game, [script("C"), script("C")], seed, compiled=False).steps_played)
    assert max(lengths) <= 40
    # geometric with mean 1 / 0.2 = 5 and deviation sqrt(0.8) / 0.2 = 4.47; the cut takes 0.0007
    assert mean(lengths) == pytest.approx(5, abs=CI * 4.47 / 20)
    assert lengths.count(1) / 400 == pytest.approx(0.2, abs=CI * 0.02)
    episode = series(MatrixGame(continuation=0.0), [script("C"), script("C")], compiled=False)
    assert episode.steps_played == 1
    assert not episode.truncated


ROCK_PAPER_SCISSORS = MatrixGame(
    payoffs_table=(0, 0, -1, 1, 1, -1, 1, -1, 0, 0, -1, 1, -1, 1, 1, -1, 0, 0),
    moves=("rock", "paper", "scissors"),
    noise=0.25,
    continuation=0.9,
    rounds=30,
)


@pytest.mark.parametrize(
    "check",
    ["compiled_equals_interpreted", "record_replays_exactly", "numbers_stay_in_space", "pickles"],
)
def test_noisy_three_move_game_of_random_length_passes_the_kit(check: str) -> None:
    game = ROCK_PAPER_SCISSORS
    options = {name: getattr(game, name) for name in game.__dataclass_fields__}
    spec = registry().environment("games/MatrixGame-v0")
    verdict = run_check(Subject(spec, options), check)
    assert verdict.status == "passed", verdict.detail


def test_a_record_alone_is_enough_to_replay_a_table() -> None:
    agents = [make_agent("random"), make_agent("random")]
    spec = registry().environment("games/MatrixGame-v0")
    episode = series(ROCK_PAPER_SCISSORS, agents, compiled=False, spec=spec)
    assert replay(record_episode(episode)).returns == episode.returns


# What a player reads


def test_rules_name_the_readers_own_payoffs_first() -> None:
    game = preset("BattleOfTheSexes", noise=0.1, continuation=0.9)
    cell = "You play bach, the other bach: you are paid {}, the other {}."
    assert cell.format(3, 2) in game.rules_for(0)
    assert cell.format(2, 3) in game.rules_for(1)
    assert "probability 0.1" in game.rules_for(0)
    assert "probability 0.9, for at most 10 rounds" in game.rules_for(0)
    lopsided = MatrixGame(payoffs_table=(0, 0, 1, 2, 3, 4, 0, 0))
    assert (
        "You play cooperate, the other defect: you are paid 4, the other 3."
        in lopsided.rules_for(1)
    )


def test_both_see_the_same_round_from_their_own_side() -> None:
    episode = Episode(PD, 0, compiled=False)
    episode.act({0: C, 1: D})
    assert episode.observation(0).tolist() == [1, 0, 0, 1, 1, 0, 0, 1, S, T, S, T, 1]
    assert episode.observation(1).tolist() == [0, 1, 1, 0, 0, 1, 1, 0, T, S, T, S, 1]
    assert "you played cooperate and were paid 0; the other played defect" in episode.describe(0)
    assert "Totals: you 5, the other 0." in episode.describe(1)


def test_scores_are_totals_and_nobody_wins() -> None:
    episode = series(PD, [script("D"), script("C")], compiled=False)
    assert episode.outcome is not None
    assert episode.outcome.scores == (50.0, 0.0)
    assert episode.outcome.results == ("score", "score")


def test_words_before_a_move_are_ignored() -> None:
    episode = Episode(PD, 0, compiled=False)
    assert episode.parse(0, "They did not cooperate twice, so I defect now.\n[defect]") == D
    assert episode.parse(0, "Move: Cooperate.") == C


def test_a_nested_table_is_the_same_game_as_a_flat_one() -> None:
    nested = MatrixGame(
        payoffs_table=[[[3, 3], [0, 5]], [[5, 0], [1, 1]]], moves=["cooperate", "defect"]
    )
    assert nested == PD
    assert hash(nested) == hash(PD)


def test_noise_and_chance_ends_are_declared() -> None:
    assert PD.deterministic
    assert not MatrixGame(noise=0.1).deterministic
    assert not MatrixGame(continuation=0.5).deterministic


def test_losses_bound_the_payoffs_and_the_view() -> None:
    game = MatrixGame(payoffs_table=(-1, -1, -3, 0, 0, -3, -2, -2))
    assert game.payoff_bounds == (-30, 0)
    episode = series(game, [script("C"), script("D")], compiled=False)
    assert episode.returns[0] == -30
    assert game.scene(episode.state).lines == ("Rounds played: 10 of 10; totals: -30 and 0",)
    assert game.observation_space(0).contains(episode.observation(0))


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"payoffs_table": (1, 2, 3)}, "8 numbers"),
        ({"payoffs_table": (1, 2, 3, 4, 5, 6, 7, "x")}, "row by row"),
        ({"payoffs_table": (1, 2, 3, 4, 5, 6, 7, float("nan"))}, "each item a number"),
        ({"payoffs_table": (1, 2, 3, 4, 5, 6, 7, float("inf"))}, "8 numbers"),
        ({"payoffs_table": [[1, 2], [3]]}, "8 numbers"),
        ({"moves": ("left", "Left")}, "differ"),
        ({"moves": "CD"}, "names"),
        ({"moves": ("alone",)}, "2 to 10"),
        ({"rounds": 0}, "rounds"),
        ({"continuation": 1.5}, "continuation"),
        ({"noise": -0.1}, "noise"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], word: str) -> None:
    with pytest.raises(InvalidOption, match=word):
        MatrixGame(**options)
