"""A match server whose busy seats play beside endless programs and models that never answer.

`palestra serve` gets 50 matches of tasks/FastCode-v0 with a program that never ends, 50 matches
against a language model that hangs, and 200 matches of TicTacToe whose seats answer at a fixed
pace. Prints how long a busy seat waits from its answer to the next view, with and without the
crowd, how many of its answers were refused or charged as late, how long SIGTERM takes, and how many
confirmed answers the journal lacks. The client runs on the same cores and is in the latencies.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import msgspec
from palestra_server.store import MatchStore
from websockets.asyncio.client import connect

ENDLESS = "Program(code='while True: pass')"
MOVE_SECONDS = 20
SHOWN = ["legal_texts"]


class Crowd:
    """A client of one server; `took` has the latencies, `acked` confirmed answers by match."""

    def __init__(self, url: str, http: httpx.AsyncClient) -> None:
        self.url, self.http = url, http
        self.took: list[float] = []
        self.acked: dict[str, int] = {}
        self.errors: list[str] = []
        self.mistakes = 0
        self.ended = 0.0  # when SIGTERM was sent

    async def open(self, **wanted: Any) -> tuple[str, list[str]]:
        """A new match, and the tokens of its free seats."""
        opened = (await self.http.post("/matches", json=wanted)).raise_for_status().json()
        match, tokens = opened["match"], []
        for seat in opened["free"]:
            told = await self.http.post(f"/matches/{match}/join", json={"seat": seat})
            tokens.append(told.raise_for_status().json()["token"])
        return match, tokens

    async def program(self, match: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        told = await self.http.post("/seat/move", json={"text": ENDLESS}, headers=headers)
        if told.is_success:
            self.acked[match] = 1

    async def sit_down(self) -> tuple[Any, str]:
        """Both seats of a new match on one socket."""
        match, tokens = await self.open(
            env="games/TicTacToe-v0", seats=["open", "open"], move_seconds=MOVE_SECONDS
        )
        stream = await connect(self.url.replace("http", "ws") + "/ws", compression=None)
        for handle, token in enumerate(tokens):
            sit = {"do": "sit", "handle": handle, "token": token, "show": SHOWN}
            await stream.send(msgspec.json.encode(sit).decode())
        return stream, match

    async def busy(self, stream: Any, match: str, pace: float) -> None:
        try:
            await self._play(stream, match, pace)
        finally:
            await stream.close()

    async def _play(self, stream: Any, match: str, pace: float) -> None:
        sent = 0.0
        async for frame in stream:
            said = msgspec.json.decode(frame)
            for view in said if isinstance(said, list) else [said]:
                if "status" not in view:
                    self.errors.append(str(view)[:200])
                    continue
                if sent and (view.get("your_turn") or view["status"] == "over"):
                    self.took.append(time.perf_counter() - sent)
                    self.acked[match] = self.acked.get(match, 0) + 1
                    sent = 0.0
                if view.get("error"):
                    self.mistakes += 1
                if view["status"] == "over":
                    return
                if view.get("your_turn"):
                    await asyncio.sleep(pace * random.uniform(0.5, 1.5))
                    move = {"number": view.get("number", 0), "text": view["legal_texts"][0]}
                    told = {"do": "move", "handle": view.get("handle", 0), "move": move}
                    sent = time.perf_counter()
                    await stream.send(msgspec.json.encode(told).decode())


def percentiles(took: list[float]) -> str:
    ordered = sorted(took)
    shown = (f"p{at:g} {1000 * ordered[int(len(ordered) * at / 100)]:.1f} ms" for at in (50, 99))
    return f"{', '.join(shown)} of {len(ordered)} answers"


async def measure(url: str, asked: argparse.Namespace, model: str) -> Crowd:
    limits = httpx.Limits(max_connections=500)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as http:
        for named in ("alone", "with the crowd"):
            crowd = Crowd(url, http)
            programs: list[asyncio.Task[None]] = []
            seated = [await crowd.sit_down() for _ in range(asked.busy)]
            if named != "alone":
                began = time.perf_counter()
                coders = [await crowd.open(env="tasks/FastCode-v0") for _ in range(asked.programs)]
                for _ in range(asked.models):
                    await crowd.open(env="games/TicTacToe-v0", seats=[model, "open"])
                print(f"opened in {time.perf_counter() - began:.1f} s")
                programs = [
                    asyncio.create_task(crowd.program(match, tokens[0])) for match, tokens in coders
                ]
            await asyncio.gather(*(crowd.busy(*one, asked.pace) for one in seated))
            print(f"{named}: {percentiles(crowd.took)}; {len(crowd.errors)} refused, ", end="")
            print(f"{crowd.mistakes} charged")
            print(*crowd.errors[:3], sep="\n", end="")
        running = sum(not task.done() for task in programs)
        print(f"{running} of {len(programs)} programs are still running or waiting")
        crowd.ended = time.perf_counter()
        os.kill(asked.pid, signal.SIGTERM)
        await asyncio.gather(*programs, return_exceptions=True)
        return crowd


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=50)
    parser.add_argument("--models", type=int, default=50)
    parser.add_argument("--busy", type=int, default=200)
    parser.add_argument("--pace", type=float, default=2.0, help="seconds that a busy seat thinks")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as hangs:
        model = f"llm:openai:x@http://127.0.0.1:{hangs.getsockname()[1]}/v1"
        code = "from palestra.cli import main; main()"
        command = [sys.executable, "-c", code, "serve", "--port", "0", "--store", f"{folder}/m.db"]
        command += ["--allow-env", "tasks/*", "--allow-agent", model]
        log = Path(folder, "log")
        with log.open("w") as output:
            env = {**os.environ, "OPENAI_API_KEY": "none"}
            server = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=env)
        try:
            while not (url := re.search(r"serving (\S+)", log.read_text())):
                assert server.poll() is None, log.read_text()
                time.sleep(0.1)
            asked.pid = server.pid
            crowd = asyncio.run(measure(url[1], asked, model))
            server.wait(60)
            print(f"SIGTERM: ended after {time.perf_counter() - crowd.ended:.1f} s")
            store = MatchStore(f"sqlite:///{folder}/m.db")
            lacking = [
                match
                for match, count in crowd.acked.items()
                if (kept := store.load(match)) is None or len(kept.answers) < count
            ]
            print(f"journal: {len(lacking)} of {len(crowd.acked)} matches lack an answer")
        finally:
            server.kill()


if __name__ == "__main__":
    main()
