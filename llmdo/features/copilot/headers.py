"""What keeps Copilot from loading an agent, or its tools: a header that is no YAML, wrong values, an old name.

Watched with 1.0.102. VS Code reads such a header as far as it can; of GitHub's cloud its documentation says that a
description is required.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Related, finding, shown
from llmdo.base.source import Span
from llmdo.base.values import replace
from llmdo.features.copilot import AGENT, MODE
from llmdo.foreign import headers, reading
from llmdo.foreign.files import MOST_PLACES
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.foreign.files import Files
    from llmdo.syntax.document import Document

_OPENED = re.compile(r"---[ \t]*\n(?:\w[\w-]*[ \t]*:.*\n|[ \t]+\S.*\n|- .*\n|#.*\n)+(?=[ \t]*\n)")
"""A header up to a blank line behind its keys."""
_ENDED = re.compile(r"\n---[ \t]*(?:\n|\Z)")
_THERE_ALONE = "so Copilot loads the file in VS Code alone"
_NOWHERE = "so Copilot does not load the file"
_DESCRIPTION = "write `description: TEXT` in its header"
_HEADER = "write `description: TEXT` between two lines `---` at the start of the file"
_KINDS: dict[str, tuple[type, ...]] = {
    "description": (str,),
    "name": (str,),
    "model": (str, list),
    "tools": (str, list),
}
"""The keys that it checks, each with the kinds of value that it takes."""
_HINTS = {
    "description": _DESCRIPTION,
    "name": "take it out",
    "model": "take it out",
    "tools": "take it out, or write `tools: [read, search]` in its header",
}
"""The change for a key without a value."""


def fault(text: reading.Text) -> Diagnostic | None:
    """The finding about a header that keeps an agent from being loaded, or about none; None if it is loaded."""
    document = text.document
    if not document.data:
        rest = f", thus no `description`, {_THERE_ALONE}"
        headless = reading.headless(document.source, rest)
        return replace(headless, hint=headless.hint or _HEADER)
    rest = _NOWHERE if document.data.get("target") == "github-copilot" else _THERE_ALONE
    if problem := headers.yaml_fault(document.source):
        return finding("LDO152", problem.at, f"{problem.message}, {rest}", hint=problem.hint)
    for key, kinds in _KINDS.items():
        if key not in document.data:
            continue
        value = document.data[key]
        if value is None:
            at = Place(document, (key,), of_key=True).location
            return finding("LDO152", at, f"`{key}` has no value, {rest}", hint=_HINTS[key])
        if not isinstance(value, kinds):
            at = Place(document, (key,)).location
            kind = "text" if list not in kinds else "text and no list"
            hint = "put it in quotes" if isinstance(value, int | float) and list not in kinds else None
            return finding("LDO152", at, f"the value of `{key}` is no {kind}, {rest}", hint=hint)
    if "description" not in document.data:
        at = Place(document, (next(iter(document.data)),), of_key=True).location
        return finding("LDO152", at, f"this agent has no `description`, {rest}", hint=_DESCRIPTION)
    return None


def closed(source: Source) -> Source | None:
    """A file whose header no `---` ends, as VS Code reads it: up to the first line that is no key; else None."""
    if not (opened := _OPENED.match(source.text)) or _ENDED.search(source.text):
        return None
    # The line keeps its number, so that every place is that of the file.
    text = f"{opened[0]}---{source.text[opened.end() :]}"
    return replace(source, text=text, is_plain=False)


def without_an_end(source: Source) -> Diagnostic:
    """The finding about such a file."""
    message = f"no `---` ends this header, {_THERE_ALONE}"
    hint = "write `---` below the last key"
    return finding("LDO152", source.location(Span(1, 1, 1, 4)), message, hint=hint)


def chat_modes(sources: Sequence[Source]) -> Iterator[Diagnostic]:
    """The finding about all chat modes, which VS Code took for agents up to 1.108."""
    if not sources:
        return
    name = shown(sources[0].path.removesuffix(MODE) + AGENT).replace("chatmodes/", "agents/")
    which, hint = "this file is no agent", f"rename it to `{name}`"
    if len(sources) > 1:
        which = f"the {len(sources)} files `*{MODE}` are no agents"
        hint += ", and the others likewise"
    message = f"VS Code loads no chat modes since 1.109, so {which}"
    related = [Related(source.location(), "and here") for source in sources[1 : MOST_PLACES + 1]]
    yield finding("LDO152", sources[0].location(), message, hint=hint, related=related)


def judge_star(files: Files, document: Document, *, is_prompt: bool) -> None:
    """Notes a `*` for every tool in a file of VS Code alone, which knows tools by their names."""
    value = document.data.get("tools")
    if not (value == "*" or (isinstance(value, list) and "*" in value)):
        return
    message = "VS Code, which alone loads this file, has no tool `*`, so it gives none"
    if isinstance(value, list) and len(value) > 1:
        files.note("LDO250", Place(document, ("tools", value.index("*"))), message, "take it out")
        return
    rest = (
        "prompt without `tools` has those of its agent"
        if is_prompt
        else "file without `tools` has every tool"
    )
    files.note("LDO250", Place(document, ("tools",), of_key=True), message, f"take it out: a {rest}")
