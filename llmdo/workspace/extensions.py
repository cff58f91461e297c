"""The extensions that a manifest names: each is loaded if the person's own policy lists it, else refused.

A refusal is a finding at its place, and nothing of the extension was imported.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.base.diagnostic import LlmdoError, finding
from llmdo.graph.extension import UsedExtension
from llmdo.syntax.document import Place
from llmdo.workspace import personal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.syntax.document import Document
    from llmdo.workspace.installed import InstalledExtension

REFUSED = "LDO114"
NAMED = ("workspace", "extensions")


def read_extensions(
    root: Path, document: Document, problems: list[Diagnostic], copy_of: Path | None = None
) -> tuple[InstalledExtension, ...]:
    """The usable extensions that a manifest names, in its order. Notes why others are refused.

    If `root` is a copy of another workspace, none may lie in that either.

    Raises:
        LlmdoError: The person's own policy cannot be used, so nobody knows which are allowed.
    """
    table = parts.table(document.data, "workspace")
    names = parts.texts(table.get("extensions"))
    if not names:
        return ()
    from llmdo.workspace.installed import load, require_apart  # as slow as all of a small check

    person = personal.read(os.environ)
    tools = parts.text(table.get("root"))
    folders = [each for top in (root, copy_of) if top for each in (top, top / tools)]
    loaded: list[InstalledExtension] = []
    for number, name in enumerate(names):
        try:
            _require_named_once(name, names[:number])
            _require_listed(name, person)
            extension = load(name, folders)
            require_apart(extension, loaded)
        except LlmdoError as refused:
            at = document.value(*NAMED, number)
            problems.append(finding(REFUSED, at, refused.message, hint=refused.hint))
        else:
            loaded.append(extension)
    return tuple(loaded)


def normal(distribution: str) -> str:
    """The name by which package indexes know a distribution: `Acme_llmdo` and `acme-llmdo` are one."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _require_named_once(name: str, before: Iterable[str]) -> None:
    if normal(name) in map(normal, before):
        raise LlmdoError(f"the extension `{name}` is named twice", hint="name it once")


def _require_listed(name: str, person: personal.PersonalPolicy) -> None:
    if normal(name) in map(normal, person.extensions):
        return
    line = json.dumps([*person.extensions, name])
    raise LlmdoError(
        f"the extension `{name}` is not loaded: your own `{personal.NAME}` does not list it",
        hint=f"if you trust its code, write `extensions = {line}` in it (on Linux `~/.config/llmdo/{personal.NAME}`)",
    )


def used(document: Document, loaded: Iterable[InstalledExtension]) -> dict[str, UsedExtension]:
    """The extensions of a workspace as a graph and its lock hold them, in name order."""
    return {each.name: each for each in sorted(_used(document, loaded), key=lambda each: each.name)}


def _used(document: Document, loaded: Iterable[InstalledExtension]) -> Iterator[UsedExtension]:
    names = parts.texts(parts.table(document.data, "workspace").get("extensions"))
    for each in loaded:
        yield UsedExtension(
            name=each.distribution,
            version=each.version,
            digest=each.digest,
            capabilities=dict(sorted(each.extension.capabilities.items())),
            at=Place(document, (*NAMED, names.index(each.distribution))),
        )
