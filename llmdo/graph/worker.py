"""A worker of the graph: the facts of its header, its entry in the manifest and the lock, a field each.

A new key of a worker is a field here, and a parameter of `toolsets.workers.Worker` for workers in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from llmdo.base.values import dataclass, field
from llmdo.graph.clients import CLIENT_EVENTS, PERMISSIONS, UNLIMITED
from llmdo.graph.keys import (
    CAPABILITIES,
    FLOWS,
    PLAIN,
    REFERENCE,
    RULES,
    SETTINGS,
    SEVERAL,
    SORTED_WORDS,
    Key,
    table_of,
    written,
)
from llmdo.policy.flow import NO_FLOWS, Flows
from llmdo.syntax.unchanged import DESCRIPTION_CHANGED, PROMPT_CHANGED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.values import Json
    from llmdo.graph.keys import Reference
    from llmdo.policy.authority import Capability, Rule
    from llmdo.syntax.document import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One line of a worker's `toolsets`: a toolset or a delegate, with its configuration."""

    name: str
    config: Mapping[str, Json]
    at: Place = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachments:
    """The files that a worker's callers may pass."""

    max: int | None = field(
        default=None,
        metadata=written(
            PLAIN,
            lock=Key("max", "Annotated[int, Ge(0)]", "How many files one call may hand over (100)."),
            effect="amount",
        ),
    )
    max_bytes: int | None = field(
        default=None,
        metadata=written(
            PLAIN,
            lock=Key(
                "max-bytes",
                "Positive",
                "The largest file, in bytes (10,000,000); together 50,000,000, or this.",
            ),
            effect="amount",
        ),
    )
    suffixes: tuple[str, ...] | None = field(
        default=None,
        metadata=written(
            SORTED_WORDS,
            lock=Key("suffixes", "list[Suffix]", "Which file name endings are accepted, such as .pdf."),
            effect="choice",
        ),
    )

    @property
    def are_refused(self) -> bool:
        """Whether callers may pass none; without a limit they may."""
        return self.max == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A prompt with its configuration."""

    name: str = field(
        metadata=written(
            PLAIN,
            file=Key("name", "Name", "The worker's only name, everywhere.", is_required=True),
            gives_nothing=True,
        )
    )
    at: Place = field(compare=False)
    path: str = field(
        default="",
        metadata=written(PLAIN, lock=Key("path", "Path", "The worker's file."), drift="its file moved"),
    )
    config: str = field(
        default="",
        metadata=written(
            PLAIN,
            lock=Key("config", "Digest", "Of the canonical header: what decides authority."),
            drift="its header changed",
        ),
    )
    """Digest of the canonical header."""
    prompt: str = field(
        default="",
        metadata=written(
            PLAIN,
            lock=Key(
                "prompt",
                "Digest",
                "Of the prompt, with LF line ends, or of the code that makes it.",
            ),
            drift=PROMPT_CHANGED,
        ),
    )
    """Digest of the prompt, or of the code that makes it."""
    python: str | None = field(
        default=None,
        metadata=written(PLAIN, lock=Key("python", "FileAttribute", "Where it is written in Python.")),
    )
    """FILE.py:NAME of a worker written in Python."""
    agent: str | None = field(
        default=None,
        metadata=written(
            PLAIN,
            agent=Key(
                "python",
                "FileAttribute",
                "FILE.py:NAME, a pydantic-ai agent; its tools go behind the gate. Left out, it is an agent of another "
                "tool by its name, which takes `may`, `approvals` and `flows`.",
            ),
            lock=Key("agent", "FileAttribute", "The pydantic-ai agent that it is."),
        ),
    )
    """FILE.py:NAME of the pydantic-ai agent that was adopted as this worker."""
    deps: Reference | None = field(
        default=None,
        metadata=written(
            REFERENCE,
            agent=Key(
                "deps",
                "FileAttribute",
                "FILE.py:NAME, a function without arguments: makes its deps for a run.",
            ),
            lock="What makes its deps.",
        ),
    )
    """The maker of the agent's deps for a run; without it they are those of every worker."""
    description: str | None = field(
        default=None,
        metadata=written(
            PLAIN,
            file=Key(
                "description",
                "str",
                "What the worker does: the tool description that its callers' models see.",
            ),
            agent="What it does: what its callers' models see.",
            lock="What its callers' models see.",
            drift=DESCRIPTION_CHANGED,
            gives_nothing=True,
        ),
    )
    model: Reference | None = field(
        default=None,
        metadata=written(
            REFERENCE,
            file=Key(
                "model",
                "Text",
                "provider:model, python:FILE:NAME, script:FILE.yaml, replay:FILE or an alias of [models].",
            ),
            agent="Another model than its own.",
            lock=Key("model", "str", "The model that it names."),
            gives_nothing=True,
        ),
    )
    entry: bool = field(
        default=False,
        metadata=written(
            PLAIN,
            file=Key("entry", "bool", "Whether `llmdo run NAME` may start it."),
            agent="Whether `llmdo run NAME` may start it.",
            lock="Whether it may be started by its own name.",
        ),
    )
    recursive: bool = field(
        default=False,
        metadata=written(
            PLAIN,
            file=Key("recursive", "bool", "Whether it may reach itself; max-depth then bounds the run."),
            agent="Whether it may reach itself.",
            lock="Whether it may reach itself.",
        ),
    )
    schema_in: Reference | None = field(
        default=None,
        metadata=written(
            REFERENCE,
            file=Key("schema_in_ref", "FileAttribute", "FILE.py:MODEL, a pydantic model: its typed input."),
            lock=Key("schema-in", "FileAttribute", "Its typed input."),
            gives_nothing=True,
        ),
    )
    schema_out: Reference | None = field(
        default=None,
        metadata=written(
            REFERENCE,
            file=Key("schema_out_ref", "FileAttribute", "FILE.py:MODEL, a pydantic model: its typed output."),
            lock=Key("schema-out", "FileAttribute", "Its typed output."),
            gives_nothing=True,
        ),
    )
    closed: int | None = field(
        default=None,
        metadata=written(
            PLAIN,
            lock=Key(
                "closed",
                "Annotated[int, Ge(0)]",
                "The most bits that its answer carries, where its typed output lists or bounds each value.",
            ),
            drift="what its answer may carry",
            effect="amount",
        ),
    )
    """The most bits that its answer carries, if its typed output lists or bounds each value; else None."""
    output: Literal["sealed"] | None = field(
        default=None,
        metadata=written(
            PLAIN,
            file=Key(
                "output",
                "Literal['sealed']",
                "`sealed`: the models of its callers see the name and the size of its answer, and may pass it on.",
            ),
            lock="How its answer is handed over.",
        ),
    )
    """The treatment of its answer for callers; None for unchanged."""
    compatible_models: tuple[str, ...] | None = field(
        default=None,
        metadata=written(
            SORTED_WORDS,
            file=Key(
                "compatible_models", "list[Text]", "Patterns of models that it works with, such as openai:*."
            ),
            lock=Key("compatible-models", "list[str]", "The models that it works with."),
            gives_nothing=True,
        ),
    )
    model_settings: Mapping[str, Json] = field(
        default_factory=dict,
        metadata=written(
            SETTINGS,
            file=Key(
                "model_settings",
                "ModelSettings",
                "How its model is asked; a model leaves out what it does not know.",
            ),
            lock=Key("model-settings", "ModelSettings", "How its model is asked."),
        ),
    )
    """The settings of its model's requests, in the words of its header."""
    uses: tuple[Use, ...] = field(default=(), metadata=written(SEVERAL))
    """Sorted by name."""
    may: tuple[Capability, ...] | None = field(
        default=None,
        metadata=written(
            CAPABILITIES,
            file=Key(
                "may", "list[ScopedCapability]", "The ceiling of this worker and of everything below it."
            ),
            agent="The ceiling of this worker and of everything below it.",
            lock="Its ceiling.",
            effect="ceiling",
            gives_nothing=True,
        ),
    )
    may_at: Place | None = field(default=None, compare=False)
    approvals: tuple[Rule, ...] = field(
        default=(),
        metadata=written(
            RULES,
            file=Key(
                "approvals",
                "dict[ScopedCapability, Decision]",
                "Rules for this worker's own calls. They may only tighten.",
            ),
            agent="Rules for its own calls. They may only tighten.",
            lock="Its rules.",
            gives_nothing=True,
        ),
    )
    flows: Flows = field(
        default=NO_FLOWS,
        metadata=written(
            FLOWS,
            file=Key("flows", "Flows", "Flow rules for this worker's own calls. They may only tighten."),
            agent="Flow rules for its own calls. They may only tighten.",
            lock="Its flow rules.",
            gives_nothing=True,
        ),
    )
    attachments: Attachments = field(
        default=Attachments(),
        metadata=written(
            table_of(Attachments),
            file=Key("attachments", "AttachmentLimits", "Which files its callers may hand over."),
            agent="Which files its callers may hand over.",
            lock="The files that callers may hand over.",
        ),
    )

    format: str | None = field(
        default=None,
        metadata=written(
            PLAIN, lock=Key("format", "Text", "The format of the project whose tool runs it, not llmdo.")
        ),
    )
    """The format of the project of another tool that has it, which runs it; None for our own."""
    client_rules: tuple[Rule, ...] = field(
        default=(),
        metadata=written(
            RULES,
            lock=Key(
                "client-rules",
                "dict[ScopedCapability, Decision]",
                "What the settings of its own tool decide, at the mildest, where milder than the built-in rules.",
            ),
            drift="what the settings of its own tool decide changed",
        ),
    )
    """The decisions in the settings of that tool; the manifest's rules only tighten them."""
    max_depth: int = field(
        default=UNLIMITED,
        metadata=written(
            PLAIN,
            lock=Key(
                "max-depth", "Annotated[int, Ge(0)]", "The longest chain of calls that its own tool permits."
            ),
            effect="amount",
        ),
    )
    """The longest chain of delegations that that tool permits."""
    events: Mapping[str, Mapping[str, tuple[Capability, ...]]] = field(
        default_factory=dict,
        metadata=written(
            CLIENT_EVENTS,
            lock=Key(
                "events",
                "dict[Text, dict[Text, list[ScopedCapability]]]",
                "By event, the commands that its own tool then runs, with what they raise.",
            ),
            drift="what its own tool runs at events changed",
        ),
    )
    """By event, each command that its client then runs, with a digest of its scripts, and the capabilities of that; in
    a format that llmdo does not run."""
    sandbox: str | None = field(
        default=None,
        metadata=written(
            PLAIN,
            lock=Key("sandbox", "Text", "How its own tool confines its commands, in that tool's words."),
        ),
    )
    """The confinement of its commands in a format that llmdo does not run; None for none."""
    permissions: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict,
        metadata=written(
            PERMISSIONS,
            lock=Key("permissions", "dict[Text, list[str]]", "The rules in its own tool's settings."),
            drift="the rules in its own tool's settings changed",
        ),
    )
    """By `allow`, `ask` or `deny`, the rules about parts of its tools in a format that llmdo does not run."""

    @property
    def code(self) -> tuple[Reference, ...]:
        """The Python that it names: models of its input and its output, and the maker of its deps."""
        return tuple(named for named in (self.schema_in, self.schema_out, self.deps) if named)

    @property
    def own_toolset(self) -> str | None:
        """The name of the toolset with its own tools; None if it is no adopted agent."""
        return own_toolset(self.name) if self.agent else None


def own_toolset(worker: str) -> str:
    """The name of the toolset with an adopted agent's own tools; reserved."""
    return f"{worker}.tools"
