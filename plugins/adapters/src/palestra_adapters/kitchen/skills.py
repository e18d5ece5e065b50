"""Skills of a cook, checked against the kitchen's description, and the shortest way to do them."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from palestra import Episode, InvalidOption, Rng, Turn

_HAND = re.compile(r"holding ([^.]*)\.")
NOTHING, ONION, DISH, SOUP = "nothing", "an onion", "a dish", "a soup"
MOST = 5_000  # most positions that a path search visits


class View(NamedTuple):
    """What a cook reads from the kitchen's description."""

    posture: str  # the cook's place, direction and item held
    hand: str
    others: dict[str, str]  # by name, what each holds
    pots: tuple[str, ...]
    counters: str
    earned: float


def look(episode: Episode, seat: int, before: float = 0.0) -> View:
    """Read the position of a kitchen; `before` is the return when this episode was forked.

    Raises `InvalidOption` for any other game.
    """
    lines = episode.describe(seat).splitlines()
    mine = lines[0].partition(" Steps played:")[0] if lines else ""
    pots = tuple(line for line in lines if line.startswith("The pot in"))
    if not mine.startswith("You are") or not _HAND.search(mine) or not pots:
        raise InvalidOption(
            "proagent plays grid/Kitchen-v0 with the whole kitchen in sight: leave out sight; "
            "other games have no skills it knows"
        )
    return View(
        mine,
        _held(mine),
        {line.split(" ")[0]: _held(line) for line in lines[1:] if " is in row" in line},
        pots,
        next((line for line in lines if line.startswith("On the counters")), ""),
        before + float(episode.returns[seat]),
    )


def _held(line: str) -> str:
    found = _HAND.search(line)
    return found.group(1) if found else NOTHING


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill: `missing` says why it cannot be done now ("" if it can), `done` whether it is."""

    name: str
    missing: Callable[[View], str]
    done: Callable[[View, View], bool]


def _must_hold(what: str) -> Callable[[View], str]:
    return lambda v: "" if v.hand.startswith(what) else f"you hold {v.hand}, not {what}"


def _no_room(v: View) -> str:
    room = any("is empty" in pot or re.search(r"holds [12] onion", pot) for pot in v.pots)
    return _must_hold(ONION)(v) or ("" if room else "no pot has room")


def _no_soup(v: View) -> str:
    ready = any("is ready" in pot for pot in v.pots)
    return _must_hold(DISH)(v) or ("" if ready else "no soup is ready")


SKILLS = {
    skill.name: skill
    for skill in (
        Skill("fetch onion", _must_hold(NOTHING), lambda a, b: b.hand == ONION),
        Skill("fetch dish", _must_hold(NOTHING), lambda a, b: b.hand == DISH),
        Skill("fill pot", _no_room, lambda a, b: b.hand == NOTHING and a.pots != b.pots),
        Skill("take soup", _no_soup, lambda a, b: b.hand.startswith(SOUP)),
        Skill("serve soup", _must_hold(SOUP), lambda a, b: b.earned > a.earned),
        Skill(
            "put down",
            lambda v: "you hold nothing" if v.hand == NOTHING else "",
            lambda a, b: b.hand == NOTHING and a.counters != b.counters,
        ),
        Skill("wait", lambda v: "", lambda a, b: True),
    )
}


def way(turn: Turn, skill: Skill, rng: Rng) -> list[str] | None:
    """The shortest moves that do the skill while all others stand still; None if there are none."""
    start = turn.fork(rng)
    first = look(start, turn.seat)
    if skill.name == "wait":
        return [turn.action_text(turn.game.noop(start.state, turn.seat))]
    front: deque[tuple[Episode, tuple[str, ...]]] = deque([(start, ())])
    seen = {_key(first)}
    while front and len(seen) < MOST:
        episode, path = front.popleft()
        for move in episode.legal_texts(turn.seat):
            twin = _after_move(episode, turn.seat, move)
            view = look(twin, turn.seat)
            if skill.done(first, view):
                return [*path, move]
            if view.hand == first.hand and _key(view) not in seen and not twin.over:
                seen.add(_key(view))
                front.append((twin, (*path, move)))
    return None


def _key(view: View) -> tuple[str, str]:
    return view.posture, view.counters


def _after_move(episode: Episode, player: int, move: str) -> Episode:
    twin = episode.fork()
    state = twin.state
    actions = {
        seat: twin.parse(seat, move) if seat == player else twin.game.noop(state, seat)
        for seat in twin.to_act
    }
    twin.act(actions)
    return twin


def did(before: str, after: str) -> str:
    """The skill that explains a change of the item held; "" for none."""
    table = {
        (NOTHING, ONION): "fetch onion",
        (NOTHING, DISH): "fetch dish",
        (ONION, NOTHING): "fill pot",
        (DISH, SOUP): "take soup",
        (SOUP, NOTHING): "serve soup",
    }
    return table.get((_kind(before), _kind(after)), "")


def _kind(hand: str) -> str:
    return SOUP if hand.startswith(SOUP) else hand
