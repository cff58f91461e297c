"""The built-in tools of llm-do: the capabilities of each, its counterpart of ours, and their differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, finding
from llmdo.base.values import replace
from llmdo.features.llm_do.table import TABLE
from llmdo.foreign.lines import Line
from llmdo.foreign.team import MAX_NAME, Counterpart, Remark, capability_of

if TYPE_CHECKING:
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign.team import Grant
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Place

_SERVER_SIDE = "server_side."
_NATIVE = frozenset({"code_execution", "web_fetch", "web_search"})
"""The provider-side tools with the same names in our headers and llm-do's."""
_READING_SHELL = "shell_readonly"
CLASSES = {
    "llm_do.filesystem_toolset.FileSystemToolset": "filesystem_cwd",
    "llm_do.shell.toolset.ShellToolset": "shell",
    "llm_do.toolsets.filesystem.FileSystemToolset": "filesystem_cwd",
    "llm_do.toolsets.shell.ShellToolset": "shell",
}
"""The built-in classes, which headers may name by their paths, to the names of these toolsets."""
LINES: dict[str, list[Line]] = {}
for _line in TABLE:
    LINES.setdefault(
        _line.tool.partition(".")[0] if _SERVER_SIDE not in _line.tool else _line.tool, []
    ).append(_line)
"""Toolset to its lines in the table; those of provider-side tools by their whole names."""

_LS: Mapping[str, object] = {
    "run": ["ls"], "flags": ["-l", "-a", "-A", "-h", "-R", "-1", "-t", "-la"], "positional": "paths",
    "capability": "proc.exec.read",
}  # fmt: skip
_MV: Mapping[str, object] = {"run": ["mv"], "flags": ["-f", "-i", "-n", "-v"], "positional": "paths"}
COUNTERPARTS = {
    _READING_SHELL: Counterpart(commands={"presets": ["read-only"]}),
    "shell_file_ops": Counterpart(commands={"rules": [_LS, _MV]}),
}
_IN_ROOT = (
    "works on the current folder with llm-do, and here on the workspace, or on what `[workspace] root` names"
)
DIFFERENT = {
    "filesystem_cwd": (f"`filesystem_cwd` {_IN_ROOT}",),
    "filesystem_cwd_ro": (f"`filesystem_cwd_ro` {_IN_ROOT}",),
    _READING_SHELL: (
        f"`{_READING_SHELL}` {_IN_ROOT}",
        f"`{_READING_SHELL}` is the preset `read-only`: more commands that only read, no path outside, nothing of git",
    ),
    "shell_file_ops": (f"`shell_file_ops` {_IN_ROOT}",),
}
"""The differences between a toolset and our counterpart."""


def _is_ours(kind: str, options: Mapping[str, object]) -> bool:
    """Whether a provider-side tool of ours takes these options: an omitted one could let it do more."""
    if not kind.startswith("web_"):
        return not options
    domains = [value for key, value in options.items() if key in ("allowed_domains", "blocked_domains")]
    return (
        options.keys() <= {"max_uses", "allowed_domains", "blocked_domains"}
        and all(isinstance(domain, list) and domain and all(map(_is_text, domain)) for domain in domains)
        and (type(uses := options.get("max_uses", 1)) is int and uses > 0)
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def server_side(
    tool: object, place: Place, asks: Decision
) -> tuple[list[Grant], list[Diagnostic], list[Remark]]:
    """The grants of a line of `server_side_tools`, its findings, and the parts that an import leaves out."""
    table = tool if isinstance(tool, Mapping) else {"tool_type": tool}
    kind = str(table.get("tool_type"))
    options = {key: value for key, value in table.items() if value is not None and key != "tool_type"}
    problems: list[Diagnostic] = []
    lines = LINES.get(f"{_SERVER_SIDE}{kind}")
    if lines is None:
        problems.append(finding("LDO250", place.location, f"llm-do has no server-side tool `{kind}`"))
        lines = [Line(kind, (capability_of(kind),), "needs_approval", "declared", "")]
    counterpart = Counterpart(native={kind: options}) if kind in _NATIVE and _is_ours(kind, options) else None
    does_nothing = not any(line.capabilities for line in lines)
    remarks = [Remark(place.location, f"`{kind}` is not carried over")] if does_nothing else []
    decided = [(line, line.decision if line.decision == "allowed" else asks) for line in lines]
    return (
        [grant(line, kind, place, decision, counterpart) for line, decision in decided],
        problems,
        remarks,
    )


def grant(
    line: Line, name: str, place: Place, decision: Decision, counterpart: Counterpart | None = None
) -> Grant:
    """The grant of a line of the table to an agent that names the tool at `place`."""
    shown = excerpt(name, MAX_NAME)
    return replace(line.grant(place, "llm-do", tool=shown, decision=decision), counterpart=counterpart)
