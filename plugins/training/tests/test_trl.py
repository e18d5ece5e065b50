"""What TRL is given, without TRL: tests/clients/with_trl.py drives the trainer itself."""

import inspect

import palestra
import pytest
from palestra import InvalidOption, OutOfTurn
from palestra_training.learner import Learner
from palestra_training.plan import TrainPlan
from palestra_training.play import Start, open_env, play_starts, seat_learner
from palestra_training.tiny import make_tiny
from palestra_training.trl_environment import environment_class
from palestra_training.trl_rollouts import SeatRollouts
from palestra_training.trl_starts import read_start
from palestra_training.warm_up import rows

TICTACTOE, COMMONS = "games/TicTacToe-v0", "text/Commons-v0"


def test_the_tools_of_a_class_are_to_move():
    made = environment_class(TICTACTOE)
    public = {n for n, _ in inspect.getmembers(made, inspect.isfunction) if not n.startswith("_")}
    assert made.__name__ == "TicTacToe"
    assert public == {"reset", "move", "get_reward"}


@pytest.mark.parametrize("seat", [0, 1])
def test_a_game_by_calls_is_the_game_of_agents(seat):
    env = environment_class(TICTACTOE, opponents="first")()
    for seed in (3, 4):
        shown = env.reset(seed=seed, seat=seat, prompt=[], environment=None)
        assert env._playing().game.rules_for(seat) in shown
        while "The game is over" not in shown:
            shown = env.move(env._playing().episode.legal_texts(seat)[-1])
        last = palestra.FunctionAgent(lambda turn: turn.legal_actions[-1], "learner")
        agents = ["first", "first"]
        agents[seat] = last
        (record,) = palestra.play(TICTACTOE, agents=agents, seed=seed)
        assert [turn.text for turn in env.record.turns] == [turn.text for turn in record.turns]
        assert env.record.agents == record.agents
        assert env.get_reward() == record.returns[seat]
        with pytest.raises(OutOfTurn, match="the game is over"):
            env.move("1")


def test_refused_moves_say_why_until_the_seat_forfeits():
    env = environment_class(TICTACTOE, opponents="first", invalid="retry:2")()
    env.reset(seed=1, seat=0)
    for _ in range(2):
        with pytest.raises(ValueError, match="e4"):
            env.move("e4")
    assert "forfeit" in env.move("e4")
    assert env.get_reward() == -1.0


@pytest.mark.parametrize(
    ("env", "options", "seat", "result", "paid"),
    [
        (TICTACTOE, {}, 1, "forfeit", -1.0),
        (COMMONS, {"num_players": 3, "opponents": ["random", "first"]}, 2, "truncated", 0.0),
    ],
)
def test_who_stops_calling_gains_nothing_by_it(env, options, seat, result, paid):
    made = environment_class(env, **options)()
    made.reset(seed=2, seat=seat)
    assert made.get_reward() == paid
    assert made.get_reward() == paid
    assert made.record.outcome.results[seat] == result
    assert made.record.agents[seat] == "learner"
    assert made.seat == seat


def test_calls_out_of_order_and_rows_without_a_seed_are_named():
    env = environment_class(TICTACTOE)()
    with pytest.raises(InvalidOption, match="call reset"):
        env.move("1")
    with pytest.raises(InvalidOption, match="each row needs a seed"):
        env.reset()


def test_a_prompt_names_its_start():
    assert read_start("games/TicTacToe-v0 seed=17 seat=1") == (17, 1)
    assert read_start([{"role": "user", "content": "games/X-v0 seed=0 seat=5"}]) == (0, 5)
    with pytest.raises(InvalidOption, match="names no start"):
        read_start("seat=1 seed=2")


def test_a_conversation_that_was_cut_is_no_single_row(tmp_path):
    plan = TrainPlan(env=TICTACTOE, history="conversation", max_tokens=4, invalid="random")
    shown = list(rows(palestra.play(TICTACTOE, agents="random", episodes=9), plan))
    texts = [text for row in shown for text in row.texts]
    roomy = Learner(make_tiny(tmp_path / "roomy", texts, layers=1, width=16, heads=2, context=4096))
    once, twice = (
        max(
            len(roomy.tokenizer("".join(row.texts))["input_ids"])
            for row in shown
            if len(row.messages) == messages
        )
        for messages in (2, 4)
    )
    context = (once + twice) // 2  # one exchange fits, and two do not
    tight = make_tiny(tmp_path / "tight", texts, layers=1, width=16, heads=2, context=context)
    learner = seat_learner(Learner(tight), plan, 1.0, keep=True)
    spec, game = open_env(plan)
    start = Start([palestra.make_agent("random"), learner], 5)
    (record,) = play_starts(game, spec, [start], invalid="random", max_episode_steps=None)
    with pytest.raises(InvalidOption, match=r"seat 1 of seed 5 has \d token streams"):
        SeatRollouts(TICTACTOE)._trace(record, 1)
    last = SeatRollouts(TICTACTOE, longer="last")._trace(record, 1)
    assert last.fork > 0
    assert last.ids[: last.turns[0].start]
