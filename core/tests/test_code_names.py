"""Agents named by a file or a module: `mine.py:Mine,depth=2`, `module:name`."""

import sys

import palestra
import pytest
from palestra.cli import main
from palestra.code_names import code_name, code_version, file_of
from palestra.isolation.system import unwalled_system
from palestra.records.verify import verify

TICTACTOE = "games/TicTacToe-v0"
SOURCE = """
import asyncio
import palestra
from beside_me import PLACE

def first(turn, place=0):
    return turn.legal_actions[place] if len(turn.legal_actions) > place else turn.legal_actions[0]

async def later(turn):
    await asyncio.sleep(0.01)
    return turn.legal_actions[PLACE]

class Acts:
    def __init__(self, place: int = 0):
        self.place = place
    async def act(self, turn):
        return first(turn, self.place)

class Whole(palestra.ScriptedAgent):
    def choose(self, turn):
        return turn.legal_actions[0]

ready = Acts()

def make(place: int):
    return Acts(place)

def broken(place: int = 0):
    raise OSError("no such book")
"""
ISOLATED = [False, *([] if unwalled_system() else [None, True])]


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    (tmp_path / "beside_me.py").write_text("PLACE = 0\n")
    path = tmp_path / "my agents" / ".." / "mine.py"
    (tmp_path / "my agents").mkdir()
    (tmp_path / "mine.py").write_text(SOURCE)
    yield path
    sys.modules.pop("beside_me", None)


def moves(records):
    return [[turn.action for turn in record.turns] for record in records]


@pytest.mark.parametrize("isolate", ISOLATED)
@pytest.mark.parametrize("name", ["first", "later", "Acts", "Whole", "ready", "Acts:place=0"])
def test_it_plays_what_the_file_says(file, name, isolate):
    known = palestra.play(TICTACTOE, agents=["first", "random"], episodes=2, seed=3)
    agents = [f"{file}:{name}", "random"]
    records = palestra.play(TICTACTOE, agents=agents, episodes=2, seed=3, isolate=isolate)
    assert moves(records) == moves(known)
    assert records[0].agents[0] == f"{file}:{name}"
    assert records[0].versions[str(file)] == code_version(agents[0])[str(file)]
    file.write_text("raise SystemExit('a replay ran me')")
    verify(records[0])
    list(palestra.retrace(records[0]))


@pytest.mark.parametrize("options", [":place=2", ",place=2"])
@pytest.mark.parametrize("name", ["first", "Acts", "make"])
def test_options_are_written_as_those_of_any_name(file, name, options):
    record, *_ = palestra.play(
        TICTACTOE, agents=[f"{file}:{name}{options}", "first"], isolate=False
    )
    assert record.turns[0].action == 2


@pytest.mark.parametrize("isolate", ISOLATED)
def test_a_factory_that_fails_is_said_in_one_line(file, isolate):
    with pytest.raises(palestra.PalestraError, match=r"broken cannot be made: OSError: .no such"):
        palestra.play(TICTACTOE, agents=[f"{file}:broken", "random"], isolate=isolate)


def test_a_module_is_named_and_the_working_folder_is_searched(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    known = palestra.play(TICTACTOE, agents="first")
    assert moves(palestra.play(TICTACTOE, agents="mine:first")) == moves(known)
    sys.modules.pop("mine")


def test_it_is_an_opponent(file):
    env = palestra.make(TICTACTOE, opponents=f"{file}:later", seat=1)
    env.reset(seed=1)
    assert env.action_masks().tolist() == [False] + [True] * 8


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mine.py:Nobody", r"has no 'Nobody'; it has first, later, Acts, Whole, make, broken;"),
        ("mine.py", r"say what in .*mine.py:first"),
        ("mine.py:", r"say what in .*mine.py:first"),
        ("none.py:Mine", r"there is no file .*none.py; its folder has .*mine.py"),
        ("broken.py:Mine", r"broken.py cannot be imported: ZeroDivisionError"),
        ("leaves.py:Mine", r"leaves.py cannot be imported: SystemExit"),
        ("misspelt.py:Mine", r"misspelt.py cannot be imported: SyntaxError"),
        ("mine.py:Acts,plaice=1", r"plaice"),
        ("mine.py:Acts:place=x", r"place of agent .* must be an integer"),
        ("mine.py:ready,place=1", r"is an object; only a class or a function takes options"),
        ("mine.py:first,7", r"is no option; write name=value"),
    ],
)
def test_what_cannot_be_named_is_said_in_one_line(file, name, said):
    for other, source in (("broken", "1/0"), ("leaves", "exit(3)"), ("misspelt", "def :")):
        (file.parent / f"{other}.py").write_text(source)
    with pytest.raises(palestra.PalestraError, match=said) as raised:
        palestra.play(TICTACTOE, agents=f"{file.parent}/{name}", isolate=False)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["nowhere:f", "no.where:f", "randon", "mtcs:simulations=3"])
def test_an_unknown_name_is_unknown(name):
    with pytest.raises(palestra.UnknownName):
        palestra.make_agent(name)


@pytest.mark.parametrize(
    ("text", "file", "name", "options"),
    [
        ("mine.py:Mine", "mine.py", "Mine", {}),
        ("C:\\me\\mine.py:Mine,depth=3", "C:\\me\\mine.py", "Mine", {"depth": 3}),
        (
            "D:/me/mine.py:Mine:depth=3,wide=true",
            "D:/me/mine.py",
            "Mine",
            {"depth": 3, "wide": True},
        ),
        ("/a.py.d/b.py:f", "/a.py.d/b.py", "f", {}),
        ("./mine.py:Outer.Inner", "./mine.py", "Outer.Inner", {}),
    ],
)
def test_paths_of_every_system_are_read(text, file, name, options):
    assert file_of(text) == file
    assert code_name(text, {}) == (file, name, options)


def test_what_is_installed_goes_before_code():
    assert code_name("absent:mine.py:f", {"absent"}) is None
    assert file_of("absent:mine.py:f") == ""


def test_the_command_line_plays_it(file, tmp_path, capsys):
    out = tmp_path / "run"
    line = ["play", TICTACTOE, "--agents", f"{file}:Acts:place=1,random", "--episodes", "2"]
    with pytest.raises(SystemExit) as ended:
        main([*line, "--out", str(out), "--no-isolate", "--no-replays"])
    assert not ended.value.code
    assert palestra.read_records(out / "episode.jsonl")[0].agents[0] == f"{file}:Acts:place=1"
    file.write_text(SOURCE + "\n# changed\n")
    with pytest.raises(palestra.InvalidOption, match="other versions"):
        palestra.play(
            TICTACTOE,
            agents=[f"{file}:Acts:place=1", "random"],
            episodes=3,
            out=out,
            resume=True,
            isolate=False,
        )
