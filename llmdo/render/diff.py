"""A difference as text, as JSON, and as Markdown for a pull request."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

from llmdo.base.diagnostic import error_keys, shown
from llmdo.base.jsonable import document
from llmdo.foreign import not_enforced
from llmdo.reach import Hop
from llmdo.render.facts import MAX_NAMES, phrases, some
from llmdo.render.reach import SHAPES, hop_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.base.diagnostic import LlmdoError
    from llmdo.base.jsonable import Shapes
    from llmdo.diff import Change, Difference, EntryDifference, HandEdit, RowChange
    from llmdo.graph.settings import Acceptance
    from llmdo.render.facts import Quote
    from llmdo.services.diff import DiffOutcome, Sides

MARKS = {"widens": "+", "unknown": "?", "narrows": "-", "none": "~"}
_ORDER = ("widened", "unknown", "narrowed", "changed", "same")
MAX_ROWS = 200  # of one table in Markdown: a pull request shows no more than 64 KiB


def rendered(
    outcome: DiffOutcome, form: Literal["text", "json", "markdown"], *, verbose: bool = False
) -> str:
    """The difference in a format; text names every item that changed if `verbose`, JSON always does."""
    if form == "text":
        return text(outcome.difference, outcome.sides, verbose=verbose)
    write = {"json": to_json, "markdown": markdown}[form]
    return write(outcome.difference, outcome.sides)


def text(difference: Difference, sides: Sides | None = None, *, verbose: bool = False) -> str:
    """The changed abilities entry by entry, with the place of each edge; then all other facts that differ."""
    lines = [not_enforced(sides.read_from)] if sides and sides.read_from else []
    folder = sides.folder if sides else ""
    facts = {name: list(_facts(own, verbose=verbose)) for name, own in _own(difference).items()}
    quiet: dict[str, list[str]] = {}
    for entry in _sorted(difference):
        verdict: str = "WIDENED" if entry.verdict == "widened" else entry.verdict
        own = facts.get(entry.name, []) if not entry.below else []
        heading = f"{_subject(entry)}: {verdict}{'' if entry.status == 'kept' else f' ({entry.status})'}"
        if entry.rows or own:
            lines += [heading, *_rows(entry.rows, folder), *own]
        else:
            quiet.setdefault(entry.verdict, []).append(heading)
    for verdict, headings in quiet.items():
        is_folded = len(headings) > MAX_NAMES and not verbose
        lines += [f"{len(headings)} entries: {verdict}"] if is_folded else headings
    if rest := [*_renames(difference, verbose=verbose), *_facts(_rest(difference), verbose=verbose)]:
        lines += ["also:", *rest]
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
    """Entries, and workers below them with gains or losses of their own, the widened first."""
    return sorted(
        (*difference.entries, *difference.workers),
        key=lambda each: (_ORDER.index(each.verdict), bool(each.below), each.name),
    )


def _subject(entry: EntryDifference) -> str:
    was = f" (was {shown(entry.was)})" if entry.was else ""
    return f"{shown(entry.name)}{was}{f', below {some(entry.below, shown)}' if entry.below else ''}"


def _own(difference: Difference) -> dict[str, list[Change]]:
    """The facts about each entry."""
    by_entry: dict[str, list[Change]] = {}
    for change in difference.changes:
        if change.route[0] == "entry":
            by_entry.setdefault(change.route[1], []).append(change)
    return by_entry


def _rest(difference: Difference) -> list[Change]:
    return [change for change in difference.changes if change.route[0] != "entry"]


def _facts(changes: Iterable[Change], *, verbose: bool) -> Iterator[str]:
    for alike, words in phrases(changes, _ticks, verbose=verbose):
        yield f"  {MARKS[alike[0].effect]} {words}{_accepted(alike[0].accepted)}"


def _renames(difference: Difference, *, verbose: bool) -> Iterator[str]:
    return (f"  {MARKS['none']} {words}" for words in renames(difference, _ticks, verbose=verbose))


def renames(difference: Difference, quote: Quote, *, verbose: bool = False) -> Iterator[str]:
    """The renames, one line for workers and one for entries, with a few names or all if `verbose`."""
    for kind, many in (("worker", "workers"), ("entry", "entries")):
        moved = [each for each in difference.renames if each.kind == kind]
        names = [f"{quote(each.before)} to {quote(each.after)}" for each in moved]
        if moved:
            noun = f"{len(moved)} {many}" if len(moved) > 1 else kind
            yield f"{noun} renamed: {some(names, str, len(names) if verbose else MAX_NAMES)}"


def _rows(rows: Sequence[RowChange], folder: str) -> Iterator[str]:
    table = [(capability(row), decision(row), path(row)) for row in rows]
    widths = [max((len(cells[column]) for cells in table), default=0) for column in (0, 1)]
    for row, cells in zip(rows, table, strict=True):
        padded = "   ".join(
            (*(cell.ljust(width) for cell, width in zip(cells, widths, strict=False)), cells[2])
        )
        yield f"  {MARKS[row.effect]} {padded}{_accepted(row.accepted)}"
        if row.effect == "widens":
            steps = list(edges(row, folder))
            width = max((len(place) for place, _ in steps), default=0)
            yield from (f"      {place.ljust(width)}   {words}" for place, words in steps)


def capability(change: RowChange) -> str:
    """The capability of a row; `elsewhere` if narrower scopes changed otherwise."""
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
        case "unknown":
            return "not known before `llmdo lock`"
    sides = f"{after.assurance if after else ''} now, {before.assurance if before else ''} before"
    return f"no longer limited: {sides}" if change.effect == "widens" else f"assurance: {sides}"


def path(change: RowChange) -> str:
    """The path of a row in words: the old one if it is lost."""
    return " > ".join(shown(hop.name) for hop in _hops(change))


def _hops(change: RowChange) -> Sequence[Hop]:
    row = change.before if change.kind == "lost" else change.after
    return row.path if row else ()


def edges(change: RowChange, folder: str = "") -> Iterator[tuple[str, str]]:
    """The place of each edge on a row's path, prefixed with `folder`, and the text there."""
    hops = _hops(change)
    for number, hop in enumerate(hops):
        if hop.use is None:
            continue
        at = hop.use.at.location
        path = f"{folder}{at.path}"
        place = f"{path}:{at.span.line}:{at.span.column}" if at.span else path
        is_worker = number < len(hops) - 1 or _is_delegation(change)
        verb = "delegates to" if is_worker else "uses"
        yield shown(place), f"{shown(hops[number - 1].name)} {verb} {shown(hop.name)}"


def _is_delegation(change: RowChange) -> bool:
    """Whether the last hop of a row's path is a worker that is called, or gets a file."""
    return change.after is not None and not change.after.shape.toolset


def hand_edit(edit: HandEdit, quote: Quote) -> str:
    """A fact that changed without its source, in a line."""
    tool = f"tool {quote(edit.tool)} of " if edit.tool else ""
    return f"{tool}toolset {quote(edit.toolset)}: {edit.fact}, and its source is the same"


def _ticks(name: str) -> str:
    return f"`{shown(name)}`"


def _accepted(acceptance: Acceptance | None) -> str:
    return f"   accepted: {shown(acceptance.reason)}" if acceptance else ""


def code(words: str) -> str:
    r"""`words` as Markdown code that no text can leave: characters that could are spelled out, such as `\u{60}`."""
    spelled = shown(words).replace("`", "\\u{60}").replace("|", "\\u{7c}")
    return f"`{spelled}`" if spelled.strip() else "`\\u{20}`"


def markdown(difference: Difference, sides: Sides) -> str:
    """A headline, a table for each entry that was widened, and the rest folded away."""
    lines = [f"### llmdo: {verdict_words(difference)}", ""]
    if sides.read_from:
        lines += [f"{not_enforced(sides.read_from).capitalize()}.", ""]
    if not sides.has_baseline:
        baseline = "nothing of it" if sides.read_from else "no lock"
        lines += [f"{code(sides.before)} has {baseline}: there is no baseline, so everything is new.", ""]
    else:
        lines += [f"{code(sides.after)} against {code(sides.before)}.", ""]
    title = "A library changed" if difference.is_lock_checked else "The lock was edited by hand"
    for edit in difference.hand_edits:
        lines += [f"**{title}:** {hand_edit(edit, code)}", ""]
    widened = [entry for entry in _sorted(difference) if entry.verdict == "widened"]
    for entry in widened:
        lines += [f"#### {_heading(entry)}: widened", "", *_table(entry.rows, sides.folder), ""]
    facts = [change for change in difference.changes if change.effect == "widens"]
    lines += _listed(facts)
    others = [entry for entry in _sorted(difference) if entry.verdict != "widened"]
    quiet = [change for change in difference.changes if change.effect != "widens"]
    if others or quiet or difference.renames:
        lines += ["<details>", f"<summary>{_count(others, 'other entry', 'other entries')}, "]
        lines[-1] += f"{_count(quiet, 'other change', 'other changes')}</summary>"
        lines += ["", *_verdicts(others), ""]
        for entry in others:
            if entry.rows:
                lines += [
                    f"#### {_heading(entry)}: {entry.verdict}",
                    "",
                    *_table(entry.rows, sides.folder),
                    "",
                ]
        if moved := [f"* {words}" for words in renames(difference, code)]:
            lines += [*moved, ""]
        lines += [*_listed(quiet), "</details>"]
    return "\n".join(lines).rstrip("\n") + "\n"


def _heading(entry: EntryDifference) -> str:
    was = f" (was {code(entry.was)})" if entry.was else ""
    return f"{code(entry.name)}{was}{f', below {some(entry.below, code)}' if entry.below else ''}"


def _verdicts(entries: Sequence[EntryDifference]) -> Iterator[str]:
    """A line for each; many of one verdict without further facts share one line."""
    for verdict in _ORDER:
        alike = [entry for entry in entries if entry.verdict == verdict]
        silent = [entry for entry in alike if not entry.rows]
        is_folded = len(silent) > MAX_NAMES
        yield from (f"* {_heading(entry)}: {verdict}" for entry in alike if entry.rows or not is_folded)
        if is_folded:
            yield f"* {len(silent)} entries: {verdict}"


def _table(rows: Sequence[RowChange], folder: str) -> Iterator[str]:
    if not rows:
        return
    yield "| | capability | decision | path | edges |"
    yield "| --- | --- | --- | --- | --- |"
    for row in rows[:MAX_ROWS]:
        where = "<br>".join(code(f"{place} {words}") for place, words in edges(row, folder))
        accepted = f"; accepted: {code(row.accepted.reason)}" if row.accepted else ""
        shown_edges = where if row.effect == "widens" else ""
        cells = (code(capability(row)), decision(row) + accepted, code(path(row)), shown_edges)
        yield f"| {MARKS[row.effect]} | {' | '.join(cells)} |"
    if len(rows) > MAX_ROWS:
        yield f"\nand {len(rows) - MAX_ROWS} more: `llmdo diff` shows them"


def _listed(changes: Sequence[Change]) -> list[str]:
    lines = []
    lines_of = list(phrases(changes, code))
    for alike, words in lines_of[:MAX_ROWS]:
        accepted = f"; accepted: {code(alike[0].accepted.reason)}" if alike[0].accepted else ""
        lines.append(f"* {code(MARKS[alike[0].effect])} {words}{accepted}")
    if len(lines_of) > MAX_ROWS:
        lines.append(f"* and {len(lines_of) - MAX_ROWS} more: `llmdo diff` shows them")
    return [*lines, ""] if lines else []


def _count(items: Sequence[object], single: str, many: str) -> str:
    return f"{len(items)} {single if len(items) == 1 else many}"


def to_json(difference: Difference, sides: Sides) -> str:
    """The difference in the form `llmdo.diff/1`."""
    shapes: Shapes = {**SHAPES, Hop: partial(hop_data, folder=sides.folder)}
    return document("llmdo.diff/1", {"status": "compared"}, sides, difference, shapes=shapes)


def error_json(error: LlmdoError) -> str:
    """The same form if nothing could be compared."""
    return document("llmdo.diff/1", {"status": "error", "error": error_keys(error)})
