"""Give every distribution, and the pages that name it, a new version: the first step of a release.

    python scripts/set_version.py 0.3.0

All distributions carry one version, and ask for each other by its minor release. The build
backend reads it from each pyproject.toml, so it stands in all of them; tests/test_metadata.py
compares them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECTS = sorted((*ROOT.glob("*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml")))
OURS = r"(palestra(?:-[a-z]+)?(?:\[[a-z,]+\])?)"  # a distribution of ours, with extras
IMAGE = r"(registry\.example\.org/palestra:)[\w.]+"
NAMED = {
    "CITATION.cff": r"(?m)^(version: ).+$",
    "deploy/kubernetes.yaml": IMAGE,
    "docs/deploying.md": IMAGE,
}


def main() -> None:
    if len(sys.argv) != 2 or not re.fullmatch(r"\d+\.\d+\.\d+", sys.argv[1]):
        sys.exit("usage: python scripts/set_version.py MAJOR.MINOR.PATCH")
    version = sys.argv[1]
    major, minor, _ = version.split(".")
    pins = rf"\1>={major}.{minor},<{major}.{int(minor) + 1}"
    for path in PROJECTS:
        text = path.read_text("utf-8")
        text = re.sub(r'(?m)^(version = ").+"$', rf'\g<1>{version}"', text, count=1)
        path.write_text(re.sub(OURS + r">=[\d.]+,<[\d.]+", pins, text), "utf-8")
    for name, pattern in NAMED.items():
        path = ROOT / name
        path.write_text(re.sub(pattern, rf"\g<1>{version}", path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
