"""The client: a seat on a server as a Python object, or as a `gymnasium.Env`."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import gymnasium
import httpx
import msgspec
import numpy as np
from numpy.typing import NDArray
from palestra import InvalidAction, InvalidOption, OutOfTurn
from palestra.kernel.errors import PalestraError
from palestra.views.spaces import AnyText
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as open_socket

from palestra_server.messages import Move, SeatView, SocketMessage
from palestra_server.spaces import read_space

JOIN_TRIES, RETRY = 5, 0.25  # requests for a seat, and seconds before the second
PATIENCE = 30.0  # seconds to keep trying to reconnect to a server
MOST_BYTES = 16_000_000


class ServerRefused(PalestraError):
    """A request that the server refused, with its message."""


class Server:
    """A match server at an address such as `http://127.0.0.1:8000`; raises `ServerRefused`."""

    def __init__(self, url: str, token: str = "") -> None:
        self.url = url.rstrip("/")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(base_url=self.url, headers=headers, timeout=90.0)

    def matches(self) -> list[dict[str, Any]]:
        """Public matches that are not over."""
        return self._ask("GET", "/matches")["matches"]

    def create(self, env: str, seats: Sequence[str] | None = None, **settings: Any) -> str:
        """Open a match and return its name; `settings` are those of `messages.Create`."""
        return self.create_private(env, seats, **settings)[0]

    def create_private(
        self, env: str, seats: Sequence[str] | None = None, **settings: Any
    ) -> tuple[str, str]:
        """Open a match; returns its name and the invite needed to join its free seats."""
        made = self._ask("POST", "/matches", {"env": env, "seats": seats, **settings})
        return made["match"], made["invite"]

    def join(
        self, match: str, seat: int | None = None, name: str = "", invite: str = ""
    ) -> SeatConnection:
        """Take a seat (without a number, any free one) and connect to it."""
        return self.sit(self.take_seat(match, seat, invite, name))

    def take_seat(
        self, match: str, seat: int | None = None, invite: str = "", name: str = ""
    ) -> str:
        """Take a seat without connecting to it; returns its token."""
        key = secrets.token_urlsafe(16)  # a second request with it takes no second seat
        wanted = {"seat": seat, "name": name, "invite": invite, "key": key}
        return self._ask("POST", f"/matches/{match}/join", wanted, tries=JOIN_TRIES)["token"]

    def open_match(self, env: str, **settings: Any) -> tuple[str, str, list[int]]:
        """Open a match; returns its name, its invite, and its free seats."""
        made = self._ask("POST", "/matches", {"env": env, **settings})
        return made["match"], made["invite"], made["free"]

    def hand_over(self, token: str, name: str = "") -> str:
        """Give a seat to another client: its new token, after which the old one opens nothing."""
        return self._ask("POST", "/seat/hand-over", {"name": name}, token=token)["token"]

    def sit(self, token: str) -> SeatConnection:
        """Reconnect to a seat that was taken before, with everything it has seen."""
        return SeatConnection(self.url, token)

    def spaces(self, token: str) -> tuple[Any, Any]:
        """The observation and action space of a seat; None for a game with only a text view."""
        found = self._ask("GET", "/seat/spaces", token=token)
        return read_space(found["observation"]), read_space(found["action"])

    def record(self, token: str) -> dict[str, Any]:
        """The record of a match that is over, as JSON."""
        return self._ask("GET", "/seat/record", token=token)

    def _ask(
        self, method: str, path: str, body: Any = None, token: str = "", tries: int = 1
    ) -> Any:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        for tried in range(tries):
            try:
                answer = self._http.request(method, path, json=body, headers=headers)
                break
            except httpx.HTTPError as error:
                if tried + 1 == tries:
                    raise ServerRefused(f"{self.url} cannot be reached: {error}") from error
                time.sleep(RETRY * 2**tried)
        if answer.is_success:
            return answer.json()
        try:
            said = answer.json()["error"]
        except (ValueError, KeyError, TypeError):
            said = f"HTTP {answer.status_code}: {answer.text[:200]}"
        raise ServerRefused(said)

    def close(self) -> None:
        """Close the connection."""
        self._http.close()


class SeatConnection:
    """One seat over a socket. It reconnects after a failure, and nothing is played twice: every
    answer carries its number.
    """

    def __init__(
        self, url: str, token: str, show: Sequence[str] = (), patience: float = PATIENCE
    ) -> None:
        self.token, self.show = token, tuple(show)
        self._url, self._patience = socket_url(url), patience
        self._open = contextlib.ExitStack()
        self._socket: ClientConnection | None = None
        self._since = 0
        self._answered = -1  # the number of the last answer that was sent
        self._sent: SocketMessage | None = None
        self.view = self._sit()

    def turn(self, timeout: float | None = None) -> SeatView:
        """Wait until the seat is to answer or its match is over.

        Raises `TimeoutError` if nothing came for so many seconds.
        """
        while self.view.status != "over" and not (
            self.view.your_turn and self.view.number != self._answered
        ):
            if self.view.your_turn and self._sent is not None:
                self._send(self._sent)  # the answer was lost with the old connection
            self.view = self._next(timeout)
        return self.view

    def look(self, show: Sequence[str] | None = None, since: int | None = None) -> SeatView:
        """Request a view now, with the transcript from position `since` on."""
        self.show = self.show if show is None else tuple(show)
        start = self._since if since is None else since
        self._send(SocketMessage("look", since=start, show=self.show))
        self.view = self._next(None)
        return self.view

    def answer(self, action: int | str, **said: Any) -> None:
        """Answer with an action number or a text, without waiting; raises `OutOfTurn`.

        `said` are further fields of `messages.Move`: thought, model, logprob, usage.
        """
        if not self.view.your_turn or self.view.number == self._answered:
            raise OutOfTurn("it is not this seat's turn; wait with turn()")
        text, number = (action, None) if isinstance(action, str) else (None, action)
        self._answered = self.view.number
        move = Move(action=number, text=text, number=self._answered, **said)
        self._sent = SocketMessage("move", move=move)
        self._send(self._sent)
        self.view = msgspec.structs.replace(self.view, your_turn=False)

    def move(self, action: int | str, **said: Any) -> SeatView:
        """`answer`, then wait for the next turn or the end.

        If the answer was refused, the view's `error` says why, and it is still the seat's turn if
        the match's policy asks again.
        """
        self.answer(action, **said)
        return self.turn()

    def resign(self) -> SeatView:
        """Give the seat up; the match may go on with a substitute in it."""
        return self._change("resign", lambda view: bool(view.away))

    def reclaim(self) -> SeatView:
        """Take the seat back from the substitute that sat down after a silence."""
        self._answered = -1
        return self._change("reclaim", lambda view: not view.away)

    def _change(self, do: str, done: Callable[[SeatView], bool]) -> SeatView:
        """Ask for a change until a view shows it; again if the request was lost on the way."""
        socket = None
        while self.view.status != "over" and (socket is None or not done(self.view)):
            if self._socket is not socket:
                self._send(SocketMessage(do))
                socket = self._socket
            self.view = self._next(None)
        return self.view

    def close(self) -> None:
        """Close the connection."""
        self._open.close()
        self._socket = None

    def _sit(self) -> SeatView:
        ends = time.monotonic() + self._patience
        while True:
            try:
                self._socket = self._open.enter_context(
                    open_socket(self._url, max_size=MOST_BYTES, proxy=None)
                )
                wanted = SocketMessage("sit", token=self.token, since=self._since, show=self.show)
                self._socket.send(msgspec.msgpack.encode(wanted))
                return self._read(self._socket.recv(timeout=self._patience))
            except (OSError, ConnectionClosed, InvalidHandshake) as error:
                self._open.close()
                if time.monotonic() > ends:
                    raise ServerRefused(f"{self._url} cannot be reached: {error}") from error
                time.sleep(0.2)

    def _send(self, message: SocketMessage) -> None:
        assert self._socket is not None, "this connection is closed"
        # after a failure the next read reconnects, and the view says what was received
        with contextlib.suppress(ConnectionClosed):
            self._socket.send(msgspec.msgpack.encode(message))

    def _next(self, timeout: float | None) -> SeatView:
        assert self._socket is not None, "this connection is closed"
        try:
            return self._read(self._socket.recv(timeout=timeout))
        except ConnectionClosed:
            self._open.close()
            return self._sit()

    def _read(self, frame: Any) -> SeatView:
        said = (
            msgspec.msgpack.decode(frame)
            if isinstance(frame, bytes)
            else msgspec.json.decode(frame)
        )
        for part in said if isinstance(said, list) else [said]:
            if "match" not in part:
                raise ServerRefused(part["error"])
        view = msgspec.convert(said[-1] if isinstance(said, list) else said, SeatView)
        self._since = max(self._since, view.cursor)
        return view


def socket_url(url: str) -> str:
    """The address of a server's socket."""
    parts = urlsplit(url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    return urlunsplit((scheme, parts.netloc, parts.path.rstrip("/") + "/ws", "", ""))


class RemoteEnv(gymnasium.Env[Any, Any]):
    """A seat on a server as a Gymnasium environment.

    Given `env`, every `reset` opens a match with an agent named `opponents` in the other seats.
    Given `match`, the seat is taken in that one, which is played once. `obs` is "array" or "text",
    as in the gym view. `token` is the token that the server requires to create a match; further
    settings are those of `messages.Create`.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium declares it so

    def __init__(
        self,
        url: str,
        *,
        env: str = "",
        match: str = "",
        seat: int | None = None,
        opponents: str = "random",
        obs: str = "",
        name: str = "",
        invite: str = "",
        token: str = "",
        **settings: Any,
    ) -> None:
        if bool(env) == bool(match):
            raise InvalidOption("connect with env= for new matches, or with match= for one")
        self._server = Server(url, token)
        self._env, self._match, self._seat = env, match, seat
        self._opponents, self._settings = opponents, settings
        self._name, self._invite = name, invite
        self._connection: SeatConnection | None = None
        self._paid = 0.0
        self._played = False
        self._open(None)
        connection: Any = self._connection
        observed, acted = self._server.spaces(connection.token)
        self.obs: str = obs or ("text" if acted is None else "array")
        if self.obs not in ("array", "text") or (self.obs == "array" and acted is None):
            raise InvalidOption(
                f"obs is 'array' (where actions have numbers) or 'text', not {obs!r}"
            )
        text = self.obs == "text"
        self.observation_space = AnyText() if text else observed
        self.action_space = AnyText(10_000) if text else acted
        connection.show = () if text else ("observation", "no-text")

    def _open(self, seed: int | None) -> None:
        """Take a seat, in a match of its own where none was named."""
        if self._connection is not None:
            self._connection.close()
        match, invite = self._match, self._invite
        if not match:
            match, invite = self._server.create_private(
                self._env,
                open=[self._seat or 0],
                opponents=self._opponents,
                seed=seed,
                public=False,
                **self._settings,
            )
        self._connection = self._server.join(match, self._seat, self._name, invite)
        self._played = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        assert self._connection is not None
        if self._played and self._match:
            raise InvalidOption("a match is played once; connect with env= to play many")
        if self._played or (seed is not None and not self._match):
            show = self._connection.show
            drawn = int(self.np_random.integers(2**31)) if seed is None else seed
            self._open(drawn)
            self._connection.show = show
        self._played = True
        self._paid = 0.0
        self._connection.turn()
        view = self._connection.look(since=0)
        info = self._info(view)
        if self.obs == "text":
            info["rules"] = view.rules
        return self._observation(view), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        connection = self._connection
        if connection is None or not self._played:
            raise OutOfTurn("call reset() before step()")
        if connection.view.status == "over":
            raise OutOfTurn("the episode is over; call reset()")
        view = connection.move(action if self.obs == "text" else whole_number(action))
        over = view.status == "over"
        reward, self._paid = view.returns - self._paid, view.returns
        done = over and not view.truncated
        return self._observation(view), reward, done, over and view.truncated, self._info(view)

    def _observation(self, view: SeatView) -> Any:
        if self.obs == "text":
            return "\n".join([*(event.text for event in view.events), view.position, view.legal])
        space: Any = self.observation_space
        return np.asarray(view.observation, space.dtype).reshape(space.shape)

    def _info(self, view: SeatView) -> dict[str, Any]:
        info: dict[str, Any] = {"turn": view.turn}
        if view.life:
            info["life"] = view.life
        if self.obs == "array":
            info["action_mask"] = self._mask(view)
        if view.error:
            info["error"] = view.error
        if view.status == "over":
            info |= {"outcome": view.result, "reason": view.reason}
        return info

    def _mask(self, view: SeatView) -> NDArray[np.int8]:
        space: Any = self.action_space
        mask = np.zeros(int(space.n), np.int8)
        mask[view.mask or []] = 1
        return mask

    def action_masks(self) -> NDArray[np.bool_]:
        """The legal actions as booleans, sb3-contrib's convention."""
        assert self._connection is not None
        return self._mask(self._connection.view).astype(bool)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._server.close()


def whole_number(action: Any) -> int:
    """An action as an integer; raises `InvalidAction`."""
    value = np.asarray(action)
    if value.size != 1 or value.dtype.kind not in "iu":
        raise InvalidAction(action, "an integer", why="it is no integer")
    return int(value.item())


def connect(url: str, **settings: Any) -> RemoteEnv:
    """A seat on a server as a `gymnasium.Env`; the arguments are those of `RemoteEnv`."""
    return RemoteEnv(url, **settings)
