"""The names in an agent's list of tools that are none of Claude Code's, in as few findings as say it."""

from __future__ import annotations

import itertools
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.features.claude import ALL_SKILLS
from llmdo.features.claude.table import LINES, VERSION
from llmdo.foreign.meaning import meant_tool
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.foreign.files import Files
    from llmdo.foreign.reading import ToolItem
    from llmdo.syntax.document import Document

_BY_MEANING = {
    "command": "Bash", "edit": "Edit", "fetch": "WebFetch", "find": "Glob", "grep": "Grep", "read": "Read",
    "search": "WebSearch", "write": "Write",
}  # fmt: skip
"""The tools for what those of other clients do."""
_LIKE_COPILOTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "changes", "codebase", "createDirectory", "editNotebook", "extensions", "findTestFiles", "githubRepo",
            "new", "newWorkspace", "openSimpleBrowser", "problems", "runNotebooks", "runTasks", "runTests",
            "searchResults", "terminalLastCommand", "terminalSelection", "testFailure", "think", "usages", "vscode",
            "vscodeAPI",
        ),
        (),
    ),
    **dict.fromkeys(("read", "readFile"), ("Read",)),
    **dict.fromkeys(("edit", "editFiles"), ("Edit", "Write")),
    "createFile": ("Write",),
    "search": ("Grep", "Glob"),
    "textSearch": ("Grep",),
    **dict.fromkeys(("fileSearch", "listDirectory"), ("Glob",)),
    **dict.fromkeys(("execute", "runCommand", "runCommands", "runInTerminal"), ("Bash",)),
    **dict.fromkeys(("agent", "runSubagent"), ("Agent",)),
    **dict.fromkeys(("todo", "todos"), ("TodoWrite",)),
    "web": ("WebFetch", "WebSearch"),
    "fetch": ("WebFetch",),
}  # fmt: skip
"""By the name of one of Copilot's tools in VS Code, or of a set, without the set before it, what does the same."""
_ARE_COPILOTS = "are names of Copilot in VS Code"
_MOST = 3  # names in a message
_MOST_MEANT = 8  # names in a hint
_FIRST = ("Glob", "Grep", "Read")
"""The tools that only read, which a hint names first."""
_ALL = frozenset({"all", "all tools"})
"""What people write for every tool."""


def judge(files: Files, document: Document, tool_items: Sequence[ToolItem], *, has_others: bool) -> None:
    """Notes the names of `tools` that are none; `has_others`: whether the agent has tools beside its list."""
    if tool_items and not has_others and not any(map(_is_known, tool_items)):
        _judge_all(files, document, [*_phrases(document, tool_items)])
        return
    for phrase in _phrases(document, tool_items):
        _, _, place = phrase[0]
        if len(phrase) > 1 and not any(map(_is_known, phrase)):
            written = excerpt(_text(phrase))
            message = f"Claude Code reads `{written}` as {len(phrase)} names, none of which is a tool"
            files.note("LDO250", place, message)
            continue
        for tool, _, at in itertools.filterfalse(_is_known, phrase):
            if tool in _skills(files):
                message = f"`{excerpt(tool)}` is a skill and no tool, so it does nothing in `tools`"
                files.note("LDO250", at, message, _to_skills(document, tool))
            else:
                files.unknown_tool(at, tool, LINES, _BY_MEANING, version=VERSION)


def _skills(files: Files) -> frozenset[str]:
    """The names of the skills of the project."""
    return frozenset(PurePosixPath(path).parent.name for path in files.tree.find([ALL_SKILLS])[0])


def _to_skills(document: Document, name: str) -> str:
    """The hint about the name of a skill: to have it loaded with the agent, by the key for that."""
    if "skills" in document.data:
        return "take it out, and name it in `skills`"
    return f"take it out, and write `skills: {excerpt(name)}` in its header"


def _is_known(item: ToolItem) -> bool:
    return item[0] in LINES or item[0].startswith("mcp__")


def _judge_all(files: Files, document: Document, phrases: Sequence[Sequence[ToolItem]]) -> None:
    """Notes that none of the names of a list is a tool: since 2.1.208 the call of such an agent is an error."""
    names = [*dict.fromkeys(map(_text, phrases))]
    rest = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    listed = ", ".join(f"`{excerpt(each)}`" for each in names[:_MOST])
    message = (
        f"`tools` names no tool of Claude Code {VERSION}, so that calls of the agent fail: {listed}{rest}"
    )
    single = dict.fromkeys(phrase[0][0] for phrase in phrases if len(phrase) == 1)
    hint = _meant(single)
    if len(names) == 1 and names[0].casefold() in _ALL:
        hint = 'take it out, or write `"*"`, for every tool'
    of_copilot = [each for each in single if _in_copilot(each) in _LIKE_COPILOTS]
    if len(of_copilot) == len(names):
        hint = _instead_of_copilots(of_copilot)
    elif len(of_copilot) * 2 > len(names):
        hint = f"most of these {_ARE_COPILOTS}"
    elif names and _skills(files).issuperset(names):
        # An agent without the key has every tool.
        which = "these are skills" if len(names) > 1 else "this is a skill"
        hint = f"name tools in it, such as `Read`, as {which}, which `skills` loads with the agent"
    files.note("LDO250", Place(document, ("tools",), of_key=True), message, hint)


def of_switches(switches: Mapping[str, object]) -> str:
    """The hint about a table of tools, as opencode has it: the list of those that are on; empty if none is known."""
    on = [name for name, value in switches.items() if value is True]
    if on == ["*"]:
        return "leave the key out for every tool"
    meant = (
        name if name in LINES or name.startswith("mcp__") else meant_tool(name, LINES, _BY_MEANING)
        for name in map(str, on)
    )
    tools = [*dict.fromkeys(filter(None, meant))]
    return f"write `tools: {', '.join(tools)}` in place of the table" if tools else ""


def _in_copilot(name: str) -> str:
    """A name of Copilot without the set before it."""
    return name.rpartition("/")[2]


def _instead_of_copilots(names: Sequence[str]) -> str:
    """The hint about names that are all of Copilot: the line that gives the same here, and what is left out of it."""
    tools = dict.fromkeys(tool for each in names for tool in _LIKE_COPILOTS[_in_copilot(each)])
    left = [f"`{each}`" for each in names if not _LIKE_COPILOTS[_in_copilot(each)]]
    if not tools:
        return f"these {_ARE_COPILOTS}"
    more = f" and {len(left) - _MOST} more" if len(left) > _MOST else ""
    without = f", without {', '.join(left[:_MOST])}{more}, for which it has none" if left else ""
    return f"write `tools: {', '.join(tools)}`{without}: these {_ARE_COPILOTS}"


def _meant(names: Iterable[str]) -> str | None:
    """The hint with the tools that some names mean, each tool once before any of them again."""
    pairs = [(tool, each) for each in names if (tool := meant_tool(each, LINES, _BY_MEANING))]
    first = dict(reversed(pairs))
    pairs.sort(key=lambda pair: (first[pair[0]] != pair[1], pair[0] not in _FIRST))
    left = len(pairs) - _MOST_MEANT
    more = f", and likewise for {left} more" if left > 0 else ""
    changes = ", ".join(f"`{tool}` for `{excerpt(each)}`" for tool, each in pairs[:_MOST_MEANT])
    return f"write {changes}{more}" if changes else None


def _text(phrase: Sequence[ToolItem]) -> str:
    return " ".join(tool for tool, _, _ in phrase)


def _phrases(document: Document, tool_items: Sequence[ToolItem]) -> Iterator[list[ToolItem]]:
    """The names, those together that are of one item of the list as it is written, between commas."""
    phrase: list[ToolItem] = []
    for item in tool_items:
        if phrase and not _go_on(document.data.get("tools"), phrase[-1], item):
            yield phrase
            phrase = []
        phrase.append(item)
    if phrase:
        yield phrase


def _go_on(value: object, item: ToolItem, after: ToolItem) -> bool:
    """Whether a name follows another one with blanks alone between them."""
    if isinstance(value, list):
        return item[2].route == after[2].route and "," not in str(item[2].data)
    written = rf"(?<![^\s,]){re.escape(item[0])}[ \t]+{re.escape(after[0])}(?![^\s,])"
    return item[1] is None and isinstance(value, str) and re.search(written, value) is not None
