"""LoRA adapters in folders, as peft writes them."""

from __future__ import annotations

from pathlib import Path

from palestra import ModelError
from palestra.agents.kept_models import version_of_files


def version_of_adapter(folder: str | Path) -> str:
    """What changes when an adapter's files do; raises `ModelError` for a folder without one."""
    if not (Path(folder) / "adapter_config.json").exists():
        raise ModelError(f"{folder} is not a LoRA adapter: no adapter_config.json in it")
    return version_of_files(Path(folder))
