"""Checks that the game matches what its spec declares."""

from __future__ import annotations

import ast
import inspect
import sys
import warnings
from dataclasses import fields
from functools import cache
from types import ModuleType
from typing import Any

from palestra.catalogue.build import stale_environment
from palestra.catalogue.declare import declared_ids
from palestra.catalogue.describe import describe_options
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.errors import InvalidOption, PalestraError, cause
from palestra.kernel.game import Game
from palestra.kernel.options import option_hints
from palestra.kernel.registry import load_game
from palestra.kernel.rng import Rng
from palestra.runner.play import stream
from palestra.testing.subject import Failed, Skipped, Subject, play_on, require
from palestra.views import aec, batch, parallel
from palestra.views.gym import GymView
from palestra.views.vector import VectorView

FIRST_STEPS = 4  # of a split, or with another number of seats, in which seats look
SIZED_STEPS = 20  # with the fewest and the most seats


def facts_are_true(subject: Subject) -> None:
    """Order, payoffs, seats and documentation as declared; the game is a frozen dataclass."""
    game, spec = subject.game, subject.spec
    require(game.order == spec.moves, f"moves: spec {spec.moves!r}, game {game.order!r}")
    require(game.payoffs == spec.payoffs, f"payoffs: spec {spec.payoffs!r}, game {game.payoffs!r}")
    low, high = spec.players
    require(low <= game.num_players <= high, f"{game.num_players} seats, declared {low} to {high}")
    require(len(game.players) == len(game.seats) == game.num_players, "not one seat a player")
    require(bool(game.rules_text.strip()), "rules_text is empty: write what a player must know")
    parameters = getattr(game, "__dataclass_params__", None)
    frozen = parameters is not None and parameters.frozen
    require(frozen, "the game is not a frozen dataclass, so it is no value")
    require(load_game(spec, subject.options) == game, "two games with the same options differ")
    _no_option_is_taken(game)
    _channels_add_up(game)
    _every_declared_size(subject, game)


def _channels_add_up(game: Game[Any, Any]) -> None:
    """The channels of every seat have names of their own and fill the observation."""
    if not isinstance(game, ArrayGame):
        return
    for seat in range(game.num_players):
        channels = game.observation_channels(seat)
        names = [channel.name for channel in channels]
        twice = sorted({name for name in names if names.count(name) > 1})
        require(not twice, f"observation_channels({seat}) has {', '.join(twice)} more than once")
        entries = game.observation_shape[game.channel_axis]
        total = sum(channel.size for channel in channels)
        require(
            not channels or total == entries,
            f"observation_channels({seat}) describes {total} entries of the {entries} along axis "
            f"{game.channel_axis} of an observation of shape {tuple(game.observation_shape)}",
        )


def _no_option_is_taken(game: Game[Any, Any]) -> None:
    """No option has the name of a setting of runs or views, which would never let it through."""
    openers = (stream, GymView, VectorView, aec.make, parallel.make, batch.make)
    taken = {name for opener in openers for name in inspect.signature(opener).parameters}
    clash = sorted({option.name for option in describe_options(type(game))} & taken)
    require(
        not clash,
        f"options {clash} are named as settings of palestra.play and of views; rename them",
    )


def options_are_described(subject: Subject) -> None:
    """Every option has a description in its annotation; those that have none are warned of."""
    bare = [o.name for o in describe_options(type(subject.game)) if not o.description]
    if bare:
        warnings.warn(
            f"{subject.spec.id}: options without a description: {', '.join(bare)}; add one, as in "
            f"{bare[0]}: Annotated[…, Meta(…, description='what it means')]",
            stacklevel=2,
        )


class _Stranger:
    """What no option takes."""


def options_are_checked(subject: Subject) -> None:
    """An object of another type is refused by the name of the option that it is given for."""
    for name, hint in option_hints(type(subject.game)).items():
        try:
            load_game(subject.spec, {name: _Stranger()})
        except InvalidOption as error:
            require(name in str(error), f"option {name} is refused without its name: {error}")
        except Exception as error:
            raise Failed(
                f"option {name} given an object of another type: {cause(error)}"
            ) from error
        else:
            require(
                hint is Any,
                f"option {name} takes an object of another type; write checks of your own into "
                "validate(), as __post_init__ of Game checks types before it",
            )


def options_are_read(subject: Subject) -> None:
    """Some code of the game reads every option; those that nothing reads are warned of."""
    kind = type(subject.game)
    read = names_read(kind)
    unread = [option.name for option in describe_options(kind) if option.name not in read]
    if unread:
        warnings.warn(
            f"{subject.spec.id}: nothing reads the options {', '.join(unread)}; use each in the "
            f"rules, as config.{unread[0]}, or remove it",
            stacklevel=2,
        )


def names_read(kind: type) -> set[str]:
    """Every attribute that the modules of a class and of its bases read, and their short strings.

    What they import from their own package or from Palestra counts too; strings do because of
    `getattr`.
    """
    todo = [base.__module__ for base in kind.__mro__]
    seen: set[str] = set()
    names: set[str] = set()
    while todo:
        name = todo.pop()
        module = sys.modules.get(name)
        if name in seen or module is None or name.partition(".")[0] in ("builtins", "typing"):
            continue
        seen.add(name)
        names |= _names_of(module)
        if name.partition(".")[0] != "palestra":
            todo += _imports_of(module)
    return names


@cache
def _names_of(module: ModuleType) -> frozenset[str]:
    """The attributes that a module's source reads, and the strings in it."""
    try:
        nodes = list(ast.walk(ast.parse(inspect.getsource(module))))
    except (OSError, TypeError):  # no source, as of a module of an interpreter
        return frozenset()
    read = (n.attr for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load))
    strings = (n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return frozenset((*read, *strings))


def _imports_of(module: ModuleType) -> list[str]:
    """The modules of the same package, and of Palestra's core, that a module imports from."""
    packages = (f"{module.__name__.partition('.')[0]}.", "palestra.")
    values = list(vars(module).values())
    names = [v.__name__ if inspect.ismodule(v) else getattr(v, "__module__", "") for v in values]
    return [name for name in names if isinstance(name, str) and name.startswith(packages)]


def catalogue_is_current(subject: Subject) -> None:
    """The plugin's catalogue.json says what the class declares."""
    kind, id = type(subject.game), subject.spec.id
    if id not in declared_ids(kind):
        raise Skipped("the environment is not declared with @environment")
    package = kind.__module__.split(".")[0]
    problem = stale_environment(package, id)
    require(not problem, problem)


def splits_play(subject: Subject) -> None:
    """Every split the spec names can be made, begins, and shows what its spaces declare."""
    if not subject.spec.splits:
        raise Skipped("no splits are declared")
    for split in subject.spec.splits:
        played = Subject(subject.spec, {"split": split})
        game, episode = played.game, played.episode()
        require(bool(game.rules_for(0).strip()), f"split {split}: rules_for() is empty")
        for number, _ in play_on(episode, Rng(0), FIRST_STEPS):
            for seat in episode.to_act:
                require(bool(episode.describe(seat)), f"split {split}: nothing is described")
                if played.has_array_view:
                    seen, space = episode.observation(seat), game.observation_space(seat)
                    where = f"split {split}, step {number}, player {seat}"
                    require(seen in space, f"{where}: {seen!r} is not in {space}")


def _every_declared_size(subject: Subject, game: Game[Any, Any]) -> None:
    low, high = subject.spec.players
    if low == high:
        return
    names = [field.name for field in fields(game)]  # type: ignore[arg-type]
    require("num_players" in names, "the number of seats varies, but num_players is no option")
    for seats in {low, high}:
        try:
            sized = load_game(subject.spec, {**subject.options, "num_players": seats})
        except PalestraError:
            if subject.options:
                continue  # which may ask for more players, or have room for fewer
            raise
        state = sized.initial_state(0)
        require(sized.num_players == seats, f"num_players={seats} gives {sized.num_players}")
        require(bool(sized.to_act(state)), f"with {seats} seats nobody is to act at the start")
        _first_steps_of(subject, sized)
    for seats in (low - 1, high + 1):
        try:
            load_game(subject.spec, {**subject.options, "num_players": seats})
        except PalestraError:
            continue
        require(False, f"num_players={seats} is outside {low} to {high} and is accepted")


def _first_steps_of(subject: Subject, sized: Game[Any, Any]) -> None:
    """The first and the last seat see something, and moves can be made, with so many seats."""
    played = Subject(subject.spec, {**subject.options, "num_players": sized.num_players})
    episode = played.episode()
    for _ in play_on(episode, Rng(0), SIZED_STEPS):
        pass
    results = episode.outcome.results if episode.outcome else sized.players
    require(
        len(results) == sized.num_players,
        f"num_players={sized.num_players}: the outcome has {len(results)} results",
    )
    episode = played.episode()
    for number, _ in play_on(episode, Rng(1), FIRST_STEPS):
        for seat in (0, sized.num_players - 1):
            where = f"num_players={sized.num_players}, step {number}, player {seat}"
            require(bool(episode.describe(seat)), f"{where}: nothing is described")
            if played.has_array_view:
                seen, space = episode.observation(seat), sized.observation_space(seat)
                require(seen in space, f"{where}: {seen!r} is not in {space}")
