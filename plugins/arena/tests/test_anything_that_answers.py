"""Functions, coroutine functions and objects in a tournament."""

import palestra
import pytest
from arena_players import Acts, factory, first, later
from palestra_arena.settings import Environment, Settings
from palestra_arena.tournament import run_tournament

TICTACTOE = "games/TicTacToe-v0"


def tournament(agent, workers=0):
    settings = Settings(
        environments=(Environment(TICTACTOE),),
        agents=("mine", "random"),
        games=4,
        workers=workers,
    )
    return run_tournament(settings, agents={"mine": agent})


@pytest.mark.parametrize("agent", [first, later, Acts, Acts(), factory, lambda: Acts()])
def test_it_plays_to_the_end(agent):
    assert {game.status for game in tournament(agent).results} == {"played"}


@pytest.mark.parametrize("agent", [later, Acts, factory])
def test_it_plays_in_processes_of_workers(agent):
    assert {game.status for game in tournament(agent, workers=1).results} == {"played"}


async def nested(turn):
    return later(turn)


@pytest.mark.parametrize(
    ("wrong", "came"),
    [(lambda turn: None, "None"), (nested, "coroutine"), (lambda turn: {"move": 1}, "dict")],
)
def test_a_wrong_return_forfeits_aloud(wrong, came):
    with pytest.warns(RuntimeWarning, match="mine forfeits: the agent failed") as warned:
        results = tournament(wrong).results
    assert len([one for one in warned if "mine forfeits" in str(one.message)]) == 1
    for game in results:
        assert game.status == "forfeit"
        assert "WrongAnswer" in game.reason
        assert came in game.reason
        assert "number of a move" in game.reason


def test_an_exception_of_a_coroutine_is_why_it_failed():
    async def fails(turn):
        raise LookupError("no book")

    for game in tournament(fails).results:
        assert "forfeits: the agent failed (LookupError: 'no book')" in game.reason


def test_what_raises_is_as_before_no_warning(recwarn):
    def fails(turn):
        raise palestra.ModelError("down")

    tournament(fails)
    assert not [one for one in recwarn if "forfeits" in str(one.message)]
