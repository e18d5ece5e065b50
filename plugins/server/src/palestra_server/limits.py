"""What one process of the server takes on."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta
from palestra.kernel.errors import show
from palestra.kernel.policy import InvalidMovePolicy

from palestra_server.messages import Create
from palestra_server.refused import RequestRefused


class Limits(msgspec.Struct, forbid_unknown_fields=True):
    """What one process takes on; beyond it requests are refused, with status 429 or 503.

    matches: played at once. sockets: open at once. moves: answers of one seat in a second.
    messages: of one socket in a second. per_address: connections from one address at once, or
    behind a trusted proxy its requests and sockets, this machine's own apart. idle_seconds: a
    match that nobody has touched for so long leaves memory; it comes back from the journal when
    somebody does. keep_days: a match that has been over, or open and never begun, for so long is
    deleted; 0 to keep all. agent_seconds: for an answer of a local agent where the match sets no
    limit. agents: how many turns one agent that waits for others, such as a language model, is
    asked at once. programs: how many of the seats' programs run at once; 0 for one fewer than there
    are processors. steps: of a client's match, which is then cut off. retries: how often a seat of
    one may be asked again in a turn.
    """

    matches: Annotated[int, Meta(ge=1)] = 10_000
    sockets: Annotated[int, Meta(ge=1)] = 10_000
    moves: Annotated[int, Meta(ge=1)] = 20_000
    messages: Annotated[int, Meta(ge=1)] = 100_000
    per_address: Annotated[int, Meta(ge=1)] = 1000
    idle_seconds: Annotated[float, Meta(gt=0)] = 900.0
    keep_days: Annotated[float, Meta(ge=0)] = 0.0
    agent_seconds: Annotated[float, Meta(gt=0)] = 600.0
    agents: Annotated[int, Meta(ge=1)] = 64
    programs: Annotated[int, Meta(ge=0)] = 0
    steps: Annotated[int, Meta(ge=1)] = 100_000
    retries: Annotated[int, Meta(ge=0)] = 10

    def bounded(self, wanted: Create) -> Create:
        """A client's match, cut off after `steps`; raises `RequestRefused` for more than may be."""
        steps = self.steps if wanted.max_episode_steps is None else wanted.max_episode_steps
        if steps > self.steps:
            raise RequestRefused(
                f"max_episode_steps is at most {self.steps} on this server, not {show(steps)}", 400
            )
        if InvalidMovePolicy.read(wanted.invalid).retries > self.retries:
            raise RequestRefused(
                f"invalid is at most retry:{self.retries} on this server, not "
                f"{show(wanted.invalid)}",
                400,
            )
        return msgspec.structs.replace(wanted, max_episode_steps=steps)
