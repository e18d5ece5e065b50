"""Messages between clients and the server: one JSON or msgpack object each."""

from __future__ import annotations

from typing import Any

import msgspec
from palestra.agents.budget import Usage
from palestra.agents.models import Tokens

OPEN = "open"  # a seat that waits for a client or a person
PERSON = "human"  # an agent's name that means such a seat
MOST_SEATS = 300
FORMAT = "palestra.match/1"


class MatchPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """The settings of a match.

    seats: for each seat an agent's name, or "open". move_seconds: how long a seat may take for one
    answer; then the answer is refused under `invalid`, as an illegal move is. public: whether the
    match is listed, and its open seats may be taken by anybody. versions: of the distributions that
    define the environment and the agents, with which it was opened.
    """

    env: str
    seats: tuple[str, ...]
    seed: int
    options: dict[str, Any] = {}
    invalid: str = "retry:2"
    move_seconds: float | None = None
    max_episode_steps: int | None = None
    public: bool = True
    group: str = ""
    versions: dict[str, str] = {}


class Answer(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One answer of one seat, as the journal keeps it.

    `number` counts the seat's answers from 0, refused ones included. `action` is the number of an
    action or a typed action as an object; without it `text` is read. `missed` says why there is
    neither: time was up, or the seat gave up.
    """

    seat: int
    number: int
    action: Any = None
    text: str | None = None
    missed: str = ""
    resigned: bool = False
    thought: str = ""
    model: str = ""
    logprob: float | None = None
    usage: Usage = Usage()
    sampling: dict[str, Any] = {}
    tokens: Tokens | None = None


class Create(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Request a match; without a seed, one is drawn at random.

    seats: for each seat an agent's name or "open". Without it the seats in `open` are, and
    `opponents` sits in all others; without both all are open.
    """

    env: str
    seats: tuple[str, ...] | None = None
    open: tuple[int, ...] = ()
    opponents: str = ""
    options: dict[str, Any] = {}
    split: str | None = None
    seed: int | None = None
    invalid: str = "retry:2"
    move_seconds: float | None = None
    max_episode_steps: int | None = None
    public: bool = True


class Join(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Request a seat of a match, or without a number any free one. `name` is recorded.

    `invite` is needed for a match that is not public. `key` is a secret that the client draws, of
    16 to 200 characters: who asks again with it, as after an answer that was lost, gets the same
    seat and token.
    """

    seat: int | None = None
    name: str = ""
    invite: str = ""
    key: str = ""


class Again(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Request the same seat in the next match; `token` is the server's, where opening takes one."""

    token: str = ""


class Move(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An answer from outside: an action's number, or text.

    `number` is that of the view being answered, so that a duplicate or late message changes
    nothing; without it, the answer is to the current turn. `thought`, `model`, `logprob` and
    `usage` are recorded.
    """

    action: int | None = None
    text: str | None = None
    number: int | None = None
    thought: str = ""
    model: str = ""
    logprob: float | None = None
    usage: Usage = Usage()


class SocketMessage(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A message from a client on a socket; a frame has one message or a list of them.

    do: "sit" (with a seat's `token`; the views that follow carry the same `handle`), "move", "try"
    (a move whose text may be short; one that is not legal is refused and does not count), "look",
    "resign" or "leave"; "watch" (with a `match`, and as `token` its invite or its word for
    spectators, unless it is public) asks for what every seat may know. `since` is the cursor of the
    last view that was read. `show` names what views hold besides the words: "observation",
    "legal_texts", "scene", and for pages "picture", "table" and "forms"; "no-text" leaves the words
    out. `live` asks for a view after every step, not only when it is the seat's turn.
    """

    do: str
    handle: int = 0
    token: str = ""
    match: str = ""
    since: int = 0
    show: tuple[str, ...] = ()
    live: bool = False
    move: Move | None = None


class SeenEvent(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """An event that the seat may know."""

    kind: str
    text: str
    data: dict[str, Any] = {}


class TableSeat(msgspec.Struct, omit_defaults=True):
    """A seat as others see it.

    name: what the person called themselves, or the agent without its options. open: whether it is
    played from outside. acting, seconds_left (for its answer) and returns: None where the viewer
    may not know them, or there is no limit.
    """

    player: str
    name: str = ""
    open: bool = False
    free: bool = False
    acting: bool | None = None
    seconds_left: float | None = None
    returns: float | None = None
    result: str = ""
    score: float | None = None


class Table(msgspec.Struct, omit_defaults=True):
    """The environment of a match, and its seats."""

    env: str
    seats: list[TableSeat]


class SeatView(msgspec.Struct, omit_defaults=True, gc=False):
    """Everything one seat may know now, from `since` on.

    status: "waiting" (seats are still free), "playing" or "over". cursor: how much of the
    transcript there is; pass it as `since` next time. number: which of the seat's answers is
    awaited. your_turn: whether the seat is to answer. error: why its last answer was refused.
    life: 0 for the first person at the seat, 1 for the next: when it rises, forget everything
    before; the transcript starts over. returns: the seat's return so far, summed over all people
    who sat there. result and score are the seat's own, at the end. picture: for the script of the
    renderer of mode "marks". forms: the fields of each typed action that is legal. A spectator's
    view has seat -1.
    """

    match: str
    seat: int
    player: str
    status: str
    handle: int = 0
    turn: int = 0
    cursor: int = 0
    number: int = 0
    your_turn: bool = False
    present: bool = True
    error: str = ""
    rules: str = ""
    events: list[SeenEvent] = []
    position: str = ""
    legal: str = ""
    legal_texts: list[str] | None = None
    observation: Any = None
    mask: list[int] | None = None
    scene: Any = None
    returns: float = 0.0
    costs: dict[str, float] = {}
    result: str = ""
    score: float | None = None
    truncated: bool = False
    reason: str = ""
    seconds_left: float | None = None
    life: int = 0
    picture: Any = None
    table: Table | None = None
    forms: list[dict[str, Any]] | None = None


class Failure(msgspec.Struct, omit_defaults=True):
    """A request that was refused, and what to do."""

    error: str
    kind: str = ""
    handle: int = 0
