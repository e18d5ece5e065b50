"""What a fork of a task holds: what the player was told, and of the rest nothing."""

from __future__ import annotations

from typing import Any

import palestra
import pytest
from palestra import Episode, Rng
from palestra_tasks.algorithms.cobench import COBench, instance_of
from palestra_tasks.clinic.counselling import Counselling, Say, Speak
from palestra_tasks.clinic.incident import KINDS, PANELS, TEN, IncidentResponse, Read, incident_of
from palestra_tasks.engineering.bench import FrontierEng

DRAWS = 60


def redrawn(episode: Episode, seat: int = 0) -> list[Any]:
    return [episode.game.determinize(episode.state, seat, Rng(n)) for n in range(DRAWS)]


@pytest.mark.parametrize("shown", [(), *((panel,) for panel in PANELS), PANELS])
@pytest.mark.parametrize("causes", ["five", "ten"])
@pytest.mark.parametrize("seed", range(6))
def test_panels_that_were_not_read_are_drawn_anew(
    shown: tuple[str, ...], seed: int, causes: str
) -> None:
    episode = Episode(palestra.game("tasks/Incident-v0", system="none", causes=causes), seed)
    for panel in shown:
        episode.act({0: Read(panel)})
    true = incident_of(episode.state)
    drawn = [incident_of(state) for state in redrawn(episode)]
    for panel in PANELS:
        same = [one.panels[panel] == true.panels[panel] for one in drawn]
        if panel in (*shown, "alerts"):
            assert all(same), panel
        elif panel != "logs":  # which may follow from the deploys or the metrics
            assert sum(same) < DRAWS / 2, panel
    kinds = {one.kind for one in drawn}
    assert true.kind in kinds
    assert kinds == set(KINDS if causes == "five" else TEN) or not {
        "logs",
        "metrics",
        "deploys",
    }.isdisjoint(shown)
    if "logs" in shown:
        assert kinds == {true.kind}
    if shown == PANELS:
        assert {one.remedy for one in drawn} == {true.remedy}


def test_a_fork_of_a_fork_shows_the_same_panels() -> None:
    game = IncidentResponse(system="none")
    episode = Episode(game, 1)
    episode.act({0: Read("metrics")})
    first = game.determinize(episode.state, 0, Rng(1))
    again = game.determinize(first, 0, Rng(2))
    assert incident_of(again).panels["metrics"] == incident_of(episode.state).panels["metrics"]


@pytest.mark.parametrize("seed", range(6))
def test_loads_of_a_fork_follow_from_the_objectives_that_were_told(seed: int) -> None:
    episode = Episode(FrontierEng(), seed)
    other = episode.game.clone(episode.state)
    other.factors = (0.5,) * len(other.factors)  # which no draw gives
    for n, state in enumerate(redrawn(episode)[:8]):
        assert state.factors == episode.game.determinize(other, 0, Rng(n)).factors


def test_published_loads_are_no_secret() -> None:
    episode = Episode(FrontierEng(published=True), 1)
    assert {state.factors for state in redrawn(episode)} == {episode.state.factors}


def test_only_the_development_instance_that_is_shown_is_in_a_fork() -> None:
    game = COBench(problem="knapsack")
    episode = Episode(game, 3)
    for state in redrawn(episode)[:8]:
        assert game.example(state) == game.example(episode.state)
        for stream, seed, true in (
            (0, state.seed, episode.state.seed),
            (1, state.hidden, episode.state.hidden),
        ):
            size = game.size["knapsack"]
            assert instance_of("knapsack", size, seed, stream, 1) != instance_of(
                "knapsack", size, true, stream, 1
            )


def test_arguments_with_feedback_are_drawn_anew() -> None:
    episode = palestra.make("tasks/FastCode-v0", view="episode", seed=2)
    assert episode.state.seed not in {state.seed for state in redrawn(episode)}


@pytest.mark.parametrize("seats", [1, 2])
def test_trust_in_a_fork_follows_from_the_moves_alone(seats: int) -> None:
    game = Counselling(seeker="chain", num_players=seats)
    spreads, within = [], []
    for seed in range(8):
        episode, rng = Episode(game, seed), Rng(seed)
        for _ in range(9):
            seat = episode.to_act[0]
            action = Say("reflect", "I see.") if seat == 0 else game.sample(episode.state, 1, rng)
            episode.act({seat: action})
        drawn = {state.trust for state in redrawn(episode)}
        within.append(min(drawn) - 2 <= episode.state.trust <= max(drawn) + 2)
        spreads.append(len(drawn))
    assert sum(within) >= 7  # a rare course is drawn rarely
    assert max(spreads) > 10, "a redraw within 5 of the truth tells the truth"


def test_the_seeker_never_reads_the_kind_of_a_move() -> None:
    game = Counselling(seeker="chain", num_players=2)
    episode = Episode(game, 1)
    episode.act({0: Say("confront", "Is that so?")})
    assert "confront" not in "\n".join([episode.prompt(1), *episode.scene(1).texts()])
    assert "confront" in "\n".join(episode.scene(0).texts())
    assert isinstance(game.seen(episode.state, 1)[0].action, Speak)


@pytest.mark.parametrize("depth", ["plain", "deep"])
def test_the_seeker_imagines_the_kinds_of_moves(depth: str) -> None:
    game = Counselling(seeker="chain", num_players=2, depth=depth)
    for seed in range(4):
        episode, rng = Episode(game, seed), Rng(seed)
        for _ in range(13):  # the seeker is to act
            seat = episode.to_act[0]
            kinds = ("dismiss", "reflect", "confront", "affirm")
            action = Say(rng.choice(kinds), "Hm.") if seat == 0 else Speak("Yes.")
            episode.act({seat: action})
        copies = redrawn(episode, 1)
        assert len({copy.harm for copy in copies}) > 1
        assert len({copy.trust for copy in copies}) > 3
        assert len({tuple(past.action for past in copy.past) for copy in copies}) > DRAWS // 2
        for copy in copies:
            moves = [past.action for past in copy.past if isinstance(past.action, Say)]
            assert copy.harm == sum(move.move in ("confront", "dismiss") for move in moves)
            assert game.describe(copy, 1) == game.describe(episode.state, 1)
            assert game.observe(copy, 1).tolist() == game.observe(episode.state, 1).tolist()
