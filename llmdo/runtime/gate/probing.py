"""A tool's probe, asked about a call that the gate let through, with that call's rights alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal.naming import first_run
from llmdo.runtime.gate.call import copied
from llmdo.runtime.place import calling
from llmdo.syntax.tool_metadata import PROBING
from llmdo.toolsets import call_key
from llmdo.toolsets.probes import NotKnown, OfferedProbe, answer_of

if TYPE_CHECKING:
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame
    from llmdo.runtime.gate.call import Attempt, Call
    from llmdo.toolsets.probes import Answer


def offered_probe(
    config: RuntimeConfig, frame: CallFrame, attempt: Attempt, call: Call
) -> OfferedProbe | None:
    """The probe of the tool of `call`; None without one, or if the manifest wants a person asked.

    An MCP server offers none: its description of a tool chooses no code of the workspace.
    """
    definition, toolset = attempt.tool.tool_def, config.graph.toolsets.get(attempt.use.name)
    name = (definition.metadata or {}).get(PROBING)
    if toolset is None or toolset.python is None or not isinstance(name, str):
        return None
    if attempt.declared is not None and attempt.declared.retry == "ask":
        return None

    async def ask(number: int) -> Answer:
        key = call_key.key_of(first_run(config.run), call.path, number)
        try:
            probe = config.resolver.probe(attempt.use, attempt.toolset, name)
        except LlmdoError as error:
            return NotKnown(error.message)
        execution = (config.run, number)
        with calling(frame, call.path, attempt.use.name, execution=execution, is_probe=True):
            return await answer_of(name, probe, key, copied(call.arguments), attempt.ctx, definition.timeout)

    return OfferedProbe(name, ask)
