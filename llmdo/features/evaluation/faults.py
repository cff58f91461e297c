"""The faults of an eval that its schema cannot express: names of things that do not exist or would judge nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.base.diagnostic import did_you_mean, excerpt, finding
from llmdo.formats.schema.validation import schema_problem
from llmdo.graph.offers import list_tools
from llmdo.graph.toolkit import known_capabilities
from llmdo.policy.authority import Capability
from llmdo.syntax import discovery

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.values import Json
    from llmdo.graph.resolved import Graph
    from llmdo.syntax.document import Document, Route
    from llmdo.workspace.project import Project

CAPABILITIES = ("raised", "never_raised", "asked_before")
EXPECTING = ("equals_expected", "contains_expected")


def faults_of(document: Document, project: Project) -> Iterator[Diagnostic]:
    """The findings about a document that its schema accepts."""
    graph = project.graph
    entry = parts.text(document.data["entry"])
    if entry not in graph.entries:
        hint = did_you_mean(entry, graph.entries) or f"known: {', '.join(sorted(graph.entries))}"
        yield finding("LDO103", document.value("entry"), f"there is no entry `{excerpt(entry)}`", hint=hint)
        return
    common = parts.table(document.data, "evaluators")
    yield from _of_table(document, ("evaluators",), common, project, entry)
    first: dict[str, int] = {}
    for number, item in enumerate(parts.items(document.data["cases"])):
        case = parts.table(item)
        name, at = parts.text(case["name"]), ("cases", number)
        if name.lower() in first:
            yield finding("LDO103", document.value(*at, "name"), f"two cases are called `{name}`")
        first.setdefault(name.lower(), number)
        own = parts.table(case, "evaluators")
        yield from _of_table(document, (*at, "evaluators"), own, project, entry)
        yield from _of_capabilities(document, (*at, "refuse"), case.get("refuse"), graph)
        yield from _of_case(document, at, case, {**common, **own}, project)


def _of_case(
    document: Document, at: Route, case: Mapping[str, Json], criteria: Mapping[str, Json], project: Project
) -> Iterator[Diagnostic]:
    name = parts.text(case["name"])
    if not criteria:
        yield finding(
            "LDO104",
            document.key(*at),
            f"nothing judges the case `{name}`",
            hint="give the eval, or the case, `evaluators`; `ends: completed` asks for an answer alone",
        )
    for key in EXPECTING:
        if criteria.get(key) and case.get("expected") is None:
            message = f"the case `{name}` has no `expected`, with which `{key}` compares"
            yield finding("LDO104", document.key(*at), message)
    for number, path in enumerate(parts.texts(case.get("attachments"))):
        if refused := discovery.exists(project.workspace.root, path):
            at_path = document.value(*at, "attachments", number)
            yield finding(refused.code, at_path, f"`{excerpt(path)}` {refused.reason}")


def _of_table(
    document: Document, at: Route, table: Mapping[str, Json], project: Project, entry: str
) -> Iterator[Diagnostic]:
    """The faults of a table of evaluators."""
    graph = project.graph
    for key in CAPABILITIES:
        yield from _of_capabilities(document, (*at, key), table.get(key), graph)
    for route, pattern in _each((*at, "regex"), table.get("regex")):
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            message = f"`{excerpt(pattern)}` is not a regular expression: {error}"
            yield finding("LDO103", document.value(*route), message)
    if "json_schema" in table and (problem := schema_problem(parts.table(table, "json_schema"))):
        yield finding("LDO103", document.value(*at, "json_schema"), f"this is not a JSON Schema: {problem}")
    for route, reference in _each((*at, "function"), table.get("function")):
        path = reference.rpartition(":")[0]
        if refused := discovery.exists(project.workspace.root, path):
            yield finding(refused.code, document.value(*route), f"`{excerpt(path)}` {refused.reason}")
    evaluators = [name for each in project.extensions for name in each.evaluators]
    for route, name in _each((*at, "evaluator"), table.get("evaluator")):
        if name not in evaluators:
            message = f"no extension of this workspace brings an evaluator `{excerpt(name)}`"
            hint = did_you_mean(name, evaluators) or "`[workspace] extensions` names the distribution of one"
            yield finding("LDO103", document.value(*route), message, hint=hint)
    for worker in parts.table(table, "judge"):
        yield from _of_judge(document, (*at, "judge", worker), worker, graph)
    yield from _of_tools(document, at, table, graph, entry)


def _of_capabilities(document: Document, at: Route, value: Json, graph: Graph) -> Iterator[Diagnostic]:
    known = known_capabilities(graph)
    for route, text in _each(at, value):
        name = Capability.parse(text).name
        if name not in known:
            hint = did_you_mean(name, known)
            yield finding(
                "LDO207", document.value(*route), f"`{excerpt(name)}` is not a capability", hint=hint
            )


def _of_judge(document: Document, at: Route, worker: str, graph: Graph) -> Iterator[Diagnostic]:
    if worker not in graph.workers:
        hint = did_you_mean(worker, graph.workers)
        yield finding("LDO203", document.key(*at), f"there is no worker `{excerpt(worker)}`", hint=hint)
    elif judging_entry(graph, worker) is None:
        yield finding(
            "LDO103",
            document.key(*at),
            f"no entry starts the worker `{worker}`, so it cannot judge",
            hint="set `entry: true` in its header",
        )


def judging_entry(graph: Graph, worker: str) -> str | None:
    """The entry by which a worker judges, or None."""
    starting = [name for name, entry in graph.entries.items() if entry.worker and entry.worker.name == worker]
    return worker if worker in starting else next(iter(sorted(starting)), None)


def _of_tools(
    document: Document, at: Route, table: Mapping[str, Json], graph: Graph, entry: str
) -> Iterator[Diagnostic]:
    offers = list_tools(graph, graph.entries[entry])
    known = {offer.tool for offer in offers} | {f"{offer.toolset}.{offer.tool}" for offer in offers}
    if any("*" in name for name in known):
        return  # some tools are known only once their server runs
    named = [((*at, "tools", number), name) for number, name in enumerate(parts.texts(table.get("tools")))]
    named += [((*at, "decisions", name), name) for name in parts.table(table, "decisions")]
    for route, name in named:
        if name != "*" and name not in known:
            place = document.key(*route) if "decisions" in route else document.value(*route)
            message = f"entry `{entry}` reaches no tool `{excerpt(name)}`"
            yield finding("LDO208", place, message, hint=did_you_mean(name, known))


def _each(at: Route, value: Json) -> Iterator[tuple[Route, str]]:
    """One text, or each of a list, with its route."""
    if isinstance(value, str):
        yield at, value
    else:
        yield from (((*at, number), text) for number, text in enumerate(parts.texts(value)))
