"""Every task through the conformance kit."""

from __future__ import annotations

from typing import Any

import palestra
from palestra.testing import agent_conformance, conformance

VARIANTS: dict[str, dict[str, Any]] = {
    "tasks/OptiMUS-v0": {"story": "any", "form": "clauses", "distractors": 3, "telling": "other"},
    "tasks/BoxingGym-v0": {"num_players": 2, "budget": 3, "queries": 2, "story": False},
    "tasks/Econometrics-v0": {"study": "any", "rows": 300, "turns": 6},
    "tasks/DataRoom-v0": {"company": "plain", "level": "hard", "turns": 9},
    "tasks/Errands-v0": {"kind": "edit", "rows": 15},
    "tasks/MLWorkspace-v0": {"project": "plain", "turns": 6},
    "tasks/DeepSearch-v0": {"hops": 9, "described": False, "size": 30},
    "tasks/Reranking-v0": {"num_players": 2, "queries": 2, "stale": 1.0},
    "tasks/FastCode-v0": {"num_players": 2, "functions": 2, "turns": 7},
    "tasks/Hospital-v0": {"num_players": 4, "textbook": False, "course": "whole"},
    "tasks/Counselling-v0": {
        "seeker": "chain",
        "num_players": 2,
        "sessions": 2,
        "length": 6,
        "depth": "deep",
    },
    "tasks/Proactive-v0": {"day": "small", "turns": 8, "noise": 30},
    "tasks/Incident-v0": {"num_players": 3, "system": "none", "causes": "ten"},
    "tasks/DataTeacher-v0": {"course": "small", "structure": "tree", "turns": 4},
    "tasks/EnvGen-v0": {"practice": 8, "turns": 2, "original": "heist"},
    "tasks/AutoEnv-v0": {"drawn": "none", "pays": "collect", "skin": "inverted"},
}

test_conformance = conformance("palestra_tasks", variants=VARIANTS)
test_agents = agent_conformance(
    "palestra_tasks",
    envs=tuple(spec.id for spec in palestra.specs() if spec.namespace == "tasks"),
)
