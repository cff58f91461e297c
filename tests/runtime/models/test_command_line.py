"""`llmdo run` as a child process, with the providers' own clients, against the scripted test server: not a model."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import forking
from tests.support.provider import Answer, Fail, Say, Server

from .test_clients import ANTHROPIC, RESPONSES

MANIFEST = """\
schema = 1

[workspace]
name = "desk"
workers = ["*.worker"]
model = "{model}"

[approvals.rules]
"fs.write:out/**" = "allowed"

[entries.desk]
worker = "main"
input = "Summarize note.txt."
"""

MAIN = """\
---
name: main
toolsets:
  filesystem: { write: ["out/**"] }
  helper: {}
---
You are main.
"""

HELPER = """\
---
name: helper
description: Reads a file.
compatible_models: ["openai*", "anthropic:*"]
model_settings: { max_tokens: 500, max_retries: 1 }
attachments: { max: 1 }
---
You are helper.
"""

HANDED = {"input": "Read it.", "attachments": ["note.txt"]}
SCRIPTS: dict[str, list[Answer]] = {
    "main": [
        Say(calls=[("helper", HANDED), ("helper", HANDED)]),
        Say(calls=[("write_file", {"path": "out/summary.txt", "content": "It is a note."})]),
        Say("Written."),
    ],
    "helper": [Fail(529), Say("It is a note."), Say("It is a note.")],
}


STRICT = ["-W", "error::ResourceWarning"]
"""What is not closed is heard of where Python itself ends."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("model", "start", "options"),
    [
        (RESPONSES, forking.run, []),
        *((name, subprocess.run, STRICT) for name in (RESPONSES, ANTHROPIC)),
    ],
)
def test_a_team_works_from_the_command_line(
    model: str, start: Callable[..., Any], options: list[str], tmp_path: Path
) -> None:
    (tmp_path / "llmdo.toml").write_text(MANIFEST.format(model=model), encoding="utf-8")
    (tmp_path / "main.worker").write_text(MAIN, encoding="utf-8")
    (tmp_path / "helper.worker").write_text(HELPER, encoding="utf-8")
    (tmp_path / "note.txt").write_text("The note itself.", encoding="utf-8")
    with Server(SCRIPTS).running() as server:
        words = ["run", "--format", "json", "-vv", "--log-events", "events.jsonl"]
        command = [sys.executable, *options, "-m", "llmdo", *words]
        environment = {**os.environ, **server.environment}
        done = start(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=40)
    requests = server.requests
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    assert (document["output"], document["usage"]["requests"]) == ("Written.", 6)
    assert float(document["usage_by_worker"]["helper"]["cost_usd"]) > 0
    assert (tmp_path / "out/summary.txt").read_text() == "It is a note."
    assert len(requests) == 6
    handed = ("The note itself.", base64.b64encode(b"The note itself.").decode())
    assert all(
        any(form in str(request.body) for form in handed)
        for request in requests
        if request.worker == "helper"
    )
    assert "is asked again in" in done.stderr
    assert "Traceback" not in done.stderr
    log = (tmp_path / "events.jsonl").read_text()
    assert [json.loads(line)["event"] for line in log.splitlines()].count("model_failed") == 1
    assert "dummy-" not in log + done.stdout + done.stderr
