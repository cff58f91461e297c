"""What `llmdo check` looks for: one function a check, whose docstring is what `llmdo explain` prints.

What comes in is a project, read once; what goes out are findings, each with its code, its place and a hint. A module
holds the checks of one subject, and `ALL` lists them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import CODES
from llmdo.base.values import replace
from llmdo.checks import (
    authority,
    code,
    delegation,
    descriptions,
    files,
    flows,
    lock,
    models,
    names,
    schedules,
    shell,
)
from llmdo.checks.acceptance import (
    idle_acceptance,
    is_about_unread,
    reported,
    unknown_check,
    without_accepted,
)
from llmdo.checks.extensions import checks_of, own_explanation
from llmdo.reach import Analysis
from llmdo.workspace.stale import relaxed, without_explained

__all__ = ["ALL", "check", "documentation", "explanation", "is_about_unread", "name_of", "reported"]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.extensions.spec import Extension
    from llmdo.workspace.project import Project

    Check = Callable[[Project], Iterator[Diagnostic]]

ALL: tuple[Check, ...] = (
    files.invalid_syntax,
    files.unknown_key,
    files.invalid_value,
    files.missing_key,
    files.unreadable_file,
    files.missing_file,
    files.path_escape,
    files.case_collision,
    files.missing_header,
    files.unsupported_llmdo,
    files.pattern_without_match,
    files.compiled_module,
    files.missing_root,
    files.refused_extension,
    names.name_collision,
    names.unknown_toolset,
    names.unknown_worker,
    names.unknown_model,
    names.missing_attribute,
    names.tool_collision,
    names.unknown_capability,
    names.unknown_tool,
    unknown_check,
    models.incompatible_model,
    code.unfit_function,
    code.undeclared_call,
    schedules.unknown_entry,
    delegation.delegation_cycle,
    delegation.depth_exceeded,
    delegation.unreachable_worker,
    delegation.unused_toolset,
    delegation.unused_path,
    lock.stale_lock,
    lock.missing_lock,
    lock.conflicted_lock,
    lock.newer_lock,
    lock.unreadable_lock,
    lock.newer_revision,
    authority.outside_ceiling,
    authority.delegate_gain,
    authority.dead_rule,
    authority.open_reach,
    authority.loosened_default,
    authority.block_without_ceiling,
    authority.tool_never_runs,
    authority.private_data_way_out,
    idle_acceptance,
    shell.shell_rule_example,
    shell.open_launcher,
    flows.open_answer,
    flows.unlabelled_file,
    flows.idle_flow,
    flows.unstated_targets,
    flows.idle_seal,
    descriptions.hidden_text,
    descriptions.instructing_text,
    descriptions.foreign_tool_named,
    descriptions.unpinned_server,
    descriptions.server_shell,
    descriptions.clear_text_server,
    descriptions.secret_in_manifest,
)
"""Every check, in the order of its code."""

MAX_OF_A_KIND = 1_000  # findings with one code: a workspace could be made to have millions


def name_of(check: Check) -> str:
    """The check's name, such as `unknown-key`."""
    return check.__name__.replace("_", "-")


def check(project: Project, *, locked: bool = False) -> tuple[Diagnostic, ...]:
    """Every finding about `project`: first those about files that cannot be read, then by place.

    What such files leave unknown is not judged, so nothing that merely follows from them is among the findings.
    Without `locked`, a lock that is stale is a warning and a missing one a note: the work goes on. With it
    both are errors. What the manifest ignores is among them: `reported` leaves it out.
    """
    known = _without_unknown(project)
    every = (*ALL, *checks_of(project.extensions)) if project.extensions else ALL
    findings = {finding for check in every for finding in _few(without_accepted(known, check(known)))}
    if not locked:
        findings = {relaxed(finding) for finding in findings}
    left = without_explained(findings)
    return tuple(sorted(left, key=lambda each: (not is_about_unread(project, each), each.order)))


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


def _few(findings: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The findings of one check, as many as anybody reads; the last one says that there are more."""
    for number, each in enumerate(findings):
        if number == MAX_OF_A_KIND:
            message = f"only the first {MAX_OF_A_KIND:,} findings of this kind are shown"
            yield replace(each, message=message, hint=None, related=(), fix=None)
            return
        yield each


def explanation(query: str, extensions: Iterable[Extension] = ()) -> str | None:
    """What `llmdo explain` prints about a code or a name; None where there is no such check.

    Raises:
        LlmdoError: The check of one of the `extensions` cannot be imported.
    """
    for number, (name, severity) in CODES.items():
        if query.upper() == number or query.lower() == name:
            return f"{number} {name} ({severity})\n\n{documentation(number)}\n"
    return own_explanation(query, extensions)


def documentation(number: str) -> str:
    """What the check with this code says about itself: a sentence, why it matters, how it is fixed."""
    import inspect  # slow to load, and only needed here

    from llmdo.foreign.findings import ALL as FOREIGN

    every = {each.__name__.replace("_", "-"): each for each in (*ALL, *FOREIGN)}
    return inspect.getdoc(every[CODES[number][0]]) or ""
