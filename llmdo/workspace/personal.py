"""A person's own `policy.toml`: limits for every workspace on their machine.

Only runs and `llmdo doctor` read it. `check` and the lock must say the same to everybody, so they read only whether
it lists the extensions that a workspace names, and refuse if not.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.base.diagnostic import LlmdoError, did_you_mean, finding
from llmdo.base.source import Source
from llmdo.base.values import dataclass
from llmdo.formats.schema import judge
from llmdo.graph.keys import ValueOrigin, rules
from llmdo.policy.authority import Capability
from llmdo.policy.vocabulary import VOCABULARY, has_paths
from llmdo.syntax import toml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.policy.authority import Rule
    from llmdo.syntax.document import Document

NAME = "policy.toml"
MAX_BYTES = 1024 * 1024  # more is not a policy that anybody wrote


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalPolicy:
    """A person's rules for every run on this machine."""

    path: Path
    """Its path, whether or not it exists."""
    is_there: bool = False
    rules: tuple[Rule, ...] = ()
    """They only tighten, like those of an entry."""
    approve_all: bool = True
    """Whether `--approve-all` may be used."""
    requires_trust: bool = False
    """Whether code of a workspace is refused without an answer for it, if nobody can be asked."""
    extensions: tuple[str, ...] = ()
    """The installed distributions that may extend llmdo."""


def path_of(environ: Mapping[str, str]) -> Path:
    """The path of the policy of the person of that environment, whether or not it exists."""
    home = Path(environ["HOME"]) if environ.get("HOME") else Path("~").expanduser()
    if sys.platform == "win32":
        above = Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    elif environ.get("XDG_CONFIG_HOME", "").startswith("/"):
        above = Path(environ["XDG_CONFIG_HOME"])
    else:
        above = home / ("Library/Application Support" if sys.platform == "darwin" else ".config")
    return above / "llmdo" / NAME


def read(environ: Mapping[str, str]) -> PersonalPolicy:
    """The policy of the person of that environment; one that forbids nothing if there is none.

    Raises:
        LlmdoError: It exists but cannot be read or used: nobody knows what it forbids.
    """
    path = path_of(environ)
    text = _text(path)
    if text is None:
        return PersonalPolicy(path=path)
    document = toml.parse(Source(str(path), text))
    judged = judge(document, "policy")
    problems = [*document.problems, *(() if document.problems else judged.problems)]
    if not problems:
        lists = bool(parts.texts(document.data.get("extensions")))
        unknown = unknown_capabilities(document)
        problems = [each for each in unknown if not (lists and _may_be_of_extension(each))]
        problems += _for_manifests(document)
    if problems:
        lines = [_line(problem) for problem in sorted(problems, key=lambda problem: problem.order)]
        raise LlmdoError(
            "\n  ".join([f"`{path}` cannot be used, and nobody knows what it forbids:", *lines]),
            hint="fix it or remove it: nothing runs on this machine before that",
        )
    table = parts.table(document.data, "approvals")
    return PersonalPolicy(
        path=path,
        is_there=True,
        rules=rules(
            parts.table(table, "rules"), ValueOrigin(document, ("approvals", "rules"), f"your {NAME}")
        ),
        approve_all=table.get("approve-all", True) is True,
        requires_trust=document.data.get("trust") == "required",
        extensions=parts.texts(document.data.get("extensions")),
    )


def _text(path: Path) -> str | None:
    """The content of the file; None if there is none, not even a dangling link."""
    try:
        path.lstat()
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise _unusable(path, "it is not a file")
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        if path.is_symlink():
            raise _unusable(path, "it is a link that leads nowhere") from error
        return None
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error
    if len(content) > MAX_BYTES:
        raise _unusable(path, f"it is larger than {MAX_BYTES:,} bytes")
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise _unusable(path, "it is not UTF-8") from error


def _unusable(path: Path, why: str) -> LlmdoError:
    return LlmdoError(
        f"`{path}` cannot be read, and nobody knows what it forbids: {why}",
        hint="fix it or remove it: nothing runs on this machine before that",
    )


def _for_manifests(document: Document) -> Iterator[Diagnostic]:
    if "extends" in document.data:
        at = document.key("extends")
        yield finding("LDO102", at, "`extends` is for the policies that a manifest extends")


def _may_be_of_extension(unknown: Diagnostic) -> bool:
    """Whether an unknown capability may be one of an extension: not if it resembles a known one."""
    return unknown.hint is None and unknown.capability is not None


def unknown_capabilities(document: Document, families: Iterable[str] = ()) -> Iterator[Diagnostic]:
    """The rules that would never fire. Capabilities of workspaces' own are not known here.

    `families` are the capabilities that extensions bring.
    """
    known = {above for name in (*VOCABULARY, *families) for above in Capability(name).names}
    for text in parts.table(document.data, "approvals", "rules"):
        capability = Capability.parse(text)
        name, at = capability.name, document.key("approvals", "rules", text)
        is_own = name == "x" or name.startswith("x.")
        if name not in known and not is_own:
            own = name if capability.is_of_extension else None
            hint = did_you_mean(name, known)
            yield finding("LDO207", at, f"`{name}` is not a capability", hint=hint, capability=own)
        elif capability.scope is not None and not has_paths(name):
            yield finding("LDO207", at, f"`{name}` has no scopes, so `{text}` would never match")


def _line(problem: Diagnostic) -> str:
    span = problem.at.span
    where = f"line {span.line}: " if span else ""
    return f"{where}{problem.message}" + (f" ({problem.hint})" if problem.hint else "")
