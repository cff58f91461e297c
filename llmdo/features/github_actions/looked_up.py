"""Text of issues, pull requests and comments that an earlier step or job looks up and hands to an agent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.diagnostic import excerpt, place
from llmdo.base.parts import items, table, text
from llmdo.base.values import replace
from llmdo.features.github_actions.table import LINES
from llmdo.features.github_actions.tokens import granted
from llmdo.features.github_actions.workflow import texts_of_step
from llmdo.foreign.scripts import commands
from llmdo.foreign.team import MAX_NAME
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.features.github_actions.walking import Site
    from llmdo.foreign.team import Grant
    from llmdo.syntax.document import Route

_OUTPUT = re.compile(r"\bsteps\.([\w-]+)\.outputs\b")
_OUTPUT_OF_A_JOB = re.compile(r"\bneeds\.([\w-]+)\.outputs\.([\w-]+)")
_EXPRESSION = re.compile(r"\$\{\{(?:[^}$]|\}(?!\})|\$(?!\{\{))*+\}\}")
_LOOKS_UP = re.compile(
    r"\bgh (?:issue|pr) (?:list|view)\b|\bgh search\b|\bgh api\b[^\n]*(?:comments|discussions|issues|pulls)"
    r"|\.rest\.(?:issues\.(?!\w*Label)|pulls\.(?:get|list|listReview\w+)\b|search\.)|\bgithub\.graphql\b"
)
"""Script text that asks GitHub for issues, pull requests or comments."""
_CONTINUED = ("\\\n", "  ")
"""The end of a line that goes on, and blanks of the same length."""
_LISTS = frozenset({("issue", "list"), ("pr", "list"), ("search", "issues"), ("search", "prs")})
"""The commands of `gh` that can list what one author wrote."""
_PERSON = re.compile(r"[A-Za-z\d](?:-?[A-Za-z\d])*")
"""A fixed author of `gh`; that of an app is `app/NAME`, and `@me` the app of the token."""
_NO_PERSON = re.compile(r"actions|agent|bot|claude|codex|copilot|gemini|ghost", re.IGNORECASE)
"""Authors that hand on what others wrote."""
_WIDER = re.compile(r"author:|\bOR\b|[$()]", re.IGNORECASE)
"""Signs that a search may bring what others than the author wrote."""
_CONTRADICTION = re.compile(r'(?:no:label label:(?:"[^"]+"|[\w:/-]+)|label:(?:"[^"]+"|[\w:/-]+) no:label)')
"""A search whose two terms no item fulfils."""
_OF_ITS_AUTHOR = frozenset({
    "additions", "assignees", "author", "baseRefName", "body", "changedFiles", "closed", "closedAt", "createdAt",
    "deletions", "headRefName", "headRefOid", "id", "isDraft", "isPullRequest", "labels", "mergeable", "mergedAt",
    "milestone", "number", "repository", "state", "stateReason", "title", "updatedAt", "url",
})  # fmt: skip
"""Fields of `--json` that an author or a member writes: comments and reviews are others'."""
_FLAGS = {
    "-A": "--author", "-B": "--base", "-H": "--head", "-L": "--limit", "-R": "--repo", "-S": "--search",
    "-a": "--assignee", "-l": "--label", "-m": "--milestone", "-q": "--jq", "-s": "--state", "-t": "--template",
}  # fmt: skip
_VALUED = frozenset({*_FLAGS.values(), "--json", "--order", "--owner", "--sort"})
"""Options of those commands by which they list less, or show it otherwise."""
_WITH_CODE = re.compile(r"\bpulls\b.*\bcomments\b|^/?graphql$")
"""Addresses of GitHub whose items hold what others than their authors wrote, such as a line of a pull request."""
_OF_API = frozenset({"--field", "--header", "--hostname", "--jq", "--method", "--raw-field"})
_FLAGS_OF_API = {"-F": "--field", "-H": "--header", "-X": "--method", "-f": "--raw-field", "-q": "--jq"}
_MEMBER = r"""\.author_association\s*==\s*"(?:COLLABORATOR|MEMBER|OWNER)\""""
_SELECTS = rf"select\(\s*{_MEMBER}(?:\s+or\s+{_MEMBER})*\s*\)"
_OF_MEMBERS = re.compile(
    rf"(?:(?:\.(?:items)?\[\]\s*\|\s*)?{_SELECTS}|map\(\s*{_SELECTS}\s*\)|\[\s*\.(?:items)?\[\]\s*\|\s*{_SELECTS}\s*\])"
    r"(?:\s*\|(?!.*(?:\binputs?\b|\$)).*)?",
    re.DOTALL,
)
"""A program of jq of which all that it shows is of items that members wrote."""


class _LookUp(NamedTuple):
    """A script of a step that looks text up."""

    at: Place
    """The place of the first command that does so."""
    lists: str
    """The only such command, if it shows what one author wrote when that is named; else empty."""


class _ShownText(NamedTuple):
    """A text that an agent may see."""

    value: str
    at: Place
    variable: str
    """The name of the variable that has it; empty for another text."""


class _HandedText(NamedTuple):
    """A text with an output in it that an agent may see."""

    at: Place
    change: str
    """The edit that takes the output out."""


def looked_up_grants(site: Site) -> Iterator[Grant]:
    """The grants by which text comes in that an earlier step, or a job before, read from GitHub.

    What members alone wrote is none of it.
    """
    texts = [*_shown_at(site)]
    shown = "\n".join(expression for each in texts for expression in _EXPRESSION.findall(each.value))
    ids = set(_OUTPUT.findall(shown))
    own: Route = site.route[:-1]
    position = site.route[-1] if site.route else 0
    here = items(Place(site.document, own).data)[: position if isinstance(position, int) else 0]
    routes = {id(step): (*own, number) for number, step in enumerate(here)}
    for step in site.before:
        name = text(step.get("id"))
        if name in ids and (look_up := _look_up(site, step, routes.get(id(step)))):
            outputs = re.compile(rf"\bsteps\.{re.escape(name)}\.outputs\b")
            yield _grant(f"steps.{name}", "steps.STEP", look_up, _handed(site, texts, outputs))
    for job, output in dict.fromkeys(_OUTPUT_OF_A_JOB.findall(shown)):
        if job in site.jobs_before and (look_up := _in_job(site, job, output)):
            name = f"needs.{job}.outputs.{output}"
            outputs = re.compile(rf"\b{re.escape(name)}(?![\w-])")
            yield _grant(name, "needs.JOB", look_up, _handed(site, texts, outputs))


def _grant(name: str, line: str, look_up: _LookUp, handed: Sequence[_HandedText]) -> Grant:
    """The grant of what a look-up brings: at best the look-up can name an author."""
    name = excerpt(name, MAX_NAME)
    if look_up.lists:
        narrower = f"write `--author NAME` behind `{look_up.lists}`"
        loss, at = "with a member's name there, what others write has no effect", look_up.at
    else:
        *others, last = handed
        before = "".join(f"{each.change} ({place(each.at.location)}); and " for each in others)
        narrower, at = f"{before}{last.change}", last.at
        loss = "its agent then does not see what was looked up"
    grant = granted(name, name, LINES[line].capabilities, look_up.at, narrower=narrower, loss=loss)
    return replace(grant, narrower_at=at)


def _texts_at(step: Mapping[str, object]) -> Iterator[tuple[Route, str]]:
    """The texts of a step that its agent may see, each with its route in it: an `if` shows it nothing."""
    for key, value in step.items():
        if isinstance(value, str) and key != "if":
            yield (key,), value
    for key in ("with", "env"):
        for name, value in table(step.get(key)).items():
            if isinstance(value, str):
                yield (key, name), value


def _shown_at(site: Site) -> Iterator[_ShownText]:
    """The texts that the agent of a step may see, with the environment of its job."""
    for route, value in _texts_at(site.step):
        variable = str(route[1]) if route[0] == "env" else ""
        yield _ShownText(value, site.place(*route, of_key=bool(variable)), variable)
    for name, each in site.variables.items():
        if name not in table(site.step.get("env")):
            yield _ShownText(each.value, each.at, name)


def _handed(site: Site, texts: Iterable[_ShownText], outputs: re.Pattern[str]) -> tuple[_HandedText, ...]:
    """The texts in which outputs stand, each with the edit that takes them out."""
    handed: dict[tuple[Route, str], _HandedText] = {}
    for shown in texts:
        for match in filter(outputs.search, _EXPRESSION.findall(shown.value)):
            name = shown.variable
            change = f"take `{name}` out of `env`" if name else f"take `{excerpt(match)}` out"
            at = shown.at if name else site.spot(shown.at, match)
            handed.setdefault((shown.at.route, change), _HandedText(at, change))
    return tuple(handed.values())


def _in_job(site: Site, job: str, output: str) -> _LookUp | None:
    """The look-up of a step that fills an output of a job; None without one."""
    data = table(site.jobs_before[job])
    ids = set(_OUTPUT.findall(text(table(data.get("outputs")).get(output))))
    for number, step in enumerate(items(data.get("steps"))):
        if text(table(step).get("id")) in ids:
            look_up = _look_up(site, table(step), ("jobs", job, "steps", number))
            if look_up is not None:
                return look_up
    return None


def _look_up(site: Site, step: Mapping[str, object], route: Route | None) -> _LookUp | None:
    """The first look-up of a step at a route, if it may bring what others than members wrote."""
    if not _LOOKS_UP.search(texts_of_step(step).replace(*_CONTINUED)):
        return None
    matches = [
        (key, value[match.start() : match.end()])
        for key, value in _texts_at(step)
        if key != ("name",)
        for match in _LOOKS_UP.finditer(value.replace(*_CONTINUED))
    ]
    asking = [words for words in commands(text(step.get("run"))) if _LOOKS_UP.search(" ".join(words))]
    are_read = 0 < len(asking) == len(matches)
    if are_read and all(_is_of_members(words) or _lists_nothing(words) for words in asking):
        return None
    if route is None:
        return _LookUp(site.at, "")
    if not matches:
        return _LookUp(Place(site.document, route), "")
    key, words = matches[0]
    is_list = are_read and len(asking) == 1 and _is_of_members((*asking[0], "--author", "NAME"))
    lists = " ".join(asking[0][:3]) if is_list else ""
    at = Place(site.document, (*route, *key))
    return _LookUp(site.spot(at, lists or words.partition("\n")[0].rstrip(" \\")), lists)


def _is_of_members(words: Sequence[str]) -> bool:
    """Whether a command of `gh` surely shows nothing but what members wrote: one by a fixed name, or by its role."""
    if words[:2] == ("gh", "api"):
        options, others = _options(words[2:], _FLAGS_OF_API, _OF_API)
        endpoint = [each for each in others if each != "--paginate"]
        programs = options.get("--jq", ())
        return (
            len(endpoint) == 1
            and not endpoint[0].startswith("-")
            and not _WITH_CODE.search(endpoint[0])
            and len(programs) == 1
            and _OF_MEMBERS.fullmatch(programs[0].strip()) is not None
        )
    if words[:1] != ("gh",) or words[1:3] not in _LISTS:
        return False
    options, others = _options(words[3:], _FLAGS, _VALUED)
    searched = others if words[1] == "search" else ()
    authors = options.get("--author", ())
    return (
        len(searched) == len(others)
        and not any(each.startswith("-") for each in others)
        and bool(authors)
        and all(_PERSON.fullmatch(each) and not _NO_PERSON.search(each) for each in authors)
        and not any(map(_WIDER.search, (*searched, *options.get("--search", ()))))
        and not any("$" in each for name in options if name != "--repo" for each in options[name])
        and all(_OF_ITS_AUTHOR.issuperset(each.split(",")) for each in options.get("--json", ()))
    )


def _lists_nothing(words: Sequence[str]) -> bool:
    """Whether a command of `gh` asks for items without a label and with one, as Google's triage once did."""
    if words[:1] != ("gh",) or words[1:3] not in _LISTS or words[1] == "search":
        return False
    options, others = _options(words[3:], _FLAGS, _VALUED)
    searches = options.get("--search", ())
    return not others and len(searches) == 1 and _CONTRADICTION.fullmatch(searches[0].strip()) is not None


def _options(
    words: Sequence[str], short: Mapping[str, str], valued: frozenset[str]
) -> tuple[Mapping[str, Sequence[str]], Sequence[str]]:
    """The values of options, by their long names, and all other words."""
    options: dict[str, list[str]] = {}
    others: list[str] = []
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        name = short.get(name, name)
        if name not in valued or not word.startswith("-"):
            others.append(word)
        else:
            options.setdefault(name, []).append(value if equals else next(rest, "$"))
    return options, others
