"""What a live page of `palestra train-llm` hears of the episodes it learns from."""

from __future__ import annotations

from typing import Any

import palestra
from palestra import hookimpl
from palestra.agents.making import make_agent
from palestra.kernel.registry import open_game
from palestra.runner.listeners import Listeners
from palestra_training.play import Start, play_starts


class Listener:
    """Keeps what it is told, in order."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, int]] = []
        self.names: set[tuple[str, ...]] = set()

    @hookimpl
    def palestra_episode_started(self, episode: Any, agents: tuple[str, ...]) -> None:
        self.heard.append(("started", episode.seed))
        self.names.add(agents)

    @hookimpl
    def palestra_stepped(self, episode: Any) -> None:
        self.heard.append(("stepped", episode.seed))

    @hookimpl
    def palestra_episode_finished(self, episode: Any, record: palestra.EpisodeRecord) -> None:
        self.heard.append(("finished", record.seed))


def test_a_listener_hears_of_every_rollout() -> None:
    spec, game = open_game("games/KuhnPoker-v0", {})
    first, other = make_agent("first"), make_agent("random")
    starts = [Start((first, other), 3), Start((first, other), 3, 1), Start((other, first), 9)]
    listener = Listener()
    records = play_starts(
        game,
        spec,
        starts,
        invalid="random",
        max_episode_steps=None,
        listeners=Listeners([listener]),
    )
    assert listener.names == {("first", "random"), ("random", "first")}
    for kind in ("started", "finished"):
        assert sorted(seed for what, seed in listener.heard if what == kind) == [3, 3, 9]
    steps = sum(len(record.steps) for record in records)
    assert sum(what == "stepped" for what, _ in listener.heard) == steps
    unheard = play_starts(game, spec, starts, invalid="random", max_episode_steps=None)
    assert [record.returns for record in unheard] == [record.returns for record in records]
