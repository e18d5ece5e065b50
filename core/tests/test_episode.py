"""Episodes: policies for illegal moves, branching, snapshots, leaving, the log."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import ArrayGame, Episode, InvalidAction, InvalidOption, OutOfTurn, Rng
from palestra.rules import all_act, finish, leave
from palestra_envs.text.commons.game import Commons, Harvest
from palestra_games.board.connect_four import ConnectFour
from palestra_games.board.tic_tac_toe import TicTacToe
from palestra_games.card.kuhn_poker import KuhnPoker


@dataclass(frozen=True)
class LastOneStanding(ArrayGame):
    """Everybody stays (0) or leaves (1) at once; it ends when at most one is left."""

    num_players: int = 3

    order = "simultaneous"
    payoffs = "general"
    deterministic = True
    num_actions = 2
    observation_shape = (1,)
    observation_bounds = (0, 9)

    def fields(self) -> list[tuple[Any, ...]]:
        return [("left", np.int8)]

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        state.left = config.num_players
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        for seat in range(config.num_players):
            if state.present[seat]:
                out.rewards[seat, 0] = 1.0
                if actions[seat] == 1:
                    leave(state, seat)
                    state.left -= 1
        if state.left <= 1:
            finish(state)
        else:
            all_act(state)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        mask[0] = 1
        mask[1] = 1

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        view[0] = state.left

    def describe(self, state: Any, seat: int) -> str:
        return f"{state.left} are left."


def taken(policy: str, **more: Any) -> Episode:
    """Tic-tac-toe with the centre taken by player 0, player 1 to move."""
    episode = Episode(TicTacToe(), 3, invalid=policy, **more)
    episode.act({0: 4})
    return episode


def test_raise_leaves_everything_as_it_was() -> None:
    episode = taken("raise")
    before = episode.state_key()
    with pytest.raises(InvalidAction, match="not legal for player_1"):
        episode.act({1: 4})
    assert episode.state_key() == before
    assert episode.mistakes == (0, 1)
    assert episode.steps_played == 1


def test_retry_forfeits_after_as_many_tries() -> None:
    episode = taken("retry:2")
    for _ in range(2):
        with pytest.raises(InvalidAction):
            episode.act({1: 4})
    episode.act({1: 4})
    assert episode.over
    assert episode.outcome.results == ("win", "forfeit")
    assert list(episode.returns) == [1.0, -1.0]


def test_a_good_move_gives_the_tries_back() -> None:
    episode = taken("retry:1")
    with pytest.raises(InvalidAction):
        episode.act({1: 4})
    episode.act({1: 0})
    episode.act({0: 1})
    with pytest.raises(InvalidAction):
        episode.act({1: 4})
    assert not episode.over


def test_random_plays_a_legal_move_drawn_from_the_episode_alone() -> None:
    boards = set()
    for _ in range(3):
        episode = taken("random")
        episode.act({1: 4})
        boards.add(episode.state.board.tobytes())
        assert episode.steps_played == 2
    assert len(boards) == 1


def test_noop_does_nothing_where_the_game_has_such_a_move() -> None:
    episode = Episode(Commons(num_players=2), 0, invalid="noop")
    episode.act({0: Harvest(7), 1: Harvest(-5)})
    assert episode.state.caught == [7, 0]
    without = taken("noop")
    without.act({1: 4})
    assert without.outcome is not None
    assert without.outcome.results == ("win", "forfeit"), "tic-tac-toe has no such move"


def test_forfeit_pays_the_least_and_rivals_what_is_lost() -> None:
    episode = taken("forfeit")
    episode.act({1: 99})
    assert list(episode.rewards) == [1.0, -1.0]
    assert episode.step.rewards == {0: {"forfeit": 1.0}, 1: {"forfeit": -1.0}}
    assert "illegal move" in episode.outcome.reason
    assert [e.kind for e in episode.events][-1] == "end"


@pytest.mark.parametrize("lost", [(1,), (0, 4), (0, 1, 2, 3, 4, 5)])
def test_what_several_forfeit_together_is_what_each_pays_alone(lost: tuple[int, ...]) -> None:
    game = palestra.game("games/Holdem-v0", num_players=6)
    paid = game.forfeit(*lost)
    alone = [game.forfeit(seat) for seat in lost]
    assert paid == {seat: sum(one[seat] for one in alone) for seat in range(6)}
    assert abs(sum(paid.values())) < 1e-9
    assert all((paid[seat] > 0) == (seat not in lost) for seat in paid if len(lost) < 6)


def test_retries_are_counted_for_each_seat() -> None:
    """Seat 1 is wrong for the third time when seat 0 is wrong for the first: only seat 1 loses."""
    episode = Episode(palestra.game("games/PrisonersDilemma-v0"), 0, invalid="retry:2")
    for _ in range(2):
        with pytest.raises(InvalidAction):
            episode.act({0: 0, 1: 9})
    episode.act({0: 9, 1: 9})
    assert episode.outcome is not None
    assert episode.outcome.results == ("none", "forfeit")
    assert episode.mistakes == (1, 3)


@pytest.mark.parametrize(
    "policy",
    ["retry", "retry:0", "retry:x", "skip", "random:2", "retry:\u0663", "retry:" + "9" * 5000],
)
def test_unknown_policies_are_refused(policy: str) -> None:
    with pytest.raises(InvalidOption, match="forfeit"):
        Episode(TicTacToe(), invalid=policy)


@pytest.mark.parametrize("action", [9, -1, 2.5, "4", None, True, [4]])
@pytest.mark.parametrize("compiled", [True, False])
def test_anything_that_is_no_legal_number_is_illegal(action: Any, compiled: bool) -> None:
    episode = Episode(TicTacToe(), 0, compiled=compiled)
    if action is True:
        episode.act({0: 1})
        action, seat = True, 1
    else:
        seat = 0
    with pytest.raises(InvalidAction):
        episode.act({seat: action})


@pytest.mark.parametrize("actions", [{}, {1: 0}, {0: 0, 1: 0}, {5: 0}])
def test_only_those_asked_may_act(actions: dict[int, int]) -> None:
    with pytest.raises(OutOfTurn):
        Episode(TicTacToe(), 0).act(actions)


def test_after_the_end_nobody_may_act() -> None:
    episode = Episode(TicTacToe(), 0)
    episode.playout(Rng(0))
    with pytest.raises(OutOfTurn, match="reset"):
        episode.act({0: 0})


GAMES: list[Callable[[], Any]] = [ConnectFour, KuhnPoker, Commons, LastOneStanding]


@pytest.mark.parametrize("game", GAMES)
def test_a_snapshot_survives_pickling_and_leads_to_the_same_future(game: Any) -> None:
    episode = Episode(game(), 5)
    rng = Rng(1)
    for _ in range(1):
        state = episode.state
        episode.act({p: episode.game.sample(state, p, rng) for p in episode.to_act})
    kept = pickle.loads(pickle.dumps(episode.snapshot()))
    ends = []
    for _ in range(2):
        twin = Episode(game(), 77)
        twin.restore(kept)
        again = Rng(4)
        while not twin.over:
            state = twin.state
            twin.act({p: twin.game.sample(state, p, again) for p in twin.to_act})
        ends.append((twin.state_key(), tuple(twin.returns), len(twin.events)))
    assert ends[0] == ends[1]
    assert twin.seed == 5


def test_forks_share_the_past_and_nothing_else() -> None:
    episode = Episode(ConnectFour(), 1)
    episode.act({0: 3})
    twin = episode.fork()
    twin.act({1: 3})
    episode.act({1: 0})
    assert [dict(p.actions) for p in twin.history()] == [{0: 3}, {1: 3}]
    assert [dict(p.actions) for p in episode.history()] == [{0: 3}, {1: 0}]
    assert [e.text for e in twin.events] != [e.text for e in episode.events]


def test_reset_leaves_nothing_behind() -> None:
    episode = taken("raise")
    with pytest.raises(InvalidAction):
        episode.act({1: 4})
    _ = episode.log
    episode.reset(8)
    assert (episode.steps_played, episode.mistakes, episode.over) == (0, (0, 0), False)
    assert not list(episode.history())
    assert not episode.events
    assert list(episode.returns) == [0.0, 0.0]


def test_those_who_leave_are_never_asked_again() -> None:
    episode = Episode(LastOneStanding(), 0)
    episode.act({0: 0, 1: 1, 2: 0})
    assert episode.to_act == (0, 2)
    assert episode.present == (0, 2)
    episode.act({0: 1, 2: 0})
    assert episode.over
    assert list(episode.returns) == [2.0, 1.0, 2.0]


@pytest.mark.parametrize("view", ["aec", "parallel"])
def test_pettingzoo_views_bury_those_who_leave(view: str) -> None:
    env = palestra.make(LastOneStanding(num_players=3), view=view)
    env.reset(seed=0)
    if view == "parallel":
        _, _, dead, _, _ = env.step({"player_0": 0, "player_1": 1, "player_2": 0})
        assert dead == {"player_0": False, "player_1": True, "player_2": False}
        assert env.agents == ["player_0", "player_2"]
        return
    for action in (0, 1, 0):
        env.step(action)
    assert env.agent_selection == "player_1"
    assert env.terminations["player_1"]
    env.step(None)
    assert env.agents == ["player_0", "player_2"]


def test_a_seat_that_leaves_is_done_in_the_gym_view() -> None:
    env = palestra.make(LastOneStanding(num_players=3), seat=1, opponents="first")
    env.reset(seed=0)
    _, reward, terminated, truncated, _ = env.step(1)
    assert (reward, terminated, truncated) == (1.0, True, False)


def test_truncation_from_outside_decides_nothing() -> None:
    episode = taken("raise")
    episode.truncate("time is up")
    assert episode.over
    assert episode.truncated
    assert episode.outcome.results == ("truncated", "truncated")
    assert episode.outcome.reason == "time is up"


def test_a_late_look_at_the_log_tells_the_same_story() -> None:
    early, late = Episode(ConnectFour(), 2), Episode(ConnectFour(), 2)
    _ = early.log
    for seat, column in ((0, 3), (1, 3), (0, 2)):
        early.act({seat: column})
        late.act({seat: column})
    assert [e.text for e in early.events] == [e.text for e in late.events]


def test_asking_for_numba_where_it_is_missing_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from palestra.engine import compiled

    monkeypatch.setattr(compiled, "numba_installed", lambda: False)
    with pytest.raises(palestra.MissingExtra, match=r"palestra\[numba\]"):
        Episode(ConnectFour(rows=4, columns=9), 0, compiled=True)


def test_a_fork_reads_a_transcript_of_its_own() -> None:
    episode = palestra.make("games/TicTacToe-v0", view="episode", seed=0)
    twin = episode.fork()
    twin.act({0: 4})
    assert [event.kind for event in twin.transcript(0)] == ["move"]
    assert list(episode.transcript(0)) == []
    assert twin.legal_texts(1) != episode.legal_texts(0)
    episode.act({0: 0})
    assert [event.data["action"] for event in episode.transcript(0)] == [0]
    assert [event.data["action"] for event in twin.transcript(0)] == [4]


class Briefly(LastOneStanding):
    """A game whose moves are told in fewer words than there are moves."""

    def legal_text(self, state: Any, seat: int, moves: Mapping[str, int]) -> str:
        return f"any of {len(moves)} moves"


@pytest.mark.parametrize("compiled", [False, True])
def test_a_game_with_many_moves_says_what_is_legal_in_its_own_words(compiled: bool) -> None:
    game = Briefly()
    episode = Episode(game, 0, compiled=compiled)
    (seat, *_) = episode.to_act
    said = f"any of {len(episode.legal_actions(seat))} moves"
    assert episode.legal_text(seat) == said
    assert said in episode.prompt(seat)
    with pytest.raises(InvalidAction, match=said):
        episode.parse(seat, "nonsense")
    with pytest.raises(InvalidAction, match=said):
        game.check(episode.state, seat, 99)
