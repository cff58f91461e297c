"""Times the turns of a long chat, and what each stores: `python -m bench.chat --turns 200`.

A turn hands the model all that was said before, which costs pydantic-ai work that grows with it; bare pydantic-ai that
holds the same conversation says how much. What is ours is what a turn takes beyond that.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from llmdo.features.chat.service import Chat, ChatRequest, open_chat
from llmdo.journal import Runs
from llmdo.runtime.approvals.approver import RejectAll
from llmdo.services.plan import Approving, Watch
from llmdo.services.run import EntryRequest
from llmdo.workspace.trust import Consent

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextlib import AbstractContextManager

    from llmdo.graph.resolved import Graph
    from llmdo.runtime import RunOutcome, Stop

QUESTION = "And what comes after that? " * 4
ANSWER = "Then comes the next of them, as before. " * 8

FILES = {
    "llmdo.toml": """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
toolset-modules = ["models.py"]
model = "python:models.py:rules"

[entries.main]
worker = "main"
conversation-limits = { requests = 1_000_000 }
""",
    "main.worker": "---\nname: main\n---\nYou go on and on.\n",
    "models.py": """\
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

rules = FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart(ANSWER)]))
""".replace("ANSWER", repr(ANSWER)),
}


class Silent:
    """A program around runs that nobody watches."""

    is_brief = True
    consent = Consent({"LLMDO_TRUST": "1"})

    def tell(self, line: str) -> None:
        """Takes a line."""

    def approving(self, graph: Graph) -> Approving:  # noqa: ARG002
        """Nobody answers."""
        return Approving(approver=RejectAll(), mode="reject-all", unasked=False, tightening=())

    def watching(self, **_: object) -> AbstractContextManager[Watch]:
        """Nothing."""
        return nullcontext(Watch(sink=lambda _: None, abandon=lambda: None))

    def wait_for(
        self, work: Coroutine[object, object, RunOutcome], abandon: Callable[[], None], stop: Stop
    ) -> RunOutcome:
        """What `work` returns."""
        del abandon, stop
        return asyncio.run(work)


def new_chat(root: Path) -> Chat:
    """A chat in a new workspace."""
    for name, text in FILES.items():
        (root / name).write_text(text, encoding="utf-8")
    return open_chat(ChatRequest(start=EntryRequest(("main",), project=str(root), of_files=False)), Silent())


def bare() -> Callable[[], None]:
    """One turn after the other with pydantic-ai alone."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:  # noqa: ARG001
        return ModelResponse(parts=[TextPart(ANSWER)])

    agent = Agent(FunctionModel(answer), instructions="You go on and on.")
    history: list[ModelMessage] = []

    def turn() -> None:
        result = asyncio.run(agent.run(QUESTION, message_history=list(history) or None))
        history.extend(result.new_messages())

    return turn


def timed(turn: Callable[[], Any], turns: int) -> list[float]:
    """The CPU time of each turn in ms."""
    taken = []
    for _ in range(turns):
        gc.collect()
        began = time.process_time()
        turn()
        taken.append((time.process_time() - began) * 1_000)
    return taken


def stored(root: Path) -> list[int]:
    """The bytes of all entries of each run, in their order."""
    return [sum(len(entry.body) for entry in journal.entries()) for journal in Runs(root).each()]


def measure(turns: int) -> dict[str, list[float]]:
    """By side, the CPU of each turn; and what the journal of each turn holds."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        chat = new_chat(root)
        chat.say(QUESTION, Silent())  # imports what the others use
        chat.undo()
        ours = timed(lambda: chat.say(QUESTION, Silent()), turns)
        return {"bare": timed(bare(), turns), "chat": ours, "bytes": list(map(float, stored(root)[1:]))}


def main() -> None:
    """Prints the first and the last turns beside each other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--of", type=int, default=20, help="How many turns at each end a median is over.")
    options = parser.parse_args()
    taken = measure(options.turns)
    taken["ours"] = [mine - theirs for mine, theirs in zip(taken["chat"], taken["bare"], strict=True)]
    for side, unit in (("bare", "ms"), ("chat", "ms"), ("ours", "ms"), ("bytes", "bytes")):
        first, last = (
            statistics.median(part) for part in (taken[side][1 : options.of], taken[side][-options.of :])
        )
        print(f"{side:6} {first:9.1f} {last:9.1f} {unit:6} {last / first:.2f} x")


if __name__ == "__main__":
    main()
