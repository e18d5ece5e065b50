"""Counsellors: patient, searching and blunt ones, and those that find out what helps a seeker."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from palestra import ScriptedAgent, Turn, agent

from palestra_tasks.clinic import seekers
from palestra_tasks.clinic.counselling import (
    CHAINS,
    LINES,
    MURMURS,
    OFFERED,
    PLACEHOLDER,
    Close,
    Counselling,
    Offer,
    Recall,
    Say,
    Speak,
    Touch,
)
from palestra_tasks.clinic.feelings import CALM, EMOTIONS, STAGES, SUITS


@agent("counsellor-patient", kind="scripted")
class PatientCounsellor(ScriptedAgent[Counselling]):
    """Makes the move that suits the last feeling heard; as the seeker it voices what it may.

    It fetches the scale before each session, which tells the feeling, and takes a seeker who voices
    a complaint for sad at least.
    """

    def choose(self, turn: Turn[Counselling]) -> Any:
        if turn.seat == 1:
            may = turn.position.split("New complaint to voice: ", 1)[1].splitlines()[0]
            feels = turn.position.split("You feel ", 1)[1].split(".", 1)[0]
            return Speak(MURMURS[feels] if may == "none" else may)
        if "Recall()" in turn.legal_text and ", move 1.\n" in turn.position:
            return Recall()
        move = SUITS[feeling_heard([event.text for event in turn.transcript])]
        return Say(move, LINES[move])


def feeling_heard(lines: Iterable[str]) -> int:
    """The place in EMOTIONS of the last feeling that what was said tells of."""
    feeling, voiced = CALM, 0
    for line in lines:
        murmur = next((n for n, words in enumerate(MURMURS.values()) if words in line), -1)
        scales = re.search(r"^Scales .*?(\d+)\. (?:There was|After)", line)
        if scales:
            healthy = 2 * (STAGES - voiced) + 2
            feeling = len(EMOTIONS) - 1 - (int(scales[1]) - healthy) // 3
        elif murmur >= 0:
            feeling = murmur
        elif any(words in line for chain in CHAINS for words in chain):
            feeling, voiced = max(feeling, CALM), voiced + 1
    return feeling


@agent("counsellor-searching", kind="scripted")
class SearchingCounsellor(PatientCounsellor):
    """As `counsellor-patient`, and touches a topic in every third move, from the outside inwards.

    A topic that was touched in the session is not touched again in it.
    """

    order = ("sleep", "body", "free time", "study", "friends", "work", "family", "self")

    def choose(self, turn: Turn[Counselling]) -> Any:
        found = re.search(r"move (\d+)\.\nComplaints heard so far: (\d)", turn.position)
        if turn.seat == 0 and found and "Touch(" in turn.legal_text and int(found[1]) % 3 == 2:
            done = turn.position.split("Topics touched: ", 1)[1].split(".", 1)[0].split(", ")
            start = 2 * int(found[2])
            fresh = [t for t in self.order[start:] + self.order[:start] if t not in done]
            if fresh:
                return Touch(fresh[0], f"How is it with {fresh[0]}?")
        return super().choose(turn)


@agent("counsellor-tracing", kind="solver")
class TracingCounsellor(PatientCounsellor):
    """Opens all that a generated seeker names, and offers the step that is left for each root.

    With a chain of complaints it does as `counsellor-patient`.
    """

    thorough: ClassVar[bool] = True

    def choose(self, turn: Turn[Counselling]) -> Any:
        if "Offer(" not in turn.legal_text:
            return Speak(PLACEHOLDER) if "Talking about:" in turn.position else super().choose(turn)
        if "Recall()" in turn.legal_text and "Session 1 of" not in turn.position:
            return Recall()
        heard = Heard(turn.position)
        topic = heard.next_offer(thorough=self.thorough)
        if topic:
            return Offer(topic, heard.step(topic), OFFERED)
        topic = heard.next_topic(thorough=self.thorough)
        if not topic:
            return Close()
        if heard.about != topic:
            return Touch(topic, f"How is it with {topic}?")
        move = heard.next_move(topic)
        return Say(move, LINES[move])


@agent("counsellor-quick", kind="scripted")
class QuickCounsellor(TracingCounsellor):
    """As `counsellor-tracing`, and offers a step for a root as soon as it has opened."""

    thorough = False


@dataclass(frozen=True, slots=True)
class Heard:
    """What the position of a counsellor says of a generated seeker."""

    position: str

    @property
    def about(self) -> str:
        return re.findall(r"^Talking about: (.*)\.$", self.position, re.MULTILINE)[-1]

    def told(self) -> dict[str, str]:
        """By topic that has opened, what was told."""
        form = r"^The seeker opens up about (.+?): (.*)$"
        return dict(re.findall(form, self.position, re.MULTILINE))

    def cause(self, topic: str) -> str:
        """The topic from which one comes; empty for a root."""
        found = re.search(r"It comes from (.+?)\.", self.told()[topic])
        return found[1] if found else ""

    def effects(self, topic: str) -> list[str]:
        found = re.search(r"It weighs on (.+?)\.", self.told()[topic])
        return found[1].split(", ") if found else []

    def named(self) -> list[str]:
        found = re.findall(r"what weighs on them: (.*)\.", self.position)[0].split(", ")
        for topic in found:
            if topic in self.told():
                around = [self.cause(topic), *self.effects(topic)]
                found += [one for one in around if one and one not in found]
        return list(found)

    def offered(self) -> list[str]:
        return re.findall(r"up the step for (.+?):", self.position)

    def tree(self, root: str) -> list[str]:
        """The topics that are known to come from a root, and the root."""
        found = [root]
        for topic in found:
            found += self.effects(topic) if topic in self.told() else []
        return found

    def next_offer(self, *, thorough: bool) -> str:
        """A root that may be offered a step now; empty for none."""
        roots = [t for t in self.told() if not self.cause(t) and t not in self.offered()]
        ready = [t for t in roots if not thorough or self.tree(t) == self._opened(self.tree(t))]
        return next(iter(ready), "")

    def _opened(self, topics: list[str]) -> list[str]:
        return [topic for topic in topics if topic in self.told()]

    def step(self, root: str) -> str:
        """A step that suits the belief and was not told to have been tried."""
        told = self.told()
        suits = next(b["steps"] for b in seekers.BELIEFS.values() if b["says"] in told[root])
        tried = {re.findall(r"tried to (\w+)", told[t])[0] for t in self._opened(self.tree(root))}
        return next(step for step in suits if step not in tried)

    def next_topic(self, *, thorough: bool) -> str:
        """A named topic that has not opened; empty for none that matters."""
        closed = [topic for topic in self.named() if topic not in self.told()]
        if self.about in closed:
            return self.about
        if not thorough:
            done = {one for root in self.offered() for one in self.tree(root)}
            causes = {self.cause(topic) for topic in self.told()}
            first = re.findall(r"what weighs on them: (.*)\.", self.position)[0].split(", ")
            closed = [topic for topic in closed if topic in {*causes, *first} - done]
        return next(iter(closed), "")

    def next_move(self, topic: str) -> str:
        """The move that is known to reach the seeker in their manner, or one not yet tried."""
        manner = re.findall(rf"The seeker is (\w+) about {topic} and", self.position)[-1]
        known = re.findall(r"^Reached: (.*)\. Missed: (.*)\.$", self.position, re.MULTILINE)[-1]
        reached, missed = (
            [one.split()[1] for one in some.split(", ") if one.startswith(manner)] for some in known
        )
        elsewhere = [one.split()[-1] for one in known[0].split(", ")]
        rest = [m for m in seekers.OPENERS if m not in (*missed, *elsewhere)]
        return (reached or rest)[0]


@agent("counsellor-blunt", kind="scripted")
class BluntCounsellor(ScriptedAgent[Counselling]):
    """Dismisses and advises, which drives trust away."""

    def choose(self, turn: Turn[Counselling]) -> Any:
        if turn.seat == 1:
            return Speak(PLACEHOLDER)
        move = ("dismiss", "advise")[turn.steps_played % 2]
        return Say(move, LINES[move])
