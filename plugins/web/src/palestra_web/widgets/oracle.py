"""An agent that solves every widget task from the text of its page, with one solver a task."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from palestra import InvalidOption, ScriptedAgent, TextAction, Turn, agent

from palestra_web.actions import Click, Fill, Select
from palestra_web.reading import ScreenElement, address_of, find, read_lines, task_of
from palestra_web.widgets.playing import winning
from palestra_web.widgets.site import Widgets
from palestra_web.widgets.words import MONTHS, SHAPES, SYNONYMS

_TITLE = re.compile(r"^Page \S+ '([^']+)';", re.MULTILINE)


@dataclass(frozen=True)
class WidgetPage:
    """A task and its page, read from a turn's text."""

    task: str  # what is asked, in words
    title: str  # the name of the task, in TASKS
    address: str
    lines: Sequence[ScreenElement]

    @property
    def quotations(self) -> list[str]:
        """The texts in quotation marks in the task."""
        return re.findall(r'"([^"]+)"', self.task)

    def task_parts(self, pattern: str) -> tuple[str, ...]:
        """The groups of a pattern in the task."""
        match = re.search(pattern, self.task)
        if match is None:
            raise InvalidOption(f"{self.task!r} is not a task of {self.title}")
        return match.groups()

    def has(self, role: str, name: str) -> bool:
        return any(line.role == role and line.name == name for line in self.lines)

    def names(self, role: str) -> list[str]:
        return [line.name for line in self.lines if line.role == role]

    def elements(self, role: str) -> list[ScreenElement]:
        return [line for line in self.lines if line.role == role]

    def click(self, name: str) -> TextAction:
        """Click on the button or link of a name."""
        for role in ("button", "link"):
            if self.has(role, name):
                return Click(find(self.lines, role, name).number)
        raise LookupError(f"nothing called {name!r} can be clicked; there are {self.lines}")

    def put(self, texts: Mapping[str, str], press: str = "Submit") -> TextAction:
        """The next action to put texts into fields, by their names, and then press a button."""
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
        """The next action to tick exactly the boxes of these numbers, and then press a button."""
        for line in self.lines:
            if line.role == "checkbox" and line.chosen != (line.number in wanted):
                return Click(line.number)
            if line.role == "radio" and line.number in wanted and not line.chosen:
                return Click(line.number)
        return self.click(press)

    def within(self, region: str) -> list[list[ScreenElement]]:
        """The elements in each region of a name."""
        found: list[list[ScreenElement]] = []
        inside = False
        for line in self.lines:
            if line.role == "region":
                inside = line.name == region
                found += [[]] * inside
            elif inside and line.depth:
                found[-1] = [*found[-1], line]
        return found

    @property
    def rows(self) -> list[list[ScreenElement]]:
        """The cells of each table row but the first; an element in a cell replaces the cell."""
        rows: list[list[ScreenElement]] = []
        for line in self.lines:
            if line.role == "row":
                rows.append([])
            elif line.role == "cell":
                rows[-1].append(line)
            elif rows and rows[-1] and line.depth == rows[-1][-1].depth + 1:
                rows[-1][-1] = line
        return rows[1:]


Solver = Callable[[WidgetPage], TextAction]
SOLVERS: dict[str, Solver] = {}


def solves(*names: str) -> Callable[[Solver], Solver]:
    """Add a solver to `SOLVERS` under the names of its tasks."""

    def keep(solver: Solver) -> Solver:
        SOLVERS.update(dict.fromkeys(names, solver))
        return solver

    return keep


@agent("widget-oracle")
class WidgetOracle(ScriptedAgent[Widgets]):
    """Solves every widget task from the text of its page."""

    def choose(self, turn: Turn[Widgets]) -> TextAction:
        return solve(read_widget(turn))


def read_widget(turn: Turn) -> WidgetPage:
    """The task and the page of a turn; raises `InvalidOption` where there is no widget task."""
    match = _TITLE.search(turn.position)
    if match is None or match[1] not in SOLVERS:
        raise InvalidOption(f"{turn.env} has no widget task on this page; play web/Widgets-v0")
    return WidgetPage(task_of(turn), match[1], address_of(turn), read_lines(turn.position))


def solve(page: WidgetPage) -> TextAction:
    """The next action towards the answer."""
    return SOLVERS[page.title](page)


# Pressing


@solves("click-test")
def press_it(page: WidgetPage) -> TextAction:
    return page.click("Click Me!")


@solves("click-test-2")
def press_one(page: WidgetPage) -> TextAction:
    return page.click("ONE")


@solves("click-button", "click-link", "click-dialog", "click-dialog-2", "unicode-test")
@solves("sign-agreement")
def press_quoted(page: WidgetPage) -> TextAction:
    return page.click(page.quotations[-1])


@solves("click-button-sequence")
def press_both(page: WidgetPage) -> TextAction:
    return page.click(("ONE", "TWO")[done(page)])


@solves("ascending-numbers")
def press_in_order(page: WidgetPage) -> TextAction:
    numbers = sorted(map(int, page.names("button")))
    return page.click(str(numbers[done(page)]))


def done(page: WidgetPage) -> int:
    """How many answers of a sequence have been given."""
    counts = [int(n) for text in page.names("paragraph") for n in re.findall(r"^(\d+) done", text)]
    return counts[0] if counts else 0


@solves("click-tab")
def press_tab(page: WidgetPage) -> TextAction:
    return page.click(*page.task_parts(r"(Tab #\d+)"))


@solves("click-tab-2", "click-collapsible-2", "navigate-tree")
def search_pages(page: WidgetPage) -> TextAction:
    """Open one page after the other until the link is there."""
    (name,) = page.quotations
    if page.has("link", name):
        return page.click(name)
    opened = int((re.findall(r"\d+", page.address) or ["0"])[0])
    ways = [line for line in page.elements("link") if re.match(r"Tab #|Section #|Open ", line.name)]
    return Click(ways[opened].number)


@solves("click-collapsible")
def expand(page: WidgetPage) -> TextAction:
    return page.click("Section" if page.address == "/" else "Submit")


@solves("click-menu")
def go_down(page: WidgetPage) -> TextAction:
    path = page.task_parts(r"Select (\w+) > (\w+) > (\w+)")
    return page.click([name for name in path if page.has("link", name)][-1])


@solves("click-widget")
def press_kind(page: WidgetPage) -> TextAction:
    (kind,) = page.quotations
    fields = [line.number for line in page.lines if line.role == kind]
    return page.click("link") if kind == "link" else page.tick(fields)


@solves("click-color")
def press_colour(page: WidgetPage) -> TextAction:
    return page.click(*page.task_parts(r"the (\w+) colored"))


@solves("grid-coordinate")
def press_crossing(page: WidgetPage) -> TextAction:
    x, y = page.task_parts(r"\((-?\d+),(-?\d+)\)")
    (row,) = [row for row in page.rows if row[0].name == y]
    return Click(row[page.names("columnheader").index(x)].number)


@solves("choose-date")
def turn_pages(page: WidgetPage) -> TextAction:
    month, day = page.task_parts(r"(\d+)/(\d+)/")
    (title,) = page.names("heading")
    ahead = int(month) - 1 - MONTHS.index(title.split()[0])
    if ahead:
        return page.click("Next" if ahead > 0 else "Prev")
    return page.click(str(int(day)))


# Filling


@solves("click-checkboxes", "click-checkboxes-large", "click-option")
def tick_names(page: WidgetPage) -> TextAction:
    names = page.task_parts(r"Select (.+) and click")[0].split(", ")
    return page.tick([line.number for line in page.lines if line.name in names])


@solves("click-checkboxes-soft")
def tick_synonyms(page: WidgetPage) -> TextAction:
    meant = dict(SYNONYMS)
    words = [meant[word] for word in page.task_parts(r"similar to (.+) and click")[0].split(", ")]
    return page.tick([line.number for line in page.lines if line.name in words])


@solves("enter-text", "enter-password")
def type_quoted(page: WidgetPage) -> TextAction:
    return page.put(dict.fromkeys(page.names("textbox"), page.quotations[0]))


@solves("enter-text-2")
def type_cased(page: WidgetPage) -> TextAction:
    (word,) = page.quotations
    return page.put({"": word.upper() if "upper" in page.task else word.lower()})


@solves("enter-date", "enter-time")
def type_moment(page: WidgetPage) -> TextAction:
    (name,) = page.names("textbox")
    return page.put({name: page.task_parts(r"Enter (.+) as the")[0]})


@solves("login-user", "login-user-popup")
def log_in(page: WidgetPage) -> TextAction:
    if page.has("link", "Cancel"):
        return page.click("Cancel")
    return page.put(dict(zip(("Username", "Password"), page.quotations, strict=True)), "Login")


@solves("choose-list")
def pick(page: WidgetPage) -> TextAction:
    return page.put({"Country": page.task_parts(r"Select (.+) from the list")[0]})


@solves("use-spinner")
def spin(page: WidgetPage) -> TextAction:
    wanted, now = int(page.task_parts(r"Select (-?\d+)")[0]), int(page.names("paragraph")[0])
    return page.click("Submit" if wanted == now else "+" if wanted > now else "-")


@solves("use-autocomplete")
def complete(page: WidgetPage) -> TextAction:
    start, end = page.quotations
    for line in page.elements("link"):
        if line.name.startswith(start) and line.name.endswith(end):
            return Click(line.number)
    return page.put({"Tags": start}, "Suggest")


@solves("copy-paste")
def copy(page: WidgetPage) -> TextAction:
    return page.put({"To": find(page.lines, "textbox", "From").value})


@solves("copy-paste-2")
def copy_nth(page: WidgetPage) -> TextAction:
    number = page.task_parts(r"the (\d)\w\w text area")[0]
    return page.put({"Answer": find(page.lines, "textbox", f"Text {number}").value})


@solves("odd-or-even")
def mark(page: WidgetPage) -> TextAction:
    wanted = [
        line.number
        for number in page.names("region")
        for line in page.within(number)[0]
        if line.name == ("Odd" if int(number) % 2 else "Even")
    ]
    return page.tick(wanted)


@solves("multi-orderings", "multi-layouts")
def search_films(page: WidgetPage) -> TextAction:
    genre, director, year = page.task_parts(r"for (\w+) movies directed by (\w+) from year (\d+)")
    texts = {}
    for name in page.names("textbox"):
        word = name.lower()
        kind = genre if "genre" in word or "category" in word else year
        texts[name] = director if "direct" in word else kind
    return page.put(texts, page.names("button")[0])


@solves("order-food")
def order(page: WidgetPage) -> TextAction:
    wanted = {dish: n for n, dish in re.findall(r"(\d) x ([a-z ]+)", page.task)}
    return page.put({dish: wanted.get(dish, "0") for dish in page.names("combobox")}, "Order")


@solves("text-transform")
def spell(page: WidgetPage) -> TextAction:
    return page.put({"": "".join(page.names("paragraph"))})


@solves("form-sequence")
def fill_form(page: WidgetPage) -> TextAction:
    number, box, pick = page.task_parts(r"Choose (\d) .* checkbox (\d), pick option (\d)")
    if find(page.lines, "combobox", "Number").value != number:
        return page.put({"Number": number})
    names = (f"Checkbox {box}", f"Option {pick}")
    return page.tick([line.number for line in page.lines if line.name in names])


# Looking


@solves("simple-arithmetic")
def compute(page: WidgetPage) -> TextAction:
    a, sign, b = re.findall(r"(\d+) (.) (\d+)", page.names("paragraph")[0])[0]
    results = {"+": int(a) + int(b), "-": int(a) - int(b), "x": int(a) * int(b)}
    return page.put({"": str(results[sign])})


@solves("simple-algebra")
def solve_for_x(page: WidgetPage) -> TextAction:
    left, right = page.names("paragraph")[0].split(" = ")
    a, sign, b = left.split()
    if b == "x":
        return page.put({"x =": str(int(a) - int(right))})
    return page.put({"x =": str(int(right) - int(b) if sign == "+" else int(right) + int(b))})


@solves("visual-addition")
def count_blocks(page: WidgetPage) -> TextAction:
    return page.put({"": str(page.names("img").count("block"))})


@solves("count-shape")
def count(page: WidgetPage) -> TextAction:
    (what,) = page.task_parts(r"How many (\w+) items")
    return page.click(str(sum(what in name.split() for name in page.names("img"))))


@solves("identify-shape")
def name_shape(page: WidgetPage) -> TextAction:
    return page.click(page.names("img")[0].split()[-1])


@solves("count-sides")
def count_corners(page: WidgetPage) -> TextAction:
    return page.click(str(SHAPES[page.names("img")[0]]))


@solves("find-word")
def find_nth(page: WidgetPage) -> TextAction:
    place = int(page.task_parts(r"the (\d+)\w\w word")[0])
    return page.put({"": page.names("paragraph")[0].split()[place - 1]})


@solves("read-table")
def read_value(page: WidgetPage) -> TextAction:
    facts = {row[0].name: row[1].name for row in page.rows}
    return page.put({"": facts[page.task_parts(r"value of (.+) into")[0]]})


@solves("read-table-2")
def read_values(page: WidgetPage) -> TextAction:
    facts = {f"{row[0].name}:": row[1].name for row in page.rows}
    return page.put({name: facts[name] for name in page.names("textbox")})


@solves("find-greatest")
def press_greatest(page: WidgetPage) -> TextAction:
    return page.click(str(max(map(int, page.names("button")))))


# Sites


@solves("email-inbox", "email-inbox-delete", "email-inbox-forward", "email-inbox-important")
@solves("email-inbox-reply")
def handle_mail(page: WidgetPage) -> TextAction:
    sender = page.task_parts(r"email by (\w+)")[0]
    if page.has("heading", "Inbox"):
        return page.click(sender)
    if page.has("textbox", "Reply"):
        return page.put({"Reply": page.quotations[0]}, "Send")
    if page.has("textbox", "To"):
        return page.put({"To": page.task_parts(r"to (\w+)\.$")[0]}, "Send")
    (what,) = page.task_parts(r"(?:and|as) (delete|important|forward|reply)")
    return page.click(what.title())


@solves("social-media")
def press_in_post(page: WidgetPage) -> TextAction:
    who, what = page.task_parts(r'user (@\w+), click on the "(\w+)"')
    return Click(find(page.within(who)[0], "button", what).number)


@solves("social-media-all", "social-media-some")
def tick_in_posts(page: WidgetPage) -> TextAction:
    which, who = page.task_parts(r"on (.+) posts? by (@\w+)")
    boxes = [find(post, "checkbox", page.quotations[0]).number for post in page.within(who)]
    return page.tick(boxes if which == "all" else boxes[: int(which.split()[-1])])


@solves("phone-book")
def look_up(page: WidgetPage) -> TextAction:
    name, what = page.task_parts(r"Find (\w+) in .* on their (.+)\.$")
    if page.has("link", name):
        return page.click(name)
    return Click(next(row[1].number for row in page.rows if row[0].name == what))


@solves("search-engine")
def search(page: WidgetPage) -> TextAction:
    place = int(page.task_parts(r"the (\d+)\w\w search result")[0])
    if f"q={page.quotations[0]}" not in page.address:
        return page.put({"": page.quotations[0]}, "Search")
    current = int((re.findall(r"page=(\d)", page.address) or ["1"])[0])
    wanted = (place + 2) // 3
    if current != wanted:
        return page.click(str(wanted))
    return Click(page.elements("link")[(place - 1) % 3].number)


@solves("buy-ticket", "book-flight")
def buy(page: WidgetPage) -> TextAction:
    if not page.rows:
        start, end, date = page.task_parts(r"from: (.+) to: (.+) on ([\d/]+)")
        return page.put({"From": start, "To": end, "Departure date": date}, "Search")
    column = next(
        n for n, way in enumerate(("earliest", "shortest", "cheapest")) if way in page.task
    )

    def rank(row: list[ScreenElement]) -> tuple[int, ...]:
        return tuple(map(int, re.findall(r"\d+", row[column].name)))

    return Click(min(page.rows, key=rank)[3].number)


# Playing


@solves("guess-number")
def halve(page: WidgetPage) -> TextAction:
    bounds = {"higher": -1, "lower": 100}
    for text in page.names("paragraph"):
        for word, number in re.findall(r"is (higher|lower) than (\d+)", text):
            bounds[word] = int(number)
    return page.put({"Guess": str((bounds["higher"] + bounds["lower"]) // 2)})


@solves("tic-tac-toe")
def win(page: WidgetPage) -> TextAction:
    order = page.names("paragraph")[0].removeprefix("I play ").removesuffix(".")
    cells = [cell for row in page.rows for cell in row]
    board = "".join([cell.name if cell.name in ("X", "O") else "." for cell in cells])
    place = winning(board, order)
    return Click(cells[board.index(".") if place is None else place].number)
