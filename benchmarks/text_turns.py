"""Text turns: prompt, parse, act, with life-cycle hooks listening, against TextArena."""

from __future__ import annotations

import contextlib
import io
import statistics
from time import perf_counter
from typing import Any

import palestra
from palestra.plugins import Listeners
from timing import Row, compare, limit

EPISODES = 60


class Counter:
    """A listener that does next to nothing, so that hooks are on."""

    def __init__(self) -> None:
        self.steps = 0

    @palestra.hookimpl
    def palestra_stepped(self, episode: Any) -> None:
        self.steps += 1


def our_turns(env: str, lines: tuple[str, ...], episodes: int = EPISODES) -> Any:
    """Scripted text play of one of our games: every turn reads its prompt and is parsed."""
    episode = palestra.make(env, view="episode", invalid="random")
    hooks = Listeners([Counter()])

    def play() -> int:
        turns = 0
        for seed in range(episodes):
            episode.reset(seed)
            since = [0] * len(episode.players)
            while episode.to_act:
                actions = {}
                for player in episode.to_act:
                    episode.prompt(player, since[player])
                    since[player] = len(episode.transcript(player))
                    actions[player] = read(episode, player, lines)
                    turns += 1
                episode.act(actions)
                hooks.stepped(episode=episode)
        return turns

    return play


def read(episode: Any, player: int, lines: tuple[str, ...]) -> Any:
    """The first of the script's lines that is legal now."""
    for line in lines:
        try:
            return episode.parse(player, line)
        except palestra.InvalidAction:
            continue
    raise AssertionError(f"none of {lines} is legal")


def their_turns(env_id: str, text: str) -> Any:
    """TextArena with its default wrappers, both players saying one line."""
    import textarena

    with contextlib.redirect_stdout(io.StringIO()):
        env = textarena.make(env_id)

    def play() -> int:
        turns = 0
        for seed in range(EPISODES // 4):
            env.reset(num_players=2, seed=seed)
            done = False
            while not done:
                env.get_observation()
                done, _ = env.step(action=text)
                turns += 1
            env.close()
        return turns

    return play


NEGOTIATION = ("Say(text='I would like the books.')",)
COMMONS = ("Harvest(amount=10)", "Pass()")
PEERS = (
    ("IteratedPrisonersDilemma-v0", "[Cooperate]"),
    ("SimpleNegotiation-v0", "I would like to trade."),
)


def negotiation_against_dilemma() -> Row:
    return _against("text/Negotiation-v0", NEGOTIATION, *PEERS[0])


def negotiation_against_negotiation() -> Row:
    return _against("text/Negotiation-v0", NEGOTIATION, *PEERS[1])


def commons_against_dilemma() -> Row:
    return _against("text/Commons-v0", COMMONS, *PEERS[0])


def commons_against_negotiation() -> Row:
    return _against("text/Commons-v0", COMMONS, *PEERS[1])


def _against(ours: str, lines: tuple[str, ...], theirs: str, text: str) -> Row:
    return compare(
        f"{ours}, text turns",
        our_turns(ours, lines),
        their_turns(theirs, text),
        target=1,
        unit="turns/s",
        against=f"TextArena {theirs}",
    )


def flat_over_resets() -> Row:
    """Time a turn in the last thousand of 10,000 resets against the first thousand."""
    play = our_turns("text/Negotiation-v0", NEGOTIATION, 1)
    play()
    times = []
    for _ in range(10_000):
        started = perf_counter()
        play()
        times.append(perf_counter() - started)
    growth = statistics.median(times[-1_000:]) / statistics.median(times[:1_000])
    return limit("last 1,000 of 10,000 resets against the first", growth, at_most=1.2, unit="times")


MEASURES = (
    negotiation_against_dilemma,
    negotiation_against_negotiation,
    commons_against_dilemma,
    commons_against_negotiation,
    flat_over_resets,
)
