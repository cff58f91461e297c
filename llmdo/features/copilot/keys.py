"""The keys of agents and prompts of Copilot, and what is noted about others."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from llmdo.base.diagnostic import did_you_mean, excerpt
from llmdo.features.copilot.handoffs import HANDOFFS, meant
from llmdo.foreign import reading
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.foreign.files import Files
    from llmdo.syntax.document import Document

KEYS = frozenset(
    {
        "advancedOptions", "agents", "argument-hint", "description", "disable-model-invocation", "github",
        "handoffs", "hooks", "infer", "mcp-servers", "metadata", "model", "name", "reasoning-effort", "target",
        "tools", "user-invocable", "user-invokable",
    }
)  # fmt: skip
PROMPT_KEYS = frozenset({"agent", "argument-hint", "description", "mode", "model", "name", "tools"})
TARGETS = ("github-copilot", "vscode")

_FOR_TOOLS = frozenset(
    {"allowed-tools", "allowedTools", "allowed_tools", "disallowedTools", "permissions", "tool"}
)
"""Keys for tools in other formats."""


def names_tools(value: object) -> TypeGuard[str | list[object]]:
    """Whether a value of `tools` names them, be it none."""
    return isinstance(value, list) or (isinstance(value, str) and value not in ("", "*"))


def judge(files: Files, document: Document, *, is_prompt: bool) -> None:
    """Notes the keys of a file that Copilot does not know, and a target that it does not."""
    known = PROMPT_KEYS if is_prompt else KEYS
    header = document.data
    for key in header:
        place = Place(document, (key,), of_key=True)
        if key in _FOR_TOOLS:
            lacking = "a file says `tools`; without it, there is every tool"
            files.unknown_key(place, key, (), None if "tools" in header else lacking)
        elif key not in PROMPT_KEYS and reading.misspelt(key, known):
            is_handoffs = reading.misspelt(key, known) == HANDOFFS and HANDOFFS not in header
            hint = meant(header[key]) if is_handoffs else None
            files.unknown_key(place, key, known, hint)
    target = header.get("target")
    if target is not None and target not in TARGETS and not is_prompt:
        hint = did_you_mean(str(target), TARGETS)
        message = f"Copilot does not know the target `{excerpt(str(target))}`"
        files.note("LDO151", Place(document, ("target",)), message, hint)


def may_be_called(header: Mapping[str, object]) -> bool:
    """Whether other agents may choose the agent with this header."""
    if isinstance(never := header.get("disable-model-invocation"), bool):
        return not never
    return header.get("infer") is not False


def closed_by(header: Mapping[str, object]) -> tuple[str, ...]:
    """The lines by which no person starts it, nor Copilot's default session, which no file is about."""
    hidden = [key for key in ("user-invocable", "user-invokable") if header.get(key) is False]
    lines = [f"`{key}: false`" for key in hidden]
    if lines and header.get("disable-model-invocation") is True:
        lines.append("`disable-model-invocation: true`")
    elif lines and header.get("infer") is False:
        lines.append("`infer: false`")
    return tuple(lines)
