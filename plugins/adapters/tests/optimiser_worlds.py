"""For tests of searches: a player that obeys what it reads, and one call that runs a search."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import palestra
from adapter_worlds import Answer, Free, Trail, Walker, last, trail
from palestra import Rng
from palestra.agents.models import Request
from palestra_adapters.optimisers.run import Comparison, Optimiser, SearchPlan, Stage
from palestra_adapters.optimisers.search import Search
from palestra_adapters.workflows.steps import AskStep, Workflow, answered_once

SIDES = ("left", "middle", "right")
DOORS = {"start": {"left": 0.0, "middle": 0.5, "right": 1.0}}
SCORE = re.compile(r"^(\S+): (-?\d+\.\d\d)$", re.MULTILINE)


def follows(request: Request) -> str:
    """Plays what the lookahead finds best, or else the first legal move; it finds no fault."""
    text = last(request)
    if "no fault" in text:
        return "no fault"
    scores = SCORE.findall(text)
    listed = text.partition("you may play: ")[2].splitlines()[0]
    first = "Go(to='left')" if "Go(" in listed else listed.split(", ")[0]
    best = max(scores, key=lambda one: float(one[1]))[0] if scores else first
    return f"Thought: {len(scores)} scores.\nAction: {best}"


def optimise(
    search: Search,
    folder: Path,
    *,
    player: Answer = follows,
    proposer: Answer = follows,
    env: Any = "games/TicTacToe-v0",
    start: Workflow | None = None,
    budget: Mapping[str, float] | None = None,
    **more: Any,
) -> tuple[Comparison, Optimiser]:
    """Run a search and return what it found, with the run."""
    game = palestra.game(env) if isinstance(env, str) else env
    opponents = ["random"] * (game.num_players - 1)
    settings = {"seed": 0, "train": 6, "held_out": 20} | more
    again = {name: settings.pop(name, False) for name in ("resume", "other_versions")}
    stage = Stage(game, env, Free(player), opponents, 0, settings["seed"])
    plan = SearchPlan(
        env=str(env),
        options={},
        search=search.name,
        settings={},
        model="scripted",
        proposer="scripted",
        opponents=tuple(opponents),
        seat=0,
        start=start or answered_once(),
        **settings,
    )
    run = Optimiser(
        search,
        stage,
        proposer=Free(proposer),
        plan=plan,
        folder=folder,
        budget=budget or {},
        **again,
    )
    return run.run(), run


def doors() -> Any:
    """One decision: left pays 0, the middle 1/2, right 1."""
    return trail(DOORS, top=1.0)


@dataclass(frozen=True)
class Shuffled(Trail):
    """One decision between three doors; which of them pays 1, 1/2 and 0 depends on the seed."""

    def initial_state(self, seed: int | None = None) -> Walker:
        rng = Rng.seeded(seed)
        return Walker(rng, f"room {rng.below(3)}")


def shuffled() -> Shuffled:
    rooms = {f"room {i}": {SIDES[(i + j) % 3]: j / 2 for j in range(3)} for i in range(3)}
    edges = tuple((room, tuple((s, ways[s]) for s in SIDES)) for room, ways in rooms.items())
    return Shuffled(edges, top=1.0)


def prompted(text: str) -> Workflow:
    """One answer to a prompt."""
    return Workflow((AskStep("answer", text),))
