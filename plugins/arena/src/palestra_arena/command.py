"""`palestra tournament` and `palestra results`."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from palestra import InvalidOption
from palestra.cli.arguments import split_agents
from palestra.cli.watching import Watch, WatchPort, watched
from palestra.code_names import file_of
from palestra.isolation.system import unwalled_system
from palestra.quoting import one_line, open_console
from palestra.runner.watching import LivePage, Sparing, Standing
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from palestra_arena.axes import with_option

if TYPE_CHECKING:  # scipy and openskill are not imported to print another command's help
    from palestra_arena.cost import Margin
    from palestra_arena.cost.spending import GameAttempt
    from palestra_arena.result import GameResult
    from palestra_arena.settings import Settings
    from palestra_arena.store import Store

SECRET_SEED = 60  # bits of a seed that no agent can find by trying
STEP = 0.1  # seconds between drawings of the progress bar


def tournament_command(
    environments: Annotated[list[str] | None, typer.Argument(help="Ids of environments.")] = None,
    suite: Annotated[
        str, typer.Option(help="mars-train, mars-held-out, social, markets, web or all-offline.")
    ] = "",
    agents: Annotated[
        str, typer.Option(help="Comma-separated, as in random,mcts or mine.py:NAME.")
    ] = "",
    model: Annotated[
        list[str] | None, typer.Option(help="A model, to be crossed with every --scaffold.")
    ] = None,
    scaffold: Annotated[
        list[str] | None,
        typer.Option(help="An agent made of a model, without it: llm, or bestof,n=3."),
    ] = None,
    level: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE, an option of every crossed agent, from least to most."),
    ] = None,
    flip: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE: also play the first agent with this option changed."),
    ] = None,
    partner: Annotated[
        str, typer.Option(help="Sits at all other seats, so that tested agents never meet.")
    ] = "",
    games: Annotated[int | None, typer.Option(min=1, help="Games of every line-up.")] = None,
    store: Annotated[Path, typer.Option(help="File that keeps the results.")] = Path("arena.db"),
    settings: Annotated[
        Path | None, typer.Option(help="TOML or JSON; options on the command line override it.")
    ] = None,
    schedule: Annotated[
        str,
        typer.Option(
            help="round-robin, swiss, knock-out, ladder, population, …: see docs/arena.md."
        ),
    ] = "",
    seed: Annotated[int | None, typer.Option(help="The first seed.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; 0 plays in this one.")] = None,
    engine: Annotated[str, typer.Option(help="local, or ray: workers are then Ray actors.")] = "",
    game_seconds: Annotated[float | None, typer.Option(help="Wall-time limit of a game.")] = None,
    together: Annotated[
        int | None, typer.Option(min=1, help="Games of a line-up that are played side by side.")
    ] = None,
    asynchronous: Annotated[
        bool, typer.Option("--asynchronous", help="Await each reply of a model by itself.")
    ] = False,
    isolate: Annotated[
        bool | None,
        typer.Option(
            help="Each agent in a process of its own, from a seed nobody knows; default with a "
            "suite."
        ),
    ] = None,
    other_versions: Annotated[
        bool, typer.Option("--other-versions", help="Resume games of other versions of plugins.")
    ] = False,
    watch: Watch = False,
    watch_port: WatchPort = 0,
) -> None:
    """Play a tournament between agents, or resume the unfinished one in the store."""
    if isolate is None and suite and not unwalled_system():
        isolate = True
    typed = {
        "environments": environments,
        "agents": _entrants(agents, flip or []),
        "models": model,
        "scaffolds": scaffold,
        "levels": level,
        "unfit": "leave-out" if model else None,
        "games": games,
        "schedule": _schedule(schedule, partner),
        "seed": seed,
        "workers": workers,
        "engine": engine or None,
        "game_seconds": game_seconds,
        "together": together,
        "asynchronous": asynchronous or None,
        "isolate": isolate,
    }
    named = {name: value for name, value in typed.items() if value not in (None, [])}
    if isolate and settings is None and seed is None:
        latest = _kept_settings(store)
        named["seed"] = latest.seed if latest else secrets.randbits(SECRET_SEED)
    chosen = _settings(settings, store, _with_suite(suite, named))
    if isolate is False and (files := [name for name in chosen.agents if file_of(name)]):
        raise InvalidOption(
            f"a tournament plays {files[0]} in a process of its own, as every agent of a file; "
            "--no-isolate is for others: name an importable module, as in mine:NAME"
        )
    console = open_console()
    with watched(watch, watch_port, f"palestra tournament, {store}", console) as page:
        finished = _play(chosen, store, console, other_versions, page)
    if finished:
        from palestra_arena.store import Store

        with Store(store) as opened:
            _print_leaderboard(console, opened, "bradley-terry", chosen.confidence)
    console.print(f"store   {store}", soft_wrap=True, highlight=False)
    if not finished:
        raise typer.Exit(130)


def _entrants(agents: str, flips: list[str]) -> list[str] | None:
    """The agents named, and the first of them with one option changed at a time."""
    named = split_agents(agents) if agents else None
    if flips and named is None:
        raise InvalidOption("--flip changes an option of the first of --agents; name it there")
    return [*named, *(with_option(named[0], flip) for flip in flips)] if named else None


def _schedule(kind: str, partner: str) -> str | dict[str, Any] | None:
    """The schedule as settings have it: cross-play with the partner where there is one."""
    if partner and kind not in ("", "cross-play"):
        raise InvalidOption(f"--partner is for the schedule cross-play, not {kind}")
    return {"kind": "cross-play", "partners": [partner]} if partner else kind or None


def _kept_settings(store: Path) -> Settings | None:
    """The settings of the tournament in a store; None if there is none yet."""
    from palestra_arena.store import Store

    if not store.exists():
        return None
    with Store(store) as opened:
        return opened.settings()


def _with_suite(name: str, typed: dict[str, Any]) -> dict[str, Any]:
    """The options on the command line, with the environments and settings of a suite."""
    if not name:
        return typed
    if "environments" in typed:
        raise InvalidOption("name environments or a --suite, not both")
    from palestra_arena.suites import suite

    chosen = suite(name)
    named = {"environments": chosen.environments, "suite": f"{name} {chosen.digest}"}
    return dict(chosen.settings) | typed | named


def _settings(file: Path | None, store: Path, typed: dict[str, Any]) -> Settings:
    """Settings from a file or from the store to resume; the command line overrides them."""
    from palestra_arena.settings import read_data, settings_from

    if file is not None:
        return settings_from(read_data(file) | typed, str(file))
    latest = None if {"environments", "agents"} <= set(typed) else _kept_settings(store)
    if latest is not None:
        import msgspec

        return settings_from(msgspec.to_builtins(latest) | typed)
    for name, example in (
        ("environments", "games/TicTacToe-v0"),
        ("agents", "--agents random,mcts"),
    ):
        if name not in typed and not (name == "agents" and "models" in typed):
            raise InvalidOption(f"name the {name}, as in {example}, or give a --settings file")
    return settings_from(typed)


def _print_additions(settings: Settings, store: Path, console: Console) -> None:
    """Say what a rerun adds to the tournament in the store."""
    from palestra_arena.settings import additions

    latest = _kept_settings(store)
    added = additions(latest, settings) if latest else []
    if added:
        console.print(f"adds to {store}: {'; '.join(added)}", soft_wrap=True, highlight=False)


def _play(
    settings: Settings,
    store: Path,
    console: Console,
    other_versions: bool,
    page: LivePage | None = None,
) -> bool:
    """Run with a progress bar; False if it was stopped."""
    from palestra_arena.tournament import run_tournament

    _print_additions(settings, store, console)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("games", total=None)
        drawn, over, sparing = 0.0, 0, Sparing()

        def show(done: int, total: int, result: GameResult | None) -> None:
            nonlocal drawn, over
            over = done
            if result is not None and result.status != "played":
                bar.console.print(
                    one_line(_mishap(result)), markup=False, highlight=False, soft_wrap=True
                )
            if done == total or result is None or time.monotonic() - drawn > STEP:
                bar.update(task, completed=done, total=total)
                drawn = time.monotonic()
            if page is not None and result is not None and (sparing.due() or done == total):
                _show_standings(page, store, settings.confidence)
                sparing.done()

        try:
            done = run_tournament(settings, store, progress=show, other_versions=other_versions)
        except KeyboardInterrupt:
            console.print(f"Stopped. {over} games are kept; the same command resumes.")
            return False
    console.print(f"{done.played} games played, {len(done.results)} in all", highlight=False)
    return True


def _show_standings(page: LivePage, store: Path, confidence: float) -> None:
    """Ratings so far on the live page, or shares of points where nothing can be rated."""
    from palestra_arena.report import leaderboard_of
    from palestra_arena.store import Store

    with Store(store) as opened:  # a connection of its own beside the one that is written to
        counted = opened.tally()
    if not counted.kinds:
        return
    board = leaderboard_of(counted, confidence=confidence)
    rows = []
    for row in board.rows:
        rated = row.rating
        value, low, high = row.score if rated is None else (rated.value, rated.low, rated.high)
        results = ", ".join(f"{count} {name}" for name, count in row.results.most_common())
        rows.append(Standing(row.agent, value, low, high, row.games, results))
    page.stand("Mean return" if board.unrated else "Rating (Bradley-Terry)", rows)
    page.log(board.games, {f"standing/{row.name}": row.value for row in rows})


def _mishap(result: GameResult) -> str:
    match = result.match
    return (
        f"{result.status}: {match.environment.label}, seed {match.seed}, "
        f"{' - '.join(match.agents)}: {result.reason}"
    )


def results_command(
    store: Annotated[Path, typer.Argument(help="A file that palestra tournament wrote.")],
    rating: Annotated[
        str,
        typer.Option(
            help="bradley-terry, elo, glicko2, openskill, elo-mmr, alpha-rank, nash-averaging."
        ),
    ] = "bradley-terry",
    env: Annotated[str, typer.Option(help="Only this environment.")] = "",
    confidence: Annotated[float | None, typer.Option(help="Confidence level.")] = None,
    costs: Annotated[bool, typer.Option(help="Every agent's costs, and cost-of-pass.")] = False,
    pass_score: Annotated[
        float | None, typer.Option(help="Return that counts as success; default: a win.")
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(help="An agent of those whose hull of success and cost is to be beaten."),
    ] = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option(help="AGENT=COST, spent once, as on training; spread over --runs games."),
    ] = None,
    runs: Annotated[
        float | None, typer.Option(min=1, help="Games over which --fixed is spread.")
    ] = None,
    cube: Annotated[
        bool, typer.Option(help="Crossed agents by environment, model, scaffold and level.")
    ] = False,
    against: Annotated[
        str, typer.Option(help="An agent with which all others are compared on the same seeds.")
    ] = "",
    gap: Annotated[
        str, typer.Option(help="BASELINE,BEST: agents whose scores are 0 and 1 in the cube.")
    ] = "",
    percentiles: Annotated[
        bool, typer.Option(help="Participation and percentiles of normalised scores over seeds.")
    ] = False,
    inspect: Annotated[bool, typer.Option(help="Look for cheating in all records.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write a page.")] = None,
    parquet: Annotated[Path | None, typer.Option(help="Write a row a seat.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write the leaderboard as JSON.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write it as a Markdown table.")] = None,
) -> None:
    """The leaderboard of a tournament, finished or not."""
    from palestra_arena.report import write_json, write_markdown, write_page, write_parquet
    from palestra_arena.store import Store

    console = open_console()
    with Store(store, must_exist=True) as opened:
        settings = opened.settings()
        level = confidence or (settings.confidence if settings else 0.95)
        board = _print_leaderboard(console, opened, rating, level, env)
        spent = _print_costs(console, opened, pass_score, level, env) if costs else None
        more: dict[str, Any] = {}
        if gap and not cube:
            raise InvalidOption("--gap scales the scores of the cube; say --cube too")
        if baseline or fixed:
            once = _fixed_costs(fixed or [], runs)
            tested = settings.agents if settings else ()
            tried = [a for a in _attempts(opened, pass_score, env) if a.agent in tested]
            more["margins"] = _margins(tried, baseline or [], once, runs, level)
            _print_margins(console, more["margins"], tried)
        if cube:
            more["cube"] = _print_cube(console, opened, pass_score, level, gap, env)
        if against:
            more["against"] = _print_changes(console, opened, against, pass_score, level, env)
        if percentiles:
            _print_generality(console, opened, env)
        if inspect:
            _print_findings(console, opened)
        if html is not None:
            write_page(board, settings, html, spent)
            console.print(f"page    {html}", soft_wrap=True, highlight=False)
        written = [write_json(board, json, **more)] if json is not None else []
        written += [write_markdown(board, markdown)] if markdown is not None else []
        for path in written:
            console.print(f"wrote   {path}", soft_wrap=True, highlight=False)
        if parquet is not None:
            write_parquet(opened.results(), parquet)
            console.print(f"parquet {parquet}", soft_wrap=True, highlight=False)


def _print_leaderboard(
    console: Console, store: Store, rating: str, confidence: float, env: str = ""
) -> Any:
    from palestra_arena.ratings import BY_ORDER, contests_from
    from palestra_arena.report import leaderboard_of, leaderboard_table

    contests = None
    if rating in BY_ORDER:
        contests = contests_from(_results_of(store, env))
    counted = store.tally().only(env) if env else store.tally()
    board = leaderboard_of(counted, rating, contests, confidence=confidence)
    console.print(leaderboard_table(board, console))
    settings = store.settings()
    if settings is not None and settings.suite and not env:
        _print_suite(console, store, settings.suite, confidence)
    uncounted = f"; {board.uncounted}" if board.uncounted else ""
    level = f"intervals at {board.confidence * 100:g} %"
    console.print(f"{board.games} games, {level}{uncounted}", highlight=False)
    _warn_of_seen(console, store)
    for note in filter(None, (board.seating, board.winnings, board.unrated)):
        console.print(one_line(note), markup=False, highlight=False, soft_wrap=True)
    return board


def _print_suite(console: Console, store: Store, name: str, confidence: float) -> None:
    from palestra_arena.report.suite import suite_report, suite_table
    from palestra_arena.suites import suite

    kind, _, digest = name.partition(" ")
    now = suite(kind)
    console.print(suite_table(suite_report(store.results(), confidence)))
    pins = ", ".join(f"{name} {number}" for name, number in now.pins.items())
    console.print(f"suite {name}; {pins}", highlight=False, soft_wrap=True)
    if digest != now.digest:
        console.print(
            f"these games are of another {kind}: it is {now.digest} with what is installed now"
        )


def _warn_of_seen(console: Console, store: Store) -> None:
    """Name agents that were scored on seeds they were trained on."""
    from palestra_arena.trust.held_out import seen_before

    settings = store.settings()
    if settings is None or not settings.trained:
        return
    matches = [result.match for result in store.results() if result.counts]
    seen = [seen_before(settings.trained, m.environment.id, m.agents, m.seed) for m in matches]
    for entry in dict.fromkeys(filter(None, seen)):
        note = f"{entry}: {seen.count(entry)} games here are no test of it"
        console.print(one_line(note), markup=False, highlight=False, soft_wrap=True)


def _print_findings(console: Console, store: Store) -> None:
    from palestra_arena.trust import inspect

    found = inspect(store.records())
    for finding in found:
        said = (
            f"{finding.kind}: {finding.agent or 'somebody'}, {finding.env}, seed {finding.seed}, "
            f"turn {finding.turn}: {finding.why}"
        )
        console.print(one_line(said), markup=False, highlight=False, soft_wrap=True)
    console.print(f"{len(found)} findings", highlight=False)


def _results_of(store: Store, env: str) -> Iterator[GameResult]:
    """The results of an environment, or of all."""
    return (r for r in store.results() if env in ("", r.match.environment.id))


def _attempts(store: Store, score: float | None, env: str) -> list[GameAttempt]:
    """All attempts of an environment, or of all, that succeed by a win or by their score."""
    from palestra_arena.cost import at_least, attempts_from, won

    return attempts_from(_results_of(store, env), won if score is None else at_least(score))


def _fixed_costs(typed: list[str], runs: float | None) -> dict[str, float]:
    """What agents cost once, by agent."""
    if bool(typed) != bool(runs):
        raise InvalidOption("--fixed AGENT=COST is spread over --runs games; give both")
    found = {}
    for text in typed:
        agent, _, cost = text.rpartition("=")
        try:
            found[agent] = float(cost)
        except ValueError:
            raise InvalidOption(
                f"--fixed is AGENT=COST, as in react:local:=2.5, not {text!r}"
            ) from None
    return found


def _print_costs(
    console: Console, store: Store, score: float | None, confidence: float, env: str
) -> Any:
    from palestra_arena.cost import currency_of, spendings
    from palestra_arena.report import costs_table, make_costs

    attempts = _attempts(store, score, env)
    currency = currency_of(attempts)
    found = make_costs(spendings(attempts, currency, confidence=confidence), currency)
    console.print(costs_table(found, console))
    console.print(
        f"cost-of-pass in {found.unit}; * nobody is both better and cheaper", highlight=False
    )
    return found


def _print_generality(console: Console, store: Store, env: str) -> None:
    from palestra_arena.report import generality_of, generality_table

    found, tasks, left_out = generality_of(_results_of(store, env))
    console.print(generality_table(found))
    missed = f", {left_out} not played by all left out" if left_out else ""
    console.print(
        f"percentiles over {tasks} tasks{missed} of the share of the best score on each; * nobody "
        "is as good in all and better in one",
        highlight=False,
    )


def _print_cube(
    console: Console, store: Store, score: float | None, confidence: float, gap: str, env: str
) -> Any:
    from palestra_arena.cube import Means, cube_of, cube_tables, scores_of

    settings = store.settings()
    agents = settings.cells if settings else {}
    references = split_agents(gap) if gap else []
    if len(references) not in (0, 2):
        raise InvalidOption(f"--gap names two agents, as in --gap random,scripted, not {gap!r}")
    scores = scores_of(_results_of(store, env), {*agents, *references}, _scorer(score))
    means = Means(scores, confidence, bounds=None if score is None else (0.0, 1.0))
    if references:
        means.scale(*references)
    found = cube_of(scores, means, agents)
    for table in cube_tables(found, console):
        console.print(table)
    for agent, label in found.missing:
        note = f"no game counts of {agent} in {label}: {_why_missing(agent, label, settings)}"
        console.print(one_line(note), markup=False, highlight=False, soft_wrap=True)
    if found.worse[1]:
        worse, pairs = found.worse
        console.print(f"the higher level did worse in {worse} of {pairs} pairs", highlight=False)
    return found


def _scorer(score: float | None) -> Any:
    """The return, or 1 for a return that counts as success."""
    from palestra_arena.cost import at_least
    from palestra_arena.cube.scores import returned

    return returned if score is None else at_least(score)


def _why_missing(agent: str, label: str, settings: Settings | None) -> str:
    from palestra.agents.fitting import why_unfit
    from palestra.kernel.registry import load_game, registry

    for environment in settings.environments if settings else ():
        if environment.label == label:
            spec = registry().environment(environment.id)
            game = load_game(spec, environment.options, environment.players or 1)
            return why_unfit(agent, game, spec) or "not played yet, or all its games failed"
    return "not in the settings"


def _print_changes(
    console: Console, store: Store, base: str, score: float | None, confidence: float, env: str
) -> Any:
    from palestra_arena.cost import currency_of
    from palestra_arena.cube import changes_against
    from palestra_arena.report.changes import changes_table
    from palestra_arena.report.costs import NAMES

    settings = store.settings()
    attempts = _attempts(store, score, env)
    found = changes_against(
        base,
        list(_results_of(store, env)),
        settings.agents if settings else (),
        scorer=_scorer(score),
        attempts=attempts,
        confidence=confidence,
    )
    console.print(changes_table(found, base, console))
    unit = NAMES[currency_of(attempts)]
    console.print(f"paired by seed; cost a game and cost-of-pass in {unit}", highlight=False)
    return found


def _margins(
    tried: list[GameAttempt],
    baselines: list[str],
    fixed: dict[str, float],
    runs: float | None,
    confidence: float,
) -> list[Margin]:
    from palestra_arena.cost import margins

    if not baselines:
        raise InvalidOption("--fixed adds to a cost that is held against a --baseline; name one")
    spread_over = math.inf if runs is None else runs
    return margins(tried, baselines, fixed=fixed, runs=spread_over, confidence=confidence)


def _print_margins(console: Console, found: list[Margin], tried: list[GameAttempt]) -> None:
    from palestra_arena.cost import currency_of
    from palestra_arena.report import margins_table
    from palestra_arena.report.costs import NAMES

    console.print(margins_table(found, NAMES[currency_of(tried)], console))
    console.print("* more success than any mixture of the baselines at this cost", highlight=False)
