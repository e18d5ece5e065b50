"""A page for each agent, by the distribution that it comes from."""

from __future__ import annotations

import inspect

from palestra.cli.explaining import all_options
from palestra.cli.pages.markdown import cell, code, options_table, plain, section, table
from palestra.kernel.registry import registry
from palestra.kernel.specs import AgentSpec, load_entry_point


def pages() -> dict[str, str]:
    """The text of a page for each installed agent, and of an index, by file name."""
    agents = [agent for _, agent in sorted(registry().agents.items())]
    return {**{f"{a.name}.md": page(a) for a in agents}, "README.md": index(agents)}


def package_of(agent: AgentSpec) -> str:
    return agent.entry_point.partition(".")[0].partition(":")[0]


def index(agents: list[AgentSpec]) -> str:
    lines = [
        "# Agents",
        "",
        "Written by `palestra pages --of agents`. An agent is named in a string, as in "
        "`mcts:simulations=200`; adapters (of `palestra_adapters`) make an agent of any model, as "
        "in `react:llm:local:`.",
        "",
    ]
    for package in sorted({package_of(agent) for agent in agents}):
        rows = [
            (f"[`{a.name}`]({a.name}.md)", a.kind, cell(a.summary), cell(a.paper) or "-")
            for a in agents
            if package_of(a) == package
        ]
        lines += section(f"`{package}`", table(("name", "kind", "what", "paper"), rows))
    return "\n".join(lines)


def page(agent: AgentSpec) -> str:
    """One agent: what it does, what it plays, and its options."""
    plays = "any environment" if "*" in agent.plays else ", ".join(map(code, agent.plays))
    facts = [
        ("kind", agent.kind),
        ("plays", plays),
        ("needs", ", ".join(agent.needs)),
        ("paper", plain(agent.paper)),
        ("from", code(agent.entry_point)),
    ]
    return "\n".join(
        [
            f"# {agent.name}",
            "",
            inspect.getdoc(load_entry_point(agent.entry_point)) or agent.summary,
            "",
            *section("Facts", table(("fact", "value"), [fact for fact in facts if fact[1]])),
            *section("Options", options_table(all_options(agent))),
            *section("Use it", ["```text", _command(agent), "```"]),
        ]
    )


def _command(agent: AgentSpec) -> str:
    """A command that seats the agent where it can play."""
    known = registry().environments
    env = next((env for env in agent.plays if env in known), "")
    env = env or next((env for env in sorted(known) if agent.can_play(env)), "ID")
    required = ",".join(f"{o.name}=…" for o in agent.options if not o.default)
    return f"palestra play {env} --agents {agent.name}{f':{required}' if required else ''}"
