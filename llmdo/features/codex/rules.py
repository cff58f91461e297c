"""Rules of Codex about the beginnings of commands: allowed ones run outside the sandbox, unasked."""

from __future__ import annotations

import ast
import re
from itertools import islice, product
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import finding
from llmdo.base.source import Span
from llmdo.base.values import dataclass
from llmdo.foreign.commands import commands
from llmdo.policy.shell.rules import UNLISTED
from llmdo.syntax.document import Document, Place
from llmdo.syntax.tree import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.source import Source
    from llmdo.foreign.files import Files
    from llmdo.policy.authority import Capability
    from llmdo.syntax.document import Route

MAX_COMMANDS = 200  # of one rule: alternatives multiply
_RULE = "prefix_rule"
_ALLOW = "allow"


@dataclass(frozen=True, slots=True)
class AllowedCommands:
    """The commands that a rule allows."""

    capability: Capability
    at: Place


def allowed(files: Files, source: Source) -> Iterator[AllowedCommands]:
    """The commands that the rules in a file allow; a file that cannot be read as rules is noted."""
    calls = _calls(source)
    if calls is None:
        message = f"`{source.path}` is not written as rules of Codex are, so what it allows is not known"
        files.problems.append(finding("LDO153", source.location(), message))
        return
    spans: dict[Route, tuple[Span, Span]] = {
        ("rules", number): (_span(call), _span(call)) for number, call in enumerate(calls)
    }
    document = Document(source, {"rules": [None] * len(calls)}, lambda: spans)
    for number, call in enumerate(calls):
        at = Place(document, ("rules", number))
        arguments = {each.arg: each.value for each in call.keywords}
        decision = arguments.get("decision")
        if decision is not None and not (isinstance(decision, ast.Constant) and decision.value == _ALLOW):
            continue  # what asks or forbids lets nothing more happen
        words = _words(arguments.get("pattern", call.args[0] if call.args else None))
        patterns = [" ".join(each) for each in islice(product(*words), MAX_COMMANDS)] if words else [""]
        raised = {commands(pattern, is_prefix=True) for pattern in patterns}
        yield AllowedCommands(UNLISTED if UNLISTED in raised or not words else raised.pop(), at)


def _calls(source: Source) -> list[ast.Call] | None:
    """The rules of a file, which is Starlark, whose calls are those of Python; None if it is not."""
    try:
        tree = parse(source.text)
    except (MemoryError, RecursionError, SyntaxError, ValueError):
        return None if re.search(rf"\b{_RULE}\b", source.text) else []
    return [
        node.value
        for node in tree.body
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == _RULE
    ]


def _words(pattern: ast.expr | None) -> list[list[str]]:
    """The alternatives for each word of a pattern; none if it is not written out."""
    words = []
    for each in pattern.elts if isinstance(pattern, ast.List | ast.Tuple) else ():
        parts = each.elts if isinstance(each, ast.List | ast.Tuple) else [each]
        texts = [
            part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        if len(texts) != len(parts) or not texts:
            return []
        words.append(texts)
    return words


def _span(call: ast.Call) -> Span:
    line = call.lineno
    return Span(line, call.col_offset + 1, line, call.col_offset + 1 + len(_RULE))
