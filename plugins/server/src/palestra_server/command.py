"""`palestra serve`."""

from __future__ import annotations

import ipaddress
import secrets
import webbrowser
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from palestra import InvalidOption
from palestra.cli.arguments import read_options, split_agents
from palestra.quoting import open_console

if TYPE_CHECKING:
    import socket

    from palestra_server.messages import NewMatch


# no access log: a link can hold a token
def serve_command(
    env: Annotated[str, typer.Argument(help="Environment of a first match to open.")] = "",
    agents: Annotated[
        str, typer.Option(help="Agent of each seat, as in human,mcts; by default all open.")
    ] = "",
    option: Annotated[list[str] | None, typer.Option(help="name=value, for the game.")] = None,
    split: Annotated[str, typer.Option(help="A named set of the environment's options.")] = "",
    seats: Annotated[int | None, typer.Option(min=1, help="Number of seats.")] = None,
    move_seconds: Annotated[
        float | None,
        typer.Option(
            min=0, help="Time limit for one answer; 0 for none. Default: 600 if people wait."
        ),
    ] = None,
    on_leave: Annotated[
        str, typer.Option(help="When a player leaves: auto, forfeit or substitute.")
    ] = "auto",
    substitute: Annotated[
        str, typer.Option(help="Agent that takes the seat of one who has left.")
    ] = "",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 chooses a free one.")] = 8000,
    store: Annotated[
        str, typer.Option(envvar="PALESTRA_STORE", help="A file for SQLite, or an SQLAlchemy URL.")
    ] = "matches.db",
    name: Annotated[
        list[str] | None, typer.Option(help="A further host name that requests may use.")
    ] = None,
    token: Annotated[
        str, typer.Option(envvar="PALESTRA_SERVER_TOKEN", help="Token required to create a match.")
    ] = "",
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            help="Address or network of a trusted proxy, whose X-Forwarded-For tells the client's "
            "address. This machine's own are trusted."
        ),
    ] = None,
    dialects: Annotated[
        str, typer.Option(help="Further protocols, comma-separated: mcp, nemo-gym, openenv.")
    ] = "",
    upstream: Annotated[
        str, typer.Option(help="A model server's base URL, to record what seats ask it.")
    ] = "",
    upstream_key: Annotated[
        str, typer.Option(envvar="PALESTRA_UPSTREAM_KEY", help="The model server's API key.")
    ] = "",
    upstream_tokens: Annotated[
        bool, typer.Option(help="Ask the model server for token ids, as vLLM returns them.")
    ] = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes behind the port.")] = 1,
    inside: Annotated[
        str, typer.Option(help="Address for other servers on the same database, if there are any.")
    ] = "",
    limit: Annotated[
        list[str] | None,
        typer.Option(
            help="name=value of matches, sockets, moves, messages, per_address, idle_seconds, "
            "keep_days, agent_seconds, agents, programs, steps or retries."
        ),
    ] = None,
    log_json: Annotated[bool, typer.Option(help="Write the log as JSON lines.")] = False,
    browser: Annotated[bool, typer.Option(help="Open the match's page in the browser.")] = False,
    allow_agent: Annotated[
        list[str] | None,
        typer.Option(
            help="A further agent for clients' matches, as llm:openai:gpt-5 or "
            "'mcts:simulations<=1000'."
        ),
    ] = None,
    allow_env: Annotated[
        list[str] | None,
        typer.Option(help="Environments that run programs, for clients: an id, tasks/* or *."),
    ] = None,
    allow: Annotated[
        Path | None, typer.Option(help="A TOML file of what clients may name.")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="TLS certificate, PEM; with its key or with --key.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="TLS key, PEM.")] = None,
    other_versions: Annotated[
        bool, typer.Option("--other-versions", help="Resume matches of other versions.")
    ] = False,
) -> None:
    """Serve matches: every seat has an address, which clients and people can take."""
    import uvicorn
    from palestra.runner.run_folder import hold_lock

    from palestra_server import connections
    from palestra_server.allowed import read_allowed
    from palestra_server.app import create_app
    from palestra_server.dialects.opening import open_dialect
    from palestra_server.limits import Limits
    from palestra_server.listening import listen
    from palestra_server.logs import write_logs
    from palestra_server.messages import PERSON, Create
    from palestra_server.plans import MatchDefaults
    from palestra_server.proxies import read_proxies
    from palestra_server.security import LOOPBACK
    from palestra_server.server import MatchServer
    from palestra_server.store import MatchStore
    from palestra_server.tls import tls_options
    from palestra_server.workers import MOST_OF_A_FRAME, Settings, serve_workers

    console, tls = open_console(), tls_options(certificate, key)
    proxies = read_proxies(proxy or ())
    allowed = read_allowed(allow_agent or (), allow_env or (), allow)
    if not _is_loopback(host) and not token:
        token = secrets.token_urlsafe(16)
        console.print(f"token   {token}", soft_wrap=True, highlight=False)
    first = None
    if env:
        options = read_options(option or [])
        if seats is not None:
            options["num_players"] = seats
        line_up = tuple(split_agents(agents)) if agents else None
        people = any(seat.partition(":")[0] == PERSON for seat in line_up or ())
        first = Create(
            env,
            line_up,
            options=options,
            split=split or None,
            move_seconds=move_seconds,
            public=not people,  # seats of people are taken by link
        )
    given = {} if move_seconds is None else {"move_seconds": move_seconds}
    try:
        usual = msgspec.convert(
            {"on_leave": on_leave, "substitute": substitute, **given}, MatchDefaults
        )
    except msgspec.ValidationError as error:
        raise InvalidOption(f"--on-leave or --move-seconds: {error}") from None
    url = store if "://" in store else f"sqlite:///{store}"
    try:
        limits = msgspec.convert(read_options(limit or []), Limits)
    except msgspec.ValidationError as error:
        raise InvalidOption(f"--limit: {error}") from None
    with ExitStack() as held:  # the lock, and the database where the server does not start
        if store != ":memory:" and "://" not in store:
            held.enter_context(hold_lock(Path(f"{store}.lock"), f"to {store}", "--store"))
        hosts = [*LOOPBACK, host, *(name or [])]
        words = [word for word in dialects.split(",") if word]
        if workers > 1 or inside:
            if first is not None:
                raise InvalidOption("with --workers or --inside, open matches once it serves")
            settings = Settings(
                *(url, hosts, token, words, upstream, upstream_key, upstream_tokens),
                *(inside or "127.0.0.1", limits, log_json, other_versions, allowed),
                *(usual, proxies),
            )
            port_socket = listen(host, port)
            write_logs(log_json)
            console.print(
                f"serving {_home(port_socket, certificate)}", soft_wrap=True, highlight=False
            )
            serve_workers(settings, workers, port_socket, **tls)
            return
        connections.set_bounds(limits.per_address, proxies)
        matches = MatchStore(url)
        held.callback(matches.close)
        server = MatchServer(
            *(matches, limits),
            allowed=allowed,
            other_versions=other_versions,
            usual=usual,
        )
        spoken = [open_dialect(word, server, token) for word in words]
        if upstream:
            from palestra_server.dialects.openai import CaptureDialect

            spoken.append(CaptureDialect(server, upstream, upstream_key, tokens=upstream_tokens))
        port_socket = listen(host, port)
        write_logs(log_json)
        home = _home(port_socket, certificate)

        def tell(opened: NewMatch) -> None:
            play, watch = page_links(home, opened)
            console.print(f"play    {play}\nwatch   {watch}", soft_wrap=True, highlight=False)
            if browser:
                webbrowser.open(play)

        app = create_app(
            server,
            hosts=hosts,
            token=token,
            first=first,
            tell=tell,
            dialects=spoken,
            proxies=proxies,
        )
        console.print(f"serving {home}", soft_wrap=True, highlight=False)
        if browser and first is None:
            webbrowser.open(home)
        config = uvicorn.Config(app, ws_max_size=MOST_OF_A_FRAME, **connections.SETTINGS, **tls)
        uvicorn.Server(config).run([port_socket])


def _home(listening: socket.socket, certificate: Path | None) -> str:
    """The address of a socket, as people open it."""
    address = listening.getsockname()
    scheme = "https" if certificate else "http"
    shown = f"[{address[0]}]" if ":" in address[0] else address[0]
    return f"{scheme}://{shown}:{address[1]}"


def page_links(home: str, opened: NewMatch) -> tuple[str, str]:
    """Where people play a match and where they watch it.

    Browsers do not send what follows `#` to a server, so that no log between can hold it.
    """
    match = f"{home}/#match={opened.match}"
    return f"{match}&invite={opened.invite}", f"{match}&watch={opened.watch}"


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise InvalidOption(f"--host is an address such as 127.0.0.1, not {host!r}") from None
