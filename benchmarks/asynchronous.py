"""What a run gains that awaits each reply by itself: replies of very different lengths.

python benchmarks/asynchronous.py [GAMES] [TOKENS] [ROUNDS]

In an environment with vLLM, the embedded model plays the iterated prisoner's dilemma with both
seats, in free text of up to TOKENS tokens a reply; each mode plays the same games. Seconds are wall
seconds after one game that is not measured.
"""

from __future__ import annotations

import sys
import time

import palestra
from palestra.kernel.specs import load_entry_point
from palestra_agents.llm import LLMAgent
from palestra_agents.models.vllm import VLLMModel


def played(model: VLLMModel, games: int, tokens: int, rounds: int, seed: int, **how: bool) -> int:
    """The tokens that were written."""
    agent = LLMAgent(model=model, temperature=1.0, max_tokens=tokens, seed=1, history="position")
    records = palestra.play(
        "games/PrisonersDilemma-v0",
        agents=[agent, agent],
        rounds=rounds,
        episodes=games,
        seed=seed,
        invalid="random",
        **how,
    )
    return sum(turn.spent.tokens_out for record in records for turn in record.turns)


def main(games: int = 32, tokens: int = 256, rounds: int = 6) -> None:
    folder = str(load_entry_point("palestra_agents.models.weights:embedded_model")())
    model = VLLMModel(target=folder, max_model_len=4096, max_num_seqs=2 * games, dtype="float32")
    played(model, 1, 8, 1, seed=10_000)
    for asynchronous in (False, True, False, True):
        begun = time.monotonic()
        made = played(model, games, tokens, rounds, seed=0, asynchronous=asynchronous)
        spent = time.monotonic() - begun
        how = "each reply by itself" if asynchronous else "all turns together"
        print(f"{how}: {made} tokens in {spent:.1f} s, {made / spent:.0f} tokens/s", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
