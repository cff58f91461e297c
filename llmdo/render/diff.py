"""A difference as text, as JSON, and as Markdown for a pull request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from llmdo.base import parts
from llmdo.base.diagnostic import shown
from llmdo.foreign import not_enforced
from llmdo.render.reach import row_data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from llmdo.base.diagnostic import LlmdoError
    from llmdo.base.values import Json
    from llmdo.diff import Change, Difference, EntryDifference, HandEdit, RowChange
    from llmdo.graph.settings import Acceptance
    from llmdo.reach import Hop
    from llmdo.services.diff import DiffOutcome, Sides

    Quote = Callable[[str], str]
    """How a name that somebody else chose is set apart from our words."""

MARKS = {"widens": "+", "narrows": "-", "none": "~"}
_ORDER = ("widened", "narrowed", "changed", "same")
_SUBJECTS = {
    "rules": "rule",
    "paths": "path map",
    "model": "model alias",
    "python-model": "model",
    "schema-source": "schema",
    "module": "toolset module",
}
_UNLIMITED = frozenset({"may", "suffixes", "compatible-models"})
"""Lists whose absence is not the same as an empty one."""

MAX_NAMES = 5  # of those whom one fact concerns: JSON has them all
MAX_VALUE = 200  # characters of a text such as an input
MAX_ROWS = 200  # of one table in Markdown: a pull request shows no more than 64 KiB


def rendered(outcome: DiffOutcome, form: Literal["text", "json", "markdown"]) -> str:
    """The difference in a format."""
    write = {"text": text, "json": to_json, "markdown": markdown}[form]
    return write(outcome.difference, outcome.sides)


def text(difference: Difference, sides: Sides | None = None) -> str:
    """Entry by entry what it can do otherwise, with the place of each edge; then all other facts that differ."""
    lines = [not_enforced(sides.read_from)] if sides and sides.read_from else []
    for entry in _sorted(difference):
        verdict = "WIDENED" if entry.verdict == "widened" else entry.verdict
        status = "" if entry.status == "kept" else f" ({entry.status})"
        lines.append(f"{shown(entry.name)}: {verdict}{status}")
        lines.extend(_rows(entry.rows))
        lines.extend(map(_fact, _own(difference, entry)))
    if rest := _rest(difference):
        lines += ["also:", *map(_fact, rest)]
    title = "note: a library changed" if difference.is_lock_checked else "error: the lock was edited by hand"
    lines += [f"{title}: {hand_edit(edit, _ticks)}" for edit in difference.hand_edits]
    if difference.hand_edits and not difference.is_lock_checked:
        lines.append(
            "  hint: a library that changed looks the same: where `llmdo lock --check` passes, say `--lock-checked`"
        )
    lines.append(f"verdict: {verdict_words(difference)}")
    return "\n".join(lines) + "\n"


def verdict_words(difference: Difference) -> str:
    """The verdict, and whether people have accepted it."""
    accepted = difference.verdict == "widened" and difference.is_accepted
    return f"{difference.verdict}{', all of it accepted' if accepted else ''}"


def _sorted(difference: Difference) -> list[EntryDifference]:
    return sorted(difference.entries, key=lambda entry: (_ORDER.index(entry.verdict), entry.name))


def _own(difference: Difference, entry: EntryDifference) -> Iterator[Change]:
    return (change for change in difference.changes if change.route[:2] == ("entry", entry.name))


def _rest(difference: Difference) -> list[Change]:
    return [change for change in difference.changes if change.route[0] != "entry"]


def _fact(change: Change) -> str:
    return f"  {MARKS[change.effect]} {phrase(change, _ticks)}{_accepted(change.accepted)}"


def _rows(rows: Sequence[RowChange]) -> Iterator[str]:
    table = [(capability(row), decision(row), path(row)) for row in rows]
    widths = [max((len(cells[column]) for cells in table), default=0) for column in (0, 1)]
    for row, cells in zip(rows, table, strict=True):
        padded = "   ".join(
            (*(cell.ljust(width) for cell, width in zip(cells, widths, strict=False)), cells[2])
        )
        yield f"  {MARKS[row.effect]} {padded}{_accepted(row.accepted)}"
        if row.kind in ("gained", "gate removed"):
            steps = list(edges(row))
            width = max((len(place) for place, _ in steps), default=0)
            yield from (f"      {place.ljust(width)}   {words}" for place, words in steps)


def capability(change: RowChange) -> str:
    """The capability of a row; `elsewhere` where narrower scopes changed otherwise."""
    return shown(f"{change.capability}{' elsewhere' if change.elsewhere else ''}")


def decision(change: RowChange) -> str:
    """How a row changed, in words."""
    before, after = change.before, change.after
    match change.kind:
        case "gained":
            return "allowed without approval" if after and after.decision == "allowed" else "needs approval"
        case "lost":
            return "blocked now" if after else "no longer reached"
        case "gate removed":
            return "no longer needs approval"
        case "gate added":
            return "needs approval now"
    weaker = f"{after.assurance if after else ''} now, {before.assurance if before else ''} before"
    return f"assurance: {weaker}"


def path(change: RowChange) -> str:
    """The path of a row in words: the old one where it is lost."""
    return " > ".join(shown(hop.name) for hop in _hops(change))


def _hops(change: RowChange) -> Sequence[Hop]:
    row = change.before if change.kind == "lost" else change.after
    return row.path if row else ()


def edges(change: RowChange) -> Iterator[tuple[str, str]]:
    """The place of each edge on a row's path, and what stands there."""
    hops = _hops(change)
    for number, hop in enumerate(hops):
        if hop.use is None:
            continue
        at = hop.use.at.location
        place = f"{at.path}:{at.span.line}:{at.span.column}" if at.span else at.path
        is_worker = number < len(hops) - 1 or _is_delegation(change)
        verb = "delegates to" if is_worker else "uses"
        yield shown(place), f"{shown(hops[number - 1].name)} {verb} {shown(hop.name)}"


def _is_delegation(change: RowChange) -> bool:
    """Whether the last hop of a row's path is a worker that is called, or handed a file."""
    return change.after is not None and not change.after.shape.toolset


def phrase(change: Change, quote: Quote) -> str:
    """A fact that differs, in one line."""
    kind, *names = change.route
    subject = _SUBJECTS.get(kind, kind)
    item = names[:1] if kind not in ("settings", "accept") else []
    rest = names[len(item) :]
    if kind == "toolset" and rest[:1] == ["tool"] and len(rest) > 1:
        subject, item, rest = "tool", [f"{names[0]}.{rest[1]}"], rest[2:]
    words = " ".join([subject, *map(quote, item), *map(quote, rest)])
    return f"{words}{_values(change, quote)}{_concerned(change, quote)}"


def _concerned(change: Change, quote: Quote) -> str:
    if change.route[0] == "entry":
        return ""
    sides = (("used by", change.workers), ("reached by", change.entries))
    words = [f"{verb} {_some(names, quote)}" for verb, names in sides if names]
    return f" ({', '.join(words)})" if words else ""


def _some(names: Sequence[str], quote: Quote) -> str:
    more = [f"{len(names) - MAX_NAMES} more"] if len(names) > MAX_NAMES else []
    return " and ".join([*map(quote, names[:MAX_NAMES]), *more])


def hand_edit(edit: HandEdit, quote: Quote) -> str:
    """A fact that changed without its source, in one line."""
    tool = f"tool {quote(edit.tool)} of " if edit.tool else ""
    return f"{tool}toolset {quote(edit.toolset)}: {edit.fact}, and its source is the same"


def _values(change: Change, quote: Quote) -> str:
    before, after = change.before, change.after
    if isinstance(before, dict) or isinstance(after, dict):
        return " is new" if before is None else " is gone"
    if isinstance(before, list) or isinstance(after, list):
        absence = " (there was none)" if before is None else " (there is none now)" if after is None else ""
        return f": {_items(before, after, quote)}{absence if change.route[-1] in _UNLIMITED else ''}"
    if any(isinstance(value, str) and value.startswith("sha256:") for value in (before, after)):
        return " changed" if before and after else " is new" if after else " is gone"
    old, new = (quote(_cut(_item(value))) for value in (before, after))
    if before is None:
        return f": {new}"
    return f": gone, it was {old}" if after is None else f": {new}, it was {old}"


def _items(before: Json, after: Json, quote: Quote) -> str:
    old, new = ([_item(item) for item in parts.items(side)] for side in (before, after))
    words = [f"+{quote(item)}" for item in new if item not in old]
    words += [f"-{quote(item)}" for item in old if item not in new]
    return " ".join(words) or "another order"


def _item(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(value: str) -> str:
    return value if len(value) <= MAX_VALUE else f"{value[:MAX_VALUE]}… ({len(value)} characters)"


def _ticks(name: str) -> str:
    return f"`{shown(name)}`"


def _accepted(acceptance: Acceptance | None) -> str:
    return f"   accepted: {shown(acceptance.reason)}" if acceptance else ""


def code(words: str) -> str:
    r"""`words` as Markdown code that no text can leave: what could is spelled out, such as `\u{60}`."""
    spelled = shown(words).replace("`", "\\u{60}").replace("|", "\\u{7c}")
    return f"`{spelled}`" if spelled.strip() else "`\\u{20}`"


def markdown(difference: Difference, sides: Sides) -> str:
    """A headline, a table for each entry that was widened, and the rest folded away."""
    lines = [f"### llmdo: {verdict_words(difference)}", ""]
    if sides.read_from:
        lines += [f"{not_enforced(sides.read_from).capitalize()}.", ""]
    if not sides.has_baseline:
        what = "nothing of it" if sides.read_from else "no lock"
        lines += [f"{code(sides.before)} has {what}: there is no baseline, so everything is new.", ""]
    else:
        lines += [f"{code(sides.after)} against {code(sides.before)}.", ""]
    title = "A library changed" if difference.is_lock_checked else "The lock was edited by hand"
    for edit in difference.hand_edits:
        lines += [f"**{title}:** {hand_edit(edit, code)}", ""]
    widened = [entry for entry in _sorted(difference) if entry.verdict == "widened"]
    for entry in widened:
        lines += [f"#### {code(entry.name)}: widened", "", *_table(entry.rows), ""]
    facts = [change for change in difference.changes if change.effect == "widens"]
    lines += _listed(facts)
    others = [entry for entry in _sorted(difference) if entry.verdict != "widened"]
    quiet = [change for change in difference.changes if change.effect != "widens"]
    if others or quiet:
        lines += ["<details>", f"<summary>{_count(others, 'other entry', 'other entries')}, "]
        lines[-1] += f"{_count(quiet, 'other change', 'other changes')}</summary>"
        lines += ["", *(f"* {code(entry.name)}: {entry.verdict}" for entry in others), ""]
        for entry in others:
            if entry.rows:
                lines += [f"#### {code(entry.name)}: {entry.verdict}", "", *_table(entry.rows), ""]
        lines += [*_listed(quiet), "</details>"]
    return "\n".join(lines).rstrip("\n") + "\n"


def _table(rows: Sequence[RowChange]) -> Iterator[str]:
    if not rows:
        return
    yield "| | capability | decision | path | edges |"
    yield "| --- | --- | --- | --- | --- |"
    for row in rows[:MAX_ROWS]:
        where = "<br>".join(code(f"{place} {words}") for place, words in edges(row))
        accepted = f"; accepted: {code(row.accepted.reason)}" if row.accepted else ""
        shown_edges = where if row.effect == "widens" else ""
        cells = (code(capability(row)), decision(row) + accepted, code(path(row)), shown_edges)
        yield f"| {MARKS[row.effect]} | {' | '.join(cells)} |"
    if len(rows) > MAX_ROWS:
        yield f"\nand {len(rows) - MAX_ROWS} more: `llmdo diff` shows them"


def _listed(changes: Sequence[Change]) -> list[str]:
    lines = []
    for change in changes[:MAX_ROWS]:
        accepted = f"; accepted: {code(change.accepted.reason)}" if change.accepted else ""
        lines.append(f"* {code(MARKS[change.effect])} {phrase(change, code)}{accepted}")
    if len(changes) > MAX_ROWS:
        lines.append(f"* and {len(changes) - MAX_ROWS} more: `llmdo diff` shows them")
    return [*lines, ""] if lines else []


def _count(items: Sequence[object], single: str, many: str) -> str:
    return f"{len(items)} {single if len(items) == 1 else many}"


def to_json(difference: Difference, sides: Sides) -> str:
    """The difference in the form `llmdo.diff/1`."""
    document = {
        "schema": "llmdo.diff/1",
        "status": "compared",
        **({"read_from": sides.read_from, "enforced": False} if sides.read_from else {}),
        "before": sides.before if sides.has_baseline else None,
        "after": sides.after,
        "verdict": difference.verdict,
        "accepted": difference.is_accepted,
        "lock_checked": difference.is_lock_checked,
        "hand_edits": [
            {"toolset": edit.toolset, "tool": edit.tool, "fact": edit.fact} for edit in difference.hand_edits
        ],
        "entries": [
            {
                "name": entry.name,
                "status": entry.status,
                "verdict": entry.verdict,
                "rows": [_row_data(row) for row in entry.rows],
            }
            for entry in difference.entries
        ],
        "changes": [
            {
                "route": list(change.route),
                "before": change.before,
                "after": change.after,
                "effect": change.effect,
                "entries": list(change.entries),
                "workers": list(change.workers),
                "accepted": change.accepted.reason if change.accepted else None,
            }
            for change in difference.changes
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _row_data(change: RowChange) -> dict[str, Json]:
    return {
        "change": change.kind,
        "effect": change.effect,
        "capability": change.capability.name,
        "scope": change.capability.scope,
        "elsewhere": change.elsewhere,
        "before": row_data(change.before) if change.before else None,
        "after": row_data(change.after) if change.after else None,
        "accepted": change.accepted.reason if change.accepted else None,
    }


def error_json(error: LlmdoError) -> str:
    """The same form where nothing could be compared."""
    document = {
        "schema": "llmdo.diff/1",
        "status": "error",
        "error": {"message": error.message, "hint": error.hint},
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
