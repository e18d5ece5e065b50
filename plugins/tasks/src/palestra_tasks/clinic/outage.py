"""Systems of services that call each other, in which one is at fault: what their panels show.

Everybody knows the names and who calls whom (`System`). Hidden is which services have a fault and
of which kind (`Outage.faults`), and what the panels show beside it (`Outage.noise`, a word for each
panel). A service fails if it has a fault or if a service that it needs fails. Exactly one of the
services that the first one needs, directly or through others, has a fault: the cause. Services that
it does not need may have faults of their own, which mislead.

A log has signs that several kinds share; metrics and changes tell these apart. What misleads beside
it: faults that are over, calls that failed and recovered, values that are high every day, releases
and flags that came too late or too early, or at the right time and did no harm.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any

from palestra import Rng

from palestra_tasks.clinic.runbook import FLAGS, RUNBOOK, ZONES, filled

WORDS: dict[str, Any] = tomllib.loads(
    files(__package__).joinpath("outage.toml").read_text(encoding="utf-8")
)
SIGN = {kind: sign for sign, kinds in WORDS["signs"].items() for kind in kinds}
FAULTS = {
    "common": tuple(WORDS["faults"]["common"]),
    "rare": tuple(WORDS["faults"]["rare"]),
    "all": (*WORDS["faults"]["common"], *WORDS["faults"]["rare"]),
}
VIEWS = ("logs", "metrics", "changes")
CHANGED = ("deploy", "flag")  # kinds that the changes show, and the metrics do not
LATER = 30  # minutes after the alert at which panels are read
LAG = 2  # minutes after which a service fails that needs one that fails
JUST = 5  # minutes before a fault in which the change came that it is due to
FITTING = 3 / 16  # of draws of changes fit a fault of one of the kinds that they show
STUCK = 40  # percent of failing callers whose connections stay broken


@dataclass(frozen=True, slots=True)
class System:
    """What everybody knows: names, calls, and the minute of the day of the alert."""

    size: str
    kinds: tuple[str, ...]  # of faults that there may be
    names: tuple[str, ...]
    needs: tuple[tuple[int, ...], ...]  # by caller, who is called and needed
    uses: tuple[tuple[int, ...], ...]  # by caller, who is called and can be done without
    alert: int

    @property
    def called(self) -> str:
        """Who calls whom, in lines."""
        return "\n".join(map(self._calls_of, range(len(self.names))))

    def _calls_of(self, service: int) -> str:
        needs, uses = (
            ", ".join(sorted(self.names[one] for one in calls[service]))
            for calls in (self.needs, self.uses)
        )
        without = f"; can do without {uses}" if uses else ""
        return f"- {self.names[service]} needs {needs or 'no other'}{without}"

    def reach(self, start: int) -> list[int]:
        """A service and those it needs, directly or through others."""
        found = [start]
        for service in found:
            found += [one for one in self.needs[service] if one not in found]
        return found

    def fails_at(self, service: int) -> int:
        """The minute in which a service fails, if it does: before all its callers."""
        return self.alert - LAG * _depths(self)[service]


@lru_cache(maxsize=4096)
def _depths(system: System) -> tuple[int, ...]:
    """The most calls on a way from the first service to each."""
    depths = [0] * len(system.names)
    for caller, (needs, uses) in enumerate(zip(system.needs, system.uses, strict=True)):
        for one in (*needs, *uses):
            depths[one] = max(depths[one], depths[caller] + 1)
    return tuple(depths)


@lru_cache(maxsize=4096)
def _reaches(system: System) -> tuple[frozenset[int], ...]:
    """By service, those whose fault makes it fail: itself, and whom it needs."""
    return tuple(frozenset(system.reach(one)) for one in range(len(system.names)))


def draw_system(rng: Rng, size: str, faults: str) -> System:
    """A system whose first service needs at least half of the others, and not all."""
    form = WORDS["sizes"][size]
    while True:
        needs, uses = _draw_calls(rng, form)
        names = list(WORDS["services"])
        rng.shuffle(names)
        system = System(
            size, FAULTS[faults], tuple(names[: form["services"]]), needs, uses,
            rng.between(600, 1400),
        )  # fmt: skip
        if form["services"] // 2 <= len(system.reach(0)) - 1 < form["services"] - 1:
            return system


def _draw_calls(rng: Rng, form: dict[str, int]) -> tuple[Any, Any]:
    """Calls from services to later ones, needed or not; everybody but the first is called."""
    count = form["services"]
    calls = [(rng.between(max(0, one - 3), one - 1), one) for one in range(1, count)]
    while len(calls) < count - 1 + form["extra"]:
        one = rng.between(2, count - 1)
        call = (rng.below(one), one)
        calls += [call] * (call not in calls)
    needs: list[list[int]] = [[] for _ in range(count)]
    uses: list[list[int]] = [[] for _ in range(count)]
    for caller, one in calls:
        (uses if rng.below(100) < form["optional"] else needs)[caller].append(one)
    return tuple(map(tuple, needs)), tuple(map(tuple, uses))


@dataclass(frozen=True)
class Outage:
    """A system in which one of the services that the first one needs is at fault."""

    system: System
    faults: tuple[str, ...]  # by service, the kind; empty for none
    noise: tuple[int, ...]  # by service and view, what its panel shows beside

    @cached_property
    def cause(self) -> int:
        """The service at fault."""
        return next(one for one in self.system.reach(0) if self.faults[one])

    @property
    def kind(self) -> str:
        return self.faults[self.cause]

    @cached_property
    def failing(self) -> frozenset[int]:
        """The services that fail."""
        faulty = [one for one, kind in enumerate(self.faults) if kind]
        reach = _reaches(self.system)
        return frozenset(n for n, whom in enumerate(reach) if not whom.isdisjoint(faulty))

    @cached_property
    def alert(self) -> str:
        """What everybody reads."""
        system, now = self.system, clock(self.system.alert + LATER)
        said = f"Alert at {clock(system.alert)}: {system.names[0]} fails. It is {now} now."
        return f"{said}\n{system.called}"

    def lines(self, panel: str) -> tuple[str, ...]:
        """What a panel says, as in 'cart logs'."""
        name, _, view = panel.partition(" ")
        return _panel(self, self.system.names.index(name), view) or ("nothing",)

    def word(self, service: int, view: str) -> int:
        """The random word of a panel."""
        return self.noise[len(VIEWS) * service + VIEWS.index(view)]

    @cached_property
    def stuck(self) -> tuple[int, ...]:
        """Services that the first one needs, whose connections stay broken."""
        reach = sorted(self.system.reach(0))
        return tuple(one for one in reach if _is_stuck(self, one))

    @property
    def services(self) -> tuple[str, ...]:
        return tuple(sorted(self.system.names))

    @property
    def risk(self) -> str:
        return RUNBOOK[self.kind].risk

    @cached_property
    def remedy(self) -> tuple[str, ...]:
        """The commands of the cause, and those for connections that stay broken."""
        names, cause = self.system.names, self.cause
        changes, metrics = self.changes(cause), _metrics(self.word(cause, "metrics"), self.kind)
        words = {
            "SERVICE": names[cause],
            "VERSION": changes.before,
            "FLAG": changes.flag,
            "REPLICAS": str(2 * metrics["replicas"]),
            "ZONE": metrics["zone"],
            "CLIENT": metrics["client"],
        }
        page = RUNBOOK["callers"].commands
        resets = [line for one in self.stuck for line in filled(page, {"CALLER": names[one]})]
        return (*filled(RUNBOOK[self.kind].commands, words), *resets)

    def changes(self, service: int) -> Changes:
        return _changes(self.word(service, "changes"))


@dataclass(frozen=True, slots=True)
class Changes:
    """What was changed in a service, and how many minutes after it would fail; before it if < 0."""

    before: str  # the release before the running one
    running: str
    released: int
    flag: str
    turned: int

    def fits(self, kind: str) -> bool:
        """Whether a fault of this kind is possible: its change came just before, the other not."""
        recent = tuple(-JUST < when < 0 for when in (self.released, self.turned))
        return kind not in CHANGED or recent == (kind == "deploy", kind == "flag")

    def weight(self, kind: str) -> float:
        """How much likelier these changes are with a fault of this kind than without."""
        return self.fits(kind) / (FITTING if kind in CHANGED else 1)


@lru_cache(maxsize=8192)
def _changes(word: int) -> Changes:
    rng = Rng.seeded(word, 51)
    major, minor, patch = rng.between(1, 4), rng.below(10), rng.between(1, 20)
    times = [_time_of_change(rng) for _ in CHANGED]
    release = f"v{major}.{minor}."
    return Changes(
        f"{release}{patch - 1}", f"{release}{patch}", times[0], rng.choice(FLAGS), times[1]
    )


def _time_of_change(rng: Rng) -> int:
    """Just before a service would fail, after it, or long before."""
    near, late, early = rng.between(-4, -1), rng.between(3, 25), rng.between(-500, -90)
    return (near, late, late, early)[rng.below(4)]


@lru_cache(maxsize=8192)
def _metrics(word: int, kind: str) -> dict[str, Any]:
    """The numbers of a service; a value that is high every day is no fault."""
    rng = Rng.seeded(word, 52)
    memory, disk = rng.between(40, 95), rng.between(30, 95)
    rate, used = 10 * rng.between(8, 60), rng.between(20, 95)
    seen: dict[str, Any] = {
        "memory": (memory + rng.below(4), memory),
        "disk": (disk + rng.below(4), disk),
        "rate": (rate + rng.below(20), rate),
        "used": (used + rng.below(4), used),
        "share": rng.between(4, 30),
        "client": f"client-{rng.between(100, 999)}",
        "zone": rng.choice(ZONES),
        "replicas": rng.between(2, 9),
        "days": rng.between(2, 300),
    }
    usual, times, most = rng.between(40, 80), rng.between(3, 5), rng.between(70, 95)
    full, high, grown = rng.between(96, 99), rng.between(90, 97), rng.below(4)
    # of memory and disk, the other is as full, and was so yesterday
    changed: dict[str, dict[str, Any]] = {
        "memory": {"memory": (full, usual), "disk": (min(99, high + grown), high)},
        "disk": {"disk": (full, usual), "memory": (min(99, high + grown), high)},
        "traffic": {"rate": (times * rate, rate)},
        "client": {"rate": (times * rate, rate), "share": most},
        "connections": {"used": (100, usual)},
    }
    return seen | changed.get(kind, {})


def clock(minute: int) -> str:
    """A minute of the day as 'HH:MM'."""
    return f"{minute // 60 % 24:02}:{minute % 60:02}"


@lru_cache(maxsize=8192)
def _panel(outage: Outage, service: int, view: str) -> tuple[str, ...]:
    if view == "logs":
        return tuple(f"{clock(when)} {line}" for when, line in sorted(_logs(outage, service)))
    begins = outage.system.fails_at(service)
    if view == "metrics":
        kind = outage.faults[service]
        return _metric_lines(_metrics(outage.word(service, view), kind), kind, begins)
    seen = outage.changes(service)
    lines = [
        (seen.released, f"release {seen.before} -> {seen.running}"),
        (seen.turned, f"flag {seen.flag} turned on"),
    ]
    return tuple(f"{clock(begins + when)} {line}" for when, line in sorted(lines))


def _metric_lines(seen: dict[str, Any], kind: str, begins: int) -> tuple[str, ...]:
    zones = ", ".join(
        f"{zone} {'does not answer' if kind == 'zone' and zone == seen['zone'] else 'answers'}"
        for zone in ZONES
    )
    valid = f"expired at {clock(begins)}" if kind == "certificate" else f"{seen['days']} days left"
    (memory, usual), (disk, before) = seen["memory"], seen["disk"]
    return (
        f"memory {memory} %, yesterday {usual} %",
        f"disk {disk} %, yesterday {before} %",
        f"{seen['rate'][0]} requests a second, yesterday {seen['rate'][1]}; most by "
        f"{seen['client']}, {seen['share']} %",
        f"{seen['used'][0]} of 100 database connections, yesterday {seen['used'][1]}",
        f"{seen['replicas']} replicas; zones: {zones}",
        f"certificate: {valid}",
    )


def _logs(outage: Outage, service: int) -> Iterator[tuple[int, str]]:
    """The lines of a log with their minutes."""
    system, faults, failing = outage.system, outage.faults, outage.failing
    begins, rng = system.fails_at(service), Rng.seeded(outage.word(service, "logs"), 53)
    rng.word()  # which decides whether connections stay broken
    old = begins - rng.between(60, 400)
    sign, lasts = SIGN[rng.choice(system.kinds)], rng.between(2, 9)
    if rng.below(100) < WORDS["sizes"][system.size]["old"]:
        yield old, f"{sign}; over at {clock(old + lasts)}"
    called = sorted((*system.needs[service], *system.uses[service]))
    for one in called:
        needed, name = one in system.needs[service], system.names[one]
        effect = "requests fail" if needed else "a default is used"
        when, again = begins - rng.between(30, 300), rng.between(1, 6)
        if rng.below(100) < WORDS["sizes"][system.size]["old"] // 2:
            yield when, f"calls to {name} fail, {effect}; over at {clock(when + again)}"
        if one in failing:
            yield system.fails_at(one) + 1, f"calls to {name} fail, {effect}"
    if faults[service]:
        yield begins, SIGN[faults[service]]
    if _is_stuck(outage, service):
        yield begins, "connections to the failed service stay broken"


def _is_stuck(outage: Outage, service: int) -> bool:
    """Whether a service fails only by those it needs, and its connections stay broken."""
    drawn = Rng.seeded(outage.word(service, "logs"), 53).word() % 100 < STUCK
    return drawn and service in outage.failing and not outage.faults[service]


# Drawing


def draw_outage(system: System, rng: Rng) -> Outage:
    """An outage of a system: one service that is needed has a fault, and half of the others."""
    reach = system.reach(0)
    cause = rng.choice(sorted(reach[1:]))
    faults = tuple(
        rng.choice(system.kinds) if one == cause or (one not in reach and rng.below(2) == 0) else ""
        for one in range(len(system.names))
    )
    return Outage(system, faults, tuple(_noise(k, view, rng) for k in faults for view in VIEWS))


def imagine_outage(true: Outage, panels: Collection[str], rng: Rng) -> Outage:
    """An outage drawn from its chances, given what the panels that were shown say."""
    system = true.system
    shown = {one: _views(name, panels) for one, name in enumerate(system.names)}
    weights = [_weights(true, one, views) for one, views in shown.items()]
    worlds, chances = [], []
    for faulty in _possible(system):
        if any(_looks_other(true, faulty, one) for one, seen in shown.items() if "logs" in seen):
            continue
        chance = 1.0
        for one, (sound, kinds) in enumerate(weights):
            chance *= sum(kinds) / len(kinds) if one in faulty else sound
        worlds.append(faulty)
        chances.append(chance)
    faulty = worlds[rng.weighted(chances)]
    faults = tuple(
        system.kinds[rng.weighted(kinds)] if one in faulty else ""
        for one, (_, kinds) in enumerate(weights)
    )
    noise = tuple(
        true.word(one, view) if view in shown[one] else _noise(kind, view, rng)
        for one, kind in enumerate(faults)
        for view in VIEWS
    )
    return replace(true, faults=faults, noise=noise)


def _views(name: str, panels: Collection[str]) -> tuple[str, ...]:
    """The views of a service among panels."""
    return tuple(view for view in VIEWS if f"{name} {view}" in panels)


@lru_cache(maxsize=1024)
def _possible(system: System) -> tuple[frozenset[int], ...]:
    """Every set of services that may have a fault: one that is needed, any that are not.

    A service that is not needed has a fault in one of two cases, so the sets are equally likely.
    """
    reach = system.reach(0)
    rest = [one for one in range(len(system.names)) if one not in reach]
    return tuple(
        frozenset((cause, *(one for bit, one in enumerate(rest) if bits >> bit & 1)))
        for cause in sorted(reach[1:])
        for bits in range(2 ** len(rest))
    )


def _looks_other(true: Outage, faulty: frozenset[int], service: int) -> bool:
    """Whether a log would show other failures if these services had faults."""
    system, reach = true.system, _reaches(true.system)
    return any(
        (one in true.failing) == faulty.isdisjoint(reach[one])
        for one in (*system.needs[service], *system.uses[service])
    )


def _weights(true: Outage, service: int, views: tuple[str, ...]) -> tuple[float, list[float]]:
    """How likely the panels shown are if a service is sound, and by the kind of its fault."""
    has, kinds = true.faults[service], true.system.kinds
    sound, weights = 1.0, [1.0] * len(kinds)
    if "logs" in views:
        sound *= not has
        weights = [
            w * (SIGN[kind] == SIGN.get(has)) for w, kind in zip(weights, kinds, strict=True)
        ]
    if "metrics" in views:
        shown = has if has not in CHANGED else ""
        sound *= not shown
        weights = [
            w * (kind == shown or (not shown and kind in CHANGED))
            for w, kind in zip(weights, kinds, strict=True)
        ]
    if "changes" in views:
        changes = true.changes(service)
        weights = [w * changes.weight(kind) for w, kind in zip(weights, kinds, strict=True)]
    return sound, weights


def _noise(kind: str, view: str, rng: Rng) -> int:
    """A random word for a panel; that of changes fits the fault."""
    word = rng.word()
    while view == "changes" and kind in CHANGED and not _changes(word).fits(kind):
        word = rng.word()
    return word
