"""CRMArena by function calls: the desk's questions, answered with typed tools instead of pages.

The tools look up and count; the caller compares, breaks ties and knows the policies. Questions,
organisation and rewards are those of `web/CRMDesk-v0` (see `desk.py`). The paper also lets agents
work with either queries or functions (Huang et al., 2025).

Checked: an agent that only calls tools and compares in Python always earns 1.

Left out: the authors' organisation and its records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from palestra import Event, Option, Outcome, Rng, Scene, Text, environment
from palestra.kernel.rng import check_seed
from palestra.scene import Lines, Part, Table

from palestra_web.crm.database import sql_text
from palestra_web.crm.desk import Ticket
from palestra_web.crm.organisation import FIRST_DAY, TODAY
from palestra_web.crm.tasks import (
    ABOUT,
    MINUTES,
    NONE,
    Cases,
    DeskSeed,
    QuestionSource,
    TaskKind,
    grade,
    question,
    question_source,
)
from palestra_web.tools.answers import answer_part, call_grid
from palestra_web.tools.declare import Answer, Call, Parameter, Program, Tool
from palestra_web.tools.game import AllowPrograms, MaxCalls, Reply, ToolGame, ToolState

Values = Mapping[str, Any]
DAY = r"\d{4}-\d{2}-\d{2}"

_PERIOD = tuple(
    Parameter(name, Text(10, (day.isoformat(),)), f"the {name} day, as in {day.isoformat()}")
    for name, day in (("first", FIRST_DAY), ("last", TODAY))
)


def _id_parameter(what: str, example: str) -> Parameter:
    return Parameter(f"{what}_id", Text(10, (example,)), f"the id of the {what}, as in {example}")


TOOLS = (
    Tool("list_issues", "Every issue: id, name and what customers say."),
    Tool(
        "find_products",
        "Products whose name has these words: id, name, family.",
        (Parameter("words", Text(60, ("Pro",)), "part of a name"),),
    ),
    Tool(
        "search_articles",
        "Articles of the knowledge base with one of these words: id, title, body.",
        (Parameter("words", Text(100, ("refunds",)), "words, parted by blanks"),),
    ),
    Tool(
        "closed_by_agent", "Closed cases of an issue by agent.", (_id_parameter("issue", "S00001"),)
    ),
    Tool(
        "closed_of_product",
        "Closed cases about a product by agent.",
        (_id_parameter("product", "D00001"),),
    ),
    Tool("open_by_agent", "Cases not yet closed by agent; who has none is left out."),
    Tool(
        "handle_times",
        "Of the cases opened in a period, closed and never handed on, by agent: how many, and the "
        "average minutes from opening to closing.",
        _PERIOD,
    ),
    Tool(
        "cases_owned",
        "Of the cases opened in a period, by agent: how many the agent owned at some time.",
        _PERIOD,
    ),
    Tool(
        "cases_handed_on",
        "Of the cases opened in a period, by agent: how often the agent handed one on.",
        _PERIOD,
    ),
    Tool(
        "get_case",
        "A case, and the day its product was ordered.",
        (_id_parameter("case", "C00001"),),
    ),
    Tool("get_conversation", "What was said in a case.", (_id_parameter("case", "C00001"),)),
    Tool(
        "purchases",
        "What a contact has ordered: product_id, product, day.",
        (_id_parameter("contact", "P00001"),),
    ),
    Tool(
        "issue_counts",
        "Cases about a product opened in a period by issue.",
        (_id_parameter("product", "D00001"), *_PERIOD),
    ),
    Tool("month_counts", "Cases about a product by month.", (_id_parameter("product", "D00001"),)),
    Tool(
        "region_times",
        "Of the cases opened in a period and closed, by region: how many, and the average minutes "
        "from opening to closing.",
        _PERIOD,
    ),
)


@dataclass(slots=True, kw_only=True)
class CallsState(ToolState):
    """The state of the desk by function calls."""

    ticket: Ticket  # the question and its answer


@environment(
    "web/CRMCalls-v0",
    family="tools",
    tags=("tools", "database", "hidden-information"),
    paper=(
        "Huang et al. (2025), CRMArena: Understanding the Capacity of LLM Agents to Perform "
        "Professional CRM Tasks in Realistic Environments"
    ),
    splits={"held-out": {"desk_seed": 1}},
)
@dataclass(frozen=True)
class CRMCalls(ToolGame[CallsState]):
    """CRMArena with tools: one player answers a question by calling typed tools.

    There are no numbered actions and no array observation: moves are `Call`, `Answer` and, with
    `programs`, `Program`. The answer ends the episode and pays from 0 to 1.
    """

    kind: TaskKind = "any"
    desk_seed: DeskSeed = 0
    cases: Cases = 1000
    max_calls: MaxCalls = 20
    programs: AllowPrograms = False

    rules_text = """
        You work at a service desk. Answer the question by calling tools, one call in every turn,
        such as purchases(contact_id='P00001'). Answer(text='U00003') answers and ends the game;
        "None" may be the right answer.
    """
    reward_terms = ("answer",)
    action_types = (Call, Program, Answer)
    closings = (Option(Answer, {"text": Text(1000, (NONE,))}),)

    @property
    def source(self) -> QuestionSource:
        return question_source(self.desk_seed, self.cases)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, 1.0)

    # The rules

    def initial_state(self, seed: int | None = None) -> CallsState:
        rng = Rng.seeded(check_seed(seed))
        task = self.source.draw(self.kind, rng)
        return CallsState(rng=rng, ticket=Ticket(task, self.source.answer(task)))

    def tools(self, state: CallsState) -> tuple[Tool, ...]:
        return TOOLS

    def execute(self, state: CallsState, tool: Tool, values: Values) -> Reply:
        for name in ("first", "last"):
            if name in values and not re.fullmatch(DAY, values[name]):
                return Reply(error=f"{name} must be a day as 2024-03-31, not {values[name]!r}")
        shape, query = QUERIES[tool.name]
        return Reply(shape(self.source.database.every(query(values))))

    def settle(self, state: CallsState) -> tuple[dict[str, float], list[Event]]:
        ticket = state.ticket
        if isinstance(state.closing, Answer):
            ticket.said = state.closing.text
            ticket.score = grade(ticket.task, ticket.said, ticket.truth)
        right = "right" if ticket.score == 1 else "not right"
        paid = {"answer": ticket.score} if ticket.score > 0 else {}
        return paid, [Event("verdict", f"This is {right}.", {"success": ticket.score == 1})]

    def record_facts(self, state: CallsState) -> dict[str, Any]:
        """Facts for the record; the stages are well-formed calls, an answer, and its grade."""
        said = isinstance(state.closing, Answer)
        score = max(0.0, state.ticket.score) if said else 0.0
        return {
            **super().record_facts(state),
            "progress": score,
            "stages": [self.well_formed(state), float(said), score],
        }

    def outcome(self, state: CallsState) -> Outcome | None:
        if self.to_act(state):
            return None
        won = state.ticket.score == 1
        return Outcome(("win" if won else "loss",), (max(0.0, state.ticket.score),))

    def determinize(self, state: CallsState, seat: int, rng: Rng) -> CallsState:
        """Draw any possible answer to this kind of question, regardless of earlier tool results."""
        other = self.clone(state)
        other.ticket.truth = self.source.possible_answer(other.ticket.task.kind, rng)
        return other

    # What the player observes

    def describe(self, state: CallsState, seat: int) -> str:
        asked = question(state.ticket.task)
        return (
            f"Today is {TODAY.isoformat()}.\nQuestion: {asked}\n"
            f"Calls made: {self.max_calls - self.calls_left(state)} of {self.max_calls}."
        )

    def scene(self, state: CallsState, seat: int | None = None) -> Scene:
        """Which tools were called, what the last call answered, and the question.

        For a spectator the right answer is gold, where it stands in what was answered.
        """
        used = self.max_calls - self.calls_left(state)
        caption = f"Calls made: {used} of {self.max_calls}"
        asked = Lines((question(state.ticket.task),))
        if seat is not None and state.programs_run:  # a program reads what the player does not
            return Scene(caption, parts=(asked, self.talk(state, seat)))
        parts: list[Part] = []
        if state.calls_made:
            right = state.ticket.truth if seat is None else ""
            parts.append(call_grid(state.calls_made, self.max_calls))
            parts.append(answer_part(state.calls_made[-1], right))
        if seat is None:
            parts.append(self._verdict(state))
        return Scene(caption, parts=(*parts, asked))

    def _verdict(self, state: CallsState) -> Table:
        """The right answer beside the player's."""
        ticket = state.ticket
        said = ticket.said if isinstance(state.closing, Answer) else "-"
        colour = "gold" if state.closing is None else "green" if ticket.score == 1 else "red"
        return Table(("right answer", "the player's"), ((ticket.truth, said),), colours=(colour,))


# What the tools look up

Rows = Sequence[tuple[Any, ...]]
Query = tuple[Callable[[Rows], Any], Callable[[Values], str]]


def _objects(*names: str) -> Callable[[Rows], Any]:
    """Rows as objects."""
    return lambda rows: [dict(zip(names, row, strict=True)) for row in rows]


def _averages(rows: Rows) -> Any:
    return {key: {"cases": count, "minutes": minutes} for key, count, minutes in rows}


def _in_period(values: Values) -> str:
    first, last = sql_text(values["first"]), sql_text(values["last"])
    return f"substr(c.opened, 1, 10) BETWEEN {first} AND {last}"


def _article_query(values: Values) -> str:
    words = values["words"].lower().split()
    tests = [f"instr(lower(title || ' ' || body), {sql_text(word)})" for word in words] or ["0"]
    return f"SELECT id, title, body FROM articles WHERE {' OR '.join(tests)} ORDER BY id"


_OWNER_CHANGES = "case_history h JOIN cases c ON c.id = h.case_id WHERE h.field = 'Owner'"
_CASE = ("id", "subject", "description", "contact_id", "issue_id", "owner_id", "status", "opened")

QUERIES: dict[str, Query] = {
    "list_issues": (
        _objects("id", "name", "description"),
        lambda v: "SELECT id, name, description FROM issues ORDER BY id",
    ),
    "find_products": (
        _objects("id", "name", "family"),
        lambda v: (
            "SELECT id, name, family FROM products WHERE "
            f"instr(lower(name), lower({sql_text(v['words'])})) ORDER BY id"
        ),
    ),
    "search_articles": (_objects("id", "title", "body"), _article_query),
    "closed_by_agent": (
        dict,
        lambda v: (
            "SELECT owner_id, COUNT(*) FROM cases WHERE status = 'Closed' "
            f"AND issue_id = {sql_text(v['issue_id'])} GROUP BY 1 ORDER BY 1"
        ),
    ),
    "closed_of_product": (
        dict,
        lambda v: (
            f"SELECT c.owner_id, COUNT(*) FROM {ABOUT} WHERE c.status = 'Closed' "
            f"AND p.id = {sql_text(v['product_id'])} GROUP BY 1 ORDER BY 1"
        ),
    ),
    "open_by_agent": (
        dict,
        lambda v: (
            "SELECT owner_id, COUNT(*) FROM cases WHERE status <> 'Closed' GROUP BY 1 ORDER BY 1"
        ),
    ),
    "handle_times": (
        _averages,
        lambda v: (
            f"SELECT c.owner_id, COUNT(*), AVG({MINUTES}) FROM cases c "
            f"WHERE c.status = 'Closed' AND {_in_period(v)} AND NOT EXISTS "
            "(SELECT 1 FROM case_history h WHERE h.case_id = c.id AND h.field = 'Owner' "
            "AND h.old_value <> '') GROUP BY 1 ORDER BY 1"
        ),
    ),
    "cases_owned": (
        dict,
        lambda v: (
            f"SELECT h.new_value, COUNT(DISTINCT c.id) FROM {_OWNER_CHANGES} AND {_in_period(v)} "
            "GROUP BY 1 ORDER BY 1"
        ),
    ),
    "cases_handed_on": (
        dict,
        lambda v: (
            f"SELECT h.old_value, COUNT(*) FROM {_OWNER_CHANGES} AND h.old_value <> '' "
            f"AND {_in_period(v)} GROUP BY 1 ORDER BY 1"
        ),
    ),
    "get_case": (
        _objects(*_CASE, "product", "ordered"),
        lambda v: (
            f"SELECT {', '.join(f'c.{name}' for name in _CASE)}, p.name, o.ordered "
            f"FROM {ABOUT} JOIN orders o ON o.id = i.order_id WHERE c.id = {sql_text(v['case_id'])}"
        ),
    ),
    "get_conversation": (
        lambda rows: [row[0] for row in rows],
        lambda v: (
            f"SELECT text FROM chats WHERE case_id = {sql_text(v['case_id'])} "
            f"UNION ALL SELECT text FROM emails WHERE case_id = {sql_text(v['case_id'])}"
        ),
    ),
    "purchases": (
        _objects("product_id", "product", "day"),
        lambda v: (
            "SELECT p.id, p.name, o.ordered FROM orders o JOIN order_items i "
            "ON i.order_id = o.id JOIN products p ON p.id = i.product_id "
            f"WHERE o.contact_id = {sql_text(v['contact_id'])} ORDER BY o.ordered, i.id"
        ),
    ),
    "issue_counts": (
        dict,
        lambda v: (
            f"SELECT c.issue_id, COUNT(*) FROM {ABOUT} "
            f"WHERE p.id = {sql_text(v['product_id'])} AND {_in_period(v)} GROUP BY 1 ORDER BY 1"
        ),
    ),
    "month_counts": (
        dict,
        lambda v: (
            f"SELECT substr(c.opened, 1, 7), COUNT(*) FROM {ABOUT} "
            f"WHERE p.id = {sql_text(v['product_id'])} GROUP BY 1 ORDER BY 1"
        ),
    ),
    "region_times": (
        _averages,
        lambda v: (
            f"SELECT a.region, COUNT(*), AVG({MINUTES}) FROM cases c JOIN accounts a "
            f"ON a.id = c.account_id WHERE c.status = 'Closed' AND {_in_period(v)} "
            "GROUP BY 1 ORDER BY 1"
        ),
    ),
}
