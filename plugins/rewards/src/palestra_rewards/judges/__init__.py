"""Judgements by language models: grades, comparisons, checklists, and panels of judges."""

from palestra_rewards.judges.panel import FORMS, RISKS, judge_by
from palestra_rewards.judges.scale import Judgement, Scale
from palestra_rewards.judges.service import Judge
from palestra_rewards.judges.showing import as_text, turn_texts

__all__ = ["FORMS", "RISKS", "Judge", "Judgement", "Scale", "as_text", "judge_by", "turn_texts"]
