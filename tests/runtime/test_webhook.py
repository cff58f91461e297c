"""Who is told how runs end: what is sent, to whom alone, and that no run waits for it or fails of it."""

from __future__ import annotations

import base64
import hmac
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from llmdo.graph.settings import Notify
from llmdo.runtime import RunOutcome, Usage, webhook
from tests.support import forking
from tests.support.commands import llmdo
from tests.support.locks import locked
from tests.support.waiting import until

USED = Usage(requests=1, tool_calls=0, input_tokens=None, output_tokens=None, cost_usd=None)
SECRET = "correct-horse-battery-staple"
MODELS = """\
import os
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

def answer(messages, info):
    words = str(messages[0].parts[-1].content)
    if words == "fail":
        raise ValueError("no such thing as " + os.environ["A_TOKEN"])
    returned = any(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)
    if words == "ask" and not returned:
        return ModelResponse(parts=[ToolCallPart("pay", {"sum": 7, "to": os.environ["A_TOKEN"]})])
    return ModelResponse(parts=[TextPart(f"the answer to {words} is " + os.environ["A_TOKEN"])])

rules = FunctionModel(answer)
"""
TOOLS = """\
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="tools")

@tools.tool_plain(metadata={"capabilities": ["x.tools.pay"]})
def pay(sum: int, to: str) -> str:
    return "paid"
"""
MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
model = "python:models.py:rules"

[entries.main]
worker = "main"

[toolsets.tools]
python = "tools.py:tools"

[notify]
url-env = "TEAM_HOOK"
secret-env = "TEAM_HOOK_SIGN"
"""


class Receiver(ThreadingHTTPServer):
    """A webhook that answers as it is told to, and keeps what it is sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.statuses: list[int] = []
        """Of the next answers; 200 once there are none left."""
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook/hard-to-guess"

    def wait_for(self, number: int) -> None:
        until(lambda: len(self.got) >= number)


class Answering(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, {name.lower(): text for name, text in self.headers.items()}, body))
        self.server.may_answer.wait()
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        self.send_response(status)
        self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST  # noqa: N815  # as the base class calls it

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    yield server
    server.may_answer.set()
    settle()
    server.shutdown()
    server.server_close()


@pytest.fixture
def root(tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {"llmdo.toml": MANIFEST, "models.py": MODELS, "tools.py": TOOLS}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "main.worker").write_text("---\nname: main\ntoolsets: [tools]\n---\nWork.\n")
    monkeypatch.setenv("TEAM_HOOK", receiver.url)
    monkeypatch.setenv("TEAM_HOOK_SIGN", SECRET)
    monkeypatch.setenv("A_TOKEN", "tok-hunter2hunter2")
    return locked(tmp_path)


def with_content(root: Path) -> None:
    manifest = root / "llmdo.toml"
    manifest.write_text(f"{manifest.read_text()}content = true\n")


def settle() -> None:
    """Returns when no message is under way any more."""
    for thread in threading.enumerate():
        if thread.name == "llmdo webhook":
            thread.join()


def tell(receiver: Receiver, run: str = "r") -> None:
    """Notifies the receiver of a completed run, with two quick attempts more."""
    outcome = RunOutcome(
        run=run, entry="main", status="completed", output="x", reached=None, error=None,
        usage=USED, usage_by_worker={}, denied=(),
    )  # fmt: skip
    environ = {"U": receiver.url, "S": SECRET}
    notify = Notify(url_env="U", secret_env="S")
    webhook.tell(
        notify, outcome, workspace="w", session=1, journal=None, environ=environ, pauses=(0.01, 0.02)
    )


def messages(receiver: Receiver) -> list[dict[str, Any]]:
    settle()
    return [json.loads(body) for _, _, body in receiver.got]


def test_who_is_told_of_a_run_is_told_ids_alone_and_can_tell_who_said_it(
    root: Path, receiver: Receiver
) -> None:
    before = time.time()
    assert llmdo(root, "run", "main", "life").returncode == 0
    [message] = messages(receiver)
    [(path, headers, body)] = receiver.got
    run = message["data"]["run"]
    assert message["type"] == "run.completed"
    assert message["data"] == {"run": run, "entry": "main", "workspace": "w", "status": "completed"}
    assert (path, headers["content-type"]) == ("/hook/hard-to-guess", "application/json")
    assert headers["webhook-id"] == f"{run}.completed.1"
    assert before - 1 <= int(headers["webhook-timestamp"]) <= time.time()
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    signature = base64.b64encode(hmac.digest(SECRET.encode(), signed, "sha256")).decode()
    assert headers["webhook-signature"] == f"v1,{signature}"


def test_a_run_that_waits_and_goes_on_and_one_that_fails_are_reported(root: Path, receiver: Receiver) -> None:
    assert llmdo(root, "run", "main", "ask", "--approvals", "later").returncode == 3
    assert llmdo(root, "resume", "last", "--approve-all").returncode == 0
    assert llmdo(root, "resume", "last").returncode == 0, "which is complete, and told of once"
    assert llmdo(root, "runs", "replay", "last").returncode == 0, "which is no run"
    assert llmdo(root, "run", "main", "fail").returncode == 1
    assert [message["type"] for message in messages(receiver)] == [
        "run.waiting",
        "run.completed",
        "run.failed",
    ]
    bodies = b"".join(body for _, _, body in receiver.got)
    assert not any(word in bodies for word in (b"hunter2", b"pay", b"answer", b"such"))
    assert len({headers["webhook-id"] for _, headers, _ in receiver.got}) == 3


def test_who_is_told_that_a_run_waits_is_told_where_it_is_answered(
    root: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert llmdo(root, "run", "main", "ask", "--approvals", "later").returncode == 3
    manifest = root / "llmdo.toml"
    manifest.write_text(f'{manifest.read_text()}page-env = "TEAM_PAGE"\n')
    assert llmdo(root, "lock").returncode == 0
    monkeypatch.setenv("TEAM_PAGE", "https://agents.acme.example/page/#token=x")
    assert llmdo(root, "run", "main", "ask", "--approvals", "later").returncode == 3
    monkeypatch.setenv("TEAM_PAGE", "http://agents.acme.example/")
    unusable = llmdo(root, "run", "main", "ask", "--approvals", "later")
    assert llmdo(root, "run", "main", "life").returncode == 0
    by_command, by_link, without, ended = (message["data"] for message in messages(receiver))
    assert by_command["command"] == f"llmdo approve {by_command['run']}"
    assert by_link["link"] == f"https://agents.acme.example/page/#/inbox/{by_link['run']}"
    assert "link" not in by_command
    assert "link" not in without
    assert without["command"] == f"llmdo approve {without['run']}"
    assert "the address in `TEAM_PAGE` does not begin with `https://`" in unusable.stderr
    assert not {"command", "link"} & ended.keys()


def test_content_is_sent_where_the_manifest_says_so_and_without_secrets(
    root: Path, receiver: Receiver
) -> None:
    with_content(root)
    assert llmdo(root, "run", "main", "life").returncode == 0
    assert llmdo(root, "run", "main", "ask", "--approvals", "later").returncode == 3
    assert llmdo(root, "run", "main", "fail").returncode == 1
    done, waiting, failed = (message["data"] for message in messages(receiver))
    assert done["output"] == "the answer to life is [redacted A_TOKEN]"
    assert "no such thing as [redacted A_TOKEN]" in failed["error"]
    [question] = waiting["questions"]
    assert (question["path"], question["tool"], question["arguments"]["sum"]) == ("main/pay#1", "pay", 7)
    assert b"hunter2" not in b"".join(body for _, _, body in receiver.got)


def test_the_item_of_a_run_is_sent_and_as_content_its_title(root: Path, receiver: Receiver) -> None:
    (root / "in.jsonl").write_text('{"id": "a", "text": "life\\nhunter2"}\n', encoding="utf-8")
    words = ("batch", "main", "--inputs", "in.jsonl", "--key", "id", "--input", "{id} of life")
    assert llmdo(root, *words).returncode == 0
    with_content(root)
    assert llmdo(root, *words).returncode == 0
    plain, whole = (message["data"] for message in messages(receiver))
    assert (plain["item"]["key"], whole["item"]["key"]) == ("a", "a")
    assert plain["item"]["batch"] != whole["item"]["batch"]
    assert ("title" in plain, whole["title"]) == (False, "a of life")


def test_the_variables_themselves_are_secrets_in_what_is_sent(
    root: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_content(root)
    monkeypatch.setenv("A_TOKEN", f"{receiver.url} {SECRET}"[-40:])
    assert llmdo(root, "run", "main", f"{receiver.url} and {SECRET}").returncode == 0
    [message] = messages(receiver)
    assert "[redacted TEAM_HOOK]" in message["data"]["output"]
    assert SECRET not in str(message)
    assert "hard-to-guess" not in str(message)


def test_a_message_that_is_too_large_goes_without_content(root: Path, receiver: Receiver) -> None:
    with_content(root)
    assert llmdo(root, "run", "main", "x" * webhook.LARGEST).returncode == 0
    [message] = messages(receiver)
    assert (message["data"]["too_large"], "output" in message["data"]) == (True, False)


def test_a_message_is_sent_again_as_the_same_one(receiver: Receiver) -> None:
    receiver.statuses = [500, 429]
    tell(receiver)
    settle()
    assert len(receiver.got) == 3
    assert len({headers["webhook-id"] for _, headers, _ in receiver.got}) == 1
    assert len({body for _, _, body in receiver.got}) == 1


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("statuses", "attempts", "why"),
    [
        ([500, 503, 500], 3, "it answered 500"),
        ([302], 1, "it answered 302"),
        ([307], 1, "it answered 307"),
        ([410], 1, "it answered 410"),
    ],
)
def test_what_is_refused_is_given_up_with_a_line(
    receiver: Receiver,
    capsys: pytest.CaptureFixture[str],
    statuses: list[int],
    attempts: int,
    why: str,
) -> None:
    receiver.statuses = [*statuses]
    tell(receiver)
    settle()
    lines = capsys.readouterr().err
    assert lines == f"warning: the webhook was not notified of run r: {why}\n"
    assert [path for path, _, _ in receiver.got] == ["/hook/hard-to-guess"] * attempts, "nobody is redirected"
    assert not any(word in lines for word in (SECRET, "hard-to-guess", str(receiver.server_port)))


def test_a_run_whose_webhook_refuses_is_complete(
    root: Path, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    receiver.statuses = [410]
    run = llmdo(root, "run", "main", "life")
    settle()
    assert (run.returncode, "the answer" in run.stdout) == (0, True)
    assert "it answered 410" in run.stderr + capsys.readouterr().err


def test_a_run_does_not_wait_for_who_is_told_of_it(root: Path, receiver: Receiver) -> None:
    receiver.may_answer.clear()
    run = llmdo(root, "run", "main", "life")
    assert (run.returncode, run.stdout) == (0, "the answer to life is tok-hunter2hunter2\n")
    receiver.wait_for(1)
    assert "webhook" not in run.stderr


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("TEAM_HOOK", "", "`TEAM_HOOK` is not set"),
        ("TEAM_HOOK", "file:///etc/passwd", "`TEAM_HOOK` holds no address"),
        ("TEAM_HOOK", "ftp://files.example/in", "does not begin with `https://`"),
        ("TEAM_HOOK", "http://hooks.example/in", "does not begin with `https://`"),
        ("TEAM_HOOK", "http://127.0.0.1.evil.example/in", "does not begin with `https://`"),
        ("TEAM_HOOK", "https://me:hunter2@hooks.example/in", "holds a user name"),
        ("TEAM_HOOK", "https://hooks.example/in\r\nX-Other: hunter2", "`TEAM_HOOK` holds no address"),
        ("TEAM_HOOK", "https://hooks.example:port/hunter2", "`TEAM_HOOK` holds no address"),
        ("TEAM_HOOK", "hunter2", "`TEAM_HOOK` holds no address"),
        ("TEAM_HOOK_SIGN", "", "`TEAM_HOOK_SIGN` is not set"),
        ("TEAM_HOOK_SIGN", "hunter2", "has fewer than 16 characters"),
        ("TEAM_HOOK_SIGN", "whsec_not-base64!hunter2", "is not base64"),
    ],
)
def test_what_the_variables_hold_is_judged_and_not_repeated(
    root: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, name: str, value: str, why: str
) -> None:
    monkeypatch.setenv(name, value)
    run = llmdo(root, "run", "main", "life")
    [line] = [line for line in run.stderr.splitlines() if "webhook" in line]
    assert (run.returncode, why in line) == (0, True), line
    assert "hunter2" not in line.replace("tok-hunter2hunter2", "")
    assert not messages(receiver)


def test_a_secret_of_the_standard_form_signs_as_its_libraries_verify(receiver: Receiver) -> None:
    key = bytes(range(24))
    environ = {"U": receiver.url, "S": "whsec_" + base64.b64encode(key).decode()}
    endpoint = webhook.Receiver.of(Notify(url_env="U", secret_env="S"), environ)
    message = webhook.Message("msg_p5jXN8AQM9LWM0D4loKWxJek", "r", b'{"test": 2432232314}')
    headers = webhook.signed(base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), message, 1614265330)
    assert endpoint.secret == key
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.long
def test_a_process_ends_once_its_message_has_arrived(root: Path, receiver: Receiver) -> None:
    receiver.may_answer.clear()
    words = [sys.executable, "-m", "llmdo", "run", "main", "life"]
    child = forking.Popen(
        words, cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=-1, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "the answer to life is tok-hunter2hunter2\n"
    receiver.statuses = [500]
    receiver.may_answer.set()
    _, lines = child.communicate()
    assert (child.returncode, "webhook" in lines) == (0, False), lines
    assert len(receiver.got) == 2, "it waits for the second attempt as well"
    content = b"".join(
        path.read_bytes() for path in root.rglob("*") if path.is_file() and path.suffix != ".pyc"
    )
    assert not any(word.encode() in content for word in (SECRET, "hard-to-guess"))


@pytest.mark.long
def test_each_item_of_a_batch_is_reported(root: Path, receiver: Receiver) -> None:
    (root / "in.jsonl").write_text('{"key": "a", "input": "x"}\n{"key": "b", "input": "fail"}\n')
    ended = llmdo(root, "batch", "main", "--inputs", "in.jsonl", "--key", "key", "--input", "{input}")
    assert ended.returncode == 1, ended.stderr
    assert sorted(message["type"] for message in messages(receiver)) == ["run.completed", "run.failed"]


@pytest.mark.long
def test_who_is_told_is_reviewed_and_what_runs_go_on_is_not_bound_to_it(
    root: Path, receiver: Receiver
) -> None:
    assert llmdo(root, "run", "main", "ask", "--approvals", "later").returncode == 3
    with_content(root)
    stale = llmdo(root, "lock", "--check")
    assert (stale.returncode, "`[notify]`: `content` is now `true`" in stale.stdout + stale.stderr) == (
        1,
        True,
    )
    assert llmdo(root, "resume", "last", "--approve-all").returncode == 0, "what runs is what ran"
    assert "output" in messages(receiver)[-1]["data"], "who is told what is up to the manifest of today"


def test_a_table_that_names_no_variable_is_a_finding(root: Path) -> None:
    manifest = root / "llmdo.toml"
    manifest.write_text(manifest.read_text().replace('"TEAM_HOOK"', '"https://hooks.example/in"'))
    checked = llmdo(root, "check")
    assert (checked.returncode, "LDO103" in checked.stdout) == (1, True)
    assert "the name of an environment variable" in checked.stdout
    manifest.write_text(manifest.read_text().replace("secret-env", "secret"))
    assert "LDO102" in llmdo(root, "check").stdout


@pytest.mark.long
def test_too_many_messages_under_way_are_given_up(
    receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    receiver.may_answer.clear()
    for number in range(webhook.MOST):
        tell(receiver, f"r{number}")
    assert not capsys.readouterr().err
    tell(receiver, "last")
    assert capsys.readouterr().err.endswith(f"run last: {webhook.MOST} messages wait for an answer already\n")
