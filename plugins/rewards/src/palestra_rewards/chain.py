"""Estimators by name, composed in the order they are named."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from palestra import EpisodeRecord, InvalidOption, UnknownName
from palestra.agents.naming import parse_agent
from palestra.kernel.errors import show
from palestra.kernel.naming import fit_arguments
from palestra.kernel.specs import load_entry_point
from palestra.shaping import check_complete

from palestra_rewards.advantages import Advantages
from palestra_rewards.arrays import Floats
from palestra_rewards.columns import NUMBERS
from palestra_rewards.entries import Entry, entry
from palestra_rewards.group import Group
from palestra_rewards.needs import require

Rollouts = Group | EpisodeRecord | Sequence[EpisodeRecord] | Mapping[str, Any]


@runtime_checkable
class Stateful(Protocol):
    """An estimator or shaper that learns from call to call; its state is plain JSON."""

    def state(self) -> dict[str, Any]: ...

    def load(self, state: Mapping[str, Any]) -> None: ...


@dataclass(frozen=True)
class Link:
    """One estimator of a chain with its options; `run` is the function, or the stateful object."""

    entry: Entry
    options: Mapping[str, Any]
    run: Any
    text: str

    def __call__(self, group: Group, base: Floats | None) -> Floats:
        require(self.entry.name, self.entry.needs, group, self.options)
        if not isinstance(self.run, Stateful):
            check_complete(self.run, self.entry.name, self.options, _leading(self.run))
        given = {} if isinstance(self.run, Stateful) else self.options
        of = (group,) if base is None else (group, base)
        with arithmetic(self.entry.name, self.options):
            found = self.run(*of, **given)
        return finite(found, self.entry.name, self.options)


class Estimator:
    """A chain of group estimators: the first starts from rewards, each later one re-weights."""

    def __init__(self, links: Sequence[Link]) -> None:
        self.links = tuple(links)
        self.name = "+".join(link.text for link in links)

    def __call__(self, rollouts: Rollouts) -> Advantages:
        group, values = as_group(rollouts, features=self.features), None
        _check_numbers(group)
        for link in self.links:
            values = link(group, values)
        assert values is not None
        if not np.isfinite(values).all():
            raise InvalidOption(
                f"{self.name} gives numbers that are not finite; check its options and facts"
            )
        return Advantages(values, group, self.name)

    @property
    def features(self) -> str:
        """What the networks of these estimators see of records, as in `Group.of`; "" for none."""
        named = (str(getattr(link.run, "features", "")) for link in self.links)
        return next(filter(None, named), "")

    def state(self) -> dict[str, Any]:
        """What the stateful links have learnt, as JSON."""
        return {
            f"{place}:{link.entry.name}": link.run.state()
            for place, link in enumerate(self.links)
            if isinstance(link.run, Stateful)
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state` of an estimator with the same links returned."""
        held = {f"{p}:{link.entry.name}": link.run for p, link in enumerate(self.links)}
        for name, saved in state.items():
            if name not in held or not isinstance(held[name], Stateful):
                raise UnknownName("stateful link", name, held)
            held[name].load(saved)


def _check_numbers(group: Group) -> None:
    """Raise `InvalidOption` for a column or fact with numbers that are not finite."""
    columns = {n: getattr(group, n) for n in NUMBERS if getattr(group, n) is not None}
    for name, values in {**columns, **group.facts}.items():
        flat = isinstance(values, np.ndarray) or all(isinstance(v, int | float) for v in values)
        if flat and not np.isfinite(np.asarray(values, dtype=np.float64)).all():
            raise InvalidOption(f"{name} must hold finite numbers; leave out what is not known")


def estimator(names: str | Sequence[str], **options: Any) -> Estimator:
    """The chain that `names` describe: `"grpo+salt"`, or `["gigpo:weight=0.5", "adora"]`.

    Each name may have options of its own. `options` are passed to every link that accepts them;
    each must be accepted by at least one. A re-weighting estimator named first gets its default
    base before it.
    """
    texts = names.split("+") if isinstance(names, str) else list(names)
    if not texts or not all(texts):
        raise InvalidOption("name at least one estimator, as in 'grpo' or 'grpo+salt'")
    first = entry(parse_agent(texts[0])[0], "group")
    if first.onto:
        texts = [first.onto, *texts]
    unused = set(options)
    links = []
    for place, text in enumerate(texts):
        name, own, _ = parse_agent(text)
        declared = entry(name, "group")
        if place and not declared.onto:
            raise InvalidOption(
                f"{name!r} starts from rewards and cannot follow {texts[place - 1]!r}; "
                "name it first"
            )
        links.append(_link(declared, own, options, unused, text))
    if unused:
        accepted = {o for link in links for o in accepted_options(_target(link))}
        raise UnknownName(f"option of {'+'.join(texts)}", sorted(unused)[0], accepted)
    return Estimator(links)


def _target(link: Link) -> Any:
    return type(link.run) if isinstance(link.run, Stateful) else link.run


def _link(
    declared: Entry, own: Mapping[str, Any], shared: Mapping[str, Any], unused: set[str], text: str
) -> Link:
    found = load_entry_point(declared.entry_point)
    accepted = accepted_options(found)
    wrong = [name for name in own if name not in accepted]
    if wrong:
        raise UnknownName(f"option of {declared.name}", wrong[0], accepted)
    given = {name: value for name, value in shared.items() if name in accepted} | dict(own)
    unused -= set(given)
    given = fitted_options(found, declared.name, given)
    if inspect.isclass(found):
        check_complete(found, declared.name, given)
    run = found(**given) if inspect.isclass(found) else found
    return Link(declared, given, run, text)


def accepted_options(found: Any) -> list[str]:
    """The keyword options of an estimator or shaper."""
    parameters = inspect.signature(found).parameters.values()
    return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]


def fitted_options(found: Any, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options converted and checked by the annotations of `found`; raises `InvalidOption`."""
    return fit_arguments(found, name, given, _leading(found))


def _leading(found: Any) -> int:
    """How many arguments of an estimator or shaper are no options."""
    parameters = inspect.signature(found).parameters.values()
    return sum(parameter.kind is parameter.POSITIONAL_OR_KEYWORD for parameter in parameters)


@contextmanager
def arithmetic(name: str, options: Mapping[str, Any]) -> Iterator[None]:
    """Raise `InvalidOption` if a shaper's numbers become too large, or no numbers, inside."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            yield
    except ArithmeticError as error:
        raise InvalidOption(_too_large(name, options, str(error))) from error


def finite(found: Any, name: str, options: Mapping[str, Any]) -> Floats:
    """What a shaper returned, as an array; raises `InvalidOption` unless all of it is finite."""
    values = np.asarray(found, dtype=np.float64)
    if not np.isfinite(values).all():
        raise InvalidOption(_too_large(name, options, "a value is infinite, or no number"))
    return values


def _too_large(name: str, options: Mapping[str, Any], why: str) -> str:
    given = ", ".join(f"{option}={show(value)}" for option, value in options.items())
    return (
        f"{name} cannot compute with these rewards and options ({given or 'none'}): {why}; give "
        "numbers of a moderate size"
    )


def as_group(rollouts: Rollouts, features: str = "") -> Group:
    """A group from records, from the arguments of `Group.from_arrays`, or as it is."""
    if isinstance(rollouts, Group):
        return rollouts
    if isinstance(rollouts, Mapping):
        return Group.from_arrays(**rollouts)
    records = [rollouts] if isinstance(rollouts, EpisodeRecord) else rollouts
    return Group.of(records, features=features)


def estimate(names: str | Sequence[str], rollouts: Rollouts, **options: Any) -> Advantages:
    """Advantages of every turn, by the estimator or chain of estimators named.

    `rollouts` are records, a `Group`, or a mapping of its arrays. Raises `Lacking` if something
    needed is missing, and says what to record. For estimators that learn from call to call, keep
    `estimator(names)` and call that.
    """
    return estimator(names, **options)(rollouts)


def shape(name: str, records: EpisodeRecord | Sequence[EpisodeRecord], **options: Any) -> Floats:
    """Rewards of every turn by an episode shaper, shape (turns,), in the records' order.

    Pass them on with `group.replace(rewards=shape(…))` or `group.with_facts(process=shape(…))`.
    """
    several = [records] if isinstance(records, EpisodeRecord) else list(records)
    text, own, _ = parse_agent(name)
    declared = entry(text, "episode")
    found = load_entry_point(declared.entry_point)
    given = {**options, **own}
    accepted = accepted_options(found)
    wrong = [one for one in given if one not in accepted]
    if wrong:
        raise UnknownName(f"option of {text}", wrong[0], accepted)
    given = fitted_options(found, text, given)
    require(text, declared.needs, Group.of(several), given)
    check_complete(found, text, given, _leading(found))
    with arithmetic(text, given):
        paid = [np.asarray(found(record, **given)) for record in several]
    return finite(np.concatenate(paid), text, given)
