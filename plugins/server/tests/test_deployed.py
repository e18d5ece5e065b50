"""The configuration of deploy/ at work: Caddy, `palestra serve` behind it, and a PostgreSQL."""

import os
import signal
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from clients import python_of, run
from deployment import FOLDER, compose
from palestra_server.client import Server, ServerRefused
from palestra_server.listening import listen
from palestra_server.messages import OPEN

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]
DATABASE = Path(__file__).with_name("database.py")
TOKEN, SPOOFED, ROUNDS, MOST = "a-token-of-the-operator", "203.0.113.7", 40, 2


@pytest.fixture(scope="module")
def tools():
    """The folder of the commands of an environment that holds Caddy and a PostgreSQL."""
    return Path(python_of("deployed")).parent


def free_port():
    with listen("127.0.0.1", 0) as bound:
        return bound.getsockname()[1]


@contextmanager
def started(*command, folder, **variables):
    """A program, and what it starts, until the end of the block."""
    with (folder / "log").open("a") as log:
        process = subprocess.Popen(
            list(map(str, command)),
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, **{name: str(value) for name, value in variables.items()}},
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.stdin.close()
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()


class Site:
    """A server behind its proxy; `url` is the proxy's address, `direct` the server's own."""

    def __init__(self, tools, folder, store):
        self._tools, self._folder, self._store = tools, folder, store
        self._port, self.https, self.http = free_port(), free_port(), free_port()
        self.url, self.direct = f"https://localhost:{self.https}", f"http://localhost:{self._port}"
        self.authority = folder / "caddy" / "pki" / "authorities" / "local" / "root.crt"

    def proxy(self):
        config = ("--adapter", "caddyfile", "--config", FOLDER / "Caddyfile")
        return started(
            *(self._tools / "caddy", "run", *config),
            folder=self._folder,
            PALESTRA_NAME="localhost",
            HTTP_PORT=self.http,
            HTTPS_PORT=self.https,
            UPSTREAM=f"127.0.0.1:{self._port}",
            XDG_DATA_HOME=self._folder,
            XDG_CONFIG_HOME=self._folder,
        )

    def server(self, *more):
        """The server with the options of compose.yaml, and more, at another address."""
        options = compose(PALESTRA_NAME="localhost")["services"]["server"]["command"]
        own = ("--host=127.0.0.1", f"--port={self._port}", *more)
        return started(
            *(self._tools / "python", "-m", "palestra", *options, *own),
            folder=self._folder,
            PALESTRA_STORE=self._store,
            PALESTRA_SERVER_TOKEN=TOKEN,
        )

    def ready(self):
        until = time.monotonic() + 120
        while time.monotonic() < until:
            try:
                if httpx.get(f"{self.url}/ready", timeout=60).status_code == 200:
                    return
            except (httpx.HTTPError, OSError):  # or its authority is not there yet
                pass
            time.sleep(0.1)
        pytest.fail((self._folder / "log").read_text()[-3000:])


@pytest.fixture(scope="module")
def database(tools, tmp_path_factory):
    with started(tools / "python", DATABASE, folder=tmp_path_factory.mktemp("db")) as process:
        yield process, process.stdout.readline().strip()


@pytest.fixture
def site(tools, database, tmp_path, monkeypatch):
    site = Site(tools, tmp_path, database[1])
    monkeypatch.setenv("SSL_CERT_FILE", str(site.authority))
    with site.proxy():
        yield site


@pytest.fixture
def serving(site):
    with site.server("--workers=1", f"--limit=per_address={MOST}"):  # each process has its limit
        site.ready()
        yield site


def seats_of(site, env, **settings):
    """Both seats of a match, by connections of their own, and the client that opened it."""
    client = Server(site.url, TOKEN)
    match = client.create(env, [OPEN, OPEN], **settings)
    return client, [client.join(match, seat, f"player {seat}") for seat in (0, 1)]


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def test_the_configurations_keep_to_their_schemas(tools, tmp_path):
    schema = ("--builtin-schema", "vendor.compose-spec")
    assert "ok" in run(tools / "check-jsonschema", *schema, FOLDER / "compose.yaml")
    run(tools / "kubernetes-validate", "--strict", FOLDER / "kubernetes.yaml")
    assert run(tools / "caddy", "fmt", FOLDER / "Caddyfile") == (FOLDER / "Caddyfile").read_text()


def test_the_proxy_passes_on_what_the_server_answers_and_keeps_its_counts(serving):
    assert httpx.get(f"{serving.url}/health").json() == {"status": "ok"}
    assert "<title>" in httpx.get(serving.url).text
    assert httpx.get(f"{serving.url}/metrics").status_code == 404
    assert "palestra_moves_total" in httpx.get(f"{serving.direct}/metrics").text
    plain = httpx.get(f"http://localhost:{serving.http}/health")
    assert (plain.status_code, plain.headers["location"]) == (308, "https://localhost/health")
    refused = httpx.post(f"{serving.url}/matches", json={"env": "games/TicTacToe-v0"})
    assert refused.status_code == 401


def test_a_match_is_played_by_requests_and_by_a_socket(serving):
    client, seats = seats_of(serving, "games/TicTacToe-v0")
    http = httpx.Client(base_url=serving.url, headers=bearer(seats[0].token), timeout=60)
    for number, cell in enumerate((0, 1, 2)):
        assert http.get("/seat", params={"wait": 30}).json()["your_turn"]
        http.post("/seat/move", json={"action": cell, "number": number}).raise_for_status()
        if cell < 2:
            assert seats[1].turn(30).number == number
            seats[1].answer(3 + cell)
    assert seats[1].turn(30).status == "over"
    assert client.record(seats[1].token)["returns"] == [1.0, -1.0]
    for opened in (http, client, *seats):
        opened.close()


def test_a_long_wait_and_an_idle_socket_are_not_cut_off(serving):
    client, seats = seats_of(serving, "games/TicTacToe-v0")
    seats[1].look()
    before = seats[1]._socket
    longest = f"{serving.url}/seat?wait=60"  # that the server allows
    waited = httpx.get(longest, headers=bearer(seats[1].token), timeout=90)
    assert waited.status_code == 200
    assert not waited.json().get("your_turn")
    seats[0].turn(30)
    seats[0].answer(4)
    assert seats[1].turn(30).your_turn
    assert seats[1]._socket is before
    for opened in (client, *seats):
        opened.close()


def own_address():
    """An address of this machine other than loopback, from which a client's requests come."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))  # sends nothing
        except OSError:
            pytest.fail("this test needs an address of this machine other than 127.0.0.1")
        return probe.getsockname()[0]


def statuses(url, seat, **headers):
    """What one request hears while `MOST` others like it wait for a turn."""
    asked = {
        "headers": {"Host": "localhost", **bearer(seat.token), **headers},
        "extensions": {"sni_hostname": "localhost"},
    }
    with httpx.Client(timeout=60) as http, ThreadPoolExecutor(MOST) as threads:
        waits = [threads.submit(http.get, f"{url}/seat?wait=5", **asked) for _ in range(MOST)]
        time.sleep(2)
        found = http.get(f"{url}/health", **asked).status_code
        assert {wait.result().status_code for wait in waits} == {200}
    return found


def test_an_address_that_a_client_made_up_is_not_believed(serving):
    client, seats = seats_of(serving, "games/TicTacToe-v0")
    told = {"X-Forwarded-For": SPOOFED}
    assert statuses(serving.direct, seats[1], **told) == 429, "said by a proxy it counts"
    assert statuses(serving.url, seats[1], **told) == 200, "this machine's own are not counted"
    outside = f"https://{own_address()}:{serving.https}"
    assert statuses(outside, seats[1]) == 429
    assert statuses(outside, seats[1], **told) == 429
    for opened in (client, *seats):
        opened.close()


# a client whose server dies during the handshake leaves its socket to the garbage collector
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_server_and_a_database_that_are_killed_cost_no_move(site, database):
    problems = []

    def turn(seat):
        """The next view; while the database starts, the server says so."""
        try:
            return seat.turn(60)
        except ServerRefused as refused:
            if "the database cannot be used now" not in str(refused):
                raise
            time.sleep(0.2)
            return turn(seat)

    def play(seat):
        try:
            while turn(seat).status != "over":
                time.sleep(0.1)
                seat.answer(seat.view.number % 2)
        except Exception as error:
            problems.append(repr(error))

    with site.server() as first:
        site.ready()
        client, seats = seats_of(site, "games/MatrixGame-v0", options={"rounds": ROUNDS}, seed=4)
        threads = [threading.Thread(target=play, args=(seat,)) for seat in seats]
        for thread in threads:
            thread.start()
        time.sleep(1)
        os.killpg(first.pid, signal.SIGKILL)
        first.wait(30)
    with ThreadPoolExecutor(1) as waiting, httpx.Client(timeout=60) as http:
        asked = waiting.submit(http.get, f"{site.url}/health")
        time.sleep(1)
        with site.server():
            assert asked.result().status_code == 200, "the proxy waits for the next server"
            site.ready()
            time.sleep(1)
            database[0].stdin.write("again\n")
            database[0].stdin.flush()
            assert database[0].stdout.readline() == "started\n"
            for thread in threads:
                thread.join(120)
            assert problems == []
            record = client.record(seats[0].token)
    played = [[turn["action"] for turn in step["turns"]] for step in record["steps"]]
    assert played == [[turn % 2] * 2 for turn in range(ROUNDS)]
    assert record["mistakes"] == [0, 0]
    for opened in (client, *seats):
        opened.close()
