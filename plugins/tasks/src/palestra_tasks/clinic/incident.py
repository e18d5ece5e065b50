"""Incident response: read telemetry, find the cause, and write what to do, alone or as a team.

A study of decision support by agents, and no advice for the operation of any system. A service has
failed after one of several deploys. The player reads panels (alerts, logs, metrics, deploys) and
writes a brief: the cause, commands, and a risk. Five kinds of cause lie in the service itself; with
`causes="ten"` there are five more, among them a flag that was turned on, a zone that is down and a
service on which the failed one depends. A team of three seats shares the work, as one
specialist each for diagnosis, planning and risk; with `num_players=1` one copilot does all.

The decision quality of a brief, after Drammeh, "Multi-Agent LLM Orchestration Achieves
Deterministic, High-Quality Decision Support for Incident Response" (MyAntFarm.ai), 2025: the mean
of validity (the share of commands that exist and name a service that exists), specificity (the
share of commands that name a service and, for a rollback, a version) and correctness (the overlap
of the commands' words with those of the known remedy, as Jaccard's index). Fixed scoring, no judge.

Checked: the known remedy scores 1, "look into recent changes" 0; the index against another
library's.

Left out: logs of real systems, and the seconds that a response takes.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

from palestra import (
    EpisodeRecord,
    Meta,
    OneOf,
    Option,
    PalestraError,
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
MORE_RULES = (
    "\nThere are more commands: 'reset-connections SERVICE' where none to the database is free, "
    "'turn-off SERVICE FLAG' for a flag whose feature fails, 'fail-over SERVICE ZONE' away from a "
    "zone that is down, and 'block-client SERVICE CLIENT' where one client sends most requests. If "
    "a service fails because another one is stuck, the other one is restarted."
)


class Read(TextAction, frozen=True):
    """Read a panel."""

    panel: str


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
    risk = {"deploy": "medium", "disk": "medium", "zone": "high", "client": "medium"}
    remedy = _remedy(kind, service, other, _release(version, 1), replicas, named)
    return Incident(service, kind, panels, remedy, risk.get(kind, "low"), version, replicas, named)


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


def _remedy(
    kind: str, service: str, other: str, back: str, replicas: int, named: str
) -> tuple[str, ...]:
    """The commands that are known to help."""
    return {
        "deploy": (f"rollback {service} {back}",),
        "memory": (f"restart {service}",),
        "disk": (f"clean-disk {service}", f"restart {service}"),
        "certificate": (f"rotate-certificate {service}", f"restart {service}"),
        "traffic": (f"scale {service} {2 * replicas}",),
        "connections": (f"reset-connections {service}",),
        "flag": (f"turn-off {service} {named}",),
        "zone": (f"fail-over {service} {named}",),
        "client": (f"block-client {service} {named}",),
        "dependency": (f"restart {other}",),
    }[kind]


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


@dataclass(slots=True, kw_only=True)
class IncidentState(TaskState):
    """The state of a response."""

    seed: int  # of the alert
    hidden: int  # of what is behind it
    kinds: tuple[str, ...] = KINDS  # that there are
    known: Known | None = None  # what a fork keeps of it
    shown: tuple[str, ...] = ()
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

    There are no numbered actions. Every seat is paid the brief's decision quality, 0 to 1.
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
        failed. Read panels, as in Read(panel='logs'), then hand in a brief:
        Brief(cause='…', commands='…', risk='low'). Write one command a line: 'rollback SERVICE
        VERSION', 'restart SERVICE', 'scale SERVICE REPLICAS', 'rotate-certificate SERVICE' or
        'clean-disk SERVICE'. A service out of memory is restarted; a full disk is cleaned and an
        expired certificate rotated, and the service restarted after that; a bad deploy is rolled
        back to the version before; too much traffic is met with twice the replicas.

        You are paid the mean of three shares: commands that can be carried out, commands that are
        specific, and the overlap of their words with the known remedy.
    """
    payoffs = "common"
    action_types = (Read, Note, Brief)

    def rules_for(self, seat: int) -> str:
        rules = super().rules_for(seat)
        if self.causes == "ten":
            rules += MORE_RULES
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
        return tuple(f"{panel}: {'; '.join(panels[panel])}" for panel in state.shown)

    def options(self, state: IncidentState, seat: int) -> tuple[Option, ...]:
        service = draw_alert(state.seed)[0]  # nothing hidden, so that the time tells nothing either
        options = [Option(Read, {"panel": OneOf(PANELS)})]
        if self.num_players > 1:
            options.append(Option(Note, {"text": Text(600, ("I see.", "It is the deploy."))}))
        if seat == self.num_players - 1:
            commands = Text(1000, (f"restart {service}", ""))
            cause = Text(600, ("unknown",))
            fields: dict[str, Domain] = {"cause": cause, "commands": commands, "risk": OneOf(RISKS)}
            options.append(Option(Brief, fields))
        return tuple(options)

    def respond(self, state: IncidentState, seat: int, action: Any) -> Reply:
        state.speaker = (seat + 1) % self.num_players
        if isinstance(action, Note):
            said = f"{self.players[seat]} notes: {self.quoted(action.text)}"
            return Reply(said, {"said": action.text}, kind="message")
        if isinstance(action, Brief):
            state.brief, state.closed = action, True
            said = f"{self.players[seat]} hands in a brief: {self.quoted(action.commands)}"
            return Reply(said, {"said": action.commands}, kind="brief")
        state.shown = tuple(sorted({*state.shown, action.panel}))
        lines = incident_of(state).panels[action.panel]
        return Reply(f"{action.panel}: {'; '.join(lines)}", {"panel": action.panel})

    def settle(self, state: IncidentState) -> Final:
        incident, brief = incident_of(state), state.brief
        lines = brief.commands.splitlines() if brief else []
        commands = [line.strip() for line in lines if line.strip()]
        parts = quality(commands, incident.remedy)
        score = sum(parts) / 3
        remedy = "; ".join(incident.remedy)
        reason = f"Decision quality {score:.4f}. The known remedy: {remedy}."
        facts = {
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


@agent("incident-runbook", kind="solver")
class Runbook(ScriptedAgent[IncidentResponse]):
    """Reads logs, metrics and deploys, and writes what the rules say for the sign it finds."""

    def choose(self, turn: Turn[IncidentResponse]) -> Any:
        position = turn.position
        for panel in ("logs", "deploys", "metrics"):
            if f"\n{panel}: " not in position:
                return Read(panel)
        if "Brief(" not in turn.legal_text:
            return Note("All panels that matter are read.")
        found = re.search(r"\nlogs: (.*)", position)
        deploys = re.search(r"\ndeploys: (.*)", position)
        metrics = re.search(r"\nmetrics: (.*)", position)
        first = re.search(r"Alert: (\w+):", position)
        if not (found and deploys and metrics and first):
            raise PalestraError("a panel that was read is not shown")  # the game shows them all
        service = first[1]
        sign = next(line for line in found[1].split("; ") if line.startswith(f"{service}:"))
        if "out of memory" in sign:
            commands = f"restart {service}"
        elif "NullReference" in sign:
            back = re.search(rf"{service} (v\S+) -> v", deploys[1])
            commands = f"rollback {service} {back[1] if back else ''}"
        elif "no space" in sign:
            commands = f"clean-disk {service}\nrestart {service}"
        elif "certificate" in sign:
            commands = f"rotate-certificate {service}\nrestart {service}"
        elif "shed" in sign:
            replicas = re.search(rf"{service}: memory .*?(\d+) replicas", metrics[1])
            commands = f"scale {service} {2 * int(replicas[1]) if replicas else 2}"
        else:
            commands = _more_commands(service, sign, f"{found[1]}; {deploys[1]}; {metrics[1]}")
        return Brief(sign, commands, "low")


def _more_commands(service: str, sign: str, panels: str) -> str:
    """What the rules say for the five causes that not every incident has."""
    for command, pattern in (
        ("turn-off", rf"{service} flag (\S+) turned on"),
        ("fail-over", r"zone (\S+): no replica"),
        ("block-client", r"(client-\d+) sent most"),
    ):
        if found := re.search(pattern, panels):
            return f"{command} {service} {found[1]}"
    if stuck := re.search(r"(\w+): stuck", panels):
        return f"restart {stuck[1]}"
    return f"reset-connections {service}"


@agent("incident-vague", kind="scripted")
class Vague(ScriptedAgent[IncidentResponse]):
    """Reads nothing and says what fits every incident."""

    def choose(self, turn: Turn[IncidentResponse]) -> Any:
        if "Brief(" not in turn.legal_text:
            return Note("Somebody should look at it.")
        return Brief("a recent change", "look into recent changes", "medium")


@metric("decision-quality", measures=("tasks/Incident-v0",), bounds=(0.0, 1.0), better="higher")
def decision_quality(record: EpisodeRecord) -> dict[str, float] | None:
    """Validity, specificity and correctness of the brief."""
    found = [event.data["verdict"] for event in record.events if "verdict" in event.data]
    names = ("validity", "specificity", "correctness")
    return {name: float(found[-1][name]) for name in names} if found else None
