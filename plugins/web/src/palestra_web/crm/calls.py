"""CRMArena by function calls: the desk's questions, answered with typed tools instead of pages.

The tools look up and count; comparing, breaking ties and knowing the policies is left to whoever
calls them. Questions, organisation and rewards are those of `web/CRMDesk-v0` (see `desk.py`): the
paper has its tasks done both ways, with queries and with functions (Huang et al., 2025). Known
answers checked: an agent that only calls tools and compares in Python always earns 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from palestra import Event, InvalidOption, Option, Outcome, Rng, Scene, Text, environment
from palestra.kernel.rng import check_seed

from palestra_web.crm.database import quoted
from palestra_web.crm.desk import Ticket
from palestra_web.crm.organisation import FIRST_DAY, TODAY
from palestra_web.crm.tasks import ABOUT, MINUTES, NONE, Desk, check_options, desk, grade, question
from palestra_web.tools.declare import Answer, Call, Parameter, Program, Tool
from palestra_web.tools.game import Reply, ToolGame, ToolState

Values = Mapping[str, Any]
DAY = r"\d{4}-\d{2}-\d{2}"

_PERIOD = tuple(
    Parameter(name, Text(10, (day.isoformat(),)), f"the {name} day, as in {day.isoformat()}")
    for name, day in (("first", FIRST_DAY), ("last", TODAY))
)


def _id(what: str, example: str) -> Parameter:
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
    Tool("closed_by_agent", "Closed cases of an issue by agent.", (_id("issue", "S00001"),)),
    Tool(
        "closed_of_product", "Closed cases about a product by agent.", (_id("product", "D00001"),)
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
    Tool("get_case", "A case, and the day its product was ordered.", (_id("case", "C00001"),)),
    Tool("get_conversation", "What was said in a case.", (_id("case", "C00001"),)),
    Tool(
        "purchases",
        "What a contact has ordered: product_id, product, day.",
        (_id("contact", "P00001"),),
    ),
    Tool(
        "issue_counts",
        "Cases about a product opened in a period by issue.",
        (_id("product", "D00001"), *_PERIOD),
    ),
    Tool("month_counts", "Cases about a product by month.", (_id("product", "D00001"),)),
    Tool(
        "region_times",
        "Of the cases opened in a period and closed, by region: how many, and the average minutes "
        "from opening to closing.",
        _PERIOD,
    ),
)


@dataclass(slots=True, kw_only=True)
class Calling(ToolState):
    """The state: the question, its answer, and what was said."""

    ticket: Ticket


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
class CRMCalls(ToolGame[Calling]):
    """You work at a service desk. Answer the question by calling tools, one call in every turn,
    such as purchases(contact_id='P00001'). Answer(text='U00003') answers and ends the game;
    "None" may be the right answer.
    """

    kind: str = "any"
    desk_seed: int = 0
    cases: int = 1000
    max_calls: int = 20
    programs: bool = False

    reward_terms = ("answer",)
    action_types = (Call, Program, Answer)
    closings = (Option(Answer, {"text": Text(1000, (NONE,))}),)

    def __post_init__(self) -> None:
        check_options(self.kind, self.desk_seed, self.cases)
        if not 1 <= self.max_calls <= 10_000:
            raise InvalidOption(f"max_calls must be from 1 to 10000, not {self.max_calls}")

    @property
    def desk(self) -> Desk:
        return desk(self.desk_seed, self.cases)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, 1.0)

    # The rules

    def initial_state(self, seed: int | None = None) -> Calling:
        rng = Rng.seeded(check_seed(seed))
        task = self.desk.draw(self.kind, rng)
        return Calling(rng=rng, ticket=Ticket(task, self.desk.answer(task)))

    def tools(self, state: Calling) -> tuple[Tool, ...]:
        return TOOLS

    def execute(self, state: Calling, tool: Tool, values: Values) -> Reply:
        for name in ("first", "last"):
            if name in values and not re.fullmatch(DAY, values[name]):
                return Reply(error=f"{name} must be a day as 2024-03-31, not {values[name]!r}")
        shape, query = QUERIES[tool.name]
        return Reply(shape(self.desk.database.every(query(values))))

    def settle(self, state: Calling) -> tuple[dict[str, float], list[Event]]:
        ticket = state.ticket
        if isinstance(state.closing, Answer):
            ticket.said = state.closing.text
            ticket.score = grade(ticket.task, ticket.said, ticket.truth)
        right = "right" if ticket.score == 1 else "not right"
        paid = {"answer": ticket.score} if ticket.score > 0 else {}
        return paid, [Event("verdict", f"This is {right}.", {"success": ticket.score == 1})]

    def outcome(self, state: Calling) -> Outcome | None:
        if self.to_act(state):
            return None
        won = state.ticket.score == 1
        return Outcome(("win" if won else "loss",), (max(0.0, state.ticket.score),))

    def determinize(self, state: Calling, seat: int, rng: Rng) -> Calling:
        """Any answer to the kind of question; what tools have told is not weighed."""
        other = self.clone(state)
        other.ticket.truth = rng.choice(self.desk.answers[other.ticket.task.kind])
        return other

    # What the player sees

    def describe(self, state: Calling, seat: int) -> str:
        asked = question(state.ticket.task)
        return (
            f"Today is {TODAY.isoformat()}.\nQuestion: {asked}\n"
            f"Calls made: {self.max_calls - self.calls_left(state)} of {self.max_calls}."
        )

    def scene(self, state: Calling, seat: int | None = None) -> Scene:
        return Scene(lines=tuple(self.describe(state, 0).splitlines()))


# What the tools look up

Rows = Sequence[tuple[Any, ...]]
Query = tuple[Callable[[Rows], Any], Callable[[Values], str]]


def _named(*names: str) -> Callable[[Rows], Any]:
    """Rows as objects."""
    return lambda rows: [dict(zip(names, row, strict=True)) for row in rows]


def _averages(rows: Rows) -> Any:
    return {key: {"cases": count, "minutes": minutes} for key, count, minutes in rows}


def _within(values: Values) -> str:
    return f"substr(c.opened, 1, 10) BETWEEN {quoted(values['first'])} AND {quoted(values['last'])}"


def _words(values: Values) -> str:
    words = values["words"].lower().split()
    tests = [f"instr(lower(title || ' ' || body), {quoted(word)})" for word in words] or ["0"]
    return f"SELECT id, title, body FROM articles WHERE {' OR '.join(tests)} ORDER BY id"


_OWNED = "case_history h JOIN cases c ON c.id = h.case_id WHERE h.field = 'Owner'"
_CASE = ("id", "subject", "description", "contact_id", "issue_id", "owner_id", "status", "opened")

QUERIES: dict[str, Query] = {
    "list_issues": (
        _named("id", "name", "description"),
        lambda v: "SELECT id, name, description FROM issues ORDER BY id",
    ),
    "find_products": (
        _named("id", "name", "family"),
        lambda v: (
            "SELECT id, name, family FROM products WHERE "
            f"instr(lower(name), lower({quoted(v['words'])})) ORDER BY id"
        ),
    ),
    "search_articles": (_named("id", "title", "body"), _words),
    "closed_by_agent": (
        dict,
        lambda v: (
            "SELECT owner_id, COUNT(*) FROM cases WHERE status = 'Closed' "
            f"AND issue_id = {quoted(v['issue_id'])} GROUP BY 1 ORDER BY 1"
        ),
    ),
    "closed_of_product": (
        dict,
        lambda v: (
            f"SELECT c.owner_id, COUNT(*) FROM {ABOUT} WHERE c.status = 'Closed' "
            f"AND p.id = {quoted(v['product_id'])} GROUP BY 1 ORDER BY 1"
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
            f"WHERE c.status = 'Closed' AND {_within(v)} AND NOT EXISTS "
            "(SELECT 1 FROM case_history h WHERE h.case_id = c.id AND h.field = 'Owner' "
            "AND h.old_value <> '') GROUP BY 1 ORDER BY 1"
        ),
    ),
    "cases_owned": (
        dict,
        lambda v: (
            f"SELECT h.new_value, COUNT(DISTINCT c.id) FROM {_OWNED} AND {_within(v)} "
            "GROUP BY 1 ORDER BY 1"
        ),
    ),
    "cases_handed_on": (
        dict,
        lambda v: (
            f"SELECT h.old_value, COUNT(*) FROM {_OWNED} AND h.old_value <> '' "
            f"AND {_within(v)} GROUP BY 1 ORDER BY 1"
        ),
    ),
    "get_case": (
        _named(*_CASE, "product", "ordered"),
        lambda v: (
            f"SELECT {', '.join(f'c.{name}' for name in _CASE)}, p.name, o.ordered "
            f"FROM {ABOUT} JOIN orders o ON o.id = i.order_id WHERE c.id = {quoted(v['case_id'])}"
        ),
    ),
    "get_conversation": (
        lambda rows: [row[0] for row in rows],
        lambda v: (
            f"SELECT text FROM chats WHERE case_id = {quoted(v['case_id'])} "
            f"UNION ALL SELECT text FROM emails WHERE case_id = {quoted(v['case_id'])}"
        ),
    ),
    "purchases": (
        _named("product_id", "product", "day"),
        lambda v: (
            "SELECT p.id, p.name, o.ordered FROM orders o JOIN order_items i "
            "ON i.order_id = o.id JOIN products p ON p.id = i.product_id "
            f"WHERE o.contact_id = {quoted(v['contact_id'])} ORDER BY o.ordered, i.id"
        ),
    ),
    "issue_counts": (
        dict,
        lambda v: (
            f"SELECT c.issue_id, COUNT(*) FROM {ABOUT} "
            f"WHERE p.id = {quoted(v['product_id'])} AND {_within(v)} GROUP BY 1 ORDER BY 1"
        ),
    ),
    "month_counts": (
        dict,
        lambda v: (
            f"SELECT substr(c.opened, 1, 7), COUNT(*) FROM {ABOUT} "
            f"WHERE p.id = {quoted(v['product_id'])} GROUP BY 1 ORDER BY 1"
        ),
    ),
    "region_times": (
        _averages,
        lambda v: (
            f"SELECT a.region, COUNT(*), AVG({MINUTES}) FROM cases c JOIN accounts a "
            f"ON a.id = c.account_id WHERE c.status = 'Closed' AND {_within(v)} "
            "GROUP BY 1 ORDER BY 1"
        ),
    ),
}
