"""`palestra play` and `palestra replay`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

from palestra.agents.naming import parse_agent
from palestra.cli.arguments import read_options, seat_agents, split_agents
from palestra.cli.listeners import Meter, Narrator, RunTally, Watcher
from palestra.cli.listing import EnvId, table
from palestra.cli.measuring import measures_table
from palestra.cli.watching import Watch, WatchPort, watched
from palestra.files import fresh_folder
from palestra.kernel.errors import (
    InvalidOption,
    MissingExtra,
    PalestraError,
    RecordError,
    cause,
)
from palestra.kernel.game import Game
from palestra.kernel.registry import load_game, registry, renderer
from palestra.kernel.specs import EnvSpec
from palestra.quoting import open_console, printable
from palestra.records.record import EpisodeRecord, iter_records, retrace
from palestra.records.verify import Doubles, absent, verify
from palestra.runner.faults import is_stop
from palestra.runner.loggers import EpisodeLog, open_logger
from palestra.runner.play import stream
from palestra.runner.watching import RunStandings, Viewer

MODES = {"pygame": "human"}  # modes with another name on the command line


def play_command(
    env: EnvId,
    agents: Annotated[
        str,
        typer.Option(
            help="Comma-separated: one per seat, or one for all; names, mine.py:NAME, module:NAME."
        ),
    ] = "random",
    episodes: Annotated[int, typer.Option(min=1, help="Number of episodes.")] = 1,
    seed: Annotated[int, typer.Option(help="Episode i starts from seed + i.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for records and replays.")] = None,
    render: Annotated[
        str, typer.Option(help="terminal, pygame, none, or a plugin's mode such as browser.")
    ] = "",
    browser: Annotated[bool, typer.Option("--browser", help="Same as --render browser.")] = False,
    option: Annotated[list[str] | None, typer.Option("--option", "-o", help="name=value")] = None,
    invalid: Annotated[str, typer.Option(help="Invalid-move policy.")] = "retry:2",
    rewards: Annotated[
        str, typer.Option(help="Reward names, as in env,food-distance,mine.py:near.")
    ] = "",
    pause: Annotated[float, typer.Option(help="Seconds between drawn steps.")] = 0.3,
    move_seconds: Annotated[
        float | None, typer.Option(help="Time limit per move; a seat that exceeds it forfeits.")
    ] = None,
    isolate: Annotated[
        bool | None,
        typer.Option(help="Each agent in a process of its own; default for agents of files."),
    ] = None,
    asynchronous: Annotated[
        bool,
        typer.Option("--asynchronous", help="Await each reply of a model by itself."),
    ] = False,
    resume: Annotated[bool, typer.Option(help="Continue the run in --out.")] = False,
    other_versions: Annotated[
        bool, typer.Option("--other-versions", help="Resume a run of other versions of plugins.")
    ] = False,
    verbose: Annotated[bool, typer.Option(help="Print every question and answer.")] = False,
    replays: Annotated[bool, typer.Option(help="Write an animated replay.")] = True,
    log: Annotated[
        list[str] | None,
        typer.Option(help="Where to log every episode, as in tensorboard:runs/tb; repeatable."),
    ] = None,
    watch: Watch = False,
    watch_port: WatchPort = 0,
) -> None:
    """Play episodes between agents; records and a replay are written to a folder."""
    spec = registry().environment(env)
    options = read_options(option or [])
    game = load_game(spec, options, len(split_agents(agents)))
    if out is not None and out.suffix == ".jsonl":
        raise InvalidOption(
            f"--out {out}: --out names a folder; with --out {out.with_suffix('')} the records are "
            f"in {out.with_suffix('') / 'episode.jsonl'}"
        )
    folder = out or fresh_folder(spec.id.split("/", 1)[1])
    seated = seat_agents(agents, game.num_players)
    console = open_console()
    people = _people(seated)  # people see their own view; no second picture is drawn
    render = render or ("browser" if browser else "")
    mode = render or ("terminal" if episodes == 1 and not verbose and not people else "none")
    viewer = None if mode == "none" else _viewer(game, people)
    if mode == "pygame" and people:
        seated = [in_window(one) if s in people else one for s, one in enumerate(seated)]
        if all(plays_in_window(seated[s]) for s in people):
            mode = "none"  # a second window would stand still while a person thinks
    hooks: list[Any] = [Narrator(console)] if verbose else []
    watchers = []
    artist = None if mode == "none" else _artist(spec, mode, asked=bool(render))
    if artist is not None:
        if hasattr(artist, "folder"):
            artist.folder = folder / mode
        watchers.append(Watcher(artist, pause, viewer))
    hooks += watchers
    logs = [EpisodeLog(open_logger(text, folder.name)) for text in log or []]
    meter = Meter(console, spec.id, episodes, shown=episodes > 1 and not people)
    tally, stopped = RunTally(seated), False
    live = 1 if hooks or people else 256
    viewer_of_page = _page_viewer(game, people)
    with (
        watched(watch, watch_port, f"palestra play {spec.id}", console, viewer_of_page) as page,
        meter,
    ):
        standings = [] if page is None else [RunStandings(page)]
        try:
            for record in stream(
                spec,
                agents=seated,
                episodes=episodes,
                seed=seed,
                out=folder,
                resume=resume,
                other_versions=other_versions,
                invalid=invalid,
                rewards=split_agents(rewards) if rewards else None,
                move_seconds=move_seconds,
                isolate=isolate,
                asynchronous=asynchronous,
                hooks=[meter, *hooks, *logs, *standings, *([] if page is None else [page])],
                live=live,
                **options,
            ):
                tally.add(record)
        except Exception as error:
            if isinstance(error, PalestraError) or not tally.failed:
                raise  # else it is the first failure of a run in which no episode finished
        except KeyboardInterrupt:
            stopped = True
            console.print(
                f"Stopped: {tally.episodes} of {episodes} episodes are finished. Play the rest "
                f"with --resume --out {folder}",
                soft_wrap=True,
                highlight=False,
            )
        for told in standings:
            told.tell()
    if tally.failed:
        console.print(
            f"{tally.failed} of {tally.failed + tally.episodes} episodes ended in an error, the "
            f"first with {printable(tally.cause)}. They are in {folder / 'errors.jsonl'}; "
            f"--resume --out {folder} plays them again",
            style="red",
            markup=False,
            soft_wrap=True,
        )
    if tally.first is not None:
        _report(console, tally)
        _write_pictures(console, folder, tally.first, replays)
    for watcher in watchers:
        watcher.close()
    for listener in logs:
        listener.close()
    if stopped or tally.failed:
        raise typer.Exit(130 if stopped else 1)


def _people(agents: list[str]) -> list[int]:
    """The seats that people play."""
    known = registry().agents
    names = [parse_agent(agent)[0] for agent in agents]
    return [s for s, name in enumerate(names) if name in known and known[name].kind == "human"]


def in_window(agent: str) -> str:
    """A person who plays where the pictures are, `human:window=true`, if their agent can."""
    name, options, _ = parse_agent(agent)
    declared = {option.name for option in registry().agents[name].options}
    if "window" not in declared or "window" in options:
        return agent
    return f"{agent}{',' if options else ':'}window=true"


def plays_in_window(agent: str) -> bool:
    return bool(parse_agent(agent)[1].get("window"))


def _viewer(game: Game[Any, Any], people: list[int]) -> int | None:
    """The seat to draw for: the person's own, so that it shows them nothing hidden."""
    if game.perfect_information or not people:
        return None
    if len(people) > 1:
        raise InvalidOption(
            "several people play, and one picture would show one player's secrets to the others; "
            "leave --render out"
        )
    return people[0]


def _page_viewer(game: Game[Any, Any], people: list[int]) -> Viewer:
    """What a live page may show: everything, unless people play a game with hidden information."""
    if game.perfect_information or not people:
        return "all"
    return people[0] if len(people) == 1 else "public"


def _artist(spec: EnvSpec, mode: str, *, asked: bool = True) -> Any:
    """The renderer of a mode; None if it was not asked for and none is installed."""
    try:
        made = renderer(spec, MODES.get(mode, mode))
    except MissingExtra:
        if asked:
            raise
        return None
    if not hasattr(made, "draw"):
        raise InvalidOption(f"--render {mode!r} is made of records: play, then palestra replay")
    return made()


def _report(console: Console, tally: RunTally) -> None:
    """Print mean returns, shares of refused answers and forfeited episodes, results and model usage
    by seat; then the metrics.
    """
    tokens = any(used.tokens for used in tally.used)
    extra = ("tokens", "cost") if tokens else ()
    rows = table("seat", "agent", "mean return", "refused", "forfeits", "results", *extra)
    for seat, agent in enumerate(tally.agents):
        used = tally.used[seat]
        took = (f"{used.tokens:,}", f"{used.cost:.4g}") if tokens else ()
        rows.add_row(
            f"player_{seat}",
            agent,
            f"{tally.returns[seat] / tally.episodes:.3g}",
            f"{tally.answers[seat].refused_share:.1%}",
            f"{tally.answers[seat].forfeited_share:.1%}",
            ", ".join(f"{count} {name}" for name, count in tally.results[seat].most_common()),
            *took,
        )
    console.print(rows)
    console.print(measures_table(tally.measures))


def _write_pictures(console: Console, folder: Path, record: EpisodeRecord, replays: bool) -> None:
    console.print(f"record  {folder / 'episode.jsonl'}", soft_wrap=True, highlight=False)
    if not replays:
        return
    for kind in ("gif", "html"):
        try:
            path = export(kind, [record], folder / f"replay.{kind}")
        except BaseException as error:  # a renderer's error must not fail a finished run
            if is_stop(error):
                raise
            said = str(error) if isinstance(error, PalestraError) else cause(error)
            console.print(f"(no {kind} replay: {said})", markup=False, soft_wrap=True)
        else:
            console.print(f"replay  {path}", soft_wrap=True, highlight=False)


def export(
    kind: str,
    records: list[EpisodeRecord],
    path: Path,
    *,
    seat: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Write records in one mode ("gif", "mp4", "strip" or "html") with an installed renderer."""
    spec = registry().environments.get(records[0].env)
    return renderer(spec, kind)(records, path, seat, progress)


def replay_command(
    file: Annotated[Path, typer.Argument(help="A file of episode records.")],
    html: Annotated[Path | None, typer.Option(help="Write a page.")] = None,
    gif: Annotated[Path | None, typer.Option(help="Write an animation.")] = None,
    mp4: Annotated[Path | None, typer.Option(help="Write a video.")] = None,
    strip: Annotated[Path | None, typer.Option(help="Write a PNG of moments side by side.")] = None,
    verify: Annotated[bool, typer.Option(help="Only check that every record replays.")] = False,
    episode: Annotated[int, typer.Option(help="Which episode of the file, from 0.")] = 0,
    seat: Annotated[int | None, typer.Option(help="Show only what this seat may see.")] = None,
    pause: Annotated[float, typer.Option(help="Seconds between drawn steps.")] = 0.5,
    render: Annotated[str, typer.Option(help="terminal or pygame.")] = "terminal",
) -> None:
    """Watch a record again, export it, or verify that it replays exactly."""
    records, problem = _read(file)
    chosen = _choose(records, episode, file)
    if verify:
        _verify(records, file)
    wanted = {"html": html, "gif": gif, "mp4": mp4, "strip": strip}
    for kind, path in wanted.items():
        if path is not None:
            _export(kind, records if kind == "html" else [chosen], path, seat)
    if not verify and not any(wanted.values()):
        _watch(chosen, render, seat, pause)
    if problem:
        raise problem


def _read(file: Path) -> tuple[list[EpisodeRecord], RecordError | None]:
    """The readable records of a file, and the error that ended reading, if any."""
    if not file.exists():
        raise InvalidOption(f"there is no file {file}")
    records = []
    try:
        for record in iter_records(file):
            records.append(record)
    except RecordError as error:
        if not records:
            raise
        return records, error
    if not records:
        raise InvalidOption(f"{file} holds no records")
    return records, None


def _choose(records: list[EpisodeRecord], number: int, file: Path) -> EpisodeRecord:
    if not 0 <= number < len(records):
        raise InvalidOption(f"{file} has episodes 0 to {len(records) - 1}; there is no {number}")
    return records[number]


def _verify(records: list[EpisodeRecord], file: Path) -> None:
    """Check every record; exit with 1 if any does not replay as recorded, or stands there twice."""
    broken, doubles = 0, Doubles()
    with file.open("rb") as lines:
        written = (line for line in lines if line.strip())
        for number, (record, line) in enumerate(zip(records, written, strict=False)):
            named = printable(f"episode {number}: {record.env}, {len(record.turns)} turns")
            try:
                trusted = verify(record)
                if odd := doubles.remarks(number, line, record):
                    raise InvalidOption("; ".join(odd))
            except PalestraError as error:
                broken += 1
                typer.echo(printable(f"{named}: {error}"), err=True)
            else:
                empty = absent(record)
                filled = ", ".join(name for name in trusted if name not in empty)
                typer.echo(f"{named}, replays exactly; taken on trust: {filled}")
                typer.echo(f"  empty, also on trust: {', '.join(empty)}")
    if broken:
        typer.echo(
            f"{broken} of {len(records)} records do not replay as they were written", err=True
        )
        raise typer.Exit(1)


def _export(kind: str, records: list[EpisodeRecord], path: Path, seat: int | None) -> None:
    with Progress(transient=True) as bar:
        task = bar.add_task(f"writing {path.name}", total=None)
        export(
            kind,
            records,
            path,
            seat=seat,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    typer.echo(f"wrote {path}")


def _watch(record: EpisodeRecord, mode: str, seat: int | None, pause: float) -> None:
    """Draw a record step by step."""
    artist = _artist(registry().environment(record.env), mode)
    artist.names = record.agents
    watcher = Watcher(artist, pause, seat)
    for episode in retrace(record):
        watcher.draw(episode)
    watcher.close()
