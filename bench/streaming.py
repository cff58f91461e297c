"""Times answers that arrive in pieces beside bare pydantic-ai streaming the same: `python -m bench.streaming`.

Both sides run the same scripted model and take every piece of its text: as events of an iterator, as events that a
function is called with, and of bare pydantic-ai as nothing but text. Ours besides keeps the budgets and decides as
ever; the last one keeps a journal as well.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import platform
import statistics
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_ai import Agent
from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models.function import AgentInfo, FunctionModel

import llmdo
from llmdo.runtime.telemetry.events import TextDelta

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable

    from pydantic_ai.messages import ModelMessage

    from llmdo.services.embedding import TeamEntry

    Side = Callable[[], Awaitable[int]]

MANIFEST = """\
schema = 1
[workspace]
name = "bench"
workers = ["*.worker"]
[entries.main]
worker = "main"
input = "go"
"""
TARGET = 1.10


def model_of(pieces: int) -> FunctionModel:
    """A model that answers in so many pieces."""

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:  # noqa: ARG001
        for number in range(pieces):
            yield f"word {number} "

    return FunctionModel(stream_function=stream)


def text_in(event: object) -> str:
    """The piece of text that an event of pydantic-ai tells of."""
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return (
        event.part.content if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart) else ""
    )


def bare(pieces: int) -> dict[str, Side]:
    """Bare pydantic-ai, the same agent in each manner; each returns how many pieces came."""
    agent: Agent[None, str] = Agent(model_of(pieces), instructions="You are main.", name="main")

    async def iterated() -> int:
        count = 0
        async with agent.run_stream_events("go") as events:
            async for event in events:
                count += bool(text_in(event))
        return count

    async def called() -> int:
        count = 0

        async def listen(ctx: Any, events: AsyncIterable[object]) -> None:  # noqa: ARG001
            nonlocal count
            async for event in events:
                count += bool(text_in(event))

        await agent.run("go", event_stream_handler=listen)
        return count

    async def text() -> int:
        count = 0
        async with agent.run_stream("go") as result:
            async for _ in result.stream_text(delta=True, debounce_by=None):
                count += 1
        return count

    return {"iterated": iterated, "called": called, "text alone": text}


def ours(entry: TeamEntry, *, journal: bool) -> dict[str, Side]:
    """The same of an entry that is open."""

    async def iterated() -> int:
        count = 0
        async for event in entry.run_stream(journal=journal):
            count += isinstance(event, TextDelta)
        return count

    async def called() -> int:
        count = 0

        def listen(event: object) -> None:
            nonlocal count
            count += isinstance(event, TextDelta)

        await entry.run(on_event=listen, journal=journal)
        return count

    return {"iterated": iterated, "called": called, "text alone": iterated}


def measure(pieces: int, rounds: int) -> dict[str, dict[str, list[float]]]:
    """CPU milliseconds of each round of each side, by manner. The sides take turns at going first."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "llmdo.toml").write_text(MANIFEST, encoding="utf-8")
        (root / "main.worker").write_text("---\nname: main\n---\nYou are main.\n", encoding="utf-8")
        entry = llmdo.open_entry(root, model=model_of(pieces))
        sides = {
            "bare": bare(pieces),
            "llmdo": ours(entry, journal=False),
            "with a journal": ours(entry, journal=True),
        }
        times: dict[str, dict[str, list[float]]] = {
            manner: {side: [] for side in sides} for manner in sides["bare"]
        }
        for number in range(rounds + 1):
            for manner, taken in times.items():
                for side in sides if number % 2 else reversed(sides):
                    gc.collect()
                    gc.freeze()  # else a side pays by chance for a walk of all modules that are imported
                    start = time.process_time()
                    count = asyncio.run(sides[side][manner]())  # type: ignore[arg-type]
                    taken[side].append((time.process_time() - start) * 1000)
                    if count != pieces:
                        raise SystemExit(f"{side}, {manner}: {count} pieces came, not {pieces}")
    return {manner: {side: each[1:] for side, each in taken.items()} for manner, taken in times.items()}


def main() -> None:
    """Prints the median times and ratios of each manner."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pieces", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=21)
    chosen = parser.parse_args()
    print(f"pydantic-ai {version('pydantic-ai-slim')}, Python {platform.python_version()}")
    for manner, times in measure(chosen.pieces, chosen.rounds).items():
        bare_times = times.pop("bare")
        print(f"{chosen.pieces:,} pieces, {manner}: bare {statistics.median(bare_times):.1f} ms CPU")
        for side, taken in times.items():
            ratios = [mine / theirs for theirs, mine in zip(bare_times, taken, strict=True)]
            target = f"; target {TARGET:.2f}" if side == "llmdo" else ""
            print(
                f"  {side}: {statistics.median(taken):.1f} ms, ratio {statistics.median(ratios):.3f}"
                f" (from {min(ratios):.3f} to {max(ratios):.3f}{target})"
            )


if __name__ == "__main__":
    main()
