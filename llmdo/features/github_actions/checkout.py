"""The files of a checkout at a step: without those that earlier steps removed, and with those that they wrote."""

from __future__ import annotations

import json
import posixpath
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from llmdo.base.parts import table, text
from llmdo.base.values import dataclass, field
from llmdo.features.github_actions.workflow import in_checkout, texts_of_step
from llmdo.foreign.files import json_at
from llmdo.foreign.scripts import MAX_LENGTH, commands, lines_with_documents
from llmdo.foreign.strict_json import is_strict_json
from llmdo.syntax.discovery import leaves
from llmdo.syntax.document import Document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.features.github_actions.walking import Site
    from llmdo.foreign.tree import Read, Tree
    from llmdo.syntax.document import Place

_WORKSPACE = re.compile(r"^(?:\$\{?GITHUB_WORKSPACE\}?|\$\{\{\}\})/|^\./")
_RESTORES = frozenset({"checkout", "reset", "restore", "stash"})
_TO_FILE = re.compile(r"\b(?:cat|tee)\b[^\n]*?(?:>|\btee)\s*(?P<path>[^\s<>|&;]+)")
_ECHOED = re.compile(r"\b(?:echo|printf\s+'%s(?:\\n)?')\s+'(?P<text>[^']*)'\s*>\s*(?P<path>[^\s<>|&;]+)")

_MAKES_NO_CHECKOUT = re.compile(
    r"actions/(?:create-github-app-token|github-script|setup-[\w-]+)|actions-cool/check-user-permission"
    r"|astral-sh/setup-uv|aws-actions/configure-aws-credentials|azure/login|docker/(?:login|setup-[\w-]+)-action"
    r"|google-github-actions/(?:auth|setup-gcloud)|oven-sh/setup-bun|pnpm/action-setup|step-security/harden-runner",
    re.IGNORECASE,
)
_MAKES_REPOSITORY = re.compile(r"\bgit\b|\bgh\b[^\n]*\b(?:clone|checkout|fork)\b|\b(?:curl|wget|tar|unzip)\b")
"""Text of a step that may make a repository."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """The checkout at a step, as the tree that its agent reads."""

    tree: Tree
    site: Site
    removed: tuple[str, ...] = ()
    """Paths and patterns of paths; of a folder, all in it."""
    written: Mapping[str, str] = field(default_factory=dict)
    """Path to text."""

    @property
    def only(self) -> str | None:
        """The one file that counts; None for all."""
        return self.tree.only

    def find(self, patterns: Iterable[str]) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
        """The paths that the globs name, without removed ones."""
        paths, problems = self.tree.find(patterns)
        return tuple(path for path in paths if not self._is_gone(path)), problems

    def read(self, path: str) -> Read | None:
        """The file of the repository at `path`, unless a step removed it or wrote another."""
        return None if self._is_gone(path) or path in self.written else self.tree.read(path)

    def json(self, path: str, *, is_strict: bool = False) -> Document | None:
        """The JSON file at `path`, in the repository or written by a step.

        With `is_strict` that is None for a file with a comment or another fault, which its client ignores.
        """
        if path not in self.written:
            document = json_at(self, path)
            return document if document and (not is_strict or is_strict_json(document.source.text)) else None
        return document_of(self.written[path], self.site.place(self.site.run.key))

    def _is_gone(self, path: str) -> bool:
        return any(fnmatchcase(path, each) or path.startswith(f"{each}/") for each in self.removed)


def checkout_at(site: Site, tree: Tree) -> Checkout:
    """The checkout at a step, by the steps before it that surely run."""
    removed: list[str] = []
    written: dict[str, str] = {}
    for step in (*site.before, site.step):
        if text(step.get("uses")).startswith("actions/checkout@") and not table(step.get("with")).get("path"):
            removed.clear()
            written = {path: content for path, content in written.items() if path.startswith("/")}
        script = text(step.get("run"))
        if (
            not script
            or ("if" in step and step is not site.step)
            or text(step.get("working-directory")) not in ("", ".")
        ):
            continue
        for path, is_removed in _moved(script, site.run.words):
            if is_removed:
                removed.append(path)
                written.pop(path, None)
            else:
                removed.clear()
        written.update(_written(script))
    return Checkout(tree, site, tuple(removed), written)


def may_be_checked_out(steps: Sequence[Mapping[str, object]]) -> bool:
    """Whether steps may have made a repository of git in their workspace: a checkout, or what is not known."""
    actions = (text(step.get("uses")).partition("@")[0] for step in steps)
    return any(name and not _MAKES_NO_CHECKOUT.fullmatch(name) for name in actions) or any(
        _MAKES_REPOSITORY.search(texts_of_step(step)) for step in steps
    )


def document_of(value: str, at: Place) -> Document | None:
    """The document of a JSON text at a place of another file; None if it is none, as with expressions in it."""
    try:
        data = json.loads(re.sub(r"\$\{\{.*?\}\}", "0", value))
    except (ValueError, RecursionError):
        return None
    span = at.location.span
    known = table(data)
    return Document(
        at.document.source, known, lambda: {(key,): (span, span) for key in known} if span else {}
    )


def json_of(value: str, at: Place, tree: Checkout, *, is_strict: bool = True) -> Document | None:
    """A JSON text, or that of a file of the repository, which may be `is_strict`; None if neither is known."""
    if value.lstrip().startswith("{"):
        return document_of(value, at)
    path = value.strip().removeprefix("./")
    if path and path not in tree.written:
        path = in_checkout(path, tree.site.before)
    is_unknown = not path or (leaves(path) and path not in tree.written)
    return None if is_unknown else tree.json(path, is_strict=is_strict)


def _moved(script: str, until: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    """The paths that a script removes, in order, and where it restores files; up to a command, or another folder."""
    for words in commands(script):
        if words == until:
            return
        program, *rest = words
        if program == "git" and rest[:1] == ["rm"]:
            program, rest = "rm", rest[1:]
        if program in ("cd", "pushd"):
            return
        if program == "git" and rest and rest[0] in _RESTORES:
            yield "", False
        paths = [word for word in rest if not word.startswith("-")]
        for path in paths if program == "rm" else paths[:-1] if program == "mv" else ():
            yield _normal(path), True


def _written(script: str) -> Iterator[tuple[str, str]]:
    """The files that a script writes in full: by a here-document, or by `echo '...' > FILE`."""
    for line, content in lines_with_documents(script[:MAX_LENGTH]):
        if written := _TO_FILE.search(line) if content is not None else _ECHOED.search(line):
            yield _normal(written["path"].strip("\"'")), content if content is not None else written["text"]


def _normal(path: str) -> str:
    return posixpath.normpath(_WORKSPACE.sub("", path))
