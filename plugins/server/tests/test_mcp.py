"""The MCP dialect, held against the official SDK's own client over HTTP."""

import asyncio

import httpx
import pytest
from mcp import MCPError
from mcp_clients import mcp_call, mcp_client
from palestra.records.record import replay
from palestra_server.client import Server
from palestra_server.dialects.mcp import McpDialect
from palestra_server.messages import OPEN
from serving import serving


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("mcp"), dialects=[McpDialect]) as running:
        yield running


def test_a_client_with_a_session_plays_a_whole_match(served):
    url, server = served
    made = Server(url)
    match = made.create("games/ConnectFour-v0", [OPEN, "random"], seed=3)

    async def play():
        async with mcp_client(url, mode="legacy") as client:
            with pytest.raises(RuntimeError, match="no seat yet; join"):
                await mcp_call(client, "look")
            text, view = await mcp_call(client, "join", match=match, name="ada")
            assert view["rules"] in text
            rules = (await client.read_resource("palestra://rules")).contents[0].text
            assert rules == view["rules"]
            while view["status"] != "over":
                assert view["your_turn"]
                text, _ = await mcp_call(client, "legal")
                last = text.splitlines()[-1]
                text, view = await mcp_call(client, "move", text=last, number=view["number"])
            assert f"Your result: {view['result']}" in text
            return view

    view = asyncio.run(play())
    made.close()
    record = server.match(match).record()
    assert record.agents == ("remote:ada", "random")
    assert view["returns"] == record.returns[0]
    assert tuple(replay(record).returns) == record.returns
    assert record.mistakes == (0, 0)


def test_clients_without_sessions_name_their_seats_by_token_and_talk(served):
    url, server = served
    made = Server(url)
    match = made.create("text/Negotiation-v0", seed=5)
    line = "a 'fair'\nsplit"

    async def talk():
        async with mcp_client(url) as client:
            tokens = []
            for seat in (0, 1):
                text, view = await mcp_call(client, "join", match=match, seat=seat)
                assert view["token"] in text
                tokens.append(view["token"])
                rules, _ = await mcp_call(client, "rules", token=view["token"])
                assert rules == view["rules"]
            assert "say" in await names(client)
            with pytest.raises(MCPError, match="call a tool with your seat's token"):
                await client.read_resource("palestra://rules")
            due = 0 if (await mcp_call(client, "look", token=tokens[0]))[1]["your_turn"] else 1
        async with (
            mcp_client(url, tokens[due]) as speaker,
            mcp_client(url, tokens[1 - due]) as hearer,
        ):
            with pytest.raises(RuntimeError, match="everybody hears"):
                await mcp_call(speaker, "say", text="x", to="y")
            text, _ = await mcp_call(speaker, "say", text=line, wait=0)
            assert "not your turn" in text
            text, view = await mcp_call(hearer, "look", wait=20)
            assert view["your_turn"]
            assert "fair" in text
            text, view = await mcp_call(hearer, "move", text="nonsense")
            assert view["error"] in text
            assert (view["number"], view["your_turn"]) == (1, True)
            rules = (await hearer.read_resource("palestra://rules")).contents[0].text
        return due, rules

    due, rules = asyncio.run(talk())
    made.close()
    playing = server.match(match)
    assert rules == playing.game.rules_for(1 - due)
    (step,) = playing.episode.history()
    assert step.actions[due].text == line


async def names(client):
    return {tool.name for tool in (await client.list_tools()).tools}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_tools_that_are_listed_before_any_match_is_open_include_speech(tmp_path, mode):
    async def listed(url):
        async with mcp_client(url, mode=mode) as client:
            before = await names(client)
            made = Server(url)
            match = made.create("text/Negotiation-v0", [OPEN, "random"], seed=5)
            _, view = await mcp_call(client, "join", match=match)
            after = await names(client)
            said = "<think>I offer</think> half"
            await mcp_call(client, "say", text=said, wait=0, token=view["token"])
            made.close()
            return before, after, match, said

    with serving(tmp_path, dialects=[McpDialect]) as (url, server):
        before, after, match, said = asyncio.run(listed(url))
        step = next(iter(server.match(match).episode.history()))
        assert before == after == {"join", "rules", "look", "legal", "move", "say", "reclaim"}
        assert said in {getattr(action, "text", None) for action in step.actions.values()}


def test_speech_that_needs_further_words_is_no_tool(served):
    url, _ = served
    made = Server(url)
    seat = made.join(made.create("tasks/Counselling-v0", [OPEN], seed=1))

    async def listed():
        async with mcp_client(url, seat.token) as client:
            with pytest.raises(RuntimeError, match="use move"):
                await mcp_call(client, "say", text="hello")
            return await names(client)

    assert "say" not in asyncio.run(listed())
    seat.close(), made.close()


def test_a_game_without_speech_has_no_tool_for_it(served):
    url, _ = served
    made = Server(url)
    seat = made.join(made.create("games/TicTacToe-v0", [OPEN, "first"]))

    async def tools():
        async with mcp_client(url, seat.token) as client:
            listed = (await client.list_tools()).tools
            with pytest.raises(RuntimeError, match="nobody speaks"):
                await mcp_call(client, "say", text="hello")
            with pytest.raises(RuntimeError, match="Expected `str`, got `int`"):
                await mcp_call(client, "move", text=5)
            return {tool.name: tool.input_schema for tool in listed}

    listed = asyncio.run(tools())
    assert set(listed) == {"join", "rules", "look", "legal", "move", "reclaim"}
    assert listed["move"]["required"] == ["text"]
    seat.close(), made.close()


def test_a_seat_that_a_substitute_plays_is_taken_back(served):
    url, server = served
    made = Server(url)
    match = made.create("games/LiarsDice-v0", [OPEN, OPEN, "random"], seed=4, invalid="retry:1")

    async def leave_and_come_back():
        async with mcp_client(url) as client:
            seats = [(await mcp_call(client, "join", match=match))[1]["token"] for _ in "ab"]
            views = [(await mcp_call(client, "look", token=token))[1] for token in seats]
            due = next(seat for seat, view in enumerate(views) if view["your_turn"])
            with pytest.raises(RuntimeError, match="has not been left; play on"):
                await mcp_call(client, "reclaim", token=seats[due])
            for _ in "ab":
                text, view = await mcp_call(client, "move", token=seats[due], text="?", wait=0)
            assert view["away"] == "illegal"
            assert "reclaim it to play on" in text
            with pytest.raises(RuntimeError, match="the tool reclaim"):
                await mcp_call(client, "move", token=seats[due], text="?")
            _, view = await mcp_call(client, "reclaim", token=seats[due])
            assert view["away"] == ""
            return due

    due = asyncio.run(leave_and_come_back())
    assert not server.match(match).leaving.away
    assert [left.seat for left in server.match(match).leaving.departures] == [due]
    made.close()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_no_session_opens_another_seat(served, mode):
    url, _ = served
    made = Server(url)
    match = made.create("games/KuhnPoker-v0", seed=1)

    async def look():
        async with mcp_client(url, mode=mode) as one, mcp_client(url, mode=mode) as two:
            await mcp_call(one, "join", match=match, seat=0)
            with pytest.raises(RuntimeError, match="no seat yet"):
                await mcp_call(two, "look")
            with pytest.raises(RuntimeError, match="opens no seat"):
                await mcp_call(two, "look", token="guess")
            with pytest.raises(MCPError, match="no seat yet"):
                await two.read_resource("palestra://rules")
            with pytest.raises(RuntimeError, match=r"seat 0 .* is not free"):
                await mcp_call(two, "join", match=match, seat=0)

    asyncio.run(look())
    made.close()


def test_foreign_pages_and_huge_or_deep_bodies_are_refused(served):
    url, _ = served
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    for name in ("Host", "Origin"):
        foreign = {**headers, name: "http://evil.example" if name == "Origin" else "evil.example"}
        assert httpx.post(f"{url}/mcp", json=ping, headers=foreign).status_code == 403
    huge = httpx.post(f"{url}/mcp", content=b" " * 2_000_000, headers=headers)
    assert huge.status_code == 413
    deep = httpx.post(f"{url}/mcp", content=b"[" * 100_000, headers=headers)
    assert deep.status_code == 400
