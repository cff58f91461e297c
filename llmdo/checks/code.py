"""2xx: the functions of code entries, as far as their text shows what they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Related, did_you_mean, finding
from llmdo.workspace.references import python_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.graph.keys import Reference
    from llmdo.graph.resolved import Entry
    from llmdo.syntax.functions import FunctionOutline
    from llmdo.workspace.project import Project

_FORM = "write `async def {}(runtime, input) -> str`"


def unfit_function(project: Project) -> Iterator[Diagnostic]:
    """The function of an entry cannot be run as one.

    It is awaited with two arguments, the runtime by which it calls workers and the input as text, and gives text. The
    file is read, never run, so of a function with decorators nothing is said.

    Fails:

        def nightly(runtime):
            return "done"

    Mended:

        async def nightly(runtime, input):
            return "done"
    """
    for entry, reference, source, function in _functions(project):
        fault = None
        if not function.is_async:
            fault = "is not an async function"
        elif not function.takes_two:
            fault = "does not take two arguments"
        if fault:
            name = reference.name.rpartition(":")[2]
            yield finding(
                "LDO211",
                source.location(function.span),
                f"`{name}`, the function of the entry `{entry.name}`, {fault}",
                hint=_FORM.format(name),
                related=[Related(reference.at.location, "it is named here")],
            )


def undeclared_call(project: Project) -> Iterator[Diagnostic]:
    """The function of an entry calls a worker that the entry's `calls` do not name.

    `calls` are the edges of the entry in the graph: what it can reach was proved for these workers, so the run refuses
    every other one. Name the worker in `calls`, or do not call it.

    Fails: the function awaits `runtime.call_agent("planner", ...)`.

        [entries.nightly]
        function = "entries.py:nightly"
        calls = ["evaluator"]

    Mended:

        [entries.nightly]
        function = "entries.py:nightly"
        calls = ["evaluator", "planner"]
    """
    for entry, reference, source, function in _functions(project):
        declared = {call.name for call in entry.calls}
        for worker, span in function.calls:
            if worker not in declared:
                exists = worker in project.graph.workers
                yield finding(
                    "LDO212",
                    source.location(span),
                    f"the entry `{entry.name}` calls `{worker}`, which its `calls` do not name",
                    hint=f"name it in `calls` of [entries.{entry.name}], or do not call it"
                    if exists
                    else did_you_mean(worker, declared or project.graph.workers),
                    related=[Related(reference.at.location, "the function is named here")],
                )


def _functions(project: Project) -> Iterator[tuple[Entry, Reference, Source, FunctionOutline]]:
    """The entries that are functions whose text tells how they are called."""
    for entry in project.graph.entries.values():
        if entry.function:
            module = project.workspace.modules.get(python_file(entry.function.name) or "")
            name = entry.function.name.rpartition(":")[2]
            if module and (function := module.outline.functions.get(name)):
                yield entry, entry.function, module.source, function
