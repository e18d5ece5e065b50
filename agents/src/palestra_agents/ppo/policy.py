"""A PPO policy: its settings, the network that they describe, and one that was trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from palestra import ArrayGame, InvalidOption, Meta, game
from palestra.records.versions import versions_for, warn_of_versions

from palestra_agents.checkpoints import blaming, load_weights
from palestra_agents.ppo.checkpoint import path_in, read_checkpoint
from palestra_agents.ppo.network import CentralPolicyValue, PolicyValue
from palestra_agents.settings import (
    Checked,
    Clip,
    Discount,
    Entropy,
    Epochs,
    GAELambda,
    Hidden,
    Horizon,
    Lanes,
    LearningRate,
    Recurring,
    Seed,
    ValueWeight,
    read_settings,
)


@dataclass(frozen=True)
class Settings(Checked):
    """`horizon` steps of `num_envs` lanes make one update of `epochs` passes over `minibatches`.

    In two-player zero-sum games one seat plays at random in a share `random_rivals` of the lanes,
    so that the policy also learns to answer moves that it would never play itself. With `central`
    a value is that of everybody's observations and the seat's number: MAPPO (Yu et al., "The
    Surprising Effectiveness of PPO in Cooperative Multi-Agent Games", NeurIPS 2022). With
    `teacher` the policy also learns the moves of others: see `palestra_agents.ppo.teacher`.
    `recurrent` and `value_norm` are of that paper too; there, both parts of the network remember.
    """

    num_envs: Lanes = 256
    horizon: Horizon = 32
    epochs: Epochs = 4
    minibatches: Annotated[int, Meta(ge=1, description="parts of the data of an epoch")] = 8
    learning_rate: LearningRate = 1e-3
    gamma: Discount = 0.99
    gae_lambda: GAELambda = 0.95
    clip: Clip = 0.2
    entropy: Entropy = 0.01
    value_weight: ValueWeight = 0.5
    max_gradient: Annotated[
        float, Meta(gt=0, description="norm to which a larger gradient is cut")
    ] = 0.5
    hidden: Hidden = 128
    random_rivals: Annotated[
        float, Meta(ge=0, le=1, description="share of lanes with a seat that plays at random")
    ] = 0.25
    central: Annotated[bool, Meta(description="whether a value sees all observations")] = False
    teacher: Annotated[
        str, Meta(description="folders of trained policies to learn from, joined by |")
    ] = ""
    teacher_weight: Annotated[
        float, Meta(ge=0, description="weight of the distance to the teacher at the beginning")
    ] = 1.0
    teacher_share: Annotated[
        float, Meta(gt=0, le=1, description="part of the run in which that weight falls to 0")
    ] = 0.5
    seed: Seed = 0
    recurrent: Recurring = False
    value_norm: Annotated[
        bool, Meta(description="whether values are learnt in standard deviations of their targets")
    ] = False
    teacher_weights: Annotated[
        str, Meta(description="by which teacher_weight counts for each teacher, joined by |")
    ] = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy as it was trained: the id and the rules that it plays, and its network."""

    env: str
    game: ArrayGame[Any]
    network: PolicyValue


def read_policy(folder: Path) -> Policy:
    """The policy that `palestra train` left in a folder.

    Warns if it was trained with other versions. Raises `InvalidOption` for any other folder.
    """
    saved, path = read_checkpoint(folder), path_in(folder)
    with blaming(path):
        rules = array_game(saved.env, saved.options)
    warn_of_versions(folder, saved.versions, versions_for(rules, Policy))
    with blaming(path):
        network = network_for(rules, read_settings(Settings, saved.settings, "ppo"))
        load_network(network, saved.network)
    return Policy(saved.env, rules, network)


def array_game(env: str, options: Mapping[str, Any]) -> ArrayGame[Any]:
    """The game of an id; raises `InvalidOption` for one of another kind."""
    rules = game(env, **options)
    if not isinstance(rules, ArrayGame):
        raise InvalidOption(f"{env} is not an array game; PPO trains on those")
    return rules


def network_for(rules: ArrayGame[Any], settings: Settings) -> PolicyValue:
    """The network of a game and settings."""
    space: Any = rules.observation_space(0)
    actions, hidden = int(rules.num_actions), settings.hidden
    more = {"recurrent": settings.recurrent, "value_norm": settings.value_norm}
    if settings.central:
        return CentralPolicyValue(space, actions, hidden, rules.num_players, **more)
    return PolicyValue(space, actions, hidden, **more)


def load_network(network: PolicyValue, kept: Any) -> None:
    """Load what `state_dict` gave; raises `InvalidOption` for what no training leaves."""
    load_weights(network, kept)
    if network.norm is not None:
        count, _, squares = moments = network.norm.moments
        if not moments.isfinite().all() or count < 0 or squares < 0:
            raise InvalidOption("network.norm holds no moments of numbers")
