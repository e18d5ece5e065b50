"""The replay page in real Chromium: clicks, keys, links, themes, hostile text, screenshots."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Decision, Usage
from palestra_renderers.html import export
from PIL import Image

pytestmark = pytest.mark.slow


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
    records = palestra.play("games/TicTacToe-v0", agents=[costly, "first"], seed=1)
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
    assert page.locator(".board svg path").count() == 2
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
    assert panes.nth(0).locator(".board svg path").count() == 4
    assert panes.nth(1).locator(".board svg path").count() == 4
    page.keyboard.press("c")
    assert panes.count() == 1


def test_the_table_has_rewards_tokens_and_costs(page: Any, replay: str) -> None:
    page.goto(replay)
    rows = page.locator("tbody tr:not(.spacer)")
    assert rows.count() == 8  # the loser of the last turn is paid too
    first = rows.nth(0).locator("td").all_text_contents()
    assert (first[0], first[1], first[5], first[7]) == ("1", "player_0", "1,007", "0.25")
    assert "+1" in rows.nth(6).locator(".paid").text_content()
    assert "−1" in rows.nth(7).locator(".paid").text_content()
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
    paid = chart.locator("path.paid").bounding_box()
    zero = chart.locator(".rule.zero").bounding_box()["y"]
    assert paid["y"] < zero - 40
    assert paid["y"] + paid["height"] > zero + 40
    assert page.text_content(".paidnow") == "turn 7: payoff +1, payoff −1"


def test_the_chart_has_numbers_at_its_axes(page: Any, replay: str) -> None:
    page.goto(replay)
    assert page.locator(".sides span").all_text_contents() == ["−1", "0", "1"]
    assert page.locator(".across span").all_text_contents() == list("01234567")
    heights = [label.bounding_box()["y"] for label in page.locator(".sides span").all()]
    assert heights == sorted(heights, reverse=True)


def test_transcripts_are_shown_by_seat(page: Any, tmp_path: Path) -> None:
    records = palestra.play("text/Negotiation-v0", agents=["negotiator", "negotiator"], seed=3)
    page.goto(export(records, tmp_path / "page.html").as_uri())
    shown = page.locator(".log p:visible")
    assert any("(to player_1)" in text for text in shown.all_text_contents())
    page.select_option("#seat", "0")
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
        action = Walk() if turn.steps_played > 1 else Say(text=said + "y" * 100)
        talk = {"players": [said], "steps": [{"turns": [{"player": 0, "raw": said}]}]}
        facts = {said: {said: 1.0}, "talks": [talk]}
        return Decision(action, thought=said, model=said, sampling={said: said}, facts=facts)

    (record,) = palestra.play("text/Negotiation-v0", agents=[hostile, hostile])
    record.agents = ("<i>evil</i>", "b")
    page.goto(export([record], tmp_path / "page.html").as_uri() + "#turn=2")
    assert page.locator("main :is(img, script, b b, i:not(.swatch), i *, b *)").count() == 0
    assert page.title().endswith("replay")
    assert page.locator(".mind.now").text_content().count("<b>bold</b>") > 5
    shown = page.text_content(".log")
    assert "bold" in shown
    assert "😀" in shown
    assert not set(page.text_content("main")) & set("\x1b\u202e")
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
    assert ": X of player_0" in page.get_attribute(".board svg", "aria-label")
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


def speaker(seat: int) -> Any:
    """Plays its legal moves in turn, with a thought, a probability and a price."""

    def decide(turn: palestra.Turn) -> Decision:
        legal, number = turn.legal_texts, turn.steps_played
        return Decision(
            text=legal[(7 * number + seat) % len(legal)],
            thought=f"At step {number} seat {seat} weighs the apples against its neighbours. " * 3,
            usage=Usage(tokens_in=900 + number, tokens_out=60, calls=1, cost=0.001, seconds=0.4),
            logprob=-0.3 - seat,
            model="made-up",
        )

    return decide


@pytest.fixture(scope="module")
def long_replay(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A thousand turns of eight seats that all say what they think."""
    return crowded_replay(tmp_path_factory.mktemp("long"), 1_000)


def crowded_replay(folder: Path, turns: int) -> str:
    game = palestra.game("grid/Harvest-v0", num_players=8, max_steps=turns)
    (record,) = palestra.play(game, agents=[speaker(seat) for seat in range(8)])
    assert len(record.turns) == 8 * turns
    record.env = "grid/Harvest-v0"  # a bare game has no id
    return export([record], folder / "long.html").as_uri()


BUSY = "TaskDuration"  # of the page's main thread, in seconds


def busy(session: Any) -> float:
    """Processor time of the page so far."""
    found = session.send("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in found if one["name"] == BUSY))


def times(page: Any, address: str, turns: int) -> tuple[float, float]:
    """Processor time of opening a page, and of 20 steps from the middle of its episode on."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = busy(session)
    page.goto(address)
    assert count(page) == f"0 / {turns}"
    opened = busy(session)
    page.evaluate(f"show({turns // 2})")
    begun = busy(session)
    page.evaluate(
        """async () => {
          for (let number = 0; number < 20; number++) {
            document.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
            await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
          }
        }"""
    )
    assert count(page) == f"{turns // 2 + 20} / {turns}"
    return opened - before, busy(session) - begun


@pytest.mark.exhaustive
def test_a_step_in_a_long_episode_costs_no_more_than_in_a_short_one(
    page: Any, long_replay: str, tmp_path: Path
) -> None:
    """Compared in one process, so that neither the machine nor its load decides."""
    short = crowded_replay(tmp_path, 50)
    times(page, short, 50)  # warms the browser up
    opening, stepping = times(page, short, 50)
    opening_long, stepping_long = times(page, long_replay, 1_000)
    assert opening_long < 20 * opening
    assert stepping_long < 4 * stepping


def test_only_the_rows_in_sight_exist(page: Any, long_replay: str) -> None:
    page.goto(f"{long_replay}#turn=700")
    rows = page.locator("tbody tr:not(.spacer)")
    assert 10 < rows.count() < 60
    now = page.locator("tbody tr.now")
    assert now.count() == 8
    assert now.first.locator("td").first.text_content() == "700"
    assert now.first.get_attribute("aria-rowindex") == str(699 * 8 + 2)
    shown, frame = now.first.bounding_box(), page.locator(".turns").bounding_box()
    assert frame["y"] < shown["y"] < frame["y"] + frame["height"]
    page.evaluate("document.querySelector('.turns').scrollTop = 1e9")
    page.locator("tbody tr td:first-child", has_text="1000").first.wait_for()
    assert rows.last.locator("td").first.text_content() == "1000"
    rows.last.locator("td").nth(4).click()  # in reach, and under nothing else
    assert count(page) == "1000 / 1000"


def test_minds_stand_beside_the_board(page: Any, long_replay: str) -> None:
    page.goto(f"{long_replay}#turn=3")
    minds = page.locator(".mind.now")
    assert minds.count() == 8
    assert "weighs the apples" in minds.nth(2).locator(".thought").text_content()
    used = minds.nth(2).locator(".used").text_content()
    took = "902 tokens in, 60 out · 0.4 s · cost 0.001"
    assert used == f"made-up · log-prob −2.3 (p = 0.1003) · {took}"
    board, beside = page.locator(".board").bounding_box(), page.locator(".minds").bounding_box()
    assert board["x"] + board["width"] <= beside["x"]
    assert abs(minds.first.bounding_box()["y"] - beside["y"]) < 30
    page.select_option("#seat", "5")
    assert page.locator(".mind").count() == 3
    assert page.locator(".mind h3").first.text_content().startswith("player_5")
    assert page.text_content(".found") == "1,000 of 8,000 turns"
    page.locator(".goto").first.click()
    assert count(page) == "1 / 1000"


def test_search_stops_at_every_turn_where_the_words_are(page: Any, long_replay: str) -> None:
    page.goto(long_replay)
    page.keyboard.press("/")
    page.keyboard.type("At step 41 seat 6")
    assert page.text_content("#hits") == "1 turns"
    page.keyboard.press("Enter")
    assert count(page) == "42 / 1000"
    assert page.locator(".mind.now mark").first.text_content() == "At step 41 seat 6"
    assert page.text_content(".found") == "1 of 8,000 turns"
    page.fill("#find", "at step 4")
    assert page.text_content("#hits").endswith("111 turns")
    page.keyboard.press("Enter")
    assert count(page) == "43 / 1000"
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    assert count(page) == "41 / 1000"
    page.fill("#find", "no such words")
    assert page.text_content("#hits") == "not found"
    page.keyboard.press("Escape")
    assert page.locator("mark").count() == 0
    assert page.text_content(".found") == ""


def test_names_side_by_side_are_whole(page: Any, tmp_path: Path) -> None:
    records = palestra.play("games/TicTacToe-v0", agents=["random", "first"], episodes=2, seed=1)
    name = "llm:openai:a-model-with-a-very-long-name-7b-instruct@http://127.0.0.1:8000/v1,mode=free"
    for record in records:
        record.agents = (name[:80], name[:80])
    page.set_viewport_size({"width": 900, "height": 800})
    page.goto(export(records, tmp_path / "page.html").as_uri() + "#compare=1&turn=3")
    assert page.locator(".seat").count() == 4
    for seat in page.locator(".seat .who").all():
        assert seat.text_content().endswith(name[:80])
        assert seat.evaluate("node => node.scrollWidth <= node.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= 900


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("words", ["", "apples"])
def test_axe_finds_nothing_to_complain_of(
    browser: Any, tmp_path: Path, scheme: str, words: str
) -> None:
    from axe_playwright_python import sync_playwright as axe

    def hesitant(turn: palestra.Turn) -> Decision:
        said = "I mumble of apples" if turn.tries == 0 and turn.seat else "Say(text='apples?')"
        talk = {"players": ["a"], "steps": [{"turns": [{"player": 0, "raw": "apples"}]}]}
        facts = {"talks": [talk], "candidates": {"x": 1.0, "y": -0.5}, "list": [[1], {"a": 2}]}
        return Decision(text=said, thought="Apples.\n" * 20, logprob=-1.0, facts=facts)

    agents: Any = [hesitant, hesitant]
    records = palestra.play(
        "text/Negotiation-v0", agents=agents, episodes=2, invalid="retry:2", max_episode_steps=5
    )
    context = browser.new_context(viewport={"width": 1280, "height": 1200}, color_scheme=scheme)
    opened = context.new_page()
    opened.goto(export(records, tmp_path / "page.html").as_uri() + "#compare=1&turn=2")
    opened.fill("#find", words)
    opened.evaluate("document.querySelectorAll('details').forEach(node => { node.open = true; })")
    found = axe.Axe().run(opened).response
    context.close()
    checked = {rule["id"] for rule in found["passes"]}
    assert {"color-contrast", "label", "button-name", "scrollable-region-focusable"} <= checked
    told = [(v["id"], [node["html"] for node in v["nodes"]][:3]) for v in found["violations"]]
    assert not told


@pytest.mark.exhaustive
def test_a_record_is_a_page_in_a_notebook(page: Any, tmp_path: Path) -> None:
    (record,) = palestra.play("games/TicTacToe-v0", agents=["first", "first"], seed=1)
    assert repr(record) == (
        "<EpisodeRecord games/TicTacToe-v0, seed 1, 7 steps: player_0 win, player_1 loss>"
    )
    cell = tmp_path / "cell.html"
    cell.write_text(f"<!doctype html><body>{record._repr_html_()}</body>", "utf-8")
    page.goto(cell.as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("#next").click()
    assert frame.locator("#count").text_content() == "1 / 7"
    assert frame.locator(".board svg path").count() == 1
    assert page.evaluate("document.querySelector('iframe').contentDocument") is None  # sandboxed
