"""EnvGen: write training worlds for a small student, who is judged in the original world.

In each cycle the player writes a few configurations of a crafting world; the student (Q-learning)
trains in a mix of these and the original one, and its success at every skill in the original world
is fed back. The player is paid the change of the mean success.

After Zala, Cho, Lin, Yoon and Bansal, "EnvGen: Generating and Adapting Environments via LLMs for
Training Embodied Agents", 2024, in which a language model is asked four times in all, and agents
learn Crafter and Heist. A configuration is data, checked against a schema.

Checked: the student learns every skill in the end; with nothing but the original world it learns
the deep skills later than with a curriculum.

One list of worlds suits every episode of `crafting`, whose world is always the same. With
`original="drawn"` the world of the student is drawn, and so is its ground, on which moves lead
other ways than on others: worlds on another ground teach nothing about it.

Left out: Crafter and Heist themselves, their pictures, and learners with a network.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import Annotated, Any, Literal

import msgspec
from palestra import Meta, Option, Rng, ScriptedAgent, Text, TextAction, Turn, agent, environment
from palestra.kernel.rng import check_seed
from palestra.paragraphs import paragraphs
from palestra.scene import Graph, Link, Node, Part

from palestra_tasks.desk import Final, Reply, TaskGame, TaskState, Turns, solo
from palestra_tasks.worlds import crafting, heist
from palestra_tasks.worlds.qlearning import PracticeWorld, Q, success, train

MOST_WORLDS = 6
JUDGED = 40  # episodes in which success is measured
HEIST_RULES = """
    A student learns to steal a gem from a maze with two coloured locks: to take the first key, to
    open the first lock, then the same with the second, and to reach the gem. You can change the
    maze for its training. It is judged in the original one.

    In each cycle write one to six training worlds as a JSON list: Configure(worlds='[{"size": 4,
    "locks": 1, "keys": 0}]'). size is the side of the maze, 3 to 9; locks are 0 to 2; keys is how
    many of their keys the student has at the start. The student trains in your worlds and in the
    original one in turn, and you read its success. You are paid the change of its mean success.
"""
DRAWN_RULES = """
    A student learns to gather wood, to make a table, to make a pickaxe and to gather stone, in
    this order of need, in a world that you can change for its training. It is judged in the
    original world, which is drawn anew in each episode.

    In each cycle write one to six training worlds as a JSON list: Configure(worlds='[{"size": 3,
    "trees": 4, "stones": 2, "wood": 1, "table": false, "pickaxe": false, "ground": 0}]'). size is
    the side of the grid, 2 to 8; wood, table and pickaxe are what the student has at the start;
    ground is 0 to 7. On each ground moves lead other ways, so that a student learns for a ground
    only in worlds on it. The student trains in your worlds and in the original one in turn, and
    you read its success. You are paid the change of its mean success.
"""
OWN_RULES = {"heist": HEIST_RULES, "drawn": DRAWN_RULES}
Worlds = tuple[PracticeWorld, ...]
Cycles = tuple[tuple[int, Worlds], ...]  # the seed of each training, and its worlds


@dataclass(frozen=True, slots=True)
class Training:
    """What a student is trained for: the original world, its skills, and worlds to train in.

    `original` is the one of an episode unless that is drawn.
    """

    world: type[Any]  # of configurations
    original: PracticeWorld
    skills: tuple[str, ...]
    presets: tuple[Worlds, ...]  # the original one, some for each skill in order, and a mix


TRAININGS = {
    "crafting": Training(crafting.Config, crafting.ORIGINAL, crafting.SKILLS, crafting.PRESETS),
    "heist": Training(heist.HeistConfig, heist.ORIGINAL, heist.SKILLS, heist.PRESETS),
    "drawn": Training(
        crafting.GroundConfig,
        crafting.GroundConfig(),
        crafting.SKILLS,
        crafting.GROUND_PRESETS,
    ),
}


def mean(rates: tuple[float, ...]) -> float:
    """The mean success."""
    return fmean(rates)


class Configure(TextAction, frozen=True):
    """Write the worlds of a cycle: a JSON list of configurations."""

    worlds: str


def worlds_text(worlds: Worlds) -> str:
    """Configurations as JSON."""
    return msgspec.json.encode(list(worlds)).decode()


def read_worlds(text: str, kind: type[Any] = crafting.Config) -> Worlds:
    """The configurations in a text; raises ValueError with what is wrong."""
    try:
        worlds: list[PracticeWorld] = msgspec.json.decode(text, type=list[kind])  # type: ignore[valid-type]
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise ValueError(f"it is not a JSON list of worlds: {error}") from None
    if not 1 <= len(worlds) <= MOST_WORLDS:
        raise ValueError(f"a cycle has 1 to {MOST_WORLDS} worlds, not {len(worlds)}")
    for world in worlds:
        if world.problem():
            raise ValueError(world.problem())
    return tuple(worlds)


@lru_cache(maxsize=2048)
def student(original: PracticeWorld, cycles: Cycles, episodes: int) -> Q:
    """The student after some cycles of a training; nobody changes it."""
    if not cycles:
        return {}
    before, (seed, worlds) = student(original, cycles[:-1], episodes), cycles[-1]
    q = {seen: list(values) for seen, values in before.items()}
    rng = Rng.seeded(seed, 82)
    mix = (*worlds, original)
    for n, config in enumerate(mix):
        train(q, config, episodes // len(mix) + (n < episodes % len(mix)), rng)
    return q


@lru_cache(maxsize=2048)
def success_rates(
    skills: tuple[str, ...], original: PracticeWorld, cycles: Cycles, episodes: int
) -> tuple[float, ...]:
    """The student's success at every skill after some cycles."""
    q, seed = student(original, cycles, episodes), cycles[-1][0] if cycles else 0
    return success(q, original, skills, JUDGED, seed)


@dataclass(slots=True, kw_only=True)
class CycleState(TaskState):
    """The state of a training in cycles."""

    original: PracticeWorld
    cycles: Cycles = ()


@environment(
    "tasks/EnvGen-v0",
    family="text",
    tags=("generated-worlds", "teaching", "perfect-information", "chance"),
    paper=(
        "Zala et al. (2024), EnvGen: Generating and Adapting Environments via LLMs for Training "
        "Embodied Agents"
    ),
    splits={
        "crafting": {"original": "crafting"},
        "heist": {"original": "heist"},
        "drawn": {"original": "drawn", "practice": 60},
    },
)
@dataclass(frozen=True)
class EnvGen(TaskGame[CycleState]):
    """One player writes training worlds for a student that learns by Q-learning.

    Action n is the n-th of the preset lists of worlds (six, in Heist seven), the original one
    first. An observation is a float32 vector: the success at each skill (four, in Heist five), and
    cycles left. With a drawn world the lists are a large world and a small one on each of the eight
    grounds, and the observation ends with the ground of the original world. The return is the
    change of the mean success. A cycle trains a student, which takes tens of milliseconds.
    """

    turns: Turns = 4
    original: Annotated[
        Literal["crafting", "heist", "drawn"],
        Meta(
            description="the world in which the student is judged: crafting, a maze with locks, or "
            "crafting in a drawn world, for which worlds that suit another one teach little"
        ),
    ] = "crafting"
    practice: Annotated[
        int, Meta(ge=4, le=5000, description="episodes in which the student trains in a cycle")
    ] = 150

    rules_text = """
        A student learns to gather wood, to make a table, to make a pickaxe and to gather stone, in
        this order of need, in a world that you can change for its training. It is judged in the
        original world.

        In each cycle write one to six training worlds as a JSON list: Configure(worlds='[{"size":
        3, "trees": 4, "stones": 2, "wood": 1, "table": false, "pickaxe": false}]'). size is the
        side of the grid, 2 to 8; wood, table and pickaxe are what the student has at the start. The
        student trains in your worlds and in the original one in turn, and you read its success. You
        are paid the change of its mean success.
    """
    perfect_information = True
    deterministic = False  # the luck of each training
    pays_score = False
    reward_terms = ("gain",)
    payoff_bounds = (-1.0, 1.0)
    feature_bounds = (0.0, 1e4)
    action_types = (Configure,)

    @property
    def training(self) -> Training:
        """What the student is trained for."""
        return TRAININGS[self.original]

    @property
    def num_features(self) -> int:
        return len(self.training.skills) + 1 + (self.original == "drawn")

    def rules_for(self, seat: int) -> str:
        own = OWN_RULES.get(self.original)
        return paragraphs(own) if own else super().rules_for(seat)

    @property
    def menu(self) -> tuple[TextAction, ...]:  # type: ignore[override]
        return tuple(Configure(worlds_text(worlds)) for worlds in self.training.presets)

    def initial_state(self, seed: int | None = None) -> CycleState:
        rng, world = Rng.seeded(check_seed(seed)), self.training.original
        if self.original == "drawn":
            world = crafting.draw_original(Rng.seeded(rng.word(), 83))
        return CycleState(rng=rng, original=world)

    def success(self, state: CycleState) -> tuple[float, ...]:
        """The student's success at every skill."""
        return self._rates(state, state.cycles)

    def _rates(self, state: CycleState, cycles: Cycles) -> tuple[float, ...]:
        return success_rates(self.training.skills, state.original, cycles, self.practice)

    def statement(self, state: CycleState, seat: int) -> str:
        return f"The original world: {msgspec.json.encode(state.original).decode()}"

    def notes(self, state: CycleState, seat: int) -> tuple[str, ...]:
        found = zip(self.training.skills, self.success(state), strict=True)
        return ("Success: " + ", ".join(f"{skill} {share:.2f}" for skill, share in found) + ".",)

    def options(self, state: CycleState, seat: int) -> tuple[Option, ...]:
        samples = (*(worlds_text(worlds) for worlds in self.training.presets), "[]")
        return (Option(Configure, {"worlds": Text(4000, samples)}),)

    def respond(self, state: CycleState, seat: int, action: Any) -> Reply:
        try:
            worlds = read_worlds(action.worlds, self.training.world)
        except ValueError as error:
            return Reply(f"Refused: {error}. Nothing was trained.", kind="refusal")
        before = mean(self.success(state))
        state.cycles = (*state.cycles, (state.rng.word(), worlds))
        after = mean(self.success(state))
        text = f"The student has trained; mean success {before:.3f} -> {after:.3f}."
        gain = after - before
        return Reply(text, {"success": after}, {"gain": gain} if gain else {}, kind="training")

    def settle(self, state: CycleState) -> Final:
        found = self.success(state)
        start = self._rates(state, ())
        score = mean(found) - mean(start)
        facts: dict[str, Any] = dict(zip(self.training.skills, found, strict=True))
        return solo(score, f"The mean success rose by {score:.3f}.", **facts)

    def features(self, state: CycleState, seat: int) -> list[float]:
        ground = getattr(state.original, "ground", None)
        drawn = () if ground is None else (float(ground),)
        return [*self.success(state), float(self.turns - len(state.past)), *drawn]

    def picture(self, state: CycleState, seat: int | None) -> tuple[Part, ...]:
        """What is made of what, and how often the student comes that far."""
        skills = self.training.skills
        found, last = self.success(state), len(skills) - 1
        nodes = tuple(
            Node(f"{share:.0%}", "green" if share >= 0.5 else "red", skill, (at / last, 0.5))
            for at, (skill, share) in enumerate(zip(skills, found, strict=True))
        )
        links = tuple(Link(at, at + 1, directed=True) for at in range(len(skills) - 1))
        return (Graph(nodes, links),)


@agent("envgen-adaptive", kind="scripted")
class Adaptive(ScriptedAgent[EnvGen]):
    """Writes worlds that start just before the first skill which fails in half of the episodes.

    For a drawn world it writes a small one on the same ground.
    """

    def choose(self, turn: Turn[EnvGen]) -> Any:
        training = turn.game.training
        if turn.game.original == "drawn":
            return Configure(worlds_text(training.presets[1 + int(turn.observation[-1])]))
        found = turn.observation.tolist()[: len(training.skills)]
        weak = [n for n, share in enumerate(found) if share < 0.5]
        return Configure(worlds_text(training.presets[1 + weak[0] if weak else -1]))


@agent("envgen-original", kind="scripted")
class OnlyOriginal(ScriptedAgent[EnvGen]):
    """Trains the student in the original world alone."""

    def choose(self, turn: Turn[EnvGen]) -> Any:
        return Configure(worlds_text(turn.game.training.presets[0]))
