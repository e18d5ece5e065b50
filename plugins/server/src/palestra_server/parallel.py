"""Several seats of one match on a server as a PettingZoo `ParallelEnv`, over one socket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import msgspec
import numpy as np
from palestra import InvalidOption, OutOfTurn
from pettingzoo import ParallelEnv
from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as open_socket

from palestra_server.client import MOST_BYTES, Server, ServerRefused, socket_url, whole_number
from palestra_server.messages import Move, SeatView, SocketMessage

SHOW = ("observation", "no-text")
PATIENCE = 600.0  # seconds that other seats may take


class RemoteParallelEnv(ParallelEnv[str, Any, Any]):
    """Seats of a match as agents; every `reset` opens a match with `opponents` in the other seats.

    seats: which to play; all if left out. Agents are the players' names. A step takes an action of
    each agent whose `infos[agent]["acting"]` is true, and ignores the others'; it ends when one of
    these agents is to act again, or the match is over. Rewards are what a seat was paid meanwhile.
    Further settings are those of `messages.Create`.
    """

    metadata: dict[str, Any] = {"render_modes": [], "name": "palestra_remote"}  # noqa: RUF012

    def __init__(
        self,
        url: str,
        *,
        env: str,
        seats: Sequence[int] = (),
        opponents: str = "random",
        token: str = "",
        **settings: Any,
    ) -> None:
        self._server = Server(url, token)
        self._env, self._seats, self._opponents = env, tuple(seats), opponents
        self._settings = settings
        self._open = ExitStack()
        self._socket: ClientConnection | None = None
        self._views: dict[str, SeatView] = {}
        self._paid: dict[str, float] = {}
        tokens = self._sit(None)
        self.possible_agents = list(self._views)
        spaces = {name: self._server.spaces(token) for name, token in tokens.items()}
        if any(acted is None for _, acted in spaces.values()):
            raise InvalidOption(f"actions of {env} have no numbers; play its seats one by one")
        self.observation_spaces = {name: pair[0] for name, pair in spaces.items()}
        self.action_spaces = {name: pair[1] for name, pair in spaces.items()}
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> Any:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self.action_spaces[agent]

    def _sit(self, seed: int | None) -> dict[str, str]:
        """Open a match and take its seats; returns their tokens by agent."""
        self._open.close()
        self._open = ExitStack()
        match, invite, free = self._server.open_match(
            self._env,
            open=self._seats,
            opponents=self._opponents if self._seats else "",
            seed=seed,
            public=False,
            **self._settings,
        )
        tokens = [self._server.take_seat(match, seat, invite) for seat in free]
        connecting = open_socket(socket_url(self._server.url), max_size=MOST_BYTES, proxy=None)
        self._socket = self._open.enter_context(connecting)
        self._send(
            SocketMessage("sit", handle, token, show=SHOW, live=True)
            for handle, token in enumerate(tokens)
        )
        self._views = {}
        while len(self._views) < len(tokens):
            self._read()
        self._views = dict(sorted(self._views.items(), key=lambda item: item[1].handle))
        return dict(zip(self._views, tokens, strict=True))

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Open a match and wait for the first turn of one of the seats."""
        self._sit(seed)
        self.agents = self.possible_agents.copy()
        self._paid = dict.fromkeys(self.agents, 0.0)
        self._wait()
        return self._observations(self.agents), self._infos(self.agents)

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[
        dict[str, Any],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Answer for every agent that is to act; raises `OutOfTurn` if one gave no action."""
        if not self.agents:
            raise OutOfTurn("the episode is over; call reset()")
        due = [name for name in self.agents if self._views[name].your_turn]
        if missing := [name for name in due if name not in actions]:
            raise OutOfTurn(f"{', '.join(missing)} must act and gave no action")
        self._send(self._move(name, actions[name]) for name in due)
        for name in due:
            view = self._views[name]
            self._views[name] = msgspec.structs.replace(
                view, your_turn=False, number=view.number + 1
            )
        self._wait()
        agents = self.agents
        paid = {name: self._views[name].returns - self._paid[name] for name in agents}
        self._paid = {name: self._views[name].returns for name in agents}
        over = {name: self._over(name) for name in agents}
        cut = {name: over[name] and self._views[name].truncated for name in agents}
        self.agents = [name for name in agents if not over[name]]
        ended = {name: over[name] and not cut[name] for name in agents}
        return self._observations(agents), paid, ended, cut, self._infos(agents)

    def _move(self, name: str, action: Any) -> SocketMessage:
        view = self._views[name]
        move = Move(action=whole_number(action), number=view.number)
        return SocketMessage("move", view.handle, move=move)

    def _over(self, name: str) -> bool:
        view = self._views[name]
        return view.status == "over" or not view.present or bool(view.away)

    def _wait(self) -> None:
        """Read until one of the seats is to act or the match is over, and all views are of then."""
        while True:
            views = self._views.values()
            latest = max(view.turn for view in views)
            settled = all(view.turn == latest for view in views)
            over = all(view.status == "over" for view in views)
            if over or (settled and any(view.your_turn for view in views)):
                return
            self._read()

    def _read(self) -> None:
        assert self._socket is not None, "this environment is closed"
        told = msgspec.msgpack.decode(self._socket.recv(timeout=PATIENCE, decode=False))
        for part in told if isinstance(told, list) else [told]:
            if "match" not in part:
                raise ServerRefused(part["error"])
            view = msgspec.convert(part, SeatView)
            known = self._views.get(view.player)
            if known is None or view.number >= known.number:  # not from before our answer
                self._views[view.player] = view

    def _send(self, messages: Any) -> None:
        assert self._socket is not None, "this environment is closed"
        self._socket.send(msgspec.msgpack.encode(list(messages)))

    def _observations(self, agents: Sequence[str]) -> dict[str, Any]:
        found = {}
        for name in agents:
            space = self.observation_spaces[name]
            found[name] = np.asarray(self._views[name].observation, space.dtype).reshape(
                space.shape
            )
        return found

    def _infos(self, agents: Sequence[str]) -> dict[str, dict[str, Any]]:
        return {name: self._info(self._views[name], name) for name in agents}

    def _info(self, view: SeatView, name: str) -> dict[str, Any]:
        mask = np.zeros(int(self.action_spaces[name].n), np.int8)
        mask[view.mask or []] = 1
        if not view.your_turn:
            mask[:] = 1  # an action that is ignored
        info: dict[str, Any] = {"acting": view.your_turn, "action_mask": mask, "turn": view.turn}
        if view.error:
            info["error"] = view.error
        if view.status == "over":
            info |= {"outcome": view.result, "reason": view.reason}
        return info

    def close(self) -> None:
        self._open.close()
        self._socket = None
        self._server.close()
