"""A checkpoint may be a stranger's: whatever is in it is refused in one line, or does no harm."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import palestra
import pytest
import torch
from palestra import ArrayGame, InvalidOption, PalestraError
from palestra.cli import main
from palestra.engine.batch import Batch
from palestra_agents.checkpoints import read_checkpoint_file
from palestra_agents.lane_moves import LaneMoves
from palestra_agents.learners.training import FILE, STATE, begin_team, read_learner
from palestra_agents.ppo.checkpoint import CHECKPOINT, read_checkpoint
from palestra_agents.ppo.policy import Settings
from palestra_agents.ppo.trainer import Trainer

CHANGES = Path(__file__).with_name("changed_checkpoints.py")
SMALL = Settings(num_envs=4, horizon=6, hidden=8, minibatches=2, epochs=1)
KUHN, HANABI, FORAGING = "games/KuhnPoker-v0", "games/Hanabi-v0", "grid/Foraging-v0"
TEAMS: dict[str, dict[str, Any]] = {
    "qmix": {"batch_size": 4, "warm_up": 4, "memory": 20, "mixing": 4, "hidden": 8},
    "vdn": {"episodes": 4, "warm_up": 4, "memory": 80, "mixing": 4, "hidden": 8, "recurrent": True},
    "maddpg": {"batch_size": 4, "warm_up": 4, "memory": 20, "ensemble": 2, "hidden": 8},
    "mansa": {},
    "recurrent": {"horizon": 4, "population": 3, "hidden": 8},
    "hammer": {"horizon": 4, "message": 2, "hidden": 8},
    "clam": {"pool": "forager,random", "hidden": 8},
}


def saved_policy(env: str, folder: Path) -> Path:
    trainer = Trainer(env, {}, SMALL)
    trainer.update()
    return trainer.save(folder)


def saved_team(algo: str, folder: Path) -> None:
    run = begin_team(algo, FORAGING, {}, {"num_envs": 4, **TEAMS[algo]}, folder)
    for _ in range(3):
        run.learner.update()
    run.save(folder)


def outcomes(part: str, share: float, *folders: Path) -> Counter[str]:
    """How often a changed file was refused and resumed; in another process, which may crash."""
    done = subprocess.run(
        [sys.executable, str(CHANGES), part, str(share), *map(str, folders)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-2000:]}"
    found = [json.loads(line) for line in done.stdout.splitlines()]
    bad = [row for row in found if row["is"] not in ("refused", "resumed") or "\n" in row["said"]]
    assert not bad, bad[:3]
    return Counter(row["is"] for row in found)


@pytest.mark.slow
def test_changed_lanes_are_refused(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(3)]
    for env, folder in zip((KUHN, HANABI, FORAGING), folders, strict=True):
        saved_policy(env, folder)
    found = outcomes("lanes", 0.2, *folders)
    assert found["refused"] > 20
    assert found["resumed"] < 3, "other moves may be legal by chance"


@pytest.mark.exhaustive(sample=1)
@pytest.mark.slow
@pytest.mark.parametrize("env", [KUHN, HANABI, FORAGING])
@pytest.mark.parametrize(("part", "share", "least"), [("lanes", 1.0, 60), ("all", 0.3, 300)])
def test_whatever_changes_in_a_policy_it_is_refused_or_stays_finite(
    env: str, part: str, share: float, least: int, tmp_path: Path
) -> None:
    saved_policy(env, tmp_path)
    assert outcomes(part, share, tmp_path)["refused"] > least


@pytest.mark.exhaustive(sample=1)
@pytest.mark.slow
@pytest.mark.parametrize("algo", TEAMS)
def test_whatever_changes_in_a_team_it_is_refused_or_stays_finite(
    algo: str, tmp_path: Path
) -> None:
    saved_team(algo, tmp_path)
    assert outcomes("all", 0.1, tmp_path)["refused"] > 50


# Moves instead of states


@pytest.mark.parametrize("env", [KUHN, HANABI, FORAGING, "games/ConnectFour-v0"])
def test_moves_bring_every_lane_back(env: str) -> None:
    rules = palestra.game(env)
    assert isinstance(rules, ArrayGame)
    one, other = (Batch(rules, 5, autoreset="disabled", compiled=False) for _ in range(2))
    one.reset([3, 2**64 - 1, 0, 2**40, 7])
    moves = LaneMoves(one)
    for _ in range(25):
        actions = one.random_actions().copy()
        moves.add(actions)
        one.step(actions)
        if one.finished.any():
            one.reset(lanes=one.finished.copy())
    other.reset(0)
    again = LaneMoves(other)
    again.replay(moves.state())
    for name in ("seed", "key", "episodes", "length", "acting", "over", "active"):
        assert (one.lanes[name] == other.lanes[name]).all(), name
    for name in ("state", "mask", "observations", "returns"):  # not bytes between them
        assert (one.lanes["timestep"][name] == other.lanes["timestep"][name]).all(), name
    kept, back = moves.state(), again.state()
    assert all(torch.equal(kept[name], back[name]) for name in kept)


def test_lanes_of_another_game_are_not_loaded() -> None:
    kuhn, hanabi = (
        Batch(palestra.game(env), 2, compiled=False)  # type: ignore[arg-type]
        for env in (KUHN, HANABI)
    )
    with pytest.raises(InvalidOption, match="no lanes of KuhnPoker"):
        kuhn.load(hanabi.save())


# Single changes, and what is said of them


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"env": HANABI}, "must be torch.float32 of shape"),
        ({"env": "text/Commons-v0"}, "is not an array game"),
        ({"env": 5}, r"Expected `str`, got `int` - at `\$.env`"),
        ({"env": "games/KuhnPocker-v0"}, "did you mean"),
        ({"settings": {"hidden": 10**9}}, "too small for a run with hidden=1000000000"),
        ({"settings": {"hidden": 8, "rate": 1}}, "no setting 'rate'"),
        ({"network": {}}, "network must have"),
        ({"format": "palestra.ppo/1"}, "this version reads 'palestra.ppo/2'. Train into another"),
    ],
)
def test_a_changed_policy_is_not_played(
    change: dict[str, Any], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = saved_policy(KUHN, tmp_path)
    torch.save(torch.load(file, weights_only=True) | change, file)
    with pytest.raises(InvalidOption, match=says):
        palestra.make_agent(f"ppo:{tmp_path}")
    with pytest.raises(SystemExit) as stop:
        main(["play", KUHN, "--agents", f"ppo:{tmp_path}", "--out", str(tmp_path / "played")])
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert str(file) in said
    assert "Traceback" not in said


def test_weights_that_give_no_number_play_no_move(tmp_path: Path) -> None:
    file = saved_policy(KUHN, tmp_path)
    kept = torch.load(file, weights_only=True)
    for name in ("policy.weight", "body.2.weight", "body.0.weight"):
        kept["network"][name] = torch.sign(kept["network"][name]) * 3e38
    torch.save(kept, file)
    with pytest.raises(PalestraError, match="no longer finite"):
        palestra.play(KUHN, agents=[f"ppo:{tmp_path}"] * 2, episodes=20)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_file_that_is_cut_off_is_named(share: float, tmp_path: Path) -> None:
    file = saved_policy(KUHN, tmp_path)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(InvalidOption, match="is not a checkpoint of palestra train"):
        Trainer.load(tmp_path)


def test_a_tensor_cannot_reach_beyond_its_file(tmp_path: Path) -> None:
    file = tmp_path / "long.pt"
    torch.save({"format": "x", "long": torch.arange(1000)}, file)
    with zipfile.ZipFile(file) as whole:
        parts = {name: whole.read(name) for name in whole.namelist()}
    with zipfile.ZipFile(file, "w") as changed:
        for name, data in parts.items():
            more = (400_000_000).to_bytes(4, "little")
            changed.writestr(name, data.replace(b"M\xe8\x03", b"J" + more))
    with pytest.raises(InvalidOption, match="is not a thing"):
        read_checkpoint_file(file, "a thing", "x")


def test_a_small_file_does_not_fill_the_memory(tmp_path: Path) -> None:
    doubled: list[Any] = [1]
    for _ in range(60):
        doubled = [doubled, doubled]
    shared = torch.zeros(10_000)
    for held in (doubled, [shared.view(-1) for _ in range(1000)], shared[:1].expand(10**12)):
        torch.save({"format": "x", "held": held}, tmp_path / "bomb.pt")
        with pytest.raises(InvalidOption, match="its size allows"):
            read_checkpoint_file(tmp_path / "bomb.pt", "a thing", "x")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"env": "grid/Particles-v0"}, "has|must"),
        ({"algo": "sac"}, "choose from"),
        ({"weights": {}}, "cannot be used"),
        ({"settings": {"hidden": 10**7}}, "too small"),
    ],
)
def test_a_changed_team_is_not_played(change: dict[str, Any], says: str, tmp_path: Path) -> None:
    saved_team("qmix", tmp_path)
    file = tmp_path / FILE
    torch.save(torch.load(file, weights_only=True) | change, file)
    with pytest.raises(InvalidOption, match=says) as refused:
        read_learner(tmp_path)
    assert str(file) in str(refused.value)


def test_no_file_of_training_holds_lanes(tmp_path: Path) -> None:
    saved_policy(KUHN, tmp_path / "ppo")
    lanes = read_checkpoint(tmp_path / "ppo").lanes
    assert sorted(lanes) == ["episodes", "lengths", "moves", "seeds"]
    saved_team("recurrent", tmp_path / "team")
    field = torch.load(tmp_path / "team" / STATE, weights_only=True)["learner"]["field"]
    assert sorted(field["moves"]) == sorted(lanes)
    assert (tmp_path / "ppo" / CHECKPOINT).stat().st_size < 30_000
    assert np.all(lanes["lengths"].numpy() <= 3)
