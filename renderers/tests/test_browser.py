"""The replay page in real Chromium: clicks, keys, links, themes, hostile text, screenshots."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Decision, Usage
from palestra_renderers.html import export
from PIL import Image

pytest.importorskip("playwright", reason="playwright is not installed")
from playwright.sync_api import sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
PROGRAM = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason=f"none of {', '.join(PROGRAMS)} is on PATH"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page that must ask for nothing from the network and print no error."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    opened = context.new_page()
    asked: list[str] = []
    errors: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda told: errors.append(told.text) if told.type == "error" else None)
    yield opened
    context.close()
    assert not [url for url in asked if not url.startswith("file:")]
    assert not errors


def costly(turn: palestra.Turn) -> Decision:
    took = Usage(tokens_in=1_000 + turn.steps_played, tokens_out=7, calls=1, cost=0.25)
    return Decision(turn.legal_actions[0], usage=took)


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two episodes of tic-tac-toe, the first with tokens and costs."""
    records = palestra.play("games/TicTacToe-v0", agents=[costly, "first"], seed=1)  # type: ignore[list-item]
    records += palestra.play("games/TicTacToe-v0", agents=["random", "random"], seed=2)
    path = tmp_path_factory.mktemp("page") / "replay.html"
    return export(records, path).as_uri()


def count(page: Any) -> str:
    return str(page.text_content("#count"))


def test_buttons_and_keys_move_through_the_turns(page: Any, replay: str) -> None:
    page.goto(replay)
    assert count(page) == "0 / 7"
    page.click("#next")
    page.click("#next")
    assert count(page) == "2 / 7"
    assert page.locator(".board svg g").count() == 2
    page.keyboard.press("End")
    assert count(page) == "7 / 7"
    assert "win" in page.text_content(".end")
    page.keyboard.press("ArrowLeft")
    assert count(page) == "6 / 7"
    page.keyboard.press("Home")
    assert count(page) == "0 / 7"


def test_it_plays_by_itself_until_the_end(page: Any, replay: str) -> None:
    page.goto(replay)
    page.select_option("#speed", "120")
    page.click("body", position={"x": 5, "y": 5})
    page.keyboard.press(" ")
    assert page.get_attribute("#play", "aria-label") == "Pause"
    page.locator("#count", has_text="7 / 7").wait_for()
    assert page.get_attribute("#play", "aria-label") == "Play"


def test_a_link_leads_to_a_turn_and_the_address_keeps_it(page: Any, replay: str) -> None:
    page.goto(f"{replay}#turn=3")
    assert count(page) == "3 / 7"
    page.keyboard.press("ArrowRight")
    assert page.url.endswith("#episode=0&turn=4")
    page.goto(f"{replay}#episode=1&turn=2")
    assert count(page).startswith("2 / ")
    assert "episode 1" in page.text_content("h2")
    page.evaluate("location.hash = '#episode=0&compare=1&turn=5'")
    page.wait_for_selector("main.two")
    assert count(page).startswith("5 / ")


def test_a_link_that_makes_no_sense_opens_the_start(page: Any, replay: str) -> None:
    page.goto(f"{replay}#episode=99&turn=x")
    assert count(page).startswith("0 / ")


def test_two_episodes_stand_side_by_side(page: Any, replay: str) -> None:
    page.goto(f"{replay}#turn=4")
    page.keyboard.press("c")
    panes = page.locator("article.pane")
    assert panes.count() == 2
    left, right = panes.nth(0).bounding_box(), panes.nth(1).bounding_box()
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    assert panes.nth(0).locator(".board svg g").count() == 4
    assert panes.nth(1).locator(".board svg g").count() == 4
    page.keyboard.press("c")
    assert panes.count() == 1


def test_the_table_has_rewards_tokens_and_costs(page: Any, replay: str) -> None:
    page.goto(replay)
    rows = page.locator("tbody tr")
    assert rows.count() == 8  # the loser of the last turn is paid too
    first = rows.nth(0).locator("td").all_text_contents()
    assert (first[0], first[1], first[5], first[6]) == ("1", "player_0", "1,007", "0.25")
    paid = rows.nth(6).locator(".term")
    assert "+1" in paid.first.text_content()
    assert "-1" in rows.nth(7).locator(".term").first.text_content()
    assert paid.first.locator("div span").bounding_box()["width"] > 10
    assert page.locator("tfoot td").all_text_contents()[-1] == "1"
    rows.nth(4).click()
    assert count(page) == "5 / 7"
    assert rows.nth(4).get_attribute("aria-current") == "step"


def test_the_timeline_is_clicked_to_a_turn(page: Any, replay: str) -> None:
    page.goto(replay)
    chart = page.locator(".timeline svg")
    box = chart.bounding_box()
    chart.click(position={"x": box["width"] - 3, "y": 20})
    assert count(page) == "7 / 7"
    gains, losses = chart.locator("rect").nth(1), chart.locator("rect").nth(2)
    assert gains.bounding_box()["y"] < losses.bounding_box()["y"]


def test_transcripts_are_shown_by_seat(page: Any, tmp_path: Path) -> None:
    records = palestra.play("text/Negotiation-v0", agents=["negotiator", "negotiator"], seed=3)
    page.goto(export(records, tmp_path / "page.html").as_uri())
    shown = page.locator(".log p:visible")
    assert any("(to player_1)" in text for text in shown.all_text_contents())
    page.select_option("#audience", "0")
    told = shown.all_text_contents()
    assert any("(to player_0)" in text for text in told)
    assert not any("(to player_1)" in text for text in told)


def test_a_seats_page_offers_no_other_transcript(page: Any, tmp_path: Path) -> None:
    records = palestra.play("text/Negotiation-v0", agents=["negotiator", "negotiator"], seed=3)
    page.goto(export(records, tmp_path / "page.html", viewer=0).as_uri())
    assert not page.locator("#whose").is_visible()


def test_hostile_text_is_only_text(page: Any, tmp_path: Path) -> None:
    from palestra_envs.text.negotiation.game import Say, Walk

    said = "</script><img src=x onerror='document.title=1'><b>bold</b> \u202egnp.exe 😀 \x1b[31m"

    def hostile(turn: palestra.Turn) -> Any:
        return Walk() if turn.steps_played > 1 else Say(text=said + "y" * 100)

    (record,) = palestra.play("text/Negotiation-v0", agents=[hostile, hostile])  # type: ignore[list-item]
    record.agents = ("<i>evil</i>", "b")
    page.goto(export([record], tmp_path / "page.html").as_uri() + "#turn=2")
    assert page.locator("img, main b:not(.term b), main i:not(.seat i):not(.key i)").count() == 0
    assert page.title().endswith("replay")
    shown = page.text_content(".log")
    assert "bold" in shown
    assert "😀" in shown
    assert not set(shown) & set("\x1b\u202e")
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 1280


def test_light_and_dark(page: Any, replay: str) -> None:
    page.goto(replay)

    def brightness() -> float:
        with Image.open(io.BytesIO(page.screenshot())) as image:
            return float(np.asarray(image.convert("L")).mean())

    assert brightness() > 180
    page.keyboard.press("d")
    assert brightness() < 80
    page.emulate_media(color_scheme="dark")
    page.reload()
    assert brightness() < 80


def test_it_is_read_aloud(page: Any, replay: str) -> None:
    page.goto(replay)
    page.click("#next")
    assert "Turn 1 of 7" in page.text_content("#spoken")
    assert "X of player_0" in page.get_attribute(".board svg", "aria-label")
    assert page.get_attribute("#step", "aria-valuetext") == "turn 1 of 7"
    nameless = page.evaluate(
        """[...document.querySelectorAll("button, select, input, svg[role=img]")].filter(node =>
        !(node.getAttribute("aria-label") || node.closest("label") || node.textContent.trim()))
        .length"""
    )
    assert nameless == 0


def test_a_narrow_screen_needs_no_sideways_scrolling(page: Any, replay: str) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(replay)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_thousand_turns_open(page: Any, tmp_path: Path) -> None:
    game = palestra.game("grid/Harvest-v0", num_players=2, max_steps=1_000)
    (record,) = palestra.play(game, agents=["random", "random"])
    assert len(record.steps) == 1_000
    record.env = "grid/Harvest-v0"  # a bare game has no id
    page.goto(export([record], tmp_path / "long.html").as_uri())
    page.keyboard.press("End")
    assert count(page) == "1000 / 1000"
