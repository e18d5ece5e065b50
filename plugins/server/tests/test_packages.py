"""`palestra package`: each hub's own tools accept the folder, and play what it serves."""

import errno
import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import httpx
import pytest
from clients import python_of
from model_server import ModelServer
from palestra import specs
from palestra.cli import main
from palestra.files import CannotWrite
from palestra_server.packages import HUBS, Packaging, package_files, write_package
from serving import running

WEREWOLF = "games/Werewolf-v0"
MODULE = "palestra_games_werewolf_v0"


def package(folder, env, hub, *more):
    with pytest.raises(SystemExit) as ended:
        main(["package", env, "--for", hub, "--out", str(folder), *more])
    assert ended.value.code == 0
    return folder


@contextmanager
def served(folder, port, **token):
    """The package's server, as its Dockerfile starts it, on a port of this machine."""
    command = [sys.executable, "-m", "palestra_server.packaged", "palestra.json"]
    process = subprocess.Popen(
        [*command, "--port", str(port)],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "PALESTRA_STORE": "sqlite:///m.db", **token},
    )
    url = f"http://127.0.0.1:{port}"
    try:
        with httpx.Client(transport=httpx.HTTPTransport(retries=8)) as http:
            http.get(f"{url}/health").raise_for_status()
        yield url
    finally:
        process.terminate()
        process.communicate()


def run(*command, folder, **environment):
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        command,
        cwd=folder,
        env={**plain, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.slow
def test_an_image_has_the_rules_compiled_before_anybody_plays(tmp_path):
    folder = package(tmp_path / "p", "games/ConnectFour-v0", "docker", "--option", "rows=5")
    recipe = (folder / "Dockerfile").read_text()
    (said,) = (line for line in recipe.splitlines() if line.endswith("--prepare"))
    command = said.removeprefix("RUN python ").split()
    done = run(sys.executable, *command, folder=folder, PALESTRA_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    made = {file: file.stat().st_mtime_ns for file in (tmp_path / "cache").rglob("*.nbc")}
    assert made
    run(sys.executable, *command, folder=folder, PALESTRA_CACHE=str(tmp_path / "cache"))
    found = {file: file.stat().st_mtime_ns for file in (tmp_path / "cache").rglob("*.nbc")}
    assert found == made


def test_every_hub_gets_the_same_dockerfile_and_pinned_versions(tmp_path):
    recipes = set()
    for hub in HUBS:
        folder = package(tmp_path / hub, WEREWOLF, hub, "--option", "num_players=7")
        recipes.add((folder / "Dockerfile").read_text())
        settings = json.loads((folder / "palestra.json").read_text())
        assert settings["options"] == {"num_players": 7}
        pinned = (folder / "requirements.txt").read_text().split()
        assert f"starlette=={version('starlette')}" in pinned
        assert any(re.fullmatch(r"palestra-games==[0-9.]+", pin) for pin in pinned)
        assert all("==" in pin or pin == "nemo-gym" for pin in pinned)
    assert len(recipes) == 1


@pytest.mark.parametrize("env", [spec.id for spec in specs()][::12])
@pytest.mark.parametrize("hub", HUBS)
def test_any_environment_can_be_packaged(env, hub):
    spec = next(spec for spec in specs() if spec.id == env)
    found = package_files(Packaging(spec, hub, {}, None, "random"))
    assert not any("$" in text for name, text in found.items() if name.endswith((".yaml", ".toml")))
    for name, text in found.items():
        if name.endswith(".py"):
            compile(text, name, "exec")


def test_a_folder_with_files_is_not_overwritten(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SystemExit):
        main(["package", WEREWOLF, "--out", str(tmp_path)])
    assert "choose another --out" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["package", WEREWOLF, "--for", "openenvy", "--out", str(tmp_path / "new")])
    assert "did you mean 'openenv'" in capsys.readouterr().err


PLAY = """
import sys
from openenv.core import GenericEnvClient
headers = {"Authorization": f"Bearer {token}" for token in sys.argv[2:]}
with GenericEnvClient(base_url=sys.argv[1], headers=headers).sync() as env:
    result = env.reset(seed=3)
    while not result.done:
        seen = result.observation
        result = env.step({"text": (seen.get("legal_texts") or [seen["legal"]])[0]})
    print(result.observation["metadata"]["result"])
"""


@pytest.mark.slow
@pytest.mark.exhaustive
def test_openenv_validates_and_plays_its_package(tmp_path, free_port):
    folder = package(tmp_path / MODULE, WEREWOLF, "openenv", "--option", "num_players=7")
    python = Path(python_of("openenv"))
    openenv = python.with_name("openenv")
    valid = run(openenv, "validate", ".", "--level", "static", "--skip-build", folder=folder)
    assert valid.returncode == 0, valid.stdout + valid.stderr
    with served(folder, free_port, PALESTRA_NO_TOKEN="1") as url:
        valid = run(openenv, "validate", "--url", url, folder=folder)
        assert valid.returncode == 0, valid.stdout + valid.stderr
        played = run(python, "-c", PLAY, url, folder=folder)
        assert played.stdout.strip() in ("win", "loss", "draw"), played.stderr
    with served(folder, free_port, PALESTRA_SERVER_TOKEN="secret") as url:
        assert "result" not in run(python, "-c", PLAY, url, folder=folder).stdout
        played = run(python, "-c", PLAY, url, "secret", folder=folder)
        assert played.stdout.strip() in ("win", "loss", "draw"), played.stderr


@pytest.mark.slow
@pytest.mark.exhaustive
def test_nemo_gym_validates_its_package(tmp_path):
    place = Path("resources_servers") / MODULE
    package(tmp_path / place, WEREWOLF, "nemo-gym")
    python = Path(python_of("nemo_gym"))
    config = f"+config_paths=[{place}/configs/{MODULE}.yaml]"
    valid = run(python.with_name("ng_validate"), config, folder=tmp_path)
    assert "Config is valid" in valid.stdout, valid.stdout + valid.stderr


@pytest.mark.slow
@pytest.mark.exhaustive
def test_verifiers_plays_its_package(tmp_path, free_port):
    folder = package(tmp_path / "ttt", "games/TicTacToe-v0", "verifiers", "--opponents", "first")
    model = ModelServer(lambda prompt: re.findall(r"[1-9]", prompt)[-1])
    play = Path(python_of("verifiers_server")).with_name("vf-eval")
    token = {"PALESTRA_SERVER_TOKEN": "secret"}
    with served(folder, free_port, **token) as url, running(model.app) as engine:
        done = run(
            *(play, "palestra-games-tictactoe-v0", "-m", "stub", "--no-push"),
            *("--client.base-url", f"{engine}/v1", "--client.api-key-var", "STUB_KEY"),
            *("--env.player.harness.id", "null", "--env.player.runtime.type", "subprocess"),
            *("--env.taskset.url", url, "--env.taskset.num-tasks", "2"),
            *("-o", "out", "--run.dir", "r"),
            folder=tmp_path,
            PYTHONPATH=str(folder),
            STUB_KEY="x",
            **token,
        )
    traces = (tmp_path / "out/r/traces.jsonl").read_text()
    rows = [json.loads(line) for line in traces.splitlines()]
    assert len(rows) == 2, done.stdout + done.stderr
    for row in rows:
        assert row["ok"], done.stdout + done.stderr
        (trace,) = row["traces"]
        assert "palestra" in trace["rewards"], trace["rewards"]


def test_a_package_is_written_wholly_or_not_at_all(tmp_path, monkeypatch):
    write, written = Path.write_text, []

    def full_disk(file, *arguments, **more):
        written.append(file)
        if len(written) == 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, *arguments, **more)

    wanted = Packaging(
        next(spec for spec in specs() if spec.id == "games/KuhnPoker-v0"),
        "openenv",
        {},
        None,
        "random",
    )
    monkeypatch.setattr(Path, "write_text", full_disk)
    with pytest.raises(CannotWrite, match="No space left"):
        write_package(wanted, tmp_path / "made")
    assert not list(tmp_path.iterdir())
    assert write_package(wanted, tmp_path / "made")
