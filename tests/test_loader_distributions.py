"""The loader's rules against real distributions, built and installed for the occasion."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from distributions import CleanEnvironment

pytestmark = pytest.mark.slow

ENVIRONMENT = """
from palestra import EnvSpec, hookimpl

@hookimpl
def palestra_environments():
    return [EnvSpec("{space}/Heap-v0", "{module}.rules:Heap", (2, 2), "sequential", "zero-sum")]
"""
RULES = '''
from dataclasses import dataclass
from typing import Any
import numpy as np
from palestra import ArrayGame
from palestra.rules import mover, pass_turn, turn_to, win

@dataclass(frozen=True)
class Heap(ArrayGame):
    """Take one or two of five; the last one wins."""
    order = "sequential"
    payoffs = "zero-sum"
    deterministic = True
    num_players = 2
    num_actions = 2
    observation_shape = (1,)
    observation_bounds = (0, 5)

    def fields(self):
        return [("heap", np.int8)]

    @staticmethod
    def init_state(config, state):
        state.heap = 5
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config, state, actions, out):
        player = mover(state)
        state.heap -= actions[player] + 1
        if state.heap == 0:
            win(state, player, out)
        else:
            pass_turn(state)

    @staticmethod
    def write_legal_mask(config, state, player, mask):
        mask[0] = 1
        mask[1] = state.heap > 1

    @staticmethod
    def write_observation(config, state, player, view):
        view[0] = state.heap

    def describe(self, state, player):
        return f"{state.heap} left."
'''
PLUGINS = {
    "good": ENVIRONMENT.format(space="good", module="throwaway_good"),
    "broken": "import there_is_no_such_module\n",
    "exiting": "raise SystemExit('not today')\n",
    "misspelt": (
        "from palestra import hookimpl\n\n@hookimpl\ndef palestra_enviroments():\n    return []\n"
    ),
    "raising": (
        "from palestra import hookimpl\n\n@hookimpl\ndef palestra_agents():\n    return 1 / 0\n"
    ),
    "mistyped": (
        "from palestra import hookimpl\n\n@hookimpl\ndef palestra_agents():\n    return ['mcts']\n"
    ),
    "silent": (
        "import sys\nfrom palestra import hookimpl\n\n"
        "@hookimpl\ndef palestra_agents():\n    sys.exit()\n"
    ),
    "mute": (
        "class Mute(BaseException):\n    def __str__(self):\n        raise ValueError\n\n"
        "raise Mute\n"
    ),
    "seatless": (
        "from palestra import EnvSpec, hookimpl\n\n@hookimpl\ndef palestra_environments():\n"
        "    return [EnvSpec('x/Y-v0', 'a:b', None, 'sequential', 'zero-sum')]\n"
    ),
    "twin": ENVIRONMENT.format(space="good", module="throwaway_twin"),
    "double": ENVIRONMENT.format(space="double", module="throwaway_double"),
}
NAMED = {"double": "good"}  # entry points with the name of another distribution's
LIST = "import palestra; print([s.id for s in palestra.specs()])"


@pytest.fixture(scope="module")
def folders(clean: CleanEnvironment, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each throw-away plugin, built and installed into a folder of its own."""
    made = {}
    for name, text in PLUGINS.items():
        source = tmp_path_factory.mktemp(f"source-{name}")
        package = source / f"throwaway_{name}"
        package.mkdir()
        point = NAMED.get(name, name)
        (source / "pyproject.toml").write_text(
            f'[project]\nname = "throwaway-{name}"\nversion = "1.2"\n'
            f'[project.entry-points.palestra]\n{point} = "throwaway_{name}.plugin"\n'
            '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
            f'[tool.hatch.build.targets.wheel]\npackages = ["throwaway_{name}"]\n'
        )
        (package / "__init__.py").touch()
        (package / "plugin.py").write_text(text)
        (package / "rules.py").write_text(RULES)
        made[name] = tmp_path_factory.mktemp(f"installed-{name}")
        clean.install(str(source), target=made[name])
    return made


def test_a_good_plugin_is_found_and_plays(
    clean: CleanEnvironment, folders: dict[str, Path]
) -> None:
    code = (
        "import palestra, gymnasium, pettingzoo; e = palestra.make('good/Heap-v0', view='episode');"
        "e.act({0: 1}); print(e.to_act, 'good/Heap-v0' in gymnasium.registry)"
    )
    assert "(1,) True" in clean.run("-c", code, extra=(folders["good"],))


def test_gym_make_alone_finds_it(clean: CleanEnvironment, folders: dict[str, Path]) -> None:
    code = (
        "import gymnasium; e = gymnasium.make('palestra:good/Heap-v0', opponents=lambda t: 0);"
        "print(e.reset(seed=1)[1]['action_mask'])"
    )
    assert "[1 1]" in clean.run("-c", code, extra=(folders["good"],))


@pytest.mark.exhaustive(sample=3)
@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("broken", "failed to import: ModuleNotFoundError: No module named 'there_is_no_such"),
        ("exiting", "failed to import: SystemExit: not today"),
        ("misspelt", "unknown hook 'palestra_enviroments'; did you mean 'palestra_environments'"),
        ("raising", "failed to answer palestra_agents: ZeroDivisionError"),
        ("mistyped", "palestra_agents must give AgentSpecs, not 'mcts'"),
        ("silent", "failed to answer palestra_agents: SystemExit"),
        ("mute", "failed to import: Mute: (its message cannot be read)"),
        ("seatless", "must be the fewest and the most seats, as in (2, 5), not None"),
    ],
)
def test_a_bad_plugin_is_named_and_harms_nobody(
    bad: str, says: str, clean: CleanEnvironment, folders: dict[str, Path]
) -> None:
    both = (folders["good"], folders[bad])
    told = clean.run("-c", LIST, extra=both)
    assert "['good/Heap-v0']" in told
    assert f"plugin '{bad}' (throwaway-{bad} 1.2)" in told
    assert says in told
    if bad in ("broken", "exiting", "raising", "seatless"):  # and where, for its author
        assert re.search(rf"throwaway_{bad}/plugin\.py, line \d+\)", told)
    listed = clean.run("-m", "palestra", "plugins", extra=both)
    assert says.split(":")[0] in listed.replace("\n", " ")
    assert "loaded" in listed


def test_strict_mode_raises_instead(clean: CleanEnvironment, folders: dict[str, Path]) -> None:
    done = clean.attempt("-c", LIST, extra=(folders["broken"],), PALESTRA_STRICT="1")
    assert done.returncode == 1
    assert "PluginError: plugin 'broken' (throwaway-broken 1.2)" in done.stderr


def test_what_is_claimed_twice_stays_with_its_first_owner(
    clean: CleanEnvironment, folders: dict[str, Path]
) -> None:
    both = (folders["good"], folders["twin"])
    shown = clean.run("-c", "import palestra; print(palestra.specs())", extra=both)
    assert "throwaway_good.rules:Heap" in shown
    assert "throwaway_twin.rules:Heap" not in shown
    assert (
        "'good/Heap-v0' of plugin 'twin' (throwaway-twin 1.2) is not taken: it belongs to 'good' "
        "(throwaway-good 1.2)" in shown
    )
    listed = clean.run("-m", "palestra", "plugins", extra=both)
    assert listed.count("loaded") >= 2, "only what is contested is marked"
    assert "PALESTRA_BLOCK=throwaway-good" in listed
    other = clean.run(
        "-c",
        "import palestra; print(palestra.specs())",
        extra=both,
        PALESTRA_BLOCK="throwaway-good",
    )
    assert "throwaway_twin.rules:Heap" in other


@pytest.mark.parametrize("variable", ["PALESTRA_BLOCK", "PALESTRA_PLUGINS"])
def test_plugins_of_one_name_are_told_apart_by_their_distributions(
    variable: str, clean: CleanEnvironment, folders: dict[str, Path]
) -> None:
    both = (folders["good"], folders["double"])
    assert "['double/Heap-v0', 'good/Heap-v0']" in clean.run("-c", LIST, extra=both)
    listed = clean.run("-m", "palestra", "plugins", extra=both)
    assert "throwaway-good 1.2" in listed
    assert "good (throwaway-good)" in listed, "the second is named by its distribution too"
    for one, other in (("good", "double"), ("double", "good")):
        left = one if variable == "PALESTRA_PLUGINS" else other
        told = clean.run("-c", LIST, extra=both, **{variable: f"throwaway-{one}"})
        assert f"['{left}/Heap-v0']" in told


def test_what_is_contested_is_marked_and_the_rest_is_taken(
    clean: CleanEnvironment, folders: dict[str, Path]
) -> None:
    listed = clean.run("-m", "palestra", "plugins", extra=(folders["good"], folders["twin"]))
    rows = {line.split()[0]: line for line in listed.splitlines() if "throwaway" in line}
    assert "contested" in rows["twin"]
    assert "contested" not in rows["good"]
    assert "loaded" in rows["good"]


def test_strict_mode_asks_only_what_the_allow_list_names(
    clean: CleanEnvironment, folders: dict[str, Path]
) -> None:
    both = (folders["good"], folders["broken"])
    strict = {"PALESTRA_STRICT": "1", "PALESTRA_PLUGINS": "good"}
    assert "['good/Heap-v0']" in clean.run("-c", LIST, extra=both, **strict)
    strict = {"PALESTRA_STRICT": "1", "PALESTRA_BLOCK": "throwaway-broken"}
    assert "['good/Heap-v0']" in clean.run("-c", LIST, extra=both, **strict)
    twins = (folders["good"], folders["twin"])
    done = clean.attempt("-c", LIST, extra=twins, PALESTRA_STRICT="1")
    assert done.returncode == 1
    assert "it belongs to 'good'" in done.stderr


def test_a_blocked_plugin_is_never_imported(
    clean: CleanEnvironment, folders: dict[str, Path]
) -> None:
    told = clean.run("-c", LIST, extra=(folders["broken"],), PALESTRA_BLOCK="broken")
    assert "there_is_no_such_module" not in told
    assert "blocked" in clean.run(
        "-m", "palestra", "plugins", extra=(folders["broken"],), PALESTRA_BLOCK="broken"
    )


def test_an_allow_list_leaves_the_others_out(
    clean: CleanEnvironment, folders: dict[str, Path]
) -> None:
    both = (folders["good"], folders["broken"])
    assert "['good/Heap-v0']" in clean.run("-c", LIST, extra=both, PALESTRA_PLUGINS="good")
    assert "[]" in clean.run("-c", LIST, extra=both, PALESTRA_PLUGINS="")


def test_spawned_workers_resolve_the_id(
    clean: CleanEnvironment, folders: dict[str, Path], tmp_path: Path
) -> None:
    script = tmp_path / "workers.py"
    script.write_text(
        "import gymnasium\n"
        "def main():\n"
        "    make = lambda: gymnasium.make('palestra:good/Heap-v0', opponents=opponent)\n"
        "    env = gymnasium.vector.AsyncVectorEnv([make, make], context='spawn')\n"
        "    print(env.reset(seed=3)[0].tolist())\n"
        "    env.close()\n"
        "def opponent(turn):\n"
        "    return 0\n"
        "if __name__ == '__main__':\n"
        "    main()\n"
    )
    assert "[[5], [5]]" in clean.run(str(script), extra=(folders["good"],))
