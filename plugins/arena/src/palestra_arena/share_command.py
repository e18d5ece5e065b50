"""`palestra push` and `palestra pull`: runs as plain folders, and on the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
from palestra import InvalidOption
from palestra.quoting import open_console, printable
from rich.console import Console

if TYPE_CHECKING:  # not imported to print another command's help
    from palestra_arena.sharing.contents import Contents

SCHEME = "hf:"


def push_command(
    folder: Annotated[
        Path, typer.Argument(help="What palestra play, train or tournament wrote into.")
    ],
    to: Annotated[
        str, typer.Option(help="A new folder, or hf:user/name; by default FOLDER-shared.")
    ] = "",
    public: Annotated[
        bool, typer.Option("--public", help="A new repository on the hub is for everybody.")
    ] = False,
    message: Annotated[str, typer.Option(help="The commit's message on the hub.")] = "",
) -> None:
    """Share records, policies and leaderboards as a folder with a card and checksums.

    --to hf:user/name uploads it with the Hugging Face client (pip install "palestra-arena[hub]");
    hf:datasets/user/name makes a repository of data. A new repository is private.
    """
    from palestra_arena.sharing.folder import write_folder
    from palestra_arena.sharing.hub import hub_place, upload

    console = open_console()
    if not to.startswith(SCHEME):
        target = Path(to) if to else folder.resolve().with_name(f"{folder.resolve().name}-shared")
        if target.resolve().is_relative_to(folder.resolve()):
            raise InvalidOption(f"{target} lies inside {folder}; choose a folder outside with --to")
        _print_contents(console, write_folder(folder, target))
        console.print(f"wrote   {target}", soft_wrap=True, highlight=False, markup=False)
        return
    place = hub_place(to)
    with TemporaryDirectory() as scratch:
        draft = Path(scratch) / folder.resolve().name
        contents = write_folder(folder, draft)
        address = upload(draft, place, public=public, message=message)
    _print_contents(console, contents)
    console.print(f"pushed  {address}", soft_wrap=True, highlight=False, markup=False)
    console.print(
        f"get it: palestra pull {place} FOLDER", soft_wrap=True, highlight=False, markup=False
    )


def pull_command(
    source: Annotated[str, typer.Argument(help="hf:user/name, or a folder that was pushed.")],
    folder: Annotated[Path, typer.Argument(help="The new folder.")],
) -> None:
    """Get records, policies and leaderboards that somebody pushed, and check every file.

    Episodes that stand in a file twice, and unknown and doubled fields, are named.
    """
    from palestra_arena.sharing.folder import read_folder
    from palestra_arena.sharing.hub import download, hub_place

    console = open_console()
    if source.startswith(SCHEME):
        with TemporaryDirectory() as scratch:
            download(hub_place(source), Path(scratch))
            contents = read_folder(Path(scratch), folder, source)
    else:
        contents = read_folder(Path(source), folder)
    _print_contents(console, contents)
    console.print(f"wrote   {folder}", soft_wrap=True, highlight=False, markup=False)
    for said in contents.odd:
        typer.echo(printable(said), err=True)
    if contents.records:
        console.print(
            printable(f"check the moves: palestra replay {folder / contents.records[0]} --verify"),
            soft_wrap=True,
            highlight=False,
            markup=False,
        )


def _print_contents(console: Console, contents: Contents) -> None:
    """One line: how much of what the folder holds."""
    episodes, games = sum(contents.episodes.values()), sum(b.games for b in contents.boards)
    parts = [
        f"episodes: {episodes} of {', '.join(contents.environments)}" if episodes else "",
        f"policies: {', '.join(p.folder for p in contents.policies)}" if contents.policies else "",
        f"leaderboards: {len(contents.boards)} over {games} games" if contents.boards else "",
    ]
    said = "; ".join(part for part in parts if part)
    console.print(f"holds   {printable(said)}", soft_wrap=True, highlight=False, markup=False)
