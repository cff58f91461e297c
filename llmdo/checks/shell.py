"""Shell rules: what they say about themselves, and what they leave open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.base.checking import reports
from llmdo.base.diagnostic import excerpt, finding
from llmdo.policy.shell.programs import is_launcher, steers_programs
from llmdo.policy.shell.rules import breaks_example, is_program, parse_rule
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.values import Json
    from llmdo.workspace.project import Project


def without_meaning(project: Project) -> Iterator[Diagnostic]:
    """The values of shell rules that no format can refuse and no command can meet."""
    for place, table in _rules(project):
        program = parts.texts(table["run"])[0]
        if not is_program(program):
            yield finding(
                "LDO103",
                Place(place.document, (*place.route, "run", 0)).location,
                f"`{excerpt(program)}` is not the bare name of a program",
                hint="name programs without a path: a rule does not decide where they are found",
            )
    stated = project.workspace.table("toolsets", "shell").get("env")
    for number, name in enumerate(parts.texts(stated)):
        if steers_programs(name):
            yield finding(
                "LDO103",
                project.workspace.document.value("toolsets", "shell", "env", number),
                f"`{name}` decides what programs load or start, so no command is ever given it",
                hint="remove it",
            )


@reports("LDO512", "error")
def shell_rule_example(project: Project) -> Iterator[Diagnostic]:
    """An example of a shell rule is not what the rule does.

    `match` lists commands that the rule has to vouch for, `not-match` commands that it must not: the rule's own
    tests. Options are exact words, so `-rn` is not `-r -n` and `--out` is not `--output`; a flag with `=` at its end
    takes any value; paths lie inside the workspace and never begin with a dash.

    Fails:

        [[toolsets.shell.rules]]
        run = ["grep"]
        flags = ["-n"]
        positional = "paths"
        match = [["grep", "-rn", "TODO", "src"]]

    Fixed:

        [[toolsets.shell.rules]]
        run = ["grep"]
        flags = ["-n", "-rn"]
        positional = "paths"
        match = [["grep", "-rn", "TODO", "src"]]
    """
    for place, table in _rules(project):
        rule = parse_rule(table)
        for key, wanted in (("match", True), ("not-match", False)):
            for number, command in enumerate(map(parts.texts, parts.items(table.get(key)))):
                if breaks_example(rule, command) is wanted:
                    does = "does not vouch for" if wanted else "vouches for"
                    yield finding(
                        "LDO512",
                        Place(place.document, (*place.route, key, number)).location,
                        f"the rule for `{' '.join(rule.run)}` {does} `{excerpt(' '.join(command))}`",
                        hint="change the rule or the example",
                    )


@reports("LDO513", "warning")
def open_launcher(project: Project) -> Iterator[Diagnostic]:
    """A shell rule leaves to the model what a launcher or an interpreter runs.

    Shells, `env`, `xargs`, `sudo`, `sed`, `tar`, interpreters, compilers, package tools, editors, `git` without a
    command, `git bisect run`, `git submodule foreach`, `find` with `-exec`: with words that the model chooses they run
    anything. Such a rule vouches for nothing, so every such command still asks. Name in `run` what it is to run; where
    the name alone is meant, `flags = []` says so.

    Fails:

        [[toolsets.shell.rules]]
        run = ["python"]
        positional = "any"

    Fixed:

        [[toolsets.shell.rules]]
        run = ["python", "tools/report.py"]
        positional = "paths"
    """
    for place, table in _rules(project):
        rule = parse_rule(table)
        unsaid = is_launcher(rule.program) and table.keys().isdisjoint(("flags", "positional"))
        if rule.is_open_launcher or (unsaid and len(rule.run) == 1):
            yield finding(
                "LDO513",
                Place(place.document, (*place.route, "run")).location,
                f"`{' '.join(rule.run)}` runs what its other words say, so this rule vouches for nothing",
                hint="name in `run` what it is to run, or close the rule with `flags = []` and no `positional`",
            )


def _rules(project: Project) -> Iterator[tuple[Place, Mapping[str, Json]]]:
    """Every shell rule that the files spell out, in the manifest and in worker files."""
    workspace = project.workspace
    stated = [(workspace.document, workspace.table("toolsets", "shell"))]
    stated += [
        (file.document, parts.table(toolsets, "shell"))
        for file in workspace.workers
        if isinstance(toolsets := file.header.get("toolsets"), dict) and "shell" in toolsets
    ]
    for document, shell in stated:
        for number, rule in enumerate(parts.items(shell.get("rules"))):
            yield Place(document, ("toolsets", "shell", "rules", number)), parts.table(rule)
