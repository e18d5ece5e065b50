"""Checks that looking ahead tells nothing: what a player imagines is drawn from what they know.

A game that shuffles the cards that are really in the others' hands betrays them: whoever imagines
with random numbers of their own choice learns which order the truth was in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

from palestra.kernel.episode import Episode
from palestra.kernel.events import Event
from palestra.kernel.rng import Rng
from palestra.testing.parts import different_parts, fields_in, parts_of
from palestra.testing.privacy import needs_secrets, no_leak, open_at, spread, states_of
from palestra.testing.subject import (
    Failed,
    Skipped,
    Subject,
    plain,
    play_long,
    play_on,
    random_actions,
    require,
    same,
    sight,
)

SEEDS = 3
PLACES = 24  # positions of one episode with a seat, whose secrets are drawn anew
MOVES = 6  # moves of one episode that are exchanged for another
ALIKE = 3  # steps whose data equal a hidden list, after which it is no accident
MOVES_STREAM = 41  # of random moves that must not be those by which the same seed deals
FIRST = 40  # steps of an episode among which those are
AFTER = 8  # steps for which the two worlds are followed
WATCHING = 3  # seats that are compared after an exchanged move
CHANCES = 40  # steps of one episode at which chance has another result
IMAGINED = 4  # positions of one episode from which an imagined world is followed
LONG_AFTER = 12  # steps for which it is
STEP_SEEDS = 4
LOOKED_AT = 12  # positions of one episode with a seat from which imagined worlds are played on
WORLDS = 20  # of them, among which two are looked for that look the same after a step
DRAWN = (1, 22, 333)  # seeds of what is imagined, to see whether two worlds are told apart
ANOTHER = 8  # how often another legal move is drawn
DEALS = 120  # beginnings among which two are looked for that a seat cannot tell apart
TWINS = 12  # of them that are played on


def imagined_worlds_keep_secrets(subject: Subject) -> None:
    """A player who cannot tell two worlds apart imagines the same in both.

    The other world is one that `determinize` drew, then or some steps before, one in which somebody
    made another move that this player did not see, or one in which chance had another result: at
    that step, or at the beginning.
    """
    needs_secrets(subject)
    for seed in range(SEEDS):
        states = states_of(subject, seed)
        seats = range(subject.game.num_players)
        places = [(step, seat) for step in range(len(states)) for seat in seats]
        for step, seat in spread(places, PLACES, seed):
            other = subject.game.determinize(states[step], seat, Rng(seed + 100 + step))
            _imagine_alike(subject, states[step], other, seat, f"seed {seed}, step {step}")
        if len(seats) > 1:
            for one, two, seat, where in _after_unseen_moves(subject, seed):
                _imagine_alike(subject, one, two, seat, f"seed {seed}, {where}")
        for one, two, seat, where in _after_unseen_chance(subject, seed):
            _imagine_alike(subject, one, two, seat, f"seed {seed}, {where}")
        for one, two, seat, where in _long_after_imagined(subject, seed):
            _imagine_alike(subject, one, two, seat, f"seed {seed}, {where}")
    for one, two, seat, where in _after_unseen_deals(subject):
        _imagine_alike(subject, one, two, seat, where)


def _after_unseen_deals(subject: Subject) -> Iterator[tuple[Any, Any, int, str]]:
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
                if not _sees_the_same(subject, one, two, seat):
                    break
                yield one.state, two.state, seat, f"seeds {seed} and {other}, after step {step}"


def _after_unseen_chance(subject: Subject, seed: int) -> Iterator[tuple[Any, Any, int, str]]:
    """Two states that a seat cannot tell apart, since chance had a result that it did not see."""
    if subject.game.deterministic:
        return
    game, states = subject.game, states_of(subject, seed)
    for at in spread(range(len(states)), CHANCES, seed):
        one, two = (_reseeded(subject, states[at], 2 * at + n) for n in (0, 1))
        actions = random_actions(one, Rng(at))
        if _both_act(one, two, actions, {}) and one.state_key() != two.state_key():
            some = spread(range(game.num_players), WATCHING, at)
            seats = [seat for seat in some if _sees_the_same(subject, one, two, seat)]
            if len(seats) == len(some):
                continue  # what nobody sees, such as weights after training, is not drawn again
            one, two = (_reseeded(subject, episode.state, at) for episode in (one, two))
            moves = [later for _, later in play_on(one.fork(), Rng(at), AFTER)]
            where = f"steps after step {at}, at which chance had another result"
            yield from _while_alike(subject, one, two, seats, moves, where)


def _reseeded(subject: Subject, state: Any, seed: int) -> Episode:
    """An episode that begins in a state with other chance to come."""
    again = subject.game.clone(state)
    subject.game.reseed(again, seed)
    return open_at(subject, again)


def _long_after_imagined(subject: Subject, seed: int) -> Iterator[tuple[Any, Any, int, str]]:
    """Two states that a seat cannot tell apart, some steps after it imagined one of them."""
    game, states = subject.game, states_of(subject, seed)
    for step in dict.fromkeys((0, *spread(range(len(states)), IMAGINED, seed))):
        for seat in spread(range(game.num_players), 1, step):
            imagined = game.determinize(states[step], seat, Rng(seed + step))
            one, two = (_reseeded(subject, state, step) for state in (states[step], imagined))
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
) -> Iterator[tuple[Any, Any, int, str]]:
    """Two states with each of these seats that cannot tell them apart, step after step."""
    for number, actions in enumerate(({}, *later)):
        if actions and not _both_act(one, two, actions, {}):
            return
        seats = [seat for seat in seats if _sees_the_same(subject, one, two, seat)]
        if not seats:
            return
        for seat in seats:
            yield one.state, two.state, seat, f"{number} {where}"


def _imagine_alike(subject: Subject, one: Any, two: Any, seat: int, where: str) -> None:
    drawn, key = Rng(seat + 1).word(), subject.game.state_key
    first, second = _imagined(subject, one, two, seat, drawn)
    if key(first) == key(second):
        return
    parts = ", ".join(f"state.{part}" for part in different_parts(first, second)[:3]) or "something"
    raise Failed(
        f"{where}: what player {seat} imagines betrays what is hidden from them: for two worlds "
        f"that they cannot tell apart, the same random numbers make determinize() give two others, "
        f"which differ in {parts}. Sort what is hidden before you shuffle it, or draw it as the "
        "game does at its beginning",
        "determinize() depends on what is hidden",
    )


def _imagined(subject: Subject, one: Any, two: Any, seat: int, seed: int) -> tuple[Any, Any]:
    """What a player imagines in two states by the same random numbers."""
    draw = subject.game.determinize
    return draw(one, seat, Rng(seed)), draw(two, seat, Rng(seed))


def _after_unseen_moves(subject: Subject, seed: int) -> Iterator[tuple[Any, Any, int, str]]:
    """Two states that a seat cannot tell apart, since one move that it did not see was another."""
    for one, two, mover, later in _exchanged_moves(subject, seed):
        where = f"where player {mover} played another move at step {one.steps_played - 1}"
        seats = [seat for seat in range(subject.game.num_players) if seat != mover]
        for actions in ({}, *later):
            if actions and not _both_act(one, two, actions, {}):
                break
            seats = [seat for seat in seats if _sees_the_same(subject, one, two, seat)]
            for seat in seats[:WATCHING]:
                yield one.state, two.state, seat, f"step {one.steps_played - 1}, {where}"


def _exchanged_moves(
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


def steps_tell_no_secret(subject: Subject) -> None:
    """Who cannot know, by `determinize`, which of two moves somebody made is not told by the step.

    In two worlds that differ by one move of somebody else, and in which a player imagines the same
    by any random numbers, that player reads the same events, with equal data, and sees the same.
    The data of what a player reads holds no field of the state that `determinize` draws for them.
    """
    needs_secrets(subject)
    _data_holds_no_hidden_field(subject)
    for seed in range(STEP_SEEDS):
        for one, two, seat, where in _after_equal_looks(subject, seed):
            if _imagines_the_same(subject, one.state, two.state, seat):
                _told_alike(subject, one, two, seat, f"seed {seed}, {where}")
    if subject.game.num_players == 1:
        raise Skipped("nobody else moves")
    for seed in range(STEP_SEEDS):
        for one, two, mover, _ in _exchanged_moves(subject, seed):
            where = f"step {one.steps_played - 1}, after one of two moves of player {mover}"
            for seat in [s for s in range(subject.game.num_players) if s != mover][:WATCHING]:
                if _imagines_the_same(subject, one.state, two.state, seat):
                    _told_alike(subject, one, two, seat, f"seed {seed}, {where}")


def _after_equal_looks(subject: Subject, seed: int) -> Iterator[tuple[Episode, Episode, int, str]]:
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
            world = open_at(subject, game.determinize(states[step], seat, Rng(1000 * step + drawn)))
            with suppress(ValueError):  # a move that is not legal in this world
                world.act(actions)
                alike[game.state_key(world.state, seat)].append(world)
        for worlds in alike.values():
            one = worlds[0]
            other = next((w for w in worlds[1:] if w.state_key() != one.state_key()), None)
            if other is not None and not one.over and _still_true(one, other, seat):
                yield one, other, seat, f"step {step}, in one of two worlds that look the same"


def _still_true(one: Episode, two: Episode, seat: int) -> bool:
    """Whether what the last step told in two worlds, where it was different, is in their states.

    What somebody said once, or a letter that has been read, need not be in any state.
    """
    told = [[e for e in world.log[-1] if e.visible_to(seat)] for world in (one, two)]
    data = [parts_of([dict(event.data) for event in events]) for events in told]
    held = [parts_of(world.state) for world in (one, two)]
    different = {
        (data[0][path], data[1][path])
        for path in data[0].keys() & data[1].keys()
        if data[0][path] != data[1][path]
    }
    pairs = {(held[0][path], held[1][path]) for path in held[0].keys() & held[1].keys()}
    return not different or bool(different & pairs)


def _data_holds_no_hidden_field(subject: Subject) -> None:
    """No entry of events' data is, wherever it is told, a list that its reader cannot know."""
    tried: dict[tuple[str, str, str], list[tuple[bool, tuple[int, int], str]]] = defaultdict(list)
    for seed in range(STEP_SEEDS):
        episode = subject.episode(seed)
        rng = Rng.seeded(seed, MOVES_STREAM)
        for number, _ in play_on(episode, rng, FIRST, careful=True):
            told = [event for event in episode.log[-1] if event.data]
            if not told or episode.over:
                continue
            for seat in spread(range(subject.game.num_players), WATCHING, seed + number):
                read = episode.transcript(seat)
                fields = _hidden_fields(subject, episode.state, seat)
                where = (
                    f"seed {seed}, step {number}: the data of {{!r}}, which player {seat} reads,"
                )
                for event, key in ((e, key) for e in told if e in read for key in e.data):
                    for name, field in fields.items():
                        held = _items(event.data[key]) == field
                        told_at = (held, (seed, number), where.format(event.text))
                        tried[event.kind, key, name].append(told_at)
    for (_, key, name), found in tried.items():
        steps = {step for _, step, _ in found}  # what several seats read is one accident
        require(
            len(steps) < ALIKE or not all(held for held, _, _ in found),
            f"{found[0][2]} holds state.{name} as {key!r}, which determinize() draws anew for "
            "them: leave it out, or tell it to those who know it",
        )


def _hidden_fields(subject: Subject, state: Any, seat: int) -> dict[str, list[Any]]:
    """The lists of a state that say several things, and which a player imagines otherwise."""
    imagined = dict(fields_in(subject.game.determinize(state, seat, Rng(seat))))
    lists = {name: _items(value) for name, value in fields_in(state)}
    return {
        name: items
        for name, items in lists.items()
        if items is not None and len(set(map(repr, items))) > 1 and items != _items(imagined[name])
    }


def _items(value: Any) -> list[Any] | None:
    """An array or a sequence as a list; None for anything else."""
    value = plain(value)
    return list(value) if isinstance(value, list | tuple) else None


def _imagines_the_same(subject: Subject, one: Any, two: Any, seat: int) -> bool:
    """Whether `determinize` says that a player cannot tell two different states apart."""
    key = subject.game.state_key
    if key(one) == key(two):
        return False  # a step that leaves no trace says what it says in its event
    drawn = (_imagined(subject, one, two, seat, seed) for seed in DRAWN)
    return all(key(first) == key(second) for first, second in drawn)


def _told_alike(subject: Subject, one: Episode, two: Episode, seat: int, where: str) -> None:
    seen = [sight(episode, seat, array=subject.has_array_view) for episode in (one, two)]
    told = [[e for e in episode.log[-1] if e.visible_to(seat)] for episode in (one, two)]
    no_leak(
        subject.game,
        [name for name in seen[0] if not same(seen[0][name], seen[1][name])],
        f"{where}: {{}} of player {seat} tells which it was, and what they imagine with "
        "determinize() does not; either the step betrays it, or determinize() forgets what it told "
        f"({_in_short(told[0])} or {_in_short(told[1])})",
    )


def _in_short(events: list[Event]) -> str:
    return "; ".join(f"{event.text} {dict(event.data) or ''}".strip() for event in events)[:200]


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


def _sees_the_same(subject: Subject, one: Episode, two: Episode, seat: int) -> bool:
    first, second = (sight(e, seat, array=subject.has_array_view) for e in (one, two))
    return all(same(first[name], second[name]) for name in first)
