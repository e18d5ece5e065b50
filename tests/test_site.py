"""The documentation site builds without a warning, opens offline and can be read by anybody."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import palestra
import pytest
from filelock import FileLock

ROOT = Path(__file__).parents[1]
PAGES = (
    "index.html",
    "quickstart.html",
    "tutorials/write-a-game.html",
    "environments/README.html",
    "environments/games-ConnectFour-v0.html",
    "agents/mcts.html",
    "reference/playing.html",
    "catalogue.html",
)


def test_every_family_has_a_picture_in_the_readme() -> None:
    rows = re.findall(
        r'<img src="(\S+)".*\| (\S+) \| `(\S+)` \|', (ROOT / "README.md").read_text("utf-8")
    )
    families = {spec.id: spec.family for spec in palestra.specs()}
    assert {family for _, family, _ in rows} == set(families.values())
    for picture, family, env in rows:
        assert families[env] == family
        assert picture == f"docs/measured/{env.replace('/', '-')}.webp"
        assert (ROOT / picture).exists()


def test_every_environment_has_been_measured() -> None:
    kept = {path.stem for path in (ROOT / "docs" / "measured").glob("*.json")}
    missing = {spec.id for spec in palestra.specs() if spec.id.replace("/", "-") not in kept}
    assert not missing, f"run: palestra reference docs/measured {' '.join(sorted(missing))}"


def test_the_animation_of_the_readme_is_light() -> None:
    assert (ROOT / "docs" / "six.gif").stat().st_size < 2_000_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The site, built as `make docs` builds it, by the first test process that needs it."""
    own = tmp_path_factory.getbasetemp()
    shared = own if worker_id == "master" else own.parent
    folder = shared / "site"
    with FileLock(shared / "site.lock"):
        if not folder.exists():
            build(shared / "draft").rename(folder)
    return folder


def build(folder: Path) -> Path:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "site.py", "--out", folder],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


class References(HTMLParser):
    """What a page loads, where its links lead, and the names it defines."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.names |= {given[name] for name in ("id", "name") if name in given}
        if tag in ("script", "img", "source", "iframe") and "src" in given:
            self.loaded.append(given["src"])
        if tag == "link" and "stylesheet" in given.get("rel", ""):
            self.loaded.append(given["href"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])


def read(page: Path) -> References:
    found = References()
    found.feed(page.read_text("utf-8"))
    return found


WHOLE = pytest.mark.exhaustive(together=True)  # one site is built for all of them


@pytest.mark.slow
@WHOLE
def test_every_page_loads_only_what_is_beside_it(site: Path) -> None:
    for page in site.rglob("*.html"):
        for target in read(page).loaded:
            assert not urlsplit(target).netloc, f"{page.name} loads {target}"
            assert (page.parent / unquote(urlsplit(target).path)).exists(), (page.name, target)
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//", sheet.read_text("utf-8")), sheet.name


@pytest.mark.slow
@WHOLE
def test_every_link_leads_to_a_page_and_a_place_on_it(site: Path) -> None:
    known = {page: read(page) for page in site.rglob("*.html")}
    broken = []
    for page, found in known.items():
        for link in found.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or not (parts.path or parts.fragment):
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            place = unquote(parts.fragment)
            there = target.exists() and (
                not place or target not in known or place in known[target].names
            )
            if not there:
                broken.append(f"{page.relative_to(site)}: {link}")
    assert not broken, "\n".join(sorted(broken)[:50])


@pytest.mark.slow
@WHOLE
def test_every_environment_agent_and_reward_has_a_page(site: Path) -> None:
    for spec in palestra.specs():
        assert (site / "environments" / f"{spec.id.replace('/', '-')}.html").exists(), spec.id


@pytest.mark.slow
@WHOLE
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_to_complain_of(browser: Any, site: Path, name: str, scheme: str) -> None:
    from axe_playwright_python import sync_playwright as axe

    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    opened = context.new_page()
    opened.goto((site / name).as_uri())
    found = axe.Axe().run(opened).response
    context.close()
    assert "color-contrast" in {rule["id"] for rule in found["passes"]}
    told = [(v["id"], [node["html"] for node in v["nodes"]][:3]) for v in found["violations"]]
    assert not told


@pytest.mark.slow
@WHOLE
def test_the_search_works_from_the_disk(browser: Any, site: Path) -> None:
    context = browser.new_context(offline=True)
    opened = context.new_page()
    opened.goto((site / "search.html").as_uri() + "?q=connect+four")
    opened.wait_for_selector("ul.search li a")
    found = opened.locator("ul.search li a").all_text_contents()
    context.close()
    assert any("ConnectFour" in title for title in found)
