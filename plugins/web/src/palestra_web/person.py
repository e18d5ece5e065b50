"""A person in a browser, whose clicks and typing are the actions of a seat.

The browser shows the pages of the episode itself. Each request is translated to actions on the
seat's current page: following a link is a `Click`; sending a form is entering its fields and
clicking its button; any other address is a `Goto`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from palestra import Agent, Episode, InvalidAction, InvalidOption, TextAction, Turn

from palestra_web.actions import Back, Click, Fill, Goto, Select, Stop
from palestra_web.html import to_html
from palestra_web.pages import (
    Drafts,
    Page,
    button,
    form,
    group,
    heading,
    paragraph,
    textbox,
)
from palestra_web.website import Tab, Website, encode_query, sent_fields, split

DONE = "/-/done"  # the form that ends the episode; no site has this address


def actions_of_visit(tab: Tab, url: str) -> list[TextAction]:
    """The actions that explain a browser's request for an address; none for a reload."""
    page = tab.page
    for number, element in enumerate(page.numbered, start=1):
        if element.role == "link" and element.to == url and not element.changes:
            return [Click(number)]
    for number, element in enumerate(page.numbered, start=1):
        holder = page.form_of(number)
        if element.role != "button" or holder is None or holder.changes:
            continue
        if url.startswith(f"{holder.to}?"):
            filled = _filling_for(page, number, url)
            if filled is not None:
                return [*filled, Click(number)]
    if url == page.url:
        return []
    return [Back()] if tab.history and tab.history[-1] == url else [Goto(url)]


def _filling_for(page: Page, pressed: int, url: str) -> list[TextAction] | None:
    """The field contents with which a form leads to an address; None if there are none."""
    _, sent = split(url)
    drafts = drafts_of(page, pressed, sent)
    again = sent_fields(page, drafts, pressed)
    return filling(page, drafts) if encode_query(again) == url.partition("?")[2] else None


def actions_of_form(page: Page, url: str, sent: Mapping[str, str]) -> list[TextAction]:
    """The actions that explain a form sent by a browser: fields are filled, a button pressed."""
    for number, element in enumerate(page.numbered, start=1):
        if element.field and sent.get(element.field) != element.value:
            continue
        if element.role == "link" and element.changes and element.to == url:
            return [Click(number)]
        holder = page.form_of(number)
        sends = holder is not None and holder.changes and holder.to == url
        if element.role == "button" and sends:
            return [*filling(page, drafts_of(page, number, sent)), Click(number)]
    return []


def drafts_of(page: Page, pressed: int, sent: Mapping[str, str]) -> dict[int, str]:
    """The contents, by number, of the fields in a form that were changed before it was sent."""
    drafts = {}
    for number, element in page.same_form(pressed):
        if element.role in ("textbox", "combobox"):
            value = sent.get(element.field, "")
            if value != element.value:
                drafts[number] = value
        elif element.role in ("checkbox", "radio"):
            chosen = sent.get(element.field) == element.value
            if chosen != element.chosen:
                drafts[number] = element.value if chosen else ""
    return drafts


def filling(page: Page, drafts: Drafts) -> list[TextAction]:
    """The actions that enter these contents into fields."""
    made: list[TextAction] = []
    for number, value in drafts.items():
        role = page.element(number).role
        if role == "textbox":
            made.append(Fill(number, value))
        elif role == "combobox":
            made.append(Select(number, value))
        elif role == "checkbox" or value:
            made.append(Click(number))
    return made


class PersonSession:
    """A person plays one seat of an episode in a browser; agents play the others.

    Every page ends with the task and a field for the answer.
    """

    def __init__(
        self, episode: Episode, seat: int = 0, others: Mapping[int, Agent] | None = None
    ) -> None:
        if not isinstance(episode.game, Website):
            name = type(episode.game).__name__
            raise InvalidOption(f"{name} is not a website; a browser can only show websites")
        self.episode, self.seat = episode, seat
        self._game, self._others = episode.game, others or {}
        self._let_others_play()

    @property
    def tab(self) -> Tab:
        return self.episode.state.tabs[self.seat]

    @property
    def home(self) -> str:
        return self.tab.page.url

    def get(self, url: str) -> str:
        if url != DONE and not self.episode.over:
            self._play(actions_of_visit(self.tab, url))
        return to_html(self._page(), self.tab.drafts)

    def post(self, url: str, fields: dict[str, str]) -> str:
        if not self.episode.over:
            if url == DONE:
                self._play([Stop(fields.get("answer", ""))])
            else:
                self._play(actions_of_form(self.tab.page, url, fields))
        return self.tab.page.url

    def _play(self, actions: Sequence[TextAction]) -> None:
        """Play the person's actions; at an illegal one, stop and show the current page."""
        for action in actions:
            if self.episode.over:
                return
            try:
                self.episode.check(self.seat, action)
            except InvalidAction:
                return
            self.episode.act({self.seat: action})
            self._let_others_play()

    def _let_others_play(self) -> None:
        while not self.episode.over and self.seat not in self.episode.to_act:
            (other,) = self.episode.to_act
            if other not in self._others:
                raise InvalidOption(f"nobody plays seat {other}; name an agent for it")
            (decision,) = self._others[other].act([Turn(self.episode, other)])
            action = decision.action
            if action is None:
                action = self.episode.parse(other, decision.text or "")
            self.episode.act({other: action})

    def _page(self) -> Page:
        """The page with the task below it, or the result of the episode."""
        page = self.tab.page
        if self.episode.over:
            outcome = self.episode.outcome
            result = outcome.results[self.seat] if outcome else "none"
            paid = self.episode.returns[self.seat]
            said = paragraph(f"Result: {result}; you were paid {paid:g}.")
            return Page(page.url, "The end", (heading("The end"), said))
        answer = form(DONE, textbox("Answer", "answer"), button("Done"), changes=True)
        task = paragraph(self._game.task(self.episode.state.data, self.seat))
        return Page(page.url, page.title, (*page.body, group("Your task", task, answer)))
