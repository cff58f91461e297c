"""What foreign agents can reach: agents that are alike together, and a page to paste into an issue."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import CODES, place, shown
from llmdo.base.values import dataclass, replace
from llmdo.foreign import not_enforced
from llmdo.policy.authority import STRICTNESS, gravity
from llmdo.render import reach
from llmdo.render.findings import concise
from llmdo.render.markdown import escaped, with_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign import Foreign
    from llmdo.foreign.lines import Line
    from llmdo.reach import Row
    from llmdo.scaffold.importing import Imported

MANY = 8  # names of agents in one line
EXAMPLES = 3  # findings of one kind on a page
EACH = "(each)"

_PLAIN = re.compile(r"[\w .:/>()*#+,-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Alike:
    """Agents that reach the same in the same way."""

    names: tuple[str, ...]
    rows: tuple[Row, ...]
    """Of the first of them."""

    @property
    def shared(self) -> tuple[Row, ...]:
        """The rows as they are told of all of them: the first name of a path stands for each."""
        if len(self.names) == 1:
            return self.rows
        return tuple(row.along((replace(row.path[0], name=EACH), *row.path[1:])) for row in self.rows)


def alike(reached: Iterable[tuple[str, tuple[Row, ...]]]) -> list[Alike]:
    """The agents, those together that reach the same; in the order of the first names."""
    groups: dict[object, tuple[list[str], tuple[Row, ...]]] = {}
    for name, rows in reached:
        groups.setdefault(tuple(map(_key, rows)), ([], rows))[0].append(name)
    return [Alike(tuple(names), rows) for names, rows in groups.values()]


def _key(row: Row) -> object:
    hops = tuple(hop.name for hop in row.path[1:])
    return row.capability, row.elsewhere, row.decision, row.assurance, row.tool, hops


def text(form: str, groups: Iterable[Alike]) -> str:
    """The reach of all agents, a table for those that are alike."""
    blocks = [not_enforced(form) + "\n"]
    blocks += [f"{_names(group.names)}:\n{reach.table(group.shared)}" for group in groups]
    return "\n".join(blocks)


def _names(names: Sequence[str]) -> str:
    if len(names) == 1:
        return shown(names[0])
    more = f" and {len(names) - MANY} more" if len(names) > MANY else ""
    return f"{len(names)} agents alike: {', '.join(map(shown, names[:MANY]))}{more}"


def page(project: Foreign, groups: Sequence[Alike], findings: Sequence[Diagnostic]) -> str:
    """One page of Markdown: what the agents can do, what is wrong, and who is alike."""
    team = project.team
    number = sum(bool(agent.path) for agent in team.agents)  # what a format brings along is in no file
    lines = [
        "## What these agents can reach",
        "",
        f"{number} agents in {len(team.files)} files, {not_enforced(team.format)}.",
        "",
        "| capability | agents | of these without a question | shortest path |",
        "| --- | ---: | ---: | --- |",
        *_capabilities(groups),
        *_findings(findings),
        *_groups(groups),
    ]
    return "\n".join(lines) + "\n"


def _capabilities(groups: Sequence[Alike]) -> Iterable[str]:
    rows = [(row, len(group.names)) for group in groups for row in group.rows if row.decision != "blocked"]
    rows.sort(key=lambda pair: (gravity(pair[0].capability), pair[0].elsewhere))
    for name, group in groupby(rows, key=lambda pair: reach.capability(pair[0])):
        pairs = list(group)
        every = sum(number for _, number in pairs)
        free = sum(number for row, number in pairs if row.decision == "allowed")
        best = min((row for row, _ in pairs), key=lambda row: (STRICTNESS[row.decision], len(row.path)))
        yield f"| `{name}` | {every} | {free} | {_code(reach.path(best))} |"


def _findings(findings: Sequence[Diagnostic]) -> Iterable[str]:
    if not findings:
        yield from ("", "No findings.")
        return
    yield from ("", "| finding | number | for example |", "| --- | ---: | --- |")
    ordered = sorted(findings, key=lambda finding: finding.code)
    for code, group in groupby(ordered, key=lambda finding: finding.code):
        same = list(group)
        examples = "<br>".join(
            f"{_message(finding.message)} ({_code(place(finding.at))})" for finding in same[:EXAMPLES]
        )
        yield f"| {code} {CODES[code][0]} | {len(same)} | {examples} |"


def _groups(groups: Sequence[Alike]) -> Iterable[str]:
    yield from ("", "<details><summary>Agent by agent</summary>", "")
    yield from ("| agents | reach |", "| --- | --- |")
    for group in groups:
        listed = ", ".join(
            f"`{reach.capability(row)}`{'' if row.decision == 'allowed' else ' (asks)'}"
            for row in group.rows
            if row.decision != "blocked"
        )
        yield f"| {', '.join(map(_code, group.names))} | {listed or 'nothing'} |"
    yield from ("", "</details>")


def report(done: Imported, folder: str) -> str:
    """What an import wrote, what it could not carry over, each with its place, and how the result differs."""
    lines = [f"wrote {len(done.paths)} files to {shown(folder)}"]
    if done.remarks:
        lines.append("said otherwise, or not carried over:")
        lines += [f"  {place(remark.at)}: {shown(remark.text)}" for remark in done.remarks]
    for title, differences in (("wider", done.wider), ("narrower", done.narrower)):
        if differences:
            lines += [
                f"{title} than the original:",
                *(f"  {shown(difference)}" for difference in differences),
            ]
    if not done.wider and not done.narrower:
        lines.append("every worker reaches what its agent reached")
    lines += [f"check says: {concise((finding,))}".rstrip() for finding in done.findings]
    return "\n".join(lines) + "\n"


def table(lines: Iterable[Line]) -> str:
    """What each tool can do and where no rule says anything, with the source of each line."""
    cells = [("tool", "can", "decision", "assurance", "source")]
    cells += [
        (line.tool, ", ".join(line.capabilities) or "nothing", line.decision, line.assurance, line.source)
        for line in lines
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(4)]
    drawn = ("  ".join([*map(str.ljust, row, widths), row[4]]) for row in cells)
    return "".join(f"{line}\n" for line in drawn)


def _message(text: str) -> str:
    """A message: what stands in backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return with_code(text)
    return "".join(_code(part) if number % 2 else escaped(part) for number, part in enumerate(parts))


def _code(words: str) -> str:
    """Words of a stranger as code: as they are where nothing in them can end it."""
    return f"`{words}`" if _PLAIN.fullmatch(words) else f"<code>{escaped(words)}</code>"
