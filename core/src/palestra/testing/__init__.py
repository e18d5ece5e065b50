"""The conformance kit: what every environment must pass, for plugin authors in one line.

    from palestra.testing import conformance
    test_conformance = conformance("palestra_games")

gives one pytest test for every environment of that module and every check below. The same checks
run from the command line: `palestra check games/TicTacToe-v0`. Agents, step shapers and renderers
have a kit of their own: `agent_conformance`, `reward_conformance`, `renderer_conformance`.
"""

from palestra.testing.givers import agent_conformance, renderer_conformance, reward_conformance
from palestra.testing.golden import play_through
from palestra.testing.kit import CHECKS, Verdict, check, conformance, run_check
from palestra.testing.models import ScriptedModel
from palestra.testing.subject import Failed, Skipped, Subject

__all__ = [
    "CHECKS",
    "Failed",
    "ScriptedModel",
    "Skipped",
    "Subject",
    "Verdict",
    "agent_conformance",
    "check",
    "conformance",
    "play_through",
    "renderer_conformance",
    "reward_conformance",
    "run_check",
]
