"""Jobs that hold nothing but a checkout: no secret, no token that changes anything, and a machine that is new."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmdo.features.github_actions.walking import Site

_EXPRESSION = re.compile(r"\$\{\{.*?\}\}", re.DOTALL)
_SECRET = re.compile(r"\bsecrets\b(?!\s*\.\s*GITHUB_TOKEN\b)", re.IGNORECASE)
_OF_A_PERSON = re.compile(r"\b(?:inputs|vars)\b[^}]*(?:cred|key|pass|secret|token)", re.IGNORECASE)
"""A value that somebody set outside of the files, by a name as keys have."""
_OPEN = frozenset(
    {"checks", "contents", "deployments", "discussions", "issues", "metadata", "pull-requests", "statuses"}
)
"""The scopes of what anybody reads in a public repository."""
_KEY = re.compile(
    r"(?:key|token)[\"']?\s*[:=]\s*[\"']?(?=[\w.-]*\d)[A-Za-z][\w.-]{19,}[\"']?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
"""The key of a model that is written into the file itself."""
_FREE = re.compile(r"opencode/[\w.-]+-free")
"""A model of opencode that asks for no key."""


def is_bare(site: Site) -> bool:
    """Whether a step's job holds nothing that is private but its checkout, as far as its whole workflow tells.

    Only of a run: an action has one more token, and one of the repository has inputs. Unless a line says how it has a
    model without a secret, an unread file gives it one.
    """
    runs_without = _KEY.search(site.document.source.text) or any(map(_FREE.fullmatch, site.run.words))
    if not runs_without or not site.is_fresh or site.run.key != "run" or site.route[:1] != ("jobs",):
        return False
    scopes = site.permissions.scopes
    if scopes is None or any(
        level == "write" or (level == "read" and scope not in _OPEN) for scope, level in scopes.items()
    ):
        return False
    expressions = map(str, _EXPRESSION.findall(site.document.source.text))
    return not any(_SECRET.search(each) or _OF_A_PERSON.search(each) for each in expressions)
