"""The nine kinds of task of CRMArena (section 3.3): how each is asked, drawn and answered.

A task is its kind and what its question names. Its answer is the one cell that a query over the
records returns, or None where there is no row. `read` recovers a task from its question.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple

import msgspec
from palestra import InvalidOption, Meta, Rng

from palestra_web.crm.database import Database, database, sql_text
from palestra_web.crm.organisation import Organisation, organisation
from palestra_web.crm.words import (
    CATEGORIES,
    CONFIRM,
    DISCOUNT,
    FACTS,
    ISSUES,
    MOVED,
    PASSWORD,
    REFUND,
    REPLACED,
)

NONE = "None"
Given = dict[str, str]  # what a question names

# Options of both environments of the desk
TaskKind = Annotated[
    Literal[
        "any",
        "new-case-routing",
        "handle-time",
        "transfer-count",
        "policy-violation",
        "named-entity",
        "knowledge-qa",
        "top-issue",
        "monthly-trend",
        "best-region",
    ],
    Meta(description="kind of question; 'any' draws one in every episode"),
]
DeskSeed = Annotated[
    int, Meta(ge=0, le=2**64 - 1, description="seed from which the organisation is drawn")
]
Cases = Annotated[int, Meta(ge=100, le=20_000, description="cases in the organisation's records")]


class Task(msgspec.Struct, frozen=True):
    """A kind, and what the question names."""

    kind: str  # one of KINDS
    given: tuple[tuple[str, str], ...]  # names and values, sorted


class Kind(NamedTuple):
    """A kind of task."""

    role: str  # whose work it is: manager, agent or analyst
    question: str  # with the names of `Given` in braces
    draw: Callable[[Organisation, Rng], Given]
    query: Callable[[Given], str]  # the query whose only cell is the answer


@dataclass(frozen=True, eq=False)
class QuestionSource:
    """Where tasks and their answers come from: an organisation and its database."""

    organisation: Organisation
    database: Database

    def draw(self, kind: str, rng: Rng) -> Task:
        """A task of a kind, or of any, whose question has one answer."""
        if kind == "any":
            kind = rng.choice(tuple(KINDS))
        while True:
            given = KINDS[kind].draw(self.organisation, rng)
            task = Task(kind, tuple(sorted(given.items())))
            if len(self.database.every(query(task))) < 2:
                return task

    def answer(self, task: Task) -> str:
        """The right answer to a task."""
        found = self.database.every(query(task))
        return str(found[0][0]) if found else NONE

    def possible_answer(self, kind: str, rng: Rng) -> str:
        """The answer to another task of a kind, as often as it is the answer there."""
        return self.answer(self.draw(kind, rng))


@lru_cache(4)
def question_source(seed: int, cases: int) -> QuestionSource:
    """The questions about the organisation of a seed with this many cases."""
    return QuestionSource(organisation(seed, cases), database(seed, cases))


def question(task: Task) -> str:
    """The question of a task, in words."""
    return KINDS[task.kind].question.format(**dict(task.given))


def query(task: Task) -> str:
    """One query whose only cell is the answer."""
    return " ".join(KINDS[task.kind].query(dict(task.given)).split())


def read(text: str) -> Task:
    """The task of a question; raises `InvalidOption` for any other text."""
    for name, kind in KINDS.items():
        match = re.fullmatch(_pattern(kind.question), text)
        if match:
            return Task(name, tuple(sorted(match.groupdict().items())))
    raise InvalidOption(f"{text!r} is not a question of web/CRMDesk-v0")


def _pattern(text: str) -> str:
    """A question as a regular expression; a name that occurs twice must match the same text."""
    seen: set[str] = set()
    made = ""
    for index, part in enumerate(re.split(r"\{(\w+)\}", text)):
        if index % 2 == 0:
            made += re.escape(part)
        else:
            made += f"(?P={part})" if part in seen else f"(?P<{part}>.+?)"
            seen.add(part)
    return made


def grade(task: Task, answer: str, truth: str) -> float:
    """From 0 to 1: 1 for the exact answer; for knowledge-qa the F1 score of its words."""
    if task.kind != "knowledge-qa" or NONE in (answer.strip(), truth):
        return float(answer.strip() == truth)
    said, wanted = _words(answer), _words(truth)
    shared = sum((Counter(said) & Counter(wanted)).values())
    return 2 * shared / (len(said) + len(wanted)) if shared else 0.0


def _words(text: str) -> list[str]:
    """Words as in SQuAD's F1: lower case, without punctuation and articles."""
    words = re.sub(r"[^\w\s]", "", text.lower()).split()
    return [word for word in words if word not in ("a", "an", "the")]


# What a question names


def _draw_period(rng: Rng) -> Given:
    """From one to six whole months of 2024, as two days."""
    first = rng.between(1, 12)
    last = min(12, first + rng.below(6))
    days = 29 if last == 2 else 30 if last in (4, 6, 9, 11) else 31
    return {"start": f"2024-{first:02}-01", "end": f"2024-{last:02}-{days}"}


def _draw_ranking(org: Organisation, rng: Rng) -> Given:
    """The best or worst agent with enough cases; one time in eight, no agent has enough."""
    enough = 200 if rng.below(8) == 0 else rng.between(1, 5)
    which = rng.choice(("lowest", "highest"))
    return {"which": which, **_draw_period(rng), "enough": str(enough)}


def _draw_case(org: Organisation, rng: Rng) -> Given:
    """A case; half the time one in which a policy was broken."""
    if rng.below(2):
        return {"case": rng.choice(sorted(org.breaches))}
    return {"case": rng.choice(org.column("cases", "id"))}


def _draw_routing(org: Organisation, rng: Rng) -> Given:
    product = rng.choice(org.column("products", "name"))
    issue = ISSUES[-1] if rng.below(8) == 0 else rng.choice(ISSUES)
    return {"symptom": issue.symptom, "product": product}


def _draw_purchase(org: Organisation, rng: Rng) -> Given:
    """A family and a month of a contact's order; one time in six, often another contact's."""
    orders = {row[0]: row for row in org.rows["orders"]}
    families = {row[0]: row[2] for row in org.rows["products"]}
    item = rng.choice(org.rows["order_items"])
    order = orders[item[1]]
    contact = order[2] if rng.below(6) else rng.choice(org.column("contacts", "id"))
    name = next(row[2] for row in org.rows["contacts"] if row[0] == contact)
    family, month = families[item[2]], order[4][:7]
    return {"name": name, "contact": contact, "family": family, "month": month}


def _draw_fact_question(org: Organisation, rng: Rng) -> Given:
    family = rng.choice([family for families in CATEGORIES.values() for family in families])
    return {"family": family, "asked": rng.choice(FACTS).question}


def _draw_product_period(org: Organisation, rng: Rng) -> Given:
    return {"product": rng.choice(org.column("products", "name")), **_draw_period(rng)}


def _draw_product(org: Organisation, rng: Rng) -> Given:
    return {"product": rng.choice(org.column("products", "name"))}


def _draw_region_question(org: Organisation, rng: Rng) -> Given:
    enough = 500 if rng.below(8) == 0 else rng.between(1, 5)
    return {**_draw_period(rng), "enough": str(enough)}


# The queries that answer a question

ABOUT = """cases c JOIN order_items i ON i.id = c.order_item_id
    JOIN products p ON p.id = i.product_id"""
MINUTES = "(strftime('%s', c.closed) - strftime('%s', c.opened)) / 60"


def _in_period(given: Given, column: str = "c.opened") -> str:
    return (
        f"substr({column}, 1, 10) BETWEEN {sql_text(given['start'])} AND {sql_text(given['end'])}"
    )


def _order(given: Given) -> str:
    return "ASC" if given["which"] == "lowest" else "DESC"


def _routing_query(given: Given) -> str:
    product = sql_text(given["product"])
    return f"""
    SELECT c.owner_id FROM cases c JOIN issues s ON s.id = c.issue_id
    WHERE c.status = 'Closed' AND s.description = {sql_text(given["symptom"])}
    GROUP BY c.owner_id
    ORDER BY COUNT(*) DESC,
      (SELECT COUNT(*) FROM cases d JOIN order_items i ON i.id = d.order_item_id
       JOIN products p ON p.id = i.product_id
       WHERE d.owner_id = c.owner_id AND d.status = 'Closed' AND p.name = {product}) DESC,
      (SELECT COUNT(*) FROM cases d WHERE d.owner_id = c.owner_id AND d.status <> 'Closed'),
      c.owner_id LIMIT 1"""


def _handle_time_query(given: Given) -> str:
    return f"""
    SELECT c.owner_id FROM cases c WHERE c.status = 'Closed' AND {_in_period(given)}
    AND NOT EXISTS (SELECT 1 FROM case_history h WHERE h.case_id = c.id
                    AND h.field = 'Owner' AND h.old_value <> '')
    GROUP BY c.owner_id HAVING COUNT(*) >= {given["enough"]}
    ORDER BY AVG({MINUTES}) {_order(given)}, c.owner_id LIMIT 1"""


def _transfer_query(given: Given) -> str:
    return f"""
    WITH o AS (SELECT h.* FROM case_history h JOIN cases c ON c.id = h.case_id
               WHERE h.field = 'Owner' AND {_in_period(given)})
    SELECT o.new_value FROM o GROUP BY o.new_value
    HAVING COUNT(DISTINCT o.case_id) >= {given["enough"]}
    ORDER BY (SELECT COUNT(*) FROM o AS x WHERE x.old_value = o.new_value) {_order(given)},
      o.new_value LIMIT 1"""


def _violation_query(given: Given) -> str:
    """The article whose rule was broken; the query reads the limits out of the articles."""
    case = sql_text(given["case"])
    within = "CAST(substr(a.body, instr(a.body, 'within ') + 7) AS INTEGER)"
    most = "CAST(substr(a.body, instr(a.body, 'up to ') + 6) AS INTEGER)"
    offer = sql_text(DISCOUNT.partition("{}")[0])
    offered = f"CAST(substr(t.text, instr(t.text, {offer}) + length({offer})) AS INTEGER)"

    def has(line: str) -> str:
        return f"instr(t.text, {sql_text(line)})"

    return f"""
    WITH t AS (SELECT group_concat(text, ' ') AS text FROM (SELECT text FROM chats
        WHERE case_id = {case} UNION ALL SELECT text FROM emails WHERE case_id = {case})),
      days AS (SELECT julianday(substr(c.opened, 1, 10)) - julianday(o.ordered) AS n FROM cases c
        JOIN order_items i ON i.id = c.order_item_id JOIN orders o ON o.id = i.order_id
        WHERE c.id = {case})
    SELECT a.id FROM articles a, t, days WHERE
      (a.title = 'Refunds' AND {has(REFUND)} AND days.n > {within})
      OR (a.title = 'Replacements' AND {has(REPLACED)} AND days.n > {within})
      OR (a.title = 'Discounts' AND {has(DISCOUNT.partition("{}")[0])} AND {offered} > {most})
      OR (a.title = 'Identity' AND {has(MOVED)} AND NOT {has(CONFIRM)})
      OR (a.title = 'Passwords' AND {has(PASSWORD)})"""


def _entity_query(given: Given) -> str:
    return f"""
    SELECT DISTINCT p.id FROM orders o JOIN order_items i ON i.order_id = o.id
    JOIN products p ON p.id = i.product_id
    WHERE o.contact_id = {sql_text(given["contact"])} AND p.family = {sql_text(given["family"])}
    AND substr(o.ordered, 1, 7) = {sql_text(given["month"])}"""


def _fact_query(given: Given) -> str:
    lead = sql_text(next(fact.lead for fact in FACTS if fact.question == given["asked"]))
    return f"""
    SELECT substr(rest, 1, instr(rest, '.') - 1) FROM
      (SELECT substr(body, instr(body, {lead}) + length({lead})) AS rest FROM articles
       WHERE title = {sql_text("About the " + given["family"])} AND instr(body, {lead}))"""


def _issue_query(given: Given) -> str:
    product = sql_text(given["product"])
    return f"""
    SELECT c.issue_id FROM {ABOUT} WHERE p.name = {product} AND {_in_period(given)}
    GROUP BY c.issue_id ORDER BY COUNT(*) DESC, c.issue_id LIMIT 1"""


def _month_query(given: Given) -> str:
    return f"""
    WITH n AS (SELECT substr(c.opened, 1, 7) AS month, COUNT(*) AS cases FROM {ABOUT}
               WHERE p.name = {sql_text(given["product"])} AND c.opened LIKE '2024-%' GROUP BY 1)
    SELECT month FROM n WHERE cases >= 3 AND cases >=
      2 * COALESCE((SELECT MAX(x.cases) FROM n AS x WHERE x.month <> n.month), 0)"""


def _region_query(given: Given) -> str:
    return f"""
    SELECT a.region FROM cases c JOIN accounts a ON a.id = c.account_id
    WHERE c.status = 'Closed' AND {_in_period(given)}
    GROUP BY a.region HAVING COUNT(*) >= {given["enough"]}
    ORDER BY AVG({MINUTES}), a.region LIMIT 1"""


OR_NONE = "or with None if there is none."
KINDS = {
    "new-case-routing": Kind(
        "manager",
        "A new case has come in: {symptom} I have a {product}. By the routing rules of the "
        f"knowledge base, which agent gets it? Answer with the agent's id, {OR_NONE}",
        _draw_routing,
        _routing_query,
    ),
    "handle-time": Kind(
        "manager",
        "Of the cases opened from {start} to {end} that are closed and were never handed on: which "
        "agent has the {which} average time from opening to closing, among agents with at least "
        "{enough} of them? The lower id wins a tie. Answer with the agent's id, " + OR_NONE,
        _draw_ranking,
        _handle_time_query,
    ),
    "transfer-count": Kind(
        "manager",
        "Of the cases opened from {start} to {end}: which agent has handed on the {which} number, "
        "among agents who at some time owned at least {enough} of them? The lower id wins a tie. "
        f"Answer with the agent's id, {OR_NONE}",
        _draw_ranking,
        _transfer_query,
    ),
    "policy-violation": Kind(
        "agent",
        "Did the agent of case {case} break a policy of the knowledge base? Answer with the id of "
        f"the article of that policy, {OR_NONE}",
        _draw_case,
        _violation_query,
    ),
    "named-entity": Kind(
        "agent",
        "{name} (contact {contact}) writes: my {family} that I ordered in {month} needs a repair. "
        f"Which product is meant? Answer with the product's id, {OR_NONE}",
        _draw_purchase,
        _entity_query,
    ),
    "knowledge-qa": Kind(
        "agent",
        "A customer asks about the {family}: {asked} Answer in the words of the knowledge base, "
        "or with None if it does not say.",
        _draw_fact_question,
        _fact_query,
    ),
    "top-issue": Kind(
        "analyst",
        "Which issue was most frequent in cases about the {product} opened from {start} to {end}? "
        f"The lower id wins a tie. Answer with the issue's id, {OR_NONE}",
        _draw_product_period,
        _issue_query,
    ),
    "monthly-trend": Kind(
        "analyst",
        "Was there a month of 2024 in which at least 3 cases about the {product} were opened, and "
        "at least twice as many as in any other month of that year? Answer with the month, as in "
        f"2024-07, {OR_NONE}",
        _draw_product,
        _month_query,
    ),
    "best-region": Kind(
        "analyst",
        "Of the cases opened from {start} to {end} that are closed: in which region of accounts is "
        "the average time from opening to closing shortest, among regions with at least {enough} "
        f"of them? Answer with the region, {OR_NONE}",
        _draw_region_question,
        _region_query,
    ),
}
