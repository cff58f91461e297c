"""The findings that people have accepted, and those that a workspace selects or ignores."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.base.checking import checks_among, reports
from llmdo.base.codes import CODES
from llmdo.base.diagnostic import did_you_mean, excerpt, finding
from llmdo.checks import adopted, authority, descriptions
from llmdo.policy.authority import Capability

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from llmdo.base.codes import Severity
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.graph.settings import Acceptance
    from llmdo.workspace.project import Project

ACCEPTABLE: Mapping[str, Callable[[Project], Iterable[Diagnostic]]] = {
    **{each.code: each for each in checks_among(vars(authority), vars(descriptions)) if each.acceptable},
    **adopted.OF_FORMATS,
}
"""The findings that an acceptance can silence, each with the check that makes it."""


def without_accepted(project: Project, findings: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Those of `found` that nobody has accepted."""
    acceptances = project.graph.acceptances
    for diagnostic in findings:
        if diagnostic.code not in ACCEPTABLE or not any(
            _accepts(acceptance, diagnostic) for acceptance in acceptances
        ):
            yield diagnostic


def _accepts(acceptance: Acceptance, diagnostic: Diagnostic) -> bool:
    return _means(acceptance, diagnostic) and (diagnostic.gated or not acceptance.gated)


def _means(acceptance: Acceptance, diagnostic: Diagnostic) -> bool:
    return (
        acceptance.code == diagnostic.code
        and acceptance.entry in (None, diagnostic.subject)
        and _is_about(acceptance.capability, diagnostic)
    )


def _is_about(accepted: Capability | None, diagnostic: Diagnostic) -> bool:
    """Whether what a finding is about has been accepted; where it is about no single capability, it has."""
    if accepted is None or diagnostic.capability is None:
        return True
    return accepted.contains(Capability.parse(diagnostic.capability))


@reports("LDO511", "warning")
def idle_acceptance(project: Project) -> Iterator[Diagnostic]:
    """An acceptance that no longer stands for anything.

    What it accepted is gone, so it would silently accept the next thing of its kind; or the gate that it relies on
    (`gated = true`) is gone, so it no longer holds. Remove it, or say again why it is fine. Findings about files,
    names, the graph and the lock cannot be accepted: fix them. Of agents of other tools, those about what they can do
    (LDO35x, LDO55x) can.

    Fails: nothing reaches a way out any more.

        [[check.accept]]
        code = "LDO510"
        entry = "nightly"
        reason = "the evaluator only sees decks that we wrote"
    """

    @cache
    def findings_of(code: str) -> tuple[Diagnostic, ...]:
        return tuple(ACCEPTABLE[code](project))

    for acceptance in project.graph.acceptances:
        if problem := _problem(project, acceptance, findings_of):
            yield finding("LDO511", acceptance.at.location, problem)


def _problem(
    project: Project, acceptance: Acceptance, findings_of: Callable[[str], Iterable[Diagnostic]]
) -> str | None:
    if acceptance.code is None and acceptance.capability is None:
        return "this accepts neither a `code` nor a `capability`"
    if acceptance.code is not None and acceptance.code not in ACCEPTABLE:
        known = acceptance.code in CODES
        return f"`{acceptance.code}` {'cannot be accepted: fix it' if known else 'is not a code'}"
    if project.gaps.contents or project.gaps.toolsets:
        return None
    is_agent = acceptance.code in adopted.OF_FORMATS and acceptance.entry in project.graph.workers
    if acceptance.entry is not None and acceptance.entry not in project.graph.entries and not is_agent:
        return f"there is no entry `{acceptance.entry}`"
    if acceptance.code is not None:
        meant = [diagnostic for diagnostic in findings_of(acceptance.code) if _means(acceptance, diagnostic)]
        if not meant:
            return f"there is no finding {acceptance.code} that this accepts"
        if not any(_accepts(acceptance, diagnostic) for diagnostic in meant):
            return f"the gate that this acceptance of {acceptance.code} relies on is gone"
        if any(diagnostic.capability for diagnostic in meant):
            return None
    if acceptance.capability is not None and not _is_reached(project, acceptance):
        return f"no entry reaches `{acceptance.capability}`, so this accepts nothing"
    return None


def _is_reached(project: Project, acceptance: Acceptance) -> bool:
    entries = [entry for name, entry in project.graph.entries.items() if acceptance.entry in (None, name)]
    return any(
        acceptance.capability is not None
        and (acceptance.capability.touches(row.capability) or row.capability.touches(acceptance.capability))
        for entry in entries
        for row in project.analysis.of(entry)
        if row.decision != "blocked"
    )


if TYPE_CHECKING:
    Codes = Mapping[str, tuple[str, Severity]]


_SYNTAX = frozenset(f"LDO10{digit}" for digit in range(1, 10))

ALWAYS = frozenset(
    {code for code in CODES if code.startswith(("LDO4", "LDO5"))} | _SYNTAX | {"LDO114", "LDO209"}
)
"""Reported whatever a manifest selects or ignores: without files that can be read nothing is proved, the lock is
what was reviewed, and a finding about authority is accepted one by one, with a reason."""


_UNREAD = frozenset(
    {"LDO101", "LDO105", "LDO106", "LDO107", "LDO109", "LDO110", "LDO114", "LDO403", "LDO404", "LDO405"}
)  # a lock that is in conflict, too new or damaged is not read either


def is_about_unread(project: Project, finding: Diagnostic) -> bool:
    """Whether a finding says why a file, or anything in it, could not be read."""
    return finding.code in _UNREAD or (finding.at.path in project.gaps.files and finding.code in _SYNTAX)


def reported(project: Project, findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Those findings that the manifest's `select` and `ignore` leave, and those that are always reported."""
    table, codes = project.workspace.table("check"), project.codes
    select = _codes(parts.texts(table["select"]), codes) if "select" in table else frozenset(codes)
    wanted = ALWAYS | (select - _codes(parts.texts(table.get("ignore")), codes))
    return tuple(finding for finding in findings if finding.code in wanted)


@reports("LDO209", "error")
def unknown_check(project: Project) -> Iterator[Diagnostic]:
    """`[check]` selects or ignores something that is not a check.

    `select` and `ignore` take codes such as `LDO303`, their names, and beginnings of codes such as `LDO3`.

    Fails:

        [check]
        ignore = ["unreachable-workers"]

    Fixed:

        [check]
        ignore = ["unreachable-worker"]
    """
    codes = project.codes
    names = [name for name, _ in codes.values()]
    for key in ("select", "ignore"):
        for number, text in enumerate(parts.texts(project.workspace.table("check").get(key))):
            if not _covered(text, codes) and not project.gaps.extensions:
                yield finding(
                    "LDO209",
                    project.workspace.document.value("check", key, number),
                    f"`{excerpt(text)}` is neither a check nor the beginning of a code",
                    hint=did_you_mean(text, names) or "`llmdo explain CODE` says what a code means",
                )


def without_effect(project: Project) -> Iterator[Diagnostic]:
    """Findings about items of `ignore` that name what cannot be ignored."""
    for number, text in enumerate(parts.texts(project.workspace.table("check").get("ignore"))):
        covered = _covered(text, CODES)
        at = project.workspace.document.value("check", "ignore", number)
        if any(code.startswith("LDO5") for code in covered):
            message = f"`{text}` covers findings about authority, which cannot be ignored"
            hint = "a `[[check.accept]]` accepts one of them, with a reason"
        elif any(code.startswith("LDO4") for code in covered):
            message = f"`{text}` covers findings about the lock, which cannot be ignored"
            hint = "`llmdo lock` rewrites the lock"
        elif covered and covered <= ALWAYS:
            message = f"`{text}` cannot be ignored: nothing is proved about files that cannot be read"
            hint = None
        else:
            continue
        yield finding("LDO103", at, message, hint=hint)


def _codes(texts: Iterable[str], codes: Codes) -> frozenset[str]:
    return frozenset[str]().union(*(_covered(text, codes) for text in texts))


def _covered(text: str, codes: Codes) -> frozenset[str]:
    """The codes that an item of `select` or `ignore` stands for."""
    return frozenset(
        code
        for code, (name, _) in codes.items()
        if text in (code, name) or (text.startswith("LDO") and code.startswith(text))
    )
