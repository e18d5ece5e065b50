"""Liar's dice: calls by the rule book, OpenSpiel's rules, and the known value of one die each."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from palestra import Episode, InvalidOption, Rng
from palestra.rules import turn_to
from palestra.scene import Dice
from palestra.testing import check
from palestra_games.dice.liars_dice import LiarsDice

BLUFF = LiarsDice()
THREE_FACES = LiarsDice(faces=3, wild=3)
LAST = LiarsDice(num_players=3, dice=2, rounds="last")
Hand = tuple[int, ...]


def play(game: LiarsDice, hands: tuple[Hand, ...], *moves: str) -> Episode:
    episode = Episode(game, 0, compiled=False)
    episode.load(game.deal(*hands))
    for move in moves:
        say(episode, move)
    return episode


def say(episode: Episode, move: str) -> None:
    seat = episode.to_act[0]
    episode.act({seat: episode.parse(seat, move)})


def lose(episode: Episode, loser: int) -> None:
    """Let `loser` bid what nobody has rolled, and the next player call them a liar."""
    state = episode.state
    turn_to(state, loser)
    state.hands[:, 1:] = 0
    state.hands[:, 0] = state.left
    episode.load(state)
    say(episode, "1x2")
    say(episode, "liar")


# Calls


@pytest.mark.parametrize(
    ("wild", "bid", "true"),
    [
        (0, "2x5", True),
        (0, "3x5", False),
        (6, "3x5", True),
        (6, "4x5", False),
        (6, "1x6", True),
        (6, "2x6", False),
        (1, "4x5", True),
        (1, "5x5", False),
        (1, "2x1", True),
        (1, "3x1", False),
        (1, "4x2", False),
    ],
)
def test_a_bid_is_true_if_enough_dice_show_its_face_or_the_wild_one(
    wild: int, bid: str, true: bool
) -> None:
    game = LiarsDice(dice=3, wild=wild)
    episode = play(game, ((5, 1, 2), (5, 6, 1)), bid, "liar")
    assert episode.over
    assert list(episode.returns) == ([1, -1] if true else [-1, 1])
    shown = "The dice are shown: player_0 has 1, 2, 5; player_1 has 1, 5, 6."
    texts = [event.text for event in episode.events if event.kind == "reveal"]
    assert texts == [f"{shown} The bid {bid} is {'true' if true else 'false'}."]


def test_bids_rise_by_quantity_and_then_by_face() -> None:
    start, later, highest = (
        play(BLUFF, ((1,), (2,)), *moves) for moves in ((), ("1x5",), ("1x5", "2x6"))
    )
    assert start.legal_text(0) == ", ".join(f"{q}x{f}" for q in (1, 2) for f in range(1, 7))
    assert later.legal_text(1) == "1x6, 2x1, 2x2, 2x3, 2x4, 2x5, 2x6, liar"
    assert highest.legal_text(0) == "liar"


def test_the_loser_of_one_round_pays_the_others_in_equal_shares() -> None:
    game = LiarsDice(num_players=4)
    bidder_lost = play(game, ((1,), (2,), (3,), (4,)), "1x2", "2x2", "liar")
    assert list(bidder_lost.returns) == pytest.approx([1 / 3, -1, 1 / 3, 1 / 3])
    caller_lost = play(game, ((1,), (2,), (3,), (4,)), "1x1", "1x2", "liar")
    assert list(caller_lost.returns) == pytest.approx([1 / 3, 1 / 3, -1, 1 / 3])
    assert caller_lost.outcome is not None
    assert caller_lost.outcome.winners == (0, 1, 3)
    assert caller_lost.outcome.scores == pytest.approx(caller_lost.returns)


# To the last player


def test_the_loser_of_a_call_loses_a_die_and_bids_first() -> None:
    episode = play(LAST, ((1, 1), (2, 2), (3, 3)), "1x1", "1x2", "liar")
    assert episode.state.left.tolist() == [2, 2, 1]
    assert episode.to_act == (2,)
    assert episode.state.hands.sum(axis=1).tolist() == [2, 2, 1]
    assert "Bids in this round: none." in episode.describe(0)
    assert list(episode.returns) == [0, 0, 0]


def test_a_player_without_dice_is_out_and_the_next_one_bids_first() -> None:
    episode = play(LAST, ((1, 1), (2, 2), (3, 3)))
    lose(episode, 1)
    lose(episode, 1)
    assert episode.present == (0, 2)
    assert episode.to_act == (2,)
    assert "have no dice left" in episode.describe(1)
    assert "player_1 loses a die and is out." in [event.text for event in episode.events]
    say(episode, "1x1")
    assert episode.to_act == (0,)


def test_nobody_bids_more_dice_than_are_in_play() -> None:
    episode = play(LAST, ((1, 1), (2, 2), (3, 3)))
    assert episode.legal_text(0).endswith("6x6")
    lose(episode, 0)
    assert episode.legal_text(0).endswith("5x6")
    say(episode, "5x6")
    assert episode.legal_text(1) == "liar"


def test_the_last_player_with_dice_is_paid_what_the_others_lose() -> None:
    for seed in range(30):
        episode, rng = Episode(LAST, seed, compiled=False), Rng(seed)
        in_play = 6
        while not episode.over:
            mover = episode.to_act[0]
            assert episode.state.left[mover] > 0
            action = LAST.sample(episode.state, mover, rng)
            episode.act({mover: action})
            in_play -= action == LAST.num_bids
            assert episode.state.left.sum() == in_play
        winner = int(episode.state.left.argmax())
        assert np.count_nonzero(episode.state.left) == 1
        assert list(episode.returns) == [1 if seat == winner else -0.5 for seat in range(3)]
        assert episode.outcome is not None
        assert episode.outcome.scores == pytest.approx(episode.returns)


def test_the_largest_table_plays_to_the_end() -> None:
    episode, rng = (
        Episode(LiarsDice(num_players=6, dice=6, rounds="last"), 0, compiled=False),
        Rng(0),
    )
    while not episode.over:
        seat = episode.to_act[0]
        episode.act({seat: episode.game.sample(episode.state, seat, rng)})
    assert sorted(episode.returns) == pytest.approx([-0.2] * 5 + [1])


# Other implementations and known answers


def openspiel(dice: int, faces: int) -> Any:
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    return pyspiel.load_game(f"liars_dice(numdice={dice},dice_sides={faces})")


def rolled(theirs: Any, hands: list[list[int]]) -> Any:
    state = theirs.new_initial_state()
    for hand in hands:
        for face in hand:
            state.apply_action(face - 1)
    return state


def dice(state: Any) -> list[list[int]]:
    return [
        [face + 1 for face, count in enumerate(hand) for _ in range(count)]
        for hand in state.hands.tolist()
    ]


@pytest.mark.parametrize(("number", "faces"), [(1, 3), (1, 4), (2, 2)])
def test_every_deal_and_bidding_sequence_agrees_with_openspiel(number: int, faces: int) -> None:
    theirs, game = openspiel(number, faces), LiarsDice(dice=number, faces=faces, wild=faces)
    endings = 0

    def compare(state: Any, other: Any, paid: list[float]) -> None:
        nonlocal endings
        assert game.to_act(state) == (() if other.is_terminal() else (other.current_player(),))
        if other.is_terminal():
            endings += 1
            assert paid == other.returns()
            return
        seat = game.to_act(state)[0]
        assert game.legal_actions(state, seat) == other.legal_actions()
        for action in other.legal_actions():
            after = game.clone(state)
            step = game.step(after, {seat: action})
            earned = [sum(step.rewards.get(owner, {}).values()) for owner in range(2)]
            compare(after, other.child(action), earned)

    deals = game.deals()
    for _, state in deals:
        compare(state, rolled(theirs, dice(state)), [0.0, 0.0])
    assert endings == len(deals) * (2 ** (2 * number * faces) - 1)  # sets of bids but the empty one


@pytest.mark.parametrize("number", [1, 2, 5])
def test_random_games_agree_with_openspiel(number: int) -> None:
    theirs, game = openspiel(number, 6), LiarsDice(dice=number)
    for seed in range(100):
        episode, rng = Episode(game, seed, compiled=False), Rng(seed)
        other = rolled(theirs, dice(episode.state))
        while not episode.over:
            seat = episode.to_act[0]
            assert seat == other.current_player()
            assert episode.legal_actions(seat) == other.legal_actions()
            action = other.legal_actions()[rng.below(min(8, len(other.legal_actions())))]
            if rng.below(4) == 0 and other.legal_actions()[-1] == game.num_bids:
                action = game.num_bids
            other.apply_action(action)
            episode.act({seat: action})
        assert list(episode.returns) == other.returns()


def test_uniform_play_has_openspiels_nash_conv() -> None:
    agents = pytest.importorskip("palestra_agents.exploitability")
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    theirs = openspiel(1, 3)
    ours = agents.nash_conv(THREE_FACES, agents.uniform_policy(THREE_FACES))
    assert ours == pytest.approx(pyspiel.nash_conv(theirs, pyspiel.UniformRandomPolicy(theirs)))


def test_counterfactual_regret_minimisation_solves_three_faces() -> None:
    agents = pytest.importorskip("palestra_agents.exploitability")
    cfr = pytest.importorskip("palestra_agents.cfr")
    policy = cfr.Solver(THREE_FACES).run(30)
    assert agents.exploitability(THREE_FACES, policy) < 1e-2
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    theirs = openspiel(1, 3)
    solver = pyspiel.CFRPlusSolver(theirs)
    for _ in range(500):
        solver.evaluate_and_update_policy()
    start, strategy = theirs.new_initial_state(), solver.average_policy()
    known = pyspiel.expected_returns(start, strategy, -1, False)[0]
    assert agents.expected_values(THREE_FACES, policy)[0] == pytest.approx(known, abs=1e-2)


def truths() -> NDArray[np.float64]:
    """1 where a bid is true, by bid and the die of each player, as the game's calls decide."""
    true = np.zeros((12, 6, 6))
    for _, start in BLUFF.deals() or ():
        (first,), (second,) = dice(start)
        for bid in range(12):
            state = BLUFF.clone(start)
            BLUFF.step(state, {0: bid})
            paid = BLUFF.step(state, {1: BLUFF.num_bids}).rewards
            true[bid, first - 1, second - 1] = paid[0]["payoff"] > 0
    return true


class BiddingTree:
    """One die each: sets of the 12 bids made are positions, and the next bid doubles the sets.

    A strategy has a row for every position and die of the player to move, of 12 bids and "liar".
    """

    def __init__(self, true: NDArray[np.float64]) -> None:
        self.true = true
        made = np.arange(4096)
        self.mover = np.array([int(m).bit_count() % 2 for m in made])
        higher = np.arange(12)[None, :] >= np.array([int(m).bit_length() for m in made])[:, None]
        self.legal = np.concatenate([higher, made[:, None] > 0], axis=1)[:, None, :]

    def reaches(self, strategy: NDArray[np.float64]) -> NDArray[np.float64]:
        """By player, position and die: the probability of what they must have bid to get there."""
        reach = np.ones((2, 4096, 6))
        for bid in range(12):
            size = 1 << bid
            for seat in range(2):
                moved = np.where(self.mover[:size, None] == seat, strategy[:size, :, bid], 1.0)
                reach[seat, size : 2 * size] = reach[seat, :size] * moved
        return reach

    def worths(
        self, strategy: NDArray[np.float64], seat: int, *, best: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A player's worth of each action and position, times the others' and chance's reach."""
        reach = self.reaches(strategy)[1 - seat] / 36
        actions, worth = np.zeros((4096, 6, 13)), np.zeros((4096, 6))
        for bit in range(12, -1, -1):  # positions whose highest bid is bit - 1
            low, high = (1 << bit) >> 1, 1 << bit
            for bid in range(bit, 12):
                actions[low:high, :, bid] = worth[low + (1 << bid) : high + (1 << bid)]
            own = self.mover[low:high] == seat
            calls = np.where(own[:, None], 1.0, strategy[low:high, :, 12]) * reach[low:high]
            if bit:
                true = self.true[bit - 1] if seat == 0 else self.true[bit - 1].T
                actions[low:high, :, 12] = calls @ (2 * true - 1).T
                actions[low:high, :, 12] *= np.where(own, -1.0, 1.0)[:, None]
            legal = np.where(self.legal[low:high], actions[low:high], -np.inf)
            mixed = (strategy[low:high] * actions[low:high]).sum(2)
            chosen = legal.max(2) if best else mixed
            worth[low:high] = np.where(own[:, None], chosen, actions[low:high].sum(2))
        return actions, worth

    def solve(self, iterations: int) -> NDArray[np.float64]:
        """The average strategy of CFR+."""
        regrets, average = np.zeros((4096, 6, 13)), np.zeros((4096, 6, 13))
        for iteration in range(1, iterations + 1):
            for seat in range(2):
                strategy = self.normal(regrets)
                actions, worth = self.worths(strategy, seat)
                gain = np.where(self.legal, actions - worth[:, :, None], 0.0)
                own = (self.mover == seat)[:, None, None]
                regrets = np.where(own, np.maximum(0.0, regrets + gain), regrets)
                weight = iteration * self.reaches(strategy)[seat][:, :, None]
                average += np.where(own, weight * strategy, 0.0)
        return self.normal(average)

    def normal(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities in proportion to weights, uniform where there are none."""
        total = weights.sum(2, keepdims=True)
        uniform = self.legal / np.maximum(1, self.legal.sum(2, keepdims=True))
        return np.where(total > 0, weights / np.maximum(total, 1e-300), uniform)


def test_the_value_of_one_die_each_is_the_published_one() -> None:
    tree = BiddingTree(truths())
    strategy = tree.solve(200)
    first, second = (float(tree.worths(strategy, p, best=True)[1][0].sum()) for p in range(2))
    assert -second <= -7 / 258 <= first  # no player can be held below what they can guarantee
    assert first + second < 1e-2


# What a player sees


def test_redrawing_keeps_the_own_dice_and_rolls_all_others() -> None:
    state = play(LiarsDice(num_players=3, dice=2), ((1, 2), (3, 4), (5, 6)), "1x1").state
    game = LiarsDice(num_players=3, dice=2)
    redrawn = [game.determinize(state, 1, Rng(n)) for n in range(400)]
    assert all(dice(copy)[1] == [3, 4] for copy in redrawn)
    assert all(copy.hands.sum(axis=1).tolist() == [2, 2, 2] for copy in redrawn)
    counts = Counter(face for copy in redrawn for face in dice(copy)[0])
    assert all(90 < counts[face] < 180 for face in range(1, 7))


def test_dice_shown_at_the_end_are_not_drawn_again() -> None:
    state = play(BLUFF, ((1,), (2,)), "1x1", "liar").state
    assert all(dice(BLUFF.determinize(state, 0, Rng(n))) == [[1], [2]] for n in range(10))


def test_a_new_roll_is_told_to_its_player_only() -> None:
    episode = play(LAST, ((1, 1), (2, 2), (3, 3)), "1x1", "1x2", "liar")
    rolls = [event for event in episode.log[-1] if event.kind == "roll"]
    assert [event.audience for event in rolls] == [{0}, {1}, {2}]
    assert [event.data["dice"] for event in rolls] == dice(episode.state)


def test_a_picture_hides_the_dice_of_the_others() -> None:
    state = play(LiarsDice(dice=2), ((1, 2), (3, 4))).state
    own, other = LiarsDice(dice=2).scene(state, 0).parts
    assert isinstance(own, Dice)
    assert isinstance(other, Dice)
    assert (own.values, other.values) == ((1, 2), (0, 0))


# Options


@pytest.mark.parametrize(
    ("options", "accepted"),
    [
        ({"num_players": 1}, "from 2 to 6"),
        ({"num_players": 7}, "from 2 to 6"),
        ({"dice": 0}, "from 1 to 6"),
        ({"faces": 7, "wild": 0}, "from 2 to 6"),
        ({"wild": 7}, "from 0 to 6, not 7 .*0 for no wild face"),
        ({"faces": 4}, "wild must be from 0 to 4"),
        ({"rounds": "two"}, "'one' or 'last'"),
    ],
)
def test_bad_options_are_refused_with_what_is_accepted(options: Any, accepted: str) -> None:
    with pytest.raises(InvalidOption, match=accepted):
        LiarsDice(**options)


def test_the_rules_tell_the_options() -> None:
    assert "A 6 is wild" in BLUFF.rules_for(0)
    assert "wild" not in LiarsDice(wild=0).rules_for(0)
    assert "faces 1 to 4" in LiarsDice(faces=4, wild=0).rules_for(0)
    assert "the last player with dice is paid 1" in LAST.rules_for(0)


def test_deals_are_weighted_by_the_orders_of_the_dice() -> None:
    deals = {str(dice(state)): weight for weight, state in LiarsDice(dice=2).deals() or ()}
    assert len(deals) == 21 * 21
    assert sum(deals.values()) == pytest.approx(1)
    assert deals["[[1, 1], [1, 2]]"] == pytest.approx(2 / 6**4)
    assert LiarsDice(dice=5).deals() is None


def test_a_deal_gives_every_player_all_their_dice() -> None:
    with pytest.raises(InvalidOption, match="2 dice for each of 3 players"):
        LAST.deal((1, 2), (3,), (4, 5))


def test_four_players_to_the_last_conform_too() -> None:
    only = ["pettingzoo_api", "record_replays_exactly", "compiled_equals_interpreted"]
    only += ["masks_agree", "ends_are_told", "numbers_stay_in_space", "secrets_stay_hidden"]
    only += ["transcripts_keep_secrets", "private_events_stay_private", "renders_offscreen"]
    options = {"num_players": 4, "dice": 2, "wild": 1, "rounds": "last"}
    verdicts = check("games/LiarsDice-v0", only=only, **options)
    assert [verdict for verdict in verdicts if verdict.status != "passed"] == []
