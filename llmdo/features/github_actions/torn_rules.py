"""Rules in flags of Claude Code whose edit is more than their own text: torn at blanks, or alone behind their flag."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Related, excerpt, finding
from llmdo.foreign.instead import LONGEST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.features.github_actions.claude_options import ClaudeOptions
    from llmdo.features.github_actions.walking import Site
    from llmdo.foreign.permissions import PermissionRule
    from llmdo.syntax.document import Place

_FLAG_BEFORE = re.compile(r"--[A-Za-z-]+[ =]+(?P<quote>[\"']?)\Z")
_NOTHING_ELSE = re.compile(r"\s+--.*|\s*[\"']?\s*\\?\s*")
"""The rest of a line behind the only value of a flag: another flag, or the end of the text or of a line of it."""
_VALUE = re.compile(r"\s*[\"']?[A-Z]")


def torn_rules(site: Site, options: ClaudeOptions) -> Iterator[Diagnostic]:
    """The findings about the rules that the action tears: of those that allow, and of those that refuse."""
    args = site.input("claude_args")
    for verb in ("allow", "refuse"):
        is_denied = verb == "refuse"
        rules = dict.fromkeys(rule for rule, flag in options.torn if flag.startswith("--dis") == is_denied)
        if args is None or not rules:
            continue
        first, *others = (site.spot(args[1], rule) for rule in rules)
        *before, last = (f"`{excerpt(rule, LONGEST)}`" for rule in rules)
        which = f"{', '.join(before)} and {last} {verb}" if others else f"{last} {verb}s"
        message = f"the action splits its arguments at blanks outside of quotes, so {which} nothing"
        mark = "'" if _written(args[1]).startswith('"') else '"'
        edits = (f"`{mark}{rule}{mark}` for `{rule}`" for rule in rules)
        related = [Related(each.location, "and here") for each in others]
        yield finding("LDO151", first.location, message, hint=f"write {', '.join(edits)}", related=related)


def with_its_flag(site: Site, rule: PermissionRule) -> tuple[str, Place] | None:
    """A rule with the flag that has no other value, and their place; None if it has others, or none is seen.

    Without a value, the flag would make its list empty in the action, and is an error on a command line.
    """
    span, source = rule.at.location.span, rule.at.document.source
    is_of_git = (rule.pattern or "").startswith("git")  # of which another rule allows a part
    if span is None or span.line != span.end_line or is_of_git:
        return None
    line, below = source.line(span.line), source.line(span.line + 1)
    before, after = line[: span.column - 1], line[span.end_column - 1 :]
    flag = _FLAG_BEFORE.search(before)
    if flag is None or not after.startswith(flag["quote"]) or _VALUE.match(below):
        return None
    if _NOTHING_ELSE.fullmatch(after.removeprefix(flag["quote"])) is None:
        return None
    words = line[flag.start() : span.end_column - 1 + len(flag["quote"])]
    return words, site.spot(rule.at, words)


def _written(at: Place) -> str:
    """A value as its file has it."""
    span = at.location.span
    return at.document.source.marked(span) if span else ""
