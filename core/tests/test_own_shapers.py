"""Shapers of the caller's own: functions, objects and names of code."""

import palestra
import pytest
from palestra.records.rescore import rescore
from palestra.records.verify import verify
from palestra.shaping import potential_based

TICTACTOE, FORAGING = "games/TicTacToe-v0", "grid/Foraging-v0"


def per_move(step):
    return {"moved": 0.25} if step.seat in step.actions else {}


class PerMove:
    def __call__(self, step):
        return per_move(step)


@potential_based
def potential(step):
    return {"shape": step.gamma * (0 if step.over else 1) - 1}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "shapers.py"
    path.write_text(
        "def per_move(step, by=0.25):\n    return {'moved': by * (step.seat in step.actions)}\n"
    )
    return path


def check(rewards, amount=0.25):
    (record,) = palestra.play(TICTACTOE, agents="first", rewards=rewards)
    assert record.returns == (1 + 4 * amount, -1 + 3 * amount)
    return record


@pytest.mark.parametrize("shaper", [per_move, PerMove(), lambda step: per_move(step)])
def test_a_function_or_object_pays_in_every_view(shaper):
    record = check(["env", shaper])
    assert record.rewards_from[0] == "env"
    env = palestra.make(FORAGING, rewards=[shaper], opponents="random")
    env.reset(seed=1)
    assert env.step(1)[1] == 0.25
    (alone,) = palestra.play(TICTACTOE, agents="first", rewards=[shaper])
    assert alone.returns == (1.0, 0.75)


@pytest.mark.parametrize(("options", "amount"), [("", 0.25), (",by=0.5", 0.5), (":by=0.5", 0.5)])
def test_a_file_names_one_and_a_record_of_it_never_runs_it(file, options, amount):
    record = check(["env", f"{file}:per_move{options}"], amount)
    file.write_text("raise SystemExit('a replay ran me')")
    assert "rewards" in verify(record)
    *_, last = palestra.retrace(record)
    assert tuple(last.returns) == record.returns
    assert not rescore(record).changes


def test_a_function_stays_potential_based():
    record = palestra.play(
        TICTACTOE, agents="first", rewards=[potential], gamma=0.5, max_episode_steps=3
    )[0]
    # player_0 pays 0.5 - 1 on its own turns, and what is left at the end from outside
    unmarked = palestra.play(
        TICTACTOE,
        agents="first",
        rewards=[lambda step: potential(step)],
        gamma=0.5,
        max_episode_steps=3,
    )[0]
    assert record.returns != unmarked.returns  # which is not asked at the end from outside
    verify(record)


@pytest.mark.parametrize(
    ("shaper", "said"),
    [
        (lambda step: 1.0, r"returned 1.0; return a dictionary of amounts by name"),
        (lambda step: None, r"returned None; return a dictionary"),
        (lambda: {"a": 1.0}, r"is called with one palestra.Transition"),
        (lambda before, after: {}, r"is called with one palestra.Transition"),
        (PerMove, r"of a class give an instance"),
        (3, r"a function of a palestra.Transition"),
    ],
)
def test_what_is_no_shaper_is_said(shaper, said):
    with pytest.raises(palestra.InvalidOption, match=said):
        palestra.play(TICTACTOE, agents="first", rewards=["env", shaper])


@pytest.mark.parametrize("name", ["no_such_module:f", "stagez"])
def test_an_unknown_name_is_unknown(name):
    with pytest.raises(palestra.UnknownName):
        palestra.play(TICTACTOE, agents="first", rewards=[name])
