"""The conditions of jobs and steps: which events get past an `if`, and who may cause them then."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.graph.start import OUTSIDERS, fewer, more

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.graph.start import Starter

    Starters = Mapping[str, Starter]
    """The people who may cause each event."""

MAX_LENGTH = 10_000  # characters: nobody reads a longer condition
MAX_NESTING = 20

_EVENT = re.compile(r"github\.event_name\s*(?P<how>==|!=)\s*'(?P<name>\w+)'")
_EVENT_REVERSED = re.compile(r"'(?P<name>\w+)'\s*(?P<how>==|!=)\s*github\.event_name")
_CHOSEN = re.compile(
    r"github\.event\.[\w.*]*(?:\blabels?\b|assignee)|github\.(?:triggering_)?actor|github\.event\.[\w.]*\.login\b"
)
"""Properties of which one value is given to few; that something has another one, a stranger brings about."""
_RIGHTS = re.compile(
    r"\.fork\b|head\.repo|head_repository|\.permission|pull_request\.merged(?:_at|_by)?\b"
    r"|(?<!!)github\.event\.workflow_run\.pull_requests\b"
    r"|workflow_run\.event\s*(?:!=\s*'pull_request'|==\s*'(?:merge_group|push|release|schedule|workflow_dispatch)')"
)
"""Properties that tell members from strangers. The run of a fork's pull request names no pull requests."""
_PERSON_OF_A_RUN = re.compile(r"\bgithub\.(?:triggering_)?actor\b|\.(?:login|permission)\b")
"""Whoever started a run again need not have written what it is about."""
_ASSOCIATION = re.compile(r"author_association")
_WORD = re.compile(
    r"\b(?:OWNER|MEMBER|COLLABORATOR|CONTRIBUTOR|FIRST_TIME_CONTRIBUTOR|FIRST_TIMER|MANNEQUIN|NONE)\b"
)
_MEMBERS = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
_STRANGERS = frozenset({"CONTRIBUTOR", "FIRST_TIME_CONTRIBUTOR", "FIRST_TIMER", "NONE"})
_PERSON = re.compile(r"github\.event\.(?P<of>\w+)\.(?:user\.login|author_association)")
_NOT_OF_EVENT = {
    "discussion_comment": "discussion",
    "issue_comment": "issue",
    "pull_request_review": "pull_request",
    "pull_request_review_comment": "pull_request",
}
"""The thing that an event is about, whose author need not be the one who causes the event."""
_UNKNOWN = re.compile(r"\b(?:needs|steps|inputs|vars|env|secrets)\.")
"""Values known only at run time; a condition on them may check identity."""
_ACTION = re.compile(r"github\.event\.action\s*==\s*'(?:labeled|assigned)'")
_OF_FORKS = re.compile(
    r"[\w.]*head(?:\.repo|_repository)\.full_name\s*!=\s*github\.repository|[\w.]*\.fork(?:\s*==\s*true|\s*!=\s*false)?"
)
"""Conditions that only the forks of strangers fulfil."""
_UNSEEN = re.compile(
    r"github\.event\.repository\.(?:private(?:\s*==\s*true|\s*!=\s*false)?"
    r"|visibility\s*(?:==\s*'(?:internal|private)'|!=\s*'public'))"
)
"""Conditions that only a repository fulfils in which no stranger starts anything."""

_WITHOUT_A_THING = frozenset(
    {
        "create", "delete", "push", "release", "repository_dispatch", "schedule", "workflow_dispatch", "workflow_run",
    }
)  # fmt: skip
"""Events whose payload is known to have none of the things below."""
_HAVING = {
    "comment": {"commit_comment", "discussion_comment", "issue_comment", "pull_request_review_comment"},
    "discussion": {"discussion", "discussion_comment"},
    "issue": {"issue_comment", "issues"},
    "pull_request": {
        "pull_request", "pull_request_review", "pull_request_review_comment", "pull_request_target",
    },
    "review": {"pull_request_review"},
}  # fmt: skip
"""The events whose payload has each thing."""
_KNOWN_EVENTS = _WITHOUT_A_THING.union(*_HAVING.values())
"""Events with a known payload: a called workflow has that of whoever calls it."""
_THING = rf"github\.event\.(?:{'|'.join(_HAVING)})(?:\.\w+)*+"
_VALUE = rf"{_THING}(?:\s*\|\|\s*(?:{_THING}|''))*+"
_NO_NUMBER = r"'[A-Za-z@/][^']*+'"
"""A text that is equal to nothing that is missing, as that is zero."""
_NEEDS_A_THING = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?:contains|endsWith|startsWith)\(\s*{_VALUE}\s*,\s*'[^']++'\s*\)",
        rf"contains\(\s*fromJSON\(\s*'\[\s*(?:\"[A-Za-z@/][^'\"\\]*+\"[\s,]*+)++\]'\s*\)\s*,\s*{_VALUE}\s*\)",
        rf"{_VALUE}\s*==\s*(?:{_NO_NUMBER}|github\.repository|true)",
        rf"(?:{_NO_NUMBER}|github\.repository)\s*==\s*{_VALUE}",
        rf"{_THING}(?:\s*!=\s*(?:null|''))?",
    )
)
"""Conditions that are false of an event without any of the things in them."""
_NAMED_THING = re.compile(r"github\.event\.(\w+)", re.IGNORECASE)


def narrowed(condition: str, starters: Starters) -> Starters:
    """The events that a condition can let pass, with the people who may cause them then."""
    return _of(_plain(condition), starters)


def is_about_own_commits(condition: str, event: str) -> bool:
    """Whether a condition lets an event about a run pass only where that was of a commit of this repository."""
    about_code = _PERSON_OF_A_RUN.sub("", _plain(condition))
    return _of(about_code, {event: "anyone"}).get(event) not in OUTSIDERS


def demands(condition: str, depth: int = 0) -> Iterator[str]:
    """The parts of a condition without each of which it is false; none of a choice."""
    text = _plain(condition)
    if len(text) > MAX_LENGTH or depth > MAX_NESTING or len([*_split(text, "||")]) > 1:
        return
    parts = [*_split(text, "&&")]
    if len(parts) > 1:
        for part in parts:
            yield from demands(part, depth + 1)
    elif text.startswith("(") and text.endswith(")"):
        yield from demands(text[1:-1], depth + 1)
    else:
        yield text


def guarded(starters: Starters, by: Starter) -> Starters:
    """The events behind a check that only these people pass."""
    return {event: fewer(each, by) for event, each in starters.items()}


def _plain(condition: str) -> str:
    text = condition.strip()
    return text[3:-2].strip() if text.startswith("${{") and text.endswith("}}") else text


def _of(text: str, starters: Starters, depth: int = 0) -> Starters:
    """The events past a condition: for `a || b` those past either, for `a && b` those past both."""
    text = text.strip()
    if not text:
        return starters
    if len(text) > MAX_LENGTH or depth > MAX_NESTING:
        return guarded(starters, "perhaps anyone")
    ways = list(_split(text, "||"))
    if len(ways) > 1:
        return _joined(_of(way, starters, depth + 1) for way in ways)
    parts = list(_split(text, "&&"))
    if len(parts) > 1:
        for part in parts:
            starters = _of(part, starters, depth + 1)
        return starters
    if text.startswith("(") and text.endswith(")"):
        return _of(text[1:-1], starters, depth + 1)
    return _of_atom(text, starters)


def _with_its_things(text: str, starters: Starters) -> Starters:
    """The events past a condition that is false of an event without the things that it names."""
    if not any(form.fullmatch(text) for form in _NEEDS_A_THING):
        return starters
    having = {event for thing in _NAMED_THING.findall(text) for event in _HAVING[thing.lower()]}
    return {event: by for event, by in starters.items() if event in having or event not in _KNOWN_EVENTS}


def _joined(ways: Iterator[Starters]) -> Starters:
    joined: dict[str, Starter] = {}
    for way in ways:
        for event, by in way.items():
            joined[event] = more(by, joined.get(event, by))
    return joined


def _of_atom(text: str, starters: Starters) -> Starters:
    if named := _EVENT.fullmatch(text) or _EVENT_REVERSED.fullmatch(text):
        is_chosen = named["how"] == "=="
        return {
            event: by
            for event, by in starters.items()
            # A called workflow has the event of whoever calls it.
            if event == "workflow_call" or (event == named["name"]) is is_chosen
        }
    if text == "false":
        return {}
    starters = _with_its_things(text, starters)
    if _OF_FORKS.fullmatch(text):
        return starters
    if _RIGHTS.search(text) or _ACTION.search(text) or _UNSEEN.fullmatch(text):
        return guarded(starters, "those who may write")
    is_negated = "!=" in text or text.startswith("!")
    if _ASSOCIATION.search(text):
        return _of_person(text, starters, _by_association({*_WORD.findall(text)}, is_negated=is_negated))
    if _CHOSEN.search(text) and not is_negated:
        return _of_person(text, starters, "those who may write")
    return guarded(starters, "perhaps anyone") if _UNKNOWN.search(text) else starters


def _by_association(named: set[str], *, is_negated: bool) -> Starter:
    """The people with one of these ties to the repository, or with none of them."""
    if not named:
        return "perhaps anyone"
    left = _STRANGERS - named if is_negated else _STRANGERS & named
    # Whoever had something merged once is a contributor.
    return "those who may write" if not left else "perhaps anyone" if left <= {"CONTRIBUTOR"} else "anyone"


def _of_person(text: str, starters: Starters, by: Starter) -> Starters:
    """The events behind a check of a person, who is not always the one that causes the event."""
    checked = {person["of"] for person in _PERSON.finditer(text)}
    others = {event for event, of in _NOT_OF_EVENT.items() if checked and checked <= {of}}
    return {event: each if event in others else fewer(each, by) for event, each in starters.items()}


def _split(text: str, operator: str) -> Iterator[str]:
    """The parts between an operator outside parentheses and quotes."""
    depth, start, quoted = 0, 0, False
    for at, character in enumerate(text):
        if character == "'":
            quoted = not quoted
        elif not quoted:
            depth += (character == "(") - (character == ")")
            if depth == 0 and at >= start and text.startswith(operator, at):
                yield text[start:at]
                start = at + len(operator)
    yield text[start:]
