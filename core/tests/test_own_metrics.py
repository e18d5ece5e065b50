"""Metrics of the caller's own: functions of a record, and names of code."""

import palestra
import pytest


def length(record):
    return len(record.turns)


@pytest.fixture(scope="module")
def record():
    return palestra.play("games/TicTacToe-v0", agents="first")[0]


def test_a_function_measures_beside_installed_metrics(record):
    found = palestra.measure(record, [length, "refused-share"])
    assert found == {"length": 7, "refused-share": 0}


def test_a_file_names_a_metric(record, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def turns(record, of=1):\n    return {'all': len(record.turns) / of}\n")
    assert palestra.measure(record, [f"{file}:turns"]) == {"turns:all": 7}
    assert palestra.measure(record, [f"{file}:turns,of=7"]) == {"turns:all": 1}


@pytest.mark.parametrize("wrong", [5, lambda record: "many", lambda record: [1]])
def test_what_is_no_metric_is_said(record, wrong):
    with pytest.raises(palestra.InvalidOption, match=r"a function of a record|returned"):
        palestra.measure(record, [wrong])


def test_an_unknown_name_is_unknown(record):
    with pytest.raises(palestra.UnknownName):
        palestra.measure(record, ["no_such_module:f"])
