"""Play one episode of an example of docs/frameworks.md with the model at OPENAI_BASE_URL.

    python real_episode.py Teams

Prints what was played as JSON: the moves, and the tokens and calls of the first seat. A move that
is not read is drawn, so that a small model can play to the end.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import palestra
from page import block

PAGE = Path(__file__).parents[2] / "docs" / "frameworks.md"


def main(section: str) -> None:
    names: dict[str, Any] = {}
    replaced = {"episodes=4": 'episodes=1, invalid="random"'}
    exec(compile(block(section, PAGE, replaced), PAGE.name, "exec"), names)
    (record,) = names["records"]
    spent = sum((usage for seat, usage in record.usages if seat == 0), start=palestra.Usage())
    played = {
        "error": record.error,
        "results": record.outcome.results,
        "raw": [turn.raw for turn in record.turns if turn.seat == 0],
        "usage": [spent.tokens_in, spent.tokens_out, spent.calls],
    }
    print(json.dumps(played))


if __name__ == "__main__":
    main(sys.argv[1])
