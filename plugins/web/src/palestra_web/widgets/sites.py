"""Tasks on small imitations of sites: mail, posts, contacts, flights, search."""

from __future__ import annotations

from palestra import Rng

from palestra_web.pages import (
    Element,
    button,
    checkbox,
    deed,
    form,
    group,
    heading,
    link,
    listing,
    paragraph,
    table,
    textbox,
)
from palestra_web.website import encode_query
from palestra_web.widgets.card import DONE, Body, Card, answer, some, task
from palestra_web.widgets.looking import nth
from palestra_web.widgets.pressing import blurb
from palestra_web.widgets.words import CITIES, NAMES, SURNAMES, WORDS

MAIL = ("Delete", "Important")
POST = ("Like", "Share", "Reply")


def mailbox(rng: Rng) -> tuple[list[str], Body, dict[str, Body]]:
    """The senders, the inbox, and the mails by address; forms name the sender."""
    senders = some(rng, NAMES, 5)
    rows, pages = [], {}
    for number, sender in enumerate(senders, start=1):
        to, subject = f"/mail/{number}", blurb(rng, 2)
        rows.append((link(sender, to), paragraph(subject)))
        deeds = [deed(what, DONE, **{what: sender}) for what in MAIL]
        pages[to] = (
            link("Inbox", "/"),
            heading(subject),
            heading(f"From {sender}", 2),
            paragraph(blurb(rng)),
            *deeds,
            link("Reply", f"{to}/reply"),
            link("Forward", f"{to}/forward"),
        )
        send = button("Send", "mail", sender)
        pages[f"{to}/reply"] = (form(DONE, textbox("Reply", "reply", lines=3), send, changes=True),)
        pages[f"{to}/forward"] = (form(DONE, textbox("To", "to"), send, changes=True),)
    return senders, (heading("Inbox"), listing(*rows)), pages


def _mail(rng: Rng, kind: str) -> Card:
    senders, inbox, pages = mailbox(rng)
    sender = rng.choice(senders)
    typed: tuple[str, ...] = ()
    if kind == "reply":
        text = " ".join(some(rng, WORDS, 3)).capitalize() + "."
        words, right = f'reply to them with the text "{text}"', {"reply": text, "mail": sender}
        typed = (text,)
    elif kind == "forward":
        other = rng.choice([name for name in NAMES if name != sender])
        words, right = f"forward the email to {other}", {"to": other, "mail": sender}
        typed = (other,)
    elif kind == "delete":
        words, right = "delete the email", {"Delete": sender}
    else:
        words, right = "mark the email as important", {"Important": sender}
    asked = f"Find the email by {sender} and {words}."
    mails = tuple([f"/mail/{number}" for number in range(1, len(senders) + 1)])
    return Card(asked, inbox, right, pages=pages, typed=typed, details=mails)


@task
def email_inbox(rng: Rng) -> Card:
    """Any of the four things one does with a mail."""
    return _mail(rng, rng.choice(("reply", "forward", "delete", "important")))


@task
def email_inbox_delete(rng: Rng) -> Card:
    """Delete the mail of a sender."""
    return _mail(rng, "delete")


@task
def email_inbox_forward(rng: Rng) -> Card:
    """Forward the mail of a sender."""
    return _mail(rng, "forward")


@task
def email_inbox_reply(rng: Rng) -> Card:
    """Reply to the mail of a sender."""
    return _mail(rng, "reply")


@task
def email_inbox_important(rng: Rng) -> Card:
    """Mark the mail of a sender as important."""
    return _mail(rng, "important")


@task
def social_media(rng: Rng) -> Card:
    """Press a button of one person's post."""
    people = some(rng, NAMES, 4)
    who, what = f"@{rng.choice(people).lower()}", rng.choice(POST)
    posts = [_post(rng, f"@{name.lower()}") for name in people]
    words = f'For the user {who}, click on the "{what}" button.'
    return Card(words, tuple(posts), {what: who})


def _post(rng: Rng, who: str) -> Element:
    deeds = [form(DONE, button(what, what, who), changes=True) for what in POST]
    return group(who, paragraph(blurb(rng, 6)), *deeds)


def _many_posts(rng: Rng, limit: int) -> Card:
    """Tick what is asked of `limit` posts of a person, or of all if it is 0."""
    people = some(rng, NAMES, 3)
    authors = [rng.below(3) for _ in range(6)] + [0, 0]
    rng.shuffle(authors)
    who, what = f"@{people[0].lower()}", rng.choice(POST)
    theirs = [f"{what}{n}" for n, author in enumerate(authors) if author == 0]
    wanted = theirs[:limit] if limit else theirs
    posts = []
    for n, author in enumerate(authors):
        boxes = [checkbox(each, f"{each}{n}") for each in POST]
        posts.append(group(f"@{people[author].lower()}", paragraph(blurb(rng, 4)), *boxes))
    which = f"the first {limit} posts" if limit else "all posts"
    words = f'Tick "{what}" on {which} by {who} and then click Submit.'
    return Card(words, (answer(*posts),), dict.fromkeys(wanted, "on"))


@task
def social_media_all(rng: Rng) -> Card:
    """Do something with every post of a person."""
    return _many_posts(rng, 0)


@task
def social_media_some(rng: Rng) -> Card:
    """Do something with the first posts of a person."""
    return _many_posts(rng, rng.between(1, 2))


@task
def phone_book(rng: Rng) -> Card:
    """Find a contact and follow its phone number, mail address or street."""
    people = some(rng, NAMES, 8)
    pages: dict[str, Body] = {}
    cards = tuple([f"/contact/{n}" for n in range(len(people))])
    what = rng.choice(("phone number", "email", "address"))
    wanted = rng.below(len(people))
    for n, (to, name) in enumerate(zip(cards, people, strict=True)):
        phone = f"{rng.between(200, 999)}-{rng.between(1000, 9999)}"
        mail = f"{rng.choice(WORDS)}@{rng.choice(WORDS)}.example"
        street = f"{rng.between(1, 999)} {rng.choice(SURNAMES)} Street"
        kinds = (("phone number", phone), ("email", mail), ("address", street))
        rows = [(kind, deed(text, DONE, **{kind: str(n)})) for kind, text in kinds]
        pages[to] = (link("Contacts", "/"), heading(name), table(("What", "Value"), rows))
    body = (
        heading("Contacts"),
        listing(*(link(p, to) for p, to in zip(people, cards, strict=True))),
    )
    words = f"Find {people[wanted]} in the contact book and click on their {what}."
    return Card(words, body, {what: str(wanted)}, pages=pages, details=cards)


@task
def search_engine(rng: Rng) -> Card:
    """Search for a word and follow the result of a rank, three to a page."""
    query, place = rng.choice(NAMES), rng.between(1, 9)
    found = some(rng, [f"{a} {b}" for a in WORDS for b in WORDS if a != b], 9)
    box = form("/search", textbox("", "q"), button("Search"))
    first = f"/search?{encode_query([('q', query)])}"
    urls = (first, f"{first}&page=2", f"{first}&page=3")
    turns = [link(str(page), url) for page, url in enumerate(urls, start=1)]
    pages: dict[str, Body] = {"/search": (box, paragraph("Nothing was found."))}
    for page, url in enumerate(urls):
        hits = [deed(name.title(), DONE, result=name) for name in found[3 * page : 3 * page + 3]]
        pages[url] = (box, listing(*hits), *turns)
    words = f'Use the textbox to enter "{query}" and press "Search", then find and click the'
    return Card(
        f"{words} {nth(place)} search result.",
        (box,),
        {"result": found[place - 1]},
        pages=pages,
        details=urls,
        typed=(query,),
    )


def fares(rng: Rng, count: int) -> list[tuple[int, int, int]]:
    """Flights: when they leave, how long they take, in minutes, and what they cost; all differ."""
    hours = some(rng, range(5 * 12, 22 * 12), count)
    lengths, costs = some(rng, range(45, 400, 5), count), some(rng, range(49, 900), count)
    return list(zip([5 * hour for hour in hours], lengths, costs, strict=True))


def _timetable(flights: list[tuple[int, int, int]], press: str) -> Element:
    rows = []
    for number, (leaves, length, cost) in enumerate(flights):
        book = form(DONE, button(press, "flight", str(number)), changes=True)
        cells = (f"{leaves // 60:02}:{leaves % 60:02}", f"{length // 60}h {length % 60:02}m")
        rows.append((*cells, f"${cost}", book))
    return table(("Leaves", "Duration", "Price", ""), rows)


def best(flights: list[tuple[int, int, int]], way: str) -> str:
    """The number of the flight that is best in one way."""
    column = ("earliest", "shortest", "cheapest").index(way)
    return str(min(range(len(flights)), key=lambda n: flights[n][column]))


@task
def buy_ticket(rng: Rng) -> Card:
    """Buy the ticket that is earliest, shortest or cheapest."""
    flights, way = fares(rng, 6), rng.choice(("earliest", "shortest", "cheapest"))
    body = (heading("Tickets"), _timetable(flights, "Buy"))
    return Card(f"Buy the {way} ticket.", body, {"flight": best(flights, way)})


@task
def book_flight(rng: Rng) -> Card:
    """Search for flights, then book the shortest or the cheapest."""
    start, end = some(rng, CITIES, 2)
    date = f"{rng.between(1, 12):02}/{rng.between(1, 28):02}/2016"
    flights, way = fares(rng, 5), rng.choice(("shortest", "cheapest"))
    fields = textbox("From", "from"), textbox("To", "to"), textbox("Departure date", "date")
    search = form("/flights", *fields, button("Search"))
    query = encode_query([("from", start), ("to", end), ("date", date)])
    pages = {
        "/flights": (search, paragraph("No flights were found.")),
        f"/flights?{query}": (search, _timetable(flights, "Book flight")),
    }
    words = f"Book the {way} one-way flight from: {start} to: {end} on {date}."
    right = {"flight": best(flights, way)}
    return Card(
        words, (heading("Book a flight"), search), right, pages=pages, typed=(start, end, date)
    )
