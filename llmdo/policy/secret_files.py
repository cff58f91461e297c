"""Names of files and folders that mostly hold secrets: a read of one raises `fs.read.protected` as well."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from llmdo.policy.authority import Capability

if TYPE_CHECKING:
    from collections.abc import Iterable

PROTECTED_READ = "fs.read.protected"

SECRET_FILES: tuple[str, ...] = (
    ".env*", "*.env", "secrets.json", "secrets.toml", "secrets.yaml", "secrets.yml",
    ".git", ".git-credentials", ".hg", ".svn",
    ".llmdo",
    ".netrc", "_netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".gem", ".htpasswd", ".pgpass", ".my.cnf",
    ".ssh", "id_*", "*.pem", "*.key", "*.ppk", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx",
    ".gnupg", ".password-store",
    ".aws", ".azure", ".kube", ".gcloud", ".config/gcloud", ".config/gh", ".docker/config.json", ".dockercfg",
    ".boto", ".s3cfg", ".vault-token", ".terraform.d", "*.tfstate", "*.tfstate.backup",
    "credentials", "*credentials.json", "credentials.toml", "client_secret*.json", "service-account*.json",
)  # fmt: skip
"""Patterns of files that may not be read unasked; files in a folder of such a name count."""


def folded(path: str) -> tuple[str, ...]:
    """The parts of `path`, as the least strict file system compares them.

    Without case, composition, invisible characters, and the dots and blanks that Windows drops from the end of a name.
    """
    visible = "".join(character for character in path if unicodedata.category(character) != "Cf")
    plain = unicodedata.normalize("NFC", unicodedata.normalize("NFC", visible).casefold())
    return tuple(name.rstrip(". ") for name in plain.split("/") if name not in ("", "."))


def any_named(patterns: Iterable[str]) -> re.Pattern[str]:
    """An expression found in a folded path if one of its parts has a name of these `patterns`."""
    named = "|".join("[^/]*".join(map(re.escape, pattern.split("*"))) for pattern in patterns)
    return re.compile(f"(?:^|/)(?:{named})(?:/|$)")


_SECRET = any_named(SECRET_FILES)


def is_secret(path: str) -> bool:
    """Whether `path`, or a folder on it, has one of these names."""
    return bool(_SECRET.search("/".join(folded(path))))


def may_hold_secrets(scope: str) -> bool:
    """Whether something in `scope`, a path or `folder/**`, may have one of these names."""
    return scope.endswith("**") or is_secret(scope)


def protected(path: str, scope: str | None = None) -> frozenset[Capability]:
    """The additional capabilities of reading `path`; with `scope` if it means more than itself."""
    return frozenset({Capability(PROTECTED_READ, scope or path)} if is_secret(path) else ())


def protected_within(scope: str) -> frozenset[Capability]:
    """The additional capabilities that reads within `scope` may raise."""
    return frozenset({Capability(PROTECTED_READ, scope)} if may_hold_secrets(scope) else ())
