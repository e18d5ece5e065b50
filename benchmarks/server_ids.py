"""What a seat's turn costs through the match server, beside the same turn in process, for every id.

Random legal moves are drawn beforehand, and played as text from all seats: by one socket, with the
views that a language model reads, and in process as `text_rates` does. Both are microseconds of
processor time for a turn; the ratio is how much of it the server adds, with no bound of its own.
"""

from __future__ import annotations

import atexit
import time
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
import palestra
from palestra import Rng
from server import Server, Socket, frame, server
from timing import Row

SEED = 3
TURNS = 300
MOST_STEPS = 60

Script = list[dict[int, str]]


def script_of(env: str) -> Script:
    """The texts of one episode of random legal moves, step by step."""
    episode = palestra.make(env, view="episode")
    episode.reset(SEED)
    rng, steps, turns = Rng.seeded(SEED), Script(), 0
    while episode.to_act and len(steps) < MOST_STEPS and turns < TURNS:
        moves = {seat: episode.sample(seat, rng) for seat in episode.to_act}
        steps.append({seat: episode.action_text(seat, move) for seat, move in moves.items()})
        episode.act(moves)
        turns += len(moves)
    return steps


def in_process(env: str, script: Script) -> float:
    """Microseconds of a turn without a server."""
    episode = palestra.make(env, view="episode")
    used = 0.0
    for _ in range(3):  # the first compiles
        started = time.process_time()
        play(episode, script)
        used = time.process_time() - started
    return used / sum(map(len, script)) * 1e6


def play(episode: Any, script: Script) -> None:
    episode.reset(SEED)
    since = [0] * len(episode.players)
    for texts in script:
        actions = {}
        for seat, text in texts.items():
            episode.prompt(seat, since[seat])
            since[seat] = episode.cursor(seat)
            actions[seat] = episode.parse(seat, text)
        episode.act(actions)


def by_socket(running: Server, env: str, script: Script) -> float:
    """Microseconds of a turn on the server, in the second match of two."""
    used = 0.0
    for _ in range(2):
        used = played(running, env, script)
    return used / sum(map(len, script)) * 1e6


def played(running: Server, env: str, script: Script) -> float:
    """The server's processor time for one match."""
    wanted = {"env": env, "seed": SEED, "max_episode_steps": len(script)}
    match = running.http.post("/matches", json=wanted).json()["match"]
    seats = len(palestra.game(env).players)
    joins = [running.http.post(f"/matches/{match}/join", json={"seat": s}) for s in range(seats)]
    one = Socket(running.port, "/ws")
    sits = [
        {"do": "sit", "handle": seat, "token": told.json()["token"]}
        for seat, told in enumerate(joins)
    ]
    one.send(frame(msgspec.msgpack.encode(sits), binary=True))
    read_turns(one, set(script[0]))
    started = processor_seconds(running)
    for number, texts in enumerate(script):
        moves = [
            {"do": "move", "handle": seat, "move": {"text": text}} for seat, text in texts.items()
        ]
        one.send(frame(msgspec.msgpack.encode(moves), binary=True))
        last = number + 1 == len(script)
        read_turns(one, set(range(seats)) if last else set(script[number + 1]))
    used = processor_seconds(running) - started
    one.close()
    return used


def read_turns(one: Socket, seats: set[int]) -> None:
    """Read until each of the seats is to answer, or has heard of the end."""
    waiting = set(seats)
    while waiting:
        for payload in one.frames():
            told = msgspec.msgpack.decode(payload)
            for view in told if isinstance(told, list) else [told]:
                if view.get("your_turn") or view["status"] == "over":
                    waiting.discard(view.get("handle", 0))


def processor_seconds(running: Server) -> float:
    """Processor time of all threads of a server so far, to the nanosecond."""
    threads = Path(f"/proc/{running.process.pid}/task").glob("*/schedstat")
    return sum(int(file.read_text().split()[0]) for file in threads) / 1e9


def overhead(env: str) -> Row:
    script = script_of(env)
    alone = in_process(env, script)
    served = by_socket(one_server(), env, script)
    return Row(f"{env}, by socket", served, alone, alone / served, 0.0, "µs/turn", "in process")


@cache
def one_server() -> Server:
    """A server for all ids; it ends with this program."""
    opened = ExitStack()
    atexit.register(opened.close)
    return opened.enter_context(server("ours"))


MEASURES = [partial(overhead, spec.id) for spec in palestra.specs()]
