"""Pictures of tasks: everybody in the room, those to act, and the whole text of a task."""

from __future__ import annotations

import palestra
import pytest
from palestra import Episode, Rng
from palestra.scene import Lines, RoundTable
from palestra.testing.subject import play_on
from palestra_tasks.clinic.hospital import ROLES
from palestra_tasks.desk import SHOWN, beginning


@pytest.mark.parametrize("players", [1, 2, 3, 4])
@pytest.mark.parametrize("course", ["consultation", "whole"])
def test_all_seats_of_a_hospital_stand_in_the_clinic(players: int, course: str) -> None:
    game = palestra.game("tasks/Hospital-v0", num_players=players, course=course)
    seen: set[int] = set()
    for seed in range(90, 98):
        episode = Episode(game, seed, compiled=False)
        seen |= check_clinic(episode, players)
        for _moment in play_on(episode, Rng(seed), 200):
            seen |= check_clinic(episode, players)
        assert episode.over
    assert len(seen) >= min(2, players)


def check_clinic(episode: Episode, players: int) -> set[int]:
    """Whether everybody stands there, and those to act are marked, whose seats are returned."""
    (table,) = [p for p in episode.scene().all_parts() if isinstance(p, RoundTable)]
    assert [person.name for person in table.people] == list(ROLES[: max(2, players)])
    assert [p.colour for p in table.people if p.acting] == list(episode.to_act)
    return set(episode.to_act)


@pytest.mark.parametrize(
    ("env", "options"),
    [
        ("tasks/VehicleRouting-v0", {"customers": 60}),
        ("tasks/DataRoom-v0", {"company": "large"}),
        ("tasks/MLWorkspace-v0", {"project": "small"}),
    ],
)
def test_a_picture_has_every_line_of_a_task(env: str, options: dict[str, object]) -> None:
    episode = Episode(palestra.game(env, **options), 12)
    told = next(p.lines for p in episode.scene(0).all_parts() if isinstance(p, Lines))
    prompt = episode.prompt(0)
    assert len(told) >= 14
    assert all(line in prompt for line in told)
    if env == "tasks/VehicleRouting-v0":
        assert all(any(line.startswith(f"{n}: ") for line in told) for n in range(1, 61))


def test_a_long_saying_says_that_more_follows() -> None:
    assert beginning("x" * SHOWN) == "x" * SHOWN
    assert beginning("x" * SHOWN + "y") == "x" * SHOWN + " …"


@pytest.mark.parametrize("tours", [1, 3])
def test_no_tour_is_announced_after_the_last(tours: int) -> None:
    episode = Episode(palestra.game("tasks/VehicleRouting-v0", tours=tours, customers=5), 4)
    rng = Rng.seeded(1)
    announced = []
    while not episode.over:
        announced.append(episode.prompt(0).count(f"Tour {tours} of {tours}"))
        episode.act({0: episode.sample(0, rng)})
    assert max(announced) == 1
    shown = [p.lines for p in episode.scene(0).all_parts() if isinstance(p, Lines)]
    last = [line for lines in shown for line in lines if line.startswith("Tour ")]
    assert [line.partition(" has length")[0] for line in last] == [
        f"Tour {number}" for number in range(1, tours + 1)
    ]
