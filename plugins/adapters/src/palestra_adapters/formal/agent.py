"""`formal`: an agent whose behaviour, and whose moves, a temporal formula specifies.

Crouse et al., "Formally Specifying the High-Level Behavior of LLM-Based Agents", 2023. The paper
constrains the decoder; here the model is offered only the tags that the formula's automaton still
allows, so that no word outside the formula can be produced.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated, Any

from palestra import Decision, InvalidOption, Meta, Turn, agent
from palestra.agents.models import Message, Reply
from palestra.phrasing.wording import answer_form
from palestra.quoting import quote

from palestra_adapters.adapter import Adapter, legal_move, rules_of, said_in, story
from palestra_adapters.formal.ltl import Automaton, State, atoms, parse, subsets
from palestra_adapters.texts import join_lines, refusal
from palestra_adapters.thinking import Thinking
from palestra_adapters.workflows.steps import ToolStep
from palestra_adapters.workflows.tools import use_tool

ACTION = "action"
LOOKAHEAD = "lookahead"
BEHAVIOURS = {
    "plain": "action",
    "react": "thought & X action",
    "reflexion": "thought & X(draft & X(critique & X action))",
    "tool-first": "lookahead & X(thought & X action)",
}
CLOSED = f"F {ACTION} & G({ACTION} -> N false)"  # the action is there, and it is the last tag
WRITE = {
    "thought": "Write what matters in the position, briefly. Do not answer with a move yet.",
    "draft": "Write the move that you would play, and why.",
    "critique": "Write what could be wrong with what you have written.",
    "plan": "Write a plan in one or two sentences.",
}
LONGEST = 12  # tags of a decision
FEW = 6  # atoms of a formula over moves
TRIES = 2


@dataclass(slots=True)
class Course:
    """The moves of an episode so far, as the state of the automaton over moves."""

    state: State
    before: State
    step: int = -1


@agent(
    "formal",
    kind="llm",
    summary="Keeps to a temporal formula: which kinds of text precede a move, and which moves.",
    paper="Formally Specifying the High-Level Behavior of LLM-Based Agents (2023)",
)
class Formal(Adapter):
    """Writes a word of tagged texts for every decision; the automaton allows or forbids each tag.

    behaviour: a formula over tags, or `plain`, `react`, `reflexion`, `tool-first`. Any name is a
    tag: the model writes a text under it; `lookahead` is a tool, and `action`, which is always the
    last, is the move. Where several tags are allowed the model chooses one. moves: a formula over
    an episode's own moves; its atoms are patterns of moves in quotes, such as "Go(*)". Moves after
    which it cannot be satisfied any more are not accepted. The fact `tags` has the word, and
    `violation` is true where no legal move was allowed.
    """

    def __init__(
        self,
        *,
        behaviour: Annotated[str, Meta(description="a formula over tags, or a name")] = "react",
        moves: Annotated[str, Meta(description="a formula over moves")] = "",
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        formula = parse(f"({BEHAVIOURS.get(behaviour, behaviour)}) & {CLOSED}")
        self._tags = atoms(formula)
        self._automaton = Automaton.of(formula, [frozenset([tag]) for tag in self._tags])
        self._moves: Automaton | None = None
        self._patterns: list[str] = []
        if moves:
            over = parse(moves)
            self._patterns = atoms(over)
            if len(self._patterns) > FEW:
                raise InvalidOption(f"a formula over moves has at most {FEW} atoms")
            self._moves = Automaton.of(over, list(subsets(self._patterns)))
        self._courses = self.by_seat(Course)

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        allowed = self._moves_by_formula(turn)
        said: list[tuple[str, str]] = []
        state = self._automaton.start
        while True:
            tag = yield from self._next_tag(turn, advice, state, said)
            if tag == ACTION:
                break
            said.append((tag, (yield from self._text(turn, advice, tag, said))))
            state = self._automaton.moves[state, frozenset([tag])]
        text, reply = yield from self._act(turn, advice, said, allowed)
        decision = self.decide(turn, reply, "\n".join(f"{t}: {s}" for t, s in said))
        decision.text = text
        tags = [*(t for t, _ in said), ACTION]
        decision.facts = {**decision.facts, "tags": tags, "violation": allowed == []}
        self._note(turn, text)
        return decision

    # Tags

    def _next_tag(
        self, turn: Turn, advice: str, state: State, said: list[tuple[str, str]]
    ) -> Thinking[str]:
        """The next tag: the only one allowed, or the model's choice among them."""
        open_ = [tag for letter in self._automaton.allowed(state) for tag in letter]
        if ACTION in open_ and len(said) >= LONGEST:
            return ACTION
        if len(open_) == 1:
            return open_[0]
        asked = f"What comes next? Answer with one of: {', '.join(open_)}."
        messages = self._messages(turn, advice, said, asked)
        (reply,) = yield [self.ask(messages, **self.held_to(open_))]
        chosen = said_in(reply).strip().strip(".").lower()
        return chosen if chosen in open_ else ACTION if ACTION in open_ else open_[0]

    def _text(
        self, turn: Turn, advice: str, tag: str, said: list[tuple[str, str]]
    ) -> Thinking[str]:
        if tag == LOOKAHEAD:
            return use_tool(ToolStep(LOOKAHEAD), turn, self.rng)
        order = WRITE.get(tag, f"Write the {tag}. Do not answer with a move yet.")
        (reply,) = yield [self.ask(self._messages(turn, advice, said, f"{tag}: {order}"))]
        return said_in(reply).removeprefix(f"{tag}:").strip()

    def _messages(
        self, turn: Turn, advice: str, said: list[tuple[str, str]], asked: str
    ) -> list[Message]:
        rules = rules_of(turn, advice)
        lines = [f"{tag}: {text if tag == LOOKAHEAD else quote(text)}" for tag, text in said]
        return self.single(rules, "\n".join([story(turn), *lines, asked]))

    # Moves

    def _letter(self, move: str) -> frozenset[str]:
        return frozenset(p for p in self._patterns if fnmatchcase(move, p))

    def _moves_by_formula(self, turn: Turn) -> list[str] | None:
        """The legal moves that the formula allows; None without a formula over moves."""
        if self._moves is None:
            return None
        course = self._course(turn, self._moves)
        ways = self._moves.moves
        return [
            move
            for move in turn.legal_texts
            if ways[course.state, self._letter(move)] in self._moves.live
        ]

    def _course(self, turn: Turn, automaton: Automaton) -> Course:
        key = turn.episode_key, turn.seat
        course = self._courses.setdefault(key, Course(automaton.start, automaton.start))
        if course.step == turn.steps_played:  # the last move was refused
            course.state = course.before
        return course

    def _note(self, turn: Turn, text: str) -> None:
        if self._moves is None:
            return
        course = self._course(turn, self._moves)
        course.before, course.step = course.state, turn.steps_played
        course.state = self._moves.moves[course.state, self._letter(text)]

    def _act(
        self, turn: Turn, advice: str, said: list[tuple[str, str]], allowed: list[str] | None
    ) -> Thinking[tuple[str, Reply]]:
        """A move that the formula allows: the model's, or the first allowed after `TRIES`."""
        only = (
            f"By your rules of behaviour you may now play only: {', '.join(allowed)}."
            if allowed
            else ""
        )
        refused = refusal(turn, "Your last answer")
        form = answer_form(turn.game, turn.seat)
        text = ""
        for _ in range(TRIES):
            lines = join_lines(only, refused, f"{ACTION}: {form}")
            messages = self._messages(turn, advice, said, lines)
            held = self.held_to(allowed) if allowed else {}
            (reply,) = yield [self.ask(messages, **held) if allowed else self.move(turn, messages)]
            text = said_in(reply).removeprefix(f"{ACTION}:").strip()
            move = legal_move(turn, text)
            if not allowed or move in allowed:
                return move or text, reply
            refused = f"Your last answer was refused: {quote(text)}"
        return allowed[0] if allowed else text, reply
