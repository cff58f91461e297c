"""`add mcp` and `import mcp`: MCP servers into the manifest, and never a secret with them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import tomlkit

from llmdo import credentials, discovery, project
from llmdo.diagnostic import LlmdoError, excerpt, shown
from llmdo.foreign import reading
from llmdo.scaffold import splice
from llmdo.scaffold.edit import Change, refuse_taken
from llmdo.scaffold.manifest import Manifest, refusal
from llmdo.workspace import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

TABLES = ("mcpServers", "servers")
"""The keys of such files that hold servers; the second is that of VS Code."""

_KNOWN = frozenset({"command", "args", "env", "cwd", "url", "serverUrl", "headers", "type", "transport"})
_SILENT = frozenset({"type", "transport", "description", "name", "$schema"})
"""Keys whose loss changes nothing."""

SHORTEST = 8  # characters of a secret: less is a word or a number

_REFERENCE = re.compile(r"\$\{(?:env|input):([^}]+)\}|\$\{(workspaceFolder|workspaceRoot)\}")
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")


def add_server(
    root: Path, name: str, *, command: Sequence[str] = (), url: str | None = None, env: Sequence[str] = ()
) -> Change:
    """Names an MCP server: the program and arguments in `command`, or an address.

    `env` are names of variables that it is given.

    Raises:
        LlmdoError: The name exists, or the words hold a secret.
    """
    if bool(command) == (url is not None):
        raise refusal(
            "an MCP server is a command or an address", hint="llmdo add mcp NAME -- COMMAND... or --url URL"
        )
    secret = next((word for word in (*command, url or "") if credentials.holds_token(word)), None)
    if secret is not None:
        raise refusal(
            "one of the words is a secret, which does not belong into a manifest",
            hint="write '${NAME}' for the environment variable that holds it",
        )
    table: dict[str, Any] = {"url": url} if url else {"command": command[0]}
    if command[1:]:
        table["args"] = list(command[1:])
    if env:
        table["env"] = sorted(set(env))
    manifest = _with_server(Manifest.read(root), root, name, table)
    manifest.write()
    return Change(
        written=(MANIFEST,),
        lines=(f"`{name}` is an MCP server; `llmdo lock` asks it what it offers, for you to review",),
    )


def import_servers(root: Path, path: Path) -> Change:
    """Names every server of a file with `mcpServers`, or the `servers` of VS Code, in the manifest.

    What such a file approves is not taken over, and in place of a secret stands the name of a variable.

    Raises:
        LlmdoError: The file cannot be read, has no servers, or one has a name that exists.
    """
    told: list[str] = []
    manifest = Manifest.read(root)
    for name, entry in _entries(path):
        own = _UNFIT.sub("-", name).strip("-_") or "server"
        own = own if own[0].isalpha() else f"s-{own}"
        if own != name:
            told.append(f"`{shown(name)}` is called `{own}`: names have letters, digits, `_` and `-`")
        table = _table(own, entry, told)
        if "command" not in table and "url" not in table:
            told.append(f"`{own}` is left out: it has neither a command nor an address")
            continue
        manifest = _with_server(manifest, root, own, table)
        told.append(f"`{own}` is an MCP server")
    manifest.write()
    return Change(
        written=(MANIFEST,),
        lines=(*told, "`llmdo check` judges them; `llmdo lock` asks them what they offer"),
    )


def _with_server(manifest: Manifest, root: Path, name: str, table: Mapping[str, Any]) -> Manifest:
    refuse_taken(project.read(root).graph, name)
    if name in manifest.table("toolsets"):
        raise refusal(f"`{name}` is in `[toolsets]` already", hint="remove it, or rename it")
    inline = _inline(table)
    return manifest.edited(lambda text: splice.insert(text, ("toolsets", name), {"mcp": inline}))


def _inline(table: Mapping[str, Any]) -> Any:
    made = tomlkit.inline_table()
    for key, value in table.items():
        made[key] = _inline(value) if isinstance(value, dict) else value
    return made


def _entries(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    source, problems = discovery.read_source(path.parent, path.name)
    document = reading.json_with_comments(source)
    for problem in (*problems, *document.problems):
        raise LlmdoError(problem.message, hint=problem.hint, at=problem.at)
    data: Any = document.data
    nested = data.get("mcp")  # the settings of VS Code hold them one level deeper
    for holder in (data, nested if isinstance(nested, dict) else {}):
        for key in TABLES:
            table = holder.get(key)
            if isinstance(table, dict) and table:
                yield from ((name, entry) for name, entry in table.items() if isinstance(entry, dict))
                return
    raise refusal(f"`{path.name}` has no `mcpServers`")


def _table(name: str, entry: Mapping[str, Any], told: list[str]) -> dict[str, Any]:
    """What a manifest says for `entry`; what it does not is told."""
    table: dict[str, Any] = {}
    lost = sorted(key for key in entry if key not in _KNOWN | _SILENT)
    if lost:
        told.append(f"`{name}`: left out: {', '.join(f'`{excerpt(key)}`' for key in lost)}")
    if isinstance(entry.get("command"), str):
        table["command"] = _said(name, "command", entry["command"], told)
        args = entry.get("args")
        if isinstance(args, list) and args:
            table["args"] = [
                _said(name, f"arg{number}", str(one), told) for number, one in enumerate(args, 1)
            ]
        if env := _mapping(name, entry.get("env"), told):
            names = [key for key, text in env.items() if text == f"${{{key}}}"]
            table["env"] = sorted(names) if len(names) == len(env) else env
        if entry.get("cwd") is not None:
            told.append(f"`{name}`: its `cwd` is left out: it starts in the workspace")
        return table
    url = entry.get("url", entry.get("serverUrl"))
    if isinstance(url, str):
        table["url"] = _said(name, "url", url, told)
        if headers := _mapping(name, entry.get("headers"), told):
            table["headers"] = headers
    return table


def _mapping(name: str, table: object, told: list[str]) -> dict[str, str]:
    if not isinstance(table, dict):
        return {}
    return {str(key): _said(name, str(key), str(text), told) for key, text in table.items()}


def _said(name: str, key: str, text: str, told: list[str]) -> str:
    """`text` in our words, with the name of a variable in place of a secret."""
    text = _REFERENCE.sub(lambda found: "." if found[2] else f"${{{_variable(found[1])}}}", text)
    literal = re.sub(r"\$\{[^}]*\}", "", text)
    is_named = key.lower() == "authorization" or credentials.names_secret(key)
    if credentials.holds_token(text) or (
        is_named and len(literal.removeprefix("Bearer ").strip()) >= SHORTEST
    ):
        variable = _variable(key if is_named and key.lower() != "authorization" else f"{name}_{key}")
        told.append(
            f"`{name}`: a secret was not taken over: put the value of `{key}` into the variable `{variable}`"
        )
        return f"Bearer ${{{variable}}}" if text.startswith("Bearer ") else f"${{{variable}}}"
    return text


def _variable(name: str) -> str:
    made = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_").upper()
    return made if made and not made[0].isdigit() else f"V_{made}"
