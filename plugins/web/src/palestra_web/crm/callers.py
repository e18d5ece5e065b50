"""An agent that answers with tools: it looks up, compares, and reads policy articles."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from datetime import date
from typing import Any

from palestra import TextAction, Turn, agent

from palestra_web.crm.calls import CRMCalls
from palestra_web.crm.tasks import NONE, read
from palestra_web.crm.words import (
    CONFIRM,
    DISCOUNT,
    FACTS,
    MOVED,
    PASSWORD,
    POLICIES,
    REFUND,
    REPLACED,
)
from palestra_web.plays import GeneratorAgent
from palestra_web.tools.declare import Answer, call

Play = Generator[TextAction, Any, str]  # yields calls, receives results, returns the answer
Given = Mapping[str, str]


@agent("oracle-caller", kind="solver")
class OracleCaller(GeneratorAgent):
    """Calls the tools that a question needs and compares what they return."""

    plays = (CRMCalls,)

    def begin(self, turn: Turn) -> Play:
        asked = turn.position.split("Question: ")[1].splitlines()[0]
        task = read(asked)
        return PLAYS[task.kind](dict(task.given))

    def read_turn(self, turn: Turn) -> Any:
        return turn.transcript[-1].data["result"]

    def closing_action(self, answer: str) -> TextAction:
        return Answer(answer)


def best(scores: Mapping[str, Any], *, highest: bool = False) -> str:
    """The key with the lowest or highest score, the lowest key on ties; None if empty."""
    if not scores:
        return NONE
    top = (max if highest else min)(scores.values())
    return min(key for key, score in scores.items() if score == top)


def product_id(name: str) -> Generator[TextAction, Any, str]:
    found = yield call("find_products", words=name)
    return next(product["id"] for product in found if product["name"] == name)


def period(given: Given) -> dict[str, str]:
    return {"first": given["start"], "last": given["end"]}


def route(given: Given) -> Play:
    issues = yield call("list_issues")
    issue = next(i["id"] for i in issues if i["description"] == given["symptom"])
    able = yield call("closed_by_agent", issue_id=issue)
    product = yield from product_id(given["product"])
    versed = yield call("closed_of_product", product_id=product)
    busy = yield call("open_by_agent")
    return best({a: (-n, -versed.get(a, 0), busy.get(a, 0)) for a, n in able.items()})


def handle_time(given: Given) -> Play:
    times = yield call("handle_times", **period(given))
    return best(averages(times, given), highest=given["which"] == "highest")


def averages(times: Mapping[str, Any], given: Given) -> dict[str, float]:
    enough = int(given["enough"])
    return {key: t["minutes"] for key, t in times.items() if t["cases"] >= enough}


def transfers(given: Given) -> Play:
    owned = yield call("cases_owned", **period(given))
    gave = yield call("cases_handed_on", **period(given))
    able = {a: gave.get(a, 0) for a, n in owned.items() if n >= int(given["enough"])}
    return best(able, highest=given["which"] == "highest")


def violation(given: Given) -> Play:
    (case,) = yield call("get_case", case_id=given["case"])
    said = "\n".join((yield call("get_conversation", case_id=given["case"])))
    titles = [policy.title for policy in POLICIES]
    articles = yield call("search_articles", words=" ".join(titles))
    rules = {a["title"]: a for a in articles if a["title"] in titles}
    limits = {t: int("0" + re.sub(r"\D", "", rule["body"])) for t, rule in rules.items()}
    age = (date.fromisoformat(case["opened"][:10]) - date.fromisoformat(case["ordered"])).days
    offered = re.findall(re.escape(DISCOUNT).replace(r"\{\}", r"(\d+)"), said)
    broken = {
        "Refunds": REFUND in said and age > limits["Refunds"],
        "Replacements": REPLACED in said and age > limits["Replacements"],
        "Discounts": any(int(percent) > limits["Discounts"] for percent in offered),
        "Identity": MOVED in said and CONFIRM not in said,
        "Passwords": PASSWORD in said,
    }
    return next((rules[title]["id"] for title, is_so in broken.items() if is_so), NONE)


def entity(given: Given) -> Play:
    bought = yield call("purchases", contact_id=given["contact"])
    family, month = f"{given['family']} ", given["month"]
    fitting = [b for b in bought if b["product"].startswith(family) and b["day"][:7] == month]
    return fitting[0]["product_id"] if fitting else NONE


def knowledge(given: Given) -> Play:
    title = f"About the {given['family']}"
    found = yield call("search_articles", words=given["family"])
    body = next(article["body"] for article in found if article["title"] == title)
    lead = next(fact.lead for fact in FACTS if fact.question == given["asked"])
    _, known, rest = body.partition(lead)
    return rest.partition(".")[0] if known else NONE


def top_issue(given: Given) -> Play:
    product = yield from product_id(given["product"])
    counts = yield call("issue_counts", product_id=product, **period(given))
    return best(counts, highest=True)


def trend(given: Given) -> Play:
    product = yield from product_id(given["product"])
    counts = yield call("month_counts", product_id=product)
    months = sorted(((n, m) for m, n in counts.items() if m.startswith("2024")), reverse=True)
    second = months[1][0] if len(months) > 1 else 0
    return months[0][1] if months and months[0][0] >= max(3, 2 * second) else NONE


def region(given: Given) -> Play:
    times = yield call("region_times", **period(given))
    return best(averages(times, given))


PLAYS: dict[str, Callable[[Given], Play]] = {
    "new-case-routing": route,
    "handle-time": handle_time,
    "transfer-count": transfers,
    "policy-violation": violation,
    "named-entity": entity,
    "knowledge-qa": knowledge,
    "top-issue": top_issue,
    "monthly-trend": trend,
    "best-region": region,
}
