"""What a person did in a browser is read back as the actions of a seat."""

from __future__ import annotations

import pytest
from palestra import TextAction
from palestra_web.actions import Back, Click, Fill, Goto, Select
from palestra_web.pages import (
    Page,
    action,
    button,
    checkbox,
    combobox,
    deed,
    form,
    link,
    radio,
    textbox,
)
from palestra_web.person import actions_of_form, actions_of_visit
from palestra_web.website import Tab

PAGE = Page(
    "/",
    "Test",
    (
        link("Away", "/away"),  # 1
        deed("Open", "/open", tab="2"),  # 2
        form("/search", textbox("Search", "q"), button("Go")),  # 3, 4
        form(
            "/send",
            textbox("Name", "name", "Ann"),  # 5
            checkbox("News", "news", chosen=True),  # 6
            *(radio(size, "size", size) for size in ("s", "l")),  # 7, 8
            combobox("Colour", "colour", ("red", "blue")),  # 9; options 10, 11
            button("Send", "way", "fast"),  # 12
            button("Post", "way", "slow"),  # 13
            changes=True,
        ),
        action("Drop", "/drop", id="3"),  # 14
    ),
)
UNTOUCHED = {"name": "Ann", "news": "on", "colour": "red"}


@pytest.mark.parametrize(
    ("url", "actions"),
    [
        ("/away", [Click(1)]),
        ("/", []),
        ("/search?q=lamp", [Fill(3, "lamp"), Click(4)]),
        ("/search?q=", [Click(4)]),
        ("/open", [Goto("/open")]),  # its link would have sent a form
        ("/before", [Back()]),
        ("/elsewhere", [Goto("/elsewhere")]),
    ],
)
def test_addresses_are_clicks_forms_and_ways_back(url: str, actions: list[TextAction]) -> None:
    assert actions_of_visit(Tab(PAGE, history=["/before"]), url) == actions


@pytest.mark.parametrize(
    ("url", "sent", "actions"),
    [
        ("/open", {"tab": "2"}, [Click(2)]),
        ("/drop", {"id": "3"}, [Click(14)]),
        ("/send", UNTOUCHED | {"way": "fast"}, [Click(12)]),
        ("/send", UNTOUCHED | {"way": "slow"}, [Click(13)]),
        (
            "/send",
            {"name": "Bob", "size": "l", "colour": "blue", "way": "fast"},
            [Fill(5, "Bob"), Click(6), Click(8), Select(9, "blue"), Click(12)],
        ),
        ("/nowhere", {"id": "3"}, []),
        ("/drop", {"id": "4"}, []),
    ],
)
def test_forms_are_what_was_put_into_them_and_a_click(
    url: str, sent: dict[str, str], actions: list[TextAction]
) -> None:
    assert actions_of_form(PAGE, url, sent) == actions
