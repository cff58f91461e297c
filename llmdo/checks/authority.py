"""5xx: what entries can reach, and what the rules about it are worth."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from llmdo.base.checking import reports
from llmdo.base.diagnostic import Related, finding
from llmdo.graph import builtin
from llmdo.graph.toolkit import tools_of
from llmdo.policy.authority import BUILT_IN, STRICTNESS, decide
from llmdo.policy.composition import NO_LAYER
from llmdo.policy.shell.rules import EXEC
from llmdo.policy.vocabulary import ONLY_BY_FULL_NAME
from llmdo.reach import entry_ceiling
from llmdo.reach.risks import edges, gains, leaks, path_text
from llmdo.reach.shapes import assurance_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.graph.resolved import Entry
    from llmdo.graph.toolset import Tool
    from llmdo.policy.authority import Authority, Capability, Ceiling, Reason, Rule
    from llmdo.policy.shell.rules import ShellRule, ShellSettings
    from llmdo.reach import Analysis, Row
    from llmdo.workspace.project import Project


@reports("LDO501", "error", acceptable=True)
def outside_ceiling(project: Project) -> Iterator[Diagnostic]:
    """An entry or a worker can reach what its ceiling does not admit.

    `may` is the most that it may ever reach, through any delegation. The run blocks a call outside it; that a
    path to such a call exists says that the ceiling or the team is not what somebody meant. Raise the ceiling, or
    remove an edge of the path. `fs.read.protected`, `fs.write.protected`, `proc.exec.unlisted` and
    `proc.exec.unvouched` are cut off without a finding.

    Fails: `triage` delegates to `releaser`, which runs commands.

        [entries.triage]
        worker = "triage"
        may = ["fs.read"]

    Fixed: the edge is gone, or somebody meant it.

        [entries.triage]
        worker = "triage"
        may = ["fs.read", "proc.exec"]
    """
    analysis, shell = project.analysis, project.graph.shell
    rows_outside = _rows_outside(analysis)
    is_current = project.is_current or not project.workspace.has_lock
    for entry in project.graph.entries.values():
        if (ceiling := entry_ceiling(entry)) and analysis.may_reach(entry, rows_outside(ceiling)):
            rows = _certain(analysis.of(entry, ceiling=False), project)
            remedy = partial(_remedy, shell=shell, is_current=is_current or entry.format is not None)
            yield from _outside(f"the entry `{entry.name}`", entry.name, ceiling, rows, remedy)
    for name, ceiling in analysis.ceilings.items():
        if analysis.bounds.of([name]) & rows_outside(ceiling):
            rows, remedy = (
                _certain(analysis.of_worker(name), project),
                partial(_remedy, shell=shell, is_current=is_current),
            )
            yield from _outside(f"the worker `{name}`", None, ceiling, rows, remedy)


def _certain(rows: Iterable[Row], project: Project) -> Iterator[Row]:
    """The rows without those of built-in toolsets whose configuration has a fault, which may have narrowed them."""
    faulty = {problem.at.path for problem in project.workspace.problems if problem.code in _OF_VALUES}
    for row in rows:
        use = row.path[-1].use
        if use is None or use.name not in builtin.NAMES or use.at.document.source.path not in faulty:
            yield row


_OF_VALUES = frozenset({"LDO102", "LDO103", "LDO104"})


def _rows_outside(analysis: Analysis) -> Callable[[Ceiling], int]:
    """The rows of all bounds that lie outside a ceiling, worked out once for all ceilings that are alike."""
    known: dict[tuple[Capability, ...], int] = {}

    def rows(ceiling: Ceiling) -> int:
        if (rows_outside := known.get(ceiling.capabilities)) is None:
            rows_outside = analysis.bounds.rows_where(lambda row: not _is_inside(ceiling, row))
            known[ceiling.capabilities] = rows_outside
        return rows_outside

    return rows


_DECLARE = (
    'say what its tools do, as in `metadata={"capabilities": [...]}` or below `capabilities` in its table, or remove '
    "an edge of the path"
)


def _remedy(row: Row, *, shell: ShellSettings, is_current: bool) -> str:
    """The hint about a row outside a ceiling."""
    name, capability = row.path[-1].name, row.capability
    if capability.name == f"x.{name}.any":
        return _DECLARE
    if name == "shell" and capability == EXEC and (rule := _unisolated(shell)):
        return (
            f'`{" ".join(rule.run)}` only reads where it is isolated: set `isolation = "require"` in [toolsets.shell], '
            f'or add "{capability}" to `may`'
        )
    if is_current:
        return f'add "{capability}" to its `may`, or remove an edge of the path'
    # Before tools are locked they count as what they might do at most: the first advice does not widen a ceiling.
    widen = f"add `{capability}` to `may`"
    unsure = "" if name in builtin.NAMES else "; what tools do is known for sure after `llmdo lock`"
    return f"remove an edge of the path, or {widen}{unsure}"


def _unisolated(shell: ShellSettings) -> ShellRule | None:
    """The first rule about what only reads in isolation, if isolation is all that rules lack to run nothing else."""
    if shell.isolation == "require" or any(rule.executes(isolated=True) == EXEC for rule in shell.rules):
        return None
    return next((rule for rule in shell.rules if rule.executes(isolated=False) == EXEC), None)


def _is_inside(ceiling: Ceiling, capability: Capability) -> bool:
    return ceiling.admits(capability) or capability.name in ONLY_BY_FULL_NAME


def _outside(
    who: str,
    entry: str | None,
    ceiling: Ceiling,
    rows: Iterable[Row],
    remedy: Callable[[Row], str],
) -> Iterator[Diagnostic]:
    for row in rows:
        if _is_inside(ceiling, row.capability) or row.decision == "blocked" or ceiling.at is None:
            continue
        yield finding(
            "LDO501",
            ceiling.at.location,
            f"{who} can reach `{row.capability}`{_elsewhere(row)} by {path_text(row.path)}, outside its ceiling",
            hint=remedy(row),
            related=edges(row.path),
            subject=entry,
            capability=str(row.capability),
            gated=row.decision != "allowed",
        )


def _elsewhere(row: Row) -> str:
    return " (beside the narrower scopes)" if row.elsewhere else ""


@reports("LDO502", "warning", acceptable=True)
def delegate_gain(project: Project) -> Iterator[Diagnostic]:
    """An entry without a ceiling gains a capability through a delegate.

    Its own worker does not have the capability; somebody it delegates to does. That may be the plan, or a
    confused deputy: whoever talks the first worker into a call uses the second one's power. Say what the entry may
    reach, there or in the `may` of its worker, and the next gain is an error.

    Fails:

        [entries.triage]
        worker = "triage"          # delegates to `releaser`, which runs commands

    Fixed:

        [entries.triage]
        worker = "triage"
        may = ["fs.read", "proc.exec"]
    """
    for entry in project.graph.entries.values():
        if entry.may is not None or entry.worker is None:
            continue
        worker = project.graph.workers.get(entry.worker.name)
        if worker is not None and worker.may is not None:  # which holds for all below it
            continue
        for gain in gains(project.analysis.of(entry)):
            if gain.first.use is None:
                continue
            path = gain.rows[0].path
            yield finding(
                "LDO502",
                gain.first.use.at.location,
                f"the entry `{entry.name}` gains {gain.names} only through `{gain.first.name}`: {path_text(path)}",
                hint=f"limit what it may reach: {_ceiling_of(entry)}",
                related=edges(path)[1:],
                subject=entry.name,
                gated=gain.is_gated,
            )


def _ceiling_of(entry: Entry) -> str:
    """The line to write for the ceiling of an entry: in its worker, where no table of the manifest declares it."""
    if entry.declared or entry.worker is None:
        return f"`may = [...]` in [entries.{entry.name}]"
    return f"`may: [...]` in the worker `{entry.worker.name}`"


@reports("LDO503", "warning", acceptable=True)
def dead_rule(project: Project) -> Iterator[Diagnostic]:
    """A rule that can never decide anything.

    It allows what a stricter rule always forbids, or what no tool of the workspace can raise. Either it is left
    over, or it does not say what its author thinks. A `blocked` rule that nothing raises today is a guard, and fine.

    Fails: the strictest rule wins, so the first line never decides.

        [approvals.rules]
        "fs.write:reports/**" = "allowed"
        "fs" = "blocked"

    Fixed:

        [approvals.rules]
        "fs.delete" = "blocked"
        "fs.write:reports/**" = "allowed"
    """
    graph = project.graph
    raised = _declared(project)
    for rule in graph.rules:
        if rule.decision != "allowed" or rule.at is None:
            continue
        stricter = next((other for other in graph.rules if _overrides(other, rule)), None)
        if stricter and stricter.at:
            yield finding(
                "LDO503",
                rule.at.location,
                f"`{rule.capability}` is never allowed: the stricter rule for `{stricter.capability}` always wins",
                related=[Related(stricter.at.location, "this rule covers it")],
            )
        elif not (
            project.gaps.contents
            or project.gaps.toolsets
            or any(
                rule.capability.touches(declared) or declared.touches(rule.capability) for declared in raised
            )
        ):
            yield finding(
                "LDO503",
                rule.at.location,
                f"no tool of this workspace can raise `{rule.capability}`, so this rule never decides",
                hint="remove it",
            )


def _declared(project: Project) -> set[Capability]:
    """What tools declare that workers, or the code of entries, call."""
    shapes = [shape for group in project.analysis.shapes.groups for shape in group.shapes]
    for entry in project.graph.entries.values():
        shapes += [shape for shape, _ in project.analysis.calls_of(entry)]
    return {capability for shape in shapes for capability in shape.declared}


def _overrides(other: Rule, rule: Rule) -> bool:
    return STRICTNESS[other.decision] > STRICTNESS[rule.decision] and other.capability.contains(
        rule.capability
    )


@reports("LDO504", "warning", acceptable=True)
def open_reach(project: Project) -> Iterator[Diagnostic]:
    """An entry with a ceiling reaches a program that runs without isolation.

    The ceiling limits what llmdo lets the program be called for. What the program itself does on this machine
    nobody limits. Set `isolation = "require"` for it, remove an edge of the path, or accept it with a reason.
    """
    opened = project.analysis.bounds.shapes_where(lambda shape: shape.assurance == "open")
    for entry in project.graph.entries.values():
        if entry.may is None or entry.may_at is None or not project.analysis.may_reach(entry, opened):
            continue
        rows = [
            row for row in project.analysis.of(entry) if row.decision != "blocked" and row.assurance == "open"
        ]
        if rows:  # a row shows the shortest path, which may end in something else that raises it as well
            path = min(rows, key=lambda row: assurance_of(project.graph, row.path[-1].name) != "open").path
            yield finding(
                "LDO504",
                entry.may_at.location,
                f"the ceiling of `{entry.name}` does not limit what `{path[-1].name}` itself does: "
                f"{path_text(path)}",
                related=edges(path),
                subject=entry.name,
            )


@reports("LDO505", "warning", acceptable=True)
def loosened_default(project: Project) -> Iterator[Diagnostic]:
    """The manifest makes something milder than it is built in.

    It replaces a built-in rule, or allows by default what no rule names. Both are legitimate, and both are how a
    repository that somebody else wrote would switch the questions off; so they are said. Remove the line, or
    accept the finding with a reason.

    Fails:

        [approvals]
        default = "allowed"
    """
    graph = project.graph
    document = project.workspace.document
    if graph.settings.default == "allowed":
        yield finding(
            "LDO505",
            document.value("approvals", "default"),
            "whatever no rule names is allowed without a question",
            hint="leave `default` out, and allow by name what has to be allowed",
        )
    built_in = {rule.capability.name: rule.decision for rule in BUILT_IN}
    for rule in graph.rules:
        before = built_in.get(rule.capability.name) if rule.capability.is_everywhere else None
        if before and rule.at and STRICTNESS[rule.decision] < STRICTNESS[before]:
            yield finding(
                "LDO505",
                rule.at.location,
                f"`{rule.capability}` is `{before}` by the built-in rules, and this makes it `{rule.decision}`",
            )


@reports("LDO506", "warning", acceptable=True)
def block_without_ceiling(project: Project) -> Iterator[Diagnostic]:
    """A worker blocks for itself what its delegates can do.

    `approvals` of a worker govern its own calls. A delegate has its own; only `may` holds for everything below.

    Fails: `main` delegates to `writer`, which writes.

        name: main
        approvals: { fs.write: blocked }

    Fixed:

        name: main
        may: [fs.read, fs.list]
    """
    for name, worker in project.graph.workers.items():
        blocked = [rule for rule in worker.approvals if rule.decision == "blocked"]
        # An agent of another tool has no file of ours: there such a rule is how one may delegate what it may not do.
        if not blocked or worker.may is not None or worker.format:
            continue
        rows = [
            row for row in project.analysis.of_worker(name) if row.decision != "blocked" and len(row.path) > 2
        ]
        for rule in blocked:
            row = next((row for row in rows if rule.capability.touches(row.capability)), None)
            if row and rule.at:
                yield finding(
                    "LDO506",
                    rule.at.location,
                    f"`{name}` blocks `{rule.capability}` for itself, and reaches it through `{row.path[1].name}`",
                    hint="a worker's rules govern its own calls: use `may` for everything below it",
                    related=edges(row.path),
                )


@reports("LDO507", "warning", acceptable=True)
def tool_never_runs(project: Project) -> Iterator[Diagnostic]:
    """A tool whose every call is blocked.

    Its model is not even shown it, unless its toolset has `get_capabilities`, by which a call may raise nothing.
    Allow what it needs, or take it away.
    """
    graph = project.graph
    suspected = _may_never_run(project.analysis)
    groups = project.analysis.shapes.by_node
    for worker, numbers in zip(graph.workers.values(), groups, strict=True):
        if not numbers or not suspected(worker.name, numbers):
            continue
        authority = project.analysis.authority(NO_LAYER, [project.analysis.layer(worker.name)])
        for use in worker.uses:
            for tool in tools_of(graph, worker, use).values():
                if reason := _always_blocked(tool, authority, project):
                    subject = (
                        f"the tool `{tool.name}` of `{use.name}`"
                        if tool.name != use.name
                        else f"`{use.name}`"
                    )
                    yield finding(
                        "LDO507", use.at.location, f"`{worker.name}` can never call {subject}: {reason}"
                    )


def _may_never_run(analysis: Analysis) -> Callable[[str, tuple[int, ...]], bool]:
    """Whether a worker may have a tool whose every call is blocked, worked out once for workers alike."""
    shapes, ceilings = analysis.shapes, analysis.ceilings
    by_group: dict[tuple[int, tuple[Capability, ...] | None], bool] = {}
    by_groups: dict[tuple[tuple[int, ...], tuple[Capability, ...] | None], bool] = {}

    def may_never_run(number: int, ceiling: Ceiling | None) -> bool:
        group = shapes.groups[number]
        runs = {
            shape.declared
            for shape in group.shapes
            if analysis.verdict(shape, group.own).decision != "blocked"
            and (ceiling is None or analysis.admits(ceiling, shape.raised))
        }
        return any(shape.declared not in runs for shape in group.shapes)

    def of_group(number: int, ceiling: Ceiling | None) -> bool:
        key = (number, ceiling.capabilities if ceiling else None)
        if (suspected := by_group.get(key)) is None:
            suspected = by_group[key] = may_never_run(number, ceiling)
        return suspected

    def answer(name: str, numbers: tuple[int, ...]) -> bool:
        ceiling = ceilings.get(name)
        key = (numbers, ceiling.capabilities if ceiling else None)
        if (suspected := by_groups.get(key)) is None:
            suspected = by_groups[key] = any(of_group(number, ceiling) for number in numbers)
        return suspected

    return answer


def _always_blocked(tool: Tool, authority: Authority, project: Project) -> Reason | None:
    """Why every call of `tool` is blocked; None where some call may not be."""
    singles = [[capability] for capability in tool.capabilities] if tool.hook else [list(tool.capabilities)]
    verdicts = [decide(raised, tool.capabilities, authority) for raised in singles if raised]
    if not verdicts or _scoped(tool.capabilities, project):
        return None
    return verdicts[0].reasons[0] if all(verdict.decision == "blocked" for verdict in verdicts) else None


def _scoped(capabilities: Iterable[Capability], project: Project) -> bool:
    """Whether somebody wrote a scope within one of `capabilities`: some calls may be decided otherwise."""
    written = project.analysis.written
    return any(scoped.covers_name(capability.name) for capability in capabilities for scoped in written)


@reports("LDO510", "warning", acceptable=True)
def private_data_way_out(project: Project) -> Iterator[Diagnostic]:
    """Private data, untrusted input and a way out come together in one tree.

    Whoever writes the untrusted input can ask for the private data to be sent away; delegation carries text both
    ways, so it does not help that the three are with different workers. Take one of them away, or say why it is
    fine:

        [[check.accept]]
        code = "LDO510"
        entry = "nightly"
        reason = "the evaluator only sees decks that we wrote"

    With `gated = true` the acceptance holds only as long as somebody is asked on the way out.

    A way out that a flow rule asks about once the other two were read does not count, as of the preset `rule-of-two`.
    """
    leak_of = leaks(project.analysis)
    for entry in project.graph.entries.values():
        if leak := leak_of(entry):
            yield finding(
                "LDO510",
                entry.at.location,
                f"the entry `{entry.name}` reaches private data, untrusted input and a way out",
                hint='have a flow rule ask (`preset = "rule-of-two"` in [flows]), take one of them away, or accept it '
                "with a reason: [[check.accept]]",
                related=leak.related(),
                subject=entry.name,
                gated=leak.is_gated,
            )
