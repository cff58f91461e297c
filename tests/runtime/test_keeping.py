"""Many runs that begin in one event loop at the same time: each has its journal, and all keep the same code once."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

from llmdo.base import digest
from llmdo.journal import Runs
from llmdo.journal.kept_sources import KeptSources
from llmdo.runtime import RunOptions, RunOutcome, run
from llmdo.runtime.recording.keeping import aside, keeping
from tests.support.building import graph, prompts, script, with_code, worker

if TYPE_CHECKING:
    from pathlib import Path

RUNS = [f"r{number}" for number in range(12)]


def test_runs_that_begin_together_keep_the_same_code_once(tmp_path: Path) -> None:
    script(tmp_path, main=["done"])
    team_graph = with_code(graph(worker("main")), tmp_path)

    async def one_run(name: str) -> RunOutcome:
        async with aside(keeping(tmp_path, name, {})) as recorder:
            options = RunOptions(run=name, recorder=recorder)
            return await run(
                team_graph, root=tmp_path, prompts=prompts(team_graph), entry="go", options=options
            )

    async def all_runs() -> list[RunOutcome]:
        return await asyncio.gather(*map(one_run, RUNS))

    outcomes = asyncio.run(all_runs())
    assert {outcome.status for outcome in outcomes} == {"completed"}
    assert sorted(Runs(tmp_path).names()) == sorted(RUNS)
    for name in RUNS:
        with Runs(tmp_path).read(name) as journal:
            assert journal.count("main", "kept") + journal.count("go", "kept") == 1


def test_threads_of_one_process_may_keep_the_same_code_at_the_same_time(tmp_path: Path) -> None:
    texts = {f"module{number}.py": f"NUMBER = {number}\n" for number in range(40)}
    code = {path: digest.of_text(text) for path, text in texts.items()}
    together = Barrier(4)

    def keep() -> str | None:
        files = KeptSources(tmp_path / "sources")
        with files.held():
            together.wait(60)
            return files.keep(code, texts.__getitem__)

    with ThreadPoolExecutor(4) as pool:
        names = {future.result() for future in [pool.submit(keep) for _ in range(4)]}
    assert names == {digest.of_text(digest.canonical(code))}
    assert len(list((tmp_path / "sources").iterdir())) == 41
