"""How much a score depends on the wording of the prompt: paired games over wordings."""

from palestra_arena.ablation.effects import Ablation, Effect, ablation_of
from palestra_arena.ablation.run import AblationPlan, run_ablation

__all__ = ["Ablation", "AblationPlan", "Effect", "ablation_of", "run_ablation"]
