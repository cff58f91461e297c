"""5xx: where flow rules about strangers' words do not reach, and where a sealed hand-over does nothing."""

from __future__ import annotations

import json
from math import ceil
from typing import TYPE_CHECKING

from llmdo.base.checking import reports
from llmdo.base.diagnostic import finding, joined
from llmdo.graph import builtin
from llmdo.policy.authority import MOST_BITS, Capability, scopes_meet
from llmdo.policy.composition import Layer
from llmdo.policy.flow import NO_FLOWS, read_by
from llmdo.policy.vocabulary import UNTRUSTED
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Location
    from llmdo.graph.resolved import Entry
    from llmdo.graph.toolset import Toolset
    from llmdo.graph.worker import Worker
    from llmdo.policy.closed import Closure
    from llmdo.policy.flow import Flows
    from llmdo.syntax.document import Document, Route
    from llmdo.syntax.module import ToolOutline
    from llmdo.workspace.project import Project


@reports("LDO514", "warning")
def open_answer(project: Project) -> Iterator[Diagnostic]:
    """A typed answer may carry a stranger's words, as its type leaves something open.

    A worker that has read them clears nothing for its caller then: whatever a flow rule says about them is asked about
    what the caller does as well. List the values of each field (`Literal`, an enumeration), bound numbers, give lists a
    `max_length`, let a text be an item of a list that the caller gave; or hand it over by `output: sealed`. An answer
    that carries more than `max-bits` of its caller is told as well. Only workspaces with `[flows]` are told.

    Fails: `reader` reads strangers' mail.

        class Answer(BaseModel):
            kind: str

    Fixed:

        class Answer(BaseModel):
            kind: Literal["invoice", "other"]
    """
    if not project.graph.all_flows:
        return
    from llmdo.workspace.answers import answer_of  # what only flow rules need

    typed = [
        worker for worker in project.graph.workers.values() if worker.schema_out and worker.output is None
    ]
    admitted = _admitted_bits(project) if typed else {}
    for worker in typed:
        most = admitted.get(worker.name)
        if most is None or worker.schema_out is None or (worker.closed is not None and worker.closed <= most):
            continue
        if worker.closed is not None:
            why = f"it carries up to {worker.closed} bits, and `max-bits` admits {most}"
        else:
            closure = answer_of(worker, project.workspace.modules)
            why = _openness(closure) if closure else "it may be anything"
        yield finding(
            "LDO514",
            worker.schema_out.at.location,
            f"the answer of `{worker.name}` may carry a stranger's words: {why}",
            hint="list or bound each value of the type, or hand its text over by `output: sealed`",
        )


def _openness(closure: Closure) -> str:
    """The part of a type that is open; else it only carries too much."""
    for place, problem in closure.problems:
        return f"`{place}` {problem}" if place else f"it {problem}"
    return f"it carries up to {ceil(closure.bits)} bits, and {MOST_BITS} are the most that a closed answer carries"


def _admitted_bits(project: Project) -> dict[str, int]:
    """The workers that may read a stranger's words and are called, to the fewest bits that a caller admits."""
    from llmdo.reach.flows import ENTRY, STRANGERS, labels_below  # what only flow rules need

    admitted: dict[str, int] = {}
    analysis = project.analysis
    for entry in _entries(project):
        labels = labels_below(analysis, entry)
        for caller in labels:
            own = () if caller == ENTRY else (Layer.of_worker(project.graph.workers[caller]),)
            called = [callee.name for callee in entry.delegates]
            callees = called if caller == ENTRY else project.graph.edges[caller]
            most = analysis.authority(Layer.of_entry(entry), own).max_bits
            for callee in callees:
                if STRANGERS in labels.get(callee, ()):
                    admitted[callee] = min(most, admitted.get(callee, most))
    return admitted


@reports("LDO515", "warning")
def unlabelled_file(project: Project) -> Iterator[Diagnostic]:
    """An entry reads files that another one may write after it has read a stranger's words.

    Labels of files are those of one run. The next run does not know who wrote a file, unless `[sources]` says so. What
    a program may write that may do anything is not listed. Only workspaces with `[flows]` are told.

    Fails: `collect` writes notes about strangers' mail, `answer` reads them.

        [flows]
        "data.untrusted -> x.post.send" = "needs_approval"

    Fixed:

        [sources]
        "fs.read:notes/**" = "data.untrusted"
    """
    if not project.graph.all_flows:
        return
    from llmdo.reach.flows import written_below  # what only flow rules need

    read = {entry.name: [*_reads(project, entry)] for entry in _entries(project)}
    for entry in _entries(project):
        for scope in filter(None, written_below(project.analysis, entry)):
            readers = sorted(
                name
                for name, reads in read.items()
                if any(scopes_meet(scope, each) and not _is_labelled(project, each) for each in reads)
            )
            if readers:
                reader = readers[0]
                line = f'"fs.read:{scope}" = "{UNTRUSTED}"'
                yield finding(
                    "LDO515",
                    entry.at.location,
                    f"`{entry.name}` may write `{scope}` after a stranger's words, "
                    f"and `{reader}` reads it without a label",
                    hint=f"add {line} to [sources]",
                    subject=entry.name,
                )


@reports("LDO516", "warning")
def idle_flow(project: Project) -> Iterator[Diagnostic]:
    """Flow rules about strangers' words never ask, as no file says who brings such words in.

    Either a source is not named, or its name is not that of what the workers read. What is decided about calls stays
    as it was without the rules, though whoever reads the manifest believes otherwise. `llmdo batch`, `llmdo serve` and
    a history that a program hands in bring such words in a run, but nothing of that shows in `llmdo reach`. `max-bits`
    bounds nothing as well, if no flow rule is about such words.

    Fails:

        [flows]
        "data.untrusted -> x.post.send" = "needs_approval"

    Fixed:

        [sources]
        "fs.read:mail/**" = "data.untrusted"
    """
    place = next(about_strangers(project), None)
    if place is None:
        yield from _idle_bits(project)
    if place is None or project.gaps.toolsets or project.gaps.names:
        return
    if any(True for entry in _entries(project) for _ in _strange(project, entry)):
        return
    yield finding(
        "LDO516",
        place.location,
        f"no call of any entry is known to bring a stranger's words in, so no flow rule about `{UNTRUSTED}` ever asks",
        hint=f'say what holds them in [sources], such as "fs.read:mail/**" = "{UNTRUSTED}", '
        "or `untrusted-input = true` in the table of an entry",
    )


def _idle_bits(project: Project) -> Iterator[Diagnostic]:
    """Each `max-bits`, where no flow rule is about strangers' words."""
    for flows, place in _stated(project, "max-bits"):
        if flows.max_bits is not None:
            yield finding(
                "LDO516",
                place.location,
                f"no flow rule is about `{UNTRUSTED}`, so `max-bits` bounds nothing",
                hint=f'add one, such as "{UNTRUSTED} -> net" = "needs_approval", or remove `max-bits`',
            )


def about_strangers(project: Project) -> Iterator[Place]:
    """The places of the flow rules about strangers' words."""
    for flows, place in _stated(project, "preset"):
        for flow in flows.all:
            if flow.needs_label:
                yield flow.at or place


def _stated(project: Project, key: str) -> Iterator[tuple[Flows, Place]]:
    """The flow rules of the manifest, of entries and of workers, each with the place of a key that is no rule."""
    graph = project.graph
    document = project.workspace.document
    stated: list[tuple[Flows, Document, Route]] = [
        (graph.flows, document, ()),
        *((entry.flows, document, ("entries", entry.name)) for entry in graph.entries.values()),
        *((worker.flows, worker.at.document, ()) for worker in graph.workers.values()),
    ]
    for flows, within, route in stated:
        if flows is not NO_FLOWS:
            yield flows, Place(within, (*route, "flows", key), of_key=True)


def _entries(project: Project) -> list[Entry]:
    return [*project.graph.entries.values()]


def _strange(project: Project, entry: Entry) -> Iterator[str]:
    """The workers below `entry` that may read a stranger's words."""
    from llmdo.reach.flows import STRANGERS, labels_below  # what only flow rules need

    for name, labels in labels_below(project.analysis, entry).items():
        if STRANGERS in labels:
            yield name


def _reads(project: Project, entry: Entry) -> Iterator[str]:
    """The scopes of files that something below `entry` may read."""
    rows = [row for row in project.analysis.of(entry) if row.decision != "blocked"]
    for row in rows:
        yield from filter(None, read_by([row.capability]))


def _is_labelled(project: Project, scope: str) -> bool:
    """Whether a source says that what is read there is a stranger's."""
    read = Capability("fs.read", scope)
    return any(
        source.capability.contains(read) and source.label.name == UNTRUSTED
        for source in project.graph.sources
    )


_NUMBERS = ("boolean", "integer", "null", "number")


@reports("LDO517", "warning")
def unstated_targets(project: Project) -> Iterator[Diagnostic]:
    """A tool that sealed texts can be given to does not say which of its arguments are targets.

    Each of them counts as one then, so a person is asked about each sealed text that stands in any, also in one that is
    only content. Name those that say to whom or on what the tool acts; `[]` where none does. Built-in tools do so
    themselves. Only tools are named whose arguments the files show, and that nobody is asked about otherwise; only
    workspaces with flow rules about strangers' words are told.

    Fails: `addresser` has `output: sealed`, `planner` calls it and `send(to, body)`.

        [flows]
        "data.untrusted -> x.post.send" = "needs_approval"

    Fixed:

        [toolsets.post]
        targets = { send = ["to"] }
    """
    graph = project.graph
    if not any(worker.output == "sealed" for worker in graph.workers.values()):
        return
    if next(about_strangers(project), None) is None:
        return
    from llmdo.reach.flows import given_seals  # what only flow rules need

    handed: dict[str, tuple[str, str]] = {}
    silent: dict[str, dict[str, tuple[str, ...]]] = {}
    for entry in graph.entries.values():
        for caller, callee, shape in given_seals(project.analysis, entry):
            if (toolset := graph.toolsets.get(shape.toolset)) is None:
                continue
            for name, arguments in _silent(project, toolset).items():
                if shape.is_of(f"{toolset.prefix}_{name}" if toolset.prefix else name):
                    handed.setdefault(toolset.name, (caller or entry.name, callee))
                    silent.setdefault(toolset.name, {})[name] = arguments
    for name, tools in silent.items():
        caller, callee = handed[name]
        first = min(tools)
        line = ", ".join(f"{tool} = {json.dumps(tools[tool])}" for tool in sorted(tools))
        yield finding(
            "LDO517",
            _of_toolset(project, graph.toolsets[name]),
            f"`{name}` does not say which arguments of `{first}` are targets, so each text that `{callee}` seals is "
            f"asked about wherever `{caller}` puts it",
            hint=f"{_where(graph.toolsets[name], line)}, without those that say neither to whom nor on what it acts",
        )


@reports("LDO518", "warning")
def idle_seal(project: Project) -> Iterator[Diagnostic]:
    """A worker seals its answer, and nobody can use the seal.

    What an entry itself starts answers a person, for whom the text is opened. A worker that calls nothing with an
    argument for a text, and no other worker, can hand a seal on to nobody. Then an answer without `output: sealed`
    does the same, or something is missing that is to be given it.

    Fails: an entry starts `reader`, and no worker calls it.

        output: sealed

    Fixed: the line removed, or `reader` called by a worker with a tool or a delegate to hand the text to.
    """
    graph = project.graph
    if project.gaps.contents or project.gaps.names:
        return
    for worker in graph.workers.values():
        if worker.output != "sealed":
            continue
        entries = [
            entry for entry in graph.entries.values() if worker.name in {each.name for each in entry.starts}
        ]
        callers = [graph.workers[name] for name, callees in graph.edges.items() if worker.name in callees]
        if any(entry.worker is None for entry in entries) or any(
            _hands_on(project, each, worker) for each in callers
        ):
            continue
        if callers:
            names = joined([f"`{caller.name}`" for caller in callers])
            why = f"{names} can give to nobody what `{worker.name}` seals"
            hint = "give the caller a tool or a delegate that takes the text, or remove `output: sealed`"
        elif entries:
            why = (
                f"no worker calls `{worker.name}`, and for a person its answer is opened, so it seals nothing"
            )
            hint = f"remove `output: sealed`, or name `{worker.name}` in the `toolsets` of a worker"
        else:
            continue
        at = Place(worker.at.document, ("output",), of_key=True)
        yield finding("LDO518", at.location, why, hint=hint)


def _hands_on(project: Project, caller: Worker, sealing: Worker) -> bool:
    """Whether `caller` may give a text to a tool, to another worker than `sealing`, or to the code of a tool."""
    names = [use.name for use in caller.uses if use.name not in (sealing.name, builtin.PROVIDER_SIDE)]
    return any(_may_take(project, name) for name in names)


def _may_take(project: Project, name: str) -> bool:
    """Whether what is called so may be given a text: a worker is, and a toolset whose tools the files do not show."""
    toolset = project.graph.toolsets.get(name)
    if toolset is None or toolset.dynamic or name in project.gaps.toolsets:
        return True
    return any(
        _arguments(project, toolset, tool) != () or _calls(project, toolset, tool) for tool in toolset.tools
    )


def _calls(project: Project, toolset: Toolset, name: str) -> bool:
    """Whether the code of a tool may call workers, and open what they seal."""
    outline = _outline(project, toolset, name)
    return toolset.kind == "python" and (outline is None or outline.takes_context)


def _silent(project: Project, toolset: Toolset) -> dict[str, tuple[str, ...]]:
    """The tools that are known not to say which arguments are targets, and those that each takes."""
    tools = {}
    for name in toolset.tools:
        outline = _outline(project, toolset, name)
        is_stated = name in toolset.targets or (
            toolset.kind == "python" and (outline is None or outline.states_targets)
        )
        if not is_stated and (arguments := _arguments(project, toolset, name)):
            tools[name] = arguments
    return tools


def _arguments(project: Project, toolset: Toolset, name: str) -> tuple[str, ...] | None:
    """The arguments of a tool that may hold a text; None where no file shows them all."""
    if toolset.kind == "python":
        outline = _outline(project, toolset, name)
        return outline.arguments if outline else None
    definition = toolset.tools[name].definition
    schema = json.loads(definition.input) if definition else {}
    if not isinstance(taken := schema.get("properties"), dict) or schema.get("additionalProperties"):
        return None
    return tuple(
        each for each, of in taken.items() if not (isinstance(of, dict) and of.get("type") in _NUMBERS)
    )


def _outline(project: Project, toolset: Toolset, name: str) -> ToolOutline | None:
    """What the text of a module of the workspace shows of a tool."""
    path, _, attribute = (toolset.python or "").rpartition(":")
    module = project.workspace.modules.get(path)
    outlined = module.outline.toolsets.get(attribute) if module else None
    return outlined.tools.get(name) if outlined else None


def _where(toolset: Toolset, line: str) -> str:
    if toolset.targets:
        return f"add {line} to the targets of [toolsets.{toolset.name}]"
    return f"write targets = {{ {line} }} in [toolsets.{toolset.name}]"


def _of_toolset(project: Project, toolset: Toolset) -> Location:
    """The table of a toolset in the manifest, or where its module has it."""
    if toolset.name in project.workspace.tables("toolsets"):
        return project.workspace.document.key("toolsets", toolset.name)
    return toolset.at.location
