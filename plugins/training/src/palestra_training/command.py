"""`palestra train-llm`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import asdict
from palestra.cli.arguments import read_options
from palestra.cli.watching import Watch, WatchPort, watched
from palestra.quoting import open_console
from palestra.runner.loggers import finite, open_logger
from palestra.runner.watching import Standing

if TYPE_CHECKING:
    from palestra_training.curves import Round

SCORES = (
    *("unlost", "low", "high", "worst", "won"),
    *("mean", "mean_low", "mean_high", "rank", "rank_low", "rank_high"),
)  # fields of a round that are against one opponent


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
    from palestra_training.processes import open_processes
    from palestra_training.trainer import Trainer

    disable_progress_bar()
    chosen = read_plan(plan, **read_options(change or []))
    title = f"palestra train-llm {plan.name}: {chosen.env}"
    with ExitStack() as opened:
        processes = opened.enter_context(open_processes())
        leads = processes.leads  # the others neither write nor print
        console = open_console(quiet=not leads)
        if leads:
            opened.enter_context(sole_writer(out))
        page = opened.enter_context(watched(watch and leads, watch_port, title, console))
        pages = [] if page is None else [page]
        loggers = [open_logger(text, out.name) for text in (log or []) * leads]
        scores: dict[str, Standing] = {}

        def tell(line: Round) -> None:
            for logger in (*loggers, *pages):
                logger.log(line.round, finite(round_row(line)))
            if not line.opponent:
                return
            title, value, low, high = headline(line)
            scores[line.opponent] = Standing(line.opponent, value, low, high)
            for one in pages:
                one.stand(f"{title.capitalize()} against", list(scores.values()))
            console.print(
                f"round {line.round}  {line.seconds:.0f} s  {describe(line)}", highlight=False
            )

        trainer = Trainer(
            chosen,
            out,
            resume=resume,
            other_versions=other_versions,
            hooks=pages,
            processes=processes,
        )
        opened.callback(trainer.close)
        try:
            trainer.run(tell)
        except KeyboardInterrupt:
            console.print(f"stopped at round {trainer.round}; continue with --resume --out {out}")
            raise typer.Exit(130) from None
        finally:
            for logger in loggers:
                logger.close()
        console.print(f"model   {out / 'model'}", soft_wrap=True, highlight=False)


def headline(line: Round) -> tuple[str, float, float, float]:
    """What an evaluation is about, its value and its interval: the share unlost, or the return."""
    if line.unlost is not None:
        return "unlost", line.unlost, line.low or 0.0, line.high or 0.0
    return "mean return", line.mean or 0.0, line.mean_low or 0.0, line.mean_high or 0.0


def describe(line: Round) -> str:
    """An evaluation in words."""
    title, *numbers = headline(line)
    form = "{:.1%} ({:.1%} to {:.1%})" if line.unlost is not None else "{:.4g} ({:.4g} to {:.4g})"
    text = f"{title} against {line.opponent} {form.format(*numbers)}"
    if line.rank is not None:
        text += f"  paid more than {line.rank:.1%} of the other seats"
    if line.exploitability is not None:
        text += f"  exploitability {line.exploitability:.4f}"
    return text


def round_row(line: Round) -> dict[str, float | None]:
    """The numbers of a round; what an evaluation found is named by its opponent."""
    told = asdict(line)
    opponent = told.pop("opponent")
    row = {name: value for name, value in told.items() if not isinstance(value, str)}
    if not opponent:
        return row
    return {f"{n}/{opponent}" if n in SCORES else n: value for n, value in row.items()}
