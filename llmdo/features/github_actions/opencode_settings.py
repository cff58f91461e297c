"""The settings of opencode at a step: those of the project, of a file that the step names, and of its variables.

Watched with 1.18.33: all are merged, those of the step's file lowest, and it skips a file that is not there. A variable
leaves out all of the project: then neither its settings nor its agents count.
"""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Related, excerpt, finding, place
from llmdo.base.parts import table, text, texts
from llmdo.base.values import dataclass, replace
from llmdo.features.github_actions.checkout import document_of, json_of
from llmdo.features.github_actions.gemini_runs import LOSES, NEEDS, OF_ALL
from llmdo.features.opencode import FORMAT, SETTINGS, references, settings
from llmdo.features.opencode.permissions import matches, rules_of
from llmdo.foreign.files import MOST_PLACES, Files
from llmdo.foreign.instead import few_tools, in_permission, permission_of
from llmdo.foreign.permissions import WORDS
from llmdo.foreign.reading import without_comments
from llmdo.foreign.team import MAX_NAME
from llmdo.syntax.document import Document, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.features.github_actions.checkout import Checkout
    from llmdo.features.github_actions.walking import Site
    from llmdo.features.github_actions.workflow import Variable
    from llmdo.foreign.permissions import PermissionRule
    from llmdo.foreign.team import Grant

PERMISSION = "OPENCODE_PERMISSION"
_OWN = "OPENCODE_CONFIG"
"""The variable with the path of a file of settings, which lies below those of the project."""
_CONTENT = "OPENCODE_CONFIG_CONTENT"
_VARIABLES = (_CONTENT, PERMISSION)
"""The variables with settings, the lower one first."""
_WITHOUT_PROJECT = "OPENCODE_DISABLE_PROJECT_CONFIG"
"""The variable by which opencode reads no settings and no agents of its project."""
_FOLDER = "OPENCODE_CONFIG_DIR"
"""The variable with the folder of further settings and agents, which counts all the same."""
_OF_PROJECT = ".opencode"
_WORKSPACE = re.compile(r"\$\{\{\s*github\.workspace\s*\}\}/")
_UNFILLED = re.compile(r"\$\{?GITHUB_WORKSPACE\}?/")
"""A variable of the shell, which nobody fills in within `env`."""
_IS_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*")
"""A folder of the workspace without an expression or a variable in it."""
_IS_JSON = (".json", ".jsonc")
_FILLED = re.compile(r"\$|\{(?:env|file):")
"""What something else is written for before opencode reads the text."""
_DENIED = ("bash", "task", "webfetch", "websearch")
"""The tools that a line of the settings takes from a job: what brings words or sends, and calls of others."""
_LAST_COMMA = re.compile(r'(?P<text>"(?:\\.|[^"\\])*")|,(?=\s*[}\]])')
"""A comma before the end of a table or a list, or a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _VariableSettings(Document):
    """The settings in a variable of a step."""

    name: str
    at: Place
    is_missing: bool = False
    """Whether the variable is to be made, at the place of another one."""


def documents_at(site: Site, tree: Checkout) -> list[Document]:
    """All settings at a step, the uppermost last; where none is there and no file of the project counts, empty ones."""
    project = [document for path in _read_of_project(site) if (document := tree.json(path))]
    variables = [each for name in _VARIABLES if (each := settings_in(site, name))]
    own = _own_file(site, tree)
    documents = [*([own] if own else ()), *project, *variables]
    without = site.variables.get(_WITHOUT_PROJECT)
    if documents or without is None or _reads_project(site):
        return documents
    read = without.at.document
    return [
        _VariableSettings(
            source=read.source, data={}, index=read.index, name=PERMISSION, at=without.at, is_missing=True
        )
    ]


def _reads_project(site: Site) -> bool:
    """Whether opencode reads settings and agents of its project at a step."""
    variable = site.variables.get(_WITHOUT_PROJECT)
    return variable is None or variable.value.lower() not in ("1", "true")


def _reads_folder(site: Site) -> bool:
    """Whether opencode reads the project's folder of agents and settings at a step."""
    variable = site.variables.get(_FOLDER)
    path = _WORKSPACE.sub("", variable.value.strip(), count=1) if variable else ""
    return _reads_project(site) or posixpath.normpath(path) == _OF_PROJECT


def _read_of_project(site: Site) -> tuple[str, ...]:
    """The paths of the settings of the project that count at a step."""
    if _reads_project(site):
        return SETTINGS
    return tuple(path for path in SETTINGS if posixpath.dirname(path) and _reads_folder(site))


def with_agents_read(site: Site, tree: Checkout) -> Checkout:
    """The checkout with the agents that opencode reads at a step."""
    return tree if _reads_folder(site) else replace(tree, removed=(*tree.removed, _OF_PROJECT))


def settings_in(site: Site, name: str) -> Document | None:
    """The settings in a variable of a step; None without it, and if it is no table of JSON.

    opencode skips such a `PERMISSION`, also a word in quotes, which counts as `permission` elsewhere. In `CONTENT` it
    takes comments and commas too many (watched with 1.18.33).
    """
    variable = site.variables.get(name)
    if variable is None or not variable.value.strip():
        return None
    value = f'{{"permission": {variable.value}}}' if name == PERMISSION else _plain(variable.value)
    read = document_of(value, variable.at)
    if read is None or (name == PERMISSION and not isinstance(read.data["permission"], dict)):
        return None
    return _VariableSettings(source=read.source, data=read.data, index=read.index, name=name, at=variable.at)


def _plain(text: str) -> str:
    """JSON without the comments and the last commas that opencode takes."""
    return _LAST_COMMA.sub(lambda match: match["text"] or "", without_comments(text))


def _own_file(site: Site, tree: Checkout) -> Document | None:
    """The file of settings that a step names; None without one, and for one of which nothing is known here."""
    variable = site.variables.get(_OWN)
    if variable is None or not variable.value.strip():
        return None
    path = _WORKSPACE.sub("", variable.value.strip(), count=1)
    folder = text(site.step.get("working-directory"))
    if path == variable.value.strip() and folder:
        path = posixpath.join(folder, path)
    if posixpath.normpath(path) in _read_of_project(site):
        return None
    return json_of(path, variable.at, tree, is_strict=False)


def refused(site: Site, tree: Checkout) -> Diagnostic | None:
    """The finding about settings with which opencode does not start at a step; None if nothing says so.

    Those of the project, of the step's file and of its variable may refer to files, and that of its variable may be no
    JSON (watched with 1.18.33).
    """
    if site.run.program != "opencode":
        return None
    content = site.variables.get(_CONTENT)
    if content and content.value.strip() and not (_FILLED.search(content.value) or _is_table(content.value)):
        message = f"`{_CONTENT}` is no table of JSON, so opencode does not start"
        return finding("LDO153", content.at.location, message)

    def is_made(path: str) -> bool:
        name, before = posixpath.basename(path), (*site.before, site.step)
        return path in tree.written or any(name in _scripted(step) for step in before)

    for document in documents_at(site, tree):
        if document.source.path.endswith(_IS_JSON):
            refusal = references.refusal(tree, document, is_made)
        elif content and document.source.path == content.at.location.path:
            refusal = _refused_text(site, tree, content, is_made)
        else:
            continue
        if refusal:
            return refusal
    return None


def _is_table(value: str) -> bool:
    """Whether a text is a table of JSON."""
    try:
        return isinstance(json.loads(_plain(value)), dict)
    except (ValueError, RecursionError):
        return False


def _refused_text(
    site: Site, tree: Checkout, content: Variable, is_made: Callable[[str], bool]
) -> Diagnostic | None:
    """The finding about the settings in a variable, whose paths begin at the folder of the step."""
    document = settings_in(site, _CONTENT)
    folder = posixpath.normpath(text(site.step.get("working-directory")) or ".")
    if document is None or not _IS_PATH.fullmatch(folder):
        return None
    return references.refusal_of_text(
        tree, document, content.value, folder, is_made, lambda words: site.spot(content.at, words)
    )


def _scripted(step: Mapping[str, object]) -> str:
    """The text of a step that may make files: its script, and what an action is given."""
    return "\n".join((text(step.get("run")), *texts(table(step.get("with")).values())))


def servers_at(documents: Iterable[Document]) -> dict[str, dict[str, object]]:
    """The servers of settings that are on, as opencode merges what several say of one."""
    merged: dict[str, dict[str, object]] = {}
    for document in documents:
        for name, server in table(document.data, "mcp").items():
            merged[name] = {**merged.get(name, {}), **table(server)}
    return {name: server for name, server in merged.items() if server.get("enabled") is not False}


def without_effect(site: Site, tree: Checkout) -> Iterator[Diagnostic]:
    """The findings about a file that a step names: none is read, or its rules give way to those of the project."""
    variable = site.variables.get(_OWN)
    if variable and (unfilled := _UNFILLED.match(variable.value)):
        path = excerpt(variable.value, MAX_NAME)
        message = f"`env` fills in no variable of the shell, so opencode skips `{path}`, which is no file"
        form = f"${{{{ github.workspace }}}}/{variable.value[unfilled.end() :]}"
        yield finding("LDO151", variable.at.location, message, hint=f"write `{_OWN}: {form}`")
    own = _own_file(site, tree)
    if variable is None or own is None or not own.source.path.endswith(_IS_JSON):
        return
    files = Files(tree, "opencode")
    written = [*rules_of(files, Place(own, ()))]
    if own.source.path not in SETTINGS:  # those are judged with the project
        settings.judge(files, own)
        yield from files.problems
    tables = (Place(each, ()) for each in documents_at(site, tree))
    rules = [*rules_of(Files(tree, "opencode"), *tables)]  # what of these gives way is named below
    idle = [
        (rule, by)
        for rule in written
        if (by := _decides(rules, rule)) and by.decision != rule.decision and by.at.document is not own
    ]
    if not idle:
        return
    first, by = idle[0]
    names = dict.fromkeys(f"`{rule.tool}`" for rule, _ in idle)
    what = f"what this file says of {' and '.join(names)} does nothing"
    message = f"{what}, as settings above it decide otherwise ({place(by.at.location)})"
    is_alike = PERMISSION not in site.variables and all(by.tool == rule.tool for rule, by in idle)
    line = f"{PERMISSION}: '{json.dumps(_written(rule for rule, _ in idle))}'"
    hint = f"write `{line}` under `env` ({place(variable.at.location)})" if is_alike else None
    related = [Related(rule.at.location, "and here") for rule, _ in idle[1 : MOST_PLACES + 1]]
    yield finding("LDO151", first.at.location, message, hint=hint, related=related)


def _decides(rules: Sequence[PermissionRule], rule: PermissionRule) -> PermissionRule | None:
    """The last of the rules in force that is about all that a rule is about."""
    alike = (
        each
        for each in reversed(rules)
        if matches(each.tool, rule.tool) and each.pattern in (rule.pattern, "*", "**")
    )
    return next(alike, None)


def _written(rules: Iterable[PermissionRule]) -> dict[str, object]:
    """The value of `permission` with some rules."""
    words = {decision: word for word, decision in WORDS.items()}
    permission: dict[str, dict[str, str]] = {}
    for rule in rules:
        permission.setdefault(rule.tool, {})[rule.pattern or "*"] = words[rule.decision]
    return {tool: each["*"] if [*each] == ["*"] else each for tool, each in permission.items()}


def narrower_at(site: Site, tree: Checkout) -> str:
    """The hint for a run of opencode with every tool: a list of them in the settings that count."""
    documents = documents_at(site, tree)
    if not _reads_project(site) and all(isinstance(each, _VariableSettings) for each in documents):
        line = FORMAT.few_in_json.removeprefix('"permission": ')
        return f"write `{line}` into `{PERMISSION}` under `env`, {NEEDS}; {LOSES}"
    files = [each for each in documents if not isinstance(each, _VariableSettings)]
    path, document = _to_edit(files)
    line = few_tools(FORMAT, Place(document, ())) if document else f"{{{FORMAT.few_in_json}}}"
    return f"write `{line}` into `{path}`, {NEEDS}; {LOSES}{f', {OF_ALL}' if path in SETTINGS else ''}"


def narrowed(
    given: Grant,
    documents: Sequence[Document],
    *,
    is_ruled: bool,
    tool: str = "",
    by: PermissionRule | None = None,
) -> Grant:
    """A tool with the edit that denies it if no rule names it, and the loss of others who share the settings."""
    also = of_everybody(given.at.location.path if is_ruled else _to_edit(documents)[0])
    if by is not None and (denial := _denial_behind(by, given.tool, documents)):
        return denial.given_to(given, also=also)
    if is_ruled:
        return replace(given, also=also)
    return denial_of(tool or given.toolset, documents).given_to(given, also=also)


@dataclass(frozen=True, slots=True)
class Denial:
    """The edit of settings that denies a tool about which no rule says anything."""

    change: str
    at: Place | None = None
    """The place for it; None in a file that is not there yet, or empty."""

    def given_to(self, given: Grant, *, loss: str = "", also: str) -> Grant:
        """A tool with this edit."""
        edited = replace(given, narrower=self.change, narrower_at=self.at, is_nowhere_yet=self.at is None)
        return replace(edited, loss=loss, also=also)


def denial_of(tool: str, documents: Sequence[Document]) -> Denial:
    """The edit that denies a tool about which no rule says anything."""
    path, document = _to_edit(documents)
    if document is None:
        return Denial(f'write `{{"permission": {{"{tool}": "deny"}}}}` into `{path}`')
    if isinstance(document, _VariableSettings) and document.is_missing:
        return Denial(f'write `{{"{tool}": "deny"}}` into `{path}` under `env`', document.at)
    if isinstance(document, _VariableSettings):
        line = f'"{tool}": "deny"' if path == PERMISSION else f'"permission": {{"{tool}": "deny"}}'
        return Denial(f"write `{line}` into `{path}`", document.at)
    if isinstance(document.data.get("permission"), dict):
        permission = Place(document, ("permission",), of_key=True)
        return Denial(f'write `"{tool}": "deny"` under `permission` of `{path}`', permission)
    at = Place(document, tuple(document.data)[:1], of_key=True) if document.data else None
    return Denial(f'write `"permission": {{"{tool}": "deny"}}` into `{path}`', at)


def denial_above(rule: PermissionRule, tool: str, documents: Sequence[Document]) -> Denial:
    """The edit that denies a tool which a rule allows, where that rule is."""
    if denial := _denial_behind(rule, tool, documents):
        return denial
    instead = in_permission(rule.at, permission_of(rule.at), tool, "deny")
    return Denial(instead.change, instead.at or rule.at)


def _denial_behind(rule: PermissionRule, tool: str, documents: Sequence[Document]) -> Denial | None:
    """The edit that denies a tool behind a rule about more; None if it is an ordinary line of that rule's file.

    A tool keeps the place that the lowest settings give it, so another line with its name does nothing behind the rule,
    and a pattern that is about it alone does (watched with 1.18.33).
    """
    document = next((each for each in documents if each is rule.at.document), None)
    if document is None or rule.at.route[0] != "permission" or rule.tool == tool or tool not in _DENIED:
        return None
    is_variable = isinstance(document, _VariableSettings)
    stands = any(
        tool in table(each.data, key)
        for each in documents
        for key in ("permission", "tools")
        if is_variable or each is not document
    )
    if not (is_variable or stands) or not isinstance(document.data["permission"], dict):
        return None
    name = f"{tool}*" if stands else tool
    table_name = PERMISSION if is_variable and _to_edit([document])[0] == PERMISSION else "permission"
    why = f", as `{tool}` stands before `{rule.tool}` already" if stands else ""
    at = rule.at._replace(of_key=True)
    return Denial(f'write `"{name}": "deny"` at the end of `{table_name}`{why}', at)


def of_everybody(path: str) -> str:
    """The rest of a sentence about what is lost by a line of the file at a path: by others too if they share it."""
    return ", also in other jobs and in people's own sessions" if path in SETTINGS else ""


def _to_edit(documents: Sequence[Document]) -> tuple[str, Document | None]:
    """The place of a rule that is about a job, with its settings if it is there: best the step's own variable or file.

    Settings in a variable are above all others, and those of one step alone.
    """
    for document in reversed(documents):
        if isinstance(document, _VariableSettings):
            return document.name, document
    files = (each for each in documents if each.source.path.endswith(_IS_JSON))
    first = next(files, None)
    return (first.source.path, first) if first else (SETTINGS[0], None)
