"""Findings to print, made by hand."""

from __future__ import annotations

from dataclasses import replace

from llmdo.base.diagnostic import Diagnostic, Fix, Related, finding
from llmdo.base.source import Location, Span
from llmdo.render.report import Report

HOSTILE = "a%\r\n::error::b, c: <i>&\"'`|](http://e) {0} \x1b[31m \u202e \ufffe \udcff \U0001f600"
"""What a file could put into a name, for every format to write down without obeying it."""


def at(path: str = "workers/main.worker", *span: int) -> Location:
    return Location(path, Span(*span) if span else None)


def report(*findings: Diagnostic, **given: object) -> Report:
    return Report(findings=findings, **given)  # type: ignore[arg-type]


TYPICAL = (
    replace(
        finding("LDO402", at("llmdo.lock"), "there is no lock", hint="run `llmdo lock`"), severity="note"
    ),
    finding("LDO111", at("llmdo.toml", 4, 12, 4, 20), "`x/*.worker` matches no file"),
    finding(
        "LDO202",
        at("workers/ä b.worker", 3, 5, 3, 8),
        "`main` uses `clc`, which is neither a toolset nor a worker",
        hint="did you mean `calc`?",
        related=[Related(at("tools/calc.py", 7, 1, 9, 4), "`calc` is here")],
        fix=Fix(at("workers/ä b.worker", 3, 5, 3, 8), "clc", "calc", safe=True),
    ),
    finding("LDO103", at("llmdo.toml", 9, 1, 12, 2), HOSTILE, hint=HOSTILE),
)
"""A finding of each kind: about a file, of one line, with all there is, hostile and of several lines."""
