"""`palestra web` as a user types it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

import palestra
import pytest
from palestra.cli import main


def test_doctor_names_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("PALESTRA_CHROMIUM", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(["web", "doctor"])
    assert ended.value.code == 1
    assert "apt-get install chromium" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("how", ["to the end", "ctrl-c"])
def test_serve_lets_a_person_play_and_writes_the_record(tmp_path: Path, how: str) -> None:
    file = tmp_path / "episode.jsonl"
    command = [sys.executable, "-m", "palestra", "web", "serve", "web/Shop-v0"]
    command += ["-o", "products=200", "--out", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        (entrance,) = re.findall(r"play at (\S+)", process.stdout.readline())
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        assert "Your task" in browser.open(entrance, timeout=20).read().decode()
        host = entrance.partition("/enter/")[0]
        if how == "ctrl-c":
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
        else:
            bought = browser.open(f"{host}/item/3", timeout=20).read().decode()
            assert "Buy Now" in bought
            said = browser.open(f"{host}/buy/3", data=b"", timeout=20).read().decode()
            assert "The end" in said
        assert process.wait(60) == 0
    (record,) = palestra.read_records(file)
    assert record.outcome is not None
    expected = "truncated" if how == "ctrl-c" else record.outcome.results[0]
    assert record.outcome.results == (expected,)
    assert record.env == "web/Shop-v0"


def test_a_seat_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["web", "serve", "web/Shop-v0", "--seat", "3"])
    assert "seat must be from 0 to 0, not 3" in capsys.readouterr().err
