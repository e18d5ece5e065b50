"""Text turns of every environment, own steps of every text game, and deals: a row for each id.

A turn is what a language model's turn costs here: events and prompt, reading the answer, playing
it, and telling it to everybody. Own steps are `gym.make` against random play. The moves are drawn
beforehand and played again under the same seeds. Targets are 10,000 turns and 5,000 own steps a
second on a core on which CartPole does 79,000 steps; rates are per second of processor time.
"""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Iterator
from functools import partial
from time import process_time
from typing import Any

import gymnasium as gym
import palestra
from gym_make import CARTPOLE, steps_of
from palestra import ArrayGame, Rng
from timing import Row, Work, limit

REPEATS = 3
TURNS = 400  # of each script
MOST_STEPS = 100  # of an episode
TURNS_OF_CARTPOLE, STEPS_OF_CARTPOLE = 10_000 / 79_000, 5_000 / 79_000
DEALS = 20


def text_turns(env_id: str) -> Work:
    """Play a script of one environment in its text view, all seats."""
    episode = palestra.make(env_id, view="episode")
    script = list(drawn_texts(episode))

    def play() -> int:
        turns = 0
        for seed, steps in script:
            episode.reset(seed)
            since = [0] * len(episode.players)
            for texts in steps:
                actions = {}
                for seat, text in texts.items():
                    episode.prompt(seat, since[seat])
                    since[seat] = episode.cursor(seat)
                    actions[seat] = episode.parse(seat, text)
                episode.act(actions)
                turns += len(texts)
        return turns

    return play


def drawn_texts(episode: Any) -> Iterator[tuple[int, list[dict[int, str]]]]:
    """Seeds, and the random legal moves of every step as they are written."""
    turns, seed = 0, 0
    while turns < TURNS:
        episode.reset(seed)
        rng, steps = Rng(seed), list[dict[int, str]]()
        while episode.to_act and len(steps) < MOST_STEPS:
            actions = {seat: episode.sample(seat, rng) for seat in episode.to_act}
            steps.append({s: str(episode.action_text(s, a)) for s, a in actions.items()})
            episode.act(actions)
            turns += len(actions)
        yield seed, steps
        seed += 1


def own_steps(env_id: str) -> Work:
    """Play one text game's own seat through `gym.make`, the others at random."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = gym.make(f"palestra:{env_id}")
    script = list(drawn_steps(env))

    def play() -> int:
        steps = 0
        for seed, actions in script:
            env.reset(seed=seed)
            for action in actions:
                env.step(action)
            steps += len(actions)
        return steps

    return play


def drawn_steps(env: Any) -> Iterator[tuple[int, list[Any]]]:
    """Seeds and random legal actions of the own seat, as numbers where there are any."""
    view = env.unwrapped
    steps, seed = 0, 0
    while steps < TURNS:
        env.reset(seed=seed)
        rng, actions = Rng(seed), list[Any]()
        over = False
        while not over and len(actions) < MOST_STEPS:
            actions.append(0 if view.episode.over else drawn(view, rng))
            _, _, terminated, truncated, _ = env.step(actions[-1])
            over = terminated or truncated
        yield seed, actions
        steps += len(actions)
        seed += 1


def drawn(view: Any, rng: Rng) -> Any:
    """One random legal action of the own seat."""
    if view.obs == "text":
        return view.episode.action_text(view.seat, view.episode.sample(view.seat, rng))
    return rng.choice(view.action_masks().nonzero()[0].tolist())


def beside_cartpole(name: str, ours: Work, target: float, unit: str) -> Row:
    """Medians of both rates and of their ratio, in alternation."""
    cartpole = steps_of(CARTPOLE)
    ours()
    cartpole()
    pairs = [(rate(ours), rate(cartpole)) for _ in range(REPEATS)]
    mine, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    return Row(name, mine, theirs, ratio, round(target, 3), unit, CARTPOLE)


def rate(work: Work) -> float:
    started = process_time()
    done = work()
    return done / (process_time() - started)


def turns_row(env_id: str) -> Row:
    return beside_cartpole(
        f"{env_id}, text turns", text_turns(env_id), TURNS_OF_CARTPOLE, "turns/s"
    )


def steps_row(env_id: str) -> Row:
    return beside_cartpole(f"{env_id}, own steps", own_steps(env_id), STEPS_OF_CARTPOLE, "steps/s")


def deal_row(env_id: str) -> Row:
    """Milliseconds of a deal, the first of a process left out."""
    episode = palestra.make(env_id, view="episode")
    found = []
    for seed in range(DEALS + 1):
        started = process_time()
        episode.reset(seed)
        found.append(1e3 * (process_time() - started))
    return limit(f"{env_id}, deal", statistics.median(found[1:]), at_most=2, unit="ms")


IDS = [spec.id for spec in palestra.specs()]
TEXT = [env_id for env_id in IDS if not isinstance(palestra.game(env_id), ArrayGame)]
MEASURES = (
    *(partial(turns_row, env_id) for env_id in IDS),
    *(partial(steps_row, env_id) for env_id in TEXT),
    *(partial(deal_row, env_id) for env_id in IDS),
)
