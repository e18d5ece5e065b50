"""Messages between clients and the server: one JSON or msgpack object each."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from palestra.agents.budget import Usage
from palestra.agents.models import Tokens

OPEN = "open"  # a seat that waits for a client or a person
PERSON = "human"  # an agent's name that means such a seat
MOST_SEATS = 300
FORMAT = "palestra.match/1"
OnLeave = Literal["auto", "forfeit", "substitute"]
Why = Literal["resigned", "silent", "illegal"]


class MatchPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """The settings of a match.

    seats: for each seat an agent's name, or "open". move_seconds: how long a seat may take for one
    answer; then the answer is refused under `invalid`, as an illegal move is. public: whether the
    match is listed, and its open seats may be taken by anybody. versions: of the distributions that
    define the environment and the agents, with which it was opened. on_leave: what happens when a
    player leaves, see `palestra_server.leaving`. substitute: the agent that then plays on. seeded:
    whether who opened the match named its seed.
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
    on_leave: Literal["forfeit", "substitute"] = "forfeit"
    substitute: str = ""
    seeded: bool = False


class Answer(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One answer of one seat, as the journal keeps it.

    `number` counts the seat's answers from 0, refused ones included. `action` is the number of an
    action or a typed action as an object; without it `text` is read. `missed` says why there is
    neither: time was up, or the seat gave up. `reclaimed`: the client takes its seat back.
    `called`: the seat was handed over to a client of this name.
    """

    seat: int
    number: int
    action: Any = None
    text: str | None = None
    missed: str = ""
    resigned: bool = False
    reclaimed: bool = False
    called: str = ""
    thought: str = ""
    model: str = ""
    logprob: float | None = None
    usage: Usage = Usage()
    sampling: dict[str, Any] = {}
    tokens: Tokens | None = None
    earlier: tuple[Tokens, ...] = ()


class Create(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Request a match; without a seed, one is drawn at random.

    seats: for each seat an agent's name or "open". Without it the seats in `open` are, and
    `opponents` sits in all others; without both all are open. move_seconds: for one answer; 0 for
    no limit. on_leave: what happens when a player leaves; "auto" lets them forfeit in games of one
    seat and in zero-sum games of two, and seats `substitute` in all others. The server has defaults
    for these three.
    """

    env: str
    seats: tuple[str, ...] | None = None
    open: tuple[int, ...] = ()
    opponents: str = ""
    options: dict[str, Any] = {}
    split: str | None = None
    seed: int | None = None
    invalid: str = "retry:2"
    move_seconds: Annotated[float, Meta(ge=0)] | None = None
    max_episode_steps: int | None = None
    public: bool = True
    on_leave: OnLeave | None = None
    substitute: str = ""


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


class HandOver(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Request a new token for one's seat; the old one then opens nothing.

    name: of who plays from now on, for the record; empty for the same. key: as in `Join`; whoever
    joins with it gets the seat.
    """

    name: str = ""
    key: str = ""


class NewMatch(msgspec.Struct, frozen=True):
    """The reply to whoever created a match: its name, the invite to its free seats, the word with
    which others may watch it but not sit down, and which seats are free.
    """

    match: str
    invite: str
    watch: str
    free: tuple[int, ...] = ()


class SeatGrant(msgspec.Struct, frozen=True):
    """The reply to whoever took a seat; the token gives access to this seat only."""

    match: str
    seat: int
    player: str
    token: str


class Rematch(msgspec.Struct, frozen=True, omit_defaults=True):
    """A seat in the match that follows one that is over; `invite` and `watch` for who opened it."""

    match: str
    seat: int
    player: str
    token: str
    invite: str = ""
    watch: str = ""


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


Handle = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]  # as msgpack can write it back


class SocketMessage(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A message from a client on a socket; a frame has one message or a list of them.

    do: "sit" (with a seat's `token`; the views that follow carry the same `handle`), "move", "try"
    (a move whose text may be short; one that is not legal is refused and does not count), "look",
    "resign", "reclaim" (the seat, after a substitute has taken it) or "leave"; "watch" (with a
    `match`, and as `token` its invite or its word for spectators, unless it is public) asks for
    what every seat may know. `since` is the cursor of the last view that was read. `show`
    names what views hold besides the words: "observation", "legal_texts", "scene", and for pages
    "picture", "table" and "forms"; "no-text" leaves the words out. `live` asks for a view after
    every step, not only when it is the seat's turn.
    """

    do: str
    handle: Handle = 0
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


class Departure(msgspec.Struct, omit_defaults=True):
    """A player who left a seat, as views and the tag `left` of a record have it.

    name: the agent or client that left, as records name it. step: how many steps had been played.
    why: they resigned, were silent until their time was up, or gave illegal answers beyond the
    retries. substitute: the agent that played on; empty where the match ended. back: the step at
    which the seat was reclaimed. result, score: of the one who left, at the end; never better than
    a forfeit.
    """

    seat: int
    player: str
    name: str
    step: int
    why: Why
    substitute: str = ""
    back: int | None = None
    result: str = ""
    score: float | None = None


class TableSeat(msgspec.Struct, omit_defaults=True):
    """A seat as others see it.

    name: what the person called themselves, or the agent without its options. called: what pages
    write for the player in texts and pictures; empty where they write `player`. open: whether it is
    played from outside. acting, seconds_left (for its answer) and returns: None where the viewer
    may not know them, or there is no limit. away: why the one who sat there has left, if a
    substitute plays.
    """

    player: str
    name: str = ""
    called: str = ""
    open: bool = False
    free: bool = False
    acting: bool | None = None
    seconds_left: float | None = None
    returns: float | None = None
    result: str = ""
    score: float | None = None
    away: str = ""


class Table(msgspec.Struct, omit_defaults=True):
    """The environment of a match, in a sentence too, and its seats.

    seeded: whether who opened it named its seed, and so can know what is dealt.
    """

    env: str
    seats: list[TableSeat]
    summary: str = ""
    seeded: bool = False


class SeatView(msgspec.Struct, omit_defaults=True, gc=False):
    """Everything one seat may know now, from `since` on.

    status: "waiting" (seats are still free), "playing" or "over". cursor: how much of the
    transcript there is; pass it as `since` next time. number: which of the seat's answers is
    awaited. your_turn: whether the seat is to answer. error: why its last answer was refused.
    life: 0 for the first person at the seat, 1 for the next: when it rises, forget everything
    before; the transcript starts over. returns: the seat's return so far, summed over all people
    who sat there. result and score are the seat's own, at the end; ending says in sentences how it
    ended for everybody, and reason why. picture: for the script of the renderer of mode "marks".
    forms: the fields of each typed action that is legal. away: why a substitute plays this seat:
    its own player "resigned", was "silent" or gave "illegal" answers.
    left: who has left, as far as the seat may know. A spectator's view has seat -1.
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
    ending: str = ""
    seconds_left: float | None = None
    life: int = 0
    picture: Any = None
    table: Table | None = None
    forms: list[dict[str, Any]] | None = None
    away: str = ""
    left: list[Departure] = []


class Failure(msgspec.Struct, omit_defaults=True):
    """A request that was refused, and what to do."""

    error: str
    kind: str = ""
    handle: int = 0
