"""`palestra producers`: which agents and environments report the facts that entries read.

This is found by playing. Each `Run` plays episodes as `palestra play` and `palestra.rollouts` do,
adds no tags, and passes the records to an entry. The page in the documentation shows the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path
from typing import Annotated, Any

import palestra
import typer
from palestra.agents.naming import parse_agent
from palestra.kernel.registry import registry
from palestra.records.facts import Reporting

from palestra_rewards.facts import fact, nest_records
from palestra_rewards.other_runs import OTHER_RUNS
from palestra_rewards.pages import replace_part
from palestra_rewards.runs import Cast, Records, Run

START, END = "<!-- producers -->", "<!-- end of producers -->"


def _coalitions(agent: str, seats: int) -> tuple[Cast, ...]:
    """A cast for every coalition: `agent` in its seats, and `absent` in the others."""
    members = range(seats)
    subsets = chain.from_iterable(combinations(members, size) for size in range(seats + 1))
    return tuple(tuple(agent if s in held else "absent" for s in members) for held in subsets)


def _branches(records: Records) -> Records:
    """A trunk and continuations of it from each of its first steps, by `palestra.rollouts`."""
    (trunk,) = records
    found = [trunk]
    for cut in range(1, min(4, len(trunk.steps))):
        start = palestra.make(trunk.env, view="episode", seed=trunk.seed, **trunk.options)
        for played in list(palestra.replay(trunk).history())[:cut]:
            start.repeat(played)
        found += palestra.rollouts(
            trunk.env,
            agents=trunk.agents[0],
            n=3,
            seed=cut,
            start=start,
            parent=str(trunk.number),
            **trunk.options,
        )
    return found


def _calls_of(agent: str) -> Callable[[Records], Mapping[str, Any]]:
    """The option `reference`: the calls that an agent makes in the first record's task."""

    def reference(records: Records) -> Mapping[str, Any]:
        first = records[0]
        (solved,) = palestra.play(first.env, agents=agent, seed=first.seed, **first.options)
        return {"reference": [call for calls in fact(solved, "calls") for call in calls]}

    return reference


STEP = "Action: Plan(path='R')"  # the reply of a model that moves right, without a thought
HALL = {"rows": 2, "columns": 5, "wall_density": 0.0}  # a maze where that leads to the goal
EASTWARD = 11  # the seed of a start three steps to the west of the goal
SEARCH = "bestof:echo:,n=4,scorer=playouts"  # all four moves, each valued by random playouts
CALLER = "tool-solver"

RUNS = (
    Run("ssl", "progress", "environments", "games/Quest-v0", (("random",),), n=6),
    Run("prs", "stages", "environments", "web/ToolWorld-v0", ((CALLER,), ("random",)), n=2),
    Run("planner-r1", "checks", "environments", "web/TravelDesk-v0", (("travel-greedy",),), n=2),
    Run(
        "smart",
        "calls",
        "environments",
        "text/MixedQuestions-v0",
        (("question-solver:calls=always",), ("question-solver",), ("random",)),
        n=2,
    ),
    Run(
        "matchtir",
        "calls",
        "environments",
        "web/ToolWorld-v0",
        ((CALLER,), ("random",)),
        n=2,
        given=_calls_of(CALLER),
    ),
    Run(
        "milestones",
        "milestones",
        "environments",
        "text/MLEngineering-v0",
        (("random",), ("ml-engineer",)),
        n=6,
    ),
    Run(
        "duration",
        "duration",
        "environments",
        "text/MLEngineering-v0",
        (("random",), ("ml-engineer",)),
        n=6,
        compare_by=("seat",),
    ),
    Run("statefactory", "objects", "environments", "games/Quest-v0", (("random",),), n=2),
    Run("curiosity", "belief", "environments", "text/Advice-v0", (("advice-seeker",),), n=1),
    Run(
        "comam",
        "local",
        "environments",
        "text/SharedMemory-v0",
        (("memory-keeper",) * 2, ("memory-keeper", "random"), ("random",) * 2),
        n=3,
        compare_by=("seat",),
    ),
    Run(
        "shapley",
        "coalition",
        "agent absent",
        "games/AgentsNet-v0",
        _coalitions("agents-net-oracle", 4),
        n=1,
        options={"num_players": 4, "task": "matching"},
    ),
    Run(
        "counterfactual",
        "coalition",
        "agent absent",
        "games/AgentsNet-v0",
        _coalitions("agents-net-oracle", 4),
        n=1,
        options={"num_players": 4, "task": "matching"},
    ),
    Run(
        "egae",
        "values",
        "searches, ppo",
        "games/TicTacToe-v0",
        (("mcts:simulations=24", "random"),),
        n=3,
        settings={"max_episode_steps": 4},
        learners=("mcts:simulations=24",),
    ),
    Run(
        "inverse-prm",
        "values",
        "searches, ppo",
        "games/TicTacToe-v0",
        (("mcts:simulations=24", "random"),),
        n=3,
        learners=("mcts:simulations=24",),
    ),
    Run(
        "seeupo",
        "ratio",
        "agent probe",
        "games/KuhnPoker-v0",
        (("probe:cfr,iterations=5,by=cfr:iterations=200",) * 2,),
        n=6,
        seed=1,
    ),
    Run(
        "oprl",
        "implicit",
        "agent probe",
        "games/KuhnPoker-v0",
        (("probe:cfr,iterations=50,by=cfr:iterations=200,reference=cfr:iterations=5",) * 2,),
        n=6,
    ),
    Run(
        "agentrm",
        "implicit",
        "agent probe",
        "games/KuhnPoker-v0",
        (("probe:cfr,iterations=50,by=cfr:iterations=200,reference=cfr:iterations=5",) * 2,),
        n=2,
    ),
    Run(
        "steve",
        "verdicts",
        "agent probe",
        "games/TicTacToe-v0",
        (("probe:random,by=minimax",) * 2,),
        n=2,
    ),
    Run(
        "agentevolver",
        "verdicts",
        "agent probe",
        "games/TicTacToe-v0",
        (("probe:random,by=minimax",) * 2,),
        n=4,
    ),
    Run(
        "spae",
        "confidence",
        "agent probe",
        "games/TicTacToe-v0",
        (("probe:random,by=random,tries=8",) * 2,),
        n=2,
    ),
    Run(
        "webarbiter",
        "candidates",
        "searches, solvers, teams",
        "games/FrozenLake-v0",
        ((SEARCH,),),
        n=1,
        given=lambda records: {"judge": "echo:"},
    ),
    *(
        Run(
            name, "process", "searches of palestra-adapters", "games/FrozenLake-v0", ((SEARCH,),), 2
        )
        for name in ("clip", "clip-delta", "delta", "score", "spa-rl", "dual-level")
    ),
    Run(
        "a2fm",
        "mode",
        "agent modes",
        "games/TicTacToe-v0",
        (
            ("modes:echo:,mode=instant", "random"),
            ("modes:echo:,mode=agentic,n=9,scorer=playouts", "random"),
        ),
        n=6,
        learners=("modes:echo:,mode=instant", "modes:echo:,mode=agentic,n=9,scorer=playouts"),
        compare_by=("seat",),
    ),
    Run(
        "agent-omit",
        "full tokens",
        "agents omit and llm",
        "games/PlanPath-v0",
        ((f"omit:echo:Omit: 1\n{STEP}",),),
        n=1,
        seed=EASTWARD,
        options=HALL,
    ),
    Run(
        "smartsnap:task=walk",
        "evidence",
        "agent snap",
        "games/PlanPath-v0",
        ((f"snap:echo:Evidence: 2\n{STEP}",),),
        n=1,
        seed=EASTWARD,
        options=HALL,
        given=lambda records: {"judge": "echo:yes"},
    ),
    Run(
        "matpo",
        "parents",
        "agent delegate",
        "games/PlanPath-v0",
        (
            (f"delegate:echo:Subtask: walk\n{STEP},moves=2",),
            ("delegate:echo:Subtask: walk\nAction: Plan(path='L'),moves=2",),
        ),
        n=1,
        seed=EASTWARD,
        options=HALL,
        prepare=nest_records,
    ),
    Run(
        "segment-chain",
        "branched_at",
        "palestra.rollouts(start=…, parent=…)",
        "games/Quest-v0",
        (("random",),),
        n=1,
        prepare=_branches,
    ),
)

ALL_RUNS = (*RUNS, *OTHER_RUNS)


@dataclass(frozen=True, slots=True)
class Fed:
    """The result of a run: the number of turns fed to the entry, and the range of its values."""

    run: Run
    turns: int
    low: float
    high: float


def measure(run: Run) -> Fed:
    """Play a run and feed it to its entry."""
    values = run.feed(run.play())
    return Fed(run, values.size, float(values.min()), float(values.max()))


@dataclass(frozen=True, slots=True)
class ReportedFacts:
    """Names of the facts that an environment, or an agent in one, reports."""

    who: str
    facts: tuple[str, ...]


AGENTS = {  # agents that report facts, each with a game that shows it
    "absent": ("games/MiniHanabi-v0", "absent"),
    "cfr": ("games/KuhnPoker-v0", "cfr:iterations=50"),
    "delegate": ("games/PlanPath-v0", f"delegate:echo:Subtask: walk\n{STEP}"),
    "llm": ("games/FrozenLake-v0", "llm:echo:,mode=choice"),
    "llm:…,mode=score": ("games/FrozenLake-v0", "llm:echo:,mode=score"),
    "mcts": ("games/TicTacToe-v0", "mcts:simulations=8"),
    "minimax": ("games/TicTacToe-v0", "minimax:depth=2"),
    "modes": ("games/FrozenLake-v0", "modes:echo:,scorer=playouts"),
    "omit": ("games/PlanPath-v0", f"omit:echo:Omit: 1\n{STEP}"),
    "probe:…,by=cfr": ("games/KuhnPoker-v0", "probe:cfr,iterations=50,by=cfr:iterations=50"),
    "probe:…,by=minimax": ("games/TicTacToe-v0", "probe:random,by=minimax:depth=2"),
    "probe:…,tries=8": ("games/TicTacToe-v0", "probe:random,by=random,tries=8"),
    "react": ("games/FrozenLake-v0", "react:echo:"),
    "snap": ("games/PlanPath-v0", f"snap:echo:Evidence: 1\n{STEP}"),
    "team, dylan, selforg": ("games/FrozenLake-v0", "team:echo:"),
    "treesearch, bestof and other searches": ("games/FrozenLake-v0", SEARCH),
}


def of_environment(env: str) -> ReportedFacts:
    """The facts that an environment reports at the start of an episode or after its first steps."""
    (record,) = palestra.play(env, agents="random", max_episode_steps=12, invalid="random")
    found = {*record.facts, *(name for step in record.steps for name in step.facts)}
    called = fact(record, "calls")
    return ReportedFacts(env, tuple(sorted(found | ({"calls"} if called is not None else set()))))


def of_agent(name: str) -> ReportedFacts:
    """The facts that an agent reports about its decisions."""
    env, agent = AGENTS[name]
    (record,) = palestra.play(env, agents=agent, max_episode_steps=8, seed=EASTWARD)
    return ReportedFacts(name, tuple(sorted({key for turn in record.turns for key in turn.facts})))


def producers_command(
    names: Annotated[list[str] | None, typer.Argument(help="Entries; all by default.")] = None,
    write: Annotated[Path | None, typer.Option(help="Write the table into this page.")] = None,
) -> None:
    """Play episodes that feed shapers and estimators, and list who reports the facts they read."""
    chosen = [run for run in ALL_RUNS if not names or parse_agent(run.entry)[0] in names]
    table = markdown(map(measure, chosen))
    if not names:
        known = registry().environments
        reporting = [of_environment(n) for n in known if isinstance(palestra.game(n), Reporting)]
        table += f"\n{reports('environment', reporting)}"
        table += f"\n{reports('agent', map(of_agent, AGENTS))}"
    if write is None:
        typer.echo(table, nl=False)
        return
    write.write_text(replace_part(write.read_text("utf-8"), (START, END), table), "utf-8")


def markdown(rows: Iterable[Fed]) -> str:
    """Runs as a Markdown table."""
    lines = [
        "| entry | reads | reported by | in a run such as | turns | numbers |",
        "|---|---|---|---|---|---|",
    ]
    lines += [_row(fed) for fed in sorted(rows, key=lambda fed: fed.run.entry)]
    return "\n".join(lines) + "\n"


def reports(kind: str, found: Iterable[ReportedFacts]) -> str:
    """Who reports what, as a Markdown table, without those that report nothing."""
    lines = [f"| {kind} | reports |", "|---|---|"]
    lines += [f"| {one.who} | {', '.join(one.facts)} |" for one in found if one.facts]
    return "\n".join(lines) + "\n"


def _row(fed: Fed) -> str:
    run, name = fed.run, parse_agent(fed.run.entry)[0]
    numbers = f"{fed.low:.2f} to {fed.high:.2f}"
    return f"| `{name}` | {run.fact} | {run.by} | `{run.command}` | {fed.turns} | {numbers} |"
