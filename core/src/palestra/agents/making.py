"""Agents and models from their names."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

from palestra.agents.agent import Agent, Decision, FunctionAgent, Turn, agent_name
from palestra.agents.naming import parse_agent
from palestra.code_names import code_name, is_factory, load_code, made_by
from palestra.kernel.errors import InvalidOption, UnknownName, show
from palestra.kernel.naming import construct
from palestra.kernel.registry import registry
from palestra.kernel.specs import load_entry_point

AgentLike = str | Agent | Any
MODELS_OWN = "model."  # prefix of an option that is for the model only


def make_agent(agent: AgentLike, **more: Any) -> Agent:
    """An agent from its name (`"mcts:simulations=200"`), an `Agent`, or whatever answers a `Turn`.

    agent: a name, which may also be that of code, as in `"mine.py:Mine,depth=2"` or
        `"package.module:name"`; an `Agent`, which is named after its class if it has no name; a
        function or a coroutine function, or an object with `act(turn)` or `__call__(turn)`: see
        `FunctionAgent`; or what makes one of these: a class, or a plain function that needs no
        arguments (a factory).
    more: options for the class or factory, besides those in the name.

    Raises `UnknownName` for a name that is not installed, and `InvalidOption` for an option that
    the agent does not take, for a class or factory that fails, and for what cannot be an agent.
    """
    if isinstance(agent, type) or is_factory(agent):
        agent = made_by(agent, f"agent {agent_name(agent)!r}", more)
    if isinstance(agent, Agent):
        agent.name = agent.name or type(agent).__name__  # records and budgets go by it
        return agent
    if not isinstance(agent, str):
        _check_takes_turn(agent)
        return FunctionAgent(agent)
    if code := code_name(agent, registry().agents):
        made = make_agent(load_code(code, "agent", **more))
        made.name = agent
        return made
    name, options, rest = parse_agent(agent)
    spec = registry().agent(name)
    if rest:
        options["target"] = rest
    made = construct(load_entry_point(spec.entry_point), f"agent {name!r}", more | options)
    made.name = agent
    return made


def _check_takes_turn(agent: Any) -> None:
    """Raise `InvalidOption` for what cannot be called with a turn."""
    act = getattr(agent, "act", None)
    answer = act if callable(act) else agent
    if not callable(answer):
        raise InvalidOption(
            "an agent is a name, an Agent, a function of a turn (a coroutine function too), an "
            f"object with act(turn) or __call__(turn), or a factory of one, not {show(agent)}"
        )
    try:
        takes = signature(answer)
    except ValueError:  # a builtin
        return
    try:
        takes.bind(None)
    except TypeError:
        raise InvalidOption(
            f"agent {agent_name(agent)!r} takes {takes}, not one turn; write a function of a turn, "
            "or a factory: a plain function that returns an agent and needs no arguments"
        ) from None


class Lasting(Agent):
    """An agent that plays several runs: a run's end does not close it.

    `agent` is as in `make_agent`. One that was made here is closed by `close_for_good`; an `Agent`
    that the caller made is left to the caller.
    """

    def __init__(self, agent: AgentLike) -> None:
        self.agent, self._ours = make_agent(agent), not isinstance(agent, Agent)
        self.name = self.agent.name or str(agent)

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return self.agent.act(turns)

    def reseed(self, seed: int) -> None:
        self.agent.reseed(seed)

    def forget(self, episode_key: int) -> None:
        self.agent.forget(episode_key)

    def close_for_good(self) -> None:
        if self._ours:
            self.agent.close()


# Model schemes of palestra-agents, and the extra that each needs
SCHEMES = {"echo": "", "local": "[local]", "openai": "[openai]", "vllm": "[vllm]"}


def open_model(uri: str, **options: Any) -> Any:
    """Open a language model by its `uri`; the first plugin that knows the scheme answers.

    uri: a scheme and a name, as in "local:NAME", "vllm:NAME" or "openai:NAME".
    options: of the model. One may be written `model.NAME`, so that it goes to the model and not to
        the agent that opens it: `llm:vllm:NAME,seed=1,model.seed=2` seeds the agent with 1 and the
        engine with 2.

    Raises `InvalidOption` if an option is given both ways, and `UnknownName` for an unknown scheme.
    """
    given = {name.removeprefix(MODELS_OWN): value for name, value in options.items()}
    if len(given) < len(options):
        twice = sorted(
            n for n in options if n.startswith(MODELS_OWN) and n.removeprefix(MODELS_OWN) in options
        )
        raise InvalidOption(
            f"{twice[0]} and {twice[0].removeprefix(MODELS_OWN)} are one option of {uri}; give one"
        )
    model = registry().plugins.first("palestra_models", uri=uri, options=given)
    if model is None:
        scheme = uri.split(":", 1)[0]
        extra = SCHEMES.get(scheme)  # of a distribution that is not installed
        hint = f"It comes with another distribution; run: pip install 'palestra-agents{extra}'."
        raise UnknownName(
            "model scheme", scheme, *(((), hint) if extra is not None else (SCHEMES,))
        )
    return model
