"""Write core/src/palestra/homes.json: which of Palestra's distributions gives which name.

    python scripts/homes.py            write it
    python scripts/homes.py --check    fail if it is out of date

It is what a plain installation knows of the others, so that it can say what to install.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from palestra.cli.app import app
from palestra.kernel.plugins import OFFICIAL
from palestra.kernel.registry import registry

FILE = Path(__file__).parents[1] / "core" / "src" / "palestra" / "homes.json"


def names() -> dict[str, dict[str, list[str]]]:
    """Environments, their namespaces, agents, rewards and commands of ours outside the core."""
    plugins = registry().plugins
    kinds = ("namespaces", "environments", "agents", "rewards", "commands")
    found: dict[str, dict[str, list[str]]] = {kind: {} for kind in kinds}
    for name, plugin in sorted(plugins.plugins.items()):
        if plugin.owner not in OFFICIAL[1:]:
            continue
        for kind in ("agents", "rewards"):
            given = sorted(spec.name for spec in plugin.gives.get(f"palestra_{kind}", ()))
            if given:
                found[kind][plugin.owner] = given
        owned = plugin.gives.get("palestra_environments", ())
        if owned:
            found["namespaces"][plugin.owner] = sorted({spec.namespace for spec in owned})
            found["environments"][plugin.owner] = sorted(spec.id for spec in owned)
        if commands := added(name):
            found["commands"][plugin.owner] = commands
    return found


def added(plugin: str) -> list[str]:
    """The commands that one plugin adds."""
    lists = app.registered_commands, app.registered_groups
    before = {info.name for listed in lists for info in listed}
    registry().plugins.call_one(plugin, "palestra_commands", app=app)
    after = {str(info.name) for listed in lists for info in listed}
    return sorted(after - before)


def text() -> str:
    return json.dumps(names(), indent=1) + "\n"


def main(asked: list[str]) -> int:
    wanted = text()
    if asked == ["--check"]:
        current = FILE.exists() and FILE.read_text("utf-8") == wanted
        print("up to date" if current else "out of date; run: python scripts/homes.py")
        return 0 if current else 1
    FILE.write_text(wanted, "utf-8")
    print(f"wrote {FILE}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
