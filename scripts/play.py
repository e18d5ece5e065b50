"""`make play`: a short game, the page offered to be opened, and what to type next.

    python scripts/play.py              # opens the page if somebody is there to look at it
    python scripts/play.py --no-open

A language model of 135 million parameters plays tic-tac-toe, in which it beats random play 61 % of
the time (benchmarks/README.md), against perfect play. All of it runs on the CPU, without a network.
"""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser
from pathlib import Path

from palestra.cli import main

ENV = "games/TicTacToe-v0"
AGENTS = "llm:local:,mode=choice,minimax"
ABOUT = (
    "X is a small language model on this CPU; O plays perfectly, and looks for two threats at once."
)
SEED = 1
FOLDER = Path("runs") / "play"
NEXT = """
Next, after `. .venv/bin/activate`:
  palestra play games/ConnectFour-v0 --agents human,minimax:depth=6    # play yourself
  palestra train games/ConnectFour-v0 --steps 300000                   # train a policy
  palestra new plugin island-games                                     # write a game
"""


def play(folder: Path) -> None:
    """Play one game and write its record and its replay."""
    print(ABOUT, end="\n\n", flush=True)
    command = ["play", ENV, "--agents", AGENTS, "--seed", str(SEED), "--out", str(folder)]
    try:
        main([*command, "--pause", "0.6"])
    except SystemExit as ended:
        if ended.code:
            raise


def offer(page: Path, *, asked: bool) -> None:
    """Ask whether to open the page, if a person is at a terminal that can show it."""
    shown = page.resolve().as_uri()
    watched = asked and sys.stdin.isatty() and sys.stdout.isatty() and "CI" not in os.environ
    if watched and input("\nOpen the replay in a browser? [Y/n] ").strip().lower() in ("", "y"):
        webbrowser.open(shown)
    else:
        print(f"\nOpen the replay in a browser: {shown}")


def run() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-open", action="store_true", help="never ask to open the page")
    parser.add_argument("--out", type=Path, default=None, help="folder for the record and replay")
    asked = parser.parse_args()
    folder = asked.out or fresh(FOLDER)
    play(folder)
    offer(folder / "replay.html", asked=not asked.no_open)
    print(NEXT)


def fresh(folder: Path) -> Path:
    """The first of folder, folder-2, folder-3, … that does not exist."""
    number = 1
    while (found := folder if number == 1 else Path(f"{folder}-{number}")).exists():
        number += 1
    return found


if __name__ == "__main__":
    run()
