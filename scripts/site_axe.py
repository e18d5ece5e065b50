"""Read every page of the built documentation site with axe-core in Chromium, light and dark.

python scripts/site_axe.py [docs/_build/html]

It prints what it complains of, page by page, and ends with 1 if there is anything. The tests do the
same for one page of each kind.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from axe_playwright_python import sync_playwright as axe
from playwright.sync_api import sync_playwright

HTML = Path(__file__).parents[1] / "docs" / "_build" / "html"
WINDOW = {"width": 1280, "height": 900}


def complaints(browser: Any, page: Path, scheme: str) -> list[str]:
    """What axe-core finds wrong with a page, a line for each rule."""
    context = browser.new_context(viewport=WINDOW, color_scheme=scheme)
    opened = context.new_page()
    opened.goto(page.as_uri())
    found = axe.Axe().run(opened).response["violations"]
    context.close()
    return [f"{v['id']} ({len(v['nodes'])}): {v['nodes'][0]['html'][:120]}" for v in found]


def main(site: Path) -> int:
    pages = sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)
    wrong = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch()
        for number, page in enumerate(pages, 1):
            for scheme in ("light", "dark"):
                for told in complaints(browser, page, scheme):
                    wrong += 1
                    print(f"{page.relative_to(site)} ({scheme}): {told}", flush=True)
            print(f"\r{number} of {len(pages)}", end="", file=sys.stderr, flush=True)
    print(f"\n{len(pages)} pages, {wrong} complaints", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else HTML))
