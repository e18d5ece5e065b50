"""Checks that states are values: clone, branch, restore, pickle, replay."""

from __future__ import annotations

import pickle
import random
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from palestra.engine.compiled import numba_installed
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.errors import Divergence
from palestra.kernel.game import Game
from palestra.kernel.rng import Rng
from palestra.records.record import record_episode, replay
from palestra.testing.faults import who_draws
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


def looking_changes_nothing(subject: Subject) -> None:
    """Whoever asks what is seen, legal, written or imagined leaves the state as it was."""
    game = subject.game
    for seed in SEEDS:
        episode = subject.episode(seed)
        for number, _ in play_on(episode, Rng(seed), 12):
            state = game.clone(episode.state)
            kept = _all_of(game, state)
            for name, look in _looks(subject, state):
                try:
                    look()
                finally:
                    changed = _all_of(game, state) != kept
                    require(
                        not changed,
                        f"seed {seed}, step {number}: {name}() changes the state that it is given",
                        f"{name}() changes the state that it is given",
                    )


def _all_of(game: Game[Any, Any], state: Any) -> tuple[bytes, str]:
    """A state and its generator. Neither a key nor this has what a state only caches."""
    return game.state_key(state), repr(getattr(state, "rng", ""))


def _looks(subject: Subject, state: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What can be asked of a state, by the name of the method."""
    game = subject.game
    acting = game.to_act(state)
    yield "to_act", lambda: game.to_act(state)
    yield "outcome", lambda: game.outcome(state)
    yield "scene", lambda: game.scene(state, None)
    for seat in sorted({0, game.num_players - 1, *acting[:2]}):
        for name in ("describe", "scene", "state_key", *("observe",) * subject.has_array_view):
            yield name, partial(getattr(game, name), state, seat)
        if acting:  # at the end it may refuse
            yield "determinize", partial(game.determinize, state, seat, Rng(3))
    for seat in acting[:2]:
        move = game.sample(game.clone(state), seat, Rng(3))
        written = game.action_text(game.clone(state), seat, move)
        yield "legal", partial(game.legal, state, seat)
        yield "noop", partial(game.noop, state, seat)
        yield "sample", partial(game.sample, state, seat, Rng(3))
        yield "check", partial(game.check, state, seat, move)
        yield "action_text", partial(game.action_text, state, seat, move)
        yield "parse", partial(game.parse, state, seat, written)


def forks_diverge(subject: Subject) -> None:
    """A fork is independent of its origin, and equal moves give equal forks."""
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
        seen = [sight(fork, 0, array=subject.has_array_view) for fork in (one, other)]
        require(same(*seen), "two forks look different after the same moves")


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
    try:
        stories = [_story(subject, disturbance) for disturbance in (1, 2)]
    finally:
        random.setstate(noise[0])
        np.random.set_state(noise[1])
    for step, (one, other) in enumerate(zip(*stories, strict=False)):
        require(
            one == other,
            f"the same seed and moves gave two different episodes, from step {step} on",
            "the same seed gives different episodes",
        )
    require(len(stories[0]) == len(stories[1]), "the same seed gave episodes of different length")
    _seed_is_used(subject.game)


def _seed_is_used(game: Game[Any, Any]) -> None:
    """States that begin with other seeds have other generators, where `rng` is in the state."""
    states = [game.initial_state(seed) for seed in (1, 2)]
    keys = [repr(getattr(state, "rng", state)) for state in states]
    require(
        not hasattr(states[0], "rng") or keys[0] != keys[1],
        "initial_state() makes no use of the seed: seeds 1 and 2 give the state the same generator",
    )


def _story(subject: Subject, disturbance: int) -> list[Any]:
    """What happens in an episode, step by step, with the process-wide generators set anew."""
    random.seed(disturbance)
    np.random.seed(disturbance)
    before = _global_randomness()
    story: list[Any] = []

    def play() -> None:
        episode = subject.episode(11)
        story.append(episode.describe(0))
        for _, actions in play_on(episode, Rng(4)):
            story.append((actions, list(episode.returns), episode.describe(0)))

    play()
    if before != _global_randomness():
        place = who_draws(subject, play)
        where = f"{place} — " if place else ""
        raise Failed(
            f"{where}the game draws from a process-wide random generator; use the state's own",
            place or "the game draws from a process-wide random generator",
        )
    return story


def anchors_name_decisions(subject: Subject) -> None:
    """A seat has the same moves, and sees the same, wherever its anchor is the same.

    Counters are no part of an anchor: raising them changes none.
    """
    game = subject.game
    for seed in SEEDS:
        faced: dict[bytes, Any] = {}
        for play in range(2):
            episode, rng = subject.episode(seed), Rng(10 * seed + play)
            for number in range(40):
                if episode.over:
                    break
                state, where = episode.state, f"seed {seed}, step {number}"
                for seat in episode.to_act:
                    key = game.anchor(state, seat)
                    later = game.anchor(_counted_on(game, state), seat)
                    require(key == later, f"{where}: raising the counters changes the anchor")
                    now = _decision(subject, state, seat)
                    before = faced.setdefault(key, now)
                    different = [name for name in now if not _alike(before[name], now[name])]
                    require(not different, f"{where}: {different} differ at one anchor")
                episode.act(random_actions(episode, rng))


def _counted_on(game: Game[Any, Any], state: Any) -> Any:
    later = game.clone(state)
    for name in game.counters:
        setattr(later, name, _add_one(getattr(later, name)))
    return later


def _add_one(count: Any) -> Any:
    if isinstance(count, list | tuple):
        return type(count)(_add_one(item) for item in count)
    if not isinstance(count, int | float | np.ndarray | np.number):
        return count
    return count + 60  # a turn that says by its remainder who moves still says the same


def _decision(subject: Subject, state: Any, seat: int) -> dict[str, Any]:
    """What a seat may do, and what it sees but for counters."""
    game = subject.game
    legal = game.legal(state, seat)
    moves = legal.tolist() if isinstance(legal, np.ndarray) else str(legal)
    still = game.without_counters(state)
    if not subject.has_array_view:
        return {"legal moves": moves, "text": re.sub(r"\d+", "#", game.describe(still, seat))}
    seen = np.asarray(game.observe(state, seat), np.float64).ravel()
    seen[seen != np.asarray(game.observe(still, seat)).ravel()] = np.nan
    return {"legal moves": moves, "observation": seen}


def _alike(one: Any, other: Any) -> bool:
    """Whether two are equal, where both are known."""
    if isinstance(one, np.ndarray):
        return bool(np.all((one == other) | np.isnan(one) | np.isnan(other)))
    return bool(one == other)


def _global_randomness() -> object:
    return random.getstate(), repr(np.random.get_state())


def compiled_equals_interpreted(subject: Subject) -> None:
    """The compiled rules equal the interpreted ones, bit for bit."""
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
