"""AgentsNet: agents on a graph who hear only their neighbours solve a task of the whole graph.

All agents write to their neighbours at once, round by round; what was written is read in the next
round. After the last round each gives one answer, and all are paid the score of the answers
together. The tasks and scores are those of Grötschla, Müller, Tönshoff, Galkin and Perozzi,
"AgentsNet: Coordination and Collaborative Reasoning in Multi-Agent LLMs", 2025, and of its public
implementation:

    colouring        share of links between different groups, of which there are max degree + 1
    vertex-cover     share of links with a coordinator, times the share of coordinators who are
                     needed: without whom not every link has one
    matching         share of agents paired consistently; one without a partner is consistent if
                     no neighbour is without a partner
    leader-election  1 if exactly one agent says Yes
    consensus        1 if all say the same

There are 2 * diameter + 1 rounds, but 4 for the first three tasks with at most 16 agents. Scores
are compared in the tests with independent ones written over networkx, and Delaunay graphs with
scipy's.

Checked: scores against independent ones written over networkx, Delaunay graphs against scipy's.

Left out: the 27 graphs of the authors, in place of which graphs are drawn from the seed; the counts
of bytes sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    FilePath,
    Grammar,
    InvalidOption,
    Meta,
    OneOf,
    Option,
    Outcome,
    Result,
    Rng,
    Scene,
    Step,
    Talking,
    Text,
    TextAction,
    TextGame,
    environment,
    only,
)
from palestra.llm.tool_calls import closed_object, domain_schema
from palestra.scene import Colour, Graph, Link, Node, Part, Saying, Talk

from palestra_games.graph_picture import node_places
from palestra_games.social.agents_net.files import read_graph
from palestra_games.social.agents_net.graphs import (
    Edge,
    Neighbours,
    diameter,
    draw_graph,
    from_edges,
    is_connected,
)
from palestra_games.social.agents_net.tasks import NAMES, QUESTIONS, answers, local_scores, score

LOCAL_ROUNDS, LOCAL_AGENTS = 4, 16
GLOBAL_TASKS = ("leader-election", "consensus")
FREE_TEXT = 1  # how the array view shows a message that no program would write


class Tell(TextAction, frozen=True):
    """Write the same to all your neighbours; an empty text writes nothing."""

    text: str


class Send(TextAction, frozen=True):
    """Write to each neighbour named."""

    messages: dict[str, str]


class Answer(TextAction, frozen=True):
    """Give your answer."""

    value: str


LINES = tuple(Tell(text) for text in ("", "0", "1", "Yes", "No", *NAMES))
CODES = {line.text: FREE_TEXT + 1 + number for number, line in enumerate(LINES)}

NUMBERS = {name: number for number, name in enumerate(NAMES, 1)}


@dataclass(frozen=True, slots=True)
class Letters:
    """What `messages` may hold: texts by the names of an agent's neighbours."""

    names: tuple[str, ...]
    text: Text

    def problem(self, value: object) -> str | None:
        if not isinstance(value, dict):
            return f"must be written as {{'name': 'text'}}, not {value!r}"
        for name, text in value.items():
            if name not in self.names:
                return f"must be to {', '.join(self.names)}, not to {name!r}"
            why = self.text.problem(text)
            if why:
                return f"to {name} {why}"
        return None

    def sample(self, rng: Rng) -> dict[str, str]:
        return {rng.choice(self.names): self.text.sample(rng)}

    def pattern(self, chars: int) -> str:
        said = self.text.pattern(chars)
        return rf"\{{{''.join(f'({re.escape(repr(n))}: {said}, )?' for n in self.names)}\}}"

    def longest(self, chars: int) -> int:
        return sum(len(repr(n).encode()) + 4 + self.text.longest(chars) for n in self.names) + 2

    def __str__(self) -> str:
        return f"{{name: {self.text}, …}} to any of {', '.join(self.names)}"

    def schema(self) -> dict[str, Any]:
        """The JSON schema of its values."""
        return closed_object(dict.fromkeys(self.names, domain_schema(self.text)), ())


@dataclass(frozen=True, slots=True)
class Net:
    """The constants of an episode: the agents' names and who hears whom."""

    names: tuple[str, ...]  # by seat
    neighbours: Neighbours
    rounds: int  # of messages
    groups: int  # that an agent may be in, for colouring
    known: tuple[tuple[str, ...], ...]  # by seat, the names of its neighbours
    rows: NDArray[np.int16] = field(repr=False, compare=False)  # array views without messages


@dataclass(slots=True)
class Round:
    """The state: the messages last delivered, and the answers once they are given."""

    rng: Rng
    net: Net
    inbox: list[dict[int, str]]  # by seat, the text from each sender
    round: int = 0  # rounds of messages played
    answers: tuple[str, ...] = ()  # by seat


@environment(
    "games/AgentsNet-v0",
    family="social",
    tags=("cooperation", "communication", "messages", "hidden-information", "graph"),
    paper=(
        "Grötschla et al. (2025), AgentsNet: Coordination and Collaborative Reasoning in "
        "Multi-Agent LLMs"
    ),
    splits={f"paper-{agents}": {"num_players": agents} for agents in (4, 8, 16)},
)
@dataclass(frozen=True)
class AgentsNet(Talking, TextGame[Round]):
    """AgentsNet: agents on a graph who hear only their neighbours solve a task of the whole graph.

    The menu numbers the lines a program may tell all its neighbours, then every answer of the task.
    An observation is a vector of int16, see `observe`. All are paid the score of their answers,
    from 0 to 1.
    """

    task: Annotated[
        Literal["colouring", "vertex-cover", "matching", "leader-election", "consensus"],
        Meta(description="what the agents solve together"),
    ] = "colouring"
    graph: Annotated[
        Literal["small-world", "scale-free", "delaunay"],
        Meta(description="the kind of graph that is drawn"),
    ] = "small-world"
    num_players: Annotated[int, Meta(ge=4, le=100, description="number of agents")] = 8
    rounds: Annotated[
        int,
        Meta(ge=0, le=32_767, description="rounds of messages; 0 for the number used in the paper"),
    ] = 0
    edges: Annotated[
        tuple[Edge, ...],
        Meta(description="pairs of agents who hear each other, from 0; empty: a graph is drawn"),
    ] = ()
    message_limit: Annotated[
        int, Meta(ge=20, le=1_000_000, description="most characters of a message")
    ] = 4000
    graph_file: Annotated[
        FilePath,
        Meta(
            description="a graph of the published data set, such as graph_ws_8_0.json; empty: as "
            "`edges` or `graph` say"
        ),
    ] = ""

    rules_text = """
        You are one of several agents, each with a unique name, and can write to neighbours only.

        In every round all of you write at the same time; your neighbours read it in the next round.
        Write Tell(text='I am here.') to tell all your neighbours the same (an empty text tells
        nothing), or Send(messages={'Ada': 'I am here.'}) to write to some of them by name. Whatever
        is further away you can learn only through them. After the last round of messages everybody
        answers one question by writing, for example, Answer(value='Yes'). All of you are paid the
        same: the score of your answers taken together, from 0 to 1.
    """
    order = "simultaneous"
    payoffs = "common"
    perfect_information = False
    deterministic = True
    reward_terms = ("score",)
    payoff_bounds = (0.0, 1.0)
    action_types = (Tell, Send, Answer)

    def validate(self) -> None:
        inside = all(0 <= end < self.num_players for edge in self.edges for end in edge)
        if not inside or any(a == b for a, b in self.edges):
            raise InvalidOption("edges must join two different agents, numbered from 0")
        if self.edges and not is_connected(from_edges(self.num_players, self.edges)):
            raise InvalidOption("edges must connect all agents")
        if self.graph_file:
            if self.edges:
                raise InvalidOption("give either edges or graph_file, not both")
            agents, _ = read_graph(self.graph_file)
            if agents != self.num_players:
                raise InvalidOption(
                    f"{self.graph_file} has {agents} agents: set num_players={agents}, not "
                    f"{self.num_players}"
                )

    @property
    def links(self) -> tuple[Edge, ...]:
        """The links that the options give; empty if a graph is drawn."""
        return read_graph(self.graph_file)[1] if self.graph_file else self.edges

    @classmethod
    def on(cls, graph: Any, **options: Any) -> AgentsNet:
        """The game on a networkx graph, whose nodes are seated in their order."""
        seat = {node: number for number, node in enumerate(graph.nodes)}
        edges = tuple((seat[a], seat[b]) for a, b in graph.edges)
        return cls(num_players=len(seat), edges=edges, **options)

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """The lines a program may tell, then every answer of the task."""
        return (*LINES, *map(Answer, answers(self.task, self.num_players, NAMES)))

    def index_of(self, action: TextAction) -> int | None:
        return None if isinstance(action, Send) else super().index_of(action)

    # The rules

    def initial_state(self, seed: int | None = None) -> Round:
        rng = Rng.seeded(seed)
        if self.links:
            graph = from_edges(self.num_players, self.links)
        else:
            graph = draw_graph(self.graph, self.num_players, rng)
        rounds = self.rounds or self._default_rounds(diameter(graph))
        net = make_net(draw_names(NAMES, self.num_players, rng), graph, rounds)
        return Round(rng, net, [{} for _ in graph])

    def _default_rounds(self, diameter: int) -> int:
        """The paper's number of rounds of messages."""
        if self.task in GLOBAL_TASKS or self.num_players > LOCAL_AGENTS:
            return 2 * diameter + 1
        return LOCAL_ROUNDS

    @cached_property
    def _everybody(self) -> tuple[int, ...]:
        return tuple(range(self.num_players))

    @cached_property
    def _audiences(self) -> tuple[frozenset[int], ...]:
        return tuple(map(only, self._everybody))

    def to_act(self, state: Round) -> tuple[int, ...]:
        return () if state.answers else self._everybody

    def legal(self, state: Round, seat: int) -> Grammar:
        net = state.net
        if state.round < net.rounds:
            return talk_grammar(net.known[seat], self.message_limit)
        return answer_grammar(answers(self.task, net.groups, net.known[seat]))

    def step(self, state: Round, actions: Mapping[int, Any]) -> Step:
        if state.round < state.net.rounds:
            return Step(events=self._deliver(state, actions))
        state.answers = tuple(actions[seat].value for seat in self._everybody)
        reached = self.score(state)
        by_name = zip(state.net.names, state.answers, strict=True)
        given = ", ".join(f"{name}: {answer}" for name, answer in by_name)
        data = {"answers": list(state.answers), "score": reached}
        events = [Event("reveal", f"Answers: {given}. Score {reached:.4g}.", data)]
        return Step(
            {seat: {"score": reached} for seat in self._everybody if reached}, events=events
        )

    def _deliver(self, state: Round, actions: Mapping[int, Any]) -> list[Event]:
        net = state.net
        inbox: list[dict[int, str]] = [{} for _ in net.names]
        for sender in self._everybody:
            action = actions[sender]
            if type(action) is Tell:
                if action.text:
                    for hearer in net.neighbours[sender]:
                        inbox[hearer][sender] = action.text
                continue
            for hearer, name in zip(net.neighbours[sender], net.known[sender], strict=True):
                if action.messages.get(name):
                    inbox[hearer][sender] = action.messages[name]
        state.inbox = inbox
        state.round += 1
        return [
            Event(
                "inbox",
                f"Round {state.round}: {self._inbox_text(net, got)}",
                {"from": got},
                self._audiences[seat],
            )
            for seat, got in enumerate(inbox)
        ]

    def _inbox_text(self, net: Net, received: Mapping[int, str]) -> str:
        """Messages in order of the senders' seats: `Ada: "yes" | Ben: "no"`."""
        said = [f"{net.names[sender]}: {self.quoted(text)}" for sender, text in received.items()]
        return " | ".join(said) or "nobody wrote to you"

    def score(self, state: Round) -> float:
        """The score of the answers given."""
        return score(self.task, state.net.neighbours, state.net.names, state.answers)

    def record_facts(self, state: Round) -> dict[str, Any]:
        """Facts for the record: the score, and each agent's own score once all have answered."""
        if not state.answers:
            return {"progress": 0.0}
        net = state.net
        own = local_scores(self.task, net.neighbours, net.names, state.answers)
        return {"progress": self.score(state), "local": own}

    def outcome(self, state: Round) -> Outcome | None:
        if not state.answers:
            return None
        reached, result = self.score(state), "score"
        results: tuple[Result, ...] = (result,) * self.num_players  # type: ignore[assignment]
        return Outcome(results, (reached,) * self.num_players, f"score {reached:.4g}")

    def opening(self, state: Round) -> Sequence[Event]:
        net = state.net
        return [
            Event(
                "place",
                f"Your name is {name}. Your neighbours are {', '.join(known)}.",
                {"name": name, "neighbours": list(known)},
                only(seat),
            )
            for seat, (name, known) in enumerate(zip(net.names, net.known, strict=True))
        ]

    def noop(self, state: Round, seat: int) -> TextAction:
        if state.round < state.net.rounds:
            return LINES[0]
        return Answer(answers(self.task, state.net.groups, state.net.known[seat])[-1])

    def determinize(self, state: Round, seat: int, rng: Rng) -> Round:
        """Draw another net around `seat` and its neighbours, with other names and messages.

        A drawn graph is drawn again until one agent has as many neighbours, and all as many groups
        and rounds; a graph that the options give keeps its shape.
        """
        self.refuse_the_end(state)
        copy, net = self.clone(state), state.net
        near = net.neighbours[seat]
        met = {net.names[other] for other in (seat, *near)}
        far = [other for other in self._everybody if other != seat and other not in near]
        unmet = [name for name in NAMES if name not in met]
        names = list(net.names)
        for other, name in zip(far, draw_names(unmet, len(far), rng), strict=True):
            names[other] = name
        graph = self._graph_around(net, seat, far, rng)
        copy.net = make_net(tuple(names), graph, net.rounds)
        copy.inbox = [
            {sender: self._guess(state, seat, hearer, sender, rng) for sender in graph[hearer]}
            if state.round
            else {}
            for hearer in self._everybody
        ]
        copy.inbox[seat] = dict(state.inbox[seat])
        copy.inbox = [{s: text for s, text in got.items() if text} for got in copy.inbox]
        return copy

    def _graph_around(self, net: Net, seat: int, far: Sequence[int], rng: Rng) -> Neighbours:
        """A graph in which `seat` has its neighbours, and those far from it are drawn."""
        near, places = net.neighbours[seat], list(far)
        rng.shuffle(places)
        if self.links:
            moved = dict(zip(far, places, strict=True))
            edges = [(moved.get(a, a), moved.get(b, b)) for a, b in self.links]
            return from_edges(self.num_players, edges)
        while True:
            graph = draw_graph(self.graph, self.num_players, rng)
            alike = [other for other in self._everybody if len(graph[other]) == len(near)]
            if not alike or max(map(len, graph)) + 1 != net.groups:
                continue
            if self.rounds or self._default_rounds(diameter(graph)) == net.rounds:
                break
        centre, around = rng.choice(alike), list(near)
        rng.shuffle(around)
        seats = {centre: seat, **dict(zip(graph[centre], around, strict=True))}
        left = iter(places)
        seats |= {other: next(left) for other in self._everybody if other not in seats}
        edges = [(seats[a], seats[b]) for a, others in enumerate(graph) for b in others]
        return from_edges(self.num_players, edges)

    def _guess(self, state: Round, seat: int, hearer: int, sender: int, rng: Rng) -> str:
        """The last message of one agent to another, drawn if it is not `seat`'s own."""
        return state.inbox[hearer].get(seat, "") if sender == seat else rng.choice(LINES).text

    # What an agent sees

    def rules_for(self, seat: int) -> str:
        return f"{super().rules_for(seat)}\n{QUESTIONS[self.task]}"

    def describe(self, state: Round, seat: int) -> str:
        net = state.net
        lines = [
            f"You are {net.names[seat]}, one of {self.num_players} agents. "
            f"Your neighbours: {', '.join(net.known[seat])}."
        ]
        if self.task == "colouring":
            lines.append(f"There are {net.groups} groups: Group 1 to Group {net.groups}.")
        if state.round < net.rounds:
            lines.append(f"Round {state.round + 1} of {net.rounds} of messages.")
        else:
            lines.append(f"All {net.rounds} rounds of messages are over: give your answer.")
        if state.round:
            lines.append(f"Last messages to you: {self._inbox_text(net, state.inbox[seat])}")
        return "\n".join(lines)

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        most = max(len(CODES) + FREE_TEXT + 1, 2 * self.num_players, self.rounds)
        return spaces.Box(0, most, (4 + 2 * self.num_players,), np.int16)

    def observe(self, state: Round, seat: int) -> NDArray[np.int16]:
        """Rounds played, rounds, groups, own name; then a pair a seat: its name and its message.

        Names are numbered from 1 as in `NAMES`, 0 for a seat that is no neighbour; messages as in
        `CODES`: 0 for none, 1 for words of one's own, the others as the lines of the menu.
        """
        row: NDArray[np.int16] = state.net.rows[seat].copy()
        row[0] = state.round
        for sender, text in state.inbox[seat].items():
            row[5 + 2 * sender] = CODES.get(text, FREE_TEXT)
        return row

    def action_mask(self, state: Round, seat: int) -> NDArray[np.int8]:
        if state.answers:
            return np.ones(len(self.menu), np.int8)
        mask = np.zeros(len(self.menu), np.int8)
        if state.round < state.net.rounds:
            mask[: len(LINES)] = 1
            return mask
        for answer in answers(self.task, state.net.groups, state.net.known[seat]):
            mask[self._menu_index[Answer(answer)]] = 1
        return mask

    def scene(self, state: Round, seat: int | None = None) -> Scene:
        """Who hears whom, and what they heard last: for a player, what they heard themselves."""
        net = state.net
        shown = self._everybody if seat is None else (seat,)
        heard = tuple(
            Saying(f"{net.names[sender]} to {net.names[place]}", self.quoted(text), sender)
            for place in shown
            for sender, text in state.inbox[place].items()
        )
        caption = f"{self.task}, round {min(state.round + 1, net.rounds)} of {net.rounds}"
        parts: list[Part] = [self._graph(state, seat)]
        if heard and not state.answers:
            parts.append(Talk(heard))
        return Scene(caption, parts=tuple(parts))

    def _graph(self, state: Round, seat: int | None) -> Graph:
        """The agents and who hears whom; for a player, themselves and their neighbours."""
        net, around = state.net, state.net.neighbours
        seen = self._everybody if seat is None else (seat, *around[seat])
        answers = state.answers or [""] * self.num_players
        places = node_places(around) if seat is None else [None] * self.num_players
        nodes = [
            Node(
                str(place),
                answer_colour(answers[place], place),
                f"{net.names[place]} {answers[place]}".strip(),
                places[place],
            )
            for place in seen
        ]
        number = {place: n for n, place in enumerate(seen)}
        pairs = {(min(a, b), max(a, b)) for a in seen for b in around[a] if seat in (None, a, b)}
        links = [Link(number[a], number[b]) for a, b in sorted(pairs)]
        return Graph(tuple(nodes), tuple(links))


def answer_colour(answer: str, place: int) -> Colour:
    """Equal answers have equal colours; before it answers, an agent has that of its seat."""
    if answer in ("Yes", "No"):
        return "green" if answer == "Yes" else "grey"
    number = answer.removeprefix("Group ")
    return int(number) - 1 if number.isdigit() else place


def draw_names(names: Sequence[str], count: int, rng: Rng) -> tuple[str, ...]:
    """`count` different names, drawn evenly."""
    left = list(names)
    for place in range(count):
        other = rng.between(place, len(left) - 1)
        left[place], left[other] = left[other], left[place]
    return tuple(left[:count])


def make_net(names: tuple[str, ...], graph: Neighbours, rounds: int) -> Net:
    """The net of a graph whose agents have these names."""
    known = tuple(tuple(names[other] for other in others) for others in graph)
    groups = max(map(len, graph)) + 1
    rows = np.zeros((len(names), 4 + 2 * len(names)), np.int16)
    numbers = [NUMBERS[name] for name in names]
    for seat, others in enumerate(graph):
        rows[seat, 1:4] = rounds, groups, numbers[seat]
        for other in others:
            rows[seat, 4 + 2 * other] = numbers[other]
    return Net(names, graph, rounds, groups, known, rows)


@lru_cache(maxsize=4096)
def talk_grammar(names: tuple[str, ...], limit: int) -> Grammar:
    said = Text(limit, tuple(line.text for line in LINES[:5]))
    return Grammar((Option(Tell, {"text": said}), Option(Send, {"messages": Letters(names, said)})))


@lru_cache(maxsize=4096)
def answer_grammar(values: tuple[str, ...]) -> Grammar:
    return Grammar((Option(Answer, {"value": OneOf(values)}),))
