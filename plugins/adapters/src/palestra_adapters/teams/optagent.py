"""OptAgent: a debate over links that a meta-agent edits by the scores of what was said over them.

Bi et al., "OptAgent: Optimizing Multi-Agent LLM Interactions Through Verbal Reinforcement Learning
for Enhanced Reasoning", 2025. Members of different profiles answer, and answer again after reading
the members that are linked to them. One meta-agent grades every link that was used for robustness
and coherence and says why; another one reads the grades, and adds and removes links. The majority
of the last answers is played. The profiles and the wording are this package's own.

Left out: profiles made for one kind of task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from palestra import BudgetSpent, Decision, Meta, Turn, agent
from palestra.quoting import disarm, quote

from palestra_adapters.adapter import story
from palestra_adapters.teams.team import Answer, Team, agree, quote_answers
from palestra_adapters.texts import join_lines
from palestra_adapters.thinking import Ask, Thinking, together

PROFILES = (
    "You reason from the rules, step by step, and accept nothing that does not follow from them.",
    "You compare the possible moves with one another before you favour one.",
    "You look for what can go wrong with the move that seems best at first.",
    "You explain in plain words what matters most here, and decide by that.",
    "You work backwards from the result that is wanted.",
    "You check the facts that others rely on, one by one.",
)
GRADE = (
    "You judge a debate. {reader} answered:\n{before}\n\nThen it read:\n{messages}\n\nand answered "
    "again:\n{after}\n\nGrade each message that it read, from 0 to 10. Robustness: the message "
    "holds up against objections, and leads {reader} to a sound answer. Coherence: its steps fit "
    "together and speak to the question. Answer with one line for each message:\n"
    "Member NUMBER: robustness NUMBER, coherence NUMBER, and why in one sentence"
)
EDIT = (
    "You decide which members of a debate read which others, so that sound arguments reach those "
    "who need them and weak ones do not spread. {answers}\n\nThe links, each from the member that "
    "is read to the member that reads:\n{links}\n{history}\nWrite one line for each change, and "
    "nothing for a link that stays:\nAdd NUMBER -> NUMBER\nRemove NUMBER -> NUMBER"
)
GRADES = re.compile(
    r"^[^\w\n]*Member[^\w\n]+(\d{1,4})\b[^\d\n]{0,40}?robustness[^\d\n]{0,40}(\d{1,2})\b"
    r"[^\d\n]{0,40}?coherence[^\d\n]{0,40}(\d{1,2})\b[ .,:;-]*(.*)$",
    re.MULTILINE | re.IGNORECASE,
)
CHANGE = re.compile(
    r"^[^\w\n]*(add|remove)[^\w\n]+(?:member[^\w\n]+)?(\d{1,4})[^\w\n]+(?:member[^\w\n]+)?"
    r"(\d{1,4})\b",
    re.MULTILINE | re.IGNORECASE,
)
Link = tuple[int, int]  # the member that is read, and the member that reads


@dataclass(frozen=True, slots=True)
class Grade:
    """A meta-agent's grades of one message for its reader, from 0 to 10; None if not given."""

    robustness: float | None = None
    coherence: float | None = None
    why: str = ""


@agent(
    "optagent",
    kind="llm",
    summary="A debate whose links are edited in words, by grades of every message.",
    paper=(
        "OPTAGENT: Optimizing Multi-Agent LLM Interactions Through Verbal Reinforcement Learning "
        "for Enhanced Reasoning (2025)"
    ),
)
class OptAgent(Team):
    """`size` members debate for `rounds`; before each, links are edited by the grades so far.

    Each first answer is drawn from `samples`. links: those before the first edit, from all members
    to all others, around a ring, or none. The debate ends early where all members name one legal
    move. With several models joined by `+`, the last one grades and edits. Fact of a decision:
    `debate`, for every round its changes, its links and their grades; members count from 1.
    """

    def __init__(
        self,
        *,
        size: Annotated[int, Meta(ge=2, le=50, description="members of the team")] = 4,
        rounds: Annotated[int, Meta(ge=1, le=20, description="most rounds of debate")] = 3,
        samples: Annotated[
            int, Meta(ge=1, le=20, description="answers that a member's first one is drawn from")
        ] = 3,
        links: Annotated[
            Literal["all", "ring", "none"], Meta(description="links before the first edit")
        ] = "all",
        **settings: Any,
    ) -> None:
        super().__init__(size=size, **settings)
        self._rounds, self._samples, self._links = rounds, samples, links

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        answers = yield from together([self._first(turn, m, advice) for m in range(self.size)])
        links, debate = first_links(self._links, self.size), list[dict[str, Any]]()
        grades: dict[Link, Grade] = {}
        try:
            for _ in range(self._rounds):
                if agree(answers):
                    break
                text = yield from self._edit(turn, advice, answers, (links, grades), debate)
                before, links = links, edited(links, text, self.size)
                answered, answers = answers, (yield from self._round(turn, advice, answers, links))
                grades = yield from self._grade(turn, advice, links, answered, answers)
                debate.append(round_facts(before, links, grades))
        except BudgetSpent:
            pass  # the last answers are played
        decision = self.agreed(turn, answers)
        decision.facts = {**decision.facts, "debate": debate}
        return decision

    def _first(self, turn: Turn, member: int, advice: str) -> Thinking[Answer]:
        """One of several first answers, drawn so that members differ."""
        role = PROFILES[member % len(PROFILES)]
        drawn = yield from together(
            [self.answer(turn, member, advice, role) for _ in range(self._samples)]
        )
        return drawn[self.rng.below(self._samples)]

    def _round(
        self, turn: Turn, advice: str, answers: Sequence[Answer], links: frozenset[Link]
    ) -> Thinking[list[Answer]]:
        """Those who read somebody answer again, all at once; the others keep their answers."""
        reads = {m: [answers[i] for i in sources(links, m)] for m in range(self.size)}
        readers = [m for m in reads if reads[m]]
        new = yield from together(
            [self._again(turn, advice, answers[m], reads[m]) for m in readers]
        )
        given = dict(zip(readers, new, strict=True))
        return [given.get(m, answers[m]) for m in range(self.size)]

    def _again(
        self, turn: Turn, advice: str, own: Answer, heard: Sequence[Answer]
    ) -> Thinking[Answer]:
        before = f"You answered before:\n{_said(own)}"
        context = join_lines(advice, before, quote_answers(heard))
        return (
            yield from self.answer(turn, own.member, context, PROFILES[own.member % len(PROFILES)])
        )

    def _grade(
        self,
        turn: Turn,
        advice: str,
        links: frozenset[Link],
        before: Sequence[Answer],
        after: Sequence[Answer],
    ) -> Thinking[dict[Link, Grade]]:
        """The grades of every link, in one question for each member that read."""
        readers = [m for m in range(self.size) if sources(links, m)]
        asks = []
        for reader in readers:
            heard = quote_answers([before[i] for i in sources(links, reader)])
            text = GRADE.format(
                reader=f"Member {reader + 1}",
                before=_said(before[reader]),
                messages=heard,
                after=_said(after[reader]),
            )
            asks.append(self._meta(turn, advice, text))
        said = yield from self.hear(asks)
        found: dict[Link, Grade] = {}
        for reader, text in zip(readers, said, strict=True):
            given = read_grades(text)
            found |= {(i, reader): given.get(i, Grade()) for i in sources(links, reader)}
        return found

    def _edit(
        self,
        turn: Turn,
        advice: str,
        answers: Sequence[Answer],
        graded: tuple[frozenset[Link], dict[Link, Grade]],
        debate: Sequence[dict[str, Any]],
    ) -> Thinking[str]:
        """The changes of links that a meta-agent writes."""
        links, grades = graded
        lines = [_link_line(link, grades.get(link)) for link in sorted(links)]
        past = [f"Round {n + 1}: {_changes(one)}" for n, one in enumerate(debate)]
        text = EDIT.format(
            answers=quote_answers(answers),
            links="\n".join(lines) or "none",
            history="\n".join(["\nChanges so far:", *past, ""]) if past else "",
        )
        return (yield from self.hear([self._meta(turn, advice, text)]))[0]

    def _meta(self, turn: Turn, advice: str, text: str) -> Ask:
        last = len(self.models) - 1
        return self.about(turn, story(turn), advice, text, member=last, temperature=0.0)


def first_links(kind: str, size: int) -> frozenset[Link]:
    """The links before the first edit: `all`, `ring` (each is read by the next), or `none`."""
    if kind == "all":
        return frozenset((i, j) for i in range(size) for j in range(size) if i != j)
    return frozenset((i, (i + 1) % size) for i in range(size)) if kind == "ring" else frozenset()


def sources(links: Iterable[Link], reader: int) -> list[int]:
    """The members that a member reads."""
    return sorted(i for i, j in links if j == reader)


def edited(links: frozenset[Link], text: str, size: int) -> frozenset[Link]:
    """Links after the lines `Add 1 -> 2` and `Remove 1 -> 2` of a text, in their order.

    Members count from 1. A line that names a member that there is not, or one twice, says nothing.
    """
    kept = set(links)
    for verb, source, reader in CHANGE.findall(text):
        link = int(source) - 1, int(reader) - 1
        if link[0] != link[1] and all(0 <= member < size for member in link):
            (kept.add if verb.lower() == "add" else kept.discard)(link)
    return frozenset(kept)


def read_grades(text: str) -> dict[int, Grade]:
    """Grades by the member that is read, from 0; numbers above 10 count as 10."""
    return {
        int(member) - 1: Grade(min(10.0, float(robust)), min(10.0, float(coherent)), why.strip())
        for member, robust, coherent, why in GRADES.findall(text)
    }


def round_facts(
    before: frozenset[Link], links: frozenset[Link], grades: dict[Link, Grade]
) -> dict[str, Any]:
    """One round as it stands on the record; members count from 1."""
    return {
        "added": _numbers(links - before),
        "removed": _numbers(before - links),
        "links": _numbers(links),
        "grades": [[grades[link].robustness, grades[link].coherence] for link in sorted(links)],
    }


def _numbers(links: Iterable[Link]) -> list[list[int]]:
    return [[i + 1, j + 1] for i, j in sorted(links)]


def _link_line(link: Link, grade: Grade | None) -> str:
    name = f"{link[0] + 1} -> {link[1] + 1}"
    if grade is None or grade.robustness is None:
        return f"{name}: not graded"
    why = f" {quote(grade.why)}" if grade.why else ""
    return f"{name}: robustness {grade.robustness:g}, coherence {grade.coherence:g}{why}"


def _changes(facts: dict[str, Any]) -> str:
    lines = [f"{verb} {i} -> {j}" for verb in ("added", "removed") for i, j in facts[verb]]
    return ", ".join(lines) or "none"


def _said(answer: Answer) -> str:
    said = f"{quote(answer.reason)}\n" if answer.reason else ""
    return f"{said}Action: {disarm(answer.move or 'none')}"
