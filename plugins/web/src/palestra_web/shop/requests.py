"""Requests to a shopper in varied words, so that no single pattern can read them all.

Sentences about the kind of product, its attributes, options and price come in different orders and
words; between them stand remarks that name attributes, option values and prices which are not
wanted ("my last one was waterproof, and I can do without"). Every wanted attribute, option value
and price is written out, so that a reader can tell what to buy.
"""

from __future__ import annotations

from collections.abc import Sequence

from palestra import Rng

from palestra_web.shop.reward import PurchaseGoal
from palestra_web.shop.words import DEPARTMENTS

KIND = (
    "I am shopping for {kind}.",
    "Please buy {kind} for me.",
    "What I need today: {kind}.",
    "Get me {kind}, would you?",
    "We have run out of patience looking for {kind}, so it is your turn.",
    "{kind}: that is what this is about.",
    "Could you order {kind}?",
    "My old {kind} gave up, and I want a replacement.",
    "Somebody I know has a birthday, and {kind} would do nicely.",
    "Next on my list is {kind}.",
)
ONE = (
    "It has to be {it}.",
    "What matters to me is {it}.",
    "I insist on this: {it}.",
    "Only {it} will do.",
    "{it} is a must.",
    "Do not come back with anything that is not {it}.",
    "I would not take it without this: {it}.",
)
SEVERAL = (
    "Several things matter: {these}.",
    "I care about {these}, and all of that at once.",
    "Make sure of {these}.",
    "It should be all of this: {these}.",
    "{these} – if one of them is missing, keep looking.",
)
OPTIONS = {
    "color": ("I would like it in {value}.", "{value} is the shade I picked.", "Choose {value}."),
    "size": ("{value} is the size for me.", "Size: {value}.", "Take the {value} one."),
    "scent": ("It should smell of this: {value}.", "{value} for the scent."),
    "flavor": ("{value} is the taste I like.", "Flavor: {value}."),
}
OTHER_OPTION = ("For the {name}, {value}.", "{value} is the {name} I need.")
PRICE = (
    "I will not pay {cap} dollars or more.",
    "Keep it below {cap} dollars.",
    "It must cost less than ${cap}.",
    "Anything under {cap} dollars is fine.",
    "At {cap} dollars I would already say no; cheaper than that is all right.",
)
KNOWN = (
    "The rest as I always like them (see my account).",
    "You know how I like these; my account says so.",
)
REMARKS = (
    "My last one was {other}, and I can do without.",
    "Whether it is {other} I do not mind.",
    "A friend swears by {other}; never mind that.",
    "The shop tried to sell me on {other}, which is no argument.",
    "Last year it had to be {other}, but times change.",
)
SPENT = (
    "My neighbour paid {price} dollars for theirs.",
    "I saw one for {price} dollars the other day, with the wrong things about it.",
    "Last time I spent ${price}.",
)
ASIDES = (
    "There is no hurry.",
    "I have looked in three shops already.",
    "Thank you for doing this.",
    "It is for the weekend.",
    "My sister will collect it.",
)


def word_request(goal: PurchaseGoal, rng: Rng, *, known: bool) -> str:
    """A request for what a goal asks for.

    known: whether the shopper is known, so that the first attribute is left to their account.
    """
    wanted = goal.attributes[1:] if known else goal.attributes
    parts = [*_attributes(wanted, rng), *_options(goal, rng)]
    cap = f"{goal.cap / 100:g}"
    parts.append(rng.choice(PRICE).format(cap=cap))
    parts += [rng.choice(KNOWN)] * known
    parts += _remarks(goal, rng)
    parts.append(rng.choice(ASIDES))
    rng.shuffle(parts)
    at = rng.below(min(3, len(parts)) + 1)  # the kind is named early
    parts.insert(at, rng.choice(KIND).format(kind=goal.product.query))
    return " ".join(part[0].upper() + part[1:] for part in parts)


def _attributes(wanted: Sequence[str], rng: Rng) -> list[str]:
    """Sentences with the attributes that are wanted, one by one or together."""
    if len(wanted) > 1 and rng.below(2):
        these = f"{', '.join(wanted[:-1])} and {wanted[-1]}"
        return [rng.choice(SEVERAL).format(these=these)]
    return [rng.choice(ONE).format(it=it) for it in wanted]


def _options(goal: PurchaseGoal, rng: Rng) -> list[str]:
    return [
        rng.choice(OPTIONS.get(name, OTHER_OPTION)).format(name=name, value=value)
        for name, value in goal.options.items()
    ]


def _remarks(goal: PurchaseGoal, rng: Rng) -> list[str]:
    """What is said of attributes and prices that are not wanted."""
    department = DEPARTMENTS[goal.product.category[0]]
    others = [name for name in department.attributes if name not in goal.attributes]
    rng.shuffle(others)
    remarks = [rng.choice(REMARKS).format(other=name) for name in others[: rng.between(1, 2)]]
    price = goal.cap // 100 + rng.between(-9, 60)
    return remarks + [rng.choice(SPENT).format(price=max(1, price))] * rng.below(2)
