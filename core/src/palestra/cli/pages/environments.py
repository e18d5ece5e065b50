"""A page for an environment: facts, options, spaces, scores, a conversation and how to use it."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Sequence
from pathlib import Path
from shutil import copyfile
from typing import Any

import numpy as np
from gymnasium import spaces

from palestra.catalogue.about import About, about
from palestra.catalogue.describe import describe_options
from palestra.cli.listing import facts_of, seats_text
from palestra.cli.measuring import range_text
from palestra.cli.pages.markdown import cell, code, options_table, plain, section, table
from palestra.cli.pages.reference import Mean, Reference, read_reference
from palestra.cli.pages.snippets import snippets
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.episode import Episode
from palestra.kernel.game import Game
from palestra.kernel.registry import load_game
from palestra.kernel.rng import Rng
from palestra.kernel.specs import EnvSpec
from palestra.kernel.text_game import TextGame
from palestra.records.metrics import metrics_for
from palestra.views.channels import entries, layouts

TURNS = 6  # turns of the conversation that are shown
LONGEST = 3_000  # characters of it that are shown
MOST_ACTIONS = 12  # actions by number that are listed
# facts that have a section, or that are the same for every environment
ELSEWHERE = ("paper", "splits", "observation", "actions", "metrics", "views", "any game's")


def file_stem(spec: EnvSpec) -> str:
    return spec.id.replace("/", "-")


def page_name(spec: EnvSpec) -> str:
    return f"{file_stem(spec)}.md"


def pages(specs: list[EnvSpec], folder: Path, reference: Path | None) -> dict[str, str]:
    """The text of a page for each environment, of an index and of all results, by file name.

    Animations of `reference` are copied into `folder`. Without it there is no page of results.
    """
    found, shown, results = {}, set(), list[tuple[EnvSpec, Reference]]()
    for spec in specs:
        animation = ""
        if reference and (reference / f"{file_stem(spec)}.webp").exists():
            animation = f"{file_stem(spec)}.webp"
            copyfile(reference / animation, folder / animation)
            shown.add(spec.id)
        measured = read_reference(reference, file_stem(spec))
        found[page_name(spec)] = page(spec, measured, animation)
        results += [(spec, measured)] if measured else []
    more = {"RESULTS.md": results_page(results)} if results else {}
    return {**found, **more, "README.md": index(specs, shown)}


def results_page(results: Sequence[tuple[EnvSpec, Reference]]) -> str:
    """The scores of every measured environment in one table a family."""
    lines = [
        "# Results",
        "",
        "Mean returns with 95 % intervals of agents that need no language model, with default "
        "options; the page of an environment has the command that measures them again, and the "
        "game's own measures.",
        "",
    ]
    for family in sorted({spec.family for spec, _ in results}):
        rows = [
            (
                f"[{spec.id}]({page_name(spec)})",
                code(score.agent),
                score.against,
                _between(score.mean),
                str(score.episodes),
            )
            for spec, measured in sorted(results, key=lambda result: result[0].id)
            for score in measured.scores
            if spec.family == family
        ]
        header = ("environment", "agent", "the others", "mean return", "episodes")
        lines += section(family, table(header, rows))
    return "\n".join(lines)


def index(specs: list[EnvSpec], shown: Collection[str] = ()) -> str:
    """Tables of environments by family; those in `shown` have an animation."""
    lines = ["# Environments", "", "Written by `palestra pages`: a page for each environment.", ""]
    for family in sorted({spec.family for spec in specs}):
        members = sorted((s for s in specs if s.family == family), key=lambda s: s.id)
        rows = [
            (
                f"![{s.id}]({file_stem(s)}.webp)" if s.id in shown else "",
                f"[{s.id}]({page_name(s)})",
                cell(s.summary),
                seats_text(s),
                s.moves,
                s.payoffs,
            )
            for s in members
        ]
        header = ("picture", "environment", "what it is", "players", "moves", "payoffs")
        lines += section(family, table(header, rows))
    return "\n".join(lines)


def page(spec: EnvSpec, measured: Reference | None = None, animation: str = "") -> str:
    """One environment: what it is, its facts, how it is played, how well, and how to use it."""
    game = load_game(spec, {})
    said = about(spec.entry_point)
    picture = [f"![An episode of {spec.id}]({animation})", ""] if animation else []
    facts = [(name, plain(value)) for name, value in facts_of(spec, game) if name not in ELSEWHERE]
    return "\n".join(
        [
            f"# {spec.id}",
            "",
            *picture,
            said.prose,
            "",
            *section("Rules as a player reads them", _fenced(game.rules_for(0))),
            *section("Facts", table(("fact", "value"), facts)),
            *section("Options", options_table(describe_options(type(game)))),
            *section("Observations and actions", _spaces(spec, game)),
            *section("Rewards", _rewards(spec, game)),
            *section("Measures", _measures(spec)),
            *section("Splits", _splits(spec)),
            *section("Reference scores", _scores(measured) if measured else []),
            *section("Speed", _speed(measured) if measured else []),
            *section("Source", _source(spec, said)),
            *section("What its rules are checked against", [said.checked] if said.checked else []),
            *section("Use it", snippets(spec, game)),
            *section("A conversation", _transcript(spec)),
        ]
    )


def _source(spec: EnvSpec, said: About) -> list[str]:
    """The paper, and what of it is not here."""
    return [
        *([plain(spec.paper)] if spec.paper else []),
        *(["", said.left_out] if said.left_out else []),
    ]


def _fenced(text: str) -> list[str]:
    return ["````text", *text.splitlines(), "````"]


def _spaces(spec: EnvSpec, game: Game[Any, Any]) -> list[str]:
    """The spaces of the array views, actions by number in words, and the kinds of typed action."""
    lines = []
    if "array" in spec.observations:
        rows = [
            ("observation", *_space_row(game.observation_space(0))),
            ("action", *_space_row(game.action_space(0))),
        ]
        lines += table(("space", "shape", "type", "values"), rows)
        lines += channel_tables(game)
    if isinstance(game, ArrayGame) and game.num_actions <= MOST_ACTIONS:
        named = [(code(str(number)), plain(text)) for number, text in _first_actions(game)]
        lines += ["", "Legal at the first move:", "", *table(("action", "in words"), named)]
    if isinstance(game, TextGame):
        kinds = [(code(_signature(kind)), _first_line(kind)) for kind in game.action_types]
        lines += ["", *table(("action in words", "what it does"), kinds)]
    return lines


def channel_tables(game: Game[Any, Any]) -> list[str]:
    """The channels of an observation with their entries, once for all seats that share them."""
    lines = list[str]()
    for owners, channels in layouts(game).items():
        rows = [(code(where), code(c.name), plain(c.meaning)) for where, c in entries(channels)]
        lines += ["", f"Channels of an observation{_along(game)}, for {owners}:", ""]
        lines += table(("entries", "channel", "meaning"), rows)
    return lines


def _along(game: Game[Any, Any]) -> str:
    if not isinstance(game, ArrayGame) or len(game.observation_shape) == 1:
        return ""
    return f" along axis {game.channel_axis}"


def _signature(kind: type[Any]) -> str:
    """A kind of action with its fields, as a player writes it."""
    return f"{kind.__name__}({', '.join(kind.__struct_fields__)})"


def _first_line(kind: type[Any]) -> str:
    return plain((inspect.getdoc(kind) or "").partition("\n")[0])


def _space_row(space: spaces.Space[Any]) -> tuple[str, str, str]:
    if isinstance(space, spaces.Box):
        low, high = float(np.min(space.low)), float(np.max(space.high))
        return code(str(space.shape)), f"`{space.dtype}`", f"{low:g} to {high:g}"
    if isinstance(space, spaces.Discrete):
        return "one integer", f"`{space.dtype}`", f"{space.start} to {space.start + space.n - 1}"
    return code(str(space.shape)), f"`{space.dtype}`", code(str(space))


def _first_actions(game: ArrayGame[Any]) -> list[tuple[int, str]]:
    episode = Episode(game, 0, compiled=False)
    seat = episode.to_act[0]
    legal = np.flatnonzero(episode.action_mask(seat)).tolist()
    return [(number, game.action_text(episode.state, seat, number)) for number in legal]


def _rewards(spec: EnvSpec, game: Game[Any, Any]) -> list[str]:
    terms = ", ".join(code(term) for term in game.reward_terms)
    costs = ", ".join(code(term) for term in game.cost_terms)
    lines = [f"Payoffs are {spec.payoffs}. Terms of the reward: {terms}."]
    return [*lines, f"Costs, which are reported apart from rewards: {costs}."] if costs else lines


def _measures(spec: EnvSpec) -> list[str]:
    rows = [
        (code(m.name), plain(m.summary), range_text(m.bounds), m.unit or "-", m.better or "-")
        for m in metrics_for(spec.id)
    ]
    return table(("name", "what", "range", "unit", "better"), rows)


def _splits(spec: EnvSpec) -> list[str]:
    rows = [
        (code(name), ", ".join(code(f"{key}={value!r}"[:80]) for key, value in options.items()))
        for name, options in spec.splits.items()
    ]
    return table(("split", "options"), rows)


def _scores(measured: Reference) -> list[str]:
    """Mean returns and the game's own measures, with 95 % intervals, and the command."""
    rows = [
        (
            code(score.agent),
            score.against,
            _between(score.mean),
            ", ".join(f"{name} {_between(m)}" for name, m in score.measures.items()) or "-",
            str(score.episodes),
        )
        for score in measured.scores
    ]
    versions = ", ".join(f"{name} {version}" for name, version in sorted(measured.versions.items()))
    return [
        *table(("agent", "the others", "mean return", "measures", "episodes"), rows),
        "",
        f"Default options, 95 % intervals, {versions}. Measure them again with:",
        "",
        *_fenced(measured.command),
    ]


def _between(found: Mean) -> str:
    mean, low, high = found
    if mean is None:
        return "-"
    written = _short(mean)
    return (
        written if low is None or high is None else f"{written} ({_short(low)} to {_short(high)})"
    )


def _short(value: float) -> str:
    """Three digits; what is left of a sum that should be 0 is 0."""
    return f"{value if abs(value) > 1e-9 else 0.0:.3g}"


def _speed(measured: Reference) -> list[str]:
    rows = [
        (name, f"{rate:,.3g}" if rate < 100 else f"{rate:,.0f}")
        for name, rate in measured.speed.items()
    ]
    lines = table(("on one core", "rate"), rows)
    return [*lines, "", "Rates depend on the machine; the benchmarks have ratios."] if lines else []


def _transcript(spec: EnvSpec) -> list[str]:
    said = "The first questions to one seat, with random legal answers:"
    return [said, "", *_fenced(_conversation(spec))]


def _conversation(spec: EnvSpec) -> str:
    """What the first seat that is asked sees and answers in one random episode."""
    game, rng = load_game(spec, {}), Rng.seeded(0)
    # interpreted: a few turns are not worth compiling for
    episode = Episode(game, 0, spec=spec, compiled=False if isinstance(game, ArrayGame) else None)
    seat, since, lines = episode.to_act[0], 0, list[str]()
    for _ in range(4 * TURNS):
        if episode.over or len(lines) == 2 * TURNS:
            break
        actions = {s: game.sample(episode.state, s, rng) for s in episode.to_act}
        if seat in actions:
            said = game.action_text(episode.state, seat, actions[seat])
            lines += [episode.prompt(seat, since), f"> {said}\n"]
            since = episode.cursor(seat)
        episode.act(actions)
    text = "\n".join(lines).strip()
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
