"""Rewards by name: composed, kept in the record, replayed, unseen by rules and search."""

from __future__ import annotations

import pickle

import palestra
import pytest
from palestra import Episode, InvalidOption, UnknownName
from palestra.records.record import record_episode, replay
from palestra.shaping import ShapedEpisode
from palestra_envs.grid.shaping import distance_potential

FORAGING = "grid/Foraging-v0"
BOTH = ["env", "food-distance"]


def walk(episode: Episode, steps: int) -> None:
    for number in range(steps):
        if episode.over:
            return
        episode.act({p: episode.legal_actions(p)[number % 3] for p in episode.to_act})


def test_terms_are_named_and_summed() -> None:
    episode = palestra.make(FORAGING, view="episode", seed=1, rewards=BOTH, gamma=0.9)
    walk(episode, 3)
    for seat, terms in episode.step.rewards.items():
        assert "food-distance" in terms
        assert episode.rewards[seat] == pytest.approx(sum(terms.values()))


def test_without_env_only_the_shaper_pays() -> None:
    records = palestra.play(FORAGING, agents=["forager"] * 2, seed=3, rewards=["food-distance"])
    terms = {name for step in records[0].steps for t in step.rewards.values() for name in t}
    assert terms == {"food-distance"}


def test_the_same_moves_differ_by_the_shaper_alone() -> None:
    plain = palestra.make(FORAGING, view="episode", seed=1)
    shaped = palestra.make(FORAGING, view="episode", seed=1, rewards=BOTH)
    only = palestra.make(FORAGING, view="episode", seed=1, rewards=["food-distance"])
    for episode in (plain, shaped, only):
        walk(episode, 40)
    both = [a + b for a, b in zip(plain.returns, only.returns, strict=True)]
    assert list(shaped.returns) == pytest.approx(both)
    assert shaped.outcome == plain.outcome


def test_records_carry_the_composition_and_replay() -> None:
    (record,) = palestra.play(FORAGING, agents=["random"] * 2, seed=2, rewards=BOTH, gamma=0.5)
    assert record.rewards_from == ("env", "food-distance")
    assert record.gamma == 0.5
    again = replay(record)
    assert isinstance(again, ShapedEpisode)
    assert tuple(again.returns) == record.returns
    assert record_episode(again, record.agents).steps[3].rewards == record.steps[3].rewards


def test_forks_and_snapshots_keep_what_was_paid() -> None:
    episode = palestra.make(FORAGING, view="episode", seed=1, rewards=BOTH, gamma=0.9)
    walk(episode, 4)
    twin, kept = episode.fork(), pickle.loads(pickle.dumps(episode.snapshot()))
    walk(episode, 9)
    assert len(twin.terms_by_step()) == 4
    assert list(twin.returns) != list(episode.returns)
    other = palestra.make(FORAGING, view="episode", seed=9, rewards=BOTH, gamma=0.9)
    other.restore(kept)
    walk(other, 9)
    walk(twin, 9)
    assert list(other.returns) == list(twin.returns) == list(episode.returns)


def test_search_looks_ahead_on_the_games_own_rewards() -> None:
    episode = palestra.make(FORAGING, view="episode", seed=1, rewards=BOTH)
    walk(episode, 2)
    twin = palestra.Turn(episode, 0).fork(palestra.Rng(0))
    assert type(twin) is Episode


def steps_of(env: object, view: str, steps: int) -> list[float]:
    """What legal first moves are paid through a view, seat 0's share."""
    paid = []
    for _ in range(steps):
        if view == "gym":
            paid.append(env.step(int(env.action_masks().argmax()))[1])
        elif view == "parallel":
            moves = {a: int(env.observe(a)["action_mask"].argmax()) for a in env.agents}
            paid.append(env.step(moves)[1]["player_0"])
        else:
            for _ in env.agents:
                env.step(int(env.last()[0]["action_mask"].argmax()))
            paid.append(env.rewards["player_0"])
    return paid


@pytest.mark.parametrize("view", ["gym", "aec", "parallel"])
def test_every_view_pays_what_the_episode_pays(view: str) -> None:
    options = {"rewards": ["food-distance"], "gamma": 0.5}
    if view == "gym":
        options["opponents"] = "first"
    else:
        options["masks"] = "obs"
    env = palestra.make(FORAGING, view=view, **options)
    env.reset(seed=4)
    episode = palestra.make(FORAGING, view="episode", seed=4, rewards=["food-distance"], gamma=0.5)
    expected = []
    for _ in range(6):
        episode.act({p: episode.legal_actions(p)[0] for p in episode.to_act})
        expected.append(episode.rewards[0])
    assert steps_of(env, view, 6) == pytest.approx(expected)
    assert any(expected)


def test_an_illegal_move_forfeits_as_it_does_without_shaping() -> None:
    env = palestra.make("games/TicTacToe-v0", view="episode", rewards=["env"], invalid="forfeit")
    assert type(env) is Episode
    shaped = palestra.make(FORAGING, view="episode", seed=0, rewards=BOTH, invalid="forfeit")
    shaped.act({0: 99, 1: 0})
    assert shaped.over
    assert shaped.outcome.results[0] == "forfeit"
    terms = shaped.step.rewards[0]
    assert terms.get("forfeit", 0) <= 0
    start = distance_potential(shaped.game, shaped.game.initial_state(0), 0)
    assert terms["food-distance"] == pytest.approx(-start)
    assert shaped.outcome.scores[0] == terms.get("forfeit", 0)


def test_unknown_and_unfit_rewards_are_named() -> None:
    with pytest.raises(UnknownName, match="food-distance"):
        palestra.make(FORAGING, rewards=["food-distanse"])
    with pytest.raises(InvalidOption, match="gamma"):
        palestra.make(FORAGING, rewards=BOTH, gamma=2)
    env = palestra.make("games/TicTacToe-v0", view="episode", rewards=["food-distance"])
    with pytest.raises(InvalidOption, match="TicTacToe"):
        env.act({0: 0})


REMEMBERING = ["env", "novelty"]


def test_a_shaper_that_remembers_starts_afresh_with_each_play_through() -> None:
    episode = palestra.make(FORAGING, view="episode", seed=1, rewards=REMEMBERING)
    walk(episode, 6)
    first = list(episode.returns)
    episode.reset(1)
    walk(episode, 6)
    assert list(episode.returns) == first


def test_forks_and_snapshots_keep_what_a_shaper_remembers() -> None:
    episode = palestra.make(FORAGING, view="episode", seed=1, rewards=REMEMBERING)
    walk(episode, 4)
    twin, kept = episode.fork(), pickle.loads(pickle.dumps(episode.snapshot()))
    walk(episode, 9)
    other = palestra.make(FORAGING, view="episode", seed=9, rewards=REMEMBERING)
    other.restore(kept)
    walk(other, 9)
    walk(twin, 9)
    assert list(other.returns) == list(twin.returns) == list(episode.returns)


def test_records_shaped_from_memory_replay() -> None:
    (record,) = palestra.play(FORAGING, agents=["random"] * 2, seed=2, rewards=REMEMBERING)
    assert tuple(replay(record).returns) == record.returns
