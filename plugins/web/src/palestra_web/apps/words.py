"""The names and texts in the apps, their documentation, and why an app refuses a form."""

from __future__ import annotations

FIRST = ("Ada", "Ben", "Cora", "Dev", "Elif", "Finn", "Gita", "Hugo", "Ines", "Jon", "Kaya", "Leo")
LAST = ("Abbot", "Brandt", "Castro", "Dahl", "Ellis", "Fofana", "Garcia", "Haddad", "Ito", "Kumar")
NAMES = tuple(f"{first} {last}" for first in FIRST for last in LAST)
STRANGE_PLACES = ("lucky", "prize")
THINGS = (
    *("concert tickets", "birthday present", "pizza", "train ride", "camping trip", "groceries"),
    *("museum visit", "taxi", "book club", "football match"),
)
MEETINGS = ("Budget review", "Planning", "Coffee", "Design talk", "Interview", "Check-up", "Demo")
CHAT = (
    ("Holiday photos", "I have put the photos of last summer together, have a look some day."),
    ("The garden", "The tomatoes are coming up. Come by and see."),
    ("New job", "I start at the new place next month!"),
    ("Article", "I read something about tides that you would like."),
    ("Weekend", "Are you in town at the weekend?"),
    ("Old bicycle", "Do you know anybody who wants my old bicycle?"),
)
SHOPS = ("cafe-blue", "city-market", "book-corner", "paper-mill", "green-grocer", "tool-shed")
PAPERS = (
    ("packing-list", "tent, lamp, rope, soap"),
    ("reading", "The Tides. A Short History of Salt."),
    ("wifi", "The name of the network is on the box."),
    ("recipe", "Two eggs, flour, milk, and patience."),
)
REPLIES = (
    "Yes, gladly. See you then!",
    "I cannot make it, sorry.",
    "Thank you, I will think about it.",
    "Please call me on Monday.",
)
REGRETS = ("I am ill today, sorry.", "Something came up, I cannot come.", "Let us meet next week.")

DOCS = {
    "mail": (
        "New mail goes to one address. Names are not addresses: the address book has both.",
        "A reply goes to the sender of a mail; its subject is Re: and the subject of that mail.",
        "A mail that is deleted is gone.",
    ),
    "calendar": (
        "A day is written as 2025-03-14, a time as 09:30. Meetings start on the hour or half hour.",
        "Meetings take 30, 60, 90 or 120 minutes. A meeting that is moved keeps its length.",
        "The calendar does not mind if meetings overlap. Cancelling tells nobody.",
    ),
    "payments": (
        "An amount is in dollars with two decimals, as 12.50, and goes to an address.",
        "Accepting a request pays it. A request is answered once. Nothing can be taken back.",
        "History has what was paid, in both directions, the latest first.",
    ),
    "files": (
        "The name of a file has letters, digits, points and hyphens. A name is taken once.",
        "Saving puts another text in place of the old one.",
    ),
    "people": ("The address book cannot be changed here.",),
}
REFUSALS = {
    "address": "Nobody has this address. The address book has names and addresses.",
    "amount": "An amount is in dollars with two decimals, as 12.50, and more than 0.00.",
    "funds": "There is not enough money in the account.",
    "day": "A day is written as 2025-03-14, and is not in the past.",
    "time": "A time is written as 09:30, on the hour or half hour.",
    "minutes": "A meeting takes 30, 60, 90 or 120 minutes.",
    "name": "The name of a file has letters, digits, points and hyphens, at most 60.",
    "taken": "There is a file of this name.",
    "empty": "There is nothing in it.",
    "answered": "This request has been answered.",
}
