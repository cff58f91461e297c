"""`add mcp` and `import mcp`: MCP servers into the manifest, and never a secret with them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmdo.base import credentials, parts
from llmdo.base.diagnostic import LlmdoError, excerpt, shown
from llmdo.foreign import reading
from llmdo.scaffold import splice
from llmdo.scaffold.edit import WorkspaceEdit, refuse_taken
from llmdo.scaffold.manifest import Manifest, refusal
from llmdo.syntax import discovery
from llmdo.workspace import project
from llmdo.workspace.root import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from llmdo.base.values import Json

TABLES = ("mcpServers", "servers")
"""The keys of clients' files that hold servers; the second is that of VS Code."""

_KNOWN = frozenset({"command", "args", "env", "cwd", "url", "serverUrl", "headers", "type", "transport"})
_SILENT = frozenset({"type", "transport", "description", "name", "$schema"})
"""Keys whose loss changes nothing."""

_REFERENCE = re.compile(r"\$\{(?:env|input):([^}]+)\}|\$\{(workspaceFolder|workspaceRoot)\}")
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")


def add_server(
    root: Path, name: str, *, command: Sequence[str] = (), url: str | None = None, env: Sequence[str] = ()
) -> WorkspaceEdit:
    """Adds an MCP server: the program and arguments in `command`, or an address.

    `env` are the names of its variables.

    Raises:
        LlmdoError: The name exists, or the words hold a secret.
    """
    if bool(command) == (url is not None):
        raise refusal(
            "an MCP server is a command or an address", hint="llmdo add mcp NAME -- COMMAND... or --url URL"
        )
    if any(credentials.secrets_in_words(command[1:])) or any(
        map(credentials.secrets_in, (*command, url or ""))
    ):
        raise refusal(
            "one of the words is a secret, which does not belong in a manifest",
            hint="write '${NAME}' for the environment variable that holds it",
        )
    table: dict[str, Json] = {"url": url} if url else {"command": command[0]}
    if command[1:]:
        table["args"] = list(command[1:])
    if env:
        table["env"] = sorted(set(env))
    manifest = _with_server(Manifest.read(root), root, name, table)
    manifest.write()
    return WorkspaceEdit(
        written=(MANIFEST,),
        lines=(f"`{name}` is an MCP server; `llmdo lock` asks it what it offers, for you to review",),
    )


def import_servers(root: Path, path: Path) -> WorkspaceEdit:
    """Adds every server of a file with `mcpServers`, or the `servers` of VS Code, to the manifest.

    Approvals in the file are not taken over, and each secret is replaced by the name of a variable.

    Raises:
        LlmdoError: The file cannot be read, has no servers, or one has a name that exists.
    """
    notes: list[str] = []
    variables: dict[str, str] = {}
    manifest = Manifest.read(root)
    for name, entry in _entries(path):
        own = _UNFIT.sub("-", name).strip("-_") or "server"
        own = own if own[0].isalpha() else f"s-{own}"
        if own != name:
            notes.append(f"`{shown(name)}` is called `{own}`: names have letters, digits, `_` and `-`")
        table = _Taker(own, notes, variables).table(entry)
        if "command" not in table and "url" not in table:
            notes.append(f"`{own}` is left out: it has neither a command nor an address")
            continue
        manifest = _with_server(manifest, root, own, table)
        notes.append(f"`{own}` is an MCP server")
    manifest.write()
    return WorkspaceEdit(
        written=(MANIFEST,),
        lines=(*notes, "`llmdo check` judges them; `llmdo lock` asks them what they offer"),
    )


def _with_server(manifest: Manifest, root: Path, name: str, table: Mapping[str, Json]) -> Manifest:
    refuse_taken(project.read(root).graph, name)
    if name in manifest.table("toolsets"):
        raise refusal(f"`{name}` is in `[toolsets]` already", hint="remove it, or rename it")
    return manifest.edited(lambda text: splice.insert(text, ("toolsets", name), {"mcp": table}))


def _entries(path: Path) -> Iterator[tuple[str, Mapping[str, Json]]]:
    source, problems = discovery.read_source(path.parent, path.name)
    document = reading.json_with_comments(source)
    for problem in (*problems, *document.problems):
        raise LlmdoError(problem.message, hint=problem.hint, at=problem.at)
    # The settings of VS Code hold them one level deeper.
    for holder in (document.data, parts.table(document.data, "mcp")):
        for key in TABLES:
            if table := parts.table(holder, key):
                yield from ((name, entry) for name, entry in table.items() if isinstance(entry, dict))
                return
    raise refusal(f"`{path.name}` has no `mcpServers`")


@dataclass(slots=True)
class _Taker:
    """Takes one server over, with the name of a variable in place of each secret."""

    name: str
    notes: list[str]
    """The parts that were not taken over, a sentence each."""
    variables: dict[str, str]
    """The variables in place of secrets so far, each with its secret, so that no two share one."""

    def table(self, entry: Mapping[str, Json]) -> dict[str, Json]:
        """The manifest's table for `entry`."""
        table: dict[str, Json] = {}
        lost = sorted(key for key in entry if key not in _KNOWN | _SILENT)
        if lost:
            self.notes.append(f"`{self.name}`: left out: {', '.join(f'`{excerpt(key)}`' for key in lost)}")
        if isinstance(command := entry.get("command"), str):
            table["command"] = self._text("command", command)
            args = entry.get("args")
            if isinstance(args, list) and args:
                table["args"] = self._words([str(word) for word in args])
            if env := self._mapping(entry.get("env"), ""):
                names = [key for key, text in env.items() if text == f"${{{key}}}"]
                table["env"] = sorted(names) if len(names) == len(env) else env
            if entry.get("cwd") is not None:
                self.notes.append(f"`{self.name}`: its `cwd` is left out: it starts in the workspace")
            return table
        url = entry.get("url", entry.get("serverUrl"))
        if isinstance(url, str):
            table["url"] = self._text("url", url)
            if headers := self._mapping(entry.get("headers"), f"{self.name}_"):
                table["headers"] = headers
        return table

    def _mapping(self, table: object, prefix: str) -> dict[str, str]:
        if not isinstance(table, dict):
            return {}
        return {str(key): self._named(str(key), _referring(str(text)), prefix) for key, text in table.items()}

    def _named(self, key: str, text: str, prefix: str) -> str:
        secrets = credentials.secrets_in(text, key)
        is_whole = any(secret.name == key for secret in secrets)
        return self._without(key, text, secrets, prefix + key if is_whole else "")

    def _text(self, key: str, text: str) -> str:
        text = _referring(text)
        return self._without(key, text, credentials.secrets_in(text))

    def _words(self, words: Sequence[str]) -> list[str]:
        words = [_referring(word) for word in words]
        secrets: list[list[credentials.Secret]] = [[] for _ in words]
        for number, secret in credentials.secrets_in_words(words):
            secrets[number].append(secret)
        return [
            self._without(f"arg{number}", word, of_word)
            for number, (word, of_word) in enumerate(zip(words, secrets, strict=True), 1)
        ]

    def _without(self, key: str, text: str, secrets: Sequence[credentials.Secret], name: str = "") -> str:
        """`text` with a variable in place of each of `secrets`, called `name` or as the text calls it."""
        for secret in reversed(secrets):
            variable = self._variable(
                name or f"{self.name}_{secret.name or key}", text[secret.start : secret.end]
            )
            subject = f"`{secret.name}` in its `{key}`" if secret.name not in ("", key) else f"`{key}`"
            self.notes.append(
                f"`{self.name}`: a secret was not taken over: put the value of {subject} into the variable `{variable}`"
            )
            text = f"{text[: secret.start]}${{{variable}}}{text[secret.end :]}"
        return text

    def _variable(self, name: str, secret: str) -> str:
        """The variable for `secret`, numbered if another secret has that name."""
        base = _variable(name)
        variable, number = base, 1
        while self.variables.setdefault(variable, secret) != secret:
            number += 1
            variable = f"{base}_{number}"
        return variable


def _referring(text: str) -> str:
    """`text` with references as a manifest writes them."""
    return _REFERENCE.sub(lambda match: "." if match[2] else f"${{{_variable(match[1])}}}", text)


def _variable(name: str) -> str:
    variable = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_").upper()
    return variable if variable and not variable[0].isdigit() else f"V_{variable}"
