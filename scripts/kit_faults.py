"""How many one-line faults of real games the conformance kit finds by itself.

    python scripts/kit_faults.py                        # twelve faults of each of ten games
    python scripts/kit_faults.py games/Hex-v0 --count 30 --seed 1

Faults are drawn as in `seed_faults.py`, from the file that holds a game's class, and put into a
copy of the repository one at a time. The kit checks each in a process of its own, until a check
fails; then the game is compared with its golden transcript. The kit knows no rules, so that it
cannot find what makes another sound game; a golden transcript finds that where it happens in its
episode.

Two checks are left out: `compiled_equals_interpreted`, for the time that compiling takes, and
`sb3_checker`, which looks at what Gymnasium's own looks at. The share is of faults as drawn: some
change nothing that can happen.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from palestra.kernel.registry import registry
from palestra.kernel.specs import EnvSpec
from palestra.testing.kit import CHECKS, run_check
from palestra.testing.subject import Subject
from seed_faults import ROOT, Copy, Fault, draw

GAMES = (
    "games/ConnectFour-v0",
    "games/LeducHoldem-v0",
    "games/MatrixGame-v0",
    "games/Hanabi-v0",
    "games/Codenames-v0",
    "games/DonorGame-v0",
    "grid/Foraging-v0",
    "markets/SealedAuction-v0",
    "text/Negotiation-v0",
    "text/Commons-v0",
)
GOLDEN = "matches_golden_transcript"
LEFT_OUT = {"compiled_equals_interpreted", "sb3_checker", GOLDEN}
SECONDS = 120  # that the kit may take of one fault
STUCK = "takes too long"


@dataclass(frozen=True)
class Found:
    """What failed, as "check: why"; empty if nothing did."""

    kit: str
    golden: str


def look_at(game: str, golden: Path) -> Found:
    """What the kit finds in a game, as it is installed here."""
    subject = Subject(registry().environment(game), golden=golden)
    found = ""
    for name in (name for name in CHECKS if name not in LEFT_OUT):
        verdict = run_check(subject, name)
        if verdict.status == "failed":
            found = f"{name}: {verdict.detail}"
            break
    verdict = run_check(subject, GOLDEN)
    return Found(found, verdict.detail if verdict.status == "failed" else "")


def look_at_copy(copy: Copy, game: str, golden: Path) -> Found:
    """The same of a copy of the repository, in a process of its own."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, copy.path))}
    env |= {"NUMBA_DISABLE_JIT": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", __file__, game, "--look", str(golden)]
    try:
        done = subprocess.run(
            command, cwd=copy.folder, env=env, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return Found(STUCK, STUCK)
    if done.returncode:  # the module cannot be imported any more
        why = done.stderr.strip().splitlines()[-1]
        return Found(why, why)
    return Found(*json.loads(done.stdout.splitlines()[-1]))


def faults_of(spec: EnvSpec, count: int, seed: int) -> list[Fault]:
    """So many faults of the file that holds a game's class."""
    file = import_module(spec.entry_point.partition(":")[0]).__file__
    path = Path(str(file)).resolve().relative_to(ROOT).as_posix()
    return draw({path: count}, seed)


def golden_folder(spec: EnvSpec) -> Path:
    """Where the transcripts of a game's package are kept."""
    file = import_module(spec.entry_point.partition(":")[0]).__file__
    home = next(p for p in Path(str(file)).resolve().parents if (p / "tests" / "golden").is_dir())
    return home / "tests" / "golden"


def examine(copy: Copy, game: str, count: int, seed: int) -> Iterator[tuple[Fault, Found]]:
    """Every fault of a game that is drawn, and what was found; the game itself must pass."""
    spec = registry().environment(game)
    golden = golden_folder(spec)
    sound = look_at_copy(copy, game, golden)
    if sound != Found("", ""):
        raise SystemExit(f"{game} fails without a fault: {sound}")
    for fault in faults_of(spec, count, seed):
        copy.put(fault.path, {fault.line: fault.after})
        yield fault, look_at_copy(copy, game, golden)
        copy.put(fault.path, {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("games", nargs="*", default=GAMES, help="ids; nothing: ten games")
    parser.add_argument("--count", type=int, default=12, help="faults of each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--look", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.look:
        found = look_at(given.games[0], given.look)
        print(json.dumps([found.kit, found.golden]))
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        for game in given.games:
            kit = either = faults = 0
            for fault, found in examine(copy, game, given.count, given.seed):
                told = found.kit or (f"golden: {found.golden}" if found.golden else "NOT FOUND")
                print(f"{fault.path}:{fault.line}: {fault.before.strip()}", flush=True)
                print(f"    {fault.after.strip()}\n    {told[:300]}", flush=True)
                faults, kit = faults + 1, kit + bool(found.kit)
                either += bool(found.kit or found.golden)
            rows.append((game, faults, kit, either))
    rows.append(("all", *(sum(row[n] for row in rows) for n in (1, 2, 3))))
    print("| game | faults | kit | kit and golden transcript |\n|---|---|---|---|")
    for game, faults, kit, either in rows:
        print(f"| {game} | {faults} | {kit} | {either} |")


if __name__ == "__main__":
    main()
