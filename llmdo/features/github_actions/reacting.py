"""opencode's action that reacts to what started it before it starts its agent, with a token that may not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import finding
from llmdo.features.github_actions.tokens import token_in

if TYPE_CHECKING:
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.features.github_actions.walking import Site

_ON_ISSUES = frozenset({"issue_comment", "issues"})
_REACTED_TO = _ON_ISSUES | {"pull_request", "pull_request_review_comment"}
"""The events to which it reacts; one by a schedule or by hand has nothing to react to.

https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/cli/cmd/github.ts
"""
_REACTING = ("issues", "pull-requests")
"""The permissions by which a token may react: either may be enough for a pull request."""
_CARRIER = "GITHUB_TOKEN"


def without_reaction(site: Site) -> Diagnostic | None:
    """The note that the action fails before it starts its agent, as its token may not react; None if it may."""
    if site.run.program != "opencode" or site.run.key != "uses" or site.document.problems:
        return None
    if (site.input("use_github_token") or ("", site.at))[0] != "true":
        return None
    events, token = site.trigger.starters.keys(), token_in(site, _CARRIER)
    if not events <= _REACTED_TO or token is None or token.scopes is None:
        return None
    if any(token.level(scope) == "write" for scope in _REACTING):
        return None
    right = _REACTING[0] if events & _ON_ISSUES else _REACTING[1]
    message = (
        "opencode's action stops before it starts its agent, as its token has neither `issues: write` nor"
        " `pull-requests: write`, and so cannot react to what started it"
    )
    hint = f"give its token `{right}: write`"
    return finding("LDO152", site.place("uses").location, message, hint=hint)
