"""A website as a game: every seat has a browser tab on it.

A site defines the page at an address (`open`), the effect of a form (`send`), the task of a seat
(`task`) and its rewards. This module does what a browser does: it follows links, sends forms, types
into fields, goes back and scrolls. Nothing in it depends on how pages are shown, so the same site
is played in process and in Chromium (`chromium.py`).
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import compress
from textwrap import dedent
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import parse_qsl, urlencode

import numpy as np
from gymnasium import spaces
from palestra import (
    Event,
    Grammar,
    Integer,
    InvalidAction,
    Meta,
    OneOf,
    Option,
    Outcome,
    Result,
    Rng,
    Scene,
    Step,
    Text,
    TextAction,
    TextGame,
    Widget,
    only,
)
from palestra.kernel.actions import stated_action
from palestra.kernel.game import Mask, Terms
from palestra.kernel.rng import check_seed
from palestra.kernel.text_game import value_text
from palestra.scene import Lines, WidgetKind
from palestra.scene import Page as PagePicture

from palestra_web import features
from palestra_web.actions import (
    ACTIONS,
    CALLS,
    Address,
    Back,
    Click,
    Copy,
    Fill,
    Goto,
    Press,
    Scroll,
    Select,
    Stop,
    from_browsergym,
)
from palestra_web.pages import FIELDS, Drafts, Page, ScreenLine, heading, link, paragraph

NOT_FOUND = "Not found"  # the title of the page where no page is
MOST_CHANGES = 5  # most new or removed lines that a change description lists

# Options of every site, for sites that override the default
Limit = Annotated[int, Meta(ge=1, le=100_000, description="actions each seat may take")]
Window = Annotated[int, Meta(ge=1, le=100_000, description="lines of a page in view at once")]

BROWSING = dedent("""\
    Use the website to do your task. Elements you can act on are numbered. Write one of:
    Click(element=3) to follow a link, press a button, or pick something;
    Fill(element=2, text='red shoes') to put text into a field;
    Select(element=5, option='Blue') to pick from a list;
    Press(element=2, key='Enter') to send the form of a field;
    Goto(url='/') to open an address of this site; Back() to return to the page before;
    Scroll(direction='down') to see more of a long page;
    Stop(answer='42') when you are done, with the answer if the task asks for one.""")


@dataclass(slots=True)
class Tab:
    """One seat's browser tab."""

    page: Page  # as it was when opened
    drafts: dict[int, str] = field(default_factory=dict)  # contents of changed fields by number
    scroll: int = 0  # lines of the page above the view
    history: list[str] = field(default_factory=list)  # addresses of the pages before
    before: tuple[str, tuple[str, ...]] | None = None  # address and lines before the last action
    read: dict[int, int] = field(default_factory=dict)  # what a site counts as read, by its numbers


@dataclass(slots=True)
class WebState:
    """The state of a website: its own data, and one tab for every seat."""

    rng: Rng
    data: Any  # the site's own data, as `Website.begin` makes it
    tabs: list[Tab] = field(default_factory=list)  # by seat, as the lists below
    stopped: list[bool] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)  # actions taken
    scores: list[float] = field(default_factory=list)  # rewards so far
    turn: int = 0  # the seat to act; -1 when every seat has stopped
    finished: bool = False  # whether the site has ended the episode for every seat


@dataclass(frozen=True, slots=True)
class Landing:
    """The result of sending a form."""

    url: str  # the address to open next
    rewards: Mapping[str, float] = field(default_factory=dict)  # of the sender, by reward term
    finished: bool = False  # whether the episode is over for every seat
    done: bool = False  # whether it is over for the sender
    others: Mapping[int, Mapping[str, float]] = field(default_factory=dict)  # rewards by other seat


class NotFound(LookupError):
    """The site has no page, or takes no form, at an address."""


@dataclass(frozen=True)
class Website(TextGame[WebState]):
    """A site that every seat uses through a browser tab; a subclass is one site.

    A subclass writes `begin`, `open` and `task`, and overrides `send`, `stop` and `solved` where
    forms change something or answers are paid.

    Actions are those of `actions.py`. Numbered actions are, in order: clicks on elements 1 to
    `elements`; for each phrase of the task, copying it into elements 1 to `elements`; back, scroll
    down, scroll up and stop. An observation is (elements + 1, 32) numbers from 0 to 1: the tab's
    row, then one row an element (see `features.py`).
    """

    limit: Limit = 30
    window: Window = 80
    distill: Annotated[
        Literal["all", "text", "inputs"],
        Meta(
            description="lines of a page to show: all, only those without a number (text), or "
            "only those with one (inputs)"
        ),
    ] = "all"
    changes: Annotated[
        bool,
        Meta(
            description="whether to describe in a sentence what the last action changed on the page"
        ),
    ] = False

    num_players = 1
    order = "sequential"
    payoffs = "general"
    perfect_information = False
    action_types = ACTIONS
    elements: ClassVar[int] = 40  # numbers the array view can name
    counters = ("steps", "scores")
    most_phrases: ClassVar[int] = 4  # phrases the numbered actions can copy

    # The methods that a site defines

    @abstractmethod
    def begin(self, rng: Rng) -> Any:
        """The site's data at the start: a slotted dataclass that only `send` changes."""

    @abstractmethod
    def open(self, data: Any, seat: int, path: Sequence[str], query: Mapping[str, str]) -> Page:
        """The page that a seat sees at an address; raises `NotFound` where there is none.

        `path` is the address split at its slashes, [""] for "/"; `query` has its query fields by
        name.
        """

    def send(self, data: Any, seat: int, path: Sequence[str], fields: Mapping[str, str]) -> Landing:
        """Handle a form that changes the site; raises `NotFound` if the address takes no form."""
        raise NotFound

    @abstractmethod
    def task(self, data: Any, seat: int) -> str:
        """What the seat is asked to do, in words."""

    def phrases(self, data: Any, seat: int) -> tuple[str, ...]:
        """Parts of the task that a seat may want to type."""
        return ()

    def known(self, data: Any, seat: int) -> Any:
        """Data that later pages of a seat may depend on (default: all), without action counts."""
        return data

    def stop(self, data: Any, seat: int, answer: str) -> Mapping[str, float]:
        """A seat's reward, by term, for stopping with an answer."""
        return {}

    def solved(self, data: Any, seat: int) -> bool:
        """Whether the seat has done its task in full."""
        return False

    def home(self, seat: int) -> str:
        """The address that a seat's tab opens first."""
        return "/"

    def rules_for(self, seat: int) -> str:
        """What the site is, and how a player acts in a browser."""
        return f"{super().rules_for(seat)}\n{BROWSING}"

    def close_tabs(self, state: WebState, seat: int) -> None:
        """Open the tabs of the other seats anew, for what `seat` imagines: it never sees them."""
        for other in range(self.num_players):
            if other != seat:
                state.tabs[other] = Tab(self.page(state.data, other, self.home(other)))

    # The rules

    def initial_state(self, seed: int | None = None) -> WebState:
        rng = Rng.seeded(check_seed(seed))
        state = WebState(rng, self.begin(rng))
        for seat in range(self.num_players):
            state.tabs.append(Tab(self.page(state.data, seat, self.home(seat))))
            state.stopped.append(False)
            state.steps.append(0)
            state.scores.append(0.0)
        return state

    def to_act(self, state: WebState) -> tuple[int, ...]:
        return () if state.finished or state.turn < 0 else (state.turn,)

    def page(self, data: Any, seat: int, url: str) -> Page:
        """The page at an address, or one with the title `NOT_FOUND`."""
        path, query = split(url)
        try:
            found = self.open(data, seat, path, query)
        except NotFound:
            said = paragraph(f"Nothing is at {url}."), link("Start page", self.home(seat))
            return Page(url, NOT_FOUND, (heading(NOT_FOUND), *said))
        return found if found.url == url else Page(url, found.title, found.body)

    def step(self, state: WebState, actions: Mapping[int, TextAction]) -> Step:
        ((seat, action),) = actions.items()
        if self.changes:
            tab = state.tabs[seat]
            tab.before = tab.page.url, tuple(tab.page.text(tab.drafts).split("\n"))
        rewards = {s: dict(paid) for s, paid in self.act(state, seat, action).items() if paid}
        state.steps[seat] += 1
        for paid_seat, paid in rewards.items():
            state.scores[paid_seat] += sum(paid.values())
        if state.steps[seat] >= self.limit:
            state.stopped[seat] = True
        state.turn = self._next(state, seat)
        page = state.tabs[seat].page
        text = f"{self.players[seat]} is at {page.url}: {page.title}."
        events = [Event("page", text, {"url": page.url, "title": page.title}, only(seat))]
        if not self.to_act(state):
            events.append(Event("end", "The site closes."))
        return Step(rewards, events=events)

    def _next(self, state: WebState, seat: int) -> int:
        """The next seat that has not stopped; -1 when all have."""
        for ahead in range(1, self.num_players + 1):
            other = (seat + ahead) % self.num_players
            if not state.stopped[other]:
                return other
        return -1

    def act(self, state: WebState, seat: int, action: TextAction) -> Terms:
        """Apply an action to the seat's tab and to the site; returns rewards by seat."""
        tab = state.tabs[seat]
        if isinstance(action, Click):
            return self._click(state, seat, action.element)
        if isinstance(action, Press):
            return self._enter(state, seat, action.element)
        if isinstance(action, Fill):
            self._type(tab, action.element, action.text)
        elif isinstance(action, Copy):
            self._type(tab, action.element, self.phrases(state.data, seat)[action.phrase - 1])
        elif isinstance(action, Select):
            tab.drafts[action.element] = action.option
        elif isinstance(action, Goto):
            self.go(state, seat, action.url)
        elif isinstance(action, Back):
            self.show(state, seat, tab.history.pop())
        elif isinstance(action, Scroll):
            step = max(1, self.window // 2) * (1 if action.direction == "down" else -1)
            tab.scroll = max(0, min(tab.scroll + step, len(tab.page.lines) - 1))
        elif isinstance(action, Stop):
            state.stopped[seat] = True
            return {seat: self.stop(state.data, seat, action.answer)}
        return {}

    def _type(self, tab: Tab, number: int, text: str) -> None:
        tab.drafts[number] = tab.page.element(number).typed(text)

    def _click(self, state: WebState, seat: int, number: int) -> Terms:
        tab = state.tabs[seat]
        element = tab.page.element(number)
        if element.role == "link" and element.changes:
            fields = {element.field: element.value} if element.field else {}
            return self.post(state, seat, element.to, fields)
        if element.role == "link":
            self.go(state, seat, element.to)
        elif element.role == "button":
            return self.submit(state, seat, number)
        elif element.role == "checkbox":
            ticked = tab.drafts.get(number, element.value if element.chosen else "")
            tab.drafts[number] = "" if ticked else element.value
        elif element.role == "radio":
            for other, beside in tab.page.same_form(number):
                if beside.role == "radio" and beside.field == element.field:
                    tab.drafts[other] = element.value if other == number else ""
        elif element.role == "option":
            tab.drafts[tab.page.holder(number)] = element.name
        return {}

    def _enter(self, state: WebState, seat: int, number: int) -> Terms:
        """Press Enter in a field, which presses the first button of its form."""
        for other, beside in state.tabs[seat].page.same_form(number):
            if beside.role == "button":
                return self.submit(state, seat, other)
        return {}

    def submit(self, state: WebState, seat: int, pressed: int) -> Terms:
        """Send the form of a button."""
        tab = state.tabs[seat]
        form = tab.page.form_of(pressed)
        if form is None:
            return {}
        fields = sent_fields(tab.page, tab.drafts, pressed)
        if not form.changes:
            self.go(state, seat, f"{form.to}?{encode_query(fields)}", sent=True)
            return {}
        return self.post(state, seat, form.to, dict(fields))

    def post(self, state: WebState, seat: int, url: str, fields: Mapping[str, str]) -> Terms:
        """Send a form to the site and open the address it leads to."""
        landing = self.take(state.data, seat, url, fields)
        self.go(state, seat, landing.url, sent=True)
        state.finished |= landing.finished
        state.stopped[seat] |= landing.done
        return {seat: landing.rewards, **landing.others}

    def take(self, data: Any, seat: int, url: str, fields: Mapping[str, str]) -> Landing:
        """Let the site handle a form; nothing changes if it takes none."""
        try:
            return self.send(data, seat, split(url)[0], fields)
        except NotFound:
            return Landing(url)

    def go(self, state: WebState, seat: int, url: str, *, sent: bool = False) -> None:
        """Open an address from a link, or because a form was `sent`.

        As in Chromium, a form adds to the history, and so does a link to another page; a link to
        the page it is on does not.
        """
        tab = state.tabs[seat]
        if sent or tab.page.url != url:
            tab.history.append(tab.page.url)
        self.show(state, seat, url)

    def show(self, state: WebState, seat: int, url: str) -> None:
        """Open a page in a seat's tab."""
        tab = state.tabs[seat]
        tab.page = self.page(state.data, seat, url)
        self.note(state.data, tab.page)
        tab.drafts = {}
        tab.scroll = 0

    def note(self, data: Any, page: Page) -> None:
        """Keep in the site's data what an opened page has shown; by default nothing is kept."""

    def outcome(self, state: WebState) -> Outcome | None:
        if self.to_act(state):
            return None
        seats = range(self.num_players)
        results = tuple(self._result(state, seat) for seat in seats)
        return Outcome(results, tuple(state.scores))

    def _result(self, state: WebState, seat: int) -> Result:
        if self.solved(state.data, seat):
            return "win"
        return "truncated" if state.steps[seat] >= self.limit else "loss"

    def truncated(self, state: WebState) -> bool:
        return not state.finished and all(n >= self.limit for n in state.steps)

    def present(self, state: WebState) -> tuple[int, ...]:
        return tuple(seat for seat in range(self.num_players) if not state.stopped[seat])

    # What may be done

    def _in_view(self, tab: Tab) -> tuple[int, int]:
        """The numbers of the elements in view: the first, and one past the last."""
        places = tab.page.places
        first = bisect_left(places, tab.scroll)
        end = bisect_left(places, tab.scroll + self.window, lo=first)
        return first + 1, end + 1

    def legal(self, state: WebState, seat: int) -> Grammar:
        tab = state.tabs[seat]
        numbers = range(*self._in_view(tab))
        phrases = self.phrases(state.data, seat)
        options = [Option(Stop, {"answer": Text(1000, ("", *phrases))})]
        options.append(Option(Goto, {"url": Address()}))
        if numbers:
            options.append(Option(Click, {"element": OneOf(tuple(numbers))}))
        options += _typing_options(tab.page, numbers, phrases)
        options += _selecting_options(tab.page, numbers)
        if tab.history:
            options.append(Option(Back))
        directions = self._directions(tab)
        if directions:
            options.append(Option(Scroll, {"direction": OneOf(directions)}))
        return Grammar(tuple(options))

    def _directions(self, tab: Tab) -> tuple[str, ...]:
        down = tab.scroll + self.window < len(tab.page.lines)
        return ("down",) * down + ("up",) * (tab.scroll > 0)

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Every click, every copy of a phrase, and the moves of the tab."""
        numbers, phrases = range(1, self.elements + 1), range(1, self.most_phrases + 1)
        return (
            *(Click(number) for number in numbers),
            *(Copy(number, phrase) for phrase in phrases for number in numbers),
            *(Back(), Scroll("down"), Scroll("up"), Stop()),
        )

    def action_mask(self, state: WebState, seat: int) -> Mask:
        mask = np.ones(len(self.menu), np.int8)
        if seat not in self.to_act(state):
            return mask
        tab, most = state.tabs[seat], self.elements
        mask[:-1] = 0
        first, end = self._in_view(tab)
        end = min(end, most + 1)
        mask[first - 1 : end - 1] = 1
        boxes = tab.page.boxes[first - 1 : end - 1]
        for phrase in range(1, min(len(self.phrases(state.data, seat)), self.most_phrases) + 1):
            start = phrase * most + first - 1
            mask[start : start + len(boxes)] = boxes
        directions = self._directions(tab)
        mask[-4:-1] = bool(tab.history), "down" in directions, "up" in directions
        return mask

    def parse(self, state: WebState, seat: int, text: str) -> TextAction:
        try:
            stated = stated_action(text, CALLS)
            return super().parse(state, seat, from_browsergym(stated) or text)
        except InvalidAction as error:
            raise InvalidAction(text, error.legal, error.example, error.why) from None

    # What a seat sees

    def anchor(self, state: WebState, seat: int) -> bytes:
        """A hash of the page, its fields, the view and the site's data, but not of earlier pages.

        Of the history it holds only whether there is a page to go back to. What the seat cannot
        know is drawn by `determinize` from what it knows, so that the hash tells nothing of it.
        """
        tab = state.tabs[seat]
        shown = seat, tab.page.digest, tab.page.text(tab.drafts), tab.scroll, bool(tab.history)
        data = self.determinize(state, seat, Rng(0)).data
        known = f"{shown}\n{value_text(self.known(data, seat))}"
        return blake2b(known.encode(), digest_size=16).digest()

    def describe(self, state: WebState, seat: int) -> str:
        tab = state.tabs[seat]
        left = self.limit - state.steps[seat]
        head = [
            f"Task: {self.task(state.data, seat)}",
            f"Page {tab.page.url} {tab.page.title!r}; you may act {left} more times.",
        ]
        if tab.before is not None:
            head.append(what_changed(*tab.before, tab))
        if tab.scroll:
            head.append(f"({tab.scroll} lines above)")
        below = len(tab.page.lines) - tab.scroll - self.window
        foot = [f"({below} lines below)"] if below > 0 else []
        return "\n".join([*head, self._page_text(tab), *foot])

    def _page_text(self, tab: Tab) -> str:
        """The lines of the page in view, distilled as the options say."""
        end = tab.scroll + self.window
        texts = tab.page.texts(tab.drafts, tab.scroll, end)
        if self.distill != "all":
            shown = [bool(n.number) == (self.distill == "inputs") for n in tab.page.lines]
            texts = list(compress(texts, shown[tab.scroll : end]))
        return "\n".join(texts)

    def observation_space(self, seat: int) -> spaces.Box:
        return spaces.Box(0.0, 1.0, (self.elements + 1, features.WIDTH), np.float32)

    def observe(self, state: WebState, seat: int) -> features.Rows:
        """The tab's own row, then a row for each numbered element; see `features.py`."""
        tab = state.tabs[seat]
        rows = features.page_rows(tab.page, self.phrases(state.data, seat), self.elements)
        for number, value in tab.drafts.items():
            if number <= self.elements:
                features.put_draft(rows, number, value)
        left = self.limit - state.steps[seat]
        return features.put_tab(rows, left / self.limit, tab.scroll / len(tab.page.lines))

    def scene(self, state: WebState, seat: int | None = None) -> Scene:
        """The tab of a seat; a spectator sees that of seat 0."""
        viewed = 0 if seat is None else seat
        tab = state.tabs[viewed]
        lines = tab.page.screen_lines(tab.drafts, tab.scroll, tab.scroll + self.window)
        widgets = [made for line in lines if (made := widget(line)) is not None]
        page = PagePicture(tuple(widgets), f"{tab.page.url}  {tab.page.title}")
        return Scene(parts=(Lines((self.task(state.data, viewed),)), page))


def _typing_options(
    page: Page, numbers: Sequence[int], phrases: tuple[str, ...]
) -> Iterator[Option]:
    """What can be typed into the textboxes among some elements."""
    boxes = tuple([n for n in numbers if page.element(n).role == "textbox"])
    if not boxes:
        return
    fields: dict[str, Any] = {"element": OneOf(boxes)}
    yield Option(Fill, fields | {"text": Text(10_000, phrases or ("x",))})
    single_lines = tuple([n for n in boxes if page.element(n).lines == 1])
    if single_lines:  # in a text area Enter begins a line
        yield Option(Press, {"element": OneOf(single_lines), "key": OneOf(("Enter",))})
    if phrases:
        yield Option(Copy, fields | {"phrase": Integer(1, len(phrases))})


def _selecting_options(page: Page, numbers: Sequence[int]) -> Iterator[Option]:
    """What can be selected in the comboboxes among some elements."""
    for number in numbers:
        element = page.element(number)
        if element.role == "combobox":
            names = OneOf(tuple([option.name for option in element.children]))
            yield Option(Select, {"element": OneOf((number,)), "option": names})


WIDGET_KINDS: dict[str, WidgetKind] = {
    "heading": "heading",
    "region": "text",
    "paragraph": "text",
    "row": "row",
    "cell": "cell",
    "columnheader": "cell",
    "img": "text",
    "link": "link",
    "button": "button",
    "textbox": "field",
    "combobox": "field",
    "checkbox": "tick",
    "radio": "tick",
}


COLOURS = ("red", "green", "blue", "yellow", "black", "purple")  # buttons called so have them


def widget(line: ScreenLine) -> Widget | None:
    """A line of a page as a picture draws it; None for a line that is not drawn."""
    kind = WIDGET_KINDS.get(line.role)
    if kind is None or not (line.name or line.number or kind in ("row", "cell")):
        return None
    chosen = line.chosen or line.role == "columnheader"
    colour = line.name if kind == "button" and line.name in COLOURS else ""
    return Widget(kind, line.name, line.number, line.value, chosen, line.depth, colour)


def what_changed(url: str, lines: Sequence[str], tab: Tab) -> str:
    """A sentence on what the last action changed (the change observation of Agent-E).

    `url` and `lines` are the address and the lines of the page before it.
    """
    if tab.page.url != url:
        return f"Your last action led from {url} to {tab.page.url}."
    now = Counter(tab.page.text(tab.drafts).split("\n"))
    came, went = now - Counter(lines), Counter(lines) - now
    if not came and not went:
        return "Your last action changed nothing on the page."
    changes = [
        f"{word}: {'; '.join(line.strip() for line in list(found)[:MOST_CHANGES])}"
        + (f" and {len(found) - MOST_CHANGES} more" if len(found) > MOST_CHANGES else "")
        for word, found in (("gone", went), ("new", came))
        if found
    ]
    return f"Since your last action, {', '.join(changes)}."


def with_reveal(step: Step, seat: int, text: str) -> Step:
    """A step that tells one seat also that it sees something it could not know."""
    return Step(step.rewards, step.costs, (*step.events, Event("reveal", text, {}, only(seat))))


def split(url: str) -> tuple[list[str], dict[str, str]]:
    """The parts of a path between its slashes, and the fields of its query."""
    path, _, query = url.partition("?")
    return path.strip("/").split("/"), dict(parse_qsl(query, True)) if query else {}


def sent_fields(page: Page, drafts: Drafts, pressed: int) -> list[tuple[str, str]]:
    """Names and values that a form sends when button `pressed` is pressed, in document order."""
    sent = []
    for number, element in page.same_form(pressed):
        if element.role in FIELDS:
            ticks = element.role in ("checkbox", "radio")
            first = "" if ticks and not element.chosen else element.value
            value = drafts.get(number, first)
            if value or not ticks:
                sent.append((element.field, value))
        elif number == pressed and element.field:
            sent.append((element.field, element.value))
    return sent


def encode_query(fields: Sequence[tuple[str, str]]) -> str:
    """Fields as a browser writes them into an address."""
    return urlencode(fields, safe="*").replace("~", "%7E")
