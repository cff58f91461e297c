"""1xx: what reading the files found, and what the format alone cannot say about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.base.checking import reports
from llmdo.base.diagnostic import did_you_mean, excerpt, finding
from llmdo.base.values import replace
from llmdo.checks import acceptance, adopted, code, descriptions, schedules, shell
from llmdo.checks.code import without_meaning
from llmdo.syntax import toml
from llmdo.syntax.document import Place
from llmdo.syntax.tool_metadata import READ, means_capabilities
from llmdo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Location
    from llmdo.workspace.project import Project


def _reported(project: Project, code: str) -> Iterator[Diagnostic]:
    yield from (problem for problem in project.workspace.problems if problem.code == code)


@reports("LDO101", "error")
def invalid_syntax(project: Project) -> Iterator[Diagnostic]:
    """A file cannot be parsed.

    `llmdo.toml` is TOML, the header of a worker file is YAML between two lines of `---`, toolset modules are
    Python. Headers are read as YAML 1.2 and strictly: a key written twice, anchors, aliases, tags and merge keys
    are refused, because a reviewer would not see what they mean.

    Fails:

        model: fast
        model: strong

    Fixed:

        model: strong
    """
    yield from _reported(project, "LDO101")


@reports("LDO102", "error")
def unknown_key(project: Project) -> Iterator[Diagnostic]:
    """A key that the format does not have.

    A key that nobody reads is worse than an error: the author believes that it holds. Keys of other tools
    belong under `[tool.NAME]`. In the metadata of a tool any key may be somebody's own, so one that is no misspelt
    `capabilities` is a note.

    Fails:

        [workspace]
        wokers = ["workers/*.worker"]

    Fixed:

        [workspace]
        workers = ["workers/*.worker"]
    """
    yield from _reported(project, "LDO102")
    for module in project.workspace.modules.values():
        for name, toolset in module.outline.toolsets.items():
            keys = [(f"toolset `{name}`", *each) for each in toolset.other_keys]
            keys += [
                (f"tool `{tool}`", *each) for tool in toolset.tools for each in toolset.tools[tool].other_keys
            ]
            for owner, key, span in keys:
                yield _metadata_key(owner, key, module.source.location(span))


def _metadata_key(owner: str, key: str, at: Location) -> Diagnostic:
    is_meant = means_capabilities(key)
    problem = finding(
        "LDO102",
        at,
        f"unknown key `{excerpt(key)}` in the metadata of the {owner}",
        hint=did_you_mean(key.lower(), READ) or f"llmdo reads {', '.join(f'`{known}`' for known in READ)}",
    )
    return problem if is_meant else replace(problem, severity="note")


@reports("LDO103", "error")
def invalid_value(project: Project) -> Iterator[Diagnostic]:
    """A value of the wrong kind, or two that do not go together.

    Fails:

        [workspace]
        max-depth = "five"

    Fixed:

        [workspace]
        max-depth = 5
    """
    yield from _reported(project, "LDO103")
    yield from acceptance.without_effect(project)
    yield from shell.without_meaning(project)
    yield from descriptions.without_meaning(project)
    yield from without_meaning(project)
    yield from code.unused_configuration(project)
    yield from schedules.without_meaning(project)
    yield from adopted.without_effect(project)
    document = project.workspace.document
    workspace = project.workspace
    for name, table in workspace.tables("toolsets").items():
        if "python" in table and "mcp" in table:
            yield finding(
                "LDO103",
                document.key("toolsets", name),
                f"`{name}` has both `python` and `mcp`, but needs exactly one of them",
            )
    for name, table in workspace.tables("entries").items():
        starts = [key for key in ("worker", "function", "tool") if key in table]
        if len(starts) > 1:
            yield finding(
                "LDO103",
                document.key("entries", name, starts[1]),
                f"`{name}` has both `{starts[0]}` and `{starts[1]}`, but may start only one of them",
            )
        elif "calls" in table and starts in ([], ["worker"]):
            yield finding(
                "LDO103",
                document.key("entries", name, "calls"),
                f"`{name}` has `calls` without a `function`: a worker's delegates are in its own `toolsets`",
            )


@reports("LDO104", "error")
def missing_key(project: Project) -> Iterator[Diagnostic]:
    """A key that has to be there is not.

    Fails:

        [entries.nightly]
        input = "Evaluate every deck."

    Fixed:

        [entries.nightly]
        worker = "main"
        input = "Evaluate every deck."
    """
    yield from _reported(project, "LDO104")
    yield from schedules.without_input(project)
    document = project.workspace.document
    starts = {"worker", "function", "tool"}
    yield from adopted.without_agent(project)
    # Where the agents of another tool are adopted, such an entry starts the one of its name.
    entries = {} if project.workspace.adoption else project.workspace.tables("entries")
    for name, table in entries.items():
        # One that is there and says nothing of use has a finding of its own already.
        if not starts & set(table) and not starts & set(
            parts.table(toml.parse(document.source).data, "entries", name)
        ):
            yield finding(
                "LDO104",
                document.key("entries", name),
                f"`[entries.{name}]` starts nothing",
                hint='add `worker = "NAME"`, `function = "FILE.py:NAME"` or `tool = "TOOLSET.TOOL"`',
            )


@reports("LDO105", "error")
def unreadable_file(project: Project) -> Iterator[Diagnostic]:
    """A file cannot be read as text.

    Files are UTF-8, with or without a byte-order mark, with LF or CRLF line ends, and at most 1 MiB; `llmdo.toml`
    is at most 256 KiB, the header of a worker 64 KiB. Devices, pipes and folders are not files. A name is UTF-8
    as well and holds no control character and none of `*?[]:` and the backslash, so that rules and the lock can say it.
    Save the file as UTF-8 text, rename it, or leave it out of what the manifest names.
    """
    yield from _reported(project, "LDO105")


@reports("LDO106", "error")
def missing_file(project: Project) -> Iterator[Diagnostic]:
    """A file that the workspace names does not exist.

    Fails:

        [toolsets.calc]
        python = "tool/calc.py:calc_tools"     # the folder is called tools

    Fixed:

        [toolsets.calc]
        python = "tools/calc.py:calc_tools"
    """
    yield from _reported(project, "LDO106")


@reports("LDO107", "error")
def path_escape(project: Project) -> Iterator[Diagnostic]:
    """A path leaves the workspace, or passes through a link.

    What `check` proves it proves from the files of the workspace. A path to elsewhere, or a link that may point
    there tomorrow, would make that proof worthless, so both are refused and nothing outside is opened.

    Fails:

        [paths]
        "deck.txt" = "../private/deck.txt"

    Fixed: move the file into the workspace.

        [paths]
        "deck.txt" = "input/deck.txt"
    """
    yield from _reported(project, "LDO107")


@reports("LDO108", "error")
def case_collision(project: Project) -> Iterator[Diagnostic]:
    """Two files have names that are equal but for upper and lower case.

    Some file systems hold only one of them, so a checkout there would silently lose the other. Rename one of them.
    """
    yield from _reported(project, "LDO108")


@reports("LDO109", "error")
def missing_header(project: Project) -> Iterator[Diagnostic]:
    """A worker file does not begin with a header.

    Without one the whole file would become a prompt, with no name and no limits.

    Fails:

        You are a pitch deck evaluator.

    Fixed:

        ---
        name: pitch_evaluator
        ---
        You are a pitch deck evaluator.
    """
    yield from _reported(project, "LDO109")


@reports("LDO110", "error")
def unsupported_llmdo(project: Project) -> Iterator[Diagnostic]:
    """The workspace asks for another version of llmdo.

    `requires-llmdo` says which versions may read it; this one is not among them. Install one of those, or change the
    range where this one reads the workspace as well.
    """
    wanted = parts.text(project.workspace.table("workspace").get("requires-llmdo"))
    if wanted and not _admits(wanted, __version__):
        yield finding(
            "LDO110",
            project.workspace.document.value("workspace", "requires-llmdo"),
            f"this workspace requires llmdo {wanted}, and this is {__version__}",
        )


def _admits(wanted: str, version: str) -> bool:
    """Whether `version` lies in a range such as `>=0.1,<2`."""
    have = _numbers(version)
    for part in wanted.replace(" ", "").split(","):
        if part.startswith(">=") and have < _numbers(part[2:]):
            return False
        if part.startswith("<") and have >= _numbers(part[1:]):
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    numbers = [int(part) for part in version.split(".")]
    return (*numbers, *[0] * (3 - len(numbers)))


@reports("LDO111", "warning")
def pattern_without_match(project: Project) -> Iterator[Diagnostic]:
    """A glob matches no file.

    `*` and `?` stay within one folder; `**` stands for any number of folders. Hidden files and those that the
    workspace's `.gitignore` names are skipped. Correct the glob, or remove it.
    """
    yield from _reported(project, "LDO111")


@reports("LDO112", "warning")
def compiled_module(project: Project) -> Iterator[Diagnostic]:
    """A compiled Python module lies where the workspace's code imports from.

    Nobody can review it, and Python itself would take it before the source beside it, or without any. llmdo imports
    source alone: it never runs such a file, and a run whose code needs it fails. Remove it, and install what has to
    be compiled as a package. What Python keeps in `__pycache__` is never looked at, and not reported.

    Fails: `tools/calc.cpython-311-x86_64-linux-gnu.so` beside `tools/calc.py`.

    Fixed: `tools/calc.py` alone.
    """
    yield from _reported(project, "LDO112")


@reports("LDO114", "error")
def refused_extension(project: Project) -> Iterator[Diagnostic]:
    """The manifest names an extension that is not loaded, so the workspace is not checked as a whole (exit code 2).

    An extension is code of an installed distribution that `check` imports. The workspace alone cannot ask for that:
    your own `policy.toml` has to list it as well, and no file of it may lie where the workspace, or what works in it,
    could change it. It is refused, too, where it is not installed, has no entry point in the group `llmdo.extension`,
    or that is no `Extension`. Nothing of what is not listed is imported.

    Fails: `policy.toml` does not list it.

        [workspace]
        extensions = ["acme-llmdo"]

    Fixed: in your own `policy.toml`

        schema = 1
        extensions = ["acme-llmdo"]
    """
    yield from _reported(project, "LDO114")


@reports("LDO113", "warning")
def missing_root(project: Project) -> Iterator[Diagnostic]:
    """The folder that tools work on is not here.

    `[workspace] root` names a folder outside of the workspace, which a checkout of the workspace alone does not have.
    What entries can reach in it is proved all the same. What `[paths]` names in it is not looked for, and no run
    starts before it is there. Check it out beside the workspace, or correct the path.

    Fails:

        [workspace]
        root = "../sitte"

    Fixed:

        [workspace]
        root = "../site"
    """
    yield from _reported(project, "LDO113")


@reports("LDO115", "warning")
def empty_prompt(project: Project) -> Iterator[Diagnostic]:
    """A worker without a prompt.

    Its model is told nothing but the input: neither what its task is, nor what it must not do. The prompt is the
    text of the worker file below its header, or the `instructions` of a worker in Python.

    Fails:

        ---
        name: reviewer
        ---

    Fixed:

        ---
        name: reviewer
        ---
        You review code. Name each fault with its file and line.
    """
    for file in project.workspace.workers:
        if file.is_inline or file.prompt is None or file.prompt.strip():
            continue  # an empty prompt of a team in one file is an error in that file
        where = "in its `instructions`" if file.python else "below the second `---`"
        yield finding(
            "LDO115",
            Place(file.document, ("name",)).location,
            f"the worker `{file.name}` has no prompt",
            hint=f"say {where} what its task is, and what it must not do",
        )


@reports("LDO116", "warning")
def unread_team(project: Project) -> Iterator[Diagnostic]:
    """A team in one file lies beside the manifest of its folder, so nothing of it is read.

    A folder has one manifest: `llmdo.toml`, else `team.yaml`, else `team.md`. Remove the file that nobody needs any
    more, or move one to another folder: two teams need a folder each.
    """
    yield from _reported(project, "LDO116")
