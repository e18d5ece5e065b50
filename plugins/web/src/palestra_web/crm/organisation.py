"""An organisation drawn from a seed: rows of sixteen types, generated from a few hidden traits.

The hidden traits are how often each contact complains; what each agent is good at, how quick they
are, how readily they hand cases on and break policies; how quickly each region is served; how each
product fails and in which month. The rows do not name these traits: they follow from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from palestra_web.crm.schema import OBJECTS, PREFIXES
from palestra_web.crm.words import (
    CATEGORIES,
    CLOSING,
    CONFIRM,
    DISCOUNT,
    FACTS,
    FIRMS,
    FIRST,
    ISSUES,
    LAST,
    MOVED,
    NO_REFUND,
    PASSWORD,
    POLICIES,
    POLITE,
    REFUND,
    REGIONS,
    REPLACED,
    ROUTING,
    TRADES,
    VARIANTS,
)
from palestra_web.shop.catalogue import Draw

Row = tuple[Any, ...]
FIRST_DAY, TODAY = date(2023, 1, 1), date(2025, 1, 1)
DAYS = (TODAY - FIRST_DAY).days


class Worker(NamedTuple):
    """An agent's hidden traits."""

    pace: int  # time a case takes, in percent of the usual minutes
    hands_on: int  # chance to hand a case on, percent
    breaks: int  # chance to break a policy in a case, percent
    skills: tuple[int, ...]  # by issue: the weight, less 1, with which such cases come to them


class BoughtItem(NamedTuple):
    """An order item, as cases refer to it."""

    item: str  # its id
    product: int  # row of the product, from 0, as the next
    contact: int
    day: date  # of the order


@dataclass(frozen=True)
class Organisation:
    """The rows of an organisation."""

    rows: dict[str, list[Row]]  # by type
    breaches: dict[str, str]  # titles of the policies that were broken on purpose, by case id

    def column(self, name: str, column: str) -> list[Any]:
        """The values of one column of a type, in order of rows."""
        index = OBJECTS[name].index(column)
        return [row[index] for row in self.rows[name]]


@lru_cache(8)
def organisation(seed: int, cases: int) -> Organisation:
    """The organisation of a seed."""
    return _Maker(Draw(seed), cases).draw_rows()


class _Maker:
    """Draws traits first, then row after row."""

    def __init__(self, draw: Draw, cases: int) -> None:
        self.draw, self.cases = draw, cases
        self.rows: dict[str, list[Row]] = {name: [] for name in OBJECTS}
        self.breaches: dict[str, str] = {}
        self.limits = [draw.choice(policy.limits) if policy.limits else 0 for policy in POLICIES]

    def draw_rows(self) -> Organisation:
        self.people()
        self.goods()
        self.articles()
        bought = self.sales()
        by_contact: dict[int, list[BoughtItem]] = {}
        for one in bought:
            by_contact.setdefault(one.contact, []).append(one)
        habits = [self.draw.below(8) + 1 for _ in by_contact]
        complainers = [c for c, habit in zip(by_contact, habits, strict=True) for _ in range(habit)]
        cases = [
            self.draw.choice(by_contact[self.draw.choice(complainers)]) for _ in range(self.cases)
        ]
        for one, opened in sorted(
            ((one, self.opening(one)) for one in cases), key=lambda pair: (pair[1], pair[0].item)
        ):
            self.case(one, opened)
        return Organisation(self.rows, self.breaches)

    def add(self, name: str, *values: Any) -> str:
        """Add a row to a type; returns its id."""
        rows = self.rows[name]
        key = f"{PREFIXES[name]}{len(rows) + 1:05}"
        rows.append((key, *values))
        return key

    def weighted_index(self, weights: Sequence[int]) -> int:
        """An index, drawn with these weights."""
        mark = self.draw.below(sum(weights))
        for index, weight in enumerate(weights):
            mark -= weight
            if mark < 0:
                return index
        raise AssertionError("weights are positive")

    def percent(self, chance: int) -> bool:
        return self.draw.below(100) < chance

    # People, products and regions

    def name(self) -> tuple[str, str]:
        first, last = self.draw.choice(FIRST), self.draw.choice(LAST)
        return f"{first} {last}", f"{first}.{last}".lower()

    def people(self) -> None:
        draw = self.draw
        self.workers = []
        for number in range(max(8, self.cases // 50)):
            name, mail = self.name()
            self.add("users", name, f"{mail}{number}@desk.example")
            skills = tuple(
                12 if self.percent(25) else 1 if self.percent(50) else 0 for _ in ISSUES[:-1]
            )
            self.workers.append(
                Worker(50 + draw.below(120), 2 + draw.below(30), draw.below(40), (*skills, 0))
            )
        self.paces = {region: 60 + draw.below(100) for region in REGIONS}
        self.regions: list[str] = []
        self.accounts: list[str] = []
        for number in range(max(20, self.cases // 12)):
            firm, trade = draw.choice(FIRMS), draw.choice(TRADES)
            account = self.add(
                "accounts", f"{firm} {trade} {number + 1}", trade, (region := draw.choice(REGIONS))
            )
            for _ in range(1 + draw.below(4)):
                name, mail = self.name()
                self.add("contacts", account, name, f"{mail}@{firm}{number + 1}.example".lower())
                self.regions.append(region)
                self.accounts.append(account)

    def goods(self) -> None:
        draw = self.draw
        books = [self.add("pricebooks", name) for name in ("Standard", "Partner")]
        self.products: list[str] = []
        self.prices: list[int] = []
        self.faults: list[list[int]] = []
        self.bad_months: list[str] = []
        for category, families in CATEGORIES.items():
            group = self.add("categories", category)
            for family in families:
                for variant in draw.some(VARIANTS, 2, 4):
                    product = self.add("products", f"{family} {variant}", family)
                    self.add("product_categories", product, group)
                    price = 2000 + 500 * draw.below(60)
                    self.add("prices", books[0], product, price)
                    self.add("prices", books[1], product, price * 9 // 10)
                    self.products.append(product)
                    self.prices.append(price)
                    self.faults.append([1 + draw.below(3) ** 3 for _ in ISSUES[:-1]])
                    bad = f"2024-{1 + draw.below(12):02}" if self.percent(75) else ""
                    self.bad_months.append(bad)
        for issue in ISSUES:
            self.add("issues", issue.name, issue.symptom)

    def articles(self) -> None:
        self.add("articles", "How new cases are routed", ROUTING)
        for policy, limit in zip(POLICIES, self.limits, strict=True):
            self.add("articles", policy.title, policy.body.format(limit))
        for families in CATEGORIES.values():
            for family in families:
                facts = [
                    f"{fact.lead}{self.draw.choice(fact.values)}."
                    for fact in FACTS
                    if self.percent(75)
                ]
                self.add("articles", f"About the {family}", " ".join((f"The {family}.", *facts)))

    def sales(self) -> list[BoughtItem]:
        draw, bought = self.draw, []
        for _ in range(self.cases):
            contact = draw.below(len(self.regions))
            day = FIRST_DAY + timedelta(draw.below(DAYS - 40))
            partner = self.percent(30)
            book = self.rows["pricebooks"][partner][0]
            person = self.rows["contacts"][contact][0]
            order = self.add("orders", self.accounts[contact], person, book, day.isoformat())
            for product in draw.some(range(len(self.products)), 1, 3):
                price = self.prices[product] * (9 if partner else 10) // 10
                item = self.add(
                    "order_items", order, self.products[product], 1 + draw.below(3), price
                )
                bought.append(BoughtItem(item, product, contact, day))
        return bought

    # Cases

    def opening(self, bought: BoughtItem) -> datetime:
        """Most cases open within months of the order; those of a bad month open in that month."""
        bad = self.bad_months[bought.product]
        if bad and self.percent(60):
            first = date.fromisoformat(f"{bad}-01")
            if first > bought.day:
                return self.moment(first + timedelta(self.draw.below(28)))
        most = min(200, (TODAY - bought.day).days - 1)
        return self.moment(bought.day + timedelta(1 + self.draw.below(most)))

    def moment(self, day: date) -> datetime:
        return datetime(day.year, day.month, day.day) + timedelta(minutes=self.draw.below(1440))

    def case(self, bought: BoughtItem, opened: datetime) -> None:
        issue = self.weighted_index(self.faults[bought.product])
        skills = [worker.skills[issue] + 1 for worker in self.workers]
        owners = [self.weighted_index(skills)]
        while len(owners) < 4 and self.percent(self.workers[owners[-1]].hands_on):
            other = self.weighted_index(skills)
            if other != owners[-1]:
                owners.append(other)
        worker = self.workers[owners[-1]]
        region = self.paces[self.regions[bought.contact]]
        usual = ISSUES[issue].hours * 60 * worker.pace * region // 10_000
        minutes = 10 + usual * (50 + self.draw.below(100)) * len(owners) // 100
        closed = opened + timedelta(minutes=minutes)
        done = closed.date() < TODAY and not self.percent(4)
        product = self.rows["products"][bought.product][1]
        contact = self.rows["contacts"][bought.contact][0]
        case = self.add(
            "cases",
            f"{product}: {ISSUES[issue].name.lower()}",
            f"{ISSUES[issue].symptom} I have a {product}.",
            *(contact, self.accounts[bought.contact], bought.item),
            *(f"S{issue + 1:05}", self.user(owners[-1]), "Closed" if done else "Working"),
            *(self.draw.choice(("Low", "Medium", "High")), minute_text(opened)),
            minute_text(closed) if done else None,
        )
        self.history(case, owners, opened, minutes, done)
        self.talk(case, bought, owners[-1], opened, minutes)

    def user(self, number: int) -> str:
        return self.rows["users"][number][0]

    def history(
        self, case: str, owners: list[int], opened: datetime, minutes: int, done: bool
    ) -> None:
        before = ""
        for step, owner in enumerate(owners):
            at = minute_text(opened + timedelta(minutes=minutes * step // len(owners)))
            self.add("case_history", case, "Owner", before, before := self.user(owner), at)
        if done:
            at = minute_text(opened + timedelta(minutes=minutes))
            self.add("case_history", case, "Status", "Working", "Closed", at)

    def talk(
        self, case: str, bought: BoughtItem, owner: int, opened: datetime, minutes: int
    ) -> None:
        """The conversation of a case, in a chat or in e-mails."""
        said = [self.draw.choice(POLITE), *self.deal(case, bought, owner, opened)]
        said.append(self.draw.choice(CLOSING))
        complaint = self.rows["cases"][-1][2]
        mail = self.rows["contacts"][bought.contact][3]
        later = opened + timedelta(minutes=1 + minutes // 2)
        if self.percent(60):
            lines = [f"Customer: {complaint}", *(f"Agent: {line}" for line in said)]
            lines.append("Customer: Thank you.")
            text = "\n".join(lines)
            self.add("chats", case, self.user(owner), text, minute_text(opened), minute_text(later))
            return
        self.add("emails", case, mail, complaint, minute_text(opened))
        self.add("emails", case, self.rows["users"][owner][2], "\n".join(said), minute_text(later))

    def deal(self, case: str, bought: BoughtItem, owner: int, opened: datetime) -> list[str]:
        """The agent's offer to the customer: within the policies, or breaking one of them."""
        age = (opened.date() - bought.day).days
        refunds, replacements, discounts = self.limits[:3]
        fair = [
            [],
            [NO_REFUND],
            [CONFIRM, MOVED],
            [DISCOUNT.format(1 + self.draw.below(discounts))],
        ]
        foul = {
            "Discounts": [DISCOUNT.format(discounts + 1 + self.draw.below(20))],
            "Identity": [MOVED],
            "Passwords": [PASSWORD],
        }
        for title, limit, line in (
            ("Refunds", refunds, REFUND),
            ("Replacements", replacements, REPLACED),
        ):
            if age <= limit:
                fair.append([line])
            else:
                foul[title] = [line]
        if not self.percent(self.workers[owner].breaks):
            return self.draw.choice(fair)
        title = self.draw.choice(sorted(foul))
        self.breaches[case] = title
        return foul[title]


def minute_text(moment: datetime) -> str:
    """A time as rows show it, to the minute."""
    return moment.isoformat(timespec="minutes")
