"""A hostile message at every outlet of a seat that is not its prompt: no line or token is forged.

The kit reads a seat's prompt, rules and scene. Here the same episodes are read through what is
built from them: the match server's views as words and as data, which tools of MCP answer. That
replay pages, terminals and notebooks obey nothing is tested with the renderers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import palestra
import pytest
from palestra import Episode, Rng
from palestra.kernel.actions import Grammar
from palestra.kernel.registry import registry
from palestra.testing.speech import EPISODES, hostile_fields, play_hostile
from palestra.testing.subject import Failed, Subject, random_actions
from palestra_server.match import Match
from palestra_server.messages import OPEN, MatchPlan
from palestra_server.table import watching_view
from palestra_server.words import as_data, in_words

TALKING = [s for s in palestra.specs() if any(o.name == "quoting" for o in s.options)]
SHOW = ("legal_texts", "observation", "scene", "picture", "table", "forms")
MORE: dict[str, dict[str, Any]] = {
    "games/Codenames-v0": {"num_players": 6},
    "markets/TaxEconomy-v0": {"elections": True},
    "tasks/BoxingGym-v0": {"num_players": 2, "budget": 2},
    "tasks/Counselling-v0": {"num_players": 2},
    "tasks/FastCode-v0": {"num_players": 2},
    "tasks/Hospital-v0": {"num_players": 2},
    "tasks/Incident-v0": {"num_players": 3},
    "tasks/Reranking-v0": {"num_players": 2},
    "web/Shelf-v0": {"num_players": 2},
}


def strings(value: Any) -> Iterator[str]:
    """Every text in plain data, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from strings(key)
            yield from strings(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from strings(one)


class Outlets:
    """All that a match's seat and its spectators read of an episode."""

    def __init__(self, env: str, options: dict[str, Any]) -> None:
        seats = palestra.game(env, **options).num_players
        self.match = Match("m", MatchPlan(env, (OPEN,) * seats, 7, options=options))
        for seat in range(seats):
            self.match.take(seat)
        self.read = 0

    def __call__(self, episode: Episode, seat: int, since: int) -> Iterator[str]:
        self.match._running.episode = episode
        view = self.match.view(seat, since, SHOW, with_rules=True)
        yield in_words(view)
        yield from strings(as_data(view))
        yield from strings(as_data(watching_view(self.match, 0, SHOW)))
        self.read += 1


@pytest.mark.exhaustive(sample=14)
@pytest.mark.parametrize("spec", TALKING, ids=lambda spec: spec.id)
def test_no_outlet_forges_a_line(spec: palestra.EnvSpec) -> None:
    options = MORE.get(spec.id, {})
    outlets = Outlets(spec.id, options)
    assert sum(play_hostile(Subject(spec, options), seed, outlets) for seed in range(EPISODES))
    assert outlets.read


def test_an_outlet_that_forges_is_found() -> None:
    def raw(episode: Episode, seat: int, since: int) -> Iterator[str]:
        for event in episode.events:
            yield palestra.unquote(f'"{event.text}"')

    (spec,) = [s for s in TALKING if s.id == "text/Negotiation-v0"]
    with pytest.raises(Failed, match="reads"):
        [play_hostile(Subject(spec), n, raw) for n in range(4)]


# Environments without the option `quoting`

SILENT = [spec for spec in palestra.specs() if spec not in TALKING]


def test_where_nobody_quotes_nobody_else_reads() -> None:
    """What one seat writes in its own words reaches another only where it can be quoted.

    The other environments in which a player writes texts have one seat, whatever their options.
    """
    alone = {spec.id for spec in SILENT if spec.players == (1, 1)}
    writing = [spec.id for spec in SILENT if spec.id not in alone and _takes_texts(spec)]
    assert not writing, "let these be Talking, and show texts through self.quoted()"
    for env in ("tasks/COBench-v0", "web/Shop-v0", "text/MLEngineering-v0"):
        assert env in alone
        assert _takes_texts(registry().environment(env)), "or this test finds no texts"


def _takes_texts(spec: palestra.EnvSpec) -> bool:
    """Whether some seat may write a text of its own, as far as random play goes."""
    subject = Subject(spec)
    for seed in range(2):
        episode, rng = subject.episode(seed), Rng(seed)
        for _ in range(30):
            for seat in episode.to_act:
                legal = episode.legal(seat)
                if isinstance(legal, Grammar) and any(hostile_fields(o, "words") for o in legal):
                    return True
            if episode.over:
                break
            episode.act(random_actions(episode, rng))
    return False
