"""Pictures of environments for the lobby: drawn in a process of their own, bounded, kept."""

import asyncio
import json
import sys
import time

import httpx
import pytest
from palestra.kernel.registry import registry
from palestra_server import picture_process, pictures
from palestra_server.pictures import MOST_BYTES, NONE, Pictures

DRAWN = sorted(spec.id for spec in registry().environments.values() if not spec.runs_programs)
FAULTY = """
import os, sys, time
print(os.getpid(), file=open(sys.argv[1], "a"))
for line in sys.stdin:
    env = line.strip()
    if env == "hangs":
        time.sleep(600)
    if env == "dies":
        os._exit(1)
    print(json := '"%s"' % (env * (1_000_000 if env == "long" else 1)), flush=True)
"""


@pytest.mark.exhaustive(sample=24)
@pytest.mark.parametrize("env", DRAWN)
def test_every_environment_has_a_small_picture(env):
    line = picture_process.answer(env)
    assert len(line) < MOST_BYTES
    picture = json.loads(line)
    assert picture["height"] > 0
    assert all(0 <= number < len(picture["table"]) for number in picture["marks"])


def test_one_that_runs_programs_has_none():
    assert picture_process.answer("tasks/FastCode-v0") == NONE
    assert picture_process.answer("no/Such-v0") == NONE


def test_a_process_that_hangs_dies_or_floods_costs_one_picture_and_blocks_nobody(tmp_path):
    script, started = tmp_path / "faulty.py", tmp_path / "started"
    script.write_text(FAULTY)

    async def asking():
        made = Pictures((sys.executable, str(script), str(started)), seconds=1.0)
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        envs = ["fine", "hangs", "well", "dies", "long", "fine", "good", "hangs"]
        got = await asyncio.gather(*map(made.of, envs))
        ticking.cancel()
        await made.close()
        return got, ticks

    got, ticks = asyncio.run(asking())
    assert got == [b'"fine"', NONE, b'"well"', NONE, NONE, b'"fine"', b'"good"', NONE]
    assert ticks > 20  # others were served while one picture hung for a second
    assert len(started.read_text().split()) == 4


def test_whoever_goes_away_leaves_the_next_their_own_picture(tmp_path):
    script, started = tmp_path / "faulty.py", tmp_path / "started"
    script.write_text(FAULTY)

    async def asking():
        made = Pictures((sys.executable, str(script), str(started)))
        gone = asyncio.create_task(made.of("one"))
        await asyncio.sleep(0)
        gone.cancel()
        got = [await made.of("two"), await made.of("one")]
        await made.close()
        return got

    assert asyncio.run(asking()) == [b'"two"', b'"one"']


def test_a_process_that_nobody_asks_ends_and_is_started_again(tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "IDLE", 0.05)
    script, started = tmp_path / "faulty.py", tmp_path / "started"
    script.write_text(FAULTY)

    async def asking():
        made = Pictures((sys.executable, str(script), str(started)))
        await made.of("one")
        until = time.monotonic() + 20
        while made._process is not None and time.monotonic() < until:
            await asyncio.sleep(0.01)
        got = await made.of("two")
        await made.close()
        return got

    assert asyncio.run(asking()) == b'"two"'
    assert len(started.read_text().split()) == 2


def test_the_server_draws_what_it_lists_and_nothing_else(server):
    url, _ = server
    chess = httpx.get(f"{url}/page/pictures/games/Chess-v0", timeout=60).json()
    assert len(chess["places"]) == 64
    assert chess == httpx.get(f"{url}/page/pictures/games/Chess-v0").json()
    for other in ("games/Ches-v0", "..%2f..%2fserver.py", "games"):
        assert httpx.get(f"{url}/page/pictures/{other}").status_code == 404
