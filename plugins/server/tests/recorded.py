"""What passes between a client and the server, kept in recorded/NAME.json and held against it."""

import json
import re
from pathlib import Path

import httpx
from websockets.sync.client import connect

FOLDER = Path(__file__).parent / "recorded"
NAME = re.compile(r'("match": ?)"[0-9a-f]{16}"')


class Recorder:
    """An application with a tape: every JSON message in order, as `[from whom, where, what]`."""

    def __init__(self, app):
        self.app, self.tape = app, []

    async def __call__(self, scope, receive, send):
        path, asked, reply = scope.get("path"), bytearray(), bytearray()

        async def receiving():
            message = await receive()
            if message["type"] == "websocket.receive":
                self.tape.append(["client", path, masked(message["text"])])
            if message["type"] == "http.request":
                asked.extend(message.get("body", b""))
                if asked and not message.get("more_body"):
                    self.tape.append(["client", path, masked(asked.decode())])
            return message

        async def sending(message):
            if message["type"] == "websocket.send":
                self.tape.append(["server", path, masked(message["text"])])
            if message["type"] == "http.response.body":
                reply.extend(message.get("body", b""))
                if not message.get("more_body"):
                    self.tape.append(["server", path, masked(reply.decode())])
            await send(message)

        await self.app(scope, receiving, sending)


def masked(text):
    """A message without the name of its match; JSON as an object, anything else as it is."""
    text = NAME.sub(r'\1"MATCH"', text)
    try:
        return json.loads(text)
    except ValueError:
        return text


def taped(name):
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def keep(name, tape):
    """Write a tape; what a test was given to compare with is rewritten with this alone."""
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in tape)
    (FOLDER / f"{name}.json").write_text(f"[\n{lines}\n]\n", "utf-8")


def play_again(name, url):
    """Send what the client of a tape sent; returns the tape of this time."""
    tape = taped(name)
    paths = {path for _, path, _ in tape}
    if all(path.endswith("/ws") for path in paths):
        return _by_socket(tape, url.replace("http", "ws") + paths.pop())
    again = []
    with httpx.Client(base_url=url, timeout=60) as client:
        for who, path, what in tape:
            if who == "client":
                reply = client.post(path, json=what)
                again += [["client", path, what], ["server", path, masked(reply.text)]]
    return again


def _by_socket(tape, address):
    again = []
    with connect(address, open_timeout=60, ping_interval=None) as socket:
        for who, path, what in tape:
            if who == "client":
                again.append(["client", path, what])
                socket.send(json.dumps(what))
            else:
                again.append(["server", path, masked(socket.recv(60))])
    return again
