"""Agents for incident response: one reads a single service, the others trace faults in a system."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from palestra import ScriptedAgent, Turn, agent

from palestra_tasks.clinic.incident import Brief, Consult, IncidentResponse, Inspect, Note, Read
from palestra_tasks.clinic.outage import CHANGED, JUST, WORDS
from palestra_tasks.clinic.runbook import filled

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


@dataclass(frozen=True, slots=True)
class Seen:
    """What the position of a seat says of a system."""

    followed: ClassVar[str] = r"to (\S+) fail, requests"  # calls that a failing service needs

    position: str

    def panel(self, service: str, view: str) -> str | None:
        """A panel, or None if it was not read."""
        found = re.search(rf"^{service} {view}: (.*)$", self.position, re.MULTILINE)
        return found[1] if found else None

    def page(self, kind: str) -> list[str]:
        """The commands of a page, and last its risk; empty if it was not read."""
        form = rf"^Runbook, {kind}: .*Commands: (.*)\. Risk: (\w+)"
        found = re.search(form, self.position, re.MULTILINE)
        return [*found[1].split("; "), found[2]] if found else []

    def going_on(self, service: str) -> list[str]:
        """The lines of a log that are not over."""
        lines = re.split(r"; (?=\d\d:)", self.panel(service, "logs") or "")
        return [line for line in lines if "over at" not in line]

    def failing(self) -> list[str]:
        """Services that are known to fail: the alerted one, and those it needs that fail."""
        found = re.findall(r"^Alert at \S+ (\S+) fails", self.position, re.MULTILINE)
        for service in found:
            called = re.findall(self.followed, "\n".join(self.going_on(service)))
            found += [one for one in called if one not in found]
        return found

    def sign(self, service: str) -> str | None:
        """The sign of a fault that is not over."""
        lines = self.going_on(service)
        return next((sign for sign in WORDS["signs"] if any(sign in line for line in lines)), None)

    def stuck(self, service: str) -> bool:
        """Whether connections of a service stay broken."""
        return any("stay broken" in line for line in self.going_on(service))

    def cause(self, service: str, kinds: Sequence[str]) -> tuple[str, dict[str, str]]:
        """Which of the kinds the panels show, and what fills in the capitals of its page."""
        words = {"SERVICE": service}
        metrics, changes = self.panel(service, "metrics"), self.panel(service, "changes")
        if metrics is None:
            return self._change(service, changes or "", words)
        words["REPLICAS"] = str(2 * int(re.findall(r"(\d+) replicas", metrics)[0]))
        client, share = re.findall(r"most by (\S+), (\d+) %", metrics)[0]
        memory, usual = map(int, re.findall(r"memory (\d+) %, yesterday (\d+)", metrics)[0])
        away = re.findall(r"(\w+) does not answer", metrics)
        words |= {"CLIENT": client, "ZONE": away[0] if away else ""}
        yes = {"memory": memory > usual + 10, "zone": bool(away), "client": int(share) > 50}
        rest = next(kind for kind in kinds if kind not in yes)
        return next((kind for kind in kinds if yes.get(kind)), rest), words

    def _change(self, service: str, changes: str, words: dict[str, str]) -> tuple[str, Any]:
        """The change just before a fault."""
        (began,) = (minute(x) for x in self.going_on(service) if self.sign(service) in x)  # type: ignore[operator]
        for line in changes.split("; "):
            if -JUST < minute(line) - began < 0:
                if "flag" in line:
                    return "flag", words | {"FLAG": re.findall(r"flag (\S+)", line)[0]}
                return "deploy", words | {"VERSION": re.findall(r"release (\S+)", line)[0]}
        raise ValueError(f"no change of {service} came just before its fault: {changes}")


class FirstSign(Seen):
    """A reading that takes every failing call for one that is needed, and of a sign one cause."""

    followed = r"to (\S+) fail,"

    def cause(self, service: str, kinds: Sequence[str]) -> tuple[str, dict[str, str]]:
        _, words = super().cause(service, kinds)
        return kinds[0], words


def minute(line: str) -> int:
    """The minute of the day with which a line begins."""
    return 60 * int(line[:2]) + int(line[3:5])


@agent("incident-runbook", kind="solver")
class RunbookReader(ScriptedAgent[IncidentResponse]):
    """Reads logs, metrics and deploys, then the page of the cause, and writes what it says."""

    reading: ClassVar[type[Seen]] = Seen

    def choose(self, turn: Turn[IncidentResponse]) -> Any:
        position = turn.position
        if "Inspect(" in turn.legal_text:
            return self.trace(self.reading(position), turn.legal_text)
        for panel in ("logs", "deploys", "metrics"):
            if f"\n{panel}: " not in position:
                return Read(panel)
        kind, words = self._cause(position)
        page = Seen(position).page(kind)
        if not page:
            return Consult(kind)
        if "Brief(" not in turn.legal_text:
            return Note(f"The cause is {kind}; its page is read.")
        *commands, risk = page
        return Brief(kind, "\n".join(filled(commands, words)), risk)

    def trace(self, seen: Seen, legal: str) -> Any:
        """The next step in a system: logs along failing calls, then what tells its causes apart."""
        failing = seen.failing()
        for service in failing:
            if seen.panel(service, "logs") is None:
                return Inspect(service, "logs")
        service, sign = next((one, sign) for one in failing if (sign := seen.sign(one)))
        kinds = WORDS["signs"][sign]
        view = "changes" if set(kinds) <= set(CHANGED) else "metrics"
        if seen.panel(service, view) is None:
            return Inspect(service, view)
        kind, words = seen.cause(service, kinds)
        stuck = [one for one in failing if seen.stuck(one)]
        for page in (kind, *(["callers"] if stuck else [])):
            if not seen.page(page):
                return Consult(page)
        if "Brief(" not in legal:
            return Note(f"The cause is {kind} in {service}.")
        *commands, risk = seen.page(kind)
        lines = list(filled(commands, words))
        for one in stuck:
            lines += filled(seen.page("callers")[:-1], {"CALLER": one})
        return Brief(kind, "\n".join(lines), risk)

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


@agent("incident-hasty", kind="scripted")
class Hasty(RunbookReader):
    """As `incident-runbook`; in a system it follows every call, and of a sign takes one cause."""

    reading = FirstSign


@agent("incident-vague", kind="scripted")
class Vague(ScriptedAgent[IncidentResponse]):
    """Reads nothing and says what fits every incident."""

    def choose(self, turn: Turn[IncidentResponse]) -> Any:
        if "Brief(" not in turn.legal_text:
            return Note("Somebody should look at it.")
        return Brief("deploy", "look into recent changes", "medium")
