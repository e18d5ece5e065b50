"""Palestra: one set of rules, every way to play it.

Importing it loads the installed plugins (their declarations, not their code) and enters every
environment into Gymnasium's and PettingZoo's registries.
"""

from typing import Any

from palestra.actions import Grammar, Integer, OneOf, Option, Text, TextAction
from palestra.agents import Agent, Decision, FunctionAgent, Turn
from palestra.array_game import ArrayGame, Out
from palestra.budget import Budget, Usage
from palestra.episode import Episode, Snapshot
from palestra.errors import (
    BudgetSpent,
    Divergence,
    InvalidAction,
    InvalidOption,
    MissingExtra,
    ModelError,
    OutOfTurn,
    PalestraError,
    PluginError,
    RecordError,
    UnknownName,
)
from palestra.events import Event, only
from palestra.game import Game, Outcome, Result, Seat, Step
from palestra.hooks import hookimpl
from palestra.metrics import measure
from palestra.options import check_choice, check_ranges
from palestra.record import (
    EpisodeRecord,
    iter_records,
    read_records,
    record_episode,
    replay,
    retrace,
    write_records,
)
from palestra.registry import game, make_agent, open_model, push, specs, warn_of_failures
from palestra.rng import Rng
from palestra.runner import Runner, play, rollouts, stream
from palestra.scene import Bar, Grid, Piece, Scene, Widget
from palestra.shaping import Transition
from palestra.specs import (
    AgentSpec,
    EnvSpec,
    MetricSpec,
    RendererSpec,
    RewardSpec,
    load_entry_point,
)
from palestra.text_game import TextGame
from palestra.version import __version__

VIEWS = {
    "gym": "palestra.views.gym:make",
    "aec": "palestra.views.aec:make",
    "parallel": "palestra.views.parallel:make",
    "batch": "palestra.views.batch:make",
    "episode": "palestra.views.episode:make",
}


def make(env: str, view: str = "gym", **options: Any) -> Any:
    """Open an environment as a `gym`, `aec`, `parallel`, `batch` or `episode` view.

    Options the view does not know go to the game; `palestra info ID` lists both.
    """
    if view not in VIEWS:
        raise UnknownName("view", view, VIEWS)
    return load_entry_point(VIEWS[view])(env, **options)


__all__ = [
    "Agent",
    "AgentSpec",
    "ArrayGame",
    "Bar",
    "Budget",
    "BudgetSpent",
    "Decision",
    "Divergence",
    "EnvSpec",
    "Episode",
    "EpisodeRecord",
    "Event",
    "FunctionAgent",
    "Game",
    "Grammar",
    "Grid",
    "Integer",
    "InvalidAction",
    "InvalidOption",
    "MetricSpec",
    "MissingExtra",
    "ModelError",
    "OneOf",
    "Option",
    "Out",
    "OutOfTurn",
    "Outcome",
    "PalestraError",
    "Piece",
    "PluginError",
    "RecordError",
    "RendererSpec",
    "Result",
    "RewardSpec",
    "Rng",
    "Runner",
    "Scene",
    "Seat",
    "Snapshot",
    "Step",
    "Text",
    "TextAction",
    "TextGame",
    "Transition",
    "Turn",
    "UnknownName",
    "Usage",
    "Widget",
    "__version__",
    "check_choice",
    "check_ranges",
    "game",
    "hookimpl",
    "iter_records",
    "make",
    "make_agent",
    "measure",
    "only",
    "open_model",
    "play",
    "read_records",
    "record_episode",
    "replay",
    "retrace",
    "rollouts",
    "specs",
    "stream",
    "write_records",
]

push()
warn_of_failures()
