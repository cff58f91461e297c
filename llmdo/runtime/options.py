"""The options of a run's caller."""

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
    from llmdo.journal.run_item import RunItem
    from llmdo.policy.authority import Rule
    from llmdo.runtime.approvals.approver import Approver
    from llmdo.runtime.attached import Attached, AttachmentResolver
    from llmdo.runtime.brake import Stop
    from llmdo.runtime.gate.policy import RunPolicy
    from llmdo.runtime.recording.recorder import Recorder
    from llmdo.runtime.telemetry.events import Sink, Streams
    from llmdo.workspace.trust import Consent


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The caller's options, in addition to the files. They lift no block."""

    input: str | None = None
    """None: the entry's `input`."""
    untrusted_input: bool = False
    """Whether a stranger may have written the input, if its entry does not say."""
    history: tuple[ModelMessage, ...] = ()
    """The entry's worker starts from these messages."""
    continues: Earlier | None = None
    """The end of the run with these messages, for one that continues another."""
    item: RunItem | None = None
    """The item of a batch that the run is for."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """Replace or add to the manifest's."""
    attachments: tuple[Attached, ...] = ()
    """For the entry's worker, with the input."""
    attachment_resolver: AttachmentResolver | None = None
    """Gives the content of attached files; None: the workspace."""
    models: ModelChoice = field(default_factory=ModelChoice)
    max_depth: int | None = None
    """May only lower the workspace's."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """New limits of the entry from a person, for a continued run, by their names in the manifest."""
    policy: RunPolicy | None = None
    """Over every call, in addition to the run's limits."""
    approver: Approver | None = None
    """None: every question is answered with no."""
    mode: str = "reject-all"
    """The answering party, in words for the audit."""
    tightening: tuple[Rule, ...] = ()
    """Rules from the `policy.toml` of the person who runs it: they only tighten."""
    on_event: Sink = discard
    """One that fails ends the run."""
    streams: Streams = "nothing"
    """Whose answers are reported piece by piece: their models are asked to stream."""
    stop: Stop | None = None
    instruments: tuple[AbstractCapability[object], ...] = ()
    """Watch every agent of the run, such as a trace."""
    run: str | None = None
    """From `new_run`; None: a new one."""
    recorder: Recorder | None = None
    code: Path | None = None
    """The folder of the workspace's own Python; None: the workspace."""
    locked: bool = False
    """Whether MCP servers that differ from the lock refuse the run, not only their tools."""
    consent: Consent | None = None
    """Who answers for executed code; None: nobody is asked or told."""
    debug: bool = False
    """Whether failures show all frames, not only those of the workspace's code."""
