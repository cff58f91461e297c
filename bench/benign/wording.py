"""A deed as a call of a client's tool: its name, as the client shows it, and the arguments."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from llmdo.base.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bench.benign.deeds import Deed

OLD, NEW = "first line", "changed line"
TEXT = f"{OLD}\nsecond line\n"

Call = tuple[str, dict[str, object]]


class Wording:
    """What calls need to know of the place: the root, the port of the server, and how the deed is numbered."""

    def __init__(self, root: str, port: int) -> None:
        self.root = root
        self.port = port

    def address(self, path: str) -> str:
        """The address of a page."""
        return f"http://127.0.0.1:{self.port}{path}"

    def absolute(self, path: str) -> str:
        """A path as a client asks for it that knows no other."""
        return path if path.startswith("/") else f"{self.root}/{path}".removesuffix("/.")


def codex(deed: Deed, at: Wording, number: int) -> Call | None:
    """A call of Codex, which reads by commands."""
    quoted = shlex.quote(deed.what)
    reading = ("cat {}", "head -n 5 {}", "sed -n 1,20p {}", "nl -ba {}", "wc -l {}", "tail -n 3 {}")[
        number % 6
    ]
    listing = ("ls {}", "ls -la {}", "find {} -maxdepth 1")[number % 3]
    text = shlex.quote(deed.more)
    commands = {
        "read": reading.format(quoted),
        "list": listing.format(quoted),
        "find": f"find {quoted} -name {text}",
        "search": f"grep -rn {text} {quoted}",
        "run": deed.what,
    }
    if deed.kind in commands:
        within = {"workdir": deed.more} if deed.kind == "run" and deed.more else {}
        return "exec_command", {"cmd": commands[deed.kind], "login": False, **within}
    if deed.kind in ("write", "edit", "patch"):
        sign = {"write": "+", "edit": "~"}.get(deed.kind, "")
        return "apply_patch", {"input": _patch(deed.paths or (f"{sign}{deed.what}",))}
    if deed.kind == "plan":
        return "update_plan", {"plan": [{"step": deed.what, "status": "in_progress"}]}
    if deed.kind == "serve":
        return f"mcp__servant/{deed.what}", {}
    if deed.kind == "look":
        return "view_image", {"path": at.absolute(deed.what)}
    if deed.kind == "start":
        return "multi_agent_v1/spawn_agent", {"agent_type": deed.what, "message": f"BENIGN {deed.what}"}
    return None


def _patch(paths: tuple[str, ...]) -> str:
    lines = ["*** Begin Patch"]
    for path in paths:
        sign, name = path[0], path[1:]
        if sign == "+":
            lines += [f"*** Add File: {name}", f"+{OLD}", "+second line"]
        elif sign == "-":
            lines += [f"*** Delete File: {name}"]
        else:
            before, _, after = name.partition(">")
            lines += [f"*** Update File: {before}", *([f"*** Move to: {after}"] if after else [])]
            lines += ["@@", f"-{OLD}", f"+{NEW}"]
    return "\n".join([*lines, "*** End Patch", ""])


def gemini(deed: Deed, at: Wording, number: int) -> Call | None:
    """A call of Gemini CLI."""
    is_whole = number % 3 == 0
    path = at.absolute(deed.what) if is_whole else deed.what
    change: dict[str, object] = {
        "file_path": path,
        "instruction": "Change it.",
        "old_string": OLD,
        "new_string": NEW,
    }
    calls: Mapping[str, Call] = {
        "read": (
            "read_file",
            {"file_path": path, **({"start_line": 1, "end_line": 5} if number % 4 == 0 else {})},
        ),
        "list": ("list_directory", {"dir_path": path}),
        "find": ("glob", {"pattern": deed.more, **({} if deed.what == "." else {"dir_path": path})}),
        "search": (
            "grep_search",
            {
                "pattern": deed.more,
                "dir_path": path,
                **({"include_pattern": "*.{py,md}"} if number % 4 == 1 else {}),
            },
        ),
        "write": ("write_file", {"file_path": path, "content": TEXT}),
        "edit": ("replace", change),
        "run": (
            "run_shell_command",
            {"command": deed.what, "description": "Works.", **({"dir_path": deed.more} if deed.more else {})},
        ),
        "fetch": ("web_fetch", {"prompt": f"Read {at.address(deed.what)} and say what it is about"}),
        "serve": (f"mcp_servant_{deed.what}", {}),
        "plan": ("write_todos", {"todos": [{"description": deed.what, "status": "in_progress"}]}),
        "start": ("invoke_agent", {"agent_name": deed.what, "prompt": f"BENIGN {deed.what}"}),
    }
    return calls.get(deed.kind)


def opencode(deed: Deed, at: Wording, number: int) -> Call | None:
    """A call of opencode."""
    path = at.absolute(deed.what)
    some = {"offset": 0, "limit": 20} if number % 3 == 0 else {}
    calls: Mapping[str, Call] = {
        "read": ("read", {"filePath": path, **some}),
        "list": ("read", {"filePath": path}),
        "find": ("glob", {"pattern": deed.more, **({} if deed.what == "." else {"path": path})}),
        "search": (
            "grep",
            {"pattern": deed.more, "path": path, **({"include": "*.{py,md}"} if number % 4 == 1 else {})},
        ),
        "write": ("write", {"filePath": path, "content": TEXT}),
        "edit": ("edit", {"filePath": path, "oldString": OLD, "newString": NEW}),
        "patch": ("apply_patch", {"patchText": _patch(deed.paths)}),
        "run": (
            "bash",
            {
                "command": deed.what,
                "description": "Works",
                **({"workdir": at.absolute(deed.more)} if deed.more else {}),
            },
        ),
        "fetch": (
            "webfetch",
            {"url": at.address(deed.what), "format": ("text", "markdown", "html")[number % 3]},
        ),
        "serve": (f"servant_{deed.what}", {}),
        "plan": (
            "todowrite",
            {"todos": [{"content": deed.what, "status": "in_progress", "priority": "low", "id": "1"}]},
        ),
        "start": (
            "task",
            {"description": "work", "prompt": f"BENIGN {deed.what}", "subagent_type": deed.what},
        ),
    }
    return calls.get(deed.kind)


WORDINGS: Mapping[str, Callable[[Deed, Wording, int], Call | None]] = {
    "codex": codex,
    "gemini": gemini,
    "opencode": opencode,
}


def call_of(client: str, deed: Deed, at: Wording, number: int, *, patches: bool) -> Call | None:
    """The call of a client for a deed; a model of opencode has either `apply_patch` or the tools for whole files."""
    if deed.kind == "tool":
        return deed.what, json.loads(deed.more)
    if patches and client == "opencode" and deed.kind in ("edit", "write"):
        deed = replace(deed, kind="patch", paths=(f"{'+' if deed.kind == 'write' else '~'}{deed.what}",))
    return WORDINGS[client](deed, at, number)


def waiting(agent_id: str) -> Call:
    """The call by which Codex waits for an agent."""
    return "multi_agent_v1/wait_agent", {"targets": [agent_id], "timeout_ms": 60000}


def recorded_tool(client: str, name: str) -> str:
    """The name by which the record of a call has its tool."""
    if client != "codex":
        return name
    name = name.removeprefix("multi_agent_v1/")
    return {"exec_command": "Bash"}.get(name, name.replace("/", "__"))


def agent_id_in(result: str) -> str:
    """The id of an agent that was spawned; empty if none was."""
    try:
        return str(json.loads(result)["agent_id"])
    except (ValueError, KeyError, TypeError):
        return ""
