"""Named sets of environments with their settings and pinned versions.

A suite is a list of environments by id, whose version ends it: a change of behaviour makes another
id. `digest` names the whole set, and `pins` are the versions of the distributions that the rules
come from; a report says both.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import version
from typing import Any

import msgspec
from palestra import UnknownName, specs
from palestra.kernel.registry import registry

from palestra_arena.settings import Environment

# MARS: Reinforcing Multi-Agent Reasoning of LLMs through Self-Play in Strategic Games (2025) trains
# on Tic-Tac-Toe, Kuhn poker and Mini Hanabi, and tests on their larger relatives.
MARS_TRAIN = (
    Environment("games/TicTacToe-v0"),
    Environment("games/KuhnPoker-v0"),
    Environment("games/MiniHanabi-v0"),
)
MARS_HELD_OUT = (
    Environment("games/ConnectFour-v0"),
    Environment("games/LeducHoldem-v0"),
    Environment("games/SimpleHanabi-v0"),
)
SOCIAL = (
    Environment("games/PrisonersDilemma-v0"),
    Environment("games/StagHunt-v0"),
    Environment("games/Chicken-v0"),
    Environment("games/BattleOfTheSexes-v0"),
    Environment("games/Trust-v0"),
    Environment("games/Ultimatum-v0"),
    Environment("text/Commons-v0", players=2),
    Environment("text/Negotiation-v0"),
)
MARKETS = (
    Environment("markets/Bargaining-v0"),
    Environment("markets/PriceNegotiation-v0"),
    Environment("markets/Persuasion-v0"),
    Environment("markets/DoubleAuction-v0", players=2),
    Environment("markets/SealedAuction-v0", players=2),
)
WEB = (
    Environment("web/Shop-v0"),
    Environment("web/ToolWorld-v0"),
    Environment("web/TravelDesk-v0"),
    Environment("web/CRMDesk-v0"),
    Environment("web/AppWorld-v0"),
    Environment("web/Desktop-v0"),
    Environment("web/Widgets-v0"),
)
TASKS = (
    Environment("tasks/COBench-v0"),
    Environment("tasks/OptiMUS-v0", options={"story": "composed", "size": 4}),
    Environment("tasks/FastCode-v0", options={"kernel": "composed", "scans": 3, "size": 120}),
    Environment("tasks/FrontierEng-v0"),
    Environment("tasks/NeuralSA-v0"),
    Environment("tasks/VehicleRouting-v0"),
    Environment("tasks/DataRoom-v0", options={"company": "large", "traps": "common"}),
    Environment(
        "tasks/Errands-v0",
        options={"kind": "composed", "size": "large", "changes": "common", "rows": 15},
    ),
    Environment("tasks/DeepSearch-v0"),
    Environment("tasks/Reranking-v0", players=1),
    Environment("tasks/AutoEnv-v0", options={"drawn": "large", "turns": 80}),
    Environment("tasks/PlanWorld-v0"),
    Environment("tasks/AgentGen-v0"),
    Environment(
        "tasks/DataTeacher-v0", options={"course": "large", "overlaps": "common", "turns": 16}
    ),
    Environment("tasks/EnvGen-v0"),
)
SCIENCE = (
    Environment("tasks/BoxingGym-v0", players=1),
    Environment("tasks/BoxingGym-v0", players=2),
    Environment(
        "tasks/Econometrics-v0",
        options={
            "study": "composed",
            "size": "large",
            "designs": "common",
            "rows": 480,
            "turns": 14,
        },
    ),
    Environment("tasks/MLWorkspace-v0", options={"project": "large", "traits": "common"}),
)
CLINIC = (
    Environment("tasks/Hospital-v0", players=1),
    Environment("tasks/Counselling-v0", players=1, options={"seeker": "large", "length": 32}),
    Environment("tasks/Proactive-v0", options={"day": "large", "turns": 40}),
    Environment("tasks/Incident-v0", players=1, options={"system": "large", "turns": 24}),
)


@dataclass(frozen=True, slots=True)
class Suite:
    """Environments with their options, and the settings that go with them."""

    name: str
    summary: str
    environments: tuple[Environment, ...]
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def digest(self) -> str:
        """Equal for equal environments, options and settings."""
        body = msgspec.json.encode((self.environments, self.settings), order="deterministic")
        return blake2b(body, digest_size=4).hexdigest()

    @property
    def pins(self) -> dict[str, str]:
        """Versions of the distributions its rules come from, the core among them."""
        modules = {"palestra", "palestra_arena"}
        for environment in self.environments:
            module = registry().environment(environment.id).entry_point.partition(".")[0]
            modules.add(module)
        return {name: version(name.replace("_", "-")) for name in sorted(modules)}


def _all_offline() -> tuple[Environment, ...]:
    """Every installed environment that two players can play, but demonstrations; all offline."""
    played = [spec for spec in specs(players=2) if "demo" not in spec.tags]
    seats = {spec.id: 2 if spec.players[0] < spec.players[1] else None for spec in played}
    return tuple(Environment(name, players) for name, players in seats.items())


def suite(name: str) -> Suite:
    """A suite by name."""
    known = {
        "mars-train": Suite("mars-train", "the games MARS trains on", MARS_TRAIN),
        "mars-held-out": Suite("mars-held-out", "the games MARS tests on", MARS_HELD_OUT),
        "social": Suite("social", "social dilemmas and bargains of two", SOCIAL),
        "markets": Suite("markets", "markets of two", MARKETS),
        "web": Suite("web", "sites, tools and a desktop, for one", WEB),
        "tasks": Suite(
            "tasks", "optimisation, search, analysis, generated worlds and teaching, for one", TASKS
        ),
        "science": Suite("science", "experiments, alone and with a novice", SCIENCE),
        "clinic": Suite("clinic", "simulated people in need, for one", CLINIC),
        "all-offline": Suite(
            "all-offline",
            "all that two can play, but demonstrations",
            _all_offline(),
            (("max_episode_steps", 200),),
        ),
    }
    if name not in known:
        raise UnknownName("suite", name, known)
    return known[name]
