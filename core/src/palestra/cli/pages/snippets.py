"""The lines of Python that use an environment: five ways, each complete."""

from __future__ import annotations

from typing import Any

from palestra.cli.pages.markdown import section
from palestra.kernel.game import Game
from palestra.kernel.specs import EnvSpec


def snippets(spec: EnvSpec, game: Game[Any, Any]) -> list[str]:
    """Gymnasium, PettingZoo, arrays, agents by name, and training, each under a heading."""
    lines = section("Gymnasium", _python(_gymnasium(spec, game)), 3)
    if game.num_players > 1:
        lines += section("PettingZoo", _python(_pettingzoo(spec)), 3)
    if game.has_numbers:
        lines += section("Many at once", _python(_batch(spec)), 3)
    lines += section("Agents by name, and language models", _python(_agents(spec)), 3)
    if game.has_numbers:
        command = f"palestra train {spec.id} --steps 1000000"
        lines += section("Train", ["```text", command, "```"], 3)
    return lines


def _python(lines: list[str]) -> list[str]:
    return ["```python", *lines, "```"]


def _gymnasium(spec: EnvSpec, game: Game[Any, Any]) -> list[str]:
    rivals = ', seat=0, opponents="random"' if game.num_players > 1 else ""
    text = "" if game.has_numbers else ', obs="text"'
    lines = ["import gymnasium as gym", "", f'env = gym.make("palestra:{spec.id}"{rivals}{text})']
    lines += ["observation, info = env.reset(seed=0)"]
    if text:
        return [*lines, "print(observation)"]
    return [
        *lines,
        'action = info["action_mask"].argmax()  # the first legal one',
        "observation, reward, terminated, truncated, info = env.step(action)",
    ]


def _pettingzoo(spec: EnvSpec) -> list[str]:
    if spec.moves == "sequential":
        return [
            "import palestra",
            "",
            f'env = palestra.make("{spec.id}", view="aec")',
            "env.reset(seed=0)",
            "observation, reward, terminated, truncated, info = env.last()",
        ]
    return [
        "import palestra",
        "",
        f'env = palestra.make("{spec.id}", view="parallel")',
        "observations, infos = env.reset(seed=0)",
    ]


def _batch(spec: EnvSpec) -> list[str]:
    return [
        "import palestra",
        "",
        f'batch = palestra.make("{spec.id}", view="batch", num_envs=64, seed=0)',
        "batch.reset()",
        "batch.step(batch.random_actions())",
        "print(batch.observations.shape, batch.rewards.shape)",
    ]


def _agents(spec: EnvSpec) -> list[str]:
    return [
        "import palestra",
        "",
        '# a model instead: agents="llm:local:,mode=choice", or llm:URL of a server',
        f'(record,) = palestra.play("{spec.id}", agents="random", episodes=1, seed=0)',
        "print(record.returns, record.outcome)",
    ]
