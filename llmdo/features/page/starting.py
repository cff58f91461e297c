"""Runs started from the page, in processes of their own as `llmdo run`: behind the same trust and the same gate."""

from __future__ import annotations

import ast
from contextlib import suppress
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.page.endpoints import Endpoint, Inquiry, RequestError
from llmdo.graph.offers import require_ours
from llmdo.journal.binding import binding_of
from llmdo.journal.naming import require_id
from llmdo.journal.opening import runs_of
from llmdo.journal.summary import summary
from llmdo.services.run_processes import BegunHere
from llmdo.syntax import discovery
from llmdo.syntax.tree import parse

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.features.page.subject import Subject
    from llmdo.graph.resolved import Entry, Graph

_FIELDS = ("entry", "input", "continues")


def startable(subject: Subject, inquiry: Inquiry) -> object:
    """The entries that llmdo runs and what each takes; of a named `run`, what it was given."""
    root = subject.with_runs
    graph = subject.graph(lambda _: None).analysis.graph
    entries = [_entry(graph, each, root) for each in graph.entries.values() if not each.format]
    run = inquiry.parameters.get("run")
    return {"entries": entries, "before": _before(root, run) if run is not None else None}


def _entry(graph: Graph, entry: Entry, root: Path) -> object:
    worker = graph.workers.get(entry.worker.name) if entry.worker else None
    typed = worker.schema_in.name if worker and worker.schema_in else None
    return {
        "name": entry.name,
        "description": worker.description if worker else None,
        "input": entry.input,
        "model": typed,
        "fields": _fields(root, typed) if typed else None,
        "tool": entry.tool.name if entry.tool else None,
        "goes_on": worker is not None and typed is None,
    }


def _fields(root: Path, reference: str) -> list[dict[str, object]] | None:
    """The fields of a pydantic model as its text states them, without an import; None if the text does not tell all."""
    path, _, name = reference.partition(":")
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        tree = parse(discovery.read_source(root, path)[0].text)
        classes = [each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == name]
        if len(classes) == 1 and [ast.unparse(base).split(".")[-1] for base in classes[0].bases] == [
            "BaseModel"
        ]:
            stated = [each for each in classes[0].body if isinstance(each, ast.AnnAssign)]
            return [_field(each) for each in stated if isinstance(each.target, ast.Name)]
    return None


def _field(stated: ast.AnnAssign) -> dict[str, object]:
    default = None
    if isinstance(stated.value, ast.Constant) and not isinstance(stated.value.value, bytes | complex):
        default = stated.value.value
    return {
        "name": ast.unparse(stated.target),
        "type": ast.unparse(stated.annotation),
        "is_required": stated.value is None,
        "default": default if default is not ... else None,
    }


def _before(root: Path, run: str) -> object:
    runs = runs_of(root)
    with runs.read(runs.find(run)) as journal:
        binding = binding_of(journal)
        left = [name for name, _ in binding.attachments]
        return {"run": journal.run, "entry": binding.entry, "input": binding.input, "attachments": left}


def begin(subject: Subject, inquiry: Inquiry) -> object:
    """Begins a run in a process of its own; gives its id before it has begun.

    Raises:
        LlmdoError: There is no such entry, or another tool runs it.
    """
    root = subject.with_runs
    begun = _begun_here(inquiry)
    for entry in subject.graph(lambda _: None, begun.entry).entries:
        require_ours(entry)
    return {"run": subject.desk.processes(root).begin(begun)}


def _begun_here(inquiry: Inquiry) -> BegunHere:
    body = inquiry.body
    if not isinstance(body, dict):
        raise RequestError(400, "what is started is a JSON object")
    for name, value in body.items():
        if name not in _FIELDS or not isinstance(value, str):
            raise RequestError(400, f"`{name}` is not a field of a start, or is no text")
    if "entry" not in body:
        raise RequestError(400, "a start lacks `entry`")
    if "continues" in body:
        require_id(body["continues"])
    with suppress(UnicodeEncodeError):
        body.get("input", "").encode()
        return BegunHere(**body)
    raise RequestError(400, "`input` is no text: it has half of a character")


def started(subject: Subject, inquiry: Inquiry) -> object:
    """Whether a run that was started here has begun, and what its process said if it ended before that."""
    root, run = subject.with_runs, require_id(inquiry.text("run"))
    processes = subject.desk.processes(root)
    is_at_work = processes.is_at_work(run)  # asked first: what begins later has a journal below
    has_begun = _has_begun(root, run)
    fault = None if has_begun or is_at_work else processes.last_words(run) or "its process ended at once"
    return {"has_begun": has_begun, "is_at_work": is_at_work, "fault": fault}


def _has_begun(root: Path, run: str) -> bool:
    with suppress(LlmdoError), runs_of(root).read(run) as journal:
        return summary(journal, is_running=True) is not None
    return False


ENDPOINTS = (
    Endpoint(path="/api/startable", answer=startable, parameters=("run",)),
    Endpoint(path="/api/start", answer=begin, method="POST"),
    Endpoint(path="/api/started", answer=started, parameters=("run",)),
)
