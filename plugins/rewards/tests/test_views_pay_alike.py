"""One set of moves is paid the same in every view, by every step shaper.

The moves are those of a policy that depends on what a seat sees and on nothing else, so that it
plays the same in `play`, `rollouts`, the Gymnasium view, both PettingZoo views and a batch.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import gymnasium as gym
import numpy as np
import palestra
import pytest
from palestra import EpisodeRecord
from palestra.views.sb3 import SB3VecEnv
from palestra_rewards.steps.captions import difference

pytest.importorskip("torch")
GAMMA = 0.9


class Table(NamedTuple):
    """A game, its options, and how many seats it has."""

    env: str
    seats: int
    options: dict[str, Any]
    potential: str


TABLES = (
    Table("games/FrozenLake-v0", 1, {}, "where"),
    Table("games/TicTacToe-v0", 2, {}, "where"),
    Table("games/LiarsDice-v0", 3, {"num_players": 3, "dice": 2}, "where"),
    Table("games/LiarsDice-v0", 5, {"num_players": 5, "dice": 1}, "where"),
    Table("grid/Foraging-v0", 4, {"num_players": 4, "rows": 6, "columns": 6}, "where"),
)


def where(game: Any, state: Any, seat: int) -> float:
    """A potential that differs for every state and seat."""
    seen = np.asarray(game.observe(state, seat)).tobytes()
    return crc32(seen + bytes([seat])) % 97 / 50 - 1


def by_sight(observation: Any, mask: Any) -> int:
    """A legal action that follows from what is seen."""
    legal = np.flatnonzero(mask)
    seen = np.ascontiguousarray(observation, dtype=np.float64).tobytes()
    return int(legal[crc32(seen) % legal.size])


def policy(turn: palestra.Turn) -> Any:
    mask = np.zeros(turn.game.num_actions, bool)
    mask[list(turn.legal_actions)] = True
    return by_sight(turn.observation, mask)


def by_rows(observations: Any, masks: Any) -> Any:
    rows = zip(observations, masks, strict=True)
    return np.array([by_sight(seen, mask) for seen, mask in rows], np.int64)


def agents(table: Table) -> list[palestra.Agent]:
    return [palestra.FunctionAgent(policy, "sight") for _ in range(table.seats)]


def of_turns(record: EpisodeRecord) -> dict[int, list[float]]:
    """What every seat's turns were paid, each until the next, from the record's terms."""
    found: dict[int, list[float]] = {seat: [] for seat in range(len(record.players))}
    for step in record.steps:
        for turn in step.turns:
            found[turn.seat].append(0.0)
        for seat, terms in step.rewards.items():
            if found[seat]:
                found[seat][-1] += sum(terms.values())
    return found


def before_first(record: EpisodeRecord, seat: int) -> float:
    """What a seat was paid before its first turn, which a Gymnasium environment pays with it."""
    found = 0.0
    for step in record.steps:
        if any(turn.seat == seat for turn in step.turns):
            break
        found += sum(step.rewards.get(seat, {}).values())
    return found


def names_of(record: EpisodeRecord, seat: int) -> dict[str, float]:
    """What a seat was paid by term."""
    found: dict[str, float] = {}
    for step in record.steps:
        for name, value in step.rewards.get(seat, {}).items():
            found[name] = found.get(name, 0.0) + value
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory: Any) -> Path:
    """A table of rewards, labels of captions, and a program."""
    folder: Path = tmp_path_factory.mktemp("rewards")
    table: dict[str, float] = {}
    labels: dict[str, float] = {}
    for one in TABLES:
        (record,) = palestra.play(one.env, agents=agents(one), seed=3, **one.options)
        for turn in record.turns:
            key = f"{turn.anchor or turn.state_key} {turn.action}"
            table[key] = crc32(key.encode()) % 7 / 7
        for seat in range(one.seats):
            texts = [episode.describe(seat) for episode in palestra.retrace(record)]
            for before, after in pairwise(texts):
                labels[difference(before, after)] = len(after) % 5 / 5
    labels.pop("", None)
    (folder / "table.json").write_text(json.dumps(table), "utf-8")
    (folder / "labels.json").write_text(json.dumps(labels), "utf-8")
    (folder / "step.py").write_text(
        "def reward(step):\n    return len(step['action']) / 10 + step['seat']\n", "utf-8"
    )
    return folder


SHAPERS = (
    "novelty",
    "elliptical:ridge=1",
    "rnd",
    "schedule:of=novelty,start=0.5,over=3",
    "potential:of=test_views_pay_alike:where",
    "potential:of=test_views_pay_alike:where,dynamic=true",
    "captions:labels={files}/labels.json",
    "code-step:program={files}/step.py",
    "diverse-discounts:gammas=payoff=0.5,gamma=0.9",
    "krc-step",
    "mamql:table={files}/table.json",  # the other entries with a table are the same class
)
CUT_OFF = ("novelty", "potential", "krc-step")  # also with a limit of three steps
CASES = [
    (shaper, table, limit)
    for shaper in SHAPERS
    for table in TABLES
    for limit in ((None, 3) if shaper.startswith(CUT_OFF) else (None,))
    if not (shaper.startswith("code-step") and table.seats == 4)  # a process for each new step
]


def rewards_of(shaper: str, files: Path) -> list[str]:
    named = shaper.format(files=files)
    return [named] if shaper.startswith(("krc", "diverse")) else ["env", named]


def played(table: Table, rewards: list[str], limit: int | None) -> EpisodeRecord:
    more: dict[str, Any] = {} if limit is None else {"max_episode_steps": limit}
    (record,) = palestra.play(
        table.env,
        agents=agents(table),
        seed=3,
        rewards=rewards,
        gamma=GAMMA,
        **table.options,
        **more,
    )
    return record


@pytest.mark.exhaustive(sample=24)
@pytest.mark.parametrize(("shaper", "table", "limit"), CASES)
def test_every_view_pays_what_play_pays(
    shaper: str, table: Table, limit: int | None, files: Path
) -> None:
    rewards = rewards_of(shaper, files)
    record = played(table, rewards, limit)
    expected = of_turns(record)
    learners = (learner, by_sb3, by_make_vec)
    for view in (siblings, one_by_one, all_at_once, in_lanes, *learners):
        found = view(table, rewards, limit, record)
        for seat, paid in found.items():
            wanted = expected[seat]
            if view in learners:  # they have one step more where a game is over before their turn
                first = wanted[0] if wanted else 0.0
                wanted = [first + before_first(record, seat), *wanted[1:]]
            near = pytest.approx(wanted, rel=1e-6, abs=1e-6)  # some views pay in float32
            assert paid == near, (view.__name__, seat)


def siblings(
    table: Table, rewards: list[str], limit: int | None, record: EpisodeRecord
) -> dict[int, list[float]]:
    more: dict[str, Any] = {} if limit is None else {"max_episode_steps": limit}
    (first, *_) = palestra.rollouts(
        table.env,
        agents=agents(table),
        seed=3,
        n=1 if lasting(rewards) else 2,
        rewards=rewards,
        gamma=GAMMA,
        **table.options,
        **more,
    )
    return of_turns(first)


def lasting(rewards: list[str]) -> bool:
    """Whether what was learnt in one episode changes what others are paid."""
    return rewards[-1].startswith("rnd")


def learner(
    table: Table, rewards: list[str], limit: int | None, record: EpisodeRecord
) -> dict[int, list[float]]:
    """Each seat as the learner of a Gymnasium environment, where the game's own end ends it."""
    if limit is not None:
        return {}
    found: dict[int, list[float]] = {}
    for seat in range(table.seats):
        env = palestra.make(
            table.env,
            seat=seat,
            opponents=palestra.FunctionAgent(policy, "sight"),
            rewards=rewards,
            gamma=GAMMA,
            compiled=False,
            **table.options,
        )
        seen, info = env.reset(seed=3)
        found[seat], terms, over = [], dict[str, float](), False
        while not over:
            seen, reward, ended, cut, info = env.step(by_sight(seen, info["action_mask"]))
            assert sum(info["reward_terms"].values()) == pytest.approx(reward)
            for name, value in info["reward_terms"].items():
                terms[name] = terms.get(name, 0.0) + value
            found[seat].append(float(reward))
            over = ended or cut
        assert terms == pytest.approx(names_of(record, seat), abs=1e-6)
    return found


def by_sb3(
    table: Table, rewards: list[str], limit: int | None, record: EpisodeRecord
) -> dict[int, list[float]]:
    """Each seat as the learner of Stable-Baselines3's vectors."""
    if limit is not None:
        return {}
    found: dict[int, list[float]] = {}
    for seat in range(table.seats):
        env = SB3VecEnv(
            table.env,
            1,
            seat=seat,
            opponents=by_rows,
            seed=3,
            rewards=rewards,
            gamma=GAMMA,
            **table.options,
        )
        seen, over, found[seat] = env.reset(), False, []
        while not over:
            (mask,) = env.action_masks()
            seen, paid, done, _ = env.step(np.array([by_sight(seen[0], mask)]))
            found[seat].append(float(paid[0]))
            over = bool(done[0])
        env.close()
    return found


def by_make_vec(
    table: Table, rewards: list[str], limit: int | None, record: EpisodeRecord
) -> dict[int, list[float]]:
    """Each seat as the learner of what `gymnasium.make_vec` opens, where the game's end ends it."""
    if limit is not None:
        return {}
    found: dict[int, list[float]] = {}
    for seat in range(table.seats):
        env = gym.make_vec(
            f"palestra:{table.env}",
            num_envs=1,
            seat=seat,
            opponents=by_rows,
            rewards=rewards,
            gamma=GAMMA,
            **table.options,
        )
        seen, info = env.reset(seed=3)
        over, found[seat] = False, []
        while not over:
            move = by_sight(seen[0], info["action_mask"][0])
            seen, paid, ended, cut, info = env.step(np.array([move]))
            found[seat].append(float(paid[0]))
            over = bool(ended[0] or cut[0])
        env.close()
    return found


def one_by_one(
    table: Table, rewards: list[str], limit: int | None, record: EpisodeRecord
) -> dict[int, list[float]]:
    """PettingZoo's AEC view: an agent reads what it was paid when it is next asked."""
    if limit is not None:
        return {}
    env = palestra.make(table.env, view="aec", rewards=rewards, gamma=GAMMA, **table.options)
    env.reset(seed=3)
    found: dict[int, list[float]] = {seat: [] for seat in range(table.seats)}
    moves: dict[int, list[int]] = {seat: [] for seat in range(table.seats)}
    for step in record.steps:
        for turn in step.turns:
            moves[turn.seat].append(turn.action)
    asked = dict.fromkeys(range(table.seats), 0)
    for name in env.agent_iter():
        seat = env.possible_agents.index(name)
        _, reward, ended, cut, _ = env.last()
        if asked[seat]:
            found[seat].append(float(reward))
        if ended or cut:
            env.step(None)
        else:
            env.step(moves[seat][asked[seat]])
            asked[seat] += 1
    return found


def all_at_once(
    table: Table, rewards: list[str], limit: int | None, record: EpisodeRecord
) -> dict[int, list[float]]:
    simultaneous = palestra.game(table.env, **table.options).order == "simultaneous"
    if limit is not None or not simultaneous:
        return {}
    env = palestra.make(table.env, view="parallel", rewards=rewards, gamma=GAMMA, **table.options)
    env.reset(seed=3)
    found: dict[int, list[float]] = {seat: [] for seat in range(table.seats)}
    for step in record.steps:
        actions = {env.possible_agents[turn.seat]: turn.action for turn in step.turns}
        _, paid, _, _, infos = env.step(actions)
        for name, reward in paid.items():
            assert sum(infos[name]["reward_terms"].values()) == pytest.approx(reward)
            found[env.possible_agents.index(name)].append(float(reward))
    return found


def in_lanes(
    table: Table, rewards: list[str], limit: int | None, record: EpisodeRecord
) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    for reset in ("disabled", "same_step", "next_step"):
        batch = palestra.make(
            table.env,
            view="batch",
            num_envs=1 if lasting(rewards) else 2,
            rewards=rewards,
            gamma=GAMMA,
            autoreset=reset,
            compiled=False,
            **({} if limit is None else {"max_episode_steps": limit}),
            **table.options,
        )
        batch.reset(3)
        again: dict[int, list[float]] = {seat: [] for seat in range(table.seats)}
        for step in filter(lambda one: one.turns, record.steps):  # not the end that a limit sets
            actions = np.array(
                [[by_sight(*one) for one in zip(*lane, strict=True)] for lane in shown(batch)]
            )
            for turn in step.turns:
                again[turn.seat].append(0.0)
                actions[0, turn.seat] = turn.action
            batch.step(actions)
            for seat, paid in again.items():
                if paid:
                    paid[-1] += float(batch.rewards[0, seat])
        for seat, paid in found.items():
            assert again[seat] == pytest.approx(paid)
        found = again
    return found


def shown(batch: Any) -> list[tuple[Any, Any]]:
    """What each lane shows, and a mask in which something is legal."""
    masks = batch.masks | ~batch.masks.any(axis=2, keepdims=True)
    return list(zip(batch.observations, masks, strict=True))
