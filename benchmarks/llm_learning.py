"""What `palestra train-llm` learns on a CPU: curves of three seeds, and estimators compared.

python benchmarks/llm_learning.py curves kuhn frozen_lake tictactoe
python benchmarks/llm_learning.py estimators kuhn frozen_lake
python benchmarks/llm_learning.py figures

Each run is added to results/llm_learning.json as it ends. Seconds are CPU seconds of this process.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import torch
from msgspec.structs import replace
from palestra import EpisodeRecord
from palestra.records.intervals import Sample
from palestra_rewards import Group, estimator
from palestra_training.curves import Round
from palestra_training.plan import TrainPlan, read_plan
from palestra_training.trainer import Trainer

HERE = Path(__file__).parent
EXAMPLES, RESULTS = HERE.parent / "examples", HERE / "results" / "llm_learning.json"
SEEDS = (0, 1, 2)
FRESH = (100, 101, 102, 103, 104)  # for estimators: no plan was chosen with these in view
ESTIMATORS = {
    "GRPO, one baseline for all seats": "all seats:grpo",
    "GRPO, centred by seat": "grpo",
    "GiGPO": "gigpo",
    "RLOO": "rloo",
    "turn level": "mars:gamma=0.9",
    "RAE": "rae",
    "Dr. GRPO": "dr-grpo",
    "returns alone": "reinforce",
}
BASE = "grpo"  # what the others are compared with
BLIND = "all seats:"
ROUNDS = {"kuhn": 110, "frozen_lake": 10, "tictactoe": 20}


class SeatBlind:
    """GRPO as it was published: one baseline for all rollouts of a start, whatever the seat."""

    def __init__(self, names: str) -> None:
        self._chain = estimator(names)

    def credit(
        self, records: Sequence[EpisodeRecord], agents: Collection[str]
    ) -> list[dict[tuple[int, int], float]]:
        found = self._chain(Group.of(records, agents=agents, compare_by=()))
        group = found.group
        credited: list[dict[tuple[int, int], float]] = [{} for _ in records]
        for place, value in enumerate(found.values):
            key = int(group.seat[place]), int(group.turn[place])
            credited[int(group.episode[place])][key] = float(value)
        return credited

    def state(self) -> dict[str, Any]:
        return self._chain.state()


def run(game: str, seed: int, credit: str = "") -> dict[str, Any]:
    """One run from nothing; its evaluations, each with the CPU seconds until then."""
    plan = replace(read_plan(EXAMPLES / f"train_llm_{game}.toml"), seed=seed)
    if credit:
        plan = replace(plan, credit=credit.removeprefix(BLIND), rounds=ROUNDS[game])
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        trainer = Trainer(plan, Path(folder) / "run")
        if credit.startswith(BLIND):
            trainer.credit = SeatBlind(plan.credit)
        points = [point(trainer, plan, Round(0, 0, 0, 0, 0, 0, 1, 0, 0), 0.0)]

        def tell(line: Round) -> None:
            if line.opponent:
                spent = time.process_time() - started
                points.append(point(trainer, plan, line, spent))
                print(game, seed, credit, points[-1], flush=True)

        trainer.run(tell)
        size = sum(value.numel() for value in trainer.model.net.parameters())
    return {"game": game, "seed": seed, "credit": credit, "parameters": size, "points": points}


def point(trainer: Trainer, plan: TrainPlan, line: Round, seconds: float) -> dict[str, Any]:
    names = ("unlost", "low", "high", "worst", "won", "mean", "mean_low", "mean_high")
    if line.opponent:
        found = {name: getattr(line, name) for name in names}
    else:
        (found,) = trainer.evaluate()[:1]
    kept = {"round": line.round, "cpu_seconds": round(seconds, 1)}
    kept |= {name: round(found[name], 4) for name in names}
    if plan.env == "games/KuhnPoker-v0":
        from llm_policies import kuhn_figures

        figures = kuhn_figures(trainer.model)
        kept |= {f"exploitability_{name}": round(value, 6) for name, value in figures.items()}
    return kept


def keep(found: dict[str, Any]) -> None:
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"runs": []}
    same = [found[name] for name in ("game", "seed", "credit")]
    known["runs"] = [
        one for one in known["runs"] if [one["game"], one["seed"], one["credit"]] != same
    ]
    known["runs"].append(found)
    RESULTS.write_text(json.dumps(known, indent=1) + "\n")


def figures() -> None:
    """Curves of the three seeds of every game as a PNG, and the estimators as tables."""
    from matplotlib.figure import Figure

    runs = json.loads(RESULTS.read_text())["runs"]
    games = sorted({one["game"] for one in runs})
    figure = Figure(figsize=(4 * len(games), 3.2), layout="constrained")
    for axes, game in zip(figure.subplots(1, len(games), squeeze=False)[0], games, strict=True):
        what = MEASURES[game]
        for one in runs:
            if one["game"] == game and not one["credit"]:
                points = one["points"]
                seconds = [p["cpu_seconds"] for p in points]
                axes.plot(seconds, [p[what] for p in points], label=f"seed {one['seed']}")
        axes.set(title=game, xlabel="CPU seconds", ylabel=fill(LABELS[what], 26), ylim=(0, None))
        axes.legend()
    figure.savefig(str(RESULTS.with_suffix(".png")), dpi=90)
    estimators(runs)


def estimators(runs: Sequence[dict[str, Any]]) -> None:
    """Every estimator's end by game, and how far from `BASE` it ends with the same seeds."""
    ends: dict[tuple[str, str], dict[int, float]] = {}
    for one in runs:
        if one["seed"] in FRESH:
            end = one["points"][-1][MEASURES[one["game"]]]
            ends.setdefault((one["game"], one["credit"]), {})[one["seed"]] = end
    games = sorted({game for game, _ in ends})
    titles = [f"{LABELS[MEASURES[game]]}, {game} | less `{BASE}`'s" for game in games]
    print(f"| estimator | {' | '.join(titles)} |")
    print("|---" * (2 * len(games) + 1) + "|")
    comparisons = len(ESTIMATORS) - 1
    for name, credit in ESTIMATORS.items():
        cells = []
        for game in games:
            own, base = ends.get((game, credit), {}), ends.get((game, BASE), {})
            both = sorted(own.keys() & base.keys())
            cells.append(summary(own.values(), 0.95))
            differences = [own[seed] - base[seed] for seed in both]
            same = credit == BASE or not both
            cells.append("–" if same else summary(differences, 1 - 0.05 / comparisons))
        way = "no `credit` of a plan" if credit.startswith(BLIND) else f"`{credit}`"
        print(f"| {name} ({way}) | {' | '.join(cells)} |")


def summary(ends: Collection[float], confidence: float) -> str:
    """The mean over seeds with Student's interval."""
    if not ends:
        return "–"
    sample = Sample()
    for end in ends:
        sample.add(end)
    if len(set(ends)) == 1:  # no spread, no interval
        return f"{sample.mean:.3f} in every seed"
    found = sample.interval(confidence)
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"


MEASURES = {"kuhn": "exploitability_ours", "frozen_lake": "won", "tictactoe": "worst"}
LABELS = {
    "exploitability_ours": "exploitability",
    "won": "share that reached the goal (no slipping)",
    "worst": "share not lost against random, worse seat",
}

if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    torch.set_num_threads(1)
    what, *games = sys.argv[1:] or ["figures"]
    if what == "figures":
        figures()
    for game in games:
        for credit in ESTIMATORS.values() if what == "estimators" else [""]:
            for seed in FRESH if credit else SEEDS:
                keep(run(game, seed, credit))
