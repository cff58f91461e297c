"""The example `service`: its application, asked over HTTP in this process."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import httpx2
import pytest

from .running import copied

NOTICE = "(rules, not a language model)"


def events_in(text: str) -> list[tuple[str, Any]]:
    """The kind and the data of each server-sent event."""
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    return [(kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for kind, data in blocks]


def test_a_service_streams_events_and_takes_answers_later(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    root = copied("service", tmp_path)
    shutil.rmtree(root / "notes", ignore_errors=True)  # what somebody had it write
    spec = importlib.util.spec_from_file_location("service_app", root / "app.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    async def use() -> None:
        transport = httpx2.ASGITransport(app=module.app)
        async with (
            module.app.router.lifespan_context(module.app),
            httpx2.AsyncClient(transport=transport, base_url="http://service") as client,
        ):
            simple = events_in((await client.post("/runs", json={"input": "hi"})).text)
            assert simple[0][0] == "run_started"
            pieces = [data["text"] for kind, data in simple if kind == "text_delta"]
            assert "".join(pieces) == f"You said: hi {NOTICE}"
            assert (simple[-1][0], simple[-1][1]["status"]) == ("outcome", "completed")
            assert simple[-1][1]["output"] == f"You said: hi {NOTICE}"

            asking = (await client.post("/runs", json={"input": "Note: buy milk"})).text
            kind, outcome = events_in(asking)[-1]
            assert (kind, outcome["status"]) == ("outcome", "waiting")
            assert not (root / "notes").exists()
            [question] = (await client.get(f"/runs/{outcome['run']}/questions")).json()
            assert (question["tool"], question["arguments"]["content"]) == ("write_file", "buy milk\n")

            wrong = await client.post(f"/runs/{outcome['run']}/answers", json={"yes": ["main/other#1"]})
            assert (wrong.status_code, "main/other#1" in wrong.json()["error"]) == (400, True)
            answers = {"yes": [question["path"]]}
            ended = (await client.post(f"/runs/{outcome['run']}/answers", json=answers)).json()
            assert (ended["status"], ended["error"]) == ("completed", None)
            assert (root / "notes/note.md").read_text() == "buy milk\n"
            gone = await client.get("/runs/nowhere/questions")
            assert gone.status_code == 400

    asyncio.run(use())
