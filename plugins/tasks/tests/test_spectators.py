"""Pictures of searches, incidents and offers: what a spectator sees, and what a seat may not."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import palestra
import pytest
from palestra import Episode, Grid, Rng, Scene
from palestra.scene import Graph, Part, Table, Talk
from palestra.testing.subject import play_on
from palestra_tasks.clinic.incident import Brief


def part_of(scene: Scene, kind: type[Part]) -> Part | None:
    """The first part of a kind; None if there is none."""
    return next((part for part in scene.all_parts() if isinstance(part, kind)), None)


@pytest.mark.parametrize(("hops", "size"), [(1, 20), (4, 120), (13, 200)])
def test_a_search_shows_its_chain_to_spectators_and_the_pages_read_to_the_player(
    hops: int, size: int
) -> None:
    game = palestra.game("tasks/DeepSearch-v0", hops=hops, size=size)
    for seed in range(4):
        episode = Episode(game, seed)
        for _moment in play_on(episode, Rng(seed), 12):
            state = episode.state
            read = set(state.opened)
            chain = game.library(state).chain(state.question)
            seen, own = part_of(episode.scene(), Graph), part_of(episode.scene(0), Graph)
            assert isinstance(seen, Graph)
            green = {node.label for node in seen.nodes if node.colour == "green"}
            assert green <= read & set(chain)
            assert (chain[-1] in {n.label for n in seen.nodes}) == (len(chain) <= 8)
            shown = {node.label for node in own.nodes} if isinstance(own, Graph) else set()
            assert shown <= read
            assert len(shown) == min(8, len(read))


@pytest.mark.parametrize("system", ["small", "medium", "large"])
def test_the_cause_of_an_incident_is_gold_for_spectators_alone(system: str) -> None:
    game = palestra.game("tasks/Incident-v0", system=system, num_players=2)
    for seed in range(12):
        episode = Episode(game, seed)
        for _moment in play_on(episode, Rng(seed), seed % 4):
            pass
        outage = episode.state.outage
        calls = nx.DiGraph((a, b) for a, called in enumerate(outage.system.needs) for b in called)
        needed = {0, *nx.descendants(calls, 0)}
        causes = [outage.system.names[n] for n in sorted(needed) if outage.faults[n]]
        seen = part_of(episode.scene(), Graph)
        assert isinstance(seen, Graph)
        assert [node.label for node in seen.nodes if node.colour == "gold"] == causes
        for seat in (0, 1):
            own = part_of(episode.scene(seat), Graph)
            assert isinstance(own, Graph)
            assert {node.colour for node in own.nodes} == {"red", "silver"}
            assert outage.kind not in episode.scene(seat).caption


def test_a_brief_stands_beside_the_remedy_at_the_end_only() -> None:
    game = palestra.game("tasks/Incident-v0", system="none", causes="ten")
    for seed in range(8):
        episode = Episode(game, seed)
        assert part_of(episode.scene(), Table) is None
        remedy = game.settle(episode.state).reason.partition("The known remedy: ")[2].rstrip(".")
        first = remedy.split("; ")[0]
        brief = Brief(cause="deploy", commands=f"{first}\nrestart moon", risk="low")
        episode.act({0: brief})
        table = part_of(episode.scene(), Table)
        assert isinstance(table, Table)
        assert table.rows[:2] == ((first, "yes", "yes"), ("restart moon", "yes", "no"))
        assert table.colours[:2] == ("green", "red")
        assert len(table.rows) == 1 + len(remedy.split("; "))


@pytest.mark.parametrize(("candidates", "hops"), [(12, 1), (23, 2), (100, 3)])
def test_a_ranker_is_not_shown_which_passages_are_needed(candidates: int, hops: int) -> None:
    game = palestra.game("tasks/Reranking-v0", candidates=candidates, hops=hops, num_players=2)
    for seed in range(3):
        episode = Episode(game, seed)
        for _moment in play_on(episode, Rng(seed), 30):
            state = episode.state
            cells = part_of(episode.scene(), Grid), part_of(episode.scene(0), Grid)
            for grid in cells:
                assert isinstance(grid, Grid)
                taken = sorted(r * 10 + c for _, (r, c) in grid.marks)
                assert taken == sorted(state.taken)
            seen, own = ([p for row in g.cells for p in row if p] for g in cells if g)
            green = [piece.label for piece in seen if piece.colour == "green"]
            needed = [one.text for one in state.query.passages if one.needed]
            assert green == needed
            assert {piece.colour for piece in own} <= {0, "silver"}
            assert len(own) == len(state.query.passages)
            assert part_of(episode.scene(1), Grid) is None


@pytest.mark.parametrize(
    "options", [{"day": "none", "domain": "writing", "turns": 9}, {"day": "medium"}]
)
def test_offers_are_drawn_as_they_were_answered(options: dict[str, object]) -> None:
    game = palestra.game("tasks/Proactive-v0", **options)
    for seed in range(4):
        episode, rng = Episode(game, seed), Rng(seed)
        while not episode.over:
            episode.act({0: episode.sample(0, rng)})
            grid = part_of(episode.scene(0), Grid)
            assert isinstance(grid, Grid)
            assert not grid.marks  # what is needed now is the spectators' alone
            offers = [e.data for e in episode.transcript(0) if "offer" in e.data][-11:]
            drawn = Counter(p.label for row in grid.cells for p in row if p)
            told = Counter(
                "silence" if not one["offer"] else "accepted" if one["accepted"] else "rejected"
                for one in offers
            )
            assert drawn == told or (episode.over and drawn.total() == min(12, game.turns))


def test_a_spectator_reads_the_last_exchange() -> None:
    episode = Episode(palestra.game("tasks/DeepSearch-v0"), 5)
    for _moment in play_on(episode, Rng(5), 4):
        said = part_of(episode.scene(), Talk)
        assert isinstance(said, Talk)
        assert len(said.sayings) <= 2
