"""The vocabulary of an organisation: names, products, issues, policies and articles."""

from __future__ import annotations

from typing import NamedTuple

FIRST = (
    *("Ada", "Ben", "Cora", "Dev", "Elif", "Finn", "Gita", "Hugo", "Ines", "Jon", "Kaya", "Leo"),
    *("Mina", "Noor", "Omar", "Pia", "Quinn", "Rosa", "Sami", "Tara", "Uma", "Vera", "Wen", "Yara"),
)
LAST = (
    *("Abbot", "Brandt", "Castro", "Dahl", "Ellis", "Fofana", "Garcia", "Haddad", "Ito", "Jansen"),
    *("Kumar", "Lopez", "Meyer", "Novak", "Okafor", "Peters", "Quist", "Rossi", "Silva", "Tanaka"),
)
FIRMS = ("Harbour", "Summit", "Maple", "Orchid", "Granite", "Lantern", "Cobalt", "Meadow", "Falcon")
TRADES = ("Foods", "Logistics", "Clinic", "Studios", "Schools", "Builders", "Hotels", "Labs")
REGIONS = ("CA", "NY", "TX", "WA", "IL", "FL", "CO", "MA", "GA", "OR")

CATEGORIES = {
    "Headphones": ("Aurora", "Nimbus", "Echo"),
    "Speakers": ("Boulder", "Canyon"),
    "Cameras": ("Lynx", "Heron", "Osprey"),
    "Watches": ("Tempo", "Pulse"),
    "Lamps": ("Ember", "Glow"),
}  # the families of each category
VARIANTS = ("Mini", "Classic", "Pro", "Max")


class Issue(NamedTuple):
    """Something that can go wrong with a product."""

    name: str
    symptom: str  # in a customer's words
    hours: int  # that a case takes, usually


ISSUES = (
    Issue("Does not start", "It stays dark when I press the button.", 20),
    Issue("Battery drains", "It is empty again after an hour.", 30),
    Issue("Connection lost", "It keeps dropping off my network.", 26),
    Issue("Damaged on arrival", "The box was crushed and so was what is in it.", 14),
    Issue("Wrong article sent", "You sent me something else than I ordered.", 12),
    Issue("Late delivery", "It was promised for last week and is not here.", 10),
    Issue("Charged twice", "My card shows the same sum two times.", 8),
    Issue("Update fails", "The new version stops half way.", 34),
    Issue("Strange noise", "It hums whenever it is on.", 40),
    Issue("Overheats", "It is too hot to touch.", 44),
    Issue("Missing part", "There is no cable in the box.", 9),
    Issue("Account locked", "It does not take my sign-in any more.", 6),
)  # no case has the last


class DeskRule(NamedTuple):
    """A rule for agents."""

    title: str  # of its article
    body: str  # of its article; {} is a limit
    limits: tuple[int, ...]  # an organisation draws one of them


POLICIES = (
    DeskRule(
        "Refunds", "A refund is given within {} days of the order, never later.", (20, 30, 45)
    ),
    DeskRule("Replacements", "A part is replaced free within {} days of the order.", (60, 90, 120)),
    DeskRule("Discounts", "An agent may offer a discount of up to {} percent.", (10, 15, 20)),
    DeskRule(
        "Identity",
        "Before an address is changed, the customer must be asked to confirm the e-mail address.",
        (),
    ),
    DeskRule("Passwords", "No customer is ever asked for a password.", ()),
)
ROUTING = (
    "A new case goes to the agent who has closed most cases of the same issue. Of several, to the "
    "one who has closed most cases about the same product; then to the one with the fewest cases "
    "not yet closed; then to the one with the lowest id. If nobody has closed a case of the issue, "
    "it goes to nobody: the answer is None."
)

REFUND = "Your refund is approved."
NO_REFUND = "I am sorry, it is too late for a refund."
REPLACED = "A free replacement is on its way."
DISCOUNT = "I can offer you a discount of {} percent."
CONFIRM = "Please confirm your e-mail address."
MOVED = "I have changed your address."
PASSWORD = "Please tell me your password."
POLITE = ("Thank you for writing to us.", "I am happy to help.", "Let me look into that for you.")
CLOSING = ("Is there anything else?", "Have a good day.", "Please write again if it comes back.")


class Fact(NamedTuple):
    """Something that an article about a product may say."""

    question: str  # that a customer asks
    lead: str  # the words before the answer
    values: tuple[str, ...]  # possible answers; a full stop ends them


FACTS = (
    Fact("How long does it run?", "It runs for ", ("6 hours", "9 hours", "14 hours", "two days")),
    Fact("What does it weigh?", "It weighs ", ("85 grams", "210 grams", "340 grams", "1 kilogram")),
    Fact(
        "How do I reset it?",
        "To reset it, ",
        (
            "hold the button for ten seconds",
            "take out the battery for a minute",
            "press both keys at once until the light is red",
        ),
    ),
    Fact(
        "How do I clean it?",
        "Clean it with ",
        ("a dry cloth only", "a damp cloth and no soap", "a soft brush once a month"),
    ),
    Fact("How long is its warranty?", "Its warranty is ", ("one year", "two years", "three years")),
)
