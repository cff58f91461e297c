"""The settings of Codex in layers, its sandbox, and whether anybody is asked about commands that leave it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import did_you_mean, excerpt
from llmdo.base.parts import table
from llmdo.base.values import dataclass, replace
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.foreign.files import Files
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Document, Route


@dataclass(frozen=True, slots=True)
class ConfigLayer:
    """The table at `route` of a document."""

    document: Document
    route: Route = ()

    def place(self, *route: str | int, of_key: bool = False) -> Place:
        """The place of its value at `route`."""
        return Place(self.document, (*self.route, *route), of_key)


@dataclass(frozen=True, slots=True)
class ConfigLayers:
    """The layers of one agent, the uppermost first."""

    layers: tuple[ConfigLayer, ...]

    def over(self, layer: ConfigLayer) -> ConfigLayers:
        """The layers, with another one on top."""
        return ConfigLayers((layer, *self.layers))

    def get(self, *route: str) -> tuple[object, Place | None]:
        """The uppermost value at `route`, and its place; None if no layer has one."""
        for layer in self.layers:
            place = layer.place(*route)
            if place.data is not None:
                return place.data, place
        return None, None

    def text(self, *route: str) -> tuple[str | None, Place | None]:
        """The uppermost value at `route` if that is a text."""
        value, place = self.get(*route)
        return (value, place) if isinstance(value, str) else (None, None)

    def is_true(self, *route: str) -> bool:
        """Whether the uppermost value at `route` is true."""
        return self.get(*route)[0] is True

    def tables(self, *route: str) -> Iterator[tuple[str, Mapping[str, object], Place]]:
        """The tables in the table at `route`, by their names, merged over all layers."""
        merged: dict[str, dict[str, object]] = {}
        places: dict[str, Place] = {}
        for layer in reversed(self.layers):
            for name, value in table(layer.place(*route).data).items():
                merged[name] = {**merged.get(name, {}), **table(value)}
                places[name] = layer.place(*route, name, of_key=True)
        for name, values in merged.items():
            yield name, values, places[name]


_OWN = ":workspace_roots"
"""The folders of the workspace in a permission profile."""
MODELS = frozenset({"auto_review", "guardian_subagent"})
"""The values of `approvals_reviewer` by which a model answers in place of a person."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The limits of commands that run by themselves."""

    name: str
    writes: bool = False
    network: bool = False
    is_off: bool = False
    writes_elsewhere: bool = False
    """Whether a permission profile lets it write outside the workspace, perhaps everywhere."""
    at: Place | None = None
    network_at: Place | None = None
    """The setting that opens the network to its commands, beside the one that names it."""


SANDBOXES = {
    "danger-full-access": Sandbox("danger-full-access", writes=True, network=True, is_off=True),
    "read-only": Sandbox("read-only"),
    "workspace-write": Sandbox("workspace-write", writes=True),
}
DEFAULT = "workspace-write"
"""The sandbox in a trusted project: Codex asks for trust before it heeds the project's files."""
_BUILT_IN = {
    ":danger-full-access": "danger-full-access",
    ":danger-no-sandbox": "danger-full-access",
    ":read-only": "read-only",
    ":workspace": "workspace-write",
}
"""The permission profiles that need no table, and the sandbox of each."""


@dataclass(frozen=True, slots=True)
class CodexApprovals:
    """The decisions about commands in the sandbox, and about those that leave it."""

    inside: Decision = "allowed"
    outside: Decision = "needs_approval"
    name: str = "on-request"
    at: Place | None = None
    is_never: bool = False
    """Whether what would ask is refused."""


_POLICIES = {
    "never": CodexApprovals(outside="blocked", name="never", is_never=True),
    "on-failure": CodexApprovals(name="on-failure"),
    "on-request": CodexApprovals(),
    "untrusted": CodexApprovals(inside="needs_approval", name="untrusted"),
}


def sandbox_of(files: Files, layers: ConfigLayers) -> Sandbox:
    """The sandbox of an agent."""
    profile, at = layers.text("default_permissions")
    if profile is not None and at is not None:
        return replace(_profile(files, layers, profile, at, ()), at=at)
    mode, at = layers.text("sandbox_mode")
    if mode is not None and mode not in SANDBOXES and at is not None:
        hint = did_you_mean(mode, SANDBOXES)
        files.note("LDO151", at, f"Codex does not know the sandbox `{excerpt(mode)}`", hint)
    sandbox = replace(SANDBOXES.get(mode or DEFAULT, SANDBOXES[DEFAULT]), at=at)
    if sandbox.name == "workspace-write" and layers.is_true("sandbox_workspace_write", "network_access"):
        opened = layers.get("sandbox_workspace_write", "network_access")[1]
        return replace(sandbox, network=True, network_at=opened)
    return sandbox


def _profile(files: Files, layers: ConfigLayers, name: str, at: Place, seen: tuple[str, ...]) -> Sandbox:
    """The sandbox of a permission profile, those that it extends included."""
    if name in _BUILT_IN:
        return SANDBOXES[_BUILT_IN[name]]
    if name in seen:
        files.note("LDO250", at, f"the permission profile `{excerpt(name)}` extends itself")
        return SANDBOXES[DEFAULT]
    written = layers.get("permissions", name)[0]
    if not isinstance(written, dict):
        known = (*_BUILT_IN, *table(layers.get("permissions")[0]))
        files.note(
            "LDO250", at, f"there is no permission profile `{excerpt(name)}`", did_you_mean(name, known)
        )
        return SANDBOXES[DEFAULT]
    profile, base = table(written), SANDBOXES["read-only"]
    if isinstance(extended := profile.get("extends"), str):
        base = _profile(files, layers, extended, at, (*seen, name))
    return replace(
        base,
        name=name,
        writes=base.writes or "write" in _values(profile.get("filesystem")),
        writes_elsewhere=base.writes_elsewhere
        or any(
            "write" in _values(each) for root, each in table(profile, "filesystem").items() if root != _OWN
        ),
        network=base.network or table(profile, "network").get("enabled") is True,
    )


def _values(value: object) -> Iterator[object]:
    """All values in a table and its subtables."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting.extend(each.values())
        else:
            yield each


def approvals_of(files: Files, layers: ConfigLayers, sandbox: Sandbox) -> CodexApprovals:
    """The decisions about an agent's calls; a model's answer in place of a person counts as allowed."""
    value, at = layers.get("approval_policy")
    approvals = CodexApprovals()
    if isinstance(value, dict):
        asks = table(value, "granular").get("sandbox_approval") is not False
        approvals = CodexApprovals(outside="needs_approval" if asks else "blocked", name="granular")
    elif isinstance(value, str) and value in _POLICIES:
        approvals = _POLICIES[value]
    elif isinstance(value, str) and at is not None:
        hint = did_you_mean(value, _POLICIES)
        files.note("LDO151", at, f"Codex does not know the approval policy `{excerpt(value)}`", hint)
    approvals = replace(approvals, at=at)
    if sandbox.is_off:  # only `untrusted` asks where there is nothing to leave
        approvals = replace(approvals, outside=approvals.inside)
    reviewer, by = layers.text("approvals_reviewer")
    if reviewer in MODELS and by is not None:
        answered: dict[Decision, Decision] = {"needs_approval": "allowed"}
        approvals = replace(
            approvals,
            inside=answered.get(approvals.inside, approvals.inside),
            outside=answered.get(approvals.outside, approvals.outside),
            name=f"answered by {reviewer}",
            at=by,
        )
    return approvals
