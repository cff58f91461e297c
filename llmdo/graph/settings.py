"""The settings of a whole workspace: limits, notices, schedules, shared policies, and the acceptances of people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from llmdo.base.values import dataclass, field
from llmdo.graph.keys import CAPABILITY, FOLDER, PLAIN, REFERENCE, SORTED_WORDS, Key, encoded_rules, written

if TYPE_CHECKING:
    from llmdo.base.values import Json
    from llmdo.graph.keys import Reference
    from llmdo.policy.authority import Capability, Rule
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
            lock="The workspace's name.",
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
                "default", "Decision", "The decision about a capability that no rule names.", is_required=True
            ),
        )
    )
    max_depth: int = field(
        metadata=written(
            PLAIN,
            file=Key(
                "max-depth", "Annotated[int, Ge(0)]", "The longest chain of delegations; 5 where left out."
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
                "Of workers that name none: provider:model, python:FILE:NAME, script:FILE.yaml, replay:FILE or an "
                "alias of [models].",
            ),
            lock="The model of workers that name none.",
            gives_nothing=True,
        ),
    )
    formats: tuple[str, ...] = field(
        default=(),
        metadata=written(
            SORTED_WORDS,
            file=Key(
                "from",
                "list[Text]",
                "Formats of projects of other tools, such as claude: their agents, servers, hooks and settings are "
                "read where these tools keep them. They are checked and locked here, and run by those tools.",
            ),
            lock="The formats of projects of other tools that are read with it.",
        ),
    )
    """The formats of projects of other tools that are read in place."""
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
            lock="What happens to an answer that was cut off, where not `warn`.",
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
            lock="The folder that tools work on, as the manifest has it.",
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
                "The age in days at which `llmdo runs prune` and, once a day, `llmdo fleet worker --schedules` remove "
                "runs that are over.",
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
                "The age in days at which `llmdo batch prune` and, once a day, `llmdo fleet worker --schedules` remove "
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
        default=None,
        metadata=written(PLAIN, lock=Key("entry", "NameOfAgent", "The entry that it is accepted for.")),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify:
    """The webhook that is notified when a run waits, is complete or has failed. It is named by variables alone."""

    url_env: str = field(
        metadata=written(
            PLAIN,
            file=Key(
                "url-env",
                "Variable",
                "The variable that holds the address, such as TEAM_WEBHOOK_URL.",
                is_required=True,
            ),
            lock="The variable that holds the address.",
        )
    )
    secret_env: str = field(
        metadata=written(
            PLAIN,
            file=Key(
                "secret-env",
                "Variable",
                "The variable that holds the secret by which messages are signed, such as TEAM_WEBHOOK_SECRET.",
                is_required=True,
            ),
            lock="The variable that holds the secret.",
        )
    )
    content: bool = field(
        default=False,
        metadata=written(
            PLAIN,
            file=Key(
                "content",
                "bool",
                "Whether messages hold outputs, errors and questions, and not ids and names alone.",
            ),
            lock="Whether messages hold outputs, errors and questions.",
        ),
    )
    """Whether the content of runs leaves the machine, and not ids and names alone."""
    page_env: str = field(
        default="",
        metadata=written(
            PLAIN,
            file=Key(
                "page-env",
                "Variable",
                "The variable that holds the address of the page, to which a message of a run that waits has a link.",
            ),
            lock="The variable that holds the address of the page.",
        ),
    )
    """Empty where a message names the command alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """An entry that workers of a fleet start at certain times, once over all of them."""

    name: str
    at: Place = field(compare=False)
    entry: Reference = field(
        metadata=written(
            REFERENCE,
            file=Key("entry", "Name", "The entry that is started.", is_required=True),
            lock="The entry that it starts.",
        )
    )
    cron: str = field(
        metadata=written(
            PLAIN,
            file=Key(
                "cron",
                "Text",
                "When, in UTC: minute, hour, day of month, month, day of week.",
                is_required=True,
            ),
            lock="When, in UTC.",
        )
    )
    input: str | None = field(
        default=None,
        metadata=written(
            PLAIN,
            file=Key("input", "str", "What the entry is given; its own input where left out."),
            lock="What the entry is given, where not its own input.",
            drift="its input changed",
        ),
    )
    catch_up_minutes: int | None = field(
        default=None,
        metadata=written(
            PLAIN,
            file=Key(
                "catch-up-minutes",
                "Positive",
                "For how long a time is made up for that passed while no worker looked.",
            ),
            lock="For how long a time that passed is made up for.",
            effect="amount",
            gives_nothing=True,
        ),
    )


PACKAGE = "package:"
"""The prefix of a policy's name from an installed package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPolicy:
    """One policy file. It only tightens."""

    name: str
    """Its path in the workspace, or `package:NAME/PATH`."""
    digest: str
    """Of its text."""
    rules: tuple[Rule, ...] = ()
    approve_all: bool = True
    """Whether `--approve-all` may be used."""
    requires_trust: bool = False
    """Whether nothing unapproved is executed when nobody can be asked."""

    @property
    def path(self) -> str | None:
        """Its path in the workspace; None if it comes from a package."""
        return None if self.name.startswith(PACKAGE) else self.name

    def encoded(self) -> dict[str, Json]:
        """Its table in a lock."""
        table: dict[str, Json] = {"digest": self.digest}
        if not self.approve_all:
            table["approve-all"] = False
        if self.requires_trust:
            table["requires-trust"] = True
        return {**table, "rules": encoded_rules(self.rules)} if self.rules else table
