"""`palestra mcp`."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated

import typer
from palestra import InvalidOption
from palestra.cli.arguments import read_options, split_agents

from palestra_server.messages import OPEN, Create


def mcp_command(
    target: Annotated[
        str, typer.Argument(help="A match server's address, or an environment to play here.")
    ],
    agents: Annotated[
        str,
        typer.Option(help="One agent for all other seats, or each seat's, as in open,mcts,random."),
    ] = "",
    option: Annotated[list[str] | None, typer.Option(help="name=value, for the game.")] = None,
    split: Annotated[str, typer.Option(help="A named set of the environment's options.")] = "",
    seats: Annotated[int | None, typer.Option(min=1, help="Number of seats.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of every match; else drawn.")] = None,
    token: Annotated[
        str,
        typer.Option(envvar="PALESTRA_SEAT_TOKEN", help="Of a seat that was taken before."),
    ] = "",
) -> None:
    """Let an MCP client that starts this command play, by standard input and output."""
    from palestra_server.dialects.mcp_stdio import own_server, serve, server_at

    if target.startswith(("http://", "https://")):
        if agents or option or split or seats is not None or seed is not None:
            raise InvalidOption("only --token goes with a server's address; it opens the matches")
        played = server_at(target)
    else:
        if token:
            raise InvalidOption("--token is of a seat on a server; name the server's address")
        options = read_options(option or []) | ({} if seats is None else {"num_players": seats})
        played = own_server(match_of(target, agents, options, split=split, seed=seed))
    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        asyncio.run(serve(played, token))


def match_of(
    env: str, agents: str, options: dict[str, object], *, split: str = "", seed: int | None = None
) -> Create:
    """The match in which a client plays: the first seat, or those that are "open"."""
    names = tuple(split_agents(agents)) if agents else ("random",)
    wanted = Create(env, options=options, split=split or None, seed=seed)
    if OPEN in names:
        wanted.seats = names
    elif len(names) == 1:
        wanted.open, wanted.opponents = (0,), names[0]
    else:
        raise InvalidOption(
            f"--agents is one agent for all other seats, or one for each seat with {OPEN!r} for "
            f"the client, as in {OPEN},{','.join(names[1:])}; not {agents}"
        )
    return wanted
