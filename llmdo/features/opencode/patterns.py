"""Patterns of commands as opencode matches them: each command of a line by itself, with where its output goes.

Of a line, `shell.ts` of opencode 1.18.33 takes each `command` of its syntax with all that is in it, and with a
redirection of it, of which a here-document is one; those that only change the folder are decided by no rule.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.foreign.commands import commands
from llmdo.policy.authority import STRICTNESS
from llmdo.policy.shell.rules import UNLISTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.policy.vocabulary import Decision

_SKIPPED = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
"""What is no sign of the shell: a character behind a backslash, and a text in quotes."""
_NESTED = re.compile(r"[`({'\"]|<<")
"""What may hold commands of its own, or a text whose end is elsewhere."""
_JOINT = re.compile(r"&&|\|\||(?<!>)\||;")
_ANY = re.compile(r"[*?]")
_UNDECIDED = frozenset({"cd", "chdir", "popd", "push-location", "pushd", "set-location"})
"""Commands that opencode decides about by no rule: it asks by `external_directory` about folders elsewhere."""
_PROGRAM = re.compile(r"[\w./+-]*\w")
_FOR_EACH = "write a rule for each of the commands"
_DOES = {"needs_approval": "asks", "blocked": "refuses"}
_ABOUT = {"needs_approval": " about", "blocked": ""}


def joint(pattern: str) -> str:
    """The first sign between commands in a pattern, which is part of no single command; empty without one."""
    match = _joint(pattern)
    return match[0] if match else ""


def undecided(pattern: str) -> str:
    """The command of a pattern about which opencode decides by no rule; empty for any other."""
    name = pattern.split(maxsplit=1)[0] if pattern.split() else ""
    return name if name in _UNDECIDED and not joint(pattern) else ""


def is_about(pattern: str, text: str) -> bool:
    """Whether a pattern is about a command; a last `*` behind a blank is also about none."""
    form = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    form = re.sub(r"\\ \.\*$", r"(?: .*)?", form)
    return re.fullmatch(form, text, re.DOTALL) is not None


def may_be_text(pattern: str) -> bool:
    """Whether the signs between commands in a pattern may be part of the text of one.

    A `*` begins and ends what they are in, or is the backslash before each of them.
    """
    match = _joint(pattern)
    if match is None:
        return False
    last = max(pattern.rfind(sign) for sign in "|;&")
    if _ANY.search(pattern[: match.start()]) and _ANY.search(pattern[last:]):
        return True
    signs = [*_JOINT.finditer(_plain(pattern))]
    return all(len(each[0]) == 1 and _ANY.fullmatch(pattern[each.start() - 1]) for each in signs)


def where(sign: str) -> str:
    """The places of a sign that is part of the text of a command."""
    escaped = f"`\\{sign}`, " if len(sign) == 1 else ""
    return f"quotes, {escaped}`$(…)`, a here-document"


def instead(pattern: str, decision: Decision, others: Mapping[str, Decision]) -> str:
    """The hint about a rule for several commands, by the `others` of its table, the last of which decides."""
    plain = _plain(pattern)
    if _NESTED.search(plain):
        return _FOR_EACH
    named = dict.fromkeys(part for part in _parts(pattern, plain) if _is_decided(part))
    if not named:
        return "take it out: each command is decided by its own rule, also one with such a text"
    by = {part: _deciding(part, others) for part in named}
    return _allowed(by, others) if decision == "allowed" else _held_back(by, decision, others)


def _allowed(by: Mapping[str, Sequence[str]], others: Mapping[str, Decision]) -> str:
    """The hint about a rule that allows: each command has to be allowed, by the rules about it in `by`."""
    missing = [part for part, rules in by.items() if {others.get(rule) for rule in rules} != {"allowed"}]
    own = [rule for part in missing for rule in by[part] if rule not in ("", "*")]
    if own:
        return f"take it out: the rule about `{own[0]}` decides"
    if any(commands(part) == UNLISTED for part in missing):
        return _FOR_EACH
    if missing:
        return f"write {'rules' if len(missing) > 1 else 'a rule'} for {_listed(missing, 'and')}"
    rules = [*dict.fromkeys(rule for each in by.values() for rule in each)]
    return f"take it out: {_listed(rules, 'and')} {'have rules' if len(rules) > 1 else 'has a rule'} already"


def _held_back(by: Mapping[str, Sequence[str]], decision: Decision, others: Mapping[str, Decision]) -> str:
    """The hint about a rule that asks or refuses: a decision as strict about one command holds back the whole line."""
    for rules in by.values():
        given = [others.get(rule, "allowed") for rule in rules]
        if all(STRICTNESS[each] >= STRICTNESS[decision] for each in given):
            return f"take it out: the rule about `{rules[-1]}` {_DOES[given[-1]]} already"
    named = [*dict.fromkeys(filter(None, map(_named, by)))]
    if not named:
        return _FOR_EACH
    which = "which" if len(named) == 1 else "each of which"
    holds_back = f"{_DOES[decision]}{_ABOUT[decision]} that command by itself as well"
    return f"write a rule for {_listed(named, 'or')}, {which} {holds_back}"


def _named(part: str) -> str:
    """A pattern of the program that a part of a pattern names, with a `*` around it or not; empty if it names none.

    One such as `*sh*` would be about `git push` and `npm publish` as well. A last ` *` is also about no words.
    """
    name, *words = part.split(maxsplit=1)
    program = name.lstrip("*").lstrip("/") if name.startswith("*") else name
    program = program.rstrip("*")
    if program == name or not program:
        return part
    return " ".join([program, *(words or ["*"])]) if _PROGRAM.fullmatch(program) else ""


def _parts(pattern: str, plain: str) -> Iterator[str]:
    """The commands of a pattern."""
    start = 0
    for match in _JOINT.finditer(plain):
        yield pattern[start : match.start()].strip()
        start = match.end()
    yield pattern[start:].strip()


def _is_decided(part: str) -> bool:
    """Whether a part of a pattern names a command that rules decide about."""
    name = part.split(maxsplit=1)[0] if part else ""
    return bool(name.strip("*?")) and name not in _UNDECIDED


def _deciding(part: str, others: Mapping[str, Decision]) -> list[str]:
    """The patterns that decide about examples of the commands of a part, empty for none; those of `*` come first."""
    stem = part.removesuffix("*").rstrip()
    examples = [part] if stem == part else [stem, f"{stem} x"] if part == f"{stem}*" else [f"{stem} x"]
    patterns = sorted((each for each in others if not joint(each)), key=lambda each: each != "*")
    texts = [_ANY.sub("x", example) for example in examples]
    deciding = [next((each for each in reversed(patterns) if is_about(each, text)), "") for text in texts]
    return [*dict.fromkeys(deciding)]


def _listed(names: Iterable[str], word: str) -> str:
    *before, last = (f"`{each}`" for each in dict.fromkeys(names))
    return f"{', '.join(before)} {word} {last}" if before else last


def _joint(pattern: str) -> re.Match[str] | None:
    plain = _plain(pattern)
    match = _JOINT.search(plain)
    return match if match and not _NESTED.search(plain[: match.start()]) else None


def _plain(pattern: str) -> str:
    """A pattern in which what is no sign of the shell is crossed out."""
    return _SKIPPED.sub(lambda match: "_" * len(match[0]), pattern)
