"""Outages of systems: causes by networkx, remedies from all panels, worlds by rejection."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import networkx as nx
import palestra
import pytest
from palestra import InvalidOption, Rng
from palestra.kernel.registry import registry
from palestra.testing.kit import CHECKS, Subject, run_check
from palestra_tasks.clinic.incident import Brief, IncidentResponse, Inspect, Note, pay_of
from palestra_tasks.clinic.outage import (
    FAULTS,
    SIGN,
    VIEWS,
    Outage,
    draw_outage,
    draw_system,
    imagine_outage,
)
from palestra_tasks.clinic.responders import RunbookReader, Seen
from sklearn.metrics import jaccard_score

SIZES = ("small", "medium", "large")
SPLITS = registry().environment("tasks/Incident-v0").splits


def drawn(seed: int, size: str = "large", faults: str = "all") -> Outage:
    return draw_outage(draw_system(Rng.seeded(seed), size, faults), Rng.seeded(seed, 9))


def needed(alert: str) -> nx.DiGraph:
    """Who needs whom, by the words of an alert."""
    graph = nx.DiGraph()
    for name, called in re.findall(r"^- (\w+) needs ([^;\n]*)", alert, re.MULTILINE):
        graph.add_edges_from((name, one) for one in called.split(", ") if one != "no other")
    return graph


def going_on(outage: Outage, name: str) -> list[str]:
    return [line for line in outage.lines(f"{name} logs") if "over at" not in line]


def remedy_of(outage: Outage) -> tuple[str, list[str]]:
    """The cause and commands, from the words of all panels that the alerted service may need."""
    first = re.findall(r": (\w+) fails", outage.alert)[0]
    concerned = [first, *sorted(nx.descendants(needed(outage.alert), first))]
    ((name, line),) = (
        (name, line)
        for name in concerned
        for line in going_on(outage, name)
        if any(sign in line for sign in SIGN.values())
    )
    metrics = "; ".join(outage.lines(f"{name} metrics"))
    changes = [(x[:5], x[6:].split()) for x in outage.lines(f"{name} changes")]
    before = max((c for c in changes if c[0] < line[:5]), default=None)
    now = dict(re.findall(r"(memory|disk) (\d+) %", metrics))
    usual = dict(re.findall(r"(memory|disk) \d+ %, yesterday (\d+)", metrics))
    told = {
        "exception": ("deploy", f"rollback {name} {before[1][1]}")
        if before and before[1][0] == "release"
        else ("flag", f"turn-off {name} {before[1][1] if before else ''}"),
        "workers": ("memory", f"restart {name}")
        if int(now["memory"]) - int(usual["memory"]) > int(now["disk"]) - int(usual["disk"])
        else ("disk", f"clean-disk {name}\nrestart {name}"),
        "queue": ("client", f"block-client {name} {re.findall('client-[0-9]+', metrics)[0]}")
        if int(re.findall(r"client-\d+, (\d+)", metrics)[0]) > 50
        else ("traffic", f"scale {name} {2 * int(re.findall('([0-9]+) replicas', metrics)[0])}"),
        "wait": ("zone", f"fail-over {name} {''.join(re.findall('([a-z]+) does not', metrics))}")
        if "does not" in metrics
        else ("connections", f"reset-connections {name}"),
        "handshake": ("certificate", f"rotate-certificate {name}\nrestart {name}"),
    }
    kind, commands = next(remedy for word, remedy in told.items() if word in line)
    broken = [one for one in concerned if any("stay broken" in x for x in going_on(outage, one))]
    return kind, [*commands.split("\n"), *(f"reset-connections {one}" for one in broken)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("faults", ["common", "rare", "all"])
def test_who_reads_all_panels_knows_the_cause_and_the_remedy(size: str, faults: str) -> None:
    for seed in range(40):
        outage = drawn(seed, size, faults)
        kind, commands = remedy_of(outage)
        assert (kind, sorted(commands)) == (outage.kind, sorted(outage.remedy))
        assert pay_of(Brief(kind, "\n".join(commands), "low"), outage) == pytest.approx(1)


@pytest.mark.parametrize("size", SIZES)
def test_one_needed_service_has_a_fault_and_who_needs_a_faulty_one_fails(size: str) -> None:
    for seed in range(60):
        outage = drawn(seed, size)
        names, graph = outage.system.names, needed(outage.alert)
        graph.add_nodes_from(names)
        faulty = {name for name, kind in zip(names, outage.faults, strict=True) if kind}
        (cause,) = faulty & nx.descendants(graph, names[0])
        assert cause == names[outage.cause]
        fails = faulty.union(*(nx.ancestors(graph, one) for one in faulty))
        assert fails == {names[one] for one in outage.failing}
        assert nx.is_directed_acyclic_graph(graph)


def test_hardly_two_instances_of_a_split_are_alike() -> None:
    """Who calls whom and needs it, which faults there are, and whose connections stay broken."""
    for split, least in (("small", 950), ("medium", 995), ("large", 1000)):
        game = IncidentResponse(**SPLITS[split])
        found = [game.initial_state(seed).outage for seed in range(1000)]
        kinds = {(o.system.needs, o.system.uses, o.faults, o.stuck) for o in found if o}
        assert len(kinds) >= least, split


def test_rare_faults_are_in_no_common_system_nor_in_its_logs() -> None:
    for faults, others in (("common", "rare"), ("rare", "common")):
        found = [drawn(seed, "medium", faults) for seed in range(150)]
        kinds = {kind for outage in found for kind in outage.faults if kind}
        assert kinds == set(FAULTS[faults])
        assert not kinds & set(FAULTS[others])
    signs = {line for o in found for n in o.system.names for line in o.lines(f"{n} logs")}
    assert not [line for line in signs if "workers die" in line or "exception" in line]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seats", [1, 3])
def test_the_reference_is_right_within_the_turns_of_a_split(size: str, seats: int) -> None:
    for split in (size, f"held-out-{size}"):
        options = {**SPLITS[split], "num_players": seats}
        records = palestra.play(
            "tasks/Incident-v0", agents="incident-runbook", episodes=8, **options
        )
        assert [record.returns[0] for record in records] == pytest.approx([1] * 8)


class EveryTime(Seen):
    """Takes faults that are over for faults that go on."""

    def going_on(self, service: str) -> list[str]:
        return re.split(r"; (?=\d\d:)", self.panel(service, "logs") or "")


class EveryCall(Seen):
    """Follows calls that can be done without as well."""

    def failing(self) -> list[str]:
        found = re.findall(r"^Alert at \S+ (\S+) fails", self.position, re.MULTILINE)
        for service in found:
            called = re.findall(r"to (\S+) fail,", "\n".join(self.going_on(service)))
            found += [one for one in called if one not in found]
        return found


class FirstCause(Seen):
    """Takes a sign for the first of its causes."""

    def cause(self, service: str, kinds: Any) -> tuple[str, dict[str, str]]:
        return kinds[0], {"VERSION": "v1.1.1", **super().cause(service, kinds)[1]}


class NoCallers(Seen):
    """Mends the cause alone."""

    def stuck(self, service: str) -> bool:
        return False


class LastChange(Seen):
    """Takes the last change for the cause."""

    def _change(self, service: str, changes: str, words: dict[str, str]) -> tuple[str, Any]:
        last = changes.split("; ")[-1].split()
        flag = last[1] == "flag"
        return ("flag" if flag else "deploy"), words | {"FLAG" if flag else "VERSION": last[2]}


@pytest.mark.parametrize("reading", [EveryTime, EveryCall, FirstCause, NoCallers, LastChange])
def test_no_shortcut_earns_nine_tenths_of_the_reference(reading: type[Seen]) -> None:
    agent, paid = RunbookReader(), 0.0
    for seed in range(60):
        episode = palestra.Episode(IncidentResponse(**SPLITS["large"]), seed)
        while not episode.over:
            try:
                step = agent.trace(reading(episode.describe(0)), "Brief(")
            except (StopIteration, ValueError):  # nothing more that it would read
                step = Brief("deploy", "restart x", "low")
            episode.act({0: step})
        paid += episode.returns[0]
    assert paid / 60 < 0.9


@pytest.mark.parametrize("split", ["small", "medium", "large", "held-out-small", "held-out-large"])
def test_commands_for_every_service_earn_little(split: str) -> None:
    """The true cause, its commands for all services, and connections of all reset."""
    game, paid = IncidentResponse(**SPLITS[split]), 0.0
    for seed in range(60):
        outage = game.initial_state(seed).outage
        assert outage is not None
        said = [line.split(" ") for line in outage.remedy]
        lines = {
            f"{name} {' '.join([service, *rest])}"
            for name, _, *rest in said
            for service in outage.services
        }
        lines |= {f"reset-connections {service}" for service in outage.services}
        paid += pay_of(Brief(outage.kind, "\n".join(sorted(lines)), "low"), outage) / 60
    assert 0 < paid < 0.3


@pytest.mark.parametrize("extra", range(5))
def test_a_command_too_many_costs_as_much_as_it_dilutes(extra: int) -> None:
    """By scikit-learn's index of commands and of words; all are valid and name a service."""
    outage = drawn(7)
    more = [f"restart {one}" for one in outage.services if f"restart {one}" not in outage.remedy]
    said = [*outage.remedy, *more[:extra]]

    def index(*both: list[str]) -> float:
        every = sorted({one for some in both for one in some})
        return float(jaccard_score(*([one in some for one in every] for some in both)))

    words = index(" ".join(said).split(), " ".join(outage.remedy).split())
    wanted = index(said, list(outage.remedy)) * (1 + 1 + words) / 3
    paid = pay_of(Brief(outage.kind, "\n".join(said), "low"), outage)
    assert paid == pytest.approx(wanted)


@pytest.mark.parametrize("panels", [(), (0,), (0, 2), (1, 3)])
def test_imagined_faults_are_as_likely_as_drawn_ones_that_look_the_same(
    panels: tuple[int, ...],
) -> None:
    """By rejection: outages of one system, of which those are kept whose logs say the same."""
    system = draw_system(Rng.seeded(5), "small", "common")
    shown = tuple(f"{system.names[one]} logs" for one in panels)
    true, rng = draw_outage(system, Rng.seeded(17)), Rng.seeded(18)
    alike = [
        (o.cause, o.faults)
        for o in (draw_outage(system, rng) for _ in range(3000))
        if failures(o, panels) == failures(true, panels)
    ]
    imagined = [imagine_outage(true, shown, rng) for _ in range(1500)]
    assert all(o.lines(panel) == true.lines(panel) for o in imagined for panel in shown)
    one, two = Counter(alike), Counter((o.cause, o.faults) for o in imagined)
    far = sum(abs(one[x] / len(alike) - two[x] / 1500) for x in one | two) / 2
    assert far < 1.5 * (len(one | two) / (6 * min(len(alike), 1500))) ** 0.5 + 0.02


def failures(outage: Outage, services: tuple[int, ...]) -> list[Any]:
    """What logs say of faults and failing calls."""
    system = outage.system
    return [
        (
            SIGN.get(outage.faults[one]),
            [n in outage.failing for n in (*system.needs[one], *system.uses[one])],
        )
        for one in services
    ]


def test_changes_that_were_read_make_their_faults_likelier_by_bayes() -> None:
    """A recent release alone: 16/3 times as likely with a fault by a release as with another."""
    system = draw_system(Rng.seeded(5), "small", "common")
    one = system.reach(0)[1]
    true = next(
        o
        for n in range(999)
        if (o := draw_outage(system, Rng.seeded(n))).changes(one).fits("deploy")
    )
    shown = (f"{system.names[one]} changes",)
    kinds = Counter(imagine_outage(true, shown, Rng(n)).faults[one] for n in range(3000))
    assert kinds["flag"] == 0
    other = sum(kinds[kind] for kind in ("memory", "disk", "traffic", "connections")) / 4
    assert kinds["deploy"] / other == pytest.approx(16 / 3, rel=0.25)


@pytest.mark.parametrize("check", sorted(CHECKS))
def test_a_large_system_of_two_seats_passes_the_conformance_tests(check: str) -> None:
    options = {"num_players": 2, "system": "large", "faults": "rare", "turns": 9}
    verdict = run_check(Subject(registry().environment("tasks/Incident-v0"), options), check)
    assert verdict.status != "failed", verdict.detail


def test_a_team_reads_one_anothers_panels_and_the_last_hands_in() -> None:
    episode = palestra.Episode(IncidentResponse(num_players=3, system="small"), 0)
    name = episode.state.outage.services[0]
    episode.act({0: Inspect(name, VIEWS[1])})
    assert f"\n{name} metrics: memory" in episode.describe(2)
    episode.act({1: Note("It is the disk.")})
    assert "Brief(" in str(episode.game.legal(episode.state, 2))
    assert "Brief(" not in str(episode.game.legal(episode.state, 1))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"system": "none", "faults": "rare"}, "set system to small"),
        ({"system": "small", "causes": "ten"}, "set system='none'"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidOption, match=words):
        IncidentResponse(**options)
