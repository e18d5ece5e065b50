"""NeMo Gym's resources server, held against its messages here and its agent servers elsewhere."""

import base64
import json
import statistics
from functools import partial
from pathlib import Path

import httpx
import pytest
from clients import python_of, run
from in_process import last_legal, play_in_process, same, unseen
from palestra_server.app import create_app
from palestra_server.client import Server
from palestra_server.dialects.nemo_gym import NeMoGymDialect, aggregate_metrics
from palestra_server.server import MatchServer
from palestra_server.store import MatchStore
from recorded import Recorder, play_again, taped
from serving import record_of, running, serving

CLIENT = Path(__file__).parent / "nemo_gym_client.py"
TICTACTOE = {"env": "games/TicTacToe-v0", "seed": 3, "opponents": "first"}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("nemo_gym"), dialects=[NeMoGymDialect]) as running:
        yield running


@pytest.fixture
def http(served):
    with httpx.Client(base_url=served[0], timeout=60) as client:
        yield client


def said(text, name="resp_1", **more):
    """A model's response of one message."""
    message = {"type": "message", "content": [{"type": "output_text", "text": text}]}
    return {"response": {"id": name, "output": [message], **more}}


def called(*calls):
    items = [
        {"type": "function_call", "name": name, "arguments": arguments, "call_id": f"c{place}"}
        for place, (name, arguments) in enumerate(calls)
    ]
    return {"response": {"id": "calls", "output": items}}


def reset(http, path="/reset", **game):
    answer = http.post(path, json={"palestra": game or TICTACTOE, "agent_ref": {"name": "a"}})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_rollouts_of_its_agent_servers_are_answered_as_they_were(served):
    assert play_again("nemo_gym", served[0]) == taped("nemo_gym")


@pytest.mark.parametrize(
    ("env", "settings"),
    [
        ("games/ConnectFour-v0", {"seed": 712345678, "seat": 1}),
        ("games/Werewolf-v0", {"seed": 712345682, "seat": 5, "options": {"num_players": 7}}),
        ("grid/Kitchen-v0", {"seed": 712345681, "max_episode_steps": 6}),
    ],
)
def test_a_whole_match_is_the_same_match_in_process(served, http, env, settings):
    _, server = served
    told = reset(http, env=env, **settings)
    rewards, answers = [], [told]
    while not (told.get("terminated") or told.get("truncated")):
        text = last_legal(told["info"])
        told = http.post("/step", json=said(text, f"resp_{len(answers)}")).json()
        rewards.append(told["reward"])
        answers.append(told)
    record = record_of(server, told["info"]["match"])
    seat = settings.get("seat", 0)
    same(record, play_in_process(env, record, **settings))
    assert sum(rewards) == pytest.approx(record.returns[seat])
    assert told["truncated"] == ("max_episode_steps" in settings)
    assert str(record.seed) not in json.dumps(answers)
    assert not [text for text in unseen(record, seat) if text in json.dumps(answers)]


def test_a_match_that_ends_before_the_first_turn_pays_at_the_first_step(served, http):
    _, server = served
    early = {"seed": 3, "seat": 3, "options": {"num_players": 4}}  # called before its turn
    match = reset(http, env="games/LiarsDice-v0", **early)["info"]["match"]
    told = [http.post("/step", json=said("1", name)).json() for name in ("one", "one", "two")]
    record = record_of(server, match)
    assert 3 not in {turn.seat for turn in record.turns}
    assert [step["reward"] for step in told] == [record.returns[3], record.returns[3], 0.0]
    assert record.returns[3] != 0
    assert all(step["terminated"] for step in told)
    assert http.post("/verify", json={}).json()["reward"] == record.returns[3]


def test_a_step_that_comes_twice_is_answered_twice_and_played_once(served, http):
    _, server = served
    told = reset(http)
    steps = [said(move, f"resp_{move}") for move in "987"]
    answers = [[http.post("/step", json=step).json() for _ in range(3)] for step in steps]
    for one, *others in answers:
        assert others == [one, one]
    assert [one["reward"] for one, *_ in answers] == [0.0, 0.0, 1.0]
    record = record_of(server, told["info"]["match"])
    assert len([turn for turn in record.turns if turn.seat == 0]) == 3


def test_what_a_model_thought_and_took_is_on_record(served, http):
    _, server = served
    match = reset(http)["info"]["match"]
    step = said("8", model="m-1", usage={"input_tokens": 7, "output_tokens": 2})
    reason = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "a corner"}]}
    step["response"]["output"].insert(0, reason)
    http.post("/step", json=step)
    http.post("/verify", json={})
    turn = next(turn for turn in record_of(server, match).turns if turn.seat == 0)
    assert (turn.thought, turn.model, turn.raw) == ("a corner", "m-1", "8")
    assert (turn.usage.tokens_in, turn.usage.tokens_out) == (7, 2)


def test_an_illegal_answer_is_asked_again_under_the_policy(served, http):
    reset(http, **TICTACTOE, invalid="retry:1")
    told = http.post("/step", json=said("nonsense")).json()
    assert "nonsense" in told["info"]["error"]
    assert "refused" in told["observation"]
    assert not told["terminated"]
    told = http.post("/step", json=said("nonsense", "resp_2")).json()
    assert (told["terminated"], told["info"]["result"]) == (True, "forfeit")


def test_tools_in_a_step_are_played_in_their_order(served, http):
    reset(http)
    move, again = ("move", '{"text": "9"}'), ("move", '{"text": "8"}')
    told = http.post("/step", json=called(("legal", "{}"), move, ("dance", "{}"), again)).json()
    outputs = told["info"]["tool_outputs"]
    assert [output["call_id"] for output in outputs] == ["c0", "c1", "c2", "c3"]
    texts = [output["output"] for output in outputs]
    assert texts[0].split() == list("123456789")
    assert "player_1 plays 1" in texts[1]
    assert "no tool 'dance'" in texts[2]
    assert told["observation"] is None
    broken = [("move", "{"), ("move", '{"text": 5}'), ("look", '{"x": 1}')]
    told = http.post("/step", json=called(*broken)).json()
    assert all("cannot be read" in out["output"] for out in told["info"]["tool_outputs"])
    told = http.post("/step", json=called(("move", '{"text": "7"}'), move)).json()
    assert (told["reward"], told["terminated"]) == (1.0, True)
    assert "call reset" in told["info"]["tool_outputs"][1]["output"]


def test_tools_by_route_and_the_pay_at_the_end(served, http):
    _, server = served
    prefix = "/ng-rollout/4-2"
    match = reset(http, f"{prefix}/seed_session")["info"]["match"]
    assert http.post("/legal", json={}).text.split() == list("123456789")
    for number, move in enumerate("987"):
        answer = http.post(f"{prefix}/move", json={"text": move, "number": number})
    assert "Your result: win" in answer.text
    assert http.post("/move", json={"text": "1"}).status_code == 400
    body = {"responses_create_params": {"input": []}, "response": {"id": "x"}, "answer": 5}
    verified = http.post("/verify", json=body).json()
    assert verified == {**body, "reward": 1.0, "finished": True, "info": verified["info"]}
    assert verified["info"]["result"] == "win"
    assert http.post("/verify", json=body).json() == verified
    assert record_of(server, match).returns[0] == 1.0
    assert http.get("/reverify_mode").json() == "unsupported"


def test_who_stops_early_has_given_up(served, http):
    _, server = served
    match = reset(http, "/seed_session")["info"]["match"]
    verified = http.post("/verify", json={"response": {}}).json()
    record = record_of(server, match)
    assert record.outcome.results[0] == verified["info"]["result"] == "forfeit"
    assert (verified["reward"], verified["finished"]) == (record.returns[0], False)
    assert record.returns[0] < 0


def test_a_session_is_a_seat_of_a_match_with_others(served, http):
    url, server = served
    made = Server(url)
    match = made.create("games/KuhnPoker-v0", seed=4)
    mine, other = made.join(match, 0, name="ada"), made.join(match, 1, name="bob")
    told = reset(http, token=mine.token)
    assert told["info"]["match"] == match
    assert other.view.position not in json.dumps(told)
    assert mine.view.position in told["observation"]
    mine.close(), other.close(), made.close()


def test_one_session_opens_no_other(served, http):
    url, _ = served
    match = reset(http)["info"]["match"]
    with httpx.Client(base_url=url) as other:
        for path, body in (("/step", said("1")), ("/move", {"text": "1"}), ("/verify", {})):
            assert other.post(path, json=body).status_code == 401
            guess = {"Cookie": "palestra_nemo_gym=guess"}
            assert other.post(path, json=body, headers=guess).status_code == 401
        assert reset(other)["info"]["match"] != match
        assert other.cookies["palestra_nemo_gym"] != http.cookies["palestra_nemo_gym"]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/reset", b"{", 400),
        ("/reset", b"[" * 100_000, 413),
        ("/reset", b"{}", 400),
        ("/reset", b'{"palestra": {"env": "games/No-v0"}}', 404),
        ("/reset", b'{"palestra": {"colour": "red"}}', 400),
        ("/reset", b'{"palestra": {"token": "guess"}}', 401),
        ("/reset", b" " * 16_000_001, 413),
        ("/step", b"{}", 400),
        ("/step", b'{"response": {"output": 5}}', 400),
        ("/step", b'{"response": ' + b'{"a": ' * 100_000, 413),
        ("/move", b'{"text": 5}', 400),
        ("/move", b'{"text": "1", "number": 7}', 400),
        ("/move", b" " * 1_000_001, 413),
        ("/aggregate_metrics", b'{"verify_responses": 5}', 400),
        ("/aggregate_metrics", b'{"verify_responses": [{"_ng_task_index": []}]}', 400),
        ("/aggregate_metrics", b'{"verify_responses": [{"reward": 1' + b"0" * 400 + b"}]}", 400),
    ],
)
def test_what_cannot_be_read_is_refused_and_the_session_goes_on(served, http, path, body, status):
    reset(http)
    headers = {"Content-Type": "application/json"}
    answer = http.post(path, content=body, headers=headers)
    assert answer.status_code == status, answer.text
    assert http.post(path, content=body, headers={"Content-Type": "text/plain"}).status_code == 415
    foreign = {**headers, "Origin": "http://evil.example"}
    assert http.post(path, content=b"{}", headers=foreign).status_code == 403
    assert "player_1 plays 1" in http.post("/move", json={"text": "9"}).text


def test_a_match_takes_the_servers_token(tmp_path):
    def basic(password):
        return {"Authorization": "Basic " + base64.b64encode(f":{password}".encode()).decode()}

    with (
        serving(tmp_path, dialects=[partial(NeMoGymDialect, token="secret")]) as (url, server),
        httpx.Client(base_url=url, timeout=60) as http,
    ):
        wrong = [{}, basic("guess"), {"Authorization": "Basic ?"}, {"Authorization": "Bearer no"}]
        for headers in wrong:
            for path in ("/reset", "/seed_session"):
                answer = http.post(path, json={"palestra": TICTACTOE}, headers=headers)
                assert answer.status_code == 403
        for headers in (basic("secret"), {"Authorization": "Bearer secret"}):
            answer = http.post("/reset", json={"palestra": TICTACTOE}, headers=headers)
            assert answer.status_code == 200
        assert server.metrics.matches == 2


def test_metrics_are_those_of_each_task_and_of_all():
    rewards = {0: [1.0, -1.0, 0.5], 4: [2.0], 7: [0.0, 3.0]}
    rows = [
        {"_ng_task_index": task, "_ng_rollout_index": place, "reward": reward, "won": reward > 0}
        | {"response": {"usage": {"input_tokens": 5 + place}}, "info": {"x": 1}, "rare": 1}
        for task, paid in rewards.items()
        for place, reward in enumerate(paid)
    ]
    del rows[0]["rare"]
    found = aggregate_metrics(rows)
    everything = [reward for paid in rewards.values() for reward in paid]
    for metrics, paid in [
        (found["agent_metrics"], everything),
        *zip(found["group_level_metrics"], rewards.values(), strict=True),
    ]:
        assert metrics["mean/reward"] == pytest.approx(statistics.fmean(paid))
        assert metrics["median/reward"] == statistics.median(paid)
        assert (metrics["max/reward"], metrics["min/reward"]) == (max(paid), min(paid))
        spread = statistics.stdev(paid) if len(paid) > 1 else 0.0
        assert metrics["std/reward"] == pytest.approx(spread)
    assert [group["_ng_task_index"] for group in found["group_level_metrics"]] == [0, 4, 7]
    assert [group["num_rollouts"] for group in found["group_level_metrics"]] == [3, 1, 2]
    assert set(found["key_metrics"]) == {
        "mean/reward",
        "mean/won",
        "mean/rare",
        "mean/input_tokens",
    }
    assert aggregate_metrics([])["agent_metrics"] == {}


@pytest.mark.slow
@pytest.mark.exhaustive
def test_its_own_agent_servers_play(tmp_path):
    python = python_of("nemo_gym")
    server = MatchServer(MatchStore(f"sqlite:///{tmp_path}/matches.db"))
    recorder = Recorder(create_app(server, dialects=[NeMoGymDialect(server, "secret")]))
    with running(recorder) as url:
        place = (":secret@127.0.0.1", url.rpartition(":")[2])
        run(python, CLIENT, *place, "taped")
        assert recorder.tape == taped("nemo_gym")
        seen = json.loads(run(python, CLIENT, *place, "all").splitlines()[-1])
    for agent in ("by_turns", "by_tools"):
        for rollout in seen[agent]:
            info = rollout["info"]
            record = record_of(server, info["match"])
            assert record.agents[info["seat"]] == "remote:nemo-gym"
            assert rollout["reward"] == record.returns[info["seat"]]
            assert info["result"] == record.outcome.results[info["seat"]]
            assert record.mistakes[info["seat"]] == 0
    for turns, tools in zip(seen["by_turns"], seen["by_tools"], strict=True):
        assert turns["reward"] == tools["reward"]
    assert {rollout["reward"] for rollout in seen["by_turns"]} > {0.0}
    found, expected = seen["metrics"], seen["expected"]
    for name in ("agent_metrics", "key_metrics"):
        assert found[name] == pytest.approx(expected[name])
    for group, wanted in zip(
        found["group_level_metrics"], expected["group_level_metrics"], strict=True
    ):
        assert group == pytest.approx({name: wanted[name] for name in group})
        assert {name for name in wanted if "/" in name} <= set(group)
