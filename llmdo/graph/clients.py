"""What a graph holds of agents that another tool runs, beside what it holds of workers."""

from __future__ import annotations

from llmdo.graph.keys import Codec
from llmdo.policy.authority import Capability

UNLIMITED = 64
"""The longest chain of calls for a tool that does not limit them: deeper than anybody looks."""

CLIENT_EVENTS = Codec(
    lambda events: (
        {
            event: {command: list(map(str, raised)) for command, raised in commands.items()}
            for event, commands in events.items()
        }
        or None
    ),
    lambda events, _: {
        event: {
            command: tuple([Capability.parse(text) for text in raised])
            for command, raised in commands.items()
        }
        for event, commands in events.items()
    },
)
PERMISSIONS = Codec(
    lambda permissions: {word: list(rules) for word, rules in permissions.items() if rules} or None,
    lambda permissions, _: {word: tuple(rules) for word, rules in permissions.items()},
)


def settings_of(form: str) -> str:
    """The origin of a rule that is another tool's setting, in words for the user."""
    return f"the settings of {form}"
