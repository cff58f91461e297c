"""What looks like a secret: the names of variables that hold one, and the forms of well-known tokens."""

from __future__ import annotations

import re
from functools import cache

_SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL")

_BEGINNINGS = (
    "sk-", "AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox",
    "k_live_", "k_test_", "AIza", "hf_", "npm_", "pypi-", "eyJ", "PRIVATE KEY",
)  # fmt: skip
"""What each of `_FORMS` holds: to look for these first is a hundred times as fast."""

_FORMS = r"""
    \bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{16,}                 # model providers
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b                        # AWS
    | \b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})  # GitHub
    | \bglpat-[A-Za-z0-9_-]{16,}                           # GitLab
    | \bxox[abeprs]-[A-Za-z0-9-]{10,}                      # Slack
    | \b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}               # Stripe
    | \bAIza[A-Za-z0-9_-]{30,}                             # Google
    | \b(?:hf|npm)_[A-Za-z0-9]{20,}                        # Hugging Face, npm
    | \bpypi-[A-Za-z0-9_-]{20,}                            # Python packages
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}  # JSON web tokens
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    """


def names_secret(name: str) -> bool:
    """Whether a variable of that name is likely to hold a secret."""
    return any(word in name.upper() for word in _SECRET_NAMES)


def may_hold_token(text: str) -> bool:
    """Whether a token may be in `text`; a no is certain."""
    return any(map(text.__contains__, _BEGINNINGS))


def holds_token(text: str) -> bool:
    """Whether a token of a well-known form is in `text`."""
    return may_hold_token(text) and _forms().search(text) is not None


def without_tokens(text: str, instead: str) -> str:
    """`text` with `instead` in place of each token of a well-known form."""
    return _forms().sub(instead, text) if may_hold_token(text) else text


@cache
def _forms() -> re.Pattern[str]:
    return re.compile(_FORMS, re.VERBOSE | re.DOTALL)
