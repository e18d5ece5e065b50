"""CRMArena: professional work at a service desk with sixteen linked record types.

The desk shows lists of records with a filter, every record with what it refers to and what refers
to it, the knowledge base, and a page that runs a query (SQLite, read only). A question is one of
nine kinds: for a service manager new-case-routing, handle-time and transfer-count, for an agent
policy-violation, named-entity and knowledge-qa, for an analyst top-issue, monthly-trend and
best-region. It is answered once: on the answer page, on a record, or by stopping with the answer;
"None" may be the right answer. The reward is 1 for the exact answer, and for knowledge-qa the F1 of
its words.

Rows are drawn from hidden traits of people, products and regions, and answers are computed from
the rows.

K.-H. Huang et al., "CRMArena: Understanding the Capacity of LLM Agents to Perform Professional CRM
Tasks in Realistic Environments", NAACL 2025. Checked: every answer against a computation in plain
Python; the answers about policies against the policies broken on purpose; an agent that writes the
right query always earns 1.

Left out: the authors' organisation and its records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from palestra import Rng, environment

from palestra_web.crm.database import MOST_ROWS, Database, QueryResult, sql_text
from palestra_web.crm.organisation import TODAY
from palestra_web.crm.schema import OBJECTS, REFERS, parts_of
from palestra_web.crm.tasks import (
    NONE,
    Cases,
    DeskSeed,
    QuestionSource,
    Task,
    TaskKind,
    grade,
    question,
    question_source,
)
from palestra_web.pages import (
    Element,
    Page,
    action,
    button,
    combobox,
    form,
    heading,
    link,
    paragraph,
    table,
    textbox,
)
from palestra_web.website import Landing, NotFound, Website, WebState, encode_query

PER_PAGE = 10
LONG = frozenset(("description", "text", "body"))
LEFT_OUT = LONG | {"order_item_id", "priority"}  # columns that lists leave out
NAVIGATION = (link("Records", "/"), link("Query", "/query"), link("Answer", "/answer"))


@dataclass(slots=True)
class Ticket:
    """A question, its right answer, and the answer that was given."""

    task: Task
    truth: str
    said: str = ""
    score: float = -1.0  # of the answer; -1 before it is given


@environment(
    "web/CRMDesk-v0",
    family="web",
    tags=("web", "database", "hidden-information"),
    paper=(
        "Huang et al. (2025), CRMArena: Understanding the Capacity of LLM Agents to Perform "
        "Professional CRM Tasks in Realistic Environments"
    ),
    splits={"held-out": {"desk_seed": 1}},
)
@dataclass(frozen=True)
class CRMDesk(Website):
    """CRMArena: one player answers a question from the linked records of a service desk.

    Numbered actions and observations are those of `Website`. The answer ends the episode
    and pays from 0 to 1.
    """

    kind: TaskKind = "any"
    desk_seed: DeskSeed = 0
    cases: Cases = 1000

    rules_text = """
        You work at a service desk. Answer the question from the records; "None" may be the right
        answer. You can answer once: by Stop, or by a form of the site.
    """
    reward_terms = ("answer",)

    @property
    def source(self) -> QuestionSource:
        return question_source(self.desk_seed, self.cases)

    @property
    def database(self) -> Database:
        return self.source.database

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, 1.0)

    # The question

    def begin(self, rng: Rng) -> Ticket:
        task = self.source.draw(self.kind, rng)
        return Ticket(task, self.source.answer(task))

    def task(self, data: Ticket, seat: int) -> str:
        return question(data.task)

    def phrases(self, data: Ticket, seat: int) -> tuple[str, ...]:
        """The values that the question names."""
        return (*(value for _, value in data.task.given), NONE)

    def stop(self, data: Ticket, seat: int, answer: str) -> Mapping[str, float]:
        data.said = answer
        data.score = grade(data.task, answer, data.truth)
        return {"answer": data.score}

    def solved(self, data: Ticket, seat: int) -> bool:
        return data.score == 1.0

    def determinize(self, state: WebState, seat: int, rng: Rng) -> WebState:
        """Draw any possible answer to this kind of question, regardless of pages shown so far."""
        other = self.clone(state)
        other.data.truth = self.source.possible_answer(other.data.task.kind, rng)
        return other

    def send(
        self, data: Ticket, seat: int, path: Sequence[str], fields: Mapping[str, str]
    ) -> Landing:
        if path == ["answer"] and data.score < 0:
            paid = self.stop(data, seat, fields.get("answer", ""))
            return Landing("/done", paid, finished=True)
        raise NotFound

    # The pages

    def open(self, data: Ticket, seat: int, path: Sequence[str], query: Mapping[str, str]) -> Page:
        match path:
            case [""]:
                return self._home()
            case ["list", name] if name in OBJECTS:
                return self._list(name, query)
            case ["record", name, key] if name in OBJECTS:
                return self._record(name, key)
            case ["query"]:
                return self._query(query.get("sql", ""))
            case ["answer"]:
                return answer_page()
            case ["done"] if data.score >= 0:
                said = paragraph(f"Your answer was {data.said!r}.")
                return Page("/done", "Answered", (heading("Answered"), said))
        raise NotFound

    def _home(self) -> Page:
        rows = [
            (link(name, f"/list/{name}"), self._count(f"SELECT COUNT(*) FROM {name}"))
            for name in OBJECTS
        ]
        said = paragraph(f"Today is {TODAY.isoformat()}. Articles are the knowledge base.")
        body = (*NAVIGATION, heading("Service desk"), said, table(("Records", "Number"), rows))
        return Page("/", "Service desk", body)

    def _count(self, sql: str) -> str:
        return self.database.ask(sql).rows[0][0]

    def _list(self, name: str, query: Mapping[str, str]) -> Page:
        columns = OBJECTS[name]
        field = query.get("field", "id")
        field = field if field in columns else "id"
        value, number = query.get("value", ""), query.get("page", "1")
        page = int(number) if number.isdecimal() and 0 < len(number) < 6 else 1
        sought = f"FROM {name} WHERE instr(lower({field}), lower({sql_text(value)}))"
        count = int(self._count(f"SELECT COUNT(*) {sought}")) if value else 0
        if not value:
            sought, count = f"FROM {name}", int(self._count(f"SELECT COUNT(*) FROM {name}"))
        shown = [column for column in columns if column not in LEFT_OUT]
        start = (page - 1) * PER_PAGE
        found = self.database.ask(
            f"SELECT {', '.join(shown)} {sought} ORDER BY id LIMIT {PER_PAGE} OFFSET {start}"
        )
        turns = [
            link(label, f"/list/{name}?{encode_query([*kept, ('page', str(other))])}")
            for kept in ([("field", field), ("value", value)],)
            for label, other in (("Previous", page - 1), ("Next", page + 1))
            if other > 0 and (other - 1) * PER_PAGE < count
        ]
        rows: list[list[str | Element]] = [
            [link(row[0], f"/record/{name}/{row[0]}"), *row[1:]] for row in found.rows
        ]
        body = (
            *NAVIGATION,
            heading(name),
            form(
                f"/list/{name}",
                combobox("Field", "field", columns, field),
                textbox("Contains", "value", value),
                button("Filter"),
            ),
            paragraph(f"{count} records"),
            *turns,
            table(shown, rows),
        )
        return Page(f"/list/{name}", name, body)

    def _record(self, name: str, key: str) -> Page:
        columns = OBJECTS[name]
        found = self.database.ask(f"SELECT * FROM {name} WHERE id = {sql_text(key)}")
        if not found.rows:
            raise NotFound
        rows: list[tuple[str, str | Element]] = []
        texts: list[Element] = []
        for column, value in zip(columns, found.rows[0], strict=True):
            if column in LONG:
                texts += [heading(column, 2), *map(paragraph, value.split("\n"))]
            elif column in REFERS:
                rows.append((column, link(value, f"/record/{REFERS[column]}/{value}")))
            else:
                rows.append((column, value))
        parts = [
            link(
                f"{other} of this {column.removesuffix('_id').replace('_', ' ')}",
                f"/list/{other}?{encode_query([('field', column), ('value', key)])}",
            )
            for other, column in parts_of(name)
        ]
        title = f"{name}: {key}"
        body = (*NAVIGATION, heading(title), table(("Field", "Value"), rows), *texts, *parts)
        give = action("Answer with this record", "/answer", answer=key)
        return Page(f"/record/{name}/{key}", title, (*body, give))

    def _query(self, sql: str) -> Page:
        sql = sql.strip()
        columns = [paragraph(f"{name}: {', '.join(cols)}") for name, cols in OBJECTS.items()]
        body = (
            *NAVIGATION,
            heading("Query"),
            form("/query", textbox("SQL", "sql", sql), button("Run")),
            *(result(self.database.ask(sql)) if sql else (heading("Records", 2), *columns)),
        )
        return Page("/query", "Query", body)


def result(found: QueryResult) -> tuple[Element, ...]:
    """What a query returned."""
    if found.error:
        return (paragraph(f"Error: {found.error}"),)
    many = f"the first {MOST_ROWS} rows" if found.more else f"{len(found.rows)} rows"
    return (paragraph(many), table(found.columns, found.rows))


def answer_page() -> Page:
    """The page with the form that takes the answer."""
    write = form("/answer", textbox("Answer", "answer"), button("Give the answer"), changes=True)
    none = action("There is none", "/answer", answer=NONE)
    return Page("/answer", "Answer", (*NAVIGATION, heading("Answer"), write, none))
