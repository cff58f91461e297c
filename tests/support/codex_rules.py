"""The rules of Codex that the hints of findings propose, in place of one whose words have blanks."""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING

from tests.support.edited_files import Edited, NotMadeError
from tests.support.finding_words import stretch

if TYPE_CHECKING:
    from llmdo.base.diagnostic import Diagnostic

_PATTERN = re.compile(r"`(\[[^`]*\])`")
_ASKS = ', decision="prompt")'


def by_words(files: Edited, match: re.Match[str], each: Diagnostic) -> None:
    """Writes a rule for each pattern of a hint; the old one keeps the words without a blank if that is meant."""
    path, start, _ = stretch(files, each)
    text = files.text(path)
    rule = next((node for node in ast.parse(text).body if _offset(text, node) == start), None)
    if not isinstance(rule, ast.Expr) or not isinstance(rule.value, ast.Call):
        raise NotMadeError("no rule there")
    call = rule.value
    old = next((each.value for each in call.keywords if each.arg == "pattern"), None) or call.args[0]
    groups = match.groupdict()
    new = [f"[{groups['parts']}]"] if groups.get("parts") else _PATTERN.findall(groups["patterns"])
    if groups.get("keeps"):
        words = ast.literal_eval(old)
        new.append(json.dumps([each if isinstance(each, str) else _of_one(each) for each in words]))
    rules = [_with_pattern(text, call, old, pattern, asks=bool(groups["asks"])) for pattern in new]
    files.put(path, start, _end(text, call), "\n".join(rules))


def _of_one(alternatives: list[str]) -> list[str]:
    """The alternatives of one word."""
    return [each for each in alternatives if not re.search(r"\s", each)]


def _with_pattern(text: str, call: ast.Call, old: ast.expr, pattern: str, *, asks: bool) -> str:
    """A rule with another pattern, which asks if that is meant."""
    rule = (
        f"{text[_offset(text, call) : _offset(text, old)]}{pattern}{text[_end(text, old) : _end(text, call)]}"
    )
    if not asks:
        return rule
    return f"{rule.removesuffix(')').rstrip().removesuffix(',')}{_ASKS}"


def _offset(text: str, node: ast.stmt | ast.expr) -> int:
    """The beginning of a node in its text."""
    return _at(text, node.lineno, node.col_offset)


def _end(text: str, node: ast.expr) -> int:
    """The end of a node in its text."""
    return _at(text, node.end_lineno or node.lineno, node.end_col_offset or 0)


def _at(text: str, line: int, octets: int) -> int:
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:octets].decode())
