"""WebShop: find and buy what an instruction asks for, in a catalogue of ten thousand products.

An instruction names a kind of product, one to three attributes, a value for each option the
product comes in, and a price. A shopper searches, reads results (ten a page, fifty at most), opens
products and their details, picks options, and presses Buy Now; the purchase is graded (see
`reward.py`) and ends the episode. Products, goals and search (BM25) come from seeds; nothing is
downloaded.

With a `profile` (UA²) the instruction leaves out one attribute, which all of the shopper's past
orders have; these are on the account page. Results of brands bought before come first, and every
action costs seconds and money.

S. Yao et al., "WebShop: Towards Scalable Real-World Web Interaction with Grounded Language
Agents", NeurIPS 2022; Z. Yang et al., "Towards Unified Alignment Between Agents, Humans, and
Environment", ICML 2024. Checked against known answers: rewards worked out by hand, an oracle that
always earns 1, and the success of the rule-based shopper near the published 9.6 %.

With `data`, a folder of WebShop's own files (`original.py`), its products are sold and its
instructions given: those that people wrote, or the generated ones where there is no file of
people's. Its licence lets everybody load them for themselves; nothing of them is here.

Left out: the published products and instructions themselves, their reviews and pictures; nouns are
the words of a product's search term, where the paper's code tags those of its title.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal

import msgspec
from palestra import FilePath, InvalidOption, Meta, Rng, Step, TextAction, environment

from palestra_web.pages import (
    Element,
    Page,
    button,
    form,
    group,
    heading,
    image,
    link,
    listing,
    paragraph,
    radio,
    textbox,
)
from palestra_web.shop.catalogue import PER_PAGE, Catalogue, Product, catalogue
from palestra_web.shop.original import read_original
from palestra_web.shop.requests import word_request
from palestra_web.shop.reward import Grade, PurchaseGoal, grade, matches
from palestra_web.website import (
    Landing,
    Limit,
    NotFound,
    Website,
    WebState,
    encode_query,
    split,
)

PARTS = ("description", "features", "reviews")
CAPS = tuple(range(1000, 100_000, 1000))  # round prices, in cents
SECONDS = {"Click": 3.0, "Stop": 1.0}  # seconds that an action takes; any other takes 5
NO_CAP = 100_000_000  # cents: any price will do
FEE = 0.01  # dollars that an action costs


class Profile(msgspec.Struct, frozen=True):
    """A shopper with a preference."""

    wish: str  # the attribute they always want
    orders: tuple[int, ...]  # numbers of products bought before, which all have it


@dataclass(slots=True)
class ShoppingErrand:
    """The site's data: what is wanted, by whom, and what was bought."""

    goal: PurchaseGoal
    phrases: tuple[str, ...]  # the instruction, then parts of it
    profile: Profile | None = None
    bought: int = -1  # the number of the product; -1 before it is bought
    picked: dict[str, str] = field(default_factory=dict)  # values by option
    grade: Grade | None = None


@environment(
    "web/Shop-v0",
    family="web",
    tags=("web", "search", "hidden-information"),
    paper=(
        "Yao et al. (2022), WebShop: Towards Scalable Real-World Web Interaction with "
        "Grounded Language Agents; Yang et al. (2024), Towards Unified Alignment Between "
        "Agents, Humans, and Environment"
    ),
    splits={
        "held-out": {"catalogue_seed": 1},
        "profile": {"profile": True},
        "varied": {"phrasing": "varied"},
    },
)
@dataclass(frozen=True)
class Shop(Website):
    """WebShop: one player searches a generated shop for a product that fits an instruction.

    Numbered actions and observations are those of `Website`. The purchase pays its grade,
    from 0 to 1, and ends the episode; with a `profile` every action costs seconds and money.
    """

    catalogue_seed: Annotated[
        int, Meta(ge=0, le=2**63 - 1, description="seed that the catalogue is drawn from")
    ] = 0
    products: Annotated[
        int, Meta(ge=100, le=1_000_000, description="products in the catalogue")
    ] = 10_000
    profile: Annotated[
        bool,
        Meta(
            description="whether the instruction leaves out what the shopper's past orders show "
            "(UA²)"
        ),
    ] = False
    phrasing: Annotated[
        Literal["template", "varied"],
        Meta(
            description="how the instruction is worded: template, one sentence of fixed form; "
            "varied, in the words of many people, with remarks about what is not wanted, which no "
            "pattern reads (nearer to the paper's crowd-sourced instructions)"
        ),
    ] = "template"
    data: Annotated[
        FilePath,
        Meta(
            description="folder with WebShop's own files (items_shuffle*.json, items_ins_v2*.json, "
            "items_human_ins.json), whose products and instructions are then used; empty to "
            "generate them"
        ),
    ] = ""
    limit: Limit = 30

    rules_text = """
        You are shopping. Search for a product that fits the instruction, open it, pick its options
        if it has any, and press Buy Now; you can buy one product only.
    """
    reward_terms = ("purchase",)
    cost_terms = ("seconds", "money")

    def validate(self) -> None:
        if self.data and (self.profile or self.phrasing == "varied"):
            raise InvalidOption(
                "data has instructions of its own; leave out profile and phrasing, or data"
            )
        if self.data:
            read_original(self.data, self.catalogue_seed)

    @cached_property
    def catalogue(self) -> Catalogue:
        if self.data:
            return read_original(self.data, self.catalogue_seed).catalogue
        return catalogue(self.catalogue_seed, self.products)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, 1.0)

    # The errand

    def begin(self, rng: Rng) -> ShoppingErrand:
        if self.data:
            return self._original_errand(rng)
        product = rng.choice(self.catalogue.products)
        attributes = list(product.attributes)
        rng.shuffle(attributes)
        wanted = tuple(attributes[: rng.between(1, min(3, len(attributes)))])
        options = {name: rng.choice(values) for name, values in product.options.items()}
        over = [cap for cap in CAPS if cap > product.price][:4]
        goal = PurchaseGoal(product, wanted, options, max(rng.choice(over), rng.choice(over)))
        profile = self._profile(rng, wanted[0]) if self.profile else None
        known = profile is not None
        task, *parts = instruction_phrases(goal, known=known)
        if self.phrasing == "varied":
            task = word_request(goal, rng, known=known)
        return ShoppingErrand(goal, (task, *parts), profile)

    def _original_errand(self, rng: Rng) -> ShoppingErrand:
        """An instruction of WebShop's own, with the greater of two round prices above the true."""
        instructions = read_original(self.data, self.catalogue_seed).instructions
        left = rng.random() * sum(one.weight for one in instructions)
        asked = instructions[-1]
        for one in instructions:
            left -= one.weight
            if left < 0:
                asked = one
                break
        product = self.catalogue.products[asked.product]
        over = [cap for cap in CAPS if cap > product.price][:4]
        cap, told = NO_CAP, asked.text
        if len(over) >= 2:
            rng.shuffle(over)
            cap = max(over[:2])
            told += f", and price lower than {cap / 100:.2f} dollars"
        goal = PurchaseGoal(product, asked.attributes, asked.options, cap)
        words = " ".join((*asked.attributes, product.query))
        return ShoppingErrand(goal, (told, product.query, words))

    def _profile(self, rng: Rng, wish: str) -> Profile:
        """A shopper who wants an attribute, with five past orders that have it."""
        have = self.catalogue.by_attribute[wish]
        return Profile(wish, tuple(rng.choice(have) for _ in range(5)))

    def task(self, data: ShoppingErrand, seat: int) -> str:
        return data.phrases[0]

    def phrases(self, data: ShoppingErrand, seat: int) -> tuple[str, ...]:
        return data.phrases

    def solved(self, data: ShoppingErrand, seat: int) -> bool:
        return data.grade is not None and data.grade.total == 1.0

    def record_facts(self, state: WebState) -> dict[str, Any]:
        """Facts for the record: the grade of the purchase, or half the grade of the open product.

        `objects` has the requested properties of that product, and `goal` the values they should
        have; `checks` are made of a purchase only.
        """
        data: ShoppingErrand = state.data
        goal, place = data.goal, split(state.tabs[0].page.url)[0]
        number = data.bought
        if number < 0 and len(place) > 1 and place[0] == "item":
            number = self._product(place[1]).number
        wanted = dict.fromkeys(("kind", *goal.attributes, *goal.options, "price"), True)
        if number < 0:
            return {"progress": 0.0, "objects": {}, "goal": {"product": wanted}, "milestones": []}
        product = self.catalogue.products[number]
        picked = data.picked if data.bought >= 0 else {}
        parts = matches(product, goal, picked)
        flat = [met for group_of in parts.values() for met in group_of]
        names = dict(zip(wanted, flat, strict=True))
        found: dict[str, Any] = {
            "progress": grade(product, goal, picked).total / (1 if data.bought >= 0 else 2),
            "objects": {"product": names},
            "goal": {"product": wanted},
            "milestones": ["opened"] * parts["kind"][0] + ["bought"] * (data.bought >= 0),
        }
        return found | ({"checks": parts} if data.bought >= 0 else {})

    # The pages

    def open(
        self, data: ShoppingErrand, seat: int, path: Sequence[str], query: Mapping[str, str]
    ) -> Page:
        match path:
            case [""]:
                return Page("/", "Shop", (heading("Shop"), search_form(), *account_link(data)))
            case ["search"]:
                return self._results(data, query.get("q", ""), query.get("page", "1"))
            case ["item", number]:
                return self._item(self._product(number))
            case ["item", number, part] if part in PARTS:
                return details(self._product(number), part)
            case ["account"] if data.profile:
                return self._account(data.profile)
            case ["thanks"] if data.bought >= 0:
                bought = self.catalogue.products[data.bought]
                said = paragraph(f"You have bought {bought.title}.")
                return Page("/thanks", "Thank you", (heading("Thank you"), said))
        raise NotFound

    def _product(self, number: str) -> Product:
        if number.isdecimal() and len(number) <= 7 and int(number) < len(self.catalogue.products):
            return self.catalogue.products[int(number)]
        raise NotFound

    def _results(self, data: ShoppingErrand, query: str, number: str) -> Page:
        found = self._rank_results(data, query)
        page = int(number) if number.isdecimal() and len(number) < 4 else 1
        start = (page - 1) * PER_PAGE
        shown = [self.catalogue.products[n] for n in found[start : start + PER_PAGE]]
        turns = [
            link(name, f"/search?{encode_query([('q', query), ('page', str(other))])}")
            for name, other in (("Previous", page - 1), ("Next", page + 1))
            if other > 0 and (other - 1) * PER_PAGE < len(found)
        ]
        title = f"Results for {query}" if query else "Results"
        body = (heading(title), search_form(query), paragraph(f"{len(found)} results"), *turns)
        items = listing(*map(card, shown)) if shown else paragraph("Nothing was found.")
        return Page("/search", title, (*body, items))

    def _rank_results(self, data: ShoppingErrand, query: str) -> tuple[int, ...]:
        """Results in the order of the search; for a known shopper, brands bought before first."""
        found = self.catalogue.search(query)
        if data.profile is None:
            return found
        known = {self.catalogue.products[n].brand for n in data.profile.orders}
        return tuple(sorted(found, key=lambda n: self.catalogue.products[n].brand not in known))

    def _item(self, product: Product) -> Page:
        picks = [
            group(name, *(radio(value, name, value) for value in values))
            for name, values in product.options.items()
        ]
        to = f"/item/{product.number}"
        parts = [link(part.title(), f"{to}/{part}") for part in PARTS]
        body = (
            link("Back to search", "/"),
            heading(product.title),
            image(product.query),
            paragraph(f"Price: ${product.price / 100:.2f}"),
            *([paragraph(f"Rating: {product.rating} of 5")] if product.rating else []),
            *parts,
            form(f"/buy/{product.number}", *picks, button("Buy Now"), changes=True),
        )
        return Page(to, product.title, body)

    def _account(self, profile: Profile) -> Page:
        orders = [
            (
                paragraph(f"Order of article {p.number}: {p.title}"),
                *(paragraph(text) for text in p.bullets),
                paragraph(p.description),
            )
            for p in (self.catalogue.products[n] for n in profile.orders)
        ]
        body = (heading("My orders"), listing(*orders), link("Shop", "/"))
        return Page("/account", "My orders", body)

    # Purchases and costs

    def send(
        self, data: ShoppingErrand, seat: int, path: Sequence[str], fields: Mapping[str, str]
    ) -> Landing:
        match path:
            case ["buy", number]:
                product = self._product(number)
                data.bought = product.number
                data.picked = {
                    name: fields[name]
                    for name, values in product.options.items()
                    if fields.get(name) in values
                }
                data.grade = grade(product, data.goal, data.picked)
                return Landing("/thanks", {"purchase": data.grade.total}, finished=True)
        raise NotFound

    def step(self, state: WebState, actions: Mapping[int, TextAction]) -> Step:
        step = super().step(state, actions)
        if not self.profile:
            return step
        ((seat, action),) = actions.items()
        spent = {"seconds": SECONDS.get(type(action).__name__, 5.0), "money": FEE}
        return Step(step.rewards, {seat: spent}, step.events)

    def determinize(self, state: WebState, seat: int, rng: Rng) -> WebState:
        """Draw another product that fits the same instruction."""
        other = self.clone(state)
        data: ShoppingErrand = other.data
        goal = data.goal
        numbers = self.catalogue.by_query[goal.product.query]
        fitting = [p for p in (self.catalogue.products[n] for n in numbers) if fits(p, goal)]
        # people may ask for what is not among a product's attributes
        data.goal = msgspec.structs.replace(goal, product=rng.choice(fitting or [goal.product]))
        return other


def instruction_phrases(goal: PurchaseGoal, *, known: bool) -> tuple[str, str, str]:
    """The instruction for a goal, the kind of product, and the attributes with that kind.

    For a `known` shopper they leave out the first attribute.
    """
    named = goal.attributes[1:] if known else goal.attributes
    query = goal.product.query
    are = "are" if query.endswith("s") else "is"
    that = f" that {are} {', '.join(named)}" if named else ""
    values = " and ".join(f"{name}: {value}" for name, value in goal.options.items())
    like = ", as I always like them (see my account)" if known else ""
    of = f" with {values}" if values else ""
    cap = f"{goal.cap / 100:.2f} dollars"
    task = f"Find me {query}{that}{of}{like}, and price lower than {cap}."
    return task, query, " ".join((*named, query))


def fits(product: Product, goal: PurchaseGoal) -> bool:
    """Whether a product fits a goal and has no option that the goal leaves open."""
    return (
        set(goal.attributes) <= set(product.attributes)
        and product.price <= goal.cap
        and set(product.options) == set(goal.options)
        and all(value in product.options[name] for name, value in goal.options.items())
    )


def search_form(query: str = "") -> Element:
    """The search field, with what was searched for."""
    return form("/search", textbox("Search", "q", query), button("Search"))


def account_link(data: ShoppingErrand) -> tuple[Element, ...]:
    """The link to the account page, for a shopper who has one."""
    return (link("My account", "/account"),) if data.profile else ()


def card(product: Product) -> tuple[Element, ...]:
    """A product among results."""
    price = paragraph(f"${product.price / 100:.2f}")
    return (link(product.title, f"/item/{product.number}"), price)


def details(product: Product, part: str) -> Page:
    """The page of a product's description, features or reviews."""
    to = f"/item/{product.number}"
    body: list[Element] = [link("Back to product", to), heading(f"{product.title}: {part}")]
    if part == "description":
        body.append(paragraph(product.description))
    elif part == "features":
        body.append(listing(*(paragraph(text) for text in product.bullets)))
    else:
        reviews = [paragraph(f"{r.stars} of 5: {r.text}") for r in product.reviews]
        body.append(listing(*reviews) if reviews else paragraph("No reviews yet."))
    return Page(f"{to}/{part}", f"{product.title}: {part}", tuple(body))
