"""A model made from nothing learns: its exact exploitability falls."""

from pathlib import Path

import palestra
import pytest
import torch
from msgspec.structs import replace
from palestra.kernel.hooks import hookimpl
from palestra_agents.exploitability import exploitability
from palestra_training.plan import TinyModel, read_plan
from palestra_training.play import open_env
from palestra_training.trainer import Trainer

EXAMPLES = Path(__file__).parents[3] / "examples"


class Decisions:
    """Every information set that play comes to, with what a learner is asked there."""

    def __init__(self):
        self.found = {}

    @hookimpl
    def palestra_turn_ready(self, turn):
        moves = list(zip(turn.legal_actions, turn.legal_texts, strict=True))
        self.found[turn.state_key()] = f"{turn.position}\nMove:", moves


def policy_of(model):
    """The chances of each move in all information sets of Kuhn poker, by its first token."""
    decisions = Decisions()
    palestra.play("games/KuhnPoker-v0", agents="random", episodes=200, hooks=[decisions])
    assert len(decisions.found) == 12
    policy, illegal = {}, 0.0
    for key, (text, moves) in decisions.found.items():
        ids = model.tokenizer(text, return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            chances = model.net(ids).logits[0, -1].softmax(-1)
        found = {
            action: float(chances[model.tokenizer(f" {move}")["input_ids"][0]])
            for action, move in moves
        }
        illegal = max(illegal, 1 - sum(found.values()))
        policy[key] = {action: chance / sum(found.values()) for action, chance in found.items()}
    return policy, illegal


@pytest.mark.slow
def test_kuhn_poker_is_learned_by_self_play(tmp_path):
    """The measure is exact, so that one seed is no matter of luck in evaluating it."""
    plan = replace(
        read_plan(EXAMPLES / "train_llm_kuhn.toml"),
        rounds=40,
        tiny=TinyModel(layers=1, width=64, heads=2, context=128),
    )
    trainer = Trainer(plan, tmp_path / "run")
    _, game = open_env(plan)
    policy, _ = policy_of(trainer.model)
    before = exploitability(game, policy)
    trainer.run()
    policy, illegal = policy_of(trainer.model)
    assert exploitability(game, policy) < before / 2
    assert illegal < 0.02
