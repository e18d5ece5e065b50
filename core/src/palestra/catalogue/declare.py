"""Decorators that declare what a plugin provides, in the code itself.

    @environment("games/KuhnPoker-v0", family="card", paper="Kuhn (1950)")
    @dataclass(frozen=True)
    class KuhnPoker(ArrayGame[KuhnState]): ...

A decorator only registers its declaration. `palestra catalogue` imports a package, turns its
declarations into specs and writes them into the package's `catalogue.json`; loading a plugin reads
nothing else.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from palestra.kernel.errors import PluginError
from palestra.kernel.specs import AgentKind, MoveOrder, Payoffs, RewardShape

Declared = TypeVar("Declared", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Declaration:
    """The declaration of one class or function, with the hook that will return it."""

    hook: str
    name: str
    subject: Any
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def entry_point(self) -> str:
        return f"{self.subject.__module__}:{self.subject.__qualname__}"

    @property
    def summary(self) -> str:
        """The given summary, or the first sentence of the docstring."""
        return self.facts.get("summary") or first_sentence(inspect.getdoc(self.subject) or "")


# By (hook, name, module): a module that is imported again replaces what it declared.
_declarations: dict[tuple[str, str, str], Declaration] = {}


def declarations(package: str) -> list[Declaration]:
    """The declarations of a package's imported modules, sorted by hook, then by name."""
    found = [
        d
        for d in _declarations.values()
        if d.subject.__module__ == package or d.subject.__module__.startswith(f"{package}.")
    ]
    return sorted(found, key=lambda d: (d.hook, d.name))


def declared_ids(game: type) -> tuple[str, ...]:
    """The ids under which a game class, or else the nearest class it derives from, is declared."""
    for kind in game.__mro__:
        ids = [
            d.name
            for d in _declarations.values()
            if d.hook == "palestra_environments" and d.subject is kind
        ]
        if ids:
            return tuple(ids)
    return ()


def _declare(hook: str, name: str, **facts: Any) -> Callable[[Declared], Declared]:
    def remember(subject: Declared) -> Declared:
        key = hook, name, subject.__module__
        other = _declarations.get(key)
        if other and other.subject.__qualname__ != subject.__qualname__:
            raise PluginError(f"{name!r} is declared twice in {subject.__module__}")
        _declarations[key] = Declaration(hook, name, subject, facts)
        return subject

    return remember


def environment(
    id: str,
    *,
    family: str,
    tags: Sequence[str] = (),
    paper: str = "",
    splits: Mapping[str, Mapping[str, Any]] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    players: tuple[int, int] | None = None,
    moves: MoveOrder | None = None,
    payoffs: Payoffs | None = None,
    summary: str = "",
) -> Callable[[Declared], Declared]:
    """Declare an environment: the class below it holds the rules.

    id: "namespace/Name-v0"; a change of behaviour raises the version.
    family: which renderers draw it: "board", "card", "grid", "text", …
    tags: words to filter by. paper: where the rules come from.
    splits: sets of options by name, to train on and to test on.
    kwargs: options that this id sets; declare a class several times to give presets ids.
    players: smallest and largest number of seats; by default from `num_players`.
    moves, payoffs: only where this id differs from the class's `order` and `payoffs`.
    summary: one sentence for lists; by default the first sentence of the class's docstring.

    Raises `PluginError` for an id that another class of the module declares.
    """
    return _declare(
        "palestra_environments",
        id,
        family=family,
        tags=tuple(tags),
        paper=paper,
        splits=dict(splits or {}),
        kwargs=dict(kwargs or {}),
        players=players,
        moves=moves,
        payoffs=payoffs,
        summary=summary,
    )


def agent(
    name: str,
    *,
    kind: AgentKind = "scripted",
    plays: Sequence[str] | None = None,
    needs: Sequence[str] = (),
    paper: str = "",
    summary: str = "",
) -> Callable[[Declared], Declared]:
    """Declare an agent that can be named in a string such as `mcts:simulations=200`.

    name: the name in that string.
    kind: "scripted", "search", "solver", "learned", "llm" or "human".
    plays: ids, namespaces ("text/*") or "*"; by default the ids of the games that the class names
        in its attribute `plays`, or every environment if it names none.
    needs: what it requires of a game beyond that: "array" (numbered actions and array
        observations), "two players", "zero-sum", "perfect information", "fork" (perfect
        information, or hidden state that can be sampled again), "deals" (initial states that can be
        listed) or "script" (a scripted player of its own).
    paper: where it is published.
    summary: one sentence for lists; by default the first sentence of the docstring.

    Raises `PluginError` for a name that another class or function of the module declares.
    """
    facts = {"kind": kind, "plays": plays, "needs": tuple(needs), "paper": paper}
    return _declare("palestra_agents", name, summary=summary, **facts)


def reward(
    name: str,
    *,
    shape: RewardShape,
    needs: Sequence[str] = (),
    paper: str = "",
    summary: str = "",
    **more: Any,
) -> Callable[[Declared], Declared]:
    """Declare a reward: a shaper or an estimator.

    name: the name under which it is asked for.
    shape: "step" or "episode" for a shaper, "group" for an estimator.
    needs: what it reads besides rewards. paper: where it is published.
    summary: one sentence for lists; by default the first of the docstring.
    more: kept for the plugin's own use.

    Raises `PluginError` for a name that another class or function of the module declares.
    """
    facts = {"shape": shape, "needs": tuple(needs), "paper": paper, "more": more}
    return _declare("palestra_rewards", name, summary=summary, **facts)


def metric(
    name: str,
    *,
    measures: Sequence[str] = ("*",),
    needs: Sequence[str] = (),
    unit: str = "",
    bounds: tuple[float | None, float | None] = (None, None),
    better: str = "",
    summary: str = "",
) -> Callable[[Declared], Declared]:
    """Declare a measure of one `EpisodeRecord`, a function that takes the record.

    The function returns a number; None if the episode has nothing to measure; or numbers by key (a
    role, a generation), which are reported as `name:key`.

    name: the name under which it is reported.
    measures: ids, namespaces ("text/*") or "*" of the environments it applies to.
    needs: what it requires of them beyond that: "several seats", "one seat", "zero-sum" or
        "general" payoffs.
    unit: its unit. bounds: its lowest and highest value, None for no bound.
    better: "higher" or "lower", or empty where neither is better in itself.
    summary: one sentence for lists; by default the first of the docstring.

    Raises `PluginError` for another word in `better`, and for bounds that are not (low, high).
    """
    if better not in ("higher", "lower", ""):
        raise PluginError(f"better of metric {name!r} must be 'higher', 'lower' or '': {better!r}")
    low, high = bounds
    if low is not None and high is not None and low >= high:
        raise PluginError(f"bounds of metric {name!r} must be (lowest, highest), not {bounds}")
    facts = {"unit": unit, "measures": tuple(measures), "needs": tuple(needs)}
    return _declare(
        "palestra_metrics", name, bounds=bounds, better=better, summary=summary, **facts
    )


def renderer(mode: str, *, families: Sequence[str] = ("*",)) -> Callable[[Declared], Declared]:
    """Declare a renderer of scenes: the function below it draws them.

    mode: how it draws, such as "ansi" or "html". families: those of environments; "*" for all.
    """

    def remember(subject: Declared) -> Declared:
        for family in families:
            _declare("palestra_renderers", f"{family} {mode}", family=family, mode=mode)(subject)
        return subject

    return remember


def first_sentence(text: str) -> str:
    """The first sentence of a docstring, on one line."""
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    for position, letter in enumerate(paragraph):
        after = paragraph[position + 1 : position + 3]
        if letter in ".!?" and (not after or (after[0] == " " and not after[1:].islower())):
            return paragraph[: position + 1]
    return paragraph
