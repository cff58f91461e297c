"""What keeps Copilot from loading an agent, or its tools: a header that is no YAML, wrong values, an old name.

Watched with 1.0.102. VS Code reads such a header up to where its parser stops (`editor_yaml`); of GitHub's cloud its
documentation says that a description is required.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Related, finding, shown
from llmdo.base.source import Span
from llmdo.base.values import dataclass, replace
from llmdo.features.copilot import AGENT, FEW_TOOLS, MODE, PROMPT
from llmdo.features.copilot.names import stem_of
from llmdo.features.copilot.seen_headers import line_of
from llmdo.foreign import headers, reading
from llmdo.foreign.files import MOST_PLACES
from llmdo.syntax.document import Place
from llmdo.syntax.frontmatter import late_header, second_header

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Location, Source
    from llmdo.features.copilot.seen_headers import SeenHeader
    from llmdo.features.copilot.unknown_names import UnknownNames
    from llmdo.foreign.files import Files
    from llmdo.syntax.document import Document

_LINES_OF_KEYS = r"(?:\w[\w-]*[ \t]*:.*\n|[ \t]+\S.*\n|- .*\n|#.*\n)"
_OPENED = re.compile(
    rf"---[ \t]*\n(?:[ \t]*\n|#.*\n)*+{_LINES_OF_KEYS}++"
    rf"(?:(?:[ \t]*\n)++(?=(?:description|model|name|tools)[ \t]*:){_LINES_OF_KEYS}++)*+(?=[ \t]*\n)"
)
"""A header up to a blank line behind its keys, below comments and with blank lines between its keys perhaps."""
_ENDED = re.compile(r"\n---[ \t]*(?:\n|\Z)")
_HERE = re.compile(r"\bhere\b")
_THERE_ALONE = "so Copilot loads the file in VS Code alone"
_NOWHERE = "so Copilot does not load the file"
_AROUND_FENCE = ("around it", "around the `---` that opens its header")
"""The words of a hint about the line of its finding, and those without that line."""
_DESCRIPTION = "write `description: TEXT` in its header"
_HEADER = "write `description: TEXT` between two lines `---` at the start of the file"
_NO_AGENT = (
    f"if it is no agent, move it out of its folder; if it is one, {_HEADER}, and `{FEW_TOOLS}` below it"
)
"""The hint for what may be a document: a `description` alone has it started with every tool in the cloud as well."""
_KINDS: dict[str, tuple[type, ...]] = {
    "description": (str,),
    "name": (str,),
    "model": (str, list),
    "tools": (str, list),
}
"""The keys that it checks, each with the kinds of value that it takes."""
_LINES = {"description": "description: TEXT", "tools": "tools: [read, search]"}
"""The line in place of a key that the agent cannot do without, or has every tool without."""
_HINTS = {
    "description": _DESCRIPTION,
    "name": "take it out",
    "model": "take it out",
    "tools": "take it out, or write `tools: [read, search]` in its header",
}
"""The change for a key without a value."""


def fault(
    text: reading.Text,
    seen: SeenHeader | None = None,
    straight: reading.Text | None = None,
    *,
    is_in_editor: bool = True,
) -> Diagnostic | None:
    """The finding about a header that keeps an agent from being loaded, or about none; None if it is loaded.

    `straight` is the file as VS Code reads keys that are indented too deep, and `is_in_editor` says whether it looks
    for agents where the file lies. One for VS Code alone needs no more than YAML.
    """
    document = text.document
    target = document.data.get("target")
    rest = _THERE_ALONE if is_in_editor and target != "github-copilot" else _NOWHERE
    if not document.data:
        headless = reading.headless(document.source, f", thus no `description`, {rest}")
        return replace(headless, hint=_with_tools(document.source, headless.hint))
    faults = [_of_yaml(each) for each in headers.yaml_faults(document.source)]
    if target == "vscode" and not faults:
        return None
    faults += [each for each in (_fault_of(document, key) for key in document.data) if each]
    if "description" not in document.data:
        at = Place(document, (next(iter(document.data)),), of_key=True).location
        faults.append(_Fault("description", "this agent has no `description`", at, _DESCRIPTION))
    if not faults:
        return None
    guesses = _guesses(document, faults) if rest == _THERE_ALONE and not (seen or straight) else []
    code = "LDO150" if guesses or seen else "LDO152"
    rest = f"{rest}, and {_all_of(guesses)}" if guesses else rest
    rest = f"{rest}, which {seen.rest(faults[0].at)}" if seen else rest
    if len(faults) == 1:
        return finding(code, faults[0].at, f"{faults[0].text}, {rest}", hint=faults[0].hint)
    # Else the next one came up only once the first is mended.
    related = [
        Related(each.at, "and here") for each in faults[1:] if each.is_of_yaml or each.key in document.data
    ]
    message = f"{_together(faults)}, {rest}"
    return finding(code, faults[0].at, message, hint=_edits(faults), related=related)


def late(files: Files, path: str) -> Iterator[Diagnostic]:
    """The finding about a prompt whose tools are in no header as something stands above it."""
    source = files.source(path) if path.endswith(PROMPT) else None
    below = late_header(source) if source else None
    if source and below and "tools" in below.keys:
        yield reading.headless(source, ", so it runs with the tools of the chat in place of its own")


def _with_tools(source: Source, hint: str | None) -> str:
    """The change that gives a file a header: one that names no tools gives every tool, also where nobody is asked."""
    if not hint:
        return _keys_for(source)
    late = late_header(source)
    if late is None or "tools" in late.keys:
        return hint
    return f"{hint}, and write `{FEW_TOOLS}` in its header: else it has every tool in the cloud and on the command line"


def _keys_for(source: Source) -> str:
    """The change that gives a header keys, or a file one."""
    if second := second_header(source):
        return second.hint
    if not _ENDED.search(source.text) or not source.text.startswith("---\n"):
        is_document = source.text.lstrip().startswith("# ") and not source.path.endswith(AGENT)
        return _NO_AGENT if is_document else _HEADER
    unspaced = reading.keyless(source)
    if unspaced is None:
        return _DESCRIPTION
    if not unspaced:
        return f"write `description: TEXT`{reading.IN_PLACE_OF_TEXT}"
    return _spaced(unspaced) + ("" if "description" in unspaced else f", and {_DESCRIPTION}")


def _spaced(keys: Sequence[str]) -> str:
    """The change of what would be keys with a blank behind the colon."""
    return f"write a blank behind the colon of {_all_of([f'`{key}`' for key in keys])}"


def _of_yaml(problem: Diagnostic) -> _Fault:
    return _Fault("", problem.message, problem.at, problem.hint, is_of_yaml=True)


def _guesses(document: Document, faults: Sequence[_Fault]) -> list[str]:
    """What was made of the lines that are no YAML, which VS Code reads all the same."""
    places = [each.at for each in faults if each.is_of_yaml]
    texts = (each.message.rpartition(", so ")[2] for each in document.problems if each.at in places)
    return [each.replace("taken for it", "taken for the header") for each in texts]


@dataclass(frozen=True, slots=True)
class _Fault:
    """A key that keeps an agent from being loaded."""

    key: str
    text: str
    at: Location
    hint: str | None
    is_empty: bool = False
    is_to_quote: bool = False
    is_of_yaml: bool = False


def _fault_of(document: Document, key: str) -> _Fault | None:
    """The fault of a key of a header; None without one."""
    kinds = _KINDS.get(key)
    value = document.data[key]
    if kinds is None or isinstance(value, kinds):
        return None
    if value is None:
        at = Place(document, (key,), of_key=True).location
        return _Fault(key, f"`{key}` has no value", at, _HINTS[key], is_empty=True)
    is_to_quote = isinstance(value, int | float) and list not in kinds
    text = f"the value of `{key}` is no {'text' if list not in kinds else 'text and no list'}"
    hint = "put it in quotes" if is_to_quote else None
    return _Fault(key, text, Place(document, (key,)).location, hint, is_to_quote=is_to_quote)


def _together(faults: Sequence[_Fault]) -> str:
    """What several faults are, those that are no YAML first, then those of keys without a value."""
    no_yaml = [each for each in faults if each.is_of_yaml]
    first = [
        each.text if each is faults[0] else _HERE.sub(f"in line {line_of(each.at)}", each.text)
        for each in no_yaml
    ]
    empty = [f"`{each.key}`" for each in faults if each.is_empty]
    texts = [f"{_all_of(empty)} {'have' if len(empty) > 1 else 'has'} no value"] if empty else []
    others = [each.text for each in faults if not each.is_empty and not each.is_of_yaml]
    return _steps([*first, *texts, *others])


def _all_of(words: Sequence[str]) -> str:
    """Words with `and` before the last."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def _steps(parts: Sequence[str]) -> str:
    """Parts of a sentence with `and` before the last."""
    *others, last = parts
    return f"{', '.join(others)}, and {last}" if others else last


def _edits(faults: Sequence[_Fault]) -> str:
    """The change that mends several keys."""
    quotes = [f"`{each.key}`" for each in faults if each.is_to_quote]
    lines = [f"`{_LINES[each.key]}`" for each in faults if each.key in _LINES and not each.is_to_quote]
    kept = [each for each in faults if not each.is_to_quote and not each.is_of_yaml]
    others = [f"`{each.key}`" for each in kept if each.key not in _LINES]
    steps = [
        *(each.hint for each in faults if each.is_of_yaml and each.hint),
        *([f"write {_all_of(lines)} in its header"] if lines else ()),
        *([f"put {_all_of(quotes)} in quotes"] if quotes else ()),
        *([f"take {_all_of(others)} out"] if others else ()),
    ]
    return _steps(steps)


def closed(source: Source) -> Source | None:
    """A file whose header no `---` ends, as VS Code reads it: up to the first line that is no key; else None."""
    if not (opened := _OPENED.match(source.text)) or _ENDED.search(source.text):
        return None
    # The line keeps its number, so that every place is that of the file.
    text = f"{opened[0]}---{source.text[opened.end() :]}"
    return replace(source, text=text, is_plain=False)


def without_an_end(source: Source, ended: Source, *, is_in_editor: bool = True) -> Diagnostic:
    """The finding about such a file, which is read as `ended`."""
    unspaced = reading.keyless(ended)
    message = f"no `---` ends this header, {_THERE_ALONE if is_in_editor else _NOWHERE}"
    hint = "write `---` below the last key"
    if unspaced:
        hint = f"{_spaced(unspaced)}, and {hint}"
    return finding("LDO152", source.location(Span(1, 1, 1, 4)), message, hint=hint)


def chat_modes(
    sources: Sequence[Source],
    keys: Iterable[str],
    unknown_in: Callable[[Iterable[str]], UnknownNames],
    agents: Iterable[str] = (),
) -> Iterator[Diagnostic]:
    """The finding about all chat modes, which VS Code took for agents up to 1.108.

    `keys` are those of an agent, `unknown_in` the names of tools in files that are none, and `agents` the paths of the
    agents that are there.
    """
    if not sources:
        return
    known = {(PurePosixPath(path).parent, stem_of(path)) for path in agents}
    there = [each for each in sources if _place_of_agent(each) in known]
    missing = [each for each in sources if each not in there]
    sources = [*missing, *there]
    which = (
        "this file is no agent" if len(sources) == 1 else f"the {len(sources)} files `*{MODE}` are no agents"
    )
    message = f"VS Code loads no chat modes since 1.109, so {which}"
    related = [Related(source.location(), "and here") for source in sources[1 : MOST_PLACES + 1]]
    hint = _renaming(missing, there, frozenset(keys))
    hint += unknown_in(each.path for each in missing).clause() if missing else ""
    yield finding("LDO152", sources[0].location(), message, hint=hint, related=related)


def _place_of_agent(mode: Source) -> tuple[PurePosixPath, str]:
    """The folder and the name of the agent that a chat mode becomes, whichever ending that has."""
    path = as_agent(mode.path)
    return PurePosixPath(path).parent, stem_of(path)


def _renaming(missing: Sequence[Source], there: Sequence[Source], keys: frozenset[str]) -> str:
    """The change that makes agents of chat modes, of which some are `there` as agents already."""
    if not missing:
        return f"take {'them' if len(there) > 1 else 'it'} out, as {_there_already(len(there))}"
    hint = f"rename it to `{shown(as_agent(missing[0].path))}`"
    if len(missing) > 1:
        hint += ", and the others likewise"
    hints: dict[str, list[str]] = {}
    for source in missing:
        fault = _as_agents_fault(source, keys)
        if fault and fault.hint:
            hints.setdefault(fault.hint.replace(*_AROUND_FENCE), []).append(stem_of(source.path))
    for more, names in hints.items():
        hint += f", and in {'each of ' if len(names) > 1 else ''}{_first_of(names)} {more}"
    if there:
        names = [stem_of(each.path) for each in there]
        hint += f", but take {_first_of(names)} out, as {_there_already(len(there))}"
    return hint


def _there_already(number: int) -> str:
    return "it is there as an agent already" if number == 1 else "they are there as agents already"


def _first_of(names: Sequence[str]) -> str:
    """The first of some names, with the number of the others."""
    left = len(names) - MOST_PLACES
    return _all_of(
        [
            *(f"`{shown(each)}`" for each in names[:MOST_PLACES]),
            *([f"{left} more"] if left > 0 else ()),
        ]
    )


def as_agent(path: str) -> str:
    """The path of a chat mode as that of an agent."""
    return (path.removesuffix(MODE) + AGENT).replace("chatmodes/", "agents/")


def _as_agents_fault(source: Source, keys: frozenset[str]) -> Diagnostic | None:
    """The finding that a chat mode would have as an agent; None if it was loaded."""
    source = replace(source, path=as_agent(source.path))
    if ended := closed(source):
        return without_an_end(source, ended)
    return fault(reading.text(source, keys) or reading.prompt_alone(source))


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


def note_nameless(files: Files, at: Place, *, is_empty: bool) -> None:
    """Notes a `tools` that names none; `is_empty`: VS Code alone loads the file, and takes it for a list of none."""
    if not is_empty:
        message = "`tools` has no value that names tools, so it was read as left out: every tool"
        files.note("LDO150", at, message, "`tools: []` means no tool")
        return
    source = files.source(at.location.path)  # that of the document may lack what VS Code does not read
    below = source.text.split("\n")[line_of(at.location) :] if source else []
    hint = f"write `{FEW_TOOLS}` in its header, and what else it needs"
    if below and below[0].startswith("["):
        hint = "write the list behind `tools:`, in the same line"
    files.note("LDO150", at, "`tools` has no value, which gives no tool in VS Code", hint)
