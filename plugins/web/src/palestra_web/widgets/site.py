"""Widgets: small tasks on single web pages, each judged by one answer.

The tasks are those of MiniWoB (World of Bits), rewritten from their descriptions: press, tick,
type, pick, read, count, search. An episode is one task: drawn by its seed from all of them or from
those of a split (`train`, `held-out`), or always the same. The answer is judged as soon as it is
given: 1 if it is exactly right, -1 if not, and -1 for stopping without one, as in MiniWoB; time
costs nothing. Colours, shapes and blocks are images with names, since pages are trees of names.

For agents that look ahead, everything that no page has shown yet is redrawn: the number to guess,
the contents of tabs, sections and folders, the texts of mails, contacts and search results.
Timetables and calendars count as known.

T. Shi et al., "World of Bits: An Open-Domain Platform for Web-Based Agents", ICML 2017; E. Z. Liu
et al., "Reinforcement Learning on Web Interfaces Using Workflow-Guided Exploration", ICLR 2018.
Checked: an agent that reads the page solves every task, and a deliberately wrong script for each
task fails.

Left out: tasks that need a picture or the drag of a mouse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from palestra import (
    InvalidOption,
    Meta,
    Rng,
    Step,
    TextAction,
    environment,
)

from palestra_web.pages import Page, heading, paragraph
from palestra_web.website import (
    Landing,
    Limit,
    NotFound,
    Website,
    WebState,
    encode_query,
    with_reveal,
)
from palestra_web.widgets import filling, looking, playing, pressing, sites
from palestra_web.widgets.card import TASKS, Widget

HELD_OUT = (
    *("click-checkboxes-large", "click-tab-2", "click-dialog-2", "login-user-popup"),
    *("read-table-2", "simple-algebra", "copy-paste-2", "email-inbox-reply", "social-media-some"),
    *("multi-layouts", "book-flight"),
)
SPLITS = {
    "all": tuple(sorted(TASKS)),
    "train": tuple(sorted(set(TASKS) - set(HELD_OUT))),
    "held-out": tuple(sorted(HELD_OUT)),
}
FILES = (pressing, filling, looking, sites, playing)  # importing them fills TASKS


@dataclass(slots=True)
class Sitting:
    """The site's data."""

    name: str  # of the task, in TASKS
    widget: Widget  # as it is now
    paid: float = 0.0  # for the answer; 0 before it is given


@environment(
    "web/Widgets-v0",
    family="web",
    tags=("web", "forms", "hidden-information"),
    paper=(
        "Shi et al. (2017), World of Bits: An Open-Domain Platform for Web-Based Agents; Liu "
        "et al. (2018), Reinforcement Learning on Web Interfaces Using Workflow-Guided "
        "Exploration"
    ),
    splits={"train": {"widget": "train"}, "held-out": {"widget": "held-out"}},
)
@dataclass(frozen=True)
class Widgets(Website):
    """MiniWoB: one player does a small task on a web page, and its first answer counts.

    Numbered actions and observations are those of `Website`. The answer pays 1 if it is
    right and -1 if it is wrong; stopping without one pays -1.
    """

    widget: Annotated[
        str,
        Meta(description="the tasks to draw from: all, train or held-out, or the name of one task"),
    ] = "all"
    limit: Limit = 40

    rules_text = """
        Do the small task on this page. Your first answer counts: it is right or wrong.
    """
    reward_terms = ("answer",)

    def validate(self) -> None:
        if self.widget not in TASKS and self.widget not in SPLITS:
            known = ", ".join((*SPLITS, *sorted(TASKS)))
            raise InvalidOption(f"widget must be one of {known}, not {self.widget!r}")

    def begin(self, rng: Rng) -> Sitting:
        name = rng.choice(SPLITS.get(self.widget, (self.widget,)))
        return Sitting(name, TASKS[name](rng))

    def task(self, data: Sitting, seat: int) -> str:
        return data.widget.words

    def phrases(self, data: Sitting, seat: int) -> tuple[str, ...]:
        return data.widget.phrases

    def open(self, data: Sitting, seat: int, path: Sequence[str], query: Mapping[str, str]) -> Page:
        address = f"/{'/'.join(path)}"
        if address == "/end" and data.paid:
            return Page("/end", "The end", (heading("Done"), paragraph("Your answer is taken.")))
        if query:
            address += f"?{encode_query(list(query.items()))}"
        body = data.widget.page(address)
        if body is None:
            raise NotFound
        return Page(address, data.name, body)

    def send(
        self, data: Sitting, seat: int, path: Sequence[str], fields: Mapping[str, str]
    ) -> Landing:
        if list(path) != ["done"] or data.paid:
            raise NotFound
        after = data.widget.take(fields)
        if isinstance(after, Widget):
            data.widget = after
            return Landing("/")
        data.paid = after
        return Landing("/end", {"answer": after}, finished=True)

    def stop(self, data: Sitting, seat: int, answer: str) -> Mapping[str, float]:
        return {"answer": -1.0}

    def solved(self, data: Sitting, seat: int) -> bool:
        return data.paid == 1.0

    def step(self, state: WebState, actions: Mapping[int, TextAction]) -> Step:
        step = super().step(state, actions)
        ((seat, _),) = actions.items()
        url = state.tabs[seat].page.url
        if not state.data.widget.reveals(url):
            return step
        return with_reveal(step, seat, f"{self.players[seat]} reads {url}.")

    def determinize(self, state: WebState, seat: int, rng: Rng) -> WebState:
        """Redraw what neither the current page nor the pages in the tab's history have shown."""
        other = self.clone(state)
        tab = other.tabs[seat]
        seen = frozenset((tab.page.url, *tab.history))
        other.data.widget = other.data.widget.redraw(seen, rng)
        return other
