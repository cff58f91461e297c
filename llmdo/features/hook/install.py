"""The settings by which a client calls `llmdo hook`: what is changed in them, and its writing."""

from __future__ import annotations

import difflib
import json
import re
from importlib import import_module
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.foreign.events import OWN_HOOK
from llmdo.scaffold import files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from llmdo.features.hook.events import Client

WAITING = 60
"""The seconds that a client waits for an answer, which comes before."""
_INDENT = re.compile(r"\{\n(?P<indent>[ \t]+)\"")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChange:
    """A change of a client's settings."""

    path: str
    """Relative to the project."""
    before: str
    after: str

    @property
    def is_made(self) -> bool:
        """Whether the settings already are as they would be."""
        return self.before == self.after

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        lines = difflib.unified_diff(
            self.before.splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            f"a/{self.path}" if self.before else "/dev/null",
            f"b/{self.path}",
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def command_for(client: str, *, locked: bool = False) -> str:
    """The command that a client calls: whatever fails, it ends with the exit code that stops a call."""
    options = " --locked" if locked else ""
    return (
        f"llmdo hook {client}{options} || "
        f"{{ echo 'denied: llmdo did not answer; run: llmdo hook doctor {client}' >&2; exit 2; }}"
    )


def change_for(root: Path, client: str, *, locked: bool = False) -> SettingsChange:
    """The change of the settings in the project at `root`. Other keys and other hooks are kept.

    A client that reads a file of hooks apart, or a plugin, gets one of llmdo's own.

    Raises:
        LlmdoError: The settings are reached by a link, or are not JSON of the expected form.
    """
    module: Client = import_module(f"llmdo.features.hook.clients.{client}")
    path = module.SETTINGS
    if obstacle := files.obstacle(root, path):
        raise LlmdoError(f"`{path}` {obstacle}")
    content = files.read(root, path)
    before = "" if content is None else _decoded(content, path)
    if hasattr(module, "own_file"):
        after = module.own_file(command_for(client, locked=locked), WAITING)
        return SettingsChange(path=path, before=before, after=after)
    data = _parsed(before, path) if before.strip() else {}
    command = command_for(client, locked=locked)
    hooks = _table(data.setdefault("hooks", {}), path)
    is_changed = False
    for event, matcher in module.EVENTS.items():
        groups = hooks.setdefault(event, [])
        if not isinstance(groups, list):
            raise _unexpected(path)
        is_changed |= _add(groups, _group(command, matcher, module.SECOND * WAITING))
    indent = _INDENT.search(before)
    after = json.dumps(data, indent=indent["indent"] if indent else 2, ensure_ascii=False) + "\n"
    return SettingsChange(path=path, before=before, after=after if is_changed else before)


def write(root: Path, change: SettingsChange) -> None:
    """Writes a change.

    Raises:
        LlmdoError: The settings were changed since, are reached by a link, or cannot be written.
    """
    if obstacle := files.obstacle(root, change.path):
        raise LlmdoError(f"`{change.path}` {obstacle}")
    content = files.read(root, change.path)
    if ("" if content is None else _decoded(content, change.path)) != change.before:
        raise LlmdoError(f"`{change.path}` was changed meanwhile", hint="run the command again")
    files.write(root, change.path, change.after.encode())


def is_installed(root: Path, client: str) -> bool:
    """Whether the settings have the hooks, with or without `--locked`.

    Raises:
        LlmdoError: The settings are reached by a link, or are not JSON of the expected form.
    """
    return any(change_for(root, client, locked=locked).is_made for locked in (False, True))


def _group(command: str, matcher: str | None, timeout: int) -> dict[str, object]:
    handler = {"type": "command", "command": command, "timeout": timeout}
    return {**({"matcher": matcher} if matcher else {}), "hooks": [handler]}


def _add(groups: list[object], own: Mapping[str, object]) -> bool:
    """Puts a group in the place of that of llmdo, or last; whether that is a change."""
    for number, group in enumerate(groups):
        if isinstance(group, dict) and _is_own(group):
            is_changed = group != own
            groups[number] = dict(own)
            return is_changed
    groups.append(dict(own))
    return True


def _is_own(group: Mapping[str, object]) -> bool:
    handlers = group.get("hooks")
    commands = [
        each.get("command")
        for each in (handlers if isinstance(handlers, list) else ())
        if isinstance(each, dict)
    ]
    return len(commands) == 1 and isinstance(commands[0], str) and bool(OWN_HOOK.fullmatch(commands[0]))


def _decoded(content: bytes, path: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LlmdoError(f"`{path}` is not UTF-8") from error


def _parsed(text: str, path: str) -> dict[str, object]:
    try:
        return _table(json.loads(text), path)
    except (ValueError, RecursionError) as error:
        raise LlmdoError(
            f"`{path}` is not plain JSON", hint="take out comments and the like, or add the hooks by hand"
        ) from error


def _table(value: object, path: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _unexpected(path)
    return value


def _unexpected(path: str) -> LlmdoError:
    return LlmdoError(f"`{path}` does not have its hooks in the form that is expected")
