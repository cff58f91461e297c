"""An eval as its file says it: the entry, the cases, the evaluators, and the faults that its schema cannot express."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from llmdo.base import digest, parts
from llmdo.base.diagnostic import LlmdoError, did_you_mean, excerpt, finding, near_or_all
from llmdo.base.values import dataclass, replace
from llmdo.formats.schema import judge
from llmdo.formats.schema.validation import schema_problem
from llmdo.graph.offers import list_tools
from llmdo.graph.toolkit import known_capabilities
from llmdo.policy.authority import Capability
from llmdo.services.invalid import InvalidTeamError
from llmdo.syntax import discovery, yaml_file
from llmdo.workspace.evals import FOLDER, MAX_FILE, names, path_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

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


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalCase:
    """One input of the entry, and its expectations."""

    name: str
    input: str | None = None
    """None: the entry's own."""
    attachments: tuple[str, ...] = ()
    """Paths of the workspace."""
    refused: tuple[Capability, ...] = ()
    """Questions about these are refused, whatever the flags approve: a file approves nothing."""
    expected: Json = None
    metadata: Mapping[str, Json] | None = None
    criteria: Mapping[str, Json]
    """The evaluators of this case besides the common ones: name to argument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """An eval."""

    name: str
    entry: str
    description: str
    cases: tuple[EvalCase, ...]
    criteria: Mapping[str, Json]
    """The evaluators of every case."""
    digest: str
    """Digest of the text of its file."""

    def texts(self, evaluator: str) -> tuple[str, ...]:
        """The distinct texts given to this evaluator anywhere in the suite."""
        tables = (self.criteria, *(case.criteria for case in self.cases))
        return tuple(dict.fromkeys(text for table in tables for text in texts_of(table.get(evaluator))))


def matching(suite: Suite, patterns: Sequence[str]) -> Suite:
    """The suite with the cases whose name matches one of the patterns, `*` for any text; all without patterns.

    Raises:
        LlmdoError: A pattern matches no case.
    """
    known = [case.name for case in suite.cases]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise LlmdoError(f"no case matches `--case {pattern}`", hint=near_or_all(pattern, known, "case"))
    return only(
        suite, [name for name in known if any(fnmatchcase(name, each) for each in patterns or ("*",))]
    )


def only(suite: Suite, names: Sequence[str]) -> Suite:
    """The suite with these of its cases, in the order of its file."""
    return replace(suite, cases=tuple(case for case in suite.cases if case.name in names))


def texts_of(value: Json) -> tuple[str, ...]:
    """One text, or a list of some, as the formats allow it."""
    return (value,) if isinstance(value, str) else parts.texts(value)


def chosen(root: Path, name: str | None) -> str:
    """The eval of that name, or the only one.

    Raises:
        LlmdoError: There is none, or it is ambiguous.
    """
    known = names(root)
    if name is None and len(known) == 1:
        return known[0]
    if name in known:
        return name
    if not known:
        raise LlmdoError(
            f"there is no eval in `{FOLDER}/`",
            hint="`llmdo eval new NAME --from-runs ENTRY` makes one of past runs",
        )
    if name is None:
        raise LlmdoError("which eval?", hint=f"one of: {', '.join(known)}")
    raise LlmdoError(f"there is no eval `{name}`", hint=near_or_all(name, known, "eval"))


def read(project: Project, name: str) -> Suite:
    """The eval of that name.

    Raises:
        InvalidTeamError: It has mistakes, each with its place.
    """
    root = project.workspace.root
    path = path_of(name)
    source, problems = discovery.read_source(root, path, limit=MAX_FILE)
    if not problems:
        document = yaml_file.parse(source)
        problems = document.problems or judge(document, "eval").problems
        problems = problems or tuple(faults_of(document, project))
    if problems:
        ordered = sorted(problems, key=lambda problem: problem.order)
        raise InvalidTeamError(ordered[0].message, hint=ordered[0].hint, findings=ordered, root=root)
    data = document.data
    return Suite(
        name=name,
        entry=parts.text(data["entry"]),
        description=parts.text(data.get("description")),
        cases=tuple(_case(parts.table(case)) for case in parts.items(data["cases"])),
        criteria=parts.table(data, "evaluators"),
        digest=digest.of_text(source.text),
    )


def _case(table: Mapping[str, Json]) -> EvalCase:
    value = table.get("input")
    return EvalCase(
        name=parts.text(table["name"]),
        input=value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False),
        attachments=parts.texts(table.get("attachments")),
        refused=tuple(map(Capability.parse, texts_of(table.get("refuse")))),
        expected=table.get("expected"),
        metadata=parts.table(table, "metadata") if "metadata" in table else None,
        criteria=parts.table(table, "evaluators"),
    )
