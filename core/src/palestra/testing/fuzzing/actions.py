"""Hostile actions through every view: each is played, or refused with `InvalidAction`."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import suppress
from time import process_time
from typing import Any

import numpy as np

from palestra.kernel.array_game import ArrayGame
from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidAction, InvalidOption, OutOfTurn
from palestra.kernel.rng import Rng
from palestra.kernel.specs import EnvSpec
from palestra.records.record import record_episode
from palestra.testing.fuzzing.case import Case
from palestra.testing.fuzzing.options import write_and_replay
from palestra.testing.fuzzing.values import LONG, TEXTS, actions, position_names, value_of
from palestra.testing.subject import Subject, random_actions, require

VIEWS = ("episode", "forfeit", "reading", "gym", "aec", "parallel", "batch")
VALUES = 12  # of one case
STEPS = 12  # random moves before them
LONGEST_REFUSAL = 20_000  # characters: a grammar of a large menu is long
LONGEST_READING = 0.050  # seconds of processor time for a megabyte, on a machine that is not slow
TRIES = 3  # of which the quickest counts


def draw_actions(spec: EnvSpec, rng: random.Random) -> Iterator[Case]:
    """Yield cases of hostile actions: random moves lead to a position, and each view is tried in
    turn.
    """
    views = [*VIEWS, "long"]
    for turn in range(1_000_000_000):
        view = views[turn % len(views)]
        seed, steps = rng.randrange(1_000), rng.randrange(STEPS)
        if view == "long":
            values = tuple(rng.sample(LONG, 4))
        elif view == "reading":
            values = tuple(rng.sample(TEXTS, VALUES))
        else:
            values = tuple(actions(rng) for _ in range(VALUES))
        yield Case(spec.id, "actions", seed, steps, values=values, view=view)


def try_actions(spec: EnvSpec, case: Case) -> None:
    """Give the values of a case to its view."""
    subject = Subject(spec, {name: value_of(value) for name, value in case.options.items()})
    tried = {
        "episode": _try_episode,
        "forfeit": _try_forfeit,
        "reading": _try_reading,
        "long": _try_long,
    }
    tried.get(case.view, _try_view)(subject, case)


def _position(subject: Subject, case: Case, **settings: Any) -> Episode:
    """An episode after the random moves of a case, before its end."""
    episode = subject.episode(case.seed, **settings)
    rng = Rng(case.seed)
    for _ in range(case.steps):
        before = episode.fork()
        episode.act(random_actions(episode, rng))
        if episode.over:
            return before
    return episode


def _values(case: Case, episode: Episode, seat: int) -> Iterator[tuple[str, Any]]:
    names = position_names(episode, seat)
    for expression in case.values:
        yield expression, value_of(expression, names)


def _try_episode(subject: Subject, case: Case) -> None:
    """Check that `check` and `act` play or refuse each value; a refusal changes nothing."""
    episode = _position(subject, case)
    if episode.over:
        return
    seat = episode.to_act[0]
    before = episode.state_key()
    for expression, value in _values(case, episode, seat):
        legal = _accepts(episode.check, seat, value, expression)
        played = episode.fork()
        others = random_actions(played, Rng(0))
        acted = _accepts(lambda s, v: played.act(others | {s: v}), seat, value, expression)  # noqa: B023
        require(legal == acted, f"check and act disagree about {expression}")
        require(episode.state_key() == before, f"{expression} changed the position")
        if acted:
            write_and_replay(played)


def _accepts(call: Any, seat: int, value: Any, expression: str) -> bool:
    """Whether a call takes a value; any error but a proper `InvalidAction` is a finding."""
    try:
        call(seat, value)
    except InvalidAction as error:
        said = str(error)
        require(bool(error.legal), f"the refusal of {expression} does not say what is legal")
        require(len(said) < LONGEST_REFUSAL, f"refusing {expression} takes {len(said)} characters")
        said.encode()
        return False
    return True


def _try_forfeit(subject: Subject, case: Case) -> None:
    """Check that no value raises under policies that continue the game."""
    for policy in ("forfeit", "random", "noop"):
        episode = _position(subject, case, invalid=policy)
        if episode.over:
            return
        seat = episode.to_act[0]
        for _, value in _values(case, episode, seat):
            played = episode.fork()
            played.act(random_actions(played, Rng(0)) | {seat: value})
            write_and_replay(played)


def _try_reading(subject: Subject, case: Case) -> None:
    """Check that `parse` returns a legal action or refuses, whatever the text."""
    episode = _position(subject, case)
    if episode.over:
        return
    for seat in episode.to_act[:2]:
        for expression, value in _values(case, episode, seat):
            try:
                action = episode.parse(seat, value)
            except InvalidAction as error:
                str(error).encode()
                continue
            require(
                _accepts(episode.check, seat, action, expression),
                f"{expression} was read as {action!r}, which is not legal",
            )


def _try_long(subject: Subject, case: Case) -> None:
    """Check that a megabyte is read in about the time of a short text."""
    episode = _position(subject, case)
    if episode.over:
        return
    seat = episode.to_act[0]
    short = _seconds(episode, seat, "no move")
    for expression, value in _values(case, episode, seat):
        took = _seconds(episode, seat, value) - short
        require(
            took <= LONGEST_READING or took <= 3 * _counting(),
            f"reading {expression} ({len(value):,} characters) takes {1000 * took:.0f} ms",
        )


def _seconds(episode: Episode, seat: int, text: str) -> float:
    """The least processor time, in seconds, of a few readings of a text."""
    least = float("inf")
    for _ in range(TRIES):
        started = process_time()
        with suppress(InvalidAction):
            episode.parse(seat, text)
        least = min(least, process_time() - started)
        if least <= LONGEST_READING / 10:
            break
    return least


def _counting() -> float:
    """The processor time, in seconds, in which Python counts to a million, one by one.

    It is 20 milliseconds or less on a machine that is neither slow nor busy.
    """
    started = process_time()
    sum(1 for _ in range(1_000_000))
    return process_time() - started


# Views of other people's libraries


def _try_view(subject: Subject, case: Case) -> None:
    kinds = [kind for kind in subject.spec.observations if kind == "text" or case.view != "batch"]
    if case.view == "batch":
        if subject.has_array_view:
            _try_batch(subject, case)
        return
    for obs in kinds:
        _try_one_view(subject, case, obs)


def _try_one_view(subject: Subject, case: Case, obs: str) -> None:
    """Play random moves in a view, then give it hostile values; it refuses or plays each."""
    env = _open_view(subject, case.view, obs)
    for _, value in _values(case, subject.episode(case.seed), 0):
        env.reset(seed=case.seed)
        rng = Rng(case.seed)
        for _ in range(min(case.steps, 4)):
            if not env.episode.over:
                _step(env, case.view, obs, rng, None)
        if env.episode.over:
            env.reset(seed=case.seed)
        try:
            _step(env, case.view, obs, rng, [value])
        except (InvalidAction, OutOfTurn) as error:
            str(error).encode()
        record_episode(env.episode)
    env.close()


def _open_view(subject: Subject, view: str, obs: str) -> Any:
    from palestra.views.aec import AecView
    from palestra.views.gym import GymView
    from palestra.views.parallel import ParallelView

    kind: Any = {"gym": GymView, "aec": AecView, "parallel": ParallelView}[view]
    compiled = False if isinstance(subject.game, ArrayGame) else None
    return kind(subject.game, obs=obs, compiled=compiled)


def _step(env: Any, view: str, obs: str, rng: Rng, hostile: list[Any] | None) -> None:
    """Take one step in a view; `hostile` replaces the random action of the first seat to act.

    A dead agent of an AEC view takes its last, empty step first.
    """
    if view == "gym":
        if env.seat in env.episode.to_act or hostile:
            env.step(hostile[0] if hostile else _view_action(env, env.seat, obs, rng))
        return
    if view == "aec":
        while env.agents and env.terminations[env.agent_selection]:
            env.step(None)
        seat = env.possible_agents.index(env.agent_selection)
        env.step(hostile[0] if hostile else _view_action(env, seat, obs, rng))
        return
    given: Mapping[str, Any] = {
        env.possible_agents[seat]: _view_action(env, seat, obs, rng) for seat in env.episode.to_act
    }
    if hostile:
        first = env.possible_agents[env.episode.to_act[0]]
        given = {**given, first: hostile[0]}
    env.step(given)


def _view_action(env: Any, seat: int, obs: str, rng: Rng) -> Any:
    action = env.episode.sample(seat, rng)
    if obs == "text":
        return env.episode.action_text(seat, action)
    number = env.game.index_of(action)
    return number if number is not None else int(env.episode.action_mask(seat).argmax())


def _try_batch(subject: Subject, case: Case) -> None:
    """Check that a batch refuses arrays of a wrong shape, and forfeits for wrong numbers."""
    from palestra.views.batch import make

    compiled = False if isinstance(subject.game, ArrayGame) else None
    for _, value in _values(case, subject.episode(case.seed), 0):
        batch: Any = make(subject.game, num_envs=2, compiled=compiled)
        batch.reset(case.seed)
        whole = np.full(batch.acting.shape, 0, np.int64)
        for given in (value, [[value] * subject.game.num_players] * 2, whole):
            try:
                batch.step(given)
            except (InvalidAction, InvalidOption, OutOfTurn) as error:
                str(error).encode()
        require(bool(np.isfinite(batch.rewards).all()), f"rewards {batch.rewards}")
        batch.close()
