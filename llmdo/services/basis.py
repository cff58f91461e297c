"""The basis of a run that goes on: the workspace as it is now, or the sources that the run began with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from llmdo.base import digest
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass, replace
from llmdo.graph.inventory import Inventory
from llmdo.journal import JournalError
from llmdo.journal.binding import binding_of, differences
from llmdo.journal.sources import prompts_as_text, sources_of, unpack
from llmdo.journal.summary import failed, unfinished
from llmdo.journal.unsettled import in_words, unsettled, warning_on_commands
from llmdo.services.soundness import require_sound, resolved
from llmdo.workspace import project as projects
from llmdo.workspace.trust import Consent

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from llmdo.graph.resolved import Graph
    from llmdo.journal.binding import Binding
    from llmdo.journal.stored import JournalStore
    from llmdo.runtime.telemetry.redaction import Redaction
    from llmdo.services.root import Tell
    from llmdo.workspace.project import Project

Origin = Literal["workspace", "run"]


class DriftError(LlmdoError):
    """The graph to run differs from that at the beginning of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """The graph, prompts and code that run."""

    graph: Graph
    prompts: Mapping[str, str]
    code: Path | None = None
    """The folder that Python is loaded from; None: the workspace."""
    accepted: tuple[str, ...] = ()
    """The accepted differences from the beginning of the run, in sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunRun:
    """A run that has begun, from its journal."""

    journal: JournalStore
    redaction: Redaction
    """Of the secrets that may stand in it."""
    binding: Binding

    @classmethod
    def of(cls, journal: JournalStore, environ: Mapping[str, str]) -> BegunRun:
        """The run of `journal`.

        Raises:
            JournalError: It did not begin, or its journal lacks the record of it.
        """
        from llmdo.runtime.telemetry.redaction import Redaction  # which takes a second

        redaction = Redaction.of(environ)
        journal.know(redaction.known)
        return cls(journal=journal, redaction=redaction, binding=binding_of(journal))


def require_accepted(changed: Mapping[str, str], accepted: Sequence[str], remedies: Sequence[str]) -> None:
    """Check that exactly the changes in `changed` were accepted; `remedies` are alternatives.

    Raises:
        DriftError: Some were not; names them all.
        LlmdoError: An accepted change is not there.
    """
    names = set(accepted)
    if unknown := sorted(names - changed.keys()):
        raise LlmdoError(
            f"`{unknown[0]}` is not among what changed since the run began",
            hint=f"what did: {', '.join(changed) or 'nothing'}",
        )
    if refused := {name: drift for name, drift in changed.items() if name not in names}:
        flags = " ".join(f"--allow-drift {name}" for name in refused)
        ways = ["go back to what it was", *(way.format(flags=flags, names=list(refused)) for way in remedies)]
        raise DriftError(
            f"what runs is not what ran when the run began: {'; '.join(refused.values())}",
            hint=", or ".join(ways),
        )


def to_go_on(
    begun: BegunRun,
    project: Project,
    folder: Path,
    tell: Tell,
    consent: Consent | None,
    *,
    sources: Origin,
    accepted: Sequence[str],
    accepting: str,
) -> Basis:
    """The workspace for a run that goes on, or the run's own sources, written to `folder`.

    `accepting` says how to accept a difference; `tell` gets the accepted ones.

    Raises:
        InvalidTeamError: `check` finds errors that hinder it.
        UntrustedError: `consent` refuses an import.
        DriftError: Differences were not accepted; names them all.
        LlmdoError: An accepted difference is not there, or the run has no sources of its own.
    """
    journal, binding = begun.journal, begun.binding
    if sources == "run":
        if accepted:
            raise LlmdoError(
                "`--allow-drift` is about the workspace, and `--sources run` goes on without it",
                hint="leave one of them out",
            )
        return of_run(journal, binding, project, folder, tell)
    require_sound(project, tell)
    graph = resolved(project, tell, consent)
    remedies = [f"accept it: {accepting}"]
    if brings_sources(journal, binding):
        remedies.append(
            "`--sources run` runs the code that it began with, which you should have read where it was brought"
        )
    changed = differences(binding, graph)
    require_accepted(changed, accepted, remedies)
    for drift in changed.values():
        tell(f"warning: accepted: {drift}")
    return Basis(graph=graph, prompts=project.prompts, accepted=tuple(changed.values()))


def to_repeat(
    begun: BegunRun, root: Path, folder: Path, tell: Tell, *, sources: Origin, reruns: bool
) -> Basis:
    """Code that a replay needs besides the journal: of the workspace, or of the run, written to `folder`; mostly none.

    Raises:
        LlmdoError: It differs from the code that ran.
    """
    journal, binding = begun.journal, begun.binding
    if sources == "run":
        return of_run(journal, binding, projects.read(root), folder, tell)
    basis = Basis(graph=binding.graph, prompts=binding.prompts)
    if not (reruns or _has_code(binding.graph, binding.entry)):
        return basis
    now = projects.read(root).graph
    remedies = ["`--sources run` runs the code that the run began with"] * brings_sources(journal, binding)
    require_accepted(differences(binding, now), (), remedies)
    # A lock names what it reviewed by toolset and entry; which files that is, only the workspace tells.
    return replace(basis, graph=replace(basis.graph, code=now.code, governing=now.governing))


def _has_code(graph: Graph, entry: str) -> bool:
    """Whether the run depends on code of the workspace, besides models and tools."""
    started = graph.entries[entry]
    return bool(started.function or started.use or graph.schema_sources)


def of_run(journal: JournalStore, binding: Binding, project: Project, folder: Path, tell: Tell) -> Basis:
    """The sources that the run began with, its Python written to `folder`; tells how they differ from the workspace.

    Raises:
        JournalError: They are not there, or do not match the run's lock.
    """
    sources = sources_of(journal, binding)
    if sources is None:
        raise JournalError(
            f"run `{journal.run}` brings no sources",
            hint="they are kept where a run starts, and `llmdo runs export` puts them into the file",
        )
    unpack(sources, folder)
    # What governs a run in this workspace is protected from it, whatever the run itself consists of.
    code = {path: digest.of_text(text) for path, text in sources.texts.items() if path.endswith(".py")}
    graph = replace(binding.graph, code=code, governing=Inventory.of(project.graph).governing)
    differing = _differing(binding, project)
    tell(
        "goes on with the sources of the run"
        + (f", which differ from the workspace in: {differing}" if differing else "")
    )
    if sources.texts:
        tell(f"its code is in {folder}")
    return Basis(graph=graph, prompts=prompts_as_text(binding), code=folder)


def brings_sources(journal: JournalStore, binding: Binding) -> bool:
    """Whether the run could go on with sources of its own."""
    try:
        return sources_of(journal, binding) is not None
    except JournalError:
        return False


def _differing(binding: Binding, project: Project) -> str:
    try:
        graph = resolved(project, consent=Consent(strict=True))  # to tell this, nobody is asked
        return "; ".join(differences(binding, graph).values())
    except LlmdoError as error:  # the workspace of today cannot be resolved, which does not matter here
        return error.message


class Word(NamedTuple):
    """The decisions on calls with an unknown effect, by call path."""

    again: frozenset[str]
    given_up: frozenset[str]


def word_on(journal: JournalStore, again: Collection[str], given_up: Collection[str]) -> Word:
    """The decision on each tool call with an unknown effect; `*` in a path matches any text.

    A named path precedes a matching pattern, and a decision precedes a probe's result.

    Raises:
        LlmdoError: A call lacks a decision, or a decision is about a call that needs none.
    """
    open_calls = unfinished(journal)
    word = Word(
        _matched(again, {**open_calls, **failed(journal)}, given_up), _matched(given_up, open_calls, again)
    )
    if unknown := sorted(word.given_up - open_calls.keys()):
        raise LlmdoError(f"`{unknown[0]}` is not a call that was started and did not finish")
    if unknown := sorted(word.again - open_calls.keys() - failed(journal).keys()):
        raise LlmdoError(
            f"`{unknown[0]}` is not a call that was started and did not finish, or that ended the run with an error",
            hint="what a caller was told of has failed for good",
        )
    if both := sorted(word.again & word.given_up):
        raise LlmdoError(f"`{both[0]}` cannot both run again and be given up")
    decided = word.again | word.given_up
    left = unsettled(journal, asks_again=True)
    if waiting := {path: tool for path, tool in left.items() if path not in decided}:
        calls = ", ".join(in_words(journal, waiting))
        path = _pattern(waiting, open_calls)
        raise LlmdoError(
            f"{calls}: started and not finished when the run stopped, so it may have taken effect",
            hint=f"{warning_on_commands(journal, waiting.values())}look, then say `--again {path}` to run it again, or "
            f"`--give-up {path}` to tell its model that nobody knows what it did",
        )
    return word


def _matched(texts: Collection[str], calls: Mapping[str, str], others: Collection[str]) -> frozenset[str]:
    """The named paths, and those of `calls` that a pattern matches and that `others` do not name."""
    paths = {text for text in texts if "*" not in text}
    for pattern in (text for text in texts if "*" in text):
        expression = re.compile(".*".join(map(re.escape, pattern.split("*"))))
        paths.update(path for path in calls if path not in others and expression.fullmatch(path))
    return frozenset(paths)


def _pattern(calls: Mapping[str, str], open_calls: Mapping[str, str]) -> str:
    """A flag's value for these `calls`, or for those of one tool: a probe settles others of the `open_calls`."""
    path, tool = next(iter(calls.items()))
    if len(calls) == 1:
        return path
    return f"'{path.partition('/')[0]}/*'" if len(calls) == len(open_calls) else f"'*/{tool}#*'"
