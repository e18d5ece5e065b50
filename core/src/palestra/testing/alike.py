"""Pairs of states that a player cannot tell apart, each of which the game can reach."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

from palestra.kernel.episode import Episode
from palestra.kernel.rng import Rng
from palestra.testing.privacy import SLACK, open_at, spread, states_of
from palestra.testing.subject import Subject, plain, play_long, play_on, random_actions, same, sight

DEALS = 120  # beginnings among which two are looked for that a seat cannot tell apart
TWINS = 12  # of them that are played on
MOVES = 6  # moves of one episode that are exchanged for another
FIRST = 40  # steps of an episode among which those are
ANOTHER = 8  # how often another legal move is drawn
AFTER = 8  # steps for which the two worlds are followed
WATCHING = 3  # seats that are compared after an exchanged move
CHANCES = 40  # steps of one episode at which chance has another result
IMAGINED = 4  # positions of one episode from which an imagined world is followed
LONG_AFTER = 12  # steps for which it is
LOOKED_AT = 12  # positions of one episode with a seat from which imagined worlds are played on
WORLDS = 20  # of them, among which two are looked for that look the same after a step

Pair = tuple[Any, Any, int, str]  # two states, the seat that cannot tell them apart, and where


def after_unseen_deals(subject: Subject) -> Iterator[Pair]:
    """Two states that a seat cannot tell apart, since it does not see what another seed dealt."""
    deals = [subject.episode(seed) for seed in range(DEALS)]
    for seat in range(min(subject.game.num_players, WATCHING)):
        keyed: dict[bytes, list[int]] = defaultdict(list)
        for seed, episode in enumerate(deals):
            keyed[episode.state_key(seat)].append(seed)
        alike: dict[str, list[int]] = defaultdict(list)
        for seed in (seed for seeds in keyed.values() if len(seeds) > 1 for seed in seeds):
            seen = sight(deals[seed], seat, array=subject.has_array_view)
            alike[repr(plain(seen))].append(seed)
        pairs = [pair for seeds in alike.values() for pair in pairwise(seeds)]
        for seed, other in spread(pairs, TWINS, seat):
            one, two = deals[seed].fork(), deals[other].fork()
            yield one.state, two.state, seat, f"seeds {seed} and {other}, at the beginning"
            for step, actions in play_long(one.fork(), Rng(seed)):
                if step >= AFTER or not _both_act(one, two, actions, {}):
                    break
                if not sees_the_same(subject, one, two, seat):
                    break
                yield one.state, two.state, seat, f"seeds {seed} and {other}, after step {step}"


def after_unseen_moves(subject: Subject, seed: int) -> Iterator[Pair]:
    """Two states that a seat cannot tell apart, since one move that it did not see was another."""
    for one, two, mover, later in exchanged_moves(subject, seed):
        where = f"where player {mover} played another move at step {one.steps_played - 1}"
        seats = [seat for seat in range(subject.game.num_players) if seat != mover]
        for actions in ({}, *later):
            if actions and not _both_act(one, two, actions, {}):
                break
            seats = [seat for seat in seats if sees_the_same(subject, one, two, seat)]
            for seat in seats[:WATCHING]:
                yield one.state, two.state, seat, f"step {one.steps_played - 1}, {where}"


def exchanged_moves(
    subject: Subject, seed: int
) -> Iterator[tuple[Episode, Episode, int, list[dict[int, Any]]]]:
    """Two episodes that differ by the last move of one seat, that seat, and the moves after it."""
    episode = subject.episode(seed)
    assert len(episode.log) == 1  # reading it has each step told as it is played, not all again
    moves, positions = list[dict[int, Any]](), [episode.fork()]
    for number, actions in play_long(episode, Rng(seed), careful=True):
        moves.append(actions)
        positions.append(episode.fork())
        if number >= FIRST:
            break
    rng = Rng(seed + 77)
    for _ in range(MOVES):
        at = rng.below(len(moves))
        mover = rng.choice(sorted(moves[at]))
        one, two = positions[at].fork(), positions[at].fork()
        other = _another(two, mover, moves[at][mover], rng)
        if other is not None and _both_act(one, two, moves[at], {mover: other}):
            yield one, two, mover, moves[at + 1 : at + AFTER]


def after_unseen_chance(subject: Subject, seed: int) -> Iterator[Pair]:
    """Two states that a seat cannot tell apart, since chance had a result that it did not see."""
    for one, two, at in after_other_chance(subject, seed):
        some = spread(range(subject.game.num_players), WATCHING, at)
        seats = [seat for seat in some if sees_the_same(subject, one, two, seat)]
        if len(seats) == len(some):
            continue  # what nobody sees, such as weights after training, is not drawn again
        one, two = (reseeded(subject, episode.state, at) for episode in (one, two))
        moves = [later for _, later in play_on(one.fork(), Rng(at), AFTER)]
        where = f"steps after step {at}, at which chance had another result"
        yield from _while_alike(subject, one, two, seats, moves, where)


def after_other_chance(subject: Subject, seed: int) -> Iterator[tuple[Episode, Episode, int]]:
    """Two episodes that differ by what chance did in their last step, and that step's number."""
    if subject.game.deterministic:
        return
    states = states_of(subject, seed)
    for at in spread(range(len(states)), CHANCES, seed):
        one, two = (reseeded(subject, states[at], 2 * at + n) for n in (0, 1))
        actions = random_actions(one, Rng(at))
        if _both_act(one, two, actions, {}) and one.state_key() != two.state_key():
            yield one, two, at


def long_after_imagined(subject: Subject, seed: int) -> Iterator[Pair]:
    """Two states that a seat cannot tell apart, some steps after it imagined one of them."""
    game, states = subject.game, states_of(subject, seed)
    for step in dict.fromkeys((0, *spread(range(len(states)), IMAGINED, seed))):
        for seat in spread(range(game.num_players), 1, step):
            imagined = game.determinize(states[step], seat, Rng(seed + step))
            one, two = (reseeded(subject, state, step) for state in (states[step], imagined))
            moves = [actions for _, actions in play_on(one.fork(), Rng(step), LONG_AFTER)]
            where = f"steps after step {step}, at which they imagined the other"
            yield from _while_alike(subject, one, two, [seat], moves, where)


def _while_alike(
    subject: Subject,
    one: Episode,
    two: Episode,
    seats: Sequence[int],
    later: Sequence[dict[int, Any]],
    where: str,
) -> Iterator[Pair]:
    """Two states with each of these seats that cannot tell them apart, step after step."""
    for number, actions in enumerate(({}, *later)):
        if actions and not _both_act(one, two, actions, {}):
            return
        seats = [seat for seat in seats if sees_the_same(subject, one, two, seat)]
        if not seats:
            return
        for seat in seats:
            yield one.state, two.state, seat, f"{number} {where}"


def after_equal_looks(subject: Subject, seed: int) -> Iterator[tuple[Episode, Episode, int, str]]:
    """Two episodes after the same step from worlds that a seat imagines, which still look the same.

    What they look like leaves out what the seat was told, such as the card that was drawn.
    """
    game, states = subject.game, states_of(subject, seed)
    places = [(step, seat) for step in range(len(states)) for seat in range(game.num_players)]
    for step, seat in spread(places, LOOKED_AT, seed):
        acting = open_at(subject, states[step])
        actions = random_actions(acting, Rng(step))
        alike: dict[bytes, list[Episode]] = defaultdict(list)
        for drawn in range(WORLDS):
            imagined = game.determinize(states[step], seat, Rng(1000 * step + drawn))
            world = reseeded(subject, imagined, drawn)
            with suppress(ValueError):  # a move that is not legal in this world
                world.act(actions)
                alike[game.state_key(world.state, seat)].append(world)
        for worlds in alike.values():
            one = worlds[0]
            other = next((w for w in worlds[1:] if w.state_key() != one.state_key()), None)
            if other is not None and not one.over and not other.over:
                yield one, other, seat, f"step {step}, in one of two worlds that look the same"


def reseeded(subject: Subject, state: Any, seed: int) -> Episode:
    """An episode that begins in a state with other chance to come."""
    again = subject.game.clone(state)
    subject.game.reseed(again, seed)
    return open_at(subject, again)


def _another(episode: Episode, seat: int, action: Any, rng: Rng) -> Any:
    """Another legal move; None if none is found."""
    drawn = (episode.sample(seat, rng) for _ in range(ANOTHER))
    return next((move for move in drawn if repr(move) != repr(action)), None)


def _both_act(one: Episode, two: Episode, actions: dict[int, Any], changed: dict[int, Any]) -> bool:
    """Play a step in both worlds; whether it could be, and neither is over."""
    if one.to_act != two.to_act:
        return False
    try:
        two.act({**actions, **changed})
    except ValueError:
        return False  # a later move that is not legal in the other world
    one.act(actions)
    return not (one.over or two.over)


def sees_the_same(subject: Subject, one: Episode, two: Episode, seat: int) -> bool:
    """Whether two episodes look the same to a player and have paid them the same."""
    if abs(one.returns[seat] - two.returns[seat]) > SLACK:
        return False
    first, second = (sight(e, seat, array=subject.has_array_view) for e in (one, two))
    return all(same(first[name], second[name]) for name in first)
