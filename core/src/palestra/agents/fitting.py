"""Checks before anything is played that a named agent can play a game."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from palestra.agents.naming import parse_agent
from palestra.code_names import code_name
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.errors import InvalidOption
from palestra.kernel.game import Game
from palestra.kernel.registry import registry
from palestra.kernel.specs import AgentSpec, EnvSpec

# What an agent may require of a game, by the terms of `AgentSpec.needs`
NEEDS: Mapping[str, Callable[[Game[Any, Any]], bool]] = {
    "array": lambda game: game.has_numbers,
    "two players": lambda game: game.num_players == 2,
    "zero-sum": lambda game: game.payoffs == "zero-sum",
    "perfect information": lambda game: game.perfect_information,
    "fork": lambda game: game.perfect_information or type(game).determinize is not Game.determinize,
    "deals": lambda game: game.deals() is not None,
    "script": lambda game: isinstance(game, ArrayGame) and game.has_script,
}


def unmet_needs(agent: AgentSpec, game: Game[Any, Any]) -> list[str]:
    """The agent's requirements that this game does not meet."""
    return [need for need in agent.needs if need in NEEDS and not NEEDS[need](game)]


def why_unfit(agent: str, game: Game[Any, Any], spec: EnvSpec | None = None) -> str:
    """Why the agent of this name cannot play the game; empty if it can, or if it is code.

    Raises `UnknownName` for an agent that is not installed.
    """
    if code_name(agent, registry().agents):
        return ""
    declared = registry().agent(parse_agent(agent)[0])
    named = spec.id if spec else type(game).__name__
    if spec is not None and not declared.can_play(spec.id):
        return f"agent {agent!r} plays {', '.join(declared.plays)}, not {named}"
    missing = unmet_needs(declared, game)
    needs = f"it needs {', '.join(missing)}"
    return f"agent {agent!r} cannot play {named}: {needs}" if missing else ""


def check_agents(agents: Sequence[Any], game: Game[Any, Any], spec: EnvSpec | None = None) -> None:
    """Raise `InvalidOption` for the first agent named in a string that cannot play the game.

    Agents given as objects, functions or names of code are not checked: they declare nothing.
    """
    for agent in dict.fromkeys(agent for agent in agents if isinstance(agent, str)):
        if why := why_unfit(agent, game, spec):
            named = spec.id if spec else type(game).__name__
            raise InvalidOption(f"{why}; `palestra info {named}` lists who can")
