"""Aime: a planner with a board of the task's parts, and actors made for one part each.

"Aime: Towards Fully-Autonomous Multi-Agent Framework", 2025. The planner rewrites the board
whenever it is asked, and says who is to do the next part; that actor is made for it, with a role of
its own and an empty context. Actors write on the board while they work, and all read it. The
wording is this package's own.

Left out: the packages of tools that an actor is given; a game offers the same moves to all.
"""

from __future__ import annotations

import re

from palestra import agent
from palestra.quoting import quote

from palestra_adapters.teams.delegate import Delegate, DelegationState

PLAN = (
    "You plan, and actors do. Answer every question in this form:\n"
    "Thought: what is known and what is missing, briefly\n"
    "Board: every part of the task on a line of its own that begins with [done], [now] or [open]\n"
    "Actor: who is to do the part that is marked [now], and what this actor knows and looks at; or "
    "nothing\n"
    "Action: the first move of that part, or your own move"
)
ACT = (
    "In this part of a task you are {actor}. Do what is marked [now] and nothing else.\n"
    "The board:\n{board}\n"
    "Answer every question with one line, `Action:` and your move. If others need to know what you "
    "have achieved or found, write a line `Progress:` before it. Once your part is done, or cannot "
    "be done, answer `Report:` and what came of it."
)
BOARD, ACTOR = "Board:", "Actor:"
_PROGRESS = re.compile(r"^Progress:[ \t]*(\S.*)$", re.MULTILINE)


@agent(
    "aime",
    kind="llm",
    summary="A planner with a board of parts, and an actor made for each part.",
    paper="Aime: Towards Fully-Autonomous Multi-Agent Framework (2025)",
)
class Aime(Delegate):
    """A planner keeps a board and makes an actor for each part; actors write on the board.

    As with `delegate`, an actor makes at most `moves` moves, and its turns have the fact `worker`.
    """

    form = PLAN

    def news(self, case: DelegationState) -> str:
        board = f"The board:\n{_quoted(case.board)}\n" if case.board else ""
        return board + (f"The actor reports: {quote(case.report)}\n" if case.report else "")

    def hand_out(self, case: DelegationState, planned: str) -> str:
        before, made, actor = planned.rpartition(ACTOR)
        board = (before if made else planned).rpartition(BOARD)
        if board[1]:
            case.board = [line.strip() for line in board[2].splitlines() if line.strip()]
        actor = actor.strip() if made else ""
        if not actor or actor.lower().rstrip(".") == "nothing":
            return ""
        return ACT.format(actor=quote(actor), board=_quoted(case.board))

    def note(self, case: DelegationState, said: str) -> None:
        case.board += [f"Progress: {told.strip()}" for told in _PROGRESS.findall(said)]


def _quoted(board: list[str]) -> str:
    return "\n".join(map(quote, board)) or "(empty)"
