"""Files that a program writes, as their first lines say: an edit of them is undone when it runs again."""

from __future__ import annotations

import posixpath
import re
from functools import cache
from typing import TYPE_CHECKING

from llmdo.base.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign.tree import Tree


_FIRST = 40  # lines, as gh-aw draws a picture above what it says
_LONGEST = 4_000  # characters of it
_BEGINS = re.compile(r"\s*(?:#|//|/?\*|\"(?:_+|\$|//)?(?:comment|generated\w*|note)?\"\s*:)")
"""The beginning of a line that is a comment, or a key of JSON in place of one."""
_HEADER = re.compile(r"---[ \t]*\n(?P<lines>.*?)^---[ \t]*$", re.MULTILINE | re.DOTALL)
_BELOW = re.compile(r"\s*<!--(?P<words>.*?)-->", re.DOTALL)
"""A comment of Markdown that stands before anything else."""
_MADE = r"(?:generated|compiled)\b"
_KEEP = r"\b(?:do not|don't|never) (?:\w+ )?(?:edit|change|modify)\b"
_GENERATED = re.compile(
    rf"@generated\b|\b(?:auto-?)?{_MADE}.*{_KEEP}|{_KEEP}.*\b(?:auto-?)?{_MADE}"
    r"|\bauto(?:matically)?[ -]?generated (?:by|file|from)\b",
    re.IGNORECASE,
)
"""The words by which a file is generated: that a model wrote it once is not enough."""
_SOURCE = re.compile(
    r"\b(?:from|sources?|edit|change|modify)\b:?(?: [a-z]+){0,3} [`'\"]?(?P<path>[\w.@-]+(?:/[\w.@-]+)*\.\w+)",
    re.IGNORECASE,
)
_AT = re.compile(r"\((?P<path>[^()`]+?):\d+:\d+\)")
_CHANGES = re.compile(
    r"(?:add|allow|ask|call|change|declare|delete|deny|did you mean|end|give|indent|keep|let|move|name|narrow"
    r"|pass|put|remove|rename|save|take|tighten|turn|write)\b"
)
"""The beginning of a hint that is an edit."""
MANY = 2  # files that one hint names so


def with_sources(findings: Iterable[Diagnostic], opened: Callable[[], Tree]) -> Iterator[Diagnostic]:
    """The findings, whose hints to edit a generated file say where the edit belongs."""
    tree = cache(opened)

    @cache
    def clause(path: str) -> str:
        return _clause(tree(), path)

    for each in findings:
        hint = each.hint or ""
        paths = [match["path"] for match in _AT.finditer(hint)]
        paths = paths or [each.at.path] * bool(_CHANGES.match(hint))
        texts = filter(None, map(clause, dict.fromkeys(paths)))
        own = "".join(text for text, _ in zip(texts, range(MANY), strict=False))
        yield replace(each, hint=hint + own.removeprefix(";" * hint.endswith("?"))) if own else each


def _clause(tree: Tree, path: str) -> str:
    """The end of a hint about an edit of a generated file; empty for any other."""
    content = tree.read(path)
    comment = _comment(path, content[0].text) if content else ""
    if not _GENERATED.search(comment):
        return ""
    source = _source(tree, path, comment)
    return f"; `{path}` is generated: make the change in {f'`{source}`' if source else 'what generates it'}"


def _comment(path: str, text: str) -> str:
    """The comments at the start of a file, as one line; in Markdown those in its header, and that right below."""
    text = text[:_LONGEST]
    below = ""
    if path.endswith((".md", ".mdc")):
        header = _HEADER.match(text)
        comment = _BELOW.match(text, header.end() if header else 0)
        text, below = header["lines"] if header else "", comment["words"] if comment else ""
    lines = [line for line in text.splitlines()[:_FIRST] if _BEGINS.match(line)]
    return " ".join(line.strip(" \t#*/-!<>") for line in (*lines, *below.splitlines()))


def _source(tree: Tree, path: str, comment: str) -> str | None:
    """The file of the project of which a comment says that another is made."""
    for match in _SOURCE.finditer(comment):
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), match["path"]))
        for name in (match["path"], beside):
            if name != path and not name.startswith("..") and tree.read(name) is not None:
                return name
    return None
