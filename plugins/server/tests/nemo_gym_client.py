"""Plays with NeMo Gym's own agent servers, where nothing of Palestra is installed.

python nemo_gym_client.py HOST PORT taped     short rollouts, those of recorded/nemo_gym.json
python nemo_gym_client.py HOST PORT all       prints one JSON object: what the agent servers gave

Agent servers and a model server listen on loopback; the model plays the last move that it reads.
"""

import asyncio
import json
import re
import sys
from itertools import count

import aiohttp
import uvicorn
from fastapi import FastAPI, Request
from nemo_gym import server_utils
from nemo_gym.config_types import BaseServerConfig, ModelServerRef, ResourcesServerRef
from nemo_gym.reward_profile import compute_aggregate_metrics
from omegaconf import OmegaConf
from responses_api_agents.gymnasium_agent.app import GymnasiumAgent, GymnasiumAgentConfig
from responses_api_agents.simple_agent.app import SimpleAgent, SimpleAgentConfig

HOST, PORT, MODE = sys.argv[1], int(sys.argv[2]), sys.argv[3]
GAMES = [
    {"env": "games/ConnectFour-v0", "seed": 5, "seat": 1},
    {"env": "games/Werewolf-v0", "seed": 2, "seat": 5, "options": {"num_players": 7}},
    {"env": "games/KuhnPoker-v0", "seed": 3},
    {"env": "grid/Kitchen-v0", "seed": 1, "max_episode_steps": 6},
]
TICTACTOE = {"env": "games/TicTacToe-v0", "seed": 3, "opponents": "first"}
TOOLS = {
    "look": {},
    "legal": {},
    "move": {"text": {"type": "string", "description": "as the legal moves are written"}},
}
answers = count(1)
model = FastAPI()


@model.post("/v1/responses")
async def respond(request: Request):
    """Says the last legal move that it read, by a tool where there are tools."""
    asked = await request.json()
    last = asked["input"][-1]
    read = last.get("output") or last.get("content")
    number = next(answers)
    say = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": move_in(read), "annotations": []}],
    }
    if asked.get("tools") and "The match is over" not in read:
        looked = last.get("type") == "function_call_output"
        name, arguments = ("move", {"text": move_in(read)}) if looked else ("look", {})
        say = {
            "id": f"fc_{number}",
            "type": "function_call",
            "call_id": f"call_{number}",
            "name": name,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }
    words = len(read.split())
    return {
        "id": f"resp_{number}",
        "created_at": 0,
        "model": "last-legal",
        "object": "response",
        "output": [say],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": words,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 3,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": words + 3,
        },
    }


def move_in(text):
    """The last of the moves that a text ends with, with the last of what each may name."""
    text = re.sub(r"'[^']*'\|", "", text)
    legal = text.splitlines()[-1].rpartition("It is your turn. ")[2]
    return legal.split(" or ")[-1].split(", ")[-1]


async def listen(app):
    """Serve an application; its server, and its port."""
    config = uvicorn.Config(app, port=0, log_level="warning")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    return server, task, server.servers[0].sockets[0].getsockname()[1]


async def main():
    server_utils.set_global_aiohttp_client(server_utils.GlobalAIOHTTPAsyncClientConfig())
    ports = {"palestra": {"host": HOST, "port": PORT}}
    client = server_utils.ServerClient(
        head_server_config=BaseServerConfig(host="127.0.0.1", port=1),
        global_config_dict=OmegaConf.create({}),
    )
    where = {"host": "127.0.0.1", "port": 1, "entrypoint": "app.py"}
    refs = {
        "resources_server": ResourcesServerRef(type="resources_servers", name="palestra"),
        "model_server": ModelServerRef(type="responses_api_models", name="model"),
    }
    by_turns = GymnasiumAgent(
        config=GymnasiumAgentConfig(name="by_turns", max_episode_steps=50, **where, **refs),
        server_client=client,
    )
    by_tools = SimpleAgent(
        config=SimpleAgentConfig(name="by_tools", max_episode_steps=50, **where, **refs),
        server_client=client,
    )
    serving = [
        await listen(app) for app in (model, by_turns.setup_webserver(), by_tools.setup_webserver())
    ]
    for name, (_, _, port) in zip(("model", "by_turns", "by_tools"), serving, strict=True):
        ports[name] = {"host": "127.0.0.1", "port": port}
    client.global_config_dict = OmegaConf.create(
        {name: {"kind": {"name": place}} for name, place in ports.items()}
    )
    seen = await rollouts(ports)
    for server, task, _ in serving:
        server.should_exit = True
        await task
    print(json.dumps(seen))


async def rollouts(ports):
    async with aiohttp.ClientSession() as http:

        async def ask(agent, path, body):
            url = f"http://127.0.0.1:{ports[agent]['port']}{path}"
            async with http.post(url, json=body) as answer:
                text = await answer.text()
                assert answer.status == 200, text
                return json.loads(text)

        if MODE == "taped":
            return [
                await ask("by_turns", "/run", row(TICTACTOE)),
                await ask("by_tools", "/run", row(TICTACTOE, tools=True)),
            ]
        seen = {"by_turns": [], "by_tools": []}
        for number, game in enumerate(GAMES):
            for agent, runs in seen.items():
                asked = row(game, tools=agent == "by_tools")
                runs.append(await ask(agent, "/run", asked) | {"_ng_task_index": number})
        verified = [
            {**run, "_ng_rollout_index": place}
            for place, runs in enumerate(seen.values())
            for run in runs
        ]
        asked = {"verify_responses": verified}
        seen["metrics"] = await ask("by_turns", "/aggregate_metrics", asked)
        seen["expected"] = compute_aggregate_metrics(verified).model_dump()
        return seen


def row(game, tools=False):
    params = {"input": [{"role": "user", "content": "Play to win."}]}
    if tools:
        params["tools"] = [
            {
                "type": "function",
                "name": name,
                "description": name,
                "strict": True,
                "parameters": {
                    "type": "object",
                    "properties": properties,
                    "required": list(properties),
                    "additionalProperties": False,
                },
            }
            for name, properties in TOOLS.items()
        ]
    return {"responses_create_params": params, "palestra": game}


asyncio.run(main())
