"""Sealed texts in a call's arguments: put in before the decision, and asked about if they choose a target."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_ai.exceptions import ModelRetry, ToolFailed

from llmdo.base.diagnostic import LlmdoError, joined, near_or_all
from llmdo.graph import builtin
from llmdo.policy.authority import CODE
from llmdo.runtime.gate.call import Refused
from llmdo.runtime.gate.labelling import labels_for, without_strangers
from llmdo.runtime.seals import opened_in
from llmdo.runtime.signatures import FILES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic_ai.tools import ToolDefinition

    from llmdo.graph.resolved import Graph
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.gate.call import Attempt, Call
    from llmdo.runtime.labels import Context, Labels
    from llmdo.runtime.seals import Opened, Seal


def targets_of(graph: Graph, toolset: str, tool: ToolDefinition) -> frozenset[str] | None:
    """The arguments of a tool that say to whom or on which object it acts; None if nobody says, so that each may.

    The input of a worker says neither: the worker has read it from then on.

    Raises:
        LlmdoError: The manifest or the tool's author names one that the tool does not take: the intended argument would
            be no target.
    """
    if toolset in graph.workers:
        return frozenset({FILES})
    if toolset in builtin.TARGETS:
        return builtin.TARGETS[toolset]
    own = graph.toolsets.get(toolset)
    name = tool.name.removeprefix(f"{own.prefix}_") if own and own.prefix else tool.name
    stated: object = own.targets.get(name) if own else None
    stated = (tool.metadata or {}).get("targets") if stated is None else stated
    if isinstance(stated, list | tuple | set | frozenset) and all(isinstance(name, str) for name in stated):
        schema = tool.parameters_json_schema
        taken = schema.get("properties", {})
        stray = next((name for name in stated if name not in taken), None)
        if stray is not None and not schema.get("additionalProperties"):
            raise LlmdoError(
                f"the targets of `{toolset}` name `{stray}`, which `{tool.name}` does not take",
                hint=near_or_all(str(stray), taken, f"argument of `{tool.name}`"),
            )
        return frozenset(map(str, stated))
    return None


async def unsealed(config: RuntimeConfig, attempt: Attempt, opened: Opened) -> tuple[Attempt, dict[str, Any]]:
    """The attempt with the labels of its sealed texts, and the arguments that are decided on and run.

    Strangers' labels count in targets, private ones everywhere. A target that a stranger may have chosen is asked
    about, once for each value, tool and argument.

    Raises:
        Refused: The tool does not take such a text, or it would be only a part of a target.
    """
    name = attempt.name
    try:
        arguments = await attempt.changed(opened.arguments)
    except (ValidationError, ModelRetry) as error:
        raise Refused(f"`{name}` was not called: it does not take what is sealed there") from error
    call = await attempt.derived(attempt.draft(arguments))
    writes_code = any(raised.name == CODE for raised in call.raised)
    every = attempt.targets is None or writes_code
    targets = [each for each in opened.seals if every or each in (attempt.targets or ())]
    if mixed := [target for target in targets if target in opened.mixed]:
        raise Refused(f"`{name}` was not called: a sealed text stands alone in {joined(_named(mixed))}")
    of_targets = {
        label: path
        for target in targets
        for seal in opened.seals[target]
        for label, path in seal.labels.items()
    }
    private = without_strangers(config, opened.labels)
    known = config.ledger.unsealed
    unsure = [target for target in targets if _key(call, target) not in known]
    return (
        replace(
            attempt,
            labels={**of_targets, **private, **attempt.labels},
            brought=opened.labels,
            asks=_why(unsure, opened) if unsure else None,
            sealed=tuple(targets),
        ),
        arguments,
    )


def unsealed_by_code(
    config: RuntimeConfig, name: str, given: Mapping[str, Any], context: Context
) -> tuple[Opened, Labels]:
    """The arguments of a worker's call by code, and the labels under which it is chosen.

    Raises:
        ToolFailed: A sealed text would name an attachment, and code asks nobody about that.
    """
    opened = opened_in(given, context.seals)
    if FILES in opened.seals:
        raise ToolFailed(f"`{name}` was not called: a sealed text names no file that is handed over")
    return opened, {**without_strangers(config, opened.labels), **labels_for(config, context)}


def answered(config: RuntimeConfig, attempt: Attempt, call: Call) -> None:
    """Notes that a call was let through, so that its sealed values are not asked about again for its tool."""
    config.ledger.unsealed.update(_key(call, target) for target in attempt.sealed)


def _key(call: Call, target: str) -> tuple[str, str, str, str]:
    return call.toolset, call.tool, target, repr(call.arguments.get(target))


def _why(targets: Iterable[str], opened: Opened) -> str:
    parts = [f"`{target}` is what {_from(opened.seals[target])} gave sealed" for target in targets]
    return f"{joined(parts)}: a stranger may have chosen it"


def _from(seals: Iterable[Seal]) -> str:
    return joined([*dict.fromkeys(f"`{seal.name}`" for seal in seals)])


def _named(names: Iterable[str]) -> list[str]:
    return [f"`{name}`" for name in names]
