"""An agent that solves every widget task from the text of its page, one way to read for each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from palestra import Agent, Decision, InvalidOption, TextAction, Turn, agent

from palestra_web.actions import Click, Fill, Select
from palestra_web.reading import Seen, address_of, find, read_lines, task_of
from palestra_web.widgets.playing import winning
from palestra_web.widgets.words import MONTHS, SHAPES, SYNONYMS

_TITLE = re.compile(r"^Page \S+ '([^']+)';", re.MULTILINE)


@dataclass(frozen=True)
class Look:
    """What is asked and what the page shows."""

    task: str
    title: str
    address: str
    lines: Sequence[Seen]

    @property
    def quoted(self) -> list[str]:
        """What stands in quotation marks in the task."""
        return re.findall(r'"([^"]+)"', self.task)

    def asked(self, pattern: str) -> tuple[str, ...]:
        """The groups of a pattern in the task."""
        match = re.search(pattern, self.task)
        if match is None:
            raise InvalidOption(f"{self.task!r} is not a task of {self.title}")
        return match.groups()

    def has(self, role: str, name: str) -> bool:
        return any(line.role == role and line.name == name for line in self.lines)

    def names(self, role: str) -> list[str]:
        return [line.name for line in self.lines if line.role == role]

    def numbered(self, role: str) -> list[Seen]:
        return [line for line in self.lines if line.role == role]

    def click(self, name: str) -> TextAction:
        """Click on the button or link of a name."""
        for role in ("button", "link"):
            if self.has(role, name):
                return Click(find(self.lines, role, name).number)
        raise LookupError(f"nothing called {name!r} can be clicked; there are {self.lines}")

    def put(self, texts: Mapping[str, str], press: str = "Submit") -> TextAction:
        """Bring fields by their names to hold texts, then press a button."""
        for name, text in texts.items():
            if self.has("combobox", name):
                box = find(self.lines, "combobox", name)
                if box.value != text:
                    return Select(box.number, text)
            else:
                box = find(self.lines, "textbox", name)
                if box.value != text:
                    return Fill(box.number, text)
        return self.click(press)

    def tick(self, wanted: Sequence[int], press: str = "Submit") -> TextAction:
        """Tick what has these numbers and nothing else, then press a button."""
        for line in self.lines:
            if line.role == "checkbox" and line.chosen != (line.number in wanted):
                return Click(line.number)
            if line.role == "radio" and line.number in wanted and not line.chosen:
                return Click(line.number)
        return self.click(press)

    def within(self, region: str) -> list[list[Seen]]:
        """What stands in each region of a name."""
        found: list[list[Seen]] = []
        inside = False
        for line in self.lines:
            if line.role == "region":
                inside = line.name == region
                found += [[]] * inside
            elif inside and line.depth:
                found[-1] = [*found[-1], line]
        return found

    @property
    def rows(self) -> list[list[Seen]]:
        """The cells of each row of a table but the first; one that holds something is what it
        holds."""
        rows: list[list[Seen]] = []
        for line in self.lines:
            if line.role == "row":
                rows.append([])
            elif line.role == "cell":
                rows[-1].append(line)
            elif rows and rows[-1] and line.depth == rows[-1][-1].depth + 1:
                rows[-1][-1] = line
        return rows[1:]


Solver = Callable[[Look], TextAction]
SOLVERS: dict[str, Solver] = {}


def solves(*names: str) -> Callable[[Solver], Solver]:
    """Say which tasks a solver is for."""

    def keep(solver: Solver) -> Solver:
        SOLVERS.update(dict.fromkeys(names, solver))
        return solver

    return keep


@agent(
    "widget-oracle",
    plays=("web/Widgets-v0",),
    summary="solves every widget task from the text of its page",
)
class WidgetOracle(Agent):
    """Reads the page and does what the task says."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(solve(look_at(turn))) for turn in turns]


def look_at(turn: Turn) -> Look:
    """A turn as its text tells it."""
    match = _TITLE.search(turn.position)
    if match is None or match[1] not in SOLVERS:
        raise InvalidOption(f"{turn.env} has no widget task on this page; play web/Widgets-v0")
    return Look(task_of(turn), match[1], address_of(turn), read_lines(turn.position))


def solve(look: Look) -> TextAction:
    """The next action towards the answer."""
    return SOLVERS[look.title](look)


# Pressing


@solves("click-test")
def press_it(look: Look) -> TextAction:
    return look.click("Click Me!")


@solves("click-test-2")
def press_one(look: Look) -> TextAction:
    return look.click("ONE")


@solves("click-button", "click-link", "click-dialog", "click-dialog-2", "unicode-test")
@solves("sign-agreement")
def press_quoted(look: Look) -> TextAction:
    return look.click(look.quoted[-1])


@solves("click-button-sequence")
def press_both(look: Look) -> TextAction:
    return look.click(("ONE", "TWO")[done(look)])


@solves("ascending-numbers")
def press_in_order(look: Look) -> TextAction:
    numbers = sorted(map(int, look.names("button")))
    return look.click(str(numbers[done(look)]))


def done(look: Look) -> int:
    """How many answers of a sequence have been taken."""
    counts = [int(n) for text in look.names("paragraph") for n in re.findall(r"^(\d+) done", text)]
    return counts[0] if counts else 0


@solves("click-tab")
def press_tab(look: Look) -> TextAction:
    return look.click(*look.asked(r"(Tab #\d+)"))


@solves("click-tab-2", "click-collapsible-2", "navigate-tree")
def search_pages(look: Look) -> TextAction:
    """Opens one page after the other until the link is there."""
    (name,) = look.quoted
    if look.has("link", name):
        return look.click(name)
    opened = int((re.findall(r"\d+", look.address) or ["0"])[0])
    ways = [line for line in look.numbered("link") if re.match(r"Tab #|Section #|Open ", line.name)]
    return Click(ways[opened].number)


@solves("click-collapsible")
def expand(look: Look) -> TextAction:
    return look.click("Section" if look.address == "/" else "Submit")


@solves("click-menu")
def go_down(look: Look) -> TextAction:
    path = look.asked(r"Select (\w+) > (\w+) > (\w+)")
    return look.click([name for name in path if look.has("link", name)][-1])


@solves("click-widget")
def press_kind(look: Look) -> TextAction:
    (kind,) = look.quoted
    fields = [line.number for line in look.lines if line.role == kind]
    return look.click("link") if kind == "link" else look.tick(fields)


@solves("click-color")
def press_colour(look: Look) -> TextAction:
    return look.click(*look.asked(r"the (\w+) colored"))


@solves("grid-coordinate")
def press_crossing(look: Look) -> TextAction:
    x, y = look.asked(r"\((-?\d+),(-?\d+)\)")
    (row,) = [row for row in look.rows if row[0].name == y]
    return Click(row[look.names("columnheader").index(x)].number)


@solves("choose-date")
def turn_pages(look: Look) -> TextAction:
    month, day = look.asked(r"(\d+)/(\d+)/")
    (title,) = look.names("heading")
    ahead = int(month) - 1 - MONTHS.index(title.split()[0])
    if ahead:
        return look.click("Next" if ahead > 0 else "Prev")
    return look.click(str(int(day)))


# Filling


@solves("click-checkboxes", "click-checkboxes-large", "click-option")
def tick_names(look: Look) -> TextAction:
    names = look.asked(r"Select (.+) and click")[0].split(", ")
    return look.tick([line.number for line in look.lines if line.name in names])


@solves("click-checkboxes-soft")
def tick_synonyms(look: Look) -> TextAction:
    meant = dict(SYNONYMS)
    words = [meant[word] for word in look.asked(r"similar to (.+) and click")[0].split(", ")]
    return look.tick([line.number for line in look.lines if line.name in words])


@solves("enter-text", "enter-password")
def type_quoted(look: Look) -> TextAction:
    return look.put(dict.fromkeys(look.names("textbox"), look.quoted[0]))


@solves("enter-text-2")
def type_cased(look: Look) -> TextAction:
    (word,) = look.quoted
    return look.put({"": word.upper() if "upper" in look.task else word.lower()})


@solves("enter-date", "enter-time")
def type_moment(look: Look) -> TextAction:
    (name,) = look.names("textbox")
    return look.put({name: look.asked(r"Enter (.+) as the")[0]})


@solves("login-user", "login-user-popup")
def log_in(look: Look) -> TextAction:
    if look.has("link", "Cancel"):
        return look.click("Cancel")
    return look.put(dict(zip(("Username", "Password"), look.quoted, strict=True)), "Login")


@solves("choose-list")
def pick(look: Look) -> TextAction:
    return look.put({"Country": look.asked(r"Select (.+) from the list")[0]})


@solves("use-spinner")
def spin(look: Look) -> TextAction:
    wanted, now = int(look.asked(r"Select (-?\d+)")[0]), int(look.names("paragraph")[0])
    return look.click("Submit" if wanted == now else "+" if wanted > now else "-")


@solves("use-autocomplete")
def complete(look: Look) -> TextAction:
    start, end = look.quoted
    for line in look.numbered("link"):
        if line.name.startswith(start) and line.name.endswith(end):
            return Click(line.number)
    return look.put({"Tags": start}, "Suggest")


@solves("copy-paste")
def copy(look: Look) -> TextAction:
    return look.put({"To": find(look.lines, "textbox", "From").value})


@solves("copy-paste-2")
def copy_nth(look: Look) -> TextAction:
    number = look.asked(r"the (\d)\w\w text area")[0]
    return look.put({"Answer": find(look.lines, "textbox", f"Text {number}").value})


@solves("odd-or-even")
def mark(look: Look) -> TextAction:
    wanted = [
        line.number
        for number in look.names("region")
        for line in look.within(number)[0]
        if line.name == ("Odd" if int(number) % 2 else "Even")
    ]
    return look.tick(wanted)


@solves("multi-orderings", "multi-layouts")
def search_films(look: Look) -> TextAction:
    genre, director, year = look.asked(r"for (\w+) movies directed by (\w+) from year (\d+)")
    texts = {}
    for name in look.names("textbox"):
        word = name.lower()
        kind = genre if "genre" in word or "category" in word else year
        texts[name] = director if "direct" in word else kind
    return look.put(texts, look.names("button")[0])


@solves("order-food")
def order(look: Look) -> TextAction:
    wanted = {dish: n for n, dish in re.findall(r"(\d) x ([a-z ]+)", look.task)}
    return look.put({dish: wanted.get(dish, "0") for dish in look.names("combobox")}, "Order")


@solves("text-transform")
def spell(look: Look) -> TextAction:
    return look.put({"": "".join(look.names("paragraph"))})


@solves("form-sequence")
def fill_form(look: Look) -> TextAction:
    number, box, pick = look.asked(r"Choose (\d) .* checkbox (\d), pick option (\d)")
    if find(look.lines, "combobox", "Number").value != number:
        return look.put({"Number": number})
    names = (f"Checkbox {box}", f"Option {pick}")
    return look.tick([line.number for line in look.lines if line.name in names])


# Looking


@solves("simple-arithmetic")
def compute(look: Look) -> TextAction:
    a, sign, b = re.findall(r"(\d+) (.) (\d+)", look.names("paragraph")[0])[0]
    results = {"+": int(a) + int(b), "-": int(a) - int(b), "x": int(a) * int(b)}
    return look.put({"": str(results[sign])})


@solves("simple-algebra")
def solve_for_x(look: Look) -> TextAction:
    left, right = look.names("paragraph")[0].split(" = ")
    a, sign, b = left.split()
    if b == "x":
        return look.put({"x =": str(int(a) - int(right))})
    return look.put({"x =": str(int(right) - int(b) if sign == "+" else int(right) + int(b))})


@solves("visual-addition")
def count_blocks(look: Look) -> TextAction:
    return look.put({"": str(look.names("img").count("block"))})


@solves("count-shape")
def count(look: Look) -> TextAction:
    (what,) = look.asked(r"How many (\w+) items")
    return look.click(str(sum(what in name.split() for name in look.names("img"))))


@solves("identify-shape")
def name_shape(look: Look) -> TextAction:
    return look.click(look.names("img")[0].split()[-1])


@solves("count-sides")
def count_corners(look: Look) -> TextAction:
    return look.click(str(SHAPES[look.names("img")[0]]))


@solves("find-word")
def find_nth(look: Look) -> TextAction:
    place = int(look.asked(r"the (\d+)\w\w word")[0])
    return look.put({"": look.names("paragraph")[0].split()[place - 1]})


@solves("read-table")
def read_value(look: Look) -> TextAction:
    facts = {row[0].name: row[1].name for row in look.rows}
    return look.put({"": facts[look.asked(r"value of (.+) into")[0]]})


@solves("read-table-2")
def read_values(look: Look) -> TextAction:
    facts = {f"{row[0].name}:": row[1].name for row in look.rows}
    return look.put({name: facts[name] for name in look.names("textbox")})


@solves("find-greatest")
def press_greatest(look: Look) -> TextAction:
    return look.click(str(max(map(int, look.names("button")))))


# Sites


@solves("email-inbox", "email-inbox-delete", "email-inbox-forward", "email-inbox-important")
@solves("email-inbox-reply")
def handle_mail(look: Look) -> TextAction:
    sender = look.asked(r"email by (\w+)")[0]
    if look.has("heading", "Inbox"):
        return look.click(sender)
    if look.has("textbox", "Reply"):
        return look.put({"Reply": look.quoted[0]}, "Send")
    if look.has("textbox", "To"):
        return look.put({"To": look.asked(r"to (\w+)\.$")[0]}, "Send")
    (what,) = look.asked(r"(?:and|as) (delete|important|forward|reply)")
    return look.click(what.title())


@solves("social-media")
def press_in_post(look: Look) -> TextAction:
    who, what = look.asked(r'user (@\w+), click on the "(\w+)"')
    return Click(find(look.within(who)[0], "button", what).number)


@solves("social-media-all", "social-media-some")
def tick_in_posts(look: Look) -> TextAction:
    which, who = look.asked(r"on (.+) posts? by (@\w+)")
    boxes = [find(post, "checkbox", look.quoted[0]).number for post in look.within(who)]
    return look.tick(boxes if which == "all" else boxes[: int(which.split()[-1])])


@solves("phone-book")
def look_up(look: Look) -> TextAction:
    name, what = look.asked(r"Find (\w+) in .* on their (.+)\.$")
    if look.has("link", name):
        return look.click(name)
    return Click(next(row[1].number for row in look.rows if row[0].name == what))


@solves("search-engine")
def search(look: Look) -> TextAction:
    place = int(look.asked(r"the (\d+)\w\w search result")[0])
    if f"q={look.quoted[0]}" not in look.address:
        return look.put({"": look.quoted[0]}, "Search")
    page = int((re.findall(r"page=(\d)", look.address) or ["1"])[0])
    wanted = (place + 2) // 3
    if page != wanted:
        return look.click(str(wanted))
    return Click(look.numbered("link")[(place - 1) % 3].number)


@solves("buy-ticket", "book-flight")
def buy(look: Look) -> TextAction:
    if not look.rows:
        start, end, date = look.asked(r"from: (.+) to: (.+) on ([\d/]+)")
        return look.put({"From": start, "To": end, "Departure date": date}, "Search")
    column = next(
        n for n, way in enumerate(("earliest", "shortest", "cheapest")) if way in look.task
    )

    def rank(row: list[Seen]) -> tuple[int, ...]:
        return tuple(map(int, re.findall(r"\d+", row[column].name)))

    return Click(min(look.rows, key=rank)[3].number)


# Playing


@solves("guess-number")
def halve(look: Look) -> TextAction:
    bounds = {"higher": -1, "lower": 100}
    for text in look.names("paragraph"):
        for word, number in re.findall(r"is (higher|lower) than (\d+)", text):
            bounds[word] = int(number)
    return look.put({"Guess": str((bounds["higher"] + bounds["lower"]) // 2)})


@solves("tic-tac-toe")
def win(look: Look) -> TextAction:
    order = look.names("paragraph")[0].removeprefix("I play ").removesuffix(".")
    cells = [cell for row in look.rows for cell in row]
    board = "".join([cell.name if cell.name in ("X", "O") else "." for cell in cells])
    place = winning(board, order)
    return Click(cells[board.index(".") if place is None else place].number)
