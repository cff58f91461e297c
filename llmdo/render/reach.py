"""What entries can reach, as a table for people, as Markdown and as JSON; and why."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from llmdo.diagnostic import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llmdo.reach import Depth, Hop, Row
    from llmdo.suggest import Suggestion

HEADINGS = ("capability", "decision", "nothing asks", "assurance", "path")


def text(entry: str, depth: Depth, rows: Sequence[Row]) -> str:
    """The reach of one entry: a line a capability, what is blocked at the end."""
    return f"{shown(entry)}: depth {depth}\n{table(rows)}"


def table(rows: Sequence[Row]) -> str:
    """A line a capability, what is blocked at the end."""
    lines = []
    cells_of = [HEADINGS, *(_cells(row) for row in sorted(rows, key=lambda row: row.decision == "blocked"))]
    widths = [max(len(cells[column]) for cells in cells_of) for column in range(len(HEADINGS) - 1)]
    for cells in cells_of:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
        lines.append("  " + "  ".join([*padded, cells[-1]]))
    if not rows:
        lines = ["  nothing"]
    return "\n".join(lines) + "\n"


def _cells(row: Row) -> tuple[str, ...]:
    free = "yes" if row.free is not None else "" if row.decision == "blocked" else "no"
    return (capability(row), row.decision, free, row.assurance, path(row))


def capability(row: Row) -> str:
    """The capability of a row; `elsewhere` where narrower scopes have rows of their own."""
    return f"{row.capability}{' elsewhere' if row.elsewhere else ''}"


def path(row: Row) -> str:
    """The path of a row in words, the tool at its end."""
    names = " > ".join(shown(hop.name) for hop in row.path)
    return names if row.tool in (row.path[-1].name, "*", "(start)") else f"{names} ({shown(row.tool)})"


def markdown(entry: str, depth: Depth, rows: Sequence[Row]) -> str:
    """The reach of one entry as a Markdown section."""
    lines = [
        f"### `{entry}`",
        "",
        f"Depth {depth}.",
        "",
        f"| {' | '.join(HEADINGS)} |",
        "|" + " --- |" * len(HEADINGS),
    ]
    for row in rows:
        first, decision, free, assurance, last = _cells(row)
        lines.append(f"| `{first}` | {decision} | {free} | {assurance} | {_escaped(last)} |")
    return "\n".join(lines) + "\n"


def _escaped(words: str) -> str:
    return words.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("`", "\\`")


def to_json(entries: Iterable[tuple[str, Depth, Sequence[Row]]], read_from: str | None = None) -> str:
    """The reach of entries in the form `llmdo.reach/1`; of a foreign project with its format."""
    document = {
        "schema": "llmdo.reach/1",
        **({"read_from": read_from, "enforced": False} if read_from else {}),
        "entries": [
            {"name": name, "depth": str(depth), "rows": [row_data(row) for row in rows]}
            for name, depth, rows in entries
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def row_data(row: Row) -> dict[str, Any]:
    """A row as JSON data."""
    return {
        "capability": row.capability.name,
        "scope": row.capability.scope,
        "elsewhere": row.elsewhere,
        "decision": row.decision,
        "nothing_asks": row.free is not None,
        "assurance": row.assurance,
        "tool": row.tool,
        "path": [hop_data(hop) for hop in row.path],
        "free_path": None if row.free is None else [hop_data(hop) for hop in row.free],
        "reasons": [str(reason) for reason in row.reasons],
    }


def hop_data(hop: Hop) -> dict[str, Any]:
    """A step of a path as JSON data, with the place that allows it."""
    at = hop.use.at.location if hop.use else None
    span = at.span if at else None
    return {
        "name": hop.name,
        "decision": hop.decision,
        "path": at.path if at else None,
        "line": span.line if span else None,
        "column": span.column if span else None,
    }


def why(row: Row) -> str:
    """Why a row is as it is: its path with the place of each edge, its gates, and what decided."""
    lines = [f"{capability(row)}: {row.decision}, {row.assurance}", *steps(row.path)]
    lines += [f"    {shown(str(reason))}" for reason in row.reasons]
    if row.free is not None and row.free != row.path:
        lines += ["  nothing asks on", *steps(row.free)]
    return "\n".join(lines) + "\n"


def steps(hops: Sequence[Hop]) -> list[str]:
    """A line for each step of a path, with file and line of what allows it."""
    lines = []
    for number, hop in enumerate(hops):
        at = hop.use.at.location if hop.use else None
        place = f"  {at.path}:{at.span.line}:{at.span.column}" if at and at.span else ""
        gate = {"allowed": "", "needs_approval": "  (asks)", "blocked": "  (blocked)"}[hop.decision]
        lines.append(f"  {'> ' if number else ''}{shown(hop.name)}{gate}{place}")
    return lines


def suggestion(one: Suggestion) -> str:
    """A suggestion as lines of a manifest."""
    lines = [f"[entries.{one.entry}]", f"may = [{', '.join(json.dumps(str(each)) for each in one.may)}]"]
    if one.cut:
        lines.append(f"# left out, for it needs its full name: {', '.join(map(str, one.cut))}")
    if one.rules:
        lines += ["", "# these ask now; only what nobody has to see belongs here", "[approvals.rules]"]
        lines += [f'"{each}" = "allowed"' for each in one.rules]
    return "\n".join(lines) + "\n"
