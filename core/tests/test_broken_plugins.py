"""Plugins broken on purpose, in folder `broken`: what the kit says of each, to the word."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import Any

import palestra
import pytest
import typer
from palestra import (
    AgentSpec,
    EnvSpec,
    Episode,
    InvalidOption,
    MetricSpec,
    PluginError,
    RewardSpec,
    UnknownName,
)
from palestra.catalogue.build import build_catalogue
from palestra.cli import add_commands, command_name
from palestra.cli.checking import check_command
from palestra.engine.batch import Batch
from palestra.guarded import guarded
from palestra.kernel.errors import cause, show
from palestra.kernel.plugins import Failure, Plugin, Plugins
from palestra.kernel.registry import Registry
from palestra.testing.kit import Verdict, run_check
from palestra.testing.subject import Subject
from palestra.time_limit import TimeUp, time_limit

FOLDER = Path(__file__).parent / "broken"
CHECKED = (  # one or more of them fail for every fault, and none compiles
    *("facts_are_true", "gymnasium_checker", "forks_diverge", "seeds_decide", "ends_are_told"),
    *("secrets_stay_hidden", "transcripts_keep_secrets", "pictures_keep_secrets"),
)
COMPILED = (*CHECKED, "record_replays_exactly", "compiled_equals_interpreted")


@pytest.fixture(autouse=True)
def on_the_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.chdir(FOLDER)
    yield
    for path in FOLDER.glob("*.py"):
        sys.modules.pop(path.stem, None)


def subject(module: str, name: str) -> Subject:
    spec = EnvSpec(
        "broken/Heap-v0", f"{module}:{name}", (2, 2), "sequential", "zero-sum", family="board"
    )
    return Subject(spec)


def failures(module: str, name: str) -> list[Verdict]:
    """The checks that fail, in order."""
    tested = subject(module, name)
    names = COMPILED if module == "does_not_compile" else CHECKED
    verdicts = [run_check(tested, check) for check in names]
    return [verdict for verdict in verdicts if verdict.status == "failed"]


def line_of(module: str, text: str) -> int:
    """The line of a file that holds a text."""
    lines = (FOLDER / f"{module}.py").read_text("utf-8").splitlines()
    (number,) = [n for n, line in enumerate(lines, 1) if text in line]
    return number


def test_what_is_sound_passes() -> None:
    assert failures("heap", "Heap") == []


@pytest.mark.parametrize(
    ("module", "name", "check", "said"),
    [
        (
            "late_leak",
            "LateLeak",
            "secrets_stay_hidden",
            "late_leak.py:{def describe}, in describe(): seed 0, step 45: describe of player 0 "
            "betrays a secret: it changes when determinize() draws the secret anew",
        ),
        (
            "scene_leak",
            "SceneLeak",
            "secrets_stay_hidden",
            "scene_leak.py:{def scene}, in scene(): seed 0, step 0: scene of player 0 betrays a "
            "secret: it changes when determinize() draws the secret anew",
        ),
        (
            "out_of_bounds",
            "OutOfBounds",
            "forks_diverge",
            "out_of_bounds.py:{obs[state.turn] = 1}: obs[state.turn] = 1 — IndexError: index 41 is "
            "out of bounds for axis 0 with size 2",
        ),
        (
            "does_not_compile",
            "DoesNotCompile",
            "record_replays_exactly",
            "does_not_compile.py:{tolist}: return max(state.cards.tolist()) — numba cannot compile "
            "this rule of DoesNotCompile: Unknown attribute 'tolist' of type "
            "nestedarray(int8, (2,))",
        ),
        (
            "constructor",
            "Constructor",
            "facts_are_true",
            "constructor.py:{return len}: return len(getattr(self, name)) — TypeError: object of "
            "type 'int' has no len()",
        ),
        (
            "unseeded",
            "Unseeded",
            "seeds_decide",
            "unseeded.py:{randrange}: state.heap = random.randrange(20, 40) — the game draws from "
            "a process-wide random generator; use the state's own",
        ),
    ],
)
def test_each_fault_is_told_once_with_its_file_and_line(
    monkeypatch: pytest.MonkeyPatch, module: str, name: str, check: str, said: str
) -> None:
    monkeypatch.setenv("PALESTRA_COMPILE_AFTER", "0")
    opening, _, rest = said.partition("{")
    text, _, closing = rest.partition("}")
    expected = f"{opening}{line_of(module, text)}{closing}"
    found = {verdict.check: verdict.detail for verdict in failures(module, name)}
    assert found.pop(check) == expected
    assert all(detail.startswith(f"the same cause as in {check}: ") for detail in found.values())


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ("options_are_described", "options without a description: bare; add one, as in bare: "),
        ("options_are_read", "nothing reads the options largest; use each in the rules, as config"),
    ],
)
def test_options_that_do_nothing_or_say_nothing_are_warned_of(check: str, said: str) -> None:
    with pytest.warns(UserWarning, match=said):
        assert run_check(subject("unread", "Unread"), check).status == "passed"


def test_a_failing_game_gets_no_golden_transcript_and_each_cause_is_printed_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = subject("unseeded", "Unseeded").spec
    monkeypatch.setattr("palestra.cli.checking.registry", lambda: Known(spec))
    names = ["gymnasium_checker", "forks_diverge", "seeds_decide", "matches_golden_transcript"]
    with pytest.raises(typer.Exit):
        check_command(spec.id, only=names, golden=tmp_path)
    shown = capsys.readouterr().out
    assert shown.count("process-wide random generator") == 1
    assert "no golden transcript is written until the other checks pass" in shown
    assert not list(tmp_path.iterdir())


class Known:
    """A registry that finds one environment."""

    def __init__(self, spec: EnvSpec) -> None:
        self.spec = spec

    def environment(self, name: str) -> EnvSpec:
        return self.spec


def test_play_says_which_line_does_not_compile() -> None:
    game = subject("does_not_compile", "DoesNotCompile").game
    with pytest.raises(PluginError) as failed:
        Episode(game, 0, compiled=True)
    said = str(failed.value)
    assert said.startswith(f"does_not_compile.py:{line_of('does_not_compile', 'tolist')}: ")
    assert "\n" not in said
    assert failed.value.__cause__ is None
    with pytest.raises(PluginError, match=r"does_not_compile\.py"):
        Batch(game, 4).reset(0)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("    return state.nothing\n", "there is no 'nothing'"),
        ("    with open('x') as file:\n        return 1\n", "construct is not supported"),
        ("    return unheard_of\n", "name 'unheard_of' is not defined"),
        ("    return state.heap + 'x'\n", "No implementation of function add"),
    ],
)
def test_whatever_numba_says_is_one_line(body: str, said: str, tmp_path: Path) -> None:
    source = (FOLDER / "does_not_compile.py").read_text("utf-8")
    text = source.replace("    return max(state.cards.tolist())\n", body)
    assert text != source
    (tmp_path / "does_not_compile_either.py").write_text(text)
    sys.path.insert(0, str(tmp_path))
    try:
        game = subject("does_not_compile_either", "DoesNotCompile").game
        with pytest.raises(PluginError) as failed:
            Episode(game, 0, compiled=True)
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("does_not_compile_either")
    first = body.splitlines()[0]
    line = text.splitlines().index(first) + 1
    assert f"does_not_compile_either.py:{line}: {first.strip()} — " in str(failed.value)
    assert said in str(failed.value)
    assert "\n" not in str(failed.value)


WRITES_PAST = """
import sys
sys.path.insert(0, {folder!r})
from out_of_bounds import OutOfBounds
from palestra import Episode
from palestra.kernel.errors import cause

for compiled in (None, True):
    episode = Episode(OutOfBounds(), 0, compiled=compiled)
    try:
        for turn in range(60):
            episode.act({{turn % 2: 0}})
    except IndexError as error:
        print(cause(error))
"""


def test_debugging_checks_every_index(tmp_path: Path) -> None:
    environment = os.environ | {"PALESTRA_DEBUG": "1", "PALESTRA_CACHE": str(tmp_path)}
    code = WRITES_PAST.format(folder=str(FOLDER))
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    interpreted, compiled = done.stdout.splitlines()
    assert interpreted == "OutsideArray: 'obs[state.turn] uses index 41 of 2 entries, 0 to 1'"
    assert "a rule of OutOfBounds reads or writes outside an array" in compiled


def test_a_constructor_keeps_its_traceback() -> None:
    with pytest.raises(TypeError, match=r"no len\(\)") as failed:
        _ = subject("constructor", "Constructor").game
    assert failed.traceback[-1].path == FOLDER / "constructor.py"
    with pytest.raises(InvalidOption, match="stones"):
        palestra.kernel.naming.construct(lambda *, stones: stones, "a heap", {})


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: AgentSpec("a", "m:A", "smart", ""),  # type: ignore[arg-type]
            "kind of 'a' must be 'scripted' or 'search' or 'solver' or 'learned' or 'llm' or "
            "'human', not 'smart'",
        ),
        (
            lambda: RewardSpec("r", "m:r", "turn", ""),  # type: ignore[arg-type]
            "shape of 'r' must be 'step' or 'episode' or 'group', not 'turn'",
        ),
        (
            lambda: EnvSpec("x/Y-v0", "m:Y", (2, 2), "alternating", "zero-sum"),  # type: ignore[arg-type]
            "moves of 'x/Y-v0' must be 'sequential' or 'simultaneous' or 'phased', not "
            "'alternating'",
        ),
        (
            lambda: EnvSpec("x/Y-v0", "m:Y", (2, 2), "phased", "general", ("pixels",)),  # type: ignore[arg-type]
            "observations of 'x/Y-v0' must be 'array' or 'text', not 'pixels'",
        ),
    ],
)
def test_wrong_words_in_a_spec_name_the_right_ones(make: Any, said: str) -> None:
    with pytest.raises(InvalidOption) as failed:
        make()
    assert str(failed.value) == said


def test_a_wrong_need_names_the_right_ones() -> None:
    from palestra.catalogue.build import _add_agent
    from palestra.catalogue.declare import Declaration
    from palestra.catalogue.read import Catalogue

    facts = {"kind": "search", "plays": ("*",), "needs": ("two-players",), "paper": ""}
    said = Declaration("palestra_agents", "a", type("A", (), {}), facts)
    with pytest.raises(UnknownName, match="did you mean 'two players'"):
        _add_agent(Catalogue(), said)


def test_a_metric_that_fails_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from palestra.kernel.registry import registry

    (record,) = palestra.play("games/TicTacToe-v0", agents="random", episodes=1, seed=3)
    whole = palestra.measure(record)
    spec = MetricSpec("atoll-odd", "heap:no_such_metric", "Nothing.")
    monkeypatch.setitem(registry().metrics, "atoll-odd", spec)
    with pytest.warns(RuntimeWarning, match=r"metric 'atoll-odd' \(heap:no_such_metric\) failed"):
        assert palestra.measure(record) == whole
    with pytest.raises(PluginError, match="no_such_metric"):
        palestra.measure(record, ["atoll-odd"])


def test_an_agent_that_cannot_be_loaded_is_listed_beside_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from palestra.cli import main
    from palestra.kernel.registry import registry

    monkeypatch.setenv("COLUMNS", "200")
    spec = AgentSpec("atoll-odd", "heap:NoSuchAgent", "scripted", "Nothing.")
    monkeypatch.setitem(registry().agents, "atoll-odd", spec)
    with pytest.raises(SystemExit) as done:
        main(["agents"])
    assert not done.value.code
    said = capsys.readouterr().out
    assert "atoll-odd" in said
    assert "minimax" in said


@pytest.mark.parametrize("variable", ["PALESTRA_PLUGINS", "PALESTRA_BLOCK"])
def test_a_plugin_that_is_not_installed_is_warned_of_with_the_nearest(variable: str) -> None:
    plugins = Plugins.from_environment({variable: "core, palestra-game"})
    with pytest.warns(RuntimeWarning, match=rf"{variable}: 'palestra-game'; did you mean 'pal"):
        plugins.load()
    assert (plugins.plugins["core"].status == "loaded") == (variable == "PALESTRA_PLUGINS")


def test_names_of_plugins_and_distributions_are_known() -> None:
    Plugins.from_environment({"PALESTRA_PLUGINS": "core,palestra"}).load()
    Plugins.from_environment({"PALESTRA_PLUGINS": ""}).load()


def test_a_hook_without_its_decorator_is_named() -> None:
    """pluggy overlooks it, so the plugin would load and give nothing."""

    class Forgetful:
        @palestra.hookimpl
        def palestra_agents(self) -> list[AgentSpec]:
            return []

        def palestra_environments(self) -> list[EnvSpec]:
            return []

        palestra_version = "1.0"  # not a function

    plugins = Plugins()
    plugins.register(Forgetful(), Plugin("forgetful", "forgetful 1.0"))
    (failure,) = plugins.failures
    assert "forgetful" in str(failure)
    assert "palestra_environments is not marked as a hook; put @hookimpl above it" in str(failure)
    assert not plugins.plugins["forgetful"].gives
    with pytest.raises(PluginError, match="palestra_environments is not marked"):
        Plugins(strict=True).register(Forgetful(), Plugin("forgetful", "forgetful 1.0"))


class Rude(BaseException):
    """No `Exception`, and without a message that can be read."""

    def __str__(self) -> str:
        raise SystemExit


class Refusing(list[Any]):
    """A list that cannot be read."""

    def __iter__(self) -> Any:
        raise Rude


class Hostile:
    """Raises what is no `Exception` wherever it is asked."""

    @palestra.hookimpl
    def palestra_environments(self) -> Any:
        return Refusing([1])

    @palestra.hookimpl
    def palestra_commands(self, app: typer.Typer) -> None:
        raise Rude


class Grasping:
    """Adds commands under names that are taken: one named by its function, and a group."""

    @palestra.hookimpl
    def palestra_commands(self, app: typer.Typer) -> None:
        @app.command()
        def play() -> None:
            raise AssertionError("another's play")

        @app.command()
        def dig_up() -> None: ...

        app.add_typer(typer.Typer(name="list"))
        app.registered_commands.reverse()


def test_a_distribution_without_a_name_is_unknown_and_stops_no_other(tmp_path: Path) -> None:
    (tmp_path / "METADATA").write_text("Version: 1.0\n")
    (tmp_path / "entry_points.txt").write_text("[palestra.plugin]\nodd = palestra\n")
    plugins = Plugins()
    plugins.load(PathDistribution(tmp_path).entry_points)
    assert plugins.plugins["odd"].distribution == "unknown"


def test_no_exception_of_a_plugin_reaches_the_command() -> None:
    plugins = Plugins()
    plugins.register(Hostile(), Plugin("hostile", "hostile 1.0"))
    assert plugins.plugins["hostile"].status == "failed"
    assert "Rude: (its message cannot be read)" in str(plugins.failures[0])
    plugins.call_one("hostile", "palestra_commands", app=typer.Typer())


def test_a_command_stays_with_its_first_owner_however_it_is_named() -> None:
    app = typer.Typer()
    app.command("play")(lambda: None)
    app.command("list")(lambda: None)
    own = list(app.registered_commands)
    plugins = Plugins()
    plugins.register(Grasping(), Plugin("grasping", "grasping 1.0"))
    add_commands(app, plugins, ([*own], []))
    assert app.registered_commands[:2] == own
    assert [command_name(info) for info in app.registered_commands] == ["play", "list", "dig-up"]
    assert app.registered_groups == []
    contested = plugins.plugins["grasping"].contested
    assert [line.split(" of ")[0] for line in contested] == ["command 'play'", "command 'list'"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "from palestra import WINN",
            "stranded.game cannot be imported: {here}game.py:1: from palestra import WINN — "
            "ImportError: cannot import name 'WINN' from 'palestra'",
        ),
        ("x = [1][3]", "stranded.game cannot be imported: {here}game.py:1: x = [1][3] — IndexErr"),
        ("def f(:", "stranded.game cannot be imported: SyntaxError: invalid syntax (game.py, line"),
    ],
)
def test_a_catalogue_names_the_line_at_which_a_module_fails(
    code: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "stranded"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "game.py").write_text(f"{code}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(PluginError) as raised:
        build_catalogue("stranded")
    assert str(raised.value).startswith(said.replace("{here}", f"{package}/"))
    sys.modules.pop("stranded")


def test_an_id_that_is_not_in_its_catalogue_yet_is_told_how_to_get_there() -> None:
    found = Registry(Plugins())
    found.environments["island/Old-v0"] = EnvSpec(
        "island/Old-v0", "island:Old", (2, 2), "sequential", "zero-sum"
    )
    with pytest.raises(UnknownName, match=r"Is it new\? Declare it with: palestra catalogue"):
        found.environment("island/New-v0")


class Silent(BaseException):
    """An exception that is no `Exception`, and whose text is another one."""

    def __str__(self) -> str:
        raise Silent

    __repr__ = __str__


def test_an_exception_that_cannot_be_told_stops_no_listing() -> None:
    assert cause(Silent()) == "Silent"
    assert show(Silent()) == "<Silent>"
    failure = Failure("evil", "evil 1.0", "import", Silent())
    assert str(failure) == (
        "plugin 'evil' (evil 1.0) failed to import: Silent: (its message cannot be read)"
    )


LOAD_THEM = """
import warnings
from importlib.metadata import EntryPoint
from palestra import guarded
from palestra.kernel.plugins import Plugins

guarded.LONG = 0.2
plugins = Plugins()
with warnings.catch_warnings(record=True) as slow:
    warnings.simplefilter("always")
    names = ("closing", "dawdling", "endless", "interrupting")
    plugins.load([EntryPoint(name, name, "palestra") for name in names])
for plugin in plugins.plugins.values():
    print(plugin.name, plugin.status, plugin.failure)
print(*(warning.message for warning in slow))
"""


def test_a_plugin_that_never_ends_interrupts_or_closes_the_output_is_named_and_kept_out() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOAD_THEM],
        env={**os.environ, "PYTHONPATH": str(FOLDER), "PALESTRA_PLUGIN_SECONDS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    closing, dawdling, endless, interrupting, slow = done.stdout.splitlines()
    assert closing.startswith("closing failed plugin 'closing'")
    assert "failed to import: RuntimeError: it closes standard output" in closing
    assert dawdling == "dawdling loaded None"
    assert "failed to answer palestra_environments: TimeoutError: it does not end" in endless
    assert "PALESTRA_PLUGIN_SECONDS" in endless
    assert "failed to import: RuntimeError: it raises KeyboardInterrupt itself" in interrupting
    assert "importing plugin 'dawdling' took 0 seconds" in slow
    assert "endless" not in slow


def test_ctrl_c_is_the_users_while_plugins_are_loaded() -> None:
    def call() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        guarded(call, "a call")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_limit_within_a_limit_leaves_the_outer_one() -> None:
    def call_and_go_on() -> None:
        with time_limit(0.3):
            guarded(lambda: None, "a call")
            while True:
                pass

    with pytest.raises(TimeUp):
        call_and_go_on()
