"""What the caller of a run says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmdo.runtime.models.choice import ModelChoice
from llmdo.runtime.telemetry.events import discard

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelMessage

    from llmdo.journal.conversation import Earlier
    from llmdo.policy.authority import Rule
    from llmdo.runtime.approvals.approver import Approver
    from llmdo.runtime.attached import Attached, AttachmentResolver
    from llmdo.runtime.gate.policy import RunPolicy
    from llmdo.runtime.recording.recorder import Recorder
    from llmdo.runtime.stop import Stop
    from llmdo.runtime.telemetry.events import Sink, Streams
    from llmdo.workspace.trust import Consent


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the caller of a run says, beside what the files say. They lift no block."""

    input: str | None = None
    """None: what the entry's `input` says."""
    untrusted_input: bool = False
    """Whether a stranger may have written the input, where its entry does not say."""
    history: tuple[ModelMessage, ...] = ()
    """The messages that the entry's worker starts from."""
    continues: Earlier | None = None
    """The end of the run whose messages these are, for one that goes on from another."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """Path maps that replace or add to the manifest's."""
    attachments: tuple[Attached, ...] = ()
    """What is handed to the entry's worker with the input."""
    attachment_resolver: AttachmentResolver | None = None
    """Where the content of files that are handed over comes from; None: the workspace."""
    models: ModelChoice = field(default_factory=ModelChoice)
    max_depth: int | None = None
    """May only lower the workspace's."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """Limits of the entry that a person sets anew for a run which goes on, by their names in the manifest."""
    policy: RunPolicy | None = None
    """Has a say over every call, beside the limits of the run."""
    approver: Approver | None = None
    """None: nobody can be asked, so every question is answered with no."""
    mode: str = "reject-all"
    """Who answers questions, in words for the audit."""
    tightening: tuple[Rule, ...] = ()
    """Rules of the person who runs it, from their `policy.toml`: they only tighten."""
    on_event: Sink = discard
    """One that fails ends the run."""
    streams: Streams = "nothing"
    """Whose answers are reported piece by piece as they arrive: their models are asked to stream."""
    stop: Stop | None = None
    """Ends this run early."""
    instruments: tuple[AbstractCapability[object], ...] = ()
    """What watches every agent of the run, such as a trace."""
    run: str | None = None
    """The run's id, from `new_run`; None: a new one."""
    recorder: Recorder | None = None
    """The run's journal, where it keeps one."""
    code: Path | None = None
    """The folder that the workspace's own Python is loaded from; None: the workspace."""
    locked: bool = False
    """Whether MCP servers that are not what was locked refuse the run, and not only their tools."""
    consent: Consent | None = None
    """Who answers for what is executed; None: nobody can be asked, and nobody is told."""
    debug: bool = False
    """Whether failures tell all their frames, and not only those of the workspace's own code."""
