"""The plan of a match that a client or the operator asks for."""

from __future__ import annotations

import secrets
from typing import Annotated

import msgspec
from msgspec import Meta
from palestra import InvalidOption
from palestra.agents.making import make_agent
from palestra.kernel.registry import open_game, registry

from palestra_server.leaving import policy_for, usual_substitute
from palestra_server.messages import OPEN, PERSON, Create, MatchPlan, OnLeave

SEED_BITS = 53  # as many as a number of JSON has in every language


class MatchDefaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the operator gives a match whose creator does not say.

    on_leave, substitute: as in `MatchPlan`; without a substitute it is `absent`. move_seconds: the
    time for one answer where two seats or more are played from outside, so that nobody waits for
    ever; 0 for no limit. A client that plays alone against agents keeps nobody waiting.
    """

    on_leave: OnLeave = "auto"
    substitute: str = ""
    move_seconds: Annotated[float, Meta(ge=0)] = 600.0


def plan_for(wanted: Create, usual: MatchDefaults) -> MatchPlan:
    """The settings of a wanted match; raises `InvalidOption` or `UnknownName`."""
    options = dict(wanted.options)
    if wanted.split:
        options["split"] = wanted.split
    if len(wanted.seats or ()) == 1 and _may_be_alone(wanted):
        options.setdefault("num_players", 1)
    game = open_game(wanted.env, options, len(wanted.seats or ()) or 1)[1]
    seats = [
        OPEN if seat.partition(":")[0] == PERSON else seat
        for seat in wanted.seats or _line_up(wanted, game.num_players)
    ]
    seconds = wanted.move_seconds
    if seconds is None:
        seconds = usual.move_seconds if seats.count(OPEN) > 1 else 0.0
    on_leave = policy_for(game, wanted.on_leave or usual.on_leave)
    substitute = wanted.substitute or usual.substitute or usual_substitute()
    if on_leave == "substitute":
        check_substitute(substitute)
    return MatchPlan(
        env=wanted.env,
        seats=tuple(seats),
        seed=draw_seed() if wanted.seed is None else wanted.seed,
        options=options,
        invalid=wanted.invalid,
        move_seconds=seconds or None,
        max_episode_steps=wanted.max_episode_steps,
        public=wanted.public,
        on_leave=on_leave,
        substitute=substitute if on_leave == "substitute" else "",
        seeded=wanted.seed is not None,
    )


def draw_seed() -> int:
    """A seed that no player finds by dealing until their own hand comes.

    One core of a processor deals 650,000 times a second: 2^31 times within an hour.
    """
    return secrets.randbits(SEED_BITS)


def check_substitute(name: str) -> None:
    """Raise `InvalidOption` or `UnknownName` for an agent that could not take a seat over."""
    if name.partition(":")[0] in (OPEN, PERSON):
        raise InvalidOption(f"a substitute is an agent of the server, such as 'random', not {name}")
    make_agent(name).close()


def _may_be_alone(wanted: Create) -> bool:
    """Whether the environment has one seat or more, as the wanted seats say, and no split does."""
    spec = registry().environment(wanted.env)
    fixed = {**spec.kwargs, **spec.splits.get(wanted.split or "", {})}
    return spec.players[0] == 1 < spec.players[1] and "num_players" not in fixed


def _line_up(wanted: Create, count: int) -> tuple[str, ...]:
    """Who sits where, from the seats that are open and who takes the others."""
    if not wanted.opponents:
        if wanted.open:
            raise InvalidOption(
                f"open is {list(wanted.open)}, but nobody is named for the other seats; name "
                "opponents too, or leave open out to keep every seat open"
            )
        return (OPEN,) * count
    if any(not 0 <= seat < count for seat in wanted.open):
        raise InvalidOption(f"seats are from 0 to {count - 1}, not {list(wanted.open)}")
    return tuple(OPEN if seat in wanted.open else wanted.opponents for seat in range(count))
