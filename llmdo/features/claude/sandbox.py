"""The sandbox of Claude Code: the reach of commands that it lets go unasked because they run in it.

By https://code.claude.com/docs/en/sandboxing: a command that leaves it, or needs a host that no setting allows, is
asked about as any other. Where a rule or the mode allows commands, it may leave without a question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.parts import table, texts
from llmdo.foreign.lines import EDITS
from llmdo.foreign.permissions import CONNECTS, part
from llmdo.policy.authority import Capability
from llmdo.policy.vocabulary import UNTRUSTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llmdo.foreign.permissions import PermissionRule
    from llmdo.syntax.document import Document

_INSIDE = tuple(map(Capability, ("fs.list", *EDITS, "x.sandbox.exec")))
_OPENING = frozenset({"allowAppleEvents", "enableWeakerNestedSandbox", "enableWeakerNetworkIsolation"})
_OPENING_NETWORK = frozenset({"allowAllUnixSockets", "allowUnixSockets", "httpProxyPort", "socksProxyPort"})
"""The settings by which it holds less, or something else, than its documentation says."""
_ANY_HOST = "*"


def reach_in_sandbox(
    documents: Sequence[Document], rules: Iterable[PermissionRule]
) -> tuple[Capability, ...] | None:
    """The capabilities of a command in the sandbox; None if settings let commands out in ways that are not known."""
    allowed = [rule for rule in rules if rule.decision == "allowed"]
    hosts = [rule.pattern or _ANY_HOST for rule in allowed if rule.tool == "WebFetch"]
    written = [rule.pattern or "" for rule in allowed if rule.tool in ("Edit", "Write")]
    for document in documents:
        sandbox = table(document.data, "sandbox")
        files, network = table(sandbox, "filesystem"), table(sandbox, "network")
        if (
            any(map(sandbox.get, _OPENING))
            or any(map(network.get, _OPENING_NETWORK))
            or files.get("disabled")
        ):
            return None
        hosts += texts(network.get("allowedDomains"))
        hosts += ["localhost"] if network.get("allowLocalBinding") else []
        written += texts(files.get("allowWrite"))
    if any(path.startswith(("/", "~", "..")) for path in written):
        return None
    reached = {
        Capability(CONNECTS.name, "localhost") if host == "localhost" else part(CONNECTS, host)
        for host in hosts
    }
    reached = {CONNECTS} if CONNECTS in reached else reached
    return (*_INSIDE, *((Capability(UNTRUSTED),) if reached else ()), *sorted(reached, key=str))
