"""Codex in a workflow: the limits of its sandbox."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

from llmdo.base.parts import items
from llmdo.base.values import dataclass, replace
from llmdo.features.github_actions.scripts import EXPRESSION
from llmdo.features.github_actions.table import LINES
from llmdo.features.github_actions.tokens import by_shell, granted, token_of, writes
from llmdo.features.github_actions.workflow import WRITABLE
from llmdo.foreign.team import capability_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmdo.features.github_actions.walking import Site
    from llmdo.foreign.team import Grant
    from llmdo.foreign.tree import Tree
    from llmdo.syntax.document import Place

FREE = "danger-full-access"

_BYPASSES = frozenset({"--dangerously-bypass-approvals-and-sandbox", "--yolo"})
_MODES = frozenset({"read-only", "workspace-write"})
_CONFIG = ".codex/config.toml"
_MODE = re.compile(r"^sandbox_mode\s*=\s*[\"']([\w-]+)", re.MULTILINE)
_NETWORK = re.compile(r"^\s*network_access\s*=\s*true", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Sandbox:
    mode: str
    at: Place
    """The place that sets the mode."""
    network: Place | None = None
    """The place that opens the network to its commands, or None."""


def codex_grants(site: Site, tree: Tree) -> Iterator[Grant]:
    """Codex runs commands in a sandbox that keeps them off the network, unless it is switched off."""
    sandbox = _sandbox(site, tree)
    token = token_of(site)
    yield _of("web_search, cached", site.at)
    if sandbox.mode == FREE:
        yield from by_shell(site, token, "shell", sandbox.at)
        return
    if sandbox.mode not in _MODES:
        yield granted("codex", "codex", [capability_of("codex")], sandbox.at, is_open=True)
    for tool in ("shell, reading", "shell, in the sandbox"):
        yield _of(tool, sandbox.at)
    if sandbox.mode != "read-only":
        yield _of("shell, in the workspace", sandbox.at)
    if sandbox.network:
        yield _of("shell, with network_access", sandbox.network)
        yield granted("token", "token", writes(token, *WRITABLE), token.at if token else sandbox.network)


def _of(tool: str, at: Place) -> Grant:
    return granted(tool, tool, LINES[f"codex: {tool}"].capabilities, at)


def codex_is_free(site: Site, tree: Tree) -> Place | None:
    """The place that switches its sandbox off, or None."""
    sandbox = _sandbox(site, tree)
    return sandbox.at if sandbox.mode == FREE else None


def _sandbox(site: Site, tree: Tree) -> _Sandbox:
    """The sandbox: by default read-only for a command, writing to the checkout for an action."""
    at = site.at
    source, unread = tree.read(_CONFIG) or (None, ())
    config = source.text if source is not None and not unread else ""
    network = at if _NETWORK.search(config) else None
    if site.run.words:
        named = _MODE.search(config)
        return _with_options(
            _Sandbox(named[1] if named else "read-only", at, network), site.run.words[1:], at
        )
    sandbox = _Sandbox("workspace-write", at, network)
    if mode := site.input("sandbox"):
        sandbox = replace(sandbox, mode=mode[0], at=mode[1])
    if (strategy := site.input("safety-strategy")) and strategy[0] == "read-only":
        sandbox = replace(sandbox, mode="read-only", at=strategy[1])
    if args := site.input("codex-args", "codex_args"):
        sandbox = _with_options(sandbox, _listed(args[0]), args[1])
        if args[0].strip().startswith("${{"):
            sandbox = replace(sandbox, mode=EXPRESSION, at=args[1])
    return sandbox


def _with_options(sandbox: _Sandbox, words: Sequence[str], at: Place) -> _Sandbox:
    """The sandbox with the changes by the flags of a command line."""
    for number, word in enumerate(words):
        flag, equals, value = word.partition("=")
        value = value if equals else next(iter(words[number + 1 : number + 2]), "")
        if flag in ("--sandbox", "-s"):
            sandbox = replace(sandbox, mode=value, at=at)
        elif word == "--full-auto":
            sandbox = replace(sandbox, mode="workspace-write", at=at)
        elif word in _BYPASSES:
            sandbox = replace(sandbox, mode=FREE, at=at)
        elif flag in ("-c", "--config"):
            setting = re.sub(r"[\s\"']", "", value)
            if setting.startswith("sandbox_mode="):
                sandbox = replace(sandbox, mode=setting.partition("=")[2], at=at)
            elif setting.endswith("network_access=true"):
                sandbox = replace(sandbox, network=at)
    return sandbox


def _listed(args: str) -> tuple[str, ...]:
    if args.lstrip().startswith("["):
        try:
            return tuple(map(str, items(json.loads(args))))
        except (ValueError, RecursionError):
            return ()
    try:
        return tuple(shlex.split(re.sub(r"\$\{\{[^\n]*?\}\}", EXPRESSION, args)))
    except ValueError:
        return tuple(args.split())
