"""Shared memory: one player keeps notes of a long talk, another answers questions from the notes.

The builder reads a friend's remarks one by one, each a fact such as "Ana's job is nurse"; a later
remark on the same thing replaces an earlier one. After each the builder puts it into a slot of the
memory, over what was there, or skips it. Then the retriever, who has heard nothing, reads the
memory and one question at a time, and names the slot with the answer. An answer is right if the
slot holds the friend's last word on what was asked; each pays both players 1 / `questions`.

From "Collaborative Multi-Agent Optimization for Personalized Memory System", 2025 (CoMAM), in which
agents that build and read a memory have rewards of their own beside the team's. The game reports
them as the fact `local`: for the builder the coverage, the share of the questions asked so far
whose answer is in the memory; for the retriever the share of those covered that it answered
rightly. The remarks are drawn from the seed; the paper's come from long dialogues with a user.

Checked by hand, and: a builder who keeps the first facts covers slots / facts of the questions.

Left out: the paper's long conversations: remarks are single facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Annotated, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    Integer,
    Meta,
    Option,
    Outcome,
    Rng,
    Scene,
    ScriptedAgent,
    Step,
    TextAction,
    TextGame,
    Turn,
    agent,
    environment,
    only,
)
from palestra.scene import Bar, Bars, Colour, Grid, Piece, Table, mark_cells, on_top

NAMES = ("Ana", "Ben", "Chloe", "Dan")
TOPICS = {
    "job": ("nurse", "cook", "pilot", "lawyer", "farmer"),
    "pet": ("dog", "cat", "parrot", "hamster", "goat"),
    "home": ("a flat", "a house", "a boat", "a farm", "a cabin"),
    "sport": ("tennis", "rowing", "judo", "running", "chess"),
}
KEYS = tuple(product(range(len(NAMES)), range(len(TOPICS))))
VALUES = 5  # of each topic
Fact = tuple[int, int]  # numbers of the key in KEYS and of the value
EMPTY = (-1, -1)
BUILDER, RETRIEVER = 0, 1


class Keep(TextAction, frozen=True):
    """Put the remark into a slot, over what is there."""

    slot: int


class Skip(TextAction, frozen=True):
    """Keep nothing of the remark."""


class Recall(TextAction, frozen=True):
    """Answer with what a slot holds."""

    slot: int


@dataclass(slots=True)
class Talk:
    """The state: the remarks and questions, and what became of them."""

    rng: Rng
    remarks: tuple[Fact, ...]
    asked: tuple[int, ...]  # keys; hidden until asked
    slots: tuple[int, ...]  # the number of the remark in each, -1 for none
    heard: int = 0  # remarks that were kept or skipped
    answers: tuple[int, ...] = ()  # slots, from 0


@environment(
    "text/SharedMemory-v0",
    family="text",
    tags=("cooperation", "hidden-information", "roles", "memory"),
    paper="Collaborative Multi-Agent Optimization for Personalized Memory System (2025)",
    splits={"held-out-long": {"remarks": 40, "slots": 10, "questions": 8}},
)
@dataclass(frozen=True)
class SharedMemory(TextGame[Talk]):
    """One player keeps notes of a long talk, another answers questions from the notes.

    The menu numbers Keep for every slot, Skip, then Recall for every slot. An observation is an
    int16 vector: the key and value of every slot, those of the remark to the builder, the key of
    the question to the retriever, -1 where there is none; then remarks and questions left. A key is
    4 * person + topic.
    """

    remarks: Annotated[int, Meta(ge=1, le=200, description="remarks in the talk")] = 14
    slots: Annotated[int, Meta(ge=1, le=20, description="slots of the memory")] = 5
    questions: Annotated[int, Meta(ge=1, le=50, description="questions after the talk")] = 4

    rules_text = """
        Two players work together. A friend talks about people; a later remark on the same thing
        replaces an earlier one.

        player_0, the builder, reads the remarks one by one and, after each, writes Keep(slot=…) to
        put it into a slot of the memory, over what is there, or Skip(). The memory holds little.

        Then player_1, the retriever, who has not heard the talk, reads the memory and one question
        at a time, and writes Recall(slot=…) for the slot with the answer. It is right if the slot
        holds the friend's last word on what was asked. Both are paid the same for right answers.
    """
    order = "sequential"
    payoffs = "common"
    num_players = 2
    perfect_information = False
    deterministic = True
    reward_terms = ("answers",)
    payoff_bounds = (0.0, 1.0)
    action_types = (Keep, Skip, Recall)

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        numbers = range(1, self.slots + 1)
        return (*map(Keep, numbers), Skip(), *map(Recall, numbers))

    # The rules

    def initial_state(self, seed: int | None = None) -> Talk:
        rng = Rng.seeded(seed)
        remarks = tuple(self._remark(rng) for _ in range(self.remarks))
        return Talk(rng, remarks, self._questions(remarks, rng), (-1,) * self.slots)

    @staticmethod
    def _remark(rng: Rng) -> Fact:
        return rng.below(len(KEYS)), rng.below(VALUES)

    def _questions(self, remarks: tuple[Fact, ...], rng: Rng) -> tuple[int, ...]:
        """Questions about things that were mentioned."""
        known = sorted({key for key, _ in remarks})
        return tuple(rng.choice(known) for _ in range(self.questions))

    def to_act(self, state: Talk) -> tuple[int, ...]:
        if state.heard < self.remarks:
            return (BUILDER,)
        return (RETRIEVER,) if len(state.answers) < self.questions else ()

    def legal(self, state: Talk, seat: int) -> Grammar:
        slot = {"slot": Integer(1, self.slots)}
        if seat == BUILDER:
            return Grammar((Option(Keep, slot), Option(Skip)))
        return Grammar((Option(Recall, slot),))

    def step(self, state: Talk, actions: Mapping[int, TextAction]) -> Step:
        ((seat, action),) = actions.items()
        if isinstance(action, Recall):
            return self._answer(state, action.slot - 1)
        text = "You skip the remark."
        if isinstance(action, Keep):
            slots = list(state.slots)
            slots[action.slot - 1] = state.heard
            state.slots = tuple(slots)
            text = f"You keep the remark in slot {action.slot}."
        state.heard += 1
        events = [Event("reveal", text, {"action": repr(action)}, only(seat))]
        if state.heard == self.remarks:
            events.append(Event("reveal", "The talk is over.", {}))
        return Step(events=events)

    def _answer(self, state: Talk, slot: int) -> Step:
        right = self.is_right(state, len(state.answers), slot)
        state.answers = (*state.answers, slot)
        text = f"You answer with slot {slot + 1}."
        events = [Event("reveal", text, {"slot": slot + 1}, only(RETRIEVER))]
        if not self.to_act(state):
            count = sum(self.is_right(state, n, s) for n, s in enumerate(state.answers))
            text = f"{count} of {self.questions} answers were right."
            events.append(Event("reveal", text, {"right": count}))
        paid = {"answers": 1 / self.questions}
        return Step({0: paid, 1: dict(paid)} if right else {}, events=events)

    def latest(self, state: Talk, key: int) -> int:
        """The number of the last remark about a key; -1 if there was none."""
        return max((n for n, fact in enumerate(state.remarks) if fact[0] == key), default=-1)

    def is_right(self, state: Talk, question: int, slot: int) -> bool:
        """Whether a slot says what is so about what was asked."""
        last = state.remarks[self.latest(state, state.asked[question])]
        return state.slots[slot] >= 0 and state.remarks[state.slots[slot]] == last

    def local(self, state: Talk) -> list[float]:
        """Each player's own reward so far: coverage, and right answers among those covered."""
        asked = range(len(state.answers))
        covered = [any(self.is_right(state, n, s) for s in range(self.slots)) for n in asked]
        right = sum(self.is_right(state, n, state.answers[n]) for n in asked)
        return [sum(covered) / max(len(covered), 1), right / max(sum(covered), 1)]

    def outcome(self, state: Talk) -> Outcome | None:
        if self.to_act(state):
            return None
        right = sum(self.is_right(state, n, slot) for n, slot in enumerate(state.answers))
        score = right / self.questions
        reason = f"{right} of {self.questions} answers were right"
        return Outcome(("score", "score"), (score, score), reason)

    def record_facts(self, state: Talk) -> dict[str, Any]:
        """The players' own rewards and roles, and the share of questions answered rightly."""
        right = sum(self.is_right(state, n, slot) for n, slot in enumerate(state.answers))
        return {
            "local": self.local(state),
            "progress": right / self.questions,
            "roles": ["builder", "retriever"],
        }

    def determinize(self, state: Talk, seat: int, rng: Rng) -> Talk:
        """Draw what a player has not read.

        That is remarks to come or not kept, questions to come, and for the retriever what the
        builder keeps, for the builder the answers.
        """
        imagined = self.clone(state)
        over = state.heard == self.remarks
        if seat == BUILDER:
            imagined.answers = tuple(rng.below(self.slots) for _ in state.answers)
        elif not over:
            heard = [-1] * self.slots + list(range(state.heard))
            rng.shuffle(heard)
            imagined.slots = tuple(heard[: self.slots])
        known = set(state.slots) if over or seat == BUILDER else set()
        known |= set(range(state.heard + 1)) if seat == BUILDER else set()
        imagined.remarks = tuple(
            fact if n in known else self._remark(rng) for n, fact in enumerate(state.remarks)
        )
        shown = state.asked[: len(state.answers) + 1] if over else ()
        fixed = shown if seat == RETRIEVER else ()
        free = [n for n in range(self.remarks) if n not in known]
        imagined.remarks = self._mention(imagined.remarks, fixed, free, rng)
        drawn = self._questions(imagined.remarks, rng)
        imagined.asked = (*fixed, *drawn[len(fixed) :])
        imagined.rng = Rng.seeded(rng.word())
        return imagined

    @staticmethod
    def _mention(
        remarks: Sequence[Fact], asked: Sequence[int], free: Sequence[int], rng: Rng
    ) -> tuple[Fact, ...]:
        """The remarks, of which `free` ones are changed until all that was asked is mentioned."""
        changed = list(remarks)
        for key in sorted(set(asked)):
            counts = Counter(about for about, _ in changed)
            if not counts[key]:
                spare = [n for n in free if changed[n][0] not in asked or counts[changed[n][0]] > 1]
                changed[rng.choice(spare)] = (key, rng.below(VALUES))
        return tuple(changed)

    # What the players see

    def rules_for(self, seat: int) -> str:
        return (
            f"{super().rules_for(seat)}\nYou are the {('builder', 'retriever')[seat]}. There are "
            f"{self.remarks} remarks, {self.slots} slots and {self.questions} questions."
        )

    def describe(self, state: Talk, seat: int) -> str:
        if seat == RETRIEVER and state.heard < self.remarks:
            return f"The builder listens to the friend: remark {state.heard + 1} of {self.remarks}."
        lines = ["Memory:"]
        for number, remark in enumerate(state.slots, 1):
            lines.append(f"- slot {number}: {said(state.remarks[remark]) if remark >= 0 else '–'}")
        acting = self.to_act(state)
        if seat == BUILDER and acting == (BUILDER,):
            now = said(state.remarks[state.heard])
            lines.append(f"Remark {state.heard + 1} of {self.remarks}: {now}")
        elif seat == RETRIEVER and acting == (RETRIEVER,):
            person, topic = KEYS[state.asked[len(state.answers)]]
            question = f"What is {NAMES[person]}'s {list(TOPICS)[topic]}?"
            lines.append(f"Question {len(state.answers) + 1} of {self.questions}: {question}")
        return "\n".join(lines)

    @cached_property
    def _space(self) -> spaces.Box:
        return spaces.Box(-1, 200, (2 * self.slots + 5,), np.int16)

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    def observe(self, state: Talk, seat: int) -> NDArray[np.int16]:
        """The observation vector; the class docstring gives the layout."""
        shown = seat == BUILDER or state.heard == self.remarks
        held = [state.remarks[n] if shown and n >= 0 else EMPTY for n in state.slots]
        acting = self.to_act(state)
        remark = state.remarks[state.heard] if acting == (BUILDER,) and seat == BUILDER else EMPTY
        asks = acting == (RETRIEVER,) and seat == RETRIEVER
        question = state.asked[len(state.answers)] if asks else -1
        left = self.remarks - state.heard, self.questions - len(state.answers)
        return np.array([*np.ravel(held), *remark, question, *left], np.int16)

    def scene(self, state: Talk, seat: int | None = None) -> Scene:
        """The memory as people and topics, the slots, and what is heard or asked now.

        A spectator sees what is out of date (red) and what was not kept (grey).
        """
        told = self._now(state, seat)
        if seat == RETRIEVER and state.heard < self.remarks:
            return Scene(lines=(told,))
        asking = state.heard == self.remarks
        done, full = (len(state.answers), self.questions) if asking else (state.heard, self.remarks)
        bars = [Bar("questions" if asking else "remarks", done, full, int(asking))]
        if seat is None and asking:
            right = sum(self.is_right(state, n, slot) for n, slot in enumerate(state.answers))
            bars.append(Bar("right answers", right, self.questions, "green"))
        return Scene(
            told, parts=(self._facts(state, seat), self._slots(state, seat), Bars(tuple(bars)))
        )

    def _now(self, state: Talk, seat: int | None) -> str:
        """What is heard or asked now, as far as a seat may know."""
        acting = self.to_act(state)
        shown = acting[0] if seat is None and acting else seat or 0
        if not acting:
            return "The questions are answered."
        last = self.describe(state, shown).split("\n")[-1]
        return "" if last.startswith(("Memory", "-")) else last

    def _colour(self, state: Talk, remark: int, seat: int | None) -> Colour:
        """Green for what is held, red for a spectator if the friend has said otherwise since."""
        key, value = state.remarks[remark]
        heard = [fact for fact in state.remarks[: state.heard] if fact[0] == key]
        return "red" if seat is None and heard and heard[-1][1] != value else "green"

    def _facts(self, state: Talk, seat: int | None) -> Grid:
        """By person and topic the slot that holds it; what is heard or asked now is marked."""
        cells: list[Piece | None] = [None] * len(KEYS)
        for number, remark in enumerate(state.slots, 1):
            if remark >= 0:
                key, colour = state.remarks[remark][0], self._colour(state, remark, seat)
                cells[key] = on_top(
                    cells[key], Piece(str(number), colour, label=said(state.remarks[remark]))
                )
        if seat is None:
            for key, _ in state.remarks[: state.heard]:
                cells[key] = cells[key] or Piece("?", "silver", "disc", "not kept")
        width, acting = len(TOPICS), self.to_act(state)
        now = []
        if acting and seat in (None, acting[0]):
            key = (
                state.remarks[state.heard][0]
                if acting == (BUILDER,)
                else state.asked[len(state.answers)]
            )
            now = [divmod(key, width)]
        rows = tuple(tuple(cells[n : n + width]) for n in range(0, len(cells), width))
        return Grid(rows, NAMES, tuple(TOPICS), marks=mark_cells("target", now))

    def _slots(self, state: Talk, seat: int | None) -> Table:
        rows = tuple(
            (str(number), said(state.remarks[remark]) if remark >= 0 else "empty")
            for number, remark in enumerate(state.slots, 1)
        )
        colours = tuple(
            self._colour(state, remark, seat) if remark >= 0 else -1 for remark in state.slots
        )
        return Table(("slot", "what it holds"), rows, colours=colours)


def said(fact: Fact) -> str:
    """A fact as the friend says it."""
    person, topic = KEYS[fact[0]]
    name = list(TOPICS)[topic]
    return f"{NAMES[person]}'s {name} is {TOPICS[name][fact[1]]}."


@agent("memory-keeper", kind="solver")
class MemoryKeeper(ScriptedAgent[SharedMemory]):
    """Keeps what is new while there is room, replaces what has changed, and finds what is asked."""

    def __init__(self) -> None:
        super().__init__(seed=0)

    def choose(self, turn: Turn[SharedMemory]) -> TextAction:
        keys = turn.observation[: 2 * turn.game.slots : 2].tolist()
        remark, question = turn.observation[-5].item(), turn.observation[-3].item()
        wanted = remark if turn.seat == BUILDER else question
        if wanted in keys:
            slot = keys.index(wanted) + 1
            return Keep(slot) if turn.seat == BUILDER else Recall(slot)
        if turn.seat == RETRIEVER:
            return Recall(1)
        return Keep(keys.index(-1) + 1) if -1 in keys else Skip()
