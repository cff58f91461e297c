"""A GitHub on 127.0.0.1: it lists and hands out the files of local repositories, as the two hosts of GitHub do."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

COMMIT = re.compile(r"/api/repos/([^/]+/[^/]+)/commits/(.+)")
TREE = re.compile(r"/api/repos/([^/]+/[^/]+)/git/trees/([0-9a-f]{40})")
COMPARE = re.compile(r"/api/repos/([^/]+/[^/]+)/compare/(.+)\.\.\.(.+)")
RAW = re.compile(r"/raw/([^/]+/[^/]+)/([0-9a-f]{40})/(.+)")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)
    return done.stdout.decode()


@dataclass
class GitHub:
    """Its repositories by name, its answers instead of those of git, and the addresses asked of it."""

    repositories: dict[str, Path] = field(default_factory=dict)
    trees: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Listings that no local repository could have."""
    texts: dict[str, bytes] = field(default_factory=dict)
    """Contents by path, of any repository."""
    is_exhausted: bool = False
    asked: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, path: str, headers: dict[str, str]) -> tuple[int, bytes, dict[str, str]]:
        self.asked.append(path)
        if path.startswith("/api/") and self.is_exhausted:
            return 403, b"{}", {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1800000000"}
        for pattern, function in (
            (COMMIT, self._commit),
            (TREE, self._tree),
            (COMPARE, self._compare),
            (RAW, self._raw),
        ):
            if match := pattern.fullmatch(path):
                try:
                    return 200, function(*map(unquote, match.groups())), {}
                except (KeyError, subprocess.CalledProcessError):
                    return 404, b"{}", {}
        return 404, b"{}", {}

    def _commit(self, name: str, ref: str) -> bytes:
        return git(self.repositories[name], "rev-parse", "--verify", f"{ref}^{{commit}}").encode()

    def _tree(self, name: str, sha: str) -> bytes:
        if name in self.trees:
            return json.dumps(self.trees[name]).encode()
        listed = git(self.repositories[name], "ls-tree", "-r", "-t", "-l", "-z", sha)
        tree = []
        for line in filter(None, listed.split("\0")):
            facts, path = line.split("\t", 1)
            mode, kind, _, size = facts.split()
            entry: dict[str, Any] = {"path": path, "mode": mode, "type": kind}
            tree.append(entry if size == "-" else {**entry, "size": int(size)})
        return json.dumps({"tree": tree, "truncated": False}).encode()

    def _compare(self, name: str, base: str, head: str) -> bytes:
        start = git(self.repositories[name], "merge-base", base, head).strip()
        return json.dumps({"merge_base_commit": {"sha": start}}).encode()

    def _raw(self, name: str, sha: str, path: str) -> bytes:
        if path in self.texts:
            return self.texts[path]
        done = subprocess.run(
            ["git", "-C", str(self.repositories[name]), "cat-file", "blob", f"{sha}:{path}"],
            check=True,
            capture_output=True,
        )
        return done.stdout


class Handler(SimpleHTTPRequestHandler):
    """The files of the playground, and the GitHub beside them, at the same port."""

    protocol_version = "HTTP/1.1"
    extensions_map: ClassVar[dict[str, str]] = {
        **SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def __init__(self, github: GitHub, *arguments: Any, **options: Any) -> None:
        self.github = github
        super().__init__(*arguments, **options)

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if not address.path.startswith(("/api/", "/raw/")):
            return super().do_GET()
        status, body, headers = self.github.answer(address.path, dict(self.headers))
        self.send_response(status)
        shown = {
            "Access-Control-Allow-Origin": "*",
            "Access-Control-Expose-Headers": "x-ratelimit-reset",
            **headers,
        }
        for name, value in {**shown, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        return None

    def log_message(self, *arguments: Any) -> None:
        pass


@contextmanager
def served(folder: Path, github: GitHub) -> Iterator[str]:
    """The address of a folder, with the GitHub at the same port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, github, directory=str(folder)))
    server.daemon_threads = True
    github.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield github.base
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
