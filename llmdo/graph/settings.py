"""The settings of a whole workspace, and the acceptances of people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from llmdo.base.values import dataclass, field
from llmdo.graph.keys import CAPABILITY, FOLDER, PLAIN, REFERENCE, Key, written

if TYPE_CHECKING:
    from llmdo.graph.keys import Reference
    from llmdo.policy.authority import Capability
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Place

DEFAULT_MAX_DEPTH = 5

Truncation = Literal["warn", "error"]
"""The handling of an answer that was cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of the whole workspace."""

    name: str = field(
        metadata=written(
            PLAIN,
            file=Key("name", "Name", "The workspace's name.", is_required=True),
            lock=Key("name", "Name", "The workspace's name.", is_required=True),
            gives_nothing=True,
        )
    )
    built_in: int = field(
        metadata=written(
            PLAIN,
            lock=Key(
                "built-in-rules",
                "Annotated[int, Ge(1)]",
                "The version of the built-in rules.",
                is_required=True,
            ),
        )
    )
    """Version of the built-in rules."""
    default: Decision = field(
        metadata=written(
            PLAIN,
            lock=Key(
                "default",
                "Decision",
                "The decision about a capability that no rule names.",
                is_required=True,
            ),
        )
    )
    max_depth: int = field(
        metadata=written(
            PLAIN,
            file=Key(
                "max-depth",
                "Annotated[int, Ge(0)]",
                "The longest chain of delegations; 5 where left out.",
            ),
            lock=Key(
                "max-depth", "Annotated[int, Ge(0)]", "The longest chain of delegations.", is_required=True
            ),
            effect="amount",
        )
    )
    """The longest chain of delegations; an entry's own worker is at depth 0."""
    model: Reference | None = field(
        default=None,
        metadata=written(
            REFERENCE,
            file=Key(
                "model",
                "str",
                "Of workers that name none: provider:model, python:FILE:NAME, replay:FILE or an alias of [models].",
            ),
            lock=Key("model", "str", "The model of workers that name none."),
            gives_nothing=True,
        ),
    )
    on_truncated: Truncation = field(
        default="warn",
        metadata=written(
            PLAIN,
            file=Key(
                "on-truncated",
                "Truncation",
                "What happens to an answer that was cut off by a limit of tokens or a content filter: `warn` "
                "where left out, or `error`, which fails its worker.",
            ),
            lock=Key(
                "on-truncated", "Truncation", "What happens to an answer that was cut off, where not `warn`."
            ),
        ),
    )
    root: Reference | None = field(
        default=None,
        metadata=written(
            FOLDER,
            file=Key(
                "root",
                "Root",
                "The folder that tools, attachments and the path map refer to, relative to this file, such as "
                "`../site`; this one where left out.",
            ),
            lock=Key("root", "Root", "The folder that tools work on, as the manifest has it."),
            effect="elsewhere",
        ),
    )
    """The folder that tools work on, as it is written; None for the workspace."""
    shared: bool = field(
        default=False,
        compare=False,
        metadata=written(
            PLAIN,
            file=Key(
                "shared",
                "bool",
                "Whether all machines that have this workspace see one folder, so that a run which wrote files goes on "
                "anywhere.",
            ),
        ),
    )
    """Whether all machines see one folder. Not in a lock: it is about machines, not the power of entries."""

    store: str | None = field(
        default=None,
        compare=False,
        metadata=written(
            PLAIN,
            file=Key(
                "store",
                "Variable",
                "The variable that holds the address of the PostgreSQL database that journals are in, such as "
                "ACME_STORE.",
            ),
        ),
    )
    """The variable that holds the address of the store. Not in a lock: it is about machines."""
    keep_runs_days: int | None = field(
        default=None,
        compare=False,
        metadata=written(
            PLAIN,
            file=Key(
                "keep-runs-days",
                "Positive",
                "The age in days at which `llmdo runs prune` and, once a day, `llmdo worker --schedules` remove runs "
                "that are over.",
            ),
        ),
    )
    """The days for which finished runs are kept. Not in a lock: it is not about the power of entries."""
    keep_batches_days: int | None = field(
        default=None,
        compare=False,
        metadata=written(
            PLAIN,
            file=Key(
                "keep-batches-days",
                "Positive",
                "The age in days at which `llmdo batch prune` and, once a day, `llmdo worker --schedules` remove "
                "batches that are over.",
            ),
        ),
    )
    """The same of batches."""

    @property
    def files_of(self) -> str | None:
        """The folder that paths and scopes of files refer to; None for the workspace."""
        return self.root.name if self.root else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """A finding or a widening that people have accepted."""

    code: str | None = field(
        default=None,
        metadata=written(PLAIN, lock=Key("code", "FindingCode", "The code of the finding that is accepted.")),
    )
    capability: Capability | None = field(
        default=None,
        metadata=written(
            CAPABILITY,
            lock=Key(
                "capability",
                "ScopedCapability",
                "The widening, or what is outside a ceiling, that is accepted.",
            ),
        ),
    )
    entry: str | None = field(
        default=None, metadata=written(PLAIN, lock=Key("entry", "Name", "The entry that it is accepted for."))
    )
    gated: bool = field(
        default=False,
        metadata=written(
            PLAIN,
            lock=Key("gated", "bool", "Whether it holds only as long as a person is asked on the way."),
        ),
    )
    """Whether it holds only as long as a person is asked on the way."""
    reason: str = field(
        metadata=written(PLAIN, lock=Key("reason", "Text", "Why people accept it.", is_required=True))
    )
    at: Place = field(compare=False)
