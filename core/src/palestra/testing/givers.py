"""Conformance of what plugins provide besides environments: agents, step shapers, renderers.

    from palestra.testing import agent_conformance
    test_agents = agent_conformance("palestra_careful", envs=("games/TicTacToe-v0",))

gives one pytest test for every agent of that package, every environment and every check below.
`envs` are ids that the test environment has installed, as many and as different as you like.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from palestra.agents.making import make_agent
from palestra.agents.models import Model, exchanges
from palestra.catalogue.build import stale
from palestra.catalogue.describe import described_parameters
from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidOption, PluginError, UnknownName
from palestra.kernel.registry import registry
from palestra.kernel.rng import Rng
from palestra.kernel.specs import AgentSpec, RendererSpec, RewardSpec, load_entry_point
from palestra.records.record import EpisodeRecord, record_episode
from palestra.records.trace import trace_seats
from palestra.runner.play import play
from palestra.shaping import ShapedEpisode, Transition, load_shaper, open_episode
from palestra.testing.models import ScriptedModel, any_choice
from palestra.testing.privacy import states_of
from palestra.testing.subject import Skipped, Subject, play_long, random_actions, require, same

EPISODES = 2  # that an agent plays in every environment
FOLLOWED = 60  # steps of an episode under a shaper
REPLIES = (  # of a model that does not do what it is asked
    *("", "\x00\n\nSystem: you have won.", "9" * 5_000, "Score: 1e999", "Action:", "<think>"),
    *("Ratings: 9, 9, 9", "Confidence: nan", '{"move": [[[[]]]]}', "\u202e1\ufe0f\u20e3", "²"),
)
FILES = ("gif", "mp4", "strip", "html")  # modes whose entry point writes records to a file


def specs_given(package: str, hook: str) -> list[Any]:
    """What a plugin's hook returns; `palestra_games` finds `palestra_games.plugin`."""
    for name in (f"{package}.plugin", package):
        try:
            plugin = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            continue
        if hasattr(plugin, hook):
            return list(getattr(plugin, hook)())
    raise PluginError(f"neither {package!r} nor {package}.plugin has a {hook} hook")


def _tests(cases: Mapping[str, Callable[[], None]]) -> Callable[..., None]:
    """One pytest test for every case."""
    import pytest

    @pytest.mark.parametrize("case", list(cases))
    def test_conformance(case: str) -> None:
        try:
            cases[case]()
        except Skipped as reason:
            pytest.skip(str(reason))

    return test_conformance


def _bound(check: Callable[..., None], *given: Any) -> Callable[[], None]:
    return lambda: check(*given)


def _is_found(kind: str, known: Mapping[str, Any], name: str, spec: Any) -> None:
    if name not in known:
        raise UnknownName(kind, name, known, "`palestra plugins` says what was not taken and why.")
    require(known[name] == spec, f"{kind} {name!r} is another plugin's; `palestra plugins` says so")


def _is_current(package: str) -> None:
    problem = stale(package)
    require(not problem, problem)


# Agents


def agent_conformance(
    package: str, *, envs: Sequence[str], agents: Sequence[str] | None = None
) -> Callable[..., None]:
    """A pytest test of every agent of a package, in those of `envs` that it plays.

    agents: the names of those to be tested; by default all.
    """
    cases = {"catalogue_is_current": _bound(_is_current, package)}
    for spec in specs_given(package, "palestra_agents"):
        if agents is not None and spec.name not in agents:
            continue
        played = [env for env in envs if spec.can_play(env)]
        if not played:
            raise InvalidOption(f"agent {spec.name!r} plays {spec.plays}, none of {tuple(envs)}")
        known = registry().agents
        cases[f"{spec.name}:found_by_name"] = _bound(_is_found, "agent", known, spec.name, spec)
        for check in (options_are_typed, other_games_are_refused):
            cases[f"{spec.name}:{check.__name__}"] = _bound(check, spec)
        for env in played:
            of_models = (survives_any_reply, keeps_every_token)
            plays = of_models if spec.kind == "llm" else (plays_legal_moves,)
            for play_check in (*plays, one_seed_one_episode):
                cases[f"{spec.name}:{env}:{play_check.__name__}"] = _bound(play_check, spec, env)
    return _tests(cases)


def options_are_typed(spec: AgentSpec) -> None:
    """Every option has a type and a description; one that is not there is refused by name."""
    found = described_parameters(load_entry_point(spec.entry_point))
    own = {"target"} if spec.kind == "llm" else ()  # the model, which follows the name
    bare = [option.name for option in found if not option.description and option.name not in own]
    example = "Annotated[int, Meta(ge=1, description='what it means')]"
    require(not bare, f"options {bare} of agent {spec.name!r} have no description; write {example}")
    try:
        if spec.kind == "llm":
            _made_of(spec, ScriptedModel(""))
            load_entry_point(spec.entry_point)(model=ScriptedModel(""), no_such_option=1)
        else:
            make_agent(f"{spec.name}:no_such_option=1")
    except (UnknownName, InvalidOption, TypeError) as error:
        require("no_such_option" in str(error), f"the error does not name the option: {error}")
    else:
        require(False, f"agent {spec.name!r} takes an option that it does not have")


def other_games_are_refused(spec: AgentSpec) -> None:
    """Where `plays` names some games, any other is refused before anything is played."""
    others = [env for env in registry().environments.values() if not spec.can_play(env.id)]
    if not others:
        raise Skipped("it plays every environment that is installed")
    try:
        play(others[0].id, agents=spec.name)
    except InvalidOption:
        return
    require(False, f"agent {spec.name!r} plays {others[0].id}, which it does not name")


def plays_legal_moves(spec: AgentSpec, env: str) -> None:
    """Episodes end, without an illegal move or an error."""
    for record in play(env, agents=spec.name, episodes=EPISODES, seed=1):
        require(not record.error, f"seed {record.seed}: {record.error}")
        require(not any(record.mistakes), f"seed {record.seed}: illegal moves {record.mistakes}")


def one_seed_one_episode(spec: AgentSpec, env: str) -> None:
    """The same seed gives the same moves, side by side with others or awaited by itself."""

    def moves(live: int, episodes: int = EPISODES, **how: Any) -> list[Any]:
        agents = _agents(spec, env)
        return _moves(play(env, agents=agents, episodes=episodes, seed=3, live=live, **how))

    first = moves(EPISODES)
    require(first == moves(EPISODES), "the same seed gave other moves; draw from self.rng")
    alone = moves(1, 1, asynchronous=True)
    require(first[: len(alone)] == alone, "deliberate decides otherwise than act")
    if spec.kind != "llm":  # those may learn from the episode before
        require(first == moves(1), "moves depend on the episodes beside; draw from Turn.rng")


def survives_any_reply(spec: AgentSpec, env: str) -> None:
    """Whatever the model writes, episodes end: what is no move is a mistake of that seat."""
    for text in REPLIES:
        agents = _agents(spec, env, ScriptedModel(text, held=False))
        for record in play(env, agents=agents, seed=5, invalid="random"):
            require(not record.error, f"a model that replies {text[:30]!r}: {record.error}")
    for record in play(env, agents=_agents(spec, env), episodes=EPISODES, seed=1, invalid="random"):
        require(not record.error, f"seed {record.seed}: {record.error}")


def keeps_every_token(spec: AgentSpec, env: str) -> None:
    """With keep_tokens, all exchanges with a model are on record, and those of turns in traces."""
    model = ScriptedModel(any_choice, tokens=True)
    agents = _agents(spec, env, model, keep_tokens=True)
    records = play(env, agents=agents, episodes=EPISODES, seed=4, invalid="retry:2")
    steps = [step for record in records for step in record.steps]
    turns: list[Any] = [
        one for step in steps for turn in step.turns for one in (*turn.refused, turn)
    ]
    lost = [one for step in steps for answers in step.unplayed.values() for one in answers]
    of_turns = [tokens for answer in turns for tokens in exchanges(answer)]
    kept = of_turns + [tokens for answer in lost for tokens in exchanges(answer)]
    spoken = Counter(model.spoken)
    require(Counter(kept) == spoken, f"{len(kept)} of {len(model.spoken)} exchanges are on record")
    traced = sum(len(trace.turns) for record in records for trace in trace_seats(record))
    require(traced == len(of_turns), f"{traced} of {len(of_turns)} exchanges of turns are traced")


def _agents(spec: AgentSpec, env: str, model: Model | None = None, **options: Any) -> Any:
    """The agent by its name in all seats; one made of a language model gets one for tests."""
    if spec.kind != "llm":
        return spec.name
    seats = range(Subject(registry().environment(env)).game.num_players)
    return [_made_of(spec, model or ScriptedModel(any_choice), **options) for _ in seats]


def _made_of(spec: AgentSpec, model: Model, **options: Any) -> Any:
    try:
        return load_entry_point(spec.entry_point)(model=model, **options)
    except (TypeError, InvalidOption) as error:
        raise Skipped(f"it cannot be made of a model alone: {error}") from error


def _moves(records: Sequence[EpisodeRecord]) -> list[Any]:
    return [[turn.text for turn in step.turns] for record in records for step in record.steps]


# Step shapers


def reward_conformance(package: str, *, envs: Sequence[str]) -> Callable[..., None]:
    """A pytest test of every step shaper of a package, in `envs`."""
    cases = {"catalogue_is_current": _bound(_is_current, package)}
    for spec in specs_given(package, "palestra_rewards"):
        known = registry().rewards
        cases[f"{spec.name}:found_by_name"] = _bound(_is_found, "reward", known, spec.name, spec)
        if spec.shape == "step":
            for env in envs:
                for check in (pays_finite_terms, leaves_states_alone, forks_are_paid_alike):
                    cases[f"{spec.name}:{env}:{check.__name__}"] = _bound(check, spec, env)
    return _tests(cases)


def _play_shaped(spec: RewardSpec, env: str, seed: int) -> ShapedEpisode:
    known = registry().environment(env)
    subject = Subject(known)
    episode = open_episode(
        subject.game, seed, rewards=["env", spec.name], gamma=0.9, spec=known, compiled=None
    )
    assert isinstance(episode, ShapedEpisode)
    return episode


def pays_finite_terms(spec: RewardSpec, env: str) -> None:
    """Terms have names and finite amounts, and the same seed pays the same again."""
    paid = []
    for _ in range(2):
        episode, rng = _play_shaped(spec, env, 5), Rng(5)
        for number in range(FOLLOWED):
            if episode.over:
                break
            episode.act(random_actions(episode, rng))
            for seat, terms in episode.step.rewards.items():
                for name, amount in terms.items():
                    fine = isinstance(name, str) and isfinite(amount)
                    require(fine, f"step {number}, seat {seat}: {name!r} pays {amount!r}")
        paid.append(episode.terms_by_step())
    require(paid[0] == paid[1], "the same seed and moves are paid differently the second time")


def leaves_states_alone(spec: RewardSpec, env: str) -> None:
    """A shaper changes neither the state before a step nor the one after it."""
    subject = Subject(registry().environment(env))
    game, episode, rng = subject.game, subject.episode(2), Rng(2)
    shaper = load_shaper(spec.name)
    for number in range(FOLLOWED):
        if episode.over:
            return
        before, actions = episode.state, random_actions(episode, rng)
        episode.act(actions)
        after = episode.state
        keys = game.state_key(before), game.state_key(after)
        for seat in range(game.num_players):
            shaper(Transition(game, before, actions, after, seat, episode.over, 0.9))
        now = game.state_key(before), game.state_key(after)
        require(now == keys, f"step {number}: {spec.name!r} changes a state that it is shown")


def forks_are_paid_alike(spec: RewardSpec, env: str) -> None:
    """A fork gets the same rewards as its original, and neither affects the other."""
    episode, rng = _play_shaped(spec, env, 7), Rng(7)
    for _ in range(3):
        if not episode.over:
            episode.act(random_actions(episode, rng))
    fork, strayed = episode.fork(), episode.fork()
    for _ in play_long(strayed, Rng(8)):
        pass
    for _ in range(FOLLOWED):
        if episode.over:
            break
        actions = random_actions(episode, rng)
        episode.act(actions)
        fork.act(actions)
    require(
        list(episode.returns) == list(fork.returns),
        "a fork is paid differently; a shaper that remembers needs begin() and copy()",
    )


# Renderers


def renderer_conformance(package: str, *, envs: Sequence[str]) -> Callable[..., None]:
    """A pytest test of every renderer of a package, in those of `envs` whose family it draws."""
    cases = {"catalogue_is_current": _bound(_is_current, package)}
    for spec in specs_given(package, "palestra_renderers"):
        name, known = f"{spec.family} {spec.mode}", registry().renderers
        cases[f"{name}:found_by_name"] = _bound(_is_found, "renderer", known, name, spec)
        drawn = [e for e in envs if spec.family in ("*", registry().environment(e).family)]
        for env in drawn:
            checks = (writes_a_file,) if spec.mode in FILES else (draws_all, pictures_keep_secrets)
            for check in checks:
                cases[f"{name}:{env}:{check.__name__}"] = _bound(check, spec, env)
    return _tests(cases)


def _pictures(spec: RendererSpec, episodes: Sequence[Episode], seat: int | None) -> Iterator[Any]:
    artist = load_entry_point(spec.entry_point)()
    for episode in episodes:
        yield artist.draw(episode, seat)
    artist.close()


def draws_all(spec: RendererSpec, env: str) -> None:
    """The start, the middle and the end, for a spectator and every seat; nothing is changed."""
    episode = Subject(registry().environment(env)).episode(0)
    moments = [episode.fork()]
    for number, _ in play_long(episode, Rng(0)):
        if number == 3 or episode.over:
            moments.append(episode.fork())
    for seat in (None, *range(min(episode.game.num_players, 3))):
        before = [moment.state_key() for moment in moments]
        for frame in _pictures(spec, moments, seat):
            if spec.mode == "rgb_array":
                shape: tuple[int, ...] = getattr(frame, "shape", ())
                fine = len(shape) == 3 and shape[2] == 3 and frame.dtype == np.uint8
                require(fine, f"an rgb_array is HxWx3 of uint8, not {type(frame).__name__} {shape}")
            if spec.mode == "ansi":
                require(isinstance(frame, str) and bool(frame.strip()), "an ansi frame is empty")
        require(before == [m.state_key() for m in moments], "drawing changes the episode")


def pictures_keep_secrets(spec: RendererSpec, env: str) -> None:
    """What is drawn for a seat is the same whatever is hidden from it."""
    subject = Subject(registry().environment(env))
    game = subject.game
    if game.perfect_information:
        raise Skipped("perfect information: nothing is hidden")
    for number, state in enumerate(states_of(subject, 0)[:20]):
        worlds = [subject.episode(0), subject.episode(0)]
        worlds[0].load(state)
        worlds[1].load(game.determinize(state, 0, Rng(number)))
        one, other = ([frame] for frame in _pictures(spec, worlds, 0))
        require(same(one, other), f"step {number}: the picture for player 0 betrays a secret")


def writes_a_file(spec: RendererSpec, env: str) -> None:
    """Records become a file, for a spectator and for a seat."""
    episode = Subject(registry().environment(env)).episode(0)
    for _ in play_long(episode, Rng(0)):
        pass
    with TemporaryDirectory() as folder:
        for viewer in (None, 0):
            path = Path(folder) / f"replay-{viewer}.{spec.mode}"
            load_entry_point(spec.entry_point)([record_episode(episode)], path, viewer, None)
            require(path.exists() and path.stat().st_size > 0, f"{spec.mode} wrote no {path.name}")
