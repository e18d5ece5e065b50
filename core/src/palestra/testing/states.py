"""States are values: clone, branch, restore, pickle, replay."""

from __future__ import annotations

import pickle
import random

import numpy as np

from palestra.engine.compiled import numba_installed
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.errors import Divergence
from palestra.kernel.rng import Rng
from palestra.records.record import record_episode, replay
from palestra.testing.subject import (
    Failed,
    Skipped,
    Subject,
    play_on,
    random_actions,
    require,
    same,
    sight,
)

SEEDS = range(3)


def clone_is_independent(subject: Subject) -> None:
    """A clone equals its original, and changing one leaves the other as it was."""
    game = subject.game
    for seed in SEEDS:
        episode, rng = subject.episode(seed), Rng(seed)
        for number, _ in play_on(episode, rng, 20):
            if episode.over:
                break
            state = episode.state
            key, twin = game.state_key(state), game.clone(state)
            require(game.state_key(twin) == key, f"seed {seed}, step {number}: clone differs")
            require(bool(state == twin), f"seed {seed}, step {number}: clone is not equal (==)")
            actions = {p: game.sample(twin, p, Rng(7)) for p in game.to_act(twin)}
            game.step(twin, actions)
            require(
                game.state_key(state) == key,
                f"seed {seed}, step {number}: a step on the clone changed the original",
            )


def forks_diverge(subject: Subject) -> None:
    """A fork goes its own way, and the same way from the same moves."""
    for seed in SEEDS:
        episode, rng = subject.episode(seed), Rng(seed)
        for _ in play_on(episode, rng, 5):
            pass
        before = sight(episode, 0, array=False)
        one, other = episode.fork(), episode.fork()
        for _, actions in play_on(one, Rng(seed + 100)):
            other.act(actions)
        require(same(sight(episode, 0, array=False), before), "playing a fork changed its origin")
        require(one.returns == other.returns, "two forks paid differently for the same moves")
        require(one.outcome == other.outcome, "two forks ended differently after the same moves")


def snapshot_gives_same_future(subject: Subject) -> None:
    """Snapshot, pickle, restore elsewhere: the same future."""
    for seed in SEEDS:
        episode = subject.episode(seed)
        for _ in play_on(episode, Rng(seed), 4):
            pass
        kept = pickle.loads(pickle.dumps(episode.snapshot()))
        moves = [actions for _, actions in play_on(episode, Rng(seed + 1))]
        elsewhere = subject.episode(seed + 999)
        elsewhere.restore(kept)
        for actions in moves:
            elsewhere.act(actions)
        for seat in range(subject.game.num_players):
            require(
                same(sight(elsewhere, seat, array=False), sight(episode, seat, array=False)),
                f"seed {seed}: player {seat} sees something else after a restore",
            )
        require(elsewhere.returns == episode.returns, "returns differ after a restore")


def record_replays_exactly(subject: Subject) -> None:
    """A record replays to the same views, rewards and outcome."""
    for seed in SEEDS:
        episode = subject.episode(seed)
        for _ in play_on(episode, Rng(seed)):
            pass
        record = record_episode(episode)
        try:
            again = replay(record, subject.game)
        except Divergence as error:
            raise Failed(str(error)) from error
        again.spec = episode.spec
        require(record_episode(again) == record, f"seed {seed}: the replay's record differs")


def pickles(subject: Subject) -> None:
    """Game, state and running episode survive pickling."""
    episode = subject.episode(3)
    for _ in play_on(episode, Rng(0), 3):
        pass
    game = pickle.loads(pickle.dumps(subject.game))
    require(game == subject.game, "the game changes in a pickle")
    state = pickle.loads(pickle.dumps(episode.state))
    key = subject.game.state_key
    require(key(state) == key(episode.state), "the state changes in a pickle")
    twin = pickle.loads(pickle.dumps(episode))
    moves = [actions for _, actions in play_on(episode, Rng(5))]
    for actions in moves:
        twin.act(actions)
    require(twin.returns == episode.returns, "a pickled episode goes on differently")


def seeds_decide(subject: Subject) -> None:
    """The same seed and moves give the same episode; nothing depends on global generators."""
    noise = random.getstate(), np.random.get_state()
    stories = []
    for disturbance in (1, 2):
        random.seed(disturbance)
        np.random.seed(disturbance)
        before = _global_randomness()
        episode = subject.episode(11)
        story = [actions for _, actions in play_on(episode, Rng(4))]
        require(
            before == _global_randomness(), "the game drew from a process-wide random generator"
        )
        stories.append((story, episode.returns, episode.describe(0)))
    random.setstate(noise[0])
    np.random.set_state(noise[1])
    require(stories[0] == stories[1], "the same seed gave two different episodes")


def _global_randomness() -> object:
    return random.getstate(), repr(np.random.get_state())


def compiled_equals_interpreted(subject: Subject) -> None:
    """The compiled rules give what the interpreted ones give, to the bit."""
    if not isinstance(subject.game, ArrayGame):
        raise Skipped("not an ArrayGame")
    if not numba_installed():
        raise Skipped('numba is not installed; pip install "palestra[numba]"')
    for seed in SEEDS:
        slow, quick = subject.episode(seed), subject.episode(seed, compiled=True)
        rng = Rng(seed)
        for number in range(60):
            for seat in range(subject.game.num_players):
                one, other = sight(slow, seat, array=True), sight(quick, seat, array=True)
                different = [name for name in one if not same(one[name], other[name])]
                require(not different, f"seed {seed}, step {number}: {different} differ compiled")
            require(list(slow.returns) == list(quick.returns), "returns differ compiled")
            if slow.over:
                break
            actions = random_actions(slow, rng)
            slow.act(actions)
            quick.act(actions)
