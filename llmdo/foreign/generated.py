"""Files of which an edit is undone, as a program writes them, or counts twice, as another client reads them as well."""

from __future__ import annotations

import posixpath
import re
from functools import cache
from typing import TYPE_CHECKING

from llmdo.base.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign import Foreign
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
_NAMING = frozenset({"LDO250", "LDO551"})
"""The codes of findings whose hints name tools that are not in the file."""
_ALIKE = "so its agent changes as well"
_APART = "with other names of tools: give each a file of its own first"
MANY = 2  # files that one hint names so


def with_sources(findings: Iterable[Diagnostic], project: Foreign) -> Iterator[Diagnostic]:
    """The findings, whose hints to edit a generated or shared file say where the edit belongs, or counts as well."""
    tree = cache(project.opened)

    @cache
    def clause(path: str) -> str:
        return _clause(tree(), path)

    for each in findings:
        hint = each.hint or ""
        paths = [match["path"] for match in _AT.finditer(hint)]
        paths = paths or [each.at.path] * bool(_CHANGES.match(hint))
        texts = filter(None, map(clause, dict.fromkeys(paths)))
        own = "".join(text for text, _ in zip(texts, range(MANY), strict=False)) + _readers(
            project, each, paths
        )
        yield replace(each, hint=hint + own.removeprefix(";" * hint.endswith("?"))) if own else each


def _clause(tree: Tree, path: str) -> str:
    """The end of a hint about an edit of a generated file; empty for any other."""
    content = tree.read(path)
    comment = _comment(path, content[0].text) if content else ""
    if not _GENERATED.search(comment):
        return ""
    source = _source(tree, path, comment)
    return f"; `{path}` is generated: make the change in {f'`{source}`' if source else 'what generates it'}"


def _readers(project: Foreign, problem: Diagnostic, paths: Iterable[str]) -> str:
    """The end of a hint to edit a file that other clients read as well; empty for any other."""
    agent = project.agents.get(problem.subject or "")
    for path in paths:
        forms = project.readers.get(path, frozenset())
        owners = {project.form_of(each) for each in project.team.agents if each.path == path}
        own = {project.form_of(agent)} if agent and agent.path == path else owners
        products = [project.spec(each).product for each in sorted(forms - own)]
        if products:
            who = f"{' and '.join(products)} {'read' if len(products) > 1 else 'reads'} the same file"
            common = project.known_to_all(forms)
            wheres = (project.spec(form).knows.get(common or "") for form in sorted(forms))
            where = "".join(f"; {each}" for each in wheres if each and problem.code in _NAMING)
            return f"; {who}, {_ALIKE}{where}" if common else f"; {who}, {_APART}"
    return ""


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
