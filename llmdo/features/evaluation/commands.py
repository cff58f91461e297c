"""`eval`: cases run through `batch`, judged, and kept as an evaluation that can be shown and compared."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path  # noqa: TC003  # a field's type
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.extras import installing
from llmdo.base.request_fields import argument, option
from llmdo.features.batch import commands as batches
from llmdo.features.batch.scheduling import BatchBounds
from llmdo.features.evaluation import recording as recordings
from llmdo.features.evaluation import suite as suites
from llmdo.features.evaluation.document import Evaluations
from llmdo.features.evaluation.gate import EvalGate, held, opened, plans
from llmdo.features.evaluation.judges import judges_of
from llmdo.features.evaluation.outcome import Evaluated, Variant
from llmdo.features.evaluation.recording import both, commit_of, prepared
from llmdo.features.evaluation.running import Conditions, run_all
from llmdo.features.evaluation.suite import judging_entry
from llmdo.journal.opening import runs_of
from llmdo.services.diff import WORKTREE
from llmdo.services.requirements import require_models
from llmdo.services.root import DEBUG, LOCKED, PROJECT, root_folder
from llmdo.services.run import chosen_models
from llmdo.services.script_export import export_script
from llmdo.services.soundness import require_sound
from llmdo.workspace import project as projects
from llmdo.workspace.evals import path_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.features.batch.commands import BatchHost
    from llmdo.features.evaluation.gate import OpenedEvalGate
    from llmdo.features.evaluation.suite import Suite
    from llmdo.graph.resolved import Graph
    from llmdo.services.run import PreparedRun
    from llmdo.workspace.project import Project

LIBRARY = "pydantic_evals"
UNCHANGED = "workspace"
"""The label of the variant that runs as the files say."""
RECORDED = "recorded"
"""The label of the variant whose models answer from a recording."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalWorking:
    """The settings for working off the runs of an evaluation."""

    bounds: BatchBounds = field(default_factory=BatchBounds)
    """Bounds of all runs together."""
    locked: bool = field(default=False, metadata=LOCKED)
    debug: bool = field(default=False, metadata=DEBUG)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalVariants:
    """The variants to compare: every revision with every model."""

    models: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "Run all cases with this model, beside those of other `--model`; a comma joins several workers'.",
            "--model",
            metavar="[WORKER=]MODEL",
        ),
    )
    """None: as the files say."""
    revisions: str | None = field(
        default=None,
        metadata=option(
            "Run all cases with workers and manifest of both revisions; `worktree` is the folder as it is.",
            "--rev",
            metavar="A..B",
        ),
    )
    sources: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "Run the Python of this revision too, where it is not the workspace's.", metavar="REV"
        ),
    )
    recorded: bool = field(
        default=False, metadata=option("Have that answer instead of models: no key, nothing spent.")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalTerms:
    """The terms on which an evaluation begins or resumes."""

    project: str | None = field(default=None, metadata=PROJECT)
    gate: EvalGate = field(default_factory=EvalGate)
    working: EvalWorking = field(default_factory=EvalWorking)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRequest:
    """A new evaluation."""

    name: str | None = field(
        default=None,
        metadata=argument("[NAME]", "The eval in evals/NAME.yaml; the only one where left out."),
    )
    terms: EvalTerms = field(default_factory=EvalTerms)
    variants: EvalVariants = field(default_factory=EvalVariants)
    cases: tuple[str, ...] = field(
        default=(),
        metadata=option("Run the cases of these names alone; `*` is any text.", "--case", metavar="PATTERN"),
    )
    """None: all."""
    repeat: int = field(default=1, metadata=option("How often each case is run.", least=1, most=1000))
    records: bool = field(
        default=False,
        metadata=option("Write what models answer to evals/NAME.recorded.json, for review.", "--record"),
    )
    script: Path | None = field(
        default=None,
        metadata=option(
            "Write what models answer to this new file, for `script:FILE.yaml`.",
            "--record-script",
            metavar="FILE",
        ),
    )


def start(request: EvalRequest, host: BatchHost) -> Evaluated:
    """Starts an evaluation: its cases run, as far as its bounds allow, and are judged.

    Raises:
        InvalidTeamError: The eval or the workspace has mistakes.
        LlmdoError: It cannot be run.
    """
    terms = request.terms
    root, project = _opened(terms.project, host)
    suite = suites.matching(suites.read(project, suites.chosen(root, request.name)), request.cases)
    gate = opened(terms.gate, root)
    _require_alone(request)
    variants = tuple(_variants(request.variants, project, suite, terms.working.environ))
    from llmdo.runtime import new_run

    evaluated = Evaluated(
        id=new_run(),
        name=suite.name,
        entry=suite.entry,
        digest=suite.digest,
        began=time.time(),
        repeat=request.repeat,
        records=request.records,
        cases=tuple(case.name for case in suite.cases),
        expected={case.name: case.expected for case in suite.cases if case.expected is not None},
        variants=tuple(
            replace(variant, batch=new_run(), judges={judge: new_run() for judge in judges_of(suite)})
            for variant in variants
        ),
    )
    evaluated = _worked(evaluated, suite, project, terms.working, gate, host)
    if request.script and not evaluated.unfinished:
        ran = (run for _, run in recordings.runs_in(root, evaluated.variants[0]))
        number = export_script(root, ran, request.script)
        host.tell(f"wrote {number} answers to {request.script}: review it before you share it")
    return evaluated


def resume(reference: str, terms: EvalTerms, host: BatchHost) -> Evaluated:
    """Resumes the evaluation that `reference` names; nothing is run twice.

    Raises:
        InvalidTeamError: The eval or the workspace has mistakes.
        LlmdoError: It cannot resume.
    """
    root, project = _opened(terms.project, host)
    evaluations = Evaluations(root)
    evaluated = evaluations.read(evaluations.find(reference))
    suite = suites.read(project, suites.chosen(root, evaluated.name))
    if suite.digest != evaluated.digest:
        raise LlmdoError(
            f"`{path_of(suite.name)}` is not what it was when the evaluation began",
            hint="go back to what it was, or begin a new one",
        )
    suite = suites.only(suite, evaluated.cases)
    return _worked(evaluated, suite, project, terms.working, opened(terms.gate, root), host)


def show(root: Path, reference: str, gate: EvalGate) -> Evaluated:
    """A kept evaluation, compared with the baseline of `gate` if that has one."""
    evaluations = Evaluations(root)
    evaluated = evaluations.read(evaluations.find(reference))
    return replace(evaluated, held=held(evaluated, opened(gate, root)) or evaluated.held)


def listed(root: Path) -> Iterator[Evaluated]:
    """All evaluations of a workspace, the latest first."""
    return Evaluations(root).each()


def _opened(folder: str | None, host: BatchHost) -> tuple[Path, Project]:
    """The workspace, free of errors."""
    if find_spec(LIBRARY) is None:
        raise LlmdoError("an evaluation needs the library `pydantic-evals`", hint=installing("eval"))
    root = root_folder(folder)
    project = projects.read(root)
    require_sound(project, host.tell)
    return root, project


def _require_alone(request: EvalRequest) -> None:
    """Requires that a recording is of one variant, run once.

    Raises:
        LlmdoError: The request combines a recording with an option that excludes it.
    """
    variants, option = request.variants, "--recorded" if request.variants.recorded else "--record"
    if not (variants.recorded or request.records or request.script):
        return
    if variants.recorded and request.records:
        raise LlmdoError("`--record` asks models, and `--recorded` asks none", hint="run one after the other")
    if variants.recorded and (variants.models or variants.revisions):
        raise LlmdoError("`--recorded` gives the answers of one recording, so there is nothing to compare")
    if len(variants.models) > 1 or variants.revisions:
        raise LlmdoError("`--record` records one variant", hint="one `--model`, or none, and no `--rev`")
    if request.records and request.cases:
        raise LlmdoError("`--record` writes all answers of an eval", hint="leave `--case` out")
    if request.repeat > 1:
        raise LlmdoError(f"`{option}` is for one run of each case", hint="leave `--repeat` out")


def _variants(
    request: EvalVariants, project: Project, suite: Suite, environ: Mapping[str, str]
) -> Iterator[Variant]:
    """The variants to compare: every revision with every model.

    Raises:
        LlmdoError: A model or a revision is unusable, two variants are the same, or there is no recording.
    """
    if request.recorded:
        root = project.workspace.root
        models = recordings.models_of(root, suite.name, suite.entry, project.graph)
        yield Variant(label=RECORDED, models=models, recording=recordings.file_of(suite.name))
        return
    for repeated in {model for model in request.models if request.models.count(model) > 1}:
        raise LlmdoError(f"`--model {repeated}` is given twice")
    revisions = both(request.revisions) if request.revisions else ()
    if unknown := sorted({*request.sources} - {*revisions}):
        raise LlmdoError(
            f"`--sources {unknown[0]}` is about a revision that `--rev` does not name",
            hint=f"`--rev {unknown[0]}..{WORKTREE}`",
        )
    for revision in revisions or (WORKTREE,):
        commit = commit_of(project.workspace.root, revision)
        for model in request.models or ("",):
            models = tuple(model.split(",")) if model else ()
            chosen_models(project.graph, models, environ)
            parts = [revision] * bool(revisions) + [model] * bool(model)
            yield Variant(
                label=", ".join(parts) or UNCHANGED,
                models=models,
                revision=commit,
                runs_code=revision in request.sources,
            )


def _worked(
    evaluated: Evaluated,
    suite: Suite,
    project: Project,
    working: EvalWorking,
    gate: OpenedEvalGate,
    host: BatchHost,
) -> Evaluated:
    """The evaluation after the rest of it was run and all finished trials were judged."""
    from llmdo.features.evaluation.evaluators import loaded
    from llmdo.features.evaluation.judging import judged

    root = project.workspace.root
    planned = tuple(_with_free_batches(variant, root) for variant in evaluated.variants)
    evaluations = Evaluations(root)
    expected = tuple(
        plans(replace(evaluated, variants=planned), gate)
    )  # before anything is paid for, as the next two
    with loaded(project, suite.texts("function"), host.consent):
        pass
    with ExitStack() as stack:
        how = Conditions(
            root=root,
            bounds=working.bounds,
            locked=working.locked,
            debug=working.debug,
            environ=working.environ,
            evaluation=evaluated.id,
            judging={judge: judging_entry(project.graph, judge) or judge for judge in judges_of(suite)},
            prepared=_prepared(planned, suite, project, working, stack, host),
        )
        _require_keys(planned, suite, project.graph, how)
        for line in expected:
            host.tell(line)
        evaluations.keep(replace(evaluated, variants=planned))
        goes_on = f"`llmdo eval resume {evaluated.id}` goes on where it is interrupted"
        host.tell(f"evaluation {evaluated.id}: {goes_on}")
        ran = run_all(planned, suite, evaluated.repeat, how, host)
    with loaded(project, suite.texts("function"), host.consent) as functions:
        variants = tuple(
            replace(variant, trials=judged(suite, variant.trials, ran, functions)) for variant in ran.variants
        )
    evaluated = replace(evaluated, variants=variants, reason=ran.reason, interrupted=ran.interrupted)
    evaluated = replace(evaluated, held=held(evaluated, gate))
    evaluations.keep(evaluated)
    if evaluated.records:
        _record(evaluated, suite, root, working.environ, host)
    elif recordings.is_there(root, suite.name) and _could_not_begin(variants, root):
        host.tell(f"`llmdo eval {suite.name} --recorded` gives the answers of its recording, without a key")
    return evaluated


def _require_keys(variants: tuple[Variant, ...], suite: Suite, graph: Graph, how: Conditions) -> None:
    """Requires keys for the models of all variants and judges: a missing key is no failure of a model.

    Raises:
        LlmdoError: A key is missing.
    """
    asking = [variant for variant in variants if not variant.recording]
    graphs = {label: prepared.graph for label, prepared in how.prepared.items()}
    wanted = [(graphs.get(variant.label, graph), suite.entry, variant.models) for variant in asking]
    wanted += [(graph, entry, ()) for entry in how.judging.values() if asking and entry in graph.entries]
    try:
        for which, entry, models in wanted:
            require_models(which, entry, chosen_models(which, models, how.environ), how.environ)
    except LlmdoError as error:
        hint = f"`llmdo eval {suite.name} --recorded` gives the answers of its recording, without a key"
        has_recording = recordings.is_there(how.root, suite.name)
        raise LlmdoError(error.message, hint=hint if has_recording else error.hint) from error


def _record(
    evaluated: Evaluated, suite: Suite, root: Path, environ: Mapping[str, str], host: BatchHost
) -> None:
    """Writes the recording of an evaluation, once all of it was run."""
    if evaluated.unfinished:
        left = "1 run is" if evaluated.unfinished == 1 else f"{evaluated.unfinished} runs are"
        host.tell(f"nothing is recorded yet: {left} left")
        return
    written = recordings.write(root, suite, evaluated.variants[0], environ)
    for line in written.lacking:
        host.tell(f"warning: {line}, so it cannot be repeated")
    host.tell(
        f"wrote {written.requests} answers to {written.file}: review it before you share it, it holds what was said"
    )


def _could_not_begin(variants: tuple[Variant, ...], root: Path) -> bool:
    """Whether a run that models were to answer never began, as for lack of a key: it left no journal."""
    runs = runs_of(root)
    failed = (trial for variant in variants if not variant.recording for trial in variant.trials)
    return any(trial.state == "failed" and not runs.has(trial.run) for trial in failed)


def _prepared(
    variants: tuple[Variant, ...],
    suite: Suite,
    project: Project,
    working: EvalWorking,
    stack: ExitStack,
    host: BatchHost,
) -> dict[str, PreparedRun]:
    """The prepared runs of the variants of other revisions, by label, valid as long as `stack` is open."""
    by_commit: dict[str, PreparedRun] = {}
    labelled = {}
    for variant in variants:
        if variant.revision is None:
            continue
        if variant.revision not in by_commit:
            by_commit[variant.revision] = stack.enter_context(
                prepared(
                    project,
                    variant.revision,
                    variant.label.partition(", ")[0],
                    suite.entry,
                    runs_code=variant.runs_code,
                    locked=working.locked,
                    host=host,
                )
            )
        chosen_models(by_commit[variant.revision].graph, variant.models, working.environ)
        labelled[variant.label] = by_commit[variant.revision]
    return labelled


def _with_free_batches(variant: Variant, root: Path) -> Variant:
    """The variant, with new ids for batches that do not exist yet: an interrupted start leaves its id behind."""
    from llmdo.runtime import new_run

    def free(batch: str) -> str:
        return batch if batches.is_there(root, batch) else new_run()

    judges = {judge: free(batch) for judge, batch in variant.judges.items()}
    return replace(variant, batch=free(variant.batch), judges=judges)
