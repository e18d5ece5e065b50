"""`palestra train-llm`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from palestra.cli.arguments import read_options
from rich.console import Console


def train_command(
    plan: Annotated[Path, typer.Argument(help="TOML or JSON; see docs/training-llm.md.")],
    out: Annotated[Path, typer.Option(help="Folder for the model, the curve and checkpoints.")],
    resume: Annotated[bool, typer.Option(help="Continue the run in the folder.")] = False,
    change: Annotated[
        list[str] | None, typer.Option("--set", help="name=value, over what the file says.")
    ] = None,
) -> None:
    """Train a language model by play: with itself, with its past and with other agents."""
    from palestra.runner.run_folder import sole_writer
    from transformers.utils.logging import disable_progress_bar

    from palestra_training.plan import read_plan
    from palestra_training.trainer import Round, Trainer

    disable_progress_bar()
    console = Console()

    def tell(line: Round) -> None:
        if line.opponent:
            console.print(
                f"round {line.round}  {line.seconds:.0f} s  unlost against {line.opponent} "
                f"{line.unlost:.1%} ({line.low:.1%} to {line.high:.1%})",
                highlight=False,
            )

    with sole_writer(out):
        trainer = Trainer(read_plan(plan, **read_options(change or [])), out, resume=resume)
        try:
            trainer.run(tell)
        except KeyboardInterrupt:
            console.print(f"stopped at round {trainer.round}; continue with --resume --out {out}")
            raise typer.Exit(130) from None
    console.print(f"model   {out / 'model'}", soft_wrap=True, highlight=False)
