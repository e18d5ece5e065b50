"""The process that draws environments' pictures for the lobby: an id a line in, JSON a line out.

It is a process of its own, so that rules that hang or fail take no time or memory of the server.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

import msgspec
from palestra import Episode, InvalidOption, Rng
from palestra.kernel.errors import cause
from palestra.kernel.registry import load_game, registry

from palestra_server.table import drawing

SEED = 1
STEPS = 8  # played before the picture, so that it shows more than an empty board
LONGEST_PICTURE = 30  # seconds
LONGEST = 2.0  # seconds after which no further step is played


def draw(env: str) -> Any:
    """An environment's picture after a few random moves, as its first player sees it."""
    spec = registry().environment(env)
    game = load_game(spec, {})
    artist = drawing(spec)
    if artist is None or game.runs_programs:
        raise InvalidOption(f"{env} has no picture: no renderer draws it, or it runs programs")
    episode = Episode(game, SEED, compiled=False, spec=spec)
    before, rng, until = episode.fork(), Rng(SEED), time.monotonic() + LONGEST
    while episode.steps_played < STEPS and not episode.over and time.monotonic() < until:
        before = episode.fork()
        episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})
    shown = before if episode.over else episode
    return artist.draw_public(shown) if game.perfect_information else artist.draw(shown, 0, {})


def answer(env: str) -> bytes:
    """A line for the server: the picture, or null and why on the standard error stream."""
    try:
        return msgspec.json.encode(draw(env))
    except (Exception, SystemExit) as error:
        print(f"{env}: {cause(error)}", file=sys.stderr, flush=True)
        return b"null"


def main() -> None:
    """Answer each line of the standard input until it ends."""
    told = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what rules print must not come among the answers
    for line in sys.stdin:
        _end_after(LONGEST_PICTURE)
        told.write(answer(line.strip()) + b"\n")
        told.flush()
        _end_after(0)


def _end_after(seconds: int) -> None:
    """End this process after `seconds` (0: not), since a server that was killed cannot do it."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


if __name__ == "__main__":
    main()
