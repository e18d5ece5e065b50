"""Rules that raise once, at each of their calls in turn, on a match server.

A request meets the fault and says so in one line, or the match ends in an error with its
traceback; other matches are played and recorded as if nothing had happened.
"""

import httpx
import msgspec
from faulty_rules import TALK, break_rules
from palestra import EpisodeRecord
from palestra.records.record import replay
from serving import serving

PLAN = {"env": TALK, "seats": ["open", "first"], "seed": 3, "max_episode_steps": 2}


class Client:
    """Asks a server over HTTP; keeps its failures, and sends what failed once more."""

    def __init__(self, url):
        self.http = httpx.Client(base_url=url, timeout=60)
        self.failures = []

    def ask(self, method, path, body=None, token=""):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        for _ in range(2):
            reply = self.http.request(method, path, json=body, headers=headers)
            if reply.status_code < 500:
                return reply
            self.failures.append(reply.json()["error"])
        raise AssertionError(f"{method} {path} fails again: {reply.text}")

    def play(self):
        """The name of a match played to its end, and the token of its open seat."""
        match = self.ask("POST", "/matches", PLAN).json()["match"]
        joined = self.ask("POST", f"/matches/{match}/join", {"seat": 0})
        if joined.status_code >= 400:  # the seat was taken when the first request failed
            return match, ""
        token = joined.json()["token"]
        for _ in range(8):
            view = self.ask("GET", "/seat?show=scene,legal_texts,observation", token=token).json()
            if view["status"] == "over":
                break
            if view.get("your_turn"):
                move = {"text": "Say(text='so')", "number": view.get("number", 0)}
                self.ask("POST", "/seat/move", move, token)
        return match, token

    def record(self, match, token):
        reply = self.ask("GET", "/seat/record", token=token)
        return msgspec.json.decode(reply.content, type=EpisodeRecord)


def test_a_fault_at_any_call_costs_a_server_at_most_its_match(tmp_path, monkeypatch):
    fault = break_rules(TALK, monkeypatch)
    with serving(tmp_path) as (url, server):
        client = Client(url)
        whole = client.record(*client.play())
        fault.arm(0)
        kept = client.play()
        calls = fault.calls
        assert calls > 20
        outcomes = set()
        for at in range(1, calls + 1):
            fault.arm(at)
            client.failures.clear()
            match, token = client.play()
            met, name = fault.calls >= at, fault.name
            fault.arm(0)
            assert all(f.isprintable() and len(f) < 500 for f in client.failures)
            if token:
                view = client.ask("GET", "/seat", token=token).json()
                assert view["status"] == "over", (at, name, view)
                record = client.record(match, token)
                if record.error:
                    assert "Traceback" in record.error
                    assert f"in {name}" in record.error
                    assert "forfeit" not in (record.outcome.results if record.outcome else ())
                else:
                    assert record.outcome == whole.outcome, (at, name)
                    assert sum(record.mistakes) <= 1
                outcomes.add("error" if record.error else "played")
            assert met or not client.failures
            outcomes.add("refused" if client.failures else "answered")
        assert outcomes == {"error", "played", "refused", "answered"}
        assert tuple(replay(client.record(*kept)).returns) == whole.returns
        assert client.record(*client.play()).steps[0].turns[0].action == (
            whole.steps[0].turns[0].action
        )
        client.http.close()
