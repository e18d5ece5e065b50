"""One agent for a whole suite of tasks: in each task it plays what is named for it here.

`tasks-reference` plays the best agent that is known, `tasks-scripted` a simple one without a plan,
so that a tournament over a suite has both as baselines beside random play and a model.
"""

from __future__ import annotations

from typing import Any, ClassVar

from palestra import Agent, InvalidOption, ScriptedAgent, Turn, agent
from palestra.agents.making import make_agent

# By environment: the simple agent and the reference
AGENTS: dict[str, tuple[str, str]] = {
    "tasks/AgentGen-v0": ("first", "agentgen-author"),
    "tasks/AutoEnv-v0": ("autoenv-replay", "autoenv-planner"),
    "tasks/BoxingGym-v0": ("boxing-prior", "boxing-bayes"),
    "tasks/COBench-v0": ("cobench-trivial", "cobench-greedy"),
    "tasks/Counselling-v0": ("counsellor-quick", "counsellor-tracing"),
    "tasks/DataRoom-v0": ("dataroom-hasty", "dataroom-analyst"),
    "tasks/DataTeacher-v0": ("teacher-weighing", "teacher-planning"),
    "tasks/DeepSearch-v0": ("search-register", "search-follower"),
    "tasks/Econometrics-v0": ("econometrics-controlling", "econometrics-reader"),
    "tasks/EnvGen-v0": ("envgen-original", "envgen-adaptive"),
    "tasks/Errands-v0": ("errands-hasty", "errands-careful"),
    "tasks/FastCode-v0": ("fastcode-textbook", "fastcode-expert"),
    "tasks/FrontierEng-v0": ("first", "design-climber"),
    "tasks/Hospital-v0": ("hospital-records", "hospital-bayes"),
    "tasks/Incident-v0": ("incident-hasty", "incident-runbook"),
    "tasks/MLWorkspace-v0": ("experimenter-linear", "experimenter-reader"),
    "tasks/NeuralSA-v0": ("annealing-greedy", "annealing-learned"),
    "tasks/OptiMUS-v0": ("optimus-relaxer", "optimus-modeller"),
    "tasks/PlanWorld-v0": ("first", "planworld-planner"),
    "tasks/Proactive-v0": ("proactive-paired", "proactive-filtering"),
    "tasks/Reranking-v0": ("rerank-retriever", "rerank-needed"),
    "tasks/VehicleRouting-v0": ("routing-nearest", "routing-savings"),
}


@agent("tasks-reference", kind="scripted", plays=("tasks/*",))
class Reference(ScriptedAgent):
    """Plays in every task of `palestra-tasks` the best agent that is known for it."""

    column: ClassVar[int] = 1

    def __init__(self, *, seed: int | None = None) -> None:
        super().__init__(seed=seed)
        self._made: dict[str, Agent] = {}

    def reseed(self, seed: int) -> None:
        super().reseed(seed)
        for one in self._made.values():
            one.reseed(seed)

    def choose(self, turn: Turn) -> Any:
        env = turn.env
        if env not in AGENTS:
            raise InvalidOption(
                f"agent {self.name!r} has no agent for {env}; it plays {', '.join(sorted(AGENTS))}"
            )
        if env not in self._made:
            self._made[env] = make_agent(AGENTS[env][self.column])
            self._made[env].reseed(self._seed)
        return self._made[env].act([turn])[0]


@agent("tasks-scripted", kind="scripted", plays=("tasks/*",))
class Simple(Reference):
    """Plays in every task of `palestra-tasks` a simple agent, which does not plan."""

    column = 0
