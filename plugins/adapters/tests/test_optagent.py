"""OptAgent: who reads whom follows the edits, and edits by grades change what is decided."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import networkx as nx
import palestra
import pytest
from adapter_worlds import Free, last, trail
from hypothesis import given
from hypothesis import strategies as st
from palestra import Budget
from palestra.agents.models import Request
from palestra_adapters.teams.optagent import OptAgent, edited, first_links, read_grades

DOORS = trail({"start": {"left": 0.0, "right": 1.0}}, top=1.0)
SIGN = "The sign says so."
SHOWN = re.compile(r"^(\d+) -> (\d+): robustness (\d+), coherence (\d+)", re.MULTILINE)


def go(side: str, why: str = "I think so.") -> str:
    return f"Thought: {why}\nAction: Go(to='{side}')"


def knows(_: Request) -> str:
    return go("right", SIGN)


def heard(request: Request) -> str:
    """What a member has read of others."""
    return last(request).partition("What the members have answered:")[2]


def believes_the_sign(request: Request) -> str:
    return go("right", SIGN) if SIGN in heard(request) else go("left")


def follows_the_many(request: Request) -> str:
    sides = Counter(re.findall(r"^Action: Go\(to='(\w+)'\)", heard(request), re.MULTILINE))
    return go(max(sides, key=lambda side: sides[side]) if sides else "left")


def grades_by_reasons(request: Request) -> str:
    """Grades messages that name the sign 9 and 8, and others 2 and 4."""
    messages = last(request).partition("Then it read:")[2].partition("and answered again:")[0]
    lines = []
    for number, said in re.findall(r"^Member (\d+):(.*)$", messages, re.MULTILINE):
        robust, coherent = (9, 8) if SIGN in said else (2, 4)
        lines.append(f"Member {number}: robustness {robust}, coherence {coherent}. It shows.")
    return "\n".join(lines)


def meta(edit: Callable[[str], str]) -> Callable[[Request], str]:
    def reply(request: Request) -> str:
        text = last(request)
        return grades_by_reasons(request) if "You judge a debate" in text else edit(text)

    return reply


def drops_the_weak(text: str) -> str:
    weak = [(i, j) for i, j, robust, _ in SHOWN.findall(text) if int(robust) < 5]
    return "\n".join(f"Remove {i} -> {j}" for i, j in weak)


@pytest.mark.parametrize("edits", [True, False])
@pytest.mark.parametrize(("size", "knower"), [(4, 0), (5, 2), (9, 8)])
def test_links_dropped_by_their_grades_let_one_who_knows_convince_all(
    size: int, knower: int, *, edits: bool
) -> None:
    """Most are wrong and follow most of what they read; only one gives a reason that holds."""
    members = [Free(knows if n == knower else follows_the_many) for n in range(size)]
    judge = Free(meta(drops_the_weak if edits else lambda _: "All is well."))
    agent = OptAgent(model=[*members, judge], size=size, rounds=2, samples=1)
    (record,) = palestra.play(DOORS, agents=[agent])
    assert record.returns == ((1.0,) if edits else (0.0,))
    first, second = record.turns[0].facts["debate"]
    everybody = [[i, j] for i in range(1, size + 1) for j in range(1, size + 1) if i != j]
    assert first["links"] == everybody
    assert first["removed"] == []
    if edits:
        assert {i for i, _ in second["links"]} == {knower + 1}
        assert second["removed"] == [link for link in everybody if link[0] != knower + 1]
        assert second["grades"] == [[9.0, 8.0]] * (size - 1)
    else:
        assert second["links"] == everybody


@pytest.mark.parametrize("seed", range(12))
def test_what_one_member_knows_spreads_along_the_links_that_are_added(seed: int) -> None:
    """After n rounds those know it who are at most n links away (networkx)."""
    size, rounds = 4 + seed % 5, 1 + seed % 3
    graph = nx.gnp_random_graph(size, 0.3, seed=seed, directed=True)
    written = "\n".join(f"Add {i + 1} -> {j + 1}" for i, j in graph.edges)

    def edit(text: str) -> str:
        return "" if "Changes so far" in text else written

    knower = seed % size
    members = [Free(knows if n == knower else believes_the_sign) for n in range(size)]
    agent = OptAgent(
        model=[*members, Free(meta(edit))], size=size, rounds=rounds, samples=1, links="none"
    )
    (record,) = palestra.play(DOORS, agents=[agent])
    reached = nx.single_source_shortest_path_length(graph, knower, cutoff=rounds)
    share = record.turns[0].facts["candidates"].get("Go(to='right')", 0.0)
    assert share == pytest.approx(len(reached) / size)
    debate = record.turns[0].facts["debate"]
    assert debate[0]["added"] == sorted([i + 1, j + 1] for i, j in graph.edges)
    assert all(one["links"] == debate[0]["links"] for one in debate)


def test_a_member_reads_those_linked_to_it_and_the_meta_agents_read_grades_and_changes() -> None:
    members = [Free(knows), Free(follows_the_many), Free(lambda _: go("left", "A hunch."))]
    judge = Free(meta(lambda text: "Add 1 -> 3" if "Changes so far" in text else ""))
    agent = OptAgent(model=[*members, judge], size=3, rounds=2, samples=2, links="ring")
    palestra.play(DOORS, agents=[agent])
    firsts = [request for model in members for request in model.requests[:2]]
    assert all("Member" not in last(request) for request in firsts)
    assert len({request.messages[0].content for request in firsts}) == 3  # profiles differ
    third = [heard(request) for request in members[2].requests[2:]]
    assert ["Member 1" in text for text in third] == [False, True]
    assert all("Member 2" in text and "Member 3" not in text for text in third)
    assert 'You answered before:\n"A hunch."\nAction: Go(' in last(members[2].requests[2])
    asked = [last(request) for request in judge.requests]
    edits = [text for text in asked if "You judge a debate" not in text]
    assert "1 -> 2: not graded" in edits[0]
    assert '1 -> 2: robustness 9, coherence 8 "It shows."' in edits[1]
    assert "3 -> 1: robustness 2, coherence 4" in edits[1]
    assert "Round 1: none" in edits[1]
    graded = [text for text in asked if "You judge a debate" in text]
    assert [text.partition("You judge a debate. ")[2][:8] for text in graded] == [
        "Member 1",
        "Member 2",
        "Member 3",
    ] * 2


def test_members_who_agree_do_not_debate() -> None:
    model = Free(knows)
    (record,) = palestra.play(DOORS, agents=[OptAgent(model=model, size=6, samples=2)])
    assert record.turns[0].facts["debate"] == []
    assert len(model.requests) == 12


@pytest.mark.parametrize(("calls", "rounds"), [(5, 0), (6, 0), (11, 0), (16, 1), (27, 2)])
def test_where_the_budget_ends_the_last_answers_are_played(calls: int, rounds: int) -> None:
    """Of five members; a round is one edit, five answers and five questions of grades."""
    members = [Free(answer) for answer in [knows, *[follows_the_many] * 4]]
    agent = OptAgent(model=[*members, Free(meta(drops_the_weak))], size=5, rounds=9, samples=1)
    agent.name = "debate"
    (record,) = palestra.play(DOORS, agents=[agent], budgets={"debate": Budget(calls=calls)})
    (turn,) = record.turns
    assert turn.text == f"Go(to='{'left' if rounds < 2 else 'right'}')"
    assert len(turn.facts["debate"]) == rounds
    assert turn.usage.calls <= calls


@given(
    st.integers(2, 7),
    st.lists(st.tuples(st.booleans(), st.integers(0, 8), st.integers(0, 8)), max_size=30),
)
def test_edits_are_those_of_a_graph_library(
    size: int, changes: list[tuple[bool, int, int]]
) -> None:
    graph = nx.complete_graph(size, create_using=nx.DiGraph)
    lines = []
    for adds, i, j in changes:
        lines.append(f"{'Add' if adds else 'REMOVE'} {i} -> {j}")
        if i == j or not {i - 1, j - 1} <= set(graph.nodes):
            continue
        if adds:
            graph.add_edge(i - 1, j - 1)
        elif graph.has_edge(i - 1, j - 1):
            graph.remove_edge(i - 1, j - 1)
    assert edited(first_links("all", size), "\n".join(lines), size) == frozenset(graph.edges)


def test_grades_are_read_from_lines_of_their_form_alone() -> None:
    text = (
        "- **Member 2**: Robustness: 7, Coherence: 10 - it holds.\nMember 1: robustness 99, "
        "coherence 0\nMember 3: fine\nSo Member 4: robustness 3, coherence 3"
    )
    found = read_grades(text)
    assert set(found) == {0, 1}
    assert (found[1].robustness, found[1].coherence, found[1].why) == (7.0, 10.0, "it holds.")
    assert (found[0].robustness, found[0].coherence, found[0].why) == (10.0, 0.0, "")
