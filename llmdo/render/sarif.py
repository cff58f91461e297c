"""Findings as a SARIF 2.1.0 log."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from llmdo.base.codes import CODES
from llmdo.base.diagnostic import shown
from llmdo.checks import documentation
from llmdo.render.report import fingerprints, with_hint
from llmdo.version import __version__

if TYPE_CHECKING:
    from llmdo.base.diagnostic import Diagnostic, Fix
    from llmdo.base.source import Location
    from llmdo.base.values import Json
    from llmdo.render.report import Report

_PLACEHOLDER = re.compile(r"\{(\d+)\}")


def log(report: Report) -> str:
    """The log of one run, with every rule there is. It says so if the check could not be made."""
    invocation: dict[str, Json] = {"executionSuccessful": report.error is None}
    run: dict[str, Json] = {
        "tool": {
            "driver": {
                "name": "llmdo",
                "version": __version__,
                "rules": [*map(_rule, CODES), *map(_own_rule, own := _own(report))],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "the root of the repository"}}},
        "invocations": [invocation],
    }
    if report.error:
        hint = f"\nhint: {report.error.hint}" if report.error.hint else ""
        notification: dict[str, Json] = {
            "level": "error",
            "message": {"text": _text(report.error.message + hint)},
        }
        invocation["toolExecutionNotifications"] = [notification]
    if report.findings or not report.error:
        pairs = zip(report.findings, fingerprints(report), strict=True)
        codes = [*CODES, *(each.code for each in own)]
        run["results"] = [
            _result(finding, fingerprint, report.folder, codes.index(finding.code))
            for finding, fingerprint in pairs
        ]
    document = {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(document, indent=2) + "\n"


def _own(report: Report) -> list[Diagnostic]:
    """A finding of each check of an extension with findings, sorted by code."""
    first = {each.code: each for each in reversed(report.findings) if each.code not in CODES}
    return [first[code] for code in sorted(first)]


def _own_rule(finding: Diagnostic) -> dict[str, Json]:
    return {
        "id": finding.code,
        "name": finding.name,
        "shortDescription": {"text": finding.name},
        "defaultConfiguration": {"level": finding.severity},
    }


def _rule(code: str) -> dict[str, Json]:
    name, severity = CODES[code]
    text = documentation(code)
    return {
        "id": code,
        "name": name,
        "shortDescription": {"text": text.partition("\n")[0]},
        "fullDescription": {"text": " ".join(text.partition("\n\n")[2].partition("\n\n")[0].split()) or text},
        "help": {"text": text},
        "defaultConfiguration": {"level": severity},
    }


def _result(finding: Diagnostic, fingerprint: str, folder: str, rule: int) -> dict[str, Json]:
    result: dict[str, Json] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": finding.severity,
        "message": {"text": _text(with_hint(finding, "\n"))},
        "locations": [{"physicalLocation": _physical(finding.at, folder)}],
        "partialFingerprints": {"llmdoFinding/v1": fingerprint},
    }
    if finding.related:
        result["relatedLocations"] = [
            {
                "id": number,
                "physicalLocation": _physical(other.at, folder),
                "message": {"text": _text(other.message)},
            }
            for number, other in enumerate(finding.related, 1)
        ]
    if finding.fix:
        result["fixes"] = [_fix(finding.fix, folder)]
    return result


def _physical(at: Location, folder: str) -> dict[str, Json]:
    return {"artifactLocation": _artifact(at, folder), "region": _region(at)}


def _artifact(at: Location, folder: str) -> dict[str, str]:
    path = (folder + at.path).encode("utf-8", "surrogatepass")
    return {"uri": quote(path), "uriBaseId": "%SRCROOT%"}


def _region(at: Location) -> dict[str, int]:
    """The span; a finding about a whole file is shown at its first line, as some readers require one."""
    if at.span is None:
        return {"startLine": 1}
    return {
        "startLine": at.span.line,
        "startColumn": at.span.column,
        "endLine": at.span.end_line,
        "endColumn": at.span.end_column,
    }


def _fix(fix: Fix, folder: str) -> dict[str, Json]:
    replacement: dict[str, Json] = {"deletedRegion": _region(fix.at), "insertedContent": {"text": fix.text}}
    change: dict[str, Json] = {"artifactLocation": _artifact(fix.at, folder), "replacements": [replacement]}
    return {"artifactChanges": [change]}


def _text(text: str) -> str:
    """A message, escaped so that SARIF sees no link or placeholder in it."""
    lines = "\n".join(map(shown, text.split("\n")))
    if "](" in lines:
        lines = lines.replace("[", "\\[").replace("]", "\\]")
    return _PLACEHOLDER.sub(r"{{\1}}", lines)
