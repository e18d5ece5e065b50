"""What clients.md, training-llm.md and frameworks.md in docs show, run with the real clients.

Every `with_….py` beside this file is a test of one client. It runs in a process and, but for the
clients that the development environment holds, in an environment of its own, which
scripts/client_env.py makes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
OWN_ENVIRONMENT = (
    *("supersuit", "tianshou", "torchrl", "rllib", "agilerl", "jaxmarl"),
    *("trl", "verifiers", "inspect", "tinker", "verl"),  # these train or ask language models
    *("lightning", "art"),
    *("pydantic_ai", "langgraph", "openai_agents", "smolagents", "autogen", "dspy", "crewai"),
    *("ag2", "ag2_classic"),
)
# its environment weighs 6 GB, with a GPU's build of torch; run with: scripts/client_env.py skyrl,
# then the Python that it prints, -m pytest tests/clients/with_skyrl.py
BY_HAND = ("skyrl",)
# clients of the server: plugins/server/tests
REMOTE = (
    "openenv",
    "openenv_core",
    "nemo_gym",
    "verifiers_server",
    "inspector",
    "ray_serve",
    "deployed",
)
FRAMEWORKS = (  # by their section of docs/frameworks.md
    ("crewai", "Teams"),
    ("ag2", "AG2"),
    ("ag2_classic", "AG2 Classic"),
    ("autogen", "AutoGen"),
    ("langgraph", "LangGraph"),
    ("openai_agents", "OpenAI Agents SDK"),
    ("pydantic_ai", "pydantic-ai"),
)
DEVELOPMENT = ("gymnasium", "pettingzoo", "sb3", "cleanrl")


@pytest.mark.slow
@pytest.mark.parametrize(
    "client",
    [*(pytest.param(one, marks=pytest.mark.exhaustive) for one in OWN_ENVIRONMENT), *DEVELOPMENT],
)
@pytest.mark.essential
def test_client(client: str) -> None:
    python = sys.executable
    if client in OWN_ENVIRONMENT:
        python = run(sys.executable, "scripts/client_env.py", client).splitlines()[-1]
    # -W default: what a client warns of is its own affair
    options = ("-q", "-p", "no:cacheprovider", "-W", "default", "--tb=short", "--show-capture=no")
    done = run(python, "-m", "pytest", *options, str(HERE / f"with_{client}.py"))
    assert " passed" in done
    assert " skipped" not in done


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize(("client", "section"), FRAMEWORKS)
def test_the_embedded_model_plays_behind_an_agent_or_team(
    client: str, section: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(HERE)
    from model_service import serving  # with torch, which no other test here needs
    from palestra_agents.models.weights import embedded_model

    python = run(sys.executable, "scripts/client_env.py", client).splitlines()[-1]
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with serving(embedded_model(), most=8) as served:
        monkeypatch.setenv("OPENAI_BASE_URL", served.url)
        played = json.loads(run(python, str(HERE / "real_episode.py"), section).splitlines()[-1])
    assert not played["error"]
    assert played["results"]
    exchanges = served.exchanges
    tokens = [sum(len(one.prompt) for one in exchanges), sum(len(one.ids) for one in exchanges)]
    assert played["usage"] == [*tokens, len(exchanges)]
    said = {one.text.strip() for one in exchanges}
    assert {raw.strip() for raw in played["raw"]} <= said


def test_every_client_has_its_test_and_its_requirements() -> None:
    assert {path.stem.removeprefix("with_") for path in HERE.glob("with_*.py")} == {
        *OWN_ENVIRONMENT,
        *BY_HAND,
        *DEVELOPMENT,
    }
    kept = {path.stem for path in (HERE / "requirements").glob("*.txt")}
    assert kept == {*OWN_ENVIRONMENT, *BY_HAND, *REMOTE, "overrides"}


def run(*command: str) -> str:
    quiet = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE)}
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, **quiet}, check=False
    )
    output = done.stdout[-6000:] + done.stderr[-3000:]
    assert done.returncode == 0, f"{' '.join(command)}\n{output}"
    return done.stdout
