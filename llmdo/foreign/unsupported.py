"""Traces of tools that llmdo does not read, and of those that it reads in folders below, for the report.

What it reads is the register of formats, in which each has its tool: no such tool is ever called unsupported. Nothing
is claimed beyond the evidence: names of files, in a few the number of agents listed, and packages.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.base.diagnostic import finding
from llmdo.base.source import Location
from llmdo.base.values import dataclass, replace
from llmdo.foreign import reading
from llmdo.foreign.known import formats

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign.known import Formats
    from llmdo.foreign.tree import Tree
    from llmdo.syntax.document import Document

MAX_LOOKED_INTO = 50  # files of one product: one of them is enough to say what it is


@dataclass(frozen=True, slots=True)
class Sighting:
    """The traces of one tool."""

    product: str
    path: str
    """Its first file."""
    evidence: str
    """The contents of that file, and the number of others."""
    why: str = ""
    """The reason why its files do not show the abilities of its agents."""
    verdict: str = "not supported"

    @property
    def note(self) -> Diagnostic:
        """The finding about it."""
        reason = f", {self.why}" if self.why else ""
        message = f"{self.product}: {self.evidence}; {self.verdict}{reason}"
        return finding("LDO154", Location(self.path), message)


@dataclass(frozen=True, slots=True)
class _Evidence:
    """Files by which a tool is known."""

    product: str
    patterns: tuple[str, ...]
    noun: str
    """The kind of file, or with `count`, the kind of item counted."""
    why: str = ""
    count: Callable[[Document], int] | None = None
    """The number of items in a file; a file with none is not the tool's."""
    word: str = ""
    """A word without which a file has none, so that it need not be read as what it is."""
    never: str = ""
    """A word by which a file of JSON is something else of the same name."""
    others: Collection[str] = frozenset()
    """The files of these names that are another tool's, which reads them."""


def _in_table(key: str) -> Callable[[Document], int]:
    return lambda document: len(parts.table(document.data, key))


def _in_list(key: str) -> Callable[[Document], int]:
    return lambda document: len(parts.items(document.data.get(key)))


def _with_roles(document: Document) -> int:
    """The agents of a file of CrewAI: each has a role and a goal."""
    return sum(isinstance(each, dict) and {"goal", "role"} <= each.keys() for each in document.data.values())


def _with_jules(document: Document) -> int:
    """The steps of a workflow that give Jules a task."""
    jobs = parts.tables(document.data, "jobs").values()
    steps = (parts.table(step) for job in jobs for step in parts.items(job.get("steps")))
    return sum(bool(_JULES.search(f"{step.get('uses')}\n{step.get('run')}")) for step in steps)


_JULES = re.compile(r"\A\s*google-labs-code/jules-(?:action|invoke)\b|\bjules (?:remote )?new\b")
"""The actions and the command that give a task to Jules, which works on it on machines of Google."""
_IN_PYTHON = "their tools are in Python"
EVIDENCE = (
    _Evidence(
        "CrewAI", ("**/config/agents.yaml", "**/config/agents.yml", "**/agents.yaml", "**/agents.yml"), "agent",
        _IN_PYTHON, _with_roles,
    ),
    _Evidence("LangGraph", ("langgraph.json", "*/langgraph.json"), "graph", "they are code", _in_table("graphs")),
    _Evidence("Google ADK", ("**/root_agent.yaml",), "agent", _IN_PYTHON),
    _Evidence("Kilo Code", (".kilocodemodes",), "mode", count=_in_list("customModes")),
    _Evidence("Kilo Code", ("kilo.json", "kilo.jsonc", ".kilocode/mcp.json"), "configuration"),
    _Evidence("Amazon Q Developer", (".amazonq/cli-agents/*.json",), "agent"),
    _Evidence(
        "Jules", (".github/workflows/*.yaml", ".github/workflows/*.yml"), "step", "its tools are in no file",
        _with_jules, "jules",
    ),
    _Evidence("Factory", (".factory/droids/*.md",), "droid"),
    _Evidence("Factory", (".factory/settings.json", ".factory/hooks.json", ".factory/mcp.json"), "configuration"),
    _Evidence("Grok Build", (".grok/agents/*.md",), "agent"),
    _Evidence("Grok Build", (".grok/config.toml", ".grok/hooks/*.json"), "configuration"),
    _Evidence("Pi", (".pi/agents/*.md",), "agent"),
    _Evidence(
        "Pi", (".pi/extensions/*.ts", ".pi/extensions/*.js", ".pi/extensions/*/index.ts"), "extension",
        "they are code",
    ),
    _Evidence("Pi", (".pi/settings.json",), "configuration"),
    _Evidence("Augment", (".augment/agents/*.md",), "agent"),
    _Evidence("Continue", (".continue/agents/*.yaml", ".continue/agents/*.md"), "agent"),
    _Evidence("Continue", (".continue/config.yaml", ".continue/mcpServers/*.yaml"), "configuration"),
    _Evidence("OpenHands", (".openhands/microagents/*.md", ".openhands/agents/*.md"), "microagent"),
    _Evidence("Crush", ("crush.json", ".crush.json"), "configuration"),
    _Evidence("Amp", (".amp/settings.json",), "configuration"),
    _Evidence("Aider", (".aider.conf.yml",), "configuration"),
    _Evidence("Windsurf", (".windsurf/hooks.json",), "configuration"),
    _Evidence("Junie", (".junie/mcp/mcp.json",), "configuration"),
    _Evidence("Cline", ("**/.clinerules", "**/.clinerules/*.md"), "file of rules"),
    _Evidence("Cline", ("**/.clinerules/workflows/*.md",), "workflow"),
    _Evidence("Windsurf", ("**/.windsurfrules", ".windsurf/rules/*.md"), "file of rules"),
    _Evidence("Windsurf", (".windsurf/workflows/*.md",), "workflow"),
    _Evidence("Amazon Q Developer", (".amazonq/rules/*.md",), "file of rules"),
    _Evidence("Junie", (".junie/guidelines.md",), "file of rules"),
    _Evidence("Goose", (".goosehints",), "file of rules"),
)  # fmt: skip
"""Files by which tools are known; of several items for one tool, the first with files counts."""

REQUIRING = tuple(
    f"{above}{name}"
    for name in ("pyproject.toml", "requirements*.txt", "package.json")
    for above in ("", "*/", "*/*/")
)
PACKAGES: Mapping[str, str] = {
    "@anthropic-ai/claude-agent-sdk": "Claude Agent SDK", "@google/adk": "Google ADK",
    "@langchain/langgraph": "LangGraph", "@mastra/core": "Mastra", "@openai/agents": "OpenAI Agents SDK",
    "ag2": "AutoGen", "agent-framework": "Microsoft Agent Framework", "agno": "Agno", "autogen-agentchat": "AutoGen",
    "camel-ai": "CAMEL", "claude-agent-sdk": "Claude Agent SDK", "crewai": "CrewAI", "google-adk": "Google ADK",
    "langgraph": "LangGraph", "metagpt": "MetaGPT", "openai-agents": "OpenAI Agents SDK", "pyautogen": "AutoGen",
    "pydantic-ai": "Pydantic AI", "pydantic-ai-slim": "Pydantic AI", "semantic-kernel": "Semantic Kernel",
    "smolagents": "smolagents", "strands-agents": "Strands Agents",
}  # fmt: skip
"""Packages for agents written as code, to the tools that they belong to."""

PATTERNS = (*(pattern for each in EVIDENCE for pattern in each.patterns), *REQUIRING)

_BELOW = "*/**/"
"""The beginning of a pattern of files in any folder below."""
_OF_A_HOME = "**/.config/**/"
"""That of files in the folder for settings of a home, as a repository of a person's files has it."""
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def walked(known: Formats) -> tuple[str, ...]:
    """Every pattern looked for, to be found in one walk."""
    return (*PATTERNS, *(pattern for each in _below(known) for pattern in each.patterns))


def seen(tree: Tree, known: Formats | None = None, read: Iterable[str] = ()) -> tuple[Sighting, ...]:
    """The traces in a project of tools that no format of `known` belongs to, each tool once.

    Without `known`, those formats are the ones of llmdo itself. `read` are the files that formats have read.
    """
    known = formats() if known is None else known
    sightings: dict[str, Sighting] = {}
    for each in EVIDENCE:
        if each.product not in sightings and (sighting := _by_evidence(tree, each)):
            sightings[each.product] = sighting
    required = [
        (path, package, extra)
        for path in tree.find(REQUIRING)[0][:MAX_LOOKED_INTO]
        for package, extra in _required(tree, path)
        if package in PACKAGES
    ]
    for path, package, extra in sorted(required, key=lambda each: bool(each[2])):
        product = PACKAGES[package]
        requires = f"has `{package}` in the extra `{extra}`" if extra else f"requires `{package}`"
        evidence = f"`{path}` {requires}"
        sightings.setdefault(product, Sighting(product, path, evidence, "any agents of it are code"))
    others = frozenset({*read, *_of_plugins(tree, known)})
    below = (_in_folders(tree, each) for each in _below(known, others))
    return (
        *(sightings[product] for product in sorted(sightings.keys() - _products(known))),
        *(each for each in below if each),
    )


def _in_folders(tree: Tree, evidence: _Evidence) -> Sighting | None:
    """The files of a supported tool in folders below, in which somebody may start it."""
    folders = {_folder(path, evidence) for path in _paths(tree, evidence)}
    several = (
        replace(evidence, noun=f"file in {len(folders)} folders below") if len(folders) > 1 else evidence
    )
    if (sighting := _by_evidence(tree, several)) is None:
        return None
    folder = _folder(sighting.path, evidence)
    which = f"one of those folders, such as `{folder}`" if len(folders) > 1 else f"`{folder}`"
    return replace(sighting, verdict=f"not read: give {which} (`{shlex.join(('llmdo', 'scan', folder))}`)")


def _folder(path: str, evidence: _Evidence) -> str:
    """The folder in which somebody starts the tool that a file below it is of."""
    above, _, name = path.rpartition("/")
    if f"{_BELOW}{name}" in evidence.patterns:
        return above
    own = {
        pattern.replace(_OF_A_HOME, _BELOW).removeprefix(_BELOW).partition("/")[0]
        for pattern in evidence.patterns
    }
    parts = path.split("/")
    start = next((number for number, part in enumerate(parts) if part in own), len(parts) - 1)
    return "/".join(parts[:start])


def _products(known: Formats) -> set[str]:
    return {form.product for form in known.values()}


def _of_plugins(tree: Tree, known: Formats) -> Iterator[str]:
    """The files of clients of several makers, as one of these has them in its plugins."""
    shared = [name for form in known.values() if form.spec.is_shared for name in form.below]
    for form in known.values():
        if plugin := form.spec.plugin:
            for path in tree.find([f"**/{plugin}"])[0]:
                yield from (f"{path.removesuffix(plugin)}{name}" for name in shared)


def _below(known: Formats, others: Collection[str] = frozenset()) -> Iterator[_Evidence]:
    """The files of supported tools that count only for a start in their folder, by the names of the tools.

    `others` are those that, where clients of several makers have such files, are those of one.
    """
    for form in sorted(known.values(), key=lambda form: form.product):
        patterns = tuple(f"{above}{pattern}" for pattern in form.below for above in (_BELOW, _OF_A_HOME))
        patterns += tuple(f"{_OF_A_HOME}{each.removeprefix('**/')}" for each in form.spec.in_settings)
        if patterns:
            yield _Evidence(
                form.product,
                patterns,
                "file in a folder below",
                never=form.spec.never_in_json,
                others=others if form.spec.is_shared else frozenset(),
            )


def summary(sightings: Iterable[Sighting]) -> str | None:
    """All of them as part of a sentence; None if there are none."""
    by_verdict: dict[str, list[str]] = {}
    for each in sightings:
        by_verdict.setdefault(each.verdict, []).append(f"{each.product} ({each.evidence})")
    return "; ".join(f"{verdict}: {', '.join(seen)}" for verdict, seen in by_verdict.items()) or None


def _by_evidence(tree: Tree, evidence: _Evidence) -> Sighting | None:
    paths = _paths(tree, evidence)
    if evidence.count is None:
        if not paths:
            return None
        noun = evidence.noun if len(paths) == 1 else _plural(evidence.noun)
        more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
        return Sighting(
            evidence.product, paths[0], f"{len(paths):,} {noun}: `{paths[0]}`{more}", evidence.why
        )
    some = paths if evidence.word else paths[:MAX_LOOKED_INTO]
    counts = {path: _count(tree, path, evidence.count, evidence.word) for path in some}
    counts = {path: count for path, count in counts.items() if count}
    if not counts:
        return None
    total, first = sum(counts.values()), next(iter(counts))
    noun = evidence.noun if total == 1 else _plural(evidence.noun)
    more = f" and {len(counts) - 1:,} more" if len(counts) > 1 else ""
    return Sighting(evidence.product, first, f"{total:,} {noun} in `{first}`{more}", evidence.why)


def _paths(tree: Tree, evidence: _Evidence) -> Sequence[str]:
    """The files of a tool, without those that are something else by what they say."""
    paths = [path for path in tree.find(evidence.patterns)[0] if path not in evidence.others]
    if not evidence.never:
        return paths
    unsure = [path for path in paths if path.endswith((".json", ".jsonc"))][:MAX_LOOKED_INTO]
    others = {path for path in unsure if (read := tree.read(path)) and evidence.never in read[0].text}
    return [path for path in paths if path not in others]


def _plural(noun: str) -> str:
    head, rest = (noun, "") if " " not in noun else noun.split(" ", 1)
    return f"{head}s {rest}".strip()


def _count(tree: Tree, path: str, count: Callable[[Document], int], word: str) -> int:
    source, problems = tree.read(path) or (None, ())
    if source is None or problems or word not in source.text:
        return 0
    is_json = source.text.lstrip().startswith("{")
    return count(reading.json_with_comments(source) if is_json else reading.yaml(source))


def _required(tree: Tree, path: str) -> Iterator[tuple[str, str]]:
    """The packages that a file requires, each with its extra, empty for every installation; none if unreadable."""
    source, problems = tree.read(path) or (None, ())
    if source is None or problems:
        return
    name = PurePosixPath(path).name
    plain = source.text.lower().replace("_", "-")
    if not any(package in plain for package in PACKAGES):
        return  # no need to read it as what it is
    try:
        if name == "package.json":
            yield from ((name, "") for name in _of_javascript(json.loads(source.text)))
        elif name == "pyproject.toml":
            import tomllib  # slow to load, and few folders need it

            yield from _of_python(tomllib.loads(source.text))
        else:
            yield from ((name, "") for name in _names(source.text.splitlines()))
    except (ValueError, RecursionError):
        return


def _of_javascript(data: object) -> Iterator[str]:
    for key in ("dependencies", "devDependencies"):
        yield from parts.table(data, key)


def _of_python(data: object) -> Iterator[tuple[str, str]]:
    project, poetry = parts.table(data, "project"), parts.table(data, "tool", "poetry")
    groups = parts.table(data, "dependency-groups").values()
    listed = (project.get("dependencies"), *groups)
    yield from ((name, "") for each in listed for name in _names(parts.texts(each)))
    tables = (poetry, *parts.tables(poetry, "group").values())
    optional = {name: extra for extra, names in _extras(poetry) for name in names}
    for name in (name for each in tables for name in parts.table(each, "dependencies")):
        yield name, optional.get(name, "")
    yield from ((name, extra) for extra, names in _extras(project) for name in names)


def _extras(table: Mapping[str, object]) -> Iterator[tuple[str, Sequence[str]]]:
    """The extras of a package, each with the packages that it requires."""
    for key in ("extras", "optional-dependencies"):
        for extra, listed in parts.table(table, key).items():
            yield str(extra), [*_names(parts.texts(listed))]


def _names(requirements: Iterable[str]) -> Iterator[str]:
    for requirement in requirements:
        if name := _REQUIREMENT.match(requirement):
            yield re.sub(r"[._-]+", "-", name[1]).lower()
