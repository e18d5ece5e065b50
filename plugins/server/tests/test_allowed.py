"""What clients may name is the operator's list, in every protocol and everywhere in the code."""

import ast
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import palestra_server
import pytest
from palestra import InvalidOption, PalestraError, UnknownName, specs
from palestra.cli import main
from palestra_server import packaged
from palestra_server.allowed import AgentRule, Allowed, read_allowed
from palestra_server.client import Server
from palestra_server.dialects.nemo_gym import NeMoGymDialect
from palestra_server.dialects.openenv import OpenEnvDialect
from palestra_server.messages import OPEN, Create
from palestra_server.page import choices
from palestra_server.refused import RequestRefused
from serving import running, serving
from websockets.sync.client import connect

TTT, AGENTS_NET, FAST_CODE = "games/TicTacToe-v0", "games/AgentsNet-v0", "tasks/FastCode-v0"
SOURCE = Path(palestra_server.__file__).parent
THERE, NOT_THERE = "/etc/passwd", "/no/such/file"
COSTLY = (
    "mcts:simulations=201",
    "mcts:simulations=1000000000",
    "mcts:simulations=1e9",
    "mcts:simulations=nan",
    "mcts:simulations=inf",
    "mcts:simulations=9,simulations=900",
    "mcts:simulations=9,depth=9",
    "mcts:simulations=9,target=x",
    "mcts:playouts=1000000",
    "minimax:depth=40",
    "gatherer:restraint=5",
    "signaller:code=5",
)


class Listener:
    """An address of an attacker, and every Authorization header that comes to it."""

    def __init__(self):
        came = self.came = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                came.append(self.headers.get("Authorization"))
                self.send_error(400)

            def log_message(self, *_):
                pass

        self._http = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever)
        self._thread.start()

    def stop(self):
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def listener(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "the-operator's")
    started = Listener()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("allowed")
    with serving(folder, dialects=[OpenEnvDialect, NeMoGymDialect]) as (url, _):
        yield url


def by_matches(url, env, agent, options):
    body = {"env": env, "options": options, "seats": [agent, OPEN]}
    return httpx.post(f"{url}/matches", json=body).text


def by_opponents(url, env, agent, options):
    body = {"env": env, "options": options, "open": [0], "opponents": agent}
    return httpx.post(f"{url}/matches", json=body).text


def by_openenv(url, env, agent, options):
    body = {"env": env, "options": options, "opponents": agent}
    return httpx.post(f"{url}/openenv/reset", json=body).text


def by_openenv_socket(url, env, agent, options):
    with connect(f"{url.replace('http', 'ws')}/openenv/{env}/ws") as told:
        body = {"options": options, "opponents": agent}
        told.send(json.dumps({"type": "reset", "data": body}))
        return told.recv(60)


def by_nemo_gym(url, env, agent, options):
    body = {"palestra": {"env": env, "options": options, "opponents": agent}}
    return httpx.post(f"{url}/reset", json=body).text


def by_nemo_gym_tools(url, env, agent, options):
    body = {"palestra": {"env": env, "options": options, "opponents": agent}}
    return httpx.post(f"{url}/seed_session", json=body).text


WAYS = (
    *(by_matches, by_opponents, by_openenv, by_openenv_socket),
    *(by_nemo_gym, by_nemo_gym_tools),
)


@pytest.mark.parametrize("ask", WAYS)
def test_no_code_is_run_that_a_client_names(served, tmp_path, monkeypatch, ask):
    ran = tmp_path / "ran"
    (tmp_path / "evil_code.py").write_text(f"open({str(ran)!r}, 'w')\ndef f(turn): return 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for code in (f"{tmp_path}/evil_code.py:f", "evil_code.py:f", "evil_code:f", "evil_code:f:x=1"):
        for agent in (code, f"absent:{code}", f"palestra:{code}"):
            said = ask(served, TTT, agent, {})
            assert "may not seat" in said, said
    assert not ran.exists()


@pytest.mark.parametrize("ask", WAYS)
def test_no_key_goes_where_a_client_says(served, listener, ask):
    for agent in (
        f"llm:openai:x@{listener.url}",
        f"llm:openai:x@{listener.url},key=OPENAI_API_KEY",
        f"react:llm:openai:x@{listener.url}",
        f"absent:llm:openai:x@{listener.url}",
        f"probe:by=llm:openai:x@{listener.url}",
    ):
        assert "may not seat" in ask(served, TTT, agent, {})
    assert listener.came == []


@pytest.mark.parametrize("ask", WAYS)
def test_no_answer_tells_whether_a_file_exists(served, ask):
    for agent in ("ppo", "marl", "llm:local", "workflow", "multi-advisor"):
        told = [ask(served, TTT, f"{agent}:{path}", {}) for path in (THERE, NOT_THERE)]
        assert "may not seat" in told[0]
        assert told[0].replace(THERE, NOT_THERE) == told[1]
    for file in (__file__, f"{__file__}.py"):  # a module of the server's folder, and none
        assert "only the server's operator may name code" in ask(
            served, TTT, f"{file}:Listener", {}
        )
    for env, option in ((AGENTS_NET, "graph_file"), ("markets/Population-v0", "contacts")):
        told = [ask(served, env, "random", {option: path}) for path in (THERE, NOT_THERE)]
        assert "only the server's operator may" in told[0]
        assert told[0] == told[1]


@pytest.mark.parametrize("ask", WAYS)
def test_what_costs_much_or_runs_programs_is_refused(served, ask):
    assert "may not seat" in ask(served, TTT, "mcts:simulations=1000000000", {})
    assert "runs programs" in ask(served, FAST_CODE, "random", {})
    assert "runs programs" in ask(served, "web/ToolWorld-v0", "random", {"programs": True})
    for agent in ("random", "mcts:simulations=1"):
        assert "may not" not in ask(served, TTT, agent, {})


def test_mcp_opens_no_match(tmp_path):
    pytest.importorskip("mcp")
    import asyncio

    from mcp_clients import mcp_call, mcp_client
    from palestra_server.dialects.mcp import McpDialect

    async def ask(url):
        async with mcp_client(url) as client:
            for more in ({"env": TTT}, {"opponents": "ppo:/x"}, {"seats": ["random"]}):
                with pytest.raises(RuntimeError, match="unknown field"):
                    await mcp_call(client, "join", **more)
            with pytest.raises(RuntimeError, match="no public match"):
                await mcp_call(client, "join")

    with serving(tmp_path, dialects=[McpDialect]) as (url, _):
        asyncio.run(ask(url))


# The list itself


def refusal_of(allowed, env=TTT, agent="random", **more):
    with pytest.raises((RequestRefused, UnknownName)) as refused:
        allowed.check(Create(env, (agent, OPEN), **more))
    return str(refused.value)


@pytest.mark.parametrize("agent", COSTLY)
def test_options_without_bounds_are_refused(agent):
    env = {"gatherer": "grid/Harvest-v0", "signaller": "games/Referential-v0"}
    told = refusal_of(Allowed(), env.get(agent.partition(":")[0], TTT), agent)
    assert f"may not seat '{agent}'" in told
    assert "mcts:simulations<=200" in told
    assert "random" in told


@pytest.mark.parametrize(
    "agent", ["open", "human", "first", "scripted", "mcts", "mcts:simulations=200"]
)
def test_bounded_agents_are_accepted(agent):
    Allowed().check(Create(TTT, (agent, OPEN)))


def test_options_with_bounds_are_accepted():
    Allowed().check(Create("games/PrisonersDilemma-v0", ("strategy:name=grim", OPEN)))
    Allowed().check(Create("grid/Kitchen-v0", ("cook:restless=0.5", OPEN)))


def test_an_operator_opens_exactly_what_the_list_says():
    allowed = Allowed(
        agents=("llm:openai:gpt-5,temperature=0.5", "minimax:depth<=3,depth>=2", "cfr"),
        envs=("tasks/*",),
        options={AGENTS_NET: {"graph_file": ["ring.json"]}},
    )
    for agent in ("llm:openai:gpt-5,temperature=0.5", "minimax:depth=2", "minimax:depth=3", "cfr"):
        allowed.check(Create(TTT, (agent, OPEN)))
    allowed.check(Create(FAST_CODE, (OPEN,)))
    allowed.check(Create(AGENTS_NET, (OPEN,) * 4, options={"graph_file": "ring.json"}))
    for agent in (
        *("llm:openai:gpt-5", "llm:openai:gpt-5-mini,temperature=0.5", "cfr:iterations=9"),
        *("llm:openai:gpt-5@http://h,temperature=0.5", "llm:openai:gpt-5,temperature=true"),
        *("minimax:depth=4", "minimax:depth=1", "minimax:depth=2,tablebase=x"),
    ):
        assert "may not seat" in refusal_of(allowed, agent=agent)
    for value in ("ring.json/", ["ring.json"], True, THERE):
        assert "can name a file" in refusal_of(allowed, AGENTS_NET, options={"graph_file": value})


def test_only_what_is_packaged_is_played():
    told = refusal_of(Allowed(only=("games/Werewolf-v0",)), FAST_CODE)
    assert told == f"this server plays games/Werewolf-v0, not '{FAST_CODE}'"
    assert "plays games/Werewolf-v0" in refusal_of(
        Allowed(only=("games/Werewolf-v0",)), "no/Such-v0"
    )
    Allowed(only=("games/*",)).check(Create(TTT, (OPEN, OPEN)))


def test_the_operators_mistakes_are_named(tmp_path):
    file = tmp_path / "allow.toml"
    file.write_text('agents = ["cfr"]\nenvs = ["tasks/*"]\n')
    assert read_allowed(["mcts"], [], file) == Allowed(("cfr", "mcts"), ("tasks/*",))
    file.write_text("agent = []\n")
    with pytest.raises(InvalidOption, match=r"--allow .* unknown field `agent`"):
        read_allowed([], [], file)
    with pytest.raises(InvalidOption, match="limit 'many' of 'mcts:simulations<=many'"):
        read_allowed(["mcts:simulations<=many"], [])
    for code in ("mine.py:Agent", "./mine.py:Agent", "package.module:Agent"):
        with pytest.raises(InvalidOption, match=r"not code as in .*; seat it yourself"):
            read_allowed([code], [])
    with pytest.raises(UnknownName, match="did you mean 'mcts'"):
        read_allowed(["mtcs"], [])
    with pytest.raises(InvalidOption, match=r"not code.*palestra serve ENV --agents open,x\.py:f"):
        read_allowed(["x.py:f"], [])
    with pytest.raises(UnknownName, match="unknown environment 'tusks/"):
        read_allowed([], ["tusks/*"])


def test_the_command_line_takes_the_list(capsys):
    with pytest.raises(SystemExit):
        main(["serve", "--allow-agent", "mtcs", "--port", "0"])
    assert "did you mean 'mcts'" in capsys.readouterr().err


def test_the_page_offers_what_may_be_chosen():
    usual = choices(Allowed())
    agents = {agent["name"] for agent in usual["agents"]}
    assert {"random", "mcts"} <= agents
    assert not agents & {"llm", "ppo", "human", "minimax"}
    envs = {one["id"] for one in usual["environments"]}
    assert TTT in envs
    assert FAST_CODE not in envs
    more = choices(
        Allowed(agents=("minimax:depth<=2", "cfr"), only=(FAST_CODE,), envs=("tasks/*",))
    )
    assert {"minimax:depth=2", "cfr"} <= {agent["name"] for agent in more["agents"]}
    assert [one["id"] for one in more["environments"]] == [FAST_CODE]


def test_every_offered_agent_is_accepted():
    allowed = Allowed(agents=("mcts:simulations<=10", "minimax:depth<=2"))
    plays = {spec.id: spec for spec in specs()}
    for agent in choices(allowed)["agents"]:
        env = next(
            (env for env in plays if any(p in ("*", env) for p in agent["plays"])), FAST_CODE
        )
        if not plays[env].runs_programs:
            allowed.check(Create(env, (agent["name"],)))


def test_an_entry_is_read_back():
    rule = AgentRule.read("llm:openai:gpt-5,temperature<=1,mode=choice")
    assert (rule.name, rule.target) == ("llm", "openai:gpt-5")
    assert rule.fixed == {"mode": "choice"}
    assert rule.limits == (("temperature", "<=", 1.0),)
    assert rule.accepts("llm", {"temperature": 0.3, "mode": "choice"}, "openai:gpt-5")
    assert not rule.accepts("llm", {"temperature": 1.3, "mode": "choice"}, "openai:gpt-5")
    assert not rule.accepts("llm", {"temperature": 0.3}, "openai:gpt-5")


# Packages


@contextmanager
def package(folder, monkeypatch, hub, env=TTT, token=None, **settings):
    file = folder / "palestra.json"
    file.write_text(json.dumps({"env": env, "hub": hub, **settings}))
    monkeypatch.setenv("PALESTRA_STORE", f"sqlite:///{folder}/{hub}.db")
    packaged.server_token.cache_clear()
    with running(packaged.create(file, token)) as url:
        yield url
    packaged.server_token.cache_clear()


def opens(url, hub, token, env=None, opponents=None):
    """The status and text of opening a match of a package by its hub's protocol."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    wanted = {name: value for name, value in (("env", env), ("opponents", opponents)) if value}
    if hub == "nemo-gym":
        path, body = "/reset", {"palestra": wanted}
    elif hub == "openenv":
        path, body = "/reset", wanted
    else:
        path, body = "/matches", {"env": TTT, "open": [0], "opponents": "random", **wanted}
    answer = httpx.post(url + path, json=body, headers=headers, timeout=60)
    return answer.status_code, answer.text


HUBS = ("docker", "openenv", "nemo-gym", "verifiers")


@pytest.mark.parametrize("hub", HUBS)
def test_a_package_asks_for_a_token(tmp_path, monkeypatch, capsys, hub):
    monkeypatch.delenv("PALESTRA_SERVER_TOKEN", raising=False)
    monkeypatch.delenv("PALESTRA_NO_TOKEN", raising=False)
    with package(tmp_path, monkeypatch, hub) as url:
        printed = capsys.readouterr().err.split()
        token = printed[printed.index("token") + 1]
        assert opens(url, hub, "")[0] in (401, 403)
        assert opens(url, hub, "guess")[0] == 403
        assert opens(url, hub, token)[0] in (200, 201)
    monkeypatch.setenv("PALESTRA_SERVER_TOKEN", "mine")
    with package(tmp_path, monkeypatch, hub) as url:
        assert opens(url, hub, token)[0] == 403
        assert opens(url, hub, "mine")[0] in (200, 201)
    monkeypatch.delenv("PALESTRA_SERVER_TOKEN")
    monkeypatch.setenv("PALESTRA_NO_TOKEN", "1")
    with package(tmp_path, monkeypatch, hub) as url:
        assert opens(url, hub, "")[0] in (200, 201)


@pytest.mark.parametrize("hub", HUBS)
def test_a_package_plays_nothing_else(tmp_path, monkeypatch, listener, hub):
    with package(tmp_path, monkeypatch, hub, token="t", opponents="minimax:depth=2") as url:
        for env in (FAST_CODE, "games/ConnectFour-v0", "no/Such-v0"):
            status, text = opens(url, hub, "t", env)
            assert (status, f"this server plays {TTT}" in text) == (403, True)
        for agent in (f"llm:openai:x@{listener.url}", f"ppo:{THERE}", "minimax:depth=9"):
            assert "may not seat" in opens(url, hub, "t", opponents=agent)[1]
        for agent in (None, "minimax:depth=2", "random"):
            assert opens(url, hub, "t", opponents=agent)[0] in (200, 201)
    assert listener.came == []


@pytest.mark.parametrize("hub", ["openenv", "nemo-gym"])
def test_a_packages_own_options_may_name_files(tmp_path, monkeypatch, hub):
    nodes = [{"id": n, "name": f"a{n}"} for n in range(4)]
    links = [{"source": n, "target": (n + 1) % 4} for n in range(4)]
    graph = tmp_path / "ring.json"
    graph.write_text(json.dumps({"graph": {"nodes": nodes, "links": links}}))
    own = {"graph_file": str(graph), "num_players": 4}
    with package(tmp_path, monkeypatch, hub, AGENTS_NET, token="", options=own) as url:
        assert opens(url, hub, "")[0] == 200


def test_nemo_gyms_configuration_holds_the_token(tmp_path, monkeypatch):
    import sys
    from types import ModuleType

    config = ModuleType("nemo_gym.global_config")
    host = {"host": ":mine@127.0.0.1", "port": 7}
    config.get_global_config_dict = lambda: {"ttt": {"resources_servers": {"ttt": host}}}
    monkeypatch.setitem(sys.modules, "nemo_gym", ModuleType("nemo_gym"))
    monkeypatch.setitem(sys.modules, "nemo_gym.global_config", config)
    monkeypatch.setenv("NEMO_GYM_CONFIG_PATH", "ttt")
    served = []
    monkeypatch.setattr(packaged, "serve", lambda *given: served.append(given))
    packaged.serve_configured(tmp_path)
    host["host"] = "127.0.0.1"
    packaged.serve_configured(tmp_path)
    assert served == [(tmp_path, "127.0.0.1", 7, "mine"), (tmp_path, "127.0.0.1", 7, None)]


def test_a_match_of_the_command_line_is_free(tmp_path):
    first = Create(TTT, ("minimax:depth=2", OPEN))
    opened = []
    with serving(tmp_path, first=first, tell=opened.append) as (url, _):
        client = Server(url)
        seat = client.join(opened[0].match, invite=opened[0].invite)
        assert seat.turn().your_turn
        with pytest.raises(PalestraError, match="may not seat"):
            client.create(TTT, ["minimax:depth=2", OPEN])
        seat.close()
        client.close()


# Every place where a text could become an agent, a game, a file or an address

OPENERS = frozenset(
    {
        *("make_agent", "load_code", "open_model", "Match", "MatchPlan", "create_own"),
        *("open_game", "load_game", "load_entry_point", "import_module", "eval", "exec"),
        *("open", "read_text", "read_bytes", "Path", "exists", "is_file", "stat", "iterdir"),
        *("read_file", "read_toml"),
        *("FileResponse", "StaticFiles", "Popen", "AsyncClient", "Client", "urlopen"),
    }
)
CHECKED = "what Allowed.check let through, or the operator's own"
OPERATOR = "from the operator's command line, settings or folder"
PACKAGE = "a file of this package, or an installed class"
DATABASE = "another server, as the database has it"
PLACES = {
    ("allowed.py", "_check_options", "load_entry_point"): PACKAGE,
    ("allowed.py", "_are_bounded", "load_entry_point"): PACKAGE,
    ("allowed.py", "_default", "load_entry_point"): PACKAGE,
    ("allowed.py", "_check_options", "load_game"): "after its options were checked",
    ("allowed.py", "read_allowed", "read_toml"): OPERATOR,
    ("server.py", "create", "create_own"): CHECKED,
    ("plans.py", "plan_for", "MatchPlan"): CHECKED,
    ("plans.py", "plan_for", "open_game"): CHECKED,
    ("plans.py", "check_substitute", "make_agent"): CHECKED,
    ("server.py", "_begin", "Match"): CHECKED,
    ("memory.py", "_load", "Match"): "a plan of the journal",
    ("leaving.py", "_seat_substitute", "make_agent"): CHECKED,
    ("match.py", "__init__", "open_game"): CHECKED,
    ("match.py", "_agent", "make_agent"): CHECKED,
    ("app.py", "lifespan", "create_own"): OPERATOR,
    ("dialects/mcp_stdio.py", "open_match", "create_own"): OPERATOR,
    ("dialects/mcp_stdio.py", "_streams_of_the_process", "open"): "the process's own output",
    ("command.py", "serve_command", "Path"): OPERATOR,
    ("command.py", "serve_command", "open"): "the browser, at this server",
    ("command.py", "tell", "open"): "the browser, at this server",
    ("store.py", "prune", "exists"): "of rows of the database",
    ("packaged.py", "prepare", "open_game"): OPERATOR,
    ("packaged.py", "read_package", "read_file"): OPERATOR,
    ("packages.py", "package_command", "Path"): OPERATOR,
    ("packages.py", "write_package", "exists"): OPERATOR,
    ("packages.py", "write_package", "iterdir"): OPERATOR,
    ("packages.py", "_values", "load_game"): OPERATOR,
    ("packages.py", "_fill_template", "read_text"): PACKAGE,
    ("page.py", "_file", "read_bytes"): PACKAGE,
    ("page.py", "replay_page", "Path"): "a new folder",
    ("page.py", "replay_page", "read_bytes"): "a new folder",
    ("picture_process.py", "draw", "load_game"): "an id that the page lists, without options",
    ("tls.py", "tls_options", "is_file"): OPERATOR,
    ("viewing/command.py", "view_command", "Path"): OPERATOR,
    ("viewing/command.py", "view_command", "exists"): OPERATOR,
    ("viewing/command.py", "view_command", "open"): "the browser, at this server",
    ("viewing/folder.py", "read", "open"): OPERATOR,
    ("viewing/folder.py", "read_folder", "is_file"): OPERATOR,
    ("viewing/folder.py", "_lines", "open"): OPERATOR,
    ("dialects/calling.py", "__init__", "AsyncClient"): "the application itself",
    ("dialects/openai.py", "running", "AsyncClient"): OPERATOR,
    ("peers.py", "__init__", "AsyncClient"): DATABASE,
    ("client.py", "__init__", "Client"): "runs where the client is",
    ("watching/feed.py", "__init__", "Client"): "runs where the watched run is",
}


def calls(file):
    """The function and the name of every call in a file of the package."""
    stack = [(ast.parse(file.read_text("utf-8")), "")]
    while stack:
        node, inside = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = node.name
        if isinstance(node, ast.Call):
            yield inside, getattr(node.func, "attr", getattr(node.func, "id", "")), node
        stack += [(child, inside) for child in ast.iter_child_nodes(node)]


def test_every_place_that_opens_something_is_behind_the_list():
    """A new call goes through `MatchServer.create`, or says here why no client chooses its text."""
    found = {
        (file.relative_to(SOURCE).as_posix(), inside, name)
        for file in SOURCE.rglob("*.py")
        for inside, name, _ in calls(file)
        if name in OPENERS
    }
    assert found - PLACES.keys() == set()
    assert PLACES.keys() - found == set()


def test_clients_matches_are_checked_before_they_are_opened():
    (create,) = (
        node
        for node in ast.walk(ast.parse((SOURCE / "server.py").read_text("utf-8")))
        if isinstance(node, ast.AsyncFunctionDef) and node.name == "create"
    )
    said = [ast.unparse(statement) for statement in create.body]
    assert said[-2:] == [
        "await self._aside.creation.run(self.allowed.check, wanted)",
        "return await self.create_own(wanted)",
    ]
