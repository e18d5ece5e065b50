"""A model made from nothing learns by play: it earns more against play it never learned from."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from palestra_training.plan import Evaluation, TinyModel, read_plan
from palestra_training.trainer import Trainer

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.slow
def test_self_play_at_kuhn_poker_earns_more_against_random_play(tmp_path):
    plan = replace(
        read_plan(EXAMPLES / "train_llm_kuhn.toml"),
        rounds=25,
        tiny=TinyModel(layers=1, width=64, heads=2, context=128),
        evaluation=Evaluation(every=25, episodes=600, temperature=1.0),
    )
    trainer = Trainer(plan, tmp_path / "run")
    (before,) = trainer.evaluate()
    trainer.run()
    (after,) = trainer.evaluate()
    error = (2 * 1.5**2 / 600) ** 0.5  # of the difference; a deal pays from -2 to 2
    assert after["mean"] - before["mean"] > 2 * error
    assert after["mean"] > 0
