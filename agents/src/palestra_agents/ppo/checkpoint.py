"""The checkpoint of a PPO run: where it lies, and what it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from palestra import InvalidOption
from palestra.kernel.errors import cause, show

from palestra_agents.checkpoints import (
    Count,
    blaming,
    converted,
    read_checkpoint_file,
    require_names,
    require_room,
)

FORMAT = "palestra.ppo/2"
CHECKPOINT = "policy.pt"
COLUMNS = ("steps", "seconds", "mean_return", "wins_against_random", "entropy")


class Saved(msgspec.Struct):
    """What `Trainer.save` writes; whoever reads a tensor checks it against their network."""

    env: str
    options: dict[str, Any]
    settings: dict[str, Any]
    tasks: dict[str, Any] | None
    rewards: tuple[str, ...]
    kept: tuple[Any, Any] | None
    learning: Any
    versions: dict[str, str]
    steps: Count
    updates: Count
    curve: list[dict[str, int | float]]
    network: Any
    optimizer: Any
    lanes: Any
    torch_rng: Any
    memory: Any = None  # of recurrent policies


def path_in(folder: Path) -> Path:
    """The checkpoint in a folder; `folder` may be the file itself."""
    return folder / CHECKPOINT if folder.is_dir() else folder


def read_checkpoint(folder: Path) -> Saved:
    """Read what `Trainer.save` wrote, except for the form of its tensors."""
    try:
        path = path_in(folder)
        there = path.exists()
    except (OSError, ValueError) as error:  # a name that no file can have
        raise InvalidOption(f"{show(str(folder))} is no folder: {cause(error)}") from error
    if not there:
        raise InvalidOption(
            f"there is no trained policy at {path}; palestra train, without --resume, makes one"
        )
    kept = read_checkpoint_file(path, "a checkpoint of palestra train", FORMAT)
    with blaming(path):
        saved = converted(kept, Saved)
        require_room(saved.settings, path)
        for row in saved.curve:
            require_names("curve", row, COLUMNS)
    return saved
