"""Widgets: small tasks on single web pages, each judged by one answer.

The tasks are MiniWoB's (World of Bits), written anew from their descriptions: press, tick, type,
pick, read, count, search. An episode is one task, drawn by its seed from all of them, from those
of a split (`train`, `held-out`), or always the same. The answer is judged the moment it is given:
1 if it is exactly right, -1 if not, and -1 for stopping without one, as MiniWoB counts; time
costs nothing. Colours, shapes and blocks are images with names, since pages are trees of names.

What no page has shown yet is redrawn for agents that look ahead: the number to guess, which tab,
section or folder holds what, the texts of mails, contacts and search results. Timetables and
calendars count as known.

T. Shi et al., "World of Bits: An Open-Domain Platform for Web-Based Agents", ICML 2017; E. Z. Liu
et al., "Reinforcement Learning on Web Interfaces Using Workflow-Guided Exploration", ICLR 2018.
Checked: every task is solved by an agent that reads its page, and fails by a play written for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from palestra import Event, InvalidOption, Rng, Step, environment, only

from palestra_web.pages import Page, heading, paragraph
from palestra_web.website import Landing, NotFound, Web, Website, encoded
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
    """The site's data: the task by name, the widget as it stands, and what its answer paid."""

    name: str
    widget: Widget
    paid: float = 0.0


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
    """Do the small task on this page. Your first answer counts: it is right or wrong."""

    widget: str = "all"
    limit: int = 40

    reward_terms = ("answer",)

    def __post_init__(self) -> None:
        super().__post_init__()
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
            address += f"?{encoded(list(query.items()))}"
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

    def step(self, state: Web, actions: Mapping[int, Any]) -> Step:
        done = super().step(state, actions)
        ((seat, _),) = actions.items()
        url = state.tabs[seat].page.url
        if not state.data.widget.reveals(url):
            return done
        told = Event("reveal", f"{self.players[seat]} reads {url}.", {}, only(seat))
        return Step(done.rewards, done.costs, (*done.events, told))

    def determinize(self, state: Web, seat: int, rng: Rng) -> Web:
        """What the pages in the tab and behind its way back have not shown is drawn anew."""
        other = self.clone(state)
        tab = other.tabs[seat]
        seen = frozenset((tab.page.url, *tab.history))
        other.data.widget = other.data.widget.redrawn(seen, rng)
        return other
