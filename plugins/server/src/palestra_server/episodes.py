"""One seat played by `reset` and `step`, for protocols that know one agent and one environment.

Every `reset` opens a match of its own with agents of ours in the other seats, or sits down on a
seat of a match that others play too. HTTP has no connection to tell when a client is gone: there a
cookie holds the seat's token, and a match that nobody has touched for long is resigned.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import Meta
from palestra import InvalidOption, OutOfTurn
from palestra.kernel.errors import cause
from starlette.requests import Request
from starlette.responses import Response

from palestra_server.app import LONGEST_WAIT
from palestra_server.messages import Create, Join, Move, SeatGrant, SeatView
from palestra_server.refused import RequestRefused
from palestra_server.seats import SeatKey
from palestra_server.server import MatchServer

log = logging.getLogger("palestra.server")
Seat = TypeVar("Seat", bound="SeatEpisode")
MOST_SESSIONS = 10_000
IDLE_SECONDS = 900.0  # until a session without a connection is given up


class EpisodeOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which match to play, and who plays the other seats.

    token: a seat's token, to play that seat of a match that exists; then nothing else is needed.
    show: what views hold besides the words, as in `SocketMessage`.
    """

    env: str = ""
    seed: Annotated[int, Meta(ge=0)] | None = None
    seat: Annotated[int, Meta(ge=0)] = 0
    opponents: str = ""
    options: dict[str, Any] = {}
    split: str | None = None
    invalid: str = "retry:2"
    move_seconds: Annotated[float, Meta(ge=0)] | None = None
    max_episode_steps: int | None = None
    token: str = ""
    show: tuple[str, ...] = ("legal_texts",)


NOTHING = EpisodeOptions()


class TurnView(NamedTuple):
    """What the seat sees at its turn or at the end, and its pay since it was last told."""

    view: SeatView
    reward: float

    @property
    def over(self) -> bool:
        return self.view.status == "over" or bool(self.view.away)


class SeatEpisode:
    """A seat of one match at a time; raises `OutOfTurn` where `reset` should come first.

    env: the environment where `reset` names none. name: what the record calls the seat. defaults:
    the environment, options and split of a reset that names no environment. The rewards of an
    episode add up to what the match paid the seat.
    """

    def __init__(
        self,
        server: MatchServer,
        *,
        env: str = "",
        opponents: str = "random",
        name: str = "",
        defaults: EpisodeOptions = NOTHING,
    ) -> None:
        self._server, self._env, self._opponents, self._name = server, env, opponents, name
        self._defaults = defaults
        self._key: SeatKey | None = None
        self._own = False  # whether the match is there for this episode alone
        self._paid = 0.0
        self._read = 0
        self._knows_rules = False
        self._show: tuple[str, ...] = ()
        self.token = ""
        self.env = env
        self.steps = 0

    async def reset(self, wanted: EpisodeOptions) -> TurnView:
        """Take the seat, leave the match before, and wait for the first turn.

        What the seat is paid before its first answer is told again with the first step. A reset
        that is refused changes nothing.
        """
        before = self._key if self._own else None
        if wanted.token:
            self.sit(wanted.token)
        else:
            await self._open(wanted)
        if before is not None and before != self._key:
            await self._give_up(before)
        self._show, paid = wanted.show, self._paid
        seen = await self._next()
        self._paid = paid
        return seen

    def sit(self, token: str) -> None:
        """Take a seat by its token; raises `RequestRefused`."""
        self._key, self.token, self._own = self._server.seat(token), token, False
        self.env = self._server.match(self._key.match).plan.env
        view = self._server.look(self._key)
        self._read, self._knows_rules, self.steps = 0, False, view.number
        self._paid = view.returns if view.number else 0.0

    async def _open(self, wanted: EpisodeOptions) -> None:
        env = wanted.env or self._env or self._defaults.env
        if not env:
            raise InvalidOption("name an environment, as in env='games/TicTacToe-v0'")
        taking = asyncio.ensure_future(self._take(wanted, env))
        try:
            seated = await asyncio.shield(taking)
        except asyncio.CancelledError:  # the client has gone, and nobody else would end the match
            seated = await taking
            await self._give_up(SeatKey(seated.match, seated.seat))
            raise
        self._key, self.token = SeatKey(seated.match, seated.seat), seated.token
        self._read, self._knows_rules, self.steps = 0, False, 0
        self._own, self._paid, self.env = True, 0.0, env

    async def _take(self, wanted: EpisodeOptions, env: str) -> SeatGrant:
        """Open a match, and take its one free seat."""
        usual = self._defaults if env == self._defaults.env else NOTHING
        opened = await self._server.create(
            Create(
                env,
                open=(wanted.seat,),
                opponents=wanted.opponents or self._opponents,
                options={**usual.options, **wanted.options},
                split=wanted.split or usual.split,
                seed=wanted.seed,
                invalid=wanted.invalid,
                move_seconds=wanted.move_seconds,
                max_episode_steps=wanted.max_episode_steps,
                public=False,
            )
        )
        return await self._server.join(opened.match, Join(wanted.seat, self._name, opened.invite))

    async def step(self, move: Move) -> TurnView:
        """Answer, and wait for the seat's next turn or the end."""
        key = self.key
        if self.over:
            raise OutOfTurn("the episode is over; call reset()")
        await self._server.move(key, move)
        self.steps += 1
        return await self._next()

    async def rest(self) -> TurnView:
        """What is new since the seat was last told, without an answer of its own."""
        return await self._next()

    @property
    def over(self) -> bool:
        """Whether the match is over, or goes on without this seat's player."""
        return self._is_over(self.key)

    def _is_over(self, key: SeatKey) -> bool:
        match = self._server.match(key.match)
        return match.over or key.seat in match.leaving.away

    async def look(self) -> SeatView:
        """What the seat sees now; it counts as not told."""
        await self._server.written(self.key)
        return self._server.look(self.key, 0, self._show, with_rules=True)

    async def resign(self) -> None:
        """Give the seat up where its match is played still."""
        if not self.over:
            await self._server.resign(self.key)

    async def leave(self) -> None:
        """Be in no match; one of this episode's own ends, and leaves memory."""
        key, self._key, self.token = self._key, None, ""
        if key is not None and self._own:
            await self._give_up(key)

    async def _give_up(self, key: SeatKey) -> None:
        if not self._is_over(key):
            await self._server.resign(key)
        self._server.drop(key.match)

    @property
    def key(self) -> SeatKey:
        if self._key is None:
            raise OutOfTurn("call reset() before step()")
        return self._key

    async def _next(self) -> TurnView:
        """Wait for the seat's turn or the end."""
        key = self.key
        if not self.over:
            await self._server.wait(key, LONGEST_WAIT)
        await self._server.written(key)
        view = self._server.look(key, self._read, self._show, with_rules=not self._knows_rules)
        if not view.your_turn and view.status != "over" and not view.away:
            raise OutOfTurn(
                f"no turn came within {LONGEST_WAIT:g} s: other seats are free, or their players "
                "slow; set move_seconds, or call reset()"
            )
        self._read, self._knows_rules = view.cursor, True
        reward, self._paid = view.returns - self._paid, view.returns
        return TurnView(view, reward)


@dataclass(slots=True)
class Session(Generic[Seat]):
    """A client that plays by HTTP, as its cookie names it."""

    episode: Seat
    touched: float
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    last: tuple[Any, Any] = (None, None)

    async def once(self, name: Any, act: Callable[[], Awaitable[Any]]) -> Any:
        """What `act` gives; a request that comes again under one name gets the same answer."""
        async with self.lock:
            if name is not None and name == self.last[0]:
                return self.last[1]
            answer = await act()
            self.last = name, answer
            return answer


class Sessions(Generic[Seat]):
    """Sessions by cookie, each a seat; the cookie is the seat's token, which a restart outlives."""

    def __init__(self, cookie: str, path: str, make: Callable[[str], Seat]) -> None:
        self._cookie, self._path, self._make = cookie, path, make
        self._kept: dict[str, Session[Seat]] = {}

    async def start(
        self, request: Request, wanted: EpisodeOptions, env: str = ""
    ) -> tuple[Session[Seat], TurnView]:
        """Begin an episode; the one that the request's cookie names is left."""
        if len(self._kept) >= MOST_SESSIONS:
            raise RequestRefused(f"{MOST_SESSIONS} sessions are played already; try later", 503)
        session = Session(self._make(env), self._now())
        try:
            seen = await session.episode.reset(wanted)
        except BaseException:
            await session.episode.leave()
            raise
        before = self._kept.pop(request.cookies.get(self._cookie, ""), None)
        self._kept[session.episode.token] = session
        if before is not None:
            async with before.lock:
                await before.episode.leave()
        return session, seen

    def find(self, request: Request) -> Session[Seat]:
        """The session that a request belongs to; raises `RequestRefused`."""
        token = request.cookies.get(self._cookie, "")
        if not token:
            raise RequestRefused("no session yet: call reset first, and send its cookie back", 401)
        session = self._kept.get(token)
        if session is None:
            session = Session(self._make(""), self._now())
            session.episode.sit(token)
            self._kept[token] = session
        session.touched = self._now()
        return session

    def keep(self, request: Request, session: Session[Seat], response: Response) -> Response:
        """The response with the session's cookie, which some clients want with every answer."""
        secure = request.url.scheme == "https"
        response.set_cookie(
            self._cookie,
            session.episode.token,
            path=self._path,
            httponly=True,
            samesite="strict",
            secure=secure,
        )
        return response

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        sweeper = asyncio.create_task(self._sweep())
        try:
            yield
        finally:
            sweeper.cancel()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(IDLE_SECONDS / 30)
            for token, session in list(self._kept.items()):
                if self._now() - session.touched > IDLE_SECONDS and not session.lock.locked():
                    del self._kept[token]
                    try:
                        await session.episode.leave()
                    except Exception as error:  # a full disk, or its match is gone
                        log.warning("an idle session's seat is not left: %s", cause(error))

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
