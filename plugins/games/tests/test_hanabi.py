"""Hanabi: another implementation move by move, the rule book's edges, hints, and IGGI."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Outcome, Rng, Turn
from palestra.engine.batch import Batch
from palestra.scene import Cards
from palestra_games.card.hanabi.agents import Iggi
from palestra_games.card.hanabi.game import ABREAST, Hanabi
from palestra_games.card.hanabi.observation import observation_of
from palestra_games.card.kuhn_poker import KuhnPoker

GAME = Hanabi()
MINI = Hanabi(colours=2, ranks=2, hand=3, tokens=3)
SIMPLE = Hanabi(colours=3, ranks=2, hand=5)
SMALL = Hanabi(colours=2, hand=2, tokens=3, lives=1)
SIZES = [GAME, Hanabi(3), Hanabi(4), Hanabi(5), MINI, SIMPLE, SMALL]


def cards(game: Hanabi, names: str) -> list[int]:
    """'r1 b5' as card numbers."""
    return ["rygwb".index(n[0]) * game.ranks + int(n[1]) - 1 for n in names.split()]


def deal(game: Hanabi, names: str, **fields: Any) -> Episode:
    """An episode whose hands and deck begin with these cards; the rest in any order."""
    state = game.initial_state(0)
    every = Counter([*state.hands.ravel().tolist(), *state.deck.tolist()])
    first = cards(game, names)
    del every[-1]
    order = [*first, *(every - Counter(first)).elements()]
    dealt = state.hands.size
    state.hands[:] = np.reshape(order[:dealt], state.hands.shape)
    state.deck[dealt:] = order[dealt:]
    for name, value in fields.items():
        state[name] = value
    episode = Episode(game, 0, compiled=False)
    episode.load(state)
    return episode


def say(episode: Episode, *moves: str) -> None:
    for move in moves:
        seat = episode.to_act[0]
        episode.act({seat: episode.parse(seat, move)})


def hand(episode: Episode, seat: int) -> list[int]:
    return [card for card in episode.state.hands[seat].tolist() if card >= 0]


def some_states(game: Hanabi, seed: int) -> list[Any]:
    """The states of a game in which cards are played that fit, and else anything but played."""
    episode, rng, states = Episode(game, seed, compiled=False), Rng(seed), []
    while not episode.over:
        states.append(episode.state)
        episode.act({episode.to_act[0]: careful_move(game, episode, rng)})
    return [*states, episode.state]


def careful_move(game: Hanabi, episode: Episode, rng: Rng) -> int:
    """A random move that keeps games long: mostly cards that fit, hints and discards."""
    state, legal = episode.state, episode.legal_actions()
    own, size = hand(episode, episode.to_act[0]), game.hand_size
    fit = [
        size + slot
        for slot, card in enumerate(own)
        if state.fireworks[card // game.ranks] == card % game.ranks
    ]
    rest = [action for action in legal if not size <= action < 2 * size]
    if fit and rng.below(2):
        return fit[0]
    return int(rng.choice(rest if rest and rng.below(10) else legal))


# Another implementation


@pytest.mark.parametrize("game", SIZES)
def test_random_games_agree_with_the_hanabi_learning_environment(game: Hanabi) -> None:
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    options = {
        "players": game.num_players,
        "colors": game.colours,
        "ranks": game.ranks,
        "hand_size": game.hand_size,
        "max_information_tokens": game.tokens,
        "max_life_tokens": game.lives,
    }
    theirs = pyspiel.load_game("hanabi", options)
    assert theirs.num_distinct_actions() == game.num_actions
    for seed in range(4):
        play_beside(game, theirs.new_initial_state(), seed)


def play_beside(game: Hanabi, theirs: Any, seed: int) -> None:
    """One game in both: legal moves, array views of all players, rewards and the end."""
    episode, rng = Episode(game, seed, compiled=False), Rng(seed)
    for card in episode.state.hands.ravel().tolist():
        theirs.apply_action(card)
    while True:
        for seat in range(game.num_players):
            view = episode.observation(seat)[: -game.num_players]
            assert view.tolist() == theirs.observation_tensor(seat)
        assert episode.over == theirs.is_terminal()
        if episode.over:
            assert list(episode.returns) == theirs.returns()
            return
        assert list(episode.to_act) == [theirs.current_player()]
        assert episode.legal_actions() == theirs.legal_actions()
        action, state = careful_move(game, episode, rng), episode.state
        episode.act({episode.to_act[0]: action})
        theirs.apply_action(action)
        if theirs.is_chance_node():
            theirs.apply_action(int(state.deck[state.drawn]))
        assert list(episode.rewards) == theirs.rewards()


# What is published


@pytest.mark.parametrize(("game", "copies"), [(GAME, [3, 2, 2, 2, 1]), (MINI, [3, 1])])
def test_the_deck_has_the_published_cards(game: Hanabi, copies: list[int]) -> None:
    state = game.initial_state(5)
    assert sorted([*state.hands.ravel(), *state.deck[state.drawn :]]) == [
        card for card in range(game.full_score) for _ in range(copies[card % game.ranks])
    ]


@pytest.mark.parametrize(("game", "size"), [(GAME, 50), (MINI, 8), (SIMPLE, 12)])
def test_decks_have_the_published_size(game: Hanabi, size: int) -> None:
    assert game.deck_size == size


@pytest.mark.parametrize(("players", "size"), [(2, 5), (3, 5), (4, 4), (5, 4)])
def test_hands_have_the_published_size(players: int, size: int) -> None:
    assert Hanabi(players).hand_size == size


def test_a_well_ordered_deck_gives_the_best_score_in_as_many_turns_as_cards() -> None:
    order = [f"{colour}{rank}" for colour in "rygwb" for rank in range(1, 6)]
    episode = deal(GAME, " ".join(order[0:10:2] + order[1:10:2] + order[10:]))
    say(episode, *["play card 1"] * 25)
    assert episode.over
    assert list(episode.returns) == [25, 25]
    assert episode.outcome == Outcome(("score",) * 2, (25, 25), "all fireworks are complete")


def test_the_longest_game_spends_every_token() -> None:
    """40 cards drawn for discards, 8 + 39 tokens spent meanwhile, 2 last turns."""
    episode = Episode(GAME, 3, compiled=False)
    while not episode.over:
        episode.act({episode.to_act[0]: episode.legal_actions()[-1 if episode.state.tokens else 0]})
    assert episode.steps_played == 40 + 47 + 2


@pytest.mark.exhaustive
def test_playing_blindly_builds_the_published_average() -> None:
    """1.25 cards before the third failure, by the figures of other simulators for such a bot."""
    batch = Batch(GAME, 4_000, autoreset="disabled")
    batch.reset(0)
    while not batch.lanes["over"].all():
        batch.step(np.full((4_000, 2), GAME.hand_size))
    built = batch.lanes["timestep"]["state"]["fireworks"].sum(axis=1)
    assert built.mean() == pytest.approx(1.25, abs=0.08)  # four standard errors


# The rule book


def test_a_card_that_fits_scores_for_everybody() -> None:
    episode = deal(GAME, "r2 r1 b1 b2 b3 y1 y1 g1 g1 w1 w5")
    say(episode, "play card 2")
    assert list(episode.rewards) == [1, 1]
    assert hand(episode, 0) == cards(GAME, "r2 b1 b2 b3 w5")
    assert episode.state.lives == 3


def test_a_card_that_does_not_fit_is_discarded_and_costs_a_life() -> None:
    episode = deal(GAME, "r2 r1 b1 b2 b3 y1 y1 g1 g1 w1 w5")
    say(episode, "play card 1")
    assert list(episode.rewards) == [0, 0]
    assert episode.state.lives == 2
    assert episode.state.discards[cards(GAME, "r2")[0]] == 1
    assert hand(episode, 0) == cards(GAME, "r1 b1 b2 b3 w5")


@pytest.mark.parametrize(("bomb_zero", "score"), [(True, 0), (False, 1)])
def test_losing_the_last_life_scores_as_the_option_says(bomb_zero: bool, score: int) -> None:
    game = Hanabi(bomb_zero=bomb_zero)
    episode = deal(game, "r1 r2 b2 b2 b3 y1 y3 g3 g4 w5")
    say(episode, "play card 1", "play card 2", "play card 2", "play card 2")
    assert episode.over
    assert list(episode.returns) == [score, score]
    assert episode.outcome == Outcome(("score",) * 2, (score, score), "the last life was lost")


def test_a_discard_gives_a_token_back_and_needs_one_missing() -> None:
    episode = deal(GAME, "r1 r2 b2 b2 b3 y1 y3 g3 g4 w5")
    with pytest.raises(InvalidAction):
        say(episode, "discard card 1")
    say(episode, "tell player_1 yellow")
    assert episode.state.tokens == 7
    say(episode, "discard card 5")
    assert episode.state.tokens == 8
    assert episode.state.discards[cards(GAME, "w5")[0]] == 1


def test_without_tokens_nobody_is_told_anything() -> None:
    episode = deal(GAME, "", tokens=0)
    assert all(action < 2 * GAME.hand_size for action in episode.legal_actions())


def test_a_hint_points_at_a_card_and_names_all_of_them() -> None:
    episode = deal(GAME, "r1 r2 b2 b2 b3 y1 r3 y3 g4 w5")
    for absent in ("tell player_1 blue", "tell player_1 2", "tell player_0 red"):
        with pytest.raises(InvalidAction):
            say(episode, absent)
    say(episode, "tell player_1 yellow")
    assert "- card 1: colour yellow, rank any" in episode.describe(1)
    assert "- card 2: colour red, green, white or blue, rank any" in episode.describe(1)
    assert episode.events[-1].text == "player_0 told player_1 that cards 1 and 3 are yellow."


@pytest.mark.parametrize(("before", "after", "gain"), [(7, 8, " and gave"), (8, 8, "")])
def test_a_completed_firework_gives_a_token_back_where_one_is_missing(
    before: int, after: int, gain: str
) -> None:
    episode = deal(GAME, "r5", fireworks=[4, 0, 0, 0, 0], tokens=before)
    say(episode, "play card 1")
    assert episode.state.tokens == after
    assert f"red 5, which completed the firework{gain}" in episode.describe(1)


@pytest.mark.parametrize("players", [2, 3, 5])
def test_after_the_last_card_everybody_has_one_more_turn(players: int) -> None:
    game = Hanabi(players, lives=20)
    episode = Episode(game, 1, compiled=False)
    while episode.state.drawn < game.deck_size:
        spend = episode.state.tokens == game.tokens
        episode.act({episode.to_act[0]: episode.legal_actions()[-1 if spend else 0]})
    turns = 0
    while not episode.over:
        assert f"Turns left in the game: {players - turns}." in episode.describe(0)
        say(episode, "play card 1")
        turns += 1
    assert turns == players
    assert all(len(hand(episode, seat)) == game.hand_size - 1 for seat in range(players))
    assert episode.outcome is not None
    assert episode.outcome.reason == "everybody has had their last turn"


def test_what_was_told_moves_with_the_card_and_leaves_with_it() -> None:
    episode = deal(GAME, "r1 y1 b2 b2 b3 y1 r3 y3 g4 w5")
    say(episode, "tell player_1 3", "tell player_0 1", "discard card 1", "play card 1")
    assert [held.told_rank for held in observation_of(GAME.config, episode.state, 0).hands[0]] == [
        *(True, False, False, False, False)
    ]
    assert [held.told_rank for held in observation_of(GAME.config, episode.state, 0).hands[1]] == [
        *(True, True, False, False, False)
    ]
    assert observation_of(GAME.config, episode.state, 0).hands[0][4].ranks == (0, 1, 2, 3, 4)


def test_the_only_value_left_is_known_by_elimination() -> None:
    episode = deal(MINI, "r1 r1 r1 y1 y2 y1")
    say(episode, "tell player_1 2")
    assert "- card 1: colour any, rank 1 by elimination" in episode.describe(1)
    assert "- card 2: colour any, rank 2\n" in episode.describe(1)


# What is seen and what is hidden


@pytest.mark.parametrize("game", SIZES)
def test_the_text_is_made_of_what_the_array_view_holds(game: Hanabi) -> None:
    for state in some_states(game, 11)[::3]:
        for seat in range(game.num_players):
            assert observation_of(game.config, state, seat) == game.read(game.observe(state, seat))


@pytest.mark.parametrize("game", [GAME, Hanabi(5), MINI])
def test_every_legal_move_can_be_read_back(game: Hanabi) -> None:
    for state in some_states(game, 4)[:-1:4]:
        (seat,) = game.to_act(state)
        for action in game.legal_actions(state, seat):
            assert game.parse(state, seat, game.action_text(state, seat, action)) == action


@pytest.mark.parametrize("game", [GAME, Hanabi(3), MINI])
def test_redrawing_fits_all_hints_and_all_cards_in_sight(game: Hanabi) -> None:
    for number, state in enumerate(some_states(game, 2)):
        for seat in range(game.num_players):
            drawn = game.determinize(state, seat, Rng(number))
            assert game.observe(drawn, seat).tolist() == game.observe(state, seat).tolist()
            every = (Counter([*s.hands.ravel().tolist(), *s.deck.tolist()]) for s in (drawn, state))
            assert next(every) == next(every)
            for slot, held in enumerate(observation_of(game.config, state, seat).hands[0]):
                colour, rank = divmod(int(drawn.hands[seat, slot]), game.ranks)
                assert colour in held.colours
                assert rank in held.ranks


@pytest.mark.parametrize("hinted", [False, True])
def test_hands_are_redrawn_as_likely_as_counting_says(hinted: bool) -> None:
    game = Hanabi(colours=2, ranks=3, hand=2)
    episode = deal(game, "r1 y2 y1 r3")
    if hinted:
        say(episode, "tell player_1 1", "tell player_0 red")
    state, others = episode.state, cards(game, "r1 r1 r1 r2 r2 y1 y1 y2 y2 y3")
    ways = Counter(
        pair
        for pair in permutations(others, 2)
        if not hinted or (pair[0] < game.ranks <= pair[1])  # one red card, one that is not
    )
    total, draws = sum(ways.values()), 2_000
    drawn = Counter(
        tuple(game.determinize(state, 0, Rng(n)).hands[0].tolist()) for n in range(draws)
    )
    assert set(drawn) == set(ways)
    for pair, number in ways.items():
        share = number / total
        assert abs(drawn[pair] / draws - share) < 5 * (share * (1 - share) / draws) ** 0.5


def test_cards_dealt_and_drawn_are_told_to_everybody_but_their_holder() -> None:
    episode = Episode(Hanabi(3), 0, compiled=False)
    say(episode, "play card 1")
    for event in episode.events:
        if event.kind in ("deal", "draw"):
            assert event.audience == frozenset(range(3)) - {event.data["player"]}


def test_a_player_sees_question_marks_for_his_own_cards_only() -> None:
    scene = GAME.scene(GAME.initial_state(0), 0)
    rows = [part for part in scene.parts if isinstance(part, Cards)]
    hidden = {row.owner: {card.hidden for card in row.cards} for row in rows}
    assert hidden["player_0"] == {True}
    assert hidden["player_1"] == {False}


def test_cards_show_what_hints_have_named_and_nothing_else() -> None:
    episode = deal(GAME, "r1 r2 g3 b4 b5 y1 w2 y3 b1 w4")
    say(episode, "tell player_1 yellow", "tell player_0 3", "tell player_1 3")
    for viewer, hidden in ((None, (False, False)), (0, (True, False)), (1, (False, True))):
        rows = [part for part in episode.scene(viewer).all_parts() if isinstance(part, Cards)]
        rows = [row for row in rows if row.owner in GAME.players]
        assert [[card.badge for card in row.cards] for row in rows] == [
            ["", "", "3", "", ""],
            ["Y", "", "Y3", "", ""],
        ]
        for row, own in zip(rows, hidden, strict=True):
            assert {card.hidden for card in row.cards} == {own}
            assert {bool(card.rank or card.label) for card in row.cards} == {not own}


def test_fireworks_show_their_last_cards_and_discards_lie_by_colour() -> None:
    episode = deal(GAME, "r1 r2 g3 b4 b5 y1 w2 y3 b1 w4", tokens=2)
    say(episode, "play card 1", "play card 1", "discard card 2", "discard card 1")
    parts = episode.scene().all_parts()
    shown = {part.owner: part.cards for part in parts if isinstance(part, Cards)}
    assert [card.rank for card in shown["fireworks"]] == ["R1", "Y1", "G", "W", "B"]
    assert [card.rank for card in shown["discards"]] == ["G3", "W2"]


def test_many_discards_take_several_rows() -> None:
    state = GAME.initial_state(0)
    state.discards[:] = [2, 1, 2, 0, 1] * 5
    parts = GAME.scene(state).all_parts()
    rows = [part for part in parts if isinstance(part, Cards) and part.owner in ("", "discards")]
    assert [len(row.cards) for row in rows] == [ABREAST, ABREAST, 30 - 2 * ABREAST]
    assert [card.rank for card in rows[0].cards[:7]] == ["R1", "R1", "R2", "R3", "R3", "R5", "Y1"]


# Options


@pytest.mark.parametrize(
    "options",
    [
        {"num_players": 1},
        {"num_players": 6},
        {"colours": 0},
        {"colours": 6},
        {"ranks": 6},
        {"hand": 0},
        {"hand": 8},
        {"tokens": 0},
        {"lives": 0},
        {"num_players": 3, "colours": 2, "ranks": 2, "hand": 3},
    ],
)
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption):
        Hanabi(**options)


# The scripted agent


def iggi_plays(episode: Episode) -> str:
    """What IGGI does next, in words."""
    (seat,) = episode.to_act
    (decision,) = Iggi(seed=0).act([Turn(episode, seat)])
    return episode.game.action_text(episode.state, seat, decision.action)


def test_iggi_plays_a_card_that_fits_whatever_it_is() -> None:
    episode = deal(GAME, "b4 r1 b3 b2 b3 y2 y3 r3 g4 w5")
    say(episode, "tell player_1 5", "tell player_0 1")
    assert iggi_plays(episode) == "play card 2"


def test_iggi_plays_a_card_it_was_told_only_if_it_fits() -> None:
    episode = deal(GAME, "r1 b3 b2 b2 y4 r4 y3 g3 g4 w5", fireworks=[0, 1, 0, 0, 0])
    say(episode, "tell player_1 5", "tell player_0 1", "tell player_1 4")
    assert iggi_plays(episode) == "tell player_0 red"


def test_iggi_tells_the_rank_first_and_then_the_colour() -> None:
    episode = deal(GAME, "b4 b4 b3 b2 b3 y1 y3 r3 g4 w5", fireworks=[2, 0, 0, 0, 0])
    assert iggi_plays(episode) == "tell player_1 1"
    say(episode, "tell player_1 1", "tell player_0 4")
    assert iggi_plays(episode) == "tell player_1 yellow"


def test_iggi_discards_what_is_useless_and_else_the_oldest() -> None:
    episode = deal(GAME, "b4 r1 b3 b2 b3 y2 y3 r3 g4 w5", fireworks=[1, 0, 0, 0, 0])
    say(episode, "tell player_1 5", "tell player_0 red")
    assert iggi_plays(episode) == "discard card 1"
    say(episode, "tell player_1 4", "tell player_0 1")
    assert iggi_plays(episode) == "discard card 2"


def test_iggi_gives_a_hint_where_it_may_not_discard() -> None:
    episode = deal(GAME, "b4 b4 b3 b2 b3 y2 y3 r3 g4 w5")
    assert iggi_plays(episode).startswith("tell player_1")


def test_iggi_never_loses_a_life_and_builds_most_of_the_fireworks() -> None:
    scores = []
    for seed in range(12):
        episode, agent = Episode(GAME, seed, compiled=False), Iggi(seed=seed)
        while not episode.over:
            seat = episode.to_act[0]
            episode.act({seat: agent.act([Turn(episode, seat)])[0].action})
        assert episode.state.lives == 3
        scores.append(episode.returns[0])
    assert 16 < sum(scores) / len(scores) < 20


def test_iggi_plays_nothing_but_hanabi() -> None:
    episode = Episode(KuhnPoker(), 0, compiled=False)
    with pytest.raises(InvalidOption, match="plays Hanabi"):
        Iggi().act([Turn(episode, 0)])
