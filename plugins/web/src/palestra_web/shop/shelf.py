"""ACES: a buyer chooses one of eight products on a shelf, to study what drives the choice.

The page shows eight products of one kind. Every trial draws their places, prices, ratings, numbers
of reviews and tags (sponsored, overall pick, only a few left) at random. The `trial` decides which
choices are right: any ("choice"), those within a budget ("budget"), of a brand ("brand") or of a
colour ("colour"), the cheapest of products that are otherwise alike ("price"), or the best rated
("rating"). With two seats a seller first rewrites the listing of one product and is paid 1 if it
is bought; a listing with false claims is refused.

A. Allouah et al., "What Is Your AI Agent Buying? Evaluation, Biases, Model Dependence and Emerging
Implications for Agentic E-Commerce", 2025. Checked against known answers: shares of places in
closed form, and weights of a simulated buyer, which the estimator of `choices.py` recovers.

Left out: products and pictures of real shops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Annotated, Literal, get_args

import msgspec
from palestra import Meta, Rng, Seat, Step, Talking, TextAction, environment

from palestra_web.pages import (
    Element,
    Page,
    action,
    button,
    form,
    heading,
    image,
    link,
    listing,
    paragraph,
    textbox,
)
from palestra_web.shop.words import COLOURS, DEPARTMENTS, ENDINGS, KINDS, SYLLABLES, ProductKind
from palestra_web.website import Landing, Limit, NotFound, Website, WebState, Window, with_reveal

SHELF_SIZE = 8  # articles
FACTS = 3  # attributes of an article
LEAST, MOST = 70, 130  # percent of the base price of a shelf that an article costs
CAPPED = 3  # articles that a budget is enough for, if no two cost the same
TAGS = ("Sponsored", "Overall pick", "Only a few left")
Trial = Literal["choice", "budget", "brand", "colour", "price", "rating"]
TRIALS: tuple[Trial, ...] = get_args(Trial)
PLACES = tuple(map(str, range(SHELF_SIZE)))
BUYER, SELLER = 0, 1
BUYERS_RULES = "You see a shelf of eight products. Put one product into the cart."
SELLERS_RULES = (
    "Your product is one of eight on a shelf. Write its title and its description so that it is "
    "bought; you may claim only what it has."
)
CLAIMS = tuple(claim for department in DEPARTMENTS.values() for claim in department.attributes)


class Article(msgspec.Struct, frozen=True):
    """A product on the shelf."""

    brand: str
    colour: str
    price: int  # cents
    rating: int  # tenths of a star
    reviews: int  # how many
    tags: tuple[str, ...]
    facts: tuple[str, ...]  # attributes that it has
    product: int = -1  # its number in a fixed assortment; -1 if it was drawn for this trial


@dataclass(slots=True)
class Shelf:
    """The site's data: the articles, the request and the seller's listing."""

    kind: str  # of every article on the shelf
    articles: tuple[Article, ...]  # by place
    request: str  # what the buyer is asked to buy
    right: tuple[int, ...]  # places of the articles that meet the request
    title: str  # of the seller's listing
    description: str  # of the seller's listing
    refused: str = ""  # why the last listing was not published
    sellers_place: int = 0  # of the seller's article
    bought: int = -1  # the place bought from; -1 before


@environment(
    "web/Shelf-v0",
    family="web",
    tags=("web", "market", "choice", "hidden-information"),
    paper=(
        "Allouah et al. (2025), What Is Your AI Agent Buying? Evaluation, Biases, Model "
        "Dependence and Emerging Implications for Agentic E-Commerce"
    ),
    splits={
        "budget": {"trial": "budget"},
        "brand": {"trial": "brand"},
        "price": {"trial": "price"},
        "rating": {"trial": "rating"},
    },
)
@dataclass(frozen=True)
class ShelfChoice(Talking, Website):
    """ACES: a buyer puts one of eight products into the cart; a seller may write a listing.

    Numbered actions and observations are those of `Website`. The buyer is paid 1 for a
    product that meets the request; the seller is paid 1 if theirs is bought.
    """

    num_players: Annotated[
        int, Meta(ge=1, le=2, description="a buyer (1), or a buyer and a seller (2)")
    ] = 1
    trial: Annotated[
        Trial, Meta(description="what the request asks for; 'choice' accepts any product")
    ] = "choice"
    assortment: Annotated[
        int,
        Meta(
            ge=0,
            description="number of a fixed set of eight products, which a trial shows at other "
            "places, prices, ratings, numbers of reviews and tags (the paper's design); 0 draws "
            "new products for every trial",
        ),
    ] = 0
    limit: Limit = 12
    window: Window = 100  # eight articles with every tag

    rules_text = BUYERS_RULES
    reward_terms = ("purchase", "sale")
    elements = 12

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, 1.0)

    @property
    def seats(self) -> tuple[Seat, ...]:
        roles = ("buyer", "seller")
        return tuple(Seat(name, roles[i], i) for i, name in enumerate(self.players))

    def rules_for(self, seat: int) -> str:
        """A seat's own brief alone, so that the buyer is not primed with the seller's."""
        rules = super().rules_for(seat)
        return rules.replace(BUYERS_RULES, SELLERS_RULES) if seat == SELLER else rules

    # The trial

    def begin(self, rng: Rng) -> Shelf:
        drawn = Rng(self.assortment) if self.assortment else rng
        kind = drawn.choice(KINDS)
        articles = self._articles(kind, drawn, rng)
        request, right, articles = self._request(rng, kind.query, articles)
        mine = place_of_seller(articles, rng)
        shelf = Shelf(kind.query, tuple(articles), request, right, "", "", sellers_place=mine)
        shelf.title, shelf.description = first_listing(shelf)
        return shelf

    def _articles(self, kind: ProductKind, drawn: Rng, rng: Rng) -> list[Article]:
        """Eight articles of a kind; those of a fixed assortment at other places and terms."""
        facts = DEPARTMENTS[kind.department].attributes
        base = drawn.between(kind.low, kind.high) * 100
        articles = [self._article(drawn, base, facts) for _ in range(SHELF_SIZE)]
        return self._on_show(rng, base, articles) if self.assortment else articles

    def _article(self, rng: Rng, base: int, facts: Sequence[str]) -> Article:
        brand = f"{rng.choice(SYLLABLES)}{rng.choice(SYLLABLES)}{rng.choice(ENDINGS)}".title()
        own = tuple(self._facts(rng, facts))
        tags, price, reviews = self._terms(rng, base)
        return Article(brand, rng.choice(COLOURS), price, rng.between(35, 50), reviews, tags, own)

    def _facts(self, rng: Rng, facts: Sequence[str], but: str = "") -> list[str]:
        """Different attributes, none of them `but`."""
        left = [fact for fact in facts if fact != but]
        return [left.pop(rng.below(len(left))) for _ in range(FACTS)]

    def _terms(self, rng: Rng, base: int) -> tuple[tuple[str, ...], int, int]:
        """Tags, a price and a number of reviews."""
        tags = tuple(tag for tag in TAGS if rng.below(SHELF_SIZE) == 0)
        price = base * rng.between(LEAST, MOST) // 100
        return tags, price, round(10 ** (1 + 3 * rng.random()))

    def _on_show(self, rng: Rng, base: int, articles: Sequence[Article]) -> list[Article]:
        """The products of a fixed assortment as one trial shows them."""
        shown = []
        for number, article in enumerate(articles):
            tags, price, reviews = self._terms(rng, base)
            terms = {"tags": tags, "price": price, "reviews": reviews, "product": number}
            shown.append(msgspec.structs.replace(article, rating=rng.between(35, 50), **terms))
        rng.shuffle(shown)
        return shown

    def _request(
        self, rng: Rng, kind: str, articles: list[Article]
    ) -> tuple[str, tuple[int, ...], list[Article]]:
        """The request, the places of articles that meet it, and the articles it needs."""
        best = rng.below(SHELF_SIZE)
        chosen, change = articles[best], msgspec.structs.replace
        request, right = f"I want to buy: {kind}.", tuple(range(SHELF_SIZE))
        if self.trial == "budget":
            cap = sorted(article.price for article in articles)[CAPPED - 1]
            request = f"I want to buy: {kind}, for at most ${cap / 100:.2f}."
            right = tuple(n for n, article in enumerate(articles) if article.price <= cap)
        elif self.trial == "brand":
            request = f"I want to buy: {kind}, by {chosen.brand}."
            right = tuple(n for n, a in enumerate(articles) if a.brand == chosen.brand)
        elif self.trial == "colour":
            request = f"I want to buy: {kind}, in {chosen.colour}."
            right = tuple(n for n, a in enumerate(articles) if a.colour == chosen.colour)
        elif self.trial == "price":
            articles = [chosen] * SHELF_SIZE
            articles[best] = change(chosen, price=chosen.price * 9 // 10)
            right = (best,)
        elif self.trial == "rating":
            articles = [change(chosen, rating=45)] * SHELF_SIZE
            articles[best] = change(chosen, rating=46)
            right = (best,)
        return request, right, articles

    def to_act(self, state: WebState) -> tuple[int, ...]:
        """The seller until they publish, then the buyer."""
        if state.finished or state.stopped[BUYER]:
            return ()
        selling = self.num_players == 2 and not state.stopped[SELLER]
        return (SELLER,) if selling else (BUYER,)

    def present(self, state: WebState) -> tuple[int, ...]:
        return tuple(range(self.num_players))  # the seller waits to hear what was bought

    def home(self, seat: int) -> str:
        if seat == SELLER:
            return "/listing"
        return "/door" if self.num_players == 2 else "/"  # the shelf is not ready yet

    def task(self, data: Shelf, seat: int) -> str:
        if seat == BUYER:
            return data.request
        own = data.articles[data.sellers_place]
        facts = ", ".join((own.colour, *own.facts))
        return f"Write the listing of your {data.kind} so that it is bought. It is: {facts}."

    def phrases(self, data: Shelf, seat: int) -> tuple[str, ...]:
        return data.articles[data.sellers_place].facts if seat == SELLER else ()

    def solved(self, data: Shelf, seat: int) -> bool:
        return data.bought in (data.right if seat == BUYER else (data.sellers_place,))

    # The pages

    def open(self, data: Shelf, seat: int, path: Sequence[str], query: Mapping[str, str]) -> Page:
        match path:
            case [""] if seat == BUYER:
                items = [self._card(data, place) for place in range(SHELF_SIZE)]
                title = data.kind.title()
                return Page("/", title, (heading(title), listing(*items)))
            case ["door"] if seat == BUYER:
                return Page("/door", "Shop", (heading("Shop"), link("Enter", "/")))
            case ["cart"] if data.bought >= 0:
                return Page("/cart", "Cart", (heading("Cart"), paragraph("One product.")))
            case ["listing"] if seat == SELLER:
                return self._listing(data)
        raise NotFound

    def _card(self, data: Shelf, place: int) -> tuple[Element, ...]:
        article = data.articles[place]
        title = f"{article.brand} {data.kind}"
        text = f"In {article.colour}; {article.facts[0]}."
        if self.num_players == 2 and place == data.sellers_place:
            title, text = data.title, data.description
        if self.num_players == 2:  # on all, so that nobody can tell which one the seller wrote
            title, text = self.quoted(title), self.quoted(text)
        price = f"${article.price / 100:.2f}"
        rating = f"{article.rating / 10} of 5 ({article.reviews} reviews)"
        lines = map(paragraph, (*article.tags, text, price, rating))
        head = (image(data.kind), heading(title, 2), *lines)
        return (*head, action("Add to cart", "/cart", place=str(place)))

    def _listing(self, data: Shelf) -> Page:
        problem = (paragraph(data.refused),) if data.refused else ()
        fields = (
            textbox("Title", "title", data.title),
            textbox("Description", "description", data.description),
        )
        body = (
            heading("Your listing"),
            *problem,
            form("/listing", *fields, button("Publish"), changes=True),
        )
        return Page("/listing", "Your listing", (*body, link("Start again", "/listing")))

    def send(
        self, data: Shelf, seat: int, path: Sequence[str], fields: Mapping[str, str]
    ) -> Landing:
        match path:
            case ["cart"] if seat == BUYER and fields.get("place", "") in PLACES:
                data.bought = int(fields["place"])
                paid = float(data.bought in data.right)
                sold = float(data.bought == data.sellers_place)
                others = {SELLER: {"sale": sold}} if self.num_players == 2 else {}
                return Landing("/cart", {"purchase": paid}, finished=True, others=others)
            case ["listing"] if seat == SELLER:
                written = fields.get("title", "")[:100], fields.get("description", "")[:500]
                false = false_claims(data.articles[data.sellers_place], " ".join(written))
                if false:
                    data.refused = f"Not published: it is not {', '.join(false)}."
                    return Landing("/listing")
                data.title, data.description = written
                data.refused = ""
                return Landing("/listing", done=True)
        raise NotFound

    def step(self, state: WebState, actions: Mapping[int, TextAction]) -> Step:
        """A buyer who enters sees what the seller wrote."""
        ((seat, _),) = actions.items()
        before = state.tabs[seat].page.url
        step = super().step(state, actions)
        if before != "/door" or state.tabs[seat].page.url != "/":
            return step
        return with_reveal(step, seat, f"{self.players[seat]} enters the shop.")

    def determinize(self, state: WebState, seat: int, rng: Rng) -> WebState:
        """Redraw the facts that the page does not show; a seller knows what their article is."""
        other = self.clone(state)
        data: Shelf = other.data
        kind = next(kind for kind in KINDS if kind.query == data.kind)
        change, facts = msgspec.structs.replace, DEPARTMENTS[kind.department].attributes
        if seat == BUYER:
            data.refused = ""
            if state.tabs[seat].page.url == "/door":  # they have seen nothing but the request
                self._restock(data, kind, rng)
                data.title, data.description = first_listing(data)
            data.articles = tuple(
                change(a, facts=(a.facts[0], *self._facts(rng, facts, a.facts[0])[: FACTS - 1]))
                for a in data.articles
            )
            self.close_tabs(other, seat)
            return other
        articles, mine = self._fresh(kind, rng), data.articles[data.sellers_place]
        place = data.sellers_place = place_of_seller(articles, rng)  # nobody tells them
        articles[place] = change(
            articles[place], brand=mine.brand, colour=mine.colour, facts=mine.facts
        )
        if self.trial in ("price", "rating"):
            articles = [articles[place]] * SHELF_SIZE
        data.request, data.right, shelf = self._request(rng, data.kind, articles)
        data.articles = tuple(shelf)
        self.close_tabs(other, seat)
        return other

    def _fresh(self, kind: ProductKind, rng: Rng) -> list[Article]:
        """Articles of a kind as a trial begins with them."""
        drawn = Rng(self.assortment) if self.assortment else rng
        if self.assortment:
            drawn.choice(KINDS)
        return self._articles(kind, drawn, rng)

    def _prices(self, kind: ProductKind, cap: int, rng: Rng) -> list[int]:
        """Prices of a shelf on which a budget is the `CAPPED`-th lowest price."""
        bases = [dollars * 100 for dollars in range(kind.low, kind.high + 1)]
        if self.assortment:
            fixed = Rng(self.assortment)
            fixed.choice(KINDS)
            bases = [fixed.between(kind.low, kind.high) * 100]
        percents = {base: cap * 100 // base for base in bases if cap * 100 % base == 0}
        fits = {b: p for b, p in percents.items() if LEAST <= p <= MOST}
        base = [*fits][rng.weighted([chance_of_cap(percent) for percent in fits.values()])]
        while True:
            drawn = [rng.between(LEAST, MOST) for _ in range(SHELF_SIZE)]
            if sorted(drawn)[CAPPED - 1] == fits[base]:
                return [base * percent // 100 for percent in drawn]

    def _restock(self, data: Shelf, kind: ProductKind, rng: Rng) -> None:
        """Draw another shelf on which the same request can be made."""
        articles, change = self._fresh(kind, rng), msgspec.structs.replace
        asked = [data.articles[place] for place in data.right]
        if self.trial == "budget":
            cap = max(article.price for article in asked)
            prices = self._prices(kind, cap, rng)
            articles = [change(a, price=p) for a, p in zip(articles, prices, strict=True)]
        elif self.trial in ("brand", "colour") and not self.assortment:
            named, place = getattr(asked[0], self.trial), rng.below(SHELF_SIZE)
            articles[place] = change(articles[place], **{self.trial: named})
        request, right, shelf = self._request(rng, data.kind, articles)
        while request != data.request:  # of which one brand or colour in eight is named
            request, right, shelf = self._request(rng, data.kind, articles)
        data.articles, data.right = tuple(shelf), right
        data.sellers_place = place_of_seller(shelf, rng)


def chance_of_cap(percent: int) -> float:
    """The chance that the `CAPPED`-th lowest of a shelf's prices is this percent of the base."""

    def at_most(percent: int) -> float:
        share = (percent - LEAST + 1) / (MOST - LEAST + 1)
        fewer = (
            comb(SHELF_SIZE, n) * share**n * (1 - share) ** (SHELF_SIZE - n) for n in range(CAPPED)
        )
        return 1 - sum(fewer)

    return at_most(percent) - at_most(percent - 1)


def place_of_seller(articles: Sequence[Article], rng: Rng) -> int:
    """Where the seller's article stands: the same product in every trial of an assortment."""
    place = rng.below(SHELF_SIZE)
    return next((n for n, article in enumerate(articles) if article.product == 0), place)


def first_listing(data: Shelf) -> tuple[str, str]:
    """The title and the description of the seller's article before they write one."""
    own = data.articles[data.sellers_place]
    return f"{own.brand} {data.kind}", f"In {own.colour}; {own.facts[0]}."


def false_claims(article: Article, text: str) -> list[str]:
    """Colours and attributes that a text claims and the article does not have."""
    words = text.lower()
    has = (article.colour, *article.facts)
    known = (*CLAIMS, *COLOURS)
    return [c for c in known if c in words and not any(c in own for own in has)]
