"""What `llmdo check` looks for: one function a check, whose docstring is what `llmdo explain` prints.

What comes in is a project, read once; what goes out are findings, each with its code, its place and a hint. A module
holds the checks of one subject.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmdo.base.checking import checks_among, few
from llmdo.base.codes import CODES
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.nearest import MANIFEST
from llmdo.base.source import Location
from llmdo.base.team_words import worded_for
from llmdo.base.values import replace
from llmdo.checks import adopted
from llmdo.checks.acceptance import is_about_unread, reported, without_accepted
from llmdo.extensions.registry import part
from llmdo.extensions.running import ExtensionCode
from llmdo.reach import Analysis
from llmdo.workspace.stale import relaxed, without_explained

__all__ = ["ALL", "check", "documentation", "explanation", "is_about_unread", "reported"]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llmdo.base.checking import Check
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.extensions.spec import Extension
    from llmdo.workspace.project import Project


ALL: tuple[Check[Project], ...] = checks_among(
    *(vars(import_module(f"{__name__}.{file.stem}")) for file in Path(__file__).parent.glob("[!_]*.py"))
)
"""The checks of the modules here, in the order of their codes."""


def check(project: Project, *, locked: bool = False) -> tuple[Diagnostic, ...]:
    """Every finding about `project`: first those about files that cannot be read, then by place.

    What such files leave unknown is not judged, so nothing that merely follows from them is among the findings.
    Without `locked`, a lock that is stale is a warning and a missing one a note: the work goes on. With it
    both are errors. What the manifest ignores is among them: `reported` leaves it out.
    """
    known = _without_unknown(project)
    every: tuple[Callable[[Project], Iterator[Diagnostic]], ...] = (*ALL, *_checks_of(project.extensions))
    findings = {finding for check in every for finding in few(without_accepted(known, check(known)))}
    if known.workspace.adoption:
        findings = {*adopted.of_ours(known, findings), *without_accepted(known, adopted.of_formats(known))}
    if (manifest := known.workspace.document.source.path) != MANIFEST:
        findings = {_about(manifest, finding) for finding in findings}
    if not locked:
        findings = {relaxed(finding) for finding in findings}
    left = _without_consequences(without_explained(findings))
    return tuple(sorted(left, key=lambda each: (not is_about_unread(project, each), each.order)))


def _about(manifest: str, finding: Diagnostic) -> Diagnostic:
    """The finding about a workspace with another manifest than `llmdo.toml`."""
    return replace(
        finding,
        at=Location(manifest) if finding.at == Location(MANIFEST) else finding.at,
        message=worded_for(manifest, finding.message, has_lines=False),
        hint=finding.hint and worded_for(manifest, finding.hint),
    )


_UNRESOLVED = frozenset({"LDO202", "LDO203"})
_UNNAMED = frozenset({"LDO215", "LDO303", "LDO304", "LDO503"})


def _without_consequences(findings: Iterable[Diagnostic]) -> frozenset[Diagnostic]:
    """The findings without those about what nothing names, where a misspelt name may be meant for it."""
    every = frozenset(findings)
    if not any(finding.code in _UNRESOLVED for finding in every):
        return every
    return frozenset(finding for finding in every if finding.code not in _UNNAMED)


def _without_unknown(project: Project) -> Project:
    """The project in which a toolset of which nothing is known has no tools, so that nothing is reported about them."""
    if not project.gaps.toolsets:
        return project
    toolsets = {
        name: replace(toolset, tools={}, dynamic=True) if name in project.gaps.toolsets else toolset
        for name, toolset in project.graph.toolsets.items()
    }
    graph = replace(project.graph, toolsets=toolsets)
    return replace(project, graph=graph, analysis=Analysis(graph))


def explanation(query: str, extensions: Iterable[Extension] = ()) -> str | None:
    """What `llmdo explain` prints about a code or a name; None where there is no such check.

    Raises:
        LlmdoError: The check of one of the `extensions` cannot be imported.
    """
    for number, (name, severity) in CODES.items():
        if query.upper() == number or query.lower() == name:
            return f"{number} {name} ({severity})\n\n{documentation(number)}\n"
    return _own_explanation(query, extensions)


def documentation(number: str) -> str:
    """What the check with this code says about itself: a sentence, why it matters, how it is fixed."""
    from llmdo.foreign.findings import ALL as FOREIGN  # not needed to check

    every: tuple[Check[Any], ...] = (*ALL, *FOREIGN)
    return next(each.documentation for each in every if each.code == number)


def _checks_of(extensions: Iterable[Extension]) -> Iterator[Callable[[Project], Iterator[Diagnostic]]]:
    """Each check of the extensions, whose findings have its code, its name and its severity."""
    for extension in extensions:
        for code in extension.checks:
            yield partial(_findings, extension, code)


def _findings(extension: Extension, code: str, project: Project) -> Iterator[Diagnostic]:
    """The findings of one check.

    Raises:
        LlmdoError: It cannot be imported, it fails, or one of them cannot be shown.
    """
    from llmdo.extensions.fitting import finding_fault  # slow to load, and only needed here

    check = extension.checks[code]
    what = f"the check `{code}` of the extension `{extension.name}`"
    function = part(extension.name, check.function)
    with ExtensionCode(what):
        left: Iterator[Diagnostic] = iter(function(project))
    while True:
        with ExtensionCode(what):
            each = next(left, _END)
            fault = None if each is _END else finding_fault(each, (code,))
        if each is _END:
            return
        if fault:
            raise LlmdoError(f"{what} has a finding that cannot be shown: {fault}")
        yield replace(each, own_name=check.name, severity=check.severity)


_END: Any = object()


def _own_explanation(query: str, extensions: Iterable[Extension]) -> str | None:
    """What `llmdo explain` prints about a check of an extension; None where there is no such one."""
    import inspect  # slow to load, and only needed here

    for extension in extensions:
        for code, check in extension.checks.items():
            if query.upper() == code or query.lower() == check.name:
                function = part(extension.name, check.function)
                with ExtensionCode(f"the check `{code}` of the extension `{extension.name}`"):
                    text = str(inspect.getdoc(function) or "")
                return f"{code} {check.name} ({check.severity}, of `{extension.name}`)\n\n{text}\n"
    return None
