"""Agents in processes of their own: they decide the same, and reach nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType

import msgspec
import numpy as np
import palestra
import pytest
from palestra import InvalidOption
from palestra.isolation.agent import IsolatedAgent, IsolatedAgentFailed
from palestra.isolation.system import unwalled_system

pytestmark = pytest.mark.skipif(bool(unwalled_system()), reason=unwalled_system() or "walled")

HOSTILE = '''
import asyncio, ctypes, json, os, resource, signal, socket, subprocess, sys, threading, time
import palestra
from palestra import Agent, Decision

CALL = ctypes.CDLL(None, use_errno=True).syscall
HEADER, DATA = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()


def first(turn):
    return turn.legal_actions[0]


def hang(turn):
    while True:
        pass


def sleep_with_masked_signals(turn):
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    for number in range(1, 32):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        time.sleep(1)


def leave(turn):
    os._exit(0)


def exit_politely(turn):
    sys.exit("enough")


def close_everything(turn):
    os.closerange(0, 200)
    return 0


def eat_memory(turn):
    eaten = []
    while True:
        eaten.append(bytearray(1 << 28))


def crash(turn):
    ctypes.string_at(0)


def write_nonsense(turn):
    for number in range(3, 200):
        try:
            os.write(number, b"nonsense" * 1000)
        except OSError:
            pass
    return 0


def wrong(turn):
    return {"move": 1}


def raises(turn):
    raise ValueError("I cannot")


def raises_in_a_library(turn):
    return json.loads("{")


async def hangs_in_one_game(turn):
    """Tells what it is told of its time, and how often it has been asked."""
    asked.append(turn)
    if len(asked) == 3:
        await asyncio.sleep(600)
    return Decision(turn.legal_actions[0], facts={"time": turn.move_seconds, "asked": len(asked)})


asked = []


def report(turn):
    """Everything that can be tried against the others, and what came of it, by the record."""
    came = {}

    def attempt(name, function):
        try:
            came[name] = repr(function())[:300]
        except BaseException as error:
            came[name] = f"refused: {type(error).__name__}"

    secret = SECRET
    attempt("read", lambda: open(secret).read())
    attempt("list", lambda: os.listdir(os.path.dirname(secret)))
    attempt("write", lambda: open(secret, "w").write("mine"))
    attempt("create", lambda: open("/tmp/made-by-an-agent", "w").write("x"))
    attempt("remove", lambda: os.remove(secret))
    attempt("chmod", lambda: os.chmod(secret, 0o777))
    attempt("link", lambda: os.symlink(secret, "/tmp/linked-by-an-agent"))
    attempt("home", lambda: os.listdir(HOME))
    attempt("processes", lambda: os.listdir("/proc"))
    attempt("fork", os.fork)
    attempt("spawn", lambda: subprocess.run(["/bin/true"]))
    attempt("exec", lambda: os.execv("/bin/true", ["true"]))
    attempt("kill the parent", lambda: os.kill(os.getppid(), 0))
    attempt("kill all", lambda: os.kill(-1, 0))
    attempt("kill the host", lambda: os.kill(PARENT, 0))
    attempt("thread kill", lambda: CALL(234, PARENT, PARENT, 0) and 1 / 0)
    attempt("ptrace", lambda: CALL(101, 16, PARENT, 0, 0) and 1 / 0)
    attempt("memory of the host", lambda: CALL(310, PARENT, 0, 0, 0, 0, 0) and 1 / 0)
    attempt("limits of the host", lambda: CALL(302, PARENT, 7, 0, 0) and 1 / 0)
    attempt("outlive the host", lambda: CALL(157, 1, 0, 0, 0, 0) and 1 / 0)
    attempt("internet", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    attempt("local sockets", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    attempt("namespaces", lambda: CALL(272, 0x10000000) and 1 / 0)
    attempt("clone", lambda: CALL(56, 17, 0, 0, 0, 0) and 1 / 0)
    attempt("io_uring", lambda: CALL(425, 8, 0) and 1 / 0)
    attempt("more memory", lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 45, 1 << 45)))
    attempt("capabilities", lambda: int(CALL(125, HEADER, DATA) == 0 and any(DATA)) or 1 / 0)
    attempt("key", lambda: os.environ["OPENAI_API_KEY"])
    attempt("seed", lambda: turn._episode.seed)
    attempt("model", lambda: palestra.open_model("openai:gpt-5"))
    ran = []
    thread = threading.Thread(target=lambda: ran.append(1))
    thread.start()
    thread.join()
    came["thread"] = repr(ran)
    return Decision(turn.legal_actions[0], facts={"came": came})


def send(turn, **answers):
    """Answer past the code that checks answers on this side, and do not come back."""
    import msgspec

    body = msgspec.json.encode({"type": "Answers", "decisions": [], "failures": []} | answers)
    turn._episode.process.channel.send(body)
    time.sleep(1000)


def forge_what_was_raised(turn):
    send(turn, raised="\\x1b[2J" + "1. mine\\n" * 100_000)


def forge_a_failure(turn):
    send(turn, decisions=[None], failures=["\\u202e" + "1. mine\\n" * 100_000])


def look_a_million_times(turn):
    move = {"action": int(turn.legal_actions[0])}
    send(turn, decisions=[move], failures=[""], used=["transcript"] * 900_000)


def ask_for_the_state(turn):
    from palestra.isolation.messages import Ask

    turn._episode.process.ask(Ask(turn._episode.turn, "_episode"))


class Counting(Agent):
    """Counts its turns of every episode, and remembers the returns that it was told of."""

    def __init__(self, start=0):
        self.start, self.turns, self.seeds = start, {}, []

    def reseed(self, seed):
        self.seeds.append(seed)

    def act(self, turns):
        decisions = []
        for turn in turns:
            kept = self.turns.setdefault(turn.episode_key, [])
            kept.append(turn)
            facts = {"turns": len(kept), "start": self.start, "seeds": list(self.seeds)}
            decisions.append(Decision(turn.legal_actions[0], facts=facts))
        return decisions

    def forget(self, key):
        last = self.turns.pop(key)[-1]
        if not last.result:
            raise ValueError(f"an episode that is over has a result, not {last.result!r}")
'''


MODULE = '''
from palestra import Decision, InvalidAction, Rng


def looker():
    """An agent that tells all that it sees."""

    def look(turn):
        rng = Rng(5)
        imagined = turn.fork(rng)
        seen = {
            "text": turn.text,
            "legal": str(turn.legal),
            "texts": turn.legal_text,
            "scene": repr(turn.scene),
            "events": [event.text for event in turn.transcript],
            "position": turn.position,
            "cursor": turn.cursor,
            "returns": turn.returns,
            "keys": [turn.state_key().hex(), turn.anchor().hex(), turn.start_key],
            "sample": repr(turn.sample(rng)),
            "drawn": rng.counter,
            "imagined": imagined.state_key(turn.seat).hex(),
            "own": turn.rng(1, 2).word(),
            "env": turn.env,
            "steps": turn.steps_played,
        }
        try:
            turn.parse("nothing of the kind")
        except InvalidAction as error:
            seen["why"] = str(error)
        return Decision(turn.sample(Rng(1)), facts=seen)

    return look


def scribbler():
    """An agent that writes into what it is given."""

    def scribble(turn):
        turn.mask[:] = 0
        return Decision(0, facts={"again": turn.mask.tolist()})

    return scribble
'''


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of a folder that also holds what no agent should read."""
    (tmp_path / "agents_of_a_test.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return import_module("agents_of_a_test")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    secret = tmp_path / "records" / "arena.db"
    secret.parent.mkdir()
    secret.write_text("the hands of all players")
    named = f"SECRET, HOME, PARENT = {str(secret)!r}, {str(Path.home())!r}, {os.getpid()}\n"
    file = tmp_path / "agents.py"
    file.write_text(textwrap.dedent(HOSTILE) + named)
    return file


def decided(records: list[palestra.EpisodeRecord]) -> bytes:
    """What a run of episodes decided, without the seconds that it took."""
    plain = msgspec.json.decode(msgspec.json.encode(records))

    def timeless(value: object) -> object:
        if isinstance(value, dict):
            return {k: timeless(v) for k, v in value.items() if k not in ("seconds", "agents")}
        return [timeless(one) for one in value] if isinstance(value, list) else value

    return msgspec.json.encode(timeless(plain))


SAME = [
    ("games/TicTacToe-v0", "random", {}),
    ("games/KuhnPoker-v0", "mcts:simulations=20", {}),
    ("games/LeducHoldem-v0", "random", {}),
    ("games/Avalon-v0", "random", {"num_players": 5}),
    ("games/BattleOfTheSexes-v0", "random", {}),
    ("text/Negotiation-v0", "random", {}),
    ("games/Werewolf-v0", "random", {"num_players": 5}),
    ("games/LiarsDice-v0", "first", {}),
    ("games/TicTacToe-v0", "llm:echo:anything", {}),
]


@pytest.mark.parametrize(("env", "agent", "options"), SAME, ids=lambda value: str(value))
def test_it_decides_as_in_the_same_process(env: str, agent: str, options: dict[str, int]) -> None:
    plain = palestra.play(env, agents=agent, episodes=4, seed=11, **options)
    apart = palestra.play(env, agents=agent, episodes=4, seed=11, isolate=True, **options)
    assert decided(apart) == decided(plain)


def test_it_reaches_nothing_but_its_turns(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    secret = hostile.parent / "records" / "arena.db"
    (record,) = palestra.play("games/TicTacToe-v0", agents=[f"{hostile}:report", "random"], seed=1)
    assert not record.error
    came = record.steps[0].turns[0].facts["came"]
    assert came.pop("thread") == "[1]"
    allowed = {name: what for name, what in came.items() if not what.startswith("refused")}
    assert not allowed
    assert secret.read_text() == "the hands of all players"
    assert not Path("/tmp/made-by-an-agent").exists()


def test_the_wall_holds_where_the_kernel_grants_no_namespaces(tmp_path: Path) -> None:
    secret = tmp_path / "arena.db"
    secret.write_text("the hands of all players")
    script = f"""
import os, resource, socket
from palestra.isolation import wall

wall.enter_namespaces = lambda library: False
assert wall.enclose(wall.readable_paths(), 4096) == (False, "")
ways = {{
    "read": lambda: open({str(secret)!r}).read(),
    "kill": lambda: os.kill(os.getppid(), 0),
    "fork": os.fork,
    "internet": socket.socket,
    "memory of the parent": lambda: open(f"/proc/{{os.getppid()}}/mem", "rb").read(1),
    "more memory": lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 45, 1 << 45)),
}}
for name, way in ways.items():
    try:
        print(name, repr(way()))
    except Exception as error:
        pass
print("done")
"""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", script]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ran.stdout == "done\n", ran.stderr


def test_a_model_is_opened_outside_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    known = palestra.open_model

    def opening(uri: str, **options: object) -> object:
        opened.append(uri)
        return known(uri, **options)

    monkeypatch.setattr("palestra.isolation.agent.open_model", opening)
    agent = IsolatedAgent("llm:echo:anything")
    agent._end()
    agent.reseed(1)  # it is started again
    agent.close()
    assert opened == ["echo:anything"]


ENDS = {
    "hang": "took more than 1 s",
    "sleep_with_masked_signals": "took more than 1 s",
    "leave": "ended",
    "exit_politely": "SystemExit",
    "close_everything": "ended",
    "eat_memory": "MemoryError",
    "crash": "ended",
    "write_nonsense": "ended",
    "raises": "ValueError: 'I cannot'",
    "wrong": r"returned \{'move': 1\} \(dict\); return the number of a move",
    "ask_for_the_state": "a turn has no '_episode'",
}


@pytest.mark.parametrize("name", ENDS)
def test_an_agent_that_breaks_off_has_failed_by_itself(hostile: Path, name: str) -> None:
    hangs = ENDS[name].startswith("took")
    agent = IsolatedAgent(f"{hostile}:{name}", seconds=1 if hangs else 60, memory=1024)
    episode = palestra.make("games/TicTacToe-v0", view="episode", seed=0)
    turn = palestra.Turn(episode, 0)
    try:
        with pytest.raises(palestra.PalestraError, match=ENDS[name]):
            agent.act([turn])
    finally:
        agent.close()
    assert palestra.play("games/TicTacToe-v0", agents="random")[0].outcome


@pytest.mark.parametrize("name", ["forge_what_was_raised", "forge_a_failure"])
def test_how_it_says_that_it_failed_is_a_short_line(hostile: Path, name: str) -> None:
    agent = IsolatedAgent(f"{hostile}:{name}")
    episode = palestra.make("games/TicTacToe-v0", view="episode", seed=0)
    with pytest.raises(palestra.PalestraError) as failed:
        agent.act([palestra.Turn(episode, 0)])
    agent._end()
    assert "1. mine" in str(failed.value)
    assert str(failed.value).isprintable()
    assert len(str(failed.value)) < 5000


def test_who_does_not_come_back_delays_nobody_more_than_by_a_move(hostile: Path) -> None:
    agent = IsolatedAgent(f"{hostile}:forge_a_failure", seconds=1)
    episode = palestra.make("games/TicTacToe-v0", view="episode", seed=0)
    with pytest.raises(palestra.PalestraError):
        agent.act([palestra.Turn(episode, 0)])
    with pytest.raises(IsolatedAgentFailed, match="drawing anew took more than 1 s"):
        agent.reseed(1)
    with pytest.raises(palestra.PalestraError):
        agent.act([palestra.Turn(episode, 0)])
    with pytest.raises(IsolatedAgentFailed, match="closing took more than 1 s"):
        agent.close()


def test_what_it_claims_to_have_looked_at_is_read_once(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = IsolatedAgent(f"{hostile}:look_a_million_times", seconds=1)
    episode = palestra.make("games/TicTacToe-v0", view="episode", seed=0)
    turn = palestra.Turn(episode, 0)
    agent.act([turn])
    read: list[str] = []
    value = IsolatedAgent._value

    def counted(self: IsolatedAgent, turn: palestra.Turn, name: str) -> object:
        read.append(name)
        return value(self, turn, name)

    monkeypatch.setattr(IsolatedAgent, "_value", counted)
    with pytest.raises(IsolatedAgentFailed, match="took more than 1 s"):
        agent.act([turn])
    assert read.count("transcript") == 1


def test_threads_are_limited_where_they_can_be(tmp_path: Path) -> None:
    script = tmp_path / "threads.py"
    script.write_text(
        textwrap.dedent("""
        import os, threading
        from palestra.isolation.wall import enclose

        if not os.getuid():  # root is held to no number of threads
            os.setuid(65534)
        separate, missing = enclose({}, 4096)
        threading.stack_size(65536)
        started, over = 0, threading.Event()
        try:
            for _ in range(1000):
                threading.Thread(target=over.wait, daemon=True).start()
                started += 1
        except RuntimeError:
            pass
        over.set()
        print(separate, missing or "nothing", started, flush=True)
        os._exit(0)
        """)
    )
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    separate, missing, started = ran.stdout.split()
    assert missing == "nothing"
    if separate == "False":
        pytest.skip("without namespaces of its own nobody counts its threads apart")
    assert 64 < int(started) < 512


def test_it_is_started_again_for_the_next_turn(hostile: Path) -> None:
    agent = IsolatedAgent(f"{hostile}:leave")
    episode = palestra.make("games/TicTacToe-v0", view="episode", seed=0)
    for _ in range(2):
        with pytest.raises(IsolatedAgentFailed, match="its process ended with code 0"):
            agent.act([palestra.Turn(episode, 0)])
    agent.close()


@pytest.mark.parametrize("live", [256, 2])  # with 2, an episode begins beside an older one
def test_it_keeps_what_it_remembers_by_episode(hostile: Path, live: int) -> None:
    agents = [f"{hostile}:Counting,start=7", "random"]
    records = palestra.play("games/TicTacToe-v0", agents=agents, episodes=9, seed=3, live=live)
    for record in records:
        assert not record.error
        facts = [turn.facts for step in record.steps for turn in step.turns if turn.seat == 0]
        assert [fact["turns"] for fact in facts] == list(range(1, len(facts) + 1))
        assert {fact["start"] for fact in facts} == {7}
        assert facts[0]["seeds"] == [3]


def test_what_it_looks_at_is_what_a_turn_shows(agents: ModuleType) -> None:
    episode = palestra.make("text/Negotiation-v0", view="episode", seed=4)
    turn = palestra.Turn(episode, episode.to_act[0])
    agent = IsolatedAgent(agents.looker)
    (decision,) = agent.act([turn])
    agent.close()
    assert decision.facts == agents.looker()(turn).facts


def test_one_late_coroutine_loses_alone_and_nothing_is_asked_twice(hostile: Path) -> None:
    records = palestra.play(
        "games/TicTacToe-v0",
        agents=[f"{hostile}:hangs_in_one_game", "first"],
        episodes=4,
        move_seconds=1.5,
    )
    found = [record.outcome.results for record in records if record.outcome]
    assert found == [("win", "loss"), ("win", "loss"), ("forfeit", "win"), ("win", "loss")]
    turns = [turn for record in records for turn in record.turns if turn.seat == 0 and turn.facts]
    assert len(turns) == 3 * 4
    assert {turn.facts["time"] for turn in turns} == {1.5}
    assert max(turn.facts["asked"] for turn in turns) == 3 * 4 + 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("wrong", r"agent '\S+:wrong' returned {'move': 1} .*, or a palestra.Decision"),
        ("raises", r"ValueError: 'I cannot' \(agents.py, line {}\)"),
        ("raises_in_a_library", r"JSONDecodeError: .* \(agents.py, line {}\)"),
    ],
)
def test_what_an_agent_did_wrong_is_said_whole_and_where(
    hostile: Path, name: str, said: str
) -> None:
    lines = hostile.read_text().splitlines()
    line = lines.index(f"def {name}(turn):") + 2
    with pytest.raises(IsolatedAgentFailed, match=f"^{said.replace('{}', str(line))}$"):
        palestra.play("games/TicTacToe-v0", agents=[f"{hostile}:{name}", "first"])


def test_bad_agents_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="there is no file"):
        IsolatedAgent(str(tmp_path / "none.py") + ":Mine")
    file = tmp_path / "some.py"
    file.write_text("x = 1\n")
    with pytest.raises(IsolatedAgentFailed, match=r"some.py has no .{1,2}Mine"):
        IsolatedAgent(f"{file}:Mine")
    with pytest.raises(InvalidOption, match="an isolated agent is a name"):
        IsolatedAgent(lambda turn: 0)
    with pytest.raises(palestra.UnknownName):
        IsolatedAgent("nobody")


def test_its_process_ends_with_the_one_that_plays(hostile: Path) -> None:
    script = (
        "import sys, time\n"
        "from palestra.isolation.agent import IsolatedAgent\n"
        f"agent = IsolatedAgent({str(hostile) + ':first'!r})\n"
        "print(agent._process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as host:
        assert host.stdout
        pid = int(host.stdout.readline())
        host.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    state = Path(f"/proc/{pid}/stat")
    assert not state.exists() or " Z " in state.read_text()


def test_observations_are_copies(agents: ModuleType) -> None:
    agent = IsolatedAgent(agents.scribbler)
    episode = palestra.make("games/TicTacToe-v0", view="episode", seed=0)
    before = np.array(episode.action_mask(0))
    (decision,) = agent.act([palestra.Turn(episode, 0)])
    agent.close()
    assert decision.facts["again"] == before.tolist()
    assert np.array_equal(episode.action_mask(0), before)
