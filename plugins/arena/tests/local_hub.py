"""The parts of the Hugging Face hub's HTTP interface that its client uses, kept in memory.

Written after the client's own requests: repositories, commits of small files in base64 and of
large ones by Git LFS, trees, and files of a commit.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml

LARGE = (".pt", ".db")  # what a hub keeps by Git LFS


@dataclass
class Repository:
    private: bool
    files: dict[str, bytes] = field(default_factory=dict)
    commits: list[str] = field(default_factory=list)

    @property
    def sha(self) -> str:
        return hashlib.sha1(repr(sorted(self.files.items())).encode()).hexdigest()


class LocalHub(ThreadingHTTPServer):
    """A hub on loopback; `repositories` by kind and name, such as datasets/ada/chess."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.repositories: dict[str, Repository] = {}
        self.blobs: dict[str, bytes] = {}  # by SHA-256
        self.tokens: set[str] = set()
        self.requests: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LocalHub

    def log_message(self, format: str, *args: Any) -> None:
        """Tests read `requests` instead."""

    def send(self, body: bytes | dict[str, Any] | list[Any], code: int = 200, **more: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Type", "application/json")
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def read(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            data = b""
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return data
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def answer(self) -> None:
        body = self.read()
        path = unquote(urlsplit(self.path).path).strip("/")
        self.server.requests.append(f"{self.command} /{path}")
        self.server.tokens.add(self.headers.get("Authorization", ""))
        parts = path.split("/")
        if path == "api/validate-yaml":
            self.validate(json.loads(body)["content"])
        elif path == "api/repos/create":
            self.create(json.loads(body))
        elif path.endswith(".git/info/lfs/objects/batch"):
            self.batch(json.loads(body))
        elif parts[0] == "blob":
            self.server.blobs[parts[1]] = body
            self.send(b"")
        elif "resolve" in parts:
            self.resolve(parts)
        else:
            self.about_repository(parts[1:], body)

    do_GET = do_POST = do_PUT = do_HEAD = answer  # noqa: N815 - the base class's names

    def validate(self, card: str) -> None:
        """Read the card's front matter as YAML, as the hub does before a commit."""
        front = yaml.safe_load(card.split("---\n")[1])
        wrong = not isinstance(front, dict) or not isinstance(front.get("tags"), list)
        self.send({"errors": [{"message": "no front matter"}] if wrong else [], "warnings": []})

    def create(self, asked: dict[str, Any]) -> None:
        kind = f"{asked.get('type', 'model')}s"
        name = f"{kind}/{asked['organization']}/{asked['name']}"
        prefix = "" if kind == "models" else f"{kind}/"
        url = f"{self.server.url}/{prefix}{asked['organization']}/{asked['name']}"
        if name in self.server.repositories:
            self.send({"url": url, "error": "exists"}, 409)
            return
        private = asked.get("visibility") == "private" or bool(asked.get("private"))
        self.server.repositories[name] = Repository(private)
        self.send({"url": url})

    def batch(self, asked: dict[str, Any]) -> None:
        objects = [
            one
            | {
                "actions": {
                    "upload": {"href": f"{self.server.url}/blob/{one['oid']}", "header": {}}
                }
            }
            for one in asked["objects"]
        ]
        self.send({"transfer": "basic", "objects": objects})

    def resolve(self, parts: list[str]) -> None:
        where = parts.index("resolve")
        name = "/".join(parts[:where] if parts[0] == "datasets" else ["models", *parts[:where]])
        repository = self.server.repositories[name]
        data = repository.files["/".join(parts[where + 2 :])]
        etag = f'"{hashlib.sha256(data).hexdigest()}"'
        self.send(data, ETag=etag, X_Repo_Commit=repository.sha)

    def about_repository(self, parts: list[str], body: bytes) -> None:
        repository = self.server.repositories.get("/".join(parts[:3]))
        if repository is None:
            self.send({"error": "not found"}, 404, X_Error_Code="RepoNotFound")
            return
        what = parts[3] if len(parts) > 3 else "revision"
        if what == "preupload":
            files = json.loads(body)["files"]
            modes = [
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if file["path"].endswith(LARGE) else "regular",
                    "shouldIgnore": False,
                }
                for file in files
            ]
            self.send({"files": modes})
        elif what == "commit":
            self.commit(parts, repository, [json.loads(line) for line in body.splitlines()])
        elif what == "tree":
            entries = [
                {
                    "type": "file",
                    "path": path,
                    "size": len(data),
                    "oid": hashlib.sha1(data).hexdigest(),
                }
                for path, data in sorted(repository.files.items())
            ]
            self.send(entries)
        else:
            siblings = [{"rfilename": path} for path in sorted(repository.files)]
            self.send({"id": "/".join(parts[1:3]), "sha": repository.sha, "siblings": siblings})

    def commit(self, parts: list[str], repository: Repository, lines: list[dict[str, Any]]) -> None:
        for line in lines:
            value = line["value"]
            if line["key"] == "header":
                repository.commits.append(value["summary"])
            elif line["key"] == "file":
                repository.files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                repository.files[value["path"]] = self.server.blobs[value["oid"]]
            elif line["key"] == "deletedFile":
                del repository.files[value["path"]]
        name = "/".join(parts[parts[0] == "models" : 3])
        url = f"{self.server.url}/{name}/commit/{repository.sha}"
        self.send({"success": True, "commitUrl": url, "commitOid": repository.sha})
