"""Episodes played inside an event loop, whose seats coroutines answer."""

import asyncio
from contextvars import ContextVar

import palestra
import pytest
from palestra import ModelError
from palestra.agents.models import Reply
from palestra.runner.awaited import AwaitedModel, AwaitedSeat, play_awaited

TICTACTOE, MATRIX = "games/TicTacToe-v0", "games/MatrixGame-v0"
who = ContextVar("who", default="nobody")


def last_move(request):
    return request.messages[-1].content.split()[-1].strip(".")


async def say_last(request):
    await asyncio.sleep(0)
    return Reply(last_move(request), model="m")


def test_a_game_of_coroutines_is_the_game_of_agents():
    record = asyncio.run(play_awaited(TICTACTOE, [AwaitedSeat(say_last, "ada"), "first"], seed=4))
    last = palestra.FunctionAgent(lambda turn: turn.legal_actions[-1], "ada")
    (known,) = palestra.play(TICTACTOE, agents=[last, "first"], seed=4)
    assert record.agents == ("ada", "first")
    assert [turn.text for turn in record.turns] == [turn.text for turn in known.turns]
    assert record.returns == known.returns


def test_many_games_are_played_side_by_side_in_the_callers_context():
    asked, waiting, crowd = [], set(), asyncio.Event()

    async def slow(request):
        asked.append(who.get())
        waiting.add(who.get())
        if len(waiting) >= 3:
            crowd.set()
        await asyncio.wait_for(crowd.wait(), 30)  # for three games that wait at the same time
        return Reply(last_move(request))

    async def game(number):
        who.set(f"game {number}")
        return await play_awaited(
            MATRIX, [AwaitedSeat(slow, "a"), AwaitedSeat(slow, "b")], seed=number, rounds=2
        )

    async def all_games():
        return await asyncio.gather(*map(game, range(12)))

    records = asyncio.run(all_games())
    assert [record.seed for record in records] == list(range(12))
    assert sorted(asked) == sorted(f"game {number}" for number in range(12) for _ in range(4))


def test_what_a_coroutine_raises_is_raised():
    async def broken(request):
        raise KeyError("no engine")

    with pytest.raises(KeyError, match="no engine"):
        asyncio.run(play_awaited(TICTACTOE, [AwaitedSeat(broken), "first"]))


def test_a_refused_reply_is_asked_again_and_history_is_an_option():
    seen = []

    async def poor(request):
        seen.append([message.role for message in request.messages])
        return Reply("e4" if len(seen) == 1 else last_move(request).split(":")[-1])

    seat = AwaitedSeat(poor, options={"history": "bare"})
    record = asyncio.run(play_awaited(TICTACTOE, [seat, "first"], invalid="random", seed=1))
    assert record.mistakes[0] >= 1
    assert set(map(tuple, seen)) <= {("user",), ("system", "user")}


def test_a_cancelled_call_ends_the_game():
    begun, games = asyncio.Event(), []

    async def never(request):
        begun.set()
        await asyncio.Event().wait()

    async def main():
        model = AwaitedModel(never, asyncio.get_running_loop(), "m")
        model.stop()
        with pytest.raises(ModelError, match="nobody waits"):
            await asyncio.to_thread(model.chat, [palestra.agents.models.Request(())])
        game = asyncio.create_task(play_awaited(TICTACTOE, [AwaitedSeat(never), "first"]))
        await begun.wait()
        game.cancel()
        with pytest.raises(asyncio.CancelledError):
            await game
        games.append(game)

    asyncio.run(asyncio.wait_for(main(), 20))
    assert games[0].cancelled()
