"""The CUDA batch on a real GPU: agent steps a second, by game and number of rows.

python benchmarks/gpu.py            # writes results/gpu.json

Random legal policy drawn on the device; masks, observations and auto-reset included; one call of
`step` is two kernel launches. Compiling is not counted.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from time import perf_counter
from typing import Any

import palestra
from palestra.engine.cuda_batch import open_cuda
from timing import versions

GAMES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("grid/Foraging-v0", {"num_players": 4, "sight": 2}),
    ("games/ConnectFour-v0", {}),
    ("games/TicTacToe-v0", {}),
)
ROWS = (1_024, 16_384, 262_144)
STEPS, REPEATS = 200, 5


def rate(env: str, options: dict[str, Any], rows: int, cuda: Any) -> float:
    """Median agent steps a second over `REPEATS` runs of `STEPS` steps."""
    batch = palestra.make(env, view="batch", num_envs=rows, device="cuda", **options)
    batch.reset(0)
    movers = batch.game.num_players if batch.game.order == "simultaneous" else 1
    found = []
    for _ in range(REPEATS + 1):
        cuda.synchronize()
        started = perf_counter()
        for _ in range(STEPS):
            batch.random_actions()
            batch.step()
        cuda.synchronize()
        found.append(rows * STEPS * movers / (perf_counter() - started))
    return statistics.median(found[1:])


def main() -> None:
    cuda = open_cuda()
    device = cuda.get_current_device()
    rows = []
    for env, options in GAMES:
        for count in ROWS:
            measured = rate(env, options, count, cuda)
            rows.append({"env": env, "options": options, "rows": count, "agent_steps_s": measured})
            print(f"{env} {options} {count:>9,} rows  {measured:,.0f} agent steps/s", flush=True)
    result = {
        "device": device.name.decode() if isinstance(device.name, bytes) else str(device.name),
        "versions": versions("numba", "numba-cuda", "numpy"),
        "rows": rows,
    }
    path = Path(__file__).parent / "results" / "gpu.json"
    path.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
