"""TLS: a whole match over https and wss, and certificates that do not fit."""

import os
import signal
import subprocess
import sys
import time

import httpx
import pytest
import trustme
from palestra.cli import main
from palestra_server.client import Server
from palestra_server.tls import tls_options


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The PEM files of an authority, of a certificate for loopback and its key, and of another."""
    folder = tmp_path_factory.mktemp("tls")
    authority, kept = trustme.CA(), {}
    certificate = authority.issue_cert("127.0.0.1", "localhost")
    parts = {
        "authority": authority.cert_pem,
        "certificate": certificate.cert_chain_pems[0],
        "key": certificate.private_key_pem,
        "both": certificate.private_key_and_cert_chain_pem,
        "other": authority.issue_cert("127.0.0.1").private_key_pem,
    }
    for name, part in parts.items():
        kept[name] = folder / f"{name}.pem"
        part.write_to_path(kept[name])
    return kept


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_match_is_played_over_tls(files, tmp_path, monkeypatch, workers):
    command = [sys.executable, "-m", "palestra", "serve", "--port", "0"]
    command += ["--certificate", str(files["certificate"]), "--key", str(files["key"])]
    command += ["--workers", str(workers)]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        try:
            url = process.stdout.readline().split()[1]
            assert url.startswith("https://")
            with monkeypatch.context() as trusting:
                trusting.setenv("SSL_CERT_FILE", str(files["authority"]))
                with httpx.Client(transport=httpx.HTTPTransport(retries=8)) as http:
                    while http.get(f"{url}/ready", timeout=60).status_code != 200:
                        time.sleep(0.1)
                play(url)
            with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
                httpx.get(f"{url}/ready", timeout=60)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def play(url):
    """Tic-tac-toe by both seats, each over a socket of its own; seat 0 wins."""
    server = Server(url)
    match = server.create("games/TicTacToe-v0", ["open", "open"])
    seats = [server.join(match, seat) for seat in (0, 1)]
    for cell, seat in zip((0, 3, 1, 4, 2), (0, 1, 0, 1, 0), strict=True):
        assert seats[seat].turn(60).status != "over"
        seats[seat].answer(cell)
    assert [seat.turn(60).status for seat in seats] == ["over", "over"]
    assert server.record(seats[0].token)["returns"] == [1.0, -1.0]
    for seat in seats:
        seat.close()
    server.close()


def test_one_file_may_hold_the_certificate_and_its_key(files):
    given = tls_options(files["both"], None)
    assert given == {"ssl_certfile": str(files["both"]), "ssl_keyfile": None}
    assert tls_options(None, None) == {}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"key": "key"}, "needs --certificate"),
        ({"certificate": "missing"}, "there is no file"),
        ({"certificate": "certificate", "key": "missing"}, "there is no file"),
        ({"certificate": "certificate"}, "not a certificate and its key"),
        ({"certificate": "certificate", "key": "other"}, "not a certificate and its key"),
        ({"certificate": "key", "key": "key"}, "not a certificate and its key"),
    ],
)
def test_certificates_that_do_not_fit_are_refused_before_anything_is_opened(
    files, tmp_path, monkeypatch, capsys, given, says
):
    monkeypatch.chdir(tmp_path)
    words = [word for name, file in given.items() for word in (f"--{name}", files.get(file, file))]
    with pytest.raises(SystemExit) as stopped:
        main(["serve", "--port", "0", *map(str, words)])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert says in error
    assert all(str(files.get(file, file)) in error for file in given.values())
    assert os.listdir(tmp_path) == []
