"""AgentGen: play generated planning worlds, and write ones that others can play.

`tasks/PlanWorld-v0` plays a world: a generated one of a level, or the user's own (`world`, the JSON
that a model wrote). `tasks/AgentGen-v0` has the player write worlds: each is validated, solved by
breadth-first search, and paid if its shortest plan has a length in the bucket that is asked for and
no other world of the episode has the same structure; the bucket alternates between easier and
harder.

After Hu, Zhao, Luo et al., "AgentGen: Enhancing Planning Abilities for Large Language Model based
Agent via Environment and Task Generation", 2024: environments from an inspiration, and
bidirectional evolution (Bi-Evol) of tasks to smooth their difficulty; there in PDDL. A world is
data here: facts are matched as text and nothing that a model wrote is executed.

Checked: shortest plans against networkx on the explicit graph of states; every plan is played.

Left out: PDDL, in whose place a world is JSON; the corpus of inspirations, in whose place four
stand here; the training of a language model on what was generated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from palestra import (
    Integer,
    InvalidOption,
    Meta,
    Option,
    Rng,
    ScriptedAgent,
    Text,
    TextAction,
    Turn,
    agent,
    environment,
)
from palestra.kernel.rng import check_seed
from palestra.scene import Bar, Bars, Chart, Part, Series

from palestra_tasks.desk import FINISH, Final, Finish, Reply, TaskGame, TaskState, Turns, solo
from palestra_tasks.pictures import Points
from palestra_tasks.worlds.drawing import draw_world
from palestra_tasks.worlds.planning import (
    LEVELS,
    LONGEST_WORLD,
    MOST_ACTIONS,
    PlannedWorld,
    World,
    apply_action,
    generate,
    generate_world,
    read_world,
    write_world,
)
from palestra_tasks.worlds.structure import structure

BUCKETS = ((2, 4), (5, 8), (9, 14))  # lengths of shortest plans that are asked for in turn
EXAMPLE = (  # that of the rules, whose plan is shorter than any that is asked for
    '{"name": "house", "objects": {"room": ["hall", "attic"], "person": ["you"]}, "operators": '
    '[{"name": "go", "parameters": {"a": "room", "b": "room"}, "needs": ["at(you, ?a)"], '
    '"adds": ["at(you, ?b)"], "deletes": ["at(you, ?a)"]}], "start": ["at(you, hall)"], '
    '"goal": ["at(you, attic)"]}'
)
INSPIRATIONS = ("a bakery at night", "a ship in a storm", "a museum that moves", "a mountain hut")


class Do(TextAction, frozen=True):
    """Carry out an action, by its number in the list."""

    number: int


class Write(TextAction, frozen=True):
    """Hand in a world, as JSON."""

    world: str


@dataclass(slots=True, kw_only=True)
class PlanState(TaskState):
    """The state of a world in play."""

    seed: int
    facts: frozenset[str]
    met: int = 0  # most goals that were met at once


@environment(
    "tasks/PlanWorld-v0",
    family="text",
    tags=("generated-worlds", "planning", "perfect-information"),
    paper=(
        "Hu et al. (2024), AgentGen: Enhancing Planning Abilities for Large Language "
        "Model based Agent via Environment and Task Generation"
    ),
    splits={name: {"level": name} for name in LEVELS},
)
@dataclass(frozen=True)
class PlanWorld(TaskGame[PlanState]):
    """One player plans in a generated world, whose possible actions are listed.

    Action n carries out the n-th of the world's ground actions, in alphabetical order; those whose
    needs are not met are illegal. An observation is a float32 vector: for each ground action
    whether it is possible, padded to 400, then the share of goals met and the share of steps left.
    Each further goal that is met pays its share of 1.
    """

    level: Annotated[
        Literal["easy", "medium", "hard"], Meta(description="difficulty of a generated world")
    ] = "medium"
    world: Annotated[
        str, Meta(description="a world of your own, as JSON; empty: a generated one")
    ] = ""
    turns: Turns = 40

    rules_text = """
        You plan in a world of facts. In each turn you read which facts hold, the goal, and the
        actions that are possible now; carry one out by its number, as in Do(number=3). An action
        needs some facts, adds some and deletes others. You are paid for each goal that you meet,
        1 for all of them.
    """
    perfect_information = True
    pays_score = False
    reward_terms = ("goal",)
    shown_past = 1
    action_types = (Do,)
    num_features = MOST_ACTIONS + 3
    feature_bounds = (0.0, 1.0)

    def validate(self) -> None:
        if self.world and read_world(self.world).length < 1:
            raise InvalidOption("the world has no plan of at least one action; change its goal")

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:  # type: ignore[override]
        return tuple(Do(number) for number in range(MOST_ACTIONS + 1))

    def initial_state(self, seed: int | None = None) -> PlanState:
        rng = Rng.seeded(check_seed(seed))
        start = rng.word()
        return PlanState(rng=rng, seed=start, facts=self._planned(start).start)

    def _planned(self, seed: int) -> PlannedWorld:
        return read_world(self.world) if self.world else generate_world(self.level, seed)

    def planned(self, state: PlanState) -> PlannedWorld:
        """The world that is played."""
        return self._planned(state.seed)

    def possible(self, state: PlanState) -> list[int]:
        """The numbers of the actions whose needs are met."""
        actions = self.planned(state).actions
        return [n for n, action in enumerate(actions) if action.needs <= state.facts]

    def statement(self, state: PlanState, seat: int) -> str:
        planned = self.planned(state)
        return f"World: {planned.world.name}. Goal: {'; '.join(sorted(planned.goal))}."

    def notes(self, state: PlanState, seat: int) -> tuple[str, ...]:
        actions = self.planned(state).actions
        listed = [f"{n}: {actions[n].text}" for n in self.possible(state)]
        facts = f"Facts: {'; '.join(sorted(state.facts))}."
        return (facts, "Possible now:", *(listed or [f"{MOST_ACTIONS}: wait"]))

    def options(self, state: PlanState, seat: int) -> tuple[Option, ...]:
        numbers = self.possible(state) or [MOST_ACTIONS]
        return tuple(Option(Do, {"number": Integer(n, n)}) for n in numbers)

    def respond(self, state: PlanState, seat: int, action: Any) -> Reply:
        planned = self.planned(state)
        if action.number == MOST_ACTIONS:
            return Reply("Nothing happens.", kind="action")
        chosen = planned.actions[action.number]
        state.facts = apply_action(state.facts, chosen)
        met = len(planned.goal & state.facts)
        gain = max(0, met - state.met) / len(planned.goal)
        state.met = max(met, state.met)
        state.closed = planned.goal <= state.facts
        text = f"You {chosen.text}: {met} of {len(planned.goal)} goals are met."
        return Reply(text, {}, {"goal": gain} if gain else {}, kind="action")

    def settle(self, state: PlanState) -> Final:
        planned = self.planned(state)
        won = planned.goal <= state.facts
        score = state.met / len(planned.goal)
        steps = len(state.past) + 1
        reason = f"{'Solved' if won else 'Not solved'}; the shortest plan has {planned.length}."
        return solo(score, reason, won=won, shortest=planned.length, steps=steps)

    def features(self, state: PlanState, seat: int) -> list[float]:
        seen = [0.0] * (MOST_ACTIONS + 1)
        for number in self.possible(state):
            seen[number] = 1.0
        met = len(self.planned(state).goal & state.facts) / len(self.planned(state).goal)
        return [*seen, met, 1 - len(state.past) / self.turns]

    def noted(self, state: PlanState, seat: int | None) -> tuple[str, ...]:
        """What is possible now."""
        return ("; ".join(super().noted(state, seat)[2:]),)

    def picture(self, state: PlanState, seat: int | None) -> tuple[Part, ...]:
        """The world as it is, and how many goals are met."""
        planned = self.planned(state)
        met = len(planned.goal & state.facts)
        goals = Bar("goals met", met, len(planned.goal), "green")
        steps = Bar("steps", len(state.past), self.turns, 0)
        return draw_world(planned, state.facts), Bars((goals, steps))


@agent("planworld-planner", kind="solver")
class Planner(ScriptedAgent[PlanWorld]):
    """Plays a shortest plan of the world from where it stands."""

    def choose(self, turn: Turn[PlanWorld]) -> Any:
        state = turn.fork(self.rng).state
        planned = turn.game.planned(state)
        now = World(
            planned.world.name,
            planned.world.objects,
            planned.world.operators,
            sorted(state.facts),
            sorted(planned.goal),
        )
        plan = read_world(write_world(now)).plan
        texts = [action.text for action in planned.actions]
        return Do(texts.index(plan[0])) if plan else turn.sample(self.rng)


@dataclass(slots=True, kw_only=True)
class AuthorState(TaskState):
    """The state of an author's work."""

    inspiration: str
    bucket: int
    accepted: tuple[str, ...] = ()  # the structures of worlds


@environment(
    "tasks/AgentGen-v0",
    family="text",
    tags=("generated-worlds", "teaching", "perfect-information"),
    paper=(
        "Hu et al. (2024), AgentGen: Enhancing Planning Abilities for Large Language "
        "Model based Agent via Environment and Task Generation"
    ),
)
@dataclass(frozen=True)
class AgentGen(TaskGame[AuthorState]):
    """One player writes planning worlds of the difficulty that is asked for.

    There are no numbered actions. Each world that is accepted pays 1 / turns.
    """

    turns: Turns = 6

    rules_text = """
        You write worlds for others to plan in, as JSON: Write(world='…'). A world has a name;
        objects, lists of names by type; operators, each with a name, parameters (types by name),
        needs, adds and deletes, which are lists of facts; and start and goal, lists of facts. A
        fact is written as at(key, hall); in an operator a parameter is written ?name, and different
        parameters are different objects. For example:

        {"name": "house", "objects": {"room": ["hall", "attic"], "person": ["you"]}, "operators":
        [{"name": "go", "parameters": {"a": "room", "b": "room"}, "needs": ["at(you, ?a)"], "adds":
        ["at(you, ?b)"], "deletes": ["at(you, ?a)"]}], "start": ["at(you, hall)"], "goal": ["at(you,
        attic)"]}

        A world is accepted, and paid, if it can be read, its shortest plan has as many actions as
        is asked for, and you have not written it before, under other names or with additions that
        no plan needs. You are asked for easier and for harder worlds in turn.
    """
    perfect_information = True
    pays_score = False
    reward_terms = ("accepted",)
    shown_past = 1
    action_types = (Write, Finish)

    def initial_state(self, seed: int | None = None) -> AuthorState:
        rng = Rng.seeded(check_seed(seed))
        inspiration = rng.choice(INSPIRATIONS)
        return AuthorState(rng=rng, inspiration=inspiration, bucket=rng.below(len(BUCKETS)))

    def statement(self, state: AuthorState, seat: int) -> str:
        return f"Inspiration: {state.inspiration}."

    def notes(self, state: AuthorState, seat: int) -> tuple[str, ...]:
        low, high = BUCKETS[state.bucket]
        return (
            f"Asked for: a world whose shortest plan has {low} to {high} actions.",
            f"Worlds accepted: {len(state.accepted)}.",
        )

    def options(self, state: AuthorState, seat: int) -> tuple[Option, ...]:
        return (Option(Write, {"world": Text(LONGEST_WORLD, (EXAMPLE, "{}"))}), FINISH)

    def respond(self, state: AuthorState, seat: int, action: Any) -> Reply:
        if isinstance(action, Finish):
            state.closed = True
            return Reply("The work is over.", kind="finish")
        low, high = BUCKETS[state.bucket]
        try:
            planned = read_world(action.world)
        except InvalidOption as error:
            return Reply(f"Refused: {error}.", {"accepted": False}, kind="verdict")
        text = f"The shortest plan has {planned.length} actions."
        if planned.length < 0:
            text = "No plan was found."
        same = structure(planned)
        fits = low <= planned.length <= high and same not in state.accepted
        if not fits:
            again = " You have written this world before." if same in state.accepted else ""
            facts = {"accepted": False, "length": planned.length}
            return Reply(f"Not accepted. {text}{again}", facts, kind="verdict")
        state.accepted = (*state.accepted, same)
        state.bucket = (state.bucket + 1) % len(BUCKETS)
        facts = {"accepted": True, "length": planned.length}
        return Reply(f"Accepted. {text}", facts, {"accepted": 1 / self.turns}, kind="verdict")

    def settle(self, state: AuthorState) -> Final:
        score = len(state.accepted) / self.turns
        return solo(score, f"{len(state.accepted)} worlds were accepted.")

    def noted(self, state: AuthorState, seat: int | None) -> tuple[str, ...]:
        return super().noted(state, seat)[:1]  # what was accepted is in the chart

    def picture(self, state: AuthorState, seat: int | None) -> tuple[Part, ...]:
        """The world that was written last, at its start, and how long each world's plan is."""
        lengths: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
        drawn, writes = list[Part](), [p for p in state.past if isinstance(p.action, Write)]
        for number, past in enumerate(writes, 1):
            planned = _world_of(past.action)
            drawn = [draw_world(planned, planned.start)] if planned else []
            length = float(planned.length) if planned else -1.0
            lengths[past.reply.startswith("Accepted")].append((float(number), length))
        series = [
            Series(
                f"asked for at {'least' if n == 0 else 'most'}", self._level(one), "line", "green"
            )
            for n, one in enumerate(BUCKETS[state.bucket])
        ]
        for name, colour, accepted in (("accepted", 0, True), ("refused", "red", False)):
            if lengths[accepted]:
                series.append(Series(name, tuple(lengths[accepted]), "points", colour))
        chart = Chart(tuple(series), "length of the plan", "world")
        bar = Bar("accepted", len(state.accepted), self.turns, "green")
        return (*drawn, chart, Bars((bar,)))

    def _level(self, value: int) -> Points:
        """A line over all worlds."""
        return ((1.0, float(value)), (float(max(2, self.turns)), float(value)))


def _world_of(action: TextAction) -> PlannedWorld | None:
    """The world that was written; None if it cannot be read."""
    try:
        return read_world(action.world) if isinstance(action, Write) else None
    except InvalidOption:
        return None


@agent("agentgen-author", kind="scripted")
class Author(ScriptedAgent[AgentGen]):
    """Draws worlds until one has the length that is asked for."""

    def choose(self, turn: Turn[AgentGen]) -> Any:
        words = turn.position.split("shortest plan has ", 1)[1].split()
        low, high = int(words[0]), int(words[2])
        accepted = turn.fork(Rng(0)).state.accepted
        for _ in range(200):
            places, things = self.rng.between(2, 4), self.rng.between(1, 3)
            goals, locked = self.rng.between(1, min(2, things)), self.rng.below(2)
            text = write_world(generate(self.rng, places, things, goals, locked))
            planned = read_world(text)
            if low <= planned.length <= high and structure(planned) not in accepted:
                return Write(text)
        return Finish()
