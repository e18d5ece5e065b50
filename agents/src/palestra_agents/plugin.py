"""The plugin's hooks, which register what its modules declare (see catalogue.json)."""

from __future__ import annotations

from typing import Any

from palestra.catalogue.read import read_catalogue
from palestra.kernel.hooks import hookimpl
from palestra.kernel.naming import construct
from palestra.kernel.specs import AgentSpec, load_entry_point

CATALOGUE = read_catalogue("palestra_agents")


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return CATALOGUE.agents


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
    from palestra.cli.groups import EVALUATE, TRAIN

    from palestra_agents.ppo.command import train_command
    from palestra_agents.solving import solve_command

    app.command("solve", rich_help_panel=EVALUATE)(solve_command)
    app.command("train", rich_help_panel=TRAIN)(train_command)
