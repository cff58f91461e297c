"""The commands, for everything but the plain `llmdo check`."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer
import typer.core

from llmdo.base.diagnostic import CODES, LlmdoError, did_you_mean
from llmdo.cli import check as check_command
from llmdo.cli import edit, graph, past, start
from llmdo.cli import serve as serving
from llmdo.cli.console import FINE, INTERRUPTED, put, say
from llmdo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence


ORDER = (
    "init", "add", "remove", "check", "lock", "diff", "explain", "suggest", "graph", "reach", "why", "run", "resume",
    "replay", "approve", "runs", "audit", "test", "import", "schema", "doctor", "serve", "completion",
)  # fmt: skip
"""The commands as `--help` lists them: from the first file to the last run."""


class _Commands(typer.core.TyperGroup):
    """The commands in their order, each with its whole first sentence."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return sorted(super().list_commands(ctx), key=lambda name: ORDER.index(name))

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl([(name, _first_sentence(one.help or "")) for name, one in commands if one])


def _first_sentence(text: str) -> str:
    sentence, stop, _ = " ".join(text.split()).partition(". ")
    return sentence + stop.strip()


app = typer.Typer(
    name="llmdo",
    cls=_Commands,
    help="A compiler, lockfile and runner for teams of LLM agents.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(graph.reach)
app.command()(graph.why)
app.command()(graph.graph)
app.command()(graph.suggest)
app.add_typer(edit.add, name="add")
app.add_typer(edit.remove, name="remove")
app.add_typer(serving.serve, name="serve")


class Template(StrEnum):
    """The templates of `llmdo init`."""

    minimal = "minimal"
    delegation = "delegation"
    tools = "tools"


class CheckFormat(StrEnum):
    """How findings are printed."""

    text = "text"
    concise = "concise"
    json = "json"
    github = "github"
    gitlab = "gitlab"
    junit = "junit"
    sarif = "sarif"


class DiffFormat(StrEnum):
    """How a difference is printed."""

    text = "text"
    json = "json"
    markdown = "markdown"


class AuditFormat(StrEnum):
    """How an audit is printed."""

    text = "text"
    json = "json"
    jsonl = "jsonl"


class FailOn(StrEnum):
    """By which verdict `llmdo diff` fails."""

    widened = "widened"
    changed = "changed"


class SchemaName(StrEnum):
    """The file formats."""

    manifest = "manifest"
    worker = "worker"
    lock = "lock"
    policy = "policy"


class Shell(StrEnum):
    """The shells that completion exists for."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def run(words: Sequence[str]) -> int:
    """Runs the command in `words` and returns its exit code; a usage error is 2."""
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # nothing but ours stands above a question
    try:
        code = app(args=list(words) or ["--help"], prog_name="llmdo", standalone_mode=False)
    except typer.Abort:
        return INTERRUPTED
    except typer.TyperException as error:
        told = " ".join(error.format_message().split()).rstrip(
            "."
        )  # a list of choices comes in lines with tabs
        raise LlmdoError(told, hint=f"llmdo {_command(words)}--help says what it takes") from error
    return code if isinstance(code, int) else FINE


def _command(words: Sequence[str]) -> str:
    names = {command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands}
    names |= {group.name for group in app.registered_groups}
    return f"{words[0]} " if words and words[0] in names else ""


def _version(value: bool) -> None:  # typer calls it so
    if value:
        put(f"llmdo {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A compiler, lockfile and runner for teams of LLM agents."""
    del version


@app.command()
def init(
    directory: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where; it is made if needed.")] = Path(),
    template: Annotated[Template, typer.Option(help="What to start from.")] = Template.minimal,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are in the way.")] = False,
) -> None:
    """Start a workspace."""
    from llmdo import scaffold

    for path in scaffold.init(directory, template.value, force=force):
        put(str(path))
    say(f"a workspace from the template `{template.value}`; next: llmdo check, llmdo lock, llmdo run")


@app.command()
def check(
    project: edit.Project = None,
    locked: Annotated[
        bool, typer.Option("--locked", help="The lock has to be there and current. Default where CI is set.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail as well.")] = False,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix", help="Mend misspelt keys and names, and a stale lock, which imports toolset modules."
        ),
    ] = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither use nor keep what the last clean check saw.")
    ] = False,
    select: graph.Select = None,
    base: graph.Base = "HEAD",
    format: Annotated[CheckFormat, typer.Option(help="How findings are printed.")] = CheckFormat.text,  # noqa: A002
    origin: graph.Origin = None,
) -> int:
    """Prove from files alone that the workspace is sound. Runs nothing of it, but for --fix and a stale lock."""
    if origin:
        from llmdo.cli import foreign

        given = {"--project": project, "--locked": locked, "--fix": fix, "--select": select}
        for option in (name for name, value in given.items() if value):
            raise LlmdoError(f"`{option}` is about workspaces of llmdo, so it does not go with `--from`")
        return foreign.check(foreign.ForeignRequest(origin=origin, format=format.value, strict=strict))
    return check_command.run(
        check_command.CheckRequest(
            project=project,
            locked=locked,
            format=format.value,
            strict=strict,
            fix=fix,
            no_cache=no_cache,
            select=tuple(select or ()),
            base=base,
        )
    )


@app.command()
def lock(
    project: edit.Project = None,
    check: Annotated[
        bool, typer.Option("--check", help="Derive everything anew and compare; write nothing.")
    ] = False,
    refresh: Annotated[
        bool,
        typer.Option("--refresh", help="Import every toolset module again: its libraries may have changed."),
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no MCP server; keep what the lock knows of them.")
    ] = False,
    allow_downgrade: Annotated[
        bool, typer.Option("--allow-downgrade", help="Overwrite even a lock that a newer llmdo wrote.")
    ] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Name every item that changed.")] = False,
) -> int:
    """Write llmdo.lock: the resolved graph. Imports toolset modules and asks MCP servers, in child processes."""
    from llmdo.cli import lock as lock_command

    return lock_command.run(
        lock_command.LockRequest(
            project=project,
            check=check,
            refresh=refresh,
            offline=offline,
            allow_downgrade=allow_downgrade,
            verbose=verbose,
        )
    )


@app.command("diff")
def diff_command(
    before: Annotated[str, typer.Argument(metavar="[REV]", help="A git revision.")] = "HEAD",
    after: Annotated[
        str, typer.Argument(metavar="[REV2|worktree]", help="Another one, or the lock as it is on disk.")
    ] = "worktree",
    locks: Annotated[
        Optional[tuple[str, str]],  # noqa: UP045
        typer.Option("--locks", metavar="A B", help="Compare two files, without git."),
    ] = None,
    fail_on: Annotated[
        Optional[FailOn],  # noqa: UP045
        typer.Option("--fail-on", help="Exit 1 where something widened that nobody accepted; or changed."),
    ] = None,
    lock_checked: Annotated[
        bool,
        typer.Option("--lock-checked", help="`lock --check` has passed, so nobody edited the lock by hand."),
    ] = False,
    format: Annotated[DiffFormat, typer.Option(help="How it is printed.")] = DiffFormat.text,  # noqa: A002
    project: edit.Project = None,
    origin: graph.Origin = None,
) -> int:
    """Say what a change lets each entry do that it could not do before."""
    from llmdo.cli import diff

    return diff.run(
        diff.DiffRequest(
            before=before,
            after=after,
            locks=locks,
            fail_on=fail_on.value if fail_on else None,
            lock_checked=lock_checked,
            format=format.value,
            project=project,
            origin=origin,
        )
    )


@app.command()
def audit(
    run: Annotated[
        str,
        typer.Argument(metavar="RUN|FILE", help="A run's id, the start or end of one, or `last`; or a copy."),
    ],
    verify: Annotated[bool, typer.Option("--verify", help="Say whether the chain of records holds.")] = False,
    head: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--head", metavar="HASH", help="Verify that the chain ends with what the run printed."),
    ] = None,
    format: Annotated[  # noqa: A002
        AuditFormat, typer.Option(help="How it is printed; jsonl: the records as they are chained.")
    ] = AuditFormat.text,
    project: edit.Project = None,
) -> int:
    """Show every decision of a run: who let what through, by which rule or answer."""
    from llmdo.cli import auditing

    return auditing.show(
        auditing.AuditRequest(run=run, project=project, verify=verify, head=head, format=format.value)
    )


@app.command()
def doctor(
    format: Annotated[start.RunFormat, typer.Option(help="How it is printed.")] = start.RunFormat.text,  # noqa: A002
    project: edit.Project = None,
) -> int:
    """Say what is installed and in force here, and what this workspace needs and lacks."""
    from llmdo.cli import health

    return health.show(project, as_json=format is start.RunFormat.json)


@app.command()
def explain(
    code: Annotated[str, typer.Argument(metavar="CODE", help="A code such as LDO301, or its name.")] = "",
    form: Annotated[
        str,
        typer.Option("--from", metavar="FORMAT", help="Instead: what each tool of another format can do."),
    ] = "",
) -> None:
    """Say what a finding means, why it matters and how it is fixed."""
    if form or not code:
        from llmdo.cli import foreign

        put(foreign.table(form), end="")
        return
    from llmdo.checks import explanation

    text = explanation(code)
    if text is None:
        known = [*CODES, *(name for name, _ in CODES.values())]
        raise LlmdoError(
            f"there is no check `{code}`", hint=did_you_mean(code.upper(), known) or "see the README"
        )
    put(text, end="")


@app.command("import")
def import_command(
    form: Annotated[str, typer.Argument(metavar="FORMAT", help="claude, docker-agent, gh-aw, ... or auto.")],
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR|FILE", help="The project, which is only read; or a file of mcpServers, for mcp."
        ),
    ],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="A new or empty folder.")] = Path(
        "llmdo-import"
    ),
) -> int:
    """Write a project of another tool as a workspace, and say what it could not carry over.

    A single file with mcpServers becomes toolsets of the workspace that is here: llmdo import mcp FILE.
    """
    from llmdo.cli import foreign

    if form == "mcp" and directory.is_file():
        return edit.import_mcp(directory)

    return foreign.import_project(form, directory, to)


@app.command()
def schema(
    name: Annotated[
        SchemaName, typer.Argument(metavar="manifest|worker|lock|policy", help="The file format.")
    ],
) -> None:
    """Print the JSON Schema of a file format."""
    from llmdo.base import resources

    put(resources.read("schemas", f"{name.value}.json"), end="", as_json=True)


@app.command()
def completion(
    shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="Your shell.")],
) -> None:
    """Print a completion script for your shell."""
    from llmdo.cli.completion import script

    put(script(shell.value), end="")


app.command()(start.run)
app.command()(past.resume)
app.command()(past.replay)
app.command()(past.approve)
app.command("test")(past.repeat_recordings)
app.add_typer(past.runs, name="runs")
