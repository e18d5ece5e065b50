"""What Gymnasium's and PettingZoo's own users expect of a view."""

from __future__ import annotations

import re
import warnings
from typing import Any

import gymnasium
import numpy as np
import palestra
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from palestra import InvalidAction, InvalidOption, OutOfTurn, Rng, Turn, UnknownName
from palestra.views.vector import VectorView

with warnings.catch_warnings():  # importing its tests warns of its own old registry
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import api_test, parallel_api_test

# PettingZoo warns of texts, of zeros and of dictionaries
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
C4 = "games/ConnectFour-v0"
SPOKEN = [spec.id for spec in palestra.specs() if spec.observations == ("text",)]


@pytest.mark.parametrize("masks", ["obs", "info", "off"])
@pytest.mark.parametrize("env", [C4, "grid/Foraging-v0"])
def test_masks_are_told_where_they_are_asked_for(env: str, masks: str) -> None:
    aec = palestra.make(env, view="aec", masks=masks)
    aec.reset(seed=0)
    api_test(palestra.make(env, view="aec", masks=masks), num_cycles=20)
    observation, _, _, _, info = aec.last()
    assert isinstance(observation, dict) == (masks == "obs")
    assert ("action_mask" in info) == (masks == "info")
    parallel = palestra.make(env, view="parallel", masks=masks)
    seen, infos = parallel.reset(seed=0)
    agent = parallel.agents[0]
    assert isinstance(seen[agent], dict) == (masks == "obs")
    assert ("action_mask" in infos[agent]) == (masks == "info")
    if masks == "info":
        seat = aec.possible_agents.index(aec.agent_selection)
        assert info["action_mask"].tolist() == aec.episode.action_mask(seat).tolist()
        parallel_api_test(palestra.make(env, view="parallel", masks=masks), num_cycles=20)


def test_an_unknown_place_for_masks_is_named() -> None:
    with pytest.raises(UnknownName, match=r"unknown place for masks 'inf'.*'info'"):
        palestra.make(C4, view="aec", masks="inf")


def test_state_is_what_all_seats_see() -> None:
    env = palestra.make("grid/Foraging-v0", view="parallel", masks="off", num_players=3)
    seen, _ = env.reset(seed=1)
    assert env.state() in env.state_space
    assert np.array_equal(env.state(), np.stack([seen[agent] for agent in env.agents]))


Commons: Any = type(palestra.game("text/Commons-v0"))


class Lopsided(Commons):  # type: ignore[misc]
    """Every seat sees one thing more than the one before it, and the last sees fractions."""

    def observation_space(self, seat: int) -> spaces.Box:
        low, high = (np.append(edge, [-1] * seat) for edge in (self._space.low, self._space.high))
        last = seat == self.num_players - 1
        return spaces.Box(low, high, dtype=np.float32 if last else np.int32)

    def observe(self, state: Any, seat: int) -> Any:
        row = np.append(super().observe(state, seat), [-1] * seat)
        return row.astype(self.observation_space(seat).dtype)


@pytest.mark.parametrize("masks", ["obs", "info", "off"])
@pytest.mark.parametrize("view", ["aec", "parallel"])
def test_a_state_of_unequal_observations_is_one_row(view: str, masks: str) -> None:
    """In seats' order, of a type that holds all of them, at the start as at the end."""
    env = palestra.make(Lopsided(num_players=3), view=view, masks=masks)
    checks = api_test if view == "aec" else parallel_api_test
    checks(palestra.make(Lopsided(num_players=3), view=view, masks=masks), num_cycles=15)
    env.reset(seed=1)
    size = sum(env.game.observation_space(seat).shape[0] for seat in range(3))
    assert size == 3 * env.game.observation_space(0).shape[0] + 3
    assert env.state_space.shape == (size,)
    for _ in range(4):
        rows = [env.episode.observation(seat) for seat in range(3)]
        assert env.state().tolist() == [value for row in rows for value in row.tolist()]
        assert env.state().dtype == env.state_space.dtype
        assert env.state() in env.state_space
        moves = {
            agent: int(env.episode.action_mask(seat).argmax())
            for seat, agent in enumerate(env.possible_agents)
        }
        env.step(moves if view == "parallel" else moves[env.agent_selection])


@pytest.mark.parametrize("view", ["aec", "parallel"])
def test_max_cycles_truncates(view: str) -> None:
    env = palestra.make(C4, view=view, max_cycles=3)
    env.reset(seed=0)
    if view == "aec":
        for column in (0, 1, 2):
            env.step(column)
        assert all(env.truncations.values())
        assert not any(env.terminations.values())
        return
    for column in (0, 1, 2):
        _, _, terminations, truncations, _ = env.step(dict.fromkeys(env.agents, column))
    assert all(truncations.values())
    assert not any(terminations.values())
    assert not env.agents


@pytest.mark.parametrize("env", SPOKEN)
def test_games_that_are_only_spoken_open_as_text(env: str) -> None:
    made = gymnasium.make(f"palestra:{env}")
    text, info = made.reset(seed=0)
    assert isinstance(text, str)
    assert info["rules"]
    assert text in made.observation_space
    api_test(palestra.make(env, view="aec"), num_cycles=10)
    with pytest.raises(InvalidOption, match="has no numbered actions; leave obs out"):
        gymnasium.make(f"palestra:{env}", obs="array")


def test_an_unknown_option_is_a_type_error_in_pythons_words() -> None:
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'frameskip'"):
        gymnasium.make(f"palestra:{C4}", frameskip=4)
    with pytest.raises(LookupError, match=r"keyword argument 'row'; did you mean 'rows'\?"):
        gymnasium.make(f"palestra:{C4}", row=4)
    with pytest.raises(TypeError, match=r"argument 'opponent'; did you mean 'opponents'\?"):
        gymnasium.make(f"palestra:{C4}", opponent="first")


@pytest.mark.parametrize("view", ["gym", "aec", "parallel", "episode", "batch"])
def test_the_settings_of_a_view_are_named_beside_the_options_of_its_game(view: str) -> None:
    sized = {"num_envs": 2} if view == "batch" else {}
    taken = {"gym": "opponents", "aec": "masks", "parallel": "max_cycles", "batch": "threads"}
    with pytest.raises(TypeError, match=r"The view itself takes .*") as caught:
        palestra.make("games/TicTacToe-v0", view=view, frameskip=4, **sized)
    assert taken.get(view, "seed") in str(caught.value)
    assert not re.search(r"\boptions", str(caught.value).partition("itself takes")[2])


@pytest.mark.parametrize(
    ("view", "settings", "says"),
    [
        ("gym", {"seat": "0"}, "seat must be an integer from 0 to 1, not '0'"),
        ("gym", {"seat": None}, "from 0 to 1, not None"),
        ("gym", {"seat": True}, "from 0 to 1, not True"),
        ("gym", {"seat": 0.5}, "from 0 to 1, not 0.5"),
        ("gym", {"compiled": "no"}, "compiled must be True or False or None, not 'no'"),
        ("gym", {"gamma": 2}, "gamma must be a number from 0 to 1, not 2"),
        ("gym", {"gamma": "1"}, "from 0 to 1, not '1'"),
        ("gym", {"rewards": 3}, "rewards must be"),
        ("aec", {"max_cycles": "5"}, "max_cycles must be an integer at least 1 or None, not '5'"),
        ("parallel", {"max_cycles": 2.5}, "not 2.5"),
        ("batch", {"num_envs": "4"}, "num_envs must be an integer at least 1, not '4'"),
        ("batch", {"num_envs": 2, "threads": "2"}, "threads must be"),
        ("episode", {"compiled": 0}, "not 0"),
    ],
)
def test_a_setting_of_the_wrong_type_is_refused(view: str, settings: Any, says: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        palestra.make(C4, view=view, **settings)
    assert says in str(caught.value)


@pytest.mark.parametrize("settings", [{"num_envs": 0}, {"num_envs": 2.5}, {"opponents": 5}])
def test_make_vec_refuses_settings_as_the_other_views_do(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption):
        gymnasium.make_vec(f"palestra:{C4}", **settings)
    if "num_envs" in settings:
        with pytest.raises(InvalidOption, match="num_envs must be an integer at least 1"):
            gymnasium.make_vec("palestra:text/Commons-v0", **settings)


@pytest.mark.parametrize("name", [None, 5, "", [], {"a": 1}])
def test_a_name_that_is_no_text_is_an_unknown_name(name: Any) -> None:
    with pytest.raises(UnknownName, match=r"unknown environment .*"):
        palestra.make(name)
    if not isinstance(name, dict | list):
        with pytest.raises(UnknownName, match=r"unknown view .*; choose from: aec"):
            palestra.make(C4, view=name)
    with pytest.raises(UnknownName, match=r"unknown place for masks .*; choose from: info"):
        palestra.make(C4, view="aec", masks=[] if name is None else name)


@pytest.mark.parametrize(
    "action",
    [
        *(None, "5", 3.0, 0.5, True, [1, 2], object(), np.float32(1)),
        *([1], (0,), range(1), bytearray(b"1"), memoryview(b"1")),
    ],
)
@pytest.mark.parametrize("view", ["gym", "aec", "parallel"])
def test_what_is_no_action_is_refused_before_anything_moves(view: str, action: Any) -> None:
    env = palestra.make(C4, view=view)
    env.reset(seed=0)
    before = env.unwrapped.episode.state_key()
    given = dict.fromkeys(env.agents, action) if view == "parallel" else action
    with pytest.raises(InvalidAction, match="an integer from 0 to 6"):
        env.step(given)
    assert env.unwrapped.episode.state_key() == before
    assert not any(env.unwrapped.episode.mistakes)


@pytest.mark.parametrize("actions", [None, [0, 0], {"player_0": 0, "player_2": 1}])
def test_actions_are_a_mapping_from_agents(actions: Any) -> None:
    env = palestra.make(C4, view="parallel")
    env.reset(seed=0)
    before = env.unwrapped.episode.state_key()
    with pytest.raises(InvalidAction, match=r"mapping from agents|nobody is called 'player_2'"):
        env.step(actions)
    assert env.unwrapped.episode.state_key() == before


@pytest.mark.parametrize("action", [3, np.int64(3), np.array(3), np.array([3], np.int32)])
def test_integers_of_every_make_are_actions(action: Any) -> None:
    env = palestra.make(C4, opponents="first")
    env.reset(seed=0)
    _, _, terminated, _, info = env.step(action)
    assert not terminated
    assert "invalid" not in info


def test_an_opponent_that_answers_nonsense_forfeits_and_the_learner_wins() -> None:
    def babbler(turn: Turn) -> palestra.Decision:
        return palestra.Decision(text="I refuse")

    env = palestra.make(C4, opponents=babbler, invalid="raise")
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step(3)
    assert (reward, terminated, info["outcome"]) == (1.0, True, "win")
    second = palestra.make(C4, opponents=babbler, seat=1)
    _, info = second.reset(seed=0)
    assert info["outcome"] == "win"


@pytest.mark.parametrize(("legal", "lost"), [(True, 1), (False, 2)])
def test_an_opponents_nonsense_hides_no_illegal_action_of_the_learner(
    legal: bool, lost: int
) -> None:
    def babbler(turn: Turn) -> palestra.Decision:
        return palestra.Decision(text="I refuse")

    env = palestra.make("grid/Foraging-v0", opponents=babbler)
    _, info = env.reset(seed=0)
    mask = info["action_mask"]
    _, _, terminated, _, info = env.step(int(mask.argmax() if legal else mask.argmin()))
    assert terminated
    assert (info["outcome"] == "forfeit") == (not legal)
    results = env.unwrapped.episode.outcome.results
    assert results.count("forfeit") == lost


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_make_vec_keeps_gymnasiums_contract(mode: AutoresetMode) -> None:
    env = gymnasium.make_vec(
        f"palestra:{C4}",
        num_envs=4,
        vectorization_mode="vector_entry_point",
        autoreset_mode=mode,
        render_mode="rgb_array",
        max_episode_steps=3,
    )
    assert env.metadata["autoreset_mode"] is mode
    assert env.unwrapped.autoreset_mode is mode
    counted = env if mode is AutoresetMode.DISABLED else RecordEpisodeStatistics(env)
    _, info = counted.reset(seed=3)
    cut = np.zeros(4, bool)
    for _ in range(3):
        _, _, terminated, truncated, info = counted.step(info["action_mask"].argmax(1))
        cut |= truncated
    assert (cut | terminated).all()
    assert cut.any()
    frames = env.render()
    assert len(frames) == 4
    assert frames[0].dtype == np.uint8
    assert frames[0].ndim == 3
    counted.close()


def test_an_unknown_autoreset_mode_is_named() -> None:
    with pytest.raises(UnknownName, match="auto-reset mode 'sometimes'"):
        gymnasium.make_vec(
            f"palestra:{C4}", vectorization_mode="vector_entry_point", autoreset_mode="sometimes"
        )


def test_masks_that_a_caller_gets_cannot_be_written() -> None:
    episode = palestra.make(C4, view="episode", seed=0)
    with pytest.raises(ValueError, match="read-only"):
        episode.action_mask(0)[:] = 1
    for env in (C4, "text/Negotiation-v0"):
        batch = palestra.make(env, view="batch", num_envs=2)
        batch.reset(0)
        with pytest.raises(ValueError, match="read-only"):
            batch.masks[:] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            batch.masks.flags.writeable = True


@pytest.mark.parametrize("compiled", [True, False])
def test_no_array_of_a_turn_leads_to_the_state(compiled: bool) -> None:
    """The base of a numpy view is the array it is a view of, here all cards of the deal."""
    episode = palestra.make("games/KuhnPoker-v0", view="episode", seed=0, compiled=compiled)
    key, prompt = episode.state_key(), episode.prompt(episode.to_act[0])
    with pytest.raises(ValueError, match="WRITEABLE"):
        episode.action_mask(0).flags.writeable = True
    turn = Turn(episode, episode.to_act[0])
    for array in (turn.mask, turn.legal, turn.observation):
        while isinstance(array, np.ndarray):
            array[...] = 1
            array = array.base
    assert (episode.state_key(), episode.prompt(episode.to_act[0])) == (key, prompt)


def test_a_look_ahead_does_not_tell_the_seed() -> None:
    """From the seed the deal can be made again."""
    episode = palestra.make("games/KuhnPoker-v0", view="episode", seed=987_654_321)
    ahead = Turn(episode, episode.to_act[0]).fork(Rng(3))
    numbers = {name: value for name, value in vars(ahead).items() if type(value) is int}
    assert 987_654_321 not in numbers.values()
    assert ahead.seed == Turn(episode, 0).fork(Rng(3)).seed  # a run can be repeated


def test_a_games_own_limit_is_not_the_views() -> None:
    own = palestra.make("grid/Kitchen-v0", view="batch", num_envs=2, max_steps=9)
    assert own.game.max_steps == 9
    cut = palestra.make("games/TicTacToe-v0", view="batch", num_envs=2, max_episode_steps=3)
    cut.reset(0)
    for _ in range(3):
        cut.random_actions()
        cut.step()
    assert cut.truncations.all()


@pytest.mark.parametrize("action", [-1, 7, np.int64(7), np.nan, 2**70])
@pytest.mark.parametrize("view", ["gym", "aec", "parallel"])
def test_what_is_out_of_range_is_refused_before_anything_moves(view: str, action: Any) -> None:
    env = palestra.make(C4, view=view)
    env.reset(seed=0)
    before = env.unwrapped.episode.state_key()
    given = dict.fromkeys(env.agents, action) if view == "parallel" else action
    with pytest.raises(InvalidAction, match="an integer from 0 to 6"):
        env.step(given)
    assert env.unwrapped.episode.state_key() == before
    assert not any(env.unwrapped.episode.mistakes)


@pytest.mark.parametrize("env", SPOKEN)
def test_games_that_are_only_spoken_keep_the_parallel_contract(env: str) -> None:
    parallel_api_test(palestra.make(env, view="parallel"), num_cycles=10)


def test_masks_are_by_default_where_clients_of_a_view_look() -> None:
    aec, parallel = (palestra.make(C4, view=view) for view in ("aec", "parallel"))
    assert (aec.masks, parallel.masks) == ("obs", "info")


def test_infos_of_the_pettingzoo_views_hold_no_words() -> None:
    for view in ("aec", "parallel"):
        env = palestra.make(C4, view=view)
        env.reset(seed=0)
        infos = env.infos if view == "aec" else env.reset(seed=0)[1]
        keys = [set(info) for info in infos.values()]
        for column in (0, 1, 0, 1, 0, 1, 0):
            if view == "aec":
                env.step(column)
                infos = env.infos
            else:
                *_, infos = env.step(dict.fromkeys(env.agents, column))
                assert [set(info) for info in infos.values()] == keys
            assert not any(isinstance(v, str) for info in infos.values() for v in info.values())
        assert env.episode.outcome.results == ("win", "loss")


def test_steps_after_the_end_of_a_parallel_episode() -> None:
    env = palestra.make(C4, view="parallel", max_cycles=1)
    env.reset(seed=0)
    env.step(dict.fromkeys(env.agents, 0))
    assert env.step({}) == ({}, {}, {}, {}, {})
    with pytest.raises(palestra.OutOfTurn, match="reset"):
        env.step({"player_0": 0})


@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
@pytest.mark.parametrize("seat", [0, 1])
def test_a_vector_environment_tells_every_end_whoever_moves_first(
    seat: int, autoreset: str
) -> None:
    env = VectorView(
        "games/TicTacToe-v0",
        3,
        seat=seat,
        opponents=lambda seen, masks: masks.argmax(1),
        autoreset=autoreset,
        compiled=False,
    )
    _, infos = env.reset(seed=0)
    ended = 0
    for _ in range(20):
        _, rewards, terminated, _, infos = env.step(infos["action_mask"].argmax(1))
        ended += int(terminated.sum())
        assert (rewards[terminated] != 0).all()  # the first cells: the first player wins
        assert not rewards[~terminated].any()
    assert ended >= 12


@pytest.mark.parametrize("view", ["gym", "batch", "vector"])
def test_without_numba_one_line_says_so_in_every_view(
    view: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from palestra.engine import compiled

    monkeypatch.setattr(compiled, "numba_installed", lambda: False)
    compiled._warn_once.cache_clear()

    def open_one(**more: Any) -> Any:
        if view == "vector":
            return gymnasium.make_vec(f"palestra:{C4}", num_envs=2, rows=9, **more)
        sized = {"num_envs": 2} if view == "batch" else {}
        return palestra.make(C4, view=view, rows=9, **sized, **more)

    with pytest.warns(RuntimeWarning, match=r'pip install "palestra\[numba\]"') as said:
        [open_one() for _ in range(2)]
    assert len(said) == 1
    with pytest.raises(palestra.MissingExtra, match="numba"):
        open_one(compiled=True)


class Counting:
    """A shaper that pays how many steps its lane's episode has had."""

    def __init__(self, steps: int = 0) -> None:
        self.steps = steps

    def __call__(self, step: Any) -> dict[str, float]:
        self.steps += 1
        return {"counted": float(self.steps)}

    def begin(self) -> Counting:
        return Counting()

    def copy(self) -> Counting:
        return Counting(self.steps)


@pytest.mark.parametrize("env", ["games/TicTacToe-v0", "text/Commons-v0"])
def test_lanes_with_shapers_are_saved_with_what_these_remember(
    env: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from palestra.kernel.registry import registry

    spec = palestra.RewardSpec("counting", f"{__name__}:Counting", "step", "Counts.")
    monkeypatch.setitem(registry().rewards, "counting", spec)
    options = {"compiled": False} if env.startswith("games") else {}
    batch = palestra.make(
        env, view="batch", num_envs=3, seed=4, rewards=["env", "counting"], **options
    )

    def play(steps: int) -> list[Any]:
        seen = []
        for step in range(steps):
            legal = np.argsort(-batch.masks, axis=2, kind="stable")
            batch.step(np.where(step % 2, legal[:, :, 0], legal[:, :, 1]))
            seen.append((batch.rewards.copy(), batch.observations.copy(), batch.returns.copy()))
        return seen

    batch.reset()
    play(3)
    saved = batch.save()
    first = play(12)
    batch.load(saved)
    assert any(row[0].any() for row in first)
    for once, again in zip(first, play(12), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(once, again, strict=True))
    batch.load(batch.save([1]))
    assert np.array_equal(batch.returns[0], batch.returns[2])
    with pytest.raises(InvalidOption, match="2 lanes were saved"):
        batch.load(saved[:2])


@pytest.mark.parametrize("autoreset", ["next_step", "same_step", "disabled"])
@pytest.mark.parametrize("opponents", ["random", "first"])
@pytest.mark.parametrize(
    "env", ["games/BattleOfTheSexes-v0", "games/FrozenLake-v0", "grid/Foraging-v0", C4]
)
def test_a_vector_environment_says_the_outcome_that_the_gym_view_says(
    env: str, opponents: str, autoreset: str
) -> None:
    played: Any = "random" if opponents == "random" else lambda seen, masks: masks.argmax(1)
    one = palestra.make(env, view="gym", opponents=opponents, compiled=False)
    many = VectorView(env, 5, opponents=played, autoreset=autoreset, compiled=False)
    said = {}
    for first in (10, 20):
        _, infos = many.reset(seed=list(range(first, first + 5)))
        rng = np.random.default_rng(first)
        moves: dict[int, list[int]] = {lane: [] for lane in range(5)}
        while moves:
            masks = infos["action_mask"]
            actions = (rng.random(masks.shape) * masks).argmax(1)
            for lane, chosen in moves.items():
                chosen.append(int(actions[lane]))
            *_, infos = many.step(actions)
            for lane in [lane for lane in moves if infos.get("_outcome", [False] * 5)[lane]]:
                said[first + lane] = moves.pop(lane), infos["outcome"][lane]
    for seed, (chosen, outcome) in said.items():
        one.reset(seed=seed)
        for action in chosen:
            *_, info = one.step(action)
        assert outcome == info["outcome"], seed
    assert len(said) == 10


def test_a_forfeit_is_the_outcome_of_a_vector_environment_too() -> None:
    one = palestra.make("games/Sudoku-v0", view="gym", compiled=False)
    many = VectorView("games/Sudoku-v0", 2, compiled=False, autoreset="same_step")
    _, infos = many.reset(seed=3)
    illegal = int(infos["action_mask"][0].argmin())
    assert not infos["action_mask"][0, illegal]
    one.reset(seed=3)
    assert one.step(illegal)[4]["outcome"] == "forfeit"
    legal = int(infos["action_mask"][1].argmax())
    *_, infos = many.step(np.array([illegal, legal]))
    assert infos["outcome"].tolist() == ["forfeit", None]


def test_why_a_move_was_refused_is_said_until_a_move_is_played() -> None:
    env = palestra.make("games/TicTacToe-v0", view="aec", invalid="retry:2", masks="info")
    env.reset(seed=1)
    env.step(4)
    for _ in range(2):
        env.step(4)
        assert "not legal" in env.last()[4]["error"]
    env.step(0)
    for move in (1, 2):
        assert not any("error" in info for info in env.infos.values())
        env.step(move)


def test_environments_of_one_game_object_sample_by_themselves() -> None:
    """Seeding the spaces of one, or of one agent, does not seed those of another."""
    game = palestra.game("grid/Foraging-v0", num_players=3)
    views = [palestra.make(game, view="gym", seat=seat, compiled=False) for seat in (0, 0, 1)]
    seats = palestra.make(game, view="parallel", compiled=False)
    padded = palestra.make(game, view="aec", pad_spaces=True, masks="info", compiled=False)
    many = VectorView(game, 2, compiled=False)
    found = [space for view in views for space in (view.action_space, view.observation_space)]
    found += [many.single_action_space, many.single_observation_space]
    for env in (seats, padded):
        for agent in env.possible_agents:
            found += [env.action_space(agent), env.observation_space(agent)]
    for number, space in enumerate(found):
        space.seed(number)
    drawn = [[np.asarray(space.sample()).tolist() for _ in range(5)] for space in found]
    fresh = [type(space).__name__ for space in found]
    assert set(fresh) == {"Box", "Discrete"}
    for number, space in enumerate(found):
        space.seed(number)
        assert [np.asarray(space.sample()).tolist() for _ in range(5)] == drawn[number], number


def test_agents_are_not_iterated_before_a_reset() -> None:
    """As PettingZoo's `OrderEnforcingWrapper` has it; after the end there are none."""
    env = palestra.make("games/TicTacToe-v0", view="aec")
    with pytest.raises(OutOfTurn, match="call reset"):
        env.agent_iter()
    with pytest.raises(AttributeError, match=r"known from reset\(\) on"):
        env.last()
    with pytest.raises(AttributeError, match="no attribute 'rewrads'"):
        env.rewrads  # noqa: B018
    env.reset(seed=1)
    assert [env.step(2 - place) or agent for place, agent in enumerate(env.agent_iter(3))] == [
        "player_0",
        "player_1",
        "player_0",
    ]
    env.step(0)  # taken: forfeits
    for _ in env.agent_iter():
        env.step(None)
    assert list(env.agent_iter()) == []
