"""A call that leaves the scopes of its tool, in words for its model and for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.policy.authority import Capability
    from llmdo.runtime.gate.call import Call

_VERBS = {"fs.read": "read", "fs.list": "list", "fs.write": "write", "fs.delete": "delete"}
_FEW = 5  # scopes in a sentence


def outside_of(call: Call) -> str | None:
    """What the tool may do of that kind and what of the call lies outside; None where it declares none such."""
    for raised in call.raised:
        if any(most.contains(raised) for most in call.declared):
            continue
        if scopes := _scopes(raised, call.declared):
            what = f"`{call.tool}` may {_verb(raised)} {_listed(scopes)}"
            if call.toolset == call.tool:  # a worker, which is handed files
                what = f"`{call.tool}` may be handed {_listed(scopes)}"
            return f"{what}; {_subject(raised)} lies outside"
    return None


def _scopes(raised: Capability, declared: Iterable[Capability]) -> list[str]:
    """The scopes within which the tool may do what is raised."""
    return sorted(
        {each.scope for each in declared if each.covers_name(raised.name) and each.scope is not None}
    )


def _verb(raised: Capability) -> str:
    known = next((_VERBS[name] for name in raised.names if name in _VERBS), None)
    return known or f"do `{raised.name}` in"


def _subject(raised: Capability) -> str:
    if raised.scope is None or raised.scope == "**":
        return "the whole folder"
    return f"`{raised.scope}`"


def _listed(scopes: list[str]) -> str:
    more = f" and {len(scopes) - _FEW} more" if len(scopes) > _FEW else ""
    return f"{', '.join(f'`{scope}`' for scope in scopes[:_FEW])}{more}"
