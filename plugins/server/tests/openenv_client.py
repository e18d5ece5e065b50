"""Plays with OpenEnv's own client, in an environment where nothing of Palestra is installed.

python openenv_client.py URL taped     one short session, the one of recorded/openenv.json
python openenv_client.py URL all       prints one JSON object: what the client saw
"""

import asyncio
import json
import sys

import requests
from openenv.core import GenericEnvClient

BASE = sys.argv[1] + "/openenv/"
GAMES = {
    "games/ConnectFour-v0": {"seed": 5, "seat": 1, "opponents": "random"},
    "games/Werewolf-v0": {"seed": 2, "seat": 5, "options": {"num_players": 7}},
    "grid/Kitchen-v0": {"seed": 1, "max_episode_steps": 12},
    "games/KuhnPoker-v0": {"seed": 3, "opponents": "first"},
}


def play(env, **settings):
    """One episode of last legal moves; all that the client was told."""
    result = env.reset(**settings)
    assert result.done or result.reward is None
    rewards = [result.reward] if result.done else []
    texts = [result.observation["text"]]
    while not result.done:
        assert result.observation["your_turn"], result.observation
        result = env.step({"text": last_legal(result.observation)})
        rewards.append(result.reward)
        texts.append(result.observation["text"])
    end = result.observation["metadata"]
    return {"texts": texts, "rewards": rewards, "end": end, "state": env.state()}


def last_legal(observation):
    return (observation.get("legal_texts") or [observation["legal"]])[-1]


def failure(act):
    try:
        act()
    except RuntimeError as error:
        return str(error)
    raise AssertionError("nothing was refused")


def taped():
    with GenericEnvClient(base_url=BASE + "games/TicTacToe-v0").sync() as env:
        failure(lambda: env.step({"text": "1"}))
        env.state()
        env.reset(seed=3, opponents="first", episode_id="e1")
        refused = env.step({"text": "nonsense"})
        assert refused.observation["error"], refused
        result = env.step({"action": 8})
        while not result.done:
            result = env.step({"text": last_legal(result.observation)})
        env.state()
        failure(lambda: env.step({"text": "1"}))
        failure(lambda: env.reset(colour="red"))


def whole_games():
    played = {}
    for name, settings in GAMES.items():
        with GenericEnvClient(base_url=BASE + name).sync() as env:
            played[name] = [play(env, **settings), play(env, **settings)]
    with GenericEnvClient(base_url=BASE).sync() as env:
        env.reset(env="games/TicTacToe-v0", seed=1)
        left = env.state()["match"]
    return played, left


async def at_once(count):
    """Several sessions at once, each in a match of its own, by the numbers of actions."""

    async def one(seed):
        async with GenericEnvClient(base_url=BASE + "games/ConnectFour-v0") as env:
            result = await env.reset(seed=seed, show=["observation"])
            while not result.done:
                result = await env.step({"action": result.observation["mask"][-1]})
            return (await env.state())["match"]

    return await asyncio.gather(*(one(seed) for seed in range(count)))


def by_http():
    """The same game by HTTP, whose session is a cookie."""
    url = BASE + "games/ConnectFour-v0"
    with requests.Session() as http:
        told = http.post(f"{url}/reset", json=GAMES["games/ConnectFour-v0"]).json()
        rewards, texts = [], [told["observation"]["text"]]
        while not told["done"]:
            body = {"action": {"text": last_legal(told["observation"])}, "timeout_s": 30}
            body["request_id"] = f"step {len(rewards)}"
            told = http.post(f"{url}/step", json=body).json()
            assert http.post(f"{url}/step", json=body).json() == told
            rewards.append(told["reward"])
            texts.append(told["observation"]["text"])
        state = http.get(f"{url}/state").json()
    return {"texts": texts, "rewards": rewards, "end": told["metadata"], "state": state}


def report():
    try:
        from openenv.cli._validation import validate_running_environment
    except ImportError:  # openenv-core 0.3 validates no running server
        return None
    return validate_running_environment(BASE + "games/ConnectFour-v0")


if sys.argv[2] == "taped":
    taped()
else:
    played, left = whole_games()
    seen = {"played": played, "left": left, "http": by_http(), "report": report()}
    seen["matches"] = asyncio.run(at_once(5))
    print(json.dumps(seen))
