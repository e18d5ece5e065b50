"""What this plugin gives: agents that can be named in a string."""

from __future__ import annotations

from typing import Any

from palestra.hooks import hookimpl
from palestra.specs import AgentSpec


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return [
        AgentSpec(
            "minimax",
            "palestra_agents.minimax:MinimaxAgent",
            "search",
            "Alpha-beta; exact for small games.",
            needs=("two players", "zero-sum", "perfect information"),
        ),
        AgentSpec(
            "mcts",
            "palestra_agents.mcts:MCTSAgent",
            "search",
            "Monte-Carlo tree search over forks.",
            needs=("fork",),
        ),
        AgentSpec(
            "cfr",
            "palestra_agents.cfr:CFRAgent",
            "solver",
            "Counterfactual regret minimisation; near-equilibrium in small games.",
            needs=("deals",),
        ),
        AgentSpec(
            "ppo",
            "palestra_agents.ppo.agent:PPOAgent",
            "learned",
            "A policy trained by palestra train: ppo:<folder>[,greedy=true].",
            needs=("array", "torch"),
        ),
        AgentSpec(
            "llm",
            "palestra_agents.llm:LLMAgent",
            "llm",
            "A language model: llm:<model uri>[,mode=free|choice].",
        ),
    ]


@hookimpl
def palestra_models(uri: str, options: dict[str, Any]) -> Any:
    scheme, _, rest = uri.partition(":")
    if scheme != "echo":
        return None
    from palestra_agents.echo import EchoModel

    return EchoModel(rest, **options)


@hookimpl
def palestra_commands(app: Any) -> None:
    from palestra_agents.ppo.command import train_command
    from palestra_agents.solving import solve_command

    app.command("solve")(solve_command)
    app.command("train")(train_command)
