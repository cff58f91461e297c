"""The capabilities of commands of GitHub's own program, by what they show of others' words and what they write there.

Only what sends words or files counts as writing, and to any repository: whatever a rule begins with, `-R` may follow,
or the address of an issue, and the last option of its name holds. To delete or to lock something sends nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.foreign.lines import READS_GITHUB, WRITES_GITHUB

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

GH = "gh"
_OF_ITS_PEOPLE = frozenset({"auth", "cache", "label", "release", "workflow"})
"""Nouns of which only those who may write to a repository make the texts."""
_WITH_VERBS = frozenset({"cache", "gist", "issue", "label", "pr", "release", "repo", "run", "workflow"})
_WITHOUT_VERBS = frozenset({"api", "auth", "search", "status"})
_SHOWN_BY_VERBS = frozenset(
    {"", "checks", "checkout", "co", "diff", "download", "list", "ls", "status", "view", "watch"}
)
_READS_ITS_OWN = ("x.github.read",)
_REQUESTS = "api"
"""The noun of a request: it changes what it is about as soon as it has a field, a file or another method."""
_WRITING = {
    "agent-task": frozenset({"create"}),
    "gist": frozenset({"create", "edit", "new", "rename"}),
    "issue": frozenset({"close", "comment", "create", "develop", "edit", "new", "reopen"}),
    "label": frozenset({"create", "edit"}),
    "pr": frozenset({"close", "comment", "create", "edit", "merge", "new", "reopen", "revert", "review"}),
    "project": frozenset({"copy", "create", "edit", "field-create", "item-create", "item-edit", "new"}),
    "release": frozenset({"create", "edit", "new", "upload"}),
    "repo": frozenset({"autolink", "create", "deploy-key", "edit", "fork", "new", "rename"}),
    "workflow": frozenset({"run"}),
}
"""By the noun, the verbs that send words or files of whoever calls them."""


def shown_by_gh(noun: str, verb: str = "") -> tuple[str, ...]:
    """The capabilities of what a command shows, such as the words of whoever wrote an issue."""
    if noun in _WITHOUT_VERBS or (noun in _WITH_VERBS and verb in _SHOWN_BY_VERBS):
        return _READS_ITS_OWN if noun in _OF_ITS_PEOPLE else READS_GITHUB
    return ()


def written_by_gh(noun: str, verb: str = "") -> tuple[str, ...]:
    """The capabilities of what a command sends, if its words go on; without a verb, by any."""
    verbs = _WRITING.get(noun, frozenset())
    return WRITES_GITHUB if noun == _REQUESTS or (verbs and (not verb or verb in verbs)) else ()


def of_gh(words: Sequence[str], *, is_open: bool, is_stem: bool) -> tuple[str, ...]:
    """The capabilities of the commands that begin with `words` after the program.

    `is_open`: any words may follow. `is_stem`: the last of them may go on as well, as in `gh issue c*`.
    """
    if not words:
        return (*READS_GITHUB, *WRITES_GITHUB) if is_open else ()
    raised = [
        each
        for noun, verb in _meant(words, is_stem=is_stem)
        for each in (*shown_by_gh(noun, verb), *(written_by_gh(noun, verb) if is_open else ()))
    ]
    return tuple(dict.fromkeys(raised))


def _meant(words: Sequence[str], *, is_stem: bool) -> Iterator[tuple[str, str]]:
    """The nouns and verbs of commands that begin so."""
    noun, verb, *_ = (*words, "", "")
    yield noun, verb
    if not is_stem or len(words) > 2:
        return
    nouns = {*_WITH_VERBS, *_WITHOUT_VERBS, *_WRITING}
    if verb:
        verbs: Collection[str] = _SHOWN_BY_VERBS | _WRITING.get(noun, frozenset())
        yield from ((noun, each) for each in sorted(verbs) if each.startswith(verb))
    elif noun:
        yield from ((each, "") for each in sorted(nouns) if each.startswith(noun))
