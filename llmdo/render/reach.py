"""The reach of entries, as a table for people, as Markdown and as JSON; and why."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.base.colour import PAPER
from llmdo.base.diagnostic import shown
from llmdo.base.team_words import lines_for
from llmdo.foreign import not_enforced
from llmdo.graph.start import Start
from llmdo.graph.toolkit import ANY
from llmdo.policy.vocabulary import danger
from llmdo.reach import Hop, Row
from llmdo.reach.flows import STRANGERS
from llmdo.render.amounts import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.base.colour import Screen, Shade
    from llmdo.base.jsonable import Shapes
    from llmdo.graph.enforcement import Enforcement
    from llmdo.policy.authority import Capability
    from llmdo.policy.vocabulary import Danger, Decision
    from llmdo.reach import Depth
    from llmdo.reach.paths import CallPath
    from llmdo.reach.suggest import Suggestion, UsedCeiling
    from llmdo.services.reach import WhyOutcome

UNKNOWN = "unknown"
"""The word for a decision that nobody knows yet."""

HEADINGS = ("capability", "decision", "assurance", "path")

SHADES: dict[Danger, Shade] = {"high": "bad", "medium": "asks", "low": "good", "none": "dim"}
"""Colour says danger, not permission: what is allowed is not good for that."""
BELOW = " " * 6
_WORDS: dict[Decision, str] = {
    "allowed": "allowed without approval",
    "needs_approval": "needs approval",
    "blocked": "blocked",
}


def text(
    entry: str, depth: Depth, rows: Sequence[Row], screen: Screen = PAPER, files_of: str | None = None
) -> str:
    """The reach of one entry: a line a capability, the worst first; `files_of` is the folder that tools work on."""
    where = f", {files(files_of)}" if files_of else ""
    return f"{screen.paint('strong', shown(entry))}: depth {depth}{where}\n{table(rows, screen)}"


def obedience(enforcement: Enforcement | None) -> str:
    """How far decisions are obeyed, for an entry that another tool runs; empty for ours."""
    if enforcement is None:
        return ""
    lines = [f"  {not_enforced(enforcement.format)} until `llmdo hook` is installed; it then decides about"]
    lines += _tools_of(enforcement.asked) or ["    nothing"]
    if enforcement.unasked:
        lines += ["  and never about what that tool does unasked:", *_tools_of(enforcement.unasked)]
    return "\n".join(lines) + "\n"


def _tools_of(agents: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"    {shown(agent)}: {', '.join(map(shown, tools))}" for agent, tools in agents.items()]


def files(folder: str) -> str:
    """Whose files are meant, if they are not those of the workspace."""
    return f"files of `{shown(folder)}`"


def table(rows: Sequence[Row], screen: Screen = PAPER) -> str:
    """A line a capability, the worst first; if the screen is too narrow for that, the path below each."""
    if not rows:
        return "  nothing\n"
    cells_of = [tuple(map(shown, cells)) for cells in (HEADINGS, *map(_cells, rows))]
    widths = [max(len(cells[column]) for cells in cells_of) for column in range(len(HEADINGS) - 1)]
    longest = 2 + sum(width + 2 for width in widths) + max(len(cells[-1]) for cells in cells_of)
    is_folded = screen.columns is not None and longest > screen.columns
    lines = []
    for number, (*front, way) in enumerate(cells_of):
        shade: Shade = SHADES[row_danger(rows[number - 1])] if number else "dim"
        shades: tuple[Shade, ...] = ("strong", shade, "dim") if number else ("dim", "dim", "dim")
        padded = [cell.ljust(width) for cell, width in zip(front, widths, strict=True)]
        start = "  " + "  ".join(
            screen.paint(shade, cell) for shade, cell in zip(shades, padded, strict=True)
        )
        if is_folded and screen.columns:
            lines += [start, *(f"{BELOW}{line}" for line in folded(way, screen.columns - len(BELOW)))]
        else:
            lines.append(f"{start}  {way}")
    return "\n".join(lines) + "\n"


def folded(path: str, room: int) -> Iterator[str]:
    """A path in lines of at most `room` columns, broken between its steps; a longer step has its own."""
    line = ""
    for step in path.split(" > "):
        longer = f"{line} > {step}" if line else step
        if line and len(longer) > room:
            yield line
            longer = f"> {step}"
        line = longer
    yield line


def _cells(row: Row) -> tuple[str, str, str, str]:
    if row.is_unseen:
        return (capability(row), UNKNOWN, UNKNOWN, path(row))
    return (capability(row), row.decision, row.assurance, path(row))


def row_danger(row: Row) -> Danger:
    """The danger of a row; medium for one that nobody knows yet."""
    return "medium" if row.is_unseen else danger(row.capability.name, row.decision)


def worst_danger(rows: Iterable[Row]) -> Danger:
    """The highest danger of any of the rows; `none` if there are none."""
    return min(map(row_danger, rows), key=[*SHADES].index, default="none")


def capability(row: Row) -> str:
    """The capability of a row; `elsewhere` if narrower scopes have rows of their own."""
    return f"{row.capability}{' elsewhere' if row.elsewhere else ''}"


def path(row: Row) -> str:
    """The path of a row in words, the tool at its end."""
    return " > ".join(shown(hop.name) for hop in row.path) + tool_suffix(row)


def tool_suffix(row: Row) -> str:
    """The part of the path's last thing that raises the capability, in words that follow its name."""
    if row.is_attachment:
        return " (attachment)"
    if row.is_unseen:
        return f" {ANY}"
    return "" if row.tool in (row.path[-1].name, "*", "(start)") else f" ({shown(row.tool)})"


def markdown(entry: str, depth: Depth, rows: Sequence[Row], files_of: str | None = None) -> str:
    """The reach of one entry as a Markdown section."""
    where = f", {files(files_of)}" if files_of else ""
    lines = [
        f"### `{entry}`",
        "",
        f"Depth {depth}{where}.",
        "",
        f"| {' | '.join(HEADINGS)} |",
        "|" + " --- |" * len(HEADINGS),
    ]
    for row in rows:
        first, decision, assurance, last = _cells(row)
        lines.append(f"| `{first}` | {decision} | {assurance} | {_escaped(last)} |")
    return "\n".join(lines) + "\n"


def _escaped(words: str) -> str:
    return words.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("`", "\\`")


def row_data(row: Row) -> dict[str, object]:
    """A row of reach as keys of JSON."""
    return {**call_data(row), "path": row.path, "reasons": row.reasons}


def call_data(row: Row) -> dict[str, object]:
    """The call of a row as keys of JSON, without the way to it."""
    return {
        **row.capability.keys(),
        "elsewhere": row.elsewhere,
        "decision": UNKNOWN if row.is_unseen else row.decision,
        "assurance": UNKNOWN if row.is_unseen else row.assurance,
        "tool": row.tool,
        "attachment": row.is_attachment,
    }


def hop_data(hop: Hop, folder: str = "") -> dict[str, object]:
    """A step of a path as keys of JSON, with the place that allows it, prefixed with `folder`."""
    at = hop.use.at.location if hop.use else None
    span = at.span if at else None
    return {
        "name": hop.name,
        "decision": hop.decision,
        "path": f"{folder}{at.path}" if at else None,
        "line": span.line if span else None,
        "column": span.column if span else None,
    }


def start_data(start: Start) -> dict[str, object]:
    """A start of an entry as keys of JSON."""
    span = start.at.location.span
    return {
        "event": start.event,
        "by": start.by,
        "path": start.at.location.path,
        "line": span.line if span else None,
        "column": span.column if span else None,
    }


SHAPES: Shapes = {Row: row_data, Hop: hop_data, Start: start_data}
"""The JSON of rows, most of which is worked out and not in fields, and of their paths."""


def why(row: Row) -> str:
    """The reasons of a row: its path with the place of each edge, its gates, and what decided."""
    lines = [f"{shown(capability(row))}: {_WORDS[row.decision]}; assurance: {row.assurance}"]
    if row.is_unseen:
        lines = [f"{shown(capability(row))}: not known before `llmdo lock` has seen what the tools do"]
    if len(row.path) == 1 and row.path[0].use is None:
        lines = [f"{shown(row.tool)}: started without a call"]
    lines += [
        *steps(row.path, tool_suffix(row)),
        *(f"  because {shown(str(reason))}" for reason in row.reasons),
    ]
    return "\n".join(lines) + "\n"


def reasons(outcome: WhyOutcome) -> str:
    """The way of each asked worker or entry to the target, and every path if those were asked for."""
    blocks = [f"{not_enforced(outcome.read_from)}\n"] if outcome.read_from else []
    blocks += [f"{files(outcome.files_of)}\n"] if outcome.files_of and outcome.reasons else []
    for reason in outcome.reasons:
        block = "\n".join(map(why, reason.rows))
        blocks.append(f"{block}\n{all_paths(reason.paths)}" if reason.paths else block)
    return "\n".join(blocks)


def all_paths(paths: Sequence[CallPath]) -> str:
    """Every path to a capability, each with its decision, and with file and line of each step's permission."""
    heading = f"all {len(paths)} paths, shortest first" if len(paths) != 1 else "the only path"
    blocks = [
        "\n".join(
            [f"{_WORDS[path.decision]}:", *steps(path.hops, " (attachment)" if path.is_attachment else "")]
        )
        for path in paths
    ]
    return f"{heading}:\n\n" + "\n\n".join(blocks) + "\n"


def steps(hops: Sequence[Hop], end: str) -> list[str]:
    """A line for each step of a path, with file and line of its permission; `end` follows the last name."""
    names = []
    for number, hop in enumerate(hops):
        gate = "" if hop.decision == "allowed" else f" ({_WORDS[hop.decision]})"
        last = end if number == len(hops) - 1 else ""
        names.append(f"  {'> ' if number else ''}{shown(hop.name)}{last}{gate}")
    width = max(map(len, names), default=0)
    return [
        f"{name.ljust(width)}  {place}" if (place := _place(hop)) else name
        for name, hop in zip(names, hops, strict=True)
    ]


def _place(hop: Hop) -> str:
    at = hop.use.at.location if hop.use else None
    return f"{at.path}:{at.span.line}:{at.span.column}" if at and at.span else ""


def suggestion(suggested: Suggestion) -> str:
    """A suggestion as lines of its manifest."""
    lines = [f"[entries.{suggested.entry}]"]
    if suggested.worker is not None:
        lines.append(f"worker = {_quoted(suggested.worker)}")
    lines.append(f"may = [{', '.join(_quoted(str(each)) for each in suggested.may)}]")
    if suggested.flows:
        rules = [_quoted(f"{STRANGERS} -> {each}") + ' = "needs_approval"' for each in suggested.flows]
        lines.append(f"flows = {{ {', '.join(rules)} }}")
        lines.append(
            "# the flows ask about what nobody is asked about now, once a stranger's words were read"
        )
    if suggested.cut:
        names = ", ".join(_quoted(str(each)) for each in suggested.cut)
        lines.append(f"# blocked by this ceiling, unless it names them: {names}")
    if suggested.rules:
        lines += ["", "# these ask now; only what nobody has to see belongs here", "[approvals.rules]"]
        lines += [f'{_quoted(str(each))} = "allowed"' for each in suggested.rules]
    lines += _accepted(suggested.entry, suggested.outside, counted(suggested.runs, "run"))
    if suggested.runs:
        lines += ["", f"# in {counted(suggested.runs, 'run')}, each worker with those that it called used"]
        for name, may in suggested.workers:
            lines.append(f"# {shown(name)}: may = [{', '.join(_quoted(str(each)) for each in may)}]")
        lines += [
            f"# decided nothing in {counted(number, 'run')}: {shown(str(rule))} ({shown(rule.place)})"
            for rule, number in suggested.idle
        ]
        lines += [
            f"# admitted by the ceiling of {shown(owner)}, and never used: {shown(_quoted(str(grant)))}"
            for owner, grant in suggested.unused
        ]
    return "\n".join(lines_for(suggested.manifest, lines)) + "\n"


def _accepted(entry: str, outside: Iterable[Capability], where: str) -> Iterator[str]:
    """The acceptances of what a ceiling cuts off from an entry."""
    for each in outside:
        yield from ("", "[[check.accept]]", 'code = "LDO501"', f"entry = {_quoted(entry)}")
        yield f"capability = {_quoted(str(each))}"
        yield f'reason = "nothing in {where} needed it, and the ceiling cuts it off"'


def used_ceiling(ceiling: UsedCeiling) -> str:
    """A ceiling for what sessions used, as lines of a manifest."""
    table, _, name = ceiling.table.partition(".")
    lines = [f"[{table}.{name if name.replace('-', '').isalnum() else _quoted(name)}]"]
    lines.append(f"may = [{_listed(ceiling.may)}]")
    if ceiling.granted is not None:
        lines.append(f"# instead of: may = [{_listed(ceiling.granted)}]")
    rests = f"{counted(ceiling.calls, 'call')} of its own in {counted(ceiling.sessions, 'session')}"
    lines.append(f"# rests on {rests}, and on what it called")
    lines += [f"# {_quoted(str(each))} stands for {number:,} scopes" for each, number in ceiling.whole]
    if ceiling.cut:
        lines.append(f"# used, and blocked by this ceiling unless it names them: {_listed(ceiling.cut)}")
    if ceiling.unused:
        lines.append(f"# granted, and never used: {_listed(ceiling.unused)}")
    if ceiling.refused:
        lines.append(f"# used, and blocked now, so left out: {_listed(ceiling.refused)}")
    lines += _accepted(name, ceiling.outside, counted(ceiling.sessions, "session"))
    return "\n".join(lines) + "\n"


def _listed(capabilities: Iterable[Capability]) -> str:
    return ", ".join(_quoted(str(each)) for each in capabilities)


def _quoted(text: str) -> str:
    """`text` as a string of TOML, which forbids one character that JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
