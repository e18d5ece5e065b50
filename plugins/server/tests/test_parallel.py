"""Several seats of a match on a server as a PettingZoo environment."""

import numpy as np
import palestra
import pytest
from palestra import OutOfTurn


@pytest.mark.parametrize(
    ("env", "options"),
    [("games/TicTacToe-v0", {}), ("games/MatrixGame-v0", {"rounds": 6}), ("grid/Kitchen-v0", {})],
)
def test_all_seats_play_as_in_process(server, env, options):
    url, _ = server
    there = palestra.connect(url, env=env, seats=(), options=options, max_episode_steps=20)
    here = palestra.make(env, view="parallel", max_cycles=20, **options)
    assert there.possible_agents == here.possible_agents
    for seed in (3, 4):
        seen, infos = there.reset(seed=seed)
        ours, told = here.reset(seed=seed)
        while here.agents:
            assert there.agents == here.agents
            moves = {}
            for agent in here.agents:
                assert np.array_equal(seen[agent], ours[agent])
                assert infos[agent]["acting"] == told[agent]["acting"]
                assert np.array_equal(infos[agent]["action_mask"], told[agent]["action_mask"])
                moves[agent] = int(np.flatnonzero(told[agent]["action_mask"])[-1])
            seen, paid, ended, cut, infos = there.step(moves)
            ours, owed, done, stopped, told = here.step(moves)
            assert (paid, ended, cut) == (owed, done, stopped)
        assert not there.agents
    with pytest.raises(OutOfTurn, match="call reset"):
        there.step({})
    there.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of PettingZoo's own test module
def test_some_seats_play_against_agents(server):
    from pettingzoo.test import parallel_api_test

    url, _ = server
    env = palestra.connect(
        url, env="games/LiarsDice-v0", seats=(0, 2), opponents="random", options={"num_players": 4}
    )
    assert env.possible_agents == ["player_0", "player_2"]
    parallel_api_test(env, num_cycles=40)
    env.close()


def test_an_action_is_needed_of_who_is_to_act(server):
    url, _ = server
    env = palestra.connect(url, env="games/TicTacToe-v0", seats=())
    env.reset(seed=1)
    with pytest.raises(OutOfTurn, match="player_0 must act"):
        env.step({"player_1": 3})
    env.close()
