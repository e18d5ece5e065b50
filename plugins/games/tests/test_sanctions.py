"""Sanctions: what punishing and being punished come to, whom reputation lets choose, learners."""

from __future__ import annotations

from typing import Any

import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng, Turn, make_agent
from palestra_games.dilemmas.sanctions.game import NOBODY, PLAY, PUNISH, SELECT, WATCH, Sanctions
from palestra_games.dilemmas.sanctions.players import SanctionPlayer

ENV = "games/Sanctions-v0"
R, S, T, P = 3, 0, 5, 1
FEE, FINE = 1, 3
COOPERATOR, SANCTIONER, DEFECTOR = (
    f"sanction-player:style={style}" for style in ("cooperator", "sanctioner", "defector")
)


def lived(agents: list[str], seed: int = 0, **options: Any) -> Episode:
    """A whole episode of these agents."""
    episode = Episode(Sanctions(num_players=len(agents), **options), seed, compiled=False)
    made = [make_agent(agent) for agent in agents]
    for seat, agent in enumerate(made):
        agent.reseed(seed * 100 + seat)
    while not episode.over:
        turns = [Turn(episode, seat) for seat in episode.to_act]
        episode.act({t.seat: made[t.seat].act([t])[0].action for t in turns})
    return episode


# What is paid


@pytest.mark.parametrize("punishment", [False, True])
@pytest.mark.parametrize("third_party", [False, True])
@pytest.mark.parametrize("seats", [3, 6])
def test_a_defector_among_sanctioners_pays_every_fine(
    punishment: bool, third_party: bool, seats: int
) -> None:
    agents = [DEFECTOR, *[SANCTIONER] * (seats - 1)]
    options = {"punishment": punishment, "third_party": third_party}
    episode = lived(agents, rounds=20, selection=False, **options)
    met = int(episode.state.played[0])
    fines = punishment + third_party
    assert met > 20
    assert episode.returns[0] == met * (T - FINE * fines)
    peaceful = seats * 20 - met
    assert sum(episode.returns[1:]) == 2 * R * peaceful + met * (S - FEE * fines)
    assert episode.game.measures(episode.state)["just"] == 1


@pytest.mark.parametrize(("fine", "pays"), [(1.9, True), (2.1, False)])
def test_defection_pays_up_to_the_fine_that_equals_its_gain(fine: float, pays: bool) -> None:
    """A fine of T - R = 2 leaves a defector as well off as a cooperator."""
    options = {"rounds": 30, "selection": False, "third_party": False, "fine": fine}
    gains = [
        lived([agent, *[SANCTIONER] * 4], seed=3, **options).returns[0]
        for agent in (DEFECTOR, COOPERATOR)
    ]
    assert (gains[0] > gains[1]) == pays


def test_all_who_cooperate_are_paid_by_the_edges() -> None:
    episode = lived([SANCTIONER] * 5, rounds=7)
    assert sum(episode.returns) == 2 * R * 5 * 7
    measures = episode.game.measures(episode.state)
    assert (measures["cooperation"], measures["mean_payoff"]) == (1, 2 * R * 7)


def test_punishing_a_cooperator_is_unjust_and_costs_as_much() -> None:
    episode = Episode(Sanctions(num_players=3), 0, compiled=False)
    for move in ("player_2", "cooperate", "punish player_2"):
        other = "cooperate" if episode.state.phase == PLAY else "let be"
        texts = {seat: other if seat else move for seat in episode.to_act}
        episode.act({seat: episode.parse(seat, text) for seat, text in texts.items()})
    watcher = episode.to_act[0]
    episode.act({watcher: episode.parse(watcher, "punish player_0")})
    assert tuple(episode.returns) == (R - FEE - FINE, -FEE, R - FINE)
    assert episode.state.unjust.tolist() == [1, 1, 0]
    assert episode.game.measures(episode.state)["just"] == 0


# Who meets whom


def test_phases_follow_one_another_and_the_onlooker_is_a_third() -> None:
    episode = Episode(Sanctions(num_players=4, rounds=2), 1, compiled=False)
    rng, seen = Rng(0), []
    while not episode.over:
        state = episode.state
        seen.append(int(state.phase))
        trio = {int(state.chooser), int(state.partner), int(state.onlooker)}
        assert len(trio) == (2 if state.phase == SELECT else 3)
        acting = {
            SELECT: {int(state.chooser)},
            PLAY: {int(state.chooser), int(state.partner)},
            PUNISH: {int(state.chooser), int(state.partner)},
            WATCH: {int(state.onlooker)},
        }
        assert set(episode.to_act) == acting[int(state.phase)]
        episode.act({p: rng.choice(episode.legal_actions(p)) for p in episode.to_act})
    assert seen == [SELECT, PLAY, PUNISH, WATCH] * 8
    assert episode.state.played.sum() == 2 * 8


@pytest.mark.parametrize(
    ("off", "phases"),
    [
        ("selection", {PLAY, PUNISH, WATCH}),
        ("punishment", {SELECT, PLAY, WATCH}),
        ("third_party", {SELECT, PLAY, PUNISH}),
    ],
)
def test_every_mechanism_can_be_left_out(off: str, phases: set[int]) -> None:
    game, rng, seen = Sanctions(rounds=3, **{off: False}), Rng(1), set()
    episode = Episode(game, 0, compiled=False)
    while not episode.over:
        seen.add(int(episode.state.phase))
        assert (int(episode.state.onlooker) == NOBODY) == (
            off == "third_party" or episode.state.phase == SELECT
        )
        episode.act({p: rng.choice(episode.legal_actions(p)) for p in episode.to_act})
    assert seen == phases


def test_drawn_partners_are_drawn_evenly() -> None:
    episode = lived([COOPERATOR] * 4, rounds=150, selection=False)
    counts = episode.state.chosen
    error = (4 * 150 * (1 / 4) * (3 / 4)) ** 0.5
    assert counts == pytest.approx(150, abs=4 * error)


@pytest.mark.parametrize("seed", range(4))
def test_who_chooses_by_reputation_never_chooses_a_known_defector(seed: int) -> None:
    agents = [DEFECTOR, *[COOPERATOR] * 5]
    episode = lived(agents, seed, rounds=20)
    assert int(episode.state.chosen[0]) == 0  # player_0 chose first, and everybody knows
    assert int(episode.state.played[0]) == 20
    without = lived(agents, seed, rounds=20, selection=False)
    assert without.state.chosen[0] > 5


def test_without_reputation_one_knows_those_one_has_met() -> None:
    game, rng = Sanctions(num_players=6, rounds=2, reputation=False, third_party=False), Rng(3)
    episode, last = Episode(game, 0, compiled=False), {}
    while not episode.over:
        moves = {p: rng.choice(episode.legal_actions(p)) for p in episode.to_act}
        if episode.state.phase == PLAY:
            one, other = moves
            last[one, other], last[other, one] = moves[other] - 6, moves[one] - 6
        episode.act(moves)
    known = episode.state.known
    for one in range(6):
        for other in set(range(6)) - {one}:
            assert known[one, other] == last.get((one, other), -1)
    assert 0 < len(last) < 30


# Learners


@pytest.mark.parametrize(
    ("punishment", "third_party", "cooperates"),
    [(True, False, True), (False, True, True), (False, False, False)],
)
def test_learners_cooperate_under_sanctions_and_defect_without(
    punishment: bool, third_party: bool, cooperates: bool
) -> None:
    options = {"punishment": punishment, "third_party": third_party, "selection": False}
    agents = ["sanction-learner", *[SANCTIONER] * 4]
    for seed in range(2):
        state = lived(agents, seed, rounds=120, **options).state
        share = state.cooperated[0] / state.played[0]
        assert share > 0.7 if cooperates else share < 0.3


# What is known


def test_moves_without_reputation_are_told_to_those_who_were_there() -> None:
    episode = Episode(Sanctions(num_players=5, reputation=False), 0, compiled=False)
    episode.act({0: 3})
    episode.act({0: episode.parse(0, "defect"), 3: episode.parse(3, "cooperate")})
    onlooker = int(episode.state.onlooker)
    for seat in range(5):
        knows = any("defects" in event.text for event in episode.transcript(seat))
        assert knows == (seat in (0, 3, onlooker))
        assert ("defected: player_0" in episode.describe(seat)) == knows
        assert (episode.observation(seat)[26] == -1) == knows


@pytest.mark.parametrize("seed", range(3))
def test_what_was_not_seen_can_be_drawn_anew(seed: int) -> None:
    game, rng = Sanctions(reputation=False, rounds=3), Rng(seed)
    episode = Episode(game, seed, compiled=False)
    while not episode.over:
        for seat in range(5):
            twin = game.determinize(episode.state, seat, rng)
            assert game.observe(twin, seat).tolist() == episode.observation(seat).tolist()
            assert game.describe(twin, seat) == episode.describe(seat)
        episode.act({p: game.sample(episode.state, p, rng) for p in episode.to_act})


def test_only_those_in_the_encounter_can_be_punished() -> None:
    episode = Episode(Sanctions(num_players=4), 0, compiled=False)
    with pytest.raises(InvalidAction, match="player_1"):
        episode.parse(0, "player_0")
    episode.act({0: 1})
    episode.act({0: 4, 1: 5})
    assert episode.legal_text(0) == "let be, punish player_1"
    assert episode.legal_text(1) == "let be, punish player_0"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"num_players": 2}, "one can be the onlooker"),
        ({"num_players": 51}, "from 3 to 50"),
        ({"rounds": 0}, "rounds"),
        ({"fine": -1}, "fine must be"),
        ({"payoffs_table": (1, 2)}, "four numbers"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        Sanctions(**options)


def test_players_refuse_other_games_and_styles() -> None:
    with pytest.raises(InvalidOption, match="'sanctioner' or"):
        make_agent("sanction-player:style=angry")
    episode = Episode(palestra.game("games/MatrixGame-v0"), 0, compiled=False)
    with pytest.raises(InvalidOption, match="Sanctions"):
        SanctionPlayer().act([Turn(episode, 0)])
