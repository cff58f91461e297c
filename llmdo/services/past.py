"""Past runs, from Python as from the command line: resumed, repeated, and their questions answered."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from llmdo.journal import SUFFIX
from llmdo.journal.opening import claimed
from llmdo.journal.questions import WEEK, Answers
from llmdo.runtime import AskLater
from llmdo.runtime.models.choice import named
from llmdo.runtime.outcome import told_to_programs
from llmdo.runtime.telemetry.events import discard
from llmdo.services import answering as approving
from llmdo.services import resume_replay as replaying
from llmdo.services.embedding import limits_set, naming, options_of, require_no_loop
from llmdo.services.own_policy import policy_for
from llmdo.services.plan import ResumeRequest, completed, continuation
from llmdo.services.soundness import tell_nobody
from llmdo.workspace.root import find_root

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic_ai.models import Model
    from typing_extensions import Unpack

    from llmdo.graph.limits import Limits
    from llmdo.journal.questions import Waiting
    from llmdo.runtime import Approver, RunOutcome, RunPolicy
    from llmdo.runtime.telemetry.events import Sink
    from llmdo.services.basis import Origin
    from llmdo.services.embedding import Files

    Names = str | Iterable[str]
    """One, or several."""


class ResumeSettings(TypedDict, total=False):
    """How a run goes on."""

    again: Names
    """The call paths of unfinished tools, or of some that ended the run, to run once more; `*` matches any text."""
    give_up: Names
    """Those of unfinished tools whose effects nobody knows."""
    allow_drift: Names
    """The differences from the beginning of the run that are accepted."""
    sources: Origin
    limits: Limits | None
    """Set for the rest of the run."""
    models: Iterable[Model]
    """The run's models that were objects of pydantic-ai, which have to be given again."""
    approver: Approver | None
    """Without one, questions wait."""
    policy: RunPolicy | None
    on_event: Sink
    stream: bool
    """Whether `on_event` gets answers piece by piece, as they arrive. By default it does."""


@naming(ResumeSettings)
def resume(workspace: Files = ".", run: str = "last", **settings: Unpack[ResumeSettings]) -> RunOutcome:
    """As `resume_async`, for callers without an event loop.

    Raises:
        LlmdoError: As there; or an event loop is running.
    """
    require_no_loop("`await llmdo.resume_async(...)`")
    return asyncio.run(resume_async(workspace, run, **settings))


@naming(ResumeSettings)
async def resume_async(
    workspace: Files = ".", run: str = "last", **settings: Unpack[ResumeSettings]
) -> RunOutcome:
    """The outcome of a run that went on after its stop; of a complete one, its outcome then. Nothing is done twice.

    `run` is an id, a unique start or end of one, or `last`.

    Raises:
        InvalidTeamError: `check` finds errors.
        LlmdoError: It cannot go on, or needs a decision about a tool or a change.
    """
    policy_for(settings.get("approver"))  # first: what the person forbids must not begin
    limits = limits_set(settings.get("limits"))
    request = ResumeRequest(
        root=find_root(Path(workspace)),
        run=run,
        again=_several(settings.get("again", ())),
        give_up=_several(settings.get("give_up", ())),
        allow_drift=_several(settings.get("allow_drift", ())),
        sources=settings.get("sources", "workspace"),
        accepting="`allow_drift={names}`",
    )
    with claimed(request.root, run) as journal:
        if (ended := completed(journal)) is not None:
            return told_to_programs(ended.outcome)
        plan = await asyncio.to_thread(continuation, journal, request, tell_nobody)
        usual = options_of(settings, plan.basis.graph, AskLater(), "later")
        instances: dict[str, Model] = {}
        for model in settings.get("models", ()):
            named(model, instances)
        models = dataclasses.replace(plan.options.models, instances=instances)
        return told_to_programs(await plan.saying(**usual, models=models, limits=limits).outcome())


@naming()
def replay(
    workspace: Files = ".",
    run: str = "last",
    *,
    until: str | None = None,
    sources: Origin = "workspace",
    on_event: Sink = discard,
) -> RunOutcome:
    """The outcome of a run repeated from its journal alone: the same, or a stop at the first different action.

    `run` may be the file of an exported run as well, which needs no workspace. With `until` it stops, as
    interrupted, before the call path of a tool or before `PATH@N`, a request.

    Raises:
        LlmdoError: It cannot be repeated, or an event loop is running.
    """
    require_no_loop("`await asyncio.to_thread(llmdo.replay, ...)`")
    root = Path(workspace) if run.endswith(SUFFIX) else find_root(Path(workspace))
    request = replaying.ReplayRequest(run=run, root=root, until=until, sources=sources)
    return told_to_programs(replaying.replay(request, lambda _run, _entry: nullcontext(on_event)).outcome)


@naming()
def approve(
    workspace: Files = ".",
    run: str = "last",
    *,
    yes: Names | Mapping[str, str] = (),
    no: Names | Mapping[str, str] = (),
    reason: str = "",
    by: str | None = None,
    hours: float = WEEK,
) -> tuple[Waiting, ...]:
    """The waiting questions of a run, once those at the call paths `yes` and `no` are answered.

    Either may be a table of call paths with the `digest` of the question that was shown: the answer is then refused
    if another question waits by now. A path alone answers whatever waits there. `reason` tells the model why not,
    `by` says who answers, and `hours` how long the answers count. Calls that only a person at a terminal may allow
    cannot be allowed by it. A run that goes on is only looked at.

    Raises:
        LlmdoError: An answer does not fit, or the run goes on or is complete.
    """
    records = [
        {"path": path, "digest": digest, "allowed": allowed}
        for allowed, answered in ((True, yes), (False, no))
        if isinstance(answered, Mapping)
        for path, digest in answered.items()
    ]
    allowed, refused = (() if isinstance(paths, Mapping) else _several(paths) for paths in (yes, no))
    answers = Answers(yes=allowed, no=refused, records=records, reason=reason, by=by, hours=hours)
    request = approving.ApproveRequest(root=find_root(Path(workspace)), run=run, answers=answers)
    return tuple(approving.approve(request).questions.values())


def _several(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
