"""An eval as its file says it: the entry, the cases, and the evaluators."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from llmdo.base import digest, parts
from llmdo.base.diagnostic import LlmdoError, near_or_all
from llmdo.base.values import dataclass, replace
from llmdo.features.evaluation.faults import faults_of
from llmdo.formats.schema import judge
from llmdo.policy.authority import Capability
from llmdo.services.invalid import InvalidTeamError
from llmdo.syntax import discovery, yaml_file
from llmdo.workspace.evals import FOLDER, MAX_FILE, names, path_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from llmdo.base.values import Json
    from llmdo.workspace.project import Project


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
