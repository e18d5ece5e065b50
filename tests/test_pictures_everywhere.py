"""A machine looks at every picture: its marks, with few and many players, small and large."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import palestra
import pytest
from palestra import Scene
from palestra.scene import Graph, Plane, RoundTable
from palestra_renderers.changes import scene_of
from palestra_renderers.flaws import HEAD, FlawKind, unfold
from palestra_renderers.marks import Circle, Mark

ROOT = Path(__file__).parents[1]
SPEC = importlib.util.spec_from_file_location("looking", ROOT / "scripts/inspect_pictures.py")
assert SPEC is not None
assert SPEC.loader is not None
looking = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(looking)

SPECS = {spec.id: spec for spec in palestra.specs()}
CASES = [(env, count) for env, spec in SPECS.items() for count in looking.player_counts(spec)]
BODIES: frozenset[FlawKind] = frozenset({"covered", "hidden figure", "overlap"})
EXPECTED = {"grid/Particles-v0": BODIES}  # bodies on a plane lie over each other where they collide


@pytest.mark.exhaustive(sample=60)
@pytest.mark.parametrize("seed", [3, 90721])
@pytest.mark.parametrize(("env", "players"), CASES)
def test_no_picture_has_a_flaw(env: str, players: int | None, seed: int) -> None:
    found = list(looking.inspect(SPECS[env], players, seed))
    expected = EXPECTED.get(env, frozenset[FlawKind]())
    assert [one for one in found if one[1].kind not in expected] == []


def test_every_environment_has_one_grade() -> None:
    page = (ROOT / "docs" / "pictures.md").read_text("utf-8")
    graded = re.findall(r"`(\w+/\w+-v\d+)`", page.partition("## Grades")[2])
    assert sorted(graded) == sorted(SPECS)


def figures(scene: Scene) -> int:
    """How many people, nodes and moving things are in a scene."""
    count = 0
    for part in scene.all_parts():
        if isinstance(part, RoundTable):
            count += len(part.people)
        elif isinstance(part, Graph):
            count += len(part.nodes)
        elif isinstance(part, Plane):
            count += sum(not spot.landmark for spot in part.spots)
    return count


def discs(marks: list[Mark]) -> int:
    """How many discs with a rim there are, each at a place of its own."""
    circles = [mark for mark in unfold(marks) if isinstance(mark, Circle)]
    return len({(one.x, one.y) for one in circles if one.edge and one.radius >= HEAD})


STANDING = [(env, count) for env, count in CASES if count is None or count > 5]


@pytest.mark.exhaustive(sample=60)
@pytest.mark.parametrize(("env", "players"), STANDING)
def test_everybody_is_in_the_picture(env: str, players: int | None) -> None:
    for episode in looking.moments(env, players):
        scene, marks = looking.picture(episode, (480, 480))
        assert discs(marks) >= figures(scene)


@pytest.mark.exhaustive(sample=60)
@pytest.mark.parametrize(("env", "players"), CASES)
def test_every_seat_is_at_the_table_and_nobody_acts_out_of_turn(
    env: str, players: int | None
) -> None:
    for episode in looking.moments(env, players, seed=17):
        for part in episode.scene().all_parts():
            if isinstance(part, RoundTable) and part.people:
                assert len(part.people) >= episode.game.num_players
                assert all(not p.acting or p.colour in episode.to_act for p in part.people)


@pytest.mark.exhaustive(sample=60)
@pytest.mark.parametrize(("env", "players"), CASES)
def test_who_is_to_act_is_marked_round_every_table(env: str, players: int | None) -> None:
    for episode in looking.moments(env, players, seed=17):
        for part in scene_of(episode, None).all_parts():
            if isinstance(part, RoundTable):
                named = {p.name: p.acting for p in part.people if p.name in episode.players}
                wanted = {episode.players[seat] for seat in episode.to_act} & set(named)
                assert {name for name, acting in named.items() if acting} == wanted


def test_a_seat_is_not_shown_which_other_seat_acts_where_that_tells_a_role() -> None:
    game = palestra.game("games/Avalon-v0", num_players=7)
    for seed in range(5):
        episode, rng = palestra.Episode(game, seed), palestra.Rng.seeded(seed)
        while not episode.over:
            for viewer in range(7):
                tables = scene_of(episode, viewer).all_parts()
                people = [p for part in tables for p in getattr(part, "people", ()) if p.acting]
                expected = [episode.players[viewer]] if viewer in episode.to_act else []
                assert [person.name for person in people] == expected
            episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})
