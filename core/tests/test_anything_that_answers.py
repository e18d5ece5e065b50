"""Functions, coroutine functions, async generators and objects are agents."""

import asyncio
import functools
import gc
import threading
import time
import warnings

import agents_by_turn as by_turn
import numpy as np
import palestra
import pytest
from palestra import Decision, WrongAnswer
from palestra.agents import awaiting
from palestra.isolation.system import unwalled_system

TICTACTOE, NEGOTIATION, MATRIX = "games/TicTacToe-v0", "text/Negotiation-v0", "games/MatrixGame-v0"


def first(turn):
    return turn.legal_actions[0]


async def first_later(turn):
    await asyncio.sleep(0)
    return turn.legal_actions[0]


async def first_at_last(turn):
    yield "thinking"
    await asyncio.sleep(0)
    yield turn.legal_actions[0]


class Acts:
    def act(self, turn):
        return first(turn)


class ActsLater:
    async def act(self, turn):
        return await first_later(turn)


class Called:
    def __call__(self, turn):
        return first(turn)


class CalledLater:
    async def __call__(self, turn):
        return await first_later(turn)


class StreamsLater:
    async def act(self, turn):
        async for one in first_at_last(turn):
            yield one


AGENTS = {
    "function": first,
    "lambda": lambda turn: first(turn),
    "partial": functools.partial(lambda place, turn: turn.legal_actions[place], 0),
    "coroutine function": first_later,
    "function that returns a coroutine": lambda turn: first_later(turn),
    "partial of a coroutine function": functools.partial(first_later),
    "async generator": first_at_last,
    "act": Acts(),
    "async act": ActsLater(),
    "__call__": Called(),
    "async __call__": CalledLater(),
    "async generator act": StreamsLater(),
    "bound method": Acts().act,
    "class": Acts,
    "text": lambda turn: turn.legal_texts[0],
    "numpy integer": lambda turn: np.int16(first(turn)),
    "array of no dimension": lambda turn: np.array(first(turn)),
    "decision": lambda turn: Decision(first(turn)),
    "decision with text": lambda turn: Decision(text=turn.legal_texts[0]),
}


@pytest.fixture(scope="module")
def known():
    """What the agent `first` plays."""
    records = palestra.play(TICTACTOE, agents=["first", "random"], episodes=3, seed=5)
    return [[turn.action for turn in record.turns] for record in records]


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_it_plays_as_the_agent_it_imitates(agent, known):
    records = palestra.play(TICTACTOE, agents=[agent, "random"], episodes=3, seed=5)
    assert [[turn.action for turn in record.turns] for record in records] == known
    assert not any(record.error or sum(record.mistakes) for record in records)


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_it_is_an_opponent_in_every_view(agent):
    env = palestra.make(TICTACTOE, opponents=agent, seat=1)
    env.reset(seed=1)
    assert env.action_masks().tolist() == [False] + [True] * 8
    env.close()


@pytest.mark.parametrize("agent", [first, Acts(), first_later, ActsLater()])
def test_one_agent_sits_at_every_seat(agent):
    (record,) = palestra.play(TICTACTOE, agents=agent)
    assert [turn.action for turn in record.turns] == [0, 1, 2, 3, 4, 5, 6]


def test_an_action_of_a_text_game_is_an_answer():
    async def walk(turn):
        return turn.parse("Walk()")

    (record,) = palestra.play(NEGOTIATION, agents=[walk, "negotiator"])
    assert record.turns[0].text == "Walk()"


async def nested(turn):
    return first_later(turn)


async def silent_generator(turn):
    return
    yield


def generator(turn):
    yield first(turn)


WRONG = {
    "None": lambda turn: None,
    "coroutine of a coroutine": nested,
    "decision of a coroutine": lambda turn: Decision(first_later(turn)),
    "dict": lambda turn: {"move": 0},
    "float": lambda turn: 0.0,
    "numpy float": lambda turn: np.float64(0),
    "bool": lambda turn: True,
    "numpy bool": lambda turn: np.True_,
    "list": lambda turn: [0],
    "array": lambda turn: np.array([0]),
    "bytes": lambda turn: b"0",
    "tuple": lambda turn: (0,),
    "generator": generator,
    "function": lambda turn: first,
    "empty decision": lambda turn: Decision(),
    "async generator without a value": silent_generator,
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("env", [TICTACTOE, NEGOTIATION, MATRIX])
def test_a_wrong_return_is_named_at_once(wrong, env):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # "never awaited" among them
        with pytest.raises(WrongAnswer) as raised:
            palestra.play(env, agents=[wrong, "random"], episodes=3)
        gc.collect()
    said = str(raised.value)
    assert "return the number of a move (an int), its text (a str), or a palestra.Decision" in said
    assert "returned" in said


@pytest.mark.parametrize("wrong", [5, None, {"act": 1}, [["random", "random"], "random"], object()])
def test_what_cannot_answer_is_no_agent(wrong):
    with pytest.raises(palestra.InvalidOption, match="a function of a turn"):
        palestra.make_agent(wrong)


FACTORIES = (by_turn.whole, by_turn.function, by_turn.named, by_turn.Acts)


@pytest.mark.parametrize("make", [*FACTORIES, lambda: Acts()])
def test_a_factory_makes_an_agent(make):
    assert moves(play_three(make)) == moves(play_three("first"))


@pytest.mark.skipif(bool(unwalled_system()), reason="no processes of their own here")
@pytest.mark.parametrize("make", FACTORIES)
def test_a_factory_makes_an_agent_in_a_process_of_its_own(make):
    assert moves(play_three(make, isolate=True)) == moves(play_three("first"))


@pytest.mark.skipif(bool(unwalled_system()), reason="no processes of their own here")
@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("agent", [by_turn.first, by_turn.first_later, by_turn.first_at_last])
def test_a_function_of_a_turn_plays_in_a_process_of_its_own(agent, asynchronous):
    found = play_three(agent, isolate=True, asynchronous=asynchronous)
    assert moves(found) == moves(play_three("first"))


def play_three(agent, **how):
    return palestra.play(TICTACTOE, agents=[agent, "random"], episodes=3, seed=5, **how)


def moves(records):
    return [[turn.action for turn in record.turns] for record in records]


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        (by_turn.Fails, "agent 'Fails' cannot be made: RuntimeError: 'no key'"),
        (
            by_turn.broken,
            "agent 'broken' cannot be made: TypeError: \"object of type 'int' has no len",
        ),
        (by_turn.made_later, r"agent 'made_later' takes \(\), not one turn; write"),
        (lambda turn, seat: 0, r"agent '<lambda>' takes \(turn, seat\), not one turn; write"),
        (lambda: None, "a function of a turn .* or a factory of one, not None"),
    ],
)
def test_what_makes_no_agent_is_said_before_a_game_begins(agent, said):
    with pytest.raises(palestra.InvalidOption, match=said):
        palestra.play(TICTACTOE, agents=[agent, "random"], episodes=2)


class One(palestra.ScriptedAgent):
    def choose(self, turn):
        return turn.legal_actions[0]


class Other(One):
    pass


@pytest.mark.parametrize("agents", [[One(), Other()], [One, Other], [One, Other()]])
def test_agents_without_a_name_are_told_apart(agents):
    (free,) = palestra.play(TICTACTOE, agents=agents)
    assert free.agents == ("One", "Other")
    (bound,) = palestra.play(TICTACTOE, agents=agents, budgets={"Other": palestra.Budget(steps=1)})
    assert bound.outcome.results == ("win", "forfeit")
    each = palestra.Budget(steps=4)  # of seven moves the first makes four
    (own,) = palestra.play(TICTACTOE, agents=agents, budgets=each)
    assert own.outcome == free.outcome


class Remembers:
    """Plays the first move, and says how many episodes it could mistake for the next one."""

    def __init__(self):
        self.kept = {}

    def act(self, turn):
        self.kept.setdefault(turn.episode_key, []).append(turn.text)
        return turn.legal_actions[0]

    def forget(self, episode_key):
        self.kept.pop(episode_key, None)


def test_a_run_that_is_left_is_forgotten():
    agent = Remembers()
    run = palestra.stream(TICTACTOE, agents=[agent, "random"], episodes=7, live=3)
    next(run)
    assert agent.kept
    run.close()
    assert not agent.kept


def test_an_interrupted_run_is_forgotten():
    agent, asked = Remembers(), []

    def interrupted(turn):
        asked.append(turn)
        if len(asked) == 5:
            raise KeyboardInterrupt
        return turn.legal_actions[-1]

    with pytest.raises(KeyboardInterrupt):
        palestra.play(TICTACTOE, agents=[agent, interrupted], episodes=3)
    assert not agent.kept


@pytest.mark.parametrize("moves", [0, 1, 2])
def test_an_environment_that_is_closed_is_forgotten_by_its_opponents(moves):
    agent = Remembers()
    env = palestra.make(TICTACTOE, view="gym", opponents=agent, seat=1)
    env.reset(seed=4)
    for _ in range(moves):
        env.step(int(env.action_masks().nonzero()[0][-1]))
    assert agent.kept
    env.close()
    assert not agent.kept


def test_a_stray_end_of_iteration_is_reported_as_that():
    def ends(turn):
        return next(iter(()))

    with pytest.raises(RuntimeError, match="StopIteration"):
        palestra.play(TICTACTOE, agents=[ends, "random"], episodes=2)


def test_the_reason_is_on_the_record_beside_games_that_end_well():
    asked = []

    def sometimes(turn):
        asked.append(turn)
        return first(turn) if len(asked) > 1 else None

    with pytest.warns(RuntimeWarning, match="WrongAnswer: agent 'sometimes' returned None"):
        records = palestra.play(TICTACTOE, agents=[sometimes, "random"], episodes=3)
    assert [bool(record.error) for record in records] == [True, False, False]
    assert "returned None" in records[0].outcome.reason


def test_an_exception_costs_its_own_game_and_is_asked_once():
    asked = []

    async def fails(turn):
        asked.append(turn.episode_id)
        second = len(asked) == 2
        await asyncio.sleep(0)
        if second:
            raise LookupError("no book")
        return first(turn)

    with pytest.warns(RuntimeWarning, match="LookupError: 'no book'|LookupError: no book"):
        records = palestra.play(TICTACTOE, agents=[fails, "random"], episodes=4)
    assert [bool(record.error) for record in records] == [False, True, False, False]
    assert len(asked) == sum(1 for r in records for t in r.turns if t.seat == 0) + 1


@pytest.mark.parametrize("stop", [SystemExit(3), asyncio.CancelledError(), GeneratorExit()])
def test_what_would_end_the_loop_ends_one_game(stop):
    async def leaves(turn):
        raise stop

    with pytest.raises(RuntimeError, match=type(stop).__name__):
        palestra.play(TICTACTOE, agents=[leaves, "random"])
    assert palestra.play(TICTACTOE, agents=[first_later, "random"])[0].outcome


def test_a_list_of_texts_is_no_list_of_decisions():
    class Texts(palestra.Agent):
        name = "texts"

        def act(self, turns):
            return ["5" for _ in turns]

    with pytest.raises(palestra.InvalidOption, match="an agent answers with Decisions, not '5'"):
        palestra.play(TICTACTOE, agents=[Texts(), "first"])


def test_waiting_games_are_awaited_together():
    games, came, met = 12, 0, asyncio.Event()

    async def meets(turn):
        nonlocal came
        came += 1
        if came == games:
            met.set()
        await met.wait()
        return first(turn)

    records = palestra.play(TICTACTOE, agents=[meets, "first"], episodes=games, move_seconds=60)
    assert [record.outcome.results[0] for record in records] == ["win"] * games


def test_no_more_are_awaited_than_the_limit():
    now, most = 0, 0

    async def counts(turn):
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return first(turn)

    agent = palestra.FunctionAgent(counts, concurrency=3)
    palestra.play(TICTACTOE, agents=[agent, "first"], episodes=12)
    assert most == 3
    with pytest.raises(palestra.InvalidOption, match="concurrency is 1 or more, not 0"):
        palestra.FunctionAgent(counts, concurrency=0)


def test_a_hanging_coroutine_loses_by_itself_and_is_cancelled():
    cancelled, asked = [], []

    async def hangs_once(turn):
        asked.append(turn)
        if len(asked) == 3:
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                cancelled.append(turn)
                raise
        return first(turn)

    records = palestra.play(TICTACTOE, agents=[hangs_once, "first"], episodes=6, move_seconds=0.5)
    assert [record.outcome.results[0] for record in records].count("forfeit") == 1
    assert "time of 0.5 s for a move is over" in records[2].outcome.reason
    assert len(cancelled) == 1
    assert not any(record.error for record in records)
    assert len(asked) == sum(1 for r in records for t in r.turns if t.seat == 0) + 1 - sum(
        1 for t in records[2].turns if t.seat == 0
    )


def test_a_coroutines_own_timeout_is_its_failure():
    async def impatient(turn):
        async with asyncio.timeout(0.01):
            await asyncio.sleep(5)

    with pytest.raises(TimeoutError):
        palestra.play(TICTACTOE, agents=[impatient, "first"], move_seconds=5)


def test_a_coroutine_that_blocks_the_loop_costs_its_game_alone():
    release, woken = threading.Event(), []

    async def blocks(turn):
        woken.append(release.wait(60))
        return first(turn)

    (record,) = palestra.play(TICTACTOE, agents=[blocks, "first"], move_seconds=0.2)
    assert record.outcome.results[0] == "forfeit"
    (record,) = palestra.play(TICTACTOE, agents=[first_later, "first"])
    assert record.outcome.results[0] == "win"
    assert woken == []  # it blocks still
    release.set()


def test_an_interruption_cancels_everything(monkeypatch):
    cancelled = []

    async def hangs(turn):
        try:
            await asyncio.sleep(600)
        finally:
            cancelled.append(turn)

    def interrupt():
        time.sleep(0.3)
        import _thread

        _thread.interrupt_main()

    threading.Thread(target=interrupt).start()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KeyboardInterrupt):
            palestra.play(
                TICTACTOE,
                agents=[palestra.FunctionAgent(hangs, concurrency=2), "first"],
                episodes=5,
            )
        gc.collect()
    assert len(cancelled) == 2  # the others had not begun


def test_it_plays_inside_a_running_loop():
    async def notebook():
        return palestra.play(TICTACTOE, agents=[first_later, "first"], episodes=2)

    assert len(asyncio.run(notebook())) == 2


def test_a_client_of_the_loop_serves_several_runs():
    loops = set()

    async def notes(turn):
        loops.add(asyncio.get_running_loop())
        return first(turn)

    for _ in range(3):
        palestra.play(TICTACTOE, agents=[notes, "first"])
    assert len(loops) == 1
    assert not any(loop.is_closed() for loop in loops)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_who_stops_the_loop_is_answered_for_all_the_same(asynchronous):
    async def stops(turn):
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0.001)
        return first(turn)

    for agent in (stops, first_later):
        records = palestra.play(
            TICTACTOE, agents=[agent, "first"], episodes=3, asynchronous=asynchronous
        )
        assert [record.outcome.results for record in records] == [("win", "loss")] * 3


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_coroutine_may_play_games_of_coroutines(asynchronous):
    """A look ahead by play itself, two games deep; each loop is used again."""
    depths = []

    def looks(depth):
        async def act(turn):
            depths.append(depth)
            if depth and turn.steps_played < 2:
                (record,) = palestra.play(TICTACTOE, agents=[looks(depth - 1), "first"])
                return record.turns[0].action
            return await first_later(turn)

        return act

    before = len(awaiting._threads)
    records = palestra.play(
        TICTACTOE, agents=[looks(2), "first"], episodes=2, asynchronous=asynchronous
    )
    assert [record.outcome.results for record in records] == [("win", "loss")] * 2
    assert {depth: depths.count(depth) for depth in (2, 1, 0)} == {2: 8, 1: 8, 0: 8}
    assert len(awaiting._threads) == max(before, 3)


def test_the_loop_is_closed_at_exit():
    awaiting.await_all([asyncio.sleep(0)])
    (thread, *_) = awaiting._threads
    awaiting._close()
    awaiting._forget()
    assert thread._loop.is_closed()
    assert not thread._thread.is_alive()


def test_an_object_is_seeded_told_to_forget_and_closed():
    told = []

    class Whole:
        name = "whole"

        async def act(self, turn):
            return first(turn)

        def reseed(self, seed):
            told.append(("reseed", seed))

        def forget(self, episode_key):
            told.append("forget")

        async def close(self):
            told.append("close")

    (record,) = palestra.play(TICTACTOE, agents=[Whole(), "first"], seed=9)
    assert told == [("reseed", 9), "forget", "close"]
    assert record.agents[0] == "whole"
