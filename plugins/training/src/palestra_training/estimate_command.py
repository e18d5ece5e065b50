"""`palestra estimate-llm`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from palestra.cli.arguments import read_options
from palestra.quoting import open_console


def estimate_command(
    plan: Annotated[Path, typer.Argument(help="TOML or JSON, as of train-llm.")],
    device: Annotated[str, typer.Option(help="a100, h100 or h200.")] = "h100",
    devices: Annotated[
        int, typer.Option(min=1, help="How many share a round; each holds the whole model.")
    ] = 1,
    change: Annotated[
        list[str] | None, typer.Option("--set", help="name=value, over what the file says.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what memory and time a plan of train-llm needs, before anything is run.

    Only config.json of the model is read, and its tokenizer if it is there. Ends with 1 if the plan
    does not fit.
    """
    from palestra_training.estimate import GB, estimate
    from palestra_training.plan import read_plan

    found = estimate(read_plan(plan, **read_options(change or [])), device, devices)
    console = open_console()
    if as_json:
        console.print_json(data=found.to_dict())
    else:
        for line in found.lines():
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    if not found.fits:
        most = max(found.memory, key=lambda name: found.memory[name])
        open_console(stderr=True).print(
            f"{plan} does not fit: it needs {found.needed / GB:.1f} GB of "
            f"{found.capacity / GB:.0f}, most of them for {most}; lower micro_batch_tokens, set "
            "gradient_checkpointing, or learn adapters (lora)",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        raise typer.Exit(1)
