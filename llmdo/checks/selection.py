"""`[check] select` and `ignore`: which findings a workspace wants to hear about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.base.diagnostic import CODES, did_you_mean, excerpt, finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.base.diagnostic import Diagnostic, Severity
    from llmdo.workspace.project import Project

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
