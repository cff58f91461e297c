"""`llmdo.lock` on disk: its graph or why it cannot be used, and its replacement."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Literal

from llmdo.base.diagnostic import LlmdoError, finding
from llmdo.base.parts import table
from llmdo.base.source import Source
from llmdo.base.values import dataclass, replace
from llmdo.formats.schema import accepts_part, judge
from llmdo.graph import servers
from llmdo.graph.toolset import ToolFacts, ToolsetFacts
from llmdo.syntax import toml
from llmdo.syntax.document import Document
from llmdo.workspace.lock.encoding import (
    REVISION,
    VERSION,
    before_workers,
    behind_workers,
    decode,
    decode_toolsets,
    encode,
    encode_worker,
)
from llmdo.workspace.lock.layout import HEADER, layout, part_text
from llmdo.workspace.resolve import with_implied
from llmdo.workspace.root import LOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.graph.resolved import Graph
    from llmdo.graph.toolset import Facts, Tool, Toolset
    from llmdo.graph.worker import Worker
    from llmdo.workspace.lock.layout import Sketch
    from llmdo.workspace.remembered import Remembered

_MARKER = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?: .*)?$", re.MULTILINE)
_VERSION = re.compile(r"^version\s*=\s*(\d{1,9})\s*$", re.MULTILINE)

MAX_TABLES = 100  # at the top of a large lock: a format has a dozen, and each other one is a finding
MAX_SOUGHT = 512 * 1024  # characters of a lock in which a mistake is looked for: each takes up to 100 bytes

State = Literal["missing", "conflicted", "newer", "unreadable", "read"]


@dataclass(frozen=True, slots=True)
class Locked:
    """The graph of `llmdo.lock`, or why it cannot be used."""

    state: State
    graph: Graph | None
    problems: tuple[Diagnostic, ...] = ()

    @property
    def is_newer(self) -> bool:
        """Whether a newer llmdo wrote it, in a format that this one could only write back with losses."""
        return any(problem.code in ("LDO404", "LDO406") for problem in self.problems)


def read(source: Source | None, part: str | None = None) -> Locked:
    """The lock in `source`. Merge markers and a newer version are known states, each with its finding.

    With `part`, of its text, only that part is read as a lock; its places are in the whole.
    """
    if source is None:
        return Locked("missing", None)
    text = source.text if part is None else part
    if refused := _refused(Source(source.path, text)):
        return refused
    data = toml.data_of(text)
    is_large = len(source.text) > MAX_SOUGHT
    if is_large and (data is None or len(data) > MAX_TABLES):
        problem = finding(
            "LDO405",
            source.location(),
            f"`{LOCK}` is not laid out as llmdo writes it",
            hint="run `llmdo lock` to rebuild it from the sources",
        )
        return Locked("unreadable", None, (problem,))
    if data is None:
        document = toml.parse(source)
    else:
        document = Document(source, data, dict) if is_large else toml.document(source, data)
    judged = judge(document, "lock") if not document.problems else None
    faults = document.problems or (judged.problems if judged else ())
    revision = judged.data["revision"] if judged is not None and judged.data is not None else None
    newer = isinstance(revision, int) and revision > REVISION
    unknown_keys = all(fault.code == "LDO102" for fault in faults)
    if judged is None or judged.data is None or (faults and not (newer and unknown_keys)):
        problem = finding(
            "LDO405",
            faults[0].at if faults else source.location(),
            f"`{LOCK}` cannot be read: {faults[0].message if faults else 'it is empty'}",
            hint="run `llmdo lock` to rebuild it from the sources",
        )
        return Locked("unreadable", None, (problem,))
    problems = (_newer_revision(judged.document, len(faults)),) if newer else ()
    return Locked("read", decode(judged.document, judged.data), problems)


def _refused(source: Source) -> Locked | None:
    """The state of a lock whose text shows that it cannot be read: it has merge markers, or is newer."""
    if marker := _MARKER.search(source.text):
        span = source.span_between(marker.start(), marker.end())
        problem = finding(
            "LDO403",
            source.location(span),
            f"`{LOCK}` holds the markers of a merge conflict",
            hint="run `llmdo lock` to rebuild it from the merged sources",
        )
        return Locked("conflicted", None, (problem,))
    if (version := _VERSION.search(source.text)) and int(version[1]) > VERSION:
        span = source.span_between(version.start(), version.end())
        problem = finding(
            "LDO404",
            source.location(span),
            f"`{LOCK}` has version {int(version[1])}, and this llmdo reads up to {VERSION}",
            hint="use a newer llmdo",
        )
        return Locked("newer", None, (problem,))
    return None


def _newer_revision(document: Document, ignored: int) -> Diagnostic:
    keys = (
        f"{ignored} key{'s' if ignored != 1 else ''} that it does not know {'are' if ignored != 1 else 'is'}"
    )
    return finding(
        "LDO406",
        document.key("revision"),
        f"`{LOCK}` has revision {document.data['revision']}, and this llmdo knows up to {REVISION}: {keys} ignored",
        hint="use a newer llmdo",
    )


def says(sketch: Sketch | None, graph: Graph, remembered: Remembered[str] | None = None) -> bool:
    """Whether the lock is exactly that of `graph`; `remembered` holds the texts of workers."""
    if sketch is None:
        return False
    return sketch.is_of(_pieces(graph, remembered))


def _pieces(graph: Graph, remembered: Remembered[str] | None) -> Iterator[str]:
    """The text of the lock piece by piece; texts of unchanged workers are reused."""
    yield HEADER
    yield part_text(before_workers(graph))
    for worker in graph.workers.values():
        yield text_of_worker(graph, worker, remembered)
    yield part_text(behind_workers(graph))


def text_of_worker(graph: Graph, worker: Worker, remembered: Remembered[str] | None = None) -> str:
    """The text of one worker in the lock of `graph`; `remembered` holds earlier ones."""
    name = worker.name
    source = (worker, graph.edges[name], graph.lines[name]) if remembered else None
    if remembered and (known := remembered.of(name, source)):
        return known
    text = part_text(encode_worker(graph, worker), "worker", name)
    return remembered.keep(name, source, text) if remembered else text


def supposed_facts(sketch: Sketch | None, current: Graph) -> Facts:
    """The facts about toolsets at the end of the lock, read without its beginning.

    Correct only if the lock `says` the graph that follows from them.
    """
    toolsets = sketch.toolsets if sketch else None
    if toolsets is None or not accepts_part(toolsets, "lock", "toolset"):
        return {}
    nowhere = Document(Source(LOCK, ""), {}, dict)
    return _facts(decode_toolsets(nowhere, table(toolsets)).values(), current)


def facts(locked: Graph | None, current: Graph) -> Facts:
    """The lock's facts about the Python toolsets and the MCP servers whose source has not changed since.

    Installed code has no source here: its facts come from the lock alone, until `lock` imports it again.
    """
    return _facts(locked.toolsets.values() if locked else (), current)


def _facts(toolsets: Iterable[Toolset], current: Graph) -> Facts:
    known: dict[str, ToolsetFacts] = {}
    for toolset in toolsets:
        if toolset.python and toolset.source in _sources(current, toolset.python):
            known[toolset.python] = _known(toolset)
        elif toolset.identity and _same_server(toolset, current.toolsets.get(toolset.name)):
            known[servers.key_of(toolset.name)] = _known(toolset)
    return known


def _known(toolset: Toolset) -> ToolsetFacts:
    return ToolsetFacts(
        is_class=toolset.is_class,
        dynamic=toolset.dynamic,
        tools={
            tool.name: _known_tool(tool)
            for tool in toolset.tools.values()
            if tool.digest or not toolset.python  # without a digest the manifest alone promised it
        },
        identity=toolset.identity,
    )


def _known_tool(tool: Tool) -> ToolFacts:
    return ToolFacts(
        digest=servers.digest_of(tool.name, tool.definition) if tool.definition else tool.digest,
        capabilities=None if tool.metadata is None else tuple(map(str, tool.metadata)),
        hook=tool.hook,
        definition=tool.definition,
    )


def _same_server(locked: Toolset, current: Toolset | None) -> bool:
    """Whether the locked server, with its programs, is the one that the sources name.

    The server's own answers may have changed since.
    """
    if current is None or current.server is None:
        return False
    return current.server == locked.server and current.programs == locked.programs


def _sources(current: Graph, python: str) -> set[str | None]:
    """The digests of the module in the sources, even if reading found no toolset in it."""
    named = {toolset.source for toolset in current.toolsets.values() if toolset.python == python}
    of_module = current.modules.get(python.rpartition(":")[0])
    return named if of_module is None else {of_module, *named}


def dump(graph: Graph) -> str:
    """The text of the lock of `graph`."""
    return layout(encode(graph))


def write(root: Path, graph: Graph, still: Callable[[], bool] | None = None) -> bool:
    """Replaces the lock below `root` by that of `graph`, whole or not at all; returns whether it did.

    No other process of ours replaces it meanwhile, from before `still` is asked whether it may be replaced.

    Raises:
        LlmdoError: The lock on disk is a link, or the folder cannot be written to.
    """
    from llmdo.base.held import held  # only what writes needs it

    path = root / LOCK
    if path.is_symlink():
        raise LlmdoError(f"`{LOCK}` is a link, which llmdo does not follow", hint="replace it with a file")
    temporary = root / f".{LOCK}.{os.getpid()}"
    try:
        with held(root, alone=True):
            if still and not still():
                return False
            try:
                with temporary.open("x", encoding="utf-8", newline="\n") as file:
                    file.write(dump(graph))
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
    except OSError as error:
        raise LlmdoError(f"cannot write `{LOCK}`: {(error.strerror or str(error)).lower()}") from error
    return True


_WORKER = re.compile(r"^\[worker\.([A-Za-z0-9_-]+)\]$", re.MULTILINE)
_OTHER = re.compile(r"^\[(?!worker\.)", re.MULTILINE)


def read_beside(source: Source | None, graph: Graph, remembered: Remembered[str] | None = None) -> Locked:
    """The result of `lock.read` for `source`, except that each unchanged worker is that of `graph`.

    The places of such a worker are in the sources. `remembered` holds the texts of workers.
    """
    if source is None:
        return read(None)
    same, others = _split(source.text, graph, remembered)
    locked = read(source, others) if same else None
    # Whatever is odd about the others is told by a reading of the whole.
    if locked is None or locked.graph is None or not same.keys().isdisjoint(locked.graph.workers):
        return read(source)
    workers = dict(sorted({**locked.graph.workers, **same}.items()))
    stated = {name: entry for name, entry in locked.graph.entries.items() if entry.declared or entry.format}
    merged = replace(locked.graph, workers=workers, entries=with_implied(stated, workers))
    return replace(locked, graph=merged)


def _split(text: str, graph: Graph, remembered: Remembered[str] | None) -> tuple[Mapping[str, Worker], str]:
    """The workers whose text in a lock is exactly that of `graph`, and the lock's text without them."""
    same: dict[str, Worker] = {}
    others: list[str] = []
    for name, block in _blocks(text):
        worker = graph.workers.get(name)
        if worker is None or block != text_of_worker(graph, worker, remembered):
            others.append(block)
        elif name in same:
            return {}, text
        else:
            same[name] = worker
    return same, "".join(others)


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """The text in pieces: each table of a worker, with its subtables, by the name; the rest by an empty name."""
    tables = list(_WORKER.finditer(text))
    if not tables:
        yield "", text
        return
    # A table begins with the empty line above it.
    starts = [max(table.start() - 1, 0) for table in tables]
    behind = _OTHER.search(text, tables[-1].end())
    ends = [*starts[1:], max(behind.start() - 1, 0) if behind else len(text)]
    yield "", text[: starts[0]]
    for heading, start, end in zip(tables, starts, ends, strict=True):
        yield heading[1], text[start:end]
    yield "", text[ends[-1] :]
