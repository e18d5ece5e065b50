"""What searches over workflows share: variants, what they ask for, and the archive they fill.

A search is a generator. It yields a `Question` to a model or `Trials` of a workflow and receives
the answer, and draws random numbers only from `studio.rng`. So a run that was killed is resumed by
running the search again with the answers that are on file, and nothing else has to be stored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias, TypeVar

import msgspec
from palestra import InvalidOption, Rng, Usage
from palestra.records.intervals import Interval, Sample

from palestra_adapters.optimisers.wording import LANGUAGE, as_text, read_proposal
from palestra_adapters.search.spots import Scale
from palestra_adapters.workflows.steps import Workflow, check_workflow

T = TypeVar("T")
SEEDS = 1 << 31
TRIES = 3  # proposals of one workflow, each told what was wrong with the one before
REFUSED = "{prompt}\n\nYour last reply:\n{reply}\n\nIt was refused: {error}. Write it again."


class Question(msgspec.Struct, frozen=True, tag="question"):
    """A question to the proposing model; the answer is a `Reply` in words."""

    system: str
    prompt: str
    temperature: float = 0.0
    seed: int = 0


class Trials(msgspec.Struct, frozen=True, tag="trials"):
    """Episodes of a workflow from `count` seeds, beginning with `first`; the answer: results."""

    workflow: Workflow
    first: int
    count: int


class Told(msgspec.Struct, frozen=True):
    """The answer to a question."""

    text: str
    usage: Usage = Usage()


class Choice(msgspec.Struct, frozen=True):
    """One decision of a played episode: what each step said, in order, and the move."""

    said: tuple[tuple[str, str], ...]
    move: str


class WorkflowEpisode(msgspec.Struct, frozen=True):
    """One episode of a workflow: its return, what it cost, what was seen and said."""

    seed: int
    returns: float
    usage: Usage = Usage()
    story: str = ""
    choices: tuple[Choice, ...] = ()


Searching: TypeAlias = Generator[Question | Trials, Any, T]
Reading: TypeAlias = Callable[[str], tuple[str, Workflow]]


@dataclass(slots=True, eq=False)
class Variant:
    """A workflow in the archive: where it is from, and how it did on the training seeds."""

    number: int
    workflow: Workflow
    parents: tuple[int, ...] = ()
    how: str = "start"
    note: str = ""
    played: list[WorkflowEpisode] = field(default_factory=list)
    asked: Usage = field(default_factory=Usage)  # what its proposal cost

    @property
    def episodes(self) -> int:
        return len(self.played)

    @property
    def mean(self) -> float:
        """Mean return on the training seeds played so far; minus infinity without any."""
        if not self.played:
            return float("-inf")
        return sum(one.returns for one in self.played) / len(self.played)

    @property
    def usage(self) -> Usage:
        """What its episodes cost."""
        return sum((one.usage for one in self.played), Usage())

    @property
    def interval(self) -> Interval:
        return interval([one.returns for one in self.played])


def interval(
    values: Sequence[float], bounds: tuple[float | None, float | None] = (None, None)
) -> Interval:
    """The mean with its 95 % interval, as `Sample.interval` gives it, inside `bounds`."""
    sample = Sample()
    for value in values:
        sample.add(value)
    return sample.interval(bounds=bounds)


@dataclass(slots=True)
class Studio:
    """What a search works with: the archive, the task in words, random numbers, training seeds.

    `task` is what a proposer may know: rules, and one opening position. `train` is the number of
    training seeds, played in order by every variant.
    """

    task: str
    scale: Scale
    rng: Rng
    train: int
    archive: list[Variant] = field(default_factory=list)

    def add(
        self,
        workflow: Workflow,
        parents: Sequence[Variant] = (),
        how: str = "start",
        note: str = "",
        asked: Usage | None = None,
    ) -> Variant:
        """A new variant of the archive; raises `InvalidOption` for steps that do not fit."""
        numbers = tuple(parent.number for parent in parents)
        number = len(self.archive)
        made = Variant(number, check_workflow(workflow), numbers, how, note, asked=asked or Usage())
        self.archive.append(made)
        return made

    def play(self, variant: Variant, count: int | None = None) -> Searching[list[WorkflowEpisode]]:
        """Play a variant on its next training seeds, by default on all that are left."""
        left = self.train - variant.episodes
        count = left if count is None else min(count, left)
        if count <= 0:
            return []
        found: list[WorkflowEpisode] = yield Trials(variant.workflow, variant.episodes, count)
        variant.played += found
        for one in found:
            self.scale.see(one.returns)
        return found

    def worth(self, variant: Variant) -> float:
        """The mean return scaled to [0, 1]; 0 for a variant that was never played."""
        return self.scale(variant.mean) if variant.played else 0.0

    def worths(self, variant: Variant) -> list[float]:
        """Every episode's return scaled to [0, 1]."""
        return [self.scale(one.returns) for one in variant.played]

    def ask(self, prompt: str, *, system: str = "", heat: float = 0.0) -> Searching[Told]:
        """A model's answer to a question about the task."""
        seed = self.rng.word() % SEEDS if heat else 0
        about = "\n\n".join(filter(None, (self.task, system)))
        return (yield Question(about, prompt, heat, seed))

    def propose(
        self,
        prompt: str,
        parents: Sequence[Variant] = (),
        how: str = "proposed",
        *,
        system: str = LANGUAGE,
        heat: float = 0.8,
        read: Reading = read_proposal,
    ) -> Searching[Variant | None]:
        """A workflow that the model writes, as `accept` takes it."""
        told = yield from self.ask(prompt, system=system, heat=heat)
        return (
            yield from self.accept(told, prompt, parents, how, system=system, heat=heat, read=read)
        )

    def accept(
        self,
        told: Told,
        prompt: str,
        parents: Sequence[Variant] = (),
        how: str = "proposed",
        *,
        system: str = LANGUAGE,
        heat: float = 0.8,
        read: Reading = read_proposal,
    ) -> Searching[Variant | None]:
        """The workflow of a reply to `prompt`; the model is told what is wrong, and asked again.

        None after `TRIES` replies. A workflow that the archive has already is refused like one that
        does not work. read: the note and the workflow of a reply, or `InvalidOption`.
        """

        def new(text: str) -> tuple[str, Workflow]:
            note, workflow = read(text)
            self.refuse_known(workflow)
            return note, check_workflow(workflow)

        found, asked = yield from self.stated(told, prompt, new, system=system, heat=heat)
        return None if found is None else self.add(found[1], parents, how, found[0], asked)

    def stated(
        self,
        told: Told,
        prompt: str,
        read: Callable[[str], T],
        *,
        system: str = "",
        heat: float = 0.0,
    ) -> Searching[tuple[T | None, Usage]]:
        """What a reply to `prompt` states, and what was spent; the model is told what is wrong.

        None after `TRIES` replies. read: what a reply states, or `InvalidOption`.
        """
        asked = told.usage
        for tries in range(1, TRIES + 1):
            try:
                return read(told.text), asked
            except InvalidOption as error:
                if tries < TRIES:
                    again = REFUSED.format(prompt=prompt, reply=told.text, error=error)
                    told = yield from self.ask(again, system=system, heat=heat)
                    asked += told.usage
        return None, asked

    def refuse_known(self, workflow: Workflow) -> None:
        """Raise `InvalidOption` if a variant has the same steps."""
        if (known := self.known(workflow)) is not None:
            raise InvalidOption(f"its steps are those of variant {known.number}; change them")

    def known(self, workflow: Workflow) -> Variant | None:
        """The variant that has the steps of a workflow, if there is one."""
        return next((one for one in self.archive if one.workflow.key == workflow.key), None)

    def listed(self, variants: Sequence[Variant]) -> str:
        """Variants with their scores, as a proposer reads them."""
        return "\n\n".join(self.shown(variant) for variant in variants)

    def shown(self, variant: Variant) -> str:
        """A variant with its score."""
        score = f"mean return {variant.mean:.3f} over {variant.episodes} episodes"
        calls = variant.usage.calls / max(1, variant.episodes)
        said = f"{score}, {calls:.1f} calls an episode" if variant.episodes else "not played"
        return f"Variant {variant.number}: {said}\n{as_text(variant.workflow)}"

    @property
    def best(self) -> Variant:
        """The variant of highest mean; ties go to the fewest calls, then to the oldest."""
        played = [variant for variant in self.archive if variant.played] or self.archive
        return max(played, key=lambda v: (v.mean, -v.usage.calls / max(1, v.episodes), -v.number))


class Search(ABC):
    """A rule by which workflows are proposed, played and chosen; options are keyword arguments."""

    name: ClassVar[str]
    paper: ClassVar[str]

    @abstractmethod
    def run(self, studio: Studio, start: Workflow) -> Searching[None]:
        """Fill the archive until nothing is left to do; the budget may end it before."""

    def choose(self, studio: Studio) -> Variant:
        """The variant that the search returns: by default that of the highest mean."""
        return studio.best


def start_with(studio: Studio, workflows: Sequence[Workflow]) -> Searching[list[Variant]]:
    """Add workflows that are not there yet, and play each on all training seeds."""
    added = []
    for workflow in workflows:
        if all(variant.workflow.key != workflow.key for variant in studio.archive):
            added.append(studio.add(workflow))
            yield from studio.play(added[-1])
    return added
