"""The hosts that a workflow's commands can send to: those its files allow, through the firewall unless that is off."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.policy.authority import Capability

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.syntax.document import Document

FIREWALL = "firewall"
CONNECTS = "net.connect"

NOBODYS = frozenset({"127.0.0.1", "defaults", "local", "localhost"})
"""Allowed items that send to nobody: certificates, package mirrors of the system, the machine itself."""

_HOST = re.compile(
    r"(?:https?://)?(?:\*\.)?(?P<host>[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*)(?::\d+)?/?"
)


def is_sandboxed(main: Document) -> bool:
    """Whether the agent runs behind gh-aw's firewall, which it does unless a workflow switches that off."""
    sandbox: object = main.data.get("sandbox")
    if sandbox is False or (isinstance(sandbox, dict) and sandbox.get("agent") is False):
        return False
    network: object = main.data.get("network")
    # The older way to say so.
    return not (isinstance(network, dict) and network.get("firewall") in (False, "disable"))


def sent_to(documents: Sequence[Document]) -> tuple[Capability, ...]:
    """The targets of commands: a host or a named set of hosts each; by its own header, the first, and its imports.

    Without a firewall that is everything, and also if an item is no host that can be known.
    """
    if not is_sandboxed(documents[0]):
        return (Capability(CONNECTS),)
    hosts = {host for document in documents for host in _allowed(document)}
    if None in hosts:
        return (Capability(CONNECTS),)
    return tuple(Capability(CONNECTS, host) for host in sorted(filter(None, hosts)) if host not in NOBODYS)


def _allowed(document: Document) -> Iterator[str | None]:
    """The hosts and sets of hosts that a header allows; None for all, or for an unknown one."""
    network: object = document.data.get("network")
    if not isinstance(network, dict):
        return
    allowed = network.get("allowed")
    blocked = set(_texts(network.get("blocked")))
    for item in _texts(allowed):
        if item not in blocked:
            host = _HOST.fullmatch(item)
            yield host["host"].lower() if host else None
    if network.get("allowed-input") is True:
        yield None  # whoever calls the workflow adds to it


def _texts(value: object) -> Iterable[str]:
    return map(str, value) if isinstance(value, list) else ()
