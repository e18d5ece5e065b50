"""A model made from nothing learns by play: an exact solver finds less to exploit."""

import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from palestra_training.plan import Evaluation, read_plan
from palestra_training.trainer import Trainer

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "benchmarks"))
from llm_policies import kuhn_figures, strategy_of  # noqa: E402


def test_a_model_that_knows_nothing_is_as_exploitable_as_even_play(tmp_path):
    """11/24, which is OpenSpiel's figure too."""
    plan = replace(read_plan(ROOT / "examples" / "train_llm_kuhn.toml"), precision="float32")
    model = Trainer(plan, tmp_path / "run").model
    strategy = strategy_of(model, plan.env)
    assert len(strategy) == 12
    assert all(chance == pytest.approx(0.5) for own in strategy.values() for chance in own.values())
    pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    found = kuhn_figures(model)
    assert found["ours"] == pytest.approx(11 / 24)
    assert found["openspiel"] == pytest.approx(11 / 24)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_self_play_halves_exploitability_at_kuhn_poker(tmp_path):
    pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    plan = read_plan(ROOT / "examples" / "train_llm_kuhn.toml")
    trainer = Trainer(replace(plan, evaluation=Evaluation(every=1000, episodes=2)), tmp_path / "r")
    trainer.run()
    found = kuhn_figures(trainer.model)
    assert found["ours"] < 11 / 24 / 2
    assert found["ours"] == pytest.approx(found["openspiel"], abs=1e-9)
