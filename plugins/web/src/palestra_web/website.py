"""A website as a game: every seat has a browser tab on it.

A site says what stands at an address (`open`), what a form changes (`send`), what a seat is to do
(`task`) and what it is paid. Everything a browser does is here: links, forms, what is typed into
fields, going back, scrolling. Nothing in it depends on how pages are shown, so the same site is
played in process and in Chromium (`chromium.py`).
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlencode

import numpy as np
from gymnasium import spaces
from palestra import (
    Event,
    Grammar,
    Integer,
    InvalidAction,
    InvalidOption,
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
from palestra.kernel.game import Mask, Terms
from palestra.kernel.rng import check_seed
from palestra.kernel.scene import WidgetKind

from palestra_web import features
from palestra_web.actions import (
    ACTIONS,
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
    in_our_words,
)
from palestra_web.pages import FIELDS, Drafts, Page, Shown, heading, link, paragraph

DISTILLATIONS = ("all", "text", "inputs")
TOLD = 5  # lines that are told to be new or gone


@dataclass(slots=True)
class Tab:
    """One seat's browser: the page it was served, what it has typed, where it came from.

    `before` are the page and the lines before the last action, where changes are told.
    """

    page: Page
    drafts: dict[int, str] = field(default_factory=dict)
    scroll: int = 0
    history: list[str] = field(default_factory=list)
    before: tuple[str, tuple[str, ...]] | None = None


@dataclass(slots=True)
class Web:
    """The state: the site's own data, the tabs by seat, and who has stopped."""

    rng: Rng
    data: Any
    tabs: list[Tab] = field(default_factory=list)
    stopped: list[bool] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    turn: int = 0
    finished: bool = False


@dataclass(frozen=True, slots=True)
class Landing:
    """Where a form leads, what it pays by name, and who is done with it.

    `rewards` go to the sender, `others` to other seats; `done` says that the sender's part is over,
    `finished` that everybody's is.
    """

    url: str
    rewards: Mapping[str, float] = field(default_factory=dict)
    finished: bool = False
    done: bool = False
    others: Mapping[int, Mapping[str, float]] = field(default_factory=dict)


class NotFound(LookupError):
    """Nothing stands at an address."""


@dataclass(frozen=True)
class Website(TextGame[Web]):
    """Use the website to do your task. Elements you can act on are numbered. Write one of:
    Click(element=3) to follow a link, press a button, or pick something;
    Fill(element=2, text='red shoes') to put text into a field;
    Select(element=5, option='Blue') to pick from a list;
    Press(element=2, key='Enter') to send the form of a field;
    Goto(url='/') to open an address of this site; Back() to return to the page before;
    Scroll(direction='down') to see more of a long page;
    Stop(answer='42') when you are done, with the answer if the task asks for one.
    """

    limit: int = 30
    window: int = 80
    distill: str = "all"
    changes: bool = False

    num_players = 1
    order = "sequential"
    payoffs = "general"
    perfect_information = False
    action_types = ACTIONS
    elements: ClassVar[int] = 40  # numbers the array view can name
    most_phrases: ClassVar[int] = 4

    def __post_init__(self) -> None:
        if self.distill not in DISTILLATIONS:
            known = ", ".join(DISTILLATIONS)
            raise InvalidOption(f"distill must be one of {known}, not {self.distill!r}")
        for name in ("limit", "window"):
            if not 1 <= getattr(self, name) <= 100_000:
                raise InvalidOption(f"{name} must be from 1 to 100000, not {getattr(self, name)}")

    # What a site says

    @abstractmethod
    def begin(self, rng: Rng) -> Any:
        """The site's data at the start: a slotted dataclass, changed only by `send`."""

    @abstractmethod
    def open(self, data: Any, seat: int, path: Sequence[str], query: Mapping[str, str]) -> Page:
        """What stands at an address, split at its slashes; raises `NotFound`."""

    def send(self, data: Any, seat: int, path: Sequence[str], fields: Mapping[str, str]) -> Landing:
        """Take a form that changes something; raises `NotFound`."""
        raise NotFound

    @abstractmethod
    def task(self, data: Any, seat: int) -> str:
        """What the seat is asked to do."""

    def phrases(self, data: Any, seat: int) -> tuple[str, ...]:
        """Parts of the task that may be worth typing."""
        return ()

    def stop(self, data: Any, seat: int, answer: str) -> Mapping[str, float]:
        """What a seat is paid when it says it is done."""
        return {}

    def solved(self, data: Any, seat: int) -> bool:
        """Whether the seat has done its task in full."""
        return False

    def home(self, seat: int) -> str:
        """The address a seat's tab opens with."""
        return "/"

    def rules_for(self, seat: int) -> str:
        """What the site is, and how one acts in a browser."""
        how = "\n".join(line.strip() for line in (Website.__doc__ or "").splitlines())
        return f"{super().rules_for(seat)}\n{how}".strip()

    # The rules

    def initial_state(self, seed: int | None = None) -> Web:
        rng = Rng.seeded(check_seed(seed))
        state = Web(rng, self.begin(rng))
        for seat in range(self.num_players):
            state.tabs.append(Tab(self.page(state.data, seat, self.home(seat))))
            state.stopped.append(False)
            state.steps.append(0)
            state.scores.append(0.0)
        return state

    def to_act(self, state: Web) -> tuple[int, ...]:
        return () if state.finished or state.turn < 0 else (state.turn,)

    def page(self, data: Any, seat: int, url: str) -> Page:
        """The page at an address; one that says so where nothing stands there."""
        path, query = split(url)
        try:
            found = self.open(data, seat, path, query)
        except NotFound:
            said = paragraph(f"Nothing is at {url}."), link("Start page", self.home(seat))
            return Page(url, "Not found", (heading("Not found"), *said))
        return found if found.url == url else Page(url, found.title, found.body)

    def step(self, state: Web, actions: Mapping[int, Any]) -> Step:
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
        told = f"{self.players[seat]} is at {page.url}: {page.title}."
        events = [Event("page", told, {"url": page.url, "title": page.title}, only(seat))]
        if not self.to_act(state):
            events.append(Event("end", "The site closes."))
        return Step(rewards, events=events)

    def _next(self, state: Web, seat: int) -> int:
        """The next seat that has not stopped; -1 when all have."""
        for ahead in range(1, self.num_players + 1):
            other = (seat + ahead) % self.num_players
            if not state.stopped[other]:
                return other
        return -1

    def act(self, state: Web, seat: int, action: Any) -> Terms:
        """Do what an action does to the seat's tab and to the site; returns what it pays."""
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
            self._show(state, seat, tab.history.pop())
        elif isinstance(action, Scroll):
            step = max(1, self.window // 2) * (1 if action.direction == "down" else -1)
            tab.scroll = max(0, min(tab.scroll + step, len(tab.page.lines) - 1))
        else:
            state.stopped[seat] = True
            return {seat: self.stop(state.data, seat, action.answer)}
        return {}

    def _type(self, tab: Tab, number: int, text: str) -> None:
        tab.drafts[number] = tab.page.element(number).typed(text)

    def _click(self, state: Web, seat: int, number: int) -> Terms:
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
            for other, beside in tab.page.beside(number):
                if beside.role == "radio" and beside.field == element.field:
                    tab.drafts[other] = element.value if other == number else ""
        elif element.role == "option":
            tab.drafts[tab.page.holder(number)] = element.name
        return {}

    def _enter(self, state: Web, seat: int, number: int) -> Terms:
        """What Enter does in a field: the first button of its form is pressed."""
        for other, beside in state.tabs[seat].page.beside(number):
            if beside.role == "button":
                return self.submit(state, seat, other)
        return {}

    def submit(self, state: Web, seat: int, pressed: int) -> Terms:
        """Send the form of a button."""
        tab = state.tabs[seat]
        form = tab.page.form_of(pressed)
        if form is None:
            return {}
        fields = sent_fields(tab.page, tab.drafts, pressed)
        if not form.changes:
            self.go(state, seat, f"{form.to}?{encoded(fields)}", sent=True)
            return {}
        return self.post(state, seat, form.to, dict(fields))

    def post(self, state: Web, seat: int, url: str, fields: Mapping[str, str]) -> Terms:
        """Let the site take a form, and go where it leads."""
        landing = self.take(state.data, seat, url, fields)
        self.go(state, seat, landing.url, sent=True)
        state.finished |= landing.finished
        state.stopped[seat] |= landing.done
        return {seat: landing.rewards, **landing.others}

    def take(self, data: Any, seat: int, url: str, fields: Mapping[str, str]) -> Landing:
        """What the site makes of a form; where nothing takes it, nothing changes."""
        try:
            return self.send(data, seat, split(url)[0], fields)
        except NotFound:
            return Landing(url)

    def go(self, state: Web, seat: int, url: str, *, sent: bool = False) -> None:
        """Open an address, after a form was `sent` or from a link.

        As in Chromium a link to the page it stands on leaves no trace in the history, a form does.
        """
        tab = state.tabs[seat]
        if sent or tab.page.url != url:
            tab.history.append(tab.page.url)
        self._show(state, seat, url)

    def _show(self, state: Web, seat: int, url: str) -> None:
        tab = state.tabs[seat]
        tab.page = self.page(state.data, seat, url)
        tab.drafts = {}
        tab.scroll = 0

    def outcome(self, state: Web) -> Outcome | None:
        if self.to_act(state):
            return None
        seats = range(self.num_players)
        results = tuple(self._result(state, seat) for seat in seats)
        return Outcome(results, tuple(state.scores))

    def _result(self, state: Web, seat: int) -> Result:
        if self.solved(state.data, seat):
            return "win"
        return "truncated" if state.steps[seat] >= self.limit else "loss"

    def truncated(self, state: Web) -> bool:
        return not state.finished and all(n >= self.limit for n in state.steps)

    def present(self, state: Web) -> tuple[int, ...]:
        return tuple(seat for seat in range(self.num_players) if not state.stopped[seat])

    # What may be done

    def _in_view(self, tab: Tab) -> tuple[int, int]:
        """The numbers that can be acted on, as a range: first, and one past the last."""
        places = tab.page.places
        first = bisect_left(places, tab.scroll)
        end = bisect_left(places, tab.scroll + self.window, lo=first)
        return first + 1, end + 1

    def legal(self, state: Web, seat: int) -> Grammar:
        tab = state.tabs[seat]
        page = tab.page
        first, end = self._in_view(tab)
        shown = range(first, end)
        boxes = tuple([n for n in shown if page.element(n).role == "textbox"])
        phrases = self.phrases(state.data, seat)
        options = [Option(Stop, {"answer": Text(1000, ("", *phrases))})]
        options.append(Option(Goto, {"url": Address()}))
        if shown:
            options.append(Option(Click, {"element": OneOf(tuple(shown))}))
        if boxes:
            fields: dict[str, Any] = {"element": OneOf(boxes)}
            options.append(Option(Fill, fields | {"text": Text(10_000, phrases or ("x",))}))
            senders = tuple([n for n in boxes if page.element(n).lines == 1])
            if senders:  # in a text area Enter begins a line
                where = {"element": OneOf(senders), "key": OneOf(("Enter",))}
                options.append(Option(Press, where))
            if phrases:
                options.append(Option(Copy, fields | {"phrase": Integer(1, len(phrases))}))
        for number in shown:
            if page.element(number).role == "combobox":
                names = OneOf(tuple([o.name for o in page.element(number).children]))
                options.append(Option(Select, {"element": OneOf((number,)), "option": names}))
        if tab.history:
            options.append(Option(Back))
        ways = self._ways(tab)
        if ways:
            options.append(Option(Scroll, {"direction": OneOf(ways)}))
        return Grammar(tuple(options))

    def check(self, state: Web, seat: int, action: TextAction) -> None:
        if type(action) is Click:  # what is done most, without writing down the whole grammar
            first, end = self._in_view(state.tabs[seat])
            if type(action.element) is int and first <= action.element < end:
                return
        super().check(state, seat, action)

    def _ways(self, tab: Tab) -> tuple[str, ...]:
        down = tab.scroll + self.window < len(tab.page.lines)
        return ("down",) * down + ("up",) * (tab.scroll > 0)

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Every click, every copying of a phrase, and the moves of the tab."""
        numbers, phrases = range(1, self.elements + 1), range(1, self.most_phrases + 1)
        return (
            *(Click(number) for number in numbers),
            *(Copy(number, phrase) for phrase in phrases for number in numbers),
            *(Back(), Scroll("down"), Scroll("up"), Stop()),
        )

    def action_mask(self, state: Web, seat: int) -> Mask:
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
        ways = self._ways(tab)
        mask[-4:-1] = bool(tab.history), "down" in ways, "up" in ways
        return mask

    def parse(self, state: Web, seat: int, text: str) -> TextAction:
        try:
            return super().parse(state, seat, in_our_words(text))
        except InvalidAction as error:
            raise InvalidAction(text, error.legal, error.example, error.why) from None

    # What a seat sees

    def describe(self, state: Web, seat: int) -> str:
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
        shown = self.shown(tab)
        below = len(tab.page.lines) - tab.scroll - self.window
        return "\n".join([*head, shown, *([f"({below} lines below)"] if below > 0 else ())])

    def shown(self, tab: Tab) -> str:
        """The lines of the page in view, distilled as the options say."""
        page, stop = tab.page, tab.scroll + self.window
        lines = page.shown(tab.drafts, tab.scroll, stop)
        if self.distill != "all":
            lines = [line for line in lines if bool(line.number) == (self.distill == "inputs")]
        return "\n".join([line.text for line in lines])

    def observation_space(self, seat: int) -> spaces.Box:
        return spaces.Box(0.0, 1.0, (self.elements + 1, features.WIDTH), np.float32)

    def observe(self, state: Web, seat: int) -> Any:
        """A row a numbered element, the tab's own row first; see `features.py`."""
        tab = state.tabs[seat]
        seen = features.of_page(tab.page, self.phrases(state.data, seat), self.elements)
        for number, value in tab.drafts.items():
            if number <= self.elements:
                features.put_draft(seen, number, value)
        left = self.limit - state.steps[seat]
        return features.put_tab(seen, left / self.limit, tab.scroll / len(tab.page.lines))

    def scene(self, state: Web, player: int | None = None) -> Scene:
        seat = 0 if player is None else player
        tab = state.tabs[seat]
        lines = tab.page.shown(tab.drafts, tab.scroll, tab.scroll + self.window)
        widgets = [made for line in lines if (made := widget(line)) is not None]
        return Scene(
            caption=f"{tab.page.url}  {tab.page.title}",
            lines=(self.task(state.data, seat),),
            widgets=tuple(widgets),
        )


KINDS: dict[str, WidgetKind] = {
    "heading": "heading",
    "region": "text",
    "paragraph": "text",
    "cell": "text",
    "columnheader": "text",
    "img": "text",
    "link": "link",
    "button": "button",
    "textbox": "field",
    "combobox": "field",
    "checkbox": "tick",
    "radio": "tick",
}


def widget(line: Shown) -> Widget | None:
    """A line of a page as it is drawn; None for what has no look of its own."""
    kind = KINDS.get(line.role)
    if kind is None or not (line.name or line.number):
        return None
    return Widget(kind, line.name, line.number, line.value, line.chosen, line.depth)


def what_changed(url: str, lines: Sequence[str], tab: Tab) -> str:
    """In one sentence what an action did to the page (the change observation of Agent-E)."""
    if tab.page.url != url:
        return f"Your last action led from {url} to {tab.page.url}."
    now = Counter(tab.page.text(tab.drafts).split("\n"))
    came, went = now - Counter(lines), Counter(lines) - now
    if not came and not went:
        return "Your last action changed nothing on the page."
    told = [
        f"{word}: {'; '.join(line.strip() for line in list(found)[:TOLD])}"
        + (f" and {len(found) - TOLD} more" if len(found) > TOLD else "")
        for word, found in (("gone", went), ("new", came))
        if found
    ]
    return f"Since your last action, {', '.join(told)}."


def split(url: str) -> tuple[list[str], dict[str, str]]:
    """The parts of a path between its slashes, and the fields of its query."""
    path, _, query = url.partition("?")
    return path.strip("/").split("/"), dict(parse_qsl(query, True)) if query else {}


def sent_fields(page: Page, drafts: Drafts, pressed: int) -> list[tuple[str, str]]:
    """What a form sends when one of its buttons is pressed, in document order."""
    sent = []
    for number, element in page.beside(pressed):
        if element.role in FIELDS:
            ticks = element.role in ("checkbox", "radio")
            first = "" if ticks and not element.chosen else element.value
            value = drafts.get(number, first)
            if value or not ticks:
                sent.append((element.field, value))
        elif number == pressed and element.field:
            sent.append((element.field, element.value))
    return sent


def encoded(fields: Sequence[tuple[str, str]]) -> str:
    """Fields as a browser writes them into an address."""
    return urlencode(fields, safe="*").replace("~", "%7E")
