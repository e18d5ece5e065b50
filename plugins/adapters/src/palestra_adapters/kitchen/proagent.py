"""ProAgent: a cook that predicts its partner's next skill, and corrects the prediction.

The model reads the kitchen in words and names the partner's next skill and its own; a verifier
rejects skills whose preconditions do not hold, and says why; a path search carries skills out.
Zhang et al., "ProAgent: Building Proactive Cooperative Agents with Large Language Models", AAAI
2024.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated, Any

from palestra import Decision, Meta, Turn, agent
from palestra.quoting import quote

from palestra_adapters.adapter import Adapter, said_in
from palestra_adapters.kitchen.skills import SKILLS, View, did, look, way
from palestra_adapters.texts import join_lines
from palestra_adapters.thinking import Thinking

FORM = (
    "You choose skills; how to walk is done for you. Skills: {skills}.\n"
    "Answer in three lines:\n"
    "Analysis: what the kitchen needs next\n"
    "Intention: the skill your partner will do next\n"
    "Skill: the skill you do next"
)
_LINE = re.compile(r"^(Intention|Skill):\s*(.*)$", re.MULTILINE)


@dataclass(slots=True)
class Cook:
    """State of one seat: its skill, what it expects of the others, what has happened."""

    skill: str = ""
    started: View | None = None
    thought: str = ""
    expected: str = ""
    hands: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    blocked: int = 0  # steps of this skill without effect
    last: View | None = None
    move: str = ""


@agent(
    "proagent",
    kind="llm",
    plays=("grid/Kitchen-v0",),
    needs=("fork",),
    summary="Chooses skills and predicts the partner's next one.",
    paper="ProAgent: Building Proactive Cooperative AI with Large Language Models (2024)",
)
class ProAgent(Adapter):
    """Asks one question per skill, not per step; gives up a skill after `patience` blocked steps.

    A step without effect is followed by a random one. A skill that cannot be done is rejected; the
    model is asked up to `tries` times, then the cook waits a step. The question shows the last
    `notes` events.
    """

    def __init__(
        self,
        *,
        tries: Annotated[int, Meta(ge=1, description="skills asked for before the cook waits")] = 2,
        patience: Annotated[
            int, Meta(ge=1, description="blocked steps before a skill is given up")
        ] = 4,
        notes: Annotated[int, Meta(ge=0, description="past events that the question shows")] = 6,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._tries, self._patience, self._notes = tries, patience, notes
        self._cooks = self.by_seat(Cook)
        self.refused = 0  # skills rejected by the verifier

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        cook = self._cooks.setdefault((turn.episode_key, turn.seat), Cook())
        view = look(turn.fork(self.rng), turn.seat, float(turn.returns))
        self._watch(cook, view)
        thought = ""
        if self._is_finished(cook, view):
            yield from self._plan(turn, cook, view, advice)
            thought = cook.thought
        cook.move = self._step(turn, cook, view)
        cook.last = view
        return Decision(text=cook.move, thought=thought)

    def _step(self, turn: Turn, cook: Cook, view: View) -> str:
        """The next move of the skill, or a random move if the last one had no effect.

        Otherwise two cooks that block each other would wait forever.
        """
        wait = way(turn, SKILLS["wait"], self.rng) or [""]
        moves = way(turn, SKILLS[cook.skill], self.rng) or wait
        stuck = cook.last is not None and cook.last[:2] == view[:2] and cook.move not in wait
        if cook.skill != "wait" and (stuck or moves == wait):
            cook.blocked += 1
        return self.rng.choice(turn.legal_texts) if stuck else moves[0]

    def _watch(self, cook: Cook, view: View) -> None:
        """Note what the others have done since, and where the prediction was wrong."""
        for name, hand in view.others.items():
            done = did(cook.hands.get(name, hand), hand)
            if done:
                wrong = cook.expected and done not in cook.expected
                belief = f"; you expected: {quote(cook.expected)}" if wrong else ""
                cook.notes.append(f"{name} did: {done}{belief}.")
            cook.hands[name] = hand
        cook.notes = cook.notes[-self._notes :] if self._notes else []

    def _is_finished(self, cook: Cook, view: View) -> bool:
        """Whether another skill is needed because this one is done, impossible or blocked."""
        if cook.started is None or cook.skill == "wait":
            return True
        skill = SKILLS[cook.skill]
        if skill.done(cook.started, view) or skill.missing(view):
            cook.notes.append(f"You did: {cook.skill}.")
            return True
        if cook.blocked >= self._patience:
            cook.notes.append(f"There was no way to {cook.skill}.")
            return True
        return False

    def _plan(self, turn: Turn, cook: Cook, view: View, advice: str) -> Thinking[None]:
        """Ask for a skill until one can be done."""
        talk = [self.style.rules_message(turn.game.rules_for(turn.seat), self._form(advice))]
        lines = [turn.position, *cook.notes]
        talk.append(self.style.question("\n".join(lines)))
        cook.skill, cook.blocked, cook.started = "wait", 0, view
        for _ in range(self._tries):
            (reply,) = yield [self.ask(talk)]
            said = said_in(reply)
            found = dict(_LINE.findall(said))
            name = read_skill(found.get("Skill", said))
            why = "it is no skill" if name is None else SKILLS[name].missing(view)
            cook.thought, cook.expected = said, found.get("Intention", "").strip()
            if name is not None and not why:
                cook.skill = name
                return
            self.refused += 1
            again = f"{name or 'That'} cannot be done: {why}. Choose again."
            talk += [self.style.move(said), self.style.question(again)]

    def _form(self, advice: str) -> str:
        form = FORM.format(skills=", ".join(SKILLS))
        return join_lines(form, advice)


def read_skill(text: str) -> str | None:
    """The first skill named in a text."""
    lowered = text.lower().replace("_", " ")
    found = {lowered.find(name): name for name in SKILLS if name in lowered}
    return found[min(found)] if found else None
