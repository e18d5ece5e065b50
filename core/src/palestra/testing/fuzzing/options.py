"""Random options: each is refused by name, or gives a game that passes the kit's invariants."""

from __future__ import annotations

import pickle
import random
import re
from collections.abc import Iterator
from itertools import combinations, product
from time import perf_counter
from typing import TypeGuard

import msgspec
import numpy as np

from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidOption, UnknownName
from palestra.kernel.options import option_hints
from palestra.kernel.registry import load_game, registry
from palestra.kernel.rng import Rng
from palestra.kernel.specs import EnvSpec, load_entry_point
from palestra.records.record import EpisodeRecord, record_episode, replay
from palestra.records.verify import verify
from palestra.testing.fuzzing.case import Case
from palestra.testing.fuzzing.values import (
    OBJECTS,
    edge_values,
    every_value,
    good_values,
    value_of,
)
from palestra.testing.moves import agree, within_bounds
from palestra.testing.subject import Subject, random_actions, require

STEPS = 40  # random moves of an episode
SEATS = 5  # looked at in one position
LONG_ENOUGH = 2.0  # seconds that a game is played with one setting
LONGEST_REFUSAL = 3_000  # characters
PAIRED = 4  # values of an option that are tried with each of another's


def draw_options(spec: EnvSpec, rng: random.Random) -> Iterator[Case]:
    """Every option with every bad value by itself, in random order, between sets of good ones."""
    hints = option_hints(load_entry_point(spec.entry_point))
    alone = [
        (name, value) for name, hint in hints.items() for value in (*edge_values(hint), *OBJECTS)
    ]
    rng.shuffle(alone)
    alone += [("no_such_option", "1"), ("split", "None"), ("split", "'x'"), ("split", "[1]")]
    good = {name: values for name, hint in hints.items() if (values := good_values(hint, rng))}
    for turn in range(1_000_000_000):
        if alone and turn % 2 == 0:
            name, value = alone.pop()
            yield Case(spec.id, "options", rng.randrange(1_000), STEPS, {name: value})
            continue
        names = rng.sample(list(good), min(len(good), rng.randint(1, 5)))
        options = {name: rng.choice(good[name]) for name in names}
        if names and rng.random() < 0.15:
            options[names[0]] = rng.choice(OBJECTS)
        yield Case(spec.id, "options", rng.randrange(1_000), STEPS, options)


def sweep_options(spec: EnvSpec, rng: random.Random) -> Iterator[Case]:
    """Every good value of every option once by itself, then pairs of two options' values.

    Options take turns, each from its limits inwards. Of an option with many values, pairs take the
    first few.
    """
    hints = option_hints(load_entry_point(spec.entry_point))
    values = {
        name: list(dict.fromkeys([*good_values(hint, rng), *every_value(hint)]))
        for name, hint in hints.items()
    }
    for place in range(max(map(len, values.values()), default=0)):
        for name, known in values.items():
            if place < len(known):
                yield Case(spec.id, "options", rng.randrange(1_000), STEPS, {name: known[place]})
    pairs = [
        {one: first, other: second}
        for one, other in combinations(values, 2)
        for first, second in product(values[one][:PAIRED], values[other][:PAIRED])
    ]
    rng.shuffle(pairs)
    for pair in pairs:
        yield Case(spec.id, "options", rng.randrange(1_000), STEPS, pair)


def try_options(spec: EnvSpec, case: Case) -> None:
    """Make the game; a refusal names an option, and a game that is made can be played."""
    options = {name: value_of(value) for name, value in case.options.items()}
    try:
        game = load_game(spec, options)
    except (InvalidOption, UnknownName) as error:
        said = str(error)
        files = [value for value in options.values() if isinstance(value, str) and value]
        known = {*options, *option_hints(load_entry_point(spec.entry_point))}
        named = any(re.search(rf"\b{re.escape(name)}\b", said) for name in known)
        named = named or any(name in said for name in files)  # of a file, its name will do
        require(named or not options, f"the refusal names no option: {said[:300]}")
        require(len(said) < LONGEST_REFUSAL, f"the refusal has {len(said)} characters")
        said.encode()
        return
    require(pickle.loads(pickle.dumps(game)) == game, "the game changes in a pickle")
    subject = Subject(spec, options)
    subject.game = game
    play_and_check(subject, case.seed, case.steps)


def play_and_check(subject: Subject, seed: int, steps: int) -> Episode:
    """Play random moves, hold every position against the kit's invariants, and replay the record.

    Ends after `steps` moves, and sooner where moves take long.
    """
    game, rng, started = subject.game, Rng(seed), perf_counter()
    require(len(game.players) == len(game.seats) == game.num_players, "not one seat a player")
    require(all(game.rules_for(s).strip() for s in (0, game.num_players - 1)), "no rules are told")
    episode = subject.episode(seed)
    require(bool(episode.to_act) or episode.outcome is not None, "nobody is to act at the start")
    for number in range(steps):
        if episode.over or perf_counter() - started > LONG_ENOUGH:
            break
        require(episode.outcome is None, f"step {number}: an outcome before the end")
        _look(subject, episode, rng, f"step {number}")
        episode.act(random_actions(episode, rng))
        require(bool(np.isfinite(list(episode.returns)).all()), f"returns {episode.returns}")
    if episode.over:
        require(episode.outcome is not None, "over without an outcome")
        within_bounds(subject, episode)
    write_and_replay(episode)
    return episode


def _look(subject: Subject, episode: Episode, rng: Rng, where: str) -> None:
    """Look at a position from several seats; numbers stay in their spaces and moves agree."""
    game, state = subject.game, episode.state
    require(
        game.state_key(game.clone(state)) == game.state_key(state), f"{where}: a clone is not equal"
    )
    seats = sorted({rng.below(game.num_players) for _ in range(SEATS)})
    for seat in seats:
        require(bool(episode.describe(seat)), f"{where}: nothing is described to player {seat}")
        require(bool(episode.prompt(seat)), f"{where}: the prompt of player {seat} is empty")
        episode.scene(seat)
        if subject.has_array_view:
            seen, space = episode.observation(seat), game.observation_space(seat)
            require(seen in space, f"{where}: what player {seat} sees is not in {space}")
    for seat in episode.to_act[:2]:
        agree(subject, episode, seat, rng, f"{where}, player {seat}")


def write_and_replay(episode: Episode) -> EpisodeRecord:
    """The record can be written, read and verified, and its options make the same game again."""
    record = record_episode(episode)
    read = msgspec.json.decode(msgspec.json.encode(record), type=EpisodeRecord)
    require(read.steps == record.steps, "the record is read otherwise than it was written")
    hold_against_the_game(read, episode)
    return record


def is_installed(spec: EnvSpec | None) -> TypeGuard[EnvSpec]:
    """Whether records of an environment can be replayed from its id alone."""
    return spec is not None and registry().environments.get(spec.id) == spec


def hold_against_the_game(record: EpisodeRecord, episode: Episode) -> None:
    """Verify a record, from its id and options alone where the environment is installed."""
    spec = episode.spec
    if not is_installed(spec):
        replay(record, episode.game)
        return
    verify(record)
    again = load_game(spec, record.options)
    require(again == episode.game, "the options in the record make another game")
