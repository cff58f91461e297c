"""The settings in the file of an agent that Codex takes from the session, whatever the agent's own file says."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.diagnostic import excerpt
from llmdo.base.parts import table
from llmdo.features.codex import CONFIG

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from llmdo.features.codex.settings import ConfigLayers
    from llmdo.foreign.files import Files
    from llmdo.syntax.document import Place

OF_SESSION = ("sandbox_mode", "approval_policy", "sandbox_workspace_write", "web_search")
"""Settings that an agent has from the session."""
_FOR_ALL = "for the session and all its agents"
_STRICTEST = "read-only"
_CONFINING = (_STRICTEST, "workspace-write")
"""The values of `sandbox_mode` with a sandbox."""


class Unheeded(NamedTuple):
    """A setting in the file of an agent that does nothing there."""

    at: Place
    key: str
    meant: str
    """The setting that `key` is a misspelling of, or `key` itself."""
    value: object


def note_unheeded(
    files: Files, base: ConfigLayers, unheeded: Sequence[Unheeded], known: Collection[str]
) -> None:
    """Notes settings of agents that do nothing, each with what sets it."""
    differing = [key for key in OF_SESSION if _differ(each.value for each in unheeded if each.meant == key)]
    for each in unheeded:
        hint = _hint(base, each, differs=each.meant in differing)
        if each.key == each.meant:
            message = f"an agent that is spawned has the session's `{each.key}`, so this does nothing"
            files.note("LDO151", each.at, message, hint)
        else:
            files.unknown_key(each.at, each.key, known, hint)


def _differ(values: Iterable[object]) -> bool:
    """Whether no file can set all of these at once."""
    merged: dict[str, object] = {}
    for value in values:
        rows = value if isinstance(value, dict) else {"": value}
        if any(merged.setdefault(key, wanted) != wanted for key, wanted in rows.items()):
            return True
    return False


def _hint(base: ConfigLayers, setting: Unheeded, *, differs: bool) -> str:
    """The hint about a setting of an agent: what sets it for all, or what holds there."""
    value, holds = setting.value, base.get(setting.meant)[0]
    if holds is not None and (
        holds == value or (isinstance(value, dict) and value.items() <= table(holds).items())
    ):
        return f"take it out: `{CONFIG}` sets it already"
    if differs or (setting.meant == "sandbox_mode" and value == _STRICTEST):
        return _alone(setting, differs=differs)
    renamed = "" if setting.key == setting.meant else f" as `{setting.meant}`"
    hint = f"set it{renamed} in `{CONFIG}`, {_FOR_ALL}"
    if isinstance(holds, str):
        return f"{hint}, or take it out: there it is `{excerpt(holds)}`"
    shared = [each for each in table(value) if each in table(holds)]
    return f"{hint}, or take it out: `{excerpt(shared[0])}` is set there" if shared else hint


def _alone(setting: Unheeded, *, differs: bool) -> str:
    """The hint about a setting that no file can give all agents, or that would leave the session unable to write."""
    by_option = setting.meant == "sandbox_mode" and setting.value in _CONFINING
    own = f"; a session of its own has it by `--sandbox {setting.value}`" if by_option else ""
    why = "the agents differ here, and no file sets it for one alone"
    return f"take it out: {why if differs else 'no file sets it for one agent alone'}{own}"
