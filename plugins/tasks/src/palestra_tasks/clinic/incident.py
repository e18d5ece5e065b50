"""Incident response: read telemetry, find the cause, and write what to do, alone or as a team.

A study of decision support by agents, and no advice for the operation of any system. A service has
failed after one of several deploys. The player reads panels (alerts, logs, metrics, deploys)
and pages of a runbook, one for each kind of cause, and writes a brief: the cause, commands, and a
risk. Five kinds of cause lie in the service itself; with `causes="ten"` there are five more, among
them a flag that was turned on, a zone that is down and a service on which the failed one depends. A
team of three seats shares the work, as one specialist each for diagnosis, planning and risk; with
`num_players=1` one copilot does all.

The decision quality of a brief, after Drammeh, "Multi-Agent LLM Orchestration Achieves
Deterministic, High-Quality Decision Support for Incident Response" (MyAntFarm.ai), 2025: the mean
of validity (the share of commands that exist and name a service that exists), specificity (the
share of commands that name a service and, for a rollback, a version) and correctness (the overlap
of the commands' words with those of the known remedy, as Jaccard's index). Fixed scoring, no judge.
Validity and specificity alone pay any well-formed command, so a brief is paid its quality times the
share of the remedy's commands that it holds, and nothing under another cause than the true one.

Checked: the known remedy scores 1, "look into recent changes" 0; the index against another
library's. The best brief written unread, which knows the failed service from the alert alone, is
paid about what guessing the cause allows: 0.215 over 200 seeds with five causes, 0.115 with ten.

Left out: logs of real systems, free causes in words, and the seconds that a response takes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

from palestra import (
    EpisodeRecord,
    Meta,
    OneOf,
    Option,
    Rng,
    ScriptedAgent,
    Talking,
    Text,
    TextAction,
    Turn,
    agent,
    environment,
    metric,
)
from palestra.kernel.actions import Domain
from palestra.kernel.rng import check_seed

from palestra_tasks.desk import Final, Reply, TaskGame, TaskState, Turns, shared_end

SERVICES = ("auth", "cart", "checkout", "gateway", "orders", "payments", "search", "stock")
PANELS = ("alerts", "deploys", "logs", "metrics")
ROLES = ("diagnosis", "planning", "risk")
RISKS = ("low", "medium", "high")
KINDS = ("deploy", "memory", "disk", "certificate", "traffic")
TEN = (*KINDS, "connections", "flag", "zone", "client", "dependency")
COMMANDS = {
    "rollback": 2, "restart": 1, "scale": 2, "rotate-certificate": 1, "clean-disk": 1,
    "reset-connections": 1, "turn-off": 2, "fail-over": 2, "block-client": 2,
}  # fmt: skip
FLAGS = ("new-login", "fast-path", "dark-mode", "bulk-writes")
ZONES = ("north", "south", "east")
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


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the runbook: how to know a cause, and what to do about it."""

    sign: str
    commands: tuple[str, ...]  # with capitals for what an incident fills in
    risk: str = "low"  # of carrying them out


RUNBOOK = {
    "deploy": Page(
        "a handler that the running release added fails; VERSION is the one before it",
        ("rollback SERVICE VERSION",),
        "medium",
    ),
    "memory": Page("workers are killed, out of memory", ("restart SERVICE",)),
    "disk": Page("no space is left", ("clean-disk SERVICE", "restart SERVICE"), "medium"),
    "certificate": Page(
        "an expired certificate breaks the handshake",
        ("rotate-certificate SERVICE", "restart SERVICE"),
    ),
    "traffic": Page(
        "requests are shed under load from everywhere; REPLICAS is twice those that run",
        ("scale SERVICE REPLICAS",),
    ),
    "connections": Page("no connection to the database is free", ("reset-connections SERVICE",)),
    "flag": Page("the feature of a flag that was turned on fails", ("turn-off SERVICE FLAG",)),
    "zone": Page("the replicas of one zone are down", ("fail-over SERVICE ZONE",), "high"),
    "client": Page("one client sends most requests", ("block-client SERVICE CLIENT",), "medium"),
    "dependency": Page("OTHER, which the service calls, is stuck", ("restart OTHER",)),
}


def page_text(kind: str) -> str:
    """A page of the runbook as it is read."""
    page = RUNBOOK[kind]
    return f"{kind}: {page.sign}. Commands: {'; '.join(page.commands)}. Risk: {page.risk}."


class Read(TextAction, frozen=True):
    """Read a panel."""

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


def filled(commands: Collection[str], words: Mapping[str, str]) -> tuple[str, ...]:
    """Commands of the runbook with the words of an incident."""
    return tuple(" ".join(words.get(word, word) for word in line.split()) for line in commands)


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


def validity(commands: list[str]) -> float:
    """The share of commands that can be carried out: known, with a service and an argument."""
    return _share(commands, _valid)


def _valid(command: str) -> bool:
    words = command.split()
    if not words or len(words) != 1 + COMMANDS.get(words[0], 99) or words[1] not in SERVICES:
        return False
    return len(words) == 2 or bool(_ARGUMENTS[words[0]].fullmatch(words[2]))


def specificity(commands: list[str]) -> float:
    """The share of commands that name a service, and for a rollback a version."""
    return _share(commands, _specific)


def _specific(command: str) -> bool:
    words = command.lower().split()
    named = any(word.strip(".,:") in SERVICES for word in words)
    back = any(word.startswith(("rollback", "roll")) for word in words)
    return named and (not back or bool(_VERSION.search(command)))


def _share(commands: list[str], test: Any) -> float:
    return sum(map(test, commands)) / len(commands) if commands else 0.0


def correctness(commands: list[str], remedy: tuple[str, ...]) -> float:
    """Jaccard's index of the words of commands and remedy."""
    said = {word for command in commands for word in command.split()}
    known = {word for command in remedy for word in command.split()}
    return len(said & known) / len(said | known)


def quality(commands: list[str], remedy: tuple[str, ...]) -> tuple[float, float, float]:
    """Validity, specificity and correctness of a brief's commands."""
    return validity(commands), specificity(commands), correctness(commands, remedy)


def pay_of(brief: Brief, incident: Incident) -> float:
    """The quality of a brief times the share of the remedy it holds; 0 for a wrong cause."""
    if brief.cause != incident.kind:
        return 0.0
    commands = commands_of(brief)
    held = _share(list(incident.remedy), commands.__contains__)
    return held * sum(quality(commands, incident.remedy)) / 3


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


def incident_of(state: IncidentState) -> Incident:
    return draw_incident(state.seed, state.hidden, state.known, state.kinds)


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
        "ten-causes": {"causes": "ten"},
    },
)
@dataclass(frozen=True)
class IncidentResponse(Talking, TaskGame[IncidentState]):
    """One copilot or a team of three responds to an incident with a brief that is scored.

    There are no numbered actions. Every seat is paid the brief's decision quality times the
    share of the remedy that it holds, 0 to 1; 0 for a wrong cause. A brief written unread is paid
    about 1 / causes at best.
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
    turns: Turns = 12

    rules_text = """
        This is a simulation for the study of agents, and no advice for any system. A service has
        failed. Read panels, as in Read(panel='logs'), and pages of the runbook, one for each kind
        of cause, as in Consult(page='CAUSE'), then hand in a brief: Brief(cause='CAUSE',
        commands='…', risk='low'). Write one command a line, in the runbook's form, with the names
        and numbers of this incident in place of the words in capitals.

        A brief with another cause than the true one is paid nothing. With the true one it is paid
        the mean of three shares (commands that can be carried out, commands that are specific, and
        the overlap of their words with the known remedy) times the share of the remedy's commands
        that it holds. The risk is recorded and not paid.
    """
    payoffs = "common"
    action_types = (Read, Consult, Note, Brief)

    def rules_for(self, seat: int) -> str:
        rules = super().rules_for(seat)
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
        kinds = TEN if self.causes == "ten" else KINDS
        return IncidentState(rng=rng, seed=rng.word(), hidden=rng.word(), kinds=kinds)

    def acting(self, state: IncidentState) -> int:
        return state.speaker

    def statement(self, state: IncidentState, seat: int) -> str:
        alert = incident_of(state).panels["alerts"][0]
        return f"Alert: {alert}.\nServices: {', '.join(SERVICES)}."

    def notes(self, state: IncidentState, seat: int) -> tuple[str, ...]:
        panels = incident_of(state).panels
        read = tuple(f"{panel}: {'; '.join(panels[panel])}" for panel in state.shown)
        return (*read, *(f"Runbook, {page_text(page)}" for page in state.pages))

    def options(self, state: IncidentState, seat: int) -> tuple[Option, ...]:
        service = draw_alert(state.seed)[0]  # nothing hidden, so that the time tells nothing either
        kinds = OneOf(state.kinds)
        options = [Option(Read, {"panel": OneOf(PANELS)}), Option(Consult, {"page": kinds})]
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
        state.shown = tuple(sorted({*state.shown, action.panel}))
        lines = incident_of(state).panels[action.panel]
        return Reply(f"{action.panel}: {'; '.join(lines)}", {"panel": action.panel})

    def settle(self, state: IncidentState) -> Final:
        incident, brief = incident_of(state), state.brief
        parts = quality(commands_of(brief), incident.remedy)
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
        copy, true, shown = self.copy_for(state, seat), incident_of(state), state.shown
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


SEEN = (  # a cause, and the words of the panels by which the reference knows it
    ("dependency", r"(?P<OTHER>\w+): stuck"),
    ("zone", r"zone (?P<ZONE>\S+): no replica"),
    ("client", r"(?P<CLIENT>client-\d+) sent most"),
    ("flag", r"flag (?P<FLAG>\S+) turned on"),
    ("deploy", r"NullReference in handler added in (?P<now>\S+)"),
    ("memory", r"out of memory"),
    ("disk", r"no space"),
    ("certificate", r"certificate has expired"),
    ("traffic", r"request shed"),
    ("connections", r"no free connection"),
)


@agent("incident-runbook", kind="solver")
class RunbookReader(ScriptedAgent[IncidentResponse]):
    """Reads logs, metrics and deploys, then the page of the cause, and writes what it says."""

    def choose(self, turn: Turn[IncidentResponse]) -> Any:
        position = turn.position
        for panel in ("logs", "deploys", "metrics"):
            if f"\n{panel}: " not in position:
                return Read(panel)
        kind, words = self._cause(position)
        page = re.search(rf"\nRunbook, {kind}: .*Commands: (.*)\. Risk: (\w+)", position)
        if not page:
            return Consult(kind)
        if "Brief(" not in turn.legal_text:
            return Note(f"The cause is {kind}; its page is read.")
        return Brief(kind, "\n".join(filled(page[1].split("; "), words)), page[2])

    def _cause(self, position: str) -> tuple[str, dict[str, str]]:
        """The cause on the panels, and what fills in the capitals of its page."""
        service = position.split("Alert: ", 1)[1].split(":", 1)[0]
        kind, seen = next((k, m) for k, words in SEEN if (m := re.search(words, position)))
        words = {"SERVICE": service, **seen.groupdict()}
        if back := re.search(rf"{service} (v\S+) -> v", position):
            words["VERSION"] = back[1]
        if replicas := re.search(rf"\n?{service}: memory .*?(\d+) replicas", position):
            words["REPLICAS"] = str(2 * int(replicas[1]))
        return kind, words


@agent("incident-vague", kind="scripted")
class Vague(ScriptedAgent[IncidentResponse]):
    """Reads nothing and says what fits every incident."""

    def choose(self, turn: Turn[IncidentResponse]) -> Any:
        if "Brief(" not in turn.legal_text:
            return Note("Somebody should look at it.")
        return Brief("deploy", "look into recent changes", "medium")


@metric("decision-quality", measures=("tasks/Incident-v0",), bounds=(0.0, 1.0), better="higher")
def decision_quality(record: EpisodeRecord) -> dict[str, float] | None:
    """Validity, specificity and correctness of the brief, whatever cause it names."""
    found = [event.data["verdict"] for event in record.events if "verdict" in event.data]
    names = ("validity", "specificity", "correctness")
    return {name: float(found[-1][name]) for name in names} if found else None
