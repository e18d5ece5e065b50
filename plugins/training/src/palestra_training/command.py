"""`palestra train-llm`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import asdict
from palestra.cli.arguments import read_options
from palestra.cli.watching import Watch, WatchPort, watched
from palestra.runner.loggers import finite, open_logger
from palestra.runner.watching import Standing
from rich.console import Console

if TYPE_CHECKING:
    from palestra_training.trainer import Round


def train_command(
    plan: Annotated[Path, typer.Argument(help="TOML or JSON; see docs/training-llm.md.")],
    out: Annotated[Path, typer.Option(help="Folder for the model, the curve and checkpoints.")],
    resume: Annotated[bool, typer.Option(help="Continue the run in the folder.")] = False,
    other_versions: Annotated[
        bool, typer.Option("--other-versions", help="Resume a run of other versions of packages.")
    ] = False,
    change: Annotated[
        list[str] | None, typer.Option("--set", help="name=value, over what the file says.")
    ] = None,
    log: Annotated[
        list[str] | None,
        typer.Option(help="Where to log every round, as in tensorboard:runs/tb; repeatable."),
    ] = None,
    watch: Watch = False,
    watch_port: WatchPort = 0,
) -> None:
    """Train a language model by play: with itself, with its past and with other agents."""
    from palestra.runner.run_folder import sole_writer
    from transformers.utils.logging import disable_progress_bar

    from palestra_training.plan import read_plan
    from palestra_training.trainer import Trainer

    disable_progress_bar()
    console = Console()

    chosen = read_plan(plan, **read_options(change or []))
    title = f"palestra train-llm {plan.name}: {chosen.env}"
    loggers = [open_logger(text, out.name) for text in log or []]
    with sole_writer(out), watched(watch, watch_port, title, console) as page:
        pages = [] if page is None else [page]
        scores: dict[str, Standing] = {}

        def tell(line: Round) -> None:
            for logger in (*loggers, *pages):
                logger.log(line.round, finite(round_row(line)))
            if not line.opponent or line.unlost is None or line.low is None or line.high is None:
                return
            scores[line.opponent] = Standing(line.opponent, line.unlost, line.low, line.high)
            for opened in pages:
                opened.stand("Unlost against", list(scores.values()))
            console.print(
                f"round {line.round}  {line.seconds:.0f} s  unlost against {line.opponent} "
                f"{line.unlost:.1%} ({line.low:.1%} to {line.high:.1%})",
                highlight=False,
            )

        trainer = Trainer(chosen, out, resume=resume, other_versions=other_versions, hooks=pages)
        try:
            trainer.run(tell)
        except KeyboardInterrupt:
            console.print(f"stopped at round {trainer.round}; continue with --resume --out {out}")
            raise typer.Exit(130) from None
        finally:
            for logger in loggers:
                logger.close()
    console.print(f"model   {out / 'model'}", soft_wrap=True, highlight=False)


def round_row(line: Round) -> dict[str, float | None]:
    """The numbers of a round; what an evaluation found is named by its opponent."""
    told = asdict(line)
    opponent = told.pop("opponent")
    row = {name: value for name, value in told.items() if not isinstance(value, str)}
    if not opponent:
        return row
    scores = ("unlost", "low", "high")
    return {f"{n}/{opponent}" if n in scores else n: value for n, value in row.items()}
