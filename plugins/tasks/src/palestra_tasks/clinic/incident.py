"""Incident response: read telemetry, find the cause, and write what to do, alone or as a team.

A study of decision support by agents, and no advice for the operation of any system. A service has
failed after one of several deploys. The player reads panels (alerts, logs, metrics, deploys)
and pages of a runbook, one for each kind of cause, and writes a brief: the cause, commands, and a
risk. Five kinds of cause lie in the service itself; with `causes="ten"` there are five more, among
them a flag that was turned on, a zone that is down and a service on which the failed one depends. A
team of three seats shares the work, as one specialist each for diagnosis, planning and risk; with
`num_players=1` one copilot does all.

With `system="small"`, `"medium"` or `"large"` the failed service is one of 5, 8 or 12 that call
each other (`outage.py`), and each has panels of its own. The player follows failing calls from log
to log, and tells causes apart by metrics or changes. Faults that are over, faults of services that
are not needed and changes that did no harm mislead. `faults="rare"` has kinds that the splits for
training never have. One service alone is a demonstration: it has 60 instances, if names and numbers
do not count.

The decision quality of a brief, after Drammeh, "Multi-Agent LLM Orchestration Achieves
Deterministic, High-Quality Decision Support for Incident Response" (MyAntFarm.ai), 2025: the mean
of validity (the share of commands that exist and name a service that exists), specificity (the
share of commands that name a service and, for a rollback, a version) and correctness (the overlap
of the commands' words with those of the known remedy, as Jaccard's index). Fixed scoring, no judge.
Validity and specificity alone pay any well-formed command, so a brief is paid its quality times the
overlap of its commands with the remedy's, and nothing under another cause than the true one. So
commands for every service are paid little.

Checked: the known remedy scores 1, "look into recent changes" 0; the index against another
library's. The best brief written unread, which knows the failed service from the alert alone, is
paid about what guessing the cause allows: 0.215 over 200 seeds with five causes, 0.115 with ten.
In a system networkx finds one cause, and another reader of all panels finds the remedy.

Left out: logs of real systems, free causes in words, and the seconds that a response takes.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

from palestra import (
    EpisodeRecord,
    InvalidOption,
    Meta,
    OneOf,
    Option,
    Rng,
    Scene,
    Talking,
    Text,
    TextAction,
    environment,
    metric,
)
from palestra.kernel.actions import Domain
from palestra.kernel.rng import check_seed
from palestra.paragraphs import paragraphs
from palestra.scene import Bar, Bars, Colour, Graph, Link, Node, Part, Table

from palestra_tasks.clinic.outage import (
    FAULTS,
    LAG,
    VIEWS,
    Outage,
    draw_outage,
    draw_system,
    imagine_outage,
)
from palestra_tasks.clinic.runbook import (
    COMMANDS,
    FLAGS,
    KINDS,
    RUNBOOK,
    TEN,
    ZONES,
    filled,
    page_text,
)
from palestra_tasks.desk import Final, Reply, TaskGame, TaskState, Turns, shared_end
from palestra_tasks.spectating import spectated

SERVICES = ("auth", "cart", "checkout", "gateway", "orders", "payments", "search", "stock")
PANELS = ("alerts", "deploys", "logs", "metrics")
ROLES = ("diagnosis", "planning", "risk")
RISKS = ("low", "medium", "high")
# What the deploys and the metrics tell of each kind; the logs tell every kind
SIGNS = {
    "deploys": {"deploy": "deploy", "flag": "flag"},
    "metrics": {
        "memory": "memory", "disk": "disk", "traffic": "load", "client": "load", "zone": "zone",
    },
    "logs": {kind: kind for kind in TEN},
}  # fmt: skip
NAMED_IN = {"flag": "deploys", "zone": "metrics", "client": "logs"}  # the panel with the name
_VERSION = re.compile(r"v\d+\.\d+\.\d+")
_NUMBER = re.compile(r"\d{1,3}")
_GAUGE = re.compile(r"(memory|disk|load) (\d+) %")
MOST_READ, BEGINNING = 5, 40  # panels and pages in a picture, and letters of each
FULL = {"memory": 100, "disk": 100, "load": 500}  # percent


class Read(TextAction, frozen=True):
    """Read a panel."""

    panel: str


class Inspect(TextAction, frozen=True):
    """Read a panel of one service of a system."""

    service: str
    panel: str


class Consult(TextAction, frozen=True):
    """Read a page of the runbook."""

    page: str


class Note(TextAction, frozen=True):
    """Tell the team what you think."""

    text: str


class Brief(TextAction, frozen=True):
    """Hand in the brief: the cause, commands one a line, and the risk of carrying them out."""

    cause: str
    commands: str
    risk: str


@dataclass(frozen=True, slots=True)
class Incident:
    """A scenario: its panels, and the remedy that is known."""

    service: str
    kind: str
    panels: dict[str, tuple[str, ...]]
    remedy: tuple[str, ...]
    risk: str
    version: tuple[int, int, int]  # of the service
    replicas: int
    named: str  # the flag, zone or client that is at fault; drawn for every kind
    services: tuple[str, ...] = SERVICES

    @property
    def alert(self) -> str:
        """What everybody reads."""
        return f"Alert: {self.panels['alerts'][0]}.\nServices: {', '.join(self.services)}."

    def lines(self, panel: str) -> tuple[str, ...]:
        """What a panel says."""
        return self.panels[panel]


def _version(rng: Rng) -> tuple[int, int, int]:
    return rng.between(1, 4), rng.below(10), rng.between(1, 20)


def _release(version: tuple[int, int, int], back: int = 0) -> str:
    return f"v{version[0]}.{version[1]}.{version[2] - back}"


@dataclass(frozen=True, slots=True)
class Known:
    """What a draw of a scenario keeps: its kind, and numbers, names and panels if known."""

    kind: str
    version: tuple[int, int, int] | None = None
    replicas: int | None = None
    named: str | None = None
    panels: tuple[tuple[str, tuple[str, ...]], ...] = ()


@lru_cache(maxsize=2048)
def draw_alert(seed: int) -> tuple[str, str, str, int, int]:
    """The failed service and two others; for how many minutes which share of requests fails."""
    rng = Rng.seeded(seed, 41)
    names = list(SERVICES)
    rng.shuffle(names)
    return names[0], names[1], names[2], rng.between(20, 90), rng.between(12, 60)


@lru_cache(maxsize=2048)
def draw_incident(
    seed: int, hidden: int, known: Known | None = None, kinds: tuple[str, ...] = KINDS
) -> Incident:
    """A scenario: `seed` decides the alert, `hidden` what is behind it but for what is known."""
    service, other, third, late, share = draw_alert(seed)
    rng = Rng.seeded(hidden, 42)
    kind, version = rng.choice(kinds), _version(rng)
    replicas = rng.between(2, 5)
    if known:
        kind = known.kind
        version, replicas = known.version or version, known.replicas or replicas
    memory, disk, load = rng.between(40, 60), rng.between(30, 60), rng.between(80, 120)
    recent = rng.between(2, 9) if kind == "deploy" else rng.between(300, 900)
    deploys = [
        f"{recent} minutes before: {service} {_release(version, 1)} -> {_release(version)}",
        f"{rng.between(20, 200)} minutes before: {other} {_release(_version(rng))}, documentation",
        f"{rng.between(200, 900)} minutes before: {third} {_release(_version(rng))}, new logo",
    ]
    rng.shuffle(deploys)
    memory = 98 if kind == "memory" else memory
    disk = 100 if kind == "disk" else disk
    load = rng.between(320, 500) if kind in ("traffic", "client") else load
    calm = f"{other}: memory {rng.between(30, 70)} %, disk {rng.between(30, 70)} %, load 100 %"
    named = (known and known.named) or _name(rng, kind)
    if kind == "flag":
        deploys.append(f"3 minutes before: {service} flag {named} turned on")
    panels = {
        "alerts": (
            f"{service}: {share} % of requests fail for {late} minutes",
            f"{third}: latency up, depends on {service}",
        ),
        "deploys": tuple(deploys),
        "logs": (
            _sign(kind, service, other, _release(version), named),
            f"{third}: call to {service} failed, retried",
            f"{other}: cache warmed",
        ),
        "metrics": (
            f"{service}: memory {memory} %, disk {disk} %, load {load} % of usual, "
            f"{replicas} replicas",
            calm,
            *((f"zone {named}: no replica answers",) if kind == "zone" else ()),
        ),
    }
    panels |= dict(known.panels) if known else {}
    words = {
        "SERVICE": service, "OTHER": other, "VERSION": _release(version, 1),
        "REPLICAS": str(2 * replicas), "FLAG": named, "ZONE": named, "CLIENT": named,
    }  # fmt: skip
    remedy = filled(RUNBOOK[kind].commands, words)
    return Incident(service, kind, panels, remedy, RUNBOOK[kind].risk, version, replicas, named)


def _name(rng: Rng, kind: str) -> str:
    """The flag, zone or client that is at fault; empty where there is none."""
    if kind == "client":
        return f"client-{rng.between(100, 999)}"
    return rng.choice({"flag": FLAGS, "zone": ZONES}.get(kind, ("",)))


def _sign(kind: str, service: str, other: str, release: str, named: str) -> str:
    """What the logs say of a cause."""
    if kind == "dependency":
        return f"{service}: call to {other} timed out; {other}: stuck, no heartbeat"
    said = {
        "deploy": f"NullReference in handler added in {release}",
        "memory": "worker killed, out of memory",
        "disk": "write failed, no space left on device",
        "certificate": "TLS handshake failed, certificate has expired",
        "traffic": "queue full, request shed",
        "connections": "no free connection to the database",
        "flag": "error in a branch that no request took before",
        "zone": "timeouts from the replicas of one zone",
        "client": f"queue full, {named} sent most requests",
    }
    return f"{service}: {said[kind]}"


def possible_kinds(kind: str, shown: Collection[str], kinds: tuple[str, ...] = KINDS) -> list[str]:
    """The kinds of incident that look like one of `kind` on the panels shown."""
    told = [SIGNS[panel] for panel in shown if panel in SIGNS]
    return [one for one in kinds if all(sign.get(one) == sign.get(kind) for sign in told)]


_ARGUMENTS = {
    "rollback": _VERSION,
    "scale": _NUMBER,
    "turn-off": re.compile("|".join(FLAGS)),
    "fail-over": re.compile("|".join(ZONES)),
    "block-client": re.compile(r"client-\d{3}"),
}


def validity(commands: list[str], services: Collection[str] = SERVICES) -> float:
    """The share of commands that can be carried out: known, with a service and an argument."""
    return _share(commands, lambda command: _valid(command, services))


def _valid(command: str, services: Collection[str]) -> bool:
    words = command.split()
    if not words or len(words) != 1 + COMMANDS.get(words[0], 99) or words[1] not in services:
        return False
    return len(words) == 2 or bool(_ARGUMENTS[words[0]].fullmatch(words[2]))


def specificity(commands: list[str], services: Collection[str] = SERVICES) -> float:
    """The share of commands that name a service, and for a rollback a version."""
    return _share(commands, lambda command: _specific(command, services))


def _specific(command: str, services: Collection[str]) -> bool:
    words = command.lower().split()
    named = any(word.strip(".,:") in services for word in words)
    back = any(word.startswith(("rollback", "roll")) for word in words)
    return named and (not back or bool(_VERSION.search(command)))


def _share(commands: list[str], test: Any) -> float:
    return sum(map(test, commands)) / len(commands) if commands else 0.0


def correctness(commands: list[str], remedy: tuple[str, ...]) -> float:
    """Jaccard's index of the words of commands and remedy."""
    said = {word for command in commands for word in command.split()}
    known = {word for command in remedy for word in command.split()}
    return len(said & known) / len(said | known)


def quality(
    commands: list[str], remedy: tuple[str, ...], services: Collection[str] = SERVICES
) -> tuple[float, float, float]:
    """Validity, specificity and correctness of a brief's commands."""
    valid, specific = validity(commands, services), specificity(commands, services)
    return valid, specific, correctness(commands, remedy)


def pay_of(brief: Brief, incident: Incident | Outage) -> float:
    """The quality of a brief times the overlap of its commands; 0 for a wrong cause."""
    if brief.cause != incident.kind:
        return 0.0
    commands = commands_of(brief)
    said, known = set(commands), set(incident.remedy)
    return (
        len(said & known)
        / len(said | known)
        * sum(quality(commands, incident.remedy, incident.services))
        / 3
    )


def commands_of(brief: Brief | None) -> list[str]:
    """The commands of a brief, one for each line that is not empty."""
    lines = brief.commands.splitlines() if brief else []
    return [" ".join(line.split()) for line in lines if line.strip()]


@dataclass(slots=True, kw_only=True)
class IncidentState(TaskState):
    """The state of a response."""

    seed: int  # of the alert
    hidden: int  # of what is behind it
    kinds: tuple[str, ...] = KINDS  # that there are
    known: Known | None = None  # what a fork keeps of it
    shown: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()  # of the runbook, that were read
    speaker: int = 0
    brief: Brief | None = None
    outage: Outage | None = None  # of a system, in place of `seed` and `hidden`


def incident_of(state: IncidentState) -> Incident:
    return draw_incident(state.seed, state.hidden, state.known, state.kinds)


def scenario_of(state: IncidentState) -> Incident | Outage:
    """What is behind the alert, in one service or in a system."""
    return state.outage or incident_of(state)


SYSTEM_RULES = """
    This is a simulation for the study of agents, and no advice for any system. Services call each
    other. One fails if it has a fault itself, or if a service that it needs fails; it goes on
    without those that it can do without. The alert is about one service that fails. Exactly one of
    those that it needs, directly or through others, has a fault: the cause. Others may have faults
    that are not what the alert is about.

    Read panels of a service (logs, metrics, changes), as in Inspect(service='NAME', panel='logs'),
    and pages of the runbook, as in Consult(page='CAUSE'), then hand in a brief:
    Brief(cause='CAUSE', commands='…', risk='low'). Write one command a line, in the runbook's form,
    with the names and numbers of this incident in place of the words in capitals. The remedy is
    what the page of the cause asks for. If the log of the alerted service, or of one that it needs
    directly or through others, says that connections stay broken, it is also what the page
    'callers' asks for, once for each such service.

    A line of a log without an end is still going on. A release or a flag that is the cause came
    less than 5 minutes before the service failed.

    A brief with another cause than the true one is paid nothing. With the true one it is paid the
    mean of three shares (commands that can be carried out, commands that are specific, and the
    overlap of their words with the known remedy) times the overlap of its commands with those of
    the remedy: how many are in both, as a share of those in either. The risk is recorded and not
    paid.
"""


@environment(
    "tasks/Incident-v0",
    family="text",
    tags=("simulated-people", "hidden-information", "messages"),
    paper=(
        "Drammeh (2025), Multi-Agent LLM Orchestration Achieves Deterministic, High-Quality "
        "Decision Support for Incident Response"
    ),
    splits={
        "copilot": {"num_players": 1},
        "team": {"num_players": 3},
        "one-service": {"system": "none", "turns": 12},
        "ten-causes": {"system": "none", "causes": "ten", "turns": 12},
        "small": {"system": "small", "faults": "common", "turns": 16},
        "medium": {"system": "medium", "faults": "common", "turns": 20},
        "large": {"system": "large", "faults": "common", "turns": 24},
        "held-out-small": {"system": "small", "faults": "rare", "turns": 16},
        "held-out-medium": {"system": "medium", "faults": "rare", "turns": 20},
        "held-out-large": {"system": "large", "faults": "rare", "turns": 24},
    },
)
@dataclass(frozen=True)
class IncidentResponse(Talking, TaskGame[IncidentState]):
    """One copilot or a team of three responds to an incident with a brief that is scored.

    There are no numbered actions. Every seat is paid the brief's decision quality times the
    overlap of its commands with the remedy's, 0 to 1; 0 for a wrong cause. A brief written unread
    is paid about 1 / causes at best.
    """

    num_players: Annotated[
        int, Meta(ge=1, le=3, description="1: a copilot; up to 3: a team, a specialist a seat")
    ] = 1
    causes: Annotated[
        Literal["five", "ten"],
        Meta(
            description="kinds of cause; ten: also a flag, a zone, a client, a dependency, others"
        ),
    ] = "five"
    system: Annotated[
        Literal["none", "small", "medium", "large"],
        Meta(
            description="services that call each other, of which one is at fault, in place of "
            "`causes`: 5 of them (small), 8 or 12; none: one service alone, a demonstration"
        ),
    ] = "medium"
    faults: Annotated[
        Literal["all", "common", "rare"],
        Meta(description="kinds of fault in a system; rare: client, zone, certificate, held out"),
    ] = "all"
    turns: Turns = 20

    rules_text = """
        This is a simulation for the study of agents, and no advice for any system. A service has
        failed. Read panels, as in Read(panel='logs'), and pages of the runbook, one for each kind
        of cause, as in Consult(page='CAUSE'), then hand in a brief: Brief(cause='CAUSE',
        commands='…', risk='low'). Write one command a line, in the runbook's form, with the names
        and numbers of this incident in place of the words in capitals.

        A brief with another cause than the true one is paid nothing. With the true one it is paid
        the mean of three shares (commands that can be carried out, commands that are specific, and
        the overlap of their words with the known remedy) times the overlap of its commands with
        those of the remedy: how many are in both, as a share of those in either. The risk is
        recorded and not paid.
    """
    payoffs = "common"
    action_types = (Read, Inspect, Consult, Note, Brief)

    def validate(self) -> None:
        if self.system == "none" and self.faults != "all":
            raise InvalidOption(
                f"faults={self.faults!r} is for a system; set system to small, medium or large"
            )
        if self.system != "none" and self.causes != "five":
            raise InvalidOption(
                f"causes={self.causes!r} is for one service alone; set system='none'"
            )

    def rules_for(self, seat: int) -> str:
        rules = super().rules_for(seat) if self.system == "none" else paragraphs(SYSTEM_RULES)
        if self.num_players == 1:
            return rules
        role = ROLES[seat]
        work = {
            "diagnosis": "You are the specialist for diagnosis.",
            "planning": "You are the specialist for planning the commands.",
            "risk": "You are the specialist for risk.",
        }[role]
        last = ROLES[self.num_players - 1]
        return (
            f"{rules}\n{work} You are a team of {self.num_players} and act in "
            f"turn; tell the others what you think with Note(text='…'). Only the specialist for "
            f"{last} hands in the brief. All are paid the same."
        )

    def initial_state(self, seed: int | None = None) -> IncidentState:
        rng = Rng.seeded(check_seed(seed))
        if self.system != "none":
            system = draw_system(Rng.seeded(rng.word(), 43), self.system, self.faults)
            outage = draw_outage(system, Rng.seeded(rng.word(), 44))
            return IncidentState(rng=rng, seed=0, hidden=0, kinds=FAULTS["all"], outage=outage)
        kinds = TEN if self.causes == "ten" else KINDS
        return IncidentState(rng=rng, seed=rng.word(), hidden=rng.word(), kinds=kinds)

    def acting(self, state: IncidentState) -> int:
        return state.speaker

    def statement(self, state: IncidentState, seat: int) -> str:
        return scenario_of(state).alert

    def notes(self, state: IncidentState, seat: int) -> tuple[str, ...]:
        scenario = scenario_of(state)
        read = tuple(f"{panel}: {'; '.join(scenario.lines(panel))}" for panel in state.shown)
        return (*read, *(f"Runbook, {page_text(page)}" for page in state.pages))

    def options(self, state: IncidentState, seat: int) -> tuple[Option, ...]:
        kinds = OneOf(state.kinds)
        if state.outage:
            services = state.outage.services
            service, pages = services[0], OneOf((*state.kinds, "callers"))
            read = Option(Inspect, {"service": OneOf(services), "panel": OneOf(VIEWS)})
        else:  # nothing hidden, so that the time tells nothing either
            service, pages = draw_alert(state.seed)[0], kinds
            read = Option(Read, {"panel": OneOf(PANELS)})
        options = [read, Option(Consult, {"page": pages})]
        if self.num_players > 1:
            options.append(Option(Note, {"text": Text(600, ("I see.", "It is the deploy."))}))
        if seat == self.num_players - 1:
            commands = Text(1000, (f"restart {service}", ""))
            fields: dict[str, Domain] = {"cause": kinds, "commands": commands, "risk": OneOf(RISKS)}
            options.append(Option(Brief, fields))
        return tuple(options)

    def respond(self, state: IncidentState, seat: int, action: Any) -> Reply:
        state.speaker = (seat + 1) % self.num_players
        if isinstance(action, Note):
            said = f"{self.players[seat]} notes: {self.quoted(action.text)}"
            return Reply(said, {"said": action.text}, kind="message")
        if isinstance(action, Brief):
            state.brief, state.closed = action, True
            written = f"{action.cause}: {action.commands}"
            said = f"{self.players[seat]} hands in a brief: {self.quoted(written)}"
            return Reply(said, {"said": action.commands}, kind="brief")
        if isinstance(action, Consult):
            state.pages = tuple(sorted({*state.pages, action.page}))
            return Reply(f"Runbook, {page_text(action.page)}", {"page": action.page})
        panel = action.panel
        if isinstance(action, Inspect):
            panel = f"{action.service} {action.panel}"
        state.shown = tuple(sorted({*state.shown, panel}))
        lines = scenario_of(state).lines(panel)
        return Reply(f"{panel}: {'; '.join(lines)}", {"panel": panel})

    def settle(self, state: IncidentState) -> Final:
        incident, brief = scenario_of(state), state.brief
        parts = quality(commands_of(brief), incident.remedy, incident.services)
        score = pay_of(brief, incident) if brief else 0.0
        remedy = "; ".join(incident.remedy)
        reason = (
            f"Paid {score:.4f}, of a decision quality of {sum(parts) / 3:.4f}. The cause: "
            f"{incident.kind}. The known remedy: {remedy}."
        )
        facts = {
            "cause_right": bool(brief and brief.cause == incident.kind),
            "validity": parts[0],
            "specificity": parts[1],
            "correctness": parts[2],
            "risk_right": bool(brief and brief.risk == incident.risk),
            "actionable": parts[0] == 1.0 and parts[1] == 1.0,
        }
        return shared_end(score, self.num_players, reason, facts)

    def determinize(self, state: IncidentState, seat: int, rng: Rng) -> IncidentState:
        """Draw another scenario with the same alert and the same panels shown."""
        copy, shown = self.copy_for(state, seat), state.shown
        if state.outage:
            copy.outage = imagine_outage(state.outage, shown, rng)
            return copy
        true = incident_of(state)
        kind = rng.choice(possible_kinds(true.kind, shown, state.kinds))
        dated = "deploys" in shown or ("logs" in shown and kind == "deploy")
        copy.known = Known(
            kind,
            true.version if dated else None,
            true.replicas if "metrics" in shown else None,
            true.named if NAMED_IN.get(kind) in shown else None,
            tuple((panel, true.panels[panel]) for panel in shown),
        )
        copy.hidden = rng.word()
        return copy

    def scene(self, state: IncidentState, seat: int | None = None) -> Scene:
        return spectated(super().scene(state, seat), seat, self._caption(state, seat))

    def _caption(self, state: IncidentState, seat: int | None) -> str:
        failed = state.outage.system.names[0] if state.outage else draw_alert(state.seed)[0]
        if seat is not None:
            return f"{failed} fails"
        scenario = scenario_of(state)
        where = f" in {state.outage.system.names[state.outage.cause]}" if state.outage else ""
        named = f", named: {state.brief.cause}" if state.brief else ""
        return f"{failed} fails. Cause: {scenario.kind}{where}{named}"

    def picture(self, state: IncidentState, seat: int | None) -> tuple[Part, ...]:
        """The services, what was read of them, and for a spectator the brief beside the remedy."""
        map_of = _service_graph(state) if state.outage is None else _call_graph(state, seat)
        if seat is not None:  # the notes say what was read
            return (map_of,)
        if state.brief:
            return (map_of, _brief_table(state.brief, scenario_of(state).remedy))
        return (map_of, *_gauges(state), *_read_table(state))


def _service_graph(state: IncidentState) -> Graph:
    """The services; the one that fails is red, and one that depends on it orange, once read of."""
    failed, _, third, _, _ = draw_alert(state.seed)
    told = "alerts" in state.shown
    colours = {failed: "red", third: "orange" if told else "silver"}
    order = sorted(SERVICES, key=lambda name: (name != failed, name))
    nodes = tuple(
        Node("!" if name == failed else "", colours.get(name, "silver"), name) for name in order
    )
    calls = Link(order.index(third), 0, colour="red", directed=True)
    return Graph(nodes, (calls,) if told else ())


def _call_graph(state: IncidentState, seat: int | None) -> Graph:
    """Who calls whom: callers above, needed calls thick, and how many panels were read of whom.

    The alerted service is red; a spectator also sees those that fail (orange) and the cause (gold).
    """
    outage = state.outage
    assert outage is not None
    system, read = outage.system, [panel.partition(" ")[0] for panel in state.shown]
    depths = [(system.alert - system.fails_at(n)) // LAG for n in range(len(system.names))]

    def colour(service: int) -> Colour:
        if seat is None and service == outage.cause:
            return "gold"
        if service == 0:
            return "red"
        return "orange" if seat is None and service in outage.failing else "silver"

    nodes = []
    for service, name in enumerate(system.names):
        row = [n for n, depth in enumerate(depths) if depth == depths[service]]
        across = (row.index(service) + 0.5 + 0.2 * (depths[service] % 2)) / len(row)
        place = (min(1.0, across), depths[service] / max(depths))
        count = read.count(name)
        nodes.append(Node(f"{count}" * bool(count), colour(service), name, place))
    links = [
        Link(caller, one, colour=colours, weight=weight, directed=True)
        for calls, colours, weight in ((system.needs, "grey", 1.3), (system.uses, -1, 0.6))
        for caller, called in enumerate(calls)
        for one in called
    ]
    return Graph(tuple(nodes), tuple(links))


def _gauges(state: IncidentState) -> tuple[Bars, ...]:
    """The metrics of the service that fails, where they were read."""
    if state.outage or "metrics" not in state.shown:
        return ()
    values = _GAUGE.findall(scenario_of(state).lines("metrics")[0])
    return (
        Bars(
            tuple(
                Bar(f"{name} %", float(value), FULL[name], _gauge_colour(name, int(value)))
                for name, value in values
            )
        ),
    )


def _gauge_colour(name: str, percent: int) -> Colour:
    return "red" if percent > (300 if name == "load" else 95) else "green"


def _read_table(state: IncidentState) -> tuple[Table, ...]:
    """What panels and pages of the runbook said."""
    scenario = scenario_of(state)
    rows = [(panel, "; ".join(scenario.lines(panel))) for panel in state.shown]
    rows += [(f"runbook {page}", page_text(page).partition(": ")[2]) for page in state.pages]
    shown = tuple(
        (name, text if len(text) <= BEGINNING else f"{text[: BEGINNING - 2]} …")
        for name, text in rows[-MOST_READ:]
    )
    return (Table(("read", "it says"), shown),) if rows else ()


def _brief_table(brief: Brief, remedy: tuple[str, ...]) -> Table:
    """The commands of a brief and of the remedy, and where each stands."""
    written = commands_of(brief)
    rows = [(line, "yes", "yes" if line in remedy else "no") for line in written]
    rows += [(line, "no", "yes") for line in remedy if line not in written]
    colours = tuple("green" if row[1:] == ("yes", "yes") else "red" for row in rows)
    return Table(("command", "in the brief", "in the remedy"), tuple(rows), "brief", colours)


@metric("decision-quality", measures=("tasks/Incident-v0",), bounds=(0.0, 1.0), better="higher")
def decision_quality(record: EpisodeRecord) -> dict[str, float] | None:
    """Validity, specificity and correctness of the brief, whatever cause it names."""
    found = [event.data["verdict"] for event in record.events if "verdict" in event.data]
    names = ("validity", "specificity", "correctness")
    return {name: float(found[-1][name]) for name in names} if found else None
