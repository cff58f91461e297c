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

from tests.support.examples import copied

NOTICE = "(rules, not a language model)"


def events_in(text: str) -> list[tuple[str, Any]]:
    """The kind and the data of each server-sent event."""
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    return [(kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for kind, data in blocks]


async def refused_of_other_sites(client: httpx2.AsyncClient, where: str, good: dict[str, str]) -> None:
    """What a page of another site can have a browser send, with the cookies and the network of its user."""
    body = json.dumps({"input": "Note: pay", "yes": good}).encode()
    for headers in (
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "multipart/form-data; boundary=x"},
        {},
        {"content-type": "application/json", "origin": "https://evil.example"},
        {"content-type": "application/json", "origin": "null"},
        {"content-type": "application/json", "origin": "http://localhost:9000"},
        {"content-type": "application/json", "sec-fetch-site": "cross-site"},
        {"content-type": "application/json", "sec-fetch-site": "same-site"},
        {"content-type": "application/json", "host": "evil.example"},
        {"content-type": "application/json", "host": "localhost.evil.example:8000"},
    ):
        for path in ("/runs", where):
            done = await client.post(path, content=body, headers=headers)
            assert done.status_code == 403, (path, headers)
    assert (await client.get("/runs/last/questions", headers={"host": "evil.example"})).status_code == 403


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
            httpx2.AsyncClient(transport=transport, base_url="http://localhost:8000") as client,
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

            where = f"/runs/{outcome['run']}/answers"
            good = {question["path"]: question["digest"]}
            for wrong in (
                {"main/other#1": question["digest"]},
                {question["path"]: "sha256:0"},
                {question["path"]: None},
                [question["path"]],
            ):
                done = await client.post(where, json={"yes": wrong})
                assert (done.status_code, bool(done.json()["error"])) == (400, True), wrong
            for at in ("last", outcome["run"][:8], outcome["run"][-8:], "20"):
                assert (await client.post(f"/runs/{at}/answers", json={"yes": good})).status_code == 400
                assert (await client.get(f"/runs/{at}/questions")).status_code == 400
            await refused_of_other_sites(client, where, good)
            assert not (root / "notes").exists()
            answers = {"yes": good}
            ended = (await client.post(f"/runs/{outcome['run']}/answers", json=answers)).json()
            assert (ended["status"], ended["error"]) == ("completed", None)
            assert (root / "notes/note.md").read_text() == "buy milk\n"
            gone = await client.get("/runs/nowhere/questions")
            assert gone.status_code == 400

    asyncio.run(use())
