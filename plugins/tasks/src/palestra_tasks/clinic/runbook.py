"""The runbook of incident response: kinds of cause, how to know them, and what to do."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

KINDS = ("deploy", "memory", "disk", "certificate", "traffic")
TEN = (*KINDS, "connections", "flag", "zone", "client", "dependency")
COMMANDS = {
    "rollback": 2, "restart": 1, "scale": 2, "rotate-certificate": 1, "clean-disk": 1,
    "reset-connections": 1, "turn-off": 2, "fail-over": 2, "block-client": 2,
}  # fmt: skip
FLAGS = ("new-login", "fast-path", "dark-mode", "bulk-writes")
ZONES = ("north", "south", "east")


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
    "callers": Page(
        "beside any cause: connections of a service between the fault and the alert stay broken",
        ("reset-connections CALLER",),
    ),
}


def page_text(kind: str) -> str:
    """A page of the runbook as it is read."""
    page = RUNBOOK[kind]
    return f"{kind}: {page.sign}. Commands: {'; '.join(page.commands)}. Risk: {page.risk}."


def filled(commands: Collection[str], words: Mapping[str, str]) -> tuple[str, ...]:
    """Commands of the runbook with the words of an incident."""
    return tuple(" ".join(words.get(word, word) for word in line.split()) for line in commands)
