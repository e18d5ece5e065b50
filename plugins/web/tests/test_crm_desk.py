"""CRMArena: answers computed again in plain Python, planted breaches, a database that only reads,
an oracle, the pages."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import palestra
import pytest
from palestra import InvalidOption, Rng
from palestra_web.crm.calls import CRMCalls
from palestra_web.crm.database import MOST_STEPS, Database, _authorize, database
from palestra_web.crm.desk import CRMDesk
from palestra_web.crm.organisation import organisation
from palestra_web.crm.schema import OBJECTS, REFERS
from palestra_web.crm.tasks import KINDS, NONE, QuestionSource, Task, grade, question, read
from palestra_web.crm.words import FACTS

Rows = list[dict[str, Any]]
ENDLESS = "WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT COUNT(*) FROM a"


@pytest.fixture(scope="module")
def desk() -> QuestionSource:
    return CRMDesk().source


@pytest.fixture(scope="module")
def rows() -> dict[str, Rows]:
    made = organisation(0, 1000).rows
    return {n: [dict(zip(OBJECTS[n], row, strict=True)) for row in made[n]] for n in OBJECTS}


# Every answer a second time, without SQL

Second = Callable[[dict[str, Rows], dict[str, str]], Iterable[str]]


def by(rows: Rows) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in rows}


def in_period(rows: dict[str, Rows], given: dict[str, str]) -> Rows:
    return [c for c in rows["cases"] if given["start"] <= c["opened"][:10] <= given["end"]]


def product_of(rows: dict[str, Rows]) -> dict[str, str]:
    """The name of the product of every case."""
    items, products = by(rows["order_items"]), by(rows["products"])
    return {
        c["id"]: products[items[c["order_item_id"]]["product_id"]]["name"] for c in rows["cases"]
    }


def minutes(case: dict[str, Any]) -> Fraction:
    took = datetime.fromisoformat(case["closed"]) - datetime.fromisoformat(case["opened"])
    return Fraction(int(took.total_seconds()), 60)


def owners(rows: dict[str, Rows]) -> dict[str, list[str]]:
    """Who has owned every case, in order."""
    found = defaultdict(list)
    for change in sorted(rows["case_history"], key=lambda h: (h["at"], h["id"])):
        if change["field"] == "Owner":
            found[change["case_id"]].append(change["new_value"])
    return found


def best(scores: dict[str, Any], highest: bool = False) -> list[str]:
    """The one of the best score, the lowest id of several; nobody where there is none."""
    top = (max if highest else min)(scores.values(), default=None)
    return sorted(key for key, score in scores.items() if score == top)[:1]


def routed(rows: dict[str, Rows], given: dict[str, str]) -> list[str]:
    (issue,) = [s["id"] for s in rows["issues"] if s["description"] == given["symptom"]]
    names = product_of(rows)
    scores: dict[str, list[int]] = {u["id"]: [0, 0, 0] for u in rows["users"]}
    for case in rows["cases"]:
        score = scores[case["owner_id"]]
        if case["status"] == "Closed":
            score[0] -= case["issue_id"] == issue
            score[1] -= names[case["id"]] == given["product"]
        else:
            score[2] += 1
    return best({agent: score for agent, score in scores.items() if score[0]})


def handled(rows: dict[str, Rows], given: dict[str, str]) -> list[str]:
    had, times = owners(rows), defaultdict(list)
    for case in in_period(rows, given):
        if case["closed"] and len(had[case["id"]]) == 1:
            times[case["owner_id"]].append(minutes(case))
    return best(averages(times, given), given["which"] == "highest")


def averages(times: dict[str, list[Fraction]], given: dict[str, str]) -> dict[str, Fraction]:
    return {
        k: sum(t) / Fraction(len(t)) for k, t in times.items() if len(t) >= int(given["enough"])
    }


def handed_on(rows: dict[str, Rows], given: dict[str, str]) -> list[str]:
    had = owners(rows)
    owned, gave = Counter[str](), Counter[str]()
    for case in in_period(rows, given):
        owned.update(set(had[case["id"]]))
        gave.update(had[case["id"]][:-1])
    able = {agent: gave[agent] for agent, n in owned.items() if n >= int(given["enough"])}
    return best(able, given["which"] == "highest")


def planted(rows: dict[str, Rows], given: dict[str, str]) -> list[str]:
    title = organisation(0, 1000).breaches.get(given["case"])
    return [a["id"] for a in rows["articles"] if a["title"] == title]


def meant(rows: dict[str, Rows], given: dict[str, str]) -> set[str]:
    orders = {
        o["id"]
        for o in rows["orders"]
        if o["contact_id"] == given["contact"] and o["ordered"].startswith(given["month"])
    }
    family = {p["id"] for p in rows["products"] if p["family"] == given["family"]}
    bought = {i["product_id"] for i in rows["order_items"] if i["order_id"] in orders}
    return bought & family


def article_fact(rows: dict[str, Rows], given: dict[str, str]) -> list[str]:
    (body,) = [a["body"] for a in rows["articles"] if a["title"] == f"About the {given['family']}"]
    (fact,) = [fact for fact in FACTS if fact.question == given["asked"]]
    return [value for value in fact.values if f"{fact.lead}{value}." in body]


def top(rows: dict[str, Rows], given: dict[str, str]) -> list[str]:
    names = product_of(rows)
    cases = [c for c in in_period(rows, given) if names[c["id"]] == given["product"]]
    return best(Counter(case["issue_id"] for case in cases), highest=True)


def trend(rows: dict[str, Rows], given: dict[str, str]) -> list[str]:
    names = product_of(rows)
    months = Counter(
        c["opened"][:7]
        for c in rows["cases"]
        if names[c["id"]] == given["product"] and c["opened"][:4] == "2024"
    ).most_common(2)
    counts = [n for _, n in months] + [0, 0]
    return [months[0][0]] if counts[0] >= max(3, 2 * counts[1]) else []


def fastest(rows: dict[str, Rows], given: dict[str, str]) -> list[str]:
    accounts, times = by(rows["accounts"]), defaultdict(list)
    for case in in_period(rows, given):
        if case["closed"]:
            times[accounts[case["account_id"]]["region"]].append(minutes(case))
    return best(averages(times, given))


AGAIN: dict[str, Second] = {
    "new-case-routing": routed,
    "handle-time": handled,
    "transfer-count": handed_on,
    "policy-violation": planted,
    "named-entity": meant,
    "knowledge-qa": article_fact,
    "top-issue": top,
    "monthly-trend": trend,
    "best-region": fastest,
}


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_of_plain_python(
    desk: QuestionSource, rows: dict[str, Rows], kind: str
) -> None:
    found = []
    for seed in range(60):
        task = desk.draw(kind, Rng.seeded(seed))
        found.append(desk.answer(task))
        assert [*AGAIN[kind](rows, dict(task.given)), NONE][0] == found[-1], question(task)
        assert read(question(task)) == task
    assert 0 < found.count(NONE) < 45  # "None" may be right, and may be wrong
    assert len(set(found)) >= 5


def test_every_case_shows_the_breach_that_was_planted_and_no_other(
    desk: QuestionSource, rows: dict[str, Rows]
) -> None:
    titles = {a["id"]: a["title"] for a in rows["articles"]} | {NONE: None}
    breaches = desk.organisation.breaches
    for case in rows["cases"]:
        task = Task("policy-violation", (("case", case["id"]),))
        assert titles[desk.answer(task)] == breaches.get(case["id"])
    assert set(breaches.values()) == {
        *("Refunds", "Replacements", "Discounts", "Identity", "Passwords"),
    }


def test_rows_are_linked(rows: dict[str, Rows]) -> None:
    assert len(OBJECTS) == 16
    keys = {name: set(by(rows[name])) for name in OBJECTS}
    for name in OBJECTS:
        assert len(keys[name]) == len(rows[name]) > 0
        for row in rows[name]:
            for column, other in REFERS.items():
                assert column not in row or row[column] in keys[other]
    ordered = {o["id"]: o["ordered"] for o in rows["orders"]}
    items = by(rows["order_items"])
    for case in rows["cases"]:
        assert ordered[items[case["order_item_id"]]["order_id"]] < case["opened"]
        assert date.fromisoformat(case["opened"][:10]) < date(2025, 1, 1)


def test_another_seed_is_another_organisation() -> None:
    one, other = (organisation(seed, 300).rows for seed in (0, 1))
    assert all(one[name] != other[name] for name in ("users", "cases", "orders", "articles"))


# The database only reads

WRITES = (
    "DELETE FROM cases",
    "UPDATE cases SET owner_id = 'U00001'",
    "INSERT INTO users VALUES ('U9', 'Me', 'me')",
    "REPLACE INTO users VALUES ('U00001', 'Me', 'me')",
    "DROP TABLE cases",
    "CREATE TABLE mine (x)",
    "CREATE TEMP TABLE mine (x)",
    "CREATE VIEW mine AS SELECT 1",
    "ALTER TABLE cases ADD COLUMN x",
    "PRAGMA query_only = OFF",
    "PRAGMA writable_schema = ON",
    "ATTACH 'file.db' AS other",
    "VACUUM INTO 'file.db'",
    "BEGIN",
    "REINDEX",
    "WITH x AS (SELECT 1) DELETE FROM cases",
    "EXPLAIN DELETE FROM cases",
    "SELECT load_extension('x')",
    "SELECT writefile('x', 'y')",
    "SELECT 1; DELETE FROM cases",
)


@pytest.mark.parametrize("sql", WRITES)
def test_writes_are_refused(sql: str) -> None:
    store = database(7, 200)
    before = store.ask("SELECT COUNT(*), MIN(owner_id), MAX(owner_id) FROM cases")
    assert store.ask(sql).error
    store.ask.cache_clear()  # type: ignore[attr-defined]
    assert store.ask("SELECT COUNT(*), MIN(owner_id), MAX(owner_id) FROM cases") == before
    names = store.ask("SELECT name FROM sqlite_master WHERE type = 'table'")
    assert {row[0] for row in names.rows} - {"sqlite_stat1", "sqlite_stat4"} == set(OBJECTS)


def test_either_of_two_locks_is_enough() -> None:
    records = Database(7, 200)
    connection = records._connection
    connection.set_authorizer(None)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM cases")
    connection.execute("PRAGMA query_only = OFF")
    connection.set_authorizer(_authorize)
    with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
        connection.execute("DELETE FROM cases")
    connection.set_authorizer(None)
    assert connection.execute("DELETE FROM chats").rowcount > 0  # and nothing else held it


@pytest.mark.parametrize(
    "sql",
    [
        ENDLESS,
        "SELECT COUNT(*) FROM cases a, cases b, cases c, cases d WHERE a.id < b.id",
        "WITH RECURSIVE a(x) AS (SELECT 'a' UNION ALL SELECT x || x FROM a) SELECT MAX(x) FROM a",
    ],
)
def test_an_endless_query_is_stopped(sql: str) -> None:
    store = database(7, 200)
    said = store.ask(sql).error
    assert said in (f"the query was stopped after {MOST_STEPS} steps", "string or blob too big")
    assert store.ask("SELECT COUNT(*) FROM cases").rows == (("200",),)


def test_a_query_of_few_but_slow_steps_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    store = database(7, 200)
    monkeypatch.setattr("palestra_web.crm.database.MOST_SECONDS", 0.2)
    said = store.ask(
        "SELECT COUNT(*) FROM cases a, cases b, cases c, (SELECT group_concat(x, '') AS m FROM "
        "(SELECT replace(text, 'e', 'aaaaaaa') AS x FROM chats LIMIT 80)) "
        "WHERE instr(m, 'aaaaaaaaaaaab' || a.id || b.id || c.id)"
    ).error
    assert said == "the query was stopped after 0.2 seconds"


@pytest.mark.parametrize(
    "sql", ["SELECT random()", "SELECT CURRENT_TIMESTAMP", "SELECT hex(randomblob(8))"]
)
def test_a_query_cannot_draw_lots_or_read_the_clock(sql: str) -> None:
    assert "not authorized" in database(7, 200).ask(sql).error


@pytest.mark.parametrize(
    ("sql", "day"),
    [
        ("SELECT date('now')", "2025-01-01"),
        ("SELECT date('NOW ', '+1 day')", "2025-01-02"),
        ("SELECT date()", "2025-01-01"),
        ("SELECT strftime('%Y', 'n' || 'ow')", "2025"),
        ("SELECT julianday('2024-03-01') - julianday('2024-02-01')", "29.0"),
    ],
)
def test_today_is_the_organisation_s(sql: str, day: str) -> None:
    assert database(7, 200).ask(sql).rows == ((day,),)


def test_long_answers_are_cut() -> None:
    found = database(7, 200).ask("SELECT * FROM case_history")
    assert len(found.rows) == 100
    assert found.more
    (cell,) = database(7, 200).ask("SELECT group_concat(text) FROM chats").rows[0]
    assert len(cell) == 2000


# Paying


@pytest.mark.parametrize(
    ("said", "truth", "paid"),
    [
        ("14 hours", "14 hours", 1.0),
        ("It runs for 14 hours.", "14 hours", 2 * 2 / (5 + 2)),
        ("the 14 hours", "14 hours", 1.0),
        ("hours", "14 hours", 2 / 3),
        ("None", "14 hours", 0.0),
        ("None", "None", 1.0),
        ("nothing", "None", 0.0),
        ("", "14 hours", 0.0),
    ],
)
def test_knowledge_is_paid_by_f1(said: str, truth: str, paid: float) -> None:
    assert grade(Task("knowledge-qa", ()), said, truth) == pytest.approx(paid)


def test_anything_else_is_paid_for_the_very_answer() -> None:
    task = Task("top-issue", ())
    assert grade(task, " S00003 ", "S00003") == 1
    assert grade(task, "S00003 or S00004", "S00003") == 0
    assert grade(task, "", NONE) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_an_oracle_always_earns_everything(kind: str) -> None:
    records = palestra.play(
        "web/CRMDesk-v0", agents=["oracle-clerk"], episodes=25, seed=3, kind=kind, desk_seed=1
    )
    assert all(record.returns[0] == 1 for record in records)
    assert all(record.outcome.results == ("win",) for record in records)


def test_none_earns_as_often_as_it_is_right() -> None:
    records = palestra.play("web/CRMDesk-v0", agents=["none-clerk"], episodes=200, seed=9)
    game = CRMDesk()
    right = sum(game.initial_state(record.seed).data.truth == NONE for record in records)
    assert sum(record.returns[0] for record in records) == right
    assert 0.1 < right / 200 < 0.4


# The pages


def start(**options: Any) -> palestra.Episode:
    made: palestra.Episode = palestra.make("web/CRMDesk-v0", view="episode", seed=0, **options)
    return made


def do(episode: palestra.Episode, *actions: str) -> str:
    for text in actions:
        episode.act({0: episode.parse(0, text)})
    return episode.describe(0)


def test_records_lead_to_what_they_refer_to_and_back() -> None:
    episode = start()
    text = do(episode, "Goto('/record/cases/C00007')")
    account = episode.game.database.ask("SELECT account_id FROM cases WHERE id = 'C00007'").rows
    assert f"link '{account[0][0]}'" in text
    text = do(episode, f"Goto('/list/cases?field=account_id&value={account[0][0]}')")
    assert "link 'C00007'" in text


def test_lists_are_filtered_and_turned() -> None:
    episode = start()
    text = do(episode, "Goto('/list/users?page=2')")
    assert "link 'U00011'" in text
    assert "link 'Previous'" in text
    assert "link 'Next'" not in text
    text = do(episode, "Goto('/list/articles?field=title&value=refunds')")
    assert "paragraph '1 records'" in text
    assert "link 'K00002'" in text


def test_a_quotation_mark_is_no_way_into_the_query() -> None:
    episode = start()
    do(episode, "Goto('/list/users')", 'Fill(element=8, text="\' OR 1=1 --")', "Click(element=9)")
    assert "paragraph '0 records'" in episode.describe(0)


def test_a_wrong_query_says_what_is_wrong() -> None:
    episode = start()
    text = do(episode, "Goto('/query')", "Fill(4, 'SELECT x FROM nowhere')", "Press(4, 'Enter')")
    assert "paragraph 'Error: no such table: nowhere'" in text
    text = do(episode, "Fill(4, 'DELETE FROM cases')", "Press(4, 'Enter')")
    assert "can be read with SELECT and not be changed" in text


def test_the_answer_can_be_given_by_a_form_and_once() -> None:
    episode = start(kind="knowledge-qa")
    truth = episode.state.data.truth
    do(episode, "Goto('/answer')", f"Fill(element=4, text={truth!r})", "Click(element=5)")
    assert episode.over
    assert tuple(episode.returns) == (1.0,)
    assert episode.outcome.results == ("win",)


def test_a_record_can_be_the_answer() -> None:
    episode = start(kind="top-issue")
    truth = episode.state.data.truth
    text = do(episode, f"Goto('/record/issues/{truth}')")
    number = text.split("] button 'Answer with this record'")[0].rsplit("[", 1)[1]
    do(episode, f"Click(element={number})")
    assert tuple(episode.returns) == (1.0,)


# By function calls


@pytest.mark.parametrize("kind", KINDS)
def test_tools_tell_enough_to_answer(kind: str) -> None:
    records = palestra.play(
        "web/CRMCalls-v0", agents=["oracle-caller"], episodes=25, seed=3, kind=kind, desk_seed=1
    )
    assert all(record.returns[0] == 1 for record in records)
    assert all(record.outcome.results == ("win",) for record in records)
    assert all(palestra.measure(record)["tool-errors"] == 0 for record in records)


def test_a_seed_asks_the_same_question_both_ways() -> None:
    for seed in range(20):
        one, other = CRMDesk().initial_state(seed).data, CRMCalls().initial_state(seed).ticket
        assert (one.task, one.truth) == (other.task, other.truth)


def call(text: str) -> dict[str, Any]:
    episode: palestra.Episode = palestra.make("web/CRMCalls-v0", view="episode", seed=0)
    episode.act({0: episode.parse(0, text)})
    return dict(episode.transcript(0)[-1].data)


def test_tools_count_what_is_there(rows: dict[str, Rows]) -> None:
    whole = "first='2023-01-01', last='2024-12-31'"
    assert sum(call(f"cases_owned({whole})")["result"].values()) >= 1000
    changes = [h for h in rows["case_history"] if h["field"] == "Owner" and h["old_value"]]
    assert sum(call(f"cases_handed_on({whole})")["result"].values()) == len(changes)
    open_cases = Counter(c["owner_id"] for c in rows["cases"] if not c["closed"])
    assert call("open_by_agent()")["result"] == open_cases
    times = call(f"region_times({whole})")["result"]
    assert sum(t["cases"] for t in times.values()) == 1000 - open_cases.total()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cases_owned(first='yesterday', last='2024-12-31')", "first must be a day"),
        ("cases_owned(first='2024-01-01')", "argument 'last' is missing"),
        ("get_case(case_id=7)", "case_id"),
    ],
)
def test_wrong_values_are_answered(text: str, says: str) -> None:
    assert says in call(text)["error"]


@pytest.mark.parametrize(
    "text",
    ["get_case(case_id='C99999')", "purchases(contact_id='x')", "find_products(words='\\' OR 1')"],
)
def test_what_is_not_there_is_an_empty_answer(text: str) -> None:
    assert call(text)["result"] == []


@pytest.mark.parametrize("right", [True, False])
def test_an_answer_ends_it(right: bool) -> None:
    episode: palestra.Episode = palestra.make("web/CRMCalls-v0", view="episode", seed=0)
    text = episode.state.ticket.truth if right else "U99999"
    episode.act({0: episode.parse(0, f"Answer(text={text!r})")})
    assert tuple(episode.returns) == (float(right),)
    assert episode.outcome.results == ("win" if right else "loss",)


@pytest.mark.parametrize(
    ("game", "options", "problem"),
    [
        (CRMDesk, {"desk_seed": -1}, "desk_seed must be an integer from 0"),
        (CRMCalls, {"max_calls": 0}, "max_calls must be an integer from 1 to 10000, not 0"),
        (CRMDesk, {"kind": "gardening"}, "kind must be 'any' or 'new-case-routing'"),
        (CRMCalls, {"cases": 3}, "cases must be an integer from 100 to 20000, not 3"),
    ],
)
def test_options_are_checked(
    game: type[CRMDesk | CRMCalls], options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InvalidOption, match=problem):
        game(**options)
