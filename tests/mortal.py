"""Kills a run at every boundary of what it writes, resumes it, and compares how it ended.

Run as `python mortal.py SUBJECT FOLDER MOST`: the program forks a child for every boundary, and so
imports and compiles once. A child is killed with signal 9 before its k-th write, rename, flush to
disk, removal or statement of SQL; every write has a second boundary in its middle. What is left is
resumed by a second child, which is killed too, and by a third, which is not. Threads of torch do
not survive a fork: for it a child is an exception that nothing catches, after which this process
can change no file.

With `mortal.c` loaded before it (LD_PRELOAD), the boundaries are the calls by which the process and
its libraries change files: those of SQLite inside a transaction, those of torch inside a file.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import csv
import ctypes
import importlib
import io
import json
import os
import pickle
import signal
import sqlite3
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import palestra
import palestra.runner.run_folder
from palestra import EpisodeRecord, Usage, read_records

SECOND = 7  # where the first resumption is killed
KUHN = "games/KuhnPoker-v0"


class Killed(BaseException):
    """Stands for signal 9 where nothing can be forked."""


class Clock:
    """Counts boundaries, and kills the process at one of them; a context manager.

    With `really` False it only raises, there and at every boundary after it.
    """

    NAMES = ("fsync", "replace", "rename", "unlink", "mkdir", "truncate")

    def __init__(self, last: int, *, really: bool) -> None:
        self.last, self.really, self.count = last, really, 0

    def tick(self, before: Callable[[], object] = lambda: None) -> None:
        self.count += 1
        if self.count == self.last:
            before()
        if self.last and self.count >= self.last:
            if self.really:
                os.kill(os.getpid(), signal.SIGKILL)
            raise Killed

    def __enter__(self) -> Clock:
        """Let every change of a file, and every statement of SQL, go through `tick`."""
        opened, connect = io.open, sqlite3.connect
        kept = {name: getattr(os, name) for name in self.NAMES}

        def watched_open(file: Any, mode: str = "r", *rest: Any, **more: Any) -> Any:
            if not set(mode) & set("wax+") or isinstance(file, int):
                return opened(file, mode, *rest, **more)
            self.tick()
            return WatchedFile(opened(file, mode, *rest, **more), self)

        def watched_connect(*args: Any, **more: Any) -> sqlite3.Connection:
            connection = connect(*args, **more)
            connection.set_trace_callback(lambda statement: self.tick())
            return connection

        def restore() -> None:
            io.open = builtins.open = opened  # type: ignore[assignment]
            sqlite3.connect = sqlite3.dbapi2.connect = connect
            for name, function in kept.items():
                setattr(os, name, function)

        self._restore = restore
        io.open = builtins.open = watched_open  # type: ignore[assignment]
        sqlite3.connect = sqlite3.dbapi2.connect = watched_connect  # type: ignore[assignment]
        for name, function in kept.items():
            setattr(os, name, self._ticking(function))
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def _ticking(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            self.tick()
            return function(*args, **more)

        return call


class WatchedFile:
    """A file whose writes are boundaries."""

    def __init__(self, file: Any, clock: Clock) -> None:
        self._file, self._clock = file, clock

    def write(self, data: Any) -> int:
        self._clock.tick()

        def half() -> None:
            self._file.write(data[: len(data) // 2])
            self._file.flush()

        self._clock.tick(half)
        return int(self._file.write(data))

    def __enter__(self) -> WatchedFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __iter__(self) -> Any:
        return iter(self._file)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class Calls:
    """As `Clock`, for the calls that `mortal.c` sees under one folder."""

    def __init__(self, last: int, folder: Path) -> None:
        self._last, self._folder = last, folder
        self._library = ctypes.CDLL(None)

    def __enter__(self) -> Calls:
        self._library.mortal_arm(str(self._folder).encode(), self._last)
        return self

    def __exit__(self, *_: object) -> None:
        self._library.mortal_arm(b"", 0)

    @property
    def count(self) -> int:
        return int(self._library.mortal_count())


def in_child(
    work: Callable[[], Any], last: int = 0, folder: Path | None = None
) -> tuple[int, int, Any]:
    """Run `work` in a child that dies at boundary `last`; with a folder, one of its calls there.

    Returns its exit code, how far it counted, and what `work` returned.
    """
    there, here = os.pipe()
    child = os.fork()
    if child:
        os.close(here)
        with os.fdopen(there, "rb") as pipe:
            said = pipe.read()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return (code, *(pickle.loads(said) if said else (0, None)))
    code = 1
    try:
        os.close(there)
        clock = Calls(last, folder) if folder else Clock(last, really=True)
        with clock:
            value, count = work(), clock.count
        with os.fdopen(here, "wb") as pipe:
            pickle.dump((count, value), pipe)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def here(work: Callable[[], Any], last: int = 0) -> tuple[int, int, Any]:
    """As `in_child`, without a child."""
    with Clock(last, really=False) as clock:
        try:
            value = work()
        except Killed:
            return -signal.SIGKILL, clock.count, None
        return 0, clock.count, value


# Subjects: how to run, whether there is something to resume, and what a run came to


def play(folder: Path, resume: bool) -> None:
    palestra.runner.run_folder.SAVE_EVERY = -1.0  # unfinished episodes are kept every time
    palestra.play(KUHN, agents=["random", "random"], episodes=4, live=2, out=folder, resume=resume)


def played(folder: Path) -> Any:
    assert not (folder / "unfinished.jsonl").exists()
    assert not list(folder.glob(".*-*")), "drafts of a killed process are removed"
    records = sorted(read_records(folder / "episode.jsonl"), key=lambda record: record.number)
    return [untimed(record) for record in records]


def untimed(record: EpisodeRecord) -> Any:
    for turn in record.turns:
        turn.usage = Usage()
    return record


def tournament(folder: Path, resume: bool) -> None:
    from palestra_arena import Settings, Store, run_tournament

    folder.mkdir(exist_ok=True)
    settings = Settings(
        environments=(KUHN,), agents=("random", "first"), games=2, workers=0, together=1
    )
    with Store(folder / "arena.db") as store:
        run_tournament(settings, store)
        store.tally()


def standings(folder: Path) -> Any:
    from palestra_arena import Store

    with Store(folder / "arena.db") as store:
        games = [(r.match, r.status, r.results, r.scores, r.steps) for r in store.results()]
        moves = [[t.action for t in r.turns] for r in store.records()]
        return games, moves, store.tally().kinds


def train(folder: Path, resume: bool) -> None:
    from palestra.cli import main
    from palestra_agents.ppo import training

    training.wins_against_random.__defaults__ = (8,)  # episodes
    typed = ["train", "games/TicTacToe-v0", "--steps", "96", "--reports", "2", "--out", str(folder)]
    typed += [f"--set={s}" for s in ("num_envs=4", "horizon=8", "minibatches=2", "hidden=8")]
    begun = (folder / "policy.pt").exists()
    with contextlib.suppress(SystemExit):
        main([*typed, *(["--resume"] if resume and begun else [])])


def trained(folder: Path) -> Any:
    from palestra_agents.ppo.checkpoint import read_checkpoint

    kept = read_checkpoint(folder)
    with (folder / "curve.csv").open() as file:
        rows = [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(file)]
    assert not list(folder.glob(".*-*")), "drafts of a killed process are removed"
    network = {name: values.tolist() for name, values in kept.network.items()}
    return kept.steps, network, kept.torch_rng.tolist(), rows


class Client:
    """A player of the server: what it was answered is all it knows, and outlives the server."""

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        said = os.read(self._file, 1 << 20).splitlines()
        self.match, self.tokens, self.answered = "", dict[int, str](), dict[int, int]()
        for line in said:
            self._hear(*json.loads(line))

    def _hear(self, what: str, *value: Any) -> None:
        if what == "match":
            (self.match,), self.tokens, self.answered = value, {}, {}
        elif what == "token":
            self.tokens[value[0]] = value[1]
        else:
            self.answered[value[0]] = value[1]

    def told(self, *confirmed: Any) -> None:
        """Keep what the server has confirmed."""
        os.write(self._file, json.dumps(confirmed).encode() + b"\n")
        self._hear(*confirmed)

    def close(self) -> None:
        os.close(self._file)


def serve(folder: Path, resume: bool) -> None:
    folder.mkdir(exist_ok=True)
    asyncio.run(_served(folder))


async def _served(folder: Path) -> None:
    from palestra_server.messages import OPEN, Create, Join
    from palestra_server.server import MatchServer
    from palestra_server.store import MatchStore

    client = Client(folder.with_suffix(".client"))
    server = MatchServer(MatchStore(f"sqlite:///{folder}/matches.db"))
    await server.start()
    while not client.match or len(client.tokens) < 2:
        if not client.match:
            wanted = Create("games/ConnectFour-v0", (OPEN, OPEN), seed=4, max_episode_steps=8)
            client.told("match", (await server.create(wanted)).match)
        for seat in {0, 1} - set(client.tokens):
            try:
                taken = await server.join(client.match, Join(seat))
            except palestra.InvalidOption:  # a token that was never heard: nobody can answer there
                client.told("match", "")
                break
            client.told("token", seat, taken.token)
    await _answer_all(server, client)
    await server.stop()
    client.close()


async def _answer_all(server: Any, client: Client) -> None:
    from palestra_server.messages import Move

    while not server.match(client.match).over:
        for seat, token in client.tokens.items():
            view = server.look(server.seat(token), show=["legal_texts"])
            assert view.number > client.answered.get(seat, -1), "a confirmed answer is lost"
            if not view.your_turn:
                continue
            number = view.number
            text = view.legal_texts[(5 * number + seat) % len(view.legal_texts)]
            refused = number % 4 == 2 and not view.error
            await server.move(
                server.seat(token), Move(text="?" if refused else text, number=number)
            )
            client.told("answered", seat, number)


def kept_match(folder: Path) -> Any:
    """What is on record of the client's match, in a database that is whole."""
    from palestra_server.server import MatchServer
    from palestra_server.store import MatchStore

    with contextlib.closing(sqlite3.connect(folder / "matches.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    client = Client(folder.with_suffix(".client"))

    async def read() -> EpisodeRecord:
        server = MatchServer(MatchStore(f"sqlite:///{folder}/matches.db"))
        await server.start()
        record = server.record(server.seat(client.tokens[0]))
        await server.stop()
        return record

    record = asyncio.run(read())
    client.close()
    return untimed(record)


def train_llm(folder: Path, resume: bool) -> None:
    import torch
    from palestra_training.plan import Evaluation, TinyModel, TrainPlan, WarmUp
    from palestra_training.trainer import Trainer

    torch.set_num_threads(1)  # others would not survive a fork
    plan = TrainPlan(
        env=KUHN,
        rounds=1,
        groups=2,
        group_size=2,
        opponents=("random",),
        tiny=TinyModel(layers=1, width=16, heads=2, context=128),
        warm_up=WarmUp(episodes=2, epochs=1),
        evaluation=Evaluation(every=1, episodes=2),
        max_tokens=2,
    )
    Trainer(plan, folder, resume=resume and (folder / "plan.json").exists()).run()


def trained_llm(folder: Path) -> Any:
    import torch
    from palestra_training.checkpoint import CURVE, MODEL, STATE
    from palestra_training.curves import read_curve
    from palestra_training.learner import Learner

    state = torch.load(folder / STATE, weights_only=True)
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in read_curve(folder / CURVE)]
    written = {n: v.tolist() for n, v in Learner(folder / MODEL).net.state_dict().items()}
    assert not list(folder.glob(".*-*")), "drafts of a killed process are removed"
    (learned,) = state["weights"]
    weights = {name: values.tolist() for name, values in learned.items()}
    return state["round"], weights, written, rows


def ablate(folder: Path, resume: bool) -> None:
    from palestra_arena.ablation.run import AblationPlan, complete_plan, run_ablation

    plan = AblationPlan(KUHN, ("random", "random"), n=2, variants=("tags",))
    run_ablation(complete_plan(plan), folder, resume=resume)


def ablated(folder: Path) -> Any:
    return probed(folder)


def probe(folder: Path, resume: bool) -> None:
    from palestra_arena.evaluations import evaluation
    from palestra_arena.probes import ask

    asked = evaluation("binary-bias").probes()
    small = msgspec.structs.replace(asked, items=asked.items[:2])
    ask(small, "random", folder, live=2, resume=resume and folder.exists())


def probed(folder: Path) -> Any:
    return [
        [untimed(r) for r in sorted(read_records(f), key=lambda r: r.number)]
        for f in sorted(folder.rglob("episode.jsonl"))
    ]


SUBJECTS = {
    "ablate": (ablate, ablated),
    "probe": (probe, probed),
    "play": (play, played),
    "tournament": (tournament, standings),
    "train": (train, trained),
    "train-llm": (train_llm, trained_llm),
    "serve": (serve, kept_match),
}


def ended(run: Callable[..., None], result: Callable[[Path], Any], folder: Path) -> Any:
    """Resume a run to its end, and see what it came to."""
    run(folder, True)
    return result(folder)


def enumerate_boundaries(
    name: str, root: Path, *, most: int = 0, calls: bool = False
) -> dict[str, Any]:
    """Kill at every boundary, or at `most` of them, evenly spread; what went wrong."""
    run, result = SUBJECTS[name]

    def apart(work: Callable[[], Any], last: int = 0, folder: Path | None = None) -> Any:
        if name == "train":
            return here(work, last)
        return in_child(work, last, folder if calls else None)

    if name == "train-llm":  # torch forks as long as it has computed nothing
        for module in ("palestra_training.trainer", "transformers.models.llama.modeling_llama"):
            importlib.import_module(module)
        palestra.play(KUHN, agents=["random", "random"])  # compiles
    else:
        run(root / "warm", False)  # compiles
    code, count, _ = apart(lambda: run(root / "whole", False), 0, root / "whole")
    assert code == 0
    expected = apart(lambda: result(root / "whole"))[2]
    assert expected is not None
    problems = []
    for last in range(1, count + 1, max(1, count // most) if most else 1):
        folder = root / str(last)
        code, *_ = apart(partial(run, folder, False), last, folder)
        if code != -signal.SIGKILL:
            problems.append(f"boundary {last}: ended with {code}")
        apart(partial(run, folder, True), SECOND, folder)
        code, _, value = apart(partial(ended, run, result, folder))
        if code:
            problems.append(f"boundary {last}: the resumed run ended with {code}")
        elif value != expected:
            problems.append(f"boundary {last}: the resumed run is another")
    return {"boundaries": count, "problems": problems}


if __name__ == "__main__":
    loaded = hasattr(ctypes.CDLL(None), "mortal_arm")
    outcome = enumerate_boundaries(
        sys.argv[1], Path(sys.argv[2]), most=int(sys.argv[3]), calls=loaded
    )
    print(json.dumps(outcome))
