"""The attachments of an entry: decided on before its worker begins, read, and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai.exceptions import ToolFailed

from llmdo.base.diagnostic import LlmdoError
from llmdo.graph.builtin import ENTRY_SIDE
from llmdo.journal.entries import HANDED
from llmdo.runtime.attachments import load, raised_by_attached
from llmdo.runtime.gate.call import Call
from llmdo.runtime.gate.decisions import judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_ai.messages import UserContent

    from llmdo.graph.worker import Worker
    from llmdo.runtime.attached import Attached
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame


async def handed_at_start(
    config: RuntimeConfig, frame: CallFrame, worker: Worker, attached: Sequence[Attached]
) -> Sequence[UserContent]:
    """The content of what the entry's `worker` is handed; `frame` is that of the entry, which hands it over.

    Raises:
        LlmdoError: It may not be read, or cannot be handed over.
    """
    if not attached:
        return ()
    names = [each.name for each in attached]
    raised = frozenset().union(*(raised_by_attached(each, config.paths) for each in attached))
    capabilities = tuple(sorted(raised, key=str))
    call = Call(
        path=f"{worker.name}/{HANDED}",
        toolset=ENTRY_SIDE,
        tool="attachments",
        arguments={"attachments": names},
        raised=capabilities,
        declared=capabilities,
    )

    async def read() -> list[UserContent]:
        return await load(worker, attached, config.paths, config.attachments)

    try:
        await judge(config, frame, call)
        return await config.log.files(worker.name, names, read)
    except ToolFailed as failed:
        raise LlmdoError(failed.message) from failed
