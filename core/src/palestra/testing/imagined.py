"""Checks that looking ahead tells nothing: what a player imagines is drawn from what they know.

A game that shuffles the cards that are really in the others' hands betrays them: whoever imagines
with random numbers of their own choice learns which order the truth was in.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from palestra.kernel.episode import Episode
from palestra.kernel.events import Event
from palestra.kernel.rng import Rng
from palestra.testing.alike import (
    FIRST,
    WATCHING,
    after_equal_looks,
    after_other_chance,
    after_unseen_chance,
    after_unseen_deals,
    after_unseen_moves,
    exchanged_moves,
    long_after_imagined,
    sees_the_same,
)
from palestra.testing.parts import (
    copy_part,
    different_parts,
    fields_in,
    large_parts,
    parts_of,
)
from palestra.testing.privacy import needs_secrets, no_leak, open_at, spread, states_of
from palestra.testing.subject import (
    Failed,
    Skipped,
    Subject,
    plain,
    play_on,
    require,
    same,
    sight,
)

SEEDS = 3
PLACES = 24  # positions of one episode with a seat, whose secrets are drawn anew
ALIKE = 3  # steps whose data equal a hidden list, after which it is no accident
STEP_SEEDS = 4
LONG_SEED = 987_654_321_987_654  # a number that a state holds by no accident
OFTEN = 6  # times that what is told is in a field, after which it is no accident
DRAWN = (1, 22, 333)  # seeds of what is imagined, to see whether two worlds are told apart
KEPT_DEALS = 5  # whose parts are exchanged, of which all but one must agree
KEPT_PARTS = 24  # of a deal that are
ANEW = 4  # worlds that are drawn to see whether a part is drawn anew


def imagined_worlds_keep_secrets(subject: Subject) -> None:
    """A player who cannot tell two worlds apart imagines the same in both.

    The other world is one that `determinize` drew, then or some steps before, one in which somebody
    made another move that this player did not see, or one in which chance had another result: at
    that step, or at the beginning. What only others see at the beginning is drawn anew. No imagined
    world holds the seed.
    """
    needs_secrets(subject)
    _seed_is_not_imagined(subject)
    for seed in range(SEEDS):
        states = states_of(subject, seed)
        seats = range(subject.game.num_players)
        places = [(step, seat) for step in range(len(states)) for seat in seats]
        for step, seat in spread(places, PLACES, seed):
            other = subject.game.determinize(states[step], seat, Rng(seed + 100 + step))
            imagine_alike(subject, states[step], other, seat, f"seed {seed}, step {step}")
        if len(seats) > 1:
            for one, two, seat, where in after_unseen_moves(subject, seed):
                imagine_alike(subject, one, two, seat, f"seed {seed}, {where}")
        for one, two, seat, where in after_unseen_chance(subject, seed):
            imagine_alike(subject, one, two, seat, f"seed {seed}, {where}")
        for one, two, seat, where in long_after_imagined(subject, seed):
            imagine_alike(subject, one, two, seat, f"seed {seed}, {where}")
    for one, two, seat, where in after_unseen_deals(subject):
        imagine_alike(subject, one, two, seat, where)
    _nothing_hidden_is_kept(subject)


def _seed_is_not_imagined(subject: Subject) -> None:
    state = subject.episode(LONG_SEED).state
    for seat in range(min(subject.game.num_players, WATCHING)):
        for path, part in parts_of(subject.game.determinize(state, seat, Rng(seat))).items():
            require(
                str(LONG_SEED) not in str(part),
                f"what player {seat} imagines holds the seed of the episode at state.{path}, from "
                "which all that is hidden could be dealt again",
            )


def _nothing_hidden_is_kept(subject: Subject) -> None:
    """At the beginning, a part of the state that others see and a seat does not is drawn anew.

    Parts are exchanged for those of another deal, to see who sees them. Items of a field count for
    themselves and for the field.
    """
    deals = [subject.episode(seed).state for seed in range(KEPT_DEALS + 1)]
    kept: dict[tuple[int, str], dict[int, bool]] = defaultdict(dict)  # by seat and part, by deal
    for number, (state, other) in enumerate(pairwise(deals)):
        for seat, part, anew in _hidden_parts(subject, state, other, number):
            for whole in (part, part.partition("[")[0]):
                before = kept[seat, whole].get(number, True)
                kept[seat, whole][number] = before and not anew
    for (seat, part), found in kept.items():
        require(
            len(found) < KEPT_DEALS - 1 or not all(found.values()),
            f"at the beginning, player {seat} does not see state.{part}, which others see, and "
            "determinize() never draws it anew",
            "determinize() keeps what is hidden",
        )


def _hidden_parts(
    subject: Subject, state: Any, other: Any, number: int
) -> Iterator[tuple[int, str, bool]]:
    """Seats, parts of a state that they alone do not see, and whether they imagine them anew."""
    game, own, others = subject.game, large_parts(state), large_parts(other)
    parts = [part for part in own if part in others and own[part] != others[part]]
    worlds: dict[int, list[dict[str, Any]]] = {}
    for part in spread(parts, KEPT_PARTS, number):
        if isinstance(own[part], set | frozenset | dict):
            continue  # what one of two hands has says what the other has
        for seat in _who_alone_does_not_see(subject, state, other, part):
            if seat not in worlds:
                drawn = [Rng(number + 50 * n) for n in range(ANEW)]
                worlds[seat] = [large_parts(game.determinize(state, seat, rng)) for rng in drawn]
            yield seat, part, any(world.get(part) != own[part] for world in worlds[seat])


def _who_alone_does_not_see(subject: Subject, state: Any, other: Any, part: str) -> list[int]:
    """The seats that do not see a part of a state being that of another, where others see it."""
    changed = copy_part(subject.game.clone(state), other, part)
    if changed is None:
        return []
    one, two = (open_at(subject, world) for world in (state, changed))
    seats = range(min(subject.game.num_players, WATCHING))
    try:
        unseen = [seat for seat in seats if sees_the_same(subject, one, two, seat)]
    except Exception:  # the state makes no sense with this part of another
        return []
    return unseen if len(unseen) < len(seats) else []


def imagine_alike(subject: Subject, one: Any, two: Any, seat: int, where: str) -> None:
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


def steps_tell_no_secret(subject: Subject) -> None:
    """Who cannot know, by `determinize`, which of two moves somebody made is not told by the step.

    In two worlds that differ by one move of somebody else, by chance, or that look the same after a
    step, and in which a player imagines the same by any random numbers, that player reads the same
    events, with equal data, and sees the same. The data of what a player reads holds no field of
    the state that `determinize` draws for them.
    """
    needs_secrets(subject)
    _data_holds_no_hidden_field(subject)
    if subject.game.num_players == 1:
        raise Skipped("nobody else moves")
    _equal_looks_tell_nothing(subject)
    _chance_tells_nothing(subject)
    for seed in range(STEP_SEEDS):
        for one, two, mover, _ in exchanged_moves(subject, seed):
            where = f"step {one.steps_played - 1}, after one of two moves of player {mover}"
            for seat in [s for s in range(subject.game.num_players) if s != mover][:WATCHING]:
                if _imagines_the_same(subject, one.state, two.state, seat):
                    _told_alike(subject, one, two, seat, f"seed {seed}, {where}")


def _chance_tells_nothing(subject: Subject) -> None:
    """Where a player imagines the same whatever chance did, the step told them the same."""
    for seed in range(STEP_SEEDS):
        for one, two, at in after_other_chance(subject, seed):
            for seat in spread(range(subject.game.num_players), WATCHING, at):
                told = [[e for e in w.log[-1] if e.visible_to(seat)] for w in (one, two)]
                if told[0] != told[1] and _imagines_the_same(subject, one.state, two.state, seat):
                    where = f"seed {seed}, step {at}, after one of two results of chance"
                    _told_alike(subject, one, two, seat, where)


def _equal_looks_tell_nothing(subject: Subject) -> None:
    """Where a player imagines the same in two worlds that look the same, they were told the same.

    What somebody said once, or a letter that has been read, need not be imagined: what is told
    counts if, wherever it is told, it is in a field of the state.
    """
    tried: dict[tuple[str, str], list[tuple[set[str], Any]]] = defaultdict(list)
    for seed in range(STEP_SEEDS):
        for one, two, seat, where in after_equal_looks(subject, seed):
            if not _imagines_the_same(subject, one.state, two.state, seat):
                continue
            pair = one, two, seat, f"seed {seed}, {where}"
            entries = _told_otherwise(one, two, seat)
            if not entries:
                _told_alike(subject, *pair)
            for entry, fields in entries.items():
                tried[entry].append((fields, pair))
    for found in tried.values():
        if len(found) >= OFTEN and set.intersection(*(fields for fields, _ in found)):
            _told_alike(subject, *found[0][1])


def _told_otherwise(one: Episode, two: Episode, seat: int) -> dict[tuple[str, str], set[str]]:
    """By kind of event and entry of its data: what the last step told otherwise in two worlds.

    The fields are those of the states in which a part differs in the same way.
    """
    told = [[e for e in world.log[-1] if e.visible_to(seat)] for world in (one, two)]
    held = [parts_of(world.state) for world in (one, two)]
    fields: dict[Any, set[str]] = defaultdict(set)
    for path in held[0].keys() & held[1].keys():
        fields[held[0][path], held[1][path]].add(re.split(r"[.[]", path)[0])
    entries = {}
    for first, second in zip(*told, strict=False):
        data = [parts_of(dict(event.data)) for event in (first, second)]
        for key in data[0].keys() & data[1].keys():
            if data[0][key] != data[1][key]:
                entries[first.kind, key] = fields[data[0][key], data[1][key]]
    return entries


def _data_holds_no_hidden_field(subject: Subject) -> None:
    """No entry of events' data is, wherever it is told, a list that its reader cannot know."""
    tried: dict[tuple[str, str, str], list[tuple[bool, tuple[int, int], str]]] = defaultdict(list)
    for seed in range(STEP_SEEDS):
        episode = subject.episode(seed)
        for number, _ in play_on(episode, Rng(seed), FIRST, careful=True):
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
