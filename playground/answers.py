"""The answers to the page's requests, of a project whose files the browser keeps in memory.

Everything comes in and goes out as JSON. A project is read once, and again once its files change.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo import foreign
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.nearest import MANIFEST
from llmdo.extensions.spec import AUTO
from llmdo.features.page import changes, team
from llmdo.features.page.endpoints import Endpoint, Inquiry, RequestError
from llmdo.features.page.shapes import answered
from llmdo.policy.flow import Flows
from llmdo.reach import Analysis
from llmdo.render import reached
from llmdo.render import scan as scan_page
from llmdo.render.formats import rendered
from llmdo.render.report import Report
from llmdo.services import check, diff, reach, soundness
from llmdo.services import foreign as projects
from llmdo.syntax import discovery

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmdo.base.values import Json
    from llmdo.foreign import Foreign
    from llmdo.services.check import CheckOutcome
    from llmdo.services.reach import Opened
    from llmdo.services.root import Tell

STRICT = Flows(preset="strict", owner="the playground")
"""The rule of the switch "what if this asked?": no effect after a stranger's words without a question."""
AROUND = 2  # lines that are shown before and after the one of a finding
LONGEST = 400  # characters of a line that are shown


@dataclass(slots=True)
class Subject:
    """The project that is shown, as the views of the page ask for it."""

    after: Path = Path("/project")
    """The folder of its files."""
    before: Path = Path("/before")
    """The folder of the files that they are compared with, if there are any."""
    origin: tuple[str, str] | None = (AUTO, ".")
    store: str | None = None
    is_strict: bool = False
    """Whether the switch is on."""
    _read: dict[Path, Foreign | CheckOutcome] = field(default_factory=dict)

    def forget(self) -> None:
        """Reads everything again when it is asked for next."""
        self._read.clear()

    def read(self, folder: Path | None = None) -> Foreign | CheckOutcome:
        """A workspace with its findings, where the folder has a manifest; else the projects of other tools in it."""
        folder = folder or self.after
        if folder not in self._read:
            self._read[folder] = (
                check.check(check.CheckRequest(project=str(folder)))
                if (folder / MANIFEST).is_file()
                else foreign.read(AUTO, folder, may_be_empty=True)
            )
        return self._read[folder]

    @property
    def project(self) -> Foreign:
        """The projects of other tools.

        Raises:
            LlmdoError: It is a workspace.
        """
        read = self.read()
        if isinstance(read, check.CheckOutcome):
            raise LlmdoError(
                "this is a workspace of llmdo", hint="`check` and `reach` say what it lets agents do"
            )
        return read

    def opened(self, folder: Path | None = None) -> Opened:
        """The project in a folder, for questions about reach."""
        read = self.read(folder)
        return soundness.shown_as_unknown(read.read) if isinstance(read, check.CheckOutcome) else read

    def graph(self, tell: Tell, entry: str | None = None, select: tuple[str, ...] = ()) -> reach.GraphOutcome:
        """The graph below one entry, or below all."""
        outcome = reach.graph_of(self.opened(), reach.GraphRequest(entry=entry, select=select), tell)
        if not self.is_strict:
            return outcome
        return replace(outcome, analysis=Analysis(replace(outcome.analysis.graph, flows=STRICT)))

    def difference(self, before: str, after: str, tell: Tell) -> diff.DiffOutcome:
        """The difference between the two folders."""
        if not self.before.is_dir():
            raise LlmdoError(
                "there is nothing to compare with", hint="open `?repo=owner/name&diff=base...head`"
            )
        then, now = (self.opened(folder) for folder in (self.before, self.after))
        if isinstance(then, foreign.Foreign) and isinstance(now, foreign.Foreign):
            return diff.foreign_outcome(then, now, diff.DiffRequest(before=before, after=after), tell)
        return diff.outcome_of(then.graph, now.graph, diff.Sides(before=before, after=after))


def _scan(subject: Subject) -> str:
    return scan_page.rendered(projects.scan_of(subject.project), "json")


def _check(subject: Subject) -> str:
    read = subject.read()
    if isinstance(read, check.CheckOutcome):
        return rendered(Report(findings=read.findings, files=read.files, error=read.problem), "json")
    outcome = projects.check_of(read)
    return rendered(Report(findings=outcome.findings, files=outcome.files, read_from=outcome.format), "json")


def _reach(subject: Subject) -> str:
    return reached.rendered(reach.reach_of(subject.opened(), reach.ReachRequest()), "json")


_PRINTED: dict[str, Callable[[Subject], str]] = {"scan": _scan, "check": _check, "reach": _reach}


def printed(subject: Subject, inquiry: Inquiry) -> object:
    """The text that a command prints with `--format json`, byte for byte."""
    return {"text": _PRINTED[inquiry.text("command")](subject)}


def findings(subject: Subject, inquiry: Inquiry) -> object:
    """A scan of projects of other tools, a check of a workspace; in the form that `--format json` has."""
    del inquiry
    is_workspace = isinstance(subject.read(), check.CheckOutcome)
    return json.loads((_check if is_workspace else _scan)(subject))


def lines(subject: Subject, inquiry: Inquiry) -> object:
    """The lines around a place of a file, with the number of the first."""
    path, line = inquiry.text("path"), int(inquiry.text("line"))
    first = max(1, line - AROUND)
    shown = _text(subject, path).split("\n")[first - 1 : line + AROUND]
    return {"first": first, "lines": [each[:LONGEST] for each in shown]}


def file(subject: Subject, inquiry: Inquiry) -> object:
    """The text of a file."""
    return {"text": _text(subject, inquiry.text("path"))}


def _text(subject: Subject, path: str) -> str:
    content = discovery.read(subject.after, path)
    if isinstance(content, discovery.RefusedPath):
        raise RequestError(404, f"`{path}` {content.reason}")
    return discovery.decode(path, content)[0].text


def files(subject: Subject, inquiry: Inquiry) -> object:
    """The files that were read."""
    del inquiry
    read = subject.read()
    return {"files": read.files if isinstance(read, check.CheckOutcome) else read.team.files}


def switch(subject: Subject, inquiry: Inquiry) -> object:
    """The switch "what if this asked?", turned on or off."""
    subject.is_strict = inquiry.text("asked") == "true"
    return {"asked": subject.is_strict}


ENDPOINTS = {
    each.path: each
    for each in (
        *team.ENDPOINTS,
        *changes.ENDPOINTS,
        Endpoint(path="/api/findings", answer=findings),
        Endpoint(path="/api/lines", answer=lines, parameters=("path", "line")),
        Endpoint(path="/api/file", answer=file, parameters=("path",)),
        Endpoint(path="/api/files", answer=files),
        Endpoint(path="/api/switch", answer=switch, parameters=("asked",)),
        Endpoint(path="/api/printed", answer=printed, parameters=("command",)),
    )
}


def answer(subject: Subject, question: str) -> str:
    """The answer to `{"path", "parameters"}`: its `data`; or `error`, `hint`, `status` and the place `at`."""
    asked: dict[str, Json] = json.loads(question)
    try:
        return json.dumps({"data": answered(_data(subject, asked))})
    except LlmdoError as error:
        status = error.status if isinstance(error, RequestError) else 422
        at = error.at and {"path": error.at.path, "line": error.at.span.line if error.at.span else None}
        return json.dumps({"error": error.message, "hint": error.hint, "status": status, "at": at})


def _data(subject: Subject, asked: dict[str, Json]) -> object:
    endpoint = ENDPOINTS.get(str(asked["path"]))
    if endpoint is None:
        raise RequestError(404, "the playground has no such view")
    inquiry = Inquiry(parameters=asked["parameters"])  # type: ignore[arg-type]
    inquiry.only(endpoint.parameters)
    return endpoint.answer(subject, inquiry)  # type: ignore[arg-type]  # a subject with what these views ask


def tried(subject: Subject, folder: str) -> str | None:
    """Reads a folder as far as its contents are there; the sentence of what keeps it from being read at all."""
    try:
        read = subject.read(Path(folder))
        if not isinstance(read, check.CheckOutcome) and not (read.team.agents or read.team.problems):
            return (
                "nothing that llmdo reads is in it: no agents, workflows or settings of a tool that it knows"
            )
    except LlmdoError as error:
        return error.message
    return None
