"""Palestra: one set of rules, every way to play it.

Importing it loads the installed plugins (their declarations, not their code) and enters every
environment into Gymnasium's and PettingZoo's registries.
"""

from typing import Any

from msgspec import Meta

from palestra.agents.agent import Agent, Decision, FunctionAgent, Turn
from palestra.agents.answers import WrongAnswer
from palestra.agents.budget import Budget, Usage
from palestra.agents.kept_models import release
from palestra.agents.making import make_agent, open_model
from palestra.agents.simple import ScriptedAgent
from palestra.catalogue.declare import agent, environment, metric, renderer, reward
from palestra.catalogue.describe import FilePath
from palestra.catalogue.find import specs
from palestra.catalogue.read import read_catalogue
from palestra.kernel.actions import Grammar, Integer, OneOf, Option, Text, TextAction
from palestra.kernel.array_game import ArrayGame, Channel, Out, constant
from palestra.kernel.episode import Episode, Snapshot
from palestra.kernel.errors import (
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
from palestra.kernel.events import Event, only
from palestra.kernel.game import Game, Outcome, Result, Seat, Step
from palestra.kernel.hooks import hookimpl
from palestra.kernel.options import check_choice, check_ranges
from palestra.kernel.registry import game
from palestra.kernel.rng import Rng
from palestra.kernel.specs import (
    AgentSpec,
    EnvSpec,
    MetricSpec,
    RendererSpec,
    RewardSpec,
    ThemeSpec,
    load_entry_point,
)
from palestra.kernel.state import ArrayState, Shape
from palestra.kernel.text_game import TextGame
from palestra.paragraphs import beside
from palestra.phrasing.vocabulary import Vocabulary
from palestra.quoting import printable, quote, unquote
from palestra.records.intervals import Interval, wilson
from palestra.records.metrics import measure
from palestra.records.record import (
    EpisodeRecord,
    iter_records,
    read_records,
    record_episode,
    replay,
    retrace,
    write_records,
)
from palestra.records.verify import verify
from palestra.runner.play import play, rollouts, stream
from palestra.runner.runner import Runner
from palestra.scene import Bar, Grid, Piece, Scene, Widget
from palestra.shaping import Transition
from palestra.startup import warn_of_failures
from palestra.talk import Talking
from palestra.version import __version__
from palestra.views.channels import read_channels
from palestra.views.registration import push
from palestra.views.remote import connect

VIEWS = {
    "gym": "palestra.views.gym:make",
    "aec": "palestra.views.aec:make",
    "parallel": "palestra.views.parallel:make",
    "batch": "palestra.views.batch:make",
    "episode": "palestra.views.episode:make",
}


def make(env: str, view: str = "gym", **options: Any) -> Any:
    """Open an environment as a `gym`, `aec`, `parallel`, `batch` or `episode` view.

    env: an id, such as "games/TicTacToe-v0".
    view: "gym" (a `gymnasium.Env`), "aec" or "parallel" (PettingZoo), "batch" (thousands of
        episodes in one array) or "episode" (an `Episode`).
    options: of the view; those that it does not know go to the game. `palestra info ID` lists both.

    Raises `UnknownName` for an id or a view that is not there, and `InvalidOption` for an option
    that the game does not accept.
    """
    if view not in VIEWS:
        raise UnknownName("view", view, VIEWS)
    return load_entry_point(VIEWS[view])(env, **options)


__all__ = [
    "Agent",
    "AgentSpec",
    "ArrayGame",
    "ArrayState",
    "Bar",
    "Budget",
    "BudgetSpent",
    "Channel",
    "Decision",
    "Divergence",
    "EnvSpec",
    "Episode",
    "EpisodeRecord",
    "Event",
    "FilePath",
    "FunctionAgent",
    "Game",
    "Grammar",
    "Grid",
    "Integer",
    "Interval",
    "InvalidAction",
    "InvalidOption",
    "Meta",
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
    "ScriptedAgent",
    "Seat",
    "Shape",
    "Snapshot",
    "Step",
    "Talking",
    "Text",
    "TextAction",
    "TextGame",
    "ThemeSpec",
    "Transition",
    "Turn",
    "UnknownName",
    "Usage",
    "Vocabulary",
    "Widget",
    "WrongAnswer",
    "__version__",
    "agent",
    "beside",
    "check_choice",
    "check_ranges",
    "connect",
    "constant",
    "environment",
    "game",
    "hookimpl",
    "iter_records",
    "make",
    "make_agent",
    "measure",
    "metric",
    "only",
    "open_model",
    "play",
    "printable",
    "quote",
    "read_catalogue",
    "read_channels",
    "read_records",
    "record_episode",
    "release",
    "renderer",
    "replay",
    "retrace",
    "reward",
    "rollouts",
    "specs",
    "stream",
    "unquote",
    "verify",
    "wilson",
    "write_records",
]

load_entry_point("palestra.engine.array_simulator:register")()
load_entry_point("palestra.engine.text_simulator:register")()
load_entry_point("palestra.phrasing:register")()
push()
warn_of_failures()
