"""Tasks of filling in fields."""

from __future__ import annotations

from palestra import Rng

from palestra_web.pages import (
    Element,
    button,
    checkbox,
    combobox,
    deed,
    form,
    group,
    heading,
    link,
    paragraph,
    radio,
    textbox,
)
from palestra_web.widgets.card import DONE, Body, Card, Widget, answer, some, task
from palestra_web.widgets.pressing import blurb
from palestra_web.widgets.words import COUNTRIES, DISHES, GENRES, MONTHS, NAMES, SURNAMES

LETTERS = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def code(rng: Rng, length: int) -> str:
    """Letters and digits that mean nothing."""
    return "".join([rng.choice(LETTERS) for _ in range(length)])


@task
def enter_text(rng: Rng) -> Card:
    """Type a word."""
    word = rng.choice(NAMES)
    words = f'Enter "{word}" into the text field and press Submit.'
    return Card(words, (answer(textbox("", "text")),), {"text": word}, typed=(word,))


@task
def enter_text_2(rng: Rng) -> Card:
    """Type a word in upper or lower case."""
    word, case = rng.choice(NAMES), rng.choice(("upper", "lower"))
    wanted = word.upper() if case == "upper" else word.lower()
    words = f'Type "{word}" in all {case} case letters in the text input and press Submit.'
    return Card(words, (answer(textbox("", "text")),), {"text": wanted}, typed=(wanted,))


@task
def enter_password(rng: Rng) -> Card:
    """Type a password twice."""
    word = code(rng, rng.between(3, 8))
    fields = textbox("Password", "password"), textbox("Verify password", "again")
    words = f'Enter the password "{word}" into both text fields and press Submit.'
    return Card(words, (answer(*fields),), {"password": word, "again": word}, typed=(word,))


@task
def enter_date(rng: Rng) -> Card:
    """Type a date."""
    date = f"{rng.between(1, 12):02}/{rng.between(1, 28):02}/{rng.between(2010, 2019)}"
    words = f"Enter {date} as the date and hit Submit."
    return Card(words, (answer(textbox("mm/dd/yyyy", "date")),), {"date": date}, typed=(date,))


@task
def enter_time(rng: Rng) -> Card:
    """Type a time of day."""
    time = f"{rng.between(1, 12)}:{rng.between(0, 59):02} {rng.choice(('AM', 'PM'))}"
    words = f"Enter {time} as the time and press Submit."
    return Card(words, (answer(textbox("hh:mm AM", "time")),), {"time": time}, typed=(time,))


def _login(rng: Rng) -> tuple[str, Element, dict[str, str]]:
    name, word = rng.choice(NAMES).lower(), code(rng, rng.between(3, 5))
    words = f'Enter the username "{name}" and the password "{word}" into the text fields'
    fields = textbox("Username", "username"), textbox("Password", "password")
    return words, answer(*fields, press="Login"), {"username": name, "password": word}


@task
def login_user(rng: Rng) -> Card:
    """Type a name and a password."""
    words, fields, right = _login(rng)
    return Card(f"{words} and press login.", (fields,), right, typed=tuple(right.values()))


@task
def login_user_popup(rng: Rng) -> Card:
    """The same behind a warning, which must be cancelled and not be confirmed."""
    words, fields, right = _login(rng)
    warning = group(
        "Warning",
        paragraph("Your session is about to expire. Go to the home page now?"),
        deed("OK", DONE, choice="OK"),
        link("Cancel", "/login"),
    )
    pages = {"/login": (fields,)}
    words = f"{words} and press login."
    return Card(words, (warning,), right, pages=pages, typed=tuple(right.values()))


@task
def choose_list(rng: Rng) -> Card:
    """Pick from a drop-down list."""
    names = some(rng, COUNTRIES, 12)
    wanted = rng.choice(names[1:])  # the first is picked already
    words = f"Select {wanted} from the list and click Submit."
    return Card(words, (answer(combobox("Country", "country", names)),), {"country": wanted})


@task
def use_spinner(rng: Rng) -> Card:
    """Turn a number up or down with two buttons."""
    wanted = rng.choice([n for n in range(-8, 9) if n])
    pages = {f"/at/{n}": _spinner(n) for n in range(-10, 11)}
    words = f"Select {wanted} with the spinner and hit Submit."
    return Card(words, _spinner(0), {"number": str(wanted)}, pages=pages)


def _spinner(number: int) -> tuple[Element, ...]:
    up, down = f"/at/{min(number + 1, 10)}", f"/at/{max(number - 1, -10)}"
    submit = form(DONE, button("Submit", "number", str(number)), changes=True)
    return link("+", up), paragraph(str(number)), link("-", down), submit


@task
def use_autocomplete(rng: Rng) -> Widget:
    """Find the item of a beginning and an ending among suggestions for what is typed."""
    wanted = rng.choice(COUNTRIES)
    start, end = wanted[: rng.between(2, 3)], wanted[-2:]
    right = {c: {"item": c} for c in COUNTRIES if c.startswith(start) and c.endswith(end)}
    if len(right) > 1:  # the task must have one answer
        return use_autocomplete(rng)
    box = form("/suggest", textbox("Tags", "q"), button("Suggest"))
    pages: dict[str, Body] = {"/suggest": (box, paragraph("No suggestions."))}
    for country in COUNTRIES:
        for length in range(1, len(country) + 1):
            prefix = country[:length]
            found = [c for c in COUNTRIES if c.startswith(prefix)]
            page = (box, *(deed(c, DONE, item=c) for c in found))
            pages[f"/suggest?q={prefix}"] = page
    words = f'Enter an item that starts with "{start}" and ends with "{end}".'
    return Card(words, (box,), right[wanted], pages=pages, typed=(start,))


@task
def choose_date(rng: Rng) -> Card:
    """Pick a day in a calendar that turns month by month."""
    month, day = rng.between(1, 12), rng.between(1, 28)
    wanted = f"{month:02}/{day:02}/2016"
    pages = {f"/month/{number}": _month(number) for number in range(1, 13)}
    start = rng.choice([number for number in range(1, 13) if number != month])
    return Card(f"Select {wanted} as the date.", _month(start), {"date": wanted}, pages=pages)


def _month(number: int) -> tuple[Element, ...]:
    days = 29 if number == 2 else 30 if number in (4, 6, 9, 11) else 31  # of 2016
    turns = [
        link(name, f"/month/{other}")
        for name, other in (("Prev", number - 1), ("Next", number + 1))
        if 1 <= other <= 12
    ]
    cells = [deed(str(d), DONE, date=f"{number:02}/{d:02}/2016") for d in range(1, days + 1)]
    weeks = [group("", *cells[week : week + 7]) for week in range(0, days, 7)]
    return (*turns, heading(f"{MONTHS[number - 1]} 2016"), *weeks)


@task
def copy_paste(rng: Rng) -> Card:
    """Copy the text of a text area into a field."""
    text = blurb(rng, 8)
    fields = textbox("From", "from", text, lines=3), textbox("To", "to")
    words = "Copy the text in the textarea, paste it into the textbox and press Submit."
    return Card(words, (answer(*fields),), {"from": text, "to": text}, typed=(text,))


@task
def copy_paste_2(rng: Rng) -> Card:
    """Copy one of three text areas."""
    texts = [blurb(rng, 5) for _ in range(3)]
    number = rng.below(3)
    areas = [textbox(f"Text {n}", f"text{n}", text, lines=2) for n, text in enumerate(texts, 1)]
    right = {f"text{n}": text for n, text in enumerate(texts, 1)} | {"to": texts[number]}
    nth = ("1st", "2nd", "3rd")[number]
    words = f"Copy the text from the {nth} text area below and paste it into the text input, then"
    fields = answer(*areas, textbox("Answer", "to"))
    return Card(f"{words} press Submit.", (fields,), right, typed=tuple(texts))


@task
def odd_or_even(rng: Rng) -> Card:
    """Mark each number as odd or even."""
    numbers = some(rng, range(-20, 100), 4)
    rows = [
        group(str(n), radio("Odd", f"n{i}", "odd"), radio("Even", f"n{i}", "even"))
        for i, n in enumerate(numbers)
    ]
    right = {f"n{i}": "odd" if n % 2 else "even" for i, n in enumerate(numbers)}
    words = "Mark the numbers below as odd or even and press submit when done."
    return Card(words, (answer(*rows),), right)


def _film(rng: Rng) -> tuple[str, list[tuple[str, str, str]]]:
    genre, director = rng.choice(GENRES), rng.choice(SURNAMES)
    year = str(rng.between(1970, 2016))
    words = f"Search for {genre} movies directed by {director} from year {year}."
    return words, [
        ("Genre", "genre", genre),
        ("Director", "director", director),
        ("Year", "year", year),
    ]


@task
def multi_orderings(rng: Rng) -> Card:
    """Fill a form whose fields stand in any order."""
    words, rows = _film(rng)
    fields = [textbox(label, name) for label, name, _ in some(rng, rows, 3)]
    right = {name: value for _, name, value in rows}
    return Card(words, (answer(*fields, press="Search"),), right, typed=tuple(right.values()))


LABELS = {
    "genre": ("Genre", "Category", "Film genre"),
    "director": ("Director", "Directed by", "Film director"),
    "year": ("Year", "Release year", "Film year"),
}


@task
def multi_layouts(rng: Rng) -> Card:
    """The same with other labels, other orders and paragraphs in between."""
    words, rows = _film(rng)
    parts: list[Element] = []
    for _, name, _ in some(rng, rows, 3):
        parts += [paragraph(blurb(rng, 4))] * rng.below(2)
        parts.append(textbox(rng.choice(LABELS[name]), name))
    right = {name: value for _, name, value in rows}
    body = (heading("Film search"), answer(*parts, press=rng.choice(("Search", "Go", "Submit"))))
    return Card(words, body, right, typed=tuple(right.values()))


@task
def order_food(rng: Rng) -> Card:
    """Order given numbers of dishes."""
    menu = some(rng, DISHES, 6)
    wanted = {dish: rng.between(1, 3) for dish in some(rng, menu, rng.between(1, 3))}
    fields = [combobox(dish, dish, map(str, range(4))) for dish in menu]
    right = {dish: str(wanted.get(dish, 0)) for dish in menu}
    asked = ", ".join(f"{count} x {dish}" for dish, count in wanted.items())
    words = f"Order exactly this: {asked}. Then press Order."
    return Card(words, (answer(*fields, press="Order"),), right)


@task
def text_transform(rng: Rng) -> Card:
    """Type what is written letter by letter."""
    word = code(rng, 5)
    letters = group("Text", *(paragraph(letter) for letter in word))
    words = "Type the text below into the text field and press Submit."
    return Card(words, (letters, answer(textbox("", "text"))), {"text": word})


@task
def form_sequence(rng: Rng) -> Card:
    """Do three things to one form, then send it."""
    number, box, pick = rng.between(1, 6), rng.between(1, 3), rng.between(1, 3)
    boxes = [checkbox(f"Checkbox {n}", f"box{n}") for n in (1, 2, 3)]
    picks = [radio(f"Option {n}", "option", str(n)) for n in (1, 2, 3)]
    numbers = combobox("Number", "number", map(str, range(1, 7)))
    words = f"Choose {number} from the list, check checkbox {box}, pick option {pick}, then submit."
    right = {"number": str(number), f"box{box}": "on", "option": str(pick)}
    return Card(words, (answer(numbers, *boxes, *picks),), right)
