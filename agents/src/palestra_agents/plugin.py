"""What this plugin gives: agents that can be named in a string."""

from __future__ import annotations

from typing import Any

from palestra.kernel.hooks import hookimpl
from palestra.kernel.naming import construct
from palestra.kernel.specs import AgentSpec, load_entry_point


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
            "A language model: llm:<model uri>[,mode=free|choice|score].",
        ),
    ]


MODELS = {
    "echo": "palestra_agents.models.echo:EchoModel",
    "local": "palestra_agents.models.local:LocalModel",
    "openai": "palestra_agents.models.openai:OpenAIModel",
    "vllm": "palestra_agents.models.vllm:VLLMModel",
}


@hookimpl
def palestra_models(uri: str, options: dict[str, Any]) -> Any:
    scheme, _, target = uri.partition(":")
    if scheme not in MODELS:
        return None
    kind = load_entry_point(MODELS[scheme])
    return construct(kind, f"model {scheme!r}", {"target": target, **options})


@hookimpl
def palestra_commands(app: Any) -> None:
    from palestra_agents.ppo.command import train_command
    from palestra_agents.solving import solve_command

    app.command("solve")(solve_command)
    app.command("train")(train_command)
