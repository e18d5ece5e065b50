"""`palestra view`: what it finds under a folder, whom it shows it to, and the page in Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import httpx
import palestra
import pytest
from palestra import RecordError
from palestra.cli import main
from palestra_server.viewing.app import Viewer
from palestra_server.viewing.folder import Folder, index_row, read_folder
from serving import running

KEY = "k" * 22


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of two games, one with an error, a cut line, and a file of something else."""
    home = tmp_path_factory.mktemp("runs")
    palestra.play("games/TicTacToe-v0", agents=["first", "random"], episodes=7, out=home / "a")
    palestra.play("games/KuhnPoker-v0", agents=["random", "first"], episodes=4, out=home / "b")
    kept = (home / "b" / "episode.jsonl").read_bytes()
    (home / "b" / "errors.jsonl").write_bytes(
        kept.splitlines()[0][:-1] + b',"error":"Traceback\\nValueError: no luck"}\n'
    )
    with (home / "b" / "episode.jsonl").open("ab") as file:
        file.write(b"\n" + kept[: len(kept) // 9])
    (home / "log.jsonl").write_text('{"loss": 1.0}\n{"loss": 0.5}\n', "utf-8")
    return home


def test_every_record_is_found_where_it_lies(folder: Path) -> None:
    found = read_folder(folder)
    assert len(found.records) == 12
    assert len(found.problems) == 1
    assert "episode.jsonl, line 5" in found.problems[0]
    rows = [index_row(one, folder) for one in found.records]
    for one, row in zip(found.records, rows, strict=True):
        record = one.read()
        assert (row["env"], row["seed"], row["number"]) == (record.env, record.seed, record.number)
        assert (row["steps"], row["returns"]) == (len(record.steps), record.returns)
        assert row["results"] == (record.outcome.results if record.outcome else ())
    assert {row["error"] for row in rows} == {"", "ValueError: no luck"}
    assert read_folder(folder / "a" / "episode.jsonl").records == found.records[:7]
    (folder / "gone.jsonl").write_bytes((folder / "a" / "episode.jsonl").read_bytes())
    (late,) = [r for r in read_folder(folder).records if r.file.name == "gone.jsonl"][:1]
    (folder / "gone.jsonl").unlink()
    with pytest.raises(RecordError, match="it has changed"):
        late.read()


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with running(Viewer(read_folder(folder), folder, KEY, 1).app()) as address:
        yield address


def test_only_the_key_opens_the_index_and_the_replays(url: str) -> None:
    for wrong in ("", "x" * len(KEY)):
        assert httpx.post(f"{url}/open", content=wrong).status_code == 403
    assert httpx.get(f"{url}/replay/0").status_code == 403
    with httpx.Client(base_url=url) as client:
        opened = client.post("/open", content=KEY)
        assert len(opened.json()["rows"]) == 12
        cookie = opened.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        page = client.get("/replay/0")
        assert page.status_code == 200
        assert "games/TicTacToe-v0" in page.text
        assert client.get("/replay/12").status_code == 404
        assert client.get("/replay/../open").status_code in (404, 405)
        assert client.get("/replay/0", headers={"Host": "evil.example"}).status_code == 403


def test_a_folder_without_records_is_refused(tmp_path: Path, capsys: Any) -> None:
    for name, why in (("none", "there is no folder"), (".", "holds no records")):
        with pytest.raises(SystemExit):
            main(["view", str(tmp_path / name)])
        assert why in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_filters_lead_to_a_replay_in_a_browser(browser: Any, url: str, theme: str) -> None:
    from axe_playwright_python import sync_playwright as axe

    context = browser.new_context(color_scheme=theme)
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda told: errors.append(told.text) if told.type == "error" else None)
    page.goto(f"{url}/#key={KEY}")
    page.locator("tbody tr").nth(11).wait_for()
    page.select_option("#env", "games/KuhnPoker-v0")
    assert page.locator("tbody tr").count() == 5
    page.select_option("#outcome", "ended in an error")
    assert page.locator("tbody tr").count() == 1
    page.reload()
    page.locator("tbody tr").first.wait_for()
    assert page.text_content("#count") == "1 of 12 records"
    page.select_option("#outcome", "")
    page.fill("#text", "b/episode")
    assert page.locator("tbody tr").count() == 4
    page.locator("tbody a").first.click()
    page.locator(".board svg").wait_for()
    page.keyboard.press("End")
    assert "win" in page.text_content(".end")
    assert not errors
    context.close()
    context = browser.new_context(color_scheme=theme, bypass_csp=True)  # axe is put into the page
    page = context.new_page()
    page.goto(f"{url}/#key={KEY}")
    page.locator("tbody tr").nth(11).wait_for()
    assert not [found["id"] for found in axe.Axe().run(page).response["violations"]]
    context.close()


@pytest.mark.slow
def test_a_thousand_records_are_an_index_at_once(browser: Any, tmp_path: Path) -> None:
    palestra.play("games/TicTacToe-v0", agents="random", episodes=1_000, out=tmp_path)
    began = process_time()
    found: Folder = read_folder(tmp_path)
    assert process_time() - began < 1.0
    with running(Viewer(found, tmp_path, KEY, 2).app()) as address:
        page = browser.new_page()
        page.goto(f"{address}/#key={KEY}")
        page.locator("tbody tr").nth(199).wait_for()
        assert page.locator("tbody tr").count() == 200
        page.click("#more")
        assert page.locator("tbody tr").count() == 400
        page.close()


LONG_FILE = (
    "negotiation-tournament-2026-11/small_models_of_seven_billion/episodes-0001-to-1000.jsonl"
)
SPLIT_WORDS = """
() => [...document.querySelectorAll("th, td")].flatMap(cell => {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), found = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    for (const word of node.data.matchAll(/[A-Za-z0-9]+/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1)
        found.push(word[0]);
    }
  return found;
})
"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 700, 420])
def test_no_word_of_the_index_is_cut(browser: Any, tmp_path: Path, width: int) -> None:
    home = tmp_path / "runs"
    kept = home / LONG_FILE
    kept.parent.mkdir(parents=True)
    palestra.play(
        "games/TicTacToe-v0", agents=["minimax:depth=2", "random"], episodes=3, out=home / "a"
    )
    kept.write_bytes((home / "a" / "episode.jsonl").read_bytes())
    with running(Viewer(read_folder(home), home, KEY, 1).app()) as address:
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.goto(f"{address}/#key={KEY}")
        page.locator("tbody tr").nth(5).wait_for()
        assert LONG_FILE in page.text_content("tbody")
        assert page.evaluate(SPLIT_WORDS) == []
        cells = "() => [...document.querySelectorAll('td')].map(cell => cell.offsetWidth)"
        assert max(page.evaluate(cells)) < max(420, width / 2)  # space is left to other columns
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        page.close()
