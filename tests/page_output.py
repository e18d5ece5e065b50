"""The blocks of a page as a reader runs them, and whether they print what the page shows."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

FENCE = re.compile(
    r"^```(?P<language>[^\n]*)\n(?P<code>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
FILE = re.compile(r"`([\w./-]+\.\w+)`:\n\n\Z")  # `mine/game.py`: above a block
SECTION = re.compile(r"one\s+file,\s+`([\w./-]+)`")  # says so of all Python of a section
PART = "…"  # some of a line, or alone in its line any number of lines
BETWEEN = "\f"  # what two Python blocks print is divided by this
POLICY = '"invalid":"forfeit"'  # what a run does with an illegal move, if one is made
FORFEITS = ("forfeits:", "'forfeit'", '"forfeit"')
PORT = ":8000"  # of every server on a page; a free one is used instead
PATIENCE = 60.0  # seconds in which a server says that it serves
IN_PLACE = re.compile(r'pip install -e "?([\w./-]+)(?:\[dev\])?"?$')


@dataclass(frozen=True)
class Block:
    """A piece of code, data or some commands, and the output that the page shows, if any."""

    language: str
    code: str
    shown: str | None
    file: str = ""  # name of the file that the page says this is

    def commands(self) -> list[str]:
        """The commands of a shell block, without comments and line breaks."""
        lines = self.code.replace("\\\n", "").splitlines()
        return [line for line in lines if line.strip() and not line.startswith("#")]

    def prints(self) -> bool:
        """Whether the code alone says that it prints something."""
        if self.language == "shell":
            return any(re.match(r"([A-Z_]+=\S+ )*palestra ", line) for line in self.commands())
        return self.language == "python" and not self.file and "print(" in self.code

    def shows(self) -> bool:
        """Whether the page shows some of the output."""
        return any(line.strip() not in ("", PART) for line in (self.shown or "").splitlines())


@dataclass(frozen=True)
class Exceptions:
    """What of a page is not run, or is run with other words, and why."""

    left_out: Mapping[str, str] = field(default_factory=dict)  # a part of a block or command: why
    instead: Mapping[str, str] = field(default_factory=dict)  # written: run
    commands: Mapping[str, str] = field(default_factory=dict)  # as left_out, of commands alone

    def leaves_out(self, block: str) -> bool:
        return any(part in block for part in self.left_out)

    def leaves_out_command(self, command: str) -> bool:
        return self.leaves_out(command) or any(part in command for part in self.commands)

    def as_run(self, text: str) -> str:
        for written, run in self.instead.items():
            text = text.replace(written, run)
        return text


NO_EXCEPTIONS = Exceptions()


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, each with the text block that stands right below."""
    text = page.read_text("utf-8")
    return [_block(found, text) for found in FENCE.finditer(text)]


def _block(found: re.Match[str], text: str) -> Block:
    block = Block(**found.groupdict())
    before = text[: found.start()]
    section = before[before.rfind("\n## ") :]
    named = FILE.search(before) if block.language != "shell" else None
    if named is None and block.language == "python":
        named = SECTION.search(section)
    return replace(block, file=named[1]) if named else block


def agrees(shown: str, printed: str) -> bool:
    """Whether a program printed what a page shows; no reader sees which spaces do not break."""
    shown, printed = (text.replace("\u00a0", " ") for text in (shown, printed))
    lines = [
        r"(?:.*\n)*" if line.strip() == PART else _pattern(line)
        for line in shown.strip("\n").splitlines()
    ]
    ended = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
    return re.fullmatch("".join(lines), ended) is not None


def _pattern(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.rstrip().split(PART)) + r"\n"


def check_page(page: Path, folder: Path, exceptions: Exceptions = NO_EXCEPTIONS) -> None:
    """Run a page in an empty folder.

    Its commands run one by one, and files that it names are written where they stand. Where the
    last Python block stands, all other Python runs as one file, mine.py. A command that ends in `&`
    is a server on a free port instead of 8000. It runs until the next one starts there, or the page
    ends.

    Fails where a command fails, prints something else than the page shows, or prints something of
    which the page shows nothing; and where a player forfeits.
    """
    found = blocks_as_run(page, exceptions)
    script = [block for block in found if block.language == "python" and not block.file]
    last = found.index(script[-1]) if script else len(found)
    port = f":{_free_port()}"
    code = f'print("{BETWEEN}")\n'.join(block.code for block in script)
    (folder / "mine.py").write_text(code.replace(PORT, port), "utf-8")
    written: set[str] = set()
    printed: list[tuple[Block, str]] = []
    with ExitStack() as servers:
        for number, block in enumerate(found):
            if block.file:
                _write(block, folder, written)
            elif block.language == "shell":
                printed.append((block, _run_commands(block, folder, port, servers)))
            elif number == last:
                printed += zip(script, _run_script(folder), strict=True)
    complaints = [_complaint(block, text.replace(port, PORT)) for block, text in printed]
    assert not any(complaints), "\n\n".join(filter(None, complaints))
    for record in folder.rglob("episode*.jsonl"):
        _refuse_forfeits(record.read_text("utf-8").replace(POLICY, ""), str(record))


def blocks_as_run(page: Path, exceptions: Exceptions) -> list[Block]:
    """The blocks of a page without what is left out; one of which nothing is left is empty."""
    return [_as_run(block, exceptions) for block in blocks(page)]


def _as_run(block: Block, exceptions: Exceptions) -> Block:
    code = block.code
    if block.language == "shell":
        kept = [line for line in block.commands() if not exceptions.leaves_out_command(line)]
        code = "".join(f"{line}\n" for line in kept)
    elif exceptions.leaves_out(code):
        code = ""
    shown = block.shown if code else None
    return replace(block, code=exceptions.as_run(code), shown=shown)


def _write(block: Block, folder: Path, written: set[str]) -> None:
    path = folder / block.file
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text("utf-8") + "\n\n" if block.file in written else ""
    path.write_text(before + block.code, "utf-8")
    written.add(block.file)


def _run_commands(block: Block, folder: Path, port: str, servers: ExitStack) -> str:
    printed = ""
    for line in block.code.splitlines():
        if in_place := IN_PLACE.match(line):
            _install(folder / in_place[1], folder)
        elif line.endswith(" &"):
            words, more = _words(line.removesuffix(" &").replace(PORT, port))
            if "--port" not in words:
                words += ["--port", port.removeprefix(":")]
            shown = (block.shown or "serving …\n…").replace(PORT, port)
            servers.close()  # a reader stops the one that has the port
            printed += servers.enter_context(_serving(folder, words, more, shown))
        else:
            words, more = _words(line.replace(PORT, port))
            printed += _run(folder, words, more)
    return printed


def _run_script(folder: Path) -> list[str]:
    """What each block of mine.py prints."""
    return _run(folder, [sys.executable, "mine.py"], {}).split(f"{BETWEEN}\n")


def check_commands(block: Block) -> None:
    """Read the commands of a shell block, without running them."""
    for line in block.commands():
        if not IN_PLACE.match(line):
            _words(line.removesuffix(" &"))


def _words(line: str) -> tuple[list[str], dict[str, str]]:
    """The words of a command, and the variables that are set before it."""
    words = shlex.split(line, comments=True)
    more = {}
    while re.match(r"[A-Z_]+=", words[0]):
        name, _, more[name] = words.pop(0).partition("=")
    program, *arguments = words
    assert program in ("palestra", "python"), (
        f"a reader's command is palestra or python, not {line}"
    )
    module = ["-m", program] if program == "palestra" else []
    return [sys.executable, *module, *arguments], more


def _environment(folder: Path, more: Mapping[str, str]) -> dict[str, str]:
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    own = {"COLUMNS": "100", "SDL_VIDEODRIVER": "dummy", "PYTHONPATH": path}
    return {**os.environ, **own, **more}


def _run(folder: Path, command: list[str], more: Mapping[str, str]) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=_environment(folder, more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    said = f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    assert done.returncode == 0, said
    _refuse_forfeits(done.stdout, said)
    return done.stdout


@contextmanager
def _serving(
    folder: Path, command: list[str], more: Mapping[str, str], shown: str
) -> Iterator[str]:
    """Run a server until the page is done; gives what it printed once that is what is shown."""
    path = folder / "served.txt"
    with path.open("wb") as out:
        server = subprocess.Popen(command, cwd=folder, env=_environment(folder, more), stdout=out)
        try:
            until = time.monotonic() + PATIENCE
            while not agrees(shown, path.read_text("utf-8")) and time.monotonic() < until:
                assert server.poll() is None, f"{' '.join(command)} has ended"
                time.sleep(0.05)
            yield path.read_text("utf-8")
        finally:
            server.terminate()
            server.wait(PATIENCE)


def _free_port() -> str:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return str(held.getsockname()[1])


def _install(source: Path, folder: Path) -> None:
    """What `pip install -e` leaves for Palestra to find: packages, entry points of the project."""
    project = tomllib.loads((source / "pyproject.toml").read_text("utf-8"))["project"]
    for package in source.glob("src/*"):
        (folder / package.name).symlink_to(package)
    name, version = project["name"], project["version"]
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    points = project["entry-points"]["palestra"]
    lines = [f"{key} = {value}" for key, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[palestra]", *lines, ""]), "utf-8")


def check_data(block: Block) -> None:
    """Read a block of TOML or JSON; of JSON also a document a line."""
    if block.language == "toml":
        tomllib.loads(block.code)
        return
    try:
        json.loads(block.code)
    except json.JSONDecodeError:
        for line in block.code.splitlines():
            json.loads(line)


def _refuse_forfeits(text: str, where: str) -> None:
    assert not any(mark in text for mark in FORFEITS), f"a player forfeits: {where}"


def _complaint(block: Block, printed: str) -> str:
    """What is wrong with the output that the page shows below a block; empty if nothing is."""
    if agrees(block.shown or "", printed):
        return ""
    shown = "nothing\n" if block.shown is None else f"\n{block.shown}"
    return f"the page shows {shown}below\n{block.code}\nand it printed\n{printed}"
