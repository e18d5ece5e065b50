"""An oracle for AgentsNet: an agent that passes on everything it hears.

For leader election and consensus every agent tells the greatest name it has heard of, starting with
its own; after as many rounds as the graph's diameter all know the same name. For the other tasks
every agent passes on new facts about who neighbours whom; then all know the whole graph, and each
works out the same solution by taking the agents in the order of their names. All scores are 1 where
there are at least as many rounds of messages as the diameter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from palestra import ScriptedAgent, TextAction, Turn, agent

from palestra_games.social.agents_net.game import CODES, GLOBAL_TASKS, AgentsNet, Answer, Tell
from palestra_games.social.agents_net.tasks import NAMES, NO, NONE, YES

FIRST_NAME = CODES[NAMES[0]] - 1  # a message's code less the number of the name it says
NAMING = (Tell(""), *map(Tell, NAMES))  # by the number of the name

Map = Mapping[str, Sequence[str]]


@dataclass(slots=True)
class Memory:
    """What one agent has heard."""

    greatest: int = 0  # the number of the greatest name
    known: dict[str, list[str]] = field(default_factory=dict)  # neighbours by name
    news: list[str] = field(default_factory=list)  # facts it has not passed on yet
    read: int = 0  # events of the transcript


@agent("agents-net-oracle", needs=("array",))
class AgentsNetOracle(ScriptedAgent[AgentsNet]):
    """Solves every AgentsNet task by passing on all it hears, if all agents play it."""

    def __init__(self) -> None:
        super().__init__(seed=0)
        self._memories: dict[int, dict[int, Memory]] = {}

    def forget(self, episode_key: int) -> None:
        self._memories.pop(episode_key, None)

    def choose(self, turn: Turn[AgentsNet]) -> TextAction:
        game = turn.game
        memories = self._memories.setdefault(turn.episode_key, {})
        if turn.steps_played == 0 or turn.seat not in memories:
            memories[turn.seat] = Memory()
        memory = memories[turn.seat]
        if game.task in GLOBAL_TASKS:
            return flood_greatest(game.task, turn.observation, memory)
        return flood_map(game.task, turn, memory)


def flood_greatest(task: str, seen: Any, memory: Memory) -> TextAction:
    """Pass on the greatest name; at the end, act on it."""
    own = int(seen[3])
    memory.greatest = max(memory.greatest, own, int(seen[5::2].max()) - FIRST_NAME)
    if seen[0] < seen[1]:
        return NAMING[memory.greatest]
    if task == "consensus":
        return Answer(str(memory.greatest % 2))
    return Answer(YES if memory.greatest == own else NO)


def flood_map(task: str, turn: Turn, memory: Memory) -> TextAction:
    """Pass on new facts about the graph; at the end, solve the task on it."""
    events = turn.transcript
    for event in events[memory.read :]:
        if event.kind == "place":
            learn(memory, [f"{event.data['name']}:{','.join(event.data['neighbours'])}"])
        elif event.kind == "inbox":
            for text in event.data["from"].values():
                learn(memory, text.split(";"))
    memory.read = len(events)
    seen = turn.observation
    if seen[0] < seen[1]:
        news, memory.news = memory.news, []
        return Tell(";".join(news))
    return Answer(solve(task, memory.known, NAMES[int(seen[3]) - 1]))


def learn(memory: Memory, facts: Sequence[str]) -> None:
    """Take in whose neighbours are who, written as `Ada:Ben,Cleo`."""
    for fact in facts:
        name, colon, others = fact.partition(":")
        if colon and name not in memory.known:
            memory.known[name] = others.split(",")
            memory.news.append(fact)


def solve(task: str, graph: Map, name: str) -> str:
    """One agent's part of the solution of a task on the whole graph."""
    if task == "colouring":
        return f"Group {1 + colours(graph)[name]}"
    if task == "vertex-cover":
        return NO if name in independent(graph) else YES
    return pairs(graph).get(name, NONE)


def colours(graph: Map) -> dict[str, int]:
    """A colour for each in turn: the least number that no neighbour has."""
    given: dict[str, int] = {}
    for name in sorted(graph):
        taken = {given[other] for other in graph[name] if other in given}
        given[name] = next(n for n in range(len(graph)) if n not in taken)
    return given


def independent(graph: Map) -> set[str]:
    """A set without neighbours that cannot grow; all others are a minimal vertex cover."""
    chosen: set[str] = set()
    for name in sorted(graph):
        if chosen.isdisjoint(graph[name]):
            chosen.add(name)
    return chosen


def pairs(graph: Map) -> dict[str, str]:
    """A maximal matching: each in turn with its first neighbour that is still free."""
    partner: dict[str, str] = {}
    for name in sorted(graph):
        free = [other for other in sorted(graph[name]) if other not in partner]
        if name not in partner and free:
            partner[name], partner[free[0]] = free[0], name
    return partner
