"""The receivers of notices that runs ended."""

from __future__ import annotations

from llmdo.base.values import dataclass, field
from llmdo.graph.keys import PLAIN, Key, written


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
            lock=Key("url-env", "Variable", "The variable that holds the address.", is_required=True),
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
            lock=Key("secret-env", "Variable", "The variable that holds the secret.", is_required=True),
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
            lock=Key("content", "bool", "Whether messages hold outputs, errors and questions."),
        ),
    )
    """Whether the content of runs leaves the machine, and not ids and names alone."""
