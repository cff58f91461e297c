"""Each extra by itself, installed from the wheel: what needs it works with it, and says what to install without it."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from llmdo.services.doctor import examine
from tests.project.test_dist import build
from tests.support import postgres

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OF_CONTRIBUTORS = {"agentdojo", "bench", "delegationbench", "dev", "docs"}
EXTRAS = PROJECT["optional-dependencies"].keys() - OF_CONTRIBUTORS - {"all"}
UNREACHABLE = re.compile(r"(?i)network|resolve host|failed to connect|dns error|failed to fetch")
SECONDS = 40.0  # until a test gives up on a program
STORE = "postgresql://nobody@127.0.0.1:1/none"

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
model = "python:models.py:scripted"

[entries.go]
worker = "main"
input = "Go."
may = ["fs.read", "fs.list"]
"""
MODELS = """\
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel


async def answer(messages, info):
    return ModelResponse([TextPart("It is done.")])


async def stream(messages, info):
    yield "It is done."


scripted = FunctionModel(answer, stream_function=stream)
"""
EVALUATION = """\
schema: 1
entry: go
cases:
  - name: one
    input: Go.
    evaluators: {contains: done}
"""
SERVER = """
[toolsets.notes]
mcp = { command = "no-such-server", args = [] }
"""


@dataclass(frozen=True)
class Need:
    """A command and the extra that it needs."""

    extra: str
    words: tuple[str, ...]
    is_at_terminal: bool = False


NEEDS = [
    *(
        Need(provider, ("run", "go", "--model", f"{provider}:some-model"))
        for provider in ("openai", "anthropic", "google", "groq", "mistral")
    ),
    Need("mcp", ("serve", "mcp")),
    Need("mcp", ("serve", "mcp", "--http", "0")),
    Need("mcp", ("lock", "--project", "served")),
    Need("chat", ("chat", "go"), is_at_terminal=True),
    Need("otel", ("run", "go", "--trace-dir", "traces")),
    Need("fleet", ("run", "go", "--store", STORE)),
    Need("fleet", ("runs", "--store", STORE)),
    Need("fleet", ("store", "migrate", "--store", STORE)),
    Need("fleet", ("batch", "go", "--inputs", "llmdo.toml", "--fleet", STORE)),
    Need("fleet", ("worker", "--fleet", STORE)),
    Need("fleet", ("fleet", "status", STORE)),
    Need("web", ("page", "--no-open")),
    Need("web", ("run", "go", "--page")),
    Need("eval", ("eval", "good")),
    Need("lsp", ("lsp",)),
    Need("lsp", ("check", "--watch")),
]


def test_the_doctor_knows_every_extra() -> None:
    known = {item.name for item in examine(None, {}) if item.section == "extras"}
    assert known == EXTRAS


def test_every_extra_is_needed_by_a_command_and_all_of_them_are_one() -> None:
    assert {need.extra for need in NEEDS} == EXTRAS
    (whole,) = PROJECT["optional-dependencies"]["all"]
    assert set(whole.partition("[")[2].rstrip("]").split(",")) == EXTRAS


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("wheel"))[".whl"]


@pytest.fixture(scope="module", params=["", *sorted(EXTRAS)], ids=lambda extra: extra or "none")
def installed(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """An extra, and the `llmdo` of an environment that has the wheel with it and no other."""
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if uv is None:
        pytest.skip("there is no `uv` here")
    extra: str = request.param
    folder = tmp_path_factory.mktemp("environment") / (extra or "none")
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)], check=True)
    wanted = f"llmdo-workspace{f'[{extra}]' if extra else ''} @ {wheel.as_uri()}"
    words = [uv, "pip", "install", "--quiet", "--python", str(folder / "bin/python"), wanted]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode and UNREACHABLE.search(done.stderr):
        pytest.skip(f"what the extra needs cannot be had here: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return extra, folder / "bin/llmdo"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "w"
    for folder, manifest in ((root, MANIFEST), (root / "served", MANIFEST + SERVER)):
        (folder / "evals").mkdir(parents=True)
        (folder / "evals/good.yaml").write_text(EVALUATION, encoding="utf-8")
        (folder / "llmdo.toml").write_text(manifest, encoding="utf-8")
        (folder / "models.py").write_text(MODELS, encoding="utf-8")
        toolsets = "[filesystem]" if folder == root else "[filesystem, notes]"
        (folder / "main.worker").write_text(f"---\nname: main\ntoolsets: {toolsets}\n---\nGo.\n")
    return root


def environment() -> dict[str, str]:
    secret = re.compile(r".*_API_KEY|PYTHON.*|VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if not secret.fullmatch(name)}


def printed(llmdo: Path, words: Sequence[str], root: Path) -> tuple[int, str]:
    """The exit code and all that is printed."""
    done = subprocess.run(
        [str(llmdo), *words], cwd=root, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=SECONDS,
    )  # fmt: skip
    return done.returncode, done.stdout


def doctor(llmdo: Path, root: Path) -> str:
    return printed(llmdo, ["doctor"], root)[1]


def at_terminal(llmdo: Path, words: Sequence[str], root: Path, typed: str = "") -> tuple[int, str]:
    """The same at a terminal, where `typed` is typed as soon as something is shown."""
    ours, its = pty.openpty()
    with subprocess.Popen(
        [str(llmdo), *words],
        cwd=root,
        env=environment() | {"TERM": "xterm"},
        stdin=its,
        stdout=its,
        stderr=its,
    ) as program:
        os.close(its)
        shown = b""
        until = time.monotonic() + SECONDS
        while select.select([ours], [], [], 0.2)[0] or program.poll() is None:
            if time.monotonic() > until:
                program.kill()
                break
            if select.select([ours], [], [], 0)[0]:
                try:
                    shown += os.read(ours, 65_536)
                except OSError:  # the other side is closed
                    break
            if typed and b">" in shown:
                os.write(ours, typed.encode())
                typed = ""
    os.close(ours)
    return program.returncode, shown.decode()


@pytest.mark.long
@pytest.mark.timeout(600)
def test_what_lacks_its_extra_says_in_one_line_what_to_install(
    installed: tuple[str, Path], workspace: Path
) -> None:
    extra, llmdo = installed
    lacking = [
        name
        for name in EXTRAS
        if re.search(rf"^ +{name} +not installed", doctor(llmdo, workspace), re.MULTILINE)
    ]
    assert extra not in lacking
    assert extra or len(lacking) == len(EXTRAS)
    once = {need.extra: need for need in NEEDS}.values()
    for need in once if extra else NEEDS:
        if need.extra not in lacking:
            continue  # another extra may bring its library, as `mcp` brings what serves the page
        code, text = (at_terminal if need.is_at_terminal else printed)(llmdo, need.words, workspace)
        hint = f"pip install 'llmdo-workspace[{need.extra}]'"
        assert (code, "Traceback" in text) == (2, False), f"{need.words}\n{text}"
        assert [line for line in text.splitlines() if hint in line], f"{need.words}\n{text}"
        assert len([line for line in text.splitlines() if line.startswith("error: ")]) == 1, text


@pytest.mark.long
@pytest.mark.timeout(600)
def test_without_any_other_extra_what_needs_this_one_works(
    installed: tuple[str, Path], workspace: Path, request: pytest.FixtureRequest
) -> None:
    extra, llmdo = installed
    assert printed(llmdo, ["lock"], workspace)[0] == 0
    code, text = printed(llmdo, ["run", "go"], workspace)
    assert (code, "It is done." in text) == (0, True), text
    match extra:
        case "":
            assert printed(llmdo, ["check", "--locked", "--strict"], workspace) == (0, "no findings\n")
            assert printed(llmdo, ["page", "--export", "page.html"], workspace)[0] == 0
        case "openai" | "anthropic" | "google" | "groq" | "mistral":
            code, text = printed(llmdo, ["run", "go", "--model", f"{extra}:some-model"], workspace)
            assert code == 2
            assert re.search(r"needs the environment variable `\w+_API_KEY`, which is not set", text)
        case "mcp":
            assert begun(llmdo, ["serve", "mcp"], workspace)["serverInfo"]["name"] == "llmdo"
            assert "http://127.0.0.1:" in listening(llmdo, ["serve", "mcp", "--http", "0"], workspace)
            code, text = printed(llmdo, ["lock", "--project", "served"], workspace)
            assert (code, "no-such-server" in text, "Traceback" in text) == (2, True, False), text
        case "chat":
            code, text = at_terminal(llmdo, ["chat", "go"], workspace, "Hello\r\x04")
            assert (code, "It is done." in text) == (0, True), text
        case "otel":
            assert printed(llmdo, ["run", "go", "--trace-dir", "traces"], workspace)[0] == 0
            assert [*(workspace / "traces").iterdir()]
        case "fleet":
            if lacking := postgres.lacking():
                pytest.skip(lacking)
            over_database(llmdo, workspace, request.getfixturevalue("cluster").new_database())
        case "web":
            for words in (["page", "--no-open"], ["run", "go", "--page"]):
                address = listening(llmdo, words, workspace)
                assert "http://127.0.0.1:" in address
        case "eval":
            code, text = printed(llmdo, ["eval", "good"], workspace)
            assert (code, "100%" in text) == (0, True), text
        case "lsp":
            assert "capabilities" in begun(llmdo, ["lsp"], workspace)
            assert "no findings" in listening(llmdo, ["check", "--watch"], workspace)


def over_database(llmdo: Path, root: Path, store: str) -> None:
    assert printed(llmdo, ["store", "migrate", "--store", store], root)[0] == 0
    code, text = printed(llmdo, ["run", "go", "--store", store], root)
    assert (code, "It is done." in text) == (0, True), text
    code, text = printed(llmdo, ["runs", "--store", store], root)
    assert (code, "go" in text) == (0, True), text
    with subprocess.Popen(
        [str(llmdo), "worker", "--fleet", store], cwd=root, env=environment(), stderr=subprocess.DEVNULL
    ) as worker:
        try:
            words = ["batch", "go", "--inputs", "main.worker", "--fleet", store]
            code, text = printed(llmdo, words, root)  # it waits until a worker has taken all of it
            assert code == 0, text
            code, text = printed(llmdo, ["fleet", "status", store], root)
            assert code == 0, text
        finally:
            worker.send_signal(signal.SIGTERM)


def begun(llmdo: Path, words: Sequence[str], root: Path) -> dict[str, object]:
    """What a server over stdio answers to `initialize`."""
    client = {"name": "tests", "version": "1"}
    parameters = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters})
    sent = f"{body}\n" if "mcp" in words else f"Content-Length: {len(body)}\r\n\r\n{body}"
    with subprocess.Popen(
        [str(llmdo), *words], cwd=root, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write(sent.encode())
        server.stdin.flush()
        line = server.stdout.readline()
        if "mcp" not in words:
            size = int(line.partition(b":")[2])
            while server.stdout.readline().strip():
                pass
            line = server.stdout.read(size)
        server.stdin.close()
        server.kill()
    answer: dict[str, object] = json.loads(line)["result"]
    return answer


def listening(llmdo: Path, words: Sequence[str], root: Path) -> str:
    """What a program prints until it waits; a page that it names is asked for."""
    with subprocess.Popen(
        [str(llmdo), *words], cwd=root, env=environment() | {"BROWSER": "true"}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as program:  # fmt: skip
        assert program.stdout
        text = ""
        for line in program.stdout:
            text += line
            if address := re.search(r"http://[^\s#]+", line):
                if "page" in " ".join(words):
                    with urllib.request.urlopen(address[0]) as answer:
                        assert b"<html" in answer.read()
                break
            if "no findings" in line:
                break
        program.send_signal(signal.SIGINT)
        text += program.stdout.read()
    assert "Traceback" not in text
    return text
